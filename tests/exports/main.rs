//! What gpuprof writes is right, by readers of the tests' own or by reading it back: exports, timeline pages and pictures,
//! and traces that a script reads without us.

#[path = "../common/common.rs"]
mod common;

mod kineto_original;
mod pieces;
mod python_reader;
mod round_trip;
mod round_trip_chrome;
mod round_trip_sqlite;
mod stacks;
mod timeline;
mod timeline_page;
mod timeline_picture;
mod viewers;
