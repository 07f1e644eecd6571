//! Traces that hold some of a program's steps (`--capture nvtx:NAME,every:N,steps:M`): which records lie in which of the
//! recorded steps, and for how many steps those stand.
//!
//! Steps are put together into blocks: those of one cycle, which follow each other and are alike, are one observation, and a
//! long run has at most [`BLOCKS`] of them, so that sums by block stay small.

use super::frames::Frames;
use super::select::Filter;
use crate::error::Result;
use std::sync::Arc;
use trace_format::tables;
use trace_format::tables::column::capture;

/// Blocks of one process, at most. More would make intervals hardly narrower.
const BLOCKS: usize = 256;

/// Some neighbouring steps that were recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Ordinal of the process.
    pub process: u32,
    /// How many steps.
    pub steps: u64,
}

/// A recorded step.
#[derive(Clone, Copy, Debug)]
struct Window {
    /// Correlation ids above this one lie in it; `None`: times tell.
    after: Option<u64>,
    start_ns: i64,
    /// Position in [`Sampling::blocks`].
    block: u32,
}

/// The recorded steps of a process, by their beginning.
#[derive(Debug, Default)]
struct OfProcess {
    windows: Vec<Window>,
    /// Whether correlation ids are known of all of them.
    has_ids: bool,
    all_steps: u64,
}

/// The recorded steps of all processes.
#[derive(Debug, Default)]
pub struct Sampling {
    processes: Vec<OfProcess>,
    blocks: Vec<Block>,
}

impl Sampling {
    /// Those of the traces; `None`: of no process only some steps were recorded.
    ///
    /// # Errors
    /// A part of a file that cannot be read.
    pub fn of(frames: &Frames) -> Result<Option<Arc<Sampling>>> {
        if frames.processes.iter().all(|process| process.info.steps.is_none()) {
            return Ok(None);
        }
        let mut windows = frames.fold(
            &tables::CAPTURE,
            &[capture::START_NS, capture::FIRST_CORRELATION],
            &Filter::everything(),
            Vec::new,
            |windows: &mut Vec<(u32, i64, Option<u64>)>, batch| {
                let (start, after) = (batch.get(capture::START_NS), batch.get(capture::FIRST_CORRELATION));
                batch.for_each_row(|i| {
                    windows.extend(start.get(i).map(|start_ns| (batch.process, start_ns, after.get(i))));
                });
            },
            |a, mut b| a.append(&mut b),
        )?;
        windows.sort_unstable();
        let mut sampling = Sampling::default();
        for (process, of) in (0..).zip(&frames.processes) {
            let begin_of = |process| windows.partition_point(|&(of, ..)| of < process);
            let own = &windows[begin_of(process)..begin_of(process + 1)];
            let own: Vec<_> = own.iter().map(|&(_, start_ns, after)| (start_ns, after)).collect();
            let of_process = match of.info.steps {
                None => OfProcess::default(),
                Some(steps) => {
                    let recorded = own.len() as u64;
                    let (every, of_cycle) = (u64::from(steps.every), u64::from(steps.of_cycle.max(1)));
                    // Where nobody has counted the steps, the recorded ones stand for those of their cycles.
                    let counted = || recorded.saturating_mul(every) / of_cycle;
                    let all_steps = steps.all.unwrap_or_else(counted).max(recorded);
                    let windows = sampling.blocks_of(process, &own, steps.of_cycle as usize);
                    let has_ids = windows.iter().all(|window| window.after.is_some());
                    OfProcess { windows, has_ids, all_steps }
                }
            };
            sampling.processes.push(of_process);
        }
        Ok((!sampling.blocks.is_empty()).then(|| Arc::new(sampling)))
    }

    /// Makes blocks of the windows of a process.
    fn blocks_of(&mut self, process: u32, windows: &[(i64, Option<u64>)], of_cycle: usize) -> Vec<Window> {
        let of_cycle = of_cycle.max(1);
        let cycles = windows.len().div_ceil(of_cycle);
        let steps = cycles.div_ceil(BLOCKS).max(1) * of_cycle;
        let mut out = Vec::with_capacity(windows.len());
        for part in windows.chunks(steps) {
            let block = self.blocks.len() as u32;
            self.blocks.push(Block { process, steps: part.len() as u64 });
            out.extend(part.iter().map(|&(start_ns, after)| Window { after, start_ns, block }));
        }
        out
    }

    /// The block of a record, by the call that caused it or else by its time; `None`: its process was recorded whole.
    pub fn block(&self, process: u32, correlation: Option<u64>, start_ns: Option<i64>) -> Option<u32> {
        let OfProcess { windows, has_ids, .. } = self.processes.get(process as usize)?;
        let count = match correlation.filter(|&id| id != 0 && *has_ids) {
            Some(id) => windows.partition_point(|window| window.after.is_some_and(|after| after < id)),
            None => windows.partition_point(|window| start_ns.is_some_and(|start_ns| window.start_ns <= start_ns)),
        };
        // What seems to come before the first step belongs to it: what was recorded lies in some step.
        windows.get(count.saturating_sub(1)).map(|window| window.block)
    }

    /// All blocks, those of a process one after the other.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// How many steps a process made, recorded or not.
    pub fn all_steps(&self, process: u32) -> u64 {
        self.processes.get(process as usize).map_or(0, |of| of.all_steps)
    }

    /// How many steps were recorded, and how many there were, of all processes.
    pub fn steps(&self) -> (u64, u64) {
        let recorded = self.blocks.iter().map(|block| block.steps).sum();
        (recorded, self.processes.iter().map(|of| of.all_steps).sum())
    }
}
