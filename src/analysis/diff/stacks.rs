//! GPU time of a run by stack, with what differs from run to run of the same program left out: numbers of processes and
//! threads, and of steps.

use super::{Run, Side, Unit, mean};
use crate::analysis::diff::By;
use crate::analysis::labels::Labels;
use crate::analysis::stacks::{Frame, FrameText, Stacks};
use crate::analysis::steps::names::{is_step, without_numbers};
use crate::error::Result;
use crate::trace::select::Filter;
use regex::Regex;
use std::collections::{BTreeMap, BTreeSet};

/// Nanoseconds by stack: the rank where there are several, ranges, call and work.
pub type StackTimes = BTreeMap<Vec<String>, u64>;

/// The stacks of one run; `steps` is what ranges that are steps are called.
///
/// # Errors
/// Fails if a part of a file cannot be read.
pub(super) fn of_run(labels: &Labels, filter: &Filter, steps: Option<&Regex>) -> Result<StackTimes> {
    let text = FrameText::new(labels)?;
    let ranks: Vec<Option<u32>> = labels.frames().processes.iter().map(|process| process.info.rank).collect();
    let has_ranks = ranks.iter().flatten().collect::<BTreeSet<_>>().len() > 1;
    let mut times = StackTimes::new();
    Stacks::by_range(labels, filter)?.for_each(|path, weight| {
        let names = path.iter().filter_map(|&frame| match frame {
            Frame::Process(process) => {
                let rank = ranks.get(process as usize).copied().flatten().filter(|_| has_ranks)?;
                Some(format!("rank {rank}"))
            }
            Frame::Thread { .. } => None,
            Frame::Range { .. } => {
                let name = text.text(frame);
                Some(if is_step(&name, steps) { without_numbers(&name) } else { name.into_owned() })
            }
            other => Some(text.text(other).into_owned()),
        });
        let time = times.entry(names.collect()).or_default();
        *time = time.saturating_add(u64::try_from(weight.total_ns).unwrap_or(u64::MAX));
    });
    Ok(times)
}

/// The time of a stack before and after: means over the runs, in nanoseconds per unit.
#[derive(Clone, Debug, PartialEq)]
pub struct StackChange<'r> {
    /// The frames, outermost first.
    pub frames: &'r [String],
    /// Before; 0: it is new.
    pub before_ns: f64,
    /// After; 0: it is gone.
    pub after_ns: f64,
}

/// The stacks of all runs, in the order of their frames. Runs hold stacks if [`super::RunOptions::stacks`] was set.
pub fn stack_changes<'r>(before: &'r [Run], after: &'r [Run], unit: Unit) -> Vec<StackChange<'r>> {
    let sides = [Side::new(before, By::Kernel, unit, false), Side::new(after, By::Kernel, unit, true)];
    let all: BTreeSet<&Vec<String>> = before.iter().chain(after).flat_map(|run| run.stacks.keys()).collect();
    let mean_ns = |side: &Side, frames: &Vec<String>| {
        mean(&side.per_unit(|run| run.stacks.get(frames).copied().unwrap_or(0) as f64))
    };
    let change = |frames: &'r Vec<String>| StackChange {
        frames,
        before_ns: mean_ns(&sides[0], frames),
        after_ns: mean_ns(&sides[1], frames),
    };
    all.into_iter().map(change).collect()
}
