//! All open traces as one: what they define, and their rows in parallel batches.

mod adding;
mod rows;

use super::definitions::AllShapes;
use super::kept::{Away, Overflow};
use super::names::Names;
use super::native::NativeFile;
use super::select::Filter;
use super::sink::{Note, ProcessInfo};
use super::summaries::FileSummary;
use crate::error::Result;
use polars::prelude::*;
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};
use trace_format::schema::{AnyColumn as _, TableSpec};
use trace_format::tables::column::any;
use trace_format::tables::{self, DeviceRow};

/// One recorded process.
#[derive(Clone, Debug)]
pub struct Process {
    /// Who it is.
    pub info: ProcessInfo,
    /// The file it was read from.
    pub path: PathBuf,
}

/// One opened file.
#[derive(Clone, Debug)]
pub struct OpenedFile {
    /// Where it is.
    pub path: PathBuf,
    /// What it is and which version of what wrote it.
    pub origin: String,
    /// Ordinals of its processes.
    pub processes: std::ops::Range<u32>,
    /// Whether a note of its reader counts its records without valid times, and says where the first of them is.
    pub counts_invalid: bool,
}

/// Where some rows of a table are.
pub(super) enum Part {
    /// Read by an importer and kept.
    Kept { process: u32, table: &'static TableSpec, frame: DataFrame },
    /// Read by an importer and written to a temporary file, decoded when asked for.
    Away { process: u32, away: Away },
    /// A frame of a native file, decoded when asked for.
    Native { file: usize, frame: usize, table: &'static TableSpec },
}

impl Part {
    pub(super) fn table(&self) -> &'static TableSpec {
        match self {
            Part::Kept { table, .. } | Part::Native { table, .. } => table,
            Part::Away { away, .. } => away.table,
        }
    }

    pub(super) fn process(&self, frames: &Frames) -> u32 {
        match self {
            Part::Kept { process, .. } | Part::Away { process, .. } => *process,
            Part::Native { file, .. } => frames.natives[*file].process,
        }
    }
}

/// All open traces.
///
/// `process` numbers in rows are ordinals in path order. Times are made Unix nanoseconds by adding each process's
/// constant offset ([`Frames::offset_ns`]); a trace without an epoch stays relative.
#[derive(Default)]
pub struct Frames {
    /// Names of everything, shared by all files.
    pub names: Names,
    pub(super) shapes: AllShapes,
    /// The processes, by ordinal.
    pub processes: Vec<Process>,
    /// The files, in path order.
    pub files: Vec<OpenedFile>,
    /// Devices: process ordinal and row, in process and device order. Names are ids into `names`.
    pub devices: Vec<(u32, DeviceRow)>,
    /// What is partial or remarkable, in the order in which it was met.
    pub notes: Vec<Note>,
    /// What files hold that is no record: sums that another tool made, and CPU profiles. No table of records has them.
    pub summaries: Vec<FileSummary>,
    parts: Vec<Part>,
    natives: Vec<NativeFile>,
    /// Takes rows of imported files that are too many to be kept in memory.
    overflow: Overflow,
    rows_decoded: Arc<AtomicU64>,
    /// Where a GPU is known first, by process and index; made when it is asked for.
    known_first: OnceLock<HashMap<(u32, u32), (u32, u32)>>,
}

impl Frames {
    /// Lets rows of imported files take no more memory than this; the others go to a temporary file. Must be said before
    /// files are opened; without it all rows stay in memory.
    pub(crate) fn keep_in_memory(&mut self, bytes: usize) {
        self.overflow = Overflow::new(bytes);
    }

    /// Adds rows of `table` that no file of the process holds.
    pub(crate) fn keep(&mut self, process: u32, table: &'static TableSpec, frame: DataFrame) {
        self.parts.push(Part::Kept { process, table, frame });
    }

    /// What to add to times of process `ordinal` to get Unix nanoseconds, or times from 0 where all traces are to begin
    /// there; 0 if its trace has no epoch.
    pub fn offset_ns(&self, process: u32) -> i64 {
        let known = self.processes.get(process as usize).map(|p| &p.info);
        known.and_then(|info| info.aligned_ns.or(info.unix_offset_ns)).unwrap_or(0)
    }

    /// Everything that is partial or remarkable, what reading rows has found since included.
    pub fn all_notes(&self) -> Vec<Note> {
        let mut notes = self.notes.clone();
        notes.extend(self.natives.iter().flat_map(|native| native.stored().late_notes()));
        notes
    }

