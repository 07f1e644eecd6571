//! Every option of `gpuprof report`, through the real program.

mod common;

use common::build::*;
use common::{Answer, DEADLINE, TempFolder, answer, command, gpuprof, gpuprof_in, gpuprof_with, refused};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::sync::mpsc::channel;
use std::time::Instant;

/// Count and total by name, of GPU activities and of API calls.
type Totals = [BTreeMap<String, (u64, u128)>; 2];

fn json(args: &[&str]) -> Value {
    let answer = gpuprof(&[&["report", "--format", "json"], args].concat());
    serde_json::from_str(&answer.stdout).unwrap_or_else(|e| panic!("{args:?}: {e}: {}", answer.stdout))
}

/// The rows of the table called `name`.
fn rows<'d>(document: &'d Value, name: &str) -> &'d [Value] {
    let tables = document["tables"].as_array().expect("tables");
    let table = tables.iter().find(|table| table["name"] == name).unwrap_or_else(|| panic!("no table {name}"));
    table["rows"].as_array().expect("rows")
}

fn totals(args: &[&str]) -> Totals {
    let document = json(args);
    ["gpu_summary", "api_summary"].map(|name| {
        let row = |row: &Value| {
            let name = row["Name"].as_str().expect("a name").to_owned();
            let total = row["Total Time (ns)"].as_u64().expect("a total").into();
            (name, (row["Calls"].as_u64().expect("a count"), total))
        };
        rows(&document, name).iter().map(row).collect()
    })
}

fn names(args: &[&str], table: &str) -> Vec<String> {
    let document = json(args);
    rows(&document, table).iter().map(|row| row["Name"].as_str().expect("a name").to_owned()).collect()
}

