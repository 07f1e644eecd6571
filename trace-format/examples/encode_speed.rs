//! How long a row takes to encode and how many bytes it becomes: `cargo run --release --example encode_speed`.
//!
//! Rows as a training loop gives them: launches a few microseconds apart on one thread, durations that vary by
//! kernel, a shape sequence that repeats from step to step, two streams. One line per table and batch size; the
//! best of several rounds, because other programs can only make a round slower.

use std::io;
use std::time::Instant;

use trace_format::columns::Batch;
use trace_format::header::FileHeader;
use trace_format::schema::RowBuilder;
use trace_format::tables::{ApiRow, KernelRow, api::ApiBuilder, kernel::KernelBuilder};
use trace_format::write::{Output, TraceWriter};

/// Splitmix64.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }
}

/// Takes everything and keeps nothing: the encoder is measured, not the disk.
struct Nowhere;

impl Output for Nowhere {
    fn write_at(&mut self, bytes: &[u8], _: u64) -> io::Result<usize> {
        Ok(bytes.len())
    }
    fn truncate(&mut self, _: u64) -> io::Result<()> {
        Ok(())
    }
}

fn kernels(rows: usize) -> (Batch, f64) {
    let mut random = Random(1);
    let mut builder = KernelBuilder::default();
    let mut start_ns = 1_700_000_000_000_000_000;
    let mut correlation = 1_000;
    let step: Vec<(u32, u64)> =
        (0..300).map(|_| (1 + random.below(120) as u32, 1_500 + random.below(60_000))).collect();
    let begin = Instant::now();
    for i in 0..rows {
        let (shape_id, usual) = step[i % step.len()];
        let duration = usual + random.below(usual / 16);
        start_ns += duration as i64 + 700 + random.below(900) as i64;
        correlation += 1 + random.below(4);
        builder.push(KernelRow {
            start_ns,
            duration_ns: Some(duration as i64),
            shape_id,
            device: 0,
            context: 1,
            stream: if i % 37 == 0 { 13 } else { 7 },
            correlation,
            channel: Some(8),
            ..Default::default()
        });
    }
    let push_ns = begin.elapsed().as_nanos() as f64 / rows as f64;
    (builder.take(), push_ns)
}

fn calls(rows: usize) -> (Batch, f64) {
    let mut random = Random(2);
    let mut builder = ApiBuilder::default();
    let mut start_ns = 1_700_000_000_000_000_000;
    let begin = Instant::now();
    for correlation in 1_000..1_000 + rows as u64 {
        let kind = [211, 211, 211, 211, 10, 10, 41, 51][random.below(8) as usize];
        let duration = 1_200 + random.below(2_500) as i64;
        start_ns += duration + random.below(4_000) as i64;
        builder.push(ApiRow {
            start_ns,
            duration_ns: Some(duration),
            domain: 0,
            cbid: kind,
            name_id: kind + 3,
            tid: 4_711,
            correlation,
            result: Some(0),
        });
    }
    let push_ns = begin.elapsed().as_nanos() as f64 / rows as f64;
    (builder.take(), push_ns)
}

fn measure(name: &str, batch: &Batch, push_ns: f64) {
    let header = FileHeader::new("encode_speed", 0);
    let Ok(mut writer) = TraceWriter::create(Nowhere, &header, Default::default()) else { return };
    let rounds = (2_000_000 / batch.rows).clamp(5, 2_000);
    let mut best = f64::MAX;
    let mut bytes = 0;
    for _ in 0..rounds {
        let before = writer.totals().get(&batch.table.id).map_or(0, |t| t.bytes);
        let begin = Instant::now();
        let written = writer.write_batch(batch);
        best = best.min(begin.elapsed().as_nanos() as f64);
        if let Err(error) = written {
            println!("{error}");
            return;
        }
        bytes = writer.totals().get(&batch.table.id).map_or(0, |t| t.bytes) - before;
    }
    let rows = batch.rows as f64;
    println!(
        "{name:8} {rows:>7} rows  {:>7.1} ns/row to encode  {push_ns:>6.1} ns/row to make and push  {:>7.2} bytes/row  {:>8.1} us/frame",
        best / rows,
        bytes as f64 / rows,
        best / 1_000.0,
    );
}

fn main() {
    for rows in [65_536, 16_384, 4_096, 256, 10] {
        let (batch, push_ns) = kernels(rows);
        measure("kernel", &batch, push_ns);
        let (batch, push_ns) = calls(rows);
        measure("api", &batch, push_ns);
    }
}
