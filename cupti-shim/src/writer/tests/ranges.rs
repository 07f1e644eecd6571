//! NVTX calls through the recorder.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

use trace_format::tables::{NoteRow, RangeRow, ThreadRow};

use super::super::recorder::{Recorder, Turn};
use super::super::sources::Sources;
use super::harness::*;
use crate::clock::Triple;
use crate::messages::Message;
use crate::nvtx::{Event, Lost};
use crate::strides::Strides;

thread_local! {
    static QUEUE: RefCell<VecDeque<Event>> = const { RefCell::new(VecDeque::new()) };
    static LOST: Cell<Option<Lost>> = const { Cell::new(None) };
}

const SOURCES: Sources = Sources {
    pop_event: || QUEUE.with_borrow_mut(VecDeque::pop_front),
    take_lost_events: || LOST.take(),
    ..Sources::NONE
};

/// The trace's clock is two seconds ahead of CLOCK_REALTIME.
const AHEAD_NS: i64 = 2_000_000_000;

/// Calls, by their numbers in `nvtx::event::EventKind`, whose name stays inside `nvtx`.
const PUSH: u8 = 0;
const POP: u8 = 1;
const START: u8 = 2;
const END: u8 = 3;
const MARK: u8 = 4;
const THREAD: u8 = 5;

#[allow(clippy::missing_transmute_annotations, reason = "the type has no name here")]
fn event(kind: u8, time_ns: i64, pair: u64, name: u32) -> Event {
    assert!(kind <= THREAD);
    // SAFETY: `EventKind` is `repr(u8)` and has these six variants in this order; another order fails the tests below.
    let kind = unsafe { std::mem::transmute::<u8, _>(kind) };
    let payload = Default::default();
    Event { time_ns, pair, payload, domain: 0, domain_key: 0, name, category: 0, color: Some(9), tid: 11, kind }
}

fn queue(events: impl IntoIterator<Item = Event>) {
    QUEUE.with_borrow_mut(|q| q.extend(events));
}

/// A recorder that hears the calls of this test.
fn hearing(disk: &Disk) -> (&'static crate::writer::Shared, TestRecorder) {
    let shared = shared(4, true);
    let call_name = Box::new(|_, _| None);
    let trace = whole(disk, Default::default());
    let mut recorder =
        Recorder::new(shared, trace, limits(), Strides::newest(), NotMultiples(0), SOURCES, call_name);
    let unix_ns = crate::sys::realtime_ns();
    let triple = Triple { trace_ns: unix_ns + AHEAD_NS, unix_ns, monotonic_ns: 0, provisional: false };
    recorder.begin(serde_json::Value::Null, Some(triple), 1);
    (shared, recorder)
}

#[test]
fn ranges_are_in_the_file_on_the_clock_of_the_trace() {
    let disk = Disk::default();
    let (shared, mut recorder) = hearing(&disk);
    let now = crate::sys::realtime_ns();
    let [step, moment, worker] = ["step", "moment", "worker"].map(|n| shared.names.intern(n.as_bytes()));
    let nested = Event::nested(0, 1);
    queue([
        event(PUSH, now, nested, step),
        event(MARK, now + 5, 0, moment),
        event(POP, now + 10, nested, 0),
        event(START, now + 20, 77, step),
        event(END, now + 40, 77, 0),
        event(THREAD, now + 50, 0, worker),
    ]);
    close(shared, &mut recorder, 2);
    let read = Read::disk(&disk);
    let (rows, strings) = (read.rows::<RangeRow>(), read.strings());
    let seen: Vec<(u32, &str, i64, Option<i64>)> = rows
        .iter()
        .map(|r| {
            (
                r.style,
                strings[&r.name_id].as_str(),
                r.start_ns - now - AHEAD_NS,
                r.end_ns.map(|e| e - now - AHEAD_NS),
            )
        })
        .collect();
    assert_eq!(seen, [(2, "moment", 5, None), (0, "step", 0, Some(10)), (1, "step", 20, Some(40))]);
    assert_eq!((rows[0].color, rows[0].tid), (Some(9), 11));
    let threads = read.rows::<ThreadRow>();
    assert_eq!((threads[0].tid, strings[&threads[0].name_id].as_str()), (11, "worker"));
    assert_eq!(read.totals()["ranges"]["written"], 3);
    assert_eq!(read.rows::<trace_format::tables::ClockRow>().len(), 1);
}

