//! The flight recorder: a ring that stays within its limits for any length of run and holds its last seconds whole, and
//! dumps of it, asked for by signals and rules, whatever happens meanwhile. On the SIMULATOR.

mod segments;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::common::sim::{Ended, Run, Running, Sim, Totals};
use crate::common::{Trace, compiled, in_parallel, said};
use trace_format::schema::Role;
use trace_format::tables::{ALL, ApiRow, ClockRow, KernelRow, NoteRow, RangeRow, ShapeRow, StringRow};

use segments::*;

const S: i64 = 1_000_000_000;
const MS: i64 = 1_000_000;

#[test]
fn a_ring_stays_within_its_limit_and_memory_does_not_grow_with_the_run() {
    let limit = Duration::from_secs(120);
    // At a rate that a busy machine keeps up with: what waits to be written takes memory too, and is no part of the question.
    let (_, short) = watched(250_000, 125_000, "8MiB", limit);
    let (disk, long) = watched(1_500_000, 125_000, "8MiB", limit);
    assert!(disk <= (8 << 20) + (1 << 20), "{disk} bytes");
    assert!(disk >= 6 << 20, "{disk} bytes: the ring was not full");
    assert!(long < short + (12 << 20), "{long} bytes against {short}");
}

#[test]
#[ignore = "ten minutes in real time: 120 million records at 200,000 a second, as the issue asks"]
fn ten_minutes_at_200_000_records_a_second_stay_within_the_limit() {
    let (disk, rss) = watched(40_000_000, 66_667, "30s,64MiB", Duration::from_secs(1_200));
    assert!(disk <= (64 << 20) + (1 << 20), "{disk} bytes");
    assert!(rss < 200 << 20, "{rss} bytes");
}

#[test]
fn a_ring_of_seconds_holds_the_last_of_them_whole_and_lets_go_of_the_rest() {
    let sim = Sim::new("12.8");
    let ended = ringed(sim.player("steady").args(["4000", "8", "1"]), "2s").run();
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    let ring = closed_ring(&ended, &ended.folder().join("out"));
    let kernels = ring.kernels();
    assert_eq!(kernels.len() as u64 + ring.before("kernel"), ended.number("kernels"), "none is in neither part");
    let last_ns = kernels.iter().map(end_ns).max().unwrap();
    let first_ns = kernels.iter().map(|k| k.start_ns).min().unwrap();
    println!(
        "{} kernels of the last {:.3} s, {} before",
        kernels.len(),
        (last_ns - first_ns) as f64 / 1e9,
        ring.before("kernel")
    );
    // What went was written before anything that is here, and the first here is older than two seconds.
    assert!(last_ns - first_ns >= 2 * S, "{}", last_ns - first_ns);
    assert!(ring.before("kernel") > 4_000, "{}", ring.before("kernel"));
}

#[test]
fn dumps_hold_the_last_seconds_whole_while_threads_launch() {
    for (version, threads) in [("12.8", "1"), ("13.0", "4")] {
        let sim = Sim::new(version);
        let running = ringed(sim.player("steady").args(["8000", "9", threads]), "2s").start();
        let mut moments = Vec::new();
        for number in 1..=3 {
            let launched = || running.totals().launched;
            wait_for("launches", || launched() > number as u64 * 14_000);
            let before = launched();
            // A kernel takes 1.2 µs: those that were launched by now are over.
            std::thread::sleep(Duration::from_millis(1));
            let path = dump(&running, number);
            moments.push((before, launched(), path));
        }
        let ended = running.end();
        assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
        for (i, (before, after, path)) in moments.iter().enumerate() {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            assert!(name.ends_with(&format!(".dump-{:03}-signal", i + 1)), "{name}");
            let dump = Segments::in_folder(path);
            dump.check_alone();
            assert!(dump.0.iter().all(|t| t.reader.is_closed()), "{name}");
            let kernels = dump.kernels();
            let counted = kernels.len() as u64 + dump.before("kernel");
            assert!(counted >= *before && counted <= *after, "{name}: {counted}, launched {before} to {after}");
            let (made_ns, text) = dump.notes().pop().unwrap();
            assert_eq!(text, format!("dump {}, signal: a signal asked for it", i + 1));
            let first_ns = kernels.iter().map(|k| k.start_ns).min().unwrap();
            println!(
                "CUPTI {version}, {threads} threads: dump {} holds {} kernels of {:.3} s, {} older ones are gone",
                i + 1,
                kernels.len(),
                (made_ns - first_ns) as f64 / 1e9,
                dump.before("kernel")
            );
            // All that was dropped was written before all that is here; the first here is older than the ring is long.
            assert!(dump.before("kernel") == 0 || made_ns - first_ns >= 2 * S, "{name}: {}", made_ns - first_ns);
        }
        let ring = closed_ring(&ended, &ended.folder().join("out"));
        assert_eq!(ring.kernels().len() as u64 + ring.before("kernel"), ended.number("kernels"));
        assert_eq!(ring.0.last().unwrap().reader.closed_totals().unwrap()["writer_totals"]["dumps"]["made"], 3);
    }
}

