//! Much, for long, from many threads, on a disk that does not keep up: what is kept is right, what is lost is counted,
//! and memory stays what it was.

use std::time::{Duration, Instant};

use crate::common::sim::{Ended, Sim};
use crate::common::{Trace, compiled, in_parallel, laws, one, same_end};
use trace_format::tables::{CaptureRow, LossRow};

const QUEUE_FULL: u32 = 1;
const CUPTI_DROPPED: u32 = 2;

/// Everything that the simulator made came to us or was dropped, and all of it is in the books.
fn counted(ended: &Ended) -> Trace {
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    let trace = one(ended);
    assert_eq!(ended.totals().generated, trace.total("delivered"), "{}", ended.stderr);
    trace
}

/// A folder in memory, so that the disk of this machine has no say.
fn fast_disk(name: &str) -> std::path::PathBuf {
    let folder = std::path::Path::new("/dev/shm").join(format!("gpuprof-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder in memory");
    folder
}

/// Launches at that pace, into a file in memory. Each is three records.
fn paced(launches: u64, per_second: u64) -> (u64, f64) {
    let sim = Sim::new("13.0");
    let folder = fast_disk(&launches.to_string());
    let run = sim.player("burst").args([launches.to_string(), "1".into(), per_second.to_string()]);
    let run = run.env("GPUPROF_OUTPUT", folder.join("t.gpuprof"));
    let ended = run.inject().timeout(Duration::from_secs(120)).run();
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    let trace = Trace::open(&folder.join("t.gpuprof"));
    assert_eq!(trace.total("delivered"), ended.totals().generated);
    assert_eq!(trace.rows_of_cupti(), trace.total("written"));
    let lost = trace.total("lost");
    if lost == 0 {
        assert_eq!(ended.totals().generated_of(10), launches);
        assert_eq!((trace.kernels().len() as u64, trace.losses()), (launches, vec![]));
    }
    let rate = 3e9 * launches as f64 / ended.number("ns") as f64;
    println!(
        "{launches} launches, {:.2} M records a second: {lost} records lost, {:?}",
        rate / 1e6,
        ended.duration
    );
    let _ = std::fs::remove_dir_all(folder);
    (lost, rate)
}

#[test]
fn three_million_records_at_a_steady_pace_lose_none() {
    let (lost, rate) = paced(1_000_000, 200_000);
    assert_eq!(lost, 0, "at {rate} records a second");
}

#[test]
#[ignore = "wants a machine of its own: run it alone, with --release"]
fn ten_million_records_at_two_million_a_second_lose_none() {
    let (lost, rate) = paced(3_333_334, 666_667);
    assert!(rate > 1.9e6, "the simulator reached {rate} records a second only");
    assert_eq!(lost, 0);
}

#[test]
fn as_fast_as_it_goes_what_is_lost_is_counted_exactly() {
    for (version, threads) in [("11.8", "2"), ("12.8", "1"), ("13.0", "4")] {
        let sim = Sim::new(version);
        let run = sim.player("burst").args(["500000", threads]).env("GPUPROF_MEMORY_BYTES", "4MiB");
        let trace = counted(&run.inject().run());
        let losses: Vec<LossRow> = trace.losses();
        assert!(losses.iter().all(|l| matches!(l.cause, QUEUE_FULL | CUPTI_DROPPED)), "{losses:?}");
        assert!(losses.iter().all(|l| l.start_ns.zip(l.end_ns).is_some_and(|(s, e)| s <= e)), "{losses:?}");
        println!(
            "CUPTI {version}, {threads} threads: {} of {} lost",
            trace.total("lost"),
            trace.total("delivered")
        );
    }
}

const STALL: &str = r#"
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>
/* A disk that takes nothing as long as there is a file STALL. */
static void wait_for_it(void) { const char *s = getenv("STALL"); while (s && !access(s, F_OK)) usleep(2000); }
ssize_t pwrite(int fd, const void *b, size_t n, off_t o) { wait_for_it(); return syscall(SYS_pwrite64, fd, b, n, o); }
ssize_t pwrite64(int fd, const void *b, size_t n, off_t o) { wait_for_it(); return syscall(SYS_pwrite64, fd, b, n, o); }
"#;

#[test]
fn a_stalled_disk_costs_records_of_that_time_and_no_memory() {
    let library = compiled("stall.so", STALL, &["-shared", "-fPIC"]);
    in_parallel(["12.8", "13.0"], 2, |version| {
        let sim = Sim::new(version);
        let run = || {
            let run = sim.player("burst").args(["300000", "1", "50000"]).env("LD_PRELOAD", &library);
            run.env("GPUPROF_MEMORY_BYTES", "16MiB").env("GPUPROF_FLUSH_MS", "100").inject()
        };
        let usual = run().run();
        let stalled = run();
        let stall = stalled.folder().join("stall");
        let running = stalled.env("STALL", &stall).start();
        let begin = Instant::now();
        while running.totals().generated < 150_000 && begin.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(5));
        }
        let now_ns = || {
            std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |t| t.as_nanos() as i64)
        };
        let from_ns = now_ns();
        std::fs::write(&stall, "").expect("a file");
        std::thread::sleep(Duration::from_millis(2000));
        std::fs::remove_file(&stall).expect("the file");
        let to_ns = now_ns();
        let ended = running.end();
        let trace = counted(&ended);
        // 300,000 records fell into it; 16 MiB hold about half of them.
        let losses: Vec<LossRow> = trace.losses();
        let lost: i64 = losses.iter().map(|l| l.rows).sum();
        assert!(lost > 50_000, "CUPTI {version}: {losses:?}");
        assert!(losses.iter().all(|l| matches!(l.cause, QUEUE_FULL | CUPTI_DROPPED)), "{losses:?}");
        let is_then = |l: &&LossRow| {
            let (start_ns, end_ns) = (l.start_ns.expect("a begin"), l.end_ns.expect("an end"));
            start_ns > from_ns && end_ns < to_ns + 1_000_000_000
        };
        // On a busy machine the writer may fall behind at other times as well.
        let then: i64 = losses.iter().filter(is_then).map(|l| l.rows).sum();
        assert!(then * 10 >= lost * 9, "{losses:?}, stalled {from_ns} to {to_ns}");
        // Both before and after it there are kernels.
        let kernels = trace.kernels();
        assert!(kernels.iter().any(|k| k.start_ns < from_ns) && kernels.iter().any(|k| k.start_ns > to_ns));
        let (usual, with) = (usual.number("rss_bytes"), ended.number("rss_bytes"));
        println!("CUPTI {version}: {lost} lost, {} kB against {} kB", with >> 10, usual >> 10);
        assert!(with < usual + (16 << 20), "{with} bytes against {usual}");
    });
}

