//! Printed traces, summaries and CPU profiles of the shared collection against independently computed truths, and
//! what the real nvprof and nsys printed against the databases it was printed from.

use crate::common::{self, gpuprof, shared};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Calls, total, minimum, maximum in ns, by name.
type Sums = BTreeMap<String, [i64; 4]>;

fn document(path: &Path, options: &[&str]) -> Value {
    let path = path.to_str().expect("a path");
    let answer = gpuprof(&[&["report", "--format", "json", path], options].concat());
    serde_json::from_str(&answer.stdout).expect("JSON")
}

fn rows<'d>(document: &'d Value, table: &str) -> Vec<&'d Value> {
    let tables = document["tables"].as_array().expect("tables").iter();
    let rows = tables.filter(|found| found["name"] == table);
    rows.flat_map(|found| found["rows"].as_array().expect("rows")).collect()
}

fn sums(document: &Value, table: &str) -> Sums {
    let mut sums = Sums::new();
    for row in rows(document, table) {
        let columns = ["Calls", "Total Time (ns)", "Min (ns)", "Max (ns)"];
        let values = columns.map(|column| row[column].as_i64().expect("a number"));
        assert_eq!(sums.insert(row["Name"].as_str().expect("a name").to_owned(), values), None, "{row}");
    }
    sums
}

fn truth(path: &Path) -> Value {
    let text = std::fs::read(format!("{}.truth.json", path.display())).expect("a truth");
    serde_json::from_slice(&text).expect("JSON")
}

/// Rows of a list of the truth by what `name` makes of each.
fn expected(list: &Value, name: impl Fn(&Value) -> String) -> Sums {
    let list = list.as_array().into_iter().flatten();
    list.map(|entry| {
        let values = ["count", "total_ns", "min_ns", "max_ns"].map(|key| entry[key].as_i64().unwrap_or(0));
        (name(entry), values)
    })
    .collect()
}

fn name(entry: &Value) -> String {
    entry["name"].as_str().expect("a name").to_owned()
}

#[test]
fn printed_traces_of_nvprof_match_their_truth() {
    let Some(shared) = shared("printed_traces_of_nvprof_match_their_truth") else { return };
    let files = [
        "radixsort_gpu_trace.csv",
        "backprop_api_trace.csv",
        "backprop_api_and_gpu_trace.csv",
        "euler3d_um_gpu_trace.csv",
        "cudastream_gpu_trace.txt",
    ];
    for file in files {
        let path = shared.join("data/nvprof").join(file);
        let truth = truth(&path);
        let section = &truth["sections"][0];
        let document = document(&path, &["--demangling", "off"]);
        let mut gpu = expected(&section["kernels"], name);
        gpu.extend(expected(&section["memcpy"], |entry| {
            format!("[CUDA memcpy {}]", entry["kind"].as_str().expect("a kind"))
        }));
        gpu.extend(expected(&section["memset"], name));
        assert_eq!(sums(&document, "gpu_summary"), gpu, "{file}");
        // A launch is printed with what it launched.
        let mut api = Sums::new();
        for (name, values) in expected(&section["api"], name) {
            let name = name.split(" (").next().unwrap_or_default().to_owned();
            let sums = api.entry(name).or_insert([0, 0, i64::MAX, 0]);
            *sums = [sums[0] + values[0], sums[1] + values[1], sums[2].min(values[2]), sums[3].max(values[3])];
        }
        assert_eq!(sums(&document, "api_summary"), api, "{file}");
        assert_eq!(rows(&document, "imported_gpu_summary").len(), 0, "{file}");
        eprintln!("exact: nvprof/{file}, {} rows", section["rows"]);
    }
}