// ------------------------------------------------------------------------------------------------ choosing rows

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
    assert_eq!(shown(&[]), ["step", "forward", "request"]);
    assert_eq!(shown(&["--range", "forward"]), ["step", "forward"]);
    // Launches 0 and 1 are inside it, and launch 1 also inside the step.
    assert_eq!(shown(&["--range", "request"]), ["step", "request"]);
    assert_eq!(
        shown(&["--filter", "reduce"]),
        ["step", "forward"],
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

// ------------------------------------------------------------------------------------------------ rows of summaries

/// Three kernels whose orders by total, count, mean, minimum, maximum and name all differ.
fn orders() -> Story {
    let mut story = Story::empty();
    let mut start = 1_000_000;
    for (name, durations) in [("a", &[100, 100, 100][..]), ("b", &[10, 10, 10, 10, 200]), ("c", &[130, 120])] {
        for &micros in durations {
            story = story.with_kernel(Name::plain(name), start, micros * 1_000);
            start += 1_000_000;
        }
    }
    story
}

#[test]
fn sort_orders_rows_by_each_key() {
    let folder = TempFolder::new("cli-sort");
    let path = folder.argument("t", &native(&orders()));
    // Totals 300, 240, 250; counts 3, 5, 2; means 100, 48, 125; minima 100, 10, 120; maxima 100, 200, 130.
    for (key, expected) in [
        ("time", ["a", "c", "b"]),
        ("calls", ["b", "a", "c"]),
        ("avg", ["c", "a", "b"]),
        ("min", ["c", "a", "b"]),
        ("max", ["b", "c", "a"]),
        ("name", ["a", "b", "c"]),
    ] {
        assert_eq!(names(&["--sort", key, &path], "gpu_summary"), expected, "{key}");
        let text = gpuprof(&["report", "--sort", key, "--print-gpu-summary", &path]).stdout;
        let order: Vec<&str> = text.lines().skip(2).filter_map(|line| line.split_whitespace().last()).collect();
        assert_eq!(order, expected, "{key}: {text}");
    }
}

#[test]
fn top_leaves_rows_out_and_percentages_stay_shares_of_everything() {
    let folder = TempFolder::new("cli-top");
    let path = folder.argument("t", &native(&orders()));
    let document = json(&["--top", "1", &path]);
    let rows = rows(&document, "gpu_summary");
    assert_eq!(rows.len(), 1);
    assert_eq!((&rows[0]["Name"], rows[0]["Time (%)"].as_f64()), (&Value::from("a"), Some(37.97)));
    let text = gpuprof(&["report", "--top", "2", "--sort", "name", &path]).stdout;
    assert!(text.contains("   37.97%  300.00us") && text.contains("   30.38%  240.00us"), "{text}");
    assert!(!text.contains("31.65%"), "{text}");
    let listing = gpuprof(&["report", "--top", "4", "--print-gpu-trace", "--csv", &path]).stdout;
    assert_eq!(listing.lines().filter(|line| line.contains("\"a") || line.contains("\"b")).count(), 4, "{listing}");
    let view = json(&["--top", "2", "--view", "cuda_gpu_kern_sum", &path]);
    assert_eq!(view["tables"][0]["rows"].as_array().map(Vec::len), Some(2));
    assert_eq!(view["tables"][0]["rows"][0]["Time (%)"].as_f64(), Some(38.0));
}

#[test]
fn group_by_each_key_and_several() {
    let folder = TempFolder::new("cli-group");
    let story = |pid: u32| Story { pid, ..Story::sample(24) };
    let paths = [41, 42].map(|pid| folder.argument(&format!("{pid}.gpuprof"), &native(&story(pid))));
    let both = [&paths[0][..], &paths[1]];
    // Sums of all kernels of both processes by what `key` makes of one.
    let kernels = |key: &dyn Fn(u32, &Kernel) -> Option<String>| {
        let mut expected: BTreeMap<String, (u64, u128)> = BTreeMap::new();
        for pid in [41, 42] {
            for kernel in &story(pid).kernels {
                if let Some(key) = key(pid, kernel) {
                    let entry = expected.entry(key).or_default();
                    *entry = (entry.0 + 1, entry.1 + (kernel.end - kernel.start) as u128);
                }
            }
        }
        expected
    };
    let check = |keys: &str, key: &dyn Fn(u32, &Kernel) -> Option<String>| {
        let [gpu, _] = totals(&[&["--group-by", keys], &both[..]].concat());
        let gpu: BTreeMap<_, _> = gpu.into_iter().filter(|(name, _)| !name.contains("[CUDA mem")).collect();
        assert_eq!(gpu, kernels(key), "{keys}");
    };
    let name = |k: &Kernel| String::from_utf8_lossy(&k.name.demangled).into_owned();
    let base = |k: &Kernel| String::from_utf8_lossy(&k.name.base).into_owned();
    check("name", &|_, k| Some(name(k)));
    check("base-name", &|_, k| Some(base(k)));
    check("grid", &|_, k| Some(format!("{} ({} 1 1) (256 1 1)", name(k), k.grid[0])));
    check("process,name", &|pid, k| Some(format!("process {pid}: {}", name(k))));
    check("name,process", &|pid, k| Some(format!("process {pid}: {}", name(k))));
    check("device,base-name", &|pid, k| Some(format!("process {pid}, GPU {}: {}", k.device, base(k))));
    check("stream,name", &|pid, k| {
        Some(format!("process {pid}, GPU {}, context {}, stream {}: {}", k.device, k.context, k.stream, name(k)))
    });
    // Without a name, all work of a place is one row.
    let [gpu, _] = totals(&[&["--group-by", "process"], &both[..]].concat());
    let whole: u64 = story(41).gpu_totals().values().map(|(count, _)| count).sum();
    assert_eq!(
        gpu.iter().map(|(name, (count, _))| (name.as_str(), *count)).collect::<Vec<_>>(),
        [("process 41", whole), ("process 42", whole)]
    );
    let [gpu, _] = totals(&["--group-by", "device", &paths[0]]);
    assert_eq!(gpu.keys().collect::<Vec<_>>(), ["GPU 0", "GPU 1"]);
    assert_eq!(gpu.values().map(|(count, _)| count).sum::<u64>(), whole);
    let [gpu, _] = totals(&["--group-by", "stream", &paths[0]]);
    assert_eq!(gpu.len(), 4, "{gpu:?}");
    assert!(gpu.contains_key("GPU 1, context 2, stream 8"), "{gpu:?}");
}

#[test]
fn percentiles_are_exact_by_nearest_rank() {
    let folder = TempFolder::new("cli-percentiles");
    let mut story = Story::empty();
    let mut random = Random(5);
    // 1 to 200 us in no order; one of 5 s, more than 32 bits of ns, on its own.
    let mut durations: Vec<i64> = (1..=200).map(|micros| micros * 1_000).collect();
    random.shuffle(&mut durations);
    for (i, duration) in durations.into_iter().enumerate() {
        story = story.with_kernel(Name::plain("k"), 1_000_000 * (i as i64 + 1), duration);
    }
    for (i, duration) in [5_000_000_000, 6_000_000_000, 7].into_iter().enumerate() {
        story = story.with_kernel(Name::plain("long"), 1_000_000_000_000 + 10_000_000_000 * i as i64, duration);
    }
    for bytes in [
        native(&story),
        native_with(&story, Native { rows_per_frame: 13, ..Native::default() }),
        nsys(&story, NsysEra::Of2026),
    ] {
        let path = folder.argument("t", &bytes);
        let document = json(&["--percentiles", &path]);
        let columns = ["Min (ns)", "P50 (ns)", "P95 (ns)", "P99 (ns)", "Max (ns)"];
        let values = |row: &Value| columns.map(|column| row[column].as_u64().expect("a number"));
        let rows = rows(&document, "gpu_summary");
        assert_eq!(values(&rows[0]), [7, 5_000_000_000, 6_000_000_000, 6_000_000_000, 6_000_000_000]);
        assert_eq!(values(&rows[1]), [1_000, 100_000, 190_000, 198_000, 200_000]);
    }
    // Without --format, they are columns of a table for people.
    let text =
        gpuprof(&["report", "--percentiles", "--print-gpu-summary", &folder.argument("t", &native(&story))]).stdout;
    assert!(text.contains("P95 (ns)") && text.contains("190,000"), "{text}");
}

#[test]
fn per_process_prints_one_result_for_each() {
    let folder = TempFolder::new("cli-per-process");
    let paths = [77, 78].map(|pid| {
        let story = Story { pid, ..Story::sample(u64::from(pid) - 70) };
        folder.argument(&format!("{pid}.gpuprof"), &native(&story))
    });
    let alone = [0, 1].map(|i| gpuprof(&["report", &paths[i]]).stdout);
    let text = gpuprof(&["report", "--per-process", &paths[0], &paths[1]]).stdout;
    let expected =
        [77, 78].into_iter().zip(&alone).map(|(pid, text)| text.replace("======== ", &format!("=={pid}== ")));
    assert_eq!(text, expected.collect::<String>());
    // Merged, every count is the sum.
    let merged = totals(&[&paths[0], &paths[1]]);
    let parts = [0, 1].map(|i| totals(&[&paths[i]]));
    for (table, totals) in merged.iter().enumerate() {
        for (name, &(count, _)) in totals {
            let part = |i: usize| parts[i][table].get(name).map_or(0, |(count, _)| *count);
            assert_eq!(count, part(0) + part(1), "{name}");
        }
    }
    let [gpu, api] = totals(&["--per-process", &paths[0], &paths[1]]);
    assert!(gpu.keys().chain(api.keys()).all(|name| name.starts_with("process 7")), "{gpu:?}");
}

// ------------------------------------------------------------------------------------------------ paths

#[test]
fn without_a_path_the_newest_trace_or_run_here_is_read_and_named() {
    let folder = TempFolder::new("cli-newest");
    let answer = gpuprof_in(folder.path(), &["report"]);
    assert_eq!((answer.status, answer.stdout.as_str()), (1, ""));
    assert!(
        answer.stderr.contains("no path given") && answer.stderr.contains("; name a trace"),
        "{}",
        answer.stderr
    );
    let at = |path: &Path, seconds: u64| {
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_000 + seconds);
        File::open(path).expect("it exists").set_modified(time).expect("a time");
    };
    let story = |n: u64| Story::sample(n);
    at(&folder.file("old.gpuprof", &native(&story(3))), 0);
    at(&folder.file("new.gpuprof", &native(&story(4))), 20);
    at(&folder.file("newer.json", b"no trace"), 90);
    let answer = gpuprof_in(folder.path(), &["report"]);
    assert_eq!(answer.status, 0, "{}", answer.stderr);
    assert!(answer.stderr.contains("reading new.gpuprof"), "{}", answer.stderr);
    assert_eq!(answer.stdout, gpuprof_in(folder.path(), &["report", "new.gpuprof"]).stdout);
    // A folder of traces counts as one run.
    folder.file("run-7/rank0.gpuprof", &native(&story(2)));
    folder.file("run-7/rank1.gpuprof", &native(&story(2)));
    at(&folder.path().join("run-7"), 40);
    let answer = gpuprof_in(folder.path(), &["report"]);
    assert!(answer.stderr.contains("reading run-7"), "{}", answer.stderr);
    assert_eq!(answer.stdout, gpuprof_in(folder.path(), &["report", "run-7"]).stdout);
}

