//! Asynchronous copies of pageable memory are none.

use super::super::facts::PAGEABLE_COPY;
use super::super::{Facts, Rule, Verdict};
use crate::analysis::gap_causes::Cause;

/// The rule.
pub(super) static RULE: Rule = Rule {
    name: "pageable_copies",
    what: "Asynchronous copies use pageable memory, so they are staged and block",
    looks_at: "Copies between host and device through asynchronous calls whose memory on the host is pageable; and gaps whose launching thread was in an asynchronous copy.",
    bound: "The time in which such copies ran without a kernel, as far as there are kernels to hide it behind, and the length of the gaps.",
    abstains: "Without API calls, and where the trace does not say what kind of memory copies used.",
    advice: "Pin the memory on the host: cudaHostAlloc or cudaHostRegister, in PyTorch `pin_memory=True` and `non_blocking=True`.",
    query: "SELECT name, src_kind, dst_kind, bytes, start_ns, duration_ns FROM gpu WHERE kind = 'memcpy' AND (src_kind = 'pageable' OR dst_kind = 'pageable') ORDER BY duration_ns DESC LIMIT 10",
    judge,
};

fn judge(facts: &Facts) -> Verdict {
    if let Some(why) = facts.copies_unknown().or_else(|| facts.memory_unknown()) {
        return Verdict::Abstains(why);
    }
    facts.found_copies(PAGEABLE_COPY, Some(Cause::AsyncCopy))
}
