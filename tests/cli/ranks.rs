//! `gpuprof ranks` through the real program: made-up runs whose stragglers, clocks and bubbles are known, and what cannot be judged.

mod run;

pub use self::run::with_slow;
use self::run::{BASE_NS, Kernel, LAUNCH_NS, RANGE_NS, Run};
use crate::common::build::{Name, Native, NativeWriter, Random, Story};
use crate::common::{TempFolder, command, gpuprof, refused, shared, skip};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};
use trace_format::tables::MemoryRow;

/// Runs `ranks` whatever its exit status, which comes back too.
fn ranks(args: &[&str]) -> (i32, String, String) {
    let Output { status, stdout, stderr } = command(&[&["ranks"], args].concat()).output().expect("gpuprof runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    (status.code().expect("an exit status"), text(stdout), text(stderr))
}

fn json(args: &[&str]) -> Value {
    let (_, stdout, stderr) = ranks(&[args, &["--format", "json"]].concat());
    serde_json::from_str(&stdout).unwrap_or_else(|e| panic!("{args:?}: {e}: {stdout}{stderr}"))
}

#[test]
fn the_rank_that_makes_the_others_wait_is_named_with_the_cause() {
    let folder = TempFolder::new("cli-ranks-slow");
    let mut run = with_slow(8, 5, 1_500_000, 0);
    run.clocks = BTreeMap::from([(2, (-1_000_000, -12.0)), (3, (350_000, 20.0)), (5, (7_000, 0.0))]);
    let path = run.write(&folder, "kernels");
    let (status, text, stderr) = ranks(&[&path]);
    assert_eq!((status, stderr.as_str()), (0, ""), "{text}");
    assert!(text.starts_with("Rank 5 is late (slow kernels): it begins 1.5 ms after the middle rank"), "{text}");
    assert!(text.contains("is last in 20 of 20 collectives") && text.contains("gemm alone"), "{text}");
    let answer = json(&[&path]);
    assert_eq!((&answer["schema"], &answer["verdict"]), (&"gpuprof/ranks/1".into(), &"straggler".into()));
    let late = &answer["stragglers"][0];
    assert_eq!((&late["rank"], &late["cause"], &late["last"]), (&5.into(), &"slow kernels".into(), &20.into()));
    assert_eq!(late["slowest_work"]["name"], "gemm");
    assert_eq!(answer["stragglers"].as_array().map(Vec::len), Some(1));
    // 20 times 1.5 ms, less what the second latest of seven is later than the middle one.
    let gain = answer["gain_ns"].as_i64().expect("a number");
    assert!((28_000_000..30_500_000).contains(&gain), "{gain}");
    // 350 us and 20 ppm, counted from the first end at about 23 ms: 0.5 us more.
    let clock = |rank: usize, field: &str| answer["ranks"][rank][field].as_f64().expect("a number");
    assert!((clock(3, "Clock Ahead (ns)") - 350_460.0).abs() < 500.0, "{answer}");
    assert!((clock(3, "Clock Drift (ppm)") - 20.0).abs() < 0.5, "{answer}");
    assert!((clock(2, "Clock Ahead (ns)") + 1_000_275.0).abs() < 500.0, "{answer}");
    assert!((clock(2, "Clock Drift (ppm)") + 12.0).abs() < 0.5, "{answer}");
    // The one that is waited for does not wait, and its row is empty.
    let map: Vec<&str> = text.lines().filter(|line| line.ends_with('|')).collect();
    assert_eq!(map.len(), 8, "{text}");
    assert_eq!(map[5].trim_start_matches("     5 |").trim_end_matches('|').trim(), "", "{text}");
    // 1.5 of 4.3 milliseconds.
    assert_eq!(map[0].matches('-').count(), 20, "{text}");

    // The page has the map too, and what is found in the run.
    let path = with_slow(8, 5, 1_500_000, 0).write(&folder, "page");
    let page = folder.path().join("page.html");
    gpuprof(&["timeline", "-q", &path, "-o", page.to_str().expect("a path")]);
    let page = std::fs::read_to_string(page).expect("a page");
    let (_, meta) = page.split_once("id=\"meta\">").expect("what the page knows");
    let meta: Value = serde_json::from_str(meta.split_once("</script>").expect("an end").0).expect("JSON");
    let map = &json(&[&path])["heat_map"];
    assert_eq!(meta["waits"]["bin_ns"], map["bin_ns"]);
    let waits: Vec<&Value> =
        meta["waits"]["ranks"].as_array().expect("ranks").iter().map(|rank| &rank["wait_ns"]).collect();
    assert_eq!(waits, map["wait_ns"].as_array().expect("ranks").iter().collect::<Vec<_>>());
    assert!(waits.iter().any(|waits| waits.as_array().is_some_and(|bins| bins.iter().any(|ns| *ns != json!(0)))));
    let report = gpuprof(&["report", &path, "--view", "insights", "--format", "json"]).stdout;
    let report: Value = serde_json::from_str(&report).expect("JSON");
    let columns = |row: &Value, names: [&str; 5]| names.map(|name| row[name].clone());
    let reported: Vec<[Value; 5]> = report["tables"][0]["rows"]
        .as_array()
        .expect("rows")
        .iter()
        .filter(|row| row["Status"] == "found")
        .map(|row| columns(row, ["Name", "Gain (ns)", "Evidence", "Longest Dur (ns)", "Advice"]))
        .collect();
    let found = meta["insights"]["findings"].as_array().expect("findings");
    let found: Vec<[Value; 5]> =
        found.iter().map(|row| columns(row, ["name", "gain_ns", "evidence", "duration_ns", "advice"])).collect();
    assert!(!found.is_empty() && found == reported, "{found:?} {reported:?}");

    let path = with_slow(8, 2, 0, 1_500_000).write(&folder, "host");
    let late = &json(&[&path])["stragglers"];
    assert_eq!((&late[0]["rank"], &late[0]["cause"]), (&2.into(), &"late host".into()), "{late}");
    assert!((late[0]["more_idle_ns"].as_i64().expect("a number") - 19 * 1_500_000).abs() < 1_000_000, "{late}");

    let path = with_slow(8, 2, 0, 0).write(&folder, "alike");
    let answer = json(&[&path]);
    assert_eq!((&answer["verdict"], &answer["stragglers"]), (&"no straggler".into(), &json!([])), "{answer}");
    assert!(ranks(&[&path]).1.starts_with("No rank is late again and again"));
}

#[test]
fn numbers_are_those_of_an_independent_computation() {
    let test = "numbers_are_those_of_an_independent_computation";
    let folder = TempFolder::new("cli-ranks-oracle");
    let mut run = with_slow(4, 1, 900_000, 300_000);
    let exact = run.write(&folder, "exact");
    run.clocks = BTreeMap::from([(1, (350_000, 20.0)), (2, (-40_000, -80.0))]);
    let skewed = run.write(&folder, "skewed");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracles/ranks.py");
    let oracle = |folder: &str| -> Option<Value> {
        let output = Command::new("python3").arg(&script).arg(folder).output().ok()?;
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Some(serde_json::from_slice(&output.stdout).expect("JSON"))
    };
    let Some(expected) = oracle(&exact) else { return skip(test, "python3 cannot be run") };
    let answer = json(&[&exact, "--rows", "collectives", "--all"]);
    let names = [
        ("rank", "Rank"),
        ("observed_ns", "Observed (ns)"),
        ("compute_ns", "Compute (ns)"),
        ("communication_ns", "Communication (ns)"),
        ("exposed_communication_ns", "Exposed Communication (ns)"),
        ("idle_ns", "Idle (ns)"),
        ("wait_ns", "Wait (ns)"),
    ];
    for (row, expected) in rows(&answer["ranks"]).iter().zip(rows(&expected["ranks"])) {
        for (theirs, ours) in names {
            assert_eq!(row[ours], expected[theirs], "{ours} of {row}");
        }
    }
    let near = |a: &Value, b: &Value, within: f64| (number(a) - number(b)).abs() <= within;
    assert!(near(&answer["pipeline"]["bubble_percent"], &expected["bubble_percent"], 1e-9), "{answer}");
    let mut found = rows(&answer["collectives"]).to_vec();
    found.sort_by_key(|row| row["Start (ns)"].as_i64());
    assert_eq!(found.len(), 20);
    for (row, expected) in found.iter().zip(rows(&expected["collectives"])) {
        for (theirs, ours) in [
            ("start_ns", "Start (ns)"),
            ("bytes", "Bytes"),
            ("skew_ns", "Skew (ns)"),
            ("last_rank", "Last Rank"),
            ("wait_ns", "Wait (ns)"),
            ("transfer_ns", "Transfer (ns)"),
        ] {
            assert_eq!(row[ours], expected[theirs], "{ours} of {row}");
        }
        assert!(near(&row["Algorithm (GB/s)"], &expected["algorithm_gb_per_s"], 5e-4), "{row}");
        assert!(near(&row["Bus (GB/s)"], &expected["bus_gb_per_s"], 5e-4), "{row}");
    }
    // 100 MB in 0.7 ms, and 1.5 times that for four ranks.
    assert_eq!((&found[0]["Algorithm (GB/s)"], &found[0]["Bus (GB/s)"]), (&142.857.into(), &214.286.into()));

    // With clocks that differ: the same clocks, and the same answer as without.
    let (expected, put_right) = (oracle(&skewed).expect("python3 ran before"), json(&[&skewed]));
    for (row, expected) in rows(&put_right["ranks"]).iter().zip(rows(&expected["ranks"])) {
        assert!(near(&row["Clock Ahead (ns)"], &expected["clock"]["offset_ns"], 5.0), "{row} {expected}");
        assert!(near(&row["Clock Drift (ppm)"], &expected["clock"]["drift_ppm"], 0.05), "{row} {expected}");
    }
    for (row, expected) in rows(&put_right["ranks"]).iter().zip(rows(&answer["ranks"])) {
        assert!(near(&row["Wait (ns)"], &expected["Wait (ns)"], 2_000.0), "{row} {expected}");
    }
    assert_eq!(put_right["stragglers"][0]["rank"], 1);
}

fn rows(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is a number"))
}

#[test]
fn the_bubble_of_a_pipeline_is_what_its_schedule_says() {
    let folder = TempFolder::new("cli-ranks-bubble");
    // Four stages and twenty microbatches of a millisecond: (4 - 1) of (20 + 4 - 1) milliseconds are empty, 13.04 %.
    let mut run = Run::new(4);
    for stage in 0..4 {
        for batch in 0..20 {
            let start = (stage + batch) as i64 * 1_000_000;
            run.compute(stage, "forward", start, start + 1_000_000);
            let name = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)";
            run.kernels[stage].push(Kernel {
                name,
                start: start + 500_000,
                end: start + 900_000,
                stream: 20,
                group: None,
            });
        }
    }
    let path = run.write(&folder, "even");
    let answer = json(&[&path]);
    assert!((number(&answer["pipeline"]["bubble_percent"]) - 300.0 / 23.0).abs() < 1e-9, "{answer}");
    assert_eq!((&answer["pipeline"]["imbalance"], &answer["pipeline"]["sends"]), (&1.0.into(), &true.into()));
    assert_eq!(rows(&answer["ranks"])[2]["Bubble of Observed (%)"], 13.04);
    assert_eq!(rows(&answer["ranks"])[2]["Exposed Communication (ns)"], 0);
    let (status, text, _) = ranks(&[&path]);
    assert_eq!(status, 0);
    assert!(text.contains("Bubble: 13.0 % of the observed time of all ranks is without computation"), "{text}");
    assert!(text.contains("no collective in which every rank waits for every other"), "{text}");
    // A stage with half as much again to do: 30 of 25 in the mean of 20, 20, 20 and 30... which is 22.5.
    for batch in 0..20 {
        let start = 23_000_000 + batch * 500_000;
        run.compute(3, "head", start, start + 500_000);
    }
    let answer = json(&[&run.write(&folder, "uneven")]);
    assert!((number(&answer["pipeline"]["imbalance"]) - 30.0 / 22.5).abs() < 1e-9, "{answer}");
    assert_eq!(answer["pipeline"]["longest_rank"], 3);
}