#[test]
fn unified_memory_rows_are_records_of_their_own() {
    let Some(shared) = shared("unified_memory_rows_are_records_of_their_own") else { return };
    for (file, rows) in [("euler3d_um_gpu_trace.csv", 229), ("bfs_um_gpu_trace.txt", 253)] {
        let path = shared.join("data/nvprof").join(file);
        let truth = truth(&path);
        assert_eq!(truth["sections"][0]["records"]["other"], rows);
        let answer = gpuprof(&["info", "--format", "csv", path.to_str().expect("a path")]);
        assert!(answer.stdout.contains(&format!("uvm,{rows}\n")), "{file}: {}", answer.stdout);
        for entry in truth["sections"][0]["other"].as_array().expect("a list") {
            let (count, ns) =
                (entry["count"].as_i64().expect("a count"), entry["total_ns"].as_i64().expect("a time"));
            let kind = match entry["name"].as_str().expect("a name") {
                "[Unified Memory Memcpy HtoD]" => 1,
                "[Unified Memory Memcpy DtoH]" => 2,
                "[Unified Memory CPU page faults]" => 3,
                "[Unified Memory GPU page faults]" => 4,
                "[Unified Memory page thrash]" => 5,
                other => panic!("{other}"),
            };
            assert_eq!(unified(&path, kind), (count, ns), "{file}: {entry}");
        }
    }
}

/// Number and time of the unified memory records of one kind.
fn unified(path: &Path, wanted: u32) -> (i64, i64) {
    use gpuprof::trace::{frames::Frames, select::Filter, sink::Need};
    use trace_format::tables::column::uvm;
    let frames = Frames::open(&[path.to_owned()], &Need::all()).expect("opens");
    frames
        .fold(
            &trace_format::tables::UVM,
            &[uvm::KIND, uvm::DURATION_NS],
            &Filter::everything(),
            || (0, 0),
            |sums: &mut (i64, i64), batch| {
                let (kind, duration) = (batch.get(uvm::KIND), batch.get(uvm::DURATION_NS));
                batch.for_each_row(|i| {
                    if kind.get(i) == Some(wanted) {
                        sums.0 += 1;
                        sums.1 += duration.get(i).unwrap_or(0);
                    }
                });
            },
            |a, b| *a = (a.0 + b.0, a.1 + b.1),
        )
        .expect("reads")
}

#[test]
fn printed_summaries_match_their_truth() {
    let Some(shared) = shared("printed_summaries_match_their_truth") else { return };
    let files = [
        "nvprof/babelstream_summary.txt",
        "nvprof/euler3d_gpu_summary.csv",
        "nvprof/euler3d_um_summary.csv",
        "nsys/minivllm_cuda_api_sum.csv",
        "nsys/minivllm_cuda_gpu_kern_sum.csv",
    ];
    for file in files {
        let path = shared.join("data").join(file);
        let truth = truth(&path);
        let table = truth["sections"][0]["table"].as_array().expect("a table");
        let of = |section: &str| {
            let rows = table.iter().filter(|row| row["type"] == section).cloned().collect();
            expected(&Value::Array(rows), name)
        };
        let (gpu, api) = match file {
            "nsys/minivllm_cuda_api_sum.csv" => (Sums::new(), expected(&truth["sections"][0]["table"], name)),
            "nsys/minivllm_cuda_gpu_kern_sum.csv" => (expected(&truth["sections"][0]["table"], name), Sums::new()),
            _ => (of("GPU activities"), of("API calls")),
        };
        let document = document(&path, &[]);
        assert_eq!(sums(&document, "imported_gpu_summary"), gpu, "{file}");
        assert_eq!(sums(&document, "imported_api_summary"), api, "{file}");
        assert_eq!(rows(&document, "gpu_summary").len() + rows(&document, "api_summary").len(), 0, "{file}");
        let sizes =
            truth["sections"].as_array().expect("sections").get(1).map_or(0, |s| s["rows"].as_i64().unwrap_or(0));
        assert_eq!(rows(&document, "imported_size_summary").len() as i64, sizes, "{file}");
        eprintln!("exact: {file}");
    }
}