#[test]
fn folders_are_walked_and_hidden_files_left_alone() {
    let folder = TempFolder::new("cli-folders");
    folder.file("run/node1/rank0.gpuprof", &native(&Story::sample(4)));
    folder.file("run/node2/rank1.json.gz", &gzip(&kineto(&Story::sample(5), KinetoEra::Base2024)));
    folder.file("run/.cache/old.gpuprof", &native(&Story::sample(50)));
    folder.file("run/node1/train.log", b"epoch 1");
    let here = folder.path();
    let expected = gpuprof_in(here, &["report", "run/node1/rank0.gpuprof", "run/node2/rank1.json.gz"]).stdout;
    for paths in
        [&["run"][..], &["run/"], &["run/*"], &["run/node?"], &["run/*/rank*"], &["run/node1", "run/node2"]]
    {
        let answer = gpuprof_in(here, &[&["report"], paths].concat());
        assert_eq!(answer.status, 0, "{paths:?}: {}", answer.stderr);
        assert_eq!(answer.stdout, expected, "{paths:?}");
    }
}

#[test]
fn a_file_is_known_by_its_content_whatever_it_is_called() {
    let folder = TempFolder::new("cli-content");
    let story = Story::sample(9);
    let expected = gpuprof(&["report", &folder.argument("right.gpuprof", &native(&story))]).stdout;
    for (kind, bytes) in every_kind(&story) {
        for name in [
            "wrong.qdrep",
            "wrong.nsys-rep",
            "wrong.gpuprof",
            "wrong.json",
            "wrong.gz",
            "no extension",
            "sp ace%41?.x",
        ] {
            let answer = gpuprof(&["report", &folder.argument(name, &bytes)]);
            assert_eq!(answer.stdout, expected, "{kind} as {name}");
        }
    }
    for (kind, bytes) in [
        ("nvprof", nvprof(&story, 8)),
        ("nsys", nsys(&story, NsysEra::Of2026)),
        ("session", nvvp_session(&nvprof(&story, 8), 2)),
    ] {
        let answer = gpuprof(&["report", &folder.argument("packed", &gzip(&bytes))]);
        assert_eq!(answer.stdout, expected, "{kind} packed with gzip");
    }
}

