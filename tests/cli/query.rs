//! `gpuprof query`: what it answers, how it is written; what it refuses is in `refusals`.

mod arrow;
mod prompt;
mod refusals;
mod report_views;
pub mod support;

use crate::common::build::*;
use crate::common::{self, Answer, TempFolder, command, gpuprof, gpuprof_in, gpuprof_with, refused};
use gpuprof::query::session::{self, Session};
use gpuprof::query::source::{self, Type};
use gpuprof::trace::sink::Need;
use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use support::{check_document, open, report_total};

/// The answer as lines of CSV, without the heading.
fn rows(path: &str, sql: &str) -> Vec<String> {
    let answer = gpuprof(&["query", path, sql, "--format", "csv"]);
    answer.stdout.lines().skip(1).map(str::to_owned).collect()
}

fn sample(name: &str, launches: u64) -> (TempFolder, String, Story) {
    let story = Story::sample(launches).with_ranges();
    let folder = TempFolder::new(name);
    let path = folder.argument("run.gpuprof", &native(&story));
    (folder, path, story)
}

#[test]
fn schema_md_is_up_to_date() {
    check_document("docs/schema.md", |_| gpuprof::query::schema_md::generate());
}

#[test]
fn views_say_what_happened() {
    let (_folder, path, story) = sample("query-views", 60);
    let gpu = story.kernels.len() + story.copies.len() + story.fills.len();
    assert_eq!(rows(&path, "SELECT COUNT(*) FROM gpu"), [gpu.to_string()]);
    let totals: BTreeMap<String, (u64, u128)> = rows(&path, "SELECT name, count, total_ns FROM gpu_by_name")
        .iter()
        .map(|line| {
            // Names have commas.
            let mut fields = line.rsplitn(3, ',');
            let total = fields.next().unwrap().parse().unwrap();
            let count = fields.next().unwrap().parse().unwrap();
            (fields.next().unwrap().trim_matches('"').to_owned(), (count, total))
        })
        .collect();
    assert_eq!(totals, story.gpu_totals());
    let kernels = rows(&path, "SELECT SUM(count), SUM(share) FROM kernels_by_name");
    let (count, share) = kernels[0].split_once(',').unwrap();
    assert_eq!(count, story.kernels.len().to_string());
    assert!((share.parse::<f64>().unwrap() - 1.0).abs() < 1e-9, "{share}");
    let calls: u64 = story.api_totals().values().map(|(count, _)| count).sum();
    assert_eq!(rows(&path, "SELECT SUM(count), SUM(failed) FROM api_by_name"), [format!("{calls},0")]);
    let bytes: i64 = story.copies.iter().map(|c| c.bytes).sum();
    assert_eq!(rows(&path, "SELECT SUM(bytes) FROM copies_by_kind"), [bytes.to_string()]);
    // Every launch of the samples is recorded, 20 µs before its kernel.
    let launches =
        rows(&path, "SELECT COUNT(*), MIN(latency_ns), MAX(latency_ns), COUNT(DISTINCT api) FROM launches");
    assert_eq!(launches, ["60,20000,20000,2"]);
    let queued = rows(&path, "SELECT SUM(queue_ns) FROM launches");
    let expected: i64 = (0..60).map(|i| 20_000 - (5 + i % 4) * 1000).sum();
    assert_eq!(queued, [expected.to_string()]);
    assert_eq!(rows(&path, "SELECT name, level FROM ranges WHERE name = 'forward'"), ["forward,1"]);
    assert_eq!(rows(&path, "SELECT COUNT(*), COUNT(end_ns) FROM ranges"), ["4,3"]);
    assert_eq!(rows(&path, "SELECT pid, host FROM processes"), ["4242,node7"]);
    assert_eq!(rows(&path, "SELECT device, name, compute FROM devices"), ["0,Tesla V100,7.0", "1,Tesla V100,7.0"]);
    assert_eq!(rows(&path, "SELECT SUM(count) FROM streams"), [gpu.to_string()]);
}

