//! Timeline pages: what is on the page is what is in the trace, on every level, whatever the names, and however it is
//! delivered. The pages are taken apart by code of their own (`timeline/page.rs`).

mod names;
mod page;
mod server;

use crate::common::build::{self, Kernel, Name, NvtxRange, Story, THREAD};
use crate::common::{self, TempFolder, gpuprof, gpuprof_in, gpuprof_with, refused};
use gpuprof::trace::frames::Frames;
use gpuprof::trace::select::Filter;
use page::{Page, u};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use trace_format::tables;
use trace_format::tables::column::any;

/// The page of a trace, taken apart, after everything it promises was checked.
fn page_of(arguments: &[&str]) -> (String, Page) {
    let folder = TempFolder::new(&format!("timeline-page-{:?}", std::thread::current().id()));
    let out = folder.path().join("page.html");
    let mut all = vec!["timeline", "-o", out.to_str().unwrap()];
    all.extend(arguments);
    let answer = gpuprof(&all);
    assert!(answer.stderr.contains("page.html: "), "{}", answer.stderr);
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(left.len(), 1, "nothing but the page is left: {left:?}");
    let html = std::fs::read_to_string(&out).unwrap();
    let page = Page::parse(&html);
    (html, page)
}

fn native(folder: &TempFolder, name: &str, story: &Story) -> String {
    folder.argument(name, &build::native(story))
}

fn labels<'p>(page: &'p Page, kind: &str) -> Vec<&'p str> {
    page.rows().iter().filter(|row| row["kind"] == kind).map(|row| row["label"].as_str().unwrap()).collect()
}

#[test]
fn every_level_of_every_row_has_every_record() {
    let folder = TempFolder::new("timeline-levels");
    // Enough for rows of bins and for rows without.
    let story = Story::sample(20_000).with_ranges();
    let (_, page) = page_of(&[&native(&folder, "a.gpuprof", &story)]);
    page.check(true);
    let levels =
        |kind: &str| page.rows().iter().filter(|row| row["kind"] == kind).map(|row| u(&row["levels"])).max();
    assert!(levels("runtime") > Some(1) && levels("compute") > Some(1) && levels("memset") == Some(0));
    let totals = &page.meta["totals"];
    assert_eq!(u(&totals["kernel"]), 20_000);
    assert_eq!(u(&totals["memcpy"]), story.copies.len() as u64);
    assert_eq!(u(&totals["memset"]), story.fills.len() as u64);
    assert_eq!(u(&totals["api"]), story.calls.len() as u64);
    assert_eq!(u(&totals["range"]), story.ranges.len() as u64);
    let ends = story.kernels.iter().map(|k| k.end).chain(story.calls.iter().map(|c| c.end));
    let end = ends.chain(story.fills.iter().map(|f| f.end)).max().unwrap();
    let start = story.calls.iter().map(|c| c.start).min().unwrap();
    assert_eq!(u(&page.meta["duration_ns"]), (end - start) as u64);
    assert_eq!(page.meta["t0_unix_ns"], (start + build::EPOCH).to_string());
}

