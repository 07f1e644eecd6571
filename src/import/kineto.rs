//! PyTorch profiler (Kineto) traces: Chrome trace JSON of every era, plain or gzip.
//!
//! One thread unpacks ([`unpack`]), this one finds the structure of the text ([`tape`]), walks it event by event
//! ([`document`], [`event`]) and makes rows ([`convert`]). Other JSON comes here too, because a trace may say only
//! after a megabyte of metadata what it is; what turns out to be another tool's file is refused by name.

mod args;
mod codes;
mod convert;
mod document;
mod event;
mod header;
mod number;
mod people;
mod tape;
mod text;
mod unpack;

use self::convert::{Converter, Tallies};
use self::document::{Document, End, ITEM_LIMIT};
use self::unpack::Failure;
use super::{Head, Importer};
use crate::error::{Error, Result};
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

    /// Any JSON object, and any array that can be one of events.
    fn sniff(&self, head: &Head) -> bool {
        let text = head.text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&head.text).trim_ascii_start();
        let Some((open, rest)) = text.split_first() else { return false };
        match (open, rest.trim_ascii_start().first()) {
            (b'{', Some(b'"' | b'}') | None) => true,
            (b'[', Some(b'{' | b']') | None) => true,
            _ => false,
        }
    }

    fn read(&self, path: &Path, need: &Need, sink: &mut Sink) -> Result<()> {
        let mut converter = Converter::new(need, sink);
        let ((end, has_events, rest), failure) = unpack::with_text(path, |source| {
            let mut document = Document::new(source);
            let end = document.walk(&mut converter);
            // Reading on to the end of the file is what checks its last checksum.
            let rest = if let End::Closed(_) = end { document.rest() } else { 0 };
            (end, document.has_events, rest)
        })?;
        let processes = converter.finish();
        let (header, tallies) = (converter.header, converter.tallies);

        if header.speedscope {
            return Err(Error::at(path, "a speedscope file, which this version does not read"));
        }
        if end == End::NotJson || !has_events {
            return Err(no_events(path, end, failure));
        }
        if tallies.kineto == 0 && (tallies.tensorflow > 0 || tallies.pyspy > 0) {
            let tool = if tallies.tensorflow > 0 { "TensorFlow timeline" } else { "py-spy trace" };
            return Err(Error::at(path, format_args!("a {tool}, which this version does not read")));
        }
        sink.origin = if tallies.kineto > 0 || header.schema.is_some() {
            header.origin()
        } else {
            "Chrome trace".to_owned()
        };
        note_end(path, sink, &tallies, end, failure, rest);
        note_events(path, sink, &tallies, processes);
        sink.finish();
        Ok(())
    }
}

/// Nothing in the file can be used: says why.
fn no_events(path: &Path, end: End, failure: Option<Failure>) -> Error {
    let why = match (end, failure) {
        (_, Some(failure)) => format!("cannot be unpacked before its first event: {}", failure.reason),
        (End::NotJson, None) => "not JSON: neither an object nor an array begins it".to_owned(),
        (End::Cut(byte, _), None) => format!("cut off at byte {byte}, before any `traceEvents`"),
        (End::Closed(_), None) => "JSON without `traceEvents`, so no trace of the PyTorch profiler".to_owned(),
    };
    Error::at(path, why).remedy("export the trace again, e.g. with torch.profiler's export_chrome_trace")
}

/// What is to say about how the file ends.
fn note_end(path: &Path, sink: &mut Sink, tallies: &Tallies, end: End, failure: Option<Failure>, rest: u64) {
    let path = path.display();
    let events = tallies.events;
    if let Some(Failure { reason, is_cut }) = &failure {
        let what = if *is_cut { "the file ends too early" } else { "the file is damaged" };
        sink.note("damaged", format!("{path}: {what} ({reason}); what came before is read, {events} events"));
    }
    match end {
        End::Cut(byte, Some(item)) => sink.note(
            "cut-off",
            format!("{path}: cut off at byte {byte} of the text, inside an item that begins at byte {item}; {events} whole events read"),
        ),
        End::Cut(byte, None) => sink.note(
            "cut-off",
            format!("{path}: cut off at byte {byte} of the text, without the closing bracket; {events} whole events read"),
        ),
        End::Closed(byte) if rest > 0 => sink.note(
            "trailing-text",
            format!("{path}: {rest} bytes behind the end of the trace at byte {byte} of the text are not read"),
        ),
        End::Closed(_) | End::NotJson => {}
    }
}

/// What is to say about the events.
fn note_events(path: &Path, sink: &mut Sink, tallies: &Tallies, processes: usize) {
    let path = path.display();
    if tallies.kineto == 0 && tallies.events > 0 {
        let events = tallies.events;
        sink.note(
            "no-gpu-records",
            format!("{path}: none of its {events} events is of a category that the PyTorch profiler writes; no rows"),
        );
    }
    let mut say = |code, tally: convert::Tally, what: &str| {
        if tally.count > 0 {
            let (count, first) = (tally.count, tally.first);
            sink.note(code, format!("{path}: {count} {what}; the first at byte {first} of the text"));
        }
    };
    say("left-out", tallies.broken, "items that are no JSON events are left out");
    let limit = ITEM_LIMIT >> 20;
    say("left-out", tallies.oversized, &format!("items larger than {limit} MiB are left out"));
    say("left-out", tallies.no_start, "records without a valid time are left out");
    say("invalid-times", tallies.no_duration, "records have no valid duration and enter no sum");
    if processes > 1 {
        sink.note(
            "several-processes",
            format!("{path}: calls of {processes} processes in one file are shown as one process"),
        );
    }
}
