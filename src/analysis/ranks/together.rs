//! Which ranks there are, which of their kernels are one collective, and one time for all: what everything else rests on.

use super::align::{self, Alignment, median};
use super::calls::{Call, KernelCalls, Op};
use super::collectives::{self, Matched};
use super::waits::{self, Timed};
use super::who::{Rank, Who};
use crate::analysis::labels::Labels;
use crate::error::Result;
use crate::numbers::{items, short_time};
use crate::trace::frames::Frames;
use crate::trace::select::Filter;

/// Ends of collectives may scatter by this much in any case.
const SCATTER_NS: i64 = 20_000;

/// Else by no more than this share of what the collectives take, in percent: those that belong together end within microseconds.
const MOST_SCATTER_PERCENT: i64 = 10;

/// Of the collectives, those that may contradict the match before it is given up, in percent.
const MOST_CONTRADICTIONS_PERCENT: usize = 5;

/// What was found.
pub struct Together {
    /// The ranks.
    pub who: Who,
    /// The clock of each rank.
    pub clock_of: Vec<usize>,
    /// Why ranks cannot be held against each other at all.
    pub obstacle: Option<String>,
    /// Collectives, on the clocks of their ranks.
    pub matched: Matched,
    /// One time for all, or why there is none.
    pub alignment: std::result::Result<Alignment, String>,
    /// Collectives on that time, by start; none without it.
    pub timed: Vec<Timed>,
    /// Whether ranks send each other something.
    pub sends: bool,
}

impl Together {
    /// Reads kernels of communication, matches them and puts clocks right.
    ///
    /// # Errors
    /// Fails if a part of a file cannot be read.
    pub fn find(labels: &Labels, filter: &Filter) -> Result<Together> {
        let frames = labels.frames();
        let kernels = KernelCalls::read(labels, filter)?;
        let who = Who::of(frames, &kernels);
        let rank_of = who.finder();
        let numbers: Vec<u32> = who.ranks.iter().map(|rank| rank.number).collect();
        let clock_of: Vec<usize> = who.ranks.iter().map(|rank| rank.clock).collect();
        let obstacle = obstacle(frames, &who);
        let KernelCalls { calls, groups, .. } = kernels;
        let with_rank = |call: Call| Some((rank_of(call.process, call.device)?, call));
        let calls: Vec<(usize, Call)> = calls.into_iter().filter_map(with_rank).collect();
        let sends = calls.iter().any(|(_, call)| call.op == Op::SendRecv);
        let matched = match obstacle {
            Some(_) => Matched::default(),
            None => collectives::matched(&calls, &groups, &numbers),
        };
        let without = match (&obstacle, calls.is_empty(), matched.collectives.is_empty()) {
            (Some(why), ..) => Some(why.clone()),
            (None, true, _) => Some("no kernel of NCCL or RCCL was recorded".to_owned()),
            (None, false, true) => {
                Some("no two ranks have kernels of communication that belong together".to_owned())
            }
            (None, false, false) => None,
        };
        let found = match without {
            Some(why) => Err(why),
            None => align::align(&matched.collectives, &clock_of),
        };
        let found = found.and_then(|alignment| {
            let timed = waits::timed(&matched.collectives, &alignment, &clock_of);
            match contradiction(&timed, &alignment) {
                Some(why) => Err(why),
                None => Ok((alignment, timed)),
            }
        });
        let (alignment, timed) = match found {
            Ok((alignment, timed)) => (Ok(alignment), timed),
            Err(why) => (Err(why), Vec::new()),
        };
        Ok(Together { who, clock_of, obstacle, matched, alignment, timed, sends })
    }

    /// What is remarkable, in sentences.
    pub fn notes(&self) -> Vec<String> {
        let unplaced = self.alignment.as_ref().ok().and_then(|alignment| unplaced(alignment, &self.who));
        self.who.notes.iter().chain(&self.matched.notes).cloned().chain(unplaced).collect()
    }
}

/// Why ranks cannot be held against each other.
fn obstacle(frames: &Frames, who: &Who) -> Option<String> {
    if let Some((number, paths)) = who.twice.iter().next() {
        return Some(format!(
            "rank {number} is there {} ({}): these are traces of several runs, or of one run twice",
            if paths.len() == 2 { "twice".to_owned() } else { format!("{} times", paths.len()) },
            paths.join(", ")
        ));
    }
    match &who.ranks[..] {
        [] => Some("the traces hold no kernels".into()),
        [only] => {
            let path = frames.processes.get(only.process as usize).map(|p| p.path.display().to_string());
            let of = who.world_size.filter(|size| *size > 1).map(|size| format!(" of {size}")).unwrap_or_default();
            Some(format!("there is one rank only: rank {}{of} ({})", only.number, path.unwrap_or_default()))
        }
        _ => None,
    }
}

/// Why matched collectives cannot be what they were taken for.
pub fn contradiction(collectives: &[Timed], alignment: &Alignment) -> Option<String> {
    let joint: Vec<&Timed> = collectives.iter().filter(|c| c.op.waits_for_all()).collect();
    let mut transfers: Vec<i64> = joint.iter().map(|c| c.transfer_ns()).collect();
    let transfer = median(&mut transfers)?;
    if alignment.residual_ns > (transfer / 100).saturating_mul(MOST_SCATTER_PERCENT).max(SCATTER_NS) {
        return Some(format!(
            "the ends of collectives that were taken for one scatter by {} at the median, more than {MOST_SCATTER_PERCENT} % of what they take ({}): the traces do not show which belong together",
            short_time(alignment.residual_ns),
            short_time(transfer)
        ));
    }
    let slack = alignment.residual_ns.saturating_mul(3).saturating_add(1_000);
    let impossible = joint.iter().filter(|c| c.first_end_ns.saturating_add(slack) < c.last_start_ns).count();
    (impossible * 100 > MOST_CONTRADICTIONS_PERCENT * joint.len()).then(|| {
        format!(
            "{impossible} of {} ended on one rank before they began on another: the traces do not show which ranks share a communicator",
            items(joint.len() as u64, "collective", "collectives")
        )
    })
}

/// Ranks whose clock could not be found.
fn unplaced(alignment: &Alignment, who: &Who) -> Option<String> {
    let is_unplaced = |rank: &&Rank| alignment.clocks.get(rank.clock).copied().flatten().is_none();
    let without: Vec<String> = who.ranks.iter().filter(is_unplaced).map(|rank| rank.number.to_string()).collect();
    (!without.is_empty()).then(|| {
        format!(
            "{} {} fewer than {} collectives with the others, so that {} clock is not known: not judged",
            if without.len() == 1 { "rank" } else { "ranks" },
            format_args!("{} {}", without.join(", "), if without.len() == 1 { "has" } else { "have" }),
            align::LEAST_COMMON,
            if without.len() == 1 { "its" } else { "their" }
        )
    })
}
