//! Samples of call stacks on the CPU (`--sample=process-tree`).

use super::Reader;
use super::{pid, process_part};
use crate::trace::sink::ProcessIx;
use hashbrown::HashMap;
use trace_format::tables::{CpuSampleRow, FrameRow, StackRow};
use trace_format::vocabulary::frame_kind::NATIVE;

/// The samples.
const SAMPLES: &str = "COMPOSITE_EVENTS";
/// Their stacks, one row for each function.
const CHAINS: &str = "SAMPLING_CALLCHAINS";

/// `frame.kind` of functions that are not Python's: nsys keeps Python's stacks elsewhere.
/// `ENUM_SAMPLING_THREAD_STATE`.
const RUNNING: u32 = 1;
/// `cpu_sample.flags`.
const WAS_RUNNING: u32 = 1;

/// One function of a stack.
struct Function {
    depth: i64,
    symbol: Option<i64>,
    module: Option<i64>,
}

/// A sample, its stack apart.
struct Sample {
    id: i64,
    start_ns: i64,
    thread: Option<i64>,
    running: bool,
}

/// Frames and stacks of one process that have a row already.
#[derive(Default)]
struct Defined {
    frames: HashMap<(u32, u32), u32>,
    stacks: HashMap<(u32, u32), u32>,
}

/// Reads samples with their stacks.
pub(super) fn read(r: &mut Reader) {
    let Some(mut scan) = r.scan(SAMPLES) else { return };
    let [id, start, thread, state] = ["id", "start", "globalTid", "threadState"].map(|name| scan.col(name));
    let mut samples = Vec::new();
    let tally = scan.run(|row| {
        let (Some(id), Some(start_ns)) = (row.int(id), row.int(start)) else { return false };
        samples.push(Sample { id, start_ns, thread: row.int(thread), running: row.id(state) == Some(RUNNING) });
        true
    });
    r.close(tally);
    let mut chains = chains(r);
    let weight_ns = interval_ns(&samples);
    let mut defined: HashMap<ProcessIx, Defined> = HashMap::new();
    let mut without = 0;
    for Sample { id, start_ns, thread, running } in samples {
        let Some(mut chain) = chains.remove(&id) else {
            without += 1;
            continue;
        };
        // Depth 0 is the function that ran; a stack begins with the outermost.
        chain.sort_by_key(|function| std::cmp::Reverse(function.depth));
        let process = r.process(thread);
        let defined = defined.entry(process).or_default();
        let stack_id = chain.iter().fold(0, |parent, function| stack(r, process, defined, parent, function));
        let row = CpuSampleRow {
            start_ns,
            of_pid: pid(process_part(thread.unwrap_or(0))).unwrap_or(0),
            tid: r.thread(thread),
            stack_id,
            weight_ns,
            flags: if running { WAS_RUNNING } else { 0 },
        };
        r.sink.push(process, row);
    }
    r.unread.add(format!("{SAMPLES} without a call stack").as_bytes(), without);
    let left: usize = chains.values().map(Vec::len).sum();
    r.unread.add(format!("{CHAINS} without a sample").as_bytes(), left as u64);
}

/// All stacks by the sample they belong to.
fn chains(r: &mut Reader) -> HashMap<i64, Vec<Function>> {
    let mut chains: HashMap<i64, Vec<Function>> = HashMap::new();
    let Some(mut scan) = r.scan(CHAINS) else { return chains };
    let [id, symbol, module, depth] = ["id", "symbol", "module", "stackDepth"].map(|name| scan.col(name));
    let tally = scan.run(|row| {
        let (Some(id), Some(depth)) = (row.int(id), row.int(depth)) else { return false };
        chains.entry(id).or_default().push(Function { depth, symbol: row.int(symbol), module: row.int(module) });
        true
    });
    r.close(tally);
    chains
}

/// The id of the stack that adds a function to `parent`, 0 being the empty one.
fn stack(r: &mut Reader, process: ProcessIx, defined: &mut Defined, parent: u32, function: &Function) -> u32 {
    let (name_id, file_id) = (r.name(function.symbol), r.name_if_any(function.module));
    let next = defined.frames.len() as u32 + 1;
    let frame_id = *defined.frames.entry((name_id, file_id.unwrap_or(0))).or_insert(next);
    if frame_id == next {
        r.sink.push(process, FrameRow { id: next, name_id, file_id, line: None, kind: NATIVE });
    }
    let next = defined.stacks.len() as u32 + 1;
    let id = *defined.stacks.entry((parent, frame_id)).or_insert(next);
    if id == next {
        let parent_id = (parent != 0).then_some(parent);
        r.sink.push(process, StackRow { id, parent_id, frame_id });
    }
    id
}

/// What one sample stands for: the middle of the times between samples of a thread. nsys samples by counts of
/// instructions or cycles, so that there is no fixed interval to be read.
fn interval_ns(samples: &[Sample]) -> i64 {
    let mut times: Vec<(Option<i64>, i64)> =
        samples.iter().map(|sample| (sample.thread, sample.start_ns)).collect();
    times.sort_unstable();
    let pairs = times.windows(2).filter(|pair| pair[0].0 == pair[1].0);
    let mut between: Vec<i64> = pairs.map(|pair| pair[1].1.saturating_sub(pair[0].1)).collect();
    let middle = between.len() / 2;
    if between.is_empty() { 0 } else { *between.select_nth_unstable(middle).1 }
}