#[test]
fn traces_of_nsys_stats_match_their_truth() {
    let Some(shared) = shared("traces_of_nsys_stats_match_their_truth") else { return };
    let path = shared.join("data/nsys/phobos_cuda_gpu_trace_excerpt.csv");
    let section = truth(&path)["sections"][0].clone();
    let mut gpu = expected(&section["kernels"], name);
    gpu.extend(expected(&section["memops"], |entry| name(entry).replace("Host-to-Device", "HtoD")));
    assert_eq!(sums(&document(&path, &[]), "gpu_summary"), gpu);

    let path = shared.join("data/nsys/nbody_nvtx_pushpop_trace.csv");
    let section = truth(&path)["sections"][0].clone();
    let document = document(&path, &["--view", "nvtx_pushpop_trace"]);
    let mut found = Sums::new();
    for row in rows(&document, "nvtx_pushpop_trace") {
        let ns = row["Duration (ns)"].as_i64().expect("a duration");
        let name = row["Name"].as_str().expect("a name").trim_start_matches(':').to_owned();
        let sums = found.entry(name).or_insert([0, 0, i64::MAX, 0]);
        *sums = [sums[0] + 1, sums[1] + ns, sums[2].min(ns), sums[3].max(ns)];
    }
    assert_eq!(found, expected(&section["api"], name));
}

/// What the real tools printed from a database, and the database.
fn golden(shared: &Path, folder: &str, ending: &str) -> Vec<(PathBuf, PathBuf)> {
    let files = std::fs::read_dir(shared.join("data/golden").join(folder)).expect("a folder");
    let (data, extension) = if folder.starts_with("nvprof") { ("nvprof", "nvvp") } else { ("nsys", "sqlite") };
    let mut found = Vec::new();
    for file in files {
        let path = file.expect("a file").path();
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name");
        if let Some(stem) = name.strip_suffix(ending) {
            let source = shared.join("data").join(data).join(format!("{stem}.{extension}"));
            found.push((source, path));
        }
    }
    assert!(!found.is_empty(), "{folder}: no {ending}");
    found.sort();
    found
}

/// The printed sums agree with those of the records as far as their digits go.
fn close(found: &Sums, exact: &Sums, relative: f64, absolute: f64, what: &Path) {
    let names = |sums: &Sums| sums.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(found), names(exact), "{}", what.display());
    for (name, values) in found {
        assert_eq!(values[0], exact[name][0], "{}: calls of {name}", what.display());
        for (value, exact) in values.iter().zip(&exact[name]).skip(1) {
            let off = (value - exact).abs() as f64;
            // Each of the calls may be off by so much.
            let limit = absolute * values[0] as f64 + relative * *exact as f64;
            assert!(off <= limit, "{}: {name}: {value} for {exact}", what.display());
        }
    }
}

#[test]
fn what_nvprof_printed_agrees_with_its_database() {
    let Some(shared) = shared("what_nvprof_printed_agrees_with_its_database") else { return };
    let mut files = 0;
    for (kind, gpu, api) in [
        ("gpu_trace", true, false),
        ("api_trace", false, true),
        ("gpu_api_trace", true, true),
        ("gpu_trace_u_ms", true, false),
    ] {
        for form in ["csv", "txt"] {
            if (kind == "gpu_api_trace" && form == "csv") || (kind == "gpu_trace_u_ms" && form == "txt") {
                continue;
            }
            for (source, printed) in golden(&shared, "nvprof-11.8", &format!(".{kind}.{form}")) {
                let exact = document(&source, &["--demangling", "nvprof"]);
                let found = document(&printed, &["--demangling", "off"]);
                // CSV has six decimals of its unit, text five digits, of every single record.
                let in_seconds = std::fs::read_to_string(&printed)
                    .expect("text")
                    .lines()
                    .nth(2)
                    .is_some_and(|units| units.starts_with("s,s,"));
                let (relative, absolute) = match form {
                    "csv" if in_seconds => (0.0, 500.0),
                    "csv" => (0.0, 0.0),
                    _ => (1e-4, 0.0),
                };
                let none = Sums::new();
                let of = |wanted: bool, table: &str| if wanted { sums(&exact, table) } else { none.clone() };
                close(&sums(&found, "gpu_summary"), &of(gpu, "gpu_summary"), relative, absolute, &printed);
                close(&sums(&found, "api_summary"), &of(api, "api_summary"), relative, absolute, &printed);
                files += 1;
            }
        }
    }
    assert_eq!(files, 18, "printed traces");
}

