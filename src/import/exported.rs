//! What `gpuprof export` writes as CSV, Parquet and Arrow, read back: flat records become rows of the registry again.
//!
//! A folder with a manifest is one trace in many files; a CSV timeline is one file. Both name their columns after the
//! registry ([`crate::export::flat`]): a column that neither knows is passed over, one that is missing is null.

mod arrow_lengths;
mod csv_rows;
mod frames;
mod shape;

use super::{Head, Importer};
use crate::error::{Error, Result};
use crate::exchange::folder::{MANIFEST, Manifest, ManifestProcess, ManifestSteps};
use crate::trace::sink::{Budgeted, Need, ProcessInfo, ProcessIx, Sink, Steps};
use shim_config::Budget;
use std::collections::BTreeMap;
use std::path::Path;
use trace_format::columns::{Batch, Column, Values};
use trace_format::schema::TableSpec;
use trace_format::tables::{self, DeviceRow, ThreadRow};
use trace_format::vocabulary::range_style::MARK;

/// How every CSV file of ours begins, and every CSV timeline.
const CSV_BEGINS: &str = "table,name,start_ns,";

/// Reads CSV timelines.
pub struct CsvTimeline;

impl Importer for CsvTimeline {
    fn name(&self) -> &'static str {
        "gpuprof-csv"
    }

    fn describes(&self) -> &'static str {
        "CSV timeline (gpuprof export --format csv)"
    }

    fn sniff(&self, head: &Head) -> bool {
        head.text.starts_with(CSV_BEGINS.as_bytes())
    }

    fn read(&self, path: &Path, need: &Need, sink: &mut Sink) -> Result<()> {
        sink.origin = "gpuprof CSV timeline".to_owned();
        let mut declared = Declared::default();
        csv_rows::read(path, need, sink, &mut declared)?;
        declared.finish(sink);
        Ok(())
    }
}

/// Reads folders of tables, by their manifest.
pub struct Folder;

impl Importer for Folder {
    fn name(&self) -> &'static str {
        "gpuprof-folder"
    }

    fn describes(&self) -> &'static str {
        "folder of tables (gpuprof export --format parquet, arrow or csv-tables)"
    }

    fn sniff(&self, head: &Head) -> bool {
        let text = String::from_utf8_lossy(&head.text[..head.text.len().min(64)]).replace([' ', '\n', '\r'], "");
        text.starts_with("{\"gpuprof_export\":")
    }

    fn read(&self, path: &Path, need: &Need, sink: &mut Sink) -> Result<()> {
        let text = std::fs::read(path).map_err(|e| Error::at(path, format_args!("cannot be read: {e}")))?;
        let manifest: Manifest = serde_json::from_slice(&text)
            .map_err(|e| Error::at(path, format_args!("not a whole manifest: {e}")).remedy("export again"))?;
        if manifest.gpuprof_export != 1 {
            let version = manifest.gpuprof_export;
            return Err(Error::at(path, format_args!("layout {version} of exports is newer than this gpuprof"))
                .remedy("update gpuprof"));
        }
        sink.origin = format!("gpuprof export, {} tables", manifest.format);
        let mut declared = Declared::default();
        for (ordinal, process) in manifest.processes.iter().enumerate() {
            declared.declare(sink, ordinal as u32, process);
        }
        let folder = path.parent().unwrap_or(Path::new("."));
        for file in &manifest.files {
            let Some(table) = tables::by_name(&file.table) else {
                sink.note("unknown-table", format!("{}: table {} is not known here", path.display(), file.table));
                continue;
            };
            let inside = Path::new(&file.path);
            if inside.is_absolute() || inside.components().any(|part| part.as_os_str() == "..") {
                return Err(Error::at(path, format_args!("names a file outside of its folder: {}", file.path)));
            }
            let is_defining = table.role == trace_format::schema::Role::Defining;
            if !is_defining && !need.wants(table) {
                continue;
            }
            let bytes = file.bytes;
            let file = folder.join(inside);
            note_size(&file, bytes, sink);
            match manifest.format.as_str() {
                "csv" => csv_rows::read(&file, need, sink, &mut declared)?,
                "parquet" | "arrow" => {
                    let wanted = frames::Wanted::of(table, need.detail);
                    frames::read(&file, wanted, &manifest.format, sink, &mut declared)?;
                }
                other => return Err(Error::at(path, format_args!("files of format {other} are not known here"))),
            }
        }
        declared.finish(sink);
        Ok(())
    }
}

