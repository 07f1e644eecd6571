//! Copies block the host, and so nothing else is launched meanwhile.

use super::super::facts::BLOCKING_COPY;
use super::super::{Facts, Rule, Verdict};
use crate::analysis::gap_causes::Cause;

/// The rule.
pub(super) static RULE: Rule = Rule {
    name: "blocking_copies",
    what: "Copies through blocking calls hold up everything else",
    looks_at: "Copies between host and device whose call is not asynchronous, but for copies from the host of 64 KiB or less, which return early; and gaps whose launching thread was in such a call.",
    bound: "The time in which such copies ran without a kernel, as far as there are kernels to hide it behind, and the length of the gaps.",
    abstains: "Without API calls.",
    advice: "Use cudaMemcpyAsync in a stream of its own, from and to pinned memory, while kernels work on other data.",
    query: "SELECT g.name, a.name AS call, g.bytes, g.start_ns, g.duration_ns FROM gpu AS g JOIN api AS a ON a.process = g.process AND a.correlation = g.correlation WHERE g.kind = 'memcpy' AND a.name NOT LIKE '%Async%' ORDER BY g.duration_ns DESC LIMIT 10",
    judge,
};

fn judge(facts: &Facts) -> Verdict {
    if let Some(why) = facts.copies_unknown() {
        return Verdict::Abstains(why);
    }
    facts.found_copies(BLOCKING_COPY, Some(Cause::BlockingCopy))
}
