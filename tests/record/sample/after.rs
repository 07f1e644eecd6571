//! What becomes of samples: the view, and beside the traces of processes in reports, exports and timelines.

use super::{launcher, launchers, samples};
use crate::common::{TempFolder, gpuprof, gpuprof_in};
use crate::sim::{Ended, Sim, player};
use gpuprof::launch::companion::{Facts, Limits, Recorder};
use serde_json::Value;
use std::path::Path;
use trace_format::tables::{RangeRow, SampleRow};

/// A trace of one metric with samples at known times.
fn trace(folder: &TempFolder, metric: &str, points: &[(i64, f64)]) -> String {
    let path = folder.file("launcher-x-1.gpuprof", b"");
    let recorder = Recorder::create(&path, Limits::default()).unwrap();
    recorder.describe(&Facts { command: &["x".into()], samplers: Vec::new(), start_unix_ns: 0 }.to_json());
    let metric_id = recorder.name(metric.as_bytes());
    let row = |&(start_ns, value)| SampleRow { start_ns, metric_id, device: None, value, of_pid: Some(7) };
    recorder.push_all(points.iter().map(row));
    let name_id = recorder.name(b"phase");
    let spans = [(1_000_000_400, 1_000_002_100), (1_000_003_000, 1_000_004_200)];
    recorder.push_all(spans.map(|(start_ns, end_ns)| RangeRow {
        start_ns,
        end_ns: Some(end_ns),
        name_id,
        tid: 1,
        ..RangeRow::default()
    }));
    recorder.finish(&Value::Null);
    path.to_str().unwrap().to_owned()
}

