//! Logs of function calls, as programs keep them of themselves: a JSON object a line, with a function, how long the call
//! took and when that was written down. Whatever a logger puts before the `{` is passed over.

mod entry;
mod time;

pub use entry::Stamp;
pub use time::{Zone, text as date_text};

use super::lines::with_lines;
use super::{HEAD_BYTES, Head, Importer};
use crate::error::{Error, Result};
use crate::numbers::items;
use crate::trace::names::FUNCTIONS_DOMAIN;
use crate::trace::sink::{Need, ProcessInfo, ProcessIx, Sink};
use entry::{Entry, Reading, Thread};
use hashbrown::HashMap;
use std::path::Path;
use trace_format::tables::{self, RangeRow, ThreadRow};
use trace_format::vocabulary::range_style;

/// How the log is to be understood where it does not say so itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// What a key called `timestamp` means.
    pub stamp: Stamp,
    /// The zone of times that name none.
    pub zone: Zone,
}

/// Reads function logs.
pub struct FunctionLog;

impl Importer for FunctionLog {
    fn name(&self) -> &'static str {
        "function-log"
    }

    fn describes(&self) -> &'static str {
        "JSON lines of function, execution_time and timestamp, with or without a prefix"
    }

    fn sniff(&self, head: &Head) -> bool {
        let goes_on = head.text.len() as u64 >= HEAD_BYTES || head.raw.len() as u64 >= HEAD_BYTES;
        is_log(&head.text, goes_on)
    }

    fn read(&self, path: &Path, need: &Need, sink: &mut Sink) -> Result<()> {
        read(path, Options::default(), need, sink).map(drop)
    }
}

/// Lines of the head that are looked at.
const HEAD_LINES: usize = 200;

/// Whether text that begins like this is a function log: one of its first lines is an entry.
fn is_log(text: &[u8], goes_on: bool) -> bool {
    // The last line may be cut off by the end of the head.
    let whole = if goes_on { text.iter().rposition(|&byte| byte == b'\n').unwrap_or(0) } else { text.len() };
    let mut lines = text[..whole].split(|&byte| byte == b'\n').take(HEAD_LINES);
    lines.any(|line| matches!(entry::read(line, Options::default()), Reading::Entry(_)))
}

/// What was read of a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogSummary {
    /// Entries that became ranges.
    pub entries: u64,
    /// Earliest start and latest end, Unix nanoseconds.
    pub span_ns: Option<(i64, i64)>,
}

/// Line numbers that a note gives.
const NAMED_LINES: usize = 5;

/// Lines that are no ranges, by what is wrong with them.
#[derive(Default)]
struct Unusable {
    count: u64,
    first: Vec<u64>,
}

impl Unusable {
    fn add(&mut self, line: u64) {
        self.count += 1;
        if self.first.len() < NAMED_LINES {
            self.first.push(line);
        }
    }

    fn note(&self, path: &Path, [one, many]: [&str; 2], sink: &mut Sink) {
        if self.count == 0 {
            return;
        }
        let lines: Vec<String> = self.first.iter().map(u64::to_string).collect();
        let more = if self.count > self.first.len() as u64 { ", …" } else { "" };
        let (path, lines) = (path.display(), lines.join(", "));
        let what = items(self.count, &format!("line {one} and is"), &format!("lines {many} and are"));
        sink.note("left-out", format!("{path}: {what} left out (line {lines}{more})"));
    }
}

/// Reads a log into table `range`: a process for each that the log names, times in Unix nanoseconds.
///
/// # Errors
/// Fails if the file cannot be opened, or if no line of it is an entry with a time.
pub fn read(path: &Path, options: Options, need: &Need, sink: &mut Sink) -> Result<LogSummary> {
    let mut rows = Rows::default();
    let (mut broken, mut undated) = (Unusable::default(), Unusable::default());
    with_lines(path, sink, |lines, sink| {
        while let Some(line) = lines.next() {
            match entry::read(line, options) {
                Reading::Entry(entry) => {
                    // Its object is closed, so nothing of it can be missing.
                    lines.vouch();
                    rows.add(&entry, need, sink);
                }
                Reading::Undated => undated.add(lines.number),
                Reading::Broken => broken.add(lines.number),
                Reading::Other => {}
            }
        }
    })?;
    if rows.found.entries == 0 {
        let why = match undated.count {
            0 => "no line holds a JSON object with \"function\" and \"execution_time\"",
            _ => "no entry has a \"timestamp\", so nothing says when it was",
        };
        return Err(Error::at(path, format_args!("not a function log that can be used: {why}"))
            .remedy("docs/function-logs.md says what is read"));
    }
    let hold = ["holds", "hold"].map(|verb| format!("{verb} a JSON object that cannot be read"));
    broken.note(path, [&hold[0], &hold[1]], sink);
    let have = ["has", "have"].map(|verb| format!("{verb} no timestamp that can be read"));
    undated.note(path, [&have[0], &have[1]], sink);
    if rows.is_coarse() {
        let path = path.display();
        sink.note(
            "coarse-times",
            format!("{path}: all timestamps are whole seconds and calls are shorter: which call lies in which is a guess"),
        );
    }
    sink.origin = "function log, JSON lines".to_owned();
    Ok(rows.found)
}

/// Threads that are named get numbers of ours, beyond those of any system.
const FIRST_NAMED_THREAD: u32 = 1 << 31;

