//! delivered = written + excluded + lost, in every case; every prefix of what was written opens.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use trace_format::read::TraceReader;
use trace_format::tables::{ApiRow, KernelRow, MemcpyRow, NoteRow, ShapeRow};

use super::harness::*;
use crate::clock::Triple;
use crate::messages::{Cause, Loss, Message};

#[test]
fn what_cupti_delivers_is_in_the_file_with_its_names() {
    let shared = shared(8, true);
    let disk = Disk::default();
    let mut recorder = begun(shared, &disk, Default::default(), NotMultiples(0));
    let texts = Texts::new(3, "kernel");
    let mut records = Records::new();
    for i in 1..=90 {
        records.kernel(i, texts.pointer(i));
        records.call(i);
        records.copy(i);
    }
    assert!(records.deliver(shared));
    let mut now_ns = 1;
    run_dry(&mut recorder, &mut now_ns);
    close(shared, &mut recorder, now_ns);
    let read = Read::disk(&disk);
    assert!(read.reader.is_closed());
    read.check_law();
    check_definitions_come_first(&read);
    assert_eq!((read.total("delivered"), read.total("lost")), (270, 0));
    let (kernels, calls, copies) = (read.rows::<KernelRow>(), read.rows::<ApiRow>(), read.rows::<MemcpyRow>());
    assert_eq!((kernels.len(), calls.len(), copies.len()), (90, 90, 90));
    let (strings, shapes) = (read.strings(), read.rows::<ShapeRow>());
    for (i, kernel) in (1..).zip(&kernels) {
        assert_eq!((kernel.correlation, kernel.duration_ns), (i, Some(1_500)));
        let shape = shapes.iter().find(|s| s.id == kernel.shape_id).unwrap();
        assert_eq!(strings[&shape.name_id], format!("kernel_{}", i % 3));
    }
    assert_eq!(strings[&calls[0].name_id], "call 2 201");
}

#[test]
fn records_outside_the_window_are_counted_and_left_out() {
    let shared = shared(8, true);
    let disk = Disk::default();
    let mut recorder = begun(shared, &disk, Default::default(), NotMultiples(3));
    let mut records = Records::new();
    (1..=300).for_each(|i| records.call(i));
    assert!(records.deliver(shared));
    let mut now_ns = 1;
    run_dry(&mut recorder, &mut now_ns);
    let row = trace_format::tables::CaptureRow { start_ns: 5, excluded_rows: 0, ..Default::default() };
    assert!(shared.send(Message::Capture(row)));
    close(shared, &mut recorder, now_ns);
    let read = Read::disk(&disk);
    read.check_law();
    assert_eq!((read.total("written"), read.total("excluded")), (200, 100));
    assert_eq!(read.rows::<trace_format::tables::CaptureRow>()[0].excluded_rows, 100);
}

#[test]
fn an_unknown_kind_costs_the_rest_of_its_block_and_is_named() {
    let shared = shared(8, true);
    let disk = Disk::default();
    let mut recorder = begun(shared, &disk, Default::default(), NotMultiples(0));
    let mut records = Records::new();
    (1..=10).for_each(|i| records.call(i));
    records.unknown();
    (11..=20).for_each(|i| records.call(i));
    assert!(records.deliver(shared));
    close(shared, &mut recorder, 1);
    let read = Read::disk(&disk);
    read.check_law();
    assert_eq!((read.total("delivered"), read.total("written"), read.total("lost")), (11, 10, 1));
    let loss = &read.rows::<trace_format::tables::LossRow>()[0];
    assert_eq!((loss.cause, loss.rows), (Cause::UnknownKind as u32, 1));
    assert!(read.strings()[&loss.detail_id.unwrap()].starts_with("kind 126;"));
    assert!(loss.start_ns.is_some() && read.total("unknown_bytes") > 400);
}

#[test]
fn a_dry_pool_of_older_cupti_counts_what_it_throws_away_with_its_window() {
    let shared = shared(4, false);
    let disk = Disk::default();
    let mut recorder = begun(shared, &disk, Default::default(), NotMultiples(0));
    // The disk stalls: the writer does not turn.
    let mut produced = 0;
    for block in 0..50_u64 {
        let mut records = Records::new();
        (0..400).for_each(|i| records.call(1 + block * 400 + i));
        assert!(records.deliver(shared), "older CUPTI always gets a block");
        produced += records.count;
    }
    let mut now_ns = 1;
    run_dry(&mut recorder, &mut now_ns);
    close(shared, &mut recorder, now_ns);
    let read = Read::disk(&disk);
    read.check_law();
    assert_eq!((read.total("delivered"), read.total("written")), (produced, 4 * 400));
    assert_eq!(read.lost(), [(1, 46 * 400)].into());
    let loss = &read.rows::<trace_format::tables::LossRow>()[0];
    let first = (NOW_NS + (1 + 4 * 400) * 2_000 - 900) as i64;
    assert_eq!((loss.start_ns, loss.end_ns), (Some(first), Some((NOW_NS + 20_000 * 2_000 - 100) as i64)));
}

