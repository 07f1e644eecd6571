//! External correlation: stacks of a thread's own ids.

use crate::subscribers::GLOBAL;
use crate::{buffers, records, subscribers};
use std::cell::RefCell;
use std::ffi::c_void;

thread_local!(static STACKS: RefCell<Vec<Entry>> = const { RefCell::new(Vec::new()) });

#[derive(Clone, Copy)]
struct Entry {
    /// Whose it is.
    place: usize,
    kind: u32,
    id: u64,
}

/// One record for the top of each kind's stack, to whose stack it is.
pub fn tell(correlation: u32) {
    if !records::on(39) {
        return;
    }
    let stack = STACKS.with(|stacks| stacks.borrow().clone());
    let mut seen = Vec::new();
    for &Entry { place, kind, id } in stack.iter().rev() {
        if seen.contains(&(place, kind)) {
            continue;
        }
        seen.push((place, kind));
        buffers::emit_to(1 << place, 39, 0, (0, std::ptr::null()), |record, _| {
            record.put(4, kind);
            record.put(8, id);
            record.put(16, correlation);
        });
    }
}

fn push(place: usize, kind: u32, id: u64) -> i32 {
    if kind == 0 || kind > 6 {
        return 1;
    }
    STACKS.with(|stacks| stacks.borrow_mut().push(Entry { place, kind, id }));
    0
}

unsafe fn pop(place: usize, kind: u32, out: *mut u64) -> i32 {
    let found = STACKS.with(|stacks| {
        let mut stacks = stacks.borrow_mut();
        let at = stacks.iter().rposition(|entry| (entry.place, entry.kind) == (place, kind))?;
        Some(stacks.remove(at).id)
    });
    let Some(id) = found else { return 18 };
    if !out.is_null() {
        *out = id;
    }
    0
}

cupti! {
    fn cuptiActivityPushExternalCorrelationId(kind: u32, id: u64) {
        let refusal = subscribers::global(true);
        if refusal != 0 { refusal } else { push(GLOBAL, kind, id) }
    }
    fn cuptiActivityPopExternalCorrelationId(kind: u32, out: *mut u64) {
        let refusal = subscribers::global(true);
        if refusal != 0 { refusal } else { pop(GLOBAL, kind, out) }
    }
    fn cuptiActivityPushExternalCorrelationId_v2(handle: *mut c_void, kind: u32, id: u64) {
        subscribers::of(handle).map_or_else(|code| code, |place| push(place, kind, id))
    }
    fn cuptiActivityPopExternalCorrelationId_v2(handle: *mut c_void, kind: u32, out: *mut u64) {
        subscribers::of(handle).map_or_else(|code| code, |place| pop(place, kind, out))
    }
}
