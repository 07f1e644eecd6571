//! Every table that the real nsys 2022.4 printed from the shared databases, compared with ours cell by cell.
//!
//! `GPUPROF_SHARED` says where the collection is; without it every file is skipped, said and counted. What differs on
//! purpose is listed in [`DIFFERENCES`] and in [`rename`], with reasons, and is checked in another way.

#![allow(clippy::panic)] // A test may fail in its helpers too.

use crate::common;
use gpuprof::analysis::labels::Labels;
use gpuprof::cupti;
use gpuprof::demangle::Demangling;
use gpuprof::render::table::Format;
use gpuprof::report::{Context, find_view, views};
use gpuprof::trace::frames::Frames;
use gpuprof::trace::select::Filter;
use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Golden report, our view, the column that rows are sorted by.
const REPORTS: &[(&str, &str, &str)] = &[
    ("gpukernsum", "cuda_gpu_kern_gb_sum", "Total Time (ns)"),
    ("gpumemtimesum", "cuda_gpu_mem_time_sum", "Total Time (ns)"),
    ("gpumemsizesum", "cuda_gpu_mem_size_sum", "Total (MB)"),
    ("gpusum", "cuda_gpu_sum", "Total Time (ns)"),
    ("apigpusum", "cuda_api_gpu_sum", "Total Time (ns)"),
    ("cudaapisum", "cuda_api_sum", "Total Time (ns)"),
    ("cudaapitrace", "cuda_api_trace", "Start (ns)"),
    ("gputrace", "cuda_gpu_trace", "Start (ns)"),
    ("kernexecsum", "cuda_kern_exec_sum", "TAvg (ns)"),
    ("nvtxsum", "nvtx_sum", "Total Time (ns)"),
    ("nvtxppsum", "nvtx_pushpop_sum", "Total Time (ns)"),
    ("nvtxgpuproj", "nvtx_gpu_proj_trace", "Projected Start (ns)"),
    ("nvtxkernsum", "nvtx_kern_sum", "Total Time (ns)"),
];

/// Golden rule, our view.
const RULES: &[(&str, &str)] = &[
    ("rule_cuda-sync-api", "cuda_api_sync"),
    ("rule_cuda-async-memcpy", "cuda_memcpy_async"),
    ("rule_cuda-sync-memcpy", "cuda_memcpy_sync"),
    ("rule_cuda-sync-memset", "cuda_memset_sync"),
    ("rule_gpu-starv", "gpu_gaps"),
    ("rule_gpu-low-util", "gpu_time_util"),
];

/// `nsys analyze` prints so many rows of a rule.
const RULE_ROWS: usize = 50;

/// What is compared in another way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Instead {
    /// The column is empty in ours.
    Empty(&'static str),
    /// Bytes by duration; the golden's number is `bytes * floor(1e9 / duration)`, which is checked too.
    Throughput,
    /// The column numbers ranges in another way: one of ours stands for each of theirs.
    Renumbered,
    /// Of two calls that share a correlation id, the golden lists the wider one for its call stack (class 67).
    WithoutBacktraces,
    /// The golden counts each kernel twice, once per call of its correlation id: made anew from two other goldens.
    KernelsOnce,
    /// The golden adds up each kernel twice, for the same reason: total and deviation come from another golden.
    TotalsOnce,
    /// The golden is an empty file: sums per name are compared with two other goldens.
    GoldenIsEmpty,
}

const SAXPY: &str = "saxpy_mpi_a100_2022.2_s2.9";
const FSDP: &str = "fsdp_h100x2_nvtx_2026.2_s3.25";

/// All differences: file (`*`: every one), report, what is done instead, why.
const DIFFERENCES: &[(&str, &str, Instead, &str)] = &[
    ("*", "cudaapitrace", Instead::Empty("T-Pri"), "traces do not hold the priority of threads"),
    ("*", "gputrace", Instead::Throughput, "nsys divides integers and is up to 3 % off here"),
    ("*", "nvtxgpuproj", Instead::Renumbered, "RangeId is arbitrary: nsys prints the row's number in its database"),
    (SAXPY, "cudaapisum", Instead::WithoutBacktraces, "data/README.md: class 67 counted twice, 95 calls for 57"),
    (SAXPY, "apigpusum", Instead::WithoutBacktraces, "the same"),
    (SAXPY, "cudaapitrace", Instead::WithoutBacktraces, "the same"),
    (SAXPY, "kernexecsum", Instead::KernelsOnce, "data/README.md: 10 kernels for 5"),
    (SAXPY, "nvtxkernsum", Instead::TotalsOnce, "5 kernels of 88.6 ms listed with a total of 177.1 ms"),
    (FSDP, "gputrace", Instead::GoldenIsEmpty, "nsys 2022.4 printed nothing"),
];

