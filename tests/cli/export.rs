//! `gpuprof export` and `gpuprof convert`, through the real program; what they write is read by others than us.

#![allow(unsafe_code, reason = "signals are sent to a program under test")]

use crate::common::build::*;
use crate::common::{self, TempFolder, command, gpuprof, refused};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::Stdio;

/// Rows of the CSV timeline as maps, by the `csv` crate.
fn read_csv(text: &str) -> Vec<BTreeMap<String, String>> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let names = reader.headers().expect("a heading").clone();
    let row =
        |record: csv::StringRecord| names.iter().map(str::to_owned).zip(record.iter().map(str::to_owned)).collect();
    reader.records().map(|record| row(record.expect("a record as long as the heading"))).collect()
}

fn length(kernel: &Kernel) -> i64 {
    kernel.end - kernel.start
}

fn count(rows: &[BTreeMap<String, String>], table: &str) -> usize {
    rows.iter().filter(|row| row["table"] == table).count()
}

#[test]
fn the_csv_timeline_has_every_activity_once_in_order_of_time_with_units_in_its_heading() {
    let story = Story::sample(500).with_ranges();
    let folder = TempFolder::new("export-csv");
    for (kind, bytes) in every_kind(&story) {
        let trace = folder.argument(&format!("trace-{kind}"), &bytes);
        let text = gpuprof(&["export", "--format", "csv", &trace, "-o", "-"]).stdout;
        assert!(text.starts_with("table,name,start_ns,duration_ns,end_ns,process,pid,"), "{kind}: {text:.200}");
        let rows = read_csv(&text);
        assert_eq!(count(&rows, "kernel"), story.kernels.len(), "{kind}");
        assert_eq!(count(&rows, "memcpy"), story.copies.len(), "{kind}");
        assert_eq!(count(&rows, "memset"), story.fills.len(), "{kind}");
        let starts: Vec<i64> = rows.iter().filter_map(|row| row["start_ns"].parse().ok()).collect();
        assert!(starts.is_sorted(), "{kind}");
        let total: i64 = rows
            .iter()
            .filter(|row| row["table"] == "kernel")
            .map(|row| row["duration_ns"].parse::<i64>().expect("whole nanoseconds"))
            .sum();
        assert_eq!(total, story.kernels.iter().map(length).sum::<i64>(), "{kind}");
    }
}