#[test]
fn summaries_that_nvprof_printed_agree_with_its_database() {
    let Some(shared) = shared("summaries_that_nvprof_printed_agree_with_its_database") else { return };
    let mut files = 0;
    for unit in ["", "_u_s", "_u_ms", "_u_us", "_u_ns", "_u_col", "_u_auto"] {
        for form in ["csv", "txt"] {
            for (source, printed) in golden(&shared, "nvprof-11.8", &format!(".summary{unit}.{form}")) {
                let exact = document(&source, &["--demangling", "nvprof"]);
                let found = document(&printed, &[]);
                // Six decimals of seconds are microseconds; text with one unit per column may have two digits.
                let (relative, absolute) = match (form, unit) {
                    ("csv", "_u_s") => (0.0, 500.0),
                    ("csv", _) => (0.0, 1.0),
                    (_, "_u_s") => (5e-2, 500.0),
                    (_, "" | "_u_auto") => (1e-4, 1.0),
                    _ => (1e-2, 1.0),
                };
                for (imported, records) in
                    [("imported_gpu_summary", "gpu_summary"), ("imported_api_summary", "api_summary")]
                {
                    close(&sums(&found, imported), &sums(&exact, records), relative, absolute, &printed);
                }
                files += 1;
            }
        }
    }
    assert_eq!(files, 42, "printed summaries");
}

#[test]
fn traces_that_nsys_stats_printed_agree_with_its_database() {
    let Some(shared) = shared("traces_that_nsys_stats_printed_agree_with_its_database") else { return };
    for (source, printed) in golden(&shared, "nsys-2022.4", ".gputrace.csv.gz") {
        if unpacked(&printed).lines().count() < 2 {
            continue;
        }
        let truth = truth(&source);
        let document = document(&printed, &[]);
        let mut exact = expected(&truth["kernels"], name);
        let mut add = |name: String, values: [i64; 4]| {
            let sums = exact.entry(name).or_insert([0, 0, i64::MAX, 0]);
            *sums = [sums[0] + values[0], sums[1] + values[1], sums[2].min(values[2]), sums[3].max(values[3])];
        };
        for (list, prefix) in [("memcpy", "[CUDA memcpy "), ("memset", "[CUDA memset")] {
            for entry in truth[list].as_array().into_iter().flatten() {
                let kind = entry["kind"].as_str().filter(|_| list == "memcpy").unwrap_or_default();
                add(
                    format!("{prefix}{kind}]"),
                    ["count", "total_ns", "min_ns", "max_ns"].map(|key| entry[key].as_i64().unwrap_or(0)),
                );
            }
        }
        assert_eq!(sums(&document, "gpu_summary"), exact, "{}", printed.display());
        eprintln!("exact: {}", printed.display());
    }
    for (source, printed) in golden(&shared, "nsys-2022.4", ".cudaapitrace.csv.gz") {
        let lines = unpacked(&printed).lines().count() as i64 - 1;
        let found = sums(&document(&printed, &[]), "api_summary");
        assert_eq!(found.values().map(|sums| sums[0]).sum::<i64>(), lines, "{}", printed.display());
        // nsys 2022.4 counts the rows of call stacks as calls; the database's reader does not.
        if !printed.to_str().is_some_and(|path| path.contains("saxpy")) {
            assert_eq!(found, sums(&document(&source, &[]), "api_summary"), "{}", printed.display());
        }
    }
    for (report, table, records) in [("cudaapisum", "imported_api_summary", "api_summary")] {
        for (source, printed) in golden(&shared, "nsys-2022.4", &format!(".{report}.csv")) {
            if printed.to_str().is_some_and(|path| path.contains("saxpy")) {
                continue;
            }
            let found: Sums = sums(&document(&printed, &[]), table)
                .into_iter()
                // The reports leave a suffix of five digits.
                .map(|(name, values)| (gpuprof::cupti::strip_version(&name).to_owned(), values))
                .collect();
            assert_eq!(found, sums(&document(&source, &[]), records), "{}", printed.display());
        }
    }
}