/// Notes that a file is not as long as it was when it was written.
fn note_size(path: &Path, written: Option<u64>, sink: &mut Sink) {
    // One that is not there is said by whoever opens it.
    if let (Some(written), Ok(metadata)) = (written, path.metadata())
        && metadata.len() != written
    {
        let (path, there) = (path.display(), metadata.len());
        let text = match there < written {
            true => format!("cut off: {there} of {written} bytes are there, so rows are missing; copy it again"),
            false => {
                format!("changed since it was exported: it had {written} bytes and has {there}; export it again")
            }
        };
        sink.note("cut-off-file", format!("{path}: {text}"));
    }
}

/// The folder's manifest, if it is one of exported tables: then its files are one trace.
pub fn manifest_in(folder: &Path) -> Option<std::path::PathBuf> {
    let path = folder.join(MANIFEST);
    path.is_file().then_some(path)
}

/// A mark has no end in our tables, while flat records say that it ends when it begins.
fn forget_ends_of_marks(batch: &mut Batch) {
    let (Some(style), Some(end)) = (batch.table.column_index("style"), batch.table.column_index("end_ns")) else {
        return;
    };
    let Values::U32(styles) = &batch.columns[style].values else { return };
    let marks: Vec<usize> = (0..batch.rows).filter(|&i| styles[i] == MARK).collect();
    if marks.is_empty() {
        return;
    }
    let Column { values: Values::I64(ends), validity } = &mut batch.columns[end] else { return };
    let validity = validity.get_or_insert_with(|| vec![true; ends.len()]);
    for i in marks {
        (ends[i], validity[i]) = (0, false);
    }
}

/// Processes met so far by their ordinals in the export, and names of devices and threads beside their rows.
#[derive(Default)]
struct Declared {
    processes: BTreeMap<u32, ProcessIx>,
    devices: BTreeMap<(u32, u32), Vec<u8>>,
    threads: BTreeMap<(u32, u32), Vec<u8>>,
    /// Where processes begin to count, of those whose times in the file count from 1970.
    origins_ns: BTreeMap<u32, i64>,
    /// Tables that say so themselves.
    has_table: Vec<u16>,
}

impl Declared {
    fn declare(&mut self, sink: &mut Sink, ordinal: u32, process: &ManifestProcess) {
        let info = ProcessInfo {
            pid: process.pid,
            rank: process.rank,
            world_size: process.world_size,
            host: process.host.clone(),
            name: process.name.clone(),
            unix_offset_ns: process.unix_time.then_some(0),
            is_launcher: process.launcher,
            aligned_ns: None,
            steps: process.steps.as_ref().map(|&ManifestSteps { of_cycle, every, all }| Steps {
                of_cycle,
                every,
                all,
            }),
            budget: process.budget.as_ref().and_then(|told| {
                Some(Budgeted {
                    is_steps: told.steps,
                    began_ns: told.began_ns,
                    ended_ns: told.ended_ns,
                    all_steps: told.all,
                    spent_ns: told.spent_ns,
                    budget: Budget::parse(told.budget.as_bytes()).ok()?,
                })
            }),
        };
        self.processes.insert(ordinal, sink.process(info));
        self.origins_ns.extend(process.origin_ns.map(|origin_ns| (ordinal, origin_ns)));
    }

    /// Completes what only all rows together tell.
    fn finish(&self, sink: &mut Sink) {
        self.push_names(sink);
        for (process, origin_ns) in &self.origins_ns {
            if let Some(ProcessIx(index)) = self.processes.get(process) {
                sink.processes[*index].count_from(*origin_ns);
            }
        }
    }

    /// The process with this ordinal, made by `info` when it is new.
    fn process(&mut self, sink: &mut Sink, ordinal: u32, info: impl FnOnce() -> ProcessInfo) -> ProcessIx {
        *self.processes.entry(ordinal).or_insert_with(|| sink.process(info()))
    }

    /// Adds rows for the devices and threads that are named beside what they did, where no table names them.
    fn push_names(&self, sink: &mut Sink) {
        let lacks = |table: &TableSpec| !self.has_table.contains(&table.id);
        for ((process, device), name) in self.devices.iter().filter(|_| lacks(&tables::DEVICE)) {
            let name_id = sink.name(name);
            if let Some(process) = self.processes.get(process) {
                sink.push(*process, DeviceRow { device: *device, name_id, ..DeviceRow::default() });
            }
        }
        for ((process, tid), name) in self.threads.iter().filter(|_| lacks(&tables::THREAD)) {
            let name_id = sink.name(name);
            if let Some(process) = self.processes.get(process) {
                sink.push(*process, ThreadRow { tid: *tid, name_id });
            }
        }
    }
}
