//! Every file of the shared collection gives exactly the counts and totals that an independent script took from it,
//! in integer nanoseconds, through opening and through the real program.
//!
//! The collection lies outside the repository: `GPUPROF_SHARED`, else `../shared`.

use crate::common;
use gpuprof::cupti;
use gpuprof::trace::batch::Batch;
use gpuprof::trace::frames::Frames;
use gpuprof::trace::select::Filter;
use gpuprof::trace::sink::{Detail, Need};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use trace_format::schema::{AnyColumn, TableSpec, TypedColumn};
use trace_format::tables;

/// Files of the manifest whose truth has another form, by what their names begin and end with: `printed_truth.rs` has
/// them.
const ELSEWHERE: &[(&str, &str)] = &[
    ("nvprof/", ".csv"),
    ("nvprof/", ".txt"),
    ("nsys/", ".csv"),
    ("tf/", ".json"),
    ("python/", ".json"),
    ("python/", ".prof"),
    ("python/", ".collapsed.txt"),
    ("edge/", ".json"),
];

/// What is compared here of everything in the manifest, by its path below `data`.
fn manifest(shared: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(shared.join("data/MANIFEST.tsv")).expect("the manifest");
    let files = text.lines().skip(1).filter_map(|line| line.split('\t').next());
    let is_elsewhere =
        |file: &str| ELSEWHERE.iter().any(|(start, end)| file.starts_with(start) && file.ends_with(end));
    files.filter(|file| !is_elsewhere(file)).map(str::to_owned).collect()
}

fn truth_of(path: &Path) -> Value {
    let truth = PathBuf::from(format!("{}.truth.json", path.display()));
    let text = std::fs::read(&truth).unwrap_or_else(|e| panic!("{}: {e}", truth.display()));
    serde_json::from_slice(&text).expect("truth is JSON")
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sums {
    count: i64,
    total: i64,
    min: i64,
    max: i64,
    bytes: i64,
}

impl Sums {
    fn add(&mut self, duration: i64, bytes: i64) {
        self.min = if self.count == 0 { duration } else { self.min.min(duration) };
        self.max = self.max.max(duration);
        self.count += 1;
        self.total += duration;
        self.bytes += bytes;
    }

    fn merge(&mut self, other: Sums) {
        self.min = if self.count == 0 { other.min } else { self.min.min(other.min) };
        self.max = self.max.max(other.max);
        self.count += other.count;
        self.total += other.total;
        self.bytes += other.bytes;
    }
}

type ByName = BTreeMap<String, Sums>;

/// Rows of a list of the truth, by what `key` makes of each.
fn expected(truth: &Value, list: &str, key: impl Fn(&Value) -> String) -> ByName {
    let mut sums = ByName::new();
    for entry in truth[list].as_array().into_iter().flatten() {
        let number = |field: &str| entry[field].as_i64().unwrap_or(0);
        let [count, total, min, max] = ["count", "total_ns", "min_ns", "max_ns"].map(number);
        sums.entry(key(entry)).or_default().merge(Sums { count, total, min, max, bytes: number("bytes") });
    }
    sums
}

fn text<'v>(entry: &'v Value, key: &str) -> &'v str {
    entry[key].as_str().unwrap_or_default()
}

/// What a file holds, by name instead of by id.
#[derive(Debug, Default, PartialEq)]
struct Contents {
    kernels: ByName,
    bases: ByName,
    copies: ByName,
    fills: ByName,
    calls: ByName,
    /// NVTX ranges, and operators.
    ranges: [ByName; 2],
    rows: BTreeMap<&'static str, u64>,
    streams: BTreeSet<(u32, u32)>,
    kernel_streams: BTreeSet<(u32, u32)>,
    gpu: Vec<(u32, i64, i64)>,
    cpu: Vec<(i64, i64)>,
}

impl Contents {
    fn of(frames: &Frames) -> Contents {
        let mut found = Contents::default();
        for table in tables::ALL {
            let rows = frames.rows(table);
            if rows > 0 {
                found.rows.insert(table.name, rows);
            }
        }
        for table in [&tables::KERNEL, &tables::MEMCPY, &tables::MEMSET, &tables::API, &tables::RANGE] {
            found.read(frames, table);
        }
        found.gpu.sort_unstable();
        found.cpu.sort_unstable();
        found
    }

