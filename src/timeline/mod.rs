//! Timelines.

pub mod picture;
