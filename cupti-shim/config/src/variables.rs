//! The environment variables: name, flag, default, range and meaning of each in one row of [`VARIABLES`], from which
//! the collector's reading, the launcher's flags, `docs/collector-settings.md` and warnings derive.

use crate::budget::{self, BUDGET_GRAMMAR, Budget};
use crate::capture::{Capture, GRAMMAR};
use crate::control::RuntimeDir;
use crate::glob;
use crate::kinds::{GRAPH_TRACE, Kinds, PRESETS, Preset};
use crate::nearest::nearest;
use crate::ring::{DUMP_GRAMMAR, DumpRule, RING_GRAMMAR, Ring};
use crate::signals;
use crate::template;
use crate::values::{
    bytes, milliseconds, one_of, show_bytes, show_ms, show_number, show_switch, shown, switch, whole, within,
};
use std::fmt;

/// Every variable begins so.
pub const PREFIX: &str = "GPUPROF_";

/// Which records belong to a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Membership {
    /// Those whose launch call began inside.
    #[default]
    Launched,
    /// Those that ran inside.
    RanInside,
}

/// Whether kernels are collected, and left out by the writer, before the gate opens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Prepare {
    /// Where it is known to be needed.
    #[default]
    Auto,
    /// Always.
    On,
    /// Never.
    Off,
}

/// What is recorded of a CUDA graph.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Graph {
    /// Every node.
    #[default]
    Node,
    /// Each launch as a whole, which hides its nodes.
    Graph,
}

/// How CUPTI is asked for records of API calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ApiCalls {
    /// All calls of an API, and those that only ask a question left out again.
    #[default]
    ByKind,
    /// Each call that is wanted by itself, so that CUPTI need not look at the others.
    ByCall,
}

/// Whether CUPTI may have other subscribers beside this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subscribers {
    /// None.
    Single,
    /// As many as it can serve.
    Multiple,
}

/// What happens at the size limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SizePolicy {
    /// Recording ends.
    #[default]
    Stop,
    /// The oldest segment is removed.
    Ring,
}

/// Which processes are recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Processes {
    /// Each that uses CUDA.
    #[default]
    All,
    /// Those whose program's file name matches a shell pattern.
    Named(Vec<u8>),
    /// The one process that the process of this number has started, and not what that starts.
    ChildrenOf(u32),
}

impl Processes {
    /// Whether a process is recorded whose program has this file name (no folder) and that was started by process
    /// `parent`.
    pub fn wants(&self, name: &[u8], parent: u32) -> bool {
        match self {
            Processes::All => true,
            Processes::Named(pattern) => glob::matches(pattern, name),
            Processes::ChildrenOf(pid) => *pid == parent,
        }
    }
}