    /// Rows of `table`, as far as the files say without reading them.
    pub fn rows(&self, table: &TableSpec) -> u64 {
        self.parts
            .iter()
            .filter(|part| part.table() == table)
            .map(|part| match part {
                Part::Kept { frame, .. } => frame.height() as u64,
                Part::Away { away, .. } => away.rows as u64,
                Part::Native { file, frame, .. } => self.natives[*file].frame_rows(*frame),
            })
            .sum()
    }

    /// A counter of rows handed out so far, of all tables together, for whoever shows progress.
    pub fn rows_decoded(&self) -> Arc<AtomicU64> {
        self.rows_decoded.clone()
    }

    /// Ordinals of the processes that have rows of `table`.
    pub fn processes_with_rows(&self, table: &TableSpec) -> std::collections::BTreeSet<u32> {
        let parts = self.parts.iter().filter(|part| part.table() == table);
        parts.map(|part| part.process(self)).collect()
    }

    /// Earliest start and latest end of anything on a timeline, over rows with valid times; `None` if there is
    /// nothing. Native files answer from their frame headers.
    ///
    /// # Errors
    /// Fails if a part of a file cannot be read.
    pub fn time_span(&self) -> Result<Option<(i64, i64)>> {
        Ok(self.time_spans()?.into_values().reduce(|(a, b), (from, to)| (a.min(from), b.max(to))))
    }

    /// As [`Frames::time_span`], for each process apart.
    ///
    /// # Errors
    /// Fails if a part of a file cannot be read.
    pub fn time_spans(&self) -> Result<BTreeMap<u32, (i64, i64)>> {
        self.time_spans_of(&[&tables::KERNEL, &tables::MEMCPY, &tables::MEMSET, &tables::GRAPH, &tables::API])
    }

