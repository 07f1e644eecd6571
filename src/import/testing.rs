//! What tests of importers share: small files in a temporary folder and a look at what came of them.

use super::{Head, IMPORTERS};
use crate::error::Result;
use crate::trace::names::{Names, Shapes};
use crate::trace::sink::{Need, Note, ProcessInfo, Sink};
use crate::trace::summaries::Summary;
use rusqlite::Connection;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use trace_format::columns::{Batch, Values};

/// A file that goes when the test ends.
pub(super) struct TempFile {
    folder: PathBuf,
    /// Where it is.
    pub(super) path: PathBuf,
}

impl TempFile {
    /// A file called `name` with these bytes.
    pub(super) fn new(name: &str, bytes: &[u8]) -> TempFile {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("gpuprof-import-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join(name);
        std::fs::write(&path, bytes).unwrap();
        TempFile { folder, path }
    }

    /// A database made by these statements.
    pub(super) fn database(name: &str, sql: &str) -> TempFile {
        let file = TempFile::new(name, b"");
        Connection::open(&file.path).unwrap().execute_batch(sql).unwrap();
        file
    }

    /// Shortens it.
    pub(super) fn cut(&self, bytes: u64) {
        std::fs::OpenOptions::new().write(true).open(&self.path).unwrap().set_len(bytes).unwrap();
    }

    /// Its bytes.
    pub(super) fn bytes(&self) -> Vec<u8> {
        std::fs::read(&self.path).unwrap()
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// What an importer made of a file.
pub(super) struct Imported {
    /// Which one took it.
    pub(super) importer: &'static str,
    /// Names.
    pub(super) names: Names,
    /// Shapes.
    pub(super) shapes: Shapes,
    /// Processes and their rows.
    pub(super) processes: Vec<(ProcessInfo, Vec<Batch>)>,
    /// Notes.
    pub(super) notes: Vec<Note>,
    /// What the file is.
    pub(super) origin: String,
    /// What is no record.
    pub(super) summaries: Vec<Summary>,
}

/// Imports a file by the importer that takes it.
pub(super) fn import(file: &TempFile, need: &Need) -> Result<Imported> {
    let head = Head::read(&file.path)?;
    let importer = IMPORTERS.iter().find(|importer| importer.sniff(&head)).expect("an importer takes the file");
    let (mut names, mut shapes) = (Names::default(), Shapes::default());
    let mut sink = Sink::new(&mut names, &mut shapes);
    importer.read(&file.path, need, &mut sink)?;
    sink.finish();
    let (notes, origin) = (std::mem::take(&mut sink.notes), std::mem::take(&mut sink.origin));
    let summaries = std::mem::take(&mut sink.summaries);
    let processes =
        std::mem::take(&mut sink.processes).into_iter().map(|p| (p.info.clone(), p.into_batches())).collect();
    Ok(Imported { importer: importer.name(), names, shapes, processes, notes, origin, summaries })
}

impl Imported {
    /// All values of an integer column, of all processes in order.
    pub(super) fn integers(&self, table: &str, column: &str) -> Vec<Option<i64>> {
        let batches = self.processes.iter().flat_map(|(_, batches)| batches).filter(|b| b.table.name == table);
        batches.flat_map(|batch| integers_of(batch, column)).collect()
    }

    /// All values of a column of names.
    pub(super) fn texts(&self, table: &str, column: &str) -> Vec<String> {
        self.integers(table, column)
            .into_iter()
            .map(|id| self.names.text(id.unwrap_or(0) as u32).into_owned())
            .collect()
    }

    /// Codes of the notes.
    pub(super) fn note_codes(&self) -> Vec<&'static str> {
        self.notes.iter().map(|note| note.code).collect()
    }
}

fn integers_of(batch: &Batch, name: &str) -> Vec<Option<i64>> {
    let column = batch.column(name).unwrap_or_else(|| panic!("{} has no column {name}", batch.table.name));
    let value = |row: usize| match &column.values {
        Values::U32(v) => i64::from(v[row]),
        Values::U64(v) => v[row] as i64,
        Values::I64(v) => v[row],
        Values::Bool(v) => i64::from(v[row]),
        Values::F64(v) => v[row] as i64,
        Values::Bytes(v) => v.get(row).len() as i64,
    };
    (0..batch.rows).map(|row| (!column.is_null(row)).then(|| value(row))).collect()
}
