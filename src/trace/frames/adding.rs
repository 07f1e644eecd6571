//! Adding what a file holds to the open traces: a native file as it is, or what an importer read; then the devices of all.

use super::{Frames, OpenedFile, Part, Process};
use crate::error::{Error, Result};
use crate::trace::batch::{self, Batch};
use crate::trace::kept::Piece;
use crate::trace::native::NativeFile;
use crate::trace::overruns;
use crate::trace::select::Filter;
use crate::trace::sink::{Note, ProcessInfo, Sink, is_plausible};
use crate::trace::summaries::FileSummary;
use std::collections::BTreeMap;
use std::path::Path;
use trace_format::tables::column::{any, device};
use trace_format::tables::{self, DeviceRow};

impl Frames {
    /// A sink whose names and launch shapes are those of all open traces.
    pub(crate) fn sink(&mut self) -> Sink<'_> {
        Sink::new(&mut self.names, &mut self.shapes.imported)
    }

    /// Adds a process. An epoch that no clock shows would move all its times out of what numbers can hold, so it is none.
    pub(crate) fn add_process(&mut self, path: &Path, mut info: ProcessInfo) {
        if let Some(epoch_ns) = info.unix_offset_ns.filter(|&ns| !is_plausible(ns)) {
            info.unix_offset_ns = None;
            self.notes.push(Note {
                code: "impossible-epoch",
                text: format!(
                    "{}: it says that its times count from {epoch_ns} ns after 1970, which no clock shows: they are shown as the file has them",
                    path.display()
                ),
            });
        }
        self.processes.push(Process { info, path: path.to_owned() });
    }

    /// Adds a native file, whose rows are decoded when somebody asks for them.
    ///
    /// # Errors
    /// Fails as [`NativeFile::open`] does.
    pub(crate) fn add_native(&mut self, path: &Path) -> Result<()> {
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
            None => self.add_process(path, native.info.clone()),
        }
        let file = self.natives.len();
        for (frame, table) in native.frames() {
            self.parts.push(Part::Native { file, frame, table });
        }
        self.files.push(OpenedFile {
            path: path.to_owned(),
            origin: native.origin.clone(),
            processes: native.process..native.process + 1,
            counts_invalid: false,
        });
        self.names.add_file(native.stored().clone());
        self.natives.push(native);
        Ok(())
    }

    /// Adds what `read` puts into a sink: the rows of a file of another tool.
    ///
    /// # Errors
    /// Fails with any error that `read` returns, and if the rows make no frame.
    pub(crate) fn add_imported(&mut self, path: &Path, read: impl FnOnce(&mut Sink) -> Result<()>) -> Result<()> {
        let sink = Sink::new(&mut self.names, &mut self.shapes.imported);
        let mut sink = sink.with_overflow(std::mem::take(&mut self.overflow));
        let outcome = read(&mut sink).and_then(|()| {
            sink.finish();
            overruns::note(path, &mut sink)
        });
        let Sink { processes, mut notes, origin, summaries, mut overflow, .. } = sink;
        overflow.settle();
        self.overflow = overflow;
        outcome?;
        let first = self.processes.len() as u32;
        let counts_invalid = notes.iter().any(|note| note.code == "invalid-times");
        self.notes.append(&mut notes);
        let file = self.files.len();
        self.summaries.extend(summaries.into_iter().map(|summary| FileSummary { file, summary }));
        for process in processes {
            let ordinal = self.processes.len() as u32;
            self.add_process(path, process.info);
            for piece in process.kept {
                let rows = match piece {
                    Piece::Here(rows) => rows,
                    Piece::Away(away) => {
                        self.parts.push(Part::Away { process: ordinal, away });
                        continue;
                    }
                };
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
            counts_invalid,
        });
        Ok(())
    }

    /// Devices are named wherever a trace is described, and all names are read where one is asked for: so those of devices
    /// alone are looked up here.
    ///
    /// # Errors
    /// Fails if a part of a file cannot be read.
    pub(crate) fn collect_devices(&mut self) -> Result<()> {
        let table = &tables::DEVICE;
        let columns: Vec<&str> = table.columns.iter().map(|column| column.name).collect();
        let mut devices: Vec<(u32, DeviceRow)> = Vec::new();
        let mut stored: BTreeMap<usize, Vec<(u32, DeviceRow)>> = BTreeMap::new();
        for part in self.parts.iter().filter(|part| part.table() == table) {
            match part {
                Part::Kept { .. } | Part::Away { .. } => {
                    let batch = self.decode(part, &columns, &Filter::everything(), &mut Vec::new())?;
                    devices.extend(batch.iter().flat_map(device_rows));
                }
                Part::Native { file, frame, .. } => {
                    let native = &self.natives[*file];
                    let decoded = native.decode(*frame, table, &columns, &mut Vec::new(), &|_| Ok(()));
                    let batch = decoded.map(|(frame, rows)| Batch::of_kept(native.process, table, frame, rows));
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
    let bandwidth = batch.get(device::MEMORY_BANDWIDTH_KB_PER_S);
    let row = |i: usize| DeviceRow {
        device: device.get(i).unwrap_or(0),
        name_id: name.get(i).unwrap_or(0),
        compute_major: major.get(i),
        compute_minor: minor.get(i),
        multiprocessors: sms.get(i),
        memory_bytes: memory.get(i),
        memory_bandwidth_kb_per_s: bandwidth.get(i),
        uuid: batch.bytes(device::UUID, i),
        ..Default::default()
    };
    (0..batch.rows).map(|i| (batch.process, row(i))).collect()
}
