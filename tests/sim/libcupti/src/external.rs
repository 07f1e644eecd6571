//! External correlation: stacks of a thread's own ids.

use crate::{buffers, records};
use std::cell::RefCell;
use std::ffi::c_void;

thread_local!(static STACKS: RefCell<Vec<(u32, u64)>> = const { RefCell::new(Vec::new()) });

/// One record for the top of each kind's stack.
pub fn tell(correlation: u32) {
    if !records::on(39) {
        return;
    }
    let stack = STACKS.with(|stacks| stacks.borrow().clone());
    let mut seen = Vec::new();
    for &(kind, id) in stack.iter().rev() {
        if seen.contains(&kind) {
            continue;
        }
        seen.push(kind);
        buffers::emit(39, 0, (0, std::ptr::null()), |record, _| {
            record.put(4, kind);
            record.put(8, id);
            record.put(16, correlation);
        });
    }
}

fn push(kind: u32, id: u64) -> i32 {
    if kind == 0 || kind > 6 {
        return 1;
    }
    STACKS.with(|stacks| stacks.borrow_mut().push((kind, id)));
    0
}

unsafe fn pop(kind: u32, out: *mut u64) -> i32 {
    let found = STACKS.with(|stacks| {
        let mut stacks = stacks.borrow_mut();
        let at = stacks.iter().rposition(|entry| entry.0 == kind)?;
        Some(stacks.remove(at).1)
    });
    let Some(id) = found else { return 18 };
    if !out.is_null() {
        *out = id;
    }
    0
}

cupti! {
    fn cuptiActivityPushExternalCorrelationId(kind: u32, id: u64) { push(kind, id) }
    fn cuptiActivityPopExternalCorrelationId(kind: u32, out: *mut u64) { pop(kind, out) }
    fn cuptiActivityPushExternalCorrelationId_v2(_handle: *mut c_void, kind: u32, id: u64) { push(kind, id) }
    fn cuptiActivityPopExternalCorrelationId_v2(_handle: *mut c_void, kind: u32, out: *mut u64) { pop(kind, out) }
}
