//! The insights: found where they were planted and nowhere else, said to be unknown where they cannot be known.

use super::*;
use crate::query::support::check_document;

fn view(path: &str) -> Vec<Value> {
    let document = json(&["--view", "insights", path]);
    rows(&document, "insights").to_vec()
}

fn of_status<'r>(rows: &'r [Value], status: &str) -> Vec<&'r str> {
    let is = |row: &&Value| row["Status"] == status;
    rows.iter().filter(is).map(|row| row["Name"].as_str().expect("a name")).collect()
}

#[test]
fn the_document_is_what_the_rules_say() {
    check_document("docs/insights.md", |_| gpuprof::analysis::insights::insights_md::generate());
}

#[test]
fn labelled_traces_are_told_apart() {
    let folder = TempFolder::new("cli-insights-labelled");
    let (mut found, mut planted, mut right) = (0, 0, 0);
    let traces = labelled();
    assert!(traces.len() >= 30, "{} traces", traces.len());
    let mut wrong = Vec::new();
    for (i, trace) in traces.iter().enumerate() {
        let path = folder.argument(&format!("{i}.gpuprof"), &trace.player.native());
        let rows = view(&path);
        let names = of_status(&rows, "found");
        assert!(of_status(&rows, "not judged").is_empty(), "{}: {rows:?}", trace.what);
        let hits = names.iter().filter(|name| trace.planted.contains(name)).count();
        (found, planted, right) = (found + names.len(), planted + trace.planted.len(), right + hits);
        if names.len() != hits || hits != trace.planted.len() {
            wrong.push(format!("{}: planted {:?}, found {names:?}", trace.what, trace.planted));
        }
        // Where nothing is planted nothing may be found, whatever the average.
        assert!(!trace.planted.is_empty() || names.is_empty(), "{}: {names:?}", trace.what);
        for row in rows.iter().filter(|row| row["Status"] == "found") {
            let (gain, of) = (&row["Gain (ns)"], &row["Observed (ns)"]);
            let (gain, of) = (gain.as_i64().expect("a gain"), of.as_i64().expect("a time"));
            assert!(gain > 0 && gain <= of && gain * 100 >= of * 2, "{}: {row}", trace.what);
        }
    }
    let text = wrong.join("\n");
    eprintln!("{} traces: {right} of {found} findings right, {right} of {planted} found\n{text}", traces.len());
    assert!(right * 10 >= found * 9, "{right} of {found} findings are right:\n{text}");
    assert!(right * 10 >= planted * 8, "{right} of {planted} planted troubles are found:\n{text}");
}

/// The trace of the first kind with this trouble alone.
fn with(trouble: &str) -> Player {
    let all = labelled().into_iter();
    all.map(|trace| (trace.planted, trace.player)).find(|(planted, _)| *planted == [trouble]).expect("one").1
}

#[test]
fn what_the_trace_does_not_hold_is_not_judged() {
    let folder = TempFolder::new("cli-insights-partial");
    let causes = ["host_late", "sync_stalls", "launch_bound", "steady_allocations", "module_loading"];

    let mut without_calls = with("host_late");
    without_calls.story.calls.clear();
    let rows = view(&folder.argument("calls.gpuprof", &without_calls.native()));
    assert_eq!(of_status(&rows, "not judged"), causes);
    assert!(rows.iter().all(|row| row["Status"] != "found"), "{rows:?}");

    let mut unjoined = with("sync_stalls");
    unjoined.story.calls.iter_mut().for_each(|call| call.correlation += 1_000_000);
    let rows = view(&folder.argument("unjoined.gpuprof", &unjoined.native()));
    assert_eq!(of_status(&rows, "not judged"), causes);

    let mut lossy = with("host_late");
    lossy.story.losses.push((500, 1));
    let rows = view(&folder.argument("lossy.gpuprof", &lossy.native()));
    assert_eq!(of_status(&rows, "not judged"), causes);
    // Names that are missing are no records that are missing.
    let mut nameless = with("host_late");
    nameless.story.losses.push((500, 4));
    let rows = view(&folder.argument("nameless.gpuprof", &nameless.native()));
    assert_eq!((of_status(&rows, "found"), of_status(&rows, "not judged")), (vec!["host_late"], vec![]));

    let mut unknown_memory = with("pageable_copies");
    unknown_memory.copies.iter_mut().for_each(|copy| (copy.src_kind, copy.dst_kind) = (0, 0));
    let rows = view(&folder.argument("memory.gpuprof", &unknown_memory.native()));
    assert_eq!(of_status(&rows, "not judged"), ["pageable_copies"]);
}

