//! Who listens: the libcupti copies that attached, and the one subscriber slot of the process.

use crate::abi::{ApiCall, Resource, Tool, Work};
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

static TOOLS: [AtomicPtr<Tool>; 4] = [const { AtomicPtr::new(std::ptr::null_mut()) }; 4];
static COUNT: AtomicUsize = AtomicUsize::new(0);
static OWNER: AtomicPtr<Tool> = AtomicPtr::new(std::ptr::null_mut());

/// Calls `f` for every attached tool.
#[inline]
fn each(f: impl Fn(&Tool)) {
    for tool in TOOLS.iter().take(COUNT.load(Ordering::Acquire)) {
        let tool = tool.load(Ordering::Acquire);
        if !tool.is_null() {
            // SAFETY: attached tools live for ever.
            f(unsafe { &*tool });
        }
    }
}

pub fn any() -> bool {
    COUNT.load(Ordering::Relaxed) > 0
}

#[inline]
pub fn api_enter(call: &mut ApiCall) {
    let call: *mut ApiCall = call;
    // SAFETY: the call lives on this thread's stack.
    each(|tool| unsafe { (tool.api_enter)(call) });
}

#[inline]
pub fn api_exit(call: &mut ApiCall) {
    let call: *mut ApiCall = call;
    // SAFETY: as in `api_enter`.
    each(|tool| unsafe { (tool.api_exit)(call) });
}

#[inline]
pub fn work(work: &Work) {
    // SAFETY: the tool copies what it needs.
    each(|tool| unsafe { (tool.work)(work) });
}

pub fn resource(resource: &Resource) {
    // SAFETY: the tool copies what it needs.
    each(|tool| unsafe { (tool.resource)(resource) });
}

pub fn synchronized(what: u32, resource: &Resource) {
    // SAFETY: the tool copies what it needs.
    each(|tool| unsafe { (tool.synchronized)(what, resource) });
}

pub fn deinitialized() {
    // SAFETY: takes nothing.
    each(|tool| unsafe { (tool.deinitialized)() });
}

/// Bits of all tools' `recording`.
fn recording() -> u32 {
    let mut bits = 0;
    for tool in TOOLS.iter().take(COUNT.load(Ordering::Acquire)) {
        let tool = tool.load(Ordering::Acquire);
        if !tool.is_null() {
            // SAFETY: attached tools live for ever.
            bits |= unsafe { ((*tool).recording)() };
        }
    }
    bits
}

/// Whether graphs are recorded as whole launches.
pub fn graph_level() -> bool {
    recording() & 1 != 0
}

/// Whether kernels are recorded at all.
pub fn records_kernels() -> bool {
    recording() & 2 != 0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn sim_cuda_attach(tool: *const Tool) -> i32 {
    let n = COUNT.load(Ordering::Acquire);
    if TOOLS.iter().take(n).any(|known| std::ptr::eq(known.load(Ordering::Relaxed), tool)) {
        return 0;
    }
    let Some(place) = TOOLS.get(n) else { return 1 };
    place.store(tool.cast_mut(), Ordering::Release);
    COUNT.store(n + 1, Ordering::Release);
    0
}

/// Null gives the slot back; 0: it is somebody else's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sim_cuda_subscribe(tool: *const Tool) -> i32 {
    if tool.is_null() {
        OWNER.store(std::ptr::null_mut(), Ordering::Release);
        return 1;
    }
    let taken = OWNER.compare_exchange(std::ptr::null_mut(), tool.cast_mut(), Ordering::AcqRel, Ordering::Acquire);
    taken.is_ok() as i32
}
