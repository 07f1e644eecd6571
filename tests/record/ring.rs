//! `gpuprof record --ring` and what comes after it: the closing lines, the dump that the launcher makes when a program
//! dies, and reports on rings and dumps. On the SIMULATOR.

use crate::common::gpuprof_in;
use crate::sim::{Ended, Sim};
use std::path::PathBuf;

/// The lines at the end of what the run said.
fn closing(ended: &Ended, count: usize) -> Vec<String> {
    let lines: Vec<&str> = ended.stderr.lines().filter(|line| line.starts_with("gpuprof: ")).collect();
    lines[lines.len().saturating_sub(count)..].iter().map(|line| (*line).to_owned()).collect()
}

/// Folders of a run, by the part of their name behind the process's.
fn folders(ended: &Ended, place: &str) -> Vec<(String, PathBuf)> {
    let entries = ended.folder().join(place).read_dir().into_iter().flatten().flatten().map(|e| e.path());
    let mut found: Vec<(String, PathBuf)> = entries
        .filter(|path| path.is_dir())
        .filter_map(|path| {
            let name = path.file_name()?.to_string_lossy().into_owned();
            let at = name.rfind(".ring").or(name.rfind(".dump-"))?;
            Some((name[at..].to_owned(), path))
        })
        .collect();
    found.sort();
    found
}

fn names(found: &[(String, PathBuf)]) -> Vec<&str> {
    found.iter().map(|(name, _)| name.as_str()).collect()
}

const RING: [&str; 6] = ["-o", "run", "--ring", "30s", "--dump-on", "error,abort"];

#[test]
fn a_ring_is_one_trace_for_report_and_its_dumps_are_others() {
    let sim = Sim::new("12.8");
    let ended = sim
        .player("flight")
        .args(["launch=200", "error", "sleep=300", "launch=50"])
        .record(&RING)
        .env("GPUPROF_FLUSH_MS", "100")
        .run();
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    let found = folders(&ended, "run");
    assert_eq!(names(&found), [".dump-001-error", ".ring"], "{}", ended.stderr);
    let lines = closing(&ended, 4);
    assert!(lines[0].starts_with("gpuprof: recorded 1 process: 250 kernels, "), "{lines:?}");
    assert!(lines[0].ends_with("; nothing lost"), "{lines:?}");
    assert!(lines[1].starts_with("gpuprof: written to run/ ("), "{lines:?}");
    assert!(lines[2].starts_with("gpuprof: 1 dump of the flight recorder: run/"), "{lines:?}");
    assert!(lines[2].ends_with(".dump-001-error/"), "{lines:?}");
    assert_eq!(lines[3], "gpuprof: next: gpuprof report run");
    let calls = |path: &str| {
        let answer =
            gpuprof_in(ended.folder(), &["query", path, "SELECT COUNT(*) AS n FROM kernel", "--format", "csv"]);
        assert_eq!(answer.status, 0, "{}", answer.stderr);
        (answer.stdout.lines().last().unwrap_or_default().to_owned(), answer.stderr)
    };
    let (all, notes) = calls("run");
    assert_eq!(all, "250", "the ring alone, once");
    let dump = found[0].1.strip_prefix(ended.folder()).unwrap().display().to_string();
    let ring = found[1].1.strip_prefix(ended.folder()).unwrap().display().to_string();
    let report = gpuprof_in(ended.folder(), &["report", "run"]);
    assert_eq!(report.status, 0, "{}", report.stderr);
    let expected = format!("a dump of the flight recorder is not part of this: `gpuprof report {dump}`");
    assert!(report.stderr.contains(&expected), "{}{notes}", report.stderr);
    assert_eq!(calls(&dump).0, "200");
    assert_eq!(calls(&ring).0, "250");
    // The newest run here is found although there is no trace directly in it.
    let newest = gpuprof_in(ended.folder(), &["report"]);
    assert!(newest.stderr.contains("reading run"), "{}", newest.stderr);
    // Both named: each record once, for the dump's segments are the ring's.
    let both = gpuprof_in(ended.folder(), &["info", &dump, &ring, "--format", "csv"]);
    assert_eq!(both.status, 0, "{}", both.stderr);
    assert!(both.stdout.contains("kernel,250"), "{}", both.stdout);
    // Where there is nothing but dumps, they are what is meant.
    std::fs::remove_dir_all(&found[1].1).unwrap();
    assert_eq!(calls("run").0, "200");
}