/// The dumps of a run of `flight`, by name without the beginning; the files go with the machine.
fn dumps_of(commands: &[&str], rules: &str, more: &[(&str, &str)]) -> (Ended, Vec<(String, Segments)>, Sim) {
    let sim = Sim::new("12.8");
    let mut run = ringed(sim.player("flight").args(commands), "60s").env("GPUPROF_DUMP_ON", rules);
    for (name, value) in more {
        run = run.env(name, value);
    }
    let ended = run.run();
    assert_eq!(ended.totals().violations, 0, "{}", ended.stderr);
    let found = folders(&ended.folder().join("out"), ".dump-");
    let dumps = found.into_iter().map(|path| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        (name.split_once(".dump-").unwrap().1.to_owned(), Segments::in_folder(&path))
    });
    let dumps = dumps.collect();
    (ended, dumps, sim)
}

fn names(dumps: &[(String, Segments)]) -> Vec<&str> {
    dumps.iter().map(|(name, _)| name.as_str()).collect()
}

#[test]
fn a_slow_range_makes_a_dump_that_holds_it_and_others_do_not() {
    // On a busy machine some steps take several times as long, so what is slow is slower by far.
    let rule = "slow:step:10";
    let (ended, dumps, _sim) =
        dumps_of(&["steps=30,20", "other=900", "slow=900", "steps=5,20", "slow=900", "sleep=700"], rule, &[]);
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    assert_eq!(names(&dumps), ["001-slow-step"], "once, for the ring has not gone round: {}", ended.stderr);
    let dump = &dumps[0].1;
    let (_, text) = dump.notes().pop().unwrap();
    assert!(text.starts_with("dump 1, slow-step: range step took 9"), "{text}");
    assert!(text.contains("the median of the 30 before it is "), "{text}");
    let slow = dump.rows::<RangeRow>().into_iter().filter(|r| r.end_ns.is_some_and(|e| e - r.start_ns >= 900 * MS));
    assert!(slow.count() >= 2, "the slow step is in it, and the other range");
    // Too few before it; another range; not beyond the factor.
    for commands in [&["steps=9,5", "slow=500"][..], &["steps=20,30", "other=900"], &["steps=20,30", "slow=150"]] {
        let (ended, dumps, _sim) = dumps_of(&[commands, &["sleep=700"]].concat(), rule, &[]);
        assert_eq!(names(&dumps), [""; 0], "{commands:?}: {}", ended.stderr);
    }
}

#[test]
fn a_rule_fires_again_when_the_ring_has_gone_round() {
    let sim = Sim::new("13.0");
    let commands = ["steps=15,20", "slow=900", "sleep=1500", "slow=900", "sleep=700"];
    let run = ringed(sim.player("flight").args(commands), "1s").env("GPUPROF_DUMP_ON", "slow:step:15");
    let ended = run.run();
    let found = folders(&ended.folder().join("out"), ".dump-");
    assert_eq!(found.len(), 2, "{found:?} {}", ended.stderr);
}

#[test]
fn the_first_failed_call_makes_a_dump_whatever_is_collected() {
    let all: [(&str, &[(&str, &str)]); 4] = [
        ("everything", &[]),
        ("no calls", &[("GPUPROF_KINDS", "kernel,memcpy")]),
        ("gate closed", &[("GPUPROF_CAPTURE", "profiler-api")]),
        ("questions too", &[("GPUPROF_MUTE", "off")]),
    ];
    in_parallel(all, 2, |(what, more)| {
        let commands = ["launch=100", "notready", "launch=10", "error", "launch=10", "error", "sleep=400"];
        let (ended, dumps, _sim) = dumps_of(&commands, "error", more);
        assert_eq!(ended.code(), Some(0), "{what}: {}", ended.stderr);
        assert_eq!(names(&dumps), ["001-error"], "{what}: {}", ended.stderr);
        let (_, text) = dumps[0].1.notes().pop().unwrap();
        assert!(text.starts_with("dump 1, error: cudaSetDevice"), "{what}: {text}");
        assert!(text.contains(" returned 101, correlation id "), "{what}: {text}");
        let ring = ring(&ended.folder().join("out"));
        let calls = ring.rows::<ApiRow>().len() + dumps[0].1.rows::<ApiRow>().len();
        assert_eq!(calls > 0, matches!(what, "everything" | "questions too"), "{what}: {calls} rows of calls");
        let kernels = dumps[0].1.kernels().len();
        assert_eq!(kernels > 0, what != "gate closed", "{what}: {kernels}");
    });
    let (_, dumps, _sim) = dumps_of(&["launch=100", "notready", "sleep=400"], "error", &[]);
    assert_eq!(names(&dumps), [""; 0], "not ready is no error");
    let (_, dumps, _sim) = dumps_of(&["launch=100", "driver_error", "sleep=600"], "error", &[]);
    assert_eq!(names(&dumps), ["001-error"]);
    assert!(dumps[0].1.notes()[0].1.contains("cuDeviceGet"), "{:?}", dumps[0].1.notes());
    let (_, dumps, _sim) = dumps_of(&["launch=100", "error", "sleep=400"], "abort", &[]);
    assert_eq!(names(&dumps), [""; 0], "no rule, no dump");
}

