//! Copies could run behind kernels and do not.

use super::super::facts::OTHER_COPY;
use super::super::{Facts, Rule, Verdict};

/// The rule.
pub(super) static RULE: Rule = Rule {
    name: "exposed_copies",
    what: "Copies do not run behind kernels",
    looks_at: "Copies between host and device, or between devices, that are neither blocking nor of pageable memory.",
    bound: "The time in which such copies ran without a kernel, as far as there are kernels to hide it behind.",
    abstains: "Never: only times are needed.",
    advice: "Copy the next piece of data in a second stream while kernels work on this one (double buffering).",
    query: "SELECT name, src_kind, dst_kind, bytes, stream, start_ns, duration_ns FROM gpu WHERE kind = 'memcpy' AND copy_kind <> 'DtoD' ORDER BY duration_ns DESC LIMIT 10",
    judge,
};

fn judge(facts: &Facts) -> Verdict {
    facts.found_copies(OTHER_COPY, None)
}
