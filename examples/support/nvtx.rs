//! The smallest honest NVTX client: no library of NVIDIA's, only the protocol that their headers follow.
//!
//! On the first call a program's NVTX looks at `NVTX_INJECTION64_PATH`, loads the library named there and hands
//! `InitializeInjectionNvtx2` a function that gives out tables of pointers to function pointers; the tool writes its own
//! functions there. Without the variable every call is a load and a compare. Real programs use the `nvtx` crate, or NVIDIA's
//! headers, and behave the same.

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Functions of the modules CORE (1) and CORE2 (5), by callback id; 0: nobody listens.
static CORE: [AtomicUsize; 16] = [const { AtomicUsize::new(0) }; 16];
static CORE2: [AtomicUsize; 16] = [const { AtomicUsize::new(0) }; 16];

const MARK_A: usize = 2;
const RANGE_START_A: usize = 5;
const RANGE_END: usize = 7;
const RANGE_PUSH_A: usize = 9;
const RANGE_POP: usize = 11;
const DOMAIN_RANGE_PUSH_EX: usize = 4;
const DOMAIN_RANGE_POP: usize = 5;
const DOMAIN_CREATE_A: usize = 12;

/// What the tool gets: addresses of the slots above, ended by a zero; id 0 does not exist.
fn table(slots: &'static [AtomicUsize; 16]) -> [usize; 17] {
    std::array::from_fn(|id| slots.get(id).filter(|_| id > 0).map_or(0, |slot| slot.as_ptr() as usize))
}

extern "C" fn module_table(module: c_int, table_out: *mut *const usize, size_out: *mut c_uint) -> c_int {
    static TABLES: OnceLock<[[usize; 17]; 2]> = OnceLock::new();
    let tables = TABLES.get_or_init(|| [table(&CORE), table(&CORE2)]);
    let Some(wanted) = [1, 5].iter().position(|m| *m == module).and_then(|at| tables.get(at)) else { return 0 };
    // SAFETY: both are null or valid, as the protocol says.
    unsafe {
        if let Some(out) = table_out.as_mut() {
            *out = wanted.as_ptr();
        }
        if let Some(out) = size_out.as_mut() {
            *out = 16;
        }
    }
    1
}

#[repr(C)]
struct Callbacks {
    bytes: usize,
    module_table: extern "C" fn(c_int, *mut *const usize, *mut c_uint) -> c_int,
}

#[repr(C)]
struct VersionInfo {
    bytes: usize,
    version: u32,
    reserved: u32,
    set_injection_version: extern "C" fn(u32),
}

extern "C" fn ignore_version(_version: u32) {}

extern "C" fn export_table(id: u32) -> *const c_void {
    static CALLBACKS: Callbacks = Callbacks { bytes: size_of::<Callbacks>(), module_table };
    static VERSION: VersionInfo = VersionInfo {
        bytes: size_of::<VersionInfo>(),
        version: 3,
        reserved: 0,
        set_injection_version: ignore_version,
    };
    match id {
        1 => std::ptr::from_ref(&CALLBACKS).cast(),
        3 => std::ptr::from_ref(&VERSION).cast(),
        _ => std::ptr::null(),
    }
}

/// Loads the tool, once; says whether there is one.
pub fn listening() -> bool {
    static LISTENING: OnceLock<bool> = OnceLock::new();
    *LISTENING.get_or_init(|| {
        let Some(path) = std::env::var("NVTX_INJECTION64_PATH").ok().and_then(|path| CString::new(path).ok())
        else {
            return false;
        };
        // SAFETY: the library stays loaded; the symbol has the type that the protocol gives it.
        unsafe {
            let library = libc::dlopen(path.as_ptr(), libc::RTLD_NOW);
            if library.is_null() {
                return false;
            }
            let symbol = libc::dlsym(library, c"InitializeInjectionNvtx2".as_ptr());
            if symbol.is_null() {
                return false;
            }
            let initialize: extern "C" fn(extern "C" fn(u32) -> *const c_void) -> c_int =
                std::mem::transmute(symbol);
            initialize(export_table) != 0
        }
    })
}

