//! Other people's programs read what gpuprof writes, and find in it what is in the original. What cannot be had here is
//! skipped, loudly.

#[path = "../common/common.rs"]
mod common;

mod chrome;
mod columnar;
mod mcp;
mod perfetto_sql;
mod python;
mod spark;
mod sqlite;
