//! What processes, threads, GPUs, contexts and streams are called in the rows of a page.

use crate::analysis::labels::Labels;
use crate::analysis::launches::{green_contexts, thread_names};
use crate::error::Result;
use crate::trace::select::Filter;
use hashbrown::HashMap;
use trace_format::tables;
use trace_format::tables::column::{context, stream};
use trace_format::vocabulary::stream_flag::NULL;

/// A stream of a process: process, context, stream.
type Stream = (u32, u32, u32);

/// Names of places.
pub struct Places<'a> {
    labels: &'a Labels<'a>,
    threads: HashMap<(u32, u32), u32>,
    green: HashMap<(u32, u32), u32>,
    /// Name id and flag, 0 for none.
    streams: HashMap<Stream, (u32, u32)>,
}

impl<'a> Places<'a> {
    /// Reads what the traces say of places.
    ///
    /// # Errors
    /// Fails if a part of a file cannot be read.
    pub fn read(labels: &'a Labels<'a>) -> Result<Self> {
        let frames = labels.frames();
        let keep = |known: &mut HashMap<Stream, (u32, u32)>, stream: Stream, (name, flag): (u32, u32)| {
            // The larger of several, so that the order in which they are met does not show.
            let entry = known.entry(stream).or_default();
            *entry = (entry.0.max(name), entry.1.max(flag));
        };
        let mut streams = frames.fold(
            &tables::STREAM,
            &[stream::CONTEXT, stream::STREAM, stream::FLAG, stream::NAME_ID],
            &Filter::everything(),
            HashMap::new,
            |known, batch| {
                let (context, stream) = (batch.get(stream::CONTEXT), batch.get(stream::STREAM));
                let (flag, name) = (batch.get(stream::FLAG), batch.get(stream::NAME_ID));
                batch.for_each_row(|i| {
                    if let (Some(context), Some(stream)) = (context.get(i), stream.get(i)) {
                        let facts = (name.get(i).unwrap_or(0), flag.get(i).unwrap_or(0));
                        keep(known, (batch.process, context, stream), facts);
                    }
                });
            },
            |known, other| other.into_iter().for_each(|(stream, facts)| keep(known, stream, facts)),
        )?;
        let defaults: Vec<Stream> = frames.fold(
            &tables::CONTEXT,
            &[context::CONTEXT, context::NULL_STREAM],
            &Filter::everything(),
            Vec::new,
            |found: &mut Vec<Stream>, batch| {
                let (context, stream) = (batch.get(context::CONTEXT), batch.get(context::NULL_STREAM));
                batch.for_each_row(|i| {
                    if let (Some(context), Some(stream)) = (context.get(i), stream.get(i)) {
                        found.push((batch.process, context, stream));
                    }
                });
            },
            |found, mut other| found.append(&mut other),
        )?;
        defaults.into_iter().for_each(|stream| keep(&mut streams, stream, (0, NULL)));
        Ok(Places { labels, threads: thread_names(frames)?, green: green_contexts(frames)?, streams })
    }

    /// Process id, where the trace says.
    pub fn pid(&self, process: u32) -> Option<u32> {
        self.labels.frames().processes.get(process as usize).and_then(|p| p.info.pid)
    }

    /// The heading of a process.
    pub fn process(&self, process: u32) -> String {
        let label = self.labels.process(process);
        let heading = [("process", "Process"), ("launcher", "Launcher")].into_iter();
        let mut heading =
            heading.filter_map(|(word, heading)| Some(format!("{heading}{}", label.strip_prefix(word)?)));
        heading.next().unwrap_or(label)
    }

    /// The heading of a thread.
    pub fn thread(&self, process: u32, tid: u32) -> String {
        let name = self.threads.get(&(process, tid)).map_or("", |&id| self.labels.text(id));
        if name.is_empty() { format!("Thread {tid}") } else { format!("Thread {tid} ({name})") }
    }

    /// The heading of a GPU.
    pub fn device(&self, process: u32, device: u32) -> String {
        match self.labels.device(process, device) {
            "" => format!("Device {device}"),
            name => format!("[{device}] {name}"),
        }
    }

    /// The heading of a context.
    pub fn context(&self, process: u32, context: u32) -> String {
        match self.green.get(&(process, context)) {
            Some(parent) => format!("Context {context} (green, of {parent})"),
            None => format!("Context {context}"),
        }
    }

    /// The label of a stream.
    pub fn stream(&self, process: u32, context: u32, stream: u32) -> String {
        let (name, flag) = self.streams.get(&(process, context, stream)).copied().unwrap_or_default();
        match self.labels.text(name) {
            "" if flag == NULL => format!("Stream {stream} (default)"),
            "" => format!("Stream {stream}"),
            name => format!("Stream {stream} ({name})"),
        }
    }
}
