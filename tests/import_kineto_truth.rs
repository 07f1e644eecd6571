//! Every PyTorch trace of the collection gives exactly the numbers that its `.truth.json` holds, which were taken
//! from the JSON by a program that shares nothing with the importer.
//!
//! The collection lies outside the repository: `GPUPROF_SHARED`, else `../shared`. Without it the test says so,
//! counts what it skipped and passes.

use gpuprof::import::{Head, IMPORTERS, Importer};
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

/// Traces in the manifest, by their paths below `data`.
fn listed(folders: &[&str]) -> Vec<PathBuf> {
    let data = shared().join("data");
    let Ok(manifest) = std::fs::read_to_string(data.join("MANIFEST.tsv")) else {
        eprintln!("SKIPPED 1 test: no {}; set GPUPROF_SHARED to the folder that has it", data.display());
        return Vec::new();
    };
    let files = manifest.lines().filter_map(|line| line.split('\t').next());
    files.filter(|file| folders.iter().any(|f| file.starts_with(f))).map(|file| data.join(file)).collect()
}

/// The importer that takes a file.
fn importer(path: &Path) -> &'static dyn Importer {
    let head = Head::read(path).expect("head");
    *IMPORTERS.iter().find(|i| i.sniff(&head)).unwrap_or_else(|| panic!("{}: nobody takes it", path.display()))
}

