//! Code is loaded while the device has nothing to do.

use super::super::{Facts, Rule, Verdict, gaps_of};
use crate::analysis::gap_causes::Cause;

/// The rule.
pub(super) static RULE: Rule = Rule {
    name: "module_loading",
    what: "The GPU waits while code is loaded",
    looks_at: "Gaps whose launching thread spent most of the gap in cuModuleLoad, cuLibraryLoad, cuLink and the like.",
    bound: "The length of these gaps: code that is loaded before the work begins holds up nothing.",
    abstains: "Without API calls, without correlation ids, and where records were lost.",
    advice: "Call every kernel once before the work begins, keep compiled code in a cache, or set CUDA_MODULE_LOADING=EAGER to load everything at the start.",
    query: "SELECT from_time, to_time, duration_ns, before, after FROM gaps WHERE cause = 'module loading' ORDER BY duration_ns DESC LIMIT 10",
    judge,
};

fn judge(facts: &Facts) -> Verdict {
    gaps_of(facts, Cause::Module)
}
