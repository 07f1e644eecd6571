//! The host waits for the device and so cannot launch ahead.

use super::super::{Facts, Rule, Verdict, gaps_of};
use crate::analysis::gap_causes::Cause;

/// The rule.
pub(super) static RULE: Rule = Rule {
    name: "sync_stalls",
    what: "The GPU runs dry because the host waits for it",
    looks_at: "Gaps whose launching thread had waited for the device (cudaDeviceSynchronize, cudaStreamSynchronize, cudaEventSynchronize and the like) until the gap began, and launched within 0.5 ms of its own time after that.",
    bound: "The length of these gaps: without the wait the next work would have been launched before.",
    abstains: "Without API calls, without correlation ids, and where records were lost.",
    advice: "Wait less often: let streams and events order the work, read results later and several at once. In PyTorch `.item()`, `.cpu()` and printing a tensor wait.",
    query: "SELECT from_time, to_time, duration_ns, before, after FROM gaps WHERE cause = 'synchronization' ORDER BY duration_ns DESC LIMIT 10",
    judge,
};

fn judge(facts: &Facts) -> Verdict {
    gaps_of(facts, Cause::Synchronization)
}
