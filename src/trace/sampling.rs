//! Traces that hold some of what a program did: some of its steps (`--capture nvtx:NAME,every:N,steps:M`), or some of its time
//! (`--budget`). Which records lie in which of the recorded windows, and for how much those stand.
//!
//! Windows are put together into blocks: those of one cycle, which follow each other and are alike, are one observation, and a
//! long run has at most [`BLOCKS`] of them, so that sums by block stay small.
//!
//! With a budget each window stands for itself and for what was passed over since the window before. That was settled before
//! the window opened, so it says nothing of what is in the window; and where a program changes, windows that come seldom
//! because they are expensive count for as much more.

use super::frames::Frames;
use super::select::Filter;
use super::sink::{Budgeted, ProcessInfo};
use crate::error::Result;
use std::sync::Arc;
use trace_format::tables;
use trace_format::tables::column::capture;

/// Blocks of one process, at most. More would make intervals hardly narrower.
const BLOCKS: usize = 256;

/// The weight of a record that stands for itself alone. Weights are whole numbers, so that sums do not depend on the order in
/// which they are made.
pub const ONE: u64 = 1 << 16;

/// Some neighbouring windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Ordinal of the process.
    pub process: u32,
    /// For how much it stands once its records are weighted: steps, or nanoseconds.
    pub size: u64,
}

/// A recorded window.
#[derive(Clone, Copy, Debug)]
struct Window {
    /// Correlation ids above this one lie in it; `None`: times tell.
    after: Option<u64>,
    start_ns: i64,
    /// Position in [`Sampling::blocks`].
    block: u32,
    /// What its records count, in parts of [`ONE`].
    weight: u64,
}

/// A row of table `capture`.
#[derive(Clone, Copy, Debug)]
struct Row {
    process: u32,
    start_ns: i64,
    end_ns: Option<i64>,
    after: Option<u64>,
    before: Option<u64>,
    starts: i64,
}

/// What the recorded windows of a process are parts of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Unit {
    /// The program's steps.
    #[default]
    Steps,
    /// Time, in nanoseconds.
    Time,
}

/// The recorded windows of a process, by their beginning.
#[derive(Debug, Default)]
struct OfProcess {
    windows: Vec<Window>,
    /// Whether correlation ids are known of all of them.
    has_ids: bool,
    unit: Unit,
    recorded: u64,
    all: u64,
}

/// The recorded windows of all processes.
#[derive(Debug, Default)]
pub struct Sampling {
    processes: Vec<OfProcess>,
    blocks: Vec<Block>,
}

impl Sampling {
    /// Those of the traces; `None`: every process was recorded whole.
    ///
    /// # Errors
    /// A part of a file that cannot be read.
    pub fn of(frames: &Frames) -> Result<Option<Arc<Sampling>>> {
        if !frames.processes.iter().any(|process| process.info.is_sample()) {
            return Ok(None);
        }
        let mut rows = frames.fold(
            &tables::CAPTURE,
            &[
                capture::START_NS,
                capture::END_NS,
                capture::FIRST_CORRELATION,
                capture::LAST_CORRELATION,
                capture::STARTS,
            ],
            &Filter::everything(),
            Vec::new,
            |rows: &mut Vec<Row>, batch| {
                let (start, end) = (batch.get(capture::START_NS), batch.get(capture::END_NS));
                let (after, before) = (batch.get(capture::FIRST_CORRELATION), batch.get(capture::LAST_CORRELATION));
                let starts = batch.get(capture::STARTS);
                batch.for_each_row(|i| {
                    rows.extend(start.get(i).map(|start_ns| Row {
                        process: batch.process,
                        start_ns,
                        end_ns: end.get(i),
                        after: after.get(i),
                        before: before.get(i),
                        starts: starts.get(i).unwrap_or(1),
                    }));
                });
            },
            |a, mut b| a.append(&mut b),
        )?;
        rows.sort_unstable_by_key(|row| (row.process, row.start_ns, row.after));
        let mut sampling = Sampling::default();
        for (process, of) in (0..).zip(&frames.processes) {
            let begin_of = |process| rows.partition_point(|row| row.process < process);
            let own = &rows[begin_of(process)..begin_of(process + 1)];
            let of_process = sampling.of_process(process, &of.info, own);
            sampling.processes.push(of_process);
        }
        Ok((!sampling.blocks.is_empty()).then(|| Arc::new(sampling)))
    }