    fn read(&mut self, frames: &Frames, table: &'static TableSpec) {
        let columns: Vec<TypedColumn<()>> =
            table.columns.iter().map(|column| TypedColumn::of(table, column.name)).collect();
        let columns: Vec<&dyn AnyColumn> = columns.iter().map(|column| column as &dyn AnyColumn).collect();
        // One row at a time, so that nothing of our own sums takes part.
        let rows = frames
            .fold(
                table,
                &columns,
                &Filter::everything(),
                Vec::new,
                |rows: &mut Vec<Row>, batch| batch.for_each_row(|i| rows.push(Row::of(batch, table, i))),
                |a, mut b| a.append(&mut b),
            )
            .unwrap_or_else(|e| panic!("{e}"));
        let name = |id: u32| frames.names.text(id).into_owned();
        for row in rows {
            let Some(duration) = row.duration else { continue };
            let (start, end) = (row.start, row.start + duration);
            let lane = (row.device, row.stream);
            match table.name {
                "range" => {
                    let Some(kind) = [0, 1, 3].iter().position(|style| *style == row.style) else { continue };
                    self.ranges[kind / 2].entry(name(row.name)).or_default().add(duration, 0);
                    if kind == 2 {
                        self.cpu.push((start, end));
                    }
                    continue;
                }
                "api" => {
                    let key = format!("{} {}", row.domain, name(row.name));
                    self.calls.entry(key).or_default().add(duration, 0);
                    self.cpu.push((start, end));
                    continue;
                }
                "kernel" => {
                    let shape = frames.shape(row.shape).expect("a shape");
                    let key = name(shape.demangled_id.unwrap_or(shape.name_id));
                    self.kernels.entry(key).or_default().add(duration, 0);
                    if let Some(base) = shape.base_id {
                        self.bases.entry(name(base)).or_default().add(duration, 0);
                    }
                    self.kernel_streams.insert(lane);
                }
                "memcpy" => {
                    let key = row.kinds.map(|kind| kind.to_string()).join(" ");
                    self.copies.entry(key).or_default().add(duration, row.bytes);
                }
                _ => self.fills.entry(row.mem_kind.to_string()).or_default().add(duration, row.bytes),
            }
            self.streams.insert(lane);
            self.gpu.push((row.device, start, end));
        }
    }

    fn busy(&self) -> Value {
        let mut busy: BTreeMap<String, (i64, i64)> = BTreeMap::new();
        for &(device, start, end) in &self.gpu {
            let (total, until) = busy.entry(device.to_string()).or_insert((0, i64::MIN));
            *total += (end - start.max(*until)).max(0);
            *until = end.max(*until);
        }
        busy.into_iter()
            .map(|(device, (total, _))| (device, json!(total)))
            .collect::<serde_json::Map<_, _>>()
            .into()
    }
}

/// The columns of a row that matter here, in the file's own time; zeros where a table has no such column.
#[derive(Default)]
struct Row {
    start: i64,
    duration: Option<i64>,
    device: u32,
    stream: u32,
    shape: u32,
    name: u32,
    domain: u32,
    style: u32,
    kinds: [u32; 3],
    mem_kind: u32,
    bytes: i64,
}

impl Row {
    fn of(batch: &Batch, table: &TableSpec, i: usize) -> Row {
        let u32 = |name| batch.get(&TypedColumn::<u32>::of_any(name)).get(i).unwrap_or(0);
        let i64 = |name| batch.get(&TypedColumn::<i64>::of_any(name)).get(i);
        let start = i64("start_ns").expect("a start");
        Row {
            start,
            duration: if table == &tables::RANGE {
                i64("end_ns").map(|end| end - start)
            } else {
                i64("duration_ns")
            },
            device: u32("device"),
            stream: u32("stream"),
            shape: u32("shape_id"),
            name: u32("name_id"),
            domain: u32("domain"),
            style: u32("style"),
            kinds: ["kind", "src_kind", "dst_kind"].map(u32),
            mem_kind: u32("mem_kind"),
            bytes: i64("bytes").unwrap_or(0),
        }
    }
}

fn span(times: impl Iterator<Item = (i64, i64)> + Clone) -> Value {
    match (times.clone().map(|t| t.0).min(), times.map(|t| t.1).max()) {
        (Some(start), Some(end)) => json!({ "start": start, "end": end, "span_ns": end - start }),
        _ => Value::Null,
    }
}

/// Merges what the truth does not tell apart.
fn merged(sums: &ByName, key: impl Fn(&str) -> String) -> ByName {
    let mut out = ByName::new();
    sums.iter().for_each(|(name, sums)| out.entry(key(name)).or_default().merge(*sums));
    out
}

