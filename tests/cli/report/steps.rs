//! Traces of some of a program's steps: sums stand for all steps, and say how good they are.

use super::*;
use trace_format::tables::*;

/// A program that makes steps, of which some are recorded.
struct Program {
    random: Random,
    pid: u32,
    steps: u64,
    every: u64,
    of_cycle: u64,
    /// More of the collector's settings.
    settings: &'static [(&'static str, &'static str)],
}

/// What a program did: count and total of each kernel, count of copies and their bytes, over all steps.
#[derive(Debug, Default, PartialEq)]
struct Truth {
    kernels: BTreeMap<&'static str, (u64, u128)>,
    copies: (u64, i64),
}

const NAMES: [&str; 3] = ["gemm", "norm", "rare"];

impl Program {
    fn new(seed: u64, steps: u64, every: u64, of_cycle: u64) -> Program {
        Program { random: Random(seed), pid: 4_242, steps, every, of_cycle, settings: &[] }
    }

    /// The capture setting.
    fn capture(&self) -> String {
        format!("nvtx:step *,every:{},steps:{}", self.every, self.of_cycle)
    }

    /// The trace of the recorded steps. `all`: how many steps it says there were.
    fn trace(mut self, all: Option<u64>) -> (Vec<u8>, Truth) {
        let mut file = Vec::new();
        let story = Story { pid: self.pid, ..Story::empty() };
        let mut w = NativeWriter::begin(&mut file, &story, Native::default());
        let mut process = serde_json::json!({
            "pid": self.pid, "host": "node7", "configuration": {"GPUPROF_CAPTURE": self.capture()},
        });
        for (name, value) in self.settings {
            process["configuration"][name] = (*value).into();
        }
        if let Some(all) = all {
            process["steps"] = all.into();
        }
        w.writer.write_json(&PROCESS, &process).expect("a process");
        let names: Vec<u32> = NAMES.iter().map(|name| w.string(name.as_bytes())).collect();
        let call_name_id = w.string(b"cudaStreamSynchronize");
        w.define();
        let shape = |(id, &name_id): (u32, &u32)| ShapeRow { id, name_id, ..ShapeRow::default() };
        w.rows((1..).zip(&names).map(shape).collect());
        let mut truth = Truth::default();
        let (mut windows, mut kernels, mut copies, mut calls) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let (mut id, mut now) = (100, 1_000_000);
        for step in 0..self.steps {
            let is_recorded = step % self.every >= self.every - self.of_cycle;
            let window = CaptureRow {
                start_ns: now,
                first_correlation: Some(id),
                starts: 1,
                stops: 1,
                ..CaptureRow::default()
            };
            id += 1;
            // Steps differ as those of real programs do: batches of several sizes, and now and then something else.
            let size = 1 + self.random.below(4) as i64;
            for k in 0..40 {
                let which = if k == 0 && self.random.below(3) == 0 { 2 } else { k % 2 };
                let duration_ns = 1_000 * size * (1 + which as i64) + self.random.below(700) as i64;
                let sums = truth.kernels.entry(NAMES[which]).or_default();
                *sums = (sums.0 + 1, sums.1 + duration_ns as u128);
                // Work of a step may end after the next one began.
                let start_ns = now + 50_000;
                let kernel = KernelRow {
                    start_ns,
                    duration_ns: Some(duration_ns),
                    shape_id: 1 + which as u32,
                    context: 1,
                    stream: 7,
                    correlation: id,
                    ..KernelRow::default()
                };
                kernels.extend(is_recorded.then_some(kernel));
                (id, now) = (id + 1, now + 2_000);
            }
            let bytes = 4_096 * size;
            truth.copies = (truth.copies.0 + 1, truth.copies.1 + bytes);
            let copy = MemcpyRow {
                start_ns: now,
                duration_ns: Some(bytes / 10),
                kind: 1,
                bytes,
                context: 1,
                stream: 7,
                correlation: id,
                ..MemcpyRow::default()
            };
            copies.extend(is_recorded.then_some(copy));
            let call = ApiRow {
                start_ns: now,
                duration_ns: Some(900),
                name_id: call_name_id,
                tid: 1,
                correlation: id,
                ..ApiRow::default()
            };
            calls.extend(is_recorded.then_some(call));
            (id, now) = (id + 1, now + 1_000);
            let closed = CaptureRow { end_ns: Some(now), last_correlation: Some(id), ..window };
            windows.extend(is_recorded.then_some(closed));
            (id, now) = (id + 1, now + 1_000);
        }
        w.rows(windows);
        w.rows(kernels);
        w.rows(copies);
        w.rows(calls);
        // A program that was killed has not said how many steps it made.
        if all.is_some() {
            w.close();
        }
        drop(w);
        (file, truth)
    }
}

pub fn number(row: &Value, column: &str) -> f64 {
    row[column].as_f64().unwrap_or_else(|| panic!("{column} of {row}"))
}