    fn of_process(&mut self, process: u32, info: &ProcessInfo, rows: &[Row]) -> OfProcess {
        if let Some(steps) = info.steps {
            let recorded = rows.len() as u64;
            let (every, of_cycle) = (u64::from(steps.every), u64::from(steps.of_cycle.max(1)));
            // Where nobody has counted the steps, the recorded ones stand for those of their cycles.
            let counted = || recorded.saturating_mul(every) / of_cycle;
            let all = steps.all.unwrap_or_else(counted).max(recorded);
            let cycles = rows.chunks(of_cycle as usize);
            let cycles: Vec<_> =
                cycles.map(|rows| Together { rows, size: rows.len() as u64, weight: ONE }).collect();
            let windows = self.blocks_of(process, &cycles);
            return OfProcess { has_ids: have_ids(&windows), windows, unit: Unit::Steps, recorded, all };
        }
        let Some(budget) = &info.budget else { return OfProcess::default() };
        let sample = if budget.is_steps { by_steps(budget, rows) } else { by_time(budget, rows) };
        let mut windows = self.blocks_of(process, &sample.together);
        if let (None, Some(last), Some(window)) = (budget.ended_ns, rows.last(), windows.last().copied()) {
            // The program was killed, perhaps in a window of which nothing is known but the records.
            let (after, start_ns) = (last.before.map(|id| id.saturating_sub(1)), last.end_ns.unwrap_or(i64::MAX));
            windows.push(Window { after, start_ns, weight: 0, ..window });
        }
        let OfSample { unit, recorded, all, .. } = sample;
        OfProcess { has_ids: have_ids(&windows), windows, unit, recorded, all }
    }

    /// Makes blocks of the windows of a process.
    fn blocks_of(&mut self, process: u32, all: &[Together<'_>]) -> Vec<Window> {
        let mut out = Vec::new();
        for part in all.chunks(all.len().div_ceil(BLOCKS).max(1)) {
            let block = self.blocks.len() as u32;
            self.blocks.push(Block { process, size: part.iter().map(|together| together.size).sum() });
            for Together { rows, weight, .. } in part {
                out.extend(rows.iter().map(|row| Window {
                    after: row.after,
                    start_ns: row.start_ns,
                    block,
                    weight: *weight,
                }));
            }
        }
        out
    }

    /// The block of a record, by the call that caused it or else by its time, and the record's weight; `None`: its process was
    /// recorded whole.
    pub fn block(&self, process: u32, correlation: Option<u64>, start_ns: Option<i64>) -> Option<(u32, u64)> {
        let OfProcess { windows, has_ids, .. } = self.processes.get(process as usize)?;
        let count = match correlation.filter(|&id| id != 0 && *has_ids) {
            Some(id) => windows.partition_point(|window| window.after.is_some_and(|after| after < id)),
            None => windows.partition_point(|window| start_ns.is_some_and(|start_ns| window.start_ns <= start_ns)),
        };
        // What seems to come before the first step belongs to it: what was recorded lies in some step.
        windows.get(count.saturating_sub(1)).map(|window| (window.block, window.weight))
    }

    /// All blocks, those of a process one after the other.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// How much a process did, recorded or not, in the unit of its blocks; and the share of it that was recorded.
    pub fn whole(&self, process: u32) -> (u64, f64) {
        self.processes
            .get(process as usize)
            .map_or((0, 0.0), |of| (of.all, of.recorded as f64 / of.all.max(1) as f64))
    }

    /// How much was recorded, how much there was, and in how many windows, of all processes whose windows are parts of `unit`;
    /// `None`: there is no such process.
    pub fn recorded(&self, unit: Unit) -> Option<(u64, u64, u64)> {
        let of_unit = self.processes.iter().filter(|of| of.unit == unit && !of.windows.is_empty());
        let sums =
            of_unit.map(|of| (of.recorded, of.all, of.windows.iter().filter(|w| w.weight > 0).count() as u64));
        sums.reduce(|a, b| (a.0 + b.0, a.1 + b.1, a.2 + b.2))
    }
}

fn have_ids(windows: &[Window]) -> bool {
    windows.iter().all(|window| window.after.is_some())
}

/// Windows that follow each other and are one observation.
struct Together<'r> {
    rows: &'r [Row],
    /// For how much they stand: steps, or nanoseconds.
    size: u64,
    /// What their records count, in parts of [`ONE`].
    weight: u64,
}