/// What was imported, by name instead of by id.
#[derive(Default, PartialEq, Debug)]
struct Imported {
    rows: BTreeMap<&'static str, usize>,
    sums: BTreeMap<(&'static str, String), Sum>,
    /// Device, stream, start and end of GPU work.
    gpu: Vec<(u64, u64, i64, i64)>,
    /// Device and stream of kernels.
    kernel_lanes: BTreeSet<(u64, u64)>,
    /// Start and end of calls and operators.
    cpu: Vec<(i64, i64)>,
    devices: Vec<(u64, String)>,
    unix_offset_ns: Option<i64>,
    rank: Option<u32>,
    world_size: Option<u32>,
    notes: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Sum {
    count: i64,
    total: i64,
    min: i64,
    max: i64,
    bytes: i64,
}

impl Sum {
    fn of(duration: i64, bytes: i64) -> Sum {
        Sum { count: 1, total: duration, min: duration, max: duration, bytes }
    }

    fn add(&mut self, other: Sum) {
        self.count += other.count;
        self.total += other.total;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.bytes += other.bytes;
    }
}

fn cell(batch: &Batch, column: &str, row: usize) -> i64 {
    let column = batch.column(column).unwrap_or_else(|| panic!("{} has no {column}", batch.table.name));
    match &column.values {
        Values::U32(v) => i64::from(v[row]),
        Values::U64(v) => v[row] as i64,
        Values::I64(v) => v[row],
        _ => panic!("not a number"),
    }
}

fn import(path: &Path, need: &Need) -> Imported {
    let (mut names, mut shapes) = (Names::default(), Shapes::default());
    let mut sink = Sink::new(&mut names, &mut shapes);
    importer(path).read(path, need, &mut sink).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(sink.processes.len(), 1, "{}: one process", path.display());
    let process = sink.processes.remove(0);
    let mut imported = Imported {
        unix_offset_ns: process.info.unix_offset_ns,
        rank: process.info.rank,
        world_size: process.info.world_size,
        notes: sink.notes.iter().map(|n| n.code.to_owned()).collect(),
        ..Default::default()
    };
    for batch in &process.batches {
        let table = batch.table.name;
        *imported.rows.entry(table).or_default() += batch.rows;
        for row in 0..batch.rows {
            let text = |column: &str| names.text(cell(batch, column, row) as u32).into_owned();
            let end = |start: i64| match table {
                "range" => cell(batch, "end_ns", row),
                _ => start + cell(batch, "duration_ns", row),
            };
            let (key, bytes) = match table {
                "kernel" => {
                    let shape = shapes.get(cell(batch, "shape_id", row) as u32).expect("shape");
                    (names.text(shape.name_id).into_owned(), 0)
                }
                "memcpy" => {
                    let codes = ["kind", "src_kind", "dst_kind"].map(|c| cell(batch, c, row).to_string());
                    (codes.join(" "), cell(batch, "bytes", row))
                }
                "memset" => (cell(batch, "mem_kind", row).to_string(), cell(batch, "bytes", row)),
                "api" => (format!("{} {}", cell(batch, "domain", row), text("name_id")), 0),
                "range" if cell(batch, "style", row) == 3 => (text("name_id"), 0),
                "device" => {
                    imported.devices.push((cell(batch, "device", row) as u64, text("name_id")));
                    continue;
                }
                _ => continue,
            };
            let start = cell(batch, "start_ns", row);
            let end = end(start);
            let sum = Sum::of(end - start, bytes);
            imported.sums.entry((table, key)).and_modify(|s| s.add(sum)).or_insert(sum);
            match table {
                "api" | "range" => imported.cpu.push((start, end)),
                _ => {
                    let lane = ["device", "stream"].map(|c| cell(batch, c, row) as u64);
                    if table == "kernel" {
                        imported.kernel_lanes.insert((lane[0], lane[1]));
                    }
                    imported.gpu.push((lane[0], lane[1], start, end));
                }
            }
        }
    }
    imported.gpu.sort_unstable();
    imported.cpu.sort_unstable();
    imported
}

/// The entries of one list of the truth, under the keys that [`import`] gives them.
fn expected(truth: &Value, list: &str, key: impl Fn(&Value) -> String) -> BTreeMap<String, Sum> {
    let mut sums = BTreeMap::new();
    for entry in truth[list].as_array().expect(list) {
        let number = |field: &str| entry[field].as_i64().unwrap_or(0);
        let [count, total, min, max] = ["count", "total_ns", "min_ns", "max_ns"].map(number);
        let sum = Sum { count, total, min, max, bytes: number("bytes") };
        sums.entry(key(entry)).and_modify(|s: &mut Sum| s.add(sum)).or_insert(sum);
    }
    sums
}

/// `Memcpy HtoD (Pageable -> Device)` in CUPTI's numbers, as `cupti_activity.h` has them.
fn copy_codes(name: &str) -> String {
    let kinds = ["HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD", "DtoA", "DtoD", "HtoH", "PtoP"];
    let (kind, memories) = name.strip_prefix("Memcpy ").and_then(|n| n.split_once(" (")).expect("a copy's name");
    let kind = kinds.iter().position(|k| *k == kind).expect("kind") + 1;
    let (source, destination) = memories.trim_end_matches(')').split_once(" -> ").expect("two memories");
    format!("{kind} {} {}", memory_code(source), memory_code(destination))
}

fn memory_code(name: &str) -> usize {
    // ROCm's `Host` is either of two.
    let known = ["Pageable", "Pinned", "Device", "Array", "Managed", "Device Static", "Managed Static"];
    known.iter().position(|k| *k == name).map_or(0, |i| i + 1)
}

fn span(times: impl Iterator<Item = (i64, i64)> + Clone) -> Value {
    match (times.clone().map(|t| t.0).min(), times.map(|t| t.1).max()) {
        (Some(start), Some(end)) => serde_json::json!({ "start": start, "end": end, "span_ns": end - start }),
        _ => Value::Null,
    }
}

fn busy(gpu: &[(u64, u64, i64, i64)]) -> Value {
    let mut busy: BTreeMap<String, (i64, i64)> = BTreeMap::new();
    let mut by_start: Vec<_> = gpu.iter().map(|&(device, _, start, end)| (device, start, end)).collect();
    by_start.sort_unstable();
    for (device, start, end) in by_start {
        let (total, until) = busy.entry(device.to_string()).or_insert((0, i64::MIN));
        *total += (end - start.max(*until)).max(0);
        *until = end.max(*until);
    }
    busy.into_iter()
        .map(|(device, (total, _))| (device, Value::from(total)))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

fn compare(path: &Path, truth: &Value, imported: &Imported) {
    let name = path.display();
    let records = &truth["records"];
    for (table, field) in [("kernel", "kernel"), ("memcpy", "memcpy"), ("memset", "memset"), ("api", "api")] {
        let rows = imported.rows.get(table).copied().unwrap_or(0);
        assert_eq!(Some(rows as u64), records[field].as_u64(), "{name}: rows of {table}");
    }
    let sums = |table: &str| -> BTreeMap<String, Sum> {
        imported.sums.iter().filter(|((t, _), _)| *t == table).map(|((_, k), s)| (k.clone(), *s)).collect()
    };
    let plain = |entry: &Value| entry["name"].as_str().expect("name").to_owned();
    assert_eq!(sums("kernel"), expected(truth, "kernels", plain), "{name}: kernels");
    let copies = expected(truth, "memcpy", |e| copy_codes(e["kind"].as_str().expect("kind")));
    assert_eq!(sums("memcpy"), copies, "{name}: copies");
    let fills = expected(truth, "memset", |e| {
        let memory = plain(e).trim_start_matches("Memset (").trim_end_matches(')').to_owned();
        memory_code(&memory).to_string()
    });
    assert_eq!(sums("memset"), fills, "{name}: fills");
    let calls = expected(truth, "api", |e| {
        let domain = u32::from(e["category"] == "cuda_driver");
        format!("{domain} {}", plain(e))
    });
    assert_eq!(sums("api"), calls, "{name}: calls");

    let operators = sums("range");
    let count: i64 = operators.values().map(|s| s.count).sum();
    assert_eq!(Some(count), records["cpu_op"].as_i64(), "{name}: operators");
    assert_eq!(Some(operators.len() as u64), truth["cpu_ops_distinct"].as_u64(), "{name}: kinds of operators");
    for (operator, sum) in expected(truth, "cpu_ops_top20", plain) {
        assert_eq!(operators.get(&operator), Some(&sum), "{name}: operator {operator}");
    }

    let kernels: i64 = sums("kernel").values().map(|s| s.total).sum();
    assert_eq!(Some(kernels), truth["kernel_total_ns"].as_i64(), "{name}: kernel time");
    let gpu = imported.gpu.iter().map(|&(_, _, start, end)| (start, end));
    assert_eq!(span(gpu.clone()), truth["gpu_span"], "{name}: span of GPU work");
    assert_eq!(span(gpu.chain(imported.cpu.iter().copied())), truth["all_span"], "{name}: span of everything");
    assert_eq!(busy(&imported.gpu), truth["gpu_busy_union_ns_per_device"], "{name}: busy time");
    assert_eq!(Some(imported.kernel_lanes.len() as u64), truth["gpu_streams"].as_u64(), "{name}: streams");

    // The program that wrote the truth did not know `computeProperties` of 2021.
    if let Some(devices) = truth["devices"].as_array() {
        let number_and_name =
            |d: &Value| (d["id"].as_u64().expect("id"), d["name"].as_str().unwrap_or_default().to_owned());
        assert_eq!(imported.devices, devices.iter().map(number_and_name).collect::<Vec<_>>(), "{name}: devices");
    }
    let base = truth["baseTimeNanoseconds"].as_i64();
    let absolute = truth["all_span"]["start"].as_i64().is_some_and(|start| start > 1_000_000_000_000_000_000);
    assert_eq!(imported.unix_offset_ns, base.or(absolute.then_some(0)), "{name}: epoch");
    let job = &truth["distributedInfo"];
    assert_eq!(imported.rank.map(u64::from), job["rank"].as_u64(), "{name}: rank");
    assert_eq!(imported.world_size.map(u64::from), job["world_size"].as_u64(), "{name}: ranks");
}

#[test]
fn every_trace_of_the_collection_matches_its_truth() {
    let mut compared = 0;
    for path in listed(&["torch/", "edge/"]) {
        let truth = PathBuf::from(format!("{}.truth.json", path.display()));
        let truth: Value = serde_json::from_slice(&std::fs::read(&truth).expect("truth")).expect("truth is JSON");
        for detail in [Detail::Totals, Detail::Full] {
            let imported = import(&path, &Need { detail, ..Need::all() });
            compare(&path, &truth, &imported);
            let partial = imported.notes.iter().any(|code| code == "cut-off");
            assert_eq!(partial, path.ends_with("partial_trailing_comma.trace.json"), "{}: notes", path.display());
        }
        compared += 1;
        eprintln!("exact: {}", path.display());
    }
    eprintln!("{compared} traces compared");
    assert!(compared == 0 || compared >= 15, "only {compared} traces in the manifest");
}

#[test]
fn skipping_tables_changes_nothing_in_the_others() {
    for path in listed(&["torch/"]) {
        let all = import(&path, &Need::all());
        for table in
            [&tables::KERNEL, &tables::MEMCPY, &tables::API, &tables::SYNC, &tables::OVERHEAD, &tables::RANGE]
        {
            let one = import(&path, &Need { tables: vec![table], ..Need::all() });
            assert_eq!(one.rows.get(table.name), all.rows.get(table.name), "{}: {}", path.display(), table.name);
            assert_eq!(one.unix_offset_ns, all.unix_offset_ns, "{}: epoch from {}", path.display(), table.name);
        }
    }
}

#[test]
fn files_of_other_tools_are_refused_by_name() {
    for path in listed(&["tf/", "python/"]) {
        let tool = match path.file_name().and_then(|n| n.to_str()).expect("name") {
            name if name.contains("gpu_timeline") => "TensorFlow",
            name if name.contains("speedscope") => "speedscope",
            name if name.contains("chrometrace") => "py-spy",
            _ => continue,
        };
        let (mut names, mut shapes) = (Names::default(), Shapes::default());
        let error = importer(&path).read(&path, &Need::all(), &mut Sink::new(&mut names, &mut shapes));
        let message = error.expect_err("refused").to_string();
        assert!(message.contains(tool) && message.lines().count() == 1, "{message}");
    }
}