    /// Earliest start and latest end of what `tables` hold, for each process apart, over rows with valid times. Tables
    /// without starts, or with neither durations nor ends, have none.
    ///
    /// # Errors
    /// Fails if a part of a file cannot be read.
    pub fn time_spans_of(&self, tables: &[&'static TableSpec]) -> Result<BTreeMap<u32, (i64, i64)>> {
        let has = |table: &TableSpec, name: &str| table.columns.iter().any(|column| column.name == name);
        let [start, duration, end] = [any::START_NS, any::DURATION_NS, any::END_NS].map(|column| column.name());
        let has_times = |table: &&TableSpec| has(table, start) && (has(table, duration) || has(table, end));
        let mut spans = BTreeMap::new();
        let mut widen = |process: u32, from: i64, to: i64| {
            let span: &mut (i64, i64) = spans.entry(process).or_insert((from, to));
            *span = (span.0.min(from), span.1.max(to));
        };
        for table in tables.iter().copied().filter(has_times) {
            for part in self.parts.iter().filter(|part| part.table() == table) {
                let known = match part {
                    Part::Native { file, frame, .. } => Some(self.natives[*file].frame_times(*frame)),
                    // Bounds of what may be open, such as a range, have its start.
                    Part::Away { away, .. } if has(table, duration) => Some(away.bounds()),
                    Part::Away { .. } | Part::Kept { .. } => None,
                };
                if let Some(times) = known {
                    let process = part.process(self);
                    let offset = self.offset_ns(process);
                    if let Some((from, to)) = times {
                        widen(process, from.saturating_add(offset), to.saturating_add(offset));
                    }
                    continue;
                }
                let times = [start, duration, end];
                let Some(batch) = self.decode(part, &times, &Filter::everything(), &mut Vec::new())? else {
                    continue;
                };
                let (start, duration, end) =
                    (batch.get(any::START_NS), batch.get(any::DURATION_NS), batch.get(any::END_NS));
                batch.for_each_row(|i| {
                    let Some(from) = start.get(i) else { return };
                    let length = duration.get(i).map(|length| from.saturating_add(length));
                    if let Some(to) = length.or_else(|| end.get(i).filter(|&to| to >= from)) {
                        let offset = batch.offset_ns;
                        widen(batch.process, from.saturating_add(offset), to.saturating_add(offset));
                    }
                });
            }
        }
        Ok(spans)
    }

    /// How many processes of the programs there are: all but the launchers, which measured from outside.
    pub fn recorded_processes(&self) -> usize {
        self.processes.iter().filter(|p| !p.info.is_launcher).count()
    }

    /// Where the traces begin to count, in nanoseconds since 1970: the earliest of the processes' own origins. A launcher
    /// counts from 1970 anyway, whatever clock its processes have.
    pub fn origin_ns(&self) -> Option<i64> {
        let of = |is_launcher| {
            let processes = self.processes.iter().filter(move |p| p.info.is_launcher == is_launcher);
            processes.filter_map(|p| p.info.epoch_ns()).min()
        };
        of(false).or_else(|| of(true))
    }

    /// The traced process with this number on the machine of process `beside`, which looked at it from outside.
    pub fn process_beside(&self, beside: u32, pid: u32) -> Option<u32> {
        let is_it = |p: &Process| !p.info.is_launcher && p.info.pid == Some(pid);
        let found = (0..).zip(&self.processes).find(|(other, p)| is_it(p) && self.share_host(beside, *other));
        found.map(|(ordinal, _)| ordinal)
    }

    /// Whether two processes ran on the same machine, as far as the traces say.
    pub fn share_host(&self, a: u32, b: u32) -> bool {
        let host = |process: u32| self.processes.get(process as usize).and_then(|p| p.info.host.as_ref());
        host(a) == host(b)
    }

    /// Whether some traces count from an epoch and others do not, so that their times say nothing about each other.
    pub fn mixes_epochs(&self) -> bool {
        let with = self.processes.iter().filter(|p| p.info.unix_offset_ns.is_some()).count();
        with != 0 && with != self.processes.len()
    }

    /// Makes every process begin at 0, whatever its clock.
    ///
    /// # Errors
    /// Fails if a part of a file cannot be read.
    pub fn align_starts(&mut self) -> Result<()> {
        for (process, (start, _)) in self.time_spans()? {
            let offset = self.offset_ns(process).saturating_sub(start);
            self.processes[process as usize].info.aligned_ns = Some(offset);
        }
        Ok(())
    }

    /// Adds something to the times of processes, by ordinal. `has_epoch`: they count from 1970 then.
    pub fn move_processes(&mut self, shifts_ns: &BTreeMap<u32, i64>, has_epoch: bool) {
        for (&process, shift_ns) in shifts_ns {
            let offset_ns = self.offset_ns(process).saturating_add(*shift_ns);
            let Some(known) = self.processes.get_mut(process as usize) else { continue };
            match has_epoch {
                true => known.info.unix_offset_ns = Some(offset_ns),
                false => known.info.aligned_ns = Some(offset_ns),
            }
        }
    }

    /// The native files among the open ones.
    pub fn natives(&self) -> &[NativeFile] {
        &self.natives
    }

    /// The first process and index under which a GPU is known that `process` knows as `device`: one GPU has one UUID,
    /// while under CUDA_VISIBLE_DEVICES every rank calls its own GPU 0. A GPU without a UUID is known by its process.
    pub fn device_identity(&self, process: u32, device: u32) -> (u32, u32) {
        let known_first = self.known_first.get_or_init(|| {
            // By host and UUID.
            let mut first = HashMap::new();
            let mut known_first = HashMap::new();
            for (process, row) in &self.devices {
                let Some(uuid) = row.uuid.as_deref() else { continue };
                let host = self.processes.get(*process as usize).and_then(|p| p.info.host.as_deref());
                let own = (*process, row.device);
                known_first.insert(own, *first.entry((host, uuid)).or_insert(own));
            }
            known_first
        });
        known_first.get(&(process, device)).copied().unwrap_or((process, device))
    }

    /// Name id of the device with this index in this process; 0 if unknown. A file with several processes may
    /// describe its devices for the first of them only.
    pub fn device_name_id(&self, process: u32, device: u32) -> u32 {
        // Rows are asked for their device one by one, and a run may have thousands of devices: both lists are in order.
        let of = |process: u32| {
            let found =
                self.devices.binary_search_by_key(&(process, device), |(process, row)| (*process, row.device));
            found.ok().map(|at| self.devices[at].1.name_id)
        };
        let behind = self.files.partition_point(|file| file.processes.start <= process);
        let file = behind.checked_sub(1).map(|at| &self.files[at]).filter(|file| file.processes.contains(&process));
        of(process).or_else(|| file?.processes.clone().find_map(of)).unwrap_or(0)
    }
}
