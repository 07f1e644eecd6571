//! The rules, one file each. A new one is a file and a line here; `docs/insights.md` follows from it.

use super::Rule;

mod blocking_copies;
mod exposed_communication;
mod exposed_copies;
mod host_late;
mod launch_bound;
mod module_loading;
mod pageable_copies;
mod steady_allocations;
mod sync_stalls;

/// Every rule, in the order of the documentation. Of equal gains the first comes first.
pub static RULES: &[&Rule] = &[
    &host_late::RULE,
    &sync_stalls::RULE,
    &launch_bound::RULE,
    &steady_allocations::RULE,
    &module_loading::RULE,
    &blocking_copies::RULE,
    &pageable_copies::RULE,
    &exposed_copies::RULE,
    &exposed_communication::RULE,
];