#[test]
fn rows_are_those_of_nvvp() {
    let folder = TempFolder::new("timeline-rows");
    let (_, page) = page_of(&[&native(&folder, "a.gpuprof", &Story::sample(100).with_ranges())]);
    assert_eq!(labels(&page, "process"), ["Process 4242"]);
    assert_eq!(labels(&page, "thread"), ["Thread 4243 (python)", "Thread 4244"]);
    assert_eq!(labels(&page, "runtime"), ["Runtime API"]);
    assert_eq!(labels(&page, "driver"), ["Driver API"]);
    assert_eq!(labels(&page, "nvtx"), ["NVTX ranges", "NVTX ranges"]);
    assert_eq!(labels(&page, "markers"), ["Markers"]);
    assert_eq!(labels(&page, "device"), ["[0] Tesla V100", "[1] Tesla V100"]);
    assert_eq!(labels(&page, "context"), ["Context 1", "Context 2"]);
    assert_eq!(labels(&page, "memset"), ["MemSet", "MemSet"]);
    assert_eq!(labels(&page, "compute"), ["Compute", "Compute"]);
    assert_eq!(labels(&page, "stream").len(), 4);
    assert_eq!(labels(&page, "kernel").len(), 6, "a row for each kernel in each context");
    for label in ["MemCpy (HtoD)", "MemCpy (DtoH)", "MemCpy (DtoD)"] {
        assert!(labels(&page, "memcpy").contains(&label), "{label}");
    }
    let counters: Vec<&str> = labels(&page, "counter");
    assert_eq!(counters, ["GPU busy", "Queue length", "Copies"].repeat(2));
    // Ranges that nest are drawn in each other, and one that was never closed reaches to the end.
    let nvtx = page.rows().iter().find(|row| row["kind"] == "nvtx").unwrap();
    let ranges = page.records(nvtx);
    let facts: Vec<_> = ranges.iter().map(|r| (page.name(r["name"].unwrap()), r["lane"].unwrap())).collect();
    assert_eq!(facts, [("step", 0), ("forward", 1), ("epoch", 1)]);
    assert_eq!(ranges[2]["duration_ns"], None);
    assert_eq!(page.name(ranges[1]["domain"].unwrap()), "model");
}

#[test]
fn kernels_and_calls_lead_to_each_other() {
    let folder = TempFolder::new("timeline-links");
    let story = Story::sample(300);
    // Two processes with the same correlation ids.
    let other = Story { pid: 5000, ..Story::sample(200) };
    let paths = [native(&folder, "a.gpuprof", &story), native(&folder, "b.gpuprof", &other)];
    let (_, page) = page_of(&[&paths[0], &paths[1]]);
    page.check(false);
    let process_of = |row: u64| {
        let mut row = row as usize;
        while let Ok(parent) = usize::try_from(page.rows()[row]["parent"].as_i64().unwrap()) {
            row = parent;
        }
        row
    };
    let mut cache: BTreeMap<u64, Vec<page::Record>> = BTreeMap::new();
    let mut record = |row: u64, index: u64| {
        cache.entry(row).or_insert_with(|| page.records(&page.rows()[row as usize]))[index as usize].clone()
    };
    let (mut launched, mut launches) = (0, 0);
    for row in page.rows().iter().filter(|row| u(&row["records"]) > 0) {
        let (id, kind) = (u(&row["id"]), row["kind"].as_str().unwrap());
        for (index, r) in page.records(row).into_iter().enumerate() {
            if let Some(to) = r.get("launch_row").copied().flatten() {
                let call = record(to, r["launch_index"].unwrap());
                assert_eq!(call["correlation"], r["correlation"]);
                assert_eq!(process_of(to), process_of(id), "ids are unique within a process only");
                assert!(call["start_ns"] <= r["start_ns"]);
                launched += u64::from(row["table"].is_string());
            }
            if let Some(to) = r.get("gpu_row").copied().flatten() {
                let work = record(to, r["gpu_index"].unwrap());
                assert_eq!((work["launch_row"], work["launch_index"]), (Some(id), Some(index as u64)));
                assert_eq!(r["gpu_count"], Some(1));
                assert!(matches!(kind, "runtime" | "driver"));
                launches += 1;
            }
        }
    }
    let expected = (story.launched().len() + other.launched().len()) as u64;
    assert_eq!((launched, launches), (expected, expected));
}