/// The windows of a process with a budget.
struct OfSample<'r> {
    together: Vec<Together<'r>>,
    unit: Unit,
    recorded: u64,
    all: u64,
}

/// `size / recorded` as a weight.
fn weight(size: u64, recorded: u64) -> u64 {
    let (size, recorded) = (u128::from(size), u128::from(recorded.max(1)));
    u64::try_from((size * u128::from(ONE) + recorded / 2) / recorded).unwrap_or(u64::MAX)
}

/// Windows of steps. Steps that follow each other were chosen together, and stand together for those passed over before: the
/// first of them says how many, because to begin each of these was a request to open the gate.
fn by_steps<'r>(budget: &Budgeted, rows: &'r [Row]) -> OfSample<'r> {
    let (mut together, mut all) = (Vec::new(), 0);
    for rows in rows.chunk_by(|_, next| next.starts <= 1) {
        // Of a ring nobody knows what was before.
        let is_unknown = all == 0 && budget.began_ns.is_none();
        let passed = if is_unknown { 0 } else { rows[0].starts.max(1).unsigned_abs() - 1 };
        let steps = rows.len() as u64;
        let size = steps + passed;
        together.push(Together { rows, size, weight: weight(size, steps) });
        all += size;
    }
    let recorded = rows.len() as u64;
    OfSample { together, unit: Unit::Steps, recorded, all: budget.all_steps.unwrap_or(all).max(all) }
}

/// Windows of time. What was passed over before the first one counts if it is known when the recording began.
fn by_time<'r>(budget: &Budgeted, rows: &'r [Row]) -> OfSample<'r> {
    let first_ns = rows.first().map_or(0, |row| row.start_ns);
    let began_ns = budget.began_ns.map_or(first_ns, |began_ns| began_ns.min(first_ns));
    let (mut together, mut recorded, mut until_ns) = (Vec::with_capacity(rows.len()), 0, began_ns);
    for rows in rows.chunks(1) {
        let row = &rows[0];
        // One that did not close was open until the end, and stands for nothing where that is not known.
        let end_ns = row.end_ns.or(budget.ended_ns).unwrap_or(row.start_ns);
        let length_ns = if end_ns > row.start_ns { end_ns.abs_diff(row.start_ns) } else { 0 };
        if length_ns == 0 {
            together.push(Together { rows, size: 0, weight: 0 });
            continue;
        }
        let size = end_ns.max(until_ns).abs_diff(until_ns);
        together.push(Together { rows, size, weight: weight(size, length_ns) });
        recorded += length_ns;
        until_ns = until_ns.max(end_ns);
    }
    let ended_ns = budget.ended_ns.map_or(until_ns, |ended_ns| ended_ns.max(until_ns));
    OfSample { together, unit: Unit::Time, recorded, all: ended_ns.abs_diff(began_ns) }
}