pub fn named<'v>(rows: &'v [Value], name: &str) -> &'v Value {
    rows.iter().find(|row| row["Name"] == name).unwrap_or_else(|| panic!("no {name} in {rows:?}"))
}

#[test]
fn intervals_hold_the_truth_as_often_as_they_say() {
    let folder = TempFolder::new("cli-steps-intervals");
    let mut held = [0; 4];
    for seed in 0..100 {
        let (trace, truth) = Program::new(1_000 + seed, 600, 20, 1).trace(Some(600));
        let document = json(&[&folder.argument("t.gpuprof", &trace)]);
        let rows = rows(&document, "gpu_summary");
        for (i, name) in ["gemm", "norm", "rare"].into_iter().enumerate() {
            let row = named(rows, name);
            let (_, total) = truth.kernels[name];
            let off = (number(row, "Total Time (ns)") - total as f64).abs();
            held[i] += u32::from(off <= number(row, "Total Time +/- (ns)"));
        }
        let rare = named(rows, "rare");
        let off = (number(rare, "Calls") - truth.kernels["rare"].0 as f64).abs();
        held[3] += u32::from(off <= number(rare, "Count +/-"));
    }
    println!("of 100 seeds the interval held the truth: {held:?}");
    assert!(held.iter().all(|&held| held >= 93), "{held:?}");
    assert!(held.iter().sum::<u32>() < 400, "intervals that always hold are too wide: {held:?}");
}

/// Three steps of twelve, in which everything is the same but the second is longer.
#[test]
fn sums_stand_for_all_steps_in_every_layout() {
    let folder = TempFolder::new("cli-steps-layouts");
    let (trace, _) = Program::new(7, 12, 4, 1).trace(Some(12));
    let path = folder.argument("t.gpuprof", &trace);
    let report = |args: &[&str]| gpuprof(&[&["report", &path], args].concat());
    let raw = json(&["--raw", &path]);
    let raw = rows(&raw, "gpu_summary");
    let estimated = json(&[&path]);
    let estimated = rows(&estimated, "gpu_summary");
    assert_eq!(raw.len(), estimated.len());
    for (row, recorded) in estimated.iter().map(|row| (row, named(raw, row["Name"].as_str().expect("a name")))) {
        for column in ["Total Time (ns)", "Calls"] {
            assert_eq!(number(row, column), 4.0 * number(recorded, column), "{column}: {row}");
        }
        for column in ["Time (%)", "Avg (ns)", "Min (ns)", "Max (ns)"] {
            assert_eq!(row[column], recorded[column], "{column}: {row}");
        }
        assert!(recorded["Count +/-"].is_null(), "{recorded}");
    }
    // The same estimates in nvprof's layouts, in the summary by name and in the one by GPU.
    let gemm = named(estimated, "gemm");
    let (total, within) = (gemm["Total Time (ns)"].to_string(), gemm["Total Time +/- (ns)"].to_string());
    let answer = report(&["--csv", "-u", "ns"]);
    assert!(answer.stdout.contains("\"Type\",\"Time(%)\",\"Time\",\"Time +/-\",\"Calls\","), "{}", answer.stdout);
    let line = answer.stdout.lines().find(|line| line.contains("gemm")).expect("a row");
    assert!(line.contains(&format!(",{total}.000000,{within}.000000,{},", gemm["Calls"])), "{line}");
    assert!(answer.stderr.contains("3 of 12 steps were recorded (25.0 %): sums beside which"), "{}", answer.stderr);
    let answer = report(&["--print-summary-per-gpu"]);
    assert!(answer.stdout.contains("      Time       +/-     Calls       Avg"), "{}", answer.stdout);
    let answer = report(&["--print-gpu-trace"]);
    assert!(!answer.stdout.contains("+/-"), "a list has no sums: {}", answer.stdout);
    // Views have the same, and so has what else is summed.
    let view = |name: &str| json(&["--view", name, &path]);
    let kernels = view("cuda_gpu_kern_sum");
    let row = named(rows(&kernels, "cuda_gpu_kern_sum"), "gemm");
    assert_eq!([&row["Total Time (ns)"], &row["Total Time +/- (ns)"]].map(Value::to_string), [total, within]);
    assert_eq!(row["Instances"], gemm["Calls"]);
    for (name, is_estimate) in [
        ("cuda_gpu_kern_gb_sum", true),
        ("cuda_gpu_mem_time_sum", true),
        ("cuda_gpu_mem_size_sum", true),
        ("cuda_gpu_sum", true),
        ("cuda_api_sum", true),
        ("cuda_api_gpu_sum", true),
        ("cuda_gpu_kern_sum:nvtx-name", false),
        ("cuda_gpu_trace", false),
    ] {
        let answer = report(&["--view", name]);
        assert_eq!(answer.stdout.contains("+/-"), is_estimate, "{name}: {}", answer.stdout);
    }
    let calls = view("cuda_api_sum");
    let row = &rows(&calls, "cuda_api_sum")[0];
    let of_calls =
        ["Total Time (ns)", "Total Time +/- (ns)", "Num Calls", "Count +/-"].map(|column| number(row, column));
    assert_eq!(of_calls, [10_800.0, 0.0, 12.0, 0.0], "every step makes one call of 900 ns");
    let sizes = view("cuda_gpu_mem_size_sum");
    assert_eq!(rows(&sizes, "cuda_gpu_mem_size_sum")[0]["Count"], 12);
    // What is no sample is not scaled: a span of time, and what was asked for as it is.
    for args in [&["--raw"][..], &["--from", "1ms"], &["--range", "*"]] {
        let answer = common::answer(&mut common::command(&[&["report", &path], args].concat()));
        assert!(!answer.stdout.contains("+/-"), "{args:?}: {}", answer.stdout);
        if args != ["--range", "*"] {
            assert!(
                answer.stderr.contains("(25.0 %): sums are of the recorded steps"),
                "{args:?}: {}",
                answer.stderr
            );
        }
    }
    for command in [&["info", &path][..], &["query", &path, "SELECT COUNT(*) FROM kernel"]] {
        let answer = gpuprof(command);
        let said = answer.stdout + &answer.stderr;
        assert!(said.contains("3 of 12 steps were recorded"), "{command:?}: {said}");
    }
}

