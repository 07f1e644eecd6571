//! Imports every nvprof and nsys database of the shared collection and compares counts and totals with what an
//! independent script computed. `GPUPROF_SHARED` says where the collection is; without it every file is skipped.

#![allow(clippy::panic, clippy::unwrap_used)] // A test may fail in its helpers too.

use gpuprof::import::{Head, IMPORTERS};
use gpuprof::trace::names::{Names, Shapes};
use gpuprof::trace::sink::{Detail, Need, Sink};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use trace_format::columns::{Batch, Values};
use trace_format::tables;

fn shared() -> PathBuf {
    std::env::var_os("GPUPROF_SHARED").map_or_else(|| PathBuf::from("../shared"), PathBuf::from)
}

/// Count, total, smallest, largest duration and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sums {
    count: i64,
    total: i64,
    min: i64,
    max: i64,
    bytes: i64,
}

impl Sums {
    fn add(&mut self, duration: Option<i64>, bytes: i64) {
        let Some(duration) = duration else { return };
        self.min = if self.count == 0 { duration } else { self.min.min(duration) };
        self.max = self.max.max(duration);
        self.count += 1;
        self.total += duration;
        self.bytes += bytes;
    }

    fn of(truth: &Value) -> Sums {
        let number = |key: &str| truth[key].as_i64().unwrap_or(0);
        Sums {
            count: number("count"),
            total: number("total_ns"),
            min: number("min_ns"),
            max: number("max_ns"),
            bytes: number("bytes"),
        }
    }
}

fn integer(batch: &Batch, column: &str, row: usize) -> Option<i64> {
    let column = batch.column(column).unwrap_or_else(|| panic!("{} has no {column}", batch.table.name));
    if column.is_null(row) {
        return None;
    }
    match &column.values {
        Values::U32(v) => Some(i64::from(v[row])),
        Values::U64(v) => Some(v[row] as i64),
        Values::I64(v) => Some(v[row]),
        other => panic!("{other:?} is no integer column"),
    }
}

/// Everything that the truth files state and an import can be asked.
#[derive(Debug, Default, PartialEq)]
struct Found {
    kernels: BTreeMap<String, Sums>,
    kernels_by_base: BTreeMap<String, Sums>,
    copies: BTreeMap<String, Sums>,
    fills: Sums,
    calls: BTreeMap<(i64, String), Sums>,
    ranges: BTreeMap<String, Sums>,
    range_rows: i64,
    span: Option<(i64, i64)>,
    streams: BTreeSet<(usize, i64, i64, i64)>,
    devices: BTreeMap<i64, String>,
    rows: BTreeMap<&'static str, i64>,
}

fn import(path: &Path, need: &Need) -> (Found, Vec<String>, String) {
    let (mut names, mut shapes) = (Names::default(), Shapes::default());
    let head = Head::read(path).expect("the file can be read");
    let importer = IMPORTERS.iter().find(|i| i.sniff(&head)).unwrap_or_else(|| panic!("nobody reads {path:?}"));
    let mut sink = Sink::new(&mut names, &mut shapes);
    importer.read(path, need, &mut sink).unwrap_or_else(|e| panic!("{e}"));
    sink.finish();
    let notes = sink.notes.iter().map(|note| format!("{}: {}", note.code, note.text)).collect();
    let origin = sink.origin.clone();
    let processes = std::mem::take(&mut sink.processes);
    let mut found = Found::default();
    for (index, process) in processes.iter().enumerate() {
        for batch in &process.batches {
            *found.rows.entry(batch.table.name).or_default() += batch.rows as i64;
            for row in 0..batch.rows {
                add(&mut found, index, batch, row, &names, &shapes);
            }
        }
    }
    (found, notes, origin)
}

