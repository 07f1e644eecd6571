//! A ring of segments against a simple model of it: what is held, what went, what is kept as a dump.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use crate::common::*;
use serde_json::json;
use trace_format::read::TraceReader;
use trace_format::schema::RowBuilder as _;
use trace_format::tables::clock::ClockBuilder;
use trace_format::tables::loss::LossBuilder;
use trace_format::tables::*;
use trace_format::write::{LOST_BEFORE, Output, SegmentedWriter, Segments, WriteOptions};

type Files = BTreeMap<u32, Vec<u8>>;

/// Segments and dumps in memory.
#[derive(Clone, Default)]
struct Memory(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    ring: Files,
    dumps: BTreeMap<String, Files>,
    /// Opening fails.
    is_full: bool,
}

struct MemorySegment(Memory, u32);

impl Output for MemorySegment {
    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        self.0.0.lock().unwrap().ring.get_mut(&self.1).map_or(Ok(bytes.len()), |f| f.write_at(bytes, offset))
    }
    fn truncate(&mut self, len: u64) -> io::Result<()> {
        self.0.0.lock().unwrap().ring.get_mut(&self.1).map_or(Ok(()), |f| Output::truncate(f, len))
    }
}

impl Segments for Memory {
    type Output = MemorySegment;
    fn open(&mut self, number: u32) -> io::Result<MemorySegment> {
        let mut state = self.0.lock().unwrap();
        if state.is_full {
            return Err(io::ErrorKind::StorageFull.into());
        }
        assert!(state.ring.insert(number, Vec::new()).is_none());
        Ok(MemorySegment(self.clone(), number))
    }
    fn remove(&mut self, number: u32) -> io::Result<()> {
        self.0.lock().unwrap().ring.remove(&number).map(drop).ok_or(io::ErrorKind::NotFound.into())
    }
    fn keep(&mut self, numbers: &[u32], name: &str, _: u64) -> io::Result<PathBuf> {
        let mut state = self.0.lock().unwrap();
        let files = numbers.iter().map(|n| (*n, state.ring[n].clone())).collect();
        state.dumps.insert(name.to_owned(), files);
        Ok(name.into())
    }
}

/// Correlation ids of the kernels in some segments, which must each be whole and name what they refer to.
fn correlations(files: &Files) -> Vec<u64> {
    let mut all = Vec::new();
    for (number, file) in files {
        let reader = TraceReader::new(file).unwrap();
        assert_eq!((reader.verify().unwrap(), reader.header().segment), (vec![], Some(*number)));
        let shapes = reader.definitions::<ShapeRow>().rows;
        let strings = reader.definitions::<StringRow>().rows;
        for row in reader.definitions::<KernelRow>().rows {
            let shape = shapes.iter().find(|s| s.id == row.shape_id).expect("its shape");
            let name = strings.iter().find(|s| s.id == shape.name_id).expect("its name");
            assert_eq!(name.bytes, name_of(row.shape_id), "segment {number}");
            all.push(row.correlation);
        }
    }
    all
}

fn name_of(shape: u32) -> Vec<u8> {
    format!("the kernel of shape {shape}").into_bytes()
}

fn define(ring: &mut SegmentedWriter<Memory>, shape: u32) {
    let mut strings = string::StringBuilder::default();
    strings.push(StringRow { id: shape + 1_000_000, bytes: name_of(shape) });
    ring.write_batch(&strings.take()).unwrap();
    let mut shapes = trace_format::tables::shape::ShapeBuilder::default();
    shapes.push(ShapeRow { id: shape, name_id: shape + 1_000_000, ..Default::default() });
    ring.write_batch(&shapes.take()).unwrap();
}

const S: i64 = 1_000_000_000;

#[test]
fn a_ring_of_seconds_holds_at_least_those_and_counts_what_went() {
    for seed in 1..=6 {
        let memory = Memory::default();
        let mut random = Random(seed);
        let mut ring =
            SegmentedWriter::create(memory.clone(), &header(1), WriteOptions::default(), 100_000, 10_000_000)
                .unwrap();
        let mut now_ns = 5_000 * S;
        ring.keep_for(8 * S as u64, now_ns);
        ring.write_json(&PROCESS, &json!({"pid": 1})).unwrap();
        // When each kernel was written, and the shapes that exist.
        let mut written: Vec<i64> = Vec::new();
        let mut shapes = 0;
        for step in 0..1_500 {
            // Now and then nothing happens for long, but for the clock.
            now_ns += if random.below(200) == 0 { 30 * S } else { random.below(60_000_000) as i64 };
            ring.at(now_ns);
            let mut clock = ClockBuilder::default();
            clock.push(ClockRow { trace_ns: now_ns, unix_ns: now_ns, monotonic_ns: now_ns, provisional: false });
            ring.write_batch(&clock.take()).unwrap();
            if shapes == 0 || random.below(3) == 0 {
                shapes += 1;
                define(&mut ring, shapes);
            }
            let mut builder = kernel::KernelBuilder::default();
            for _ in 0..random.below(40) {
                // Mostly what is new, at times something old.
                let shape_id =
                    if random.below(20) == 0 { 1 + random.below(u64::from(shapes)) as u32 } else { shapes };
                let correlation = written.len() as u64;
                builder.push(KernelRow {
                    start_ns: now_ns - 500,
                    duration_ns: Some(300),
                    shape_id,
                    correlation,
                    ..Default::default()
                });
                written.push(now_ns);
            }
            let batch = builder.take();
            if batch.rows > 0 {
                ring.write_batch(&batch).unwrap();
            }
            if step % 50 == 0 {
                let name = format!("{step}");
                let (held, dumped) = if random.below(2) == 0 {
                    ring.keep(&name, 0).unwrap();
                    let state = memory.0.lock().unwrap();
                    (correlations(&state.ring), correlations(&state.dumps[&name]))
                } else {
                    let held = correlations(&memory.0.lock().unwrap().ring);
                    (held.clone(), held)
                };
                for correlations in [held, dumped] {
                    // Everything from some moment on, and that moment is at least eight seconds before the last write.
                    let first = correlations.first().copied().unwrap_or(written.len() as u64);
                    assert_eq!(
                        correlations,
                        (first..written.len() as u64).collect::<Vec<_>>(),
                        "seed {seed}, {step}"
                    );
                    let last_ns = written.last().copied().unwrap_or(now_ns);
                    let gone = &written[..first as usize];
                    assert!(gone.iter().all(|at| *at < last_ns - 8 * S), "seed {seed}, step {step}");
                    if let Some(oldest) = written.get(first as usize).filter(|_| !gone.is_empty()) {
                        // At most an eighth more, and what one segment spans where nothing happened for long.
                        assert!(*oldest >= last_ns - 41 * S, "seed {seed}, step {step}");
                    }
                }
                let first = memory.0.lock().unwrap().ring.values().next().cloned().unwrap();
                let reader = TraceReader::new(&first).unwrap();
                let before = reader.header().rows_before.get("kernel").and_then(|n| n.as_u64()).unwrap_or(0);
                assert_eq!(before, ring.dropped().get(&KERNEL.id).copied().unwrap_or(0));
            }
        }
        assert!(ring.dropped()[&KERNEL.id] > 1_000 && ring.unknown_names() == 0, "seed {seed}");
        assert_eq!(ring.rows(&KERNEL), written.len() as u64);
        // Segments of dumps are those of the ring, byte for byte.
        let state = memory.0.lock().unwrap();
        for (number, file) in state.dumps.values().flatten() {
            assert!(state.ring.get(number).is_none_or(|own| own == file), "segment {number}");
        }
    }
}

