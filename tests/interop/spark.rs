//! Apache Spark, on two workers, makes the same tables of a dataset as `report` makes of the traces, to the digit.

use crate::common::build::{Copy, Kernel, Name, Story, native};
use crate::common::everything::everything;
use crate::common::tools::python;
use crate::common::{TempFolder, command, gpuprof, refused, skip};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Two workers of one core each.
const MASTER: &str = "local-cluster[2,1,1024]";

/// What Spark can make.
const VIEWS: &str = "cuda_gpu_kern_sum,cuda_gpu_mem_time_sum,cuda_api_sum,nvtx_sum,gpu_time_breakdown,gpu_gaps";

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
    native(&story)
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
        for (found, expected) in
            tables.as_array().expect("tables").iter().zip(expected[0].as_array().expect("tables"))
        {
            assert_eq!(found, expected, "{place}");
        }
        assert_eq!([tables, absent], expected, "{place}");
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
