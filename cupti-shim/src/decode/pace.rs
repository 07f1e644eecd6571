//! How fast blocks become frames. Ignored, because it measures:
//!
//!     cargo test --release -p cupti-shim -- --ignored --nocapture decode::pace

use trace_format::columns::Batch;
use trace_format::frame::Encoder;

use super::synthetic::{NOW_NS, Writer};
use super::tests::Made;
use super::*;
use crate::names::Names;

/// CPU time of this thread: other work on the machine does not count.
fn cpu_ns() -> u128 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes one timespec.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as u128 * 1_000_000_000 + time.tv_nsec as u128
}

const BLOCK_BYTES: usize = 512 << 10;

/// Blocks as a training loop fills them: kernels of some 60 shapes, and for each the launch in the runtime.
fn blocks(strides: &Strides, kinds: &[u32]) -> Vec<Vec<u8>> {
    let mut at = 0;
    (0..4)
        .map(|_| {
            let mut block = Writer::new(strides);
            while block.bytes.len() + 600 < BLOCK_BYTES {
                at += 1;
                let kind = kinds[at % kinds.len()];
                let start = NOW_NS + at as u64 * 2_000 + (at as u64 * 7919) % 512;
                let end = start + 1_000 + (at as u64 * 104_729) % 5_000;
                let id = at as u64 / 2 + 1;
                match kind {
                    10 => block.record(
                        10,
                        &[
                            ("start", start),
                            ("end", end),
                            ("correlationId", id),
                            ("name", 1 + at as u64 % 37),
                            ("streamId", 7),
                            ("contextId", 1),
                            ("gridX", 1 + at as u64 % 37 * 3),
                            ("gridY", 1),
                            ("gridZ", 1),
                            ("blockX", 256),
                            ("blockY", 1),
                            ("blockZ", 1),
                            ("registersPerThread", 32),
                            ("channelID", 9),
                        ],
                    ),
                    1 => block.record(
                        1,
                        &[("start", start), ("end", end), ("correlationId", id), ("bytes", 4096), ("copyKind", 1)],
                    ),
                    _ => block.record(
                        kind,
                        &[("start", start), ("end", end), ("correlationId", id), ("cbid", 211), ("threadId", 4711)],
                    ),
                };
            }
            block.bytes
        })
        .collect()
}

fn measure(what: &str, kinds: &[u32], frame_rows: usize) {
    let strides = Strides::of_toolkit("13.0").unwrap();
    let blocks = blocks(&strides, kinds);
    let (mut decode_ns, mut encode_ns, mut records, mut bytes, mut encoded) = (0, 0, 0, 0, 0);
    let mut best = (u128::MAX, 0, 0, 0);
    for _ in 0..8 {
        let mut decoder = Decoder::new(strides.clone());
        let mut encoder = Encoder::default();
        let mut own = Made::default();
        let mut batches: Vec<Batch> = Vec::new();
        let mut frame = Vec::new();
        (decode_ns, encode_ns, records, bytes, encoded) = (0, 0, 0, 0, 0);
        for block in std::iter::repeat_n(&blocks, 16).flatten() {
            let before = cpu_ns();
            records += decoder.block(block, &mut own, &mut |_| true).records;
            decoder.tables.take(frame_rows, &mut batches);
            decode_ns += cpu_ns() - before;
            let before = cpu_ns();
            for batch in batches.drain(..) {
                frame.clear();
                encoder.encode(&batch, 0..batch.rows, &mut frame).unwrap();
                encoded += batch.rows;
                bytes += frame.len();
            }
            encode_ns += cpu_ns() - before;
        }
        if decode_ns + encode_ns < best.0 {
            best = (decode_ns + encode_ns, decode_ns, encode_ns, bytes);
        }
    }
    let per = |ns: u128, n: f64| ns as f64 / n;
    println!(
        "{what:28} {frame_rows:6} rows: decode {:5.1} ns/record, encode {:5.1} ns/row, {:4.2} M records/s, {:4.1} bytes/row",
        per(best.1, records as f64),
        per(best.2, encoded as f64),
        1e3 / (per(best.1, records as f64) + per(best.2, encoded as f64)),
        best.3 as f64 / encoded as f64,
    );
    let _ = (decode_ns, encode_ns, bytes);
}

#[test]
#[ignore = "measures"]
fn records_to_frames() {
    for rows in [16_384, 65_536] {
        measure("kernels", &[10], rows);
        measure("calls", &[5], rows);
        measure("kernels and calls", &[10, 5], rows);
        measure("copies", &[1], rows);
        measure("kernels, calls, copies", &[10, 5, 5, 4, 10, 5, 1], rows);
    }
}

#[test]
#[ignore = "measures"]
fn names_in_the_callback() {
    let strides = Strides::of_toolkit("13.0").unwrap();
    let texts: Vec<_> =
        (0..37).map(|i| std::ffi::CString::new(format!("_ZN2at6native{i}{}", "x".repeat(80))).unwrap()).collect();
    let names = Names::new();
    for (what, kinds) in [("kernels", &[10][..]), ("calls", &[5]), ("kernels and calls", &[10, 5])] {
        let blocks = blocks(&strides, kinds);
        let mut best = f64::MAX;
        for _ in 0..8 {
            let mut fresh = blocks.clone();
            for block in &mut fresh {
                let mut at = 0;
                while at < block.len() {
                    let kind = u32::from_le_bytes(block[at..at + 4].try_into().unwrap());
                    if kind == 10 {
                        let text = &texts[super::synthetic::get(&block[at..], 10, "name") as usize - 1];
                        super::synthetic::set(
                            &mut block[at..],
                            10,
                            "name",
                            text.as_ptr().expose_provenance() as u64,
                        );
                    }
                    at += strides.of(kind);
                }
            }
            let before = cpu_ns();
            let mut records = 0;
            for block in &mut fresh {
                // SAFETY: the texts live until the end.
                records += unsafe { names::intern_block(block, &strides, &names) }.records;
            }
            best = best.min((cpu_ns() - before) as f64 / records as f64);
        }
        println!("{what:28} intern_block {best:5.1} ns/record");
    }
}