#[test]
fn gaps_and_longest_kernels_are_the_longest() {
    let folder = TempFolder::new("timeline-gaps");
    let name = || Name::plain("work");
    let story = Story { devices: vec!["GPU".into()], ..Story::empty() }
        .with_kernel(name(), 1_000, 500)
        .with_kernel(name(), 1_200, 1_000)
        .with_kernel(name(), 5_000, 10)
        .with_kernel(name(), 5_100, 2_000)
        .with_kernel(name(), 7_100, 50);
    let (_, page) = page_of(&[&native(&folder, "a.gpuprof", &story)]);
    page.check(true);
    let device = u(&page.row("device")["id"]);
    let gaps: Vec<_> = page.meta["gaps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|g| [&g["row"], &g["start_ns"], &g["duration_ns"]].map(u))
        .collect();
    assert_eq!(gaps, [[device, 1_200, 2_800], [device, 4_010, 90]], "from the first start, overlaps are no gaps");
    let compute = page.row("compute");
    let records = page.records(compute);
    let longest = page.meta["longest"].as_array().unwrap();
    let durations: Vec<u64> = longest
        .iter()
        .map(|at| {
            assert_eq!(at["row"], compute["id"]);
            records[u(&at["index"]) as usize]["duration_ns"].unwrap()
        })
        .collect();
    assert_eq!(durations, [2_000, 1_000, 500, 50, 10]);
}

#[test]
fn counters_count() {
    let folder = TempFolder::new("timeline-counters");
    let story = Story::sample(400);
    let (_, page) = page_of(&[&native(&folder, "a.gpuprof", &story)]);
    let duration = u(&page.meta["duration_ns"]) as i64;
    let t0 = story.calls.iter().map(|c| c.start).min().unwrap();
    let area = |device: usize, name: &str, level: u64| -> i64 {
        let counters: Vec<&Value> = page.rows().iter().filter(|row| row["label"] == name).collect();
        let width = page.bin_ns(level) as i64;
        let values = page.values(counters[device], level);
        let bin = |&(index, value): &(u64, i64)| value * width.min(duration - index as i64 * width) / 1000;
        values.iter().map(bin).sum()
    };
    let near = |a: i64, b: i64| (a - b).abs() * 50 <= b.abs().max(a.abs());
    for device in 0..2 {
        let mine = |d: u32| d as usize == device;
        let queue: i64 = story
            .kernels
            .iter()
            .filter(|k| mine(k.device))
            .map(|k| k.end - story.calls.iter().find(|c| c.correlation == k.correlation).unwrap().start)
            .sum();
        let bytes: i64 = story.copies.iter().filter(|c| mine(c.device)).map(|c| c.bytes).sum();
        let mut spans: Vec<(i64, i64)> = Vec::new();
        spans.extend(story.kernels.iter().filter(|k| mine(k.device)).map(|k| (k.start - t0, k.end - t0)));
        spans.extend(story.copies.iter().filter(|c| mine(c.device)).map(|c| (c.start - t0, c.end - t0)));
        spans.extend(story.fills.iter().filter(|f| mine(f.device)).map(|f| (f.start - t0, f.end - t0)));
        spans.sort_unstable();
        let (mut busy, mut until) = (0, 0);
        for (start, end) in spans {
            busy += (end - start.max(until)).max(0);
            until = until.max(end);
        }
        for level in 1..=u(&page.rows()[0]["levels"]) {
            assert!(near(area(device, "Queue length", level), queue), "level {level}");
            assert!(near(area(device, "Copies", level), bytes), "level {level}");
            assert!(near(area(device, "GPU busy", level) / 100, busy), "level {level}");
        }
    }
}

#[test]
fn impossible_times_are_counted_and_not_drawn() {
    let folder = TempFolder::new("timeline-impossible");
    let mut story = Story::sample(50);
    story.kernels[3].start = 0;
    story.kernels[3].end = 0;
    story.kernels[4].end = story.kernels[4].start - 1;
    let path = native(&folder, "a.gpuprof", &story);
    let (_, page) = page_of(&[&path]);
    page.check(true);
    assert_eq!(u(&page.meta["totals"]["kernel"]), 48);
    let notes = page.meta["notes"].to_string();
    assert!(notes.contains("2 records have impossible times"), "{notes}");
    let answer = gpuprof(&["timeline", &path, "-o", "-"]);
    assert!(answer.stderr.contains("2 records have impossible times"), "{}", answer.stderr);
    assert!(answer.stdout.starts_with("<!DOCTYPE html>"));
}

#[test]
fn functions_of_cpu_samples_stand_with_the_threads_they_were_seen_on() {
    let folder = TempFolder::new("timeline-functions");
    let (samples, expected) = build::seen();
    let launcher = folder.argument("launcher.gpuprof", &build::launcher(&samples));
    let app = native(&folder, "app.gpuprof", &Story::sample(50));
    let (_, page) = page_of(&[&app, &launcher]);
    page.check(true);
    assert_eq!(u(&page.meta["totals"]["sampled_function"]), expected.len() as u64);
    let mut found = Vec::new();
    for row in page.rows().iter().filter(|row| row["kind"] == "functions") {
        let thread = &page.rows()[u(&row["parent"]) as usize];
        let process = &page.rows()[u(&thread["parent"]) as usize];
        let (pid, tid) = match thread["label"].as_str().unwrap() {
            "Thread 5001 of process 5000" => {
                assert!(process["label"].as_str().unwrap().starts_with("Launcher"), "{process}");
                (5000, 5001)
            }
            label => {
                assert_eq!(label, format!("Thread {THREAD} (python)"));
                assert!(process["label"].as_str().unwrap().contains("4242"), "{process}");
                (4242, THREAD)
            }
        };
        for record in page.records(row) {
            let field = |name: &str| record.get(name).copied().flatten().unwrap_or(0);
            let name = page.name(field("name")).to_owned();
            let depth = u64::from(!matches!(name.as_str(), "main" | "worker"));
            assert_eq!(field("lane"), depth, "{name}");
            assert_eq!(page.name(field("file")), "/srv/train.py");
            found.push(build::Seen {
                pid,
                tid,
                start: field("start_ns") as i64 + samples[0].start,
                duration: page.duration(&record) as i64,
                name,
                samples: field("samples"),
            });
        }
    }
    found.sort();
    assert_eq!(found, expected);
    // The calls of the same thread are there, too.
    let threads: Vec<&Value> =
        page.rows().iter().filter(|row| row["kind"] == "runtime").map(|row| &row["parent"]).collect();
    let functions = page.rows().iter().find(|row| row["kind"] == "functions").unwrap();
    assert!(threads.contains(&&functions["parent"]));
    let (_, page) = page_of(&[&app, &launcher, "--filter", "pid=5000"]);
    assert_eq!(u(&page.meta["totals"]["sampled_function"]), 1);
}

#[test]
fn rows_are_chosen_as_in_reports() {
    let folder = TempFolder::new("timeline-choosing");
    let path = native(&folder, "a.gpuprof", &Story::sample(300));
    let (_, page) = page_of(&[&path, "--filter", "saxpy", "--filter", "device=0"]);
    page.check(true);
    assert_eq!(u(&page.meta["totals"]["kernel"]), 50);
    assert_eq!(u(&page.meta["totals"]["api"]), 50);
    assert_eq!(page.meta["totals"].as_object().unwrap().len(), 2);
    let (_, page) = page_of(&[&path, "--from", "10ms", "--to", "15ms"]);
    page.check(true);
    assert!(u(&page.meta["duration_ns"]) < 6_000_000);
    let answer = gpuprof_in(Path::new("."), &["timeline", &path, "--filter", "nothing_has_this_name"]);
    assert_eq!(answer.status, 1, "{}", answer.stderr);
    assert!(answer.stderr.contains("no record passes the filters"), "{}", answer.stderr);
}

/// Names that try to get out of where they are put.
fn hostile_names() -> Vec<Vec<u8>> {
    let mut names: Vec<Vec<u8>> = [
        "</script><script>alert(1)</script>",
        "<!--<script>",
        "]]></style></SCRIPT >",
        "\"quoted\" 'single' \\back\\ `tick` ${x}",
        "two\nlines\r\nand\ttabs\0and\u{7}bells\u{2028}and\u{2029}",
        "=cmd()|'/c calc'!A1",
        "/*SCRIPT*/<!--META--><!--TILES--><!--CSP-->/*STYLE*/",
        "__proto__",
        "constructor",
        "\u{202e}txet",
    ]
    .iter()
    .map(|name| name.as_bytes().to_vec())
    .collect();
    names.push(vec![b'x'; 64 << 10]);
    names.push(b"not \xff\xfe UTF-8 \xc3".to_vec());
    names
}

#[test]
fn names_stay_names() {
    let folder = TempFolder::new("timeline-hostile");
    let mut story = Story { devices: vec!["</script>".into()], ..Story::empty() };
    story.threads.push((THREAD, "</script><img src=x onerror=alert(1)>".into()));
    for (i, name) in hostile_names().into_iter().enumerate() {
        let at = 1_000_000 + i as i64 * 1_000;
        let text = String::from_utf8_lossy(&name).into_owned();
        story = story.with_kernel(Name::plain(&name), at, 500);
        let (start, end) = (at, Some(at + 100));
        story.ranges.push(NvtxRange { name: text, domain: None, start, end, style: 0, tid: THREAD });
    }
    let file = "<script>alert(1)<!--.gpuprof";
    let (html, page) = page_of(&[&native(&folder, file, &story)]);
    page.check(true);
    assert_eq!(html.matches("</script").count(), 3, "metadata, tiles and code");
    assert_eq!(html.to_lowercase().matches("</script").count(), 3);
    assert_eq!(html.matches("<!--").count(), 0);
    let meta = page::element(&html, "meta");
    assert!(!meta.contains('<'), "nothing in the metadata begins a tag");
    assert_eq!(page.meta["title"], file);
    let names: Vec<&str> = page.meta["names"].as_array().unwrap().iter().map(|n| n.as_str().unwrap()).collect();
    for name in hostile_names() {
        let name = String::from_utf8_lossy(&name).into_owned();
        assert!(names.contains(&&*name), "{name:.80}");
    }
    // The policy allows this very script and no other.
    assert!(html.contains("default-src 'none'; script-src 'sha256-"));
    assert!(html.contains("connect-src 'none'"));
}

#[test]
fn the_page_is_the_same_for_any_number_of_threads_and_any_cut_into_frames() {
    let folder = TempFolder::new("timeline-threads");
    let story = Story::sample(3_000).with_ranges();
    let path = native(&folder, "a.gpuprof", &story);
    let small = build::Native { rows_per_frame: 77, ..Default::default() };
    let other = folder.argument("cut/a.gpuprof", &build::native_with(&story, small));
    let page = |threads: &str, path: &str| {
        let answer = gpuprof_with(&[("RAYON_NUM_THREADS", threads)], &["timeline", path, "-o", "-"]);
        assert_eq!(answer.status, 0, "{}", answer.stderr);
        answer.stdout
    };
    let first = page("1", &path);
    for threads in ["2", "3", "8"] {
        assert!(first == page(threads, &path), "{threads} threads");
        assert!(first == page(threads, &other), "{threads} threads, many frames");
    }
}

#[test]
fn what_cannot_be_written_says_so_and_leaves_nothing() {
    let folder = TempFolder::new("timeline-errors");
    let path = native(&folder, "a.gpuprof", &Story::sample(10));
    let here = folder.path().to_str().unwrap();
    refused(&["timeline", &path, "-o", here], &["holds", "a.gpuprof, which is read"]);
    let other = TempFolder::new("timeline-errors-folder");
    refused(&["timeline", &path, "-o", other.path().to_str().unwrap()], &["is a folder"]);
    // What no format is called is no page under a strange name.
    let sheet = other.path().join("page.xlsx");
    let expected =
        ["page.xlsx: no format has the ending .xlsx", ".html, .htm, .svg, .png, .txt", "--format FORMAT"];
    refused(&["timeline", &path, "-o", sheet.to_str().unwrap()], &expected);
    assert!(!sheet.exists());
    gpuprof(&["timeline", &path, "--format", "svg", "-o", sheet.to_str().unwrap()]);
    assert!(std::fs::read_to_string(&sheet).unwrap().starts_with("<svg"));
    refused(&["timeline", &path, "-o", &format!("{here}/none/page.html")], &["cannot be created"]);
    let empty = native(&folder, "empty.gpuprof", &Story::empty());
    let answer = gpuprof_in(folder.path(), &["timeline", &empty]);
    assert_eq!(answer.status, 1, "{}", answer.stderr);
    // Without -o the page is named after the trace and lies here.
    let answer = gpuprof_in(folder.path(), &["timeline", &path]);
    assert_eq!(answer.status, 0, "{}", answer.stderr);
    let mut left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["a.gpuprof", "a.gpuprof.html", "empty.gpuprof"]);
}

