//! Output.

use super::*;

#[test]
fn every_format_holds_the_same_numbers() {
    let folder = TempFolder::new("cli-formats");
    let story = Story::sample(30);
    let path = folder.argument("t", &native(&story));
    let print = |format: &str| gpuprof(&["report", "--print-gpu-summary", "--format", format, &path]).stdout;
    let document: Value = serde_json::from_str(&print("json")).expect("JSON");
    assert_eq!(document["notes"], Value::Array(Vec::new()));
    let rows = rows(&document, "gpu_summary");
    assert_eq!(rows.len(), story.gpu_totals().len());
    let (csv, tsv, markdown, table) = (print("csv"), print("tsv"), print("markdown"), print("table"));
    assert!(csv.starts_with("Time (%),Total Time (ns),Calls,Avg (ns),Min (ns),Max (ns),Name\n"), "{csv}");
    for (i, row) in rows.iter().enumerate() {
        let cells: Vec<String> = ["Time (%)", "Total Time (ns)", "Calls", "Avg (ns)", "Min (ns)", "Max (ns)"]
            .iter()
            .map(|column| row[column].to_string())
            .collect();
        let name = row["Name"].as_str().expect("a name");
        for (format, separator, line) in
            [("csv", ",", csv.lines().nth(i + 1)), ("tsv", "\t", tsv.lines().nth(i + 1))]
        {
            let line = line.expect("a line");
            for cell in [&cells[1], &cells[2], &cells[4], &cells[5]] {
                assert!(line.split(separator).any(|found| found == cell), "{format}: {line} lacks {cell}");
            }
        }
        let line = markdown.lines().nth(i + 2).expect("a line");
        assert!(line.contains(&format!("| {} | {} |", cells[1], cells[2])) && line.contains(name), "{line}");
        assert!(table.contains(name), "{table}");
    }
    assert!(markdown.lines().nth(1).expect("rules").starts_with("| --: |"), "{markdown}");
}

#[test]
fn a_log_file_gets_the_answer_and_its_name_is_expanded() {
    let folder = TempFolder::new("cli-log");
    folder.file("t.gpuprof", &native(&Story::sample(5)));
    let expected = gpuprof_in(folder.path(), &["report", "t.gpuprof"]).stdout;
    let run = |name: &str| {
        let mut program = command(&["report", "t.gpuprof", "--log-file", name]);
        answer(program.current_dir(folder.path()).env("GPUPROF_TEST_NAME", "a b"))
    };
    for (template, name) in
        [("plain.log", "plain.log"), ("100%%.log", "100%.log"), ("x.%q{GPUPROF_TEST_NAME}.log", "x.a b.log")]
    {
        let answer = run(template);
        assert_eq!((answer.status, answer.stdout.as_str()), (0, ""), "{template}: {}", answer.stderr);
        assert_eq!(std::fs::read_to_string(folder.path().join(name)).expect("the log"), expected, "{template}");
    }
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let before: usize = folder.path().read_dir().expect("a folder").count();
    run("%h.%p.txt");
    let made =
        folder.path().read_dir().expect("a folder").flatten().map(|e| e.file_name().into_string().expect("text"));
    let made: Vec<String> = made.filter(|name| name.ends_with(".txt")).collect();
    let [name] = &made[..] else { panic!("{made:?}") };
    let pid = name.strip_prefix(host.trim()).and_then(|n| n.strip_prefix('.')).and_then(|n| n.strip_suffix(".txt"));
    assert!(pid.is_some_and(|pid| pid.parse::<u32>().is_ok()), "{name}");
    assert_eq!(folder.path().read_dir().expect("a folder").count(), before + 1);
    for bad in ["%q{GPUPROF_TEST_NOT_SET}", "%z", "%q"] {
        let answer = run(bad);
        assert_eq!((answer.status, answer.stdout.as_str()), (2, ""), "{bad}");
        assert!(answer.stderr.contains("--log-file"), "{bad}: {}", answer.stderr);
    }
    assert_eq!(
        folder.path().read_dir().expect("a folder").count(),
        before + 1,
        "nothing is created for a bad name"
    );
}

#[test]
fn a_log_file_is_not_touched_when_the_trace_cannot_be_read() {
    let folder = TempFolder::new("cli-log-kept");
    let log = folder.argument("kept.log", b"the last good report");
    refused(&["report", "/no/such/trace", "--log-file", &log], &["/no/such/trace"]);
    assert_eq!(std::fs::read_to_string(&log).expect("the log"), "the last good report");
}

#[test]
fn an_unknown_view_lists_the_known_ones() {
    let folder = TempFolder::new("cli-view");
    let path = folder.argument("t", &native(&Story::sample(3)));
    let message = refused(&["report", "--view", "nope", &path], &["unknown view \"nope\"", "known are "]);
    for view in gpuprof::report::VIEWS {
        assert!(message.contains(view.name()), "{} is not listed: {message}", view.name());
        for name in [&[view.name()][..], view.aliases()].concat() {
            let answer = gpuprof_in(Path::new("."), &["report", "--view", name, &path]);
            assert!(answer.status <= 1, "{name}: {}", answer.stderr);
        }
    }
    let several = json(&["--view", "cuda_gpu_kern_sum", "--view", "cuda_api_sum", &path]);
    let names: Vec<&Value> = several["tables"].as_array().expect("tables").iter().map(|t| &t["name"]).collect();
    assert_eq!(names, ["cuda_gpu_kern_sum", "cuda_api_sum"]);
    assert_eq!(json(&["--view", "cuda_gpu_kern_sum,cuda_api_sum", &path]), several);
}