// ------------------------------------------------------------------------------------------------ output

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

// ------------------------------------------------------------------------------------------------ what is partial

/// Codes of the notes in JSON, after a check that stderr says the same.
fn codes(answer: &Answer) -> Vec<String> {
    let document: Value = serde_json::from_str(&answer.stdout).expect("JSON");
    let notes = document["notes"].as_array().expect("notes");
    for note in notes {
        let text = note["text"].as_str().expect("a text");
        assert!(answer.stderr.contains(&format!("gpuprof: {text}\n")), "{text} is not in {}", answer.stderr);
    }
    assert_eq!(answer.stderr.lines().count(), notes.len(), "{}", answer.stderr);
    notes.iter().map(|note| note["code"].as_str().expect("a code").to_owned()).collect()
}

#[test]
fn what_is_partial_is_said_on_stderr_and_in_json() {
    let folder = TempFolder::new("cli-partial");
    let run = |paths: &[&str]| gpuprof(&[&["report", "--format", "json"], paths].concat());
    let mut story = Story::sample(10);
    assert_eq!(codes(&run(&[&folder.argument("t", &native(&story))])), [""; 0]);
    // Records without times.
    let kernel = Kernel { start: 0, end: 0, ..story.kernels[0].clone() };
    story.kernels.push(kernel);
    let answer = run(&[&folder.argument("t", &native(&story))]);
    assert_eq!(codes(&answer), ["invalid-timestamps"]);
    assert!(answer.stderr.contains("1 records have invalid timestamps"), "{}", answer.stderr);
    story.kernels.pop();
    // Losses that the collector knows of, each cause once.
    story.losses = vec![(7, 1), (5, 1), (3, 2), (0, 5)];
    let path = folder.argument("lossy", &native(&story));
    let answer = run(&[&path]);
    assert_eq!(codes(&answer), ["lost-records"; 3]);
    for text in [
        "12 records lost: the writer did not keep up",
        "3 records lost: CUPTI dropped them",
        "records lost, how many is unknown: the disk was full",
    ] {
        assert!(answer.stderr.contains(&format!("{path}: {text}")), "{}", answer.stderr);
    }
    story.losses.clear();
    // A program that was killed.
    let open = native_with(&story, Native { close: false, ..Native::default() });
    let path = folder.argument("t", &[&open[..], b"half a fra"].concat());
    let answer = run(&[&path]);
    assert_eq!(codes(&answer), ["not-closed"]);
    assert!(
        answer.stderr.contains(&path) && answer.stderr.contains("10 bytes of an incomplete frame"),
        "{}",
        answer.stderr
    );
    // One of several processes did nothing on the GPU.
    let idle = Story { pid: 999, kernels: Vec::new(), ..Story::sample(10) };
    let paths = [folder.argument("a", &native(&story)), folder.argument("b", &native(&idle))];
    let answer = run(&[&paths[0], &paths[1]]);
    assert_eq!(codes(&answer), ["processes-without-kernels"]);
    assert!(answer.stderr.contains("1 of 2 processes have no kernels: 999"), "{}", answer.stderr);
}

