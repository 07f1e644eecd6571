//! Choosing rows.

use super::*;

#[test]
fn filters_keep_the_work_that_matches_and_the_calls_that_launched_it() {
    let story = Story { rank: Some((3, 8)), ..Story::sample(60) };
    let folder = TempFolder::new("cli-filter");
    type Keep = fn(&Work) -> bool;
    let cases: &[(&[&str], Keep)] = &[
        (&["--filter", "saxpy"], |work| work.base == b"saxpy"),
        (&["--filter", "^reduce$"], |work| work.base == b"reduce"),
        (&["--filter", "kernel=scale<float>"], |work| work.base == b"scale"),
        (&["--filter", "saxpy|reduce"], |work| work.base == b"saxpy" || work.base == b"reduce"),
        (&["--filter", "(?i)SAXPY"], |work| work.base == b"saxpy"),
        (&["--filter", "device=1"], |work| work.device == 1),
        (&["--filter", "device=0,1"], |work| work.device <= 1),
        (&["--filter", "stream=8"], |work| work.stream == 8),
        (&["--filter", "device=1", "--filter", "stream=7"], |work| (work.device, work.stream) == (1, 7)),
        (&["--filter", "device=0", "--filter", "device=1"], |work| work.device <= 1),
        (&["--filter", "saxpy", "--filter", "stream=7"], |work| work.base == b"saxpy" && work.stream == 7),
    ];
    for (kind, bytes) in every_kind(&story) {
        let path = folder.argument("t", &bytes);
        for (options, keep) in cases {
            let launched = story.only(keep, |_| true).launched();
            let kept = story.only(keep, |call| launched.contains(&call.correlation));
            let expected = [kept.gpu_totals(), kept.api_totals()];
            assert!(!expected[0].is_empty() && !expected[1].is_empty());
            assert_eq!(totals(&[*options, &[&path]].concat()), expected, "{kind} {options:?}");
        }
    }
}

#[test]
fn filters_by_process_and_rank_choose_files() {
    let folder = TempFolder::new("cli-process");
    let story = |rank: u32| Story { pid: 500 + rank, rank: Some((rank, 3)), ..Story::sample(5 + u64::from(rank)) };
    let paths: Vec<String> =
        (0..3).map(|rank| folder.argument(&format!("{rank}.gpuprof"), &native(&story(rank)))).collect();
    let run = |options: &[&str]| {
        let mut args = options.to_vec();
        args.extend(paths.iter().map(String::as_str));
        totals(&args)
    };
    let of = |rank: u32| [story(rank).gpu_totals(), story(rank).api_totals()];
    for rank in 0..3 {
        for filter in [format!("rank={rank}"), format!("process={}", 500 + rank), format!("pid={}", 500 + rank)] {
            assert_eq!(run(&["--filter", &filter]), of(rank), "{filter}");
        }
    }
    let two = run(&["--filter", "rank=0,2"]);
    for (table, totals) in two.iter().enumerate() {
        for (name, &(count, ns)) in totals {
            let part = |rank: u32| of(rank)[table].get(name).copied().unwrap_or_default();
            assert_eq!((count, ns), (part(0).0 + part(2).0, part(0).1 + part(2).1), "{name}");
        }
    }
    // Pid and rank must both match.
    let answer = gpuprof_in(
        Path::new("."),
        &["report", "--filter", "rank=0", "--filter", "process=501", &paths[0], &paths[1]],
    );
    assert_eq!(answer.status, 1, "{}", answer.stdout);
}

/// Kernels that start 0, 1, 2, … seconds after 22:13:20 UTC.
fn every_second(count: i64) -> Story {
    (0..count).fold(Story::empty(), |story, i| {
        story.with_kernel(Name::plain(format!("k{i}")), i * 1_000_000_000, 1_000_000)
    })
}

