//! Function logs beside traces: their entries become ranges of the process that wrote them.

use crate::error::{Error, Result};
use crate::import::Head;
use crate::import::Importer as _;
use crate::import::function_log::{self, FunctionLog, date_text};
use crate::numbers::items;
use crate::trace::batch;
use crate::trace::frames::{Frames, OpenedFile};
use crate::trace::sink::{Need, Note, Sink, SinkProcess};
use std::path::{Path, PathBuf};
use trace_format::columns::{Batch, Values};
use trace_format::tables;

/// The logs to join, and how to understand them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FunctionLogs {
    /// Where they are.
    pub paths: Vec<PathBuf>,
    /// How they are to be understood.
    pub options: function_log::Options,
}

impl Frames {
    /// Opens `paths` as [`Frames::open`] does, and joins `logs` to them. Without paths the logs are all there is.
    ///
    /// # Errors
    /// Fails as [`Frames::open`] does, and if a log cannot be used.
    pub fn open_with(paths: &[PathBuf], need: &Need, logs: &FunctionLogs) -> Result<Frames> {
        let mut frames = match paths.is_empty() && !logs.paths.is_empty() {
            true => Frames::default(),
            false => Frames::open(paths, need)?,
        };
        let recorded = frames.processes.len();
        for path in &logs.paths {
            frames.join_log(path, need, logs.options, recorded)?;
        }
        Ok(frames)
    }

    /// Joins a log; the first `recorded` processes are those of traces.
    fn join_log(
        &mut self,
        path: &Path,
        need: &Need,
        options: function_log::Options,
        recorded: usize,
    ) -> Result<()> {
        if !FunctionLog.sniff(&Head::read(path)?) {
            return Err(Error::at(path, "not a function log: none of its first lines holds a JSON object with \"function\" and \"execution_time\"")
                .remedy("docs/function-logs.md says what is read"));
        }
        let mut sink = self.sink();
        let found = function_log::read(path, options, need, &mut sink)?;
        sink.finish();
        let Sink { origin, processes, notes, .. } = sink;
        self.notes.extend(notes);
        let first = self.processes.len() as u32;
        for process in processes {
            self.join_process(path, process, recorded)?;
        }
        self.files.push(OpenedFile {
            path: path.to_owned(),
            origin,
            processes: first..self.processes.len() as u32,
            counts_invalid: false,
        });
        if let Some(span) = found.span_ns.filter(|_| recorded > 0) {
            self.say_if_apart(path, span, found.entries, recorded)?;
        }
        Ok(())
    }

    /// The rows of one process of a log go to the process that was recorded under its pid; without a pid to the only one
    /// there is. A log of nobody who was recorded, or beside a trace that does not know the time of day, stays a process
    /// of its own.
    fn join_process(&mut self, path: &Path, process: SinkProcess, recorded: usize) -> Result<()> {
        let candidates: Vec<usize> = (0..recorded)
            .filter(|&i| process.info.pid.is_none() || self.processes[i].info.pid == process.info.pid)
            .collect();
        let target = match candidates[..] {
            [only] => Some(only).zip(self.processes[only].info.unix_offset_ns),
            _ => None,
        };
        let (ordinal, offset_ns) = match target {
            Some((ordinal, offset_ns)) => (ordinal as u32, offset_ns),
            None => {
                if recorded > 0 {
                    self.notes.push(apart(path, process.info.pid, candidates.len()));
                }
                self.add_process(path, process.info.clone());
                (self.processes.len() as u32 - 1, 0)
            }
        };
        for mut rows in process.into_batches() {
            let table = rows.table;
            if table == &tables::RANGE {
                to_trace_clock(&mut rows, offset_ns);
            }
            let frame =
                batch::to_frame(rows).map_err(|e| Error::at(path, format_args!("table {}: {e}", table.name)))?;
            self.keep(ordinal, table, frame);
        }
        Ok(())
    }

    fn say_if_apart(&mut self, path: &Path, span: (i64, i64), entries: u64, recorded: usize) -> Result<()> {
        let spans = self.time_spans()?;
        let of_traces =
            spans.into_iter().filter(|(process, _)| (*process as usize) < recorded).map(|(_, span)| span);
        let Some((from, to)) = of_traces.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))) else { return Ok(()) };
        if span.1 < from || span.0 > to {
            let text = format!(
                "{}: {} between {} and {}, the traces between {} and {}: nothing is inside; if they belong together, see \
                 --events-zone and --events-time",
                path.display(),
                items(entries, "entry lies", "entries lie"),
                date_text(span.0),
                date_text(span.1),
                date_text(from),
                date_text(to)
            );
            self.notes.push(Note { code: "events-outside", text });
        }
        Ok(())
    }
}

fn apart(path: &Path, pid: Option<u32>, candidates: usize) -> Note {
    let why = match (pid, candidates) {
        (Some(pid), 0) => format!("it is of process {pid}, which was not recorded"),
        (_, 1) => "the trace does not say what time of day it was".to_owned(),
        (Some(pid), _) => format!("{candidates} processes were recorded as {pid}"),
        (None, _) => format!("it names no process, and {candidates} were recorded"),
    };
    Note {
        code: "events-apart",
        text: format!("{}: its entries are a process of their own: {why}", path.display()),
    }
}

fn to_trace_clock(rows: &mut Batch, offset_ns: i64) {
    for (spec, column) in rows.table.columns.iter().zip(&mut rows.columns) {
        if let (true, Values::I64(times)) = (spec.is_time(), &mut column.values) {
            times.iter_mut().for_each(|time| *time = time.saturating_sub(offset_ns));
        }
    }
}
