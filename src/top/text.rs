//! The numbers as text: for a terminal that is no screen, for logs, for mails.

use super::units::{bytes, percent, scaled, time};
use super::view::{Device, Process};
use std::fmt::Write as _;

/// Kernels of each process that are listed.
const KERNELS: usize = 15;

/// One measurement. Lines are as long as their content.
pub fn text(processes: &[Process], kernels: Option<usize>) -> String {
    let mut out = String::new();
    for (i, process) in processes.iter().enumerate() {
        if i > 0 {
            out.push('\n');
        }
        one(&mut out, process, kernels.unwrap_or(KERNELS));
    }
    out
}

fn one(out: &mut String, process: &Process, most: usize) {
    let _ = writeln!(out, "{}", title(process));
    let _ = writeln!(out, "  {}", rates(process));
    for device in &process.devices {
        let _ = writeln!(out, "  {}", device_line(device));
    }
    for note in &process.notes {
        let _ = writeln!(out, "  note: {note}");
    }
    if process.kernels.is_empty() {
        let _ = writeln!(out, "  no kernel started in the last {}", time(process.window_ns as f64));
        return;
    }
    let _ = writeln!(
        out,
        "  {:>7}  {:>9}  {:>7}  {:>9}  {:>9}  {:>3}  kernel",
        "window", "total", "count", "mean", "max", "GPU"
    );
    for kernel in process.kernels.iter().take(most) {
        let _ = writeln!(
            out,
            "  {:>7}  {:>9}  {:>7}  {:>9}  {:>9}  {:>3}  {}",
            percent(kernel.window_share),
            time(kernel.total_ns as f64),
            scaled(kernel.count as f64),
            time(kernel.mean_ns),
            time(kernel.max_ns as f64),
            kernel.device,
            kernel.brief_name
        );
    }
    if process.kernels.len() > most {
        let _ = writeln!(out, "  … and {} more", process.kernels.len() - most);
    }
}

/// Who, where and in which state: `train.py, pid 4242, rank 3, node7: live, last 5.0 s`.
pub fn title(process: &Process) -> String {
    let mut parts = vec![process.program.clone().unwrap_or_else(|| file_name(process))];
    parts.extend(process.pid.map(|pid| format!("pid {pid}")));
    parts.extend(process.rank.map(|rank| format!("rank {rank}")));
    parts.extend(process.host.clone());
    let state = match process.state {
        "not-closed" => "not closed",
        other => other,
    };
    let mut line = format!("{}: {state}, last {}", parts.join(", "), time(process.window_ns as f64));
    if let Some(lag_ns) = process.lag_ns {
        let _ = write!(line, ", newest record {} ago", time(lag_ns as f64));
    }
    line
}

fn file_name(process: &Process) -> String {
    process.path.file_name().map_or_else(|| "trace".to_owned(), |name| name.to_string_lossy().into_owned())
}

/// Rates of the process in one line.
pub fn rates(process: &Process) -> String {
    let mut parts = Vec::new();
    match process.launches_per_s {
        Some(rate) => parts.push(format!("{} launches/s", scaled(rate))),
        None => parts.push("launches not recorded".to_owned()),
    }
    parts.extend(process.queue.map(|queue| format!("queue {queue:.1}")));
    parts.extend(process.launch_to_start_mean_ns.map(|ns| format!("launch to start {}", time(ns))));
    if let Some(failed) = process.failed_calls.filter(|failed| *failed > 0) {
        parts.push(format!("{failed} calls failed"));
    }
    parts.push(format!("{} records/s", scaled(process.records_per_s)));
    parts.push(format!("{} lost", process.lost_records));
    let growth = process.file_bytes_per_s.map(|rate| format!(" (+{}/s)", bytes(rate))).unwrap_or_default();
    parts.push(format!("file {}{growth}", bytes(process.file_bytes as f64)));
    parts.join("   ")
}

/// A device in one line.
fn device_line(device: &Device) -> String {
    let name = device.name.as_deref().unwrap_or("");
    let mut line = format!("GPU {}  {:>6} busy  {}", device.device, percent(device.busy_share), name);
    for copies in &device.copies {
        let _ = write!(line, "   {} {}/s", copies.direction, bytes(copies.bytes_per_s));
    }
    line
}
