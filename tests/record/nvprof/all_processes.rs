//! `--profile-all-processes`.

use super::bench::Bench;
use std::time::{Duration, Instant};

#[test]
fn processes_started_elsewhere_take_part_with_the_variables_that_are_printed() {
    let bench = Bench::new();
    let watching = bench.line("exec nvprof --profile-all-processes --log-file watch.log -o %p.nvvp");
    let folder = watching.folder().to_owned();
    // One log for all needs a name for each; said by the next test. Here the standard error serves.
    let _ = watching;
    let running = bench.line("exec nvprof --profile-all-processes --csv 2> watch.log").start();
    let log = running.out().parent().expect("a folder").join("watch.log");
    let read = || std::fs::read_to_string(&log).unwrap_or_default();
    let wait = |what: &dyn Fn(&str) -> bool| {
        let begin = Instant::now();
        while !what(&read()) {
            assert!(begin.elapsed() < Duration::from_secs(40), "{}", read());
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    wait(&|text| text.contains("Type \"Ctrl-c\" to exit\n"));
    let exports: String =
        read().lines().filter(|line| line.starts_with("export ")).map(|l| format!("{l}; ")).collect();
    assert!(exports.contains("CUDA_INJECTION64_PATH=") && exports.contains("GPUPROF_OUTPUT="), "{}", read());
    for rounds in ["2", "3"] {
        let ended = bench.line(&format!("{exports} ./a.out {rounds}")).run();
        assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
        assert_eq!(ended.stderr, "");
    }
    wait(&|text| text.matches("vector_add").count() >= 2);
    running.signal("INT");
    let ended = running.end();
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    let text = std::fs::read_to_string(ended.folder().join("watch.log")).unwrap();
    let first = text.lines().next().unwrap_or_default();
    assert!(first.starts_with("======== Profiling all processes launched by "), "{text}");
    for what in ["NVPROF is profiling process ", "Profiling application: ./a.out ", "Profiling result:"] {
        assert_eq!(text.matches(what).count(), 2, "{what}: {text}");
    }
    assert!(bench.left().is_empty(), "{:?} {}", bench.left(), folder.display());
}

#[test]
fn names_for_several_processes_need_the_process_in_them() {
    let bench = Bench::new();
    for (line, name) in [
        ("nvprof --profile-all-processes -o x.nvvp", "output file"),
        ("nvprof --profile-child-processes -o x.nvvp app", "output file"),
        ("nvprof --profile-child-processes --log-file x.log app", "log file"),
    ] {
        let ended = bench.run(line);
        assert_eq!(ended.code(), Some(2), "{line}: {}", ended.stderr);
        let option = if name == "log file" { "--log-file" } else { "--export-profile" };
        let expected = format!(
            "======== Error: You are profiling multiple processes. Add \"%p\" to the {name} name\nto make it unique \
             for each process. See the \"{option}\" option.\n======== Use \"nvprof --help\" to get more information.\n"
        );
        assert_eq!(ended.stderr, expected, "{line}");
    }
}
