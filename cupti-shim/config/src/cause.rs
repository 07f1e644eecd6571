//! Why a process left nothing to look at: an empty result is an outcome with a cause.

use std::borrow::Cow;
use std::fmt;

/// Why a process left no records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The collector was never loaded into it.
    ToolNotLoaded,
    /// It used no CUDA.
    NoCuda,
    /// No usable libcupti was found.
    CuptiNotFound,
    /// CUPTI refused.
    CuptiError {
        /// CUPTI's result code.
        code: u32,
        /// The function that returned it.
        function: Cow<'static, str>,
    },
    /// Recording was never switched on.
    GateNeverOpened,
    /// All that was collected lay outside the windows.
    AllExcluded,
    /// It was killed before anything was written.
    Killed,
    /// The trace could not be written.
    Disk,
    /// Another tool in the process took CUPTI over.
    CuptiTaken,
    /// Another tool was asked for by `CUDA_INJECTION64_PATH`.
    ForeignInjection,
    /// `GPUPROF_PROCESSES` leaves it out.
    NotChosen,
    /// It used CUDA, but launched nothing.
    NothingLaunched,
    /// A cause that this version does not know, from a newer collector.
    Other(String),
}

/// Cause, code, text, remedy: all that carry no data.
static PLAIN: &[(Cause, &str, &str, &str)] = &[
    (
        Cause::ToolNotLoaded,
        "tool_not_loaded",
        "libgpuprof.so was not loaded into it",
        "static, setuid and 32-bit programs, and programs started with a cleared environment, cannot be recorded; \
         `gpuprof record --preload` lists every process that could be",
    ),
    (
        Cause::NoCuda,
        "no_cuda",
        "it used no CUDA",
        "if it should have, see whether it finds a GPU: `gpuprof doctor`",
    ),
    (
        Cause::CuptiNotFound,
        "cupti_not_found",
        "no usable libcupti was found",
        "install the CUPTI of its CUDA version (pip install nvidia-cuda-cupti-cu12), or name one with \
         GPUPROF_CUPTI=/path/libcupti.so.12; `gpuprof doctor` lists what is there",
    ),
    (
        Cause::GateNeverOpened,
        "gate_never_opened",
        "recording was never switched on",
        "choose another --capture, or none to record everything",
    ),
    (
        Cause::AllExcluded,
        "all_excluded",
        "all that was collected lay outside the capture windows",
        "widen the window, or try --membership ran-inside",
    ),
    (
        Cause::Killed,
        "killed",
        "it was killed before anything was written",
        "what was flushed before is kept: a shorter --flush-interval loses less",
    ),
    (Cause::Disk, "disk", "the trace could not be written", "make room, or choose another place with -o"),
    (
        Cause::CuptiTaken,
        "cupti_taken",
        "another tool in the process took CUPTI over",
        "switch off the other profiler (torch.profiler, Proton, nsys, compute-sanitizer) for this run",
    ),
    (
        Cause::ForeignInjection,
        "foreign_injection",
        "CUDA_INJECTION64_PATH names another tool, which was left in place",
        "unset CUDA_INJECTION64_PATH to record with gpuprof",
    ),
    (Cause::NotChosen, "not_chosen", "--processes leaves it out", "choose it with --processes name:GLOB, or all"),
    (
        Cause::NothingLaunched,
        "nothing_launched",
        "it used CUDA but launched nothing",
        "nothing is wrong with the recording",
    ),
];

impl Cause {
    /// The word for the cause that files have.
    pub fn code(&self) -> &str {
        match self {
            Cause::CuptiError { .. } => "cupti_error",
            Cause::Other(code) => code,
            plain => PLAIN.iter().find(|row| row.0 == *plain).map_or("unknown", |row| row.1),
        }
    }

    /// Reads what [`Cause::code`] wrote, with what else was written for a CUPTI error.
    pub fn of(code: &str, cupti_code: Option<u32>, function: Option<&str>) -> Cause {
        if code == "cupti_error" {
            let function = Cow::Owned(function.unwrap_or("a CUPTI function").to_owned());
            return Cause::CuptiError { code: cupti_code.unwrap_or(999), function };
        }
        let plain = PLAIN.iter().find(|row| row.1 == code).map(|row| row.0.clone());
        plain.unwrap_or_else(|| Cause::Other(code.to_owned()))
    }

    /// What to do about it; empty when nobody knows.
    pub fn remedy(&self) -> &'static str {
        match self {
            Cause::CuptiError { code, .. } => cupti_error(*code)
                .map_or("run `gpuprof doctor`, which tries every libcupti that it finds", |(_, _, remedy)| *remedy),
            plain => PLAIN.iter().find(|row| row.0 == *plain).map_or("", |row| row.3),
        }
    }
}

