//! OpenACC and OpenMP: records of constructs come only from a runtime that somebody handed over, by
//! `cuptiOpenACCInitialize` or `cuptiOpenMpInitialize_v2`.

use crate::{attributes, buffers, driver, records, settings};
use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_void};

const NO_NAME: (u64, *const c_char) = (0, std::ptr::null());

// What a thread is inside of: the kind of event, and when it began.
thread_local!(static INSIDE: RefCell<Vec<(u32, u64)>> = const { RefCell::new(Vec::new()) });

fn begin(event: u32) {
    let _ = INSIDE.try_with(|inside| inside.borrow_mut().push((event, driver::now())));
}

/// When the innermost event of that kind began; `None`: before anybody listened, or the thread is at its end.
fn end(event: u32) -> Option<u64> {
    let found = INSIDE.try_with(|inside| {
        let mut inside = inside.borrow_mut();
        let at = inside.iter().rposition(|(of, _)| *of == event)?;
        Some(inside.remove(at).1)
    });
    found.ok().flatten()
}

/// The head of `acc_prof_info`.
#[repr(C)]
struct ProfInfo {
    event: i32,
    valid_bytes: i32,
    version: i32,
    device_type: i32,
    device_number: i32,
    thread: i32,
    async_: isize,
    async_queue: isize,
    src_file: *const c_char,
    func_name: *const c_char,
    line: i32,
}

/// The heads of `acc_data_event_info` and `acc_launch_event_info`, which begin alike.
#[repr(C)]
struct EventInfo {
    event: i32,
    valid_bytes: i32,
    parent: i32,
    implicit: i32,
    tool: *mut c_void,
    name: *const c_char,
    count: usize,
}

/// OpenACC's event, CUPTI's kind of event, and whether it begins (0), ends (1) or both (2).
const EVENTS: [(i32, u32, u8); 25] = [
    (1, 1, 0),
    (2, 1, 1),
    (3, 2, 0),
    (4, 2, 1),
    (5, 3, 2),
    (6, 13, 2),
    (7, 14, 2),
    (8, 15, 2),
    (9, 16, 2),
    (10, 11, 0),
    (11, 11, 1),
    (12, 12, 0),
    (13, 12, 1),
    (14, 10, 0),
    (15, 10, 1),
    (16, 9, 0),
    (17, 9, 1),
    (18, 4, 0),
    (19, 4, 1),
    (20, 5, 0),
    (21, 5, 1),
    (22, 6, 0),
    (23, 6, 1),
    (24, 7, 0),
    (25, 7, 1),
];

/// The kind of record for CUPTI's kind of event.
fn kind_of(event: u32) -> u32 {
    match event {
        5 | 6 | 13..=16 => 33,
        4 => 34,
        _ => 35,
    }
}

unsafe extern "C" fn on_openacc(info: *const ProfInfo, event: *const EventInfo, _api: *const c_void) {
    let (info, details) = (&*info, &*event);
    let Some(&(_, event, phase)) = EVENTS.iter().find(|known| known.0 == info.event) else { return };
    let now = driver::now();
    let start = match phase {
        0 => return begin(event),
        1 => end(event),
        _ => Some(now),
    };
    let (Some(start), kind) = (start, kind_of(event)) else { return };
    if !records::on(kind) {
        return;
    }
    let shift = attributes::clock_shift();
    let text = |text: *const c_char| if text.is_null() { c"" } else { CStr::from_ptr(text) };
    let function = text(info.func_name);
    // Names are kept for ever: unlike a kernel's they belong to the runtime.
    let (file, function) = (info.src_file, function.as_ptr());
    buffers::emit(kind, 0, NO_NAME, |record, _| {
        record.put(4, event);
        record.put(8, details.parent);
        record.put(12, info.version);
        record.put(16, details.implicit);
        record.put(20, info.device_type);
        record.put(24, info.device_number);
        record.put(28, info.thread);
        record.put(48, info.line);
        record.put(64, start.wrapping_add(shift));
        record.put(72, now.wrapping_add(shift));
        record.put(92, settings::process_id());
        record.put(96, attributes::thread_id(record.place));
        record.put(104, file);
        record.put(112, function);
        if kind == 33 {
            record.put(120, details.count as u64);
        }
    });
}

fn openmp(event: u32, start: u64) {
    if !records::on(47) {
        return;
    }
    let (shift, now) = (attributes::clock_shift(), driver::now());
    buffers::emit(47, 0, NO_NAME, |record, _| {
        record.put(4, event);
        record.put(8, 1u32);
        record.put(12, attributes::thread_id(record.place));
        record.put(16, start.wrapping_add(shift));
        record.put(24, now.wrapping_add(shift));
        record.put(32, settings::process_id());
        record.put(36, attributes::thread_id(record.place));
    });
}

fn ended(event: u32) {
    if let Some(start) = end(event) {
        openmp(event, start);
    }
}

unsafe extern "C" fn thread_begin(_kind: u32, _thread: *mut c_void) {
    begin(3);
}

unsafe extern "C" fn thread_end(_thread: *mut c_void) {
    ended(3);
}

unsafe extern "C" fn parallel_begin(
    _task: *mut c_void,
    _frame: *const c_void,
    _parallel: *mut c_void,
    _requested: u32,
    _flags: i32,
    _code: *const c_void,
) {
    begin(1);
}

unsafe extern "C" fn parallel_end(_parallel: *mut c_void, _task: *mut c_void, _flags: i32, _code: *const c_void) {
    ended(1);
}

unsafe extern "C" fn sync_wait(
    kind: u32,
    endpoint: u32,
    _parallel: *mut c_void,
    _task: *mut c_void,
    _code: *const c_void,
) {
    let event = if kind == 5 { 6 } else { 5 };
    if endpoint == 1 { begin(event) } else { ended(event) }
}

type SetCallback = unsafe extern "C" fn(u32, *const c_void) -> u32;
type Lookup = unsafe extern "C" fn(*const c_char) -> *mut c_void;
type AccRegister = unsafe extern "C" fn(i32, *const c_void, i32);

cupti! {
    fn cuptiOpenACCInitialize(register: *mut c_void, _unregister: *mut c_void, _lookup: *mut c_void) {
        if register.is_null() {
            return 1;
        }
        settings::log("openacc");
        let register = std::mem::transmute::<*mut c_void, AccRegister>(register);
        for (event, _, _) in EVENTS {
            register(event, on_openacc as *const c_void, 0);
        }
        0
    }
    fn cuptiOpenMpInitialize(_lookup: *mut c_void, _runtime: *const c_char, _version: u32) {
        // Of before OpenMP 5.0: NVIDIA's own (13.5) says this to whoever calls it.
        14
    }
    fn cuptiOpenMpInitialize_v2(lookup: *mut c_void, _device: i32, _data: *mut c_void) {
        if lookup.is_null() {
            return 1;
        }
        settings::log("openmp");
        let lookup = std::mem::transmute::<*mut c_void, Lookup>(lookup);
        let set = lookup(c"ompt_set_callback".as_ptr());
        if set.is_null() {
            return 1;
        }
        let set = std::mem::transmute::<*mut c_void, SetCallback>(set);
        set(1, thread_begin as *const c_void);
        set(2, thread_end as *const c_void);
        set(3, parallel_begin as *const c_void);
        set(4, parallel_end as *const c_void);
        set(16, sync_wait as *const c_void);
        0
    }
}