#[test]
fn gaps_are_the_time_in_which_nothing_ran() {
    let (_folder, path, story) = sample("query-gaps", 60);
    for device in [0, 1] {
        // Counted nanosecond by nanosecond at a grain of the samples: whole microseconds.
        let spans: Vec<(i64, i64)> =
            (story.kernels.iter().filter(|k| k.device == device).map(|k| (k.start, k.end)))
                .chain(story.copies.iter().filter(|c| c.device == device).map(|c| (c.start, c.end)))
                .chain(story.fills.iter().filter(|f| f.device == device).map(|f| (f.start, f.end)))
                .collect();
        let (from, to) = (spans.iter().map(|s| s.0).min().unwrap(), spans.iter().map(|s| s.1).max().unwrap());
        let idle = (from..to).step_by(1000).filter(|at| !spans.iter().any(|s| (s.0..s.1).contains(at))).count();
        let sql = format!("SELECT SUM(duration_ns) FROM gaps WHERE device = {device}");
        assert_eq!(rows(&path, &sql), [(idle * 1000).to_string()]);
    }
}

#[test]
fn names_are_text_and_demangled() {
    let (_folder, path, _) = sample("query-names", 6);
    assert_eq!(
        rows(&path, "SELECT DISTINCT name, base_name FROM kernel ORDER BY name"),
        [
            "reduce,reduce",
            "\"saxpy(int, float, float*, float*)\",saxpy",
            "\"void scale<float>(float*, int)\",scale"
        ]
    );
    assert_eq!(rows(&path, "SELECT DISTINCT name FROM api WHERE name LIKE '%Launch%'"), ["cudaLaunchKernel"]);
    assert_eq!(rows(&path, "SELECT kind_name FROM memcpy LIMIT 1"), ["HtoD"]);
    assert_eq!(rows(&path, "SELECT 1 FROM kernel LIMIT 1e0 OFFSET 1e0"), ["1"]);
    let all = rows(&path, "SELECT 1 FROM kernel").len();
    assert_eq!(rows(&path, "SELECT 1 FROM kernel LIMIT 1e6").len(), all);
    assert_eq!(rows(&path, "SELECT s.text FROM string s WHERE s.text = 'python'"), ["python"]);
    assert_eq!(
        rows(&path, "SELECT k.name, s.block_x FROM kernel k JOIN shape s ON k.shape_id = s.id LIMIT 1").len(),
        1
    );
}

