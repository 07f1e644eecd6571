//! What the launcher and the collector of gpuprof must agree on, each fact in one place:
//!
//! - [`variables`]: the environment variables (and so the flags of `gpuprof record`), their defaults and ranges;
//! - [`capture`] and [`kinds`]: the two settings that have a grammar of their own;
//! - [`ring`]: the flight recorder's settings;
//! - [`template`]: names of output files; [`rank`]: which process of a distributed job this is;
//! - [`nearest`]: the known name that a mistyped one is like;
//! - [`seen`]: the line that each process leaves in `seen.jsonl`; [`cause`]: why a trace is empty;
//! - [`control`]: where a process that runs can be reached, and by whom;
//! - [`find`]: which libcupti to use.
//!
//! Linked into the library that lives inside other people's programs: nothing here panics, reads the environment or
//! (but for [`find`] and [`control`]) opens a file by itself, and everything takes bytes, for neither paths nor variables need be UTF-8.

// No input may panic: the collector runs inside other people's programs.
#![warn(clippy::panic, clippy::unwrap_used, clippy::exit)]

mod budget;
pub mod capture;
pub mod cause;
pub mod control;
pub mod find;
pub mod glob;
pub mod kinds;
pub mod nearest;
pub mod rank;
pub mod ring;
pub mod seen;
mod settings_md;
mod signals;
pub mod template;
mod values;
pub mod variables;

pub use budget::{Budget, conflict as budget_conflict};
pub use capture::{Capture, Cycle};
pub use cause::Cause;
pub use kinds::Kinds;
pub use ring::{DumpRule, Ring};
pub use settings_md::settings_md;
pub use signals::signal_name;
pub use values::bytes;
pub use variables::{
    ApiCalls, Graph, Membership, Prepare, Problem, Processes, Settings, SizePolicy, Subscribers, VARIABLES,
    Variable, from_env,
};
