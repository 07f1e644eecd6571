//! `gpuprof record --sample`: what the launcher measures from outside, through the real program: processes of a known
//! load, and a stand-in for NVIDIA's management library whose answers are known.

mod after;
mod gpus;

use crate::common::gpuprof_in;
use crate::sim::{self, Ended, Running, Sim};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use trace_format::read::TraceReader;
use trace_format::tables::{NoteRow, SampleRow, StringRow};

/// Samples every so often, into a folder of the run's own. No test may depend on the machine's own GPUs.
const EVERY_20_MS: [&str; 4] = ["-o", "run", "--sample", "20ms"];

/// The launcher's traces in a folder.
fn launchers(folder: &Path) -> Vec<PathBuf> {
    let entries = folder.read_dir().into_iter().flatten().flatten().map(|entry| entry.path());
    let name = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
    entries.filter(|path| name(path).contains("launcher") && name(path).ends_with(".gpuprof")).collect()
}

fn launcher(ended: &Ended) -> PathBuf {
    let found = launchers(&ended.folder().join("run"));
    assert_eq!(found.len(), 1, "{found:?}: {}", ended.stderr);
    found[0].clone()
}

/// What a sample is of: device, process, metric.
type Of = (Option<u32>, Option<u32>, String);
/// Samples by what they are of, in the order of the file.
type Samples = BTreeMap<Of, Vec<(i64, f64)>>;

fn samples(path: &Path) -> Samples {
    let reader = TraceReader::open(path).unwrap();
    let names: BTreeMap<u32, String> = reader
        .definitions::<StringRow>()
        .rows
        .into_iter()
        .map(|row| (row.id, String::from_utf8(row.bytes).unwrap()))
        .collect();
    let mut samples = Samples::new();
    for row in reader.definitions::<SampleRow>().rows {
        let of = (row.device, row.of_pid, names[&row.metric_id].clone());
        samples.entry(of).or_default().push((row.start_ns, row.value));
    }
    samples
}

/// What the trace says in words.
fn notes(path: &Path) -> Vec<String> {
    let reader = TraceReader::open(path).unwrap();
    let names: BTreeMap<u32, Vec<u8>> =
        reader.definitions::<StringRow>().rows.into_iter().map(|row| (row.id, row.bytes)).collect();
    let notes = reader.definitions::<NoteRow>().rows;
    notes.iter().map(|note| String::from_utf8_lossy(&names[&note.text_id]).into_owned()).collect()
}

fn of_process(samples: &Samples, pid: u32, metric: &str) -> Vec<(i64, f64)> {
    samples.get(&(None, Some(pid), metric.to_owned())).cloned().unwrap_or_default()
}

fn of_host(samples: &Samples, metric: &str) -> Vec<(i64, f64)> {
    samples.get(&(None, None, metric.to_owned())).cloned().unwrap_or_default()
}

/// Sum of value times the time to the next one, and the time that is covered.
fn area(points: &[(i64, f64)]) -> (f64, i64) {
    let area = points.windows(2).map(|pair| pair[0].1 * (pair[1].0 - pair[0].0) as f64).sum();
    (area, points.last().map_or(0, |last| last.0 - points[0].0))
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < Duration::from_secs(50), "{what}: not in 50 s");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Names of the threads of a process.
fn threads(pid: u32) -> Vec<String> {
    let entries = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    entries.filter_map(|e| Some(std::fs::read_to_string(e.path().join("comm")).ok()?.trim().to_owned())).collect()
}

/// `what` is where the work is done: in the program, a child, a daemon.
fn busy<'s>(sim: &'s Sim, percent: u32, milliseconds: u32, mebibytes: u32, what: &str) -> sim::Run<'s> {
    let numbers = [percent, milliseconds, mebibytes].map(|number| number.to_string());
    sim.player("busy").args(numbers).arg(what).env("GPUPROF_NVML", "/nowhere/libnvidia-ml.so")
}