#[test]
fn records_too_far_apart_are_refused() {
    let folder = TempFolder::new("timeline-far");
    let story = Story::empty().with_kernel(Name::plain("a"), 1, 10).with_kernel(Name::plain("b"), 1 << 60, 10);
    let path = native(&folder, "a.gpuprof", &story);
    refused(&["timeline", &path, "-o", "-"], &["days", "--from"]);
}

/// Records with valid times by table, counted by a fold of its own.
fn drawable(path: &Path) -> BTreeMap<&'static str, u64> {
    let frames = Frames::open(&[path.to_owned()], &gpuprof::timeline::need(false)).unwrap();
    let mut counts = BTreeMap::new();
    for table in [
        &tables::KERNEL,
        &tables::MEMCPY,
        &tables::MEMSET,
        &tables::GRAPH,
        &tables::API,
        &tables::OPENACC,
        &tables::OPENMP,
        &tables::OVERHEAD,
        &tables::SYNC,
    ] {
        let count = frames
            .fold(
                table,
                &[any::DURATION_NS],
                &Filter::everything(),
                || 0,
                |count, batch| *count += batch.rows as u64 - batch.null_rows(any::DURATION_NS),
                |a, b| *a += b,
            )
            .unwrap();
        if count > 0 {
            counts.insert(table.name, count);
        }
    }
    counts
}

