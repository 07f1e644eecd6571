//! The command lines themselves.

use super::bench::{Bench, file, frame_lines, profiled};
use crate::common::gpuprof_in;
use crate::sim::Ended;

/// A log of one run: the frame lines in nvprof's order around a table.
fn check_frame(log: &str, command: &str) {
    let pid = profiled(log);
    let expected = [
        format!("=={pid}== NVPROF is profiling process {pid}, command: {command}"),
        format!("=={pid}== Profiling application: {command}"),
        format!("=={pid}== Profiling result:"),
    ];
    assert_eq!(frame_lines(log), expected, "{log}");
}

fn succeeded(ended: &Ended) {
    assert_eq!(ended.code(), Some(0), "{}\n{}", ended.stdout, ended.stderr);
}

#[test]
fn a_log_file_holds_all_that_nvprof_says() {
    let bench = Bench::new();
    let ended = bench.run("nvprof --log-file gpu.log dp train input.json -l train.log");
    succeeded(&ended);
    assert_eq!(ended.stderr, "", "everything is in the log");
    assert!(ended.stdout.starts_with("{\"kernels\":3,"), "{}", ended.stdout);
    assert_eq!(file(&ended, "train.log"), "dp train input.json -l train.log\n", "{:?}", ended.files());
    let log = file(&ended, "gpu.log");
    check_frame(&log, "dp train input.json -l train.log");
    assert!(
        log.contains("            Type  Time(%)      Time     Calls       Avg       Min       Max  Name\n"),
        "{log}"
    );
    assert!(log.contains(" GPU activities:  ") && log.contains("vector_add"), "{log}");
    assert!(log.contains("      API calls:  ") && log.contains("cudaLaunchKernel"), "{log}");
    assert!(bench.left().is_empty(), "{:?}", bench.left());
}

#[test]
fn python_under_its_own_profiler_keeps_its_output() {
    let bench = Bench::new();
    let ended = bench.run("nvprof --log-file gpu.log python -m cProfile -s time script.py > cpu.log");
    succeeded(&ended);
    assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), ("", ""));
    let cpu = file(&ended, "cpu.log");
    assert!(cpu.contains("function calls") && !cpu.contains("=="), "{cpu}");
    let log = file(&ended, "gpu.log");
    check_frame(&log, "python -m cProfile -s time script.py");
    assert!(log.contains("forward_kernel") && log.contains("cuLaunchKernel"), "{log}");
}

#[test]
fn unified_memory_profiling_is_on_unless_it_is_switched_off() {
    let bench = Bench::new();
    let kinds = |options: &str| {
        let ended = bench.line(&format!("nvprof {options} --log-file gpu.log app 2")).run();
        succeeded(&ended);
        check_frame(&file(&ended, "gpu.log"), "app 2");
        ended.log.lines().filter(|line| line.ends_with(" enable 25")).count()
    };
    assert_eq!(kinds("--unified-memory-profiling off"), 0);
    assert!(kinds("") > 0, "kind 25 is switched on by default");
}

/// Without the first column, which counts from when profiling began.
fn without_starts(table: &str) -> String {
    table.lines().map(|line| line.get(8..).unwrap_or(line).to_owned() + "\n").collect()
}

/// What stands below `Profiling result:`.
fn tables(log: &str) -> &str {
    log.split_once("Profiling result:\n").unwrap_or_else(|| panic!("no result in:\n{log}")).1
}