#[test]
fn notes_come_before_listings_and_leave_stdout_as_it_was() {
    let folder = TempFolder::new("cli-notes");
    let story = Story::sample(10);
    let expected = folder.argument("a", &native(&story));
    let lossy = folder.argument("b", &native(&Story { losses: vec![(3, 2)], ..story }));
    for options in
        [&[][..], &["--csv"], &["--print-gpu-trace"], &["--print-api-trace", "--csv"], &["--format", "csv"]]
    {
        let [a, b] = [&expected, &lossy].map(|path| gpuprof(&[&["report"], options, &[path]].concat()));
        assert_eq!(a.stdout, b.stdout, "{options:?}");
        assert_eq!((a.stderr.as_str(), b.stderr.lines().count()), ("", 1), "{options:?}: {}", b.stderr);
    }
}

// ------------------------------------------------------------------------------------------------ sections

#[test]
fn the_nvtx_section_names_thread_domain_and_range() {
    let folder = TempFolder::new("cli-nvtx");
    let mut story = Story::empty().with_kernel(Name::plain("kern"), 5_000_000, 30_000);
    story.threads.push((THREAD, "main".into()));
    story.calls.push(Call { function: LAUNCH, start: 4_000_000, end: 4_010_000, tid: THREAD, correlation: 1 });
    let range = |name: &str, domain: Option<&str>, start, end, tid| NvtxRange {
        name: name.into(),
        domain: domain.map(str::to_owned),
        start,
        end,
        style: 0,
        tid,
    };
    story.ranges = vec![
        range("step", None, 3_000_000, Some(8_000_000), THREAD),
        range("load", Some("io"), 1_000_000, Some(2_000_000), THREAD + 4),
        range("never closed", None, 1_000_000, None, THREAD),
    ];
    let text = gpuprof(&["report", &folder.argument("t", &native(&story))]).stdout;
    let expected = "
======== NVTX result:
========   Thread \"main\" (id = 4243)
========     Domain \"<unnamed>\"
========       Range \"step\"
            Type  Time(%)      Time     Calls       Avg       Min       Max  Name
          Range:  100.00%  5.0000ms         1  5.0000ms  5.0000ms  5.0000ms  step
 GPU activities:  100.00%  30.000us         1  30.000us  30.000us  30.000us  kern
      API calls:  100.00%  10.000us         1  10.000us  10.000us  10.000us  cudaLaunchKernel

========   Thread \"<unnamed>\" (id = 4247)
========     Domain \"io\"
========       Range \"load\"
            Type  Time(%)      Time     Calls       Avg       Min       Max  Name
          Range:  100.00%  1.0000ms         1  1.0000ms  1.0000ms  1.0000ms  load
No kernels were profiled in this range.
No API activities were profiled in this range.

";
    assert!(text.ends_with(expected), "{text}");
}