/// A grid of four by three ranks: each row and each column is a communicator; whatever rank 6 takes part in is slow.
fn grid() -> Run {
    let mut run = Run::new(12);
    let mut began = 1_000_000;
    for step in 0..12 {
        for by_row in [true, false] {
            let (lines, length) = if by_row { (3, 4) } else { (4, 3) };
            let mut ends = Vec::new();
            for line in 0..lines {
                let ranks: Vec<usize> =
                    (0..length).map(|at| if by_row { line * 4 + at } else { at * 4 + line }).collect();
                let takes =
                    1_000_000 + Random((step * 16 + line * 2 + usize::from(by_row)) as u64).below(200_000) as i64;
                let starts: Vec<(usize, i64)> = ranks.iter().map(|rank| (*rank, began + takes)).collect();
                starts.iter().for_each(|(rank, start)| run.compute(*rank, "gemm", began, *start));
                let ns = if ranks.contains(&6) { 900_000 } else { 400_000 };
                ends.push(run.all_reduce(&starts, ns, 10_000_000, if by_row { 20 } else { 30 }));
            }
            began = ends.into_iter().max().expect("an end");
        }
    }
    run
}

#[test]
fn a_slow_link_is_found_by_communicators_that_do_the_same() {
    let folder = TempFolder::new("cli-ranks-link");
    let path = grid().write(&folder, "grid");
    let answer = json(&[&path]);
    let links = &answer["slow_links"];
    assert_eq!(rows(&links["communicators"]).len(), 2, "{answer}");
    assert_eq!(links["shared_by_ranks"], json!([6]), "{answer}");
    assert_eq!(answer["verdict"], "no straggler", "{answer}");
    assert_eq!(rows(&answer["communicators"]).len(), 7, "{answer}");
    assert!(ranks(&[&path]).1.contains("All slow communicators share rank 6."));
}