#[test]
fn tables_are_those_of_the_report_for_the_same_run() {
    let bench = Bench::new();
    for options in [
        "-s",
        "-s --csv",
        "--print-gpu-trace",
        "--print-api-trace",
        "--print-gpu-trace --print-api-trace",
        "--print-gpu-summary",
        "--print-api-summary",
        "--print-summary-per-gpu",
        "-s -u ms",
        "-s --demangling off",
        "--print-openacc-summary",
        "--print-openacc-trace",
    ] {
        let ended = bench.run(&format!("nvprof {options} -o run.nvvp app 4"));
        succeeded(&ended);
        let log = ended.stderr.lines().filter(|line| !line.contains("Generated result file: "));
        // Devices are named with the process here, and with none in a stored profile.
        let pid = format!("=={}== Device ", profiled(&ended.stderr));
        let log: String = log.map(|line| line.replace(&pid, "======== Device ") + "\n").collect();
        let frame: String =
            log.lines().filter(|line| !line.starts_with("======== Device ")).map(|l| format!("{l}\n")).collect();
        check_frame(&frame, "app 4");
        let mut report = vec!["report", "--quiet"];
        if !options.ends_with("--demangling off") {
            report.extend(["--demangling", "nvprof"]);
        } else {
            report.push("--no-insights");
        }
        report.extend(options.split(' ').filter(|word| !word.is_empty() && *word != "-s"));
        report.push("run.nvvp");
        let report = gpuprof_in(ended.folder(), &report);
        let (actual, expected) = (tables(&log), tables(&report.stdout));
        if options.contains("trace") {
            assert_eq!(without_starts(actual), without_starts(expected), "{options}");
        } else {
            assert_eq!(actual, expected, "{options}");
        }
        assert!(
            options.contains("openacc") || actual.contains("vector_add") || actual.contains("cuda"),
            "{actual}"
        );
    }
}

#[test]
fn calls_that_the_runtime_makes_are_not_listed() {
    let bench = Bench::new();
    let runtime = bench.run("nvprof app 2");
    assert!(
        runtime.stderr.contains(" cudaLaunchKernel\n") && !runtime.stderr.contains(" cuLaunchKernel\n"),
        "{}",
        runtime.stderr
    );
    let driver = bench.run("nvprof python3 script.py");
    assert!(
        driver.stderr.contains(" cuLaunchKernel\n") && driver.stderr.contains(" cudaFree\n"),
        "{}",
        driver.stderr
    );
}

#[test]
fn traces_list_every_activity_from_the_beginning_of_the_run() {
    let bench = Bench::new();
    let ended = bench.line("nvprof --print-gpu-trace app 3").run();
    succeeded(&ended);
    let kernels = ended.stderr.lines().filter(|line| line.contains("vector_add")).count();
    assert!(kernels >= 3, "{}", ended.stderr);
    let first = tables(&ended.stderr).lines().nth(1).unwrap_or_default();
    assert!(!first.trim_start().starts_with("0ns"), "starts count from the run's begin: {first}");
    assert!(ended.stderr.contains("\nRegs: Number of registers used per CUDA thread."), "{}", ended.stderr);
    let ended = bench.run("nvprof --print-api-trace app 3");
    assert!(ended.stderr.contains("cudaLaunchKernel (vector_add"), "{}", ended.stderr);
}

#[test]
fn api_calls_can_be_left_out() {
    let bench = Bench::new();
    let calls = |option: &str| {
        let ended = bench.run(&format!("nvprof --profile-api-trace {option} app 2"));
        succeeded(&ended);
        (ended.stderr.contains(" cudaLaunchKernel\n"), ended.stderr)
    };
    let (runtime, log) = calls("none");
    assert!(!runtime && log.contains("vector_add") && log.contains("No API activities were profiled."), "{log}");
    assert!(calls("runtime").0);
    assert!(!calls("driver").0);
    assert!(calls("all").0);
}

#[test]
fn csv_and_a_log_file_go_together() {
    let bench = Bench::new();
    let ended = bench.run("nvprof --csv --log-file out.csv app 2");
    succeeded(&ended);
    let log = file(&ended, "out.csv");
    check_frame(&log, "app 2");
    assert!(log.contains("\"Type\",\"Time(%)\",\"Time\",\"Calls\",\"Avg\",\"Min\",\"Max\",\"Name\"\n,%,"), "{log}");
    assert!(log.contains("\"GPU activities\",") && log.contains("\"vector_add"), "{log}");
}

