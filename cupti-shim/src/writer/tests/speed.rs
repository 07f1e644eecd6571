//! What a record costs, from CUPTI's bytes to the finished frame: `benches/collector/run`.
//!
//! Not a test of anything: ignored unless asked for. Rows as a training loop gives them: 300 launches that repeat, of
//! 120 functions, a few microseconds apart; one runtime call each, some copies. The output keeps nothing, so that no
//! disk is measured; blocks go through the real pool, queue, interning and filter.

use cupti_sys::Field;
use cupti_sys::fields::{concurrent_kernel as kernel, memcpy, runtime};
use trace_format::tables;
use trace_format::write::WriteOptions;

use super::super::Shared;
use super::super::recorder::{Keep, Recorder, Turn};
use super::super::sources::Sources;
use super::harness::*;
use crate::decode::names::intern_block;
use crate::gate::Filter;
use crate::names::Names;

const BLOCK: usize = 512 << 10;
/// Blocks per round: all of them are filled, then all are taken. 4 MiB: what a callback has just read is still in the
/// cache, as in life.
const BLOCKS: usize = 8;
const REPEATS: u64 = 16;

struct Step {
    name: u64,
    grid: u64,
    duration_ns: u64,
}

struct Loop {
    random: Random,
    texts: Texts,
    steps: Vec<Step>,
    i: usize,
    now_ns: u64,
    id: u64,
}

impl Loop {
    fn new() -> Loop {
        let mut random = Random(1);
        let texts =
            Texts::new(120, "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>");
        let steps = (0..300)
            .map(|_| {
                let name = texts.pointer(random.below(120));
                Step { name, grid: 1 + random.below(4_000), duration_ns: 1_500 + random.below(60_000) }
            })
            .collect();
        Loop { random, texts, steps, i: 0, now_ns: NOW_NS, id: 1_000 }
    }

    fn kernel(&mut self) -> Vec<(Field, u64)> {
        assert_ne!(self.texts.pointer(0), 0);
        let step = &self.steps[self.i % self.steps.len()];
        self.i += 1;
        let duration_ns = step.duration_ns + self.random.below(step.duration_ns / 16);
        let start_ns = self.now_ns + 4_000;
        self.now_ns += duration_ns + 700 + self.random.below(900);
        vec![
            (kernel::START, start_ns),
            (kernel::END, start_ns + duration_ns),
            (kernel::CONTEXT_ID, 1),
            (kernel::STREAM_ID, if self.i.is_multiple_of(37) { 13 } else { 7 }),
            (kernel::GRID_X, step.grid),
            (kernel::GRID_Y, 1),
            (kernel::GRID_Z, 1),
            (kernel::BLOCK_X, 256),
            (kernel::BLOCK_Y, 1),
            (kernel::BLOCK_Z, 1),
            (kernel::REGISTERS_PER_THREAD, 32),
            (kernel::CORRELATION_ID, self.id),
            (kernel::NAME, step.name),
            (kernel::CHANNEL_ID, 8),
            (kernel::CHANNEL_TYPE, 1),
        ]
    }

    fn call(&mut self, next_id: bool) -> Vec<(Field, u64)> {
        if next_id {
            self.id += 1;
        }
        let cbid = [211, 211, 211, 211, 10, 10, 41, 51][self.random.below(8) as usize];
        let duration_ns = 1_200 + self.random.below(2_500);
        let start_ns = self.now_ns;
        self.now_ns += duration_ns + self.random.below(4_000);
        vec![
            (runtime::CBID, cbid),
            (runtime::START, start_ns),
            (runtime::END, start_ns + duration_ns),
            (runtime::PROCESS_ID, 4_700),
            (runtime::THREAD_ID, 4_711),
            (runtime::CORRELATION_ID, self.id),
        ]
    }

    fn copy(&mut self) -> Vec<(Field, u64)> {
        let duration_ns = 2_000 + self.random.below(30_000);
        let start_ns = self.now_ns + 4_000;
        self.now_ns += duration_ns;
        vec![
            (memcpy::COPY_KIND, 1 + self.random.below(2)),
            (memcpy::SRC_KIND, 2),
            (memcpy::DST_KIND, 3),
            (memcpy::FLAGS, 1),
            (memcpy::BYTES, 4_096 << self.random.below(10)),
            (memcpy::START, start_ns),
            (memcpy::END, start_ns + duration_ns),
            (memcpy::CONTEXT_ID, 1),
            (memcpy::STREAM_ID, 7),
            (memcpy::CORRELATION_ID, self.id),
            (memcpy::CHANNEL_ID, 9),
        ]
    }

