//! What lines are called.

use super::definitions::Definitions;
use super::line::Line;
use crate::analysis::labels::Labels;
use hashbrown::HashMap;

/// Names lines.
pub struct Naming<'a> {
    /// Names of everything in the traces.
    pub labels: &'a Labels<'a>,
    /// Names of threads and streams.
    pub definitions: &'a Definitions,
    /// The context of each device that was met first; it needs no mention.
    first_context: HashMap<(u32, u32), u32>,
}

impl<'a> Naming<'a> {
    /// Nothing named yet.
    pub fn new(labels: &'a Labels<'a>, definitions: &'a Definitions) -> Self {
        Naming { labels, definitions, first_context: HashMap::new() }
    }

    /// The name of a line among all lines of its device or process: `stream 7`, `context 2, stream 7`.
    pub fn in_device(&mut self, line: Line) -> String {
        let name = self.in_context(line);
        match (line.device(), line.context()) {
            (Some(device), Some(context)) => {
                match *self.first_context.entry((line.process(), device)).or_insert(context) {
                    first if first == context => name,
                    _ => format!("context {context}, {name}"),
                }
            }
            _ => name,
        }
    }

    /// The name of a line among those of its context.
    pub fn in_context(&self, line: Line) -> String {
        let stream_name = |process, context, stream| match self
            .definitions
            .stream_name_id(process, context, stream)
            .map(|id| self.labels.text(id))
        {
            Some(name) => format!("stream {stream} {name}"),
            None => format!("stream {stream}"),
        };
        match line {
            Line::Stream { process, context, stream, .. } => stream_name(process, context, stream),
            Line::Graphs { stream, .. } => format!("stream {stream} (graphs)"),
            Line::Sync { stream: Some(stream), .. } => format!("stream {stream} (sync)"),
            Line::Sync { stream: None, .. } => "synchronisation".to_owned(),
            Line::UnifiedMemory { .. } => "unified memory".to_owned(),
            Line::Memory { .. } => "memory".to_owned(),
            Line::Thread { process, tid } => self.thread(process, tid),
            Line::Stacks { process, untraced_pid: None, tid } => {
                format!("{} (CPU samples)", self.thread(process, tid))
            }
            Line::Stacks { untraced_pid: Some(pid), tid, .. } => {
                format!("thread {tid} of process {pid} (CPU samples)")
            }
            Line::Ranges { .. } => "ranges across threads".to_owned(),
            Line::Overhead { .. } => "profiling overhead".to_owned(),
            Line::Compiler { .. } => "just-in-time compiler".to_owned(),
        }
    }

    fn thread(&self, process: u32, tid: u32) -> String {
        match self.definitions.thread_name_id(process, tid) {
            Some(id) => self.labels.text(id).to_owned(),
            None => format!("thread {tid}"),
        }
    }

    /// The name of a GPU: `GPU 0 (NVIDIA A100)`, with its process where there are several.
    pub fn device(&self, process: u32, device: u32) -> String {
        let labels = self.labels;
        let mut name = format!("GPU {device}");
        match labels.device(process, device) {
            "" => {}
            model => name = format!("{name} ({model})"),
        }
        let frames = labels.frames();
        let is_launcher = frames.processes.get(process as usize).is_some_and(|p| p.info.is_launcher);
        if frames.recorded_processes() > 1 || is_launcher {
            name = format!("{name}, {}", labels.process(process));
        }
        name
    }
}