/// `Memcpy HtoD (Pageable -> Device)` in CUPTI's numbers, as `cupti_activity.h` has them.
fn copy_codes(name: &str) -> String {
    let (kind, memories) = name.strip_prefix("Memcpy ").and_then(|n| n.split_once(" (")).expect("a copy's name");
    let (source, destination) = memories.trim_end_matches(')').split_once(" -> ").expect("two memories");
    format!("{} {} {}", copy_code(kind), memory_code(source), memory_code(destination))
}

fn copy_code(kind: &str) -> usize {
    let kinds = ["HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD", "DtoA", "DtoD", "HtoH", "PtoP"];
    kinds.iter().position(|known| *known == kind).unwrap_or_else(|| panic!("copies of kind {kind}")) + 1
}

fn memory_code(name: &str) -> usize {
    // ROCm's `Host` is either of two.
    let known = ["Pageable", "Pinned", "Device", "Array", "Managed", "Device Static", "Managed Static"];
    known.iter().position(|known| *known == name).map_or(0, |i| i + 1)
}

/// Compares what was opened with the truth.
fn compare(path: &Path, truth: &Value, frames: &Frames) {
    let file = path.display();
    let found = Contents::of(frames);
    let is_json = truth["format"] == "chrome-trace";
    // nvprof's names are mangled, the others' demangled; each is what the file holds.
    let is_mangled =
        truth["kernels"].as_array().is_some_and(|rows| rows.iter().any(|row| !row["mangled"].is_null()));
    let kernel = |entry: &Value| text(entry, if is_mangled { "mangled" } else { "name" }).to_owned();
    assert_eq!(found.kernels, expected(truth, "kernels", kernel), "{file}: kernels");
    if !truth["kernels_by_short_name"].is_null() {
        let base = expected(truth, "kernels_by_short_name", |entry| text(entry, "name").to_owned());
        assert_eq!(found.bases, base, "{file}: base names");
    }
    if is_json {
        let copies = expected(truth, "memcpy", |entry| copy_codes(text(entry, "kind")));
        assert_eq!(found.copies, copies, "{file}: copies");
        let memory = |name: &str| name.trim_start_matches("Memset (").trim_end_matches(')').to_owned();
        let fills = expected(truth, "memset", |entry| memory_code(&memory(text(entry, "name"))).to_string());
        assert_eq!(found.fills, fills, "{file}: fills");
    } else {
        let copies = expected(truth, "memcpy", |entry| copy_code(text(entry, "kind")).to_string());
        let by_kind = merged(&found.copies, |codes| codes.split(' ').next().unwrap_or_default().to_owned());
        assert_eq!(by_kind, copies, "{file}: copies");
        let all = |_: &str| String::new();
        assert_eq!(merged(&found.fills, all), expected(truth, "memset", |_| String::new()), "{file}: fills");
    }
    let calls = expected(truth, "api", |entry| {
        let driver = entry["domain"] == "driver" || entry["category"] == "cuda_driver";
        let name = if is_json { text(entry, "name") } else { text(entry, "name_raw") };
        format!("{} {name}", u32::from(driver))
    });
    assert_eq!(found.calls, calls, "{file}: API calls");
    for row in truth["api"].as_array().into_iter().flatten().filter(|_| !is_json) {
        assert_eq!(cupti::strip_version(text(row, "name_raw")), text(row, "name"), "{file}");
    }
    for table in ["kernel", "memcpy", "memset", "api"] {
        let rows = found.rows.get(table).copied().unwrap_or(0);
        assert_eq!(Some(rows), truth["records"][table].as_u64(), "{file}: rows of {table}");
    }
    let kernels: i64 = found.kernels.values().map(|sums| sums.total).sum();
    assert_eq!(Some(kernels), truth["kernel_total_ns"].as_i64(), "{file}: kernel time");
    let gpu = found.gpu.iter().map(|&(_, start, end)| (start, end));
    let gpu_span = span(gpu.clone());
    assert_eq!(gpu_span["start"], truth["gpu_span"]["start"], "{file}: span");
    assert_eq!(gpu_span["end"], truth["gpu_span"]["end"], "{file}: span");
    let streams = if is_json { &found.kernel_streams } else { &found.streams };
    assert_eq!(Some(streams.len() as u64), truth["gpu_streams"].as_u64(), "{file}: streams");
    for device in truth["devices"].as_array().into_iter().flatten() {
        let id = frames.device_name_id(0, device["id"].as_u64().expect("an id") as u32);
        assert_eq!(frames.names.text(id), text(device, "name"), "{file}: device {}", device["id"]);
    }
    let origin = &frames.files[0].origin;
    if is_json {
        compare_json(&file.to_string(), truth, frames, &found);
    } else {
        assert!(origin.contains(text(truth, "schema_version")), "{file}: {origin}");
        assert!(origin.contains(text(truth, "nsys_version")), "{file}: {origin}");
        let version = truth["db_version"].as_i64();
        assert!(version.is_none_or(|v| origin.ends_with(&format!("schema {v}"))), "{file}: {origin}");
    }
    if let Some(ranges) = truth["nvtx_ranges_total"].as_u64() {
        assert_eq!(found.rows.get("range"), Some(&ranges), "{file}: ranges");
        for (name, sums) in expected(truth, "nvtx_ranges_top20", |entry| text(entry, "name").to_owned()) {
            assert_eq!(found.ranges[0].get(&name), Some(&sums), "{file}: range {name}");
        }
    }
    for (table, row) in [("SYNCHRONIZATION", "sync"), ("CUDA_EVENT", "event"), ("EXTERNAL_CORRELATION", "external")]
    {
        if let Some(rows) = truth["table_rows"][format!("CUPTI_ACTIVITY_KIND_{table}")].as_u64() {
            assert_eq!(found.rows.get(row).copied().unwrap_or(0), rows, "{file}: rows of {row}");
        }
    }
    compare_notes(&file.to_string(), truth, frames);
}

