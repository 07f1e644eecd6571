//! The host is busy with something else when the device runs dry.

use super::super::{Facts, Rule, Verdict, gaps_of};
use crate::analysis::gap_causes::Cause;

/// The rule.
pub(super) static RULE: Rule = Rule {
    name: "host_late",
    what: "The GPU waits for the host, which launches late",
    looks_at: "Gaps whose launch began after the device had run dry, while the launching thread was outside of CUDA calls for most of the gap and had not just waited for the device.",
    bound: "The length of these gaps: with work launched ahead there would be none.",
    abstains: "Without API calls, without correlation ids, and where records were lost.",
    advice: "Do the host's work on another thread or earlier, so that launches run ahead: load and prepare data in workers, take Python and logging out of the loop. `gpuprof record --cpu-sampling` shows what the host does.",
    query: "SELECT from_time, to_time, duration_ns, before, after FROM gaps WHERE cause = 'host' ORDER BY duration_ns DESC LIMIT 10",
    judge,
};

fn judge(facts: &Facts) -> Verdict {
    gaps_of(facts, Cause::Host)
}
