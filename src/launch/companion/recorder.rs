//! What samplers push, on its way into the file.

use super::clock::Clock;
use super::unusable;
use crate::error::Result;
use crate::os::disk;
use serde_json::Value;
use std::any::Any;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};
use std::time::Instant;
use trace_format::columns::Batch;
use trace_format::header::FileHeader;
use trace_format::schema::{Role, Row, RowBuilder};
use trace_format::tables::string::StringBuilder;
use trace_format::tables::{NoteRow, PROCESS, StringRow};
use trace_format::write::{TraceWriter, WriteOptions};

/// Rows of one table that are written at once, whether it is time or not.
const FRAME_ROWS: usize = 65_536;
/// Names beyond this are not kept: their id is 0. As in the collector.
const MOST_NAME_BYTES: usize = 16 << 20;
/// Time between readings of the clocks in the file.
const CLOCK_EVERY_NS: i64 = 10_000_000_000;

/// How much of the disk the trace may take.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// Most bytes of the trace; 0: no limit.
    pub size_bytes: u64,
    /// Percent of the disk that must stay free.
    pub min_free_percent: u64,
}

/// Collects rows from all samplers and writes them. All methods may be called from any thread; none fails: a file
/// that takes no more is a remark at the end, and the program goes on.
pub struct Recorder {
    clock: Clock,
    path: PathBuf,
    limits: Limits,
    state: Mutex<State>,
}

struct State {
    /// `None` once the trace is closed or given up.
    writer: Option<TraceWriter<File>>,
    names: HashMap<Vec<u8>, u32>,
    name_bytes: usize,
    new_names: StringBuilder,
    /// Rows that wait, by number of their table: definitions have the lower ones.
    waiting: BTreeMap<u16, Box<dyn Waiting>>,
    clock_at_ns: i64,
    rows: u64,
    remarks: Vec<String>,
    said: BTreeSet<String>,
}

/// A builder of any table.
trait Waiting: Send {
    fn rows(&self) -> usize;
    fn take(&mut self) -> Batch;
    fn as_any(&mut self) -> &mut dyn Any;
}

impl<B: RowBuilder + Send + 'static> Waiting for B {
    fn rows(&self) -> usize {
        self.len()
    }
    fn take(&mut self) -> Batch {
        RowBuilder::take(self)
    }
    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}

impl Recorder {
    /// Begins a trace in the empty file at `path`.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn create(path: &Path, limits: Limits) -> Result<Recorder> {
        let file = OpenOptions::new().write(true).open(path).map_err(|e| unusable(path, e))?;
        let clock = Clock::start();
        let header = FileHeader::new(concat!("gpuprof ", env!("CARGO_PKG_VERSION"), " launcher"), clock.now_ns());
        let limit_bytes = (limits.size_bytes > 0).then_some(limits.size_bytes);
        let options = WriteOptions { limit_bytes, ..WriteOptions::default() };
        let writer = TraceWriter::create(file, &header, options).map_err(|e| unusable(path, e))?;
        let state = State {
            writer: Some(writer),
            names: HashMap::new(),
            name_bytes: 0,
            new_names: StringBuilder::default(),
            waiting: BTreeMap::new(),
            clock_at_ns: 0,
            rows: 0,
            remarks: Vec::new(),
            said: BTreeSet::new(),
        };
        let recorder = Recorder { clock, path: path.to_owned(), limits, state: Mutex::new(state) };
        let reading = recorder.clock.first_reading();
        let mut state = recorder.state();
        state.clock_at_ns = reading.trace_ns;
        state.push(reading);
        drop(state);
        Ok(recorder)
    }

    /// Now, on the clock of this trace: Unix nanoseconds that never jump.
    pub fn now_ns(&self) -> i64 {
        self.clock.now_ns()
    }

    /// The time of a moment, on the clock of this trace.
    pub fn ns_of(&self, moment: Instant) -> i64 {
        self.clock.ns_of(moment)
    }

    /// The id of a name in this trace; 0 for an empty one, and when there are too many.
    pub fn name(&self, name: &[u8]) -> u32 {
        self.state().intern(name)
    }

    /// Adds one row of any table but `string`, for which [`Recorder::name`] is.
    pub fn push<R>(&self, row: R)
    where
        R: Row,
        R::Builder: Send + 'static,
    {
        self.push_all([row]);
    }

    /// Adds rows of one table.
    pub fn push_all<R>(&self, rows: impl IntoIterator<Item = R>)
    where
        R: Row,
        R::Builder: Send + 'static,
    {
        let mut state = self.state();
        let waiting = state.push_all(rows);
        if waiting >= FRAME_ROWS {
            self.write(&mut state);
        }
    }

    /// Writes a remark into the trace, about the whole run or a moment of it.
    pub fn note(&self, start_ns: Option<i64>, text: &str) {
        let mut state = self.state();
        state.note(start_ns, text);
    }

    /// A remark for whoever started the run: a note in the trace, and a line when the program has ended. Said once,
    /// however often it is found.
    pub fn remark(&self, text: &str) {
        let mut state = self.state();
        if state.said.insert(text.to_owned()) {
            state.note(None, text);
            state.remarks.push(text.to_owned());
        }
    }

    /// Says who writes this trace. The newest word counts.
    pub fn describe(&self, process: &Value) {
        let mut state = self.state();
        let Some(writer) = &mut state.writer else { return };
        let written = writer.write_json(&PROCESS, process).map_err(|e| e.to_string());
        state.check(&self.path, written);
    }

    /// Writes what waits.
    pub fn flush(&self) {
        let mut state = self.state();
        let now_ns = self.now_ns();
        if now_ns.saturating_sub(state.clock_at_ns) >= CLOCK_EVERY_NS {
            state.clock_at_ns = now_ns;
            state.push(self.clock.reading());
        }
        self.write(&mut state);
    }

    /// Writes what waits and closes the trace. What is pushed later goes nowhere.
    pub fn finish(&self, totals: &Value) {
        let mut state = self.state();
        state.push(self.clock.reading());
        self.write(&mut state);
        if let Some(mut writer) = state.writer.take() {
            let closed = writer.finish(totals).map_err(|e| e.to_string());
            state.check(&self.path, closed);
        }
    }

    /// Rows of measurements pushed so far.
    pub fn rows(&self) -> u64 {
        self.state().rows
    }

    /// What was remarked so far.
    pub fn remarks(&self) -> Vec<String> {
        self.state().remarks.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }

    fn write(&self, state: &mut State) {
        if state.writer.is_none() {
            return;
        }
        let enough = match free_percent(&self.path) {
            Some(free) if free < self.limits.min_free_percent => {
                Err(format!("less than {} percent of the disk is free (--min-free)", self.limits.min_free_percent))
            }
            _ => Ok(()),
        };
        let written = enough.and_then(|()| state.write_waiting());
        state.check(&self.path, written);
    }
}