/// What a program does last is what its user asks about: it ends at once after the error, by `exit` or by `return`.
#[test]
fn what_fires_right_before_the_end_makes_a_dump_too() {
    let all: [(&[&str], &str, &str, &str); 4] = [
        (&["launch=100", "error"], "error", "001-error", "cudaSetDevice"),
        (&["launch=100", "error", "exit=0"], "error", "001-error", "cudaSetDevice"),
        (&["launch=100", "driver_error"], "error", "001-error", "cuDeviceGet"),
        (&["steps=15,20", "slow=900"], "slow:step:15", "001-slow-step", "range step took "),
    ];
    in_parallel(all, 2, |(commands, rule, name, what)| {
        let (ended, dumps, _sim) = dumps_of(commands, rule, &[]);
        assert_eq!(ended.code(), Some(0), "{commands:?}: {}", ended.stderr);
        assert_eq!(names(&dumps), [name], "{commands:?}: {}", ended.stderr);
        let (_, text) = dumps[0].1.notes().pop().unwrap();
        assert!(text.contains(what), "{commands:?}: {text}");
        assert!(dumps[0].1.kernels().len() >= 100, "{commands:?}: {}", dumps[0].1.kernels().len());
        let ring = ring(&ended.folder().join("out"));
        assert_eq!(ring.0.last().unwrap().reader.closed_totals().unwrap()["writer_totals"]["dumps"]["made"], 1);
    });
}

#[test]
fn dumps_end_at_their_limit_and_recording_goes_on() {
    let sim = Sim::new("12.8");
    let run = ringed(sim.player("steady").args(["4000", "4", "2"]), "30s").env("GPUPROF_MAX_DUMPS", "2");
    let running = run.start();
    wait_for("launches", || running.totals().launched > 2_000);
    dump(&running, 1);
    dump(&running, 2);
    running.signal("USR2");
    let ended = running.end();
    assert_eq!(folders(&ended.folder().join("out"), ".dump-").len(), 2);
    let lines = said(&ended);
    assert!(lines.len() == 1 && lines[0].contains("2 dumps were made, which is the limit"), "{lines:?}");
    let ring = closed_ring(&ended, &ended.folder().join("out"));
    assert_eq!(ring.kernels().len() as u64 + ring.before("kernel"), ended.number("kernels"));
    let totals = ring.0.last().unwrap().reader.closed_totals().unwrap();
    let dumps = &totals["writer_totals"]["dumps"];
    assert_eq!([&dumps["made"], &dumps["failed"], &dumps["refused"]], [2, 0, 1]);
}

#[test]
fn two_signals_at_once_make_whole_dumps() {
    let sim = Sim::new("13.0");
    let running = ringed(sim.player("steady").args(["8000", "4", "4"]), "10s").start();
    wait_for("launches", || running.totals().launched > 4_000);
    for _ in 0..5 {
        running.signal("USR2");
    }
    wait_for("a dump", || !folders(&running.out(), ".dump-").is_empty());
    let ended = running.end();
    let found = folders(&ended.folder().join("out"), ".dump-");
    assert!((1..=5).contains(&found.len()), "{found:?}");
    let mut counts = Vec::new();
    for path in found {
        let dump = Segments::in_folder(&path);
        dump.check_alone();
        counts.push(dump.kernels().len());
    }
    assert!(counts.is_sorted() && counts[0] > 0, "{counts:?}");
    closed_ring(&ended, &ended.folder().join("out"));
}

