//! Disks that are full, break, or write a little at a time.

use trace_format::tables::{KernelRow, LossRow};
use trace_format::write::WriteOptions;

use super::harness::*;
use crate::messages::Cause;
use crate::output::Space;

fn call_block(first: u64, count: u64) -> Records {
    let mut records = Records::new();
    (first..first + count).for_each(|i| records.call(i));
    records
}

#[test]
fn short_writes_change_nothing() {
    let shared = shared(8, true);
    let disk = Disk::default();
    disk.0.borrow_mut().most = Some(97);
    let mut recorder = begun(shared, &disk, Default::default(), NotMultiples(0));
    assert!(call_block(1, 900).deliver(shared));
    close(shared, &mut recorder, 1);
    let read = Read::disk(&disk);
    read.check_law();
    assert_eq!(read.total("written"), 900);
}

#[test]
fn a_disk_that_is_full_costs_exactly_what_it_refused_and_recording_goes_on_afterwards() {
    // Wherever the end of the disk lies: in a string, a definition, an activity frame, a row about losses.
    for capacity in (1_000..14_000).step_by(371) {
        let shared = shared(8, true);
        let disk = Disk::default();
        let mut recorder = begun(shared, &disk, Default::default(), NotMultiples(0));
        disk.0.borrow_mut().capacity = Some(capacity);
        let texts = Texts::new(9, "name_of_a_kernel");
        let mut now_ns = 1;
        for block in 0..6_u64 {
            let mut records = call_block(1 + block * 100, 100);
            (1..=50).for_each(|i| records.kernel(block * 100 + i, texts.pointer(i + block)));
            assert!(records.deliver(shared));
            run_dry(&mut recorder, &mut now_ns);
        }
        // Somebody makes room; the next retry finds it.
        disk.0.borrow_mut().capacity = None;
        now_ns += 2_000_000_000;
        run_dry(&mut recorder, &mut now_ns);
        let mut records = call_block(1_001, 100);
        (1..=20).for_each(|i| records.kernel(1_000 + i, texts.pointer(i)));
        assert!(records.deliver(shared));
        close(shared, &mut recorder, now_ns);
        let read = Read::disk(&disk);
        read.check_law();
        check_definitions_come_first(&read);
        assert_eq!(read.total("delivered"), 6 * 150 + 120, "{capacity}");
        let kernels = read.rows::<KernelRow>();
        assert_eq!(kernels.iter().filter(|k| k.correlation > 1_000).count(), 20, "{capacity}");
        if read.total("lost") > 0 {
            let losses = read.rows::<LossRow>();
            assert!(losses.iter().all(|l| l.cause == Cause::DiskFull as u32 && l.start_ns.is_some()), "{losses:?}");
            let detail = &read.strings()[&losses[0].detail_id.unwrap()];
            assert!(detail.contains("No space left"), "{detail}");
        }
    }
}

#[test]
fn a_disk_that_stays_full_leaves_what_was_written_before() {
    for sticky in [false, true] {
        let shared = shared(8, true);
        let disk = Disk::default();
        let mut recorder = begun(shared, &disk, Default::default(), NotMultiples(0));
        let mut now_ns = 1;
        assert!(call_block(1, 500).deliver(shared));
        run_dry(&mut recorder, &mut now_ns);
        let full_at = disk.0.borrow().bytes.len() as u64 + 300;
        (disk.0.borrow_mut().capacity, disk.0.borrow_mut().sticky) = (Some(full_at), sticky);
        for block in 1..40_u64 {
            assert!(call_block(1 + block * 500, 500).deliver(shared));
            run_dry(&mut recorder, &mut now_ns);
        }
        close(shared, &mut recorder, now_ns);
        let read = Read::disk(&disk);
        assert!(!read.reader.is_closed());
        // Where the leftovers of a failed write cannot be cut off, they show as damage behind the last whole frame.
        assert!(sticky || read.reader.problems().is_empty());
        assert_eq!(read.activity(), 500);
        assert_eq!(shared.pool.free(), 8);
    }
}