/// What has become of the entries so far.
#[derive(Default)]
struct Rows {
    found: LogSummary,
    processes: HashMap<Option<u32>, ProcessIx>,
    threads: HashMap<(Option<u32>, Vec<u8>), u32>,
    fractions: u64,
    short: u64,
}

impl Rows {
    fn add(&mut self, entry: &Entry, need: &Need, sink: &mut Sink) {
        self.found.entries += 1;
        self.fractions += u64::from(entry.stamp_ns % 1_000_000_000 != 0);
        self.short += u64::from(entry.end_ns - entry.start_ns < 1_000_000_000);
        let span = self.found.span_ns.get_or_insert((entry.start_ns, entry.end_ns));
        *span = (span.0.min(entry.start_ns), span.1.max(entry.end_ns));
        if !need.wants(&tables::RANGE) {
            return;
        }
        let process = *self.processes.entry(entry.pid).or_insert_with(|| {
            sink.process(ProcessInfo { pid: entry.pid, unix_offset_ns: Some(0), ..ProcessInfo::default() })
        });
        let tid = match &entry.thread {
            Thread::Unknown => None,
            Thread::Number(tid) => Some(*tid),
            Thread::Named(name) => {
                let next = FIRST_NAMED_THREAD + self.threads.len() as u32;
                let tid = *self.threads.entry((entry.pid, name.clone())).or_insert(next);
                if tid == next {
                    let name_id = sink.name(name);
                    sink.push(process, ThreadRow { tid, name_id });
                }
                Some(tid)
            }
        };
        let name_id = sink.name(entry.function.as_bytes());
        let domain_id = Some(sink.name(FUNCTIONS_DOMAIN.as_bytes()));
        sink.push(
            process,
            RangeRow {
                start_ns: entry.start_ns,
                end_ns: Some(entry.end_ns),
                // On a thread they nest; of calls of an unknown thread nobody knows.
                style: if tid.is_some() { range_style::PUSH_POP } else { range_style::START_END },
                domain_id,
                name_id,
                tid: tid.unwrap_or(0),
                ..RangeRow::default()
            },
        );
    }

    fn is_coarse(&self) -> bool {
        self.fractions == 0 && self.short > 0 && self.found.entries > 1
    }
}

#[cfg(test)]
mod tests {
    use crate::import::testing::{TempFile, import};
    use crate::trace::sink::Need;
    use trace_format::schema::Row as _;
    use trace_format::tables::{RANGE, RangeRow};

    /// What users' loggers write, in their own words.
    const LOG: &str = r#"starting
[2022-01-01 00:00:00,123] EXECUTION_TIME: {"function": "adjust_rc_plan", "execution_time": 0.123, "timestamp": 1640995200.5, "call_count": 3}
[2022-01-01 00:00:01,000] RC_PLAN: {"batch_idx": 1, "rc_plan": [[0, 1]], "timestamp": 1640995201.0}
{"function": "optimize_schedule", "execution_time": 1.234, "timestamp": 1640995201.0, "sch_type": "wait-free-cyclic"}
{"function": "cut off", "execution_t
{"function": "no time", "execution_time": 1}
"#;

    fn ranges(text: &str) -> (Vec<(String, i64, i64)>, Vec<&'static str>) {
        let imported = import(&TempFile::new("performance.log", text.as_bytes()), &Need::all()).expect("a log");
        assert_eq!(imported.importer, "function-log");
        let mut rows = Vec::new();
        for (info, batches) in &imported.processes {
            assert_eq!(info.unix_offset_ns, Some(0));
            for batch in batches.iter().filter(|batch| batch.table == &RANGE) {
                for i in 0..batch.rows {
                    let row = RangeRow::from_batch(batch, i);
                    assert_eq!(imported.names.text(row.domain_id.unwrap_or(0)), "functions");
                    rows.push((
                        imported.names.text(row.name_id).into_owned(),
                        row.start_ns,
                        row.end_ns.unwrap_or(0),
                    ));
                }
            }
        }
        (rows, imported.note_codes())
    }

    #[test]
    fn the_time_is_when_the_call_ended_and_prefixes_are_passed_over() {
        let (rows, notes) = ranges(LOG);
        let s = 1_000_000_000;
        assert_eq!(
            rows,
            [
                ("adjust_rc_plan".to_owned(), 1_640_995_200 * s + 377_000_000, 1_640_995_200 * s + 500_000_000),
                ("optimize_schedule".to_owned(), 1_640_995_199 * s + 766_000_000, 1_640_995_201 * s),
            ]
        );
        assert_eq!(notes, ["left-out", "left-out"]);
    }

    #[test]
    fn whole_seconds_are_said_to_be_coarse() {
        let line =
            |end: u32| format!("{{\"function\":\"f\",\"execution_time\":0.25,\"timestamp\":164099520{end}}}\n");
        assert_eq!(ranges(&(line(1) + &line(2))).1, ["coarse-times"]);
    }

    #[test]
    fn other_json_is_not_taken() {
        for text in [
            "{\"function\": \"f\"}\n",
            "{\"execution_time\": 1.0, \"timestamp\": 5}\n",
            "{\"traceEvents\": [{\"name\": \"function\", \"dur\": 1}]}\n",
            "function execution_time\n",
            "",
        ] {
            assert!(!super::is_log(text.as_bytes(), false), "{text}");
        }
    }
}
