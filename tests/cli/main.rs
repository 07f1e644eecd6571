//! The program as people use it on traces that are there already: every option, every answer, every refusal, and that
//! the README shows what is printed. Nothing is recorded here.

#[path = "../common/common.rs"]
mod common;

mod bare_trace;
mod book;
mod cluster;
mod column_names;
mod completeness;
mod config;
mod diff;
mod diff_action;
mod errors;
mod export;
mod generated;
mod help;
mod info;
mod json;
mod layers;
mod mcp;
mod oracles;
mod outputs;
mod python;
mod query;
mod ranks;
mod readme;
mod report;
mod screen;
mod shells;
mod sources;
mod vocabularies;