/// Every setting, checked. The row of [`VARIABLES`] with the field's name says what it means.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the table says it, once")]
pub struct Settings {
    pub output: Vec<u8>,
    pub capture: Capture,
    /// `None`: recording costs what it costs.
    pub budget: Option<Budget>,
    /// 0: no limit.
    pub max_ranges: u64,
    pub membership: Membership,
    pub prepare: Prepare,
    pub sync_at_range: bool,
    pub preset: Preset,
    pub kinds: Kinds,
    pub graph: Graph,
    /// A multiple of 4096.
    pub block_bytes: u64,
    pub memory_bytes: u64,
    pub flush_ms: u64,
    pub exit_deadline_ms: u64,
    /// 0: no limit.
    pub size_limit_bytes: u64,
    pub size_policy: SizePolicy,
    /// `None`: everything is kept, as far as the size limit allows.
    pub ring: Option<Ring>,
    pub dump_on: Vec<DumpRule>,
    pub max_dumps: u64,
    /// `None`: no signal.
    pub dump_signal: Option<u8>,
    pub min_free_percent: u64,
    /// `None`: as CUPTI has it.
    pub device_buffers: Option<u64>,
    pub fsync: bool,
    pub verbose: u8,
    pub cupti: Option<Vec<u8>>,
    pub mute: bool,
    pub api_calls: ApiCalls,
    pub subscribers: Subscribers,
    pub nvtx: bool,
    pub nvtx_chain: Option<Vec<u8>>,
    pub runtime_dir: RuntimeDir,
    /// A signal's number.
    pub toggle_signal: Option<u8>,
    /// Frames kept of each launch; 0: none are.
    pub launch_stacks: u64,
    pub seen: Option<Vec<u8>>,
    pub shim: Option<Vec<u8>>,
    pub nvml: Option<Vec<u8>>,
    pub disable: bool,
    pub processes: Processes,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            output: template::DEFAULT.as_bytes().to_vec(),
            capture: Capture::All,
            budget: None,
            max_ranges: 0,
            membership: Membership::Launched,
            prepare: Prepare::Auto,
            sync_at_range: false,
            preset: Preset::Default,
            kinds: Kinds::default(),
            graph: Graph::Node,
            block_bytes: 512 << 10,
            memory_bytes: 64 << 20,
            flush_ms: 500,
            exit_deadline_ms: 2_000,
            size_limit_bytes: 64 << 30,
            size_policy: SizePolicy::Stop,
            ring: None,
            dump_on: Vec::new(),
            max_dumps: 16,
            dump_signal: None,
            min_free_percent: 5,
            device_buffers: None,
            fsync: false,
            verbose: 1,
            cupti: None,
            mute: true,
            api_calls: ApiCalls::ByKind,
            subscribers: SUBSCRIBERS[0].1,
            nvtx: true,
            nvtx_chain: None,
            runtime_dir: RuntimeDir::Default,
            toggle_signal: None,
            launch_stacks: 0,
            seen: None,
            shim: None,
            nvml: None,
            disable: false,
            processes: Processes::All,
        }
    }
}

/// How a setting appears among the flags of `gpuprof record`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flag {
    /// `--NAME VALUE`, with what stands for the value in help.
    Value(&'static str, &'static str),
    /// `--NAME`, or `--NAME=off`.
    Switch(&'static str),
    /// None: the launcher sets it itself, or it makes no sense there.
    None,
}

/// One setting.
pub struct Variable {
    /// Name of the environment variable.
    pub name: &'static str,
    /// Its flag.
    pub flag: Flag,
    /// What holds without it, as it would be written; empty: nothing.
    pub default: &'static str,
    /// What may be written.
    pub range: &'static str,
    /// One line that says what it does.
    pub doc: &'static str,
    read: fn(&mut Settings, &[u8]) -> Result<(), String>,
    show: fn(&Settings) -> String,
}

impl Variable {
    /// Says what is wrong with a value, as the end of a sentence that begins with it.
    ///
    /// # Errors
    /// Fails if the value is not valid. The error says why.
    pub fn check(&self, value: &[u8]) -> Result<(), String> {
        (self.read)(&mut Settings::default(), value)
    }

    /// Puts a value into `settings`.
    ///
    /// # Errors
    /// Fails if the value is not valid, with the words of [`Variable::check`]. Then `settings` stay as they were.
    pub fn put(&self, settings: &mut Settings, value: &[u8]) -> Result<(), String> {
        (self.read)(settings, value)
    }

    /// The value that holds in `settings`, as it would be written; empty: nothing.
    pub fn value_in(&self, settings: &Settings) -> String {
        (self.show)(settings)
    }
}

/// Something about the environment that is not as it should be. The collector goes on with the default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The variable.
    pub variable: String,
    /// What it was set to.
    pub value: String,
    /// What is wrong, as the end of a sentence.
    pub why: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}: {}", self.variable, self.value, self.why)
    }
}

