//! PyTorch profiler (Kineto) traces: Chrome trace JSON of every era, plain or gzip.
//!
//! One thread unpacks (`unpack`). This one finds the structure of the text (`index`), walks it event by event
//! (`document`, `tape`, `event`) and makes rows (`convert`, `rows`). Other JSON may come here too, because a trace
//! may say what it is only after a megabyte of metadata; what turns out to be another tool's goes to the reader for it.

pub(super) mod args;
pub(super) mod codes;
mod convert;
pub(super) mod document;
pub(super) mod event;
mod foreign;
mod gpuprof_fields;
mod gpuprof_lists;
mod gpuprof_rows;
mod header;
mod index;
pub(super) mod json_tokens;
pub(super) mod notes;
pub(super) mod number;
pub(super) mod processes;
mod rows;
pub(super) mod sniff;
pub(super) mod stray;
pub(super) mod tally;
pub(super) mod text;
pub(super) mod thread_ids;
pub(super) mod unpack;

use self::convert::Converter;
use self::document::{Document, End};
use self::header::Header;
use self::tally::Tallies;
use self::unpack::Failure;
use super::chrome_trace::ChromeTrace;
use super::chrome_trace::lanes::Lanes;
use super::speedscope::Speedscope;
use super::tensorflow::TensorFlow;
use super::{HEAD_BYTES, Head, Importer};
use crate::error::Result;
use crate::trace::sink::{Need, Sink};
use std::path::Path;

/// Reads PyTorch profiler traces.
pub struct Kineto;

impl Importer for Kineto {
    fn name(&self) -> &'static str {
        "kineto"
    }

    fn describes(&self) -> &'static str {
        "PyTorch profiler trace (Kineto), Chrome trace JSON, plain or gzip"
    }

    fn sniff(&self, head: &Head) -> bool {
        let goes_on = head.text.len() as u64 >= HEAD_BYTES || head.raw.len() as u64 >= HEAD_BYTES;
        sniff::is_trace(&head.text, goes_on)
    }

    fn read(&self, path: &Path, need: &Need, sink: &mut Sink) -> Result<()> {
        let (mut walked, mut failure) = unpack::with_text(path, |source| walk(source, need, sink, false))?;
        if let Some(other) = walked.other_reader() {
            // Nothing of it was a row, so nothing but the process is to be taken back.
            sink.processes.clear();
            return match other {
                Other::Chrome => ChromeTrace.read_known(path, need, sink, walked.lanes),
                Other::Reader(reader) => reader.read(path, need, sink),
            };
        }
        if walked.tallies.early > 0 {
            sink.processes.clear();
            (walked, failure) = unpack::with_text(path, |source| walk(source, need, sink, true))?;
        }
        conclude(path, walked, failure, sink)
    }
}

/// What walking a whole document found, apart from the rows.
struct Walked {
    header: Header,
    tallies: Tallies,
    end: End,
    has_events: bool,
    /// Bytes behind the end that are no white space.
    rest: u64,
    /// Processes that made API calls.
    processes: usize,
    /// What its lanes are called, for the reader of other tools' traces.
    lanes: Lanes,
}

/// Who reads what is not ours.
enum Other {
    /// The reader of any program's traces, which need not read the names of lanes again.
    Chrome,
    /// A reader of its own.
    Reader(&'static dyn Importer),
}

impl Walked {
    /// The reader for what turned out to be another tool's.
    fn other_reader(&self) -> Option<Other> {
        let Walked { header, tallies, .. } = self;
        match tallies {
            _ if tallies.kineto > 0 || tallies.pytorch > 0 => None,
            _ if header.speedscope => Some(Other::Reader(&Speedscope)),
            _ if tallies.tensorflow > 0 => Some(Other::Reader(&TensorFlow)),
            _ if tallies.events > 0 && header.schema.is_none() => Some(Other::Chrome),
            _ => None,
        }
    }
}

/// Reads the text that `source` appends piece by piece until it returns false. `known`: that the trace is ours has been
/// seen before.
fn walk(source: &mut dyn FnMut(&mut Vec<u8>) -> bool, need: &Need, sink: &mut Sink, known: bool) -> Walked {
    let mut converter = Converter::new(need, sink);
    converter.known = known;
    let mut document = Document::new(source);
    let end = document.walk(&mut converter);
    // Reading on to the end of the file is what checks its last checksum.
    let rest = if let End::Closed(_) = end { document.rest() } else { 0 };
    let has_events = document.has_events;
    let processes = converter.finish();
    let lanes = std::mem::take(&mut converter.lanes);
    Walked { header: converter.header, tallies: converter.tallies, end, has_events, rest, processes, lanes }
}

/// Says what is to say about it, or why it is no trace.
fn conclude(path: &Path, walked: Walked, failure: Option<Failure>, sink: &mut Sink) -> Result<()> {
    let Walked { header, mut tallies, end, has_events, rest, processes, .. } = walked;
    if end == End::NotJson || !has_events {
        return Err(notes::no_events(path, end, failure));
    }
    // `traceEvents` may be there and hold no list of events.
    if tallies.events == 0
        && let Some(refused) = Head::read(path).ok().and_then(|head| super::refuse::json_refusal(&head))
    {
        return Err(refused);
    }
    let is_kineto = tallies.kineto > 0 || header.schema.is_some();
    if let Some(own) = &header.own {
        notes::exported(path, sink, own);
    }
    sink.origin = match () {
        () if tallies.onnx > 0 && header.schema.is_none() => "ONNX Runtime profile".to_owned(),
        () if tallies.ascend > 0 => "PyTorch profiler trace of Ascend devices (torch_npu)".to_owned(),
        () if is_kineto => header.origin(),
        () => "Chrome trace".to_owned(),
    };
    notes::end(path, sink, &tallies, end, failure, rest);
    notes::nothing_of_pytorch(path, sink, &tallies);
    notes::events(path, sink, &tallies, processes);
    std::mem::take(&mut tallies.unread).note(path, sink, "events", "");
    sink.finish();
    Ok(())
}

#[cfg(test)]
mod tests;