#[test]
fn communicators_that_no_trace_names_are_found_by_when_their_collectives_end() {
    let folder = TempFolder::new("cli-ranks-unnamed");
    let mut run = grid();
    run.clocks = BTreeMap::from([(4, (5_000_000, 30.0)), (7, (-800_000, 0.0))]);
    for rank in 0..12 {
        folder.file(&format!("run/rank{rank}.json"), run.kineto(rank, false).as_bytes());
    }
    let path = folder.path().join("run").to_str().expect("UTF-8").to_owned();
    let answer = json(&[&path]);
    let mut found: Vec<&str> =
        rows(&answer["communicators"]).iter().filter_map(|row| row["Communicator"].as_str()).collect();
    found.sort_unstable();
    let expected = [
        "communicator 1 [0, 1, 2, 3]",
        "communicator 2 [0, 4, 8]",
        "communicator 3 [1, 5, 9]",
        "communicator 4 [2, 6, 10]",
        "communicator 5 [3, 7, 11]",
        "communicator 6 [4, 5, 6, 7]",
        "communicator 7 [8, 9, 10, 11]",
    ];
    assert_eq!(found, expected, "{answer}");
    assert_eq!((&answer["collectives_in_all"], &answer["verdict"]), (&84.into(), &"no straggler".into()));
    let ahead = rows(&answer["ranks"])[7]["Clock Ahead (ns)"].as_i64().expect("a number");
    assert!((ahead + 800_000).abs() < 10, "{answer}");
}

