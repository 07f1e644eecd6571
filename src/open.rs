//! Opening traces: which files there are, and who reads each of them.
//!
//! [`Frames::open`] finds the files that the user named ([`inputs`]) and looks at how each begins: what is native is handed
//! to [`crate::trace`] as it is, everything else to the importer that knows its content. Function logs are joined to
//! what was opened ([`function_logs`]). What was opened knows neither files nor importers: it holds rows.

pub mod function_logs;
pub mod inputs;

use crate::error::{Error, Result};
use crate::import::{self, Head, Importer};
use crate::os::limits;
use crate::trace::frames::Frames;
use crate::trace::ring;
use crate::trace::sink::{Need, Note};
use inputs::{InputFile, Inputs};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// Whether the file is one of gpuprof's own traces, judged by its first bytes.
pub fn is_native(head: &Head) -> bool {
    head.raw.starts_with(&trace_format::header::MAGIC)
}

impl Frames {
    /// Opens everything that `paths` name; see [`inputs`].
    ///
    /// # Errors
    /// Fails if a file that was named cannot be used, or if there is no trace at all among the files that were found in
    /// folders and by globs.
    pub fn open(paths: &[PathBuf], need: &Need) -> Result<Frames> {
        let Inputs { files, dumps } = inputs::look(paths)?;
        // A native trace stays open for as long as anybody may ask for its rows.
        limits::allow_open_files(files.len());
        let mut frames = Frames::default();
        frames.keep_in_memory(import_memory(std::env::var_os(IMPORT_MEMORY).as_deref())?);
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
        frames.notes.extend(ring::notes(frames.natives()));
        frames.notes.extend(dumps_left_out(&dumps));
        frames.collect_devices()?;
        Ok(frames)
    }

    /// Reads one file with this reader, whatever the file says of itself: for tests that give readers what is not theirs.
    ///
    /// # Errors
    /// Fails if nothing of the file can be used.
    pub fn read_by(importer: &dyn Importer, path: &Path, need: &Need) -> Result<Frames> {
        let mut frames = Frames::default();
        frames.add_imported(path, |sink| importer.read(path, need, sink))?;
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
                if limits::has_too_many_open_files() {
                    return Err(error.remedy(&format!(
                        "{} files were open by then: allow more with `ulimit -n`, or name fewer at a time",
                        self.files.len()
                    )));
                }
                // Logs and checkpoints lie beside traces; only what claims to be a trace deserves a remark, and what does not let
                // anybody see what it is.
                let claims = |head: Head| is_native(&head) || import::claims_to_be_a_trace(&head);
                if Head::read(&file.path).map_or(true, claims) {
                    self.notes.push(Note { code: "unreadable-file", text: error.to_string() });
                }
                Ok(Some(error.to_string()))
            }
        }
    }

    fn read_file(&mut self, path: &Path, need: &Need) -> Result<()> {
        let head = Head::read(path)?;
        if is_native(&head) {
            return self.add_native(path);
        }
        let importer = import::choose(&head)?;
        self.add_imported(path, |sink| importer.read(path, need, sink))
    }
}

/// How much memory rows of imported files may take; more go to a temporary file.
const IMPORT_MEMORY: &str = "GPUPROF_IMPORT_MEMORY";

/// What they may take where nobody says. More would save nothing: frames that were written away are decoded as fast as rows
/// in memory are read.
const USUAL_MEMORY: u64 = 256 << 20;

/// The bytes that a value of [`IMPORT_MEMORY`] names.
///
/// # Errors
/// Fails if it names no size.
fn import_memory(value: Option<&OsStr>) -> Result<usize> {
    let bytes = match value.filter(|value| !value.is_empty()) {
        Some(value) => shim_config::bytes(value.as_bytes())
            .map_err(|why| Error::new(format!("{IMPORT_MEMORY}={}: {why}", value.display())))?,
        None => USUAL_MEMORY,
    };
    Ok(usize::try_from(bytes).unwrap_or(usize::MAX))
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