#[test]
fn steps_that_nobody_counted_are_those_of_the_cycles() {
    let folder = TempFolder::new("cli-steps-killed");
    let sums = |trace: &[u8], args: &[&str]| {
        let path = folder.argument("t.gpuprof", trace);
        let document = json(&[&[path.as_str()], args].concat());
        let rows = rows(&document, "gpu_summary");
        ["Total Time (ns)", "Total Time +/- (ns)", "Calls", "Count +/-"]
            .map(|column| named(rows, "norm")[column].clone())
    };
    // Two of every twenty.
    let program = || Program::new(11, 600, 20, 2);
    let (counted, killed) = (program().trace(Some(600)).0, program().trace(None).0);
    assert_eq!(sums(&counted, &[]), sums(&killed, &[]));
    // A recording that keeps the latest alone does not stand for what went before.
    for settings in [&[("GPUPROF_RING", "30s")][..], &[("GPUPROF_SIZE_POLICY", "ring")]] {
        let latest = Program { settings, ..program() }.trace(Some(60_000)).0;
        assert_eq!(sums(&latest, &[]), sums(&killed, &[]), "{settings:?}");
    }
    // A copy of everything says the same, a copy of a part is estimated by what it holds.
    let copy = |args: &[&str]| {
        let out = folder.path().join("copy.gpuprof");
        let out = out.to_str().expect("a path");
        let path = folder.argument("t.gpuprof", &counted);
        gpuprof(&[&["export", "-q", "--force", &path, "-o", out], args].concat());
        std::fs::read(out).expect("the copy")
    };
    assert_eq!(sums(&copy(&[]), &[]), sums(&counted, &[]));
    assert_eq!(sums(&copy(&["--filter", "norm"]), &[]), sums(&counted, &["--filter", "norm"]));
    // Tables know it from their manifest.
    let path = folder.argument("t.gpuprof", &counted);
    for format in ["parquet", "csv-tables"] {
        let out = folder.path().join(format);
        let out = out.to_str().expect("a path");
        gpuprof(&["export", "-q", "-F", format, &path, "-o", out]);
        let document = json(&[out]);
        let rows = rows(&document, "gpu_summary");
        let own = ["Total Time (ns)", "Total Time +/- (ns)", "Calls", "Count +/-"];
        assert_eq!(own.map(|column| named(rows, "norm")[column].clone()), sums(&counted, &[]), "{format}");
    }
}

#[test]
fn a_process_that_was_recorded_whole_counts_as_it_is() {
    let folder = TempFolder::new("cli-steps-whole");
    let some = folder.argument("some.gpuprof", &Program::new(3, 200, 10, 1).trace(Some(200)).0);
    let whole = Program { pid: 5, ..Program::new(4, 30, 1, 1) };
    let (bytes, truth) = whole.trace(Some(30));
    let whole = folder.argument("whole.gpuprof", &bytes);
    let row = |paths: &[&str], args: &[&str]| {
        let document = json(&[paths, args].concat());
        named(rows(&document, "gpu_summary"), "gemm").clone()
    };
    let exact = row(&[&whole], &[]);
    assert_eq!((exact["Calls"].as_u64(), exact["Count +/-"].as_u64()), (Some(truth.kernels["gemm"].0), Some(0)));
    let (one, both) = (row(&[&some], &[]), row(&[&some, &whole], &[]));
    for column in ["Total Time (ns)", "Calls"] {
        assert_eq!(number(&both, column), number(&one, column) + number(&exact, column), "{column}");
    }
    assert_eq!(
        both["Total Time +/- (ns)"], one["Total Time +/- (ns)"],
        "what is known adds nothing to what is not"
    );
}