impl fmt::Display for Cause {
    /// One sentence about the process, without a full stop.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cause::CuptiError { code, function } => {
                write!(f, "{function} returned CUPTI error {code}")?;
                cupti_error(*code).map_or(Ok(()), |(_, meaning, _)| write!(f, " ({meaning})"))
            }
            Cause::Other(code) => write!(f, "the collector gave a cause that this version does not know: {code}"),
            plain => f.write_str(PLAIN.iter().find(|row| row.0 == *plain).map_or("unknown", |row| row.2)),
        }
    }
}

/// CUPTI's result code, its meaning and a remedy, for those that people meet.
static CUPTI_ERRORS: &[(u32, &str, &str)] = &[
    (
        2,
        "invalid device",
        "this CUPTI is older than the GPU: install a newer one and name it with GPUPROF_CUPTI=/path/libcupti.so",
    ),
    (8, "out of memory", "lower --memory or free host memory"),
    (
        15,
        "not initialized",
        "this CUPTI is newer than the driver, or there is no GPU: install the one that belongs to the driver's CUDA version, or a newer \
         driver",
    ),
    (21, "invalid kind", "this CUPTI does not know the kind; leave it out with --kinds -NAME"),
    (26, "hardware busy", "another tool uses the GPU's counters: stop DCGM or the other profiler"),
    (27, "not supported", "this GPU or system does not offer it; leave the kind out with --kinds -NAME"),
    (33, "virtualized device", "this virtual GPU does not offer tracing; use another GPU"),
    (
        35,
        "insufficient privileges",
        "allow it: options nvidia NVreg_RestrictProfilingToAdminUsers=0 in /etc/modprobe.d, in a container \
         --cap-add SYS_ADMIN, or run as root; see https://developer.nvidia.com/ERR_NVGPUCTRPERM",
    ),
    (38, "legacy profiler not supported", "this GPU is too new for the kind; leave it out with --kinds -NAME"),
    (
        39,
        "another profiler is subscribed",
        "end the other one for this run: nsys, ncu, compute-sanitizer, cuda-gdb, torch.profiler or a second gpuprof",
    ),
    (40, "not allowed by the hypervisor", "ask for profiling to be allowed on this virtual GPU"),
    (
        41,
        "confidential computing",
        "profiling is not allowed while the GPU runs in confidential mode; use one that does not",
    ),
    (42, "mining card", "these cards do not offer tracing; use another GPU"),
    (43, "MIG device", "leave --device-buffers and hardware tracing out, or use a whole GPU"),
    (45, "WSL", "hardware tracing does not exist in WSL"),
    (
        999,
        "unknown",
        "often a CUPTI newer than the driver, or another tool that holds the GPU: `gpuprof doctor` tells",
    ),
];

fn cupti_error(code: u32) -> Option<&'static (u32, &'static str, &'static str)> {
    CUPTI_ERRORS.iter().find(|row| row.0 == code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_those_of_the_format_and_read_back() {
        let codes: Vec<&str> = PLAIN.iter().map(|row| row.0.code()).collect();
        for code in
            ["tool_not_loaded", "no_cuda", "gate_never_opened", "all_excluded", "killed", "disk", "cupti_taken"]
        {
            assert!(codes.contains(&code), "{code}");
        }
        for (cause, code, text, remedy) in PLAIN {
            assert_eq!(cause.code(), *code);
            assert_eq!(Cause::of(code, None, None), *cause);
            assert_eq!(cause.to_string(), *text);
            assert!(!remedy.is_empty() && !text.ends_with('.') && !text.contains('\n'));
        }
        let mut unique = codes.clone();
        unique.sort_unstable();
        unique.dedup();
        assert_eq!(unique.len(), codes.len());
    }

    #[test]
    fn a_cupti_error_says_code_meaning_and_remedy() {
        let cause = Cause::CuptiError { code: 35, function: "cuptiActivityEnable".into() };
        assert_eq!(cause.to_string(), "cuptiActivityEnable returned CUPTI error 35 (insufficient privileges)");
        assert!(cause.remedy().contains("NVreg_RestrictProfilingToAdminUsers"));
        assert_eq!(Cause::of(cause.code(), Some(35), Some("cuptiActivityEnable")), cause);
        let unheard = Cause::CuptiError { code: 48, function: "cuptiSubscribe".into() };
        assert_eq!(unheard.to_string(), "cuptiSubscribe returned CUPTI error 48");
        assert!(unheard.remedy().contains("doctor"));
    }

    #[test]
    fn a_newer_collectors_cause_is_passed_on() {
        let cause = Cause::of("solar_flare", None, None);
        assert_eq!(cause.code(), "solar_flare");
        assert!(cause.to_string().contains("solar_flare"));
    }
}