/// A file system that fails in a given way for whatever belongs to a dump, while there is a file with that name.
const FAILING: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
static int fails(const char *call, const char *path) {
  const char *what = getenv("FAILING"); if (!what || !strstr(path, ".dump-")) return 0;
  size_t n = strlen(call); if (strncmp(what, call, n) || what[n] != ':') return 0;
  errno = atoi(what + n + 1); return 1;
}
int linkat(int a, const char *from, int b, const char *to, int flags) {
  if (fails("link", to)) return -1; return ((int (*)(int, const char *, int, const char *, int))dlsym(RTLD_NEXT, "linkat"))(a, from, b, to, flags);
}
int mkdir(const char *path, mode_t mode) { if (fails("mkdir", path)) return -1; return ((int (*)(const char *, mode_t))dlsym(RTLD_NEXT, "mkdir"))(path, mode); }
int rename(const char *from, const char *to) { if (fails("rename", to)) return -1; return ((int (*)(const char *, const char *))dlsym(RTLD_NEXT, "rename"))(from, to); }
"#;

#[test]
fn a_dump_that_cannot_be_made_costs_one_line_and_nothing_else() {
    let library = compiled("failing.so", FAILING, &["-shared", "-fPIC", "-ldl"]);
    let (full, read_only, no_links) = (28, 30, 1);
    for (what, succeeds) in [
        (format!("link:{full}"), false),
        (format!("mkdir:{read_only}"), false),
        (format!("rename:{full}"), false),
        // Files with one name are copied.
        (format!("link:{no_links}"), true),
    ] {
        let sim = Sim::new("12.8");
        let run = ringed(sim.player("steady").args(["4000", "4", "2"]), "30s");
        let running = run.env("LD_PRELOAD", &library).env("FAILING", &what).start();
        wait_for("launches", || running.totals().launched > 3_000);
        running.signal("USR2");
        let ended = running.end();
        assert_eq!(ended.code(), Some(0), "{what}: {}", ended.stderr);
        let out = ended.folder().join("out");
        let left: Vec<_> = out.read_dir().unwrap().map(|e| e.unwrap().file_name()).collect();
        let lines = said(&ended);
        if succeeds {
            assert!(left.len() == 2 && lines.is_empty(), "{what}: {left:?} {lines:?}");
            let dump = Segments::in_folder(&folders(&out, ".dump-")[0]);
            dump.check_alone();
            assert!(dump.kernels().len() >= 3_000, "{what}");
        } else {
            assert_eq!(left.len(), 1, "{what}: nothing is left of it: {left:?}");
            assert!(lines.len() == 1 && lines[0].contains("no dump for signal: it could not be made"), "{lines:?}");
        }
        let ring = closed_ring(&ended, &out);
        assert_eq!(ring.kernels().len() as u64 + ring.before("kernel"), ended.number("kernels"), "{what}");
    }
}

#[test]
fn after_sigkill_the_ring_opens_and_holds_its_last_seconds() {
    let rate = 4_000;
    in_parallel(0..16_u64, 4, |i| {
        let sim = Sim::new(["12.8", "13.0"][i as usize % 2]);
        let running = ringed(sim.player("steady").args([rate.to_string(), "60".into()]), "1s").start();
        wait_for("launches", || running.totals().launched > 1_000 + 700 * i);
        std::thread::sleep(Duration::from_micros(i * 7_919 % 100_000));
        running.signal("KILL");
        let ended = running.end();
        let out = ended.folder().join("out");
        let other: Vec<_> = ended
            .files()
            .into_iter()
            .filter(|f| f.extension().is_none_or(|e| e != "gpuprof" && e != "part"))
            .collect();
        assert!(other.is_empty(), "{other:?}");
        let ring = ring(&out);
        let newest = ring.0.last().unwrap();
        assert!(!newest.reader.is_closed(), "it was killed");
        let kernels = ring.kernels();
        let launched = ended.totals().launched;
        let counted = kernels.len() as u64 + ring.before("kernel");
        // A flush interval of 100 ms, and four of them for a busy machine.
        assert!(counted <= launched && launched - counted <= 5 * rate / 10, "{counted} of {launched}");
        let Some(last_ns) = kernels.iter().map(end_ns).max() else { return };
        let first_ns = kernels.iter().map(|k| k.start_ns).min().unwrap();
        assert!(ring.before("kernel") == 0 || last_ns - first_ns >= S - 100 * MS, "{}", last_ns - first_ns);
    });
}

