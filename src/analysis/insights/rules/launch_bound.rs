//! Kernels are shorter than launching them takes.

use super::super::{Facts, Rule, Verdict, gaps_of};
use crate::analysis::gap_causes::Cause;

/// The rule.
pub(super) static RULE: Rule = Rule {
    name: "launch_bound",
    what: "Kernels end sooner than the next ones can be launched",
    looks_at: "Gaps whose launching thread did little else than launching: it was outside of CUDA calls no longer than 50 us before the launch.",
    bound: "The length of these gaps: a graph or a fused kernel needs no launch for each kernel.",
    abstains: "Without API calls, without correlation ids, and where records were lost.",
    advice: "Launch less: capture the loop in a CUDA graph, fuse small kernels (torch.compile), or give each kernel more to do.",
    query: "SELECT from_time, to_time, duration_ns, before, after FROM gaps WHERE cause = 'launch' ORDER BY duration_ns DESC LIMIT 10",
    judge,
};

fn judge(facts: &Facts) -> Verdict {
    gaps_of(facts, Cause::Launch)
}
