//! Writing traces for other tools. One file per format, and one line in [`EXPORTERS`]: its name in `--format`, its
//! help, its options and its part of `docs/lossy.md` follow from there.
//!
//! An exporter gets open traces ([`Context`]) and a place to write to ([`Destination`]). It reads rows through
//! [`Frames::in_order`] in bounded memory, and says in [`Exporter::keeps`] what its format can hold.

pub(crate) mod arrow;
pub(crate) mod chrome;
pub(crate) mod database;
pub(crate) mod destination;
pub(crate) mod flamegraph;
pub(crate) mod flat;
pub(crate) mod folded;
pub(crate) mod folder;
pub mod lossy;
pub(crate) mod native;
pub(crate) mod nsys_sqlite;
pub(crate) mod nvprof_db;
pub(crate) mod parquet;
pub(crate) mod perfetto;
pub(crate) mod speedscope;
pub(crate) mod text;
pub(crate) mod texts;
mod write_thread;

use crate::analysis::labels::Labels;
use crate::error::{Error, Result};
use crate::trace::frames::Frames;
use crate::trace::ordered::Chunk;
use crate::trace::select::Filter;
use crate::trace::sink::{Need, Note};
pub use destination::Destination;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use trace_format::schema::{AnyColumn, Role, TableSpec};
use trace_format::tables;

/// All formats, in the order in which `--help` and `docs/lossy.md` list them.
pub static EXPORTERS: &[&Exporter] = &[
    &text::CSV,
    &text::TSV,
    &text::JSONL,
    &text::CSV_TABLES,
    &parquet::PARQUET,
    &arrow::ARROW,
    &native::GPUPROF,
    &chrome::CHROME,
    &perfetto::PERFETTO,
    &nsys_sqlite::EXPORTER,
    &nvprof_db::EXPORTER,
    &speedscope::SPEEDSCOPE,
    &folded::FOLDED,
    &flamegraph::FLAMEGRAPH,
];

/// How a format lies on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One stream of bytes, which may as well go to the standard output.
    Stream,
    /// One file that is written at several places, such as a database.
    File,
    /// A folder with files in it.
    Folder,
    /// One file per process: a file, or a folder of them if there are several.
    FilePerProcess,
}

impl Shape {
    /// The shape for traces of so many processes: never [`Shape::FilePerProcess`].
    pub fn of_processes(self, processes: usize) -> Shape {
        match self {
            Shape::FilePerProcess if processes > 1 => Shape::Folder,
            Shape::FilePerProcess => Shape::File,
            other => other,
        }
    }
}

/// One format.
pub struct Exporter {
    /// Its name in `--format`.
    pub name: &'static str,
    /// What its files are called, e.g. `csv`; also chooses the format for `-o NAME.csv`. Empty: by `--format` alone.
    pub extension: &'static str,
    /// Other endings of `-o` that choose it.
    pub other_endings: &'static [&'static str],
    /// Whether it is for programs alone, so that a terminal is no place for it.
    pub binary: bool,
    /// One line for people.
    pub doc: &'static str,
    /// How it lies on disk.
    pub shape: Shape,
    /// What has to be read for it.
    pub need: fn() -> Need,
    /// Its own options, given by `--option KEY=VALUE`: key and one line of documentation.
    pub options: &'static [(&'static str, &'static str)],
    /// What comes back when the file is read again.
    pub keeps: KeptTables,
    /// Writes everything.
    pub write: fn(&Context, &mut Destination) -> Result<()>,
}

impl Exporter {
    /// The endings of `-o` that choose this format, that of its files first.
    pub fn endings(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.extension)
            .filter(|ending| !ending.is_empty())
            .chain(self.other_endings.iter().copied())
    }
}

/// What a format keeps.
#[derive(Clone, Copy)]
pub struct KeptTables {
    /// Tables of which there is more to say than that they are kept whole.
    pub listed: &'static [KeptTable],
    /// Which of the other tables are kept whole. A new table is among them where the exporter writes whatever there is.
    pub others: fn(&TableSpec) -> bool,
    /// What a reader of those has to know; may be empty.
    pub note: &'static str,
}

impl KeptTables {
    /// Nothing: gpuprof does not read the format back.
    pub const NOTHING: KeptTables = KeptTables::these(&[]);

    /// Everything; clock readings are already in the times, or come back as they were.
    pub const EVERYTHING: KeptTables = KeptTables { listed: &[], others: has_records, note: "" };

    /// These tables and no others.
    pub const fn these(listed: &'static [KeptTable]) -> KeptTables {
        KeptTables { listed, others: |_| false, note: "" }
    }

    /// What is kept of `table`; `None`: it is lost.
    pub fn of(&self, table: &'static TableSpec) -> Option<KeptTable> {
        let listed = self.listed.iter().find(|keeps| keeps.table == table).copied();
        let whole = || KeptTable { table, columns: Columns::All, note: self.note };
        listed.or_else(|| (self.others)(table).then(whole))
    }

    /// Whether no table is kept.
    pub fn is_nothing(&self) -> bool {
        tables::ALL.iter().all(|table| self.of(table).is_none())
    }
}