#[test]
fn recordings_that_began_at_other_moments_are_matched() {
    let folder = TempFolder::new("cli-ranks-shifted");
    let mut run = with_slow(4, 3, 2_000_000, 0);
    let whole = json(&[&run.write(&folder, "whole")]);
    run.kernels[1].retain(|kernel| kernel.start > 50_000_000);
    let answer = json(&[&run.write(&folder, "cut")]);
    assert_eq!(answer["stragglers"][0]["rank"], 3, "{answer}");
    assert_eq!(answer["stragglers"][0]["last"], whole["stragglers"][0]["last"]);
    let notes = answer["notes"].to_string();
    assert!(notes.contains("rank 1: its recording has 3 fewer of group 0 [0, 1, 2, 3] AllReduce"), "{notes}");
    assert_eq!(rows(&answer["ranks"])[1]["Clock Ahead (ns)"], 0, "{answer}");
}

#[test]
fn traces_that_say_nothing_about_collectives_are_matched_by_their_streams() {
    let folder = TempFolder::new("cli-ranks-native");
    // Native traces: names of kernels alone.
    let run = with_slow(4, 2, 1_000_000, 0);
    for rank in 0..4 {
        let mut story = Story::empty();
        story.pid = 100 + rank as u32;
        story.rank = Some((rank as u32, 4));
        story.devices = vec!["NVIDIA H100".into()];
        story.epoch = Some(BASE_NS);
        for kernel in &run.kernels[rank] {
            story = story.with_kernel(Name::plain(kernel.name), kernel.start, kernel.end - kernel.start);
            story.kernels.last_mut().expect("a kernel").stream = kernel.stream;
        }
        let mut file = Vec::new();
        let options = Native { host: if rank < 2 { "node7" } else { "node8" }, ..Native::default() };
        let mut writer = NativeWriter::begin(&mut file, &story, options);
        writer.kernels(&story.kernels);
        let memory = |start_ns, operation, address, bytes| MemoryRow {
            start_ns,
            operation,
            mem_kind: 3,
            address,
            bytes,
            ..MemoryRow::default()
        };
        // A gibibyte more for each rank, and as much again that is released before.
        let most = (1 + rank as i64) << 30;
        writer.rows(vec![memory(1, 1, 16, most / 2), memory(2, 2, 16, 0), memory(3, 1, 32, most)]);
        writer.rest(&story);
        writer.close();
        folder.file(&format!("run/{rank}.gpuprof"), &file);
    }
    let path = folder.path().join("run").to_str().expect("UTF-8").to_owned();
    let answer = json(&[&path]);
    assert_eq!(
        (&answer["stragglers"][0]["rank"], &answer["numbered_by"]),
        (&2.into(), &"trace".into()),
        "{answer}"
    );
    let row = &rows(&answer["ranks"])[3];
    assert_eq!((&row["Host"], &row["GPU"]), (&"node8".into(), &"NVIDIA H100".into()), "{row}");
    assert_eq!(row["Peak Memory (bytes)"], 4_i64 << 30, "{row}");
    // 4 of a mean of 2.5.
    assert_eq!((&answer["memory"]["imbalance"], &answer["memory"]["most_rank"]), (&1.6.into(), &3.into()));
    assert_eq!(answer["slow_links"]["reason"], "the traces do not say how many bytes collectives move");
    let text = ranks(&[&path]).1;
    assert!(text.contains("Bandwidth is not known: the traces do not say how many bytes"), "{text}");
    assert!(
        text.contains("Memory: rank 3 had the most allocated at a time (4.0 GiB), rank 0 the least (1.0 GiB)"),
        "{text}"
    );
}

