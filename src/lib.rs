//! gpuprof: where did the GPU time go.
//!
//! Data flows one way, and every module is one station:
//!
//! 1. **Collecting.** [`launch`] starts a program with `libgpuprof.so` (crate `cupti-shim`) inside, which hears from
//!    CUPTI what the GPU did and appends frames to a `NAME.gpuprof` file. The file is the contract between the two
//!    programs: crate [`trace_format`], whose registry says what every table and column means. What both must agree on
//!    beside it is in crate [`shim_config`]; [`doctor`] says why a machine cannot record.
//! 2. **Opening.** [`open`] takes files, folders and globs ([`trace::frames::Frames::open`]) and fills
//!    [`trace::frames::Frames`], which holds rows and nothing else. Native files ([`trace::native`]) are decoded frame by
//!    frame when somebody asks; every other format has an importer in [`import`] that pushes typed rows into a
//!    [`trace::sink::Sink`]. Content decides which one, never the name. From here on nobody knows or cares where
//!    records came from.
//! 3. **Answering.** [`analysis`] turns `Frames` into plain rows: exact integer statistics, sorted listings, named
//!    by [`analysis::labels::Labels`] ([`demangle`], [`cupti`]), restricted by a [`trace::select::Filter`].
//! 4. **Showing.** [`report`] lays rows out as nvprof did ([`report::nvprof`]) or as typed tables named after nsys's
//!    reports ([`report::VIEWS`]), which [`render`] writes as text, CSV, TSV, JSON or Markdown.
//!    [`lines`] says on which line of a timeline a record is drawn, and what lines and records are called there.
//!    [`export`] writes all rows for other tools, one format per file, in one order of time
//!    ([`trace::ordered`]); [`timeline`] draws them as a page, from a server or as a picture; [`query`] answers SQL;
//!    [`cluster`] has Spark add up exported rows and shows the sums as [`report`] would.
//! 5. **Watching.** [`live`] follows traces that are still written, [`top`] shows their last seconds; [`control`] finds
//!    processes that record and tells them what to do.
//! 6. **Asking.** [`cli`] has one file per subcommand; only `main` exits. [`mcp`] answers other programs: each of their
//!    questions is a subcommand in a process of its own.
//!
//! All of them stand on common ground, which is neither about traces nor about files: [`os`], [`error`], [`note`],
//! [`numbers`] in sentences, commands for a [`shell`], [`metrics`] of samples, names that [`cupti`] gives and [`demangle`] makes readable, and
//! [`exchange`], the names that an exporter and the importer of the same format must spell alike. A module uses what
//! stands below it and never what stands above; `tests/cli/layers.rs` has the list of what may use what, and fails naming
//! the line that uses anything else.
//!
//! What is `pub` here is what the program, the tests, the benches and `docs/extending.md` use: to read traces ([`trace`],
//! [`import`], [`cupti`], [`demangle`], [`metrics`]), to ask them ([`analysis`], [`report`], [`render`], [`query`]), to
//! write and draw them ([`export`], [`lines`], [`timeline`], [`top`]), to run subcommands ([`cli`]), to write a launcher's
//! trace as `gpuprof record` does ([`launch`]), and what all of these give back or print ([`error`], [`numbers`]). Every
//! other module is `pub(crate)`, so that the compiler names what nothing uses any more.
//!
//! Whoever adds something finds the steps in `docs/extending.md`: every file to touch for a kind of CUPTI's records, a
//! reader, a view, an export format, a setting, a verb of `gpuprof ctl`, a rule that makes dumps, a check of `doctor` and
//! a sampler, and which test fails where a step is forgotten.
//!
//! Times are integer nanoseconds from the file to the last digit printed. Whatever is partial is said: readers
//! leave [`trace::sink::Note`]s, which every command prints before its answer.

// The tour above leads into rooms that are not open to the public.
#![allow(rustdoc::private_intra_doc_links, reason = "documentation is read with the sources")]
// No input may panic, and only `main` ends the program.
#![warn(clippy::panic, clippy::unwrap_used, clippy::exit)]

pub mod analysis;
pub mod cli;
pub(crate) mod cluster;
pub(crate) mod control;
pub mod cupti;
pub mod demangle;
pub(crate) mod doctor;
pub mod error;
pub(crate) mod exchange;
pub mod export;
pub mod import;
pub mod launch;
pub mod lines;
pub(crate) mod live;
pub(crate) mod mcp;
pub mod metrics;
pub(crate) mod note;
pub mod numbers;
pub(crate) mod open;
pub(crate) mod os;
pub mod query;
pub mod render;
pub mod report;
pub(crate) mod shell;
pub mod timeline;
pub mod top;
pub mod trace;

/// Compiles the examples of `docs/extending.md`, so that they stay true.
#[cfg(doctest)]
#[doc = include_str!("../docs/extending.md")]
struct Extending;