#[test]
fn every_format_has_the_same_numbers() {
    let (folder, path, _) = sample("query-formats", 12);
    let sql = "SELECT start_ns, name, bytes FROM gpu ORDER BY start_ns LIMIT 3";
    let written = |format: &str| gpuprof(&["query", &path, sql, "--format", format]).stdout;
    let csv = written("csv");
    let first = 10_000_000 + EPOCH;
    let expected = format!("start_ns,name,bytes\n{first},\"saxpy(int, float, float*, float*)\",\n");
    assert!(csv.starts_with(&expected), "{csv}");
    let tabs = format!("start_ns\tname\tbytes\n{first}\tsaxpy(int, float, float*, float*)\t\n");
    assert!(written("tsv").starts_with(&tabs), "{}", written("tsv"));
    let lines: Vec<serde_json::Value> =
        written("jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 3);
    assert_eq!(lines[0]["start_ns"], first);
    let json: serde_json::Value = serde_json::from_str(&written("json")).unwrap();
    assert_eq!(json["tables"][0]["rows"].as_array().unwrap()[..], lines[..]);
    assert!(written("markdown").contains(&format!("| {first} | saxpy(int, float, float*, float*) |  |")));
    assert!(written("table").contains("1,700,000,000,010,000,000"), "{}", written("table"));
    let file = folder.path().join("out.parquet");
    gpuprof(&["query", &path, sql, "--format", "parquet", "-o", file.to_str().unwrap()]);
    let reader = parquet::file::reader::SerializedFileReader::new(std::fs::File::open(&file).unwrap()).unwrap();
    let metadata = parquet::file::reader::FileReader::metadata(&reader).file_metadata().clone();
    assert_eq!(metadata.num_rows(), 3);
    let names: Vec<&str> = metadata.schema_descr().columns().iter().map(|c| c.name()).collect();
    assert_eq!(names, ["start_ns", "name", "bytes"]);
}

#[test]
fn queries_come_from_arguments_files_and_the_standard_input() {
    let (folder, path, _) = sample("query-sources", 12);
    let file = folder.argument("busiest.sql", b"\xef\xbb\xbf-- how many\nSELECT COUNT(*) AS n FROM kernel;\n\n");
    let expected = "n\n12\n";
    for arguments in [
        vec!["query", &path, "select count(*) as n from kernel", "--format", "csv"],
        vec!["query", "SELECT COUNT(*) AS n FROM kernel;", &path, "--format", "csv"],
        vec!["query", &path, &format!("@{file}"), "--format", "csv"],
        vec!["query", &path, "--file", &file, "--format", "csv"],
    ] {
        assert_eq!(gpuprof(&arguments).stdout, expected, "{arguments:?}");
    }
    let piped = |text: &str| {
        let mut child = command(&["query", &path, "--format", "csv"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    assert_eq!(piped("SELECT COUNT(*) AS n\nFROM kernel").0, expected);
    assert_eq!(
        piped("SELECT COUNT(*) AS n FROM kernel; SELECT ';' AS m FROM kernel LIMIT 1;").0,
        "n\n12\n\nm\n;\n"
    );
    assert!(piped(" -- nothing\n").1.contains("the query is empty"));
    refused(&["query", &path, "@/nowhere/x.sql"], &["/nowhere/x.sql", "cannot be read"]);
    refused(&["query", &path, "--file", &path], &["not a query"]);
    refused(&["query", &path, "SELEC * FROM kernel"], &["no such file, and not a query either", "SELECT"]);
    // Without a path the newest trace here.
    let here = gpuprof_in(folder.path(), &["query", "SELECT COUNT(*) AS n FROM kernel", "--format", "csv"]);
    assert_eq!((here.stdout.as_str(), here.stderr.contains("reading run.gpuprof")), (expected, true));
}

#[test]
fn no_rows_are_nothing_to_show_but_a_count_of_none_is_an_answer() {
    let (_folder, path, _) = sample("query-none", 3);
    let none = gpuprof_in(Path::new("."), &["query", &path, "SELECT * FROM jit", "--format", "csv"]);
    assert_eq!(none.status, 1, "{}", none.stderr);
    assert!(none.stdout.starts_with("process,start_ns,"), "{}", none.stdout);
    assert_eq!(rows(&path, "SELECT COUNT(*) FROM jit"), ["0"]);
    assert_eq!(rows(&path, "SELECT COUNT(*), SUM(count) FROM kernels_by_name WHERE name = 'nobody'"), ["0,"]);
}

#[test]
fn the_table_of_what_works_is_true() {
    let story = Story::sample(40).with_ranges();
    let folder = TempFolder::new("query-support");
    let path = folder.file("run.gpuprof", &native(&story));
    support::check_constructs(&open(&path));
    check_document("docs/query.md", |text| {
        let (head, rest) = text.split_once("<!-- table -->\n").expect("a table in docs/query.md");
        let (_, tail) = rest.split_once("<!-- end of table -->\n").expect("the table's end");
        let table = gpuprof::query::support::markdown();
        format!("{head}<!-- table -->\n{table}<!-- end of table -->\n{tail}")
    });
}

#[test]
fn the_examples_of_query_md_run() {
    let (_folder, path, _) = sample("query-examples", 60);
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/query.md")).unwrap();
    let session = open(Path::new(&path));
    let mut examples = 0;
    for block in text.split("```sql\n").skip(1) {
        let sql = block.split("```").next().unwrap();
        for statement in gpuprof::query::lexer::statements(sql).0 {
            session.run(statement).unwrap_or_else(|e| panic!("{statement}: {e}"));
            examples += 1;
        }
    }
    assert!(examples >= 5, "{examples}");
}

/// Ten copies of 1 GiB and durations and counts to match: what 32 bits cannot hold.
fn large_story() -> Story {
    let mut story = Story::sample(40).with_ranges();
    for copy in &mut story.copies {
        copy.bytes = (1 << 30) + copy.correlation as i64;
    }
    for fill in &mut story.fills {
        fill.bytes = 3 << 30;
    }
    story
}

#[test]
fn sums_of_every_column_of_every_source_are_right_or_refused() {
    let folder = TempFolder::new("query-overflow");
    let session = open(&folder.file("run.gpuprof", &native(&large_story())));
    let mut beyond_32_bits = 0;
    for source in source::all() {
        let rows = session::rows(&session, source).unwrap_or_else(|e| panic!("{}: {e}", source.name()));
        for column in source.columns().iter().filter(|c| matches!(c.ty, Type::Int | Type::Id | Type::Id64)) {
            let at = format!("{}.{}", source.name(), column.name);
            let values = rows.column(column.name).unwrap().as_materialized_series().clone();
            let sum: i128 = values.iter().filter_map(|v| v.extract::<i128>()).sum();
            let sql =
                format!("SELECT SUM(\"{}\") AS s, COUNT(*) * 1000000000 AS n FROM {}", column.name, source.name());
            match session.run(&sql) {
                Ok(answer) => {
                    let got = answer.column("s").unwrap().get(0).unwrap().extract::<i128>().unwrap_or(0);
                    assert_eq!(got, sum, "{at}");
                    let n = answer.column("n").unwrap().get(0).unwrap().extract::<i128>().unwrap();
                    assert_eq!(n, rows.height() as i128 * 1_000_000_000, "{at}");
                }
                Err(error) => {
                    assert!(error.to_string().contains("does not fit"), "{at}: {error}");
                    assert!(sum > i128::from(i64::MAX) / 2, "{at}: {sum} would have fit");
                }
            }
            beyond_32_bits += u32::from(sum > i128::from(u32::MAX));
        }
    }
    assert!(beyond_32_bits > 20, "{beyond_32_bits}");
    // The one that was wrong once, by group and as a window too.
    let path = folder.path().join("run.gpuprof").to_str().unwrap().to_owned();
    let total: i64 = large_story().copies.iter().map(|c| c.bytes).sum();
    assert!(total > i64::from(u32::MAX));
    assert_eq!(rows(&path, "SELECT SUM(bytes) FROM memcpy"), [total.to_string()]);
    let by_device = rows(&path, "SELECT SUM(b) FROM (SELECT device, SUM(bytes) AS b FROM memcpy GROUP BY device)");
    assert_eq!(by_device, [total.to_string()]);
    assert_eq!(rows(&path, "SELECT SUM(bytes) OVER () AS b FROM memcpy LIMIT 1"), [total.to_string()]);
}

/// Queries whose rows have no order of their own.
const UNORDERED: &[&str] = &[
    "SELECT name, COUNT(*) AS n, SUM(duration_ns) AS t, AVG(duration_ns) AS a FROM kernel GROUP BY name",
    "SELECT device, stream, context, STDDEV(duration_ns) AS s FROM gpu GROUP BY device, stream, context",
    "SELECT correlation, COUNT(*) AS n FROM api GROUP BY correlation LIMIT 7",
    "SELECT DISTINCT name, stream FROM kernel",
    "SELECT k.correlation, a.name FROM kernel k JOIN api a ON k.process = a.process AND k.correlation = a.correlation",
    "SELECT a.correlation, k.name FROM api a LEFT JOIN kernel k ON k.correlation = a.correlation",
    "SELECT stream FROM kernel UNION SELECT stream FROM memcpy",
    "SELECT correlation FROM kernel UNION ALL SELECT correlation FROM memcpy",
    "SELECT correlation FROM api INTERSECT SELECT correlation FROM kernel",
    "SELECT name, duration_ns FROM kernel ORDER BY name",
    "SELECT correlation, ROW_NUMBER() OVER (PARTITION BY name ORDER BY duration_ns) AS r FROM kernel",
    "SELECT * FROM gpu",
    "SELECT * FROM kernels_by_name",
    "SELECT * FROM launches",
    "SELECT * FROM gaps",
    "SELECT * FROM api_by_name",
    "SELECT * FROM ranges_by_name",
    "SELECT * FROM streams",
];

#[test]
fn answers_do_not_depend_on_the_number_of_threads() {
    let story = Story::sample(3000).with_ranges();
    let folder = TempFolder::new("query-threads");
    let path =
        folder.argument("run.gpuprof", &native_with(&story, Native { rows_per_frame: 50, ..Native::default() }));
    let ask = |threads: &str| {
        let mut arguments = vec!["query", &path, "--format", "csv"];
        arguments.extend(UNORDERED);
        let variables = [("RAYON_NUM_THREADS", threads), ("POLARS_MAX_THREADS", threads)];
        let answer: Answer = gpuprof_with(&variables, &arguments);
        assert_eq!(answer.status, 0, "{}", answer.stderr);
        answer.stdout
    };
    let expected = ask("1");
    assert_eq!(expected.split("\n\n").count(), UNORDERED.len());
    for threads in ["2", "3", "8", "8"] {
        for ((got, expected), sql) in ask(threads).split("\n\n").zip(expected.split("\n\n")).zip(UNORDERED) {
            assert!(got == expected, "{threads} threads: {sql}");
        }
    }
}

#[test]
fn the_same_records_give_the_same_answer_whoever_stored_them() {
    let story = Story::sample(60);
    let folder = TempFolder::new("query-kinds");
    let sql = "SELECT name, count, total_ns, p50_ns, p99_ns, share FROM gpu_by_name";
    let mut expected = None;
    for (kind, bytes) in every_kind(&story) {
        let path = folder.argument(&format!("{kind}.trace"), &bytes);
        let answer = rows(&path, sql);
        assert_eq!(*expected.get_or_insert_with(|| answer.clone()), answer, "{kind}");
        let both = rows(&path, "SELECT COUNT(*), SUM(duration_ns) FROM launches");
        assert!(both[0].starts_with("60,"), "{kind}: {both:?}");
    }
}

#[test]
fn explain_shows_a_plan_with_only_the_columns_that_are_needed() {
    let (_folder, path, _) = sample("query-explain", 3);
    let plan = gpuprof(&["query", &path, "--explain", "SELECT SUM(bytes) FROM memcpy WHERE device = 0"]).stdout;
    assert!(plan.contains("read memcpy: 2 of ") && plan.contains("(bytes, device)"), "{plan}");
    assert!(plan.contains("keep rows with device = 0") && plan.contains("compute SUM(bytes)"), "{plan}");
    let also = gpuprof(&["query", &path, "EXPLAIN SELECT SUM(bytes) FROM memcpy"]).stdout;
    assert!(also.contains("read memcpy: 1 of "), "{also}");
}

#[test]
fn computed_columns_are_called_what_was_written() {
    let (_folder, path, _) = sample("query-headings", 3);
    let heading = |sql: &str| {
        let answer = gpuprof(&["query", &path, sql, "--format", "csv"]);
        answer.stdout.lines().next().unwrap().to_owned()
    };
    assert_eq!(heading("SELECT COUNT(*), MIN(bytes), max(bytes) AS most FROM memcpy"), "COUNT(*),MIN(bytes),most");
    assert_eq!(heading("SELECT COUNT(*), COUNT(*) FROM memcpy"), "COUNT(*),COUNT(*) 2");
    assert_eq!(heading("SELECT kind, bytes + 1 FROM memcpy"), "kind,bytes + 1");
}

#[test]
fn an_answer_is_a_file_when_it_is_whole() {
    let (folder, path, _) = sample("query-output", 3);
    let out = folder.path().join("out.csv");
    std::fs::write(&out, "old").unwrap();
    let out = out.to_str().unwrap();
    refused(&["query", &path, "SELECT nope FROM kernel", "-o", out], &["no column"]);
    assert_eq!(std::fs::read_to_string(out).unwrap(), "old");
    gpuprof(&["query", &path, "SELECT COUNT(*) AS n FROM kernel", "--format", "csv", "-o", out]);
    assert_eq!(std::fs::read_to_string(out).unwrap(), "n\n3\n");
    let names: Vec<PathBuf> = std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().path()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
    assert_eq!(
        gpuprof(&["query", &path, "SELECT 1 AS one FROM kernel LIMIT 1", "--format", "csv", "-o", "-"]).stdout,
        "one\n1\n"
    );
    refused(
        &["query", &path, "SELECT 1 FROM kernel", "-o", "/nowhere/x.csv"],
        &["/nowhere/x.csv", "cannot be created"],
    );
}

#[test]
fn hostile_names_come_through_whole() {
    let names = ["</script>", "a\"b'c", "two\nlines\tand a tab", "=cmd()|x", "\u{1b}[31mred", "grüße, ähm"];
    let mut story = Story::empty();
    for (i, name) in names.iter().enumerate() {
        story = story.with_kernel(Name::plain(name), 1000 * i as i64, 10);
    }
    story = story.with_kernel(Name::plain([b'x'; 65_536]), 100_000, 10);
    story = story.with_kernel(Name::plain(b"\xff\xfe"), 200_000, 10);
    let folder = TempFolder::new("query-hostile");
    let path = folder.argument("run.gpuprof", &native(&story));
    let sql = "SELECT name FROM kernel ORDER BY start_ns";
    let lines = gpuprof(&["query", &path, sql, "--format", "jsonl"]).stdout;
    let read: Vec<String> = lines
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["name"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(read[..names.len()], names);
    assert_eq!((read[6].len(), read[7].as_str()), (65_536, r"\xff\xfe"));
    let text = gpuprof(&["query", &path, sql, "--format", "csv"]).stdout;
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let read: Vec<String> = reader.records().map(|r| r.unwrap()[0].to_owned()).collect();
    assert_eq!(read[..names.len()], names);
    for format in ["table", "tsv", "markdown"] {
        let text = gpuprof(&["query", &path, sql, "--format", format]).stdout;
        let heading = if format == "tsv" { 1 } else { 2 };
        assert_eq!(text.lines().count(), heading + names.len() + 2, "{format}: {text}");
        if format != "tsv" {
            assert!(!text.contains('\u{1b}'), "{format}");
        }
    }
    let named = "SELECT COUNT(*) AS n FROM kernel WHERE name = 'a\"b''c'";
    assert_eq!(rows(&path, named), ["1"]);
}

#[test]
fn several_traces_are_told_apart_by_process() {
    let folder = TempFolder::new("query-processes");
    for rank in 0..3 {
        let story = Story { pid: 100 + rank, rank: Some((rank, 3)), ..Story::sample(10 + u64::from(rank)) };
        folder.file(&format!("run/r{rank}.gpuprof"), &native(&story));
    }
    let path = folder.path().join("run").to_str().unwrap().to_owned();
    assert_eq!(
        rows(
            &path,
            "SELECT p.rank, COUNT(*) AS n FROM kernel k JOIN processes p ON k.process = p.process GROUP BY p.rank ORDER BY p.rank"
        ),
        ["0,10", "1,11", "2,12"]
    );
    assert_eq!(
        rows(&path, "SELECT process, COUNT(*) FROM launches GROUP BY process ORDER BY process"),
        ["0,10", "1,11", "2,12"]
    );
}

#[test]
fn what_is_partial_is_said_before_the_answer() {
    let story = Story { losses: vec![(5, 1)], ..Story::sample(10) };
    let folder = TempFolder::new("query-partial");
    let bytes = native_with(&story, Native { close: false, ..Native::default() });
    let path = folder.argument("run.gpuprof", &bytes);
    let answer = gpuprof(&["query", &path, "SELECT COUNT(*) FROM kernel", "--format", "json"]);
    assert!(answer.stderr.contains("5 records lost") && answer.stderr.contains("not closed"), "{}", answer.stderr);
    let json: serde_json::Value = serde_json::from_str(&answer.stdout).unwrap();
    let codes: Vec<&str> = json["notes"].as_array().unwrap().iter().map(|n| n["code"].as_str().unwrap()).collect();
    assert!(codes.contains(&"not-closed") && codes.contains(&"lost-records"), "{codes:?}");
}

#[test]
fn schema_and_tables_are_shown_without_a_trace() {
    let tables = gpuprof(&["query", ".tables"]).stdout;
    assert!(tables.contains("kernels_by_name") && tables.contains("memcpy"), "{tables}");
    let schema = gpuprof(&["query", ".schema gaps"]).stdout;
    assert!(schema.contains("duration_ns") && schema.contains("How long the device was idle"), "{schema}");
}

#[test]
fn a_query_for_summaries_equals_the_report() {
    let Some(shared) = common::shared("a_query_for_summaries_equals_the_report") else { return };
    let mut compared = 0;
    for file in ["nsys", "nvprof", "kineto"] {
        let Ok(folder) = shared.join("data").join(file).read_dir() else { continue };
        let mut paths: Vec<PathBuf> = folder.flatten().map(|e| e.path()).collect();
        paths.sort();
        // The smaller half: the others take minutes in a build for tests.
        paths.retain(|p| p.metadata().is_ok_and(|m| m.is_file() && m.len() < 8 << 20));
        for path in paths {
            let Ok(session) = Session::open(std::slice::from_ref(&path), &Need::all()) else { continue };
            let Some(expected) = report_total(&session) else { continue };
            for sql in [
                "SELECT SUM(count) AS n, SUM(total_ns) AS t FROM gpu_by_name",
                "SELECT COUNT(duration_ns) AS n, SUM(duration_ns) AS t FROM gpu",
            ] {
                let answer = session.run(sql).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
                let cell = |name: &str| answer.column(name).unwrap().get(0).unwrap().extract::<i128>().unwrap_or(0);
                assert_eq!((cell("n"), cell("t")), expected, "{}: {sql}", path.display());
            }
            compared += 1;
        }
    }
    assert!(compared >= 5, "{compared}");
}

#[test]
fn an_output_has_the_format_that_its_name_ends_in() {
    let (folder, path, _) = sample("query-endings", 10);
    let write = |name: &str, options: &[&str]| {
        let output = folder.path().join(name);
        let args = ["query", &path, "SELECT 1 AS one", "-o", output.to_str().expect("a path")];
        gpuprof(&[&args[..], options].concat());
        std::fs::read(output).expect("the answer")
    };
    assert_eq!(write("a.csv", &[]), b"one\n1\n");
    assert!(write("a.json", &[]).starts_with(b"{\"schema\":\"gpuprof/query/1\",\"notes\":"));
    assert!(write("a.jsonl", &[]).starts_with(b"{\"one\":1}"));
    assert!(write("a.parquet", &[]).starts_with(b"PAR1"));
    assert!(write("a.arrow", &[]).starts_with(b"ARROW1"));
    assert!(write("a.txt", &[]).starts_with(b"one\n---\n"));
    assert!(write("b.csv", &["--format", "tsv"]) == b"one\n1\n", "what is asked for outright holds");
    // Nobody is to find a table of text in what is called a spreadsheet, unless that was said.
    let sheet = folder.path().join("a.xlsx");
    let output = sheet.to_str().expect("a path");
    for query in ["SELECT 1 AS one", ".tables"] {
        refused(
            &["query", &path, query, "-o", output],
            &[
                "a.xlsx: no format has the ending .xlsx",
                ".csv, .tsv, .json, .jsonl, .ndjson, .md, .parquet, .arrow, .txt",
            ],
        );
        assert!(!sheet.exists());
    }
    assert_eq!(write("b.xlsx", &["--format", "csv"]), b"one\n1\n");
    assert!(write("no ending", &[]).starts_with(b"one\n---\n"));
}
