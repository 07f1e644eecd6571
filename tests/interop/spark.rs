//! Apache Spark, on two workers, makes the same tables of a dataset as `report` makes of the traces, to the digit.

use crate::common::build::{Copy, Kernel, Name, NvtxRange, Story, THREAD, native};
use crate::common::everything::everything;
use crate::common::tools::python;
use crate::common::{TempFolder, command, gpuprof, refused, skip};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Two workers of one core each.
const MASTER: &str = "local-cluster[2,1,1024]";

/// What Spark can make.
const VIEWS: &str =
    "cuda_gpu_kern_sum,cuda_gpu_mem_time_sum,cuda_api_sum,nvtx_sum,gpu_time_breakdown,gpu_gaps,steps,steps_sum";

/// The folder of an installation; `None`: it cannot be had here, which is said.
fn spark(test: &str) -> Option<PathBuf> {
    let java = Command::new("java").arg("-version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !java.is_ok_and(|status| status.success()) {
        skip(test, "there is no Java for Spark");
        return None;
    }
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/interop");
    let python = python(test, "spark", &here.join("spark-requirements.txt"))?;
    let found = Command::new(python).args(["-c", "import pyspark; print(pyspark.__path__[0])"]).output();
    Some(PathBuf::from(String::from_utf8(found.expect("Python").stdout).expect("a path").trim()))
}

/// A rank that communicates, copies while it computes, and does nothing for a while.
fn rank(number: u32) -> Vec<u8> {
    let mut story = Story { pid: 100 + number, rank: Some((number, 3)), ..Story::sample(300).with_ranges() };
    let kernel = |name: &str, start: i64, end: i64, stream: u32, correlation: u64| Kernel {
        name: Name::plain(name),
        start,
        end,
        device: 0,
        context: 1,
        stream,
        correlation,
        grid: [1, 1, 1],
        block: [32, 1, 1],
    };
    let names = [
        "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        "void ncclKernel<1>(int)",
        "rcclGenericKernel",
        "my_ncclKernel",
        "ncclPadding",
        "o'clock \"quoted\" back\\slash",
        "two\nlines\tand a tab",
    ];
    let begin = 40_000_000 + i64::from(number) * 1_000;
    for (at, name) in (0..).zip(names.iter().cycle().take(70)) {
        let start = begin + at * 7_001;
        let correlation = 1_000_000 + at as u64;
        story.kernels.push(kernel(name, start, start + 9_000 + at * 13, 8 + (at % 2) as u32, correlation));
    }
    let copy = Copy { start: begin, end: begin + 300_000, kind: 1, bytes: 1 << 20, ..story.copies[0].clone() };
    story.copies.push(copy);
    // Half a second and more, twice.
    let mut late = begin + 700_000_000 + i64::from(number);
    for correlation in [2_000_000, 2_000_001] {
        story.kernels.push(kernel("late", late, late + 5, 7, correlation));
        late += 500_000_005;
    }
    story.ranges.retain(|range| !["step", "epoch"].contains(&range.name.as_str()));
    story.ranges.extend(steps(number));
    native(&story)
}

/// Steps of twenty launches each, the first of which takes long, in an epoch that is still open, with ranges inside of them, and
/// ranges of other threads that could be taken for steps. What is launched last in a step runs behind it. Rank 2 has none.
fn steps(rank: u32) -> Vec<NvtxRange> {
    let range = |name: String, start: i64, end: Option<i64>, style: u32, tid: u32| NvtxRange {
        name,
        domain: (tid != THREAD).then(|| "o'loader".to_owned()),
        start,
        end,
        style,
        tid,
    };
    if rank == 2 {
        return Vec::new();
    }
    let launch = |i: i64| 10_000_000 + i * 50_000 - 20_000 - i64::from(rank);
    // Deeper ones of another thread give way to those of the thread that launches.
    let outer = [(THREAD, "epoch 1"), (THREAD + 7, "worker"), (THREAD + 7, "loading")];
    let mut ranges: Vec<NvtxRange> =
        (0..).zip(outer).map(|(at, (tid, name))| range(name.into(), launch(-4) + at, None, 0, tid)).collect();
    for step in 1..12 {
        let (first, next) = if step == 1 { (0, 60) } else { (step * 20 + 20, step * 20 + 40) };
        let (start, end) = (launch(first) - 2_000, launch(next) - 3_000 - step * 17);
        ranges.push(range(format!("ProfilerStep#{step}"), start, Some(end), 0, THREAD));
        ranges.push(range(format!("forward {step}"), start + 500, Some(start + 300_000), 0, THREAD));
        // Inside of a step, longer names, and as long as the steps but deeper.
        ranges.push(range("optimizer.step".into(), start + 400_000, Some(end - 100), 0, THREAD));
        ranges.push(range(format!("batch {step}"), start + 5, Some(end - 5), 0, THREAD));
        ranges.push(range(format!("Iteration {step}"), start + 7, Some(end - 400_000), 0, THREAD + 7));
        // They overlap, so they are none.
        ranges.push(range(format!("step_{step}"), start, Some(end + 10_000), 1, THREAD + 8));
    }
    ranges
}

