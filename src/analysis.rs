//! Questions that traces answer: `Frames` in, plain rows out. Nothing here prints or reads files.

pub(crate) mod activity;
pub(crate) mod allocated;
pub(crate) mod contexts;
pub(crate) mod cpu_slices;
pub(crate) mod cpu_stacks;
pub mod dependency;
pub(crate) mod falling;
pub(crate) mod function_calls;
pub mod grouping;
pub mod labels;
pub(crate) mod launches;
pub(crate) mod listing;
pub(crate) mod many_keys;
pub(crate) mod markers;
pub(crate) mod nvtx_sections;
pub(crate) mod openacc;
pub(crate) mod own_cost;
pub mod partial;
pub(crate) mod range_profile;
pub(crate) mod ranges;
pub(crate) mod stacks;
pub mod stats;
pub mod summary;
pub(crate) mod system;
pub mod totals;
pub(crate) mod uvm;
