//! Native `.gpuprof` files: opened by their indices, decoded frame by frame, by Polars, when a report asks.

use super::sink::{Budgeted, Note, ProcessInfo, Steps};
use super::stored::Stored;
use crate::error::{Error, Result};
use crate::numbers::counted;
use polars::prelude::*;
use serde_json::Value;
use shim_config::{Capture, SizePolicy};
use std::path::Path;
use std::sync::Arc;
use trace_format::read::{Problem, TraceReader};
use trace_format::schema::{AnyColumn as _, TableSpec};
use trace_format::tables::column::any;
use trace_format::tables::{self, ClockRow, ROLE, ROLE_LAUNCHER};

/// One open native file.
pub struct NativeFile {
    /// Ordinal of its process.
    pub process: u32,
    /// Who was recorded.
    pub info: ProcessInfo,
    /// Format and writer version.
    pub origin: String,
    stored: Arc<Stored>,
}

/// Which steps of the program were recorded, or what a budget allowed, where that was asked for.
fn sample(process: &Value) -> (Option<Steps>, Option<Budgeted>) {
    let Some(configuration) = process.get(tables::CONFIGURATION).and_then(Value::as_object) else {
        return (None, None);
    };
    let values =
        configuration.iter().filter_map(|(name, value)| Some((name.as_bytes(), value.as_str()?.as_bytes())));
    let (settings, _) = shim_config::from_env(values);
    // Of a recording that keeps the latest alone, what came before it is gone.
    let keeps_all = settings.ring.is_none() && settings.size_policy == SizePolicy::Stop;
    let all = process.get(tables::STEPS).and_then(Value::as_u64).filter(|_| keeps_all);
    match (settings.budget, settings.capture) {
        (Some(budget), capture) => {
            let told = process.get(tables::BUDGET);
            let time = |key: &str| told?.get(key)?.as_i64();
            let spent = told.and_then(|told| told.get(tables::budget::SPENT_NS)).and_then(Value::as_object);
            let budgeted = Budgeted {
                is_steps: matches!(capture, Capture::Nvtx { .. }),
                began_ns: time(tables::budget::BEGAN_NS).filter(|_| keeps_all),
                ended_ns: time(tables::budget::ENDED_NS),
                all_steps: all,
                spent_ns: spent.map(|spent| spent.values().filter_map(Value::as_u64).sum()),
                budget,
            };
            (None, Some(budgeted))
        }
        (None, Capture::Nvtx { cycle: Some(cycle), .. }) => {
            (Some(Steps { of_cycle: cycle.steps, every: cycle.every, all }), None)
        }
        _ => (None, None),
    }
}

impl NativeFile {
    /// Opens the file and reads who was recorded. Rows and what they refer to are not touched.
    ///
    /// # Errors
    /// No whole header, a newer major version, or a disk that cannot be read. Damage further on becomes notes.
    pub fn open(path: &Path, process: u32, notes: &mut Vec<Note>) -> Result<NativeFile> {
        let reader = TraceReader::open(path).map_err(|e| Error::new(e.to_string()))?;
        let header = reader.header();
        let role = reader.process().unwrap_or_default();
        let of = if role.get(ROLE).and_then(|v| v.as_str()) == Some(ROLE_LAUNCHER) { " of a launcher" } else { "" };
        let origin = format!("gpuprof trace {}.{}{of}, written by {}", header.major, header.minor, header.writer);
        let stored = Arc::new(Stored::new(path, reader));
        let mut file = NativeFile { process, info: ProcessInfo::default(), origin, stored };
        for problem in file.reader().problems() {
            notes.push(file.stored.note_of(problem));
        }
        file.read_process(notes);
        if !file.reader().is_closed() {
            let tail = file.reader().tail_bytes();
            let tail = if tail == 0 {
                String::new()
            } else {
                format!("; {} of an incomplete frame at its end", counted(tail, "byte"))
            };
            let text = format!("{}: not closed: the program was killed or is still running{tail}", path.display());
            notes.push(Note { code: "not-closed", text });
        }
        Ok(file)
    }

