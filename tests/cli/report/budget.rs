//! Traces of some of a program's time, as a budget allows them: sums stand for all the time, and say how good they are.

use super::steps::{named, number};
use super::*;
use trace_format::tables::*;

const MS: i64 = 1_000_000;

/// What a program did in all: how many kernels of each name, and how long.
type Truth = BTreeMap<&'static str, (u64, u128)>;

const NAMES: [&str; 2] = ["gemm", "norm"];

/// A recorded window: from and to, on the trace clock, and the ids of the calls before and behind it.
struct Span {
    from_ns: i64,
    to_ns: i64,
    ids: (u64, u64),
}

struct Made {
    trace: Vec<u8>,
    truth: Truth,
    windows: usize,
}

/// What is told about the end of the recording.
#[derive(Clone, Copy, PartialEq)]
enum End {
    Whole,
    Killed,
}

/// A program of `seconds` whose kernels come at a rate that `rate` (per second) says for each moment, recorded in windows as
/// the collector plans them: as long as what the window before cost allows, at moments that hang on a chance.
fn made(seed: u64, seconds: i64, end: End, rate: impl Fn(i64) -> u64) -> Made {
    let mut random = Random(seed);
    let mut file = Vec::new();
    let mut w = NativeWriter::begin(&mut file, &Story { pid: 77, ..Story::empty() }, Native::default());
    let began_ns = 1_000 * MS;
    let ended_ns = began_ns + seconds * 1_000 * MS;
    let names: Vec<u32> = NAMES.iter().map(|name| w.string(name.as_bytes())).collect();
    w.define();
    let shape = |(id, &name_id): (u32, &u32)| ShapeRow { id, name_id, ..ShapeRow::default() };
    w.rows((1..).zip(&names).map(shape).collect());
    let (mut truth, mut spans, mut kernels) = (Truth::new(), Vec::<Span>::new(), Vec::new());
    let (mut id, mut now_ns) = (100, began_ns);
    let mut open: Option<(i64, i64, u64)> = None;
    let (mut opens_ns, mut cost) = (began_ns + random.below(200) as i64 * MS, 2_000.0);
    while now_ns < ended_ns {
        let per_second = rate(now_ns - began_ns).max(1);
        now_ns += (random.below(2_000_000_000) / per_second) as i64;
        match open {
            None if now_ns >= opens_ns => {
                // So many calls may be paid for in this window.
                let length_ns = ((80.0 / cost * 1e9) as i64).clamp(5 * MS, 400 * MS);
                open = Some((opens_ns, opens_ns + length_ns, id));
                id += 1;
            }
            Some((from_ns, to_ns, after)) if now_ns >= to_ns => {
                id += 1;
                spans.push(Span { from_ns, to_ns, ids: (after, id) });
                cost = ((id - after) as f64 * 1e9 / (to_ns - from_ns) as f64).max(50.0);
                // What was too much is paid for.
                let late_ms = ((id - after) as i64).min(400) + 200 + random.below(300) as i64;
                (open, opens_ns) = (None, to_ns + late_ms * MS);
            }
            _ => {}
        }
        id += 1;
        let which = usize::from(random.below(3) == 0);
        let duration_ns = 10_000 * (1 + which as i64 * 4) + random.below(30_000) as i64;
        let sums = truth.entry(NAMES[which]).or_default();
        *sums = (sums.0 + 1, sums.1 + duration_ns as u128);
        let kernel = KernelRow {
            start_ns: now_ns + 400_000,
            duration_ns: Some(duration_ns),
            shape_id: 1 + which as u32,
            context: 1,
            stream: 7,
            correlation: id,
            ..KernelRow::default()
        };
        kernels.extend(open.map(|_| kernel));
    }
    let mut process = serde_json::json!({
        "pid": 77, "host": "node7", "configuration": {"GPUPROF_CAPTURE": "all", "GPUPROF_BUDGET": "2%"},
        "budget": {"began_ns": began_ns},
    });
    if end == End::Whole {
        process["budget"]["ended_ns"] = ended_ns.into();
        process["budget"]["spent_ns"] =
            serde_json::json!({"calls": seconds * 10_000_000, "threads": seconds * 9_000_000});
    }
    w.writer.write_json(&PROCESS, &process).expect("a process");
    let row = |span: &Span| CaptureRow {
        start_ns: span.from_ns,
        end_ns: Some(span.to_ns),
        first_correlation: Some(span.ids.0),
        last_correlation: Some(span.ids.1),
        starts: 1,
        stops: 1,
        ..CaptureRow::default()
    };
    let mut rows: Vec<CaptureRow> = spans.iter().map(row).collect();
    // A window that is open at the end is told of by a trace that was closed.
    rows.extend(open.filter(|_| end == End::Whole).map(|(from_ns, _, after)| CaptureRow {
        start_ns: from_ns,
        first_correlation: Some(after),
        starts: 1,
        ..CaptureRow::default()
    }));
    let windows = rows.len();
    w.rows(rows);
    w.rows(kernels);
    if end == End::Whole {
        w.close();
    }
    drop(w);
    Made { trace: file, truth, windows }
}