#[test]
fn from_is_included_and_to_is_not_in_every_form_of_time() {
    let folder = TempFolder::new("cli-times");
    let story = every_second(10);
    let absolute = |seconds: i64| (EPOCH + seconds * 1_000_000_000).to_string();
    let cases: Vec<(Vec<String>, std::ops::Range<usize>)> = vec![
        (vec!["--from".into(), "3s".into()], 3..10),
        (vec!["--from".into(), "3.0s".into()], 3..10),
        (vec!["--from".into(), "3000ms".into()], 3..10),
        (vec!["--from".into(), "3000000us".into()], 3..10),
        (vec!["--from".into(), "3000000000ns".into()], 3..10),
        (vec!["--from".into(), "3.000000001s".into()], 4..10),
        (vec!["--from".into(), "2999999999ns".into()], 3..10),
        (vec!["--from".into(), absolute(3)], 3..10),
        (vec!["--from".into(), "22:13:23".into()], 3..10),
        (vec!["--from".into(), "22:13:22.5".into()], 3..10),
        (vec!["--from=-5s".into()], 0..10),
        (vec!["--to".into(), "4s".into()], 0..4),
        (vec!["--to".into(), "4.000000001s".into()], 0..5),
        (vec!["--to".into(), absolute(4)], 0..4),
        (vec!["--to".into(), "22:13:24".into()], 0..4),
        (vec!["--from".into(), "2s".into(), "--to".into(), "22:13:25".into()], 2..5),
        (vec!["--from".into(), "22:13:22".into(), "--to".into(), absolute(5)], 2..5),
    ];
    let base = kineto(&story, KinetoEra::Base2024);
    for (kind, bytes) in [("native", native(&story)), ("nsys", nsys(&story, NsysEra::Of2026)), ("kineto", base)] {
        let path = folder.argument("t", &bytes);
        for (options, expected) in &cases {
            let mut args: Vec<&str> = options.iter().map(String::as_str).collect();
            args.extend(["--sort", "name", &path]);
            let expected: Vec<String> = expected.clone().map(|i| format!("k{i}")).collect();
            assert_eq!(names(&args, "gpu_summary"), expected, "{kind} {options:?}");
        }
    }
    // Without an epoch, times count from the session's own start.
    let path = folder.argument("t", &nsys(&Story { epoch: None, ..story }, NsysEra::Of2020));
    assert_eq!(names(&["--from", "7s", "--sort", "name", &path], "gpu_summary"), ["k7", "k8", "k9"]);
    assert_eq!(names(&["--from", "7000000000", "--sort", "name", &path], "gpu_summary"), ["k7", "k8", "k9"]);
}

#[test]
fn times_choose_calls_by_their_own_start() {
    let folder = TempFolder::new("cli-calls");
    let story = Story::sample(30);
    let first = story.calls[0].start;
    let from = 10_500_000;
    let kept = story.only(|work| work.start >= from, |call| call.start >= from);
    let path = folder.argument("t", &native(&story));
    let option = format!("{}ns", from - first);
    assert_eq!(totals(&["--from", &option, &path]), [kept.gpu_totals(), kept.api_totals()]);
}

#[test]
fn a_window_that_ends_before_it_begins_is_refused() {
    let folder = TempFolder::new("cli-window");
    let path = folder.argument("t", &native(&every_second(3)));
    refused(&["report", "--from", "2s", "--to", "1s", &path], &["--from", "--to"]);
    refused(&["report", "--from", "2s", "--to", "22:13:22", &path], &["--from", "--to"]);
}

/// A trace with an epoch and one without, whose kernels start at the same seconds of their runs.
fn two_clocks(folder: &TempFolder) -> [String; 2] {
    let story = every_second(3);
    let relative = Story { epoch: None, pid: 43, ..story.clone() };
    [folder.argument("a.gpuprof", &native(&story)), folder.argument("b.sqlite", &nsys(&relative, NsysEra::Of2020))]
}

