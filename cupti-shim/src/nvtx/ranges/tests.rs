use super::*;
use crate::nvtx::event::Event;
use dice::Dice;
use trace_format::schema::Row as _;

const SECOND: i64 = 1_000_000_000;

/// Calls as the front would queue them, with times in plain view.
fn call(kind: EventKind, time_ns: i64, pair: u64) -> Event {
    Event {
        time_ns,
        pair,
        payload: Payload::None,
        domain: 0,
        domain_key: 0,
        name: 1,
        category: 0,
        color: None,
        tid: 7,
        kind,
    }
}

fn push(time_ns: i64, level: u16, serial: u32) -> Event {
    Event { name: serial, ..call(EventKind::Push, time_ns, Event::nested(level, serial)) }
}

fn pop(time_ns: i64, level: u16, serial: u32) -> Event {
    call(EventKind::Pop, time_ns, Event::nested(level, serial))
}

#[derive(Default)]
struct Play {
    ranges: Ranges,
    out: RangeBuilder,
}

impl Play {
    fn of(events: &[Event]) -> Play {
        let mut play = Play::default();
        events.iter().for_each(|e| play.ranges.event(*e, &mut play.out));
        play
    }

    fn rows(&mut self) -> Vec<RangeRow> {
        let batch = self.out.take();
        (0..batch.rows).map(|i| RangeRow::from_batch(&batch, i)).collect()
    }

    /// Serial numbers (as names) with start and end.
    fn spans(&mut self) -> Vec<(u32, i64, Option<i64>)> {
        self.rows().iter().map(|r| (r.name_id, r.start_ns, r.end_ns)).collect()
    }
}

#[test]
fn lost_ends_do_not_shift_the_ends_of_other_ranges() {
    // outer { lost end: inner } outer's end. A stack without levels would end `inner` here.
    let mut play = Play::of(&[push(10, 0, 1), push(20, 1, 2), pop(90, 0, 1)]);
    assert_eq!(play.spans(), [(2, 20, None), (1, 10, Some(90))]);
    assert_eq!((play.ranges.counts().without_end, play.ranges.open()), (1, 0));
}

#[test]
fn a_lost_end_and_a_lost_beginning_do_not_marry() {
    // Range 1's end and range 2's beginning are lost: both were at level 0.
    let mut play = Play::of(&[push(10, 0, 1), pop(90, 0, 2)]);
    assert_eq!(play.spans(), [(1, 10, None)]);
    let counts = play.ranges.counts();
    assert_eq!((counts.without_end, counts.without_start, counts.ended), (1, 1, 0));
}

#[test]
fn an_end_whose_beginning_was_lost_leaves_the_ranges_around_it_open() {
    let mut play = Play::of(&[push(10, 0, 1), pop(50, 1, 2), pop(90, 0, 1)]);
    assert_eq!(play.spans(), [(1, 10, Some(90))]);
    assert_eq!(play.ranges.counts().without_start, 1);
}

#[test]
fn a_new_thread_with_an_old_ones_id_does_not_inherit_its_ranges() {
    let mut play = Play::of(&[push(10, 0, 1), push(20, 1, 2), push(100, 0, 1 << 20), pop(110, 0, 1 << 20)]);
    assert_eq!(play.spans(), [(2, 20, None), (1, 10, None), (1 << 20, 100, Some(110))]);
    assert_eq!(play.ranges.open(), 0);
}

#[test]
fn untracked_levels_pair_with_each_other_and_not_with_tracked_ones() {
    let deep = |time_ns| Event { name: 99, ..push(time_ns, UNTRACKED, 0) };
    let events = [
        push(1, 0, 1),
        deep(2),
        deep(3),
        pop(4, UNTRACKED, 0),
        pop(5, UNTRACKED, 0),
        pop(6, 0, 1),
        pop(7, UNTRACKED, 0),
    ];
    let mut play = Play::of(&events);
    assert_eq!(play.spans(), [(99, 3, Some(4)), (99, 2, Some(5)), (1, 1, Some(6))]);
    assert_eq!(play.ranges.counts().without_start, 1);
}

#[test]
fn what_is_open_for_long_is_written_once_and_its_end_has_the_same_id() {
    let mut play = Play::of(&[push(0, 0, 1), push(SECOND, 1, 2), call(EventKind::Start, 0, 55)]);
    play.ranges.open_since(SECOND / 2, &mut play.out);
    assert!(play.rows().is_empty());
    play.ranges.open_since(SECOND * 3 / 2, &mut play.out);
    let first = play.rows();
    assert_eq!(first.len(), 2);
    assert!(first.iter().all(|r| r.end_ns.is_none() && r.start_ns == 0));
    play.ranges.open_since(SECOND * 7 / 4, &mut play.out);
    assert!(play.rows().is_empty());
    play.ranges.event(call(EventKind::End, 2 * SECOND, 55), &mut play.out);
    play.ranges.event(pop(2 * SECOND, 1, 2), &mut play.out);
    play.ranges.event(pop(2 * SECOND, 0, 1), &mut play.out);
    let last = play.rows();
    let id = |rows: &[RangeRow], style| rows.iter().find(|r| r.style == style && r.start_ns == 0).unwrap().range_id;
    assert_eq!(last.len(), 3);
    assert!(last.iter().all(|r| r.end_ns == Some(2 * SECOND)));
    for style in [PUSH_POP, START_END] {
        assert_eq!(id(&first, style), id(&last, style));
    }
    let counts = play.ranges.counts();
    assert_eq!((counts.open_rows, counts.ended, counts.without_end), (2, 3, 0));
}

