//! API calls of which the records are made here, through the recorder.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

use cupti_sys::{CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_ACTIVITY_KIND_RUNTIME};
use trace_format::tables::{ApiRow, LossRow};

use super::super::recorder::Recorder;
use super::super::sources::Sources;
use super::harness::*;
use crate::calls::{Heard, Lost};
use crate::decode::{CALL_BYTES, record_of_call};
use crate::messages::Cause;
use crate::strides::Strides;

thread_local! {
    static QUEUE: RefCell<VecDeque<Heard>> = const { RefCell::new(VecDeque::new()) };
    static LOST: Cell<Option<Lost>> = const { Cell::new(None) };
}

const SOURCES: Sources = Sources {
    pop_call: || QUEUE.with_borrow_mut(VecDeque::pop_front),
    take_lost_calls: || LOST.take(),
    ..Sources::NONE
};

fn call(correlation: u32) -> Heard {
    let start_ns = NOW_NS.cast_signed() + i64::from(correlation) * 1_000;
    let kind = if correlation.is_multiple_of(2) { CUPTI_ACTIVITY_KIND_RUNTIME } else { CUPTI_ACTIVITY_KIND_DRIVER };
    Heard {
        kind,
        cbid: 300 + kind,
        tid: 41,
        correlation,
        result: correlation % 3,
        start_ns,
        end_ns: start_ns + 250,
    }
}

#[test]
fn calls_become_the_rows_that_records_of_cupti_would_have_become_and_are_counted_as_they_are() {
    const CALLS: u32 = 70_000;
    let disk = Disk::default();
    let shared = shared(4, true);
    let (trace, names) = (whole(&disk, Default::default()), Box::new(|_, _| None));
    let mut recorder = Recorder::new(shared, trace, limits(), Strides::newest(), NotMultiples(5), SOURCES, names);
    recorder.begin(serde_json::Value::Null, None, 1);
    // More than are taken at once, and more than wait in the queue at most.
    QUEUE.with_borrow_mut(|queue| queue.extend((1..=CALLS / 2).map(call)));
    recorder.turn(2);
    QUEUE.with_borrow_mut(|queue| queue.extend((CALLS / 2 + 1..=CALLS).map(call)));
    LOST.set(Some(Lost { calls: 9, start_ns: NOW_NS.cast_signed(), end_ns: NOW_NS.cast_signed() + 70 }));
    close(shared, &mut recorder, 5_000);
    let read = Read::disk(&disk);
    let mut rows = read.rows::<ApiRow>();
    rows.sort_by_key(|row| row.correlation);
    let expected: Vec<Heard> = (1..=CALLS).filter(|id| !id.is_multiple_of(5)).map(call).collect();
    assert_eq!(rows.len(), expected.len());
    for (row, call) in rows.iter().zip(&expected) {
        assert_eq!((row.start_ns, row.duration_ns), (call.start_ns, Some(250)));
        assert_eq!((row.domain, row.cbid), (u32::from(call.kind == CUPTI_ACTIVITY_KIND_DRIVER), call.cbid));
        assert_eq!((row.tid, row.correlation, row.result), (41, u64::from(call.correlation), Some(call.result)));
    }
    let totals = read.totals();
    let count = |name: &str| totals[name].as_u64().unwrap();
    assert_eq!((count("delivered"), count("heard")), (u64::from(CALLS) + 9, u64::from(CALLS) + 9));
    assert_eq!((count("written"), count("excluded"), count("lost")), (rows.len() as u64, u64::from(CALLS / 5), 9));
    let losses = read.rows::<LossRow>();
    let [loss] = &losses[..] else { panic!("{losses:?}") };
    assert_eq!((loss.rows, loss.cause), (9, Cause::QueueFull as u32));
    assert_eq!(read.strings()[&loss.detail_id.unwrap()], "API calls");
}

#[test]
fn calls_that_were_moved_into_a_block_are_counted_as_ours_and_the_block_comes_back() {
    let disk = Disk::default();
    let shared = shared(2, true);
    let (trace, names) = (whole(&disk, Default::default()), Box::new(|_, _| None));
    let mut recorder = Recorder::new(shared, trace, limits(), Strides::newest(), NotMultiples(0), SOURCES, names);
    recorder.begin(serde_json::Value::Null, None, 1);
    let queue = |calls: usize| {
        shared.queue_own(|block| {
            let places = block.chunks_exact_mut(CALL_BYTES).take(calls);
            places.map(|place| place.copy_from_slice(&record_of_call(&call(7)))).count() * CALL_BYTES
        })
    };
    assert!(queue(3) && queue(0) && !queue(1), "there are two blocks");
    recorder.turn(2);
    assert!(queue(5), "and they come back");
    close(shared, &mut recorder, 5_000);
    let read = Read::disk(&disk);
    assert_eq!(read.rows::<ApiRow>().len(), 8);
    let totals = read.totals();
    assert_eq!((totals["delivered"].as_u64(), totals["heard"].as_u64()), (Some(8), Some(8)));
    let requests = (totals["blocks"]["requested"].as_u64(), totals["blocks"]["refused"].as_u64());
    assert_eq!(requests, (Some(0), Some(0)), "CUPTI asked for none");
}
