//! Memory is allocated while the program is at work.

use super::super::{Facts, Rule, Verdict};

/// The rule.
pub(super) static RULE: Rule = Rule {
    name: "steady_allocations",
    what: "The GPU waits while memory is allocated or released",
    looks_at: "Gaps behind the first tenth of the time that was recorded whose launching thread spent most of the gap in cudaMalloc, cudaFree, cudaHostAlloc and the like.",
    bound: "The length of these gaps: memory that is kept is not allocated again.",
    abstains: "Without API calls, without correlation ids, and where records were lost.",
    advice: "Allocate once and reuse the memory, or allocate in the order of a stream with cudaMallocAsync from a pool whose release threshold is high.",
    query: "SELECT from_time, to_time, duration_ns, before, after FROM gaps WHERE cause = 'allocation' ORDER BY duration_ns DESC LIMIT 10",
    judge,
};

fn judge(facts: &Facts) -> Verdict {
    if let Some(why) = facts.causes_unknown() {
        return Verdict::Abstains(why);
    }
    facts.found_gaps(&facts.gap_sum(|device| &device.late_allocations))
}