#[test]
fn a_child_that_was_forked_has_nothing_to_do_with_it() {
    let sim = Sim::new("12.8");
    let commands = ["launch=500", "fork", "launch=500", "error", "sleep=300", "fork", "launch=7"];
    let ended = ringed(sim.player("flight").args(commands), "30s").env("GPUPROF_DUMP_ON", "error").run();
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    let out = ended.folder().join("out");
    assert_eq!((folders(&out, ".ring").len(), folders(&out, ".dump-").len()), (1, 1), "{}", ended.stderr);
    let ring = closed_ring(&ended, &out);
    assert_eq!(ring.kernels().len() as u64 + ring.before("kernel"), 1_007);
}

#[test]
fn a_signal_that_the_program_handles_is_its_own() {
    let library = compiled(
        "handles.so",
        "#include <signal.h>\nstatic void on(int s) { (void)s; }\n__attribute__((constructor)) static void f(void) { signal(SIGUSR2, on); }\n",
        &["-shared", "-fPIC"],
    );
    let sim = Sim::new("12.8");
    let run = ringed(sim.player("steady").args(["4000", "2", "1"]), "30s").env("LD_PRELOAD", &library);
    let running = run.start();
    wait_for("launches", || running.totals().launched > 2_000);
    running.signal("USR2");
    let ended = running.end();
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    let lines = said(&ended);
    assert!(lines.len() == 1 && lines[0].contains("signal USR2 is the program's own"), "{lines:?}");
    assert!(folders(&ended.folder().join("out"), ".dump-").is_empty());
}

#[test]
fn a_dump_is_made_though_cupti_does_not_come_back() {
    let sim = Sim::new("12.8");
    let run = ringed(sim.player("flight").args(["launch=1000", "sleep=600", "launch=10", "sleep=4000"]), "30s");
    let running = run.stall("cuptiActivityFlushAll:forever@8+").env("GPUPROF_EXIT_DEADLINE_MS", "300").start();
    wait_for("launches", || running.totals().launched >= 1_010);
    std::thread::sleep(Duration::from_millis(500));
    let path = dump(&running, 1);
    let dump = Segments::in_folder(&path);
    assert!(dump.kernels().len() >= 1_000, "{}", dump.kernels().len());
    let _ = running.end();
}

#[test]
fn ranges_with_ever_new_names_take_no_more_memory_and_disk_the_longer_the_run() {
    let run = |names: &str| {
        let sim = Sim::new("12.8");
        let commands =
            ["launch=10".to_owned(), format!("names={names}"), "launch=10".to_owned(), "sleep=300".to_owned()];
        let ended = ringed(sim.player("flight").args(commands), "8MiB").timeout(Duration::from_secs(120)).run();
        assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
        let ring = closed_ring(&ended, &ended.folder().join("out"));
        let mut unnamed = 0;
        for trace in &ring.0 {
            let strings: BTreeSet<u32> =
                trace.reader.definitions::<StringRow>().rows.iter().map(|r| r.id).collect();
            let rows: Vec<RangeRow> = trace.rows();
            unnamed += rows.iter().filter(|row| row.name_id == 0).count();
            assert!(
                rows.iter().all(|r| r.name_id == 0 || strings.contains(&r.name_id)),
                "{}",
                trace.path.display()
            );
        }
        let bytes: u64 = ring.0.iter().map(|t| t.path.metadata().expect("a file").len()).sum();
        let last =
            ring.0.last().expect("a segment").reader.closed_totals().expect("totals")["writer_totals"].clone();
        println!(
            "simulated: {names} ranges with names of their own: RSS at most {:.1} MiB, {:.1} MiB on disk, {} ranges held, {} \
             dropped by the ring, {} lost, {unnamed} without name",
            ended.peak_rss_bytes as f64 / 1048576.0,
            bytes as f64 / 1048576.0,
            last["ranges"]["written"],
            last["ranges"]["dropped_by_ring"],
            last["ranges"]["lost"]
        );
        (ended.peak_rss_bytes, bytes)
    };
    let (short, _) = run("700000");
    let (long, bytes) = run("1200000");
    assert!(long < short + (16 << 20), "{long} bytes against {short}");
    assert!(bytes <= 9 << 20, "{bytes}");
}

#[test]
fn names_that_come_and_go_without_end_are_all_right_in_every_segment() {
    let sim = Sim::new("12.8");
    for args in [["many", "20000"], ["reload", "3000"], ["long", "0"]] {
        let ended = ringed(sim.player("names").args(args), "8MiB").run();
        assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
        let ring = closed_ring(&ended, &ended.folder().join("out"));
        let named: usize = ring
            .0
            .iter()
            .map(|t| t.kernel_names().iter().filter(|(n, _)| !n.is_empty()).map(|(_, c)| c).sum::<usize>())
            .sum();
        assert_eq!(named, ring.kernels().len(), "{args:?}");
    }
}
