//! Questions that traces answer: `Frames` in, plain rows out. Nothing here prints or reads files.

pub mod activity;
pub mod allocated;
pub mod contexts;
pub mod cpu_slices;
pub mod cpu_stacks;
pub mod dependency;
pub mod falling;
pub mod function_calls;
pub mod grouping;
pub mod labels;
pub mod launches;
pub mod listing;
pub mod markers;
pub mod nvtx_sections;
pub mod openacc;
pub mod partial;
pub mod range_profile;
pub mod ranges;
pub mod stacks;
pub mod stats;
pub mod summary;
pub mod system;
pub mod totals;
pub mod uvm;
