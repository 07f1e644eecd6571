//! Output as nvprof 11.8 printed it, to the byte, as text and as CSV.
//!
//! People have twelve years of scripts that read these tables, so the layout is a contract: the golden files of the
//! real nvprof decide, and `docs/nvprof-compat.md` lists what they leave open. Everything here turns plain rows
//! into text; names come through [`Labels`], and the caller decides which rows belong together (one process each:
//! nvprof prints one result per process, with its pid in the [`Prefix`]).
//!
//! | nvprof option | entry point |
//! |---|---|
//! | (none), `--print-gpu-summary`, `--print-api-summary`, `--print-openacc-summary` | [`summary::write`] |
//! | `--print-summary-per-gpu` | [`per_gpu::write`] |
//! | `--print-gpu-trace`, `--print-api-trace`, both | [`trace::write`] |
//! | `--print-openacc-trace` | [`openacc::trace`] |
//! | (NVTX ranges recorded) | [`nvtx::write`] |
//! | (unified memory used) | [`uvm::write`] |
//! | `--dependency-analysis`, `--print-dependency-analysis-trace` | [`dependency::summary`], [`dependency::trace`] |
//! | `--cpu-profiling` | [`cpu::write`] |
//! | `--system-profiling` | [`system::write`] |
//! | `--log-file` | [`logfile::expand`] |
//!
//! Each writes what follows the line `Profiling result:`, which is [`messages::Message::Result`].

use crate::cupti::operation;
use trace_format::tables::ShapeRow;

pub(crate) mod cpu;
pub(crate) mod dependency;
#[cfg(test)]
mod fixtures;
pub(crate) mod fmt;
mod listing;
pub(crate) mod logfile;
pub(crate) mod messages;
pub(crate) mod nvtx;
pub(crate) mod openacc;
pub(crate) mod per_gpu;
pub(crate) mod summary;
pub(crate) mod system;
pub(crate) mod trace;
pub(crate) mod uvm;

pub use fmt::TimeUnit;
pub use messages::Prefix;

/// What the command line says about the layout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// `--csv`.
    pub csv: bool,
    /// `--normalized-time-unit`.
    pub unit: TimeUnit,
    /// What start times count from. `None`: from the first row listed, as nvprof does with a stored file.
    pub origin_ns: Option<i64>,
}

/// The names that rows refer to by id.
pub trait Labels {
    /// A kernel's name, demangled as chosen.
    fn kernel(&self, shape: u32) -> &str;
    /// A launch shape; `None` where the trace has none.
    fn shape(&self, shape: u32) -> Option<ShapeRow>;
    /// An API call's name, without version suffix.
    fn api(&self, name: u32) -> &str;
    /// Any interned text: files, variables.
    fn text(&self, name: u32) -> &str;
    /// A device's name; empty where unknown.
    fn device(&self, process: u32, device: u32) -> &str;
    /// What a graph is called that was traced whole.
    fn graph(&self, _graph: u32) -> &str {
        operation::GRAPH
    }
    /// Whether nvprof's own omissions are wanted too, where the default shows more than it did.
    fn as_nvprof(&self) -> bool {
        false
    }
    /// What a context is called; `None`: by its number.
    fn context(&self, _context: u32) -> Option<String> {
        None
    }
    /// What a stream is called; `None`: by its number.
    fn stream(&self, _stream: u32) -> Option<String> {
        None
    }
}

/// A device as nvprof calls it everywhere: `Tesla V100-SXM2-32GB (0)`. A trace may lack the name; `GPU (0)` then.
fn device_label(labels: &dyn Labels, process: u32, device: u32) -> String {
    match labels.device(process, device) {
        "" => format!("GPU ({device})"),
        name => format!("{} ({device})", name.replace(char::is_control, " ")),
    }
}