#[test]
fn short_traces_and_selected_records_are_not_judged() {
    let folder = TempFolder::new("cli-insights-short");
    let short = folder.argument("short.gpuprof", &native(&Story::sample(20)));
    let text = gpuprof(&["report", "--view", "insights", &short]).stdout;
    assert!(text.starts_with("Insights\n  Nothing is judged: the trace is too short to say: "), "{text}");
    let path = folder.argument("late.gpuprof", &with("host_late").native());
    let some = json(&["--view", "insights", "--filter", "forward", &path]);
    assert_eq!(rows(&some, "insights")[0]["Status"], "not judged");
    // A stretch of time is judged.
    let stretch = json(&["--view", "insights", "--from", "20ms", &path]);
    assert_eq!(rows(&stretch, "insights")[0]["Name"], "host_late");
}

#[test]
fn the_block_stands_below_the_summary_and_nowhere_else() {
    let folder = TempFolder::new("cli-insights-block");
    let path = folder.argument("late.gpuprof", &with("host_late").native());
    let with_block = gpuprof(&["report", &path]).stdout;
    let without = gpuprof(&["report", "--no-insights", &path]).stdout;
    let block = with_block.strip_prefix(&without).expect("the table comes first");
    assert!(block.starts_with("\nInsights\n  GPU 0 was busy for "), "{block}");
    assert_eq!(block.trim_start(), gpuprof(&["report", "--view", "insights", &path]).stdout);
    assert!(!without.contains("Insights"), "{without}");
    for options in [
        &["--csv"][..],
        &["--print-gpu-trace"],
        &["--print-gpu-summary"],
        &["--print-summary-per-gpu"],
        &["--demangling", "nvprof"],
        &["--format", "json"],
        &["--format", "csv"],
        &["--percentiles"],
        &["--per-process"],
        &["--view", "cuda_gpu_kern_sum"],
        &["--filter", "forward"],
    ] {
        let text = gpuprof(&[&["report", &path], options].concat()).stdout;
        assert!(!text.contains("Insights"), "{options:?}: {text}");
    }
}

#[test]
fn every_query_that_is_shown_shows_something() {
    let folder = TempFolder::new("cli-insights-queries");
    let mut seen = BTreeMap::new();
    for (i, trace) in labelled().into_iter().enumerate() {
        let path = folder.argument(&format!("{i}.gpuprof"), &trace.player.native());
        for row in view(&path).iter().filter(|row| row["Status"] == "found") {
            let name = row["Name"].as_str().expect("a name").to_owned();
            let query = row["Query"].as_str().expect("a query").to_owned();
            seen.entry(name).or_insert((path.clone(), query));
        }
    }
    assert_eq!(seen.len(), 9, "every rule has a trace in which it finds something: {:?}", seen.keys());
    for (name, (path, line)) in seen {
        let sql = line.strip_prefix(&format!("gpuprof query {path} \"")).and_then(|sql| sql.strip_suffix('"'));
        let sql = sql.unwrap_or_else(|| panic!("{name}: {line}"));
        let answer = gpuprof(&["query", &path, sql, "--format", "csv"]).stdout;
        assert!(answer.lines().count() > 1, "{name}: {answer}");
    }
}

