//! Folded stacks, one line per stack, root first, as `flamegraph.pl`, inferno and speedscope read them:
//! `process;thread;range;range;call;kernel NANOSECONDS`.

use super::{Context, Destination, Exporter, KeptTables, Shape};
use crate::analysis::stacks::{self, Frame, FrameText, Stacks};
use crate::error::{Error, Result};
use crate::render::flame_graph;
use flate2::Compression;
use flate2::write::GzEncoder;
use hashbrown::HashMap;
use std::collections::BTreeMap;
use std::io::Write;
use trace_format::tables;

/// Folded stacks.
pub static FOLDED: Exporter = Exporter {
    name: "folded",
    extension: "folded",
    other_endings: &["collapsed"],
    binary: false,
    doc: "GPU or CPU time by stack, one line each, for flame graph tools: process;thread;range;call;kernel NANOSECONDS",
    shape: Shape::Stream,
    need: stacks::need,
    options: &[BY],
    // Sums: no record comes back.
    keeps: KeptTables::NOTHING,
    write,
};

/// The option that chooses what stacks are made of.
pub(super) const BY: (&str, &str) = (
    "by",
    "range (process, thread, NVTX ranges, API call, kernel), stream (process, GPU, stream, kernel), gpu-python \
     (process, Python lines, kernel; recorded with --launch-stacks) or cpu (CPU time by process, thread and functions; \
     recorded with --cpu-sampling)",
);

/// What stacks are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    Range,
    Stream,
    GpuPython,
    Cpu,
}

impl By {
    /// What the option says.
    ///
    /// # Errors
    /// Fails if the option has an unknown value.
    pub(super) fn of(context: &Context) -> Result<By> {
        match context.options.get(BY.0) {
            None | Some("range") => Ok(By::Range),
            Some("stream") => Ok(By::Stream),
            Some("gpu-python") => Ok(By::GpuPython),
            Some("cpu") => Ok(By::Cpu),
            Some(other) => Err(Error::new(format!("--option by={other}: unknown"))
                .remedy("write by=range, by=stream, by=gpu-python or by=cpu")),
        }
    }

    /// The stacks.
    ///
    /// # Errors
    /// Fails if a part of a file cannot be read, or if nothing was recorded that stacks could be made of.
    pub(super) fn stacks(self, context: &Context) -> Result<Stacks> {
        let rows = |table| context.frames.rows(table) > 0;
        match self {
            By::Range => Stacks::by_range(context.labels, context.filter),
            By::Stream => Stacks::by_stream(context.labels, context.filter),
            By::GpuPython if rows(&tables::LAUNCH_STACK) => Stacks::gpu_python(context.labels, context.filter),
            By::GpuPython => Err(Error::nothing("the trace does not say which Python line launched what")
                .remedy("record with gpuprof record --launch-stacks")),
            By::Cpu if rows(&tables::CPU_SAMPLE) => Stacks::cpu(context.labels, context.filter),
            By::Cpu => Err(Error::nothing("the trace holds no CPU samples")
                .remedy("record with gpuprof record --cpu-sampling 100")),
        }
    }

    /// Whose time it is, and by what, for titles.
    pub(super) fn title(self) -> &'static str {
        match self {
            By::Range => "GPU time by process, thread, NVTX ranges, API call and kernel",
            By::Stream => "GPU time by process, GPU, stream and kernel",
            By::GpuPython => "GPU time by process, Python lines that launched it, and kernel",
            By::Cpu => "CPU time by process, thread and functions (samples)",
        }
    }
}

fn write(context: &Context, destination: &mut Destination) -> Result<()> {
    let lines = lines(context, |_, name| name)?;
    context.count(lines.stacks.len() as u64);
    to_stream(context, destination, |out| {
        let mut stacks = lines.stacks.iter();
        stacks.try_for_each(|(stack, total_ns)| writeln!(out, "{stack} {total_ns}")).map_err(|e| Error::output(&e))
    })
}

/// Lets `write` write to the stream, through gzip where that was asked for.
///
/// # Errors
/// Fails with any error that `write` returns, and if the output cannot be written.
pub(super) fn to_stream(
    context: &Context,
    destination: &mut Destination,
    write: impl FnOnce(&mut dyn Write) -> Result<()>,
) -> Result<()> {
    let out = destination.stream()?;
    if !context.options.gzip {
        return write(out);
    }
    let mut encoder = GzEncoder::new(out, Compression::default());
    write(&mut encoder)?;
    encoder.finish().map(|_| ()).map_err(|e| Error::output(&e))
}

/// Stacks as lines, and what their frames are.
pub(super) struct Lines {
    /// Total nanoseconds by stack, in the order of the text. Stacks that read the same are one.
    pub(super) stacks: BTreeMap<String, u128>,
    /// What a frame is, by how it reads; of several the one that comes first among all stacks.
    pub(super) kinds: HashMap<String, Frame>,
}

/// The stacks that the options ask for; `as_shown` makes what stands in them of what people call a frame.
///
/// # Errors
/// Fails if a part of a file cannot be read, or if the option has an unknown value.
pub(super) fn lines(context: &Context, as_shown: impl Fn(Frame, String) -> String) -> Result<Lines> {
    let stacks = By::of(context)?.stacks(context)?;
    let text = FrameText::new(context.labels)?;
    let mut cleaned: HashMap<(Frame, bool), String> = HashMap::new();
    let mut lines = Lines { stacks: BTreeMap::new(), kinds: HashMap::new() };
    stacks.for_each(|path, weight| {
        let mut line = String::new();
        for (i, &frame) in path.iter().enumerate() {
            let is_last = i + 1 == path.len();
            let name = cleaned
                .entry((frame, is_last))
                .or_insert_with(|| flame_graph::frame(&as_shown(frame, text.text(frame).into_owned()), is_last));
            if i > 0 {
                line.push(';');
            }
            line.push_str(name);
            if !lines.kinds.contains_key(name.as_str()) {
                lines.kinds.insert(name.clone(), frame);
            }
        }
        *lines.stacks.entry(line).or_default() += weight.total_ns;
    });
    Ok(lines)
}
