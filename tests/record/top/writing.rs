//! Traces of programs that run, made by code together with what `top` must say of them.

use crate::common::build::Random;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};
use trace_format::columns::Batch;
use trace_format::header::FileHeader;
use trace_format::schema::{Row, RowBuilder};
use trace_format::tables::*;
use trace_format::write::{Output, TraceWriter, WriteOptions};

pub const MS: i64 = 1_000_000;
pub const S: i64 = 1_000 * MS;
/// Where the trace's clock begins.
pub const BEGIN: i64 = 77_000_000_000;
/// Mangled names and what people call them.
pub const KERNELS: [(&str, &str); 3] =
    [("_Z4axpyfPKfPf", "axpy"), ("_ZN2at6native4copyIfEEvPT_i", "copy"), ("plain_kernel", "plain_kernel")];

pub fn batch<R: Row>(rows: impl IntoIterator<Item = R>) -> Batch {
    let mut builder = R::Builder::default();
    rows.into_iter().for_each(|row| builder.push(row));
    builder.take()
}

pub fn unix_ns() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as i64
}

/// The process as the collector describes it: of this machine, so that `top` can look whether it runs.
pub fn process(pid: u32) -> Value {
    let read = |path: &str| std::fs::read_to_string(path).unwrap().trim().to_owned();
    json!({
        "pid": pid,
        "argv": ["/usr/bin/train.py", "--fast"],
        "rank": 3,
        "host": read("/proc/sys/kernel/hostname"),
        "boot_id": read("/proc/sys/kernel/random/boot_id"),
        "configuration": {"GPUPROF_FLUSH_MS": "500ms"},
    })
}

/// A trace with its header, process, clock, names, shapes and devices, in the writer's hands.
pub fn begin<W: Output>(output: W, process: &Value) -> TraceWriter<W> {
    let mut writer =
        TraceWriter::create(output, &FileHeader::new("gpuprof 0.1.0", unix_ns()), WriteOptions::default()).unwrap();
    writer.write_json(&PROCESS, process).unwrap();
    definitions().iter().for_each(|batch| writer.write_batch(batch).unwrap());
    writer
}

/// What comes before the first record.
pub fn definitions() -> Vec<Batch> {
    let names = KERNELS.map(|(mangled, _)| mangled).into_iter();
    let names = names.chain(["cudaLaunchKernel_v7000", "cuLaunchKernel", "cudaMalloc_v3020", "NVIDIA H100"]);
    let strings = names.zip(1..).map(|(name, id)| StringRow { id, bytes: name.into() });
    // Two shapes of each kernel: they are one kernel.
    let shapes = (0..6u32).map(|i| ShapeRow { id: 10 + i, name_id: 1 + i % 3, ..ShapeRow::default() });
    let devices = (0..2).map(|device| DeviceRow { device, name_id: 7, ..DeviceRow::default() });
    let now = unix_ns();
    let clock = ClockRow { trace_ns: BEGIN, unix_ns: now, monotonic_ns: 1, provisional: false };
    vec![batch(strings), batch(shapes), batch(devices), batch([clock])]
}

/// One piece of GPU work with its two API calls, as the runtime's call through the driver's.
#[derive(Clone, Debug)]
pub struct Piece {
    pub call_ns: i64,
    pub start_ns: i64,
    pub end_ns: i64,
    pub device: u32,
    /// A kernel of [`KERNELS`]; `None`: a copy.
    pub kernel: Option<usize>,
    pub bytes: i64,
    pub correlation: u64,
}

/// `count` pieces of work that start within `from..to`, several streams beside each other, in no order.
pub fn work(random: &mut Random, count: u64, from: i64, to: i64, first_correlation: u64) -> Vec<Piece> {
    let mut below = |n: u64| (random.next() % n) as i64;
    (0..count)
        .map(|i| {
            let start_ns = from + below((to - from) as u64);
            let call_ns = start_ns - 1 - below(50_000);
            let kernel = Some(below(4) as usize).filter(|k| *k < KERNELS.len());
            let length = if below(50) == 0 { below(250 * MS as u64) } else { below(2 * MS as u64) };
            let bytes = 1 + below(1 << 24);
            let (device, correlation) = (below(2) as u32, first_correlation + i);
            Piece { call_ns, start_ns, end_ns: start_ns + length, device, kernel, bytes, correlation }
        })
        .collect()
}

/// The rows of some work, as the collector writes them.
pub fn frames(work: &[Piece]) -> [Batch; 3] {
    let kernels = work.iter().filter_map(|w| {
        Some(KernelRow {
            start_ns: w.start_ns,
            duration_ns: Some(w.end_ns - w.start_ns),
            shape_id: 10 + w.kernel? as u32 + 3 * (w.correlation % 2) as u32,
            device: w.device,
            correlation: w.correlation,
            ..KernelRow::default()
        })
    });
    let copies = work.iter().filter(|w| w.kernel.is_none()).map(|w| MemcpyRow {
        start_ns: w.start_ns,
        duration_ns: Some(w.end_ns - w.start_ns),
        kind: 1 + (w.correlation % 2) as u32,
        bytes: w.bytes,
        device: w.device,
        correlation: w.correlation,
        ..MemcpyRow::default()
    });
    let calls = work.iter().flat_map(|w| {
        let call = |name_id, domain, inset: i64| ApiRow {
            start_ns: w.call_ns + inset,
            duration_ns: Some(10 - 2 * inset),
            domain,
            name_id: if w.kernel.is_some() { name_id } else { 6 },
            correlation: w.correlation,
            result: Some(u32::from(w.correlation % 100 == 7) * 2),
            ..ApiRow::default()
        };
        // The inner call ends, and is written, first.
        [call(5, 1, 1), call(4, 0, 0)]
    });
    [batch(kernels), batch(copies), batch(calls)]
}

