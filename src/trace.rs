//! Traces in memory, wherever they came from.
//!
//! [`frames::Frames`] holds what open files define: names, launch shapes, devices, processes; [`crate::open`] fills it.
//! Rows come out as [`batch::Batch`]es, in parallel and in bounded memory, native files ([`native`]) decoded on demand,
//! foreign ones from what their importer pushed into a [`sink::Sink`], which keeps them in memory or, where they are too many,
//! in a temporary file ([`kept`]). [`ring`] knows recordings that keep only the
//! latest. [`select`] decides which rows take part; [`ordered`] hands them out in order of time. Sums that another tool
//! made are no rows; [`summaries`] holds them.

pub mod batch;
pub(crate) mod by_start;
mod definitions;
pub mod frames;
pub(crate) mod guard;
pub mod kept;
pub(crate) mod names;
mod narrow;
pub(crate) mod native;
mod numbered;
pub(crate) mod ordered;
mod overruns;
pub(crate) mod parquet;
pub(crate) mod ring;
pub mod sampling;
pub mod select;
pub(crate) mod shapes;
pub mod sink;
pub(crate) mod slots;
pub(crate) mod stored;
pub(crate) mod stored_shapes;
pub mod summaries;