#[test]
fn memory_does_not_grow_with_the_length_of_the_run() {
    let sim = Sim::new("12.8");
    let rss = |launches: &str| {
        let ended =
            sim.player("burst").args([launches, "1", "250000"]).env("GPUPROF_MEMORY_BYTES", "8MiB").inject().run();
        counted(&ended);
        ended.number("rss_bytes")
    };
    let (short, long) = (rss("200000"), rss("1600000"));
    println!("{} kB, {} kB", short >> 10, long >> 10);
    assert!(long < short + (12 << 20), "{long} bytes against {short}");
}

#[test]
fn sixty_four_threads_may_launch_fork_end_and_leave() {
    let ways: [&[&str]; 4] =
        [&["64", "200"], &["64", "100", "fork"], &["64", "20", "churn"], &["64", "40", "launch", "5"]];
    in_parallel(ways.iter().flat_map(|w| ["12.8", "13.0"].map(|v| (*w, v))), 2, |(way, version)| {
        let sim = Sim::new(version);
        let run = || sim.player("threads").args(way).env("GPUPROF_FLUSH_MS", "10");
        let (bare, ended) = (run().run(), run().preload().run());
        let what = format!("{way:?}, CUPTI {version}");
        same_end(&bare, &ended, &what);
        let trace = counted(&ended);
        assert_eq!(trace.kernels().len() as u64 + lost_kernels(&trace), ended.number("kernels"), "{what}");
    });
}

/// Kernels may be among what was lost; nothing else can be missing.
fn lost_kernels(trace: &Trace) -> u64 {
    if trace.total("lost") == 0 { 0 } else { panic!("{:?}", trace.losses()) }
}

#[test]
fn a_thousand_cycles_of_start_and_stop_among_eight_threads_leave_a_thousand_windows() {
    for version in ["11.8", "12.8", "13.0"] {
        let sim = Sim::new(version);
        let run = sim.player("threads").args(["8", "1000", "toggle"]).env("GPUPROF_CAPTURE", "profiler-api");
        let ended = run.inject().run();
        assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
        let trace = laws(&ended).remove(0);
        let windows: Vec<CaptureRow> = trace.rows();
        assert_eq!(windows.len(), 1000, "CUPTI {version}");
        assert!(windows.iter().all(|w| (w.starts, w.stops) == (1, 1) && w.end_ns.is_some()), "CUPTI {version}");
        let inside = |id: u64| {
            windows
                .iter()
                .any(|w| id > w.first_correlation.unwrap_or(u64::MAX) && id < w.last_correlation.unwrap_or(0))
        };
        // Other threads go on launching while Stop is being called; the window ends at its call, not at its return. (A
        // thread that is suspended between CUPTI's numbering of its Stop and the gate, for as long as a later launch
        // takes to be flushed and written, would leave one behind the end. Not seen in 180,000 windows.)
        let end = |id: u64| windows.iter().filter_map(|w| w.last_correlation).filter(|end| *end <= id).max();
        let outside = trace.kernels().into_iter().map(|k| k.correlation).filter(|id| !inside(*id));
        let late: Vec<u64> = outside.map(|id| id - end(id).unwrap_or(0)).collect();
        println!("CUPTI {version}: {} kernels, after the end by {late:?}", trace.kernels().len());
        assert!(late.is_empty(), "CUPTI {version}: {late:?}");
    }
}

#[test]
fn names_that_die_with_their_module_and_very_many_names_are_all_right() {
    let sim = Sim::new("12.8");
    for (args, names) in [(["reload", "1000"], 1000), (["many", "20000"], 20000), (["long", "0"], 4)] {
        let trace = counted(&sim.player("names").args(args).inject().run());
        let found = trace.kernel_names();
        assert_eq!((found.len(), found.values().sum::<usize>()), (names, names), "{args:?}");
        assert!(found.keys().all(|name| !name.is_empty()), "{args:?}");
    }
}