fn word<T: Copy>(value: &[u8], words: &[(&str, T)]) -> Result<T, String> {
    let found = words.iter().find(|(word, _)| word.as_bytes() == value);
    let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
    found.map(|(_, meaning)| *meaning).ok_or_else(|| format!("is not {}", one_of(&known)))
}

fn word_of<T: PartialEq>(meaning: &T, words: &[(&'static str, T)]) -> String {
    words.iter().find(|(_, m)| m == meaning).map_or("", |(word, _)| word).to_owned()
}

static MEMBERSHIPS: [(&str, Membership); 2] =
    [("launched", Membership::Launched), ("ran-inside", Membership::RanInside)];
static PREPARES: [(&str, Prepare); 3] = [("auto", Prepare::Auto), ("on", Prepare::On), ("off", Prepare::Off)];
static GRAPHS: [(&str, Graph); 2] = [("node", Graph::Node), ("graph", Graph::Graph)];
static API_CALLS: [(&str, ApiCalls); 2] = [("by-kind", ApiCalls::ByKind), ("by-call", ApiCalls::ByCall)];
/// The first is the default.
const SUBSCRIBERS: [(&str, Subscribers); 2] =
    [("single", Subscribers::Single), ("multiple", Subscribers::Multiple)];
static POLICIES: [(&str, SizePolicy); 2] = [("stop", SizePolicy::Stop), ("ring", SizePolicy::Ring)];

/// Frames of a launch that are kept unless a number is given: enough to leave a framework's own.
const LAUNCH_FRAMES: u64 = 8;

fn path(value: &[u8]) -> Result<Option<Vec<u8>>, String> {
    if value.contains(&0) {
        return Err("has a zero byte, which no path has".to_owned());
    }
    Ok(Some(value.to_vec()))
}

fn show_path(path: &Option<Vec<u8>>) -> String {
    path.as_deref().map(shown).unwrap_or_default()
}

/// `value` between `least` and `most`, or nothing at all, which is written 0.
fn limit(value: u64, least: u64, most: u64, show: fn(u64) -> String) -> Result<u64, String> {
    if value == 0 { Ok(0) } else { within(value, least, most, show).map_err(|why| format!("{why}, or 0 for none")) }
}

/// Every setting there is, in the order of help and documentation.
pub static VARIABLES: &[Variable] = &[
    Variable {
        name: "GPUPROF_OUTPUT",
        flag: Flag::None, // `record` has -o, which may also name a folder.
        default: template::DEFAULT,
        range: "a path with %p (pid), %h (host), %t (start time), %n (process name), %r (rank), %q{VARIABLE}, %%",
        doc: "Name of each process's trace; nothing is ever overwritten, a clash takes a suffix",
        read: |s, v| {
            template::check_form(v).map_err(|why| why.to_string())?;
            s.output = v.to_vec();
            Ok(())
        },
        show: |s| shown(&s.output),
    },
    Variable {
        name: "GPUPROF_CAPTURE",
        flag: Flag::Value("capture", "MODE"),
        default: "all",
        range: GRAMMAR,
        doc: "When records are kept",
        read: |s, v| Capture::parse(v).map(|capture| s.capture = capture),
        show: |s| s.capture.to_string(),
    },
    Variable {
        name: "GPUPROF_BUDGET",
        flag: Flag::Value("budget", "PERCENT"),
        default: "",
        range: BUDGET_GRAMMAR,
        doc: "Record only as much of the time as costs this share of it; sums become estimates (docs/some-steps.md)",
        read: |s, v| Budget::parse(v).map(|budget| s.budget = Some(budget)),
        show: |s| s.budget.map(|budget| budget.to_string()).unwrap_or_default(),
    },
    Variable {
        name: "GPUPROF_MAX_RANGES",
        flag: Flag::Value("max-ranges", "N"),
        default: "0",
        range: "a whole number; 0: no limit",
        doc: "Stop for good after this many capture windows",
        read: |s, v| whole(v).map(|n| s.max_ranges = n),
        show: |s| s.max_ranges.to_string(),
    },
    Variable {
        name: "GPUPROF_MEMBERSHIP",
        flag: Flag::Value("membership", "WHICH"),
        default: "launched",
        range: "launched or ran-inside",
        doc: "What belongs to a window: work that was launched in it, or work that ran in it",
        read: |s, v| word(v, &MEMBERSHIPS).map(|m| s.membership = m),
        show: |s| word_of(&s.membership, &MEMBERSHIPS),
    },
    Variable {
        name: "GPUPROF_PREPARE",
        flag: Flag::Value("prepare", "HOW"),
        default: "auto",
        range: "auto, on or off",
        doc: "Trace kernels from the start and leave out what is outside windows, for programs that capture CUDA \
              graphs before the gate opens",
        read: |s, v| word(v, &PREPARES).map(|p| s.prepare = p),
        show: |s| word_of(&s.prepare, &PREPARES),
    },
    Variable {
        name: "GPUPROF_SYNC_AT_RANGE",
        flag: Flag::Switch("sync-at-range"),
        default: "off",
        range: "on or off",
        doc: "Wait for the device where a window opens and closes; slows the program down",
        read: |s, v| switch(v).map(|on| s.sync_at_range = on),
        show: |s| show_switch(s.sync_at_range),
    },
    Variable {
        name: "GPUPROF_PRESET",
        flag: Flag::Value("preset", "HOW-MUCH"),
        default: "default",
        range: "light (kernels, copies, fills, and what names GPUs, contexts and streams), default or full (every kind)",
        doc: "How much is collected, and so what it costs; --kinds takes its place",
        read: |s, v| word(v, &PRESETS).map(|preset| s.preset = preset),
        show: |s| word_of(&s.preset, &PRESETS),
    },
    Variable {
        name: "GPUPROF_KINDS",
        flag: Flag::Value("kinds", "LIST"),
        default: "default",
        range: "names with commas; +NAME and -NAME change the default set",
        doc: "What is collected",
        read: |s, v| Kinds::parse(v).map(|kinds| s.kinds = kinds),
        show: |s| s.kinds.to_string(),
    },
    Variable {
        name: "GPUPROF_GRAPH",
        flag: Flag::Value("graph", "LEVEL"),
        default: "node",
        range: "node or graph",
        doc: "Record every node of a CUDA graph, or each launch as a whole, which is cheaper but hides the nodes",
        read: |s, v| word(v, &GRAPHS).map(|g| s.graph = g),
        show: |s| word_of(&s.graph, &GRAPHS),
    },
    Variable {
        name: "GPUPROF_MUTE",
        flag: Flag::Value("mute", "on|off"),
        default: "on",
        range: "on or off",
        doc: "Leave out calls that only ask a question, such as cudaGetDevice, where CUPTI can (12.5 and later)",
        read: |s, v| switch(v).map(|on| s.mute = on),
        show: |s| show_switch(s.mute),
    },
    Variable {
        name: "GPUPROF_API_CALLS",
        flag: Flag::None, // Until hardware has said what it costs.
        default: "by-kind",
        range: "by-kind or by-call",
        doc: "How CUPTI is asked for API calls: for all of an API, with questions left out again, or for each wanted call \
              by itself, which may be cheaper (with GPUPROF_MUTE=on; before 12.5 those that launch, copy, wait, allocate \
              or load)",
        read: |s, v| word(v, &API_CALLS).map(|how| s.api_calls = how),
        show: |s| word_of(&s.api_calls, &API_CALLS),
    },
    Variable {
        name: "GPUPROF_SUBSCRIBERS",
        flag: Flag::None, // Until hardware has confirmed it.
        default: SUBSCRIBERS[0].0,
        range: "single or multiple",
        doc: "Whether other profilers in the program may use CUPTI at the same time, which takes CUPTI 13.3, a driver of CUDA \
              13.3 (r610), and profilers that ask for it too",
        read: |s, v| word(v, &SUBSCRIBERS).map(|subscribers| s.subscribers = subscribers),
        show: |s| word_of(&s.subscribers, &SUBSCRIBERS),
    },
    Variable {
        name: "GPUPROF_NVTX",
        flag: Flag::Value("nvtx", "on|off"),
        default: "on",
        range: "on or off",
        doc: "Record NVTX ranges and marks",
        read: |s, v| switch(v).map(|on| s.nvtx = on),
        show: |s| show_switch(s.nvtx),
    },
    Variable {
        name: "GPUPROF_LAUNCH_STACKS",
        flag: Flag::Switch("launch-stacks"),
        default: "off",
        range: "on (8 frames), off, or a number of frames up to 64",
        doc: "Keep the Python frames from which each kernel was launched, the innermost so many; takes 2 % of the \
              program's time at most (docs/host-stacks.md)",
        read: |s, v| {
            s.launch_stacks = match switch(v) {
                Ok(on) if v != b"1" => {
                    if on {
                        LAUNCH_FRAMES
                    } else {
                        0
                    }
                }
                _ => within(whole(v)?, 0, 64, show_number)?,
            };
            Ok(())
        },
        show: |s| match s.launch_stacks {
            0 => "off".to_owned(),
            LAUNCH_FRAMES => "on".to_owned(),
            frames => frames.to_string(),
        },
    },
    Variable {
        name: "GPUPROF_PROCESSES",
        flag: Flag::Value("processes", "WHICH"),
        default: "all",
        range: "all, name:GLOB or children-of:PID",
        doc: "Which processes are recorded: by the file name of their program, or those that one process started itself",
        read: |s, v| {
            s.processes = match v.strip_prefix(b"name:") {
                Some(pattern) if !pattern.is_empty() => Processes::Named(pattern.to_vec()),
                _ if v == b"all" => Processes::All,
                _ => match v.strip_prefix(b"children-of:").map(whole) {
                    Some(Ok(pid)) if (1..=u64::from(u32::MAX)).contains(&pid) => Processes::ChildrenOf(pid as u32),
                    _ => {
                        return Err("is not all, name:GLOB or children-of:PID, e.g. name:python*".to_owned());
                    }
                },
            };
            Ok(())
        },
        show: |s| match &s.processes {
            Processes::All => "all".to_owned(),
            Processes::Named(pattern) => format!("name:{}", shown(pattern)),
            Processes::ChildrenOf(pid) => format!("children-of:{pid}"),
        },
    },
    Variable {
        name: "GPUPROF_BLOCK_BYTES",
        flag: Flag::Value("block-size", "SIZE"),
        default: "512KiB",
        range: "16KiB to 16MiB",
        doc: "Size of the blocks that CUPTI fills: smaller ones arrive sooner, larger ones cost less",
        read: |s, v| {
            let size = within(bytes(v)?, 16 << 10, 16 << 20, show_bytes)?;
            s.block_bytes = size.next_multiple_of(4096);
            Ok(())
        },
        show: |s| show_bytes(s.block_bytes),
    },
    Variable {
        name: "GPUPROF_MEMORY_BYTES",
        flag: Flag::Value("memory", "SIZE"),
        default: "64MiB",
        range: "1MiB to 16GiB",
        doc: "Most memory that blocks may take; when they are all full, records are lost and counted",
        read: |s, v| within(bytes(v)?, 1 << 20, 16 << 30, show_bytes).map(|size| s.memory_bytes = size),
        show: |s| show_bytes(s.memory_bytes),
    },
    Variable {
        name: "GPUPROF_FLUSH_MS",
        flag: Flag::Value("flush-interval", "TIME"),
        default: "500ms",
        range: "10ms to 60s",
        doc: "How often finished records are fetched and written: the most that a killed program loses",
        read: |s, v| within(milliseconds(v)?, 10, 60_000, show_ms).map(|ms| s.flush_ms = ms),
        show: |s| show_ms(s.flush_ms),
    },
    Variable {
        name: "GPUPROF_EXIT_DEADLINE_MS",
        flag: Flag::Value("exit-deadline", "TIME"),
        default: "2000ms",
        range: "0 to 60s",
        doc: "How long the program's end may wait for the last records",
        read: |s, v| within(milliseconds(v)?, 0, 60_000, show_ms).map(|ms| s.exit_deadline_ms = ms),
        show: |s| show_ms(s.exit_deadline_ms),
    },
    Variable {
        name: "GPUPROF_SIZE_LIMIT_BYTES",
        flag: Flag::Value("size-limit", "SIZE"),
        default: "64GiB",
        range: "1MiB to 1024TiB; 0: no limit",
        doc: "Most that one process's trace may take on disk",
        read: |s, v| limit(bytes(v)?, 1 << 20, 1 << 50, show_bytes).map(|size| s.size_limit_bytes = size),
        show: |s| show_bytes(s.size_limit_bytes),
    },
    Variable {
        name: "GPUPROF_SIZE_POLICY",
        flag: Flag::Value("size-policy", "WHAT"),
        default: "stop",
        range: "stop or ring",
        doc: "What happens at the size limit: recording ends, or the oldest part goes",
        read: |s, v| word(v, &POLICIES).map(|p| s.size_policy = p),
        show: |s| word_of(&s.size_policy, &POLICIES),
    },
    Variable {
        name: "GPUPROF_RING",
        flag: Flag::Value("ring", "LIMIT"),
        default: "",
        range: RING_GRAMMAR,
        doc: "Keep only the latest, in segments under NAME.ring/, and dump it when asked (docs/flight-recorder.md)",
        read: |s, v| Ring::parse(v).map(|ring| s.ring = Some(ring)),
        show: |s| s.ring.map(|ring| ring.to_string()).unwrap_or_default(),
    },
    Variable {
        name: "GPUPROF_DUMP_ON",
        flag: Flag::Value("dump-on", "RULES"),
        default: "",
        range: DUMP_GRAMMAR,
        doc: "With a ring: keep it as a dump when a range is slow, a CUDA call fails, or the program dies",
        read: |s, v| DumpRule::parse_list(v).map(|rules| s.dump_on = rules),
        show: |s| DumpRule::show_list(&s.dump_on),
    },
    Variable {
        name: "GPUPROF_MAX_DUMPS",
        flag: Flag::Value("max-dumps", "N"),
        default: "16",
        range: "1 to 999",
        doc: "Most dumps that one process makes of its ring: each takes as much disk as the ring",
        read: |s, v| within(whole(v)?, 1, 999, show_number).map(|n| s.max_dumps = n),
        show: |s| s.max_dumps.to_string(),
    },
    Variable {
        name: "GPUPROF_DUMP_SIGNAL",
        flag: Flag::Value("dump-signal", "SIGNAL"),
        default: "",
        range: "a name or number, e.g. USR2 or RTMIN+3; without it no signal means anything",
        doc: "With a ring: dump it when this signal comes, unless the program handles it itself",
        read: |s, v| signals::parse(v).map(|number| s.dump_signal = Some(number)),
        show: |s| s.dump_signal.map(signals::signal_name).unwrap_or_default(),
    },
    Variable {
        name: "GPUPROF_MIN_FREE_PERCENT",
        flag: Flag::Value("min-free", "PERCENT"),
        default: "5",
        range: "0 to 50",
        doc: "Stop writing when less of the disk than this is free, so that the program's own files fit",
        read: |s, v| within(whole(v)?, 0, 50, show_number).map(|n| s.min_free_percent = n),
        show: |s| s.min_free_percent.to_string(),
    },
    Variable {
        name: "GPUPROF_DEVICE_BUFFERS",
        flag: Flag::Value("device-buffers", "N"),
        default: "",
        range: "1 to 250; without it as CUPTI has it",
        doc: "Most buffers of 3.2 MB that CUPTI may take of each context's GPU memory",
        read: |s, v| within(whole(v)?, 1, 250, show_number).map(|n| s.device_buffers = Some(n)),
        show: |s| s.device_buffers.map(show_number).unwrap_or_default(),
    },
    Variable {
        name: "GPUPROF_FSYNC",
        flag: Flag::Switch("fsync"),
        default: "off",
        range: "on or off",
        doc: "Have every flush reach the disk itself, so that a power failure loses no more than a kill",
        read: |s, v| switch(v).map(|on| s.fsync = on),
        show: |s| show_switch(s.fsync),
    },
    Variable {
        name: "GPUPROF_VERBOSE",
        flag: Flag::Value("verbose", "LEVEL"),
        default: "1",
        range: "0 to 3",
        doc: "What is said on the standard error: nothing, what concerns the result, what was found, everything",
        read: |s, v| {
            let level = within(whole(v)?, 0, 3, show_number)?;
            s.verbose = u8::try_from(level).unwrap_or(3);
            Ok(())
        },
        show: |s| s.verbose.to_string(),
    },
    Variable {
        name: "GPUPROF_CUPTI",
        flag: Flag::Value("cupti", "PATH"),
        default: "",
        range: "path of a libcupti.so",
        doc: "The libcupti to use, unless the program has one loaded already",
        read: |s, v| path(v).map(|path| s.cupti = path),
        show: |s| show_path(&s.cupti),
    },
    Variable {
        name: "GPUPROF_NVTX_CHAIN",
        flag: Flag::Value("nvtx-chain", "PATH"),
        default: "",
        range: "path of an NVTX injection library",
        doc: "Another tool's NVTX injection that gets every call as well",
        read: |s, v| path(v).map(|path| s.nvtx_chain = path),
        show: |s| show_path(&s.nvtx_chain),
    },
    Variable {
        name: "GPUPROF_RUNTIME_DIR",
        flag: Flag::Value("runtime-dir", "FOLDER|off"),
        default: "",
        range: "a folder, or off; without it $XDG_RUNTIME_DIR/gpuprof or /tmp/gpuprof-UID",
        doc: "Where each process has the socket by which `gpuprof ctl` reaches it",
        read: |s, v| RuntimeDir::parse(v).map(|folder| s.runtime_dir = folder),
        show: |s| match &s.runtime_dir {
            RuntimeDir::Default => String::new(),
            RuntimeDir::Off => "off".to_owned(),
            RuntimeDir::Folder(path) => shown(path),
        },
    },
    Variable {
        name: "GPUPROF_TOGGLE_SIGNAL",
        flag: Flag::Value("toggle-signal", "SIGNAL"),
        default: "",
        range: "a name or number, e.g. USR1 or RTMIN+3; without it no signal means anything",
        doc: "Signal that switches recording on and off, for programs that have no use for it themselves",
        read: |s, v| signals::parse(v).map(|number| s.toggle_signal = Some(number)),
        show: |s| s.toggle_signal.map(signals::signal_name).unwrap_or_default(),
    },
    Variable {
        name: "GPUPROF_SEEN",
        flag: Flag::None,
        default: "",
        range: "path of a file",
        doc: "Where each process appends a line about itself; `gpuprof record` sets it",
        read: |s, v| path(v).map(|path| s.seen = path),
        show: |s| show_path(&s.seen),
    },
    Variable {
        name: "GPUPROF_SHIM",
        flag: Flag::None,
        default: "",
        range: "path of a libgpuprof.so",
        doc: "The collector that `gpuprof record` and `gpuprof preload-path` use instead of their own",
        read: |s, v| path(v).map(|path| s.shim = path),
        show: |s| show_path(&s.shim),
    },
    Variable {
        name: "GPUPROF_NVML",
        flag: Flag::None,
        default: "",
        range: "path of a libnvidia-ml.so",
        doc: "The management library that `gpuprof record --sample` asks about GPUs, instead of the driver's",
        read: |s, v| path(v).map(|path| s.nvml = path),
        show: |s| show_path(&s.nvml),
    },
    Variable {
        name: "GPUPROF_DISABLE",
        flag: Flag::None,
        default: "",
        range: "anything",
        doc: "Set to anything: the collector does nothing at all in this process and its children",
        read: |s, _| {
            s.disable = true;
            Ok(())
        },
        show: |s| if s.disable { "1".to_owned() } else { String::new() },
    },
];

/// Variables of the same prefix that are for building and testing gpuprof itself, and those of the launcher alone.
fn is_ours_but_no_setting(name: &str) -> bool {
    let rest = name.strip_prefix(PREFIX).unwrap_or(name);
    [
        "COMMIT",
        "SHIM_SO",
        "EMBEDDED_SHIM",
        "LINKED_BY_ZIG",
        "BLESS",
        "SHARED",
        "SKIPS",
        "PROGRAM",
        "PAGER",
        "NO_CONFIG",
        "IMPORT_MEMORY",
    ]
    .contains(&rest)
        || ["TEST_", "BENCH_", "FUZZ_", "SIM_"].iter().any(|prefix| rest.starts_with(prefix))
}

/// Reads the settings from an environment. Never fails: what cannot be read is reported, and the default holds. An
/// empty variable counts as not set; of a name that occurs twice the first counts, as for `getenv`.
pub fn from_env<'a>(variables: impl Iterator<Item = (&'a [u8], &'a [u8])>) -> (Settings, Vec<Problem>) {
    let mut settings = Settings::default();
    let mut problems = Vec::new();
    let mut seen = 0u64;
    let mut has_kinds = false;
    for (name, value) in variables.filter(|(name, value)| name.starts_with(PREFIX.as_bytes()) && !value.is_empty())
    {
        let Some((i, variable)) = VARIABLES.iter().enumerate().find(|(_, v)| v.name.as_bytes() == name) else {
            problems.extend(unknown(&shown(name), value));
            continue;
        };
        if seen >> i & 1 == 1 {
            continue;
        }
        seen |= 1 << i;
        let read = (variable.read)(&mut settings, value);
        has_kinds |= variable.name == "GPUPROF_KINDS" && read.is_ok();
        if let Err(why) = read {
            let instead = match variable.default {
                "" => "it is left out".to_owned(),
                default => format!("{default} is used"),
            };
            let why = format!("{why}; {instead}");
            problems.push(Problem { variable: variable.name.to_owned(), value: shown(value), why });
        }
    }
    if !has_kinds {
        settings.kinds = settings.preset.kinds();
    }
    // Two ways to ask for the same.
    if settings.graph == Graph::Graph {
        settings.kinds.set(&[GRAPH_TRACE], true);
    } else if settings.kinds.contains(GRAPH_TRACE) {
        settings.graph = Graph::Graph;
    }
    if let (Some(asked), Some(why)) = (settings.budget, budget::conflict(&settings)) {
        let (variable, value) = ("GPUPROF_BUDGET".to_owned(), asked.to_string());
        problems.push(Problem { variable, value, why: format!("{why}; it is left out") });
        settings.budget = None;
    }
    (settings, problems)
}

fn unknown(name: &str, value: &[u8]) -> Option<Problem> {
    if is_ours_but_no_setting(name) {
        return None;
    }
    let why = match nearest(name, VARIABLES.iter().map(|v| v.name)) {
        Some(near) => format!("unknown variable, did you mean {near}?"),
        None => "unknown variable; `gpuprof record --help` lists the known ones".to_owned(),
    };
    Some(Problem { variable: name.to_owned(), value: shown(value), why })
}

#[cfg(test)]
mod tests;