/// What only PyTorch traces have: operators, one timeline for everything, the job.
fn compare_json(file: &str, truth: &Value, frames: &Frames, found: &Contents) {
    let operators = &found.ranges[1];
    let count: i64 = operators.values().map(|sums| sums.count).sum();
    assert_eq!(Some(count), truth["records"]["cpu_op"].as_i64(), "{file}: operators");
    assert_eq!(Some(operators.len() as u64), truth["cpu_ops_distinct"].as_u64(), "{file}: kinds of operators");
    for (name, sums) in expected(truth, "cpu_ops_top20", |entry| text(entry, "name").to_owned()) {
        assert_eq!(operators.get(&name), Some(&sums), "{file}: operator {name}");
    }
    let gpu = found.gpu.iter().map(|&(_, start, end)| (start, end));
    assert_eq!(span(gpu.chain(found.cpu.iter().copied())), truth["all_span"], "{file}: span of everything");
    assert_eq!(found.busy(), truth["gpu_busy_union_ns_per_device"], "{file}: busy time");
    let info = &frames.processes[0].info;
    let absolute = truth["all_span"]["start"].as_i64().is_some_and(|start| start > 1_000_000_000_000_000_000);
    let epoch = truth["baseTimeNanoseconds"].as_i64().or(absolute.then_some(0));
    assert_eq!(info.unix_offset_ns, epoch, "{file}: epoch");
    let job = &truth["distributedInfo"];
    assert_eq!(info.rank.map(u64::from), job["rank"].as_u64(), "{file}: rank");
    assert_eq!(info.world_size.map(u64::from), job["world_size"].as_u64(), "{file}: ranks");
}

/// Whole files have nothing partial about them.
fn compare_notes(file: &str, truth: &Value, frames: &Frames) {
    let notes: Vec<(&str, &str)> = frames.notes.iter().map(|note| (note.code, note.text.as_str())).collect();
    // What is not read is checked in `unread.rs`, and what nsys said is nothing partial of the file.
    let codes =
        notes.iter().map(|(code, _)| *code).filter(|code| !["unread-rows", "nsys-diagnostic"].contains(code));
    let mut expected = Vec::new();
    if let Some(rows) = truth["api_backtrace_class67_not_counted_above"].as_array() {
        let rows: i64 = rows.iter().filter_map(|row| row["count"].as_i64()).sum();
        assert!(notes.iter().any(|(_, text)| text.contains(&format!("{rows} rows"))), "{file}: {notes:?}");
        expected.push("backtrace-rows");
    }
    assert_eq!(codes.collect::<Vec<_>>(), expected, "{file}: {notes:?}");
}