/// A table as text.
#[derive(Clone, Debug, Default)]
struct Sheet {
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Sheet {
    fn parse(text: &str) -> Sheet {
        let mut records = parse_csv(text).into_iter().filter(|record| record.iter().any(|cell| !cell.is_empty()));
        let columns = records.next().unwrap_or_default();
        let rows: Vec<_> = records.collect();
        assert!(rows.iter().all(|row| row.len() == columns.len()), "a row of another width under {columns:?}");
        Sheet { columns, rows }
    }

    fn at(&self, column: &str) -> usize {
        self.columns.iter().position(|c| c == column).unwrap_or_else(|| panic!("no {column} in {:?}", self.columns))
    }

    fn column(&self, column: &str) -> Vec<&str> {
        let at = self.at(column);
        self.rows.iter().map(|row| row[at].as_str()).collect()
    }

    fn number(&self, row: usize, column: &str) -> f64 {
        let cell = &self.rows[row][self.at(column)];
        cell.parse().unwrap_or_else(|_| panic!("{column} of row {row} is \"{cell}\""))
    }

    fn drop_column(&mut self, column: &str) {
        let at = self.at(column);
        self.columns.remove(at);
        self.rows.iter_mut().for_each(|row| drop(row.remove(at)));
    }

    /// Replaces the shares by what the rows say.
    fn recompute_shares(&mut self) {
        let (share, total) = (self.at("Time (%)"), self.at("Total Time (ns)"));
        let all: f64 = self.rows.iter().map(|row| row[total].parse::<f64>().expect("a total")).sum();
        for row in &mut self.rows {
            row[share] = format!("{:.1}", 100.0 * row[total].parse::<f64>().expect("a total") / all);
        }
    }
}

/// Records of RFC 4180 text.
fn parse_csv(text: &str) -> Vec<Vec<String>> {
    let (mut records, mut record, mut cell) = (Vec::new(), Vec::new(), String::new());
    let mut quoted = false;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => cell.extend(chars.next()),
            '"' => quoted = !quoted,
            ',' if !quoted => record.push(std::mem::take(&mut cell)),
            '\r' if !quoted => {}
            '\n' if !quoted => {
                record.push(std::mem::take(&mut cell));
                records.push(std::mem::take(&mut record));
            }
            c => cell.push(c),
        }
    }
    if !cell.is_empty() || !record.is_empty() {
        record.push(cell);
        records.push(record);
    }
    records
}

/// The golden table; nsys has its own names for some things since.
fn golden(file: &str, report: &str) -> Sheet {
    let stem = shared().join("data/golden/nsys-2022.4").join(format!("{file}.{report}.csv"));
    let packed = stem.with_extension("csv.gz");
    let text = match std::fs::read_to_string(&stem) {
        Ok(text) => text,
        Err(_) => {
            let bytes = std::fs::read(&packed).unwrap_or_else(|e| panic!("{}: {e}", packed.display()));
            let mut text = String::new();
            flate2::read::MultiGzDecoder::new(&bytes[..]).read_to_string(&mut text).expect("gzip");
            text
        }
    };
    let mut sheet = Sheet::parse(&text);
    rename(&mut sheet, report);
    sheet
}

