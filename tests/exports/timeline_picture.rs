//! Static pictures of timelines: columns that add up, the same bytes from any number of threads, names that cannot
//! break anything, and readers of their own for SVG, PNG and text.

use crate::common::build::*;
use crate::common::{self, TempFolder, skip};
use gpuprof::analysis::labels::Labels;
use gpuprof::demangle::Demangling;
use gpuprof::error::Result;
use gpuprof::timeline::picture::layout::Picture;
use gpuprof::timeline::picture::{self, Format, Options};
use gpuprof::trace::frames::Frames;
use gpuprof::trace::select::{Filter, Selection};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;
use trace_format::tables::HostCallRow;
use trace_format::vocabulary::host_call_domain;

fn open(paths: &[PathBuf]) -> Frames {
    Frames::open(paths, &picture::need()).unwrap_or_else(|e| panic!("{e}"))
}

fn draw_with(frames: &Frames, filter: &Filter, format: Format, options: &Options) -> Result<Vec<u8>> {
    let labels = Labels::new(frames, Demangling::On);
    let mut out = Vec::new();
    picture::picture(frames, &labels, filter, format, options, &mut out)?;
    Ok(out)
}

fn draw(frames: &Frames, format: Format, options: &Options) -> Vec<u8> {
    draw_with(frames, &Filter::everything(), format, options).unwrap_or_else(|e| panic!("{e}"))
}

fn text(frames: &Frames, options: &Options) -> String {
    String::from_utf8(draw(frames, Format::Text, options)).unwrap()
}

fn make(frames: &Frames, options: &Options, columns: usize) -> Picture {
    let labels = Labels::new(frames, Demangling::On);
    picture::make(frames, &labels, &Filter::everything(), options, columns).unwrap_or_else(|e| panic!("{e}"))
}

/// The spans of every row that a story's picture has, by label.
fn spans(story: &Story) -> BTreeMap<String, Vec<(i64, i64)>> {
    let mut rows: BTreeMap<String, Vec<(i64, i64)>> = BTreeMap::new();
    let mut work = |kind: &str, device: u32, stream: u32, span| {
        for row in [String::new(), format!("/{kind}"), format!("/Stream {stream}")] {
            rows.entry(format!("GPU {device} (Tesla V100){row}")).or_default().push(span);
        }
    };
    for k in &story.kernels {
        work("Compute", k.device, k.stream, (k.start, k.end));
    }
    for c in &story.copies {
        let word = ["", "HtoD", "DtoH", "", "", "", "", "", "DtoD"][c.kind as usize];
        work(&format!("MemCpy ({word})"), c.device, c.stream, (c.start, c.end));
    }
    for f in &story.fills {
        work("MemSet", f.device, f.stream, (f.start, f.end));
    }
    for call in &story.calls {
        rows.entry(format!("thread {} \"python\": CUDA API", call.tid)).or_default().push((call.start, call.end));
    }
    for range in story.ranges.iter().filter(|range| range.style != 2) {
        let name = if range.tid == THREAD { " \"python\"" } else { "" };
        let row = rows.entry(format!("thread {}{name}: ranges", range.tid)).or_default();
        row.push((range.start, range.end.unwrap_or(i64::MAX)));
    }
    rows
}

/// Nanoseconds from `from` to `to` that any span covers, counted by sorting the ends.
fn covered(spans: &[(i64, i64)], from: i64, to: i64) -> u64 {
    let mut ends: Vec<(i64, i32)> = Vec::new();
    for &(start, end) in spans {
        let (start, end) = (start.max(from), end.min(to));
        if start < end {
            ends.extend([(start, 1), (end, -1)]);
        }
    }
    ends.sort_unstable();
    let (mut open, mut since, mut total) = (0, 0, 0);
    for (at, change) in ends {
        if open > 0 {
            total += at.abs_diff(since);
        }
        (open, since) = (open + change, at);
    }
    total
}