#[test]
fn the_answer_depends_neither_on_threads_nor_on_the_order_of_records() {
    let folder = TempFolder::new("cli-insights-order");
    let mut player = with("sync_stalls");
    let path = folder.argument("run.gpuprof", &player.native());
    let text = |threads: &str| {
        let text = gpuprof_with(&[("RAYON_NUM_THREADS", threads)], &["report", "--view", "insights", &path]).stdout;
        text.replace(&path, "TRACE")
    };
    let expected = text("1");
    assert_eq!(text("8"), expected);
    let mut random = Random(3);
    random.shuffle(&mut player.story.kernels);
    random.shuffle(&mut player.story.calls);
    random.shuffle(&mut player.copies);
    let shuffled = player.native_with(Native { rows_per_frame: 7, ..Native::default() });
    std::fs::write(&path, shuffled).expect("the trace");
    assert_eq!(text("8"), expected);
}

#[test]
fn idle_time_by_cause_is_what_lies_between_work() {
    let folder = TempFolder::new("cli-insights-gaps");
    let player = with("host_late");
    let path = folder.argument("late.gpuprof", &player.native());
    let document = json(&["--view", "gaps", &path]);
    let rows = rows(&document, "gpu_gap_causes");
    // One stream, so a gap lies between each kernel and the next.
    let kernels = &player.story.kernels;
    let between: i64 = kernels.windows(2).map(|pair| pair[1].start - pair[0].end).sum();
    let total = |column: &str| rows.iter().map(|row| row[column].as_i64().expect("a number")).sum::<i64>();
    assert_eq!((total("Total Time (ns)"), total("Gaps")), (between, kernels.len() as i64 - 1));
    assert_eq!(rows[0]["Cause"], "host");
    let span = kernels.last().expect("some").end - kernels[0].start;
    assert_eq!(rows[0]["Device Span (ns)"].as_i64(), Some(span));
}

/// Length of the union of stretches of time.
fn united(mut stretches: Vec<(i64, i64)>) -> i64 {
    stretches.sort_unstable();
    let (mut total, mut until) = (0, i64::MIN);
    for (start, end) in stretches {
        total += (end - start.max(until)).max(0);
        until = until.max(end);
    }
    total
}

#[test]
fn the_breakdown_of_time_is_made_of_unions() {
    let folder = TempFolder::new("cli-insights-breakdown");
    let trace =
        labelled().into_iter().find(|trace| trace.what.starts_with("copies and communication behind")).expect("it");
    let path = folder.argument("overlap.gpuprof", &trace.player.native());
    let document = json(&["--view", "overlap", &path]);
    let [row] = rows(&document, "gpu_time_breakdown") else { panic!("one device: {document}") };
    let of = |column: &str| row[column].as_i64().unwrap_or_else(|| panic!("{column}: {row}"));
    let kernels = |is_communication: bool| -> Vec<(i64, i64)> {
        let all = trace.player.story.kernels.iter();
        let wanted = all.filter(|kernel| kernel.name.base.starts_with(b"nccl") == is_communication);
        wanted.map(|kernel| (kernel.start, kernel.end)).collect()
    };
    let copies: Vec<(i64, i64)> = trace
        .player
        .copies
        .iter()
        .map(|copy| (copy.start_ns, copy.start_ns + copy.duration_ns.expect("a duration")))
        .collect();
    let (compute, communication) = (kernels(false), kernels(true));
    let both = [&compute[..], &communication].concat();
    let all = [&both[..], &copies].concat();
    let span = all.iter().map(|w| w.1).max().expect("some") - all.iter().map(|w| w.0).min().expect("some");
    let busy = united(all);
    assert_eq!((of("Span (ns)"), of("Idle (ns)")), (span, span - busy));
    assert_eq!(of("Compute (ns)"), united(compute.clone()));
    assert_eq!(of("Non-Compute (ns)"), busy - united(compute.clone()));
    assert_eq!(of("Communication (ns)"), united(communication.clone()));
    // What runs at once is in both unions and once in the union of both.
    let hidden = united(compute) + united(communication) - united(both.clone());
    assert!(hidden > 0);
    assert_eq!(of("Hidden Communication (ns)"), hidden);
    // The kernels of each of the two run one after the other.
    assert_eq!((of("Kernels (ns)"), of("Concurrent Kernels (ns)")), (united(both.clone()), hidden));
    let beside = united(both.clone()) + united(copies.clone()) - united([both, copies.clone()].concat());
    assert_eq!((of("Memory (ns)"), of("Hidden Memory (ns)")), (united(copies), beside));
}