/// How often of 100 the interval holds the truth: totals and counts of both kernels; and how far off estimates are on average.
fn held(folder: &TempFolder, rate: fn(i64) -> u64) -> ([u32; 4], f64) {
    let (mut held, mut off) = ([0; 4], 0.0);
    for seed in 0..100 {
        let made = made(9_000 + seed, 40, End::Whole, rate);
        let document = json(&[&folder.argument("t.gpuprof", &made.trace)]);
        let rows = rows(&document, "gpu_summary");
        for (i, name) in NAMES.into_iter().enumerate() {
            let (row, (count, total)) = (named(rows, name), made.truth[name]);
            let is_held = |column: &str, within: &str, truth: f64| {
                u32::from((number(row, column) - truth).abs() <= number(row, within))
            };
            held[2 * i] += is_held("Total Time (ns)", "Total Time +/- (ns)", total as f64);
            held[2 * i + 1] += is_held("Calls", "Count +/-", count as f64);
            off += (number(row, "Total Time (ns)") / total as f64 - 1.0) / 200.0;
        }
    }
    (held, off)
}

#[test]
fn intervals_of_a_steady_program_hold_the_truth_as_often_as_they_say() {
    let folder = TempFolder::new("cli-budget-steady");
    let (held, off) = held(&folder, |_| 2_000);
    println!("of 100 seeds the interval held the truth: {held:?}; off by {off:.4} on average");
    assert!(held.iter().all(|&held| held >= 93), "{held:?}");
    assert!(held.iter().sum::<u32>() < 400, "intervals that always hold are too wide: {held:?}");
    assert!(off.abs() < 0.01, "{off}");
}

/// A program that does much for some seconds and little for some, so that windows are short and seldom in the one and long in
/// the other: weighted alike, they would tell too little of what is expensive.
#[test]
fn a_program_that_changes_is_estimated_by_what_each_window_stands_for() {
    let folder = TempFolder::new("cli-budget-phases");
    let (held, off) = held(&folder, |ns| if ns % 16_000_000_000 < 8_000_000_000 { 4_000 } else { 400 });
    println!("of 100 seeds the interval held the truth: {held:?}; off by {off:.4} on average");
    assert!(held.iter().all(|&held| held >= 93), "{held:?}");
    assert!(off.abs() < 0.03, "{off}");
}

#[test]
fn a_killed_program_and_copies_stand_for_what_they_can() {
    let folder = TempFolder::new("cli-budget-killed");
    let sums = |path: &str, args: &[&str]| {
        let document = json(&[&[path], args].concat());
        let row = named(rows(&document, "gpu_summary"), "gemm").clone();
        ["Total Time (ns)", "Total Time +/- (ns)", "Calls", "Count +/-"].map(|column| row[column].clone())
    };
    let made = |end| made(5, 30, end, |_| 2_000);
    let whole = folder.argument("whole.gpuprof", &made(End::Whole).trace);
    let killed = folder.argument("killed.gpuprof", &made(End::Killed).trace);
    let truth = made(End::Whole).truth["gemm"].1 as f64;
    for path in [&whole, &killed] {
        let [total, within, ..] = sums(path, &[]).map(|value| value.as_f64().expect("a number"));
        // The killed one knows nothing of what came after its last window.
        assert!((total - truth).abs() < 2.0 * within + truth * 0.03, "{path}: {total} of {truth}, +/- {within}");
    }
    // What a person is told.
    let windows = made(End::Whole).windows;
    let answer = gpuprof(&["report", &whole]);
    let said = format!(" of 30.00 s was recorded, in {windows} windows, because of --budget: sums beside which");
    assert!(answer.stderr.contains(&said) && answer.stdout.contains("+/-"), "{}{}", answer.stderr, answer.stdout);
    for args in [&["--raw"][..], &["--from", "1ms"]] {
        let answer = common::answer(&mut common::command(&[&["report", &whole], args].concat()));
        assert!(!answer.stdout.contains("+/-"), "{args:?}: {}", answer.stdout);
        assert!(
            answer.stderr.contains("because of --budget: sums are of the recorded windows"),
            "{}",
            answer.stderr
        );
    }
    let info = gpuprof(&["info", &whole]).stdout;
    assert!(info.contains("recording took 1.9 % of the time by its own account (--budget 2%)"), "{info}");
    // Copies of everything say the same.
    let out = folder.path().join("copy.gpuprof");
    let out = out.to_str().expect("a path");
    gpuprof(&["export", "-q", "--force", &whole, "-o", out]);
    assert_eq!(sums(out, &[]), sums(&whole, &[]));
    for format in ["parquet", "csv-tables"] {
        let out = folder.path().join(format);
        let out = out.to_str().expect("a path");
        gpuprof(&["export", "-q", "-F", format, &whole, "-o", out]);
        assert_eq!(sums(out, &[]), sums(&whole, &[]), "{format}");
    }
}
