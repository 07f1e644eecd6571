//! What is said about a trace that is partial, remarkable or none at all.

use super::document::{End, ITEM_LIMIT};
use super::gpuprof_fields::GpuprofFields;
use super::tally::{Tallies, Tally};
use super::thread_ids::Shortened;
use super::unpack::Failure;
use crate::error::Error;
use crate::import::{Head, refuse};
use crate::numbers::{counted, items};
use crate::trace::sink::Sink;
use std::path::Path;

/// Nothing in the file can be used: says why.
pub fn no_events(path: &Path, end: End, failure: Option<Failure>) -> Error {
    // A file may begin like a trace for long; what it is instead is known by other words of its beginning.
    if let (End::Closed(_), None) = (end, &failure)
        && let Some(refused) = Head::read(path).ok().and_then(|head| refuse::json_refusal(&head))
    {
        return refused;
    }
    let why = match (end, failure) {
        (_, Some(failure)) => format!("cannot be unpacked before its first event: {}", failure.reason),
        (End::NotJson, None) => "not JSON: neither an object nor an array begins it".to_owned(),
        (End::Cut(byte, _), None) => format!("cut off at byte {byte}, before any `traceEvents`"),
        (End::Closed(_), None) => "JSON without `traceEvents`, so no trace of the PyTorch profiler".to_owned(),
    };
    Error::at(path, why).remedy("export the trace again, e.g. with torch.profiler's export_chrome_trace")
}

/// What is to say about how the file ends.
pub fn end(path: &Path, sink: &mut Sink, tallies: &Tallies, end: End, failure: Option<Failure>, rest: u64) {
    let path = path.display();
    let events = tallies.events;
    let read = counted(events, "event");
    if let Some(Failure { reason, is_cut }) = &failure {
        let what = if *is_cut { "the file ends too early" } else { "the file is damaged" };
        sink.note("damaged", format!("{path}: {what} ({reason}); what came before is read, {read}"));
    }
    match end {
        End::Cut(byte, item) => {
            let place = match item {
                Some(item) => format!("inside an item that begins at byte {item}"),
                None => "without the closing bracket".to_owned(),
            };
            let what =
                format!("cut off at byte {byte} of the text, {place}; {} read", counted(events, "whole event"));
            sink.note("cut-off", format!("{path}: {what}"));
        }
        End::Closed(byte) if rest > 0 => sink.note(
            "trailing-text",
            format!(
                "{path}: {} not read behind the end of the trace at byte {byte} of the text",
                items(rest, "byte is", "bytes are")
            ),
        ),
        End::Closed(_) | End::NotJson => {}
    }
}

/// What is to say about a trace that gpuprof exported from others.
pub fn exported(path: &Path, sink: &mut Sink, own: &GpuprofFields) {
    if !own.notes.is_empty() {
        let codes: Vec<_> = own.notes.iter().map(|code| String::from_utf8_lossy(code)).collect();
        let text = format!("{}: exported from traces about which was said: {}", path.display(), codes.join(", "));
        sink.note("exported", text);
    }
}

/// What is to say about a trace of the PyTorch profiler without a single event of its own.
pub fn nothing_of_pytorch(path: &Path, sink: &mut Sink, tallies: &Tallies) {
    let path = path.display();
    if tallies.kineto == 0 && tallies.read == 0 && tallies.events > 0 {
        let events = counted(tallies.events, "event");
        sink.note(
            "no-gpu-records",
            format!("{path}: of its {events} none is of a category that the PyTorch profiler writes; no rows"),
        );
    }
}

/// What is to say about the events.
pub fn events(path: &Path, sink: &mut Sink, tallies: &Tallies, processes: usize) {
    let path = path.display();
    let mut say = |code, tally: Tally, one: &str, many: &str| {
        if tally.count > 0 {
            let (what, first) = (items(tally.count, one, many), tally.first);
            sink.note(code, format!("{path}: {what}; the first at byte {first} of the text"));
        }
    };
    say(
        "left-out",
        tallies.broken,
        "item that is no JSON event is left out",
        "items that are no JSON events are left out",
    );
    say(
        "stray-commas",
        tallies.stray_commas,
        "comma without an event before it is passed over",
        "commas without an event before them are passed over",
    );
    let limit = ITEM_LIMIT >> 20;
    let [one, many] = ["item larger than", "items larger than"].map(|what| format!("{what} {limit} MiB"));
    say("left-out", tallies.oversized, &format!("{one} is left out"), &format!("{many} are left out"));
    say(
        "left-out",
        tallies.no_start,
        "record without a valid time is left out",
        "records without a valid time are left out",
    );
    say(
        "invalid-times",
        tallies.no_duration,
        "record has no valid duration and enters no sum",
        "records have no valid duration and enter no sum",
    );
    let Shortened { count, first } = tallies.shortened;
    if count > 0 {
        let whose = items(count, "thread has an id", "threads have ids");
        sink.note(
            "shortened-thread-ids",
            format!(
                "{path}: {whose} of more than 32 bits, such as {first}: the column tid has a shorter id of its own for each, and \
                 threads without a name are called by the whole number"
            ),
        );
    }
    if processes > 1 {
        sink.note(
            "several-processes",
            format!("{path}: calls of {processes} processes in one file are shown as one process"),
        );
    }
}
