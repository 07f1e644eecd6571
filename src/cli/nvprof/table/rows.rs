//! The rows.

use super::Argument::{self, Number, Switch, Text, Word};
use super::Does::{self, Refused, Says, Sets, Works};
use super::NvprofOption;
use crate::cli::nvprof::request::Request;
use crate::cli::nvprof::{collecting, printing};

const NOTHING: fn(&mut Request, &str) = |_, _| {};

/// nvprof's counters of hardware events.
const COUNTERS: &str = "gpuprof collects no hardware counters; use ncu (Nsight Compute), e.g. ncu --set full";
const COUNTERS_ONLY: &str =
    "it is about hardware counters, which gpuprof does not collect; leave it out, or use ncu";

const fn option(
    name: &'static str,
    argument: Argument,
    does: Does,
    doc: &'static str,
    set: fn(&mut Request, &str),
) -> NvprofOption {
    NvprofOption { name, short: None, argument, does, doc, set }
}

const fn with_letter(short: char, option: NvprofOption) -> NvprofOption {
    NvprofOption { short: Some(short), ..option }
}

/// All of them, in the order of nvprof's help.
pub static OPTIONS: &[NvprofOption] = &[
    option("aggregate-mode", Switch, Says(COUNTERS_ONLY), "sum counters over a device", NOTHING),
    option(
        "analysis-metrics",
        Argument::None,
        Refused(COUNTERS),
        "collect what the Visual Profiler analyses",
        NOTHING,
    ),
    option(
        "annotate-mpi",
        Word(&["off", "openmpi", "mpich"]),
        Says(
            "gpuprof does not intercept MPI; preload an NVTX wrapper of MPI, whose ranges are recorded: \
             LD_PRELOAD=libnvtx_pmpi.so",
        ),
        "mark MPI calls with NVTX ranges",
        NOTHING,
    ),
    option(
        "concurrent-kernels",
        Switch,
        Says("kernels are recorded as they run, several at once; CUDA_LAUNCH_BLOCKING=1 runs them one by one"),
        "let kernels run at the same time",
        NOTHING,
    ),
    option(
        "continuous-sampling-interval",
        Number(1, u32::MAX as u64),
        Says(COUNTERS_ONLY),
        "how often counters are read, in ms",
        NOTHING,
    ),
    option(
        "cpu-thread-tracing",
        Switch,
        Says("calls of pthreads are not recorded; --cpu-profiling on shows where threads wait"),
        "record calls of pthreads",
        NOTHING,
    ),
    option("dependency-analysis", Argument::None, Works, "find the critical path and waiting times", |r, _| {
        r.dependencies = true
    }),
    option(
        "device-buffer-size",
        Number(1, u32::MAX as u64),
        Says("CUPTI takes as many buffers of 3.2 MB as it needs; GPUPROF_DEVICE_BUFFERS=N limits them"),
        "device memory for records, in MB",
        NOTHING,
    ),
    option(
        "device-cdp-buffer-size",
        Number(1, u32::MAX as u64),
        Says("CUPTI takes as many buffers of 3.2 MB as it needs; GPUPROF_DEVICE_BUFFERS=N limits them"),
        "device memory for records of kernels that kernels launch, in MB",
        NOTHING,
    ),
    option(
        "devices",
        Text("device ids"),
        Says("it chooses devices for --events and --metrics alone; gpuprof report --filter device=N chooses rows"),
        "devices of the options that follow",
        NOTHING,
    ),
    option(
        "event-collection-mode",
        Word(&["kernel", "continuous"]),
        Says(COUNTERS_ONLY),
        "collect counters by kernel or all the time",
        NOTHING,
    ),
    with_letter('e', option("events", Text("event names"), Refused(COUNTERS), "count hardware events", NOTHING)),
    option(
        "kernel-latency-timestamps",
        Switch,
        Sets("GPUPROF_KINDS"),
        "record when kernels were queued and submitted; the exported database has the times, no listing does",
        |r, v| r.latency = v == "on",
    ),
    option(
        "kernels",
        Text("kernel path syntax"),
        Says("it chooses kernels for --events and --metrics alone; gpuprof report --filter NAME chooses rows"),
        "kernels of the options that follow: name, or context:stream:name:invocation",
        NOTHING,
    ),
    with_letter(
        'm',
        option("metrics", Text("metric names"), Refused(COUNTERS), "derive metrics from events", NOTHING),
    ),
    option("pc-sampling-period", Number(5, 31), Refused(COUNTERS), "sample program counters", NOTHING),
    option(
        "profile-all-processes",
        Argument::None,
        Works,
        "profile what is started elsewhere: with variables that are printed, until Ctrl+C",
        |r, _| r.all_processes = true,
    ),
    option(
        "profile-api-trace",
        Word(&["none", "runtime", "driver", "all"]),
        Sets("GPUPROF_KINDS"),
        "record calls of which API",
        collecting::api_trace,
    ),
    option(
        "profile-child-processes",
        Argument::None,
        Sets("GPUPROF_PROCESSES"),
        "profile the processes that the application starts, too",
        |r, _| r.children = true,
    ),
    option("profile-from-start", Switch, Sets("GPUPROF_CAPTURE"), "off: wait for cudaProfilerStart", |r, v| {
        r.from_start = v == "on"
    }),
    option(
        "profiling-semaphore-pool-size",
        Number(1, u32::MAX as u64),
        Says("it is about kernels run one by one, which gpuprof never does; leave it out"),
        "semaphores for serialised kernels",
        NOTHING,
    ),
    option("query-events", Argument::None, Refused(COUNTERS), "list hardware events", NOTHING),
    option("query-metrics", Argument::None, Refused(COUNTERS), "list metrics", NOTHING),
    option(
        "replay-mode",
        Word(&["disabled", "kernel", "application"]),
        Says(COUNTERS_ONLY),
        "repeat what cannot be counted at once",
        NOTHING,
    ),
    option(
        "skip-kernel-replay-save-restore",
        Switch,
        Says(COUNTERS_ONLY),
        "leave buffers as they are between repetitions",
        NOTHING,
    ),
    with_letter(
        'a',
        option(
            "source-level-analysis",
            Text("source level analysis names"),
            Refused(COUNTERS),
            "count by line of source",
            NOTHING,
        ),
    ),
    option("system-profiling", Switch, Works, "sample clocks, power, temperature and fans", |r, v| {
        r.system = v == "on"
    }),
    with_letter(
        't',
        option(
            "timeout",
            Number(1, u32::MAX as u64),
            Works,
            "stop the application so many seconds after its first CUDA call",
            |r, v| r.timeout_s = v.parse().ok(),
        ),
    ),
    option(
        "trace",
        Text("gpu|api"),
        Sets("GPUPROF_KINDS"),
        "record the GPU's work, API calls, or both with a comma",
        collecting::trace,
    ),
    option("track-memory-allocations", Switch, Sets("GPUPROF_KINDS"), "record allocations and frees", |r, v| {
        r.memory = v == "on"
    }),
    option(
        "unified-memory-profiling",
        Word(&["per-process-device", "off"]),
        Sets("GPUPROF_KINDS"),
        "record page faults and migrations",
        |r, v| r.unified_memory = v != "off",
    ),
    option("cpu-profiling", Switch, Works, "sample the stacks of the application", |r, v| r.cpu.is_on = v == "on"),
    option(
        "cpu-profiling-explain-ccff",
        Text("filename"),
        Says("messages of PGI compilers are not read; ask the compiler for them with -Minfo"),
        "explain messages of PGI compilers",
        NOTHING,
    ),
    option("cpu-profiling-frequency", Number(1, 500), Works, "samples per second", |r, v| {
        r.cpu.hertz = v.parse().unwrap_or(r.cpu.hertz)
    }),
    option(
        "cpu-profiling-max-depth",
        Number(0, u32::MAX as u64),
        Works,
        "deepest level of a stack that is shown; 0: no limit",
        |r, v| r.cpu.layout.max_depth = v.parse().unwrap_or(0),
    ),
    option(
        "cpu-profiling-mode",
        Word(&["flat", "top-down", "bottom-up"]),
        Works,
        "how stacks are shown",
        printing::cpu_mode,
    ),
    option(
        "cpu-profiling-percentage-threshold",
        Number(0, 100),
        Works,
        "leave out what took less than this share",
        |r, v| r.cpu.layout.threshold_percent = v.parse().unwrap_or(0),
    ),
    option(
        "cpu-profiling-scope",
        Word(&["function", "instruction"]),
        Says("samples are of functions and lines, not of instruction addresses; function is used"),
        "what a level of a stack is",
        NOTHING,
    ),
    option(
        "cpu-profiling-show-ccff",
        Switch,
        Says("messages of PGI compilers are not read; ask the compiler for them with -Minfo"),
        "show messages of PGI compilers",
        NOTHING,
    ),
    option("cpu-profiling-show-library", Switch, Works, "show the library of each function", |r, v| {
        r.cpu.layout.show_library = v == "on"
    }),
    option(
        "cpu-profiling-thread-mode",
        Word(&["separated", "aggregated"]),
        Works,
        "show each thread apart",
        |r, v| r.cpu.layout.by_thread = v == "separated",
    ),
    option("cpu-profiling-unwind-stack", Switch, Works, "off: the innermost function alone", |r, v| {
        r.cpu.layout.unwind = v == "on"
    }),
    option("openacc-profiling", Switch, Sets("GPUPROF_KINDS"), "record OpenACC", |r, v| r.openacc = v == "on"),
    option("openmp-profiling", Switch, Sets("GPUPROF_KINDS"), "record OpenMP", |r, v| r.openmp = v == "on"),
    option(
        "context-name",
        Text("name"),
        Works,
        "what contexts are called: %i, %p, %q{VARIABLE}, %h, %%",
        |r, v| r.names.context = Some(v.to_owned()),
    ),
    option("csv", Argument::None, Works, "comma-separated values", |r, _| r.csv = true),
    option("demangling", Switch, Works, "C++ names of functions", |r, v| r.demangling = v == "on"),
    with_letter(
        'u',
        option(
            "normalized-time-unit",
            Word(&["s", "ms", "us", "ns", "col", "auto"]),
            Works,
            "unit of all times",
            printing::time_unit,
        ),
    ),
    option(
        "openacc-summary-mode",
        Word(&["exclusive", "inclusive"]),
        Works,
        "whether time of nested regions counts",
        |r, v| r.openacc_inclusive = v == "inclusive",
    ),
    option("print-api-summary", Argument::None, Works, "sums of API calls", |r, _| r.print.api_summary = true),
    option("print-api-trace", Argument::None, Works, "every API call", |r, _| r.print.api_trace = true),
    option(
        "print-dependency-analysis-trace",
        Argument::None,
        Works,
        "every activity with its part in the critical path",
        |r, _| r.print.dependency_trace = true,
    ),
    option("print-gpu-summary", Argument::None, Works, "sums of the GPU's work", |r, _| r.print.gpu_summary = true),
    option("print-gpu-trace", Argument::None, Works, "every kernel, copy and fill", |r, _| {
        r.print.gpu_trace = true
    }),
    option(
        "print-openacc-constructs",
        Argument::None,
        Says("the construct around a region is not shown; gpuprof query FILE 'SELECT * FROM openacc' has it"),
        "name the construct around OpenACC regions",
        NOTHING,
    ),
    option("print-openacc-summary", Argument::None, Works, "sums of OpenACC regions", |r, _| {
        r.print.openacc_summary = true
    }),
    option("print-openacc-trace", Argument::None, Works, "every OpenACC region", |r, _| {
        r.print.openacc_trace = true
    }),
    option("print-openmp-summary", Argument::None, Works, "sums of OpenMP regions", |r, _| {
        r.print.openmp_summary = true
    }),
    with_letter(
        's',
        option("print-summary", Argument::None, Works, "all sums; so without options", |r, _| {
            r.print.summary = true
        }),
    ),
    option("print-summary-per-gpu", Argument::None, Works, "sums of each GPU", |r, _| {
        r.print.per_gpu_summary = true
    }),
    option(
        "process-name",
        Text("name"),
        Works,
        "what the process is called in the exported file: %p, %q{VARIABLE}, %h, %%",
        |r, v| r.names.process = Some(v.to_owned()),
    ),
    option("quiet", Argument::None, Works, "print errors alone", |r, _| r.quiet = true),
    option("stream-name", Text("name"), Works, "what streams are called: %i, %p, %q{VARIABLE}, %h, %%", |r, v| {
        r.names.stream = Some(v.to_owned())
    }),
    with_letter(
        'o',
        option(
            "export-profile",
            Text("filename"),
            Works,
            "write nvprof's database: %p, %q{VARIABLE}, %h, %%",
            |r, v| r.export = Some(v.to_owned()),
        ),
    ),
    with_letter(
        'f',
        option("force-overwrite", Argument::None, Works, "overwrite that file", |r, _| r.overwrite = true),
    ),
    with_letter(
        'i',
        option(
            "import-profile",
            Text("filename"),
            Works,
            "print a stored profile: nvprof's, or any trace that gpuprof reads",
            |r, v| r.import = Some(v.into()),
        ),
    ),
    option(
        "log-file",
        Text("filename"),
        Works,
        "where everything is printed: %1 the standard output, %2 the standard error, %p, %q{VARIABLE}, %h, %%",
        |r, v| r.log_file = Some(v.to_owned()),
    ),
    option(
        "print-nvlink-topology",
        Argument::None,
        Says("links are not printed; use nvidia-smi nvlink --status and nvidia-smi topo --matrix"),
        "NVLink connections",
        NOTHING,
    ),
    option(
        "print-pci-topology",
        Argument::None,
        Says("the tree of PCI devices is not printed; use nvidia-smi topo --matrix and lspci -tv"),
        "the tree of PCI devices",
        NOTHING,
    ),
    with_letter('h', option("help", Argument::None, Works, "print this", |r, _| r.help = true)),
    with_letter('V', option("version", Argument::None, Works, "print the version", |r, _| r.version = true)),
];