#[test]
fn errors_of_the_device_are_told_like_a_full_disk() {
    let shared = shared(8, true);
    let disk = Disk::default();
    let mut recorder = begun(shared, &disk, Default::default(), NotMultiples(0));
    let mut now_ns = 1;
    disk.0.borrow_mut().error = Some(libc::EIO);
    assert!(call_block(1, 100).deliver(shared));
    run_dry(&mut recorder, &mut now_ns);
    // In between nothing is even decoded.
    assert!(call_block(101, 100).deliver(shared));
    run_dry(&mut recorder, &mut now_ns);
    disk.0.borrow_mut().error = None;
    now_ns += 2_000_000_000;
    assert!(call_block(201, 100).deliver(shared));
    run_dry(&mut recorder, &mut now_ns);
    close(shared, &mut recorder, now_ns);
    let read = Read::disk(&disk);
    read.check_law();
    assert_eq!((read.total("written"), read.lost()), (100, [(5, 200)].into()));
    let loss = &read.rows::<LossRow>()[0];
    assert_eq!(loss.start_ns, Some((NOW_NS + 2_000 - 900) as i64));
}

#[test]
fn the_size_limit_ends_the_recording_and_says_how_much_that_cost() {
    let shared = shared(8, true);
    let disk = Disk::default();
    let limit_bytes = 40_000;
    let options = WriteOptions { limit_bytes: Some(limit_bytes), ..Default::default() };
    let mut recorder = begun(shared, &disk, options, NotMultiples(0));
    let mut now_ns = 1;
    for block in 0..60_u64 {
        assert!(call_block(1 + block * 900, 900).deliver(shared));
        run_dry(&mut recorder, &mut now_ns);
    }
    close(shared, &mut recorder, now_ns);
    let read = Read::disk(&disk);
    read.check_law();
    check_definitions_come_first(&read);
    assert!(read.reader.is_closed());
    assert_eq!(read.total("delivered"), 60 * 900);
    assert_eq!(read.lost().keys().copied().collect::<Vec<_>>(), [6]);
    assert!(read.total("written") > 900);
    // The rows about it come ever more rarely.
    let losses = read.rows::<LossRow>();
    assert!(losses.len() < 12, "{}", losses.len());
    assert_eq!(read.strings()[&losses[0].detail_id.unwrap()], "the size limit is reached");
    assert!(read.reader.len_bytes() < limit_bytes + 30_000);
}

#[test]
fn recording_pauses_while_the_disk_is_almost_full() {
    let shared = shared(8, true);
    let disk = Disk::default();
    let limits = super::super::recorder::Limits { min_free_percent: 5, ..limits() };
    let space = |free| Some(Space { free, total: 1_000_000 });
    disk.0.borrow_mut().space = space(60_000);
    let mut recorder = recorder(shared, whole(&disk, Default::default()), limits, NotMultiples(0));
    recorder.begin(serde_json::Value::Null, None, 1);
    let mut now_ns = 1;
    // Free space, and whether the block is kept: paused below 5 %, resumed only from 6 %.
    for (block, (free, _)) in
        [(60_000, true), (49_000, false), (55_000, false), (61_000, true)].into_iter().enumerate()
    {
        disk.0.borrow_mut().space = space(free);
        now_ns += 2_000_000_000;
        recorder.turn(now_ns);
        assert!(call_block(1 + block as u64 * 100, 100).deliver(shared));
        run_dry(&mut recorder, &mut now_ns);
    }
    close(shared, &mut recorder, now_ns);
    let read = Read::disk(&disk);
    read.check_law();
    let kept: Vec<u64> =
        read.rows::<trace_format::tables::ApiRow>().iter().map(|r| (r.correlation - 1) / 100).collect();
    assert_eq!((kept.first(), kept.last(), kept.len()), (Some(&0), Some(&3), 200), "{kept:?}");
    assert_eq!(read.lost(), [(5, 200)].into());
}