#[test]
fn traces_whose_clocks_have_nothing_in_common_are_summed_but_not_listed_together() {
    let folder = TempFolder::new("cli-clocks");
    let [a, b] = two_clocks(&folder);
    let [gpu, _] = totals(&[&a, &b]);
    assert_eq!(gpu["k0"], (2, 2_000_000));
    for options in [&["--print-gpu-trace"][..], &["--from", "1s"], &["--view", "cuda_gpu_trace"]] {
        let answer = gpuprof_in(Path::new("."), &[&["report"], options, &[&a, &b]].concat());
        assert_eq!(answer.status, 2, "{options:?}: {}", answer.stdout);
        assert!(answer.stderr.contains("--align start"), "{options:?}: {}", answer.stderr);
    }
    // One of them alone is no question.
    for path in [&a, &b] {
        gpuprof(&["report", "--print-gpu-trace", "--from", "1s", path]);
    }
}

#[test]
fn aligned_traces_all_begin_at_nought() {
    let folder = TempFolder::new("cli-align");
    let [a, b] = two_clocks(&folder);
    let listed = |options: &[&str]| {
        let text =
            gpuprof(&[&["report", "--print-gpu-trace", "--align", "start"], options, &[&a, &b]].concat()).stdout;
        let kernels = text.lines().filter_map(|line| line.split_whitespace().nth_back(1));
        kernels.filter(|name| name.starts_with('k')).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(listed(&[]), ["k0", "k0", "k1", "k1", "k2", "k2"]);
    assert_eq!(listed(&["--from", "1s", "--to", "2s"]), ["k1", "k1"]);
    let answer = gpuprof_in(Path::new("."), &["report", "--align", "middle", &a]);
    assert_eq!((answer.status, answer.stdout.as_str()), (2, ""), "{}", answer.stderr);
}

#[test]
fn work_without_a_correlation_id_is_nobodys() {
    let folder = TempFolder::new("cli-correlation");
    // Exports cut by hand and some versions of Kineto have none: 0 stands for that, and joins nothing.
    let mut story = Story::sample(12).with_ranges();
    story.kernels.iter_mut().for_each(|kernel| kernel.correlation = 0);
    let path = folder.argument("t", &native(&story));
    let [gpu, api] = totals(&["--filter", "saxpy", &path]);
    assert_eq!(gpu["saxpy(int, float, float*, float*)"].0, 4);
    assert!(api.is_empty(), "{api:?}");
    let [gpu, api] = totals(&["--range", "forward", &path]);
    assert!(gpu.is_empty(), "{gpu:?}");
    assert_eq!(api.keys().collect::<Vec<_>>(), ["cudaLaunchKernel"]);
    let text = gpuprof(&["report", &path]).stdout;
    assert!(text.contains("No kernels were profiled in this range."), "{text}");
}

#[test]
fn a_range_keeps_the_calls_made_inside_it_and_the_work_they_launched() {
    let folder = TempFolder::new("cli-range");
    let story = Story::sample(20).with_ranges();
    // Which launches each range holds follows from `with_ranges`; copies and fills start later in a launch's slot.
    let within = |from: i64, to: i64, threads: &[u32]| {
        let inside = |c: &Call| from <= c.start && c.start < to && (threads.is_empty() || threads.contains(&c.tid));
        let calls = story.only(|_| true, inside).calls;
        let correlations: Vec<u64> = calls.iter().map(|c| c.correlation).collect();
        let kept = story.only(|work| correlations.contains(&work.correlation), inside);
        [kept.gpu_totals(), kept.api_totals()]
    };
    let range = |name: &str| story.ranges.iter().find(|r| r.name == name).expect("a range");
    let mine = |name: &str| within(range(name).start, range(name).end.unwrap_or(i64::MAX), &[THREAD]);
    // A start/end range belongs to no thread.
    let anybodys = within(range("request").start, range("request").end.unwrap_or(0), &[]);
    let cases = [
        ("step", mine("step")),
        ("forward", mine("forward")),
        ("model:forward", mine("forward")),
        ("epoch", mine("epoch")),
        ("request", anybodys),
    ];
    assert_eq!(mine("forward")[0].values().map(|(count, _)| count).sum::<u64>(), 1, "the fixture");
    for (kind, bytes) in [
        ("native", native(&story)),
        ("native of small frames", native_with(&story, Native { rows_per_frame: 3, ..Native::default() })),
        ("nsys 2020", nsys(&story, NsysEra::Of2020)),
        ("nsys 2026", nsys(&story, NsysEra::Of2026)),
        ("nvprof 16", nvprof(&story, 16)),
    ] {
        let path = folder.argument("t", &bytes);
        for (name, expected) in &cases {
            assert_eq!(&totals(&["--range", name, &path]), expected, "{kind} {name}");
        }
        for nothing in ["checkpoint", "other:forward", "no such range"] {
            let answer = gpuprof_in(Path::new("."), &["report", "--range", nothing, &path]);
            assert_eq!(answer.status, 1, "{kind} {nothing}: {}", answer.stdout);
        }
    }
    // PyTorch's annotations are ranges, too.
    let path = folder.argument("t", &kineto(&story, KinetoEra::Base2024));
    for (name, expected) in &cases[..2] {
        assert_eq!(&totals(&["--range", name, &path]), expected, "kineto {name}");
    }
}

#[test]
fn a_range_written_while_open_ends_where_its_last_row_says() {
    let folder = TempFolder::new("cli-open-range");
    let story = Story::sample(20).with_ranges();
    let mut file = Vec::new();
    let mut writer = NativeWriter::begin(&mut file, &story, Native::default());
    writer.kernels(&story.kernels);
    // What the collector writes after a second: the same range, its end not known yet.
    let open = Story { ranges: vec![NvtxRange { end: None, ..story.ranges[0].clone() }], ..Story::empty() };
    writer.rest(&open);
    writer.rest(&story);
    writer.close();
    let expected = folder.argument("a", &native(&story));
    let path = folder.argument("b", &file);
    assert_eq!(totals(&["--range", "step", &path]), totals(&["--range", "step", &expected]));
    assert_eq!(gpuprof(&["report", &path]).stdout, gpuprof(&["report", &expected]).stdout);
}

#[test]
fn the_nvtx_section_of_a_selection_holds_the_ranges_that_have_a_part_in_it() {
    let folder = TempFolder::new("cli-range-section");
    let path = folder.argument("t", &native(&Story::sample(20).with_ranges()));
    let shown = |options: &[&str]| {
        let text = gpuprof(&[&["report"], options, &[&path]].concat()).stdout;
        let ranges = text.split(" Range \"").skip(1).filter_map(|rest| rest.split('"').next().map(str::to_owned));
        ranges.collect::<Vec<_>>()
    };
    assert_eq!(shown(&[]), ["forward", "step", "request"]);
    assert_eq!(shown(&["--range", "forward"]), ["forward", "step"]);
    // Launches 0 and 1 are inside it, and launch 1 also inside the step.
    assert_eq!(shown(&["--range", "request"]), ["step", "request"]);
    assert_eq!(
        shown(&["--filter", "reduce"]),
        ["forward", "step"],
        "launch 2 is the only one of that kernel in ranges"
    );
}

#[test]
fn filters_hold_for_listings_and_views_too() {
    let folder = TempFolder::new("cli-filter-lists");
    let story = Story::sample(30);
    let path = folder.argument("t", &native(&story));
    let saxpys = story.kernels.iter().filter(|k| k.name.base == b"saxpy").count();
    let listed = gpuprof(&["report", "--print-gpu-trace", "--filter", "saxpy", &path]).stdout;
    assert_eq!(listed.lines().filter(|line| line.contains("saxpy(")).count(), saxpys);
    assert!(!listed.contains("reduce") && !listed.contains("[CUDA mem"), "{listed}");
    let calls = gpuprof(&["report", "--print-api-trace", "--filter", "saxpy", &path]).stdout;
    assert_eq!(calls.lines().filter(|line| line.contains("LaunchKernel (saxpy(")).count(), saxpys, "{calls}");
    assert!(!calls.contains("cudaMemcpy") && !calls.contains("cudaMalloc"), "{calls}");
    let document = json(&["--view", "cuda_gpu_kern_sum", "--filter", "saxpy", &path]);
    assert_eq!(rows(&document, "cuda_gpu_kern_sum").len(), 1);
    assert_eq!(rows(&document, "cuda_gpu_kern_sum")[0]["Instances"], saxpys);
}
