//! `libgpuprof.so`: hears from CUPTI what the GPU did and streams it to disk, inside somebody else's program, which
//! must not notice.
//!
//! ```text
//! load      the loader maps us (LD_PRELOAD), or the driver does (CUDA_INJECTION64_PATH): settings, two variables; mostly
//!           through the door (preload/), a small library that is preloaded in our place and has done that already
//! session   the driver's first cuInit: find a libcupti, subscribe, switch kinds on;  first context: threads and file
//! gate      cudaProfilerStart/Stop, NVTX ranges, timers ─▶ windows of correlation ids
//! buffers   CUPTI asks for a block, CUPTI gives it back ─▶ decode::names interns what dies with its module ─▶ queue
//! flush     the thread that asks CUPTI for its buffers, every interval and at the end
//! calls     API calls, one by one, of a CUPTI that cannot record them so ─▶ queue
//! nvtx      the program's own ranges ─▶ queue
//! directives OpenACC and OpenMP runtimes ─▶ CUPTI
//! python    where in a Python program each kernel was launched ─▶ queue
//! writer    the thread that takes from the queues: decode ─▶ filter ─▶ columns ─▶ frames ─▶ output
//! control   the thread that answers `gpuprof ctl`: gate, flush, marks, settings
//! exit      waits for the last flush and for the file to be closed
//! ```
//!
//! The exported functions are in this file and in `directives`, and here is [`guard`], through which everybody else calls
//! us. What runs on the program's threads takes no memory and no lock (starting and stopping a window apart), never waits
//! for our threads, and does nothing in a forked child ([`sys::is_ours`]).

#![warn(clippy::panic, clippy::unwrap_used, clippy::exit)]
#![allow(unsafe_code, reason = "all of it is at the border to CUPTI, the driver and the C library")]

mod buffers;
mod calls;
mod chatter;
mod clock;
mod control;
mod correlation;
mod cupti;
mod decode;
mod directives;
mod driver;
mod exit;
mod failure;
mod flight;
mod flush;
mod fork;
mod gate;
#[cfg(target_arch = "x86_64")]
mod libm;
mod load;
mod log;
mod messages;
mod names;
mod nvtx;
mod output;
mod own_cost;
mod process;
mod python;
mod session;
mod strides;
mod sync;
mod sys;
mod writer;

use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

/// Something of ours panicked: everything does nothing from then on.
static BROKEN: AtomicBool = AtomicBool::new(false);

/// Runs `body` for a caller who could not bear a panic. The first one is reported, and ends the recording.
pub(crate) fn guard(what: &str, body: impl FnOnce()) {
    if BROKEN.load(Ordering::Relaxed) {
        return;
    }
    if catch_unwind(AssertUnwindSafe(body)).is_err() {
        broken(what);
    }
}

fn broken(what: &str) {
    if !BROKEN.swap(true, Ordering::AcqRel) {
        cupti::mute();
        log::line(
            1,
            format_args!("an error in {what}: the recording ends here, the program goes on; please report this"),
        );
    }
}

/// The driver's entry, called once inside the first `cuInit`. The result is always 1: nothing is wrong.
#[unsafe(no_mangle)]
pub extern "C" fn InitializeInjection() -> c_int {
    quiet_panics();
    guard("InitializeInjection", session::attach);
    1
}

/// NVTX's entry, called once for each library that was built with NVTX. The result is 1 where it succeeded.
///
/// # Safety
/// For NVTX only: `get_export_table` is its function of that name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn InitializeInjectionNvtx2(get_export_table: Option<nvtx::GetExportTable>) -> c_int {
    quiet_panics();
    let mut result = 0;
    guard("InitializeInjectionNvtx2", || {
        let loaded = load::loaded();
        let wanted = loaded.settings.nvtx && !loaded.settings.disable && loaded.inert().is_none();
        if wanted && !load::is_privileged() && session::arm() {
            if let Some(other) = &loaded.settings.nvtx_chain {
                nvtx::chain_to(other);
            }
            gate::GATE.listen_to_nvtx(&loaded.settings);
            // SAFETY: passed on from NVTX.
            result = unsafe { nvtx::initialize(get_export_table) };
        }
    });
    result
}

/// Panics of ours are reported by [`guard`]. The standard hook would write to standard error by itself; it belongs to
/// this copy of the standard library alone, so a program written in Rust keeps its own.
pub(crate) fn quiet_panics() {
    static ONCE: AtomicBool = AtomicBool::new(false);
    if !ONCE.swap(true, Ordering::AcqRel) {
        std::panic::set_hook(Box::new(|info| log::line(1, format_args!("internal error: {info}"))));
    }
}