/// Brings a golden to the words of later versions: `None` has become nothing, `MBps` is `MB/s`, operations and ranges
/// have longer names, and API names lose five-digit suffixes as they lose four-digit ones.
fn rename(sheet: &mut Sheet, report: &str) {
    for column in &mut sheet.columns {
        if column == "Throughput (MBps)" {
            *column = "Throughput (MB/s)".to_owned();
        }
    }
    let is_api = |column: &str| {
        column == "API Name"
            || column == "Operation"
            || column == "Name" && matches!(report, "cudaapisum" | "cudaapitrace")
    };
    for row in &mut sheet.rows {
        for (column, cell) in sheet.columns.iter().zip(row.iter_mut()) {
            if cell == "None" {
                cell.clear();
            }
            if is_api(column) && cell.starts_with("cu") && !cell.contains(['(', '<', ' ']) {
                *cell = cupti::strip_version(cell).to_owned();
            }
            if let Some(inner) = cell.strip_prefix("[CUDA memcpy ") {
                let long = |c| if c == 'H' { "Host" } else { "Device" };
                let ends: Vec<char> = inner.chars().collect();
                *cell = format!("[CUDA memcpy {}-to-{}]", long(ends[0]), long(ends[3]));
            }
            // The only domain in these files.
            if matches!(column.as_str(), "Range" | "NVTX Range") && !cell.starts_with("MPI:") {
                *cell = format!(":{cell}");
            }
        }
    }
}

fn ours(path: &Path, name: &str) -> Sheet {
    let (view, arguments) = find_view(name).expect("a known view");
    let need = views::need(view, &arguments);
    let frames = Frames::open(&[path.to_owned()], &need).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let labels = Labels::new(&frames, Demangling::On);
    let filter = Filter::everything();
    let context = Context { frames: &frames, labels: &labels, filter: &filter, arguments };
    let table = view.table(&context).expect("a table");
    assert_eq!((table.name, table.title), (view.name(), view.title()));
    let mut out = Vec::new();
    table.write(&mut out, Format::Csv).expect("memory");
    Sheet::parse(std::str::from_utf8(&out).expect("text"))
}

/// How often each row occurs; ours count down.
fn difference(golden: &Sheet, ours: &Sheet) -> Vec<String> {
    let mut counts: BTreeMap<&[String], i64> = BTreeMap::new();
    golden.rows.iter().for_each(|row| *counts.entry(row).or_default() += 1);
    ours.rows.iter().for_each(|row| *counts.entry(row).or_default() -= 1);
    let differing = counts.into_iter().filter(|(_, n)| *n != 0);
    differing
        .map(|(row, n)| {
            let row: Vec<String> = row.iter().map(|cell| cell.chars().take(60).collect()).collect();
            format!("{} x{}: {}", if n > 0 { "nsys alone" } else { "ours alone" }, n.abs(), row.join(" | "))
        })
        .collect()
}

fn check_throughput(golden: &mut Sheet, mine: &mut Sheet, exact: &[(i64, i64)]) {
    const COLUMN: &str = "Throughput (MB/s)";
    let bytes_of: BTreeMap<i64, i64> = exact.iter().copied().collect();
    for i in 0..golden.rows.len() {
        let cell = &golden.rows[i][golden.at(COLUMN)];
        if cell.is_empty() {
            continue;
        }
        let (start, duration) = (golden.number(i, "Start (ns)") as i64, golden.number(i, "Duration (ns)") as i64);
        let bytes = bytes_of[&start];
        let nsys = bytes * (1_000_000_000 / duration);
        assert_eq!(*cell, format!("{:.3}", nsys as f64 / 1e6), "the golden's own rule, row {i}");
        let right = format!("{:.3}", (bytes as f64 * 1e6 / duration as f64).round() / 1e3);
        let at = mine.column("Start (ns)").iter().position(|s| s.parse() == Ok(start)).expect("the same copy");
        assert_eq!(mine.rows[at][mine.at(COLUMN)], right);
    }
    golden.drop_column(COLUMN);
    mine.drop_column(COLUMN);
}

/// Start and bytes of copies and fills.
fn exact_bytes(path: &Path) -> Vec<(i64, i64)> {
    let uri = format!("file:{}?mode=ro&immutable=1", path.display());
    let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY | rusqlite::OpenFlags::SQLITE_OPEN_URI;
    let db = rusqlite::Connection::open_with_flags(uri, flags).expect("a database");
    let mut all = Vec::new();
    for table in ["CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET"] {
        if let Ok(mut statement) = db.prepare(&format!("SELECT start, bytes FROM {table}")) {
            let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).expect("rows");
            all.extend(rows.map(|row| row.expect("a row")));
        }
    }
    all
}

