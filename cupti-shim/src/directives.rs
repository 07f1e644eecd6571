//! OpenACC and OpenMP. CUPTI hears of their constructs only from the runtime itself, which tells a tool that it has
//! found: the library that exports `acc_register_library` or `ompt_start_tool`. We are that library where their records
//! are asked for, and hand CUPTI what the runtime gives us.
//!
//! A runtime finds us by the variables that `gpuprof record` sets (`ACC_PROFLIB`, `OMP_TOOL_LIBRARIES`), or because we
//! are preloaded: then our two functions, or those of the door in front of us, stand before those of other tools, which are
//! asked first and keep their place. A runtime may begin before the program's first CUDA call, so what it gives is kept
//! until there is a CUPTI to have it.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU8, AtomicU64, Ordering, fence};

use cupti_sys::{
    CUPTI_ACTIVITY_KIND_OPENACC_DATA, CUPTI_ACTIVITY_KIND_OPENACC_LAUNCH, CUPTI_ACTIVITY_KIND_OPENACC_OTHER,
    CUPTI_ACTIVITY_KIND_OPENMP,
};

use crate::cupti::CuptiError;
use crate::session::{self, Session};
use crate::{cupti, guard, load, log, quiet_panics};

const OPENACC: [u32; 3] =
    [CUPTI_ACTIVITY_KIND_OPENACC_DATA, CUPTI_ACTIVITY_KIND_OPENACC_LAUNCH, CUPTI_ACTIVITY_KIND_OPENACC_OTHER];
const OPENMP: [u32; 1] = [CUPTI_ACTIVITY_KIND_OPENMP];

/// `acc_register_library`.
type Register = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_void);
/// `ompt_start_tool`.
type StartTool = unsafe extern "C" fn(u32, *const c_char) -> *mut StartToolResult;

/// `ompt_start_tool_result_t`.
#[repr(C)]
pub struct StartToolResult {
    initialize: unsafe extern "C" fn(*mut c_void, c_int, *mut c_void) -> c_int,
    finalize: unsafe extern "C" fn(*mut c_void),
    /// `ompt_data_t`: the tool's own word, which is CUPTI's.
    data: AtomicU64,
}

/// What a runtime gave.
static OPENACC_GIVEN: Given = Given::nothing();
static OPENMP_GIVEN: Given = Given::nothing();
/// The device number that came with it.
static OPENMP_DEVICE: AtomicI32 = AtomicI32::new(0);

static TOOL: StartToolResult = StartToolResult { initialize, finalize, data: AtomicU64::new(0) };

const NOTHING: u8 = 0;
const KEPT: u8 = 1;
const HANDED_OVER: u8 = 2;

/// Three addresses and what became of them.
struct Given {
    values: [AtomicPtr<c_void>; 3],
    state: AtomicU8,
}

impl Given {
    const fn nothing() -> Given {
        Given { values: [const { AtomicPtr::new(null_mut()) }; 3], state: AtomicU8::new(NOTHING) }
    }

    /// Keeps what a runtime gave, for CUPTI to have once.
    fn keep(&self, values: [*mut c_void; 3]) {
        for (place, value) in self.values.iter().zip(values) {
            place.store(value, Ordering::Relaxed);
        }
        self.state.store(KEPT, Ordering::Release);
    }

    /// What CUPTI has not been given yet; the caller gives it.
    fn take(&self) -> Option<[*mut c_void; 3]> {
        let taken = self.state.compare_exchange(KEPT, HANDED_OVER, Ordering::AcqRel, Ordering::Acquire);
        taken.ok().map(|_| self.values.each_ref().map(|value| value.load(Ordering::Relaxed)))
    }
}

/// Whether records of one of `kinds` are to be had in this process.
fn is_wanted(kinds: &[u32]) -> bool {
    if load::is_privileged() {
        return false;
    }
    let loaded = load::loaded();
    let is_asked_for = kinds.iter().any(|kind| loaded.settings.kinds.contains(*kind));
    is_asked_for && !loaded.settings.disable && loaded.inert().is_none()
}

/// Gives CUPTI whatever a runtime has given us. Called when a runtime arrives and when CUPTI is ready, because nobody
/// knows which of the two comes first.
pub fn hand_over(session: &Session) {
    // This fence belongs together with the one in `arrived`. Two threads may each store their own part and then look
    // for the part of the other. With both fences, at least one of them finds it.
    fence(Ordering::SeqCst);
    if !cupti::may_call() {
        return;
    }
    if let Some([register, unregister, lookup]) = OPENACC_GIVEN.take() {
        tell("OpenACC", session.cupti.initialize_openacc(register, unregister, lookup));
    }
    if let Some([lookup, data, _]) = OPENMP_GIVEN.take() {
        let device = OPENMP_DEVICE.load(Ordering::Relaxed);
        tell("OpenMP", session.cupti.initialize_openmp(lookup, device, data));
    }
}

fn tell(what: &str, result: Result<(), CuptiError>) {
    match result {
        Ok(()) => log::line(2, format_args!("CUPTI listens to the {what} runtime")),
        Err(error) => {
            log::line(1, format_args!("records of {what} are not available: {error}; all others are kept"))
        }
    }
}

