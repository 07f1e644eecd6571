//! All open traces as one: what they define, and their rows in parallel batches.

use super::batch::{self, Batch};
use super::definitions::AllShapes;
use super::inputs::{self, InputFile, Inputs};
use super::names::Names;
use super::native::NativeFile;
use super::ring;
use super::select::Filter;
use super::sink::{Need, Note, ProcessInfo, Sink};
use super::summaries::FileSummary;
use crate::error::{Error, Result};
use crate::import::{self, Head};
use polars::prelude::*;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use trace_format::schema::{ColumnSpec, ColumnType, TableSpec, Unit};
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
}

/// Decodes one batch after another; `None` when there are no more for this thread.
type NextBatch<'n> = dyn FnMut() -> Option<Batch> + 'n;

/// Where some rows of a table are.
pub(super) enum Part {
    /// Read by an importer and kept.
    Kept { process: u32, table: &'static TableSpec, frame: DataFrame },
    /// A frame of a native file, decoded when asked for.
    Native { file: usize, frame: usize, table: &'static TableSpec },
}

impl Part {
    pub(super) fn table(&self) -> &'static TableSpec {
        match self {
            Part::Kept { table, .. } | Part::Native { table, .. } => table,
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
    rows_decoded: Arc<AtomicU64>,
}

impl Frames {
    /// Opens everything that `paths` name; see [`inputs::expand`].
    ///
    /// # Errors
    /// A named file that cannot be used; no trace at all among files found in folders and by globs.
    pub fn open(paths: &[PathBuf], need: &Need) -> Result<Frames> {
        let Inputs { files, dumps } = inputs::look(paths)?;
        let mut frames = Frames::default();
        let mut skipped = Vec::new();
        for file in &files {
            if let Some(reason) = frames.open_file(file, need)? {
                skipped.push(reason);
            }
        }
        if frames.files.is_empty() {
            let places: Vec<String> = paths.iter().map(|p| p.display().to_string()).collect();
            let mut error =
                Error::nothing(format!("{}: no trace found among {} files", places.join(", "), files.len()));
            if let Some(first) = skipped.first() {
                error = error.remedy(&format!("the first that was passed over: {first}"));
            }
            return Err(error);
        }
        frames.notes.extend(ring::notes(&frames.natives));
        frames.notes.extend(dumps_left_out(&dumps));
        frames.collect_devices()?;
        Ok(frames)
    }

    /// Opens one file. `Ok(Some(reason))`: it is no trace, or a broken one, and was not asked for by name.
    fn open_file(&mut self, file: &InputFile, need: &Need) -> Result<Option<String>> {
        let outcome = self.read_file(&file.path, need);
        match outcome {
            Ok(()) => Ok(None),
            Err(error) if file.named => Err(error),
            Err(error) => {
                // Logs and checkpoints lie beside traces; only what claims to be a trace deserves a remark.
                let claims = |head: Head| NativeFile::sniff(&head) || import::claims_to_be_a_trace(&head);
                if Head::read(&file.path).is_ok_and(claims) {
                    self.notes.push(Note { code: "unreadable-file", text: error.to_string() });
                }
                Ok(Some(error.to_string()))
            }
        }
    }

    fn read_file(&mut self, path: &Path, need: &Need) -> Result<()> {
        let head = Head::read(path)?;
        if NativeFile::sniff(&head) {
            let next = self.processes.len() as u32;
            let mut native = NativeFile::open(path, next, &mut self.notes)?;
            // A dump's segments are those of the ring, under another name.
            let id = native.reader().header().file_id;
            if native.run().is_some() && self.natives.iter().any(|other| other.reader().header().file_id == id) {
                return Ok(());
            }
            // Segments of a ring are one recording, so they are one process.
            let known = native.run().and_then(|run| self.natives.iter().find(|other| other.run() == Some(run)));
            match known.map(|other| other.process) {
                Some(process) => native.process = process,
                None => self.processes.push(Process { info: native.info.clone(), path: path.to_owned() }),
            }
            let file = self.natives.len();
            for (frame, table) in native.frames() {
                self.parts.push(Part::Native { file, frame, table });
            }
            self.files.push(OpenedFile {
                path: path.to_owned(),
                origin: native.origin.clone(),
                processes: native.process..native.process + 1,
            });
            self.names.add_file(native.stored().clone());
            self.natives.push(native);
            return Ok(());
        }
        let importer = import::choose(&head)?;
        let mut sink = Sink::new(&mut self.names, &mut self.shapes.imported);
        importer.read(path, need, &mut sink)?;
        sink.finish();
        super::overruns::note(path, &mut sink);
        let first = self.processes.len() as u32;
        let origin = sink.origin;
        self.notes.append(&mut sink.notes);
        let file = self.files.len();
        self.summaries.extend(sink.summaries.into_iter().map(|summary| FileSummary { file, summary }));
        for process in sink.processes {
            let ordinal = self.processes.len() as u32;
            self.processes.push(Process { info: process.info, path: path.to_owned() });
            for rows in process.batches {
                let table = rows.table;
                let frame = batch::to_frame(rows)
                    .map_err(|e| Error::at(path, format_args!("table {}: {e}", table.name)))?;
                self.parts.push(Part::Kept { process: ordinal, table, frame });
            }
        }
        self.files.push(OpenedFile {
            path: path.to_owned(),
            origin,
            processes: first..self.processes.len() as u32,
        });
        Ok(())
    }

    /// Adds rows of `table` that no file of the process holds.
    pub(super) fn keep(&mut self, process: u32, table: &'static TableSpec, frame: DataFrame) {
        self.parts.push(Part::Kept { process, table, frame });
    }

    /// What to add to times of process `ordinal` to get Unix nanoseconds; 0 if its trace has no epoch.
    pub fn offset_ns(&self, process: u32) -> i64 {
        self.processes.get(process as usize).and_then(|p| p.info.unix_offset_ns).unwrap_or(0)
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
        let process = parts.map(|part| match part {
            Part::Kept { process, .. } => *process,
            Part::Native { file, .. } => self.natives[*file].process,
        });
        process.collect()
    }

    /// Earliest start and latest end of anything on a timeline, over rows with valid times; `None` if there is
    /// nothing. Native files answer from their frame headers.
    ///
    /// # Errors
    /// A part of a file that cannot be read.
    pub fn time_span(&self) -> Result<Option<(i64, i64)>> {
        Ok(self.time_spans()?.into_values().reduce(|(a, b), (from, to)| (a.min(from), b.max(to))))
    }

    /// As [`Frames::time_span`], for each process apart.
    ///
    /// # Errors
    /// A part of a file that cannot be read.
    pub fn time_spans(&self) -> Result<BTreeMap<u32, (i64, i64)>> {
        let mut spans = BTreeMap::new();
        let mut widen = |process: u32, from: i64, to: i64| {
            let span: &mut (i64, i64) = spans.entry(process).or_insert((from, to));
            *span = (span.0.min(from), span.1.max(to));
        };
        for table in [&tables::KERNEL, &tables::MEMCPY, &tables::MEMSET, &tables::GRAPH, &tables::API] {
            for part in self.parts.iter().filter(|part| part.table() == table) {
                if let Part::Native { file, frame, .. } = part {
                    let native = &self.natives[*file];
                    let offset = self.offset_ns(native.process);
                    if let Some((from, to)) = native.frame_times(*frame) {
                        widen(native.process, from.saturating_add(offset), to.saturating_add(offset));
                    }
                    continue;
                }
                let times = ["start_ns", "duration_ns"];
                let Some(batch) = self.decode(part, &times, &Filter::everything(), &mut Vec::new())? else {
                    continue;
                };
                let (start, duration) = (batch.i64("start_ns"), batch.i64("duration_ns"));
                batch.for_each_row(|i| {
                    if let (Some(from), Some(length)) = (start.get(i), duration.get(i)) {
                        let from = from.saturating_add(batch.offset_ns);
                        widen(batch.process, from, from.saturating_add(length));
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
    /// A part of a file that cannot be read.
    pub fn align_starts(&mut self) -> Result<()> {
        for (process, (start, _)) in self.time_spans()? {
            let offset = self.offset_ns(process).saturating_sub(start);
            self.processes[process as usize].info.unix_offset_ns = Some(offset);
        }
        Ok(())
    }

    /// Folds over all selected rows of `table`, batch by batch, on all threads.
    ///
    /// Each thread starts from `make()`, sees some of the batches in no particular order, and its result is merged
    /// into another's: results must not depend on order. `columns` and whatever the filter needs are decoded,
    /// nothing else. Memory: one decoded batch per thread.
    ///
    /// # Errors
    /// A part of a file that cannot be read. Damaged frames were noted when the file was opened and are passed over.
    pub fn fold<A: Send>(
        &self,
        table: &'static TableSpec,
        columns: &[&str],
        filter: &Filter,
        make: impl Fn() -> A + Sync,
        step: impl Fn(&mut A, &Batch) + Sync,
        merge: impl Fn(&mut A, A) + Sync,
    ) -> Result<A> {
        let results: Mutex<Vec<A>> = Mutex::new(Vec::new());
        self.share_out(table, columns, filter, &|next_batch| {
            let mut accumulated = make();
            while let Some(batch) = next_batch() {
                step(&mut accumulated, &batch);
            }
            results.lock().unwrap_or_else(|e| e.into_inner()).push(accumulated);
        })?;
        let results = results.into_inner().unwrap_or_else(|e| e.into_inner());
        let merged = results.into_iter().reduce(|mut all, one| {
            merge(&mut all, one);
            all
        });
        Ok(merged.unwrap_or_else(make))
    }

    /// Calls `work` on some threads, each with a function that decodes one batch after another until none is left.
    /// What depends on the type of a result is in [`Frames::fold`] alone: this is compiled once.
    fn share_out(
        &self,
        table: &'static TableSpec,
        columns: &[&str],
        filter: &Filter,
        work: &(dyn Fn(&mut NextBatch) + Sync),
    ) -> Result<()> {
        let mut wanted: Vec<&str> = columns.to_vec();
        wanted.extend(filter.columns(table));
        wanted.sort_unstable();
        wanted.dedup();
        let parts: Vec<&Part> = self.parts.iter().filter(|part| part.table() == table).collect();
        let next = AtomicUsize::new(0);
        let with_times = wanted.contains(&"duration_ns") && table.column_index("duration_ns").is_some();
        let without_times = AtomicU64::new(0);
        let failure: Mutex<Option<Error>> = Mutex::new(None);
        let one_thread = || {
            let mut buffer = Vec::new();
            work(&mut || {
                loop {
                    let part = parts.get(next.fetch_add(1, Ordering::Relaxed))?;
                    match self.decode(part, &wanted, filter, &mut buffer) {
                        Ok(Some(batch)) => {
                            if with_times {
                                without_times.fetch_add(batch.null_rows("duration_ns"), Ordering::Relaxed);
                            }
                            return Some(batch);
                        }
                        Ok(None) => {}
                        Err(error) => {
                            next.store(parts.len(), Ordering::Relaxed);
                            failure.lock().unwrap_or_else(|e| e.into_inner()).get_or_insert(error);
                            return None;
                        }
                    }
                }
            });
        };
        let threads = rayon::current_num_threads().min(parts.len()).max(1);
        rayon::scope(|scope| {
            for _ in 1..threads {
                scope.spawn(|_| one_thread());
            }
            one_thread();
        });
        if let Some(error) = failure.into_inner().unwrap_or_else(|e| e.into_inner()) {
            return Err(error);
        }
        if with_times {
            filter.found_without_times(table, without_times.into_inner());
        }
        Ok(())
    }

    /// All parts of all tables, in the order of the files.
    pub(super) fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Earliest start of the part's rows with valid times, its process's offset added; `None` if it has none.
    pub(super) fn part_start_ns(&self, part: &Part) -> Option<i64> {
        match part {
            Part::Native { file, frame, .. } => {
                let native = &self.natives[*file];
                native.frame_times(*frame).map(|(start, _)| start.saturating_add(self.offset_ns(native.process)))
            }
            Part::Kept { process, table, frame } => {
                let batch = Batch {
                    process: *process,
                    offset_ns: 0,
                    rows: frame.height(),
                    frame: frame.clone(),
                    selected: None,
                };
                let (start, duration) = (batch.i64("start_ns"), batch.i64("duration_ns"));
                let has_duration = table.column_index("duration_ns").is_some();
                let valid = |i: &usize| !has_duration || duration.get(*i).is_some();
                let first = (0..batch.rows).filter(valid).filter_map(|i| start.get(i)).min();
                first.map(|start| start.saturating_add(self.offset_ns(*process)))
            }
        }
    }

    /// Decodes `columns` of one part, and marks what the filter selects; `None`: not of a wanted process, or damaged.
    pub(super) fn decode(
        &self,
        part: &Part,
        columns: &[&str],
        filter: &Filter,
        buffer: &mut Vec<u8>,
    ) -> Result<Option<Batch>> {
        let (process, frame) = match part {
            Part::Kept { process, frame, .. } => {
                if !filter.takes_process(*process) {
                    return Ok(None);
                }
                let present = columns.iter().filter(|c| frame.get_column_index(c).is_some());
                let chosen = frame.select(present.copied()).map_err(|e| Error::new(e.to_string()))?;
                // `select` of no columns forgets the height, so rows are counted from the source.
                (*process, (chosen, frame.height()))
            }
            Part::Native { file, frame, table } => {
                let native = &self.natives[*file];
                if !filter.takes_process(native.process) {
                    return Ok(None);
                }
                let share_ids = |decoded: &mut DataFrame| self.share_ids(*file, table, decoded);
                let Some(decoded) = native.decode(*frame, table, columns, buffer, &share_ids) else {
                    return Ok(None);
                };
                (native.process, decoded)
            }
        };
        let (frame, rows) = frame;
        self.rows_decoded.fetch_add(rows as u64, Ordering::Relaxed);
        let offset_ns = self.offset_ns(process);
        let mut batch = Batch { process, offset_ns, rows, frame, selected: None };
        filter.apply(part.table(), &mut batch);
        Ok(Some(batch))
    }

    /// Some columns of all rows of `table` as a Polars frame, in the table's order, `process` (ordinal) before them, for
    /// queries and small traces: two columns of 98 M rows take over 2 GB. Rows come in the order of processes, files and
    /// frames, whatever the number of threads. Times become Unix nanoseconds; every size, count and dimension is i64,
    /// u32 is left for ids and codes alone.
    ///
    /// # Errors
    /// A part of a file that cannot be read.
    pub fn read(&self, table: &'static TableSpec, columns: &[&str]) -> Result<DataFrame> {
        let everything = Filter::everything();
        let parts: Vec<&Part> = self.parts.iter().filter(|part| part.table() == table).collect();
        let decoded: Vec<Option<(u32, PolarsResult<DataFrame>)>> = parts
            .par_iter()
            .map_init(Vec::new, |buffer, part| {
                let batch = self.decode(part, columns, &everything, buffer)?;
                Ok(batch.map(|batch| (batch.process, with_union_schema(table, columns, &batch))))
            })
            .collect::<Result<_>>()?;
        let mut frames: Vec<_> = decoded.into_iter().flatten().collect();
        frames.sort_by_key(|(process, _)| *process);
        let failed = |e: PolarsError| Error::new(format!("table {}: {e}", table.name));
        let mut all = empty_frame(table, columns).map_err(failed)?;
        for (_, frame) in frames {
            all.vstack_mut(&frame.map_err(failed)?).map_err(failed)?;
        }
        Ok(all)
    }

    /// Devices are named wherever a trace is described, and all names are read where one is asked for: so those of devices
    /// alone are looked up here.
    fn collect_devices(&mut self) -> Result<()> {
        let table = &tables::DEVICE;
        let columns: Vec<&str> = table.columns.iter().map(|column| column.name).collect();
        let mut devices: Vec<(u32, DeviceRow)> = Vec::new();
        let mut stored: BTreeMap<usize, Vec<(u32, DeviceRow)>> = BTreeMap::new();
        for part in self.parts.iter().filter(|part| part.table() == table) {
            match part {
                Part::Kept { .. } => {
                    let batch = self.decode(part, &columns, &Filter::everything(), &mut Vec::new())?;
                    devices.extend(batch.iter().flat_map(device_rows));
                }
                Part::Native { file, frame, .. } => {
                    let native = &self.natives[*file];
                    let decoded = native.decode(*frame, table, &columns, &mut Vec::new(), &|_| Ok(()));
                    let batch = decoded.map(|(frame, rows)| Batch {
                        process: native.process,
                        offset_ns: 0,
                        rows,
                        frame,
                        selected: None,
                    });
                    stored.entry(*file).or_default().extend(batch.iter().flat_map(device_rows));
                }
            }
        }
        for (file, rows) in stored {
            let ids = self.share_some_names(file, &rows.iter().map(|(_, row)| row.name_id).collect());
            let named = |row: DeviceRow| DeviceRow { name_id: ids.get(&row.name_id).copied().unwrap_or(0), ..row };
            devices.extend(rows.into_iter().map(|(process, row)| (process, named(row))));
        }
        devices.sort_by_key(|(process, row)| (*process, row.device, row.name_id));
        devices.dedup_by_key(|(process, row)| (*process, row.device));
        self.devices = devices;
        Ok(())
    }

    /// The native files among the open ones.
    pub fn natives(&self) -> &[NativeFile] {
        &self.natives
    }

    /// The first process and index under which a GPU is known that `process` knows as `device`: one GPU has one UUID,
    /// while under CUDA_VISIBLE_DEVICES every rank calls its own GPU 0. A GPU without a UUID is known by its process.
    pub fn device_identity(&self, process: u32, device: u32) -> (u32, u32) {
        let host = |p: u32| self.processes.get(p as usize).and_then(|p| p.info.host.as_deref());
        let own = self.devices.iter().find(|(p, row)| (*p, row.device) == (process, device));
        let Some(uuid) = own.and_then(|(_, row)| row.uuid.as_ref()) else { return (process, device) };
        let same = |(p, row): &&(u32, DeviceRow)| row.uuid.as_ref() == Some(uuid) && host(*p) == host(process);
        self.devices.iter().find(same).map_or((process, device), |(p, row)| (*p, row.device))
    }

    /// Name id of the device with this index in this process; 0 if unknown. A file with several processes may
    /// describe its devices for the first of them only.
    pub fn device_name_id(&self, process: u32, device: u32) -> u32 {
        let of =
            |p: u32| self.devices.iter().find(|(q, row)| *q == p && row.device == device).map(|(_, r)| r.name_id);
        let file = self.files.iter().find(|f| f.processes.contains(&process));
        of(process).or_else(|| file?.processes.clone().find_map(of)).unwrap_or(0)
    }
}

fn device_rows(batch: &Batch) -> Vec<(u32, DeviceRow)> {
    let (device, name) = (batch.u32("device"), batch.u32("name_id"));
    let (major, minor) = (batch.u32("compute_major"), batch.u32("compute_minor"));
    let (sms, memory) = (batch.i64("multiprocessors"), batch.i64("memory_bytes"));
    let row = |i: usize| DeviceRow {
        device: device.get(i).unwrap_or(0),
        name_id: name.get(i).unwrap_or(0),
        compute_major: major.get(i),
        compute_minor: minor.get(i),
        multiprocessors: sms.get(i),
        memory_bytes: memory.get(i),
        uuid: batch.bytes("uuid", i),
        ..Default::default()
    };
    (0..batch.rows).map(|i| (batch.process, row(i))).collect()
}

/// Says where dumps lie that are not shown.
fn dumps_left_out(dumps: &[PathBuf]) -> Option<Note> {
    let first = dumps.first()?.display();
    let text = match dumps.len() {
        1 => format!("a dump of the flight recorder is not part of this: `gpuprof report {first}`"),
        n => format!(
            "{n} dumps of the flight recorder are not part of this; the first of them: `gpuprof report {first}`"
        ),
    };
    Some(Note { code: "dumps", text })
}

/// The type a registry column has in `lazy` frames.
pub(crate) fn lazy_type(column: &ColumnSpec) -> DataType {
    match column.ty {
        ColumnType::U32 => match column.unit {
            Unit::Id | Unit::Name | Unit::Shape | Unit::Code => DataType::UInt32,
            _ => DataType::Int64,
        },
        ColumnType::U64 => DataType::UInt64,
        ColumnType::I64 => DataType::Int64,
        ColumnType::F64 => DataType::Float64,
        ColumnType::Bool => DataType::Boolean,
        ColumnType::Bytes => DataType::Binary,
    }
}

/// The columns of `table` that are asked for, in its order.
fn asked<'a>(table: &'a TableSpec, columns: &'a [&str]) -> impl Iterator<Item = &'a ColumnSpec> {
    table.columns.iter().filter(|c| columns.contains(&c.name))
}

fn empty_frame(table: &TableSpec, names: &[&str]) -> PolarsResult<DataFrame> {
    let mut columns = vec![Column::new_empty("process".into(), &DataType::UInt32)];
    columns.extend(asked(table, names).map(|c| Column::new_empty(c.name.into(), &lazy_type(c))));
    DataFrame::new(0, columns)
}

fn with_union_schema(table: &TableSpec, names: &[&str], batch: &Batch) -> PolarsResult<DataFrame> {
    let rows = batch.rows;
    let mut columns = vec![Column::new_scalar("process".into(), Scalar::from(batch.process), rows)];
    for spec in asked(table, names) {
        let ty = lazy_type(spec);
        let column = match batch.frame.column(spec.name) {
            Ok(column) => {
                // Rows of `clock` say what each clock showed; the offset was made from them.
                let is_time = spec.is_time() && table != &tables::CLOCK;
                let shifted =
                    if is_time && batch.offset_ns != 0 { column + batch.offset_ns } else { column.clone() };
                shifted.cast(&ty)?
            }
            Err(_) => Column::full_null(spec.name.into(), rows, &ty),
        };
        columns.push(column);
    }
    DataFrame::new(rows, columns)
}
