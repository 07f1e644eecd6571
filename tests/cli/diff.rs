//! `gpuprof diff` and `gpuprof baseline` through the real program: verdicts, limits, exit statuses and every format.

use crate::common::build::{Player, Story, native};
use crate::common::{Answer, TempFolder, command, gpuprof, gpuprof_in, refused};
use serde_json::Value;
use std::process::Output;

/// A training run of 60 steps in which `gemm` takes so many percent of its time. Durations differ by up to a tenth.
fn run(seed: u64, percent: i64, kernel: &str) -> Player {
    let mut player = Player::new(seed);
    for _ in 0..60 {
        player.kernel(kernel, 7, 4_000 * percent);
        player.kernel("softmax", 7, 100_000);
        player.stay_near(7, 3_000_000);
    }
    player
}

/// The trace of such a run.
pub fn trace(folder: &TempFolder, name: &str, seed: u64, percent: i64) -> String {
    folder.argument(name, &run(seed, percent, "gemm").native())
}

/// Runs `diff` whatever its exit status, which comes back too.
fn diff(args: &[&str]) -> (i32, String, String) {
    let Output { status, stdout, stderr } = command(&[&["diff"], args].concat()).output().expect("gpuprof runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    (status.code().expect("an exit status"), text(stdout), text(stderr))
}

fn json(args: &[&str]) -> Value {
    let (_, stdout, stderr) = diff(&[args, &["--format", "json"]].concat());
    serde_json::from_str(&stdout).unwrap_or_else(|e| panic!("{args:?}: {e}: {stdout}{stderr}"))
}

#[test]
fn a_slower_kernel_is_named_and_limits_decide_the_exit_status() {
    let folder = TempFolder::new("cli-diff-slower");
    let (old, new) = (trace(&folder, "old.gpuprof", 1, 100), trace(&folder, "new.gpuprof", 2, 120));
    let (status, text, _) = diff(&[&old, &new]);
    assert_eq!(status, 0, "{text}");
    assert!(text.starts_with("Slower: GPU work took "), "{text}");
    assert!(text.contains("With one run on each side noise is unknown"), "{text}");
    let line = text.lines().find(|line| line.ends_with("  gemm")).expect("the line of gemm");
    assert!(line.starts_with("slower  ") && line.contains(" ms ") && line.contains(" %  "), "{line}");
    let answer = json(&[&old, &new]);
    assert_eq!((&answer["schema"], &answer["verdict"]), (&"gpuprof/diff/1".into(), &"slower".into()));
    let row = &answer["rows"][0];
    assert_eq!(
        (&row["Change"], &row["Name"], &row["Count Before"]),
        (&"slower".into(), &"gemm".into(), &60.into())
    );
    // 20 % more of gemm, give or take what 60 durations that differ by a tenth add up to.
    let percent = row["Difference (%)"].as_f64().expect("a number");
    assert!((18.0..22.0).contains(&percent), "{row}");

    let (status, text, _) = diff(&[&old, &new, "--fail-if", "total>+10%", "--fail-if", "row>50%"]);
    assert_eq!(status, 3);
    assert!(text.contains("Failed: total>+10%: the total changed by +15."), "{text}");
    assert!(!text.contains("row>50%"), "{text}");
    assert_eq!(diff(&[&old, &new, "--fail-if", "total>+30%"]).0, 0);
    // The other way round it is faster, and nothing fails.
    let (status, text, _) = diff(&[&new, &old, "--fail-if", "total>+3%"]);
    assert_eq!((status, text.starts_with("Faster: ")), (0, true), "{text}");
    assert_eq!(json(&[&old, &old])["verdict"], "no difference");
}

#[test]
fn several_runs_tell_small_differences_from_noise() {
    let folder = TempFolder::new("cli-diff-several");
    let side = |name: &str, seed: u64, percent: i64| -> Vec<String> {
        (0..5).map(|i| trace(&folder, &format!("{name}-{i}.gpuprof"), seed + i, percent)).collect()
    };
    let (old, same, new) = (side("old", 10, 100), side("same", 20, 100), side("new", 30, 104));
    let verdict = |after: &[String]| {
        let mut args = vec!["--before"];
        args.extend(old.iter().map(String::as_str));
        args.push("--after");
        args.extend(after.iter().map(String::as_str));
        json(&args)
    };
    assert_eq!(verdict(&same)["verdict"], "no difference");
    let answer = verdict(&new);
    assert_eq!(answer["verdict"], "slower", "{answer}");
    assert!(answer["total"]["within_percent"].as_f64().is_some_and(|within| within < 2.0), "{answer}");
    assert_eq!(answer["before"].as_array().map(Vec::len), Some(5));
}

#[test]
fn a_renamed_kernel_is_the_same_kernel() {
    let folder = TempFolder::new("cli-diff-renamed");
    let old = folder.argument("old.gpuprof", &run(1, 100, "void gemm<float, 128>(float*)").native());
    let new = folder.argument("new.gpuprof", &run(2, 100, "void gemm<__half, 64>(__half*)").native());
    let answer = json(&[&old, &new]);
    assert_eq!(answer["verdict"], "no difference");
    let row = &answer["rows"].as_array().expect("rows").iter().find(|row| row["Name Before"].is_string());
    assert_eq!(row.expect("a renamed row")["Name Before"], "void gemm<float, 128>(float*)");
    assert_eq!(json(&[&old, &new, "--by", "base-name"])["rows"][0]["Name Before"], Value::Null);
}

#[test]
fn runs_are_compared_by_whatever_makes_a_row() {
    let folder = TempFolder::new("cli-diff-by");
    let (old, new) = (trace(&folder, "old.gpuprof", 1, 100), trace(&folder, "new.gpuprof", 2, 130));
    for (by, name) in [
        ("kernel", "gemm"),
        ("base-name", "gemm"),
        ("class", "kernels"),
        ("stream", "GPU 0, stream 7"),
        ("api", "cudaLaunchKernel"),
    ] {
        let answer = json(&[&old, &new, "--by", by]);
        let names: Vec<_> = answer["rows"].as_array().expect("rows").iter().map(|row| &row["Name"]).collect();
        assert!(names.contains(&&name.into()), "{by}: {answer}");
    }
    // There are none in these traces.
    for by in ["range", "step"] {
        let (status, text, _) = diff(&[&old, &new, "--by", by]);
        assert_eq!(status, 4, "{text}");
        assert!(text.contains("cannot be compared") && text.contains("the trace holds no "), "{text}");
    }
}

#[test]
fn streams_of_ranks_are_told_apart() {
    let folder = TempFolder::new("cli-diff-ranks");
    for (run, launches) in [("old", 200), ("new", 200)] {
        for rank in 0..2 {
            let story = Story { pid: 4242 + rank, rank: Some((rank, 2)), ..Story::sample(launches) };
            folder.file(&format!("{run}/{rank}.gpuprof"), &native(&story));
        }
    }
    let [old, new] = ["old", "new"].map(|run| folder.path().join(run).to_str().expect("a path").to_owned());
    let answer = json(&[&old, &new, "--by", "stream", "--all"]);
    let mut names: Vec<_> =
        answer["rows"].as_array().expect("rows").iter().filter_map(|row| row["Name"].as_str()).collect();
    names.sort_unstable();
    // Two devices with two streams each.
    let expected = (0..8).map(|i| format!("rank {}, GPU {}, stream {}", i / 4, i / 2 % 2, 7 + i % 2));
    assert_eq!(names, expected.collect::<Vec<_>>());
    // Within one rank there is nothing to tell apart.
    let answer = json(&[&format!("{old}/0.gpuprof"), &format!("{new}/0.gpuprof"), "--by", "stream"]);
    assert_eq!(answer["rows"][0]["Name"].as_str().map(|name| name.starts_with("GPU ")), Some(true), "{answer}");
}

#[test]
fn runs_of_different_programs_fail_with_the_reason_in_every_format() {
    let folder = TempFolder::new("cli-diff-different");
    let old = trace(&folder, "old.gpuprof", 1, 100);
    let mut other = run(2, 100, "fft");
    other.story.devices = vec!["NVIDIA A100".into()];
    let other = folder.argument("other.gpuprof", &other.native());
    for format in ["table", "markdown", "json"] {
        let (status, text, _) = diff(&[&old, &other, "--format", format, "--fail-if", "total>+3%"]);
        assert_eq!(status, 4, "{format}: {text}");
        assert!(text.contains("A100") && text.contains("H100"), "{format}: {text}");
    }
    let (status, text, _) = diff(&[&old, &other, "--across-gpus"]);
    assert!(status == 4 && text.contains("different programs"), "{text}");
}

/// A trace of PyTorch with so many steps, in each of which `gemm` is launched three times.
fn steps(folder: &TempFolder, name: &str, steps: u64, gemm_us: u64) -> String {
    let mut events = Vec::new();
    for step in 0..steps {
        let start = 1_000_000 + step * 10_000;
        let annotation = serde_json::json!({
            "ph": "X", "cat": "user_annotation", "name": format!("ProfilerStep#{}", step + 3), "pid": 1, "tid": 1,
            "ts": start, "dur": 9_000,
        });
        events.push(annotation);
        for i in 0..3 {
            let correlation = step * 3 + i + 1;
            let (launched, ran) = (start + i * 10, start + 100 + i * 2_000);
            events.push(serde_json::json!({
                "ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": launched, "dur": 5,
                "args": { "correlation": correlation, "cbid": 211 },
            }));
            events.push(serde_json::json!({
                "ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": ran, "dur": gemm_us,
                "args": { "correlation": correlation, "device": 0, "context": 1, "stream": 7 },
            }));
        }
    }
    let properties = serde_json::json!([{ "id": 0, "name": "NVIDIA H100" }]);
    let trace = serde_json::json!({ "schemaVersion": 1, "deviceProperties": properties, "traceEvents": events });
    folder.argument(name, trace.to_string().as_bytes())
}

#[test]
fn runs_with_other_numbers_of_steps_are_compared_per_step() {
    let folder = TempFolder::new("cli-diff-steps");
    let (old, new) = (steps(&folder, "old.json", 10, 1_000), steps(&folder, "new.json", 15, 1_200));
    let answer = json(&[&old, &new]);
    assert_eq!((&answer["unit"], &answer["verdict"]), (&"step".into(), &"slower".into()), "{answer}");
    // Three milliseconds a step, and 3.6.
    assert_eq!((&answer["total"]["before_ns"], &answer["total"]["after_ns"]), (&3e6.into(), &3.6e6.into()));
    let row = &answer["rows"][0];
    assert_eq!((&row["Count Before"], &row["Count After"]), (&3.into(), &3.into()), "{row}");
    assert_eq!(answer["after"][0]["steps"], 15);
    // Steps by another name are not there, and the launches say as much.
    let answer = json(&[&old, &new, "--steps", "epoch*"]);
    assert_eq!(
        (&answer["unit"], &answer["launches_after_by_before"]),
        (&"scaled run".into(), &1.5.into()),
        "{answer}"
    );
    for (by, name) in [("step", "ProfilerStep#*"), ("range", "ProfilerStep#12")] {
        let answer = json(&[&old, &new, "--by", by, "--all"]);
        let rows = answer["rows"].as_array().expect("rows");
        let row = rows.iter().find(|row| row["Name"] == name).unwrap_or_else(|| panic!("{by}: {answer}"));
        assert_eq!(row["Med After (ns)"], 9e6, "{row}");
    }
    // What lies outside of steps can be left out.
    let answer = json(&[&old, &new, "--range", "ProfilerStep#*"]);
    assert_eq!((&answer["unit"], &answer["total"]["after_ns"]), (&"step".into(), &3.6e6.into()), "{answer}");
}

#[test]
fn csv_and_markdown_have_the_rows() {
    let folder = TempFolder::new("cli-diff-formats");
    let (old, new) = (trace(&folder, "old.gpuprof", 1, 100), trace(&folder, "new.gpuprof", 2, 120));
    let csv = diff(&[&old, &new, "--format", "csv"]).1;
    let lines: Vec<&str> = csv.lines().collect();
    assert!(lines[0].starts_with("Change,Difference (ns),Difference (%),+/- (%),Before (ns)"), "{csv}");
    assert!(lines[1].starts_with("slower,") && lines[1].contains(",gemm,"), "{csv}");
    assert_eq!(lines.len(), 3, "{csv}");
    let markdown = diff(&[&old, &new, "--format", "markdown"]).1;
    assert!(markdown.starts_with("### Slower: ") && markdown.contains("| gemm"), "{markdown}");
    assert_eq!(diff(&[&old, &new, "--format", "csv", "--top", "1"]).1.lines().count(), 2);
}

#[test]
fn a_baseline_is_as_good_as_its_traces() {
    let folder = TempFolder::new("cli-diff-baseline");
    let paths: Vec<String> = (0..4).map(|i| trace(&folder, &format!("old-{i}.gpuprof"), 50 + i, 100)).collect();
    let new = trace(&folder, "new.gpuprof", 60, 120);
    let in_folder = |args: &[&str]| -> Answer { gpuprof_in(folder.path(), args) };
    in_folder(&["baseline", "save", "main", &paths[0], &paths[1]]);
    in_folder(&["baseline", "save", "main", "--add", &paths[2], &paths[3]]);
    assert_eq!(in_folder(&["baseline", "list"]).stdout, "main  4 runs\n");

    let store = folder.path().join(".gpuprof-baselines");
    let store = store.to_str().expect("UTF-8");
    let mut of_traces = vec!["--before"];
    of_traces.extend(paths.iter().map(String::as_str));
    of_traces.extend(["--after", &new]);
    let expected = json(&of_traces);
    assert_eq!(json(&["--baseline", "main", "--baselines", store, &new]), expected);
    assert_eq!(expected["verdict"], "slower");

    // Nothing that is kept is lost by mistake.
    let taken = ["baseline", "save", "main", "--baselines", store, &paths[0]];
    refused(&taken, &["already", "--add", "--force"]);
    gpuprof(&[&taken[..], &["--force"]].concat());
    assert_eq!(gpuprof(&["baseline", "list", "--baselines", store]).stdout, "main  1 run\n");
    let csv = gpuprof(&["baseline", "list", "--baselines", store, "--format", "csv"]).stdout;
    assert_eq!(csv, "Name,Runs,Problem\nmain,1,\n");
    refused(&["diff", "--baseline", "none", "--baselines", store, &new], &["no baseline \"none\"", "save"]);
    refused(&["baseline", "save", "../x", "--baselines", store, &new], &["no name for a baseline"]);
    std::fs::write(folder.path().join(".gpuprof-baselines/main.json"), "{\"schema\": 1").expect("written");
    refused(&["diff", "--baseline", "main", "--baselines", store, &new], &["is not a baseline", "main.json"]);
}

#[test]
fn the_difference_is_drawn_as_a_flame_graph_per_step() {
    let folder = TempFolder::new("cli-diff-flame");
    let (old, new) = (steps(&folder, "old.json", 10, 1_000), steps(&folder, "new.json", 15, 1_200));
    let svg = folder.path().join("diff.svg");
    let svg_argument = svg.to_str().expect("a path");
    let (status, text, stderr) = diff(&[&old, &new, "--flame-graph", svg_argument]);
    assert!(status == 0 && text.starts_with("Slower: "), "{text}{stderr}");
    assert!(stderr.contains("diff.svg") && stderr.contains("(svg)"), "{stderr}");
    let picture = std::fs::read_to_string(&svg).expect("the picture");
    assert!(picture.contains("GPU time after per step by ranges"), "{picture}");
    // 3.6 ms of a step instead of 3: the steps are one box, without processes and threads around it.
    for box_of in ["ProfilerStep#*", "cudaLaunchKernel", "gemm"] {
        let title = format!("<title>{box_of} [+600.0 us, +20.0 %] (3,600,000 ns, 100.00%)</title>");
        assert!(picture.contains(&title), "{title}: {picture}");
    }
    // What is gone has no width but is told; what is new is called so.
    let more = |extra: bool| {
        let mut player = run(1, 100, "gemm");
        if extra {
            player.kernel("leftover", 7, 2_000_000);
            // A name that begins with another one sorts otherwise once both have something behind them.
            player.kernel("gemm", 7, 5_000);
        }
        player.native()
    };
    let (with, without) =
        (folder.argument("with.gpuprof", &more(true)), folder.argument("without.gpuprof", &more(false)));
    let (_, picture, _) = diff(&[&with, &without, "--flame-graph", "-", "--fail-if", "total>+3%"]);
    // Durations are drawn by lot, within a tenth.
    let told = [("; without 1 stack that took ", 1), (" ms before and nothing after", 1)];
    assert!(told.iter().all(|(part, times)| picture.matches(part).count() == *times), "{picture}");
    assert!(picture.starts_with("<?xml") && !picture.contains("leftover"), "{picture}");
    assert!(picture.contains("<title>gemm [same] ("), "{picture}");
    let (_, picture, _) = diff(&[&without, &with, "--flame-graph", "-"]);
    assert!(picture.contains("<title>leftover [new, +"), "{picture}");
    // A trace that is read is not written over, and a baseline has no stacks.
    refused(&["diff", &old, &new, "--flame-graph", &new], &["new.json"]);
    let (status, _, stderr) = diff(&["--baseline", "main", &new, "--flame-graph", svg_argument]);
    assert!(status == 2 && stderr.contains("cannot be used with '--flame-graph <FILE>'"), "{stderr}");
}

#[test]
fn arguments_that_make_no_sense_are_refused() {
    let folder = TempFolder::new("cli-diff-arguments");
    let old = trace(&folder, "old.gpuprof", 1, 100);
    refused(&["diff"], &["none was named"]);
    refused(&["diff", &old], &["one was named", "--before"]);
    let (status, _, stderr) = diff(&[&old, &old, "--fail-if", "speed>3%"]);
    assert!(status == 2 && stderr.contains("no figure \"speed\""), "{stderr}");
    refused(&["diff", "--baseline", "x"], &["no run to compare"]);
    refused(&["diff", "--after", &old], &["nothing to compare with"]);
}