#[test]
fn ranges_that_came_before_the_clock_settled_are_on_the_clock_that_it_settled_to() {
    for settles in [true, false] {
        let disk = Disk::default();
        let (shared, mut recorder) = hearing(&disk);
        let now = crate::sys::realtime_ns();
        let clock = |ahead_ns, provisional| {
            Message::Clock(Triple { trace_ns: now + ahead_ns, unix_ns: now, monotonic_ns: 0, provisional })
        };
        let [step, moment] = ["step", "moment"].map(|n| shared.names.intern(n.as_bytes()));
        shared.send(clock(9 * AHEAD_NS, true));
        assert_ne!(recorder.turn(2), Turn::Closed);
        queue([event(PUSH, now, Event::nested(0, 1), step), event(MARK, now + 5, 0, moment)]);
        assert_ne!(recorder.turn(3), Turn::Closed);
        queue([event(POP, now + 10, Event::nested(0, 1), 0)]);
        if settles {
            shared.send(clock(AHEAD_NS, false));
        }
        assert_ne!(recorder.turn(4), Turn::Closed);
        close(shared, &mut recorder, 5);
        let ahead_ns = if settles { AHEAD_NS } else { 9 * AHEAD_NS };
        let rows = Read::disk(&disk).rows::<RangeRow>();
        let seen: Vec<_> =
            rows.iter().map(|r| (r.start_ns - now - ahead_ns, r.end_ns.map(|e| e - now - ahead_ns))).collect();
        assert_eq!(seen, [(5, None), (0, Some(10))], "settles: {settles}");
    }
}

#[test]
fn a_range_that_hangs_is_in_the_file_while_it_does() {
    let disk = Disk::default();
    let (shared, mut recorder) = hearing(&disk);
    let began = crate::sys::realtime_ns() - 5_000_000_000;
    let name = shared.names.intern(b"the one that hung");
    queue([event(PUSH, began, Event::nested(0, 1), name)]);
    let mut now_ns = 1;
    run_dry(&mut recorder, &mut now_ns);
    let rows = Read::disk(&disk).rows::<RangeRow>();
    assert_eq!((rows.len(), rows[0].end_ns, rows[0].start_ns), (1, None, began + AHEAD_NS));
    queue([event(POP, began + 9_000_000_000, Event::nested(0, 1), 0)]);
    close(shared, &mut recorder, now_ns);
    let rows = Read::disk(&disk).rows::<RangeRow>();
    assert_eq!((rows.len(), rows[0].range_id == rows[1].range_id), (2, true));
    assert_eq!(rows[1].end_ns, Some(began + AHEAD_NS + 9_000_000_000));
}

#[test]
fn calls_that_found_the_queue_full_are_a_loss_of_their_own() {
    let disk = Disk::default();
    let (shared, mut recorder) = hearing(&disk);
    LOST.set(Some(Lost { events: 40, start_ns: 100, end_ns: 200 }));
    shared.send(Message::Note { start_ns: Some(9), text: "a remark".into() });
    close(shared, &mut recorder, 2);
    let read = Read::disk(&disk);
    assert_eq!((read.total("lost"), read.lost()), (0, [(1, 40)].into()));
    assert_eq!(read.totals()["ranges"]["lost"], 40);
    let loss = &read.rows::<trace_format::tables::LossRow>()[0];
    assert_eq!((loss.start_ns, loss.end_ns), (Some(100 + AHEAD_NS), Some(200 + AHEAD_NS)));
    let (notes, strings) = (read.rows::<NoteRow>(), read.strings());
    assert_eq!(strings[&loss.detail_id.unwrap()], "calls of NVTX");
    assert_eq!((notes[0].start_ns, strings[&notes[0].text_id].as_str()), (Some(9), "a remark"));
}

#[test]
fn more_ranges_than_a_frame_holds_do_not_wait_for_the_interval() {
    let disk = Disk::default();
    let (shared, mut recorder) = hearing(&disk);
    let name = shared.names.intern(b"often");
    let marks = super::super::recorder::FRAME_ROWS as i64 + 10;
    queue((0..marks).map(|i| event(MARK, i, 0, name)));
    // No time passes.
    (0..10).for_each(|_| {
        recorder.turn(1);
    });
    let read = Read::disk(&disk);
    assert!(read.rows::<RangeRow>().len() as i64 >= super::super::recorder::FRAME_ROWS as i64);
    assert_eq!(read.strings()[&name], "often");
    close(shared, &mut recorder, 2);
    assert_eq!(Read::disk(&disk).rows::<RangeRow>().len() as i64, marks);
}