#[test]
fn openacc_is_asked_for() {
    let bench = Bench::new();
    let ended = bench.run("nvprof --openacc-profiling on app 1");
    succeeded(&ended);
    check_frame(&ended.stderr, "app 1");
}

#[test]
fn windows_are_opened_by_the_program() {
    let bench = Bench::new();
    let ended = bench.run("nvprof -o out.nvvp -f --csv --profile-from-start off python3 mnist.py");
    succeeded(&ended);
    let pid = profiled(&ended.stderr);
    let file = ended.folder().join("out.nvvp").display().to_string();
    let expected = [
        format!("=={pid}== NVPROF is profiling process {pid}, command: python3 mnist.py"),
        format!("=={pid}== Profiling application: python3 mnist.py"),
        format!("=={pid}== Generated result file: {file}"),
    ];
    assert_eq!(frame_lines(&ended.stderr), expected, "no table with -o");
    let report = gpuprof_in(ended.folder(), &["report", "--print-gpu-trace", "out.nvvp"]);
    let kernels = report.stdout.lines().filter(|line| line.contains("_kernel") || line.contains("_us3000")).count();
    assert_eq!(kernels as u64, ended.number("in_windows"), "{}", report.stdout);
}

#[test]
fn the_exported_database_has_queued_and_submitted_times_where_they_are_asked_for() {
    let bench = Bench::new();
    for (how, expected) in [("off", 0), ("on", 10)] {
        let ended = bench.run(&format!("nvprof --kernel-latency-timestamps {how} -o out.nvvp ./a.out"));
        succeeded(&ended);
        let file = ended.folder().join("out.nvvp").display().to_string();
        let known = "queued_ns <= submitted_ns AND submitted_ns <= start_ns";
        let all = format!("SELECT COUNT(*) AS all_kernels, SUM({known}) AS known FROM kernel");
        let answer = gpuprof_in(ended.folder(), &["query", &file, &all, "--format", "csv"]);
        let counted = answer.stdout.lines().nth(1).unwrap_or_else(|| panic!("{}{}", answer.stdout, answer.stderr));
        let (kernels, known) = counted.split_once(',').expect("two numbers");
        assert_eq!((kernels, known.parse().unwrap_or(0)), ("10", expected), "{how}: {counted}");
        assert!(!ended.stderr.contains("no effect"), "{how}: {}", ended.stderr);
    }
}

#[test]
fn an_exported_timeline_is_printed_from_with_every_option() {
    let bench = Bench::new();
    let ended = bench.run("nvprof --export-profile timeline.prof ./a.out");
    succeeded(&ended);
    assert!(ended.stdout.starts_with("{\"kernels\":10,"), "{}", ended.stdout);
    let file = ended.folder().join("timeline.prof");
    assert!(ended.stderr.ends_with(&format!("Generated result file: {}\n", file.display())), "{}", ended.stderr);
    let file = file.to_str().unwrap();
    for options in [
        "",
        "--print-gpu-trace",
        "--print-api-trace",
        "--print-gpu-trace --print-api-trace",
        "--print-gpu-summary",
        "--print-api-summary",
        "--print-summary",
        "-s",
        "--print-summary-per-gpu",
        "--print-openacc-summary",
        "--print-openacc-trace",
        "--print-openmp-summary",
        "--dependency-analysis",
        "--dependency-analysis --print-dependency-analysis-trace",
    ] {
        let printed = bench.run(&format!("nvprof -i {file} {options}"));
        assert_eq!(printed.code(), Some(0), "{options}: {}", printed.stderr);
        assert_eq!(printed.stdout, "", "{options}");
        let first = printed.stderr.lines().find(|line| !line.is_empty()).unwrap_or_default();
        let head = if options.ends_with("analysis-trace") { "Dependency Analysis:" } else { "Profiling result:" };
        assert_eq!(first, format!("======== {head}"), "{options}: {}", printed.stderr);
        if options.is_empty() || options.contains("gpu") {
            assert!(printed.stderr.contains("vector_add"), "{options}: {}", printed.stderr);
        }
    }
}

