//! Chrome traces of any program: ranges, marks and counters, and where lanes are named as those of GPUs, their work.
//! PyTorch's have a reader of their own ([`super::kineto`]), which hands traces without a single event of PyTorch's over
//! to this one.

mod calls;
pub(super) mod lanes;
pub(super) mod open;
mod reader;
mod work;

use self::lanes::Lanes;
use self::reader::{PROCESSES, Reader};
use super::kineto::document::{Document, End};
use super::kineto::tally::Tallies;
use super::kineto::{notes, sniff, unpack};
use super::{Head, Importer};
use crate::error::Result;
use crate::numbers::{counted, items};
use crate::trace::sink::{Need, Sink};
use std::path::Path;

/// Reads Chrome traces.
pub struct ChromeTrace;

/// What py-spy writes into each of its events.
const PYSPY: &[u8] = br#""cat":"py-spy""#;

impl Importer for ChromeTrace {
    fn name(&self) -> &'static str {
        "chrome-trace"
    }

    fn describes(&self) -> &'static str {
        "Chrome trace event JSON of any program, plain or gzip (rocprof, JAX and XLA, Proton, nsys2json, py-spy)"
    }

    fn sniff(&self, head: &Head) -> bool {
        sniff::is_trace(&head.text, false) && head.text.windows(PYSPY.len()).any(|window| window == PYSPY)
    }

    fn read(&self, path: &Path, need: &Need, sink: &mut Sink) -> Result<()> {
        // py-spy has no lanes of GPUs; of other traces the one before this has read the names of lanes.
        self.read_known(path, need, sink, Lanes::default())
    }
}

impl ChromeTrace {
    /// Reads a trace whose lanes have these names: they may stand behind the events that they are about.
    pub fn read_known(&self, path: &Path, need: &Need, sink: &mut Sink, lanes: Lanes) -> Result<()> {
        let (walked, failure) = unpack::with_text(path, |source| {
            let mut reader = Reader::new(need, sink, lanes);
            let mut document = Document::new(source);
            let end = document.walk(&mut reader);
            let rest = if let End::Closed(_) = end { document.rest() } else { 0 };
            let has_events = document.has_events;
            reader.finish();
            (reader.found, end, has_events, rest)
        })?;
        let (mut found, end, has_events, rest) = walked;
        if end == End::NotJson || !has_events {
            return Err(notes::no_events(path, end, failure));
        }
        sink.origin = if found.pyspy > 0 { "py-spy Chrome trace" } else { "Chrome trace" }.to_owned();
        notes::end(path, sink, &found.tallies, end, failure, rest);
        notes::events(path, sink, &found.tallies, 0);
        found.note(path, sink);
        std::mem::take(&mut found.tallies.unread).note(path, sink, "events", "");
        Ok(())
    }
}

/// What was found, apart from rows.
#[derive(Default)]
struct ChromeFacts {
    tallies: Tallies,
    ranges: u64,
    marks: u64,
    counters: u64,
    pyspy: u64,
    work: u64,
    calls: u64,
    crowded: bool,
    edges: Counts,
}

/// What was found in matching ends with beginnings.
#[derive(Clone, Copy, Default)]
struct Counts {
    left_open: u64,
    never_opened: u64,
    first_never_opened: u64,
    misnamed: u64,
}

impl ChromeFacts {
    fn note(&self, path: &Path, sink: &mut Sink) {
        let path = path.display();
        let ChromeFacts { ranges, marks, counters, work, calls, .. } = *self;
        if work + calls > 0 {
            let text = format!(
                "{path}: what is of a GPU is told by the names of its lanes; work on streams: {work}, API calls: {calls}, other ranges: {ranges}"
            );
            sink.note("gpu-by-lanes", text);
        } else {
            let what = if self.pyspy > 0 {
                "what py-spy sampled: functions of Python that lasted from one sample to another"
            } else {
                "a Chrome trace of the CPU"
            };
            let text = format!(
                "{path}: {what}, {}, {}, {}; nothing of a GPU",
                counted(ranges, "range"),
                counted(marks, "mark"),
                items(counters, "value of a counter", "values of counters"),
            );
            sink.note("no-gpu-records", text);
        }
        let Counts { left_open, never_opened, first_never_opened: first, misnamed } = self.edges;
        if left_open > 0 {
            sink.note(
                "left-open",
                format!(
                    "{path}: {}",
                    items(left_open, "range has no end and is in no sum", "ranges have no end and are in no sum")
                ),
            );
        }
        if never_opened > 0 {
            sink.note(
                "left-out",
                format!(
                    "{path}: {} left out; the first at byte {first} of the text",
                    items(
                        never_opened,
                        "end of a range that did not begin is",
                        "ends of ranges that did not begin are"
                    )
                ),
            );
        }
        if misnamed > 0 {
            sink.note(
                "misnamed-ends",
                format!(
                    "{path}: {} taken to end the innermost range of the thread, which has another name",
                    items(misnamed, "end is", "ends are")
                ),
            );
        }
        if self.crowded {
            sink.note("left-out", format!("{path}: only {PROCESSES} processes are told apart"));
        }
    }
}

#[cfg(test)]
mod tests;
