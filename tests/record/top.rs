//! `gpuprof top`: what it says of traces that grow, against what was written into them.

mod drawing;
mod writing;

use crate::common::build::Random;
use crate::common::{self, TempFolder, command, gpuprof_in, refused};
use crate::sim;
use serde_json::Value;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use trace_format::header::FileHeader;
use trace_format::tables::*;
use trace_format::write::{SegmentFiles, SegmentedWriter, WriteOptions};
use writing::*;

/// One measurement of `top --once`.
fn once(arguments: &[&str]) -> Value {
    let answer = common::gpuprof(&[&["top", "--once", "--format", "json"], arguments].concat());
    serde_json::from_str(&answer.stdout).unwrap_or_else(|e| panic!("{e}: {}", answer.stdout))
}

fn only(measurement: &Value) -> &Value {
    let processes = measurement["processes"].as_array().expect("processes");
    assert_eq!(processes.len(), 1, "{measurement}");
    &processes[0]
}

fn number(value: &Value) -> i64 {
    value.as_i64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// Compares what is said of a window with what was written; returns its begin and end.
fn compare(process: &Value, work: &[Piece]) -> (i64, i64) {
    let (from, to) = (number(&process["from_ns"]), number(&process["to_ns"]));
    let mut truth = Truth::of(work, from, to);
    let said = Truth::said(process);
    for device in [0, 1] {
        truth.busy_ns.entry(device).or_insert(0);
    }
    assert_eq!(said, truth, "window {from} to {to}");
    (from, to)
}

fn write(path: &Path, work: &[Piece], close: bool, pid: u32) {
    let mut writer = begin(File::create_new(path).unwrap(), &process(pid));
    // Frames of 1,000 pieces each: neighbours overlap in time, for work comes in no order.
    for piece in work.chunks(1_000) {
        frames(piece).iter().for_each(|batch| writer.write_batch(batch).unwrap());
    }
    if close {
        writer.finish(&Value::Null).unwrap();
    }
}

#[test]
fn the_last_seconds_of_a_finished_trace_are_exact() {
    let folder = TempFolder::new("top-finished");
    let path = folder.path().join("run.gpuprof");
    // Frame after frame, each in no order and each reaching into the next.
    let block = |b: i64| {
        let from = BEGIN + b * 600 * MS;
        work(&mut Random(1 + b as u64), 1_000, from, from + 900 * MS, 1 + 1_000 * b as u64)
    };
    let pieces: Vec<Piece> = (0..20).flat_map(block).collect();
    write(&path, &pieces, true, 4_242);
    let newest = pieces.iter().map(|w| w.end_ns).max().unwrap();
    for (window, length) in [("5s", 5 * S), ("1s", S), ("700ms", 700 * MS)] {
        let measurement = once(&["--window", window, path.to_str().unwrap()]);
        let process = only(&measurement);
        assert_eq!(process["state"], "closed");
        assert_eq!(compare(process, &pieces), (newest - length, newest), "ends with the newest record");
        let busy = number(&process["devices"][0]["busy_ns"]) as f64 / length as f64;
        assert!((process["devices"][0]["busy_share"].as_f64().unwrap() - busy).abs() < 1e-9);
    }
    let measurement = once(&["--window", "1h", path.to_str().unwrap()]);
    let process = only(&measurement);
    let oldest = pieces.iter().map(|w| w.call_ns).min().unwrap();
    assert_eq!(compare(process, &pieces), (oldest, newest), "no longer than the trace");
    assert_eq!(number(&process["records"]), 3 * pieces.len() as i64);
    assert_eq!(process["program"], "train.py");
    assert_eq!((number(&process["pid"]), number(&process["rank"])), (4_242, 3));
    // Each of these is the mean of a moment: launched and not finished.
    let in_flight: i64 = pieces.iter().filter(|w| w.kernel.is_some()).map(|w| w.end_ns - w.call_ns).sum();
    let queue = in_flight as f64 / (newest - oldest) as f64;
    assert!((process["queue"].as_f64().unwrap() - queue).abs() < 1e-6 * queue, "{} {queue}", process["queue"]);
}

#[test]
fn text_and_csv_say_the_same_as_json() {
    let folder = TempFolder::new("top-formats");
    let path = folder.argument("run.gpuprof", b"");
    std::fs::remove_file(&path).unwrap();
    write(Path::new(&path), &work(&mut Random(2), 500, BEGIN, BEGIN + S, 1), true, 1);
    let measurement = once(&[&path]);
    let process = only(&measurement);
    let csv = common::gpuprof(&["top", "--once", "--format", "csv", &path]).stdout;
    let mut lines = csv.lines();
    assert_eq!(lines.next(), Some("time_unix_ns,pid,rank,host,state,path,device,name,figure,value"));
    let figure = |device: &str, name: &str, figure: &str| {
        let end = format!(",{device},{name},{figure},");
        let line = csv.lines().find(|line| line.contains(&end)).unwrap_or_else(|| panic!("{end} in {csv}"));
        line.rsplit_once(',').unwrap().1.to_owned()
    };
    assert_eq!(figure("", "", "launches"), process["launches"].to_string());
    assert_eq!(figure("0", "", "busy_ns"), process["devices"][0]["busy_ns"].to_string());
    assert_eq!(figure("1", "HtoD", "copy_bytes"), process["devices"][1]["copies"][0]["bytes"].to_string());
    let kernel = process["kernels"].as_array().unwrap().iter().find(|k| k["short_name"] == "plain_kernel").unwrap();
    let device = kernel["device"].to_string();
    assert_eq!(figure(&device, "plain_kernel", "kernel_total_ns"), kernel["total_ns"].to_string());
    let text = common::gpuprof(&["top", "--once", "--top", "2", &path]).stdout;
    for word in
        ["train.py, pid 1, rank 3", "closed", "GPU 0", "NVIDIA H100", "launches/s", "  copy<", "… and 4 more"]
    {
        assert!(text.contains(word), "{word} in {text}");
    }
    let in_c = |format| {
        let args = ["top", "--once", "--top", "2", "--format", format, &path];
        common::gpuprof_with(&[("LC_ALL", "C")], &args).stdout
    };
    assert!(in_c("text").contains("... and 4 more") && in_c("text").is_ascii(), "{}", in_c("text"));
    assert_eq!(in_c("csv").len(), csv.len());
}

#[test]
fn a_growing_trace_is_read_up_to_its_last_whole_frame() {
    let folder = TempFolder::new("top-growing");
    let path = folder.path().join("run.gpuprof");
    let argument = path.to_str().unwrap().to_owned();
    let output = Halves::create(&path);
    let mut writer = begin(output.clone(), &process(std::process::id()));
    let pieces = work(&mut Random(3), 3_000, BEGIN, BEGIN + 2 * S, 1);
    let (first, second) = pieces.split_at(1_500);
    frames(first).iter().for_each(|batch| writer.write_batch(batch).unwrap());
    let measurement = once(&[&argument]);
    assert_eq!(only(&measurement)["state"], "live");
    compare(only(&measurement), first);
    let kernels = frames(second);
    output.stops.store(true, Ordering::Relaxed);
    let rest = std::thread::spawn(move || {
        kernels.iter().for_each(|batch| writer.write_batch(batch).unwrap());
        writer
    });
    output.wait_for_half();
    let measurement = once(&[&argument]);
    compare(only(&measurement), first);
    assert_eq!(number(&only(&measurement)["damaged_rows"]), 0, "half a frame is no damage");
    output.go_on();
    let mut writer = rest.join().unwrap();
    let measurement = once(&[&argument]);
    compare(only(&measurement), &pieces);
    writer.finish(&Value::Null).unwrap();
    assert_eq!(only(&once(&[&argument]))["state"], "closed");
}

/// `top` as it runs, line by line.
struct Lines {
    child: Child,
    lines: std::sync::mpsc::Receiver<Value>,
}

impl Lines {
    fn of(arguments: &[&str]) -> Lines {
        let mut child = command(&[&["top", "--format", "json", "--interval", "100ms"], arguments].concat())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                let _ = sender.send(serde_json::from_str(&line).unwrap_or(Value::String(line)));
            }
        });
        Lines { child, lines }
    }

    /// Waits for a measurement of that kind; the last one if `top` ends by itself.
    fn until(&self, what: &str, is_wanted: impl Fn(&Value) -> bool) -> Value {
        let begun = Instant::now();
        let mut last = Value::Null;
        while begun.elapsed() < common::DEADLINE {
            match self.lines.recv_timeout(common::DEADLINE) {
                Ok(measurement) if is_wanted(&measurement) => return measurement,
                Ok(measurement) => last = measurement,
                Err(_) => break,
            }
        }
        panic!("{what} never came; the last was {last}");
    }

    /// Waits for its own end, which must be a good one.
    fn end(mut self) {
        let begun = Instant::now();
        while begun.elapsed() < common::DEADLINE {
            if let Some(status) = self.child.try_wait().unwrap() {
                assert!(status.success(), "{status}");
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("no end");
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_trace_is_followed_as_it_grows_and_the_end_of_it_is_the_end_of_top() {
    let folder = TempFolder::new("top-follow");
    let path = folder.path().join("run.gpuprof");
    let mut writer = begin(File::create_new(&path).unwrap(), &process(std::process::id()));
    let lines = Lines::of(&[path.to_str().unwrap()]);
    lines.until("the first line", |m| m["processes"][0]["records"] == 0);
    let mut written = Vec::new();
    for round in 0..4 {
        let from = BEGIN + round * 600 * MS;
        let more = work(&mut Random(round as u64), 2_000, from, from + 600 * MS, 1 + 2_000 * round as u64);
        frames(&more).iter().for_each(|batch| writer.write_batch(batch).unwrap());
        written.extend(more);
        let all = 3 * written.len() as u64;
        let measurement = lines.until("what was just written", |m| m["processes"][0]["records"] == all);
        compare(only(&measurement), &written);
    }
    writer.finish(&Value::Null).unwrap();
    lines.until("the closed trace", |m| m["processes"][0]["state"] == "closed");
    lines.end();
}

#[test]
fn segments_of_a_ring_are_followed_and_those_that_go_are_not_missed() {
    let folder = TempFolder::new("top-ring");
    for (name, budget) in [("all", u64::MAX), ("few", 100_000)] {
        let trace = folder.path().join(name).join("run.gpuprof");
        std::fs::create_dir_all(trace.parent().unwrap()).unwrap();
        let header = FileHeader::new("gpuprof 0.1.0", unix_ns());
        let segments = SegmentFiles { trace: trace.clone() };
        let mut writer =
            SegmentedWriter::create(segments, &header, WriteOptions::default(), 20_000, budget).unwrap();
        writer.write_json(&PROCESS, &process(std::process::id())).unwrap();
        definitions().iter().for_each(|batch| writer.write_batch(batch).unwrap());
        let place = trace.parent().unwrap().to_str().unwrap();
        let lines = Lines::of(&[place]);
        lines.until("the first line", |m| m["processes"][0]["records"] == 0);
        let mut written = Vec::new();
        for round in 0..20 {
            let from = BEGIN + round * 50 * MS;
            let more = work(&mut Random(round as u64), 500, from, from + 50 * MS, 1 + 500 * round as u64);
            frames(&more).iter().for_each(|batch| writer.write_batch(batch).unwrap());
            written.extend(more);
            let all = 3 * written.len() as u64;
            lines.until("what was just written", |m| m["processes"][0]["records"] == all);
        }
        writer.finish(&Value::Null).unwrap();
        let measurement = lines.until("the closed ring", |m| m["processes"][0]["state"] == "closed");
        compare(only(&measurement), &written);
        lines.end();
        let count = std::fs::read_dir(place).unwrap().count();
        assert!(if budget == u64::MAX { count > 8 } else { (1..8).contains(&count) }, "{count} segments of {name}");
        // Afterwards, what is left of it is one recording.
        let measurement = once(&[place]);
        assert_eq!(only(&measurement)["state"], "closed");
    }
}

#[test]
fn a_trace_that_comes_later_joins() {
    let folder = TempFolder::new("top-joins");
    let place = folder.path().to_str().unwrap();
    let lines = Lines::of(&[place]);
    let _first = begin(File::create_new(folder.path().join("a.gpuprof")).unwrap(), &process(std::process::id()));
    lines.until("the first process", |m| m["processes"].as_array().is_some_and(|p| p.len() == 1));
    let mut second =
        begin(File::create_new(folder.path().join("b.gpuprof")).unwrap(), &process(std::process::id()));
    frames(&work(&mut Random(5), 10, BEGIN, BEGIN + S, 1)).iter().for_each(|b| second.write_batch(b).unwrap());
    let both = lines.until("the second process", |m| {
        m["processes"].as_array().is_some_and(|p| p.len() == 2) && m["processes"][1]["records"] == 30
    });
    assert_eq!(both["processes"][0]["records"], 0);
}

#[test]
fn a_program_that_was_killed_is_not_taken_for_an_idle_one() {
    let folder = TempFolder::new("top-killed");
    let path = folder.argument("run.gpuprof", b"");
    std::fs::remove_file(&path).unwrap();
    let mut program = Command::new("sleep").arg("60").spawn().unwrap();
    let pieces = work(&mut Random(6), 1_000, BEGIN, BEGIN + S, 1);
    write(Path::new(&path), &pieces, false, program.id());
    program.kill().unwrap();
    program.wait().unwrap();
    let measurement = once(&[&path]);
    let process = only(&measurement);
    assert_eq!(process["state"], "not-closed");
    let (_, to) = compare(process, &pieces);
    assert_eq!(to, pieces.iter().map(|w| w.end_ns).max().unwrap());
    assert!(process["notes"].to_string().contains("was not closed"), "{process}");
    // It cannot grow any more, so there is nothing to wait for.
    Lines::of(&[&path]).end();
}

#[test]
fn a_file_that_is_replaced_or_cut_is_said_and_read_anew() {
    let folder = TempFolder::new("top-replaced");
    let path = folder.path().join("run.gpuprof");
    let mut first = begin(File::create_new(&path).unwrap(), &process(std::process::id()));
    let pieces = work(&mut Random(7), 300, BEGIN, BEGIN + S, 1);
    frames(&pieces).iter().for_each(|batch| first.write_batch(batch).unwrap());
    let lines = Lines::of(&[path.to_str().unwrap()]);
    lines.until("the first file", |m| m["processes"][0]["records"] == 900);
    let other = folder.path().join("other");
    let mut second = begin(File::create_new(&other).unwrap(), &process(std::process::id()));
    frames(&pieces[..100]).iter().for_each(|batch| second.write_batch(batch).unwrap());
    std::fs::rename(&other, &path).unwrap();
    let measurement = lines.until("the second file", |m| m["processes"][0]["records"] == 300);
    compare(only(&measurement), &pieces[..100]);
    assert!(measurement["processes"][0]["notes"].to_string().contains("another file has taken its name"));
    File::options().write(true).open(&path).unwrap().set_len(100).unwrap();
    let measurement = lines
        .until("the cut file", |m| m["processes"][0]["notes"].to_string().contains("something cut or replaced it"));
    assert_eq!(measurement["processes"][0]["state"], "live");
}

#[test]
fn lost_records_are_counted_in_the_window_and_in_all() {
    let folder = TempFolder::new("top-lost");
    let path = folder.path().join("run.gpuprof");
    let mut writer = begin(File::create_new(&path).unwrap(), &process(std::process::id()));
    frames(&work(&mut Random(8), 100, BEGIN, BEGIN + 9 * S, 1)).iter().for_each(|b| writer.write_batch(b).unwrap());
    let lost = |rows, end_ns| LossRow {
        rows,
        end_ns: Some(end_ns),
        start_ns: Some(end_ns - 5),
        cause: 2,
        ..LossRow::default()
    };
    writer.write_batch(&batch([lost(40, BEGIN + S), lost(2, BEGIN + 8 * S)])).unwrap();
    writer.finish(&Value::Null).unwrap();
    let measurement = once(&[path.to_str().unwrap()]);
    let process = only(&measurement);
    assert_eq!((number(&process["lost_records"]), number(&process["window_lost_records"])), (42, 2));
}

#[test]
fn what_is_no_trace_of_ours_is_said() {
    let folder = TempFolder::new("top-refused");
    let text = folder.argument("notes.txt", b"words");
    refused(&["top", "--once", &text], &["notes.txt", "not a .gpuprof trace", "gpuprof report"]);
    refused(&["top", "--once", "/nowhere/at/all"], &["/nowhere/at/all", "no such file"]);
    refused(&["top", "--once", "999999999"], &["no process 999999999"]);
    refused(&["top", "--once", "--window", "1ms", &text], &["--window", "200ms to 1h"]);
    refused(&["top", "--interval", "1ms", &text], &["--interval", "100ms"]);
    let mut program = Command::new("sleep").arg("60").env_clear().spawn().unwrap();
    let pid = program.id().to_string();
    refused(&["top", "--once", &pid], &["not recorded by gpuprof", "gpuprof record"]);
    refused(&["top", "--once", &pid, &text], &["a process is watched alone"]);
    program.kill().unwrap();
    program.wait().unwrap();
    let answer = gpuprof_in(folder.path(), &["top", "--once", "."]);
    assert_eq!(answer.status, 1, "{}", answer.stderr);
    assert!(answer.stderr.contains("no .gpuprof trace here yet"), "{}", answer.stderr);
    let answer = gpuprof_in(folder.path(), &["top", "--for", "1ms", "."]);
    assert_eq!(answer.status, 1, "waits no longer than it is told: {}", answer.stderr);
}

#[test]
fn a_recorded_process_is_found_by_its_pid_while_it_runs_and_when_it_was_killed() {
    let sim = sim::Sim::new("13.0");
    let running = sim.player("steady").args(["2000", "60"]).inject().start();
    let pid = running.pid().to_string();
    let lines = Lines::of(&["--window", "2s", &pid]);
    let measurement = lines.until("kernels of the process", |m| {
        m["processes"][0]["kernels"][0]["count"].as_u64().is_some_and(|count| count > 100)
    });
    let process = only(&measurement);
    assert_eq!((process["state"].as_str(), process["pid"].to_string()), (Some("live"), pid.clone()));
    assert!(process["launches"].as_u64().is_some_and(|launches| launches > 0), "{process}");
    assert!(process["lag_ns"].as_i64().is_some_and(|lag| lag >= 0), "{process}");
    assert_eq!(number(&process["flush_interval_ns"]), 500 * MS);
    let path = process["path"].as_str().unwrap().to_owned();
    running.signal("KILL");
    lines.until("the killed process", |m| m["processes"][0]["state"] == "not-closed");
    lines.end();
    drop(running);
    let measurement = once(&[&path]);
    let kernels = only(&measurement)["kernels"][0]["count"].as_u64();
    assert!(kernels.is_some_and(|count| count > 0), "{measurement}");
}

#[test]
fn on_a_terminal_it_draws_and_leaves_the_terminal_as_it_was() {
    let folder = TempFolder::new("top-pty");
    let path = folder.path().join("run.gpuprof");
    write(&path, &work(&mut Random(9), 500, BEGIN, BEGIN + S, 1), true, 4_242);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/record/top/pty_run.py");
    let answer = common::answer(Command::new("python3").arg(script).arg(env!("CARGO_BIN_EXE_gpuprof")).arg(&path));
    assert_eq!(answer.status, 0, "{}{}", answer.stdout, answer.stderr);
    assert_eq!(answer.stdout.trim(), "quit stop terminate resize: as it was");
}