/// Whether rows of `table` are records or what records refer to: names stand in the rows that have them, and clock
/// readings in the times.
pub fn has_records(table: &TableSpec) -> bool {
    table.role != Role::Json && table != &tables::STRING && table != &tables::CLOCK
}

/// What a format keeps of one table.
#[derive(Clone, Copy)]
pub struct KeptTable {
    /// The table.
    pub table: &'static TableSpec,
    /// Which of its columns.
    pub columns: Columns,
    /// What else a reader has to know, as a sentence without its full stop; may be empty.
    pub note: &'static str,
}

/// Some columns of a table.
#[derive(Clone, Copy)]
pub enum Columns {
    /// All of them.
    All,
    /// These alone.
    Only(&'static [&'static dyn AnyColumn]),
    /// All of them but these.
    AllBut(&'static [&'static dyn AnyColumn]),
}

impl Columns {
    /// Whether the column called `name` is kept.
    pub fn keep(&self, name: &str) -> bool {
        let has = |columns: &[&dyn AnyColumn]| columns.iter().any(|column| column.name() == name);
        match self {
            Columns::All => true,
            Columns::Only(columns) => has(columns),
            Columns::AllBut(columns) => !has(columns),
        }
    }
}

/// What an exporter works on.
pub struct Context<'a> {
    /// The open traces.
    pub frames: &'a Frames,
    /// Their printed names.
    pub labels: &'a Labels<'a>,
    /// Which rows take part.
    pub filter: &'a Filter,
    /// What the user asked for beside the format.
    pub options: &'a Options,
    /// What is said when it is written.
    pub tally: &'a Tally,
}

impl Context<'_> {
    /// Hands out the rows of these tables that take part ([`Frames::in_order`]), and counts them as written.
    ///
    /// # Errors
    /// Fails if a part of a file cannot be read, and with any error that `each` returns.
    pub fn rows_in_order(
        &self,
        tables: &[&'static TableSpec],
        mut each: impl FnMut(&Chunk) -> Result<()>,
    ) -> Result<()> {
        self.frames.in_order(tables, self.filter, |chunk| {
            self.count(chunk.order.len() as u64);
            each(chunk)
        })
    }

    /// Counts rows as written.
    pub fn count(&self, rows: u64) {
        self.tally.rows.fetch_add(rows, Ordering::Relaxed);
    }

    /// Has something said about the export: what it leaves out, say.
    pub fn note(&self, code: &'static str, text: String) {
        self.tally.notes.lock().unwrap_or_else(|e| e.into_inner()).push(Note { code, text });
    }
}

/// What an exporter says of its work.
#[derive(Default, Debug)]
pub struct Tally {
    rows: AtomicU64,
    notes: Mutex<Vec<Note>>,
}

impl Tally {
    /// Rows written, and what was remarkable.
    pub fn into_parts(self) -> (u64, Vec<Note>) {
        (self.rows.into_inner(), self.notes.into_inner().unwrap_or_else(|e| e.into_inner()))
    }
}

/// What the user asked for beside the format.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Columns of tabular formats, by name; `None`: all.
    pub columns: Option<Vec<String>>,
    /// Whether to compress a format that is text, with gzip.
    pub gzip: bool,
    /// The format's own options, as given; keys were checked against [`Exporter::options`].
    pub own: Vec<(String, String)>,
}

impl Options {
    /// The value of one of the format's own options.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.own.iter().rev().find(|(k, _)| k == key).map(|(_, value)| value.as_str())
    }

    /// One of the format's own options that is yes or no; `default` if it was not given.
    ///
    /// # Errors
    /// Fails if the option has another value.
    pub fn flag(&self, key: &str, default: bool) -> Result<bool> {
        match self.get(key) {
            None => Ok(default),
            Some("yes" | "true" | "on" | "1") => Ok(true),
            Some("no" | "false" | "off" | "0") => Ok(false),
            Some(other) => {
                Err(Error::new(format!("--option {key}={other}: not a yes or no")).remedy("write yes or no"))
            }
        }
    }
}

/// The format called `name`.
///
/// # Errors
/// Fails if there is no exporter of this name. The error lists the names that exist.
pub fn find(name: &str) -> Result<&'static Exporter> {
    EXPORTERS.iter().find(|exporter| exporter.name == name).copied().ok_or_else(|| {
        let names: Vec<&str> = EXPORTERS.iter().map(|exporter| exporter.name).collect();
        Error::new(format!("--format: unknown format \"{name}\""))
            .remedy(&format!("known are {}", names.join(", ")))
    })
}

/// The format that files with this name have; `.gz` at its end is passed over.
pub fn by_file_name(name: &str) -> Option<&'static Exporter> {
    let name = name.strip_suffix(".gz").unwrap_or(name);
    let endings = EXPORTERS.iter().flat_map(|exporter| exporter.endings().map(|ending| (ending, *exporter)));
    let matching = endings.filter(|(ending, _)| name.strip_suffix(ending).is_some_and(|rest| rest.ends_with('.')));
    matching.max_by_key(|(ending, _)| ending.len()).map(|(_, exporter)| exporter)
}
