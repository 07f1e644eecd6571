//! Another tool's NVTX injection beside ours.
//!
//! NVTX has room for one injected library. So where the user asks for it, the other library fills the tables first,
//! exactly as if it were alone; what it put there is remembered, and our functions, which then take its place, call
//! it with the program's own arguments. Handles are translated: the program holds ours, and an entry of ours knows
//! theirs.

use std::ffi::{CStr, CString, c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use super::abi::{
    self, EventAttributes, GetExportTable, InitializeInjection, MAX_SLOTS, Module, ResourceAttributes,
};
use super::handles::{self, StringRef};
use crate::{log, sys};

/// How long a thread waits while another one loads the library; then it goes on without.
const PATIENCE_NS: i64 = 1_000_000_000;

static PATH: OnceLock<CString> = OnceLock::new();

const UNTRIED: u32 = 0;
const LOADING: u32 = 1;
const READY: u32 = 2;
const NONE: u32 = 3;
static STATE: AtomicU32 = AtomicU32::new(UNTRIED);
/// The thread that loads it: its own NVTX calls, made by the library's constructors, must not wait for themselves.
static LOADER: AtomicU32 = AtomicU32::new(0);
static INITIALIZE: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

/// What the other library put into each slot; null: nothing. The first DSO's counts for all: an injection has one
/// function for each slot.
static THEIRS: [[AtomicPtr<c_void>; MAX_SLOTS]; 6] =
    [const { [const { AtomicPtr::new(null_mut()) }; MAX_SLOTS] }; 6];

/// Asks for another library's injection to be served too. Before the first [`super::initialize`]; the first call counts.
pub fn chain_to(path: &[u8]) {
    if let Ok(path) = CString::new(path)
        && !path.is_empty()
    {
        let _ = PATH.set(path);
    }
}

/// The other library's function for a slot; null: it does not want it.
pub fn theirs(module: Module, slot: usize) -> *mut c_void {
    let slot = THEIRS.get(module as usize).and_then(|slots| slots.get(slot));
    slot.map_or(null_mut(), |slot| slot.load(Ordering::Relaxed))
}

/// Remembers what the other library put into a slot.
pub fn remember(module: Module, slot: usize, function: *const c_void) {
    if let Some(slot) = THEIRS.get(module as usize).and_then(|slots| slots.get(slot)) {
        let _ = slot.compare_exchange(null_mut(), function.cast_mut(), Ordering::Release, Ordering::Relaxed);
    }
}

/// Lets the other library fill its tables for one more DSO. False: there is none, or it refused.
///
/// # Safety
/// `get` is what NVTX gave to us.
pub unsafe fn initialize(get: GetExportTable) -> bool {
    let Some(initialize) = library() else { return false };
    // SAFETY: the function has this signature by NVTX's definition of its name.
    let answer: c_int = unsafe { initialize(Some(get)) };
    answer != 0
}

fn library() -> Option<InitializeInjection> {
    let path = PATH.get()?;
    let claimed = STATE.compare_exchange(UNTRIED, LOADING, Ordering::AcqRel, Ordering::Acquire);
    if claimed.is_ok() {
        LOADER.store(sys::gettid(), Ordering::Release);
        let found = load(path);
        INITIALIZE.store(found.map_or(null_mut(), |f| f as *mut c_void), Ordering::Release);
        STATE.store(if found.is_some() { READY } else { NONE }, Ordering::Release);
        sys::futex_wake(&STATE, true);
        return found;
    }
    if STATE.load(Ordering::Acquire) == LOADING && LOADER.load(Ordering::Acquire) != sys::gettid() {
        sys::futex_wait(&STATE, LOADING, Some(PATIENCE_NS));
    }
    let found = INITIALIZE.load(Ordering::Acquire);
    if found.is_null() {
        return None;
    }
    // SAFETY: only `load`'s answer is ever stored there.
    Some(unsafe { std::mem::transmute::<*mut c_void, InitializeInjection>(found) })
}

pub(super) fn load(path: &CStr) -> Option<InitializeInjection> {
    let shown = path.to_string_lossy();
    let own = own_base();
    if own.file.is_some() && own.file == file_of(path) {
        log::line(2, format_args!("GPUPROF_NVTX_CHAIN names gpuprof itself; there is nothing to chain to"));
        return None;
    }
    // SAFETY: a terminated path; the library's constructors run, which is what the user asked for. Never closed.
    let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if library.is_null() {
        log::line(
            1,
            format_args!(
                "{shown}: cannot be loaded as a second NVTX injection; unset GPUPROF_NVTX_CHAIN to go without"
            ),
        );
        return None;
    }
    // SAFETY: a valid handle and a terminated name.
    let function = unsafe { libc::dlsym(library, c"InitializeInjectionNvtx2".as_ptr()) };
    if function.is_null() {
        log::line(1, format_args!("{shown}: has no InitializeInjectionNvtx2, so it is no NVTX injection"));
        return None;
    }
    // The loader knows files by name too (SONAME, links): whatever it was asked for, this may be what it gave.
    if own.base != 0 && base_of(function) == own.base {
        log::line(2, format_args!("{shown}: is gpuprof itself; there is nothing to chain to"));
        return None;
    }
    // SAFETY: a function of that name has that signature, by NVTX's definition.
    Some(unsafe { std::mem::transmute::<*mut c_void, InitializeInjection>(function) })
}

struct Own {
    base: usize,
    file: Option<(u64, u64)>,
}

fn own_base() -> Own {
    let here = chain_to as *const c_void;
    let mut info = MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: `info` is writable, all zeros is valid, and its strings live as long as the library.
    let (rc, info) = unsafe { (libc::dladdr(here, info.as_mut_ptr()), info.assume_init()) };
    if rc == 0 || info.dli_fname.is_null() {
        return Own { base: 0, file: None };
    }
    // SAFETY: dladdr's string is terminated.
    let path = unsafe { CStr::from_ptr(info.dli_fname) };
    Own { base: info.dli_fbase as usize, file: file_of(path) }
}

fn base_of(address: *const c_void) -> usize {
    let mut info = MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: as above.
    unsafe { if libc::dladdr(address, info.as_mut_ptr()) == 0 { 0 } else { info.assume_init().dli_fbase as usize } }
}

/// Device and inode.
fn file_of(path: &CStr) -> Option<(u64, u64)> {
    let mut stat = MaybeUninit::<libc::stat>::zeroed();
    // SAFETY: `stat` is writable; all zeros is a valid value of it.
    let (rc, stat) = unsafe { (libc::stat(path.as_ptr(), stat.as_mut_ptr()), stat.assume_init()) };
    (rc == 0).then_some((stat.st_dev, stat.st_ino))
}

/// The program's attributes as the other library must see them: a registered string by their handle for it.
pub struct ForThem<T> {
    copy: Option<T>,
    original: *const T,
}

impl<T> ForThem<T> {
    /// What to hand over.
    pub fn pointer(&self) -> *const T {
        self.copy.as_ref().map_or(self.original, std::ptr::from_ref)
    }
}

/// Attributes of a range or mark, for the other library.
///
/// # Safety
/// `original` is null or points to a structure of the size it states.
pub unsafe fn event_attributes(original: *const EventAttributes) -> ForThem<EventAttributes> {
    // SAFETY: the caller's promise. A structure too short for a message has no handle to translate.
    let Some(mut a) = (unsafe { super::text::whole(original) }) else { return ForThem { copy: None, original } };
    if a.message_type != abi::MESSAGE_REGISTERED {
        return ForThem { copy: None, original };
    }
    (a.message_type, a.message) = message_for_them(a.message);
    // A newer structure is longer: the copy has what this one has.
    a.size = a.size.min(size_of::<EventAttributes>() as u16);
    ForThem { copy: Some(a), original }
}

/// Attributes of a resource, for the other library.
///
/// # Safety
/// As [`event_attributes`].
pub unsafe fn resource_attributes(original: *const ResourceAttributes) -> ForThem<ResourceAttributes> {
    // SAFETY: the caller's promise.
    let Some(mut a) = (unsafe { super::text::whole(original) }) else { return ForThem { copy: None, original } };
    if a.message_type != abi::MESSAGE_REGISTERED {
        return ForThem { copy: None, original };
    }
    (a.message_type, a.message) = message_for_them(a.message);
    a.size = a.size.min(size_of::<ResourceAttributes>() as u16);
    ForThem { copy: Some(a), original }
}

fn message_for_them(handle: *const c_void) -> (i32, *const c_void) {
    match handles::string(handle.cast_mut()) {
        Some(StringRef::Kept(entry)) if !entry.theirs().is_null() => {
            (abi::MESSAGE_REGISTERED, entry.theirs().cast_const())
        }
        // They did not register it: the text itself says as much.
        Some(StringRef::Kept(entry)) => (abi::MESSAGE_ASCII, entry.text().cast()),
        Some(StringRef::IdOnly(_)) | None => (0, std::ptr::null()),
    }
}

/// Runs `body` with an injection that needs no file, and forgets it again.
#[cfg(test)]
pub fn with_injection(initialize: InitializeInjection, body: impl FnOnce()) {
    INITIALIZE.store(initialize as *mut c_void, Ordering::Release);
    STATE.store(READY, Ordering::Release);
    chain_to(b"(a test's)");
    body();
    STATE.store(NONE, Ordering::Release);
    INITIALIZE.store(null_mut(), Ordering::Release);
    for slot in THEIRS.iter().flatten() {
        slot.store(null_mut(), Ordering::Release);
    }
}