/// Replaces numbers of ranges by the order in which they are met.
fn renumber(sheet: &mut Sheet) {
    let mut met: Vec<String> = Vec::new();
    let columns = [sheet.at("RangeId"), sheet.at("ParentId"), sheet.at("RangeStack")];
    for row in &mut sheet.rows {
        for column in columns {
            let mut number = |id: &str| {
                if id.is_empty() {
                    return String::new();
                }
                let index = met.iter().position(|known| known == id).unwrap_or_else(|| {
                    met.push(id.to_owned());
                    met.len() - 1
                });
                index.to_string()
            };
            let ids: Vec<String> = row[column].split(':').map(&mut number).collect();
            row[column] = ids.join(":");
        }
    }
}

/// Drops the wider of two rows about one call.
fn drop_backtraces(file: &str, sheet: &mut Sheet, report: &str) {
    if report == "apigpusum" {
        // Here the golden adds both up, so the rows come from the golden that keeps them apart.
        let mut calls = golden(file, "cudaapisum");
        drop_backtraces(file, &mut calls, "cudaapisum");
        sheet.rows.retain(|row| row[8] != "CUDA_API");
        let named = |row: &[String]| [&row[..8], &["CUDA_API".to_owned(), row[8].clone()]].concat();
        sheet.rows.extend(calls.rows.iter().map(|row| named(row)));
        sheet.rows.sort_by_key(|row| std::cmp::Reverse(row[1].parse::<i64>().expect("a total")));
        return sheet.recompute_shares();
    }
    let (name, size) = match report {
        "cudaapitrace" => ("CorrID", "Duration (ns)"),
        _ => ("Name", "Total Time (ns)"),
    };
    let before = sheet.rows.len();
    let mut smallest: BTreeMap<String, (i64, usize)> = BTreeMap::new();
    for i in 0..before {
        let candidate = (sheet.number(i, size) as i64, i);
        let kept = smallest.entry(sheet.rows[i][sheet.at(name)].clone()).or_insert(candidate);
        *kept = candidate.min(*kept);
    }
    let mut kept: Vec<usize> = smallest.into_values().map(|(_, i)| i).collect();
    kept.sort_unstable();
    sheet.rows = kept.into_iter().map(|i| sheet.rows[i].clone()).collect();
    if report == "cudaapitrace" {
        assert_eq!((before, sheet.rows.len()), (95, 57), "what data/README.md says");
    } else {
        assert_eq!(before - sheet.rows.len(), 4, "cudaMemcpy, cudaMalloc, cudaFree, cudaLaunchKernel");
        sheet.recompute_shares();
    }
}

/// Mean, median, smallest, largest, sample deviation.
fn five(mut values: Vec<i64>) -> [String; 5] {
    values.sort_unstable();
    let n = values.len();
    let mean = values.iter().sum::<i64>() as f64 / n as f64;
    let median = (values[n / 2] + values[(n - 1) / 2]) as f64 / 2.0;
    let deviation = (values.iter().map(|&v| (v as f64 - mean).powi(2)).sum::<f64>() / (n as f64 - 1.0)).sqrt();
    [
        format!("{mean:.1}"),
        format!("{median:.1}"),
        values[0].to_string(),
        values[n - 1].to_string(),
        format!("{deviation:.1}"),
    ]
}

/// The one row that the golden should have: from the calls and the kernels that nsys listed one by one.
fn kernels_once(file: &str, sheet: &mut Sheet) {
    let mut calls = golden(file, "cudaapitrace");
    drop_backtraces(file, &mut calls, "cudaapitrace");
    let kernels = golden(file, "gputrace");
    let [mut total, mut call, mut queue, mut kernel] = [const { Vec::new() }; 4];
    for i in (0..kernels.rows.len()).filter(|&i| !kernels.rows[i][kernels.at("GrdX")].is_empty()) {
        let id = &kernels.rows[i][kernels.at("CorrId")];
        let at = calls.column("CorrID").iter().position(|c| c == id).expect("its call");
        let (start, ns) = (calls.number(at, "Start (ns)") as i64, calls.number(at, "Duration (ns)") as i64);
        let (k_start, k_ns) = (kernels.number(i, "Start (ns)") as i64, kernels.number(i, "Duration (ns)") as i64);
        total.push((start + ns).max(k_start + k_ns) - start);
        call.push(ns);
        queue.extend((k_start > start + ns).then_some(k_start - start - ns));
        kernel.push(k_ns);
    }
    assert_eq!(
        (sheet.rows.len(), sheet.number(0, "Count"), kernel.len()),
        (1, 10.0, 5),
        "what data/README.md says"
    );
    let row = &mut sheet.rows[0];
    row[3] = kernel.len().to_string();
    row[4] = queue.len().to_string();
    for (group, values) in [total, call, queue, kernel].into_iter().enumerate() {
        row[5 + 5 * group..10 + 5 * group].clone_from_slice(&five(values));
    }
}