#[test]
fn a_process_of_known_load_is_seen_as_it_is() {
    let sim = Sim::new("12.8");
    let ended = busy(&sim, 60, 1500, 64, "").record(&EVERY_20_MS).run();
    assert_eq!(ended.code(), Some(7), "its own status: {}", ended.stderr);
    assert!(ended.stdout.starts_with("{\"pid\":") && ended.stdout.lines().count() == 1, "{}", ended.stdout);
    let path = launcher(&ended);
    let samples = samples(&path);
    let pid = u32::try_from(ended.number("pid")).unwrap();

    // Each value is the share of the time up to the next one; what no sample covers can only be missing.
    let cpu = of_process(&samples, pid, "process_cpu_percent");
    let (percent_ns, covered_ns) = area(&cpu);
    let (seen_ns, used_ns) = (percent_ns / 100.0, ended.number("cpu_ns") as f64);
    let uncovered_ns = ended.number("wall_ns").saturating_sub(covered_ns as u64) as f64;
    assert!(cpu.len() >= 3, "{} samples in 1.5 s", cpu.len());
    // A little more than the program knows: it starts before it looks at its clock.
    assert!(seen_ns <= used_ns + 50e6, "{seen_ns} seen, {used_ns} used");
    assert!(seen_ns >= used_ns - uncovered_ns - 50e6, "{seen_ns} seen, {used_ns} used, {uncovered_ns} not covered");

    let rss = of_process(&samples, pid, "process_rss_bytes");
    let most = rss.iter().map(|(_, bytes)| *bytes).fold(0.0, f64::max);
    let mebibytes = most / f64::from(1 << 20);
    assert!((64.0..96.0).contains(&mebibytes), "{mebibytes} MiB");
    assert!(of_process(&samples, pid, "process_threads").iter().all(|(_, threads)| *threads == 1.0));
    for metric in ["host_cpu_busy_percent", "host_memory_used_bytes", "host_load_1min_tasks"] {
        let values = of_host(&samples, metric);
        assert!(!values.is_empty() && values.is_sorted_by_key(|(at, _)| *at), "{metric}");
        assert!(values.iter().all(|(_, value)| *value >= 0.0), "{metric}");
    }
    assert!(of_host(&samples, "host_cpu_busy_percent").iter().all(|(_, percent)| *percent <= 100.0));

    let lines: Vec<&str> = ended.stderr.lines().collect();
    let rows: usize = samples.values().map(Vec::len).sum();
    let said: String = lines[1].chars().filter(|c| *c != ',').collect();
    assert!(said.starts_with(&format!("gpuprof: nothing was recorded but {rows} samples: ")), "{lines:?}");
    assert_eq!(lines[3], "gpuprof: next: gpuprof report --view system run", "{lines:?}");
    let reader = TraceReader::open(&path).unwrap();
    assert!(reader.is_closed());
    assert_eq!(reader.process().unwrap()["role"], "launcher");
}

#[test]
fn without_the_management_library_one_line_says_so_and_the_rest_is_sampled() {
    let sim = Sim::new("12.8");
    let ended = busy(&sim, 1, 300, 1, "").record(&EVERY_20_MS).run();
    let said: Vec<&str> = ended.stderr.lines().filter(|line| line.contains("of GPUs")).collect();
    let expected = "no samples of GPUs: /nowhere/libnvidia-ml.so: cannot be loaded (no NVIDIA driver here?)";
    assert_eq!(said, [format!("gpuprof: {expected}")], "{}", ended.stderr);
    let path = launcher(&ended);
    assert_eq!(notes(&path).iter().filter(|note| *note == expected).count(), 1);
    assert!(!of_host(&samples(&path), "host_memory_used_bytes").is_empty());
}