    fn next(&mut self, what: &str, records: &mut Records) {
        match what {
            "kernel" => {
                self.id += 1;
                records.record(kernel::KIND, &self.kernel());
            }
            "api" => records.record(runtime::KIND, &self.call(true)),
            "memcpy" => {
                self.id += 1;
                records.record(memcpy::KIND, &self.copy());
            }
            // A launch is a call and a kernel, now and then a copy; two calls more around them.
            _ => {
                records.record(runtime::KIND, &self.call(true));
                if self.random.below(10) == 0 {
                    records.record(memcpy::KIND, &self.copy());
                } else {
                    records.record(kernel::KIND, &self.kernel());
                }
                records.record(runtime::KIND, &self.call(true));
                records.record(runtime::KIND, &self.call(true));
            }
        }
    }
}

/// CPU time of this thread, ns: other programs on the machine do not count.
fn cpu_ns() -> f64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `t` is writable.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut t) };
    t.tv_sec as f64 * 1e9 + t.tv_nsec as f64
}

/// Adds the time of `f` to `sum`.
fn timed<R>(sum: &mut f64, f: impl FnOnce() -> R) -> R {
    let begin = cpu_ns();
    let result = f();
    *sum += cpu_ns() - begin;
    result
}

fn blocks_of(what: &str) -> (Loop, Vec<Records>) {
    let mut source = Loop::new();
    let blocks = (0..BLOCKS)
        .map(|_| {
            let mut records = Records::new();
            while records.bytes.len() + 4 * 256 < BLOCK {
                source.next(what, &mut records);
            }
            records
        })
        .collect();
    (source, blocks)
}

fn nowhere() -> Disk {
    let disk = Disk::default();
    disk.0.borrow_mut().nowhere = true;
    disk
}

fn shared_of(blocks: usize) -> &'static Shared {
    let names: &'static Names = Box::leak(Box::new(Names::new()));
    let shared: &'static Shared = Box::leak(Box::new(Shared::new(names)));
    assert!(shared.prepare_pool(BLOCK, blocks * BLOCK, true));
    shared
}

/// What the callback and the writer take for all of these blocks, ns.
fn one_round<K: Keep>(
    blocks: &[Records],
    shared: &'static Shared,
    recorder: &mut Recorder<Disks, K>,
) -> (f64, f64) {
    let taken: Vec<(*mut u8, usize)> = blocks
        .iter()
        .map(|block| {
            let (ptr, _) = shared.request();
            assert!(!ptr.is_null());
            // SAFETY: the block is ours and large enough.
            unsafe { std::ptr::copy_nonoverlapping(block.bytes.as_ptr(), ptr, block.bytes.len()) };
            (ptr, block.bytes.len())
        })
        .collect();
    let (mut callback, mut writer) = (0.0, 0.0);
    timed(&mut callback, || {
        for (ptr, bytes) in taken {
            // SAFETY: as CUPTI does.
            unsafe { shared.complete(ptr, bytes, blocks[0].strides()) };
        }
    });
    timed(&mut writer, || while recorder.turn(2) == Turn::Busy {});
    (callback, writer)
}

/// One window around everything, and so many after each other, in turn: what the writer takes, and the ratio.
fn windows(many: u64, rounds: usize) {
    let (_source, blocks) = blocks_of("mixed");
    let records: u64 = blocks.iter().map(|b| b.count).sum();
    let ids = records * 3 / 4;
    let recorder = |filter| {
        let (shared, trace) = (shared_of(BLOCKS), whole(&nowhere(), WriteOptions::default()));
        let strides = blocks[0].strides().clone();
        let mut recorder =
            Recorder::new(shared, trace, limits(), strides, filter, Sources::NONE, Box::new(|_, _| None));
        recorder.begin(serde_json::Value::Null, None, 1);
        (shared, recorder)
    };
    let length = ids / many;
    let mut ways = [
        recorder(Filter::of_calls(std::iter::once((1, u64::MAX)))),
        recorder(Filter::of_calls((0..many).map(|i| (1_000 + i * length, 1_000 + (i + 1) * length)))),
    ];
    let mut best = [f64::MAX; 2];
    for _ in 0..rounds {
        for ((shared, recorder), best) in ways.iter_mut().zip(&mut best) {
            *best = best.min(one_round(&blocks, shared, recorder).1);
        }
    }
    let kept = ways.each_ref().map(|(_, recorder)| recorder.totals.written());
    let [one, all] = best.map(|ns| ns / records as f64);
    println!(
        "1 window {one:.1} ns/record, {many} windows {all:.1} ns/record: ratio {:.3} ({:.1} % of the records kept)",
        all / one,
        kept[1] as f64 / kept[0] as f64 * 100.0
    );
}

