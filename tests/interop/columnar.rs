//! DuckDB, pandas, Polars and pyarrow open what `export` writes as Parquet, Arrow and CSV, and see the same rows.

use crate::common::build::{Story, native};
use crate::common::everything::everything;
use crate::common::tools::python;
use crate::common::{TempFolder, gpuprof};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

#[test]
fn the_libraries_people_use_read_tables_and_timelines() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/interop");
    let test = "columnar::the_libraries_people_use_read_tables_and_timelines";
    let Some(python) = python(test, "columnar", &here.join("columnar-requirements.txt")) else { return };
    let folder = TempFolder::new("interop-columnar");
    // Among them a row that has no time.
    let story = Story { rank: Some((3, 8)), losses: vec![(2, 1)], ..Story::sample(5_000).with_ranges() };
    let trace = folder.argument("trace.gpuprof", &native(&story));
    let out = |name: &str| folder.path().join(name).to_str().expect("a path").to_owned();
    let [parquet, arrow, parts, csv, lines] =
        ["parquet", "arrow", "parts", "timeline.csv", "timeline.jsonl"].map(out);
    gpuprof(&["export", "-q", "-F", "parquet", &trace, "-o", &parquet]);
    gpuprof(&["export", "-q", "-F", "arrow", &trace, "-o", &arrow]);
    gpuprof(&["export", "-q", "-F", "parquet", &trace, "-o", &parts, "--option", "partition=host,rank"]);
    gpuprof(&["export", "-q", &trace, "-o", &csv]);
    gpuprof(&["export", "-q", &trace, "-o", &lines]);
    // Every table and every column, hostile names, several processes.
    let first = folder.argument("first.gpuprof", &everything(11, Some(1_700_000_000_000_000_000), 1_000));
    let second = folder.argument("second.gpuprof", &everything(12, Some(1_700_000_000_000_000_000), 5_000));
    let all = out("everything");
    gpuprof(&["export", "-q", "-F", "parquet", &first, &second, "-o", &all]);
    let output = Command::new(python)
        .arg(here.join("columnar.py"))
        .args([&parquet, &arrow, &parts, &csv, &lines, &all])
        .output()
        .expect("Python");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let seen: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let seen = seen.as_object().expect("an object");
    let names: BTreeSet<&[u8]> = story.kernels.iter().map(|kernel| kernel.name.mangled.as_slice()).collect();
    let total: i64 = story.kernels.iter().map(|kernel| kernel.end - kernel.start).sum();
    let expected = serde_json::json!({"rows": story.kernels.len(), "total_ns": total, "names": names.len()});
    assert_eq!(seen.len(), 13);
    for (reader, what) in seen
        .iter()
        .filter(|(reader, _)| !["parquet", "timeline", "differences", "chunks"].contains(&reader.as_str()))
    {
        assert_eq!(*what, expected, "{reader}");
    }
    assert_eq!(seen["differences"], serde_json::json!([]));
    let timeline = serde_json::json!({
        "type_of_start": "int64", "starts_as_json_has_them": true, "columns_only_in_csv": [],
    });
    assert_eq!(seen["timeline"], timeline);
    assert!(seen["chunks"].as_u64() > Some(150), "column chunks looked at: {}", seen["chunks"]);
    let file = &seen["parquet"];
    let expected = serde_json::json!({
        "compression": "ZSTD", "has_statistics": true, "least_start": true, "sorted": true,
        "unit_of_start": "ns", "clock": "unix",
    });
    assert_eq!(*file, expected);
}