#[test]
fn more_than_fifty_ranges_are_left_out_unless_asked_for() {
    let folder = TempFolder::new("cli-many-ranges");
    let mut story = Story::sample(3);
    story.ranges = (0..51)
        .map(|i| NvtxRange {
            name: format!("op {i}"),
            domain: None,
            start: 100 * i,
            end: Some(100 * i + 50),
            style: 0,
            tid: THREAD,
        })
        .collect();
    let path = folder.argument("t", &native(&story));
    let short = gpuprof(&["report", &path]);
    assert!(!short.stdout.contains("NVTX result"), "{}", short.stdout);
    assert!(
        short.stderr.contains("51 NVTX ranges of different names") && short.stderr.contains("--nvtx"),
        "{}",
        short.stderr
    );
    let long = gpuprof(&["report", "--nvtx", &path]);
    assert_eq!(long.stdout.matches(" Range \"op ").count(), 51);
    assert!(long.stdout.starts_with(&short.stdout) && long.stderr.is_empty(), "{}", long.stderr);
}

#[test]
fn the_unified_memory_section_counts_per_device() {
    let folder = TempFolder::new("cli-uvm");
    let mut story = Story::sample(4);
    let event = |kind, value, end, src, dst| Migration { start: 2_000_000, end, kind, value, src, dst };
    story.migrations = vec![
        event(1, 4_096, Some(2_001_000), None, Some(0)),
        event(1, 1_040_384, Some(2_090_000), None, Some(0)),
        event(2, 8_192, Some(2_003_000), Some(1), None),
        event(3, 1, None, None, None),
        event(3, 1, None, None, None),
        event(4, 12, Some(2_040_000), Some(0), None),
    ];
    let expected = "
======== Unified Memory profiling result:
Device \"Tesla V100 (0)\"
   Count  Avg Size  Min Size  Max Size  Total Size  Total Time  Name
       2  510.00KB  4.0000KB  0.9922MB  0.996094MB  91.00000us  Host To Device
       1         -         -         -           -  40.00000us  Gpu page fault groups
Device \"Tesla V100 (1)\"
   Count  Avg Size  Min Size  Max Size  Total Size  Total Time  Name
       1  8.0000KB  8.0000KB  8.0000KB  8.000000KB  3.000000us  Device To Host
Total CPU Page faults: 2
";
    for (kind, bytes) in
        [("native", native(&story)), ("nvprof 8", nvprof(&story, 8)), ("nvprof 16", nvprof(&story, 16))]
    {
        let text = gpuprof(&["report", &folder.argument("t", &bytes)]).stdout;
        assert!(text.ends_with(expected), "{kind}: {text}");
    }
}

#[test]
fn sums_beyond_32_bits_never_wrap() {
    let folder = TempFolder::new("cli-overflow");
    let mut story = Story::sample(2);
    // 5 kernels of 4 s: each fits 32 bits of nanoseconds, their sum does not; 3 copies of 3 GB each likewise.
    for i in 0..5 {
        story = story.with_kernel(Name::plain("long"), 100_000_000_000 * (i + 1), 4_000_000_000);
    }
    for i in 0..3 {
        let (start, end) = (1_000_000_000_000 + i, 1_000_000_001_000 + i);
        story.copies.push(Copy { start, end, bytes: 3_000_000_000, kind: 1, ..story.copies[0].clone() });
    }
    let first = story.copies[0].bytes;
    for (kind, bytes) in every_kind(&story) {
        if matches!(kind, "kineto 2020" | "kineto 2021" | "kineto 2022" | "kineto early 2024") {
            continue; // Times of single nanoseconds do not fit in there.
        }
        let path = folder.argument("t", &bytes);
        let [gpu, _] = totals(&[&path]);
        assert_eq!(gpu["long"], (5, 20_000_000_000), "{kind}");
        let document = json(&["--view", "cuda_gpu_mem_size_sum", &path]);
        let row = rows(&document, "cuda_gpu_mem_size_sum").iter().find(|row| {
            row["Operation"].as_str().is_some_and(|text| text.contains("Host-to-Device") || text.contains("HtoD"))
        });
        let total = row.expect("a row")["Total (MB)"].as_f64().expect("a number");
        assert_eq!(total, ((9_000_000_000 + first) as f64 / 1e3).round() / 1e3, "{kind}");
    }
}

