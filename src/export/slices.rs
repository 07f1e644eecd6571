//! From rows in order of time to slices on the lines of a timeline: what the timeline formats share.
//!
//! [`place::Placing`] takes the chunks of [`Frames::in_order`](crate::trace::frames::Frames::in_order) and gives each
//! row a line ([`line::Line`]), a lane on it ([`super::lanes`]) and a form: a slice, a moment, something still open.
//! It is the one sequential step; what each slice is called and how it is written is decided on all threads.

pub mod definitions;
pub mod line;
pub mod links;
pub mod naming;
pub mod place;
pub mod view;
pub mod words;

use trace_format::schema::TableSpec;
use trace_format::tables;

/// The tables whose rows are drawn.
pub static DRAWN: &[&TableSpec] = &[
    &tables::KERNEL,
    &tables::MEMCPY,
    &tables::MEMSET,
    &tables::API,
    &tables::SYNC,
    &tables::OVERHEAD,
    &tables::GRAPH,
    &tables::MEMORY,
    &tables::UVM,
    &tables::EVENT,
    &tables::JIT,
    &tables::OPENACC,
    &tables::OPENMP,
    &tables::HOST_CALL,
    &tables::RANGE,
    &tables::SAMPLE,
];