#[test]
fn what_cannot_be_judged_is_said_by_name() {
    let folder = TempFolder::new("cli-ranks-abstains");
    let run = with_slow(6, 2, 1_000_000, 0);
    let file = |name: &str, rank: usize| folder.argument(name, run.kineto(rank, true).as_bytes());
    let (zero, one, again) = (file("a/0.json", 0), file("a/1.json", 1), file("b/1.json", 1));
    // One rank only.
    let (status, text, _) = ranks(&[&zero]);
    assert_eq!(status, 4, "{text}");
    assert!(text.contains("there is one rank only: rank 0 of 6"), "{text}");
    // A rank twice.
    let (status, text, _) = ranks(&[&zero, &one, &again]);
    assert_eq!(status, 4, "{text}");
    assert!(text.contains("rank 1 is there twice") && text.contains("b/1.json"), "{text}");
    let answer = json(&[&zero, &one, &again]);
    assert!(answer["reason"].as_str().is_some_and(|why| why.contains("twice")), "{answer}");
    // Fewer than half of them.
    let (status, text, _) = ranks(&[&zero, &one]);
    assert_eq!(status, 0, "{text}");
    assert!(text.starts_with("Stragglers cannot be named: 2 of 6 ranks are there"), "{text}");
    assert!(text.contains("4 of 6 ranks are missing: ranks 2 to 5."), "{text}");
    // Most of them: named, and that some are missing.
    let (three, four) = (file("a/3.json", 3), file("a/4.json", 4));
    let two = file("a/2.json", 2);
    let (status, text, _) = ranks(&[&zero, &one, &two, &three, &four]);
    assert_eq!(status, 0, "{text}");
    assert!(text.starts_with("Rank 2 is late"), "{text}");
    assert!(text.contains("1 of 6 ranks is missing: rank 5. The latest of all may be among them."), "{text}");
    // No collectives.
    let mut silent = run.clone();
    silent.kernels.iter_mut().for_each(|kernels| kernels.retain(|kernel| kernel.group.is_none()));
    let (status, text, _) = ranks(&[&silent.write(&folder, "silent")]);
    assert_eq!(status, 0, "{text}");
    assert!(text.contains("no kernel of NCCL or RCCL was recorded"), "{text}");
    // Collectives of which every rank has others.
    let mut mixed = run.clone();
    for (rank, kernels) in mixed.kernels.iter_mut().enumerate() {
        let mut random = Random(rank as u64 + 77);
        for kernel in kernels.iter_mut().filter(|kernel| kernel.group.is_some()) {
            let late = random.below(400_000_000) as i64;
            (kernel.start, kernel.end) = (kernel.start + late, kernel.end + late);
        }
    }
    let (status, text, _) = ranks(&[&mixed.write(&folder, "mixed")]);
    assert_eq!(status, 0, "{text}");
    assert!(text.contains("The clocks of the ranks cannot be put on one time for the same reason."), "{text}");
    let answer = json(&[&mixed.write(&folder, "mixed")]);
    assert_eq!((&answer["verdict"], &answer["stragglers"]), (&"cannot be judged".into(), &Value::Null));
}

