//! The functions of NVTX 1, which name no domain.

use std::ffi::{c_char, c_int};

use super::{Function, forward};
use crate::nvtx::abi::{EventAttributes, NO_TRACKING, Wide, core as slot};
use crate::nvtx::chain;
use crate::nvtx::handles::Domain;
use crate::nvtx::record::{self, guarded};
use crate::nvtx::text::{Attributes, ascii, wide};

/// Slot and function.
pub static FUNCTIONS: &[(usize, Function)] = &[
    (slot::MARK_EX, Function(mark_ex as *const _)),
    (slot::MARK_A, Function(mark_a as *const _)),
    (slot::MARK_W, Function(mark_w as *const _)),
    (slot::RANGE_START_EX, Function(range_start_ex as *const _)),
    (slot::RANGE_START_A, Function(range_start_a as *const _)),
    (slot::RANGE_START_W, Function(range_start_w as *const _)),
    (slot::RANGE_END, Function(range_end as *const _)),
    (slot::RANGE_PUSH_EX, Function(range_push_ex as *const _)),
    (slot::RANGE_PUSH_A, Function(range_push_a as *const _)),
    (slot::RANGE_PUSH_W, Function(range_push_w as *const _)),
    (slot::RANGE_POP, Function(range_pop as *const _)),
    (slot::NAME_CATEGORY_A, Function(name_category_a as *const _)),
    (slot::NAME_CATEGORY_W, Function(name_category_w as *const _)),
    (slot::NAME_OS_THREAD_A, Function(name_os_thread_a as *const _)),
    (slot::NAME_OS_THREAD_W, Function(name_os_thread_w as *const _)),
];

// SAFETY of all functions here: NVTX calls them with the program's arguments, of which its headers demand texts that
// end in a zero and attribute structures of the size that they state.

unsafe extern "C" fn mark_ex(attributes: *const EventAttributes) {
    // SAFETY: see above, and so in all that follow.
    let for_them = || unsafe { chain::event_attributes(attributes) };
    forward!(Core, slot::MARK_EX, unsafe extern "C" fn(*const EventAttributes), (for_them().pointer()));
    guarded((), || unsafe {
        let a = Attributes::read(attributes);
        a.message.read(|text| record::mark(Domain::DEFAULT, &a, text));
    });
}

unsafe extern "C" fn mark_a(text: *const c_char) {
    forward!(Core, slot::MARK_A, unsafe extern "C" fn(*const c_char), (text));
    guarded((), || unsafe { ascii(text, |text| record::mark(Domain::DEFAULT, &Attributes::NONE, text)) });
}

unsafe extern "C" fn mark_w(text: *const Wide) {
    forward!(Core, slot::MARK_W, unsafe extern "C" fn(*const Wide), (text));
    guarded((), || unsafe { wide(text, |text| record::mark(Domain::DEFAULT, &Attributes::NONE, text)) });
}

unsafe extern "C" fn range_start_ex(attributes: *const EventAttributes) -> u64 {
    let for_them = || unsafe { chain::event_attributes(attributes) };
    let theirs = forward!(
        Core,
        slot::RANGE_START_EX,
        unsafe extern "C" fn(*const EventAttributes) -> u64,
        (for_them().pointer())
    );
    guarded(theirs.unwrap_or(0), || unsafe {
        let a = Attributes::read(attributes);
        a.message.read(|text| record::start(Domain::DEFAULT, &a, text, theirs))
    })
}

unsafe extern "C" fn range_start_a(text: *const c_char) -> u64 {
    let theirs = forward!(Core, slot::RANGE_START_A, unsafe extern "C" fn(*const c_char) -> u64, (text));
    guarded(theirs.unwrap_or(0), || unsafe {
        ascii(text, |text| record::start(Domain::DEFAULT, &Attributes::NONE, text, theirs))
    })
}

unsafe extern "C" fn range_start_w(text: *const Wide) -> u64 {
    let theirs = forward!(Core, slot::RANGE_START_W, unsafe extern "C" fn(*const Wide) -> u64, (text));
    guarded(theirs.unwrap_or(0), || unsafe {
        wide(text, |text| record::start(Domain::DEFAULT, &Attributes::NONE, text, theirs))
    })
}

unsafe extern "C" fn range_end(id: u64) {
    guarded((), || record::end(Domain::DEFAULT, id));
    forward!(Core, slot::RANGE_END, unsafe extern "C" fn(u64), (id));
}

unsafe extern "C" fn range_push_ex(attributes: *const EventAttributes) -> c_int {
    let for_them = || unsafe { chain::event_attributes(attributes) };
    let theirs = forward!(
        Core,
        slot::RANGE_PUSH_EX,
        unsafe extern "C" fn(*const EventAttributes) -> c_int,
        (for_them().pointer())
    );
    let ours = guarded(NO_TRACKING, || unsafe {
        let a = Attributes::read(attributes);
        a.message.read(|text| record::push(Domain::DEFAULT, &a, text))
    });
    theirs.unwrap_or(ours)
}

unsafe extern "C" fn range_push_a(text: *const c_char) -> c_int {
    let theirs = forward!(Core, slot::RANGE_PUSH_A, unsafe extern "C" fn(*const c_char) -> c_int, (text));
    let ours = guarded(NO_TRACKING, || unsafe {
        ascii(text, |text| record::push(Domain::DEFAULT, &Attributes::NONE, text))
    });
    theirs.unwrap_or(ours)
}

unsafe extern "C" fn range_push_w(text: *const Wide) -> c_int {
    let theirs = forward!(Core, slot::RANGE_PUSH_W, unsafe extern "C" fn(*const Wide) -> c_int, (text));
    let ours = guarded(NO_TRACKING, || unsafe {
        wide(text, |text| record::push(Domain::DEFAULT, &Attributes::NONE, text))
    });
    theirs.unwrap_or(ours)
}

unsafe extern "C" fn range_pop() -> c_int {
    let ours = guarded(NO_TRACKING, || record::pop(Domain::DEFAULT));
    forward!(Core, slot::RANGE_POP, unsafe extern "C" fn() -> c_int, ()).unwrap_or(ours)
}

unsafe extern "C" fn name_category_a(category: u32, name: *const c_char) {
    forward!(Core, slot::NAME_CATEGORY_A, unsafe extern "C" fn(u32, *const c_char), (category, name));
    guarded((), || unsafe { ascii(name, |text| record::name_category(Domain::DEFAULT, category, text)) });
}

unsafe extern "C" fn name_category_w(category: u32, name: *const Wide) {
    forward!(Core, slot::NAME_CATEGORY_W, unsafe extern "C" fn(u32, *const Wide), (category, name));
    guarded((), || unsafe { wide(name, |text| record::name_category(Domain::DEFAULT, category, text)) });
}

unsafe extern "C" fn name_os_thread_a(thread: u32, name: *const c_char) {
    forward!(Core, slot::NAME_OS_THREAD_A, unsafe extern "C" fn(u32, *const c_char), (thread, name));
    guarded((), || unsafe { ascii(name, |text| record::name_thread(thread, text)) });
}

unsafe extern "C" fn name_os_thread_w(thread: u32, name: *const Wide) {
    forward!(Core, slot::NAME_OS_THREAD_W, unsafe extern "C" fn(u32, *const Wide), (thread, name));
    guarded((), || unsafe { wide(name, |text| record::name_thread(thread, text)) });
}
