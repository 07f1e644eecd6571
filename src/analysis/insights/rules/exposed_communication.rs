//! Communication could run behind computation and does not.

use super::super::facts::{COMMUNICATION, COMPUTE, longest_work};
use super::super::{Facts, Found, Rule, Verdict};
use crate::numbers::{counted, short_time};

/// The rule.
pub(super) static RULE: Rule = Rule {
    name: "exposed_communication",
    what: "Communication does not run behind computation",
    looks_at: "Kernels of NCCL and RCCL, by name.",
    bound: "The time in which such kernels ran without any other kernel, as far as there are other kernels without them to hide it behind.",
    abstains: "Never: only names and times are needed.",
    advice: "Start collectives earlier and in smaller pieces, in a stream of their own; in PyTorch tune the buckets of DistributedDataParallel or the prefetching of FSDP. Waiting for a slower rank counts as communication too.",
    query: "SELECT name, stream, start_ns, duration_ns FROM gpu WHERE kind = 'kernel' AND (base_name LIKE 'nccl%' OR base_name LIKE 'rccl%') ORDER BY duration_ns DESC LIMIT 10",
    judge,
};

fn judge(facts: &Facts) -> Verdict {
    let sum = facts.work_of(COMMUNICATION);
    let gain_ns = facts.hideable_communication_ns();
    let Some(longest) = sum.longest.filter(|_| gain_ns > 0) else { return Verdict::Nothing };
    let evidence = format!(
        "{} of communication, {} in all, {} of it without other kernels",
        counted(sum.count, "kernel"),
        short_time(sum.total_ns),
        short_time(facts.exposed_ns(COMMUNICATION, &[COMPUTE]))
    );
    Verdict::Found(Found { gain_ns, records: sum.count, longest: Some(longest_work(&longest)), evidence })
}