#[test]
fn options_that_would_be_ignored_are_refused() {
    let folder = TempFolder::new("cli-ignored");
    let path = folder.argument("t", &native(&Story::sample(3)));
    for options in [
        &["--csv", "--format", "json"][..],
        &["--csv", "--percentiles"],
        &["--view", "cuda_gpu_kern_sum", "--percentiles"],
        &["--view", "cuda_gpu_kern_sum", "--group-by", "stream"],
        &["--view", "cuda_gpu_kern_sum", "--per-process"],
        &["--view", "cuda_gpu_kern_sum", "--sort", "name"],
        &["--print-gpu-trace", "--group-by", "stream"],
        &["--print-gpu-trace", "--sort", "name"],
    ] {
        refused(&[&["report"], options, &[&path]].concat(), &[options[0], "; "]);
    }
}

#[test]
fn a_reader_that_leaves_early_is_no_failure() {
    let folder = TempFolder::new("cli-pipe");
    let path = folder.argument("t", &native(&Story::sample(3_000)));
    for options in [
        &["--print-gpu-trace"][..],
        &["--print-api-trace", "--csv"],
        &["--view", "cuda_gpu_trace", "--format", "json"],
        &["--view", "cuda_gpu_trace", "--format", "csv"],
        &["--print-summary"],
    ] {
        let mut program = command(&[&["report"], options, &[&path]].concat());
        let mut child = program.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        // Gone before the first byte, as `| true` is.
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("it ends");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), said.as_ref()), (Some(0), ""), "{options:?}");
    }
}

#[test]
fn a_full_disk_is_a_failure() {
    if !Path::new("/dev/full").exists() {
        return common::skip("a_full_disk_is_a_failure", "no /dev/full here");
    }
    let folder = TempFolder::new("cli-full");
    let path = folder.argument("t", &native(&Story::sample(30)));
    for options in [&["--print-gpu-trace"][..], &[], &["--format", "json"], &["--log-file", "/dev/full"]] {
        let full = File::options().write(true).open("/dev/full").expect("a full disk");
        let mut program = command(&[&["report"], options, &[&path]].concat());
        let output = program.stdout(full).output().expect("it starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{options:?}: {said}");
        assert!(said.contains("the output cannot be written") && !said.contains("panicked"), "{options:?}: {said}");
    }
}

#[test]
fn a_closed_stderr_costs_no_report() {
    let folder = TempFolder::new("cli-stderr");
    let story = Story { losses: vec![(3, 2)], ..Story::sample(5) };
    let path = folder.argument("t", &native(&story));
    let mut program = command(&["report", &path]);
    let mut child = program.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    drop(child.stderr.take());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&output.stdout).contains("saxpy"));
}

#[test]
fn nvprofs_units_and_csv_are_obeyed_and_no_insights_is_accepted() {
    let folder = TempFolder::new("cli-units");
    let path = folder.argument("t", &native(&Story::empty().with_kernel(Name::plain("kern"), 1_000, 1_234_567)));
    for (unit, cell) in
        [("s", "0.001235"), ("ms", "1.234567"), ("us", "1234.567"), ("ns", "1234567"), ("auto", "1.234567")]
    {
        for option in ["-u", "--normalized-time-unit"] {
            let text = gpuprof(&["report", "--print-gpu-summary", "--csv", option, unit, &path]).stdout;
            assert!(text.contains(cell), "{unit}: {text}");
        }
    }
    let text = gpuprof(&["report", "--no-insights", "--print-gpu-summary", &path]).stdout;
    assert!(text.contains("100.00%  1.2346ms         1  1.2346ms  1.2346ms  1.2346ms  kern\n"), "{text}");
}

#[test]
fn demangling_is_on_as_nvprof_or_off() {
    let folder = TempFolder::new("cli-demangling");
    let name = Name::new("_Z4gemmPKfPf", "gemm(float const*, float*)", "gemm");
    let path = folder.argument("t", &native(&Story::empty().with_kernel(name, 1_000, 5)));
    let print = |how: &str| gpuprof(&["report", "--print-gpu-summary", "--demangling", how, &path]).stdout;
    assert!(print("off").contains("  _Z4gemmPKfPf\n"), "{}", print("off"));
    assert!(print("on").contains("  gemm(float const *, float*)\n"), "{}", print("on"));
    assert!(print("nvprof").contains("  gemm(float const *, float*)\n"), "{}", print("nvprof"));
    assert_eq!(gpuprof(&["report", "--print-gpu-summary", &path]).stdout, print("on"));
}