/// Compares every column of every row with what the story says; rows of a GPU stand below it.
fn compare(story: &Story, picture: &Picture) {
    let (columns, offset) = (picture.columns, EPOCH);
    let mut expected = spans(story);
    let mut device = String::new();
    for line in &picture.lines {
        let Some(busy) = &line.busy else { continue };
        let name = match line.depth {
            2 => format!("{device}/{}", line.label),
            _ => line.label.clone(),
        };
        if line.is_summary {
            device = line.label.clone();
        }
        let spans = expected.remove(&name).unwrap_or_else(|| panic!("no row {name}"));
        let window = (columns.first_ns - offset, columns.last_ns - offset);
        assert_eq!(busy.busy_ns, covered(&spans, window.0, window.1), "{name}");
        let sums: Vec<u64> =
            (0..columns.count).map(|i| busy.by_class.values().map(|cells| cells[i]).sum()).collect();
        assert_eq!(sums.iter().sum::<u64>(), busy.busy_ns * columns.per_ns, "{name}: nothing is lost to rounding");
        assert!(
            (0..columns.count).all(|i| sums[i] <= columns.parts(i)),
            "{name}: a column is busy at most all the time"
        );
        if columns.per_ns == 1 {
            let mut begin = window.0;
            for (i, &sum) in sums.iter().enumerate() {
                let end = begin + columns.parts(i) as i64;
                assert_eq!(sum, covered(&spans, begin, end), "{name}, column {i}");
                begin = end;
            }
        }
    }
    // Rows without anything in the window are not drawn.
    let window = (columns.first_ns - offset, columns.last_ns - offset);
    expected.retain(|_, spans| spans.iter().any(|&(start, end)| start <= window.1 && end >= window.0));
    assert!(expected.is_empty(), "{:?}", expected.keys());
}

#[test]
fn columns_hold_every_busy_nanosecond_once() {
    let mut story = Story::sample(60).with_ranges();
    // Kernels that overlap on their stream and within their GPU, and one inside another.
    for i in [4, 8, 12, 13] {
        story.kernels[i].end = story.kernels[i + 5].start + 777;
    }
    let folder = TempFolder::new("picture-columns");
    let frames =
        open(&[folder.file("t.gpuprof", &native_with(&story, Native { rows_per_frame: 11, ..Native::default() }))]);
    for columns in [1, 7, 100, 997, 5000] {
        compare(&story, &make(&frames, &Options::default(), columns));
    }
    let (from, to) = (EPOCH + 10_123_457, EPOCH + 11_500_001);
    let window = Options { window: Some((from, to)), ..Options::default() };
    for columns in [3, 1000] {
        let picture = make(&frames, &window, columns);
        assert_eq!((picture.columns.first_ns, picture.columns.last_ns), (from, to));
        compare(&story, &picture);
    }
    // Fewer nanoseconds than columns.
    let window = Options { window: Some((EPOCH + 10_000_000, EPOCH + 10_000_300)), ..Options::default() };
    let picture = make(&frames, &window, 1000);
    assert_eq!(picture.columns.per_ns, 4);
    let compute = picture.lines.iter().find(|line| line.label == "Compute").unwrap().busy.as_ref().unwrap();
    assert_eq!(compute.busy_ns, 300);
    assert_eq!(picture.runs(compute).len(), 1, "busy from end to end");
}

#[test]
fn a_filter_chooses_what_is_drawn() {
    let story = Story::sample(40);
    let folder = TempFolder::new("picture-filter");
    let frames = open(&[folder.file("t.gpuprof", &native(&story))]);
    let labels = Labels::new(&frames, Demangling::On);
    let selection = Selection { devices: vec![1], ..Selection::default() };
    let filter = Filter::resolve(selection, &frames, |kernel| labels.name_of(kernel).to_owned()).unwrap();
    let drawn =
        draw_with(&frames, &filter, Format::Text, &Options { width: Some(80), ..Options::default() }).unwrap();
    let drawn = String::from_utf8(drawn).unwrap();
    assert!(drawn.contains("GPU 1") && !drawn.contains("GPU 0"), "{drawn}");
}

#[test]
fn a_time_filter_is_the_window() {
    let story = Story::sample(40);
    let folder = TempFolder::new("picture-window");
    let path = folder.argument("t.gpuprof", &native(&story));
    let drawn = common::gpuprof(&[
        "timeline", "--format", "text", "--width", "100", "--from", "9.5ms", "--to", "10ms", &path,
    ]);
    let lines: Vec<&str> = drawn.stdout.lines().collect();
    // The first record of the sample is a call at 0.98 ms.
    assert!(lines[1].starts_with("500 µs from 9.5 ms on, "), "{}", drawn.stdout);
    assert!(
        lines[3].contains("  9.5 ms ") && lines[3].contains(" 9.6 ms ") && !lines[3].contains("10.0"),
        "{}",
        drawn.stdout
    );
}