/// The tables, and which records there are none of.
fn answered(answer: &str) -> [Value; 2] {
    let answer: Value = serde_json::from_str(answer).expect("JSON");
    assert_eq!(answer["schema"], "gpuprof/report/1");
    [answer["tables"].clone(), answer["absent"].clone()]
}

#[test]
fn spark_makes_the_same_tables_as_report() {
    let Some(spark) = spark("spark::spark_makes_the_same_tables_as_report") else { return };
    let spark = spark.to_str().expect("a path");
    let folder = TempFolder::new("interop-spark");
    let mut traces: Vec<String> =
        (0..3).map(|number| folder.argument(&format!("rank{number}.gpuprof"), &rank(number))).collect();
    // Every table and every column, hostile names.
    traces.push(folder.argument("everything.gpuprof", &everything(11, Some(1_700_000_000_000_000_000), 1_000)));
    let traces: Vec<&str> = traces.iter().map(String::as_str).collect();
    let out = |name: &str| folder.path().join(name).to_str().expect("a path").to_owned();
    let (parts, whole) = (out("by rank"), out("whole"));
    gpuprof(
        &[&["export", "-q", "-F", "parquet", "-o", &parts, "--option", "partition=rank,pid"], &traces[..]].concat(),
    );
    gpuprof(&[&["export", "-q", "-F", "parquet", "-o", &whole], &traces[..]].concat());

    let here = gpuprof(&[&["report", "--view", VIEWS, "--format", "json", "--raw"], &traces[..]].concat());
    assert_eq!(here.status, 0, "{}", here.stderr);
    let expected = answered(&here.stdout);
    for table in expected[0].as_array().expect("tables") {
        assert!(table["rows"].as_array().is_some_and(|rows| rows.len() > 1), "{table}");
    }
    let check = |place: &str, master: &str| {
        // As a user whose environment names another Spark.
        let options = ["--master", master, "--spark", spark, "--format", "json"];
        let arguments = [&["cluster", "report", place, "--view", VIEWS], &options[..]].concat();
        // Spark takes its time to begin, on slow machines more than other programs may.
        let answer = command(&arguments).env("SPARK_HOME", "/nowhere").output().expect("gpuprof runs");
        assert!(answer.status.success(), "{}", String::from_utf8_lossy(&answer.stderr));
        let answer = String::from_utf8(answer.stdout).expect("UTF-8");
        let [tables, absent] = answered(&answer);
        let [mut tables, absent] = [tables, absent];
        let mut here = expected[0].clone();
        let (found, expected_tables) =
            (tables.as_array_mut().expect("tables"), here.as_array_mut().expect("tables"));
        // Spark looks for no other steps than those that are called so, and says of which processes.
        let summary = found.iter().find(|table| table["name"] == "steps_sum").expect("a summary").clone();
        let rows = summary["rows"].as_array().expect("rows").iter();
        let (named, others): (Vec<&Value>, Vec<&Value>) =
            rows.partition(|row| row["Found by"] == "ranges ProfilerStep#*");
        assert_eq!(named.iter().map(|row| row["PID"].as_u64()).collect::<Vec<_>>(), [Some(100), Some(101)]);
        for row in &others {
            assert_eq!(row["Found by"], "none: no range is called like a step, and Spark looks for no others");
        }
        let is_named = |row: &Value| named.iter().any(|of| of["PID"] == row["PID"]);
        for table in found.iter_mut().chain(expected_tables.iter_mut()) {
            if table["name"].as_str().is_some_and(|name| name.starts_with("steps")) {
                table["rows"].as_array_mut().expect("rows").retain(is_named);
            }
        }
        for (found, expected) in found.iter().zip(expected_tables.iter()) {
            assert_eq!(found, expected, "{place}");
        }
        let steps = found.iter().find(|table| table["name"] == "steps").expect("steps");
        assert_eq!(steps["rows"].as_array().expect("rows").len(), 22);
        assert_eq!((tables, absent), (here, expected[1].clone()), "{place}");
    };
    check(&parts, MASTER);
    check(&whole, "local[2]");
    // A place that only Spark can look into.
    check(&format!("file://{whole}/"), "local[2]");

    // What is not whole is refused before anything is added up.
    let kernels = folder.path().join("whole/kernel.parquet");
    let bytes = std::fs::read(&kernels).expect("kernels");
    std::fs::write(&kernels, &bytes[..bytes.len() - 1]).expect("cut");
    let cut = ["cluster", "report", &whole, "--master", "local", "--spark", spark];
    refused(&cut, &["kernel.parquet", "copy the whole export again"]);
    std::fs::remove_file(&kernels).expect("gone");
    refused(&cut, &["kernel.parquet", "No such file"]);
}