#[test]
fn children_are_profiled_when_asked_and_mentioned_when_not() {
    let bench = Bench::new();
    let player = crate::sim::player("forks");
    let alone = bench.run(&format!("nvprof {} before", player.display()));
    succeeded(&alone);
    let pid = profiled(&alone.stderr);
    assert!(
        frame_lines(&alone.stderr).iter().all(|line| line.starts_with(&format!("=={pid}== "))),
        "{}",
        alone.stderr
    );
    let last = alone.stderr.lines().last().unwrap_or_default();
    let says = format!(
        "=={pid}== Warning: Child processes are not profiled. Use option --profile-child-processes to profile them."
    );
    assert_eq!(last, says);
    let calls = |log: &str| {
        let rows = log.lines().filter(|line| line.contains("null_kernel"));
        rows.map(|row| row.split_whitespace().rev().nth(4).unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(calls(&alone.stderr), ["200"], "{}", alone.stderr);

    let both = bench.run(&format!("nvprof --profile-child-processes {} before", player.display()));
    succeeded(&both);
    let mut found = calls(&both.stderr);
    found.sort();
    assert_eq!(found, ["100", "200"], "{}", both.stderr);
    let is = |what: &str| both.stderr.lines().filter(|line| line.contains(what)).count();
    assert_eq!((is("NVPROF is profiling process "), is("Profiling application: ")), (2, 2), "{}", both.stderr);

    // Files of their own.
    let files = bench.run(&format!(
        "nvprof --profile-child-processes --log-file %p.log -o %p.nvvp -s {} before",
        player.display()
    ));
    succeeded(&files);
    let names: Vec<String> =
        files.files().iter().filter_map(|path| Some(path.file_name()?.to_str()?.to_owned())).collect();
    let ends = |ending: &str| names.iter().filter(|name| name.ends_with(ending)).count();
    assert_eq!((ends(".log"), ends(".nvvp")), (2, 2), "{names:?}\n{}", files.stderr);
}

#[test]
fn contexts_and_streams_are_called_as_the_user_likes() {
    let bench = Bench::new();
    let ended = bench
        .line("nvprof --print-gpu-trace --context-name 'rank %q{RANK} ctx %i' --stream-name 'stream-%i' --process-name p app 1")
        .env("RANK", "3")
        .run();
    succeeded(&ended);
    let kernel = ended.stderr.lines().find(|line| line.contains("vector_add")).unwrap_or_default();
    assert!(kernel.contains("  rank 3 ctx 1  stream-7  vector_add"), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("       Context    Stream  Name\n"),
        "the column is as wide as the name: {}",
        ended.stderr
    );
}

#[test]
fn the_critical_path_is_found() {
    let bench = Bench::new();
    let ended = bench.run("nvprof --dependency-analysis app 5");
    succeeded(&ended);
    let pid = profiled(&ended.stderr);
    let (_, found) =
        ended.stderr.split_once(&format!("\n\n=={pid}== Dependency Analysis:\n")).expect("the section");
    let mut lines = found.lines();
    assert_eq!(lines.next(), Some(format!("=={pid}== Analysis progress: 100%").as_str()));
    assert_eq!(lines.next(), Some("Critical path(%)  Critical path  Waiting time  Name"));
    let rows: Vec<(f64, &str)> = lines
        .map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            (words[0].trim_end_matches('%').parse().unwrap(), line)
        })
        .collect();
    let sum: f64 = rows.iter().map(|(share, _)| share).sum();
    assert!((sum - 100.0).abs() < 0.5, "{found}");
    assert!(rows.windows(2).all(|pair| pair[0].0 >= pair[1].0), "{found}");
    let memcpy = rows.iter().find(|(_, line)| line.ends_with(" cudaMemcpy")).expect("a row").1;
    assert!(!memcpy.contains(" 0ns  cudaMemcpy"), "copies were waited for: {found}");
    let listed = bench.run("nvprof --dependency-analysis --print-dependency-analysis-trace app 5");
    assert!(listed.stderr.contains("   Start  Duration  Critical path  Waiting time  Name\n"), "{}", listed.stderr);
    let kernels = listed
        .stderr
        .lines()
        .filter(|line| line.ends_with("vector_add(float const *, float const *, float*, int)"))
        .count();
    assert!(kernels == 5 || listed.stderr.matches("vector_add").count() == 5, "{}", listed.stderr);
}