/// Count and total of each name.
fn sums(sheet: &Sheet, name: &str, count: Option<&str>, total: &str) -> BTreeMap<String, (i64, i64)> {
    let mut sums: BTreeMap<String, (i64, i64)> = BTreeMap::new();
    for i in 0..sheet.rows.len() {
        let sum = sums.entry(sheet.rows[i][sheet.at(name)].clone()).or_default();
        sum.0 += count.map_or(1, |count| sheet.number(i, count) as i64);
        sum.1 += sheet.number(i, total) as i64;
    }
    sums
}

/// Compares one golden with our view; what differs, if anything.
fn compare(file: &str, report: &str, view: &str, sort: &str) -> Vec<String> {
    let path = shared().join("data/nsys").join(format!("{file}.sqlite"));
    let mut theirs = golden(file, report);
    let mut mine = ours(&path, view);
    let known = DIFFERENCES.iter().filter(|(f, r, ..)| (*f == "*" || *f == file) && *r == report);
    let known: Vec<Instead> = known.map(|(_, _, instead, _)| *instead).collect();
    if known.contains(&Instead::GoldenIsEmpty) {
        assert!(theirs.columns.is_empty() && theirs.rows.is_empty(), "the golden is no longer empty");
        let mut expected = sums(&golden(file, "gpukernsum"), "Name", Some("Instances"), "Total Time (ns)");
        expected.extend(sums(&golden(file, "gpumemtimesum"), "Operation", Some("Count"), "Total Time (ns)"));
        let found = sums(&mine, "Name", None, "Duration (ns)");
        return if found == expected { Vec::new() } else { vec!["sums by name differ".to_owned()] };
    }
    // New since 2022.4.
    if report == "gputrace" {
        mine.drop_column("GreenCtx");
    }
    if theirs.columns != mine.columns {
        return vec![format!("columns: nsys {:?}, ours {:?}", theirs.columns, mine.columns)];
    }
    for instead in known {
        match instead {
            Instead::Empty(column) => {
                assert!(mine.column(column).iter().all(|cell| cell.is_empty()), "{column} is no longer empty");
                theirs.drop_column(column);
                mine.drop_column(column);
            }
            Instead::Throughput => check_throughput(&mut theirs, &mut mine, &exact_bytes(&path)),
            Instead::Renumbered => [&mut theirs, &mut mine].into_iter().for_each(renumber),
            Instead::WithoutBacktraces => drop_backtraces(file, &mut theirs, report),
            Instead::KernelsOnce => kernels_once(file, &mut theirs),
            Instead::TotalsOnce => {
                let kernels = golden(file, "gpukernsum");
                for column in ["Total Time (ns)", "StdDev (ns)"] {
                    let at = theirs.at(column);
                    theirs.rows[0][at] = kernels.rows[0][kernels.at(column)].clone();
                }
            }
            Instead::GoldenIsEmpty => {}
        }
    }
    let mut found = difference(&theirs, &mine);
    if found.is_empty() && theirs.column(sort) != mine.column(sort) {
        found.push(format!("the same rows, but not in the order of {sort}"));
    }
    found
}

/// The collection; only asked for once [`goldens`] has found it.
fn shared() -> PathBuf {
    common::shared("the goldens of nsys 2022.4").expect("the collection is there")
}