#[test]
fn every_format_has_the_rows() {
    let folder = TempFolder::new("cli-ranks-formats");
    let path = with_slow(4, 1, 1_000_000, 0).write(&folder, "run");
    let csv = gpuprof(&["ranks", &path, "--format", "csv"]).stdout;
    assert!(csv.starts_with("Rank,Host,GPU,Observed (ns),Compute (ns)"), "{csv}");
    assert_eq!(csv.lines().count(), 5, "{csv}");
    let csv = gpuprof(&["ranks", &path, "--format", "csv", "--rows", "communicators"]).stdout;
    assert_eq!(csv.lines().count(), 2, "{csv}");
    let csv = gpuprof(&["ranks", &path, "--format", "csv", "--rows", "collectives", "--top", "3"]).stdout;
    assert_eq!(csv.lines().count(), 4, "{csv}");
    let markdown = gpuprof(&["ranks", &path, "--format", "markdown"]).stdout;
    assert!(markdown.starts_with("### Rank 1 is late") && markdown.contains("| 3"), "{markdown}");
    let text = gpuprof(&["ranks", &path, "--rows", "communicators"]).stdout;
    assert!(text.lines().last().is_some_and(|line| line.ends_with("group 0 [0, 1, 2, 3]")), "{text}");
    let text = gpuprof(&["ranks", &path, "--rows", "collectives", "--top", "1"]).stdout;
    assert!(text.lines().last().is_some_and(|line| line.contains("AllReduce")), "{text}");
}

#[test]
fn the_answer_does_not_depend_on_names_of_files_or_threads() {
    let folder = TempFolder::new("cli-ranks-order");
    let run = with_slow(4, 1, 1_000_000, 0);
    for rank in 0..4 {
        folder.file(&format!("a/{rank}.json"), run.kineto(rank, true).as_bytes());
        folder.file(&format!("b/{}.json", 9 - rank), run.kineto(rank, true).as_bytes());
    }
    let answer = |name: &str, threads: &str| {
        let path = folder.path().join(name);
        let output = command(&["ranks", path.to_str().expect("UTF-8"), "--format", "json"])
            .env("RAYON_NUM_THREADS", threads)
            .output()
            .expect("gpuprof runs");
        let mut answer: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let rows = answer["ranks"].as_array_mut().expect("rows");
        rows.iter_mut().for_each(|row| row["Trace"] = Value::Null);
        answer
    };
    let first = answer("a", "1");
    assert_eq!(answer("a", "4"), first);
    assert_eq!(answer("b", "2"), first);
}