#[test]
fn samplers_run_or_are_said_to_be_missing() {
    let bench = Bench::new();
    let help = gpuprof_in(bench.sim.folder(), &["record", "--help"]).stdout;
    // Clocks and power come from the launcher, or from CUPTI where that takes no samples.
    let ended = bench.run("nvprof --system-profiling on app 2");
    succeeded(&ended);
    check_frame(ended.stderr.split("\n\n").next().unwrap_or_default(), "app 2");
    let by_cupti = ended.log.lines().any(|line| line.ends_with(" enable 20"));
    assert_eq!(by_cupti, !help.contains("--sample <"), "{}", ended.log);
    let ended = bench.run("nvprof --cpu-profiling on app 2");
    succeeded(&ended);
    let says = "Warning: The option --cpu-profiling has no effect";
    assert_eq!(ended.stderr.contains(says), !help.contains("--cpu-sampling <"), "{}", ended.stderr);
    assert!(ended.stderr.contains("vector_add"), "{}", ended.stderr);
}

#[test]
fn memory_operations_are_recorded_for_the_file() {
    let bench = Bench::new();
    let ended = bench.run("nvprof --track-memory-allocations on -o m.nvvp app 1");
    succeeded(&ended);
    assert!(ended.stderr.contains("Generated result file: "), "{}", ended.stderr);
    let enabled = ended.log.lines().any(|line| line.ends_with(" enable 49"));
    assert!(enabled, "kind 49 is switched on: {}", ended.log);
}

#[test]
fn what_nsys_prints_with_stats_is_printed_by_record() {
    let bench = Bench::new();
    let ended = bench.run("gpuprof record --stats -o x -- app 3");
    succeeded(&ended);
    assert!(ended.stdout.starts_with("{\"kernels\":3,") && ended.stdout.lines().count() == 1, "{}", ended.stdout);
    let order = [
        "nvtx_sum",
        "SKIPPED: osrt_sum",
        " ** CUDA API Summary (cuda_api_sum):",
        " ** CUDA GPU Kernel Summary (cuda_gpu_kern_sum):",
        " ** CUDA GPU MemOps Summary (by Time) (cuda_gpu_mem_time_sum):",
        " ** CUDA GPU MemOps Summary (by Size) (cuda_gpu_mem_size_sum):",
        "gpuprof: recorded 1 process: 3 kernels",
        "gpuprof: next: gpuprof report x",
    ];
    let places: Vec<usize> = order
        .iter()
        .map(|text| ended.stderr.find(text).unwrap_or_else(|| panic!("{text}: {}", ended.stderr)))
        .collect();
    assert!(places.is_sorted(), "{places:?}\n{}", ended.stderr);
    // Views of the same trace.
    let view = gpuprof_in(ended.folder(), &["report", "--quiet", "--view", "cuda_gpu_kern_sum", "x"]);
    assert!(ended.stderr.contains(&view.stdout), "{}\n{}", ended.stderr, view.stdout);
    // Asked for nothing else to be said, it still prints them.
    let quiet = bench.run("gpuprof record --stats --verbose 0 -o y -- app 3");
    assert!(
        quiet.stderr.contains("cuda_api_sum") && !quiet.stderr.contains("recorded 1 process"),
        "{}",
        quiet.stderr
    );
}