/// Compares what the real program prints: counts and totals of copies, fills and calls by name, of kernels together,
/// for they are demangled.
fn compare_printed(path: &Path, truth: &Value) {
    let file = path.display();
    let answer =
        common::gpuprof_in(Path::new("."), &["report", "--format", "json", path.to_str().expect("a path")]);
    let records = &truth["records"];
    let any = ["kernel", "memcpy", "memset", "api"].iter().any(|table| records[*table].as_u64() != Some(0));
    assert_eq!(answer.status, i32::from(!any), "{file}: {}", answer.stderr);
    let document: Value = serde_json::from_str(&answer.stdout).expect("JSON");
    let printed = |table: usize, key: &dyn Fn(&str) -> String| {
        let mut sums: BTreeMap<String, (i64, i64)> = BTreeMap::new();
        for row in document["tables"][table]["rows"].as_array().expect("rows") {
            let number = |column: &str| row[column].as_i64().expect("a number");
            let entry = sums.entry(key(text(row, "Name"))).or_default();
            *entry = (entry.0 + number("Calls"), entry.1 + number("Total Time (ns)"));
        }
        sums
    };
    let mut gpu: BTreeMap<String, (i64, i64)> = BTreeMap::new();
    let mut add = |name: String, entry: &Value| {
        let sums = gpu.entry(name).or_default();
        let number = |key: &str| entry[key].as_i64().unwrap_or(0);
        *sums = (sums.0 + number("count"), sums.1 + number("total_ns"));
    };
    for (list, name) in [("kernels", "kernels"), ("memset", "[CUDA memset]")] {
        truth[list].as_array().into_iter().flatten().for_each(|entry| add(name.to_owned(), entry));
    }
    for entry in truth["memcpy"].as_array().into_iter().flatten() {
        let kind = text(entry, "kind").trim_start_matches("Memcpy ").split(' ').next().unwrap_or_default();
        add(format!("[CUDA memcpy {kind}]"), entry);
    }
    let kind = |name: &str| if name.starts_with("[CUDA mem") { name.to_owned() } else { "kernels".to_owned() };
    assert_eq!(printed(0, &kind), gpu, "{file}: GPU activities as printed");
    let mut api: BTreeMap<String, (i64, i64)> = BTreeMap::new();
    for entry in truth["api"].as_array().into_iter().flatten() {
        let sums = api.entry(cupti::strip_version(text(entry, "name")).to_owned()).or_default();
        let number = |key: &str| entry[key].as_i64().unwrap_or(0);
        *sums = (sums.0 + number("count"), sums.1 + number("total_ns"));
    }
    assert_eq!(printed(1, &|name| name.to_owned()), api, "{file}: API calls as printed");
}

#[test]
fn every_file_of_the_collection_matches_its_truth() {
    let Some(shared) = common::shared("every_file_of_the_collection_matches_its_truth") else { return };
    let opened = manifest(&shared);
    for file in &opened {
        let path = shared.join("data").join(file);
        let truth = truth_of(&path);
        // What summaries ask for has the same names and times, whatever else it leaves out.
        for detail in [Detail::Full, Detail::Totals] {
            let need = Need { detail, ..Need::all() };
            let frames = Frames::open(std::slice::from_ref(&path), &need).unwrap_or_else(|e| panic!("{e}"));
            compare(&path, &truth, &frames);
        }
        compare_printed(&path, &truth);
        eprintln!("exact: {file}");
    }
    let of = |folder: &str| opened.iter().filter(|file| file.starts_with(folder)).count();
    assert_eq!(["nvprof/", "nsys/", "torch/"].map(of), [3, 6, 12], "files missing in the manifest");
}

#[test]
fn reading_some_tables_changes_nothing_in_them() {
    let Some(shared) = common::shared("reading_some_tables_changes_nothing_in_them") else { return };
    let opened = manifest(&shared);
    let all_tables = [
        &tables::KERNEL,
        &tables::MEMCPY,
        &tables::API,
        &tables::SYNC,
        &tables::OVERHEAD,
        &tables::RANGE,
        &tables::OPENACC,
    ];
    for file in opened.iter().filter(|file| !file.contains("resnet50")) {
        let path = [shared.join("data").join(file)];
        let all = Frames::open(&path, &Need::all()).unwrap_or_else(|e| panic!("{e}"));
        for table in all_tables {
            let one =
                Frames::open(&path, &Need { tables: vec![table], ..Need::all() }).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(one.rows(table), all.rows(table), "{file}: {}", table.name);
            // A process of which nothing is read may not be known to exist.
            let same_epoch = one.processes.is_empty() || one.offset_ns(0) == all.offset_ns(0);
            assert!(same_epoch, "{file}: epoch from {}", table.name);
        }
    }
}