    /// Reads who was recorded and what its clock showed. What damage took from either is noted: without it, times and
    /// ranks of several processes would stand beside each other as if they could be compared.
    fn read_process(&mut self, notes: &mut Vec<Note>) {
        let (process, damaged) = self.reader().newest_process();
        if let Some(process) = &process {
            let number = |key: &str| process.get(key).and_then(|v| v.as_u64()).and_then(|v| u32::try_from(v).ok());
            self.info.pid = number("pid");
            self.info.rank = number("rank");
            self.info.world_size = number("world_size");
            let role = process.get(ROLE).and_then(|v| v.as_str());
            self.info.is_launcher = role == Some(ROLE_LAUNCHER);
            let text = |key: &str| process.get(key).and_then(|v| v.as_str()).map(str::to_owned);
            (self.info.host, self.info.name) = (text("host"), text("process_name"));
            (self.info.steps, self.info.budget) = sample(process);
        }
        notes.extend(damaged.iter().map(|p| self.stored.note_of(p)));
        // One constant offset per process. The first triple is provisional (CUPTI 13 settles late) and serves only
        // where nothing better was written.
        let clocks = self.reader().definitions::<ClockRow>();
        let clock = clocks.rows.iter().find(|c| !c.provisional).or(clocks.rows.last());
        self.info.unix_offset_ns = clock.and_then(|c| c.unix_ns.checked_sub(c.trace_ns));
        notes.extend(clocks.problems.iter().map(|p| self.stored.note_of(p)));

        let lost_in = |table: u16, problems: &[Problem]| {
            problems
                .iter()
                .chain(self.reader().problems())
                .any(|p| p.table.is_none_or(|t| t == table) && p.rows != Some(0))
        };
        let path = self.path().display();
        if lost_in(tables::PROCESS.id, &damaged) {
            let lost = match process {
                None => Some("its process id, rank and host are not known"),
                Some(_) if damaged.is_empty() => None,
                Some(_) => {
                    Some("an older description of the process is used: its rank or host may be missing or outdated")
                }
            };
            notes.extend(lost.map(|lost| Note {
                code: "unknown-process",
                text: format!("{path}: {lost}; copy the file again if there is a whole one"),
            }));
        }
        if lost_in(tables::CLOCK.id, &clocks.problems) {
            let lost = match clock {
                None => Some(
                    "no reading of the clock can be found: times have no date and cannot be put beside those of other processes",
                ),
                Some(clock) if clock.provisional => {
                    Some("a first reading of the clock is used: dates may be off by some microseconds")
                }
                Some(_) => None,
            };
            notes.extend(lost.map(|lost| Note {
                code: "unknown-epoch",
                text: format!("{path}: {lost}; copy the file again if there is a whole one"),
            }));
        }
    }

    /// Frames of rows: their positions in [`TraceReader::frames`] and their tables. Repeated definitions and tables
    /// of a newer minor version are left out.
    pub fn frames(&self) -> impl Iterator<Item = (usize, &'static TableSpec)> + '_ {
        self.reader().frames().iter().enumerate().filter_map(|(i, frame)| {
            let skip = frame.is_json() || frame.is_repeat();
            if skip { None } else { tables::by_id(frame.table).map(|table| (i, table)) }
        })
    }

    /// Rows of one frame.
    pub fn frame_rows(&self, frame: usize) -> u64 {
        u64::from(self.reader().frames()[frame].rows)
    }

    /// Earliest start and latest end of one frame's rows with valid times, on the trace clock.
    pub fn frame_times(&self, frame: usize) -> Option<(i64, i64)> {
        let info = &self.reader().frames()[frame];
        info.min_start_ns.zip(info.max_end_ns)
    }

    /// The reader underneath, for `info`.
    pub fn reader(&self) -> &TraceReader {
        self.stored.reader()
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        self.stored.path()
    }

    /// What all segments of one recording share; none for a trace in one file.
    pub fn run(&self) -> Option<&str> {
        self.reader().header().run.as_deref()
    }

    /// The frames of the file.
    pub(super) fn stored(&self) -> &Arc<Stored> {
        &self.stored
    }

    /// Decodes `columns` of one frame as [`Stored::decode`] does.
    pub fn decode(
        &self,
        frame: usize,
        table: &'static TableSpec,
        columns: &[&str],
        buffer: &mut Vec<u8>,
        share_ids: &dyn Fn(&mut DataFrame) -> PolarsResult<()>,
    ) -> Option<(DataFrame, usize)> {
        self.stored.decode(frame, table, columns, buffer, &|decoded| {
            share_ids(decoded)?;
            without_impossible_durations(decoded)
        })
    }
}

/// A duration below zero is none, whoever wrote it. Sums are made without looking again.
fn without_impossible_durations(frame: &mut DataFrame) -> PolarsResult<()> {
    let name = any::DURATION_NS.name();
    let Ok(column) = frame.column(name) else { return Ok(()) };
    let durations = column.i64()?;
    if durations.min().is_none_or(|least| least >= 0) {
        return Ok(());
    }
    let kept: Int64Chunked = durations.iter().map(|ns| ns.filter(|&ns| ns >= 0)).collect();
    frame.with_column(kept.with_name(name.into()).into_column())?;
    Ok(())
}