#[test]
fn a_program_that_dies_leaves_its_last_seconds_as_a_dump() {
    for (command, code, signal) in [("abort", None, Some(6)), ("exit=3", Some(3), None), ("kill", None, Some(9))] {
        let sim = Sim::new("13.0");
        let ended = sim
            .player("flight")
            .args(["launch=300", "sleep=400", command])
            .record(&RING)
            .env("GPUPROF_FLUSH_MS", "100")
            .run();
        assert_eq!((ended.code(), ended.signal()), (code, signal), "{command}: {}", ended.stderr);
        let found = folders(&ended, "run");
        assert_eq!(names(&found), [".dump-001-abort", ".ring"], "{command}: {}", ended.stderr);
        let dump = found[0].1.strip_prefix(ended.folder()).unwrap().display().to_string();
        let report = gpuprof_in(ended.folder(), &["report", &dump]);
        assert!(report.status == 0 && report.stdout.contains("null_kernel"), "{command}: {}", report.stderr);
        let lines = closing(&ended, 4);
        assert!(lines[0].contains(" 300 kernels"), "{command}: {lines:?}");
        assert!(lines[2].ends_with(".dump-001-abort/"), "{command}: {lines:?}");
    }
    // A good end is no reason, nor is a bad one where nobody asked.
    let sim = Sim::new("12.8");
    let ended = sim.player("flight").args(["launch=10"]).record(&RING).run();
    assert_eq!(names(&folders(&ended, "run")), [".ring"], "{}", ended.stderr);
    let ended = sim.player("flight").args(["launch=10", "exit=1"]).record(&["-o", "run", "--ring", "30s"]).run();
    assert_eq!(names(&folders(&ended, "run")), [".ring"], "{}", ended.stderr);
    // Rules without a ring.
    let ended =
        sim.player("flight").args(["launch=10", "exit=1"]).record(&["-o", "run", "--dump-on", "abort"]).run();
    assert!(ended.stderr.contains("without --ring (e.g. --ring 30s) they do nothing"), "{}", ended.stderr);
    assert_eq!(names(&folders(&ended, "run")), [""; 0]);
}

#[test]
fn what_the_ring_dropped_is_said_at_the_end_and_in_every_report() {
    let sim = Sim::new("12.8");
    let ended = sim
        .player("steady")
        .args(["3000", "4", "1"])
        .record(&["-o", "last.gpuprof", "--ring", "1s"])
        .env("GPUPROF_FLUSH_MS", "100")
        .run();
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    let lines = closing(&ended, 3);
    assert!(
        lines[0].contains("; nothing lost; ") && lines[0].ends_with(" older records dropped by --ring"),
        "{lines:?}"
    );
    assert!(lines[1].starts_with("gpuprof: written to last.ring/ ("), "{lines:?}");
    assert_eq!(lines[2], "gpuprof: next: gpuprof report last.ring");
    let report = gpuprof_in(ended.folder(), &["report", "last.ring"]);
    assert_eq!(report.status, 0, "{}", report.stderr);
    let says = report.stderr.lines().find(|line| line.contains("older records were dropped by --ring"));
    assert!(says.is_some_and(|line| line.contains("last.ring: ")), "{}", report.stderr);
    assert!(!report.stderr.contains("not closed"), "{}", report.stderr);
    // A segment in the middle is missing.
    let mut segments: Vec<PathBuf> =
        ended.folder().join("last.ring").read_dir().unwrap().map(|e| e.unwrap().path()).collect();
    segments.sort();
    std::fs::remove_file(&segments[2]).unwrap();
    let report = gpuprof_in(ended.folder(), &["report", "last.ring"]);
    assert!(report.stderr.contains(" are not there: "), "{}", report.stderr);
}