// ------------------------------------------------------------------------------------------------ follow

#[test]
fn follow_prints_again_when_the_trace_has_grown_and_ends_with_it() {
    let folder = TempFolder::new("cli-follow");
    let path = folder.path().join("t.gpuprof");
    let story = Story::sample(60);
    let file = File::create_new(&path).expect("a file");
    let mut writer = NativeWriter::begin(file, &story, Native::default());
    let mut child =
        command(&["report", "--follow", "--print-gpu-summary", "--format", "csv", path.to_str().expect("a path")])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
    let (sender, lines) = channel();
    let stdout = BufReader::new(child.stdout.take().expect("a pipe"));
    std::thread::spawn(move || stdout.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
    // Waits until a table shows `calls` kernels of one name.
    let begun = Instant::now();
    let wait_for = |calls: usize| {
        let (calls, name) = (format!(",{calls},"), ",\"saxpy(int, float, float*, float*)\"");
        loop {
            let left = DEADLINE.saturating_sub(begun.elapsed());
            let line = lines.recv_timeout(left).unwrap_or_else(|e| panic!("no table with {calls} kernels: {e}"));
            if line.contains(&calls) && line.ends_with(name) {
                return;
            }
        }
    };
    for (step, kernels) in story.kernels.chunks(15).enumerate() {
        writer.kernels(kernels);
        wait_for(5 * (step + 1));
    }
    assert!(child.try_wait().expect("a child").is_none(), "it goes on while the program runs");
    writer.rest(&story);
    writer.close();
    // All remaining lines, until the program closes its output.
    let mut last = Vec::new();
    while let Ok(line) = lines.recv_timeout(DEADLINE.saturating_sub(begun.elapsed())) {
        last.push(line);
    }
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
    let whole =
        gpuprof(&["report", "--print-gpu-summary", "--format", "csv", path.to_str().expect("a path")]).stdout;
    let last = last.join("\n") + "\n";
    assert!(last.ends_with(&whole), "{last} does not end with {whole}");
}

#[test]
fn follow_waits_for_a_file_that_is_still_empty() {
    let folder = TempFolder::new("cli-follow-empty");
    let path = folder.argument("t", b"");
    let mut child = command(&["report", "--follow", &path]).stdout(Stdio::piped()).spawn().expect("it starts");
    // Long enough to look at the file at least once; a program that gave up has ended by then.
    let begun = Instant::now();
    while begun.elapsed() < std::time::Duration::from_secs(1) {
        assert!(child.try_wait().expect("a child").is_none(), "it gave up");
        std::thread::yield_now();
    }
    std::fs::write(&path, native(&Story::sample(5))).expect("a trace");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stdout), gpuprof(&["report", &path]).stdout);
}

#[test]
fn follow_of_a_trace_that_has_ended_prints_once() {
    let folder = TempFolder::new("cli-follow-closed");
    for (kind, bytes) in [("native", native(&Story::sample(5))), ("nsys", nsys(&Story::sample(5), NsysEra::Of2026))]
    {
        let path = folder.argument("t", &bytes);
        assert_eq!(gpuprof(&["report", "--follow", &path]).stdout, gpuprof(&["report", &path]).stdout, "{kind}");
    }
}

#[test]
fn colours_and_clearing_the_screen_are_for_terminals_alone() {
    let folder = TempFolder::new("cli-colour");
    let path = folder.argument("t", &native(&Story::sample(5)));
    for options in [&["report"][..], &["report", "--follow"], &["info"], &["report", "--help"], &["--help"]] {
        let answer = gpuprof_with(&[("TERM", "xterm-256color")], &[options, &[&path]].concat());
        assert!(!answer.stdout.contains('\u{1b}'), "{options:?}");
    }
}