fn add(found: &mut Found, process: usize, batch: &Batch, row: usize, names: &Names, shapes: &Shapes) {
    let name = |id: Option<i64>| names.text(id.unwrap_or(0) as u32).into_owned();
    let get = |column: &str| integer(batch, column, row);
    if batch.table == &tables::RANGE {
        found.range_rows += 1;
        let duration = get("end_ns").map(|end| end - get("start_ns").unwrap_or(0));
        found.ranges.entry(name(get("name_id"))).or_default().add(duration, 0);
        return;
    }
    if batch.table == &tables::DEVICE {
        found.devices.insert(get("device").unwrap_or(0), name(get("name_id")));
        return;
    }
    let gpu = [&tables::KERNEL, &tables::MEMCPY, &tables::MEMSET].contains(&batch.table);
    if !gpu && batch.table != &tables::API {
        return;
    }
    let (start, duration) = (get("start_ns").unwrap_or(0), get("duration_ns"));
    if batch.table == &tables::API {
        let domain = get("domain").unwrap_or(0);
        found.calls.entry((domain, name(get("name_id")))).or_default().add(duration, 0);
        return;
    }
    if let Some(duration) = duration {
        let (low, high) = found.span.unwrap_or((start, start));
        found.span = Some((low.min(start), high.max(start + duration)));
    }
    let stream = |column: &str| get(column).unwrap_or(0);
    found.streams.insert((process, stream("device"), stream("context"), stream("stream")));
    if batch.table == &tables::KERNEL {
        let shape = shapes.get(get("shape_id").unwrap_or(0) as u32).expect("a shape");
        let printed = shape.demangled_id.unwrap_or(shape.name_id);
        found.kernels.entry(names.text(printed).into_owned()).or_default().add(duration, 0);
        let base = names.text(shape.base_id.unwrap_or(0)).into_owned();
        found.kernels_by_base.entry(base).or_default().add(duration, 0);
    } else if batch.table == &tables::MEMCPY {
        let kind = get("kind").unwrap_or(0) as u32;
        let kind = gpuprof::cupti::codes::word(gpuprof::cupti::codes::MEMCPY_KIND, kind).unwrap_or("?");
        found.copies.entry(kind.to_owned()).or_default().add(duration, get("bytes").unwrap_or(0));
    } else {
        found.fills.add(duration, get("bytes").unwrap_or(0));
    }
}

/// Rows of the truth by the text of `key`.
fn by_key(truth: &Value, key: &str) -> BTreeMap<String, Sums> {
    let rows = truth.as_array().map_or(&[][..], Vec::as_slice);
    rows.iter().map(|row| (row[key].as_str().unwrap_or("").to_owned(), Sums::of(row))).collect()
}

