//! Lines of a timeline: which line a record is drawn on, in which lane of it, and what both are called. Whatever draws
//! records shares it, and keeps to itself only how lines and slices are written.
//!
//! There are three ways to lay records out. Files for viewers (Chrome, Perfetto, speedscope) have one line for each stream
//! and thread ([`line::Line`], named by [`naming`]); the page has nvvp's rows, in which a kernel stands three times
//! ([`page`], [`page_names`]); pictures have a row for each kind of work ([`picture`]). What slices without a name are
//! called is in [`kind_names`], and [`lanes`] keeps apart what overlaps.
//!
//! For Chrome and Perfetto, [`place::Placing`] takes the chunks of
//! [`Frames::in_order`](crate::trace::frames::Frames::in_order) and gives each row a line, a lane on it and a form: a slice,
//! a moment, something still open. It is the one sequential step; what each slice is called and how it is written is
//! decided on all threads.

pub(crate) mod definitions;
pub(crate) mod kind_names;
pub(crate) mod lanes;
pub(crate) mod line;
pub(crate) mod links;
pub(crate) mod naming;
pub(crate) mod page;
pub(crate) mod page_names;
pub(crate) mod picture;
pub(crate) mod place;
pub(crate) mod view;

use trace_format::schema::TableSpec;

/// The tables whose rows are drawn: those that have a place.
pub static DRAWN: &[&TableSpec] = &place::PLACED;
