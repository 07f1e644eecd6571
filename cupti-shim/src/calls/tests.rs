//! Callbacks as CUPTI makes them, without CUPTI.
#![allow(clippy::unwrap_used)]

use std::ffi::CStr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use cupti_sys::{CUPTI_CB_DOMAIN_DRIVER_API as DRIVER, CUPTI_CB_DOMAIN_RUNTIME_API as RUNTIME};

use super::*;
use crate::writer::counting::allocations;

/// `cudaLaunchKernel`, `cuLaunchKernel`, `cudaMemcpy`, `cudaGetDevice`, `cuProfilerStart`.
const LAUNCH: u32 = 211;
const DRIVER_LAUNCH: u32 = 307;
const COPY: u32 = 31;
const GET_DEVICE: u32 = 17;
const PROFILER_START: u32 = 308;

fn name_of(domain: u32, id: u32) -> Option<&'static CStr> {
    Some(match (domain, id) {
        (_, 600..) => return None,
        (RUNTIME, LAUNCH) => c"cudaLaunchKernel_v7000",
        (RUNTIME, COPY) => c"cudaMemcpy_v3020",
        (DRIVER, DRIVER_LAUNCH) => c"cuLaunchKernel",
        (DRIVER, _) => c"cuOther",
        _ => c"cudaOther_v3020",
    })
}

/// What is heard is one for the process: one test at a time. Both domains are on.
fn hearing() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    let one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    forget();
    listen(choose(&[DRIVER, RUNTIME], false, name_of).0);
    switch(DRIVER, true, |_| ());
    switch(RUNTIME, true, |_| ());
    one
}

fn data(correlation: u32, result: Option<&mut i32>) -> CUpti_CallbackData {
    CUpti_CallbackData {
        callbackSite: 0,
        functionName: std::ptr::null(),
        functionParams: std::ptr::null(),
        functionReturnValue: result.map_or(null_mut(), |result| std::ptr::from_mut(result).cast()),
        symbolName: std::ptr::null(),
        context: null_mut(),
        contextUid: 0,
        correlationData: null_mut(),
        correlationId: correlation,
    }
}

fn begin(domain: u32, id: u32, correlation: u32, now_ns: i64) {
    enter(domain, id, &data(correlation, None), || Some(now_ns));
}

fn end(domain: u32, id: u32, correlation: u32, now_ns: i64) {
    exit(domain, id, &data(correlation, Some(&mut 0)), || Some(now_ns));
}

/// Kind, call, id and times of each record.
fn taken() -> Vec<(u32, u32, u32, i64, i64)> {
    let calls = std::iter::from_fn(pop);
    calls.map(|call| (call.kind, call.cbid, call.correlation, call.start_ns, call.end_ns)).collect()
}

#[test]
fn a_call_is_recorded_from_its_beginning_to_its_end_with_what_it_returned() {
    let _one = hearing();
    begin(RUNTIME, COPY, 5, 100);
    exit(RUNTIME, COPY, &data(5, Some(&mut 719)), || Some(250));
    let (tid, kind) = (crate::sys::gettid(), CUPTI_ACTIVITY_KIND_RUNTIME);
    let heard = Heard { kind, cbid: COPY, tid, correlation: 5, result: 719, start_ns: 100, end_ns: 250 };
    assert_eq!((pop(), pop()), (Some(heard), None));
}

#[test]
fn the_drivers_part_of_a_runtime_call_has_no_record_and_a_call_of_the_driver_has_one() {
    let _one = hearing();
    begin(RUNTIME, LAUNCH, 7, 1);
    begin(DRIVER, DRIVER_LAUNCH, 7, 2);
    end(DRIVER, DRIVER_LAUNCH, 7, 3);
    end(RUNTIME, LAUNCH, 7, 4);
    begin(DRIVER, DRIVER_LAUNCH, 8, 5);
    end(DRIVER, DRIVER_LAUNCH, 8, 6);
    // In a runtime call that is not heard, and in one that was called before the runtime's were on.
    begin(RUNTIME, GET_DEVICE, 9, 7);
    begin(DRIVER, DRIVER_LAUNCH, 9, 8);
    end(DRIVER, DRIVER_LAUNCH, 9, 9);
    end(RUNTIME, GET_DEVICE, 9, 10);
    // Under another id, as where each call has its own.
    begin(RUNTIME, LAUNCH, 10, 11);
    begin(DRIVER, DRIVER_LAUNCH, 11, 12);
    end(DRIVER, DRIVER_LAUNCH, 11, 13);
    end(RUNTIME, LAUNCH, 10, 14);
    assert_eq!(
        taken(),
        [
            (5, LAUNCH, 7, 1, 4),
            (4, DRIVER_LAUNCH, 8, 5, 6),
            (4, DRIVER_LAUNCH, 9, 8, 9),
            (4, DRIVER_LAUNCH, 11, 12, 13),
            (5, LAUNCH, 10, 11, 14)
        ]
    );
}