#[test]
fn text_fits_and_says_what_was_busy() {
    let mut story = Story::empty();
    story.devices.push("Tesla V100".into());
    // Busy all of the first quarter, half of the second one, none of the third, and a sliver of the last.
    story = story
        .with_kernel(Name::plain("a"), 1_000_000, 1_000_000)
        .with_kernel(Name::plain("b"), 2_000_000, 500_000)
        .with_kernel(Name::plain("c"), 4_999_999, 1);
    let folder = TempFolder::new("picture-text");
    let frames = open(&[folder.file("run.gpuprof", &native(&story))]);
    let plain = text(&frames, &Options { width: Some(80), ..Options::default() });
    let lines: Vec<&str> = plain.lines().collect();
    assert_eq!(lines[0], "run.gpuprof");
    assert_eq!(lines[1], "4 ms, 3 records");
    assert!(lines.iter().all(|line| line.chars().count() <= 80), "{plain}");
    let compute = lines.iter().find(|line| line.contains("Compute")).unwrap();
    assert!(compute.contains("37.5 %"), "{compute}");
    let cells: Vec<char> = compute.chars().skip(34).collect();
    assert_eq!(cells.len(), 46, "{compute}");
    assert!(cells[..17].iter().all(|&c| c == '█') && cells[17] == '▃' && cells[45] == '▁', "{compute}");
    assert!(cells[18..45].iter().all(|&c| c == ' '), "{compute}");
    assert!(lines[3].ends_with("busy  0          1 ms        2 ms       3 ms"), "{plain}");
    let ascii = text(&frames, &Options { width: Some(80), ascii: true, ..Options::default() });
    assert!(ascii.is_ascii() && ascii.contains("@@@@@@@@@@@@"), "{ascii}");
    assert!(!plain.contains('\u{1b}'));
    let color = text(&frames, &Options { width: Some(80), color: true, ..Options::default() });
    assert_eq!(color.matches("\u{1b}[0m").count(), 3 + 1, "three rows and the legend: {color:?}");
    for width in [40, 41, 57, 120, 333, 2000] {
        let drawn = text(&frames, &Options { width: Some(width), ..Options::default() });
        assert!(drawn.lines().all(|line| line.chars().count() <= width), "{width}: {drawn}");
    }
}

#[test]
fn pictures_and_pages_count_the_same_records() {
    let folder = TempFolder::new("picture-counts");
    let story = Story::sample(60).with_ranges();
    let mut file = Vec::new();
    let mut writer = NativeWriter::begin(&mut file, &story, Native::default());
    let name_id = writer.string(b"poll");
    writer.kernels(&story.kernels);
    writer.rest(&story);
    let calls = story.kernels[..3].iter().map(|kernel| HostCallRow {
        start_ns: kernel.start,
        duration_ns: Some(1_000),
        domain: host_call_domain::OS_RUNTIME,
        name_id,
        tid: THREAD,
        ..HostCallRow::default()
    });
    writer.rows(calls.collect());
    writer.close();
    let path = folder.argument("t.gpuprof", &file);
    let page = folder.path().join("t.html");
    let said = common::gpuprof(&["timeline", &path, "-o", page.to_str().unwrap()]).stderr;
    let all = said.split_whitespace().find_map(|word| word.parse::<u64>().ok()).expect("a number of rows");
    let text = common::gpuprof(&["timeline", &path, "--format", "text"]).stdout;
    // The mark has no row, and neither have calls of the operating system.
    let counts = format!("{} of {all} records", all - 1 - 3);
    assert!(text.lines().nth(1).unwrap().ends_with(&counts), "{counts}: {text}");
}

#[test]
fn svg_is_well_formed_and_draws_every_run() {
    let story = Story::sample(60).with_ranges();
    let folder = TempFolder::new("picture-svg");
    let frames = open(&[folder.file("t.gpuprof", &native(&story))]);
    for width in [320, 1200] {
        let svg = draw(&frames, Format::Svg, &Options { width: Some(width), ..Options::default() });
        let svg = String::from_utf8(svg).unwrap();
        assert!(svg.contains(&format!("width=\"{width}\"")) && svg.contains("prefers-color-scheme:dark"));
        let plot = width - 16 - (width / 4).clamp(120, 280) - 62 - 16;
        let picture = make(&frames, &Options::default(), plot);
        let runs: usize =
            picture.lines.iter().filter_map(|l| l.busy.as_ref()).map(|busy| picture.runs(busy).len()).sum();
        let paths = svg.lines().filter(|line| line.starts_with("<path class=\"c"));
        let rectangles: usize = paths.map(|line| line.matches('z').count()).sum();
        assert_eq!(rectangles, runs);
    }
}