impl State {
    fn push<R>(&mut self, row: R)
    where
        R: Row,
        R::Builder: Send + 'static,
    {
        self.push_all([row]);
    }

    /// How many rows of the table wait now.
    fn push_all<R>(&mut self, rows: impl IntoIterator<Item = R>) -> usize
    where
        R: Row,
        R::Builder: Send + 'static,
    {
        if self.writer.is_none() {
            return 0;
        }
        let waiting =
            self.waiting.entry(R::TABLE.id).or_insert_with(|| Box::new(<R::Builder as Default>::default()));
        // The number of a table belongs to one type of builder.
        let Some(builder) = waiting.as_any().downcast_mut::<R::Builder>() else { return 0 };
        let before = builder.len();
        rows.into_iter().for_each(|row| builder.push(row));
        let is_measurement = R::TABLE.role == Role::Activity || R::TABLE == &trace_format::tables::SAMPLE;
        if is_measurement {
            self.rows += (builder.len() - before) as u64;
        }
        builder.len()
    }

    fn note(&mut self, start_ns: Option<i64>, text: &str) {
        let text_id = self.intern(text.as_bytes());
        self.push(NoteRow { start_ns, text_id, ..NoteRow::default() });
    }

    fn intern(&mut self, name: &[u8]) -> u32 {
        if let Some(&id) = self.names.get(name) {
            return id;
        }
        let next = u32::try_from(self.names.len() + 1).unwrap_or(0);
        if name.is_empty() || next == 0 || self.name_bytes + name.len() > MOST_NAME_BYTES {
            return 0;
        }
        self.name_bytes += name.len();
        self.names.insert(name.to_vec(), next);
        self.new_names.push(StringRow { id: next, bytes: name.to_vec() });
        next
    }

    fn write_waiting(&mut self) -> std::result::Result<(), String> {
        let Some(writer) = &mut self.writer else { return Ok(()) };
        let names = (self.new_names.len() > 0).then(|| RowBuilder::take(&mut self.new_names));
        let rows = self.waiting.values_mut().filter(|w| w.rows() > 0).map(|w| w.take());
        for batch in names.into_iter().chain(rows) {
            writer.write_batch(&batch).map_err(|e| e.to_string())?;
        }
        Ok(())
    }

    /// A file that refuses once is given up: what is in it is a whole trace.
    fn check(&mut self, path: &Path, written: std::result::Result<(), String>) {
        if let Err(why) = written {
            self.writer = None;
            self.waiting.clear();
            self.remarks.push(format!("{}: the launcher's trace ends early: {why}", path.display()));
        }
    }
}

/// How much of the disk with `path` is free for us, in percent.
fn free_percent(path: &Path) -> Option<u64> {
    disk::room(path).ok()?.free_percent()
}