fn unpacked(path: &Path) -> String {
    use std::io::Read;
    let mut text = String::new();
    let file = std::fs::File::open(path).expect("opens");
    flate2::read::MultiGzDecoder::new(file).read_to_string(&mut text).expect("text");
    text
}

#[test]
fn every_golden_table_is_read_or_refused_with_the_reason() {
    let Some(shared) = shared("every_golden_table_is_read_or_refused_with_the_reason") else { return };
    let (mut read, mut refused) = (0, 0);
    for folder in ["nvprof-11.8", "nsys-2022.4"] {
        for file in std::fs::read_dir(shared.join("data/golden").join(folder)).expect("a folder") {
            let path = file.expect("a file").path();
            let argument = path.to_str().expect("a path");
            let answer = common::gpuprof_in(Path::new("."), &["report", argument]);
            match answer.status {
                0 => read += 1,
                // A table without rows, or with nothing that is a record or a sum of a kind.
                1 | 2 => {
                    assert!(answer.stderr.contains(argument), "{}", answer.stderr);
                    refused += 1;
                }
                status => panic!("{argument}: {status}: {}", answer.stderr),
            }
        }
    }
    eprintln!("{read} golden tables read, {refused} refused");
    // Refused are the sums of launches and projected ranges, rules of `nsys analyze`, and tables without rows.
    assert_eq!((read, refused), (121, 35));
}

#[test]
fn speedscope_profiles_match_their_truth() {
    let Some(shared) = shared("speedscope_profiles_match_their_truth") else { return };
    for file in ["pyspy.speedscope.json", "two_sampled.speedscope.json", "simple_evented.speedscope.json"] {
        let path = shared.join("data/python").join(file);
        let truth = truth(&path);
        let document = document(&path, &[]);
        for profile in truth["profiles"].as_array().expect("profiles") {
            let is_evented = profile["type"] == "evented";
            let table = if is_evented { "cpu_ranges" } else { "cpu_samples" };
            // Whole nanoseconds of what the truth has in seconds; evented times have no unit.
            let scale = if profile["unit"] == "seconds" { 1e9 } else { 1.0 };
            let thread = &profile["name"];
            let found = rows(&document, table);
            let found: Vec<_> = found.into_iter().filter(|row| is_evented || row["Thread"] == *thread).collect();
            let number = |row: &Value, column: &str| row[column].as_i64().expect("a number") as f64 / scale;
            let column = if is_evented { "Range" } else { "Function" };
            // Frames of one name and different lines are told apart by file and line, so sums by name are compared.
            let mut own: BTreeMap<String, f64> = BTreeMap::new();
            for row in &found {
                let label = row[column].as_str().expect("a name");
                let name = label.split(" (").next().unwrap_or_default();
                *own.entry(name.to_owned()).or_default() += number(row, "Self Time (ns)");
            }
            let mut expected: BTreeMap<String, f64> = BTreeMap::new();
            for entry in profile["by_frame"].as_array().expect("frames") {
                let name = entry["name"].as_str().expect("a name");
                let name = name.split(" (").next().unwrap_or_default();
                *expected.entry(name.to_owned()).or_default() += entry["self"].as_f64().expect("a number");
                let namesakes = profile["by_frame"].as_array().expect("frames").iter();
                let namesakes = namesakes
                    .filter(|other| other["name"].as_str().is_some_and(|o| o.split(" (").next() == Some(name)));
                if namesakes.count() > 1 {
                    // Frames of one label are one function to us and several to the truth.
                    continue;
                }
                let same = found
                    .iter()
                    .filter(|row| row[column].as_str().is_some_and(|l| l.split(" (").next() == Some(name)));
                let total = entry["total"].as_f64().expect("a number");
                assert!(
                    same.clone().any(|row| (number(row, "Total Time (ns)") - total).abs() < 1e-6),
                    "{file}: {thread}: {entry}: {:?}",
                    same.collect::<Vec<_>>()
                );
            }
            assert_eq!(own.len(), expected.len(), "{file}: {thread}");
            for (name, value) in &expected {
                assert!((own[name] - value).abs() < 1e-6, "{file}: {thread}: {name}: {} for {value}", own[name]);
            }
        }
        eprintln!("exact: python/{file}");
    }
}