#[test]
fn the_same_rows_come_as_tsv_and_as_json_lines() {
    let story = Story::sample(200).with_ranges();
    let folder = TempFolder::new("export-kin");
    let trace = folder.argument("trace.gpuprof", &native(&story));
    let text = |format: &str| gpuprof(&["export", "--format", format, &trace, "-o", "-"]).stdout;
    let csv = read_csv(&text("csv"));
    // Every row says which it is, and the last one that it is the last: whole numbers without holes.
    let numbers: Vec<(String, String)> =
        csv.iter().map(|row| (row["row"].clone(), row["is_last"].clone())).collect();
    let is_last = |i: usize| if i + 1 == csv.len() { "1" } else { "0" };
    let expected: Vec<(String, String)> =
        (0..csv.len()).map(|i| ((i + 1).to_string(), is_last(i).to_owned())).collect();
    assert_eq!(numbers, expected);
    let tsv = text("tsv");
    let mut lines = tsv.lines().map(|line| line.split('\t').collect::<Vec<_>>());
    let names = lines.next().expect("a heading");
    for (row, line) in csv.iter().zip(lines) {
        let line: BTreeMap<String, String> =
            names.iter().zip(line).map(|(name, value)| ((*name).to_owned(), value.to_owned())).collect();
        assert_eq!(*row, line);
    }
    let json = text("jsonl");
    assert_eq!(json.lines().count(), csv.len());
    for (i, (row, line)) in csv.iter().zip(json.lines()).enumerate() {
        let object: Value = serde_json::from_str(line).expect("JSON");
        let mut object = object.as_object().expect("an object").clone();
        if i == 0 {
            // The first names every column that any other has.
            let others = json.lines().flat_map(|line| {
                let object: serde_json::Map<String, Value> = serde_json::from_str(line).expect("JSON");
                object.into_iter().map(|(name, _)| name)
            });
            others.for_each(|name| assert!(object.contains_key(&name), "{name}"));
            object.retain(|_, value| !value.is_null());
        }
        let filled: BTreeMap<&String, &String> = row.iter().filter(|(_, value)| !value.is_empty()).collect();
        assert_eq!(filled.len(), object.len(), "{line}");
        for (name, value) in filled {
            let other = match &object[name] {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            assert_eq!(*value, other, "{name}");
        }
    }
}

#[test]
fn columns_and_rows_can_be_chosen() {
    let story = Story::sample(300);
    let folder = TempFolder::new("export-choose");
    let trace = folder.argument("trace.gpuprof", &native(&story));
    let export = |more: &[&str]| {
        read_csv(&gpuprof(&[&["export", "--format", "csv", &trace, "-o", "-"], more].concat()).stdout)
    };
    let few = gpuprof(&["export", "-F", "csv", &trace, "-o", "-", "--columns", "duration_ns,grid_x,name"]).stdout;
    assert_eq!(few.lines().next(), Some("duration_ns,grid_x,name"));
    let longest = story.kernels.iter().map(length).max().expect("kernels");
    let least = format!("{longest}ns");
    let long = export(&["--min-duration", &least]);
    let kernels = story.kernels.iter().filter(|kernel| length(kernel) == longest).count();
    assert_eq!(count(&long, "kernel"), kernels);
    let mut by_name: BTreeMap<Vec<u8>, i64> = BTreeMap::new();
    for kernel in &story.kernels {
        *by_name.entry(kernel.name.base.clone()).or_default() += length(kernel);
    }
    let (top, _) = by_name.iter().max_by_key(|(_, total)| **total).expect("kernels");
    let one = export(&["--top-kernels", "1"]);
    let of_top = story.kernels.iter().filter(|kernel| kernel.name.base == *top).count();
    assert_eq!(count(&one, "kernel"), of_top);
    assert_eq!(count(&one, "memcpy"), story.copies.len(), "copies are no kernels");
    let filtered = export(&["--filter", "saxpy"]);
    assert!(filtered.iter().filter(|row| row["table"] == "kernel").all(|row| row["name"].contains("saxpy")));
    refused(&["export", "-F", "csv", &trace, "-o", "-", "--columns", "nonsense"], &["nonsense", "start_ns"]);
    let tables = folder.path().join("tables");
    let out = tables.to_str().unwrap();
    refused(&["export", "-F", "parquet", &trace, "-o", out, "--columns", "nonsense"], &["nonsense", "start_ns"]);
    gpuprof(&["export", "-q", "-F", "csv-tables", &trace, "-o", out, "--columns", "duration_ns,grid_x"]);
    let heading = |table: &str| {
        let text = std::fs::read_to_string(tables.join(format!("{table}.csv"))).ok()?;
        text.lines().next().map(str::to_owned)
    };
    assert_eq!(heading("kernel").as_deref(), Some("duration_ns,grid_x"));
    assert_eq!(heading("api").as_deref(), Some("duration_ns"));
    assert_eq!(heading("device"), None, "a table with none of them");
}

#[test]
fn hostile_names_stay_inside_their_cells() {
    let long = "x".repeat(64 * 1024);
    let names: [&[u8]; 8] = [
        b"</script><script>alert(1)</script>",
        b"a\"b,c\"\"d",
        b"line\nbreak\r\nand\ttab",
        b"=cmd|' /C calc'!A0",
        b"back\\slash \\n",
        long.as_bytes(),
        b"not \xff\xfe utf-8",
        b" blanks around ",
    ];
    let mut story = Story::empty();
    for (i, name) in names.iter().enumerate() {
        story = story.with_kernel(Name::plain(name), 1_000 * (i as i64 + 1), 500);
    }
    let folder = TempFolder::new("export-hostile");
    let trace = folder.argument("trace.gpuprof", &native(&story));
    // Bytes that are not UTF-8 are written as such, so that two names never become one.
    let text = |name: &&[u8]| std::str::from_utf8(name).map_or(r"not \xff\xfe utf-8".to_owned(), str::to_owned);
    let expected: Vec<String> = names.iter().map(text).collect();
    let rows = read_csv(&gpuprof(&["export", "-F", "csv", &trace, "-o", "-"]).stdout);
    let kernels = rows.iter().filter(|row| row["table"] == "kernel");
    assert_eq!(kernels.map(|row| row["mangled_name"].clone()).collect::<Vec<_>>(), expected);
    let json = gpuprof(&["export", "-F", "jsonl", &trace, "-o", "-"]).stdout;
    let objects = json.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let of_kernels = objects.filter(|object| object["table"] == "kernel");
    assert_eq!(of_kernels.map(|o| o["mangled_name"].as_str().unwrap().to_owned()).collect::<Vec<_>>(), expected);
    let tsv = gpuprof(&["export", "-F", "tsv", &trace, "-o", "-"]).stdout;
    let columns = tsv.lines().next().expect("a heading").split('\t').count();
    assert!(tsv.lines().all(|line| line.split('\t').count() == columns));
}

#[test]
fn the_name_of_the_output_chooses_the_format_and_gz_packs_it() {
    let story = Story::sample(50);
    let folder = TempFolder::new("export-name");
    let trace = folder.argument("trace.gpuprof", &native(&story));
    let plain = folder.path().join("a.csv");
    let packed = folder.path().join("a.csv.gz");
    gpuprof(&["export", &trace, "-o", plain.to_str().unwrap()]);
    gpuprof(&["export", &trace, "-o", packed.to_str().unwrap()]);
    let mut unpacked = String::new();
    let packed = std::fs::File::open(packed).expect("the packed file");
    std::io::Read::read_to_string(&mut flate2::read::MultiGzDecoder::new(packed), &mut unpacked).expect("gzip");
    assert_eq!(unpacked, std::fs::read_to_string(plain).expect("the plain file"));
    refused(&["export", &trace, "-o", "what.ever"], &["--format"]);
    refused(&["export", &trace, "--format", "nonsense"], &["nonsense", "csv", "parquet"]);
    refused(&["export", &trace, "--format", "csv", "--option", "a=b", "-o", "-"], &["no such option"]);
}

#[test]
fn what_fails_leaves_nothing_behind_and_what_was_there_stays() {
    let story = Story::sample(50);
    let folder = TempFolder::new("export-failure");
    let trace = folder.argument("trace.gpuprof", &native(&story));
    let out = folder.path().join("out");
    std::fs::create_dir(&out).expect("a folder");
    std::fs::write(out.join("precious.txt"), "mine").expect("a file");
    let out = out.to_str().unwrap();
    refused(&["export", "-F", "parquet", &trace, "-o", out], &["not an empty folder", "--force"]);
    let file = folder.path().join("t.csv");
    std::fs::write(&file, "before").expect("a file");
    refused(&["export", "-F", "csv", &trace, "--columns", "nonsense", "-o", file.to_str().unwrap()], &["nonsense"]);
    assert_eq!(std::fs::read_to_string(&file).expect("the file"), "before");
    let left: Vec<_> = folder.path().read_dir().unwrap().flatten().map(|e| e.file_name()).collect();
    assert_eq!(left.len(), 3, "{left:?}");
}

#[test]
fn an_interrupted_export_leaves_no_half_file() {
    use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
    let story = Story::sample(20_000);
    let folder = TempFolder::new("export-interrupted");
    let trace = folder.argument("trace.gpuprof", &native(&story));
    // Written through a folder of tables, of which many are: the signal comes while it works.
    let out = folder.path().join("tables");
    let mut export = command(&["export", "-F", "csv-tables", &trace, "-o", out.to_str().unwrap()]);
    // SAFETY: signal() is all that is called between fork and exec; a shell's background jobs ignore SIGINT.
    unsafe {
        export.pre_exec(|| {
            libc::signal(libc::SIGINT, libc::SIG_DFL);
            Ok(())
        });
    }
    let mut child = export.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("gpuprof");
    let hidden = || {
        let names = folder.path().read_dir().unwrap().flatten().map(|e| e.file_name().into_string().unwrap());
        names.filter(|name| name.ends_with(".part")).count()
    };
    let begun = std::time::Instant::now();
    while hidden() == 0 && child.try_wait().unwrap().is_none() && begun.elapsed() < common::DEADLINE {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    // SAFETY: the child has not been waited for, so its number is its own.
    unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
    let status = child.wait().expect("an end");
    if status.success() {
        // It was quicker than the signal.
        assert!(out.is_dir());
    } else {
        assert_eq!(status.signal(), Some(libc::SIGINT), "{status}");
        assert!(!out.exists());
    }
    assert_eq!(hidden(), 0);
}

#[test]
fn a_signal_that_is_ignored_stays_ignored() {
    let story = Story::sample(20_000);
    let folder = TempFolder::new("export-nohup");
    let trace = folder.argument("trace.gpuprof", &native(&story));
    let out = folder.path().join("tables");
    let script = "trap '' HUP; exec \"$0\" \"$@\"";
    let mut export = std::process::Command::new("sh");
    export.args(["-c", script, env!("CARGO_BIN_EXE_gpuprof"), "export", "-q", "-F", "csv-tables", &trace, "-o"]);
    let mut child = export.arg(&out).spawn().expect("gpuprof");
    let begun = std::time::Instant::now();
    while child.try_wait().unwrap().is_none() && begun.elapsed() < common::DEADLINE {
        let hidden =
            folder.path().read_dir().unwrap().flatten().any(|e| e.file_name().to_string_lossy().ends_with(".part"));
        if hidden {
            // SAFETY: the child has not ended, or not been waited for, so its number is its own.
            unsafe { libc::kill(child.id() as i32, libc::SIGHUP) };
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    assert!(child.wait().expect("an end").success());
    assert!(out.is_dir());
}

#[test]
fn a_closed_pipe_ends_an_export_quietly() {
    let story = Story::sample(20_000);
    let folder = TempFolder::new("export-pipe");
    let trace = folder.argument("trace.gpuprof", &native(&story));
    let mut export = command(&["export", "-F", "csv", &trace, "-o", "-"]);
    let mut child = export.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("gpuprof");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("an end");
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn any_number_of_threads_writes_the_same_bytes() {
    let story = Story::sample(30_000).with_ranges();
    let folder = TempFolder::new("export-threads");
    let trace =
        folder.argument("trace.gpuprof", &native_with(&story, Native { rows_per_frame: 777, ..Native::default() }));
    let with = |threads: &str| {
        common::gpuprof_with(&[("RAYON_NUM_THREADS", threads)], &["export", "-F", "csv", &trace, "-o", "-"]).stdout
    };
    let one = with("1");
    assert!(one.lines().count() > 30_000);
    assert_eq!(one, with("2"));
    assert_eq!(one, with("7"));
}

#[test]
fn convert_makes_native_traces_of_all_kinds_and_cuts_pieces() {
    let story = Story::sample(400).with_ranges();
    let folder = TempFolder::new("convert");
    for (kind, bytes) in every_kind(&story) {
        let trace = folder.argument(&format!("trace-{kind}"), &bytes);
        let out = folder.path().join(format!("{kind}.gpuprof"));
        gpuprof(&["convert", "-q", &trace, "-o", out.to_str().unwrap()]);
        let info = gpuprof(&["info", "--format", "json", out.to_str().unwrap()]).stdout;
        assert!(info.contains("gpuprof trace"), "{kind}: {info}");
    }
    let trace = folder.argument("whole.gpuprof", &native(&story));
    let starts: Vec<i64> = story.kernels.iter().map(|kernel| kernel.start).collect();
    let (first, last) = (starts.iter().min().unwrap(), starts.iter().max().unwrap());
    let middle = (first + last) / 2;
    let piece = folder.path().join("piece.gpuprof");
    let epoch = read_csv(&gpuprof(&["export", "-F", "csv", &trace, "-o", "-"]).stdout);
    let kernel_starts =
        epoch.iter().filter(|row| row["table"] == "kernel").map(|row| row["start_ns"].parse::<i64>());
    let offset = kernel_starts.map(|start| start.expect("a time")).min().unwrap() - first;
    let slice = format!("{}..", middle + offset);
    gpuprof(&["convert", "-q", &trace, "--slice", &slice, "-o", piece.to_str().unwrap()]);
    let rows = read_csv(&gpuprof(&["export", "-F", "csv", piece.to_str().unwrap(), "-o", "-"]).stdout);
    assert_eq!(count(&rows, "kernel"), starts.iter().filter(|start| **start >= middle).count());
    refused(&["convert", "--merge", &trace, "-o", "x.gpuprof"], &["one trace only"]);
    let foreign = folder.argument("foreign.nvvp", &nvprof(&story, 11));
    refused(&["convert", "--recompress", &foreign, "-o", "x.gpuprof"], &["not a .gpuprof"]);
}

#[test]
fn the_page_about_what_formats_keep_is_as_the_exporters_say() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/lossy.md");
    let page = gpuprof::export::lossy::page();
    if std::env::var_os("GPUPROF_BLESS").is_some() {
        std::fs::File::create(&path).and_then(|mut file| file.write_all(page.as_bytes())).expect("docs/lossy.md");
    }
    let stored = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(stored == page, "docs/lossy.md is stale: run this test with GPUPROF_BLESS=1");
}

/// A trace with every shape of time: a kernel, one without valid times, a range, a mark, a remark without a time, an
/// external id.
fn with_all_times() -> Vec<u8> {
    let mut story = Story::sample(3).with_ranges();
    story.kernels[0].end = story.kernels[0].start - 1;
    native(&story)
}

#[test]
fn every_row_with_a_time_has_its_duration_and_its_end_in_every_tabular_format() {
    let folder = TempFolder::new("export-spans");
    let trace = folder.argument("trace.gpuprof", &with_all_times());
    let rows = read_csv(&gpuprof(&["export", "-F", "csv", &trace, "-o", "-"]).stdout);
    let number = |row: &BTreeMap<String, String>, name: &str| row[name].parse::<i64>().ok();
    let (mut kernels, mut ranges) = (0, 0);
    for row in &rows {
        let start = number(row, "start_ns").expect("no row without a start");
        let (duration, end) = (number(row, "duration_ns"), number(row, "end_ns"));
        assert_eq!(duration.map(|duration| start + duration), end, "{row:?}");
        kernels += usize::from(row["table"] == "kernel" && end.is_some());
        ranges += usize::from(row["table"] == "range" && end.is_some());
    }
    assert!(kernels >= 2 && ranges >= 1, "{kernels} kernels, {ranges} ranges");
    for format in ["csv-tables", "parquet", "arrow"] {
        let out = folder.path().join(format);
        gpuprof(&["export", "-q", "-F", format, &trace, "-o", out.to_str().unwrap()]);
        let again = read_csv(&gpuprof(&["export", "-F", "csv", out.to_str().unwrap(), "-o", "-"]).stdout);
        assert_eq!(again.len(), rows.len(), "{format}");
        for (row, again) in rows.iter().zip(&again) {
            let times = |row: &BTreeMap<String, String>| {
                ["table", "name", "start_ns", "duration_ns", "end_ns"].map(|name| row[name].clone())
            };
            assert_eq!(times(row), times(again), "{format}");
        }
    }
    let kernels = std::fs::read_to_string(folder.path().join("csv-tables/kernel.csv")).expect("the table");
    assert!(kernels.starts_with("table,name,start_ns,duration_ns,end_ns,"), "{kernels:.100}");
    let ranges = read_csv(&std::fs::read_to_string(folder.path().join("csv-tables/range.csv")).expect("the table"));
    assert!(ranges.iter().any(|row| !row["duration_ns"].is_empty()));
    let file = std::fs::read(folder.path().join("parquet/kernel.parquet")).expect("the table");
    assert!(file.windows(6).any(|bytes| bytes == b"end_ns"));
}

#[test]
fn kinds_are_words_too() {
    let folder = TempFolder::new("export-words");
    let trace = folder.argument("trace.gpuprof", &native(&Story::sample(200)));
    let rows = read_csv(&gpuprof(&["export", "-F", "csv", &trace, "-o", "-"]).stdout);
    let copies: Vec<_> = rows.iter().filter(|row| row["table"] == "memcpy").collect();
    assert!(!copies.is_empty());
    for copy in copies {
        let direction = match copy["kind"].as_str() {
            "1" => "HtoD",
            "2" => "DtoH",
            "8" => "DtoD",
            other => panic!("kind {other}"),
        };
        assert_eq!(copy["kind_name"], direction);
        assert!(!copy["src_kind_name"].is_empty() && !copy["dst_kind_name"].is_empty());
    }
}

#[test]
fn rows_without_a_start_are_left_out_of_a_timeline_with_a_word() {
    let folder = TempFolder::new("export-untimed");
    // Two rows are known to be lost, and nobody knows when.
    let story = Story { losses: vec![(2, 1)], ..Story::sample(50) };
    let trace = folder.argument("trace.gpuprof", &native(&story));
    let default = gpuprof(&["export", "-F", "csv", &trace, "-o", "-"]);
    let rows = read_csv(&default.stdout);
    assert!(rows.iter().all(|row| !row["start_ns"].is_empty()));
    assert!(default.stderr.contains("1 row has no start"), "{}", default.stderr);
    assert!(default.stderr.contains("--option untimed=yes"), "{}", default.stderr);
    let all = gpuprof(&["export", "-F", "csv", &trace, "-o", "-", "--option", "untimed=yes"]);
    assert_eq!(read_csv(&all.stdout).len(), rows.len() + 1);
    assert!(!all.stderr.contains("no start"), "{}", all.stderr);
    let json = gpuprof(&["export", "-F", "jsonl", &trace, "-o", "-"]).stdout;
    assert_eq!(json.lines().count(), rows.len());
    assert!(json.lines().all(|line| line.contains("\"start_ns\":")));
}