#[test]
fn while_nothing_happens_nothing_goes() {
    let memory = Memory::default();
    let mut ring =
        SegmentedWriter::create(memory.clone(), &header(2), WriteOptions::default(), 100_000, 10_000_000).unwrap();
    ring.keep_for(S as u64, 0);
    define(&mut ring, 1);
    define(&mut ring, 2);
    define(&mut ring, 3);
    ring.at(S / 2);
    ring.write_batch(&kernels(0, 10)).unwrap();
    for second in 1..500 {
        ring.at(second * S);
        let mut clock = ClockBuilder::default();
        clock.push(ClockRow { trace_ns: second, unix_ns: second, monotonic_ns: second, provisional: false });
        ring.write_batch(&clock.take()).unwrap();
    }
    assert!(
        memory.0.lock().unwrap().ring.contains_key(&1),
        "clocks alone may begin segments, but push nothing out"
    );
    ring.keep("hang", 0).unwrap();
    let state = memory.0.lock().unwrap();
    assert_eq!(TraceReader::new(&state.dumps["hang"][&1]).unwrap().definitions::<KernelRow>().rows.len(), 10);
}

#[test]
fn a_segment_says_what_came_before_it_and_when_it_was() {
    let memory = Memory::default();
    let mut ring =
        SegmentedWriter::create(memory.clone(), &header(3), WriteOptions::default(), 100_000, 10_000_000).unwrap();
    (1..=3).for_each(|shape| define(&mut ring, shape));
    ring.write_batch(&kernels(0, 10)).unwrap();
    let mut losses = LossBuilder::default();
    losses.push(LossRow { rows: 40, cause: 5, ..Default::default() });
    losses.push(LossRow { rows: 2, cause: 1, ..Default::default() });
    ring.write_batch(&losses.take()).unwrap();
    let mut clock = ClockBuilder::default();
    clock.push(ClockRow { trace_ns: 5, unix_ns: 6, monotonic_ns: 7, provisional: false });
    ring.write_batch(&clock.take()).unwrap();
    ring.keep("a", 0).unwrap();
    ring.keep("b", 0).unwrap();
    let state = memory.0.lock().unwrap();
    let third = TraceReader::new(&state.ring[&3]).unwrap();
    assert_eq!(third.header().other[LOST_BEFORE], 42);
    assert_eq!(third.header().rows_before["kernel"], 10);
    let clocks = third.definitions::<ClockRow>();
    assert_eq!((clocks.rows.len(), clocks.rows[0].unix_ns, clocks.problems.len()), (1, 6, 0));
    assert_eq!(third.problems(), []);
    assert_eq!((state.dumps["a"].len(), state.dumps["b"].len()), (1, 2));
}

#[test]
fn a_ring_that_cannot_begin_a_segment_is_kept_as_it_is() {
    let memory = Memory::default();
    let mut ring =
        SegmentedWriter::create(memory.clone(), &header(4), WriteOptions::default(), 100_000, 10_000_000).unwrap();
    (1..=3).for_each(|shape| define(&mut ring, shape));
    ring.write_batch(&kernels(0, 10)).unwrap();
    memory.0.lock().unwrap().is_full = true;
    ring.keep("full", 0).unwrap();
    ring.write_batch(&kernels(10, 10)).unwrap();
    memory.0.lock().unwrap().is_full = false;
    ring.keep("after", 0).unwrap();
    let state = memory.0.lock().unwrap();
    let rows = |files: &Files| -> usize {
        files.values().map(|file| TraceReader::new(file).unwrap().definitions::<KernelRow>().rows.len()).sum()
    };
    assert_eq!((rows(&state.dumps["full"]), rows(&state.dumps["after"])), (10, 20));
}