#[test]
fn children_and_daemons_are_sampled_too() {
    let sim = Sim::new("12.8");
    for what in ["child", "daemon"] {
        let ended = busy(&sim, 50, 800, 8, what).record(&EVERY_20_MS).run();
        assert_eq!(ended.code(), Some(0), "{what}: {}", ended.stderr);
        let samples = samples(&launcher(&ended));
        let pid = u32::try_from(ended.number("pid")).unwrap();
        let cpu = of_process(&samples, pid, "process_cpu_percent");
        assert!(cpu.len() >= 2, "{what} {pid}: {samples:?}");
        // The program waits beside it.
        let others = samples.keys().filter_map(|(_, of, _)| *of).filter(|of| *of != pid);
        assert!(others.count() > 0, "{what}");
    }
}

#[test]
fn the_program_ends_as_it_would_alone() {
    let sim = Sim::new("12.8");
    let script = "echo out; echo err >&2; kill -9 $$";
    let ended = sim
        .program("sh")
        .args(["-c", script])
        .env("GPUPROF_NVML", "/nowhere/libnvidia-ml.so")
        .record(&EVERY_20_MS)
        .run();
    assert_eq!((ended.signal(), ended.stdout.as_str()), (Some(9), "out\n"), "{}", ended.stderr);
    assert!(ended.stderr.starts_with("err\n"), "{}", ended.stderr);
    assert!(TraceReader::open(launcher(&ended)).unwrap().is_closed());
    // What never ran leaves nothing.
    let ended = sim.program("/nowhere/program").record(&EVERY_20_MS).run();
    assert_eq!(ended.code(), Some(127), "{}", ended.stderr);
    assert!(!ended.folder().join("run").exists(), "{:?}", ended.files());
}

fn running(run: sim::Run) -> (Running, PathBuf) {
    let folder = run.folder().join("run");
    (run.start(), folder)
}

#[test]
fn without_the_flag_there_is_no_file_and_no_thread() {
    let sim = Sim::new("12.8");
    let (run, folder) = running(busy(&sim, 1, 1000, 1, "").record(&["-o", "run"]));
    until("the run's folder", || folder.exists());
    let mut seen = Vec::new();
    for _ in 0..20 {
        seen.extend(threads(run.pid()));
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(seen.iter().all(|name| name == "gpuprof"), "{seen:?}");
    let ended = run.end();
    assert_eq!(launchers(&folder), Vec::<PathBuf>::new(), "{}", ended.stderr);

    let (run, folder) = running(busy(&sim, 1, 1000, 1, "").record(&EVERY_20_MS));
    until("the sampler's thread", || threads(run.pid()).iter().any(|name| name == "gpuprof:system"));
    run.end();
    assert_eq!(launchers(&folder).len(), 1);
}

#[test]
fn a_launcher_that_is_killed_leaves_a_trace_that_opens() {
    let sim = Sim::new("12.8");
    let (run, folder) = running(busy(&sim, 10, 3000, 1, "").record(&EVERY_20_MS));
    // The file is there a moment before its first bytes are.
    let has_samples = |path: &PathBuf| TraceReader::open(path).is_ok() && !samples(path).is_empty();
    until("samples in the file", || launchers(&folder).iter().any(has_samples));
    run.signal("KILL");
    let ended = run.end();
    assert_eq!(ended.signal(), Some(9));
    let path = launcher(&ended);
    let reader = TraceReader::open(&path).unwrap();
    assert!(!reader.is_closed() && reader.problems().is_empty(), "{:?}", reader.problems());
    let answer = gpuprof_in(ended.folder(), &["report", "--view", "system", "--format", "csv", "run"]);
    assert_eq!(answer.status, 0, "{}", answer.stderr);
    assert!(answer.stdout.contains("host_memory_used_bytes"), "{}", answer.stdout);
    assert!(answer.stderr.contains("not closed"), "{}", answer.stderr);
}

#[test]
fn a_period_is_checked_before_anything_is_started() {
    for period in ["1ms", "x", "0", "2h"] {
        let answer = gpuprof_in(Path::new("."), &["record", "--sample", period, "--", "true"]);
        assert_eq!(answer.status, 2, "{period}: {}", answer.stderr);
        assert!(answer.stderr.contains("--sample"), "{period}: {}", answer.stderr);
    }
}
