//! Opening traces: which files there are, who reads them, and what they define.

use super::{Frames, OpenedFile, Part, Process};
use crate::error::{Error, Result};
use crate::import::{self, Head};
use crate::trace::batch::{self, Batch};
use crate::trace::inputs::{self, InputFile, Inputs};
use crate::trace::native::NativeFile;
use crate::trace::overruns;
use crate::trace::ring;
use crate::trace::select::Filter;
use crate::trace::sink::{Need, Note, Sink};
use crate::trace::summaries::FileSummary;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use trace_format::tables::column::{any, device};
use trace_format::tables::{self, DeviceRow};

impl Frames {
    /// Opens everything that `paths` name; see [`inputs`].
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
        overruns::note(path, &mut sink);
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
                        table,
                        process: native.process,
                        offset_ns: 0,
                        rows,
                        frame,
                        selected: None,
                        asked: None,
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
}

fn device_rows(batch: &Batch) -> Vec<(u32, DeviceRow)> {
    let (device, name) = (batch.get(any::DEVICE), batch.get(any::NAME_ID));
    let (major, minor) = (batch.get(device::COMPUTE_MAJOR), batch.get(device::COMPUTE_MINOR));
    let (sms, memory) = (batch.get(device::MULTIPROCESSORS), batch.get(device::MEMORY_BYTES));
    let row = |i: usize| DeviceRow {
        device: device.get(i).unwrap_or(0),
        name_id: name.get(i).unwrap_or(0),
        compute_major: major.get(i),
        compute_minor: minor.get(i),
        multiprocessors: sms.get(i),
        memory_bytes: memory.get(i),
        uuid: batch.bytes(device::UUID, i),
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
