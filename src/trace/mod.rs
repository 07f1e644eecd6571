//! Traces in memory, wherever they came from.

pub mod names;
pub mod sink;
