//! What a command line of nvprof's asks for.

use crate::report::nvprof::TimeUnit;
use crate::report::nvprof::cpu::Layout;
use std::ffi::OsString;
use std::path::PathBuf;

/// Everything that was asked for.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the table of options says it")]
pub struct Request {
    pub print: Print,
    pub csv: bool,
    pub unit: TimeUnit,
    pub demangling: bool,
    pub openacc_inclusive: bool,
    pub names: Names,
    pub quiet: bool,
    pub log_file: Option<String>,
    pub export: Option<String>,
    pub overwrite: bool,
    pub import: Option<PathBuf>,
    pub kinds: Kinds,
    pub unified_memory: bool,
    pub memory: bool,
    pub latency: bool,
    pub openacc: bool,
    pub openmp: bool,
    pub from_start: bool,
    pub children: bool,
    pub all_processes: bool,
    pub timeout_s: Option<u64>,
    pub system: bool,
    pub cpu: Cpu,
    pub dependencies: bool,
    pub help: bool,
    pub version: bool,
    /// Lines to be said before the application runs, without prefix.
    pub said: Vec<String>,
    /// The application and its arguments.
    pub command: Vec<OsString>,
}

impl Default for Request {
    fn default() -> Self {
        Request {
            print: Print::default(),
            csv: false,
            unit: TimeUnit::Auto,
            demangling: true,
            openacc_inclusive: false,
            names: Names::default(),
            quiet: false,
            log_file: None,
            export: None,
            overwrite: false,
            import: None,
            kinds: Kinds { gpu: true, runtime: true, driver: true },
            unified_memory: true,
            memory: false,
            latency: false,
            openacc: false,
            openmp: false,
            from_start: true,
            children: false,
            all_processes: false,
            timeout_s: None,
            system: false,
            cpu: Cpu { is_on: false, hertz: 100, layout: Layout::default() },
            dependencies: false,
            help: false,
            version: false,
            said: Vec::new(),
            command: Vec::new(),
        }
    }
}

/// The tables asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the table of options says it")]
pub struct Print {
    pub summary: bool,
    pub gpu_summary: bool,
    pub api_summary: bool,
    pub openacc_summary: bool,
    pub openmp_summary: bool,
    pub per_gpu_summary: bool,
    pub gpu_trace: bool,
    pub api_trace: bool,
    pub openacc_trace: bool,
    pub dependency_trace: bool,
}

impl Print {
    /// Whether any sum was asked for.
    pub fn any_summary(&self) -> bool {
        self.summary
            || self.gpu_summary
            || self.api_summary
            || self.openacc_summary
            || self.openmp_summary
            || self.per_gpu_summary
    }

    /// Whether any listing of the profile itself was asked for.
    pub fn any_trace(&self) -> bool {
        self.gpu_trace || self.api_trace || self.openacc_trace
    }
}

/// What things are called.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// Contexts.
    pub context: Option<String>,
    /// Streams.
    pub stream: Option<String>,
    /// The process.
    pub process: Option<String>,
}

/// Which records are collected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kinds {
    /// Kernels, copies and fills.
    pub gpu: bool,
    /// Calls of the runtime API.
    pub runtime: bool,
    /// Calls of the driver API.
    pub driver: bool,
}

/// Sampling of the application's stacks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cpu {
    /// Whether to sample.
    pub is_on: bool,
    /// Samples per second.
    pub hertz: u32,
    /// How they are shown.
    pub layout: Layout,
}