/// The function in `slots[id]`, as `F`, if somebody listens.
///
/// # Safety
/// `F` is the C type of that function.
unsafe fn function<F: Copy>(slots: &[AtomicUsize; 16], id: usize) -> Option<F> {
    // First of all the tool is loaded, if it has not been: it fills the slots.
    let address = if listening() { slots.get(id)?.load(Ordering::Relaxed) } else { 0 };
    // SAFETY: a function pointer and an address have the same size; the caller vouches for the type.
    (address != 0).then(|| unsafe { std::mem::transmute_copy(&address) })
}

/// A range on this thread that ends when the value is dropped.
pub struct Range {
    domain: usize,
}

impl Range {
    /// `nvtxRangePushA`.
    pub fn push(name: &CStr) -> Self {
        // SAFETY: the types of NVTX's headers.
        if let Some(push) = unsafe { function::<extern "C" fn(*const c_char) -> c_int>(&CORE, RANGE_PUSH_A) } {
            push(name.as_ptr());
        }
        Self { domain: 0 }
    }
}

impl Drop for Range {
    fn drop(&mut self) {
        // SAFETY: the types of NVTX's headers.
        unsafe {
            if self.domain == 0 {
                function::<extern "C" fn() -> c_int>(&CORE, RANGE_POP).map(|pop| pop());
            } else {
                function::<extern "C" fn(usize) -> c_int>(&CORE2, DOMAIN_RANGE_POP).map(|pop| pop(self.domain));
            }
        }
    }
}

/// `nvtxMarkA`: a moment.
pub fn mark(name: &CStr) {
    // SAFETY: the types of NVTX's headers.
    if let Some(mark) = unsafe { function::<extern "C" fn(*const c_char)>(&CORE, MARK_A) } {
        mark(name.as_ptr());
    }
}

/// `nvtxRangeStartA`: a range that another thread may end.
pub fn start(name: &CStr) -> u64 {
    // SAFETY: the types of NVTX's headers.
    unsafe { function::<extern "C" fn(*const c_char) -> u64>(&CORE, RANGE_START_A) }
        .map_or(0, |start| start(name.as_ptr()))
}

/// `nvtxRangeEnd`.
pub fn end(id: u64) {
    // SAFETY: the types of NVTX's headers.
    if let Some(end) = unsafe { function::<extern "C" fn(u64)>(&CORE, RANGE_END) } {
        end(id);
    }
}

/// `nvtxEventAttributes_t`, version 2.
#[repr(C)]
struct Attributes {
    version: u16,
    bytes: u16,
    category: u32,
    color_type: i32,
    color: u32,
    payload_type: i32,
    reserved: i32,
    payload: u64,
    message_type: i32,
    message: *const c_char,
}

/// A library's own namespace of ranges.
pub struct Domain(usize);

impl Domain {
    /// `nvtxDomainCreateA`.
    pub fn new(name: &CStr) -> Self {
        // SAFETY: the types of NVTX's headers.
        let create = unsafe { function::<extern "C" fn(*const c_char) -> usize>(&CORE2, DOMAIN_CREATE_A) };
        Self(create.map_or(0, |create| create(name.as_ptr())))
    }

    /// `nvtxDomainRangePushEx`, with a colour and a number as its payload.
    pub fn push(&self, name: &CStr, payload: u64) -> Range {
        let attributes = Attributes {
            version: 2,
            bytes: size_of::<Attributes>() as u16,
            category: 0,
            color_type: 1, // ARGB
            color: 0xff76_b900,
            payload_type: 1, // unsigned, 64 bits
            reserved: 0,
            payload,
            message_type: 1, // char *
            message: name.as_ptr(),
        };
        // SAFETY: the types of NVTX's headers; the tool reads the attributes before it returns.
        let push =
            unsafe { function::<extern "C" fn(usize, *const Attributes) -> c_int>(&CORE2, DOMAIN_RANGE_PUSH_EX) };
        if let Some(push) = push {
            push(self.0, &attributes);
        }
        Range { domain: self.0 }
    }
}