#[test]
fn every_trace_of_the_collection_has_a_page_with_all_of_its_records() {
    let Some(shared) = common::shared("every_trace_of_the_collection_has_a_page_with_all_of_its_records") else {
        return;
    };
    let manifest = std::fs::read_to_string(shared.join("data/MANIFEST.tsv")).unwrap();
    let mut pages = 0;
    for file in manifest.lines().skip(1).filter_map(|line| line.split('\t').next()) {
        let path = shared.join("data").join(file);
        let Ok(frames) = Frames::open(std::slice::from_ref(&path), &gpuprof::timeline::need(false)) else {
            continue;
        };
        let expected = drawable(&path);
        let any = expected.values().sum::<u64>() + frames.rows(&tables::RANGE) + frames.rows(&tables::UVM);
        let answer = gpuprof_in(Path::new("."), &["timeline", path.to_str().unwrap(), "-o", "-"]);
        if any == 0 {
            assert_eq!(answer.status, 1, "{file}: {}", answer.stderr);
            continue;
        }
        assert_eq!(answer.status, 0, "{file}: {}", answer.stderr);
        let page = Page::parse(&answer.stdout);
        page.check(false);
        for (table, count) in expected {
            assert_eq!(page.meta["totals"][table], count, "{file}: {table}");
        }
        pages += 1;
    }
    assert!(pages >= 20, "{pages} pages");
    eprintln!("{pages} pages");
}

/// As [`Story::with_kernel`], on any stream.
#[test]
fn kernels_that_overlap_in_a_row_get_lanes() {
    let folder = TempFolder::new("timeline-lanes");
    let mut story = Story { devices: vec!["GPU".into()], ..Story::empty() };
    for i in 0..20 {
        let (start, stream) = (1_000 + i * 10, 7 + (i % 5) as u32);
        let name = Name::plain(format!("kernel{i}"));
        let (grid, block) = ([1, 1, 1], [32, 1, 1]);
        let (device, context, correlation) = (0, 1, i as u64 + 1);
        let kernel = Kernel { name, start, end: start + 45, device, context, stream, correlation, grid, block };
        story.kernels.push(kernel);
    }
    let (_, page) = page_of(&[&native(&folder, "a.gpuprof", &story)]);
    page.check(true);
    assert_eq!(u(&page.row("compute")["lanes"]), 5);
    assert!(page.rows().iter().filter(|row| row["kind"] == "stream").all(|row| row["lanes"] == 1));
}