#[test]
fn a_range_chooses_the_steps_that_are_judged() {
    let folder = TempFolder::new("cli-ranks-range");
    let run = with_slow(4, 1, 1_000_000, 0);
    let path = run.write(&folder, "run");
    let is_inside = |kernel: &&Kernel| kernel.group.is_some() && kernel.start - LAUNCH_NS >= RANGE_NS;
    let inside: Vec<usize> = run.kernels.iter().map(|of_rank| of_rank.iter().filter(is_inside).count()).collect();
    assert!((5..20).contains(&inside[0]) && inside.iter().all(|count| *count == inside[0]), "{inside:?}");
    let answer = json(&[&path, "--range", "ProfilerStep*"]);
    assert_eq!((&answer["collectives_in_all"], &answer["stragglers"][0]["rank"]), (&inside[0].into(), &1.into()));
    assert_eq!(json(&[&path])["collectives_in_all"], 20);
}

#[test]
fn listings_can_be_put_on_one_time() {
    let folder = TempFolder::new("cli-ranks-align");
    let mut run = with_slow(4, 1, 1_000_000, 0);
    run.clocks = BTreeMap::from([(1, (350_000, 0.0)), (3, (-2_000_000, 0.0))]);
    let path = run.write(&folder, "run");
    let ends = |how: &str| -> Vec<i64> {
        let args = ["report", &path, "--view", "cuda_gpu_trace", "--format", "json", "--align", how];
        let answer = gpuprof(&args);
        let document: Value = serde_json::from_str(&answer.stdout).expect("JSON");
        let list = &document["tables"][0]["rows"];
        let is_collective = |row: &&Value| row["Name"].as_str().is_some_and(|name| name.starts_with("nccl"));
        let end =
            |row: &Value| row["Start (ns)"].as_i64().expect("ns") + row["Duration (ns)"].as_i64().expect("ns");
        let mut ends: Vec<i64> = rows(list).iter().filter(is_collective).map(end).collect();
        ends.sort_unstable();
        ends.dedup();
        assert!(how == "clock" || answer.stderr.contains("times are those of rank 0"), "{}", answer.stderr);
        ends
    };
    // Of four ranks, two with a clock of their own, each collective has three ends; on one time it has one.
    assert_eq!(ends("clock").len(), 60);
    assert_eq!(ends("collectives").len(), 20);
    let alone = folder.path().join("run/rank0.json");
    let words = ["--align collectives", "one rank only", "--align clock"];
    refused(&["report", alone.to_str().expect("UTF-8"), "--align", "collectives"], &words);
}

#[test]
fn real_traces_of_several_ranks_are_judged_or_the_reason_is_said() {
    let Some(data) = shared("real_traces_of_several_ranks_are_judged_or_the_reason_is_said") else { return };
    let path = |name: &str| data.join("data").join(name).to_str().expect("UTF-8").to_owned();
    // Two of 128 ranks, of whose records some were chosen.
    let (zero, one) = (path("torch/ddp_sampled_rank0.json.gz"), path("torch/ddp_sampled_rank1.json.gz"));
    let answer = json(&[&zero, &one]);
    assert_eq!((&answer["verdict"], &answer["world_size"]), (&"cannot be judged".into(), &128.into()), "{answer}");
    assert_eq!(answer["missing"].as_array().map(Vec::len), Some(126), "{answer}");
    // Two processes in one database, and four GPUs of one process.
    for (name, count) in [("nsys/fsdp_h100x2_nvtx_2026.2_s3.25.sqlite", 2), ("nvprof/nccl_demo_v100x4_v16.nvvp", 4)]
    {
        let answer = json(&[&path(name)]);
        assert_eq!((&answer["ranks_in_all"], &answer["numbered_by"]), (&count.into(), &"order".into()), "{answer}");
        assert_eq!(answer["verdict"], "cannot be judged", "{answer}");
    }
    // Four communicators of two to four GPUs that no trace names: the ends of their collectives lie milliseconds apart.
    let answer = json(&[&path("nvprof/nccl_demo_v100x4_v16.nvvp")]);
    let why = answer["reason"].as_str().unwrap_or_default();
    assert!(why.contains("scatter by 14.7 ms at the median"), "{answer}");
}