#[test]
fn other_profiles_of_python_match_their_truth() {
    let Some(shared) = shared("other_profiles_of_python_match_their_truth") else { return };
    let path = shared.join("data/python/pyspy.collapsed.txt");
    let truth_of_folded = truth(&path);
    let folded = document(&path, &[]);
    let found: BTreeMap<&str, i64> = rows(&folded, "cpu_samples")
        .into_iter()
        .map(|row| (row["Function"].as_str().expect("a name"), row["Self"].as_i64().expect("a number")))
        .filter(|(_, own)| *own > 0)
        .collect();
    let expected: BTreeMap<&str, i64> = truth_of_folded["self_by_leaf"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|pair| (pair[0].as_str().expect("a name"), pair[1].as_i64().expect("a number")))
        .collect();
    assert_eq!(found, expected);
    assert_eq!(Some(found.values().sum()), truth_of_folded["samples"].as_i64());

    let path = shared.join("data/python/pyspy.chrometrace.json");
    let ranges = truth(&path)["begin_end_ranges"].clone();
    let mut found = Sums::new();
    for (name, ns) in all_ranges(&path) {
        let sums = found.entry(name).or_insert([0, 0, i64::MAX, 0]);
        *sums = [sums[0] + 1, sums[1] + ns, sums[2].min(ns), sums[3].max(ns)];
    }
    assert_eq!(found, expected_ranges(&ranges));
}

fn expected_ranges(ranges: &Value) -> Sums {
    let sums = expected(&ranges["by_name_inclusive"], name);
    assert_eq!(sums.values().map(|sums| sums[0]).sum::<i64>(), ranges["closed"].as_i64().expect("a number"));
    sums
}

/// Names and durations of all ranges that have an end.
fn all_ranges(path: &Path) -> Vec<(String, i64)> {
    use gpuprof::trace::{frames::Frames, select::Filter, sink::Need};
    use trace_format::tables::column::range;
    let frames = Frames::open(&[path.to_owned()], &Need::all()).expect("opens");
    frames
        .fold(
            &trace_format::tables::RANGE,
            &[range::START_NS, range::END_NS, range::NAME_ID],
            &Filter::everything(),
            Vec::new,
            |out: &mut Vec<(String, i64)>, batch| {
                let (start, end, name) =
                    (batch.get(range::START_NS), batch.get(range::END_NS), batch.get(range::NAME_ID));
                batch.for_each_row(|i| {
                    if let (Some(start), Some(end)) = (start.get(i), end.get(i)) {
                        out.push((frames.names.text(name.get(i).unwrap_or(0)).into_owned(), end - start));
                    }
                });
            },
            |a, mut b| a.append(&mut b),
        )
        .expect("reads")
}

#[test]
fn chrome_traces_of_the_edge_cases_match_their_truth() {
    let Some(shared) = shared("chrome_traces_of_the_edge_cases_match_their_truth") else { return };
    // Complete events with a duration, beyond the pairs of beginning and end that the truth lists.
    for (file, complete) in
        [("partial_trailing_comma", 1), ("x_events_matching_start", 9), ("not_enough_end_events", 1)]
    {
        let path = shared.join(format!("data/edge/{file}.trace.json"));
        let truth = truth(&path);
        let pairs = truth["begin_end_ranges"]["closed"].as_i64().unwrap_or(0);
        let ranges = all_ranges(&path);
        assert_eq!(ranges.len() as i64, pairs + complete, "{file}: {ranges:?}");
        for (name, sums) in expected(&truth["begin_end_ranges"]["by_name_inclusive"], name) {
            assert!(ranges.contains(&(name.clone(), sums[1])), "{file}: {name}");
        }
        let document = document(&path, &[]);
        assert!(!rows(&document, "cpu_ranges").is_empty(), "{file}");
    }
}

