use super::*;
use crate::analysis::in_time::WorkKind;

#[test]
fn times_are_written_as_they_are_read() {
    assert_eq!(as_option(1_204_857_123), "1.204857123s");
    assert_eq!((as_option(0), as_option(-5)), ("0.000000000s".into(), "-0.000000005s".into()));
}

fn work(device: u32, start_ns: i64, duration_ns: i64, correlation: u64) -> Work {
    let end_ns = start_ns + duration_ns;
    Work { start_ns, end_ns, process: 0, device, stream: 7, correlation, kind: WorkKind::Memset, bytes: 0 }
}

#[test]
fn overlaps_and_nests_make_no_gap() {
    let frames = Frames::default();
    let mut finder = GapFinder::new(&frames, &Filter::everything()).expect("nothing to read");
    let all = [
        work(0, 0, 100, 0),
        work(1, 10, 10, 0),
        work(0, 20, 10, 0),
        work(0, 100, 5, 0),
        work(1, 130, 1, 0),
        work(0, 150, 1, 0),
    ];
    let found: Vec<_> = all.iter().filter_map(|work| finder.work(work).gap).collect();
    let of = |gap: &Gap| (gap.place.1, gap.start_ns, gap.end_ns, gap.before.start_ns, gap.after.start_ns);
    assert_eq!(found.iter().map(of).collect::<Vec<_>>(), [(1, 20, 130, 10, 130), (0, 105, 150, 100, 150)]);
    assert!(found.iter().all(|gap| gap.cause == Cause::Unknown));
}

/// The cause of the gap from 1 ms to the start of the work that the last of `calls` launches.
fn cause(calls: &[(CallClass, i64, i64)], work_start_ns: i64) -> Cause {
    let frames = Frames::default();
    let mut finder = GapFinder::new(&frames, &Filter::everything()).expect("nothing to read");
    assert!(finder.work(&work(0, 0, 1_000_000, 0)).gap.is_none());
    for (i, &(class, start_ns, end_ns)) in calls.iter().enumerate() {
        let correlation = i as u64 + 1;
        let call = Call { start_ns, end_ns, process: 0, tid: 1, correlation, name: 0 };
        finder.calls.add(&call, class);
    }
    let gap = finder.work(&work(0, work_start_ns, 10, calls.len() as u64)).gap.expect("a gap");
    gap.cause
}

#[test]
fn the_cause_is_what_the_launching_thread_did_meanwhile() {
    use CallClass::*;
    let launch = |start_ns| (Launch, start_ns, start_ns + 5_000);
    for (expected, calls, start_ns) in [
        // Launched before the device ran dry.
        (Cause::Device, vec![launch(900_000)], 1_002_000),
        (Cause::BlockingCopy, vec![(BlockingCopy, 900_000, 1_100_000)], 1_050_000),
        // Late, and nothing else happened.
        (Cause::Host, vec![launch(3_000_000)], 3_008_000),
        // As fast as launching can be.
        (Cause::Launch, vec![launch(1_001_000)], 1_010_000),
        (Cause::Launch, vec![launch(995_000), launch(1_002_000)], 1_010_000),
        // Waited, then went on at once; waited, then did something else for long.
        (Cause::Synchronization, vec![(Synchronization, 500_000, 1_010_000), launch(1_400_000)], 1_410_000),
        (Cause::Host, vec![(Synchronization, 500_000, 1_010_000), launch(9_000_000)], 9_010_000),
        // A wait that ended before the device ran dry is none.
        (Cause::Host, vec![(Synchronization, 500_000, 990_000), launch(1_400_000)], 1_410_000),
        (Cause::Allocation, vec![(Allocation, 1_000_000, 1_300_000), launch(1_310_000)], 1_320_000),
        (Cause::Module, vec![(Module, 1_000_000, 9_000_000), launch(9_310_000)], 9_320_000),
        (Cause::OtherCall, vec![(Other, 1_000_000, 1_300_000), launch(1_310_000)], 1_320_000),
    ] {
        assert_eq!(cause(&calls, start_ns), expected, "{calls:?}");
    }
}

#[test]
fn time_between_windows_of_recording_is_no_idleness() {
    let windows = Windows(HashMap::from([(0, vec![(0, 1_000), (5_000, 9_000)])]));
    // Within a window, across the edge where work still ran, from one window into the next.
    assert!(!windows.was_off(0, 100, 900));
    assert!(!windows.was_off(0, 900, 1_200));
    assert!(windows.was_off(0, 900, 5_100));
    assert!(!windows.was_off(0, 5_100, 5_200));
    assert!(!windows.was_off(1, 900, 5_100));
}
