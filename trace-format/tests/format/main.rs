//! The trace format, written and read, whole and damaged: one file per question, one binary, linked once.

#![allow(clippy::unwrap_used, clippy::panic)] // Helpers of tests count as no tests for clippy.
#![allow(missing_docs)]

mod common;
mod damage;
mod golden;
mod gpu_check;
mod ring;
mod roundtrip;
mod versions;
mod writer;
