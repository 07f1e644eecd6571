//! How programs end, and what is said of it.

use super::bench::{Bench, file, frame_lines, profiled};
use crate::sim::player;

#[test]
fn status_and_signals_are_passed_on_with_nvprofs_words() {
    let bench = Bench::new();
    let leave = player("leave");
    for (how, status, last) in [
        ("return", 5, "======== Error: Application returned non-zero code 5"),
        ("exit", 6, "======== Error: Application returned non-zero code 6"),
    ] {
        let ended = bench.run(&format!("nvprof {} {how} 10", leave.display()));
        assert_eq!(ended.code(), Some(status), "{how}: {}", ended.stderr);
        assert_eq!(ended.stderr.lines().last(), Some(last), "{}", ended.stderr);
        assert!(ended.stderr.contains("null_kernel"), "the table comes first: {}", ended.stderr);
    }
    // The shell says 128 and the signal.
    for (how, status) in [("SEGV", 139), ("TERM", 143), ("KILL", 137), ("abort", 134)] {
        let ended = bench.line(&format!("nvprof {} {how} 10 700; exit $?", leave.display())).run();
        assert_eq!(ended.code(), Some(status), "{how}: {}", ended.stderr);
        let last = format!("======== Error: Application received signal {}", status - 128);
        let said = ended.stderr.lines().rfind(|line| line.starts_with("======== Error"));
        assert_eq!(said, Some(last.as_str()), "{how}: {}", ended.stderr);
    }
    assert!(bench.left().is_empty(), "{:?}", bench.left());
}

#[test]
fn a_killed_program_is_said_to_have_lost_its_last_records() {
    let bench = Bench::new();
    let ended = bench.line(&format!("nvprof {} KILL 1000 1500; true", player("leave").display())).run();
    let pid = profiled(&ended.stderr);
    let warning = format!("=={pid}== Warning: Some profiling data are not recorded. Make sure cudaProfilerStop()");
    assert!(ended.stderr.contains(&warning), "{}", ended.stderr);
    assert!(ended.stderr.contains("null_kernel"), "what was flushed is there: {}", ended.stderr);
}

#[test]
fn a_program_without_cuda_is_no_cuda_application() {
    let bench = Bench::new();
    let nocuda = player("nocuda");
    let ended = bench.run(&format!("nvprof {}", nocuda.display()));
    assert_eq!(ended.code(), Some(0));
    assert_eq!(ended.stderr, "======== Warning: No CUDA application was profiled, exiting\n");
    let ended = bench.run(&format!("nvprof {} 3", nocuda.display()));
    let expected = "======== Warning: No CUDA application was profiled, exiting\n\
                    ======== Error: Application returned non-zero code 3\n";
    assert_eq!((ended.code(), ended.stderr.as_str()), (Some(3), expected));
    let ended = bench.run(&format!("nvprof --quiet {} 3", nocuda.display()));
    assert_eq!(ended.stderr, "======== Error: Application returned non-zero code 3\n");
    let ended = bench.run("nvprof ./no-such-program");
    assert_eq!(ended.code(), Some(127));
    assert!(ended.stderr.ends_with("======== Error: application not found.\n"), "{}", ended.stderr);
    assert!(bench.left().is_empty(), "{:?}", bench.left());
}

#[test]
fn why_nothing_was_recorded_is_said() {
    let bench = Bench::new();
    let gate = player("gate");
    let ended = bench.run(&format!("nvprof --profile-from-start off {} never 1", gate.display()));
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    assert!(ended.stderr.contains("======== Warning: No profile data collected.\n"), "{}", ended.stderr);
    assert!(ended.stderr.contains("never switched on"), "{}", ended.stderr);
}

#[test]
fn a_program_is_stopped_when_its_time_is_up() {
    let bench = Bench::new();
    let ended = bench.line(&format!("nvprof --timeout 1 {} loop 10; exit $?", player("leave").display())).run();
    assert_eq!(ended.code(), Some(143), "{}", ended.stderr);
    let pid = profiled(&ended.stderr);
    assert!(
        frame_lines(&ended.stderr).contains(&format!("=={pid}== Execution timeout, stopping the application...")),
        "{}",
        ended.stderr
    );
    assert!(ended.stderr.contains("null_kernel"), "{}", ended.stderr);
    // Without CUDA there is no time.
    let ended = bench.run("nvprof --timeout 1 sleep 2");
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
}

#[test]
fn what_cannot_be_printed_is_kept() {
    let bench = Bench::new();
    // The folder for the file goes while the program runs.
    let line = "mkdir gone; nvprof -o gone/x.nvvp sh -c \"rmdir gone; exec ./a.out 3\"; exit $?";
    let ended = bench.run(line);
    assert_eq!(ended.code(), Some(2), "{}", ended.stderr);
    let left = bench.left();
    assert_eq!(left.len(), 1, "{left:?}: {}", ended.stderr);
    assert!(ended.stderr.contains(&left[0].display().to_string()), "{}", ended.stderr);
    let report = crate::common::gpuprof_in(&left[0], &["report", "run"]);
    assert!(report.stdout.contains("vector_add"), "{}{}", report.stdout, report.stderr);
}

#[test]
fn an_existing_file_is_overwritten_only_with_force() {
    let bench = Bench::new();
    let ended = bench.run("echo precious > x.nvvp; nvprof -o x.nvvp ./a.out 1; exit $?");
    assert_eq!(ended.code(), Some(2), "{}", ended.stderr);
    assert_eq!(ended.stdout, "", "the program was not started");
    assert_eq!(file(&ended, "x.nvvp"), "precious\n");
    assert!(
        ended.stderr.starts_with("======== Error: output file \"") && ended.stderr.contains("--force-overwrite"),
        "{}",
        ended.stderr
    );
    let ended = bench.run("echo old > x.nvvp; nvprof -f -o x.nvvp ./a.out 1");
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    assert!(std::fs::read(ended.folder().join("x.nvvp")).unwrap().starts_with(b"SQLite format 3\0"));
}