/// Files of the collection by stem, reports by name.
fn goldens() -> Option<Vec<(String, String)>> {
    let folder = common::shared("the goldens of nsys 2022.4")?.join("data/golden/nsys-2022.4");
    let entries = folder.read_dir().expect("the goldens");
    let mut all = Vec::new();
    for entry in entries {
        let name = entry.expect("an entry").file_name().into_string().expect("a name");
        let stem = name.strip_suffix(".gz").unwrap_or(&name).strip_suffix(".csv").expect("a CSV file").to_owned();
        let (file, report) = stem.rsplit_once('.').expect("file.report");
        all.push((file.to_owned(), report.to_owned()));
    }
    all.sort();
    Some(all)
}

#[test]
fn every_golden_of_nsys_is_what_we_print() {
    let Some(all) = goldens() else { return };
    let (mut compared, mut rules, mut failures) = (0, 0, Vec::new());
    for (file, report) in &all {
        if report.starts_with("rule_") {
            rules += 1;
            continue;
        }
        let Some((_, view, sort)) = REPORTS.iter().find(|(name, ..)| name == report) else {
            failures.push(format!("{file}.{report}: no view is compared with it"));
            continue;
        };
        let found = compare(file, report, view, sort);
        compared += 1;
        if !found.is_empty() {
            let shown: Vec<&str> = found.iter().take(6).map(String::as_str).collect();
            failures.push(format!("{file}.{report}: {} differences\n    {}", found.len(), shown.join("\n    ")));
        }
    }
    eprintln!("{compared} goldens compared, {rules} of rules in a test of their own");
    for (file, report, instead, why) in DIFFERENCES {
        eprintln!("  {file}.{report}: {instead:?}: {why}");
    }
    assert!(failures.is_empty(), "{} of {compared} differ:\n{}", failures.len(), failures.join("\n"));
    // A golden that disappears must not pass unnoticed.
    assert_eq!((compared, rules), (57, 18), "goldens found");
}

#[test]
fn every_rule_of_nsys_finds_what_we_print() {
    let Some(all) = goldens() else { return };
    let (mut compared, mut failures) = (0, Vec::new());
    for (file, report) in all.iter().filter(|(_, report)| report.starts_with("rule_")) {
        let (_, view) =
            RULES.iter().find(|(name, _)| name == report).unwrap_or_else(|| panic!("{report}: no view"));
        let path = shared().join("data/nsys").join(format!("{file}.sqlite"));
        let mut mine = ours(&path, view);
        compared += 1;
        let text =
            std::fs::read_to_string(shared().join("data/golden/nsys-2022.4").join(format!("{file}.{report}.csv")))
                .expect("the golden");
        if text.starts_with("SKIPPED: ") {
            // There is no such table in the database, and so there are no such rows.
            assert_eq!(mine.rows.len(), 0, "{file}.{report}");
            continue;
        }
        let mut theirs = golden(file, report);
        if file == SAXPY && *report == "rule_cuda-sync-memcpy" {
            // data/README.md: class 67 counted twice, so each copy is listed with both of its calls.
            let all = theirs.rows.len();
            theirs.rows.dedup();
            assert_eq!(theirs.rows.len() * 2, all);
        }
        assert_eq!(mine.columns, theirs.columns, "{file}.{report}");
        assert!(
            theirs.rows.len() <= RULE_ROWS
                && (theirs.rows.len() == RULE_ROWS || mine.rows.len() == theirs.rows.len())
        );
        mine.rows.truncate(RULE_ROWS);
        if mine.rows != theirs.rows {
            let first = mine.rows.iter().zip(&theirs.rows).find(|(a, b)| a != b);
            failures.push(format!(
                "{file}.{report}: {} and {} rows: {first:?}",
                mine.rows.len(),
                theirs.rows.len()
            ));
        }
    }
    assert!(failures.is_empty(), "{} of {compared} differ:\n{}", failures.len(), failures.join("\n"));
    assert_eq!(compared, 18, "goldens found");
}

/// The grouping without grid and block has no golden of its own: it must be the golden with grid and block, added up.
#[test]
fn kernels_by_name_add_up_to_the_golden_by_grid_and_block() {
    let Some(all) = goldens() else { return };
    for (file, _) in all.iter().filter(|(_, report)| report == "gpukernsum") {
        let path = shared().join("data/nsys").join(format!("{file}.sqlite"));
        let expected = sums(&golden(file, "gpukernsum"), "Name", Some("Instances"), "Total Time (ns)");
        let found = ours(&path, "cuda_gpu_kern_sum");
        assert_eq!(sums(&found, "Name", Some("Instances"), "Total Time (ns)"), expected, "{file}");
        assert_eq!(found.rows.len(), expected.len());
    }
}