/// The title and texts of an SVG by Python's XML reader; `None` where there is no Python.
fn xml_texts(folder: &TempFolder, svg: &[u8]) -> Option<String> {
    let path = folder.argument("picture.svg", svg);
    let script = "import sys, xml.etree.ElementTree as E
root = E.parse(sys.argv[1]).getroot()
ns = '{http://www.w3.org/2000/svg}'
assert {e.tag for e in root.iter()} == {ns + t for t in ('svg', 'title', 'style', 'rect', 'text', 'path', 'g')}
print('\\n'.join(e.text for e in root.iter(ns + 'title')))";
    match Command::new("python3").args(["-c", script, &path]).output() {
        Err(error) => {
            skip("pictures are XML", &format!("python3: {error}"));
            None
        }
        Ok(answer) => {
            assert!(answer.status.success(), "{}", String::from_utf8_lossy(&answer.stderr));
            Some(String::from_utf8_lossy(&answer.stdout).into_owned())
        }
    }
}

#[test]
fn hostile_names_break_nothing() {
    let mut story = Story::sample(12).with_ranges();
    story.devices =
        vec!["</svg><script>alert(1)</script>".into(), format!("\u{1b}[31m\u{ffff}{}", "ü".repeat(33_000))];
    story.threads[0].1 = "a\nb\u{1}&\"'<".into();
    let folder = TempFolder::new("picture-hostile");
    let frames = open(&[folder.file("<title>&.gpuprof", &native(&story))]);
    let svg = draw(&frames, Format::Svg, &Options::default());
    if let Some(titles) = xml_texts(&folder, &svg) {
        assert!(titles.starts_with("<title>&.gpuprof\n"), "{titles}");
        assert!(titles.contains("GPU 0 (</svg><script>alert(1)</script>): busy for "), "{titles}");
        assert!(titles.contains("thread 4243 \"a b &\"'<\": CUDA API"), "{titles}");
    }
    for options in [Options::default(), Options { ascii: true, ..Options::default() }] {
        let options = Options { width: Some(100), ..options };
        let text = text(&frames, &options);
        assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text:?}");
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    }
    draw(&frames, Format::Png, &Options::default());
}

#[test]
fn png_has_the_size_that_was_asked_for_and_the_colours_of_the_work() {
    let story = Story::empty().with_kernel(Name::plain("a"), 1_000_000, 1_000_000);
    let folder = TempFolder::new("picture-png");
    let frames = open(&[folder.file("t.gpuprof", &native(&story))]);
    let svg = String::from_utf8(draw(&frames, Format::Svg, &Options::default())).unwrap();
    assert!(svg.contains("1 ms, 1 record<") && !svg.contains("1 records"), "{svg}");
    for (dark, green) in [(false, [0x1f, 0x8f, 0x5f]), (true, [0x3c, 0xc4, 0x8a])] {
        for scale in 1..=4 {
            let options = Options { width: Some(640), scale: Some(scale), dark, ..Options::default() };
            let bytes = draw(&frames, Format::Png, &options);
            let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
            let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
            let info = reader.next_frame(&mut pixels).unwrap();
            assert_eq!(info.width as usize, 640 * scale);
            // Letters have smooth edges: the title and what stands below it are drawn in many shades.
            let above = &pixels[..640 * 3 * scale * 50 * scale];
            let shades: BTreeSet<&[u8]> = above.chunks(3).collect();
            assert!(shades.len() > 30, "scale {scale}: {} shades", shades.len());
            let plot = (640 - 16 - 160 - 62 - 16) * scale;
            // Summary, compute and stream are busy all the time; then there is the legend.
            let rows =
                pixels.chunks(640 * 3 * scale).map(|row| row.chunks(3).filter(|pixel| **pixel == green).count());
            let whole = rows.filter(|&count| count == plot).count();
            assert_eq!(whole, (30 + 16 + 16) * scale, "scale {scale}");
        }
    }
}

#[test]
fn threads_and_frames_change_no_byte() {
    let story = Story::sample(300).with_ranges();
    let folder = TempFolder::new("picture-threads");
    let whole = open(&[folder.file("a/t.gpuprof", &native(&story))]);
    let cut = native_with(&story, Native { rows_per_frame: 9, ..Native::default() });
    let cut = open(&[folder.file("b/t.gpuprof", &cut)]);
    let options = Options { width: Some(500), ..Options::default() };
    for format in [Format::Svg, Format::Png, Format::Text] {
        let expected = draw(&whole, format, &options);
        for threads in [1, 2, 7] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            assert!(pool.install(|| draw(&cut, format, &options)) == expected, "{format:?} with {threads} threads");
        }
    }
}

