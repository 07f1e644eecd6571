//! `cuInit`: loading the tool that `CUDA_INJECTION64_PATH` names, what forks do to the driver, and its end.

use crate::abi::{Resource, resource};
use crate::{call, context, results, settings, tool};
use std::cell::Cell;
use std::ffi::CString;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

static READY: AtomicBool = AtomicBool::new(false);
static FORKED: AtomicBool = AtomicBool::new(false);
static GONE: AtomicBool = AtomicBool::new(false);
static LOCK: Mutex<()> = Mutex::new(());
thread_local!(static INSIDE: Cell<bool> = const { Cell::new(false) });

/// 0 if calls may go on, else why not.
#[inline]
pub fn refusal() -> i32 {
    if GONE.load(Ordering::Relaxed) {
        return results::DEINITIALIZED;
    }
    if !READY.load(Ordering::Acquire) || FORKED.load(Ordering::Relaxed) {
        return results::NOT_INITIALIZED;
    }
    0
}

/// For libcudart: 0 if calls may go on.
#[unsafe(no_mangle)]
pub extern "C" fn sim_cuda_refusal() -> i32 {
    refusal()
}

/// True in a child that was forked after the parent's `cuInit`: its driver is dead.
pub fn forked() -> bool {
    FORKED.load(Ordering::Relaxed)
}

extern "C" fn child() {
    if READY.load(Ordering::Relaxed) {
        FORKED.store(true, Ordering::Relaxed);
    }
}

/// The driver's own exit handler. Handlers run last registered first: one that a tool registers inside
/// `InitializeInjection` runs after this one and finds the driver gone; one registered at the first context runs before.
extern "C" fn at_exit() {
    if READY.load(Ordering::Relaxed) && !FORKED.load(Ordering::Relaxed) {
        context::destroy_all();
        GONE.store(true, Ordering::Relaxed);
        tool::deinitialized();
    }
}

/// Loads what `CUDA_INJECTION64_PATH` names and calls `InitializeInjection`. The variable is no list; whatever goes
/// wrong is ignored silently.
fn inject() {
    let Some(path) = settings::text(c"CUDA_INJECTION64_PATH").and_then(|path| CString::new(path).ok()) else {
        return;
    };
    // SAFETY: loading a library runs its constructors, as the real driver does.
    unsafe {
        let library = libc::dlopen(path.as_ptr(), libc::RTLD_NOW);
        if library.is_null() {
            settings::log(&format!("inject {path:?}: not loaded"));
            return;
        }
        let entry = libc::dlsym(library, c"InitializeInjection".as_ptr());
        if entry.is_null() {
            settings::log(&format!("inject {path:?}: no InitializeInjection"));
            return;
        }
        let entry: extern "C" fn() -> i32 = std::mem::transmute(entry);
        let answer = entry();
        settings::log(&format!("inject {path:?}: {answer}"));
    }
}

pub fn initialize() -> i32 {
    if GONE.load(Ordering::Relaxed) {
        return results::DEINITIALIZED;
    }
    if FORKED.load(Ordering::Relaxed) {
        return results::OPERATING_SYSTEM;
    }
    if READY.load(Ordering::Acquire) || INSIDE.with(Cell::get) {
        return results::SUCCESS;
    }
    let Ok(_guard) = LOCK.lock() else { return results::OPERATING_SYSTEM };
    if READY.load(Ordering::Acquire) {
        return results::SUCCESS;
    }
    let _ = settings::process_id();
    settings::claim_totals();
    call::set_correlation_start();
    INSIDE.with(|inside| inside.set(true));
    static INJECTED: AtomicBool = AtomicBool::new(false);
    if !INJECTED.swap(true, Ordering::Relaxed) {
        inject();
    }
    INSIDE.with(|inside| inside.set(false));
    if settings::number(c"SIM_DEVICES", 1) == 0 {
        return results::NO_DEVICE;
    }
    // SAFETY: the handlers are functions of a library that is never unloaded before exit.
    unsafe {
        libc::pthread_atfork(None, None, Some(child));
        libc::atexit(at_exit);
    }
    READY.store(true, Ordering::Release);
    tool::resource(&Resource { cbid: resource::CU_INIT_FINISHED, ..context::no_resource() });
    results::SUCCESS
}