/// Mean, P50, P95, Max, Samples, Missed as the view has them.
fn shown(args: &[&str]) -> [f64; 6] {
    let answer = gpuprof(&[&["report", "--view", "system", "--format", "json"], args].concat());
    let document: Value = serde_json::from_str(&answer.stdout).unwrap();
    let rows = document["tables"][0]["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 1, "{}", answer.stdout);
    assert_eq!((&rows[0]["PID"], &rows[0]["GPU"]), (&Value::from(7), &Value::Null));
    ["Mean", "P50", "P95", "Max", "Samples", "Missed"].map(|column| rows[0][column].as_f64().unwrap())
}

/// The same, by counting nanosecond by nanosecond where the mean is concerned. `parts`: samples between which time counts.
fn counted(parts: &[&[(i64, f64)]], missed: f64) -> [f64; 6] {
    let (mut sum, mut length) = (0.0, 0.0);
    let mut values: Vec<f64> = Vec::new();
    for part in parts {
        values.extend(part.iter().map(|(_, value)| *value));
        for at in part[0].0..part[part.len() - 1].0 {
            let newest = part.iter().rev().find(|(start, _)| *start <= at).unwrap();
            (sum, length) = (sum + newest.1, length + 1.0);
        }
    }
    values.sort_by(f64::total_cmp);
    // The smallest value that at least so many percent of all do not exceed.
    let percentile = |percent: usize| {
        let enough = |v: &&f64| values.iter().filter(|w| w <= v).count() * 100 >= percent * values.len();
        *values.iter().find(enough).unwrap()
    };
    let max = values[values.len() - 1];
    [sum / length, percentile(50), percentile(95), max, values.len() as f64, missed]
}

#[test]
fn the_view_says_what_counting_says() {
    let folder = TempFolder::new("sample-view");
    // Every 200 ns with jitter; a late one at 1_150; three are missing after 2_000, one after 3_600.
    let at =
        [0, 190, 400, 610, 800, 1_150, 1_200, 1_400, 1_600, 1_805, 2_000, 2_800, 3_010, 3_200, 3_400, 3_600, 4_010];
    let value = |i: usize| ((i * 37) % 23) as f64 + 0.25;
    let points: Vec<(i64, f64)> = at.iter().enumerate().map(|(i, at)| (1_000_000_000 + at, value(i))).collect();
    let path = trace(&folder, "process_cpu_percent", &points);
    let close = |shown: [f64; 6], counted: [f64; 6]| {
        let same = shown.iter().zip(counted).all(|(a, b)| (a - b).abs() <= 0.000_501);
        assert!(same, "{shown:?} is not {counted:?}");
    };
    // 800 ns are four periods of 200, and 410 are two.
    close(shown(&[&path]), counted(&[&points], 3.0 + 1.0));
    let from = ["--from", "1000000400", "--to", "1000002001"];
    close(shown(&[&[path.as_str()], &from[..]].concat()), counted(&[&points[2..11]], 0.0));
    // The time between two occurrences of a range is not in it.
    let range = ["--range", "phase"];
    close(shown(&[&[path.as_str()], &range[..]].concat()), counted(&[&points[2..11], &points[12..17]], 1.0));
    let csv = gpuprof(&["report", "--view", "system", "--format", "csv", &path]).stdout;
    let heading = "Host,Source,GPU,PID,Metric,Unit,Samples,Mean,P50,P95,Max,Missed,Energy (J)\n";
    assert!(csv.starts_with(heading), "{csv}");
}

#[test]
fn values_beyond_32_bits_are_as_they_are() {
    let folder = TempFolder::new("sample-large");
    let bytes = 6_000_000_000_123.0;
    let hour = 3_600_000_000_000;
    let path = trace(&folder, "process_rss_bytes", &[(hour, bytes), (2 * hour, bytes), (3 * hour, bytes)]);
    assert_eq!(shown(&[&path]), [bytes, bytes, bytes, bytes, 3.0, 0.0]);
}

/// A run with CUDA and samples in a folder of its own.
fn recorded(sim: &Sim, options: &[&str]) -> Ended {
    let player = player("vector_add");
    recorded_script(sim, options, &format!("{} 10 && sleep 0.3", player.display()))
}

fn recorded_script(sim: &Sim, options: &[&str], script: &str) -> Ended {
    let ended = sim.program("sh").args(["-c", script]).env("GPUPROF_NVML", player("fake_nvml"));
    let ended = ended.record(&[&["--sample", "20ms"], options].concat()).run();
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    ended
}

fn answer(folder: &Path, args: &[&str]) -> String {
    let answer = gpuprof_in(folder, args);
    assert_eq!(answer.status, 0, "gpuprof {args:?}: {}", answer.stderr);
    answer.stdout
}

#[test]
fn reports_of_kernels_are_what_they_are_without_samples() {
    let sim = Sim::new("12.8");
    let ended = recorded(&sim, &["-o", "run"]);
    let own = launcher(&ended);
    let lines: Vec<&str> = ended.stderr.lines().collect();
    assert_eq!(lines.len(), 3, "{}", ended.stderr);
    assert!(lines[0].starts_with("gpuprof: recorded 1 process: 10 kernels, "), "{lines:?}");
    assert!(lines[0].contains("; nothing lost; ") && lines[0].ends_with(" samples"), "{lines:?}");
    let traces = ended.traces();
    let of_program: Vec<&str> = traces.iter().filter(|p| **p != own).map(|p| p.to_str().unwrap()).collect();
    assert_eq!(of_program.len(), 1, "{traces:?}");
    for args in [
        &["report", "--no-insights"][..],
        &["report", "--per-process"],
        &["report", "--print-gpu-trace"],
        &["report", "--view", "cuda_gpu_kern_sum", "--format", "csv"],
        &["report", "--view", "cuda_gpu_trace", "--format", "csv"],
    ] {
        let both = answer(ended.folder(), &[args, &["run"]].concat());
        let alone = answer(ended.folder(), &[args, &of_program].concat());
        assert_eq!(both, alone, "{args:?}");
        assert!(both.contains("vector_add"), "{both}");
    }
    let info = answer(ended.folder(), &["info", "run"]);
    assert!(info.contains(" of a launcher, written by "), "{info}");
    let sql = "SELECT role, COUNT(*) FROM processes GROUP BY role ORDER BY role";
    assert_eq!(
        answer(ended.folder(), &["query", "run", sql, "--format", "csv"]),
        "role,count(*)\nlauncher,1\nprocess,1\n".replace("count(*)", &second_heading(&ended, sql))
    );
}

/// What the engine calls the second column.
fn second_heading(ended: &Ended, sql: &str) -> String {
    let text = answer(ended.folder(), &["query", "run", sql, "--format", "csv"]);
    text.lines().next().unwrap().split(',').nth(1).unwrap().to_owned()
}

#[test]
fn one_file_has_the_launchers_beside_it() {
    let sim = Sim::new("12.8");
    let ended = recorded(&sim, &["-o", "deep/step.gpuprof"]);
    let folder = ended.folder().join("deep");
    assert_eq!(launchers(&folder), [folder.join("step.launcher.gpuprof")], "{}", ended.stderr);
    let last = ended.stderr.lines().last().unwrap();
    assert_eq!(last, "gpuprof: next: gpuprof report deep/step.gpuprof deep/step.launcher.gpuprof");
    let view = answer(ended.folder(), &["report", "--view", "system", "--format", "csv", "deep"]);
    assert!(view.contains(",power_mw,mW,"), "{view}");
}

#[test]
fn samples_are_in_exports_queries_and_timelines() {
    let sim = Sim::new("12.8");
    // A timeline reaches from the first work to the last.
    let player = player("vector_add");
    let script = format!("{0} 10 && sleep 1 && {0} 10", player.display());
    let ended = recorded_script(&sim, &["-o", "run"], &script);
    let folder = ended.folder();
    let taken = samples(&launcher(&ended));
    let rows: usize = taken.values().map(Vec::len).sum();
    let sql = "SELECT COUNT(*) AS n FROM sample";
    assert_eq!(answer(folder, &["query", "run", sql, "--format", "csv"]), format!("n\n{rows}\n"));
    let sql = "SELECT COUNT(*) AS n FROM sample WHERE metric = 'power_mw' AND device = 0";
    let power = taken[&(Some(0), None, "power_mw".to_owned())].len();
    assert_eq!(answer(folder, &["query", "run", sql, "--format", "csv"]), format!("n\n{power}\n"));

    answer(folder, &["export", "run", "--format", "csv-tables", "-o", "csv"]);
    let csv = std::fs::read_to_string(folder.join("csv/sample.csv")).unwrap();
    assert_eq!(csv.lines().filter(|line| line.contains("power_mw")).count(), power, "{csv}");
    answer(folder, &["export", "run", "--format", "parquet", "-o", "parquet"]);
    let sql = "SELECT COUNT(*) AS n FROM sample WHERE of_pid IS NOT NULL";
    let of_processes: usize = taken.iter().filter(|((_, pid, _), _)| pid.is_some()).map(|(_, v)| v.len()).sum();
    assert_eq!(answer(folder, &["query", "parquet", sql, "--format", "csv"]), format!("n\n{of_processes}\n"));
    let view = |path: &str| answer(folder, &["report", "--view", "system", "--format", "csv", path]);
    let without_host = |text: String| -> Vec<String> {
        text.lines().map(|line| line.split_once(',').unwrap().1.to_owned()).collect()
    };
    assert_eq!(without_host(view("parquet")), without_host(view("run")));

    answer(folder, &["export", "run", "--format", "chrome", "-o", "run.json"]);
    let chrome: Value = serde_json::from_slice(&std::fs::read(folder.join("run.json")).unwrap()).unwrap();
    let events = chrome["traceEvents"].as_array().unwrap();
    let counters = |name: &str| events.iter().filter(|e| e["ph"] == "C" && e["name"] == name).count();
    assert_eq!(counters("power_mw GPU 0"), power);
    assert_eq!(without_host(view("run.json")), without_host(view("run")));

    answer(folder, &["timeline", "run", "-o", "run.html"]);
    let page = std::fs::read_to_string(folder.join("run.html")).unwrap();
    let meta = page.split_once("id=\"meta\">").unwrap().1.split_once("</script>").unwrap().0;
    let meta: Value = serde_json::from_str(meta).unwrap();
    let counters = meta["counters"].as_array().unwrap();
    for (name, unit) in [("host_memory_used_bytes", "bytes"), ("power_mw", "mW"), ("process_cpu_percent", "%")] {
        let found =
            counters.iter().find(|c| c["name"] == name).unwrap_or_else(|| panic!("no {name}: {counters:?}"));
        assert_eq!(found["unit"], unit);
        let row = &meta["rows"][found["row"].as_u64().unwrap() as usize];
        assert!(name == "process_cpu_percent" || row["max"].as_f64().unwrap() > 0.0, "{row}");
    }
}