#[test]
fn several_processes_and_too_many_streams() {
    let mut stories: Vec<Story> = (0..2).map(|rank| Story { rank: Some((rank, 2)), ..Story::sample(30) }).collect();
    stories[1].pid = 5000;
    for (i, kernel) in stories[1].kernels.iter_mut().enumerate() {
        kernel.stream = 100 + i as u32;
    }
    let folder = TempFolder::new("picture-processes");
    let paths: Vec<PathBuf> =
        stories.iter().enumerate().map(|(i, story)| folder.file(&format!("{i}.gpuprof"), &native(story))).collect();
    let frames = open(&paths);
    let all = make(&frames, &Options::default(), 100);
    assert_eq!(all.hidden, 0);
    let headings: Vec<&str> = all.lines.iter().filter(|l| l.busy.is_none()).map(|l| l.label.as_str()).collect();
    assert_eq!(headings, ["process 4242 (rank 0)", "process 5000 (rank 1)"]);
    let few = make(&frames, &Options { rows: Some(25), ..Options::default() }, 100);
    let shown = few.lines.iter().filter(|line| line.busy.is_some()).count();
    assert_eq!(shown, 25);
    assert_eq!(shown + few.hidden, all.lines.iter().filter(|line| line.busy.is_some()).count());
    assert!(few.notes("x")[1].contains(&format!("{} rows with less work are not shown", few.hidden)));
}

#[test]
fn what_cannot_be_drawn_is_refused() {
    let folder = TempFolder::new("picture-refused");
    let frames = open(&[folder.file("t.gpuprof", &native(&Story::sample(5)))]);
    let all = Filter::everything();
    for (format, options, word) in [
        (Format::Svg, Options { width: Some(10), ..Options::default() }, "--width 10"),
        (Format::Text, Options { width: Some(39), ..Options::default() }, "from 40 to 2000"),
        (Format::Png, Options { scale: Some(0), ..Options::default() }, "--scale 0"),
    ] {
        let error = draw_with(&frames, &all, format, &options).unwrap_err();
        assert!(error.to_string().contains(word), "{error}");
    }
    let empty = open(&[folder.file("empty.gpuprof", &native(&Story::empty()))]);
    let error = draw_with(&empty, &all, Format::Text, &Options::default()).unwrap_err();
    assert!(error.to_string().contains("nothing") || error.to_string().contains("no record"), "{error}");
}

#[test]
fn an_output_has_the_format_that_its_name_ends_in() {
    let folder = TempFolder::new("picture-endings");
    let path = folder.argument("run.gpuprof", &native(&Story::sample(10)));
    for (name, begins) in
        [("a.svg", &b"<svg"[..]), ("a.png", b"\x89PNG"), ("a.html", b"<!DOCTYPE html>"), ("a", b"<!")]
    {
        let output = folder.path().join(name);
        common::gpuprof(&["timeline", &path, "-o", output.to_str().expect("a path")]);
        let bytes = std::fs::read(&output).expect("the output");
        let head = String::from_utf8_lossy(&bytes[..bytes.len().min(200)]).to_lowercase();
        assert!(head.contains(&String::from_utf8_lossy(begins).to_lowercase()), "{name}: {head}");
    }
}

#[test]
fn a_locale_without_utf_8_gets_ascii_in_pipes_and_the_characters_in_files() {
    let folder = TempFolder::new("picture-locale");
    let path = folder.argument("run.gpuprof", &native(&Story::sample(20)));
    let drawn = |locale: &str, more: &[&str]| {
        let args = [&["timeline", &path, "--format", "text", "--width", "80"][..], more].concat();
        let answer = common::gpuprof_with(&[("LC_ALL", locale)], &args);
        assert_eq!(answer.status, 0, "{}", answer.stderr);
        answer.stdout
    };
    // The standard output of this run is a pipe.
    let plain = drawn("C", &[]);
    assert!(plain.is_ascii() && plain.contains('@'), "{plain}");
    assert_eq!(plain, drawn("C.UTF-8", &["--ascii"]));
    let full = drawn("C.UTF-8", &[]);
    assert!(!full.is_ascii(), "{full}");
    // A file is read elsewhere, whatever the locale here.
    let file = folder.path().join("drawn.txt");
    drawn("C", &["-o", file.to_str().expect("a path")]);
    assert_eq!(std::fs::read_to_string(&file).expect("the picture"), full);
}
