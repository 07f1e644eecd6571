//! The `.gpuprof` file: the contract between the collector that writes it and everything that reads it.
//!
//! A reader of this crate starts at [`tables`]: one file per table, each the only place where that table's
//! columns, types, units and meanings are written down; what the numbers of coded columns mean is in [`mod@vocabulary`].
//! [`schema`] turns those lines into a row struct, a column
//! builder and a [`schema::TableSpec`]; [`frame`] says how a batch of rows becomes bytes; [`mod@write`] appends
//! frames to a file and [`read`] finds them again, whatever happened to the file in between. `FORMAT.md` beside this
//! crate is generated from the same registry by [`format_md`].

// Runs inside other people's programs: no input may panic.
#![warn(clippy::panic, clippy::unwrap_used, clippy::exit)]

pub mod columns;
pub mod format_md;
pub mod frame;
pub mod header;
mod index;
pub mod own_cost;
pub mod pages;
pub mod read;
pub mod schema;
pub mod tables;
pub mod vocabulary;
pub mod write;

#[doc(hidden)]
pub use pastey;
