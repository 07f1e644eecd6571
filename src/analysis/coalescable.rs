//! Runs of short kernels or copies of one sort that one launch could have done.

use super::in_time::{self, InTime, Stream, Work, WorkKind};
use crate::error::Result;
use crate::trace::frames::Frames;
use crate::trace::select::Filter;
use hashbrown::HashMap;
use std::cmp::Reverse;

/// What makes a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Pieces of work, at least.
    pub least: u64,
    /// How long each may take.
    pub work_ns: i64,
    /// How long the stream may pause between two.
    pub gap_ns: i64,
}

impl Default for Limits {
    /// Those of RatelProf.
    fn default() -> Self {
        Limits { least: 3, work_ns: 1_000_000, gap_ns: 1_000_000 }
    }
}

/// Pieces of work of one sort that follow each other in a stream, with nothing else between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// The first one.
    pub first: Work,
    /// When the last one ended.
    pub end_ns: i64,
    /// How many.
    pub count: u64,
    /// Their durations.
    pub work_ns: i64,
    /// The pauses between them.
    pub gaps_ns: i64,
    /// Bytes copied.
    pub bytes: i64,
}

impl Run {
    fn of(work: &Work) -> Run {
        Run {
            first: *work,
            end_ns: work.end_ns,
            count: 1,
            work_ns: work.duration_ns(),
            gaps_ns: 0,
            bytes: work.bytes,
        }
    }

    /// Takes in the next piece of work, if there is not too long a pause.
    fn add(&mut self, work: &Work, gap_ns: i64) -> bool {
        let pause_ns = work.start_ns.saturating_sub(self.end_ns).max(0);
        if pause_ns > gap_ns {
            return false;
        }
        self.end_ns = self.end_ns.max(work.end_ns);
        self.count += 1;
        self.work_ns = self.work_ns.saturating_add(work.duration_ns());
        self.gaps_ns = self.gaps_ns.saturating_add(pause_ns);
        self.bytes = self.bytes.saturating_add(work.bytes);
        true
    }
}

/// All runs, the longest first, then in order of their start. Kernels are of one sort if they have the same name, copies if they go the
/// same way; any other work between them, a fill too, ends a run.
///
/// # Errors
/// Fails if a part of a file cannot be read.
pub fn coalescable(frames: &Frames, filter: &Filter, limits: Limits) -> Result<Vec<Run>> {
    struct Pass {
        limits: Limits,
        kernels: Vec<u32>,
        open: HashMap<Stream, Run>,
        runs: Vec<Run>,
    }
    impl Pass {
        /// What tells sorts apart; `None`: work that is of none.
        fn sort(&self, work: &Work) -> Option<(bool, u32)> {
            match work.kind {
                WorkKind::Kernel(shape) => Some((true, self.kernels.get(shape as usize).copied()?)),
                WorkKind::Memcpy { kind, .. } => Some((false, kind.into())),
                WorkKind::Memset | WorkKind::Graph(_) => None,
            }
        }
        fn close(&mut self, run: Run) {
            if run.count >= self.limits.least {
                self.runs.push(run);
            }
        }
    }
    impl InTime for Pass {
        fn work(&mut self, work: &Work) {
            let key = (work.process, work.device, work.stream);
            let sort = self.sort(work).filter(|_| work.duration_ns() <= self.limits.work_ns);
            if let Some(mut run) = self.open.remove(&key) {
                if sort.is_some() && self.sort(&run.first) == sort && run.add(work, self.limits.gap_ns) {
                    self.open.insert(key, run);
                    return;
                }
                self.close(run);
            }
            if sort.is_some() {
                self.open.insert(key, Run::of(work));
            }
        }
    }
    let mut pass = Pass { limits, kernels: frames.kernel_numbers(), open: HashMap::new(), runs: Vec::new() };
    in_time::visit_work(frames, filter, &mut pass)?;
    for run in std::mem::take(&mut pass.open).into_values() {
        pass.close(run);
    }
    pass.runs.sort_unstable_by_key(|run| (Reverse(run.count), run.first));
    Ok(pass.runs)
}