/// What `top` must say of some work in the window `from..=to`.
#[derive(Debug, Default, PartialEq)]
pub struct Truth {
    /// Device and short name: count, total, maximum.
    pub kernels: BTreeMap<(u64, String), (u64, u64, u64)>,
    /// Device and direction: count, bytes.
    pub copies: BTreeMap<(u64, String), (u64, u64)>,
    pub busy_ns: BTreeMap<u64, u64>,
    pub launches: u64,
    pub failed: u64,
    pub records: u64,
    pub wait_max_ns: u64,
}

impl Truth {
    pub fn of(work: &[Piece], from: i64, to: i64) -> Truth {
        let inside = |time: i64| (from..=to).contains(&time);
        let mut truth = Truth::default();
        let mut spans: BTreeMap<u64, Vec<(i64, i64)>> = BTreeMap::new();
        for w in work {
            let device = u64::from(w.device);
            let clipped = (w.start_ns.max(from), w.end_ns.min(to));
            let of_device = spans.entry(device).or_default();
            if clipped.0 < clipped.1 {
                of_device.push(clipped);
            }
            let ns = (w.end_ns - w.start_ns) as u64;
            if inside(w.start_ns) {
                truth.records += 1;
                match w.kernel {
                    Some(kernel) => {
                        let sums = truth.kernels.entry((device, KERNELS[kernel].1.to_owned())).or_default();
                        *sums = (sums.0 + 1, sums.1 + ns, sums.2.max(ns));
                        truth.wait_max_ns = truth.wait_max_ns.max((w.start_ns - w.call_ns) as u64);
                    }
                    None => {
                        let direction = if w.correlation % 2 == 0 { "HtoD" } else { "DtoH" };
                        let sums = truth.copies.entry((device, direction.to_owned())).or_default();
                        *sums = (sums.0 + 1, sums.1 + w.bytes as u64);
                    }
                }
            }
            for call_ns in [w.call_ns, w.call_ns + 1] {
                let is_inside = u64::from(inside(call_ns));
                truth.records += is_inside;
                truth.failed += is_inside * u64::from(w.correlation % 100 == 7);
            }
            // Of the two calls the one that was written first is counted: the driver's.
            truth.launches += u64::from(w.kernel.is_some() && inside(w.call_ns + 1));
        }
        for (device, mut spans) in spans {
            spans.sort_unstable();
            let (mut busy, mut until) = (0, i64::MIN);
            for (start, end) in spans {
                busy += (end - start.max(until)).max(0);
                until = until.max(end);
            }
            truth.busy_ns.insert(device, busy as u64);
        }
        truth
    }

    /// What `top` said of a process.
    pub fn said(process: &Value) -> Truth {
        let number = |value: &Value| value.as_u64().unwrap_or_else(|| panic!("{value} in {process}"));
        let text = |value: &Value| value.as_str().unwrap_or_else(|| panic!("{value}")).to_owned();
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let mut truth = Truth {
            launches: number(&process["launches"]),
            failed: number(&process["failed_calls"]),
            records: number(&process["window_records"]),
            wait_max_ns: process["launch_to_start_max_ns"].as_u64().unwrap_or(0),
            ..Truth::default()
        };
        for kernel in list(&process["kernels"]) {
            let sums = (number(&kernel["count"]), number(&kernel["total_ns"]), number(&kernel["max_ns"]));
            truth.kernels.insert((number(&kernel["device"]), text(&kernel["short_name"])), sums);
        }
        for device in list(&process["devices"]) {
            let index = number(&device["device"]);
            truth.busy_ns.insert(index, number(&device["busy_ns"]));
            for copies in list(&device["copies"]) {
                let sums = (number(&copies["count"]), number(&copies["bytes"]));
                truth.copies.insert((index, text(&copies["direction"])), sums);
            }
        }
        truth
    }
}

/// A file whose writes stop half-way until they are allowed to go on.
#[derive(Clone)]
pub struct Halves {
    file: Arc<File>,
    /// Whether writes stop half-way.
    pub stops: Arc<AtomicBool>,
    /// Half of a write is done and the other half waits.
    half: Arc<(Mutex<bool>, Condvar)>,
}

impl Halves {
    pub fn create(path: &Path) -> Halves {
        let file = Arc::new(File::create_new(path).unwrap());
        Halves { file, stops: Arc::default(), half: Arc::default() }
    }

    /// Waits until half of a write is done.
    pub fn wait_for_half(&self) {
        let (is_half, changed) = &*self.half;
        let mut half = is_half.lock().unwrap();
        while !*half {
            half = changed.wait(half).unwrap();
        }
    }

    /// Lets the other half be written.
    pub fn go_on(&self) {
        self.stops.store(false, Ordering::Relaxed);
        *self.half.0.lock().unwrap() = false;
        self.half.1.notify_all();
    }
}

impl Output for Halves {
    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        use std::os::unix::fs::FileExt as _;
        let at = if self.stops.load(Ordering::Relaxed) { bytes.len() / 2 } else { bytes.len() };
        self.file.write_all_at(&bytes[..at], offset)?;
        if at < bytes.len() {
            let (is_half, changed) = &*self.half;
            let mut half = is_half.lock().unwrap();
            *half = true;
            changed.notify_all();
            while *half {
                half = changed.wait(half).unwrap();
            }
            drop(half);
            self.file.write_all_at(&bytes[at..], offset + at as u64)?;
        }
        Ok(bytes.len())
    }

    fn truncate(&mut self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }
}