fn arrived() {
    fence(Ordering::SeqCst);
    if let Some(session) = session::current() {
        hand_over(session);
    }
}

/// The file that an address lies in: where it is mapped, and its name.
fn file_of(address: *const c_void) -> Option<(*mut c_void, *const c_char)> {
    // SAFETY: `info` is filled where the answer is not 0.
    unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        (libc::dladdr(address, &mut info) != 0).then_some((info.dli_fbase, info.dli_fname))
    }
}

/// Whether an address lies in this library or in the door in front of it. (The address of a function that we export would
/// not tell: where the program has one of that name, it is the program's.)
fn is_ours(address: *const c_void) -> bool {
    let door = load::door().and_then(|door| file_of(std::ptr::from_ref(door).cast()));
    let own = [file_of((&raw const TOOL).cast()), door];
    file_of(address).is_some_and(|found| own.iter().flatten().any(|own| own.0 == found.0))
}

/// The function `name` that the runtime would have found without us: `within` is an address in the runtime. None: nobody
/// stands behind us, or it was asked already, as we were not found by our place in the order of libraries.
fn next(name: &CStr, within: *const c_void) -> Option<*mut c_void> {
    // SAFETY: terminated names. What is opened is mapped already, and stays.
    unsafe {
        if !is_ours(libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr())) {
            return None;
        }
        let mut found = match load::door() {
            // Mapped through it, we have no place in the order of libraries.
            Some(door) => door.next(name),
            None => libc::dlsym(libc::RTLD_NEXT, name.as_ptr()),
        };
        // A runtime that was opened for a part of the program alone, as Python does, is not in that order.
        if let (true, Some((_, path))) = (found.is_null(), file_of(within))
            && !path.is_null()
        {
            let runtime = libc::dlopen(path, libc::RTLD_LAZY | libc::RTLD_NOLOAD);
            if !runtime.is_null() {
                found = libc::dlsym(runtime, name.as_ptr());
                libc::dlclose(runtime);
            }
        }
        (!found.is_null() && !is_ours(found)).then_some(found)
    }
}

/// OpenACC's entry for tools. OpenACC allows several.
///
/// # Safety
/// For an OpenACC runtime only: the arguments are its functions `acc_prof_register`, `acc_prof_unregister` and
/// `acc_prof_lookup`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn acc_register_library(register: *mut c_void, unregister: *mut c_void, lookup: *mut c_void) {
    quiet_panics();
    guard("acc_register_library", || {
        // If this library is preloaded and also named by a variable of the runtime, the runtime finds it twice.
        let before = OPENACC_GIVEN.values.each_ref().map(|value| value.load(Ordering::Relaxed));
        if before == [register, unregister, lookup] {
            return;
        }
        // The runtime has one of its own, which is for nobody to call: that of gcc ends the program.
        let is_runtimes = |found: &*mut c_void| {
            let files = (file_of(found.cast_const()), file_of(register));
            matches!(files, (Some(found), Some(runtime)) if found.0 == runtime.0)
        };
        if let Some(theirs) = next(c"acc_register_library", register).filter(|found| !is_runtimes(found)) {
            // SAFETY: a function of that name has that type; the arguments are passed on.
            unsafe { std::mem::transmute::<*mut c_void, Register>(theirs)(register, unregister, lookup) };
        }
        if is_wanted(&OPENACC) {
            OPENACC_GIVEN.keep([register, unregister, lookup]);
            arrived();
        }
    });
}

/// OpenMP's entry for tools. OpenMP allows one tool; the result is null where we do not want to be that one.
///
/// # Safety
/// For an OpenMP runtime only: `runtime` is a text of its own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ompt_start_tool(version: u32, runtime: *const c_char) -> *mut StartToolResult {
    quiet_panics();
    let mut result = null_mut();
    guard("ompt_start_tool", || {
        if let Some(theirs) = next(c"ompt_start_tool", runtime.cast()) {
            // SAFETY: a function of that name has that type; the arguments are passed on.
            result = unsafe { std::mem::transmute::<*mut c_void, StartTool>(theirs)(version, runtime) };
        }
        if !is_wanted(&OPENMP) {
            return;
        }
        if result.is_null() {
            result = (&raw const TOOL).cast_mut();
        } else {
            log::line(
                1,
                format_args!("OpenMP is not recorded: another tool listens to it, and OpenMP allows one tool"),
            );
        }
    });
    result
}

/// OpenMP begins. 1: we go on listening; CUPTI may come later.
unsafe extern "C" fn initialize(lookup: *mut c_void, device: c_int, data: *mut c_void) -> c_int {
    guard("the beginning of OpenMP", || {
        OPENMP_DEVICE.store(device, Ordering::Relaxed);
        OPENMP_GIVEN.keep([lookup, data, null_mut()]);
        arrived();
    });
    1
}

/// OpenMP ends, and its functions with it.
unsafe extern "C" fn finalize(_data: *mut c_void) {
    OPENMP_GIVEN.state.store(NOTHING, Ordering::Release);
}