fn compare(path: &Path, truth: &Value) {
    let (found, notes, origin) = import(path, &Need::all());
    let file = path.display();
    // nvprof's names are mangled, nsys's demangled; both are what the file holds.
    let mangled = truth["kernels"].as_array().is_some_and(|rows| rows.iter().any(|row| !row["mangled"].is_null()));
    let kernels = by_key(&truth["kernels"], if mangled { "mangled" } else { "name" });
    assert_eq!(found.kernels, kernels, "{file}: kernels");
    if !truth["kernels_by_short_name"].is_null() {
        assert_eq!(found.kernels_by_base, by_key(&truth["kernels_by_short_name"], "name"), "{file}: base names");
    }
    assert_eq!(found.copies, by_key(&truth["memcpy"], "kind"), "{file}: copies");
    let fills = truth["memset"].as_array().and_then(|rows| rows.first()).map(Sums::of).unwrap_or_default();
    assert_eq!(found.fills, fills, "{file}: fills");
    let calls: BTreeMap<(i64, String), Sums> = truth["api"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|row| {
            let domain = i64::from(row["domain"] == "driver");
            ((domain, row["name_raw"].as_str().unwrap_or("").to_owned()), Sums::of(row))
        })
        .collect();
    assert_eq!(found.calls, calls, "{file}: API calls");
    for row in truth["api"].as_array().into_iter().flatten() {
        let raw = row["name_raw"].as_str().unwrap_or("");
        assert_eq!(gpuprof::cupti::strip_version(raw), row["name"].as_str().unwrap_or(""), "{file}: {raw}");
    }
    for (table, key) in [("kernel", "kernel"), ("memcpy", "memcpy"), ("memset", "memset"), ("api", "api")] {
        let rows = found.rows.get(table).copied().unwrap_or(0);
        assert_eq!(Some(rows), truth["records"][key].as_i64(), "{file}: rows of {table}");
    }
    let total: i64 = found.kernels.values().map(|sums| sums.total).sum();
    assert_eq!(Some(total), truth["kernel_total_ns"].as_i64(), "{file}: kernel time");
    let span = &truth["gpu_span"];
    assert_eq!(found.span, Some((span["start"].as_i64().unwrap(), span["end"].as_i64().unwrap())), "{file}: span");
    // The truth counts streams by device and stream.
    let streams: BTreeSet<(i64, i64)> =
        found.streams.iter().map(|&(_, device, _, stream)| (device, stream)).collect();
    assert_eq!(Some(streams.len() as i64), truth["gpu_streams"].as_i64(), "{file}: streams");
    for device in truth["devices"].as_array().into_iter().flatten() {
        let name = found.devices.get(&device["id"].as_i64().unwrap());
        assert_eq!(name.map(String::as_str), device["name"].as_str(), "{file}: device {}", device["id"]);
    }
    if let Some(ranges) = truth["nvtx_ranges_total"].as_i64() {
        assert_eq!(found.range_rows, ranges, "{file}: ranges");
        for (name, sums) in by_key(&truth["nvtx_ranges_top20"], "name") {
            assert_eq!(found.ranges.get(&name), Some(&sums), "{file}: range {name}");
        }
    }
    let rows = |table: &str| truth["table_rows"][format!("CUPTI_ACTIVITY_KIND_{table}")].as_i64().unwrap_or(0);
    let mut expected = vec![
        ("sync", rows("SYNCHRONIZATION")),
        ("event", rows("CUDA_EVENT")),
        ("external", rows("EXTERNAL_CORRELATION")),
    ];
    if !truth["db_version"].is_null() {
        let openacc = rows("OPENACC_DATA") + rows("OPENACC_LAUNCH") + rows("OPENACC_OTHER");
        expected.extend([("openacc", openacc), ("overhead", rows("OVERHEAD")), ("device", rows("DEVICE"))]);
        expected.extend([("context", rows("CONTEXT")), ("stream", rows("STREAM"))]);
    }
    for (table, count) in expected {
        assert_eq!(found.rows.get(table).copied().unwrap_or(0), count, "{file}: rows of {table}");
    }
    for version in ["schema_version", "nsys_version"] {
        let version = truth[version].as_str().unwrap_or("");
        assert!(origin.contains(version), "{file}: {origin} does not name {version}");
    }
    if let Some(version) = truth["db_version"].as_i64() {
        assert!(origin.ends_with(&format!("schema {version}")), "{file}: {origin}");
    }
    let unexpected: Vec<&String> = notes.iter().filter(|note| !note.starts_with("backtrace-rows")).collect();
    assert!(unexpected.is_empty(), "{file}: {unexpected:?}");
    let backtraces = truth["api_backtrace_class67_not_counted_above"].as_array().map(|rows| {
        let rows: i64 = rows.iter().filter_map(|row| row["count"].as_i64()).sum();
        format!("{rows} rows")
    });
    assert_eq!(notes.len(), usize::from(backtraces.is_some()), "{file}: {notes:?}");
    assert!(backtraces.is_none_or(|rows| notes[0].contains(&rows)), "{file}: {notes:?}");

    // What summaries ask for has the same names and times, whatever else it leaves out.
    let (totals, ..) = import(path, &Need { detail: Detail::Totals, ..Need::all() });
    assert_eq!(totals.kernels, found.kernels, "{file}: kernels of totals");
    assert_eq!(totals.kernels_by_base, found.kernels_by_base, "{file}: base names of totals");
    assert_eq!((totals.copies, totals.fills), (found.copies, found.fills), "{file}: memory of totals");
    assert_eq!(totals.calls, found.calls, "{file}: calls of totals");
    assert_eq!((totals.ranges, totals.rows), (found.ranges, found.rows), "{file}: rows of totals");
}

#[test]
fn imported_databases_have_the_counts_and_totals_that_others_computed() {
    let data = shared().join("data");
    let Ok(manifest) = std::fs::read_to_string(data.join("MANIFEST.tsv")) else {
        eprintln!("SKIPPED: {} does not exist; 0 databases compared", data.join("MANIFEST.tsv").display());
        return;
    };
    let mut compared = 0;
    for file in manifest.lines().skip(1).filter_map(|line| line.split('\t').next()) {
        let database = (file.starts_with("nvprof/") && file.ends_with(".nvvp"))
            || (file.starts_with("nsys/") && file.ends_with(".sqlite"));
        if !database {
            continue;
        }
        let truth = data.join(format!("{file}.truth.json"));
        let truth = std::fs::read_to_string(&truth).unwrap_or_else(|e| panic!("{}: {e}", truth.display()));
        compare(&data.join(file), &serde_json::from_str(&truth).expect("truth is JSON"));
        compared += 1;
    }
    eprintln!("{compared} databases compared");
    assert!(compared >= 9, "only {compared} databases in {}", data.display());
}