#[test]
fn a_call_of_which_one_end_was_not_heard_has_no_record() {
    let _one = hearing();
    end(RUNTIME, LAUNCH, 1, 10);
    begin(RUNTIME, LAUNCH, 2, 20);
    switch(RUNTIME, false, |_| ());
    end(RUNTIME, LAUNCH, 2, 30);
    begin(RUNTIME, LAUNCH, 3, 40);
    switch(RUNTIME, true, |_| ());
    end(RUNTIME, LAUNCH, 3, 50);
    // The recording ends meanwhile.
    enter(RUNTIME, LAUNCH, &data(4, None), || None);
    end(RUNTIME, LAUNCH, 4, 60);
    begin(RUNTIME, LAUNCH, 5, 70);
    exit(RUNTIME, LAUNCH, &data(5, Some(&mut 0)), || None);
    assert_eq!(taken(), []);
}

#[test]
fn who_listens_for_the_gate_makes_no_records() {
    let _one = hearing();
    begin(DRIVER, PROFILER_START, 1, 10);
    end(DRIVER, PROFILER_START, 1, 20);
    let mut switched = Vec::new();
    switch(DRIVER, false, |id| switched.push(id));
    assert_eq!((taken(), switched), (vec![], vec![DRIVER_LAUNCH]));
}

#[test]
fn calls_whose_end_never_came_do_not_crowd_out_others() {
    let _one = hearing();
    for id in 1..100 {
        begin(RUNTIME, COPY, id, 1);
    }
    begin(RUNTIME, LAUNCH, 200, 10);
    end(RUNTIME, LAUNCH, 200, 20);
    assert_eq!(taken(), [(5, LAUNCH, 200, 10, 20)]);
}

#[test]
fn threads_that_call_at_once_each_find_their_own_calls() {
    let _one = hearing();
    std::thread::scope(|scope| {
        for thread in 0..8u32 {
            scope.spawn(move || {
                for i in 0..1_000 {
                    let id = thread * 1_000 + i + 1;
                    begin(RUNTIME, LAUNCH, id, i64::from(id));
                    end(RUNTIME, LAUNCH, id, i64::from(id) + 5);
                }
            });
        }
    });
    let mut all: Vec<Heard> = std::iter::from_fn(pop).collect();
    all.sort_by_key(|call| call.correlation);
    let is_whole = |call: &Heard| call.start_ns == i64::from(call.correlation) && call.end_ns == call.start_ns + 5;
    assert!(all.len() == 8_000 && all.iter().all(is_whole));
    assert!(all.chunks(1_000).all(|of_one| of_one.iter().all(|call| call.tid == of_one[0].tid)));
}

#[test]
fn what_finds_the_queue_full_is_counted_and_nothing_is_allocated_on_the_way() {
    let _one = hearing();
    // Whom to wake is there long before the first call.
    let _ = writer::shared();
    begin(RUNTIME, LAUNCH, 1, 1);
    let count = allocations(|| {
        for id in 1..=CAPACITY as u32 + 3 {
            begin(RUNTIME, LAUNCH, id, i64::from(id));
            end(RUNTIME, LAUNCH, id, i64::from(id) + 1);
        }
    });
    assert_eq!(count, 0);
    let first_ns = CAPACITY as i64 + 1;
    assert_eq!(take_lost(), Some(Lost { calls: 3, start_ns: first_ns, end_ns: first_ns + 3 }));
    assert_eq!((take_lost(), taken().len()), (None, CAPACITY));
}

#[test]
fn a_child_begins_without_what_its_parent_had_in_hand() {
    let _one = hearing();
    begin(RUNTIME, LAUNCH, 1, 1);
    end(RUNTIME, LAUNCH, 1, 2);
    begin(RUNTIME, COPY, 2, 3);
    forget();
    assert!(!are_heard() && pop().is_none());
    listen(choose(&[RUNTIME], false, name_of).0);
    switch(RUNTIME, true, |_| ());
    end(RUNTIME, COPY, 2, 4);
    assert_eq!(taken(), []);
}