/// The trace of launches has no golden of its own: summed up it must be the golden summary.
#[test]
fn launches_one_by_one_add_up_to_the_golden_summary() {
    let Some(all) = goldens() else { return };
    for (file, _) in all.iter().filter(|(file, report)| report == "kernexecsum" && file != SAXPY) {
        let path = shared().join("data/nsys").join(format!("{file}.sqlite"));
        let (trace, summary) = (ours(&path, "cuda_kern_exec_trace"), golden(file, "kernexecsum"));
        assert_eq!(trace.columns.len(), 14);
        let rows: f64 = (0..summary.rows.len()).map(|i| summary.number(i, "Count")).sum();
        assert_eq!(trace.rows.len() as f64, rows, "{file}");
        for i in 0..summary.rows.len() {
            let cell = |column: &str| &summary.rows[i][summary.at(column)];
            let same = |row: &Vec<String>| {
                [
                    ("PID", "PID"),
                    ("TID", "TID"),
                    ("DevId", "DevId"),
                    ("API Name", "API Function"),
                    ("Kernel Name", "Kernel Name"),
                ]
                .iter()
                .all(|(theirs, mine)| cell(theirs) == &row[trace.at(mine)])
            };
            let rows: Vec<&Vec<String>> = trace.rows.iter().filter(|row| same(row)).collect();
            let values = |column: &str| -> Vec<i64> {
                rows.iter().filter_map(|row| row[trace.at(column)].parse().ok()).collect()
            };
            assert_eq!(rows.len().to_string(), *cell("Count"));
            assert_eq!(values("Queue Dur (ns)").len().to_string(), *cell("QCount"));
            for (prefix, column) in
                [("T", "Total Dur (ns)"), ("A", "API Dur (ns)"), ("Q", "Queue Dur (ns)"), ("K", "Kernel Dur (ns)")]
            {
                let (min, max) = (values(column).into_iter().min(), values(column).into_iter().max());
                let text = |value: Option<i64>| value.map_or(String::new(), |v| v.to_string());
                assert_eq!(&text(min), cell(&format!("{prefix}Min (ns)")), "{file} row {i} {column}");
                assert_eq!(&text(max), cell(&format!("{prefix}Max (ns)")), "{file} row {i} {column}");
            }
        }
    }
}

/// A listing that a newer nsys printed, of a database that nobody has: made into one and listed by us.
#[test]
fn ranges_nest_as_a_newer_nsys_lists_them() {
    let Some(shared) = common::shared("ranges_nest_as_a_newer_nsys_lists_them") else { return };
    let text = std::fs::read_to_string(shared.join("data/nsys/nbody_nvtx_pushpop_trace.csv")).expect("the listing");
    let theirs = Sheet::parse(&text);
    let file = std::env::temp_dir().join(format!("gpuprof-nbody-{}.sqlite", std::process::id()));
    let _ = std::fs::remove_file(&file);
    let db = rusqlite::Connection::open(&file).expect("a database");
    db.execute_batch(
        "CREATE TABLE StringIds (id INTEGER, value TEXT);
         CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER);",
    )
    .expect("tables");
    for i in 0..theirs.rows.len() {
        let integer = |column: &str| theirs.number(i, column) as i64;
        let name = &theirs.rows[i][theirs.at("Name")];
        // 24 bits of each id are what such a file holds.
        let thread = (integer("PID") & 0xFF_FFFF) << 24 | integer("TID") & 0xFF_FFFF;
        db.execute(
            "INSERT INTO NVTX_EVENTS VALUES (?1, ?2, 59, ?3, ?4)",
            rusqlite::params![integer("Start (ns)"), integer("End (ns)"), name, thread],
        )
        .expect("a row");
    }
    drop(db);
    let mine = ours(&file, "nvtx_pushpop_trace");
    std::fs::remove_file(&file).expect("the file is there");
    assert_eq!(mine.columns, theirs.columns);
    assert_eq!(mine.rows, theirs.rows);
}