#[test]
fn what_newer_cupti_drops_for_want_of_a_block_is_put_down_to_us() {
    let shared = shared(2, true);
    let disk = Disk::default();
    let mut recorder = begun(shared, &disk, Default::default(), NotMultiples(0));
    let ahead = 1_000_000_000;
    let unix_ns = crate::sys::realtime_ns();
    let triple = Triple { trace_ns: unix_ns + ahead, unix_ns, monotonic_ns: 0, provisional: false };
    shared.send(Message::Clock(triple));
    let mut records = Records::new();
    records.call(1);
    assert!(records.deliver(shared) && records.deliver(shared) && !records.deliver(shared));
    let before = unix_ns + ahead;
    let mut now_ns = 1;
    run_dry(&mut recorder, &mut now_ns);
    let loss = Loss { start_ns: Some(1), end_ns: Some(2), rows: 500, cause: Cause::Cupti, detail: None };
    shared.send(Message::Loss(loss.clone()));
    run_dry(&mut recorder, &mut now_ns);
    // The next ones had no such reason.
    shared.send(Message::Loss(Loss { rows: 20, ..loss }));
    close(shared, &mut recorder, now_ns);
    let read = Read::disk(&disk);
    read.check_law();
    assert_eq!(read.lost(), [(1, 500), (2, 20)].into());
    assert_eq!(read.total("dropped_by_cupti"), 520);
    let rows = read.rows::<trace_format::tables::LossRow>();
    let row = rows.iter().find(|r| r.cause == 1).unwrap();
    assert!(row.start_ns.unwrap() >= before && row.end_ns >= row.start_ns, "{row:?}");
}

#[test]
fn a_dry_pool_is_told_of_even_if_cupti_says_nothing() {
    let shared = shared(2, true);
    let disk = Disk::default();
    let mut recorder = begun(shared, &disk, Default::default(), NotMultiples(0));
    let records = Records::new();
    assert!(records.deliver(shared) && records.deliver(shared) && !records.deliver(shared));
    close(shared, &mut recorder, 1);
    let read = Read::disk(&disk);
    read.check_law();
    assert_eq!(read.lost(), [(1, 0)].into());
    assert_eq!(read.totals()["blocks"]["refused"], 1);
}

#[test]
fn every_prefix_of_a_trace_opens_and_only_grows() {
    let shared = shared(8, true);
    let disk = Disk::default();
    let mut recorder = begun(shared, &disk, Default::default(), NotMultiples(5));
    let texts = Texts::new(40, "some_kernel_with_a_name");
    let mut now_ns = 1;
    for round in 0..4_u64 {
        let mut records = Records::new();
        for i in 1..=60 {
            records.kernel(round * 60 + i, texts.pointer(i));
            records.call(round * 60 + i);
        }
        assert!(records.deliver(shared));
        shared.send(Message::Note { start_ns: None, text: format!("round {round}").into() });
        run_dry(&mut recorder, &mut now_ns);
    }
    close(shared, &mut recorder, now_ns);
    let bytes = disk.0.borrow().bytes.clone();
    let header = TraceReader::new(bytes.clone()).unwrap().frames()[0].offset as usize;
    let mut before = 0;
    for end in header..=bytes.len() {
        let reader = TraceReader::new(bytes[..end].to_vec()).unwrap();
        assert!(reader.problems().is_empty() && reader.verify().unwrap().is_empty(), "{end}");
        // The trailer only helps to find things.
        assert_eq!(reader.is_closed(), end >= bytes.len() - 16, "{end}");
        assert!(reader.frames().len() >= before);
        before = reader.frames().len();
    }
    assert_eq!(Read::disk(&disk).rows::<NoteRow>().len(), 4);
}

/// Threads push blocks as fast as they can, a writer that is too slow takes them out, names never repeat, some kinds
/// are unknown, some records excluded.
fn storm(seed: u64, takes_null: bool) {
    let shared = shared(6, takes_null);
    let disk = Disk::default();
    let mut recorder = begun(shared, &disk, Default::default(), NotMultiples(7));
    let (accepted, refused) = (AtomicU64::new(0), AtomicU64::new(0));
    let done = AtomicBool::new(false);
    let texts = Texts::new(5_000, "void cutlass::kernel<with_a_long_name_and_arguments>");
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4_u64)
            .map(|thread| {
                let (accepted, refused, texts) = (&accepted, &refused, &texts);
                scope.spawn(move || {
                    let mut random = Random(seed * 100 + thread);
                    for block in 0..150_u64 {
                        let mut records = Records::new();
                        for i in 0..random.below(200) {
                            let id = 1 + (thread * 150 + block) * 200 + i;
                            match random.below(3) {
                                0 => records.kernel(id, texts.pointer(random.below(5_000))),
                                1 => records.call(id),
                                _ => records.copy(id),
                            }
                        }
                        let mut expected = records.count;
                        if random.below(20) == 0 {
                            records.unknown();
                            expected += 1;
                        }
                        if records.deliver(shared) {
                            accepted.fetch_add(expected, Ordering::Relaxed);
                        } else {
                            refused.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                })
            })
            .collect();
        scope.spawn(|| {
            threads.into_iter().for_each(|t| t.join().unwrap());
            done.store(true, Ordering::Release);
        });
        let mut now_ns = 1;
        let mut random = Random(seed);
        while !done.load(Ordering::Acquire) {
            recorder.turn(now_ns);
            now_ns += 300_000;
            if random.below(4) == 0 {
                std::thread::yield_now();
            }
        }
        close(shared, &mut recorder, now_ns);
    });
    let read = Read::disk(&disk);
    read.check_law();
    check_definitions_come_first(&read);
    assert_eq!(read.total("delivered"), accepted.load(Ordering::Relaxed));
    assert_eq!(read.totals()["blocks"]["refused"], refused.load(Ordering::Relaxed));
    assert_eq!(refused.load(Ordering::Relaxed) > 0, read.lost().get(&1).is_some_and(|rows| *rows == 0));
    assert_eq!(shared.pool.free(), 6, "every block is back");
}

#[test]
fn the_books_balance_under_a_storm() {
    for seed in 1..=3 {
        storm(seed, true);
        if seed == 1 {
            storm(seed, false);
        }
    }
}
