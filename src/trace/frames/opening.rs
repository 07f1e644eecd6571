//! Opening traces: which files there are, who reads them, and what they define.

use super::{Frames, OpenedFile, Part, Process};
use crate::error::{Error, Result};
use crate::import::{self, Head};
use crate::trace::batch;
use crate::trace::inputs::{self, InputFile, Inputs};
use crate::trace::native::NativeFile;
use crate::trace::overruns;
use crate::trace::ring;
use crate::trace::select::Filter;
use crate::trace::sink::{Need, Note, Sink};
use crate::trace::summaries::FileSummary;
use std::path::{Path, PathBuf};
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
            let mut native = NativeFile::open(path, next, &mut self.names, &mut self.shapes, &mut self.notes)?;
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
            self.natives.push(native);
            return Ok(());
        }
        let importer = import::choose(&head)?;
        let mut sink = Sink::new(&mut self.names, &mut self.shapes);
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

    fn collect_devices(&mut self) -> Result<()> {
        let mut devices = self.fold(
            &tables::DEVICE,
            &["device", "name_id", "compute_major", "compute_minor", "multiprocessors", "memory_bytes", "uuid"],
            &Filter::everything(),
            Vec::new,
            |out: &mut Vec<(u32, DeviceRow)>, batch| {
                let (device, name) = (batch.u32("device"), batch.u32("name_id"));
                let (major, minor) = (batch.u32("compute_major"), batch.u32("compute_minor"));
                let (sms, memory) = (batch.i64("multiprocessors"), batch.i64("memory_bytes"));
                batch.for_each_row(|i| {
                    let row = DeviceRow {
                        device: device.get(i).unwrap_or(0),
                        name_id: name.get(i).unwrap_or(0),
                        compute_major: major.get(i),
                        compute_minor: minor.get(i),
                        multiprocessors: sms.get(i),
                        memory_bytes: memory.get(i),
                        uuid: batch.bytes("uuid", i),
                        ..Default::default()
                    };
                    out.push((batch.process, row));
                });
            },
            |a, mut b| a.append(&mut b),
        )?;
        devices.sort_by_key(|(process, row)| (*process, row.device, row.name_id));
        devices.dedup_by_key(|(process, row)| (*process, row.device));
        self.devices = devices;
        Ok(())
    }
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