/// Through pool, queue, recorder.
fn whole_way(what: &str, rounds: usize) {
    let (_source, blocks) = blocks_of(what);
    let records: u64 = blocks.iter().map(|b| b.count).sum();
    let shared = shared_of(BLOCKS);
    let mut recorder = begun(shared, &nowhere(), WriteOptions::default(), NotMultiples(0));
    let (mut callback, mut writer) = (f64::MAX, f64::MAX);
    for _ in 0..rounds {
        let (a, b) = one_round(&blocks, shared, &mut recorder);
        (callback, writer) = (callback.min(a), writer.min(b));
    }
    let (callback, writer) = (callback / records as f64, writer / records as f64);
    let totals = recorder.trace.totals();
    let table = |name: &str| tables::by_name(name).and_then(|t| totals.get(&t.id)).filter(|t| t.rows > 0);
    let each = ["kernel", "api", "memcpy"].into_iter().filter_map(|name| Some((name, table(name)?)));
    let (bytes, rows) = each.clone().fold((0, 0), |(b, r), (_, t)| (b + t.bytes, r + t.rows));
    let each: String = each.map(|(name, t)| format!("  {name} {:.2}", t.bytes as f64 / t.rows as f64)).collect();
    println!(
        "{what:7}  callback {callback:5.1} ns  writer {writer:6.1} ns/record  {:5.1} M records/s  {:5.2} bytes/record {each}",
        1_000.0 / writer,
        bytes as f64 / rows as f64,
    );
}

/// Decoding, taking and encoding apart, with frames of different sizes.
fn by_part(what: &str, frame_rows: usize, rounds: usize) {
    let (_source, mut blocks) = blocks_of(what);
    let names: &'static Names = Box::leak(Box::new(Names::new()));
    for block in &mut blocks {
        let strides = block.strides().clone();
        // SAFETY: the pointers are those of `_source`, alive.
        unsafe { intern_block(&mut block.bytes, &strides, names) };
    }
    let records: u64 = blocks.iter().map(|b| b.count).sum();
    let mut recorder = begun(shared_of(2), &nowhere(), WriteOptions::default(), NotMultiples(0));
    let mut best = [f64::MAX; 3];
    for _ in 0..rounds {
        let mut sums = [0.0; 3];
        let mut batches = Vec::new();
        // Often enough that the largest frames fill up, too.
        for block in (0..REPEATS).flat_map(|_| &blocks) {
            timed(&mut sums[0], || {
                recorder.decoder.block(&block.bytes, &mut recorder.strings, &mut |_| true);
            });
            timed(&mut sums[1], || recorder.decoder.tables.take(frame_rows, &mut batches));
            timed(&mut sums[2], || {
                for batch in batches.drain(..) {
                    recorder.trace.write(&batch).1.unwrap();
                }
            });
        }
        (0..3).for_each(|i| best[i] = best[i].min(sums[i]));
    }
    let [decode, take, encode] = best.map(|ns| ns / (records * REPEATS) as f64);
    println!(
        "{what:7}  {frame_rows:6} rows a frame: decode {decode:5.1}  take {take:4.1}  encode {encode:5.1} ns/record"
    );
}

#[test]
#[ignore = "a measurement: benches/collector/run"]
fn collector_speed() {
    let rounds: usize = std::env::var("ROUNDS").ok().and_then(|r| r.parse().ok()).unwrap_or(60);
    for what in ["kernel", "api", "memcpy", "mixed"] {
        whole_way(what, rounds);
    }
}

#[test]
#[ignore = "a measurement: benches/collector/run windows"]
fn collector_speed_with_windows() {
    let rounds: usize = std::env::var("ROUNDS").ok().and_then(|r| r.parse().ok()).unwrap_or(60);
    for many in [1_000, 4_000] {
        windows(many, rounds);
    }
}

#[test]
#[ignore = "a measurement: benches/collector/run"]
fn collector_speed_by_part() {
    let rounds: usize = std::env::var("ROUNDS").ok().and_then(|r| r.parse().ok()).unwrap_or(60);
    for what in ["kernel", "api", "memcpy", "mixed"] {
        for frame_rows in [8_192, 16_384, 32_768, 65_536] {
            by_part(what, frame_rows, rounds.div_ceil(6));
        }
    }
}

/// The vendor's own walker: what attaching costs beyond loading its library.
#[test]
#[ignore = "a measurement: benches/collector/run programs"]
fn stride_probe() {
    let Some(path) = std::env::var_os("GPUPROF_BENCH_CUPTI") else {
        println!("stride probe: not measured, GPUPROF_BENCH_CUPTI names no libcupti");
        return;
    };
    let mut best = f64::MAX;
    let mut known = 0;
    // SAFETY: NVIDIA's library, and its function of that name and type; it needs no driver (CUPTI up to 13.1).
    unsafe {
        // Never unloaded: it leaves exit handlers behind, which would be called where it no longer is.
        let library: &'static _ = Box::leak(Box::new(libloading::Library::new(&path).unwrap()));
        let next = library.get::<crate::strides::GetNextRecordFn>(b"cuptiActivityGetNextRecord\0").unwrap();
        for _ in 0..50 {
            let mut ns = 0.0;
            timed(&mut ns, || known = crate::strides::Strides::probe_fn(*next).known_kinds());
            best = best.min(ns);
        }
    }
    println!("stride probe: {:.1} us for {known} kinds, {}", best / 1e3, std::path::Path::new(&path).display());
}