#[test]
fn the_end_of_the_program_writes_what_is_open_and_not_written() {
    let mut play = Play::of(&[push(0, 0, 1), push(3 * SECOND, 1, 2)]);
    play.ranges.open_since(2 * SECOND, &mut play.out);
    assert_eq!(play.spans(), [(1, 0, None)]);
    play.ranges.finish(&mut play.out);
    assert_eq!(play.spans(), [(2, 3 * SECOND, None)]);
    play.ranges.finish(&mut play.out);
    assert!(play.spans().is_empty());
    assert_eq!(play.ranges.open(), 2);
}

#[test]
fn ranges_that_never_end_take_bounded_memory_and_none_is_missing() {
    let mut play = Play::default();
    let total = 3 * MAX_OPEN as u64;
    for i in 0..total {
        // Threads that come, begin something and go.
        let event = if i % 2 == 0 {
            Event { tid: i as u32, ..push(i as i64, 0, i as u32 + 1) }
        } else {
            call(EventKind::Start, i as i64, i)
        };
        play.ranges.event(event, &mut play.out);
        assert!(play.ranges.open() <= MAX_OPEN);
    }
    assert!(play.ranges.stacks.len() <= 2 * MAX_OPEN);
    // The newest are still known.
    play.ranges.event(call(EventKind::End, total as i64, total - 1), &mut play.out);
    // The oldest are not: written as open, and their end has no beginning any more.
    play.ranges.event(call(EventKind::End, total as i64, 1), &mut play.out);
    play.ranges.finish(&mut play.out);
    let rows = play.rows();
    assert_eq!(rows.len() as u64, total);
    assert_eq!(rows.iter().filter(|r| r.end_ns.is_some()).count(), 1);
    let ids: std::collections::BTreeSet<u64> = rows.iter().map(|r| r.range_id).collect();
    assert_eq!(ids.len() as u64, total);
    assert_eq!(play.ranges.counts().without_start, 1);
}

#[test]
fn a_range_id_that_another_tool_gives_twice_costs_no_range() {
    let mut play =
        Play::of(&[call(EventKind::Start, 1, 5), call(EventKind::Start, 2, 5), call(EventKind::End, 3, 5)]);
    assert_eq!(play.spans(), [(1, 1, None), (1, 2, Some(3))]);
    assert_eq!(play.ranges.open(), 0);
}

#[test]
fn a_name_is_written_again_only_when_it_changes() {
    let thread = |tid: u32, name: u32| Event { tid, name, ..call(EventKind::Thread, 0, 0) };
    let mut play = Play::of(&[thread(1, 10), thread(1, 10), thread(2, 10), thread(1, 11), thread(1, 10)]);
    let row = |tid, name_id| Named::Thread(ThreadRow { tid, name_id });
    assert_eq!(play.ranges.take_named(), [row(1, 10), row(2, 10), row(1, 11), row(1, 10)]);
    assert!(play.ranges.take_named().is_empty());
}

#[test]
fn whatever_is_lost_every_range_is_written_once_and_no_end_is_before_its_beginning() {
    for seed in 1..200 {
        let mut dice = Dice(seed);
        // What a program does on three threads, two domains, and what a full queue makes of it.
        let mut stacks: BTreeMap<(u32, u32), Vec<u32>> = BTreeMap::new();
        let (mut serial, mut time, mut pushed) = (0, 0, 0);
        let mut truth: BTreeMap<u32, (i64, i64)> = BTreeMap::new();
        let mut play = Play::default();
        for _ in 0..2_000 {
            time += 1;
            let (tid, domain_key) = (1 + dice.below(3), dice.below(2));
            let stack = stacks.entry((tid, domain_key)).or_default();
            let is_lost = dice.below(4) == 0;
            let event = if stack.is_empty() || dice.below(2) == 0 {
                serial += 1;
                stack.push(serial);
                pushed += u64::from(!is_lost);
                truth.insert(serial, (time, i64::MAX));
                push(time, stack.len() as u16 - 1, serial)
            } else {
                let own = stack.pop().unwrap();
                truth.get_mut(&own).unwrap().1 = time;
                pop(time, stack.len() as u16, own)
            };
            if !is_lost {
                play.ranges.event(Event { tid, domain_key, ..event }, &mut play.out);
            }
        }
        play.ranges.finish(&mut play.out);
        let rows = play.rows();
        assert_eq!(rows.len() as u64, pushed, "seed {seed}");
        for row in rows {
            let (start_ns, end_ns) = truth[&row.name_id];
            assert_eq!(row.start_ns, start_ns, "seed {seed}");
            assert!(row.end_ns.is_none_or(|end| end == end_ns), "seed {seed}: another range's end");
        }
    }
}

mod dice {
    /// Numbers that look random and are the same each time.
    pub struct Dice(pub u64);

    impl Dice {
        pub fn below(&mut self, n: u32) -> u32 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((self.0 >> 33) % u64::from(n)) as u32
        }
    }
}