#[test]
fn tensorflow_timelines_match_their_truth() {
    let Some(shared) = shared("tensorflow_timelines_match_their_truth") else { return };
    for file in ["blackbox_gpu_timeline_old.json", "riptide_gpu_timeline.ctf.json"] {
        let path = shared.join("data/tf").join(file);
        let truth = truth(&path);
        let mut gpu = Sums::new();
        let mut host = 0;
        for lane in truth["lanes"].as_array().expect("lanes") {
            let process = lane["process"].as_str().expect("a name");
            if process.starts_with("/job:") {
                host += lane["events"].as_i64().expect("a number");
            }
            if !process.contains("/stream:") || process.contains(":all") {
                continue;
            }
            for (name, values) in expected(&lane["by_op"], name) {
                let name = name.strip_prefix("MEMCPY").map_or(name.clone(), |kind| format!("[CUDA memcpy {kind}]"));
                let sums = gpu.entry(name).or_insert([0, 0, i64::MAX, 0]);
                *sums = [sums[0] + values[0], sums[1] + values[1], sums[2].min(values[2]), sums[3].max(values[3])];
            }
        }
        assert_eq!(sums(&document(&path, &[]), "gpu_summary"), gpu, "{file}");
        assert_eq!(all_ranges(&path).len() as i64, host, "{file}");
        eprintln!("exact: tf/{file}");
    }
}

#[test]
fn cprofile_dumps_match_their_truth_and_the_real_pstats() {
    let Some(shared) = shared("cprofile_dumps_match_their_truth_and_the_real_pstats") else { return };
    let path = shared.join("data/python/cprofile_py311.prof");
    let truth = truth(&path);
    let document = document(&path, &[]);
    let found = rows(&document, "cpu_functions");
    let expected = truth["by_function"].as_array().expect("functions");
    assert_eq!(found.len(), expected.len());
    let key = |row: &Value, file: &str, line: &str, function: &str| {
        (row[file].to_string(), row[line].as_i64(), row[function].to_string())
    };
    let by_key: BTreeMap<_, _> = found.iter().map(|row| (key(row, "File", "Line", "Function"), *row)).collect();
    for entry in expected {
        let row = by_key[&key(entry, "file", "line", "func")];
        assert_eq!((&row["Calls"], &row["Primitive Calls"]), (&entry["calls"], &entry["primitive_calls"]));
        for (column, field) in [("Self Time (s)", "tottime_s"), ("Total Time (s)", "cumtime_s")] {
            let off = row[column].as_f64().expect("a number") - entry[field].as_f64().expect("a number");
            assert!(off.abs() < 1e-9, "{entry}");
        }
    }
    let argument = path.to_str().expect("a path");
    let program = "import pstats, sys\ns = pstats.Stats(sys.argv[1]).sort_stats(sys.argv[2])\n\
                   s.print_stats(*map(int, sys.argv[3:]))";
    for (order, sort, top) in [
        ("tottime", "time", None),
        ("ncalls", "calls", Some("7")),
        ("cumtime", "max", Some("20")),
        ("nfl", "name", None),
    ] {
        let mut command = Command::new("python3");
        let Ok(real) = command.args(["-c", program, argument, order]).args(top).output() else {
            common::skip("cprofile_dumps_match_their_truth_and_the_real_pstats", "no python3");
            return;
        };
        if !real.status.success() {
            common::skip("cprofile_dumps_match_their_truth_and_the_real_pstats", "python3 cannot read the dump");
            return;
        }
        let real = String::from_utf8(real.stdout).expect("text");
        // The first two lines are the time and the name of the file.
        let table = real.splitn(3, '\n').nth(2).expect("a table");
        let options: Vec<&str> = top.into_iter().flat_map(|top| ["--top", top]).collect();
        let ours = gpuprof(&[&["report", argument, "--sort", sort], &options[..]].concat());
        assert_eq!(ours.stdout, table, "sorted by {order}");
    }
}

#[test]
fn metrics_are_refused_politely() {
    let Some(shared) = shared("metrics_are_refused_politely") else { return };
    let path = shared.join("data/nvprof/heartwall_metrics.csv");
    let path = path.to_str().expect("a path");
    common::refused(&["report", path], &[path, "counters", "hold no times", "; "]);
}
