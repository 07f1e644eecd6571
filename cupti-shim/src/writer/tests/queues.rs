//! Callbacks, tickets and the sleeping writer.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::super::counting::allocations;
use super::super::shared::Phase;
use super::super::{recorder::Turn, serve};
use super::harness::*;
use crate::buffers::Owner;
use crate::messages::Message;

#[test]
fn callbacks_allocate_nothing() {
    let shared = shared(16, true);
    let texts = Texts::new(300, "kernel");
    let mut records = Records::new();
    for i in 1..=200 {
        records.kernel(i, texts.pointer(i));
    }
    // The first name maps memory, which is no allocation either.
    let mut delivered = true;
    assert_eq!(allocations(|| delivered = (0..10).all(|_| records.deliver(shared))), 0);
    assert!(delivered);
    let row = trace_format::tables::CaptureRow::default();
    assert_eq!(allocations(|| assert!(shared.send(Message::Capture(row.clone())))), 0);
    assert_eq!(allocations(|| assert_ne!(shared.names.intern(b"an NVTX message"), 0)), 0);
    // Also when there is nothing left, with either CUPTI.
    assert_eq!(allocations(|| while records.deliver(shared) {}), 0);
    let older = super::harness::shared(2, false);
    assert_eq!(allocations(|| (0..100).for_each(|_| assert!(records.deliver(older)))), 0);
}

#[test]
fn a_foreign_block_is_counted_and_not_touched() {
    let shared = shared(2, true);
    let records = Records::new();
    let mut theirs = vec![5_u8; 4_096];
    // SAFETY: the block is not one of the pool, so it is not looked at.
    unsafe { shared.complete(theirs.as_mut_ptr(), theirs.len(), records.strides()) };
    assert!(theirs.iter().all(|b| *b == 5));
    assert_eq!((shared.foreign_blocks(), shared.blocks_waiting()), (1, 0));
}

#[test]
fn after_the_end_blocks_go_straight_back_and_nobody_waits() {
    let shared = shared(2, true);
    shared.set_phase(Phase::Ended);
    let mut records = Records::new();
    records.call(1);
    (0..100).for_each(|_| assert!(records.deliver(shared)));
    assert_eq!((shared.pool.free(), shared.blocks_waiting()), (2, 0));
    assert_eq!(shared.ask(|ticket| Message::Flush { ticket }), None);
}

#[test]
fn a_waiter_is_released_when_the_writer_ends_without_an_answer() {
    let shared = shared(2, true);
    shared.set_phase(Phase::Running);
    let ticket = shared.ask(|ticket| Message::Flush { ticket }).unwrap();
    let begin = Instant::now();
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| shared.wait(ticket, 60_000_000_000));
        shared.set_phase(Phase::Ended);
        assert!(!waiter.join().unwrap());
    });
    assert!(begin.elapsed() < Duration::from_secs(30));
}

#[test]
fn tickets_are_answered_up_to_the_newest() {
    let shared = shared(2, true);
    let first = shared.ask(|ticket| Message::Flush { ticket }).unwrap();
    let second = shared.ask(|ticket| Message::Flush { ticket }).unwrap();
    assert!(!shared.wait(first, 0));
    shared.answer(second);
    assert!(shared.wait(first, 0) && shared.wait(second, 0));
    shared.answer(first);
    assert!(shared.wait(second, 0), "an older answer takes nothing back");
}

#[test]
fn too_many_messages_are_counted() {
    let shared = shared(2, true);
    let sent = (0..5_000).filter(|_| shared.send(Message::Flushed)).count();
    assert!(sent < 5_000 && shared.messages_lost() == 5_000 - sent as u64);
}

#[test]
fn a_sleeping_writer_misses_no_call() {
    let shared = shared(2, true);
    let stop = AtomicBool::new(false);
    let mut seen = 0_u32;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..20_000 {
                while !shared.send(Message::Flushed) {
                    std::thread::yield_now();
                }
            }
            stop.store(true, Ordering::Release);
            shared.nudge();
        });
        // Sleeps for a minute whenever nothing is there: a lost wake-up would show.
        serve(shared, |_| {
            let stopped = stop.load(Ordering::Acquire);
            let mut any = false;
            while shared.next_message().is_some() {
                (seen, any) = (seen + 1, true);
            }
            match (any, stopped) {
                (true, _) => Turn::Busy,
                (false, true) => Turn::Closed,
                (false, false) => Turn::Idle(60_000_000_000),
            }
        });
    });
    assert_eq!(seen, 20_000);
}

#[test]
fn a_block_completed_twice_is_queued_once() {
    let shared = shared(2, true);
    let records = Records::new();
    let (ptr, _) = shared.request();
    // SAFETY: an empty block of the pool.
    unsafe {
        shared.complete(ptr, 0, records.strides());
        shared.complete(ptr, 0, records.strides());
    }
    assert_eq!((shared.blocks_waiting(), shared.pool.complete(ptr)), (1, Owner::Foreign));
}

#[test]
fn a_flush_ticket_means_that_everything_before_it_is_in_the_file() {
    let shared = shared(8, true);
    let disk = Disk::default();
    let mut recorder = begun(shared, &disk, Default::default(), NotMultiples(0));
    let mut records = Records::new();
    (1..=100).for_each(|i| records.call(i));
    (0..5).for_each(|_| assert!(records.deliver(shared)));
    let ticket = shared.ask(|ticket| Message::Flush { ticket }).unwrap();
    recorder.turn(2);
    assert!(shared.wait(ticket, 0));
    assert_eq!(Read::disk(&disk).activity(), 500);
}
