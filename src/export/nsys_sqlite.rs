//! nsys's SQLite: the tables that `nsys export --type sqlite` writes, so that tools and people's own SQL for nsys work on
//! any trace. What nsys has no column for is left out; [`EXPORTER`] says what that is.
//!
//! Rows stand in order of their starts. Times count from the start of the session, which is that of the trace if it
//! came from nsys, else the first record's.

mod activity;
mod clock;
mod directives;
mod enums;
mod host_calls;
mod ids;
mod ranges;
mod records;
mod schema;
mod target;

use super::database::{Database, Rows};
use super::texts::Texts;
use super::{Columns, Context, Destination, Exporter, KeptTable, KeptTables, Shape};
use crate::analysis::contexts::ContextDevices;
use crate::error::Result;
use crate::trace::select::Filter;
use crate::trace::sink::Need;
use clock::Clock;
use ids::Ids;
use trace_format::columns;
use trace_format::schema::{Row, TableSpec};
use trace_format::tables;
use trace_format::tables::column::{
    api, context, host_call, kernel, memcpy, memset, openacc, range, shape, string, sync,
};

/// The format.
pub static EXPORTER: Exporter = Exporter {
    name: "sqlite",
    extension: "sqlite",
    other_endings: &["sqlite3", "db"],
    binary: true,
    doc: "SQLite in the schema of nsys export (3.13), for nsys's own stats, nsys-ai, nsys2prv and SQL written for nsys",
    shape: Shape::File,
    need: Need::all,
    options: &[],
    keeps: KeptTables::these(KEEPS),
    write,
};

const KEEPS: &[KeptTable] = &[
    KeptTable {
        table: &tables::PROCESS,
        columns: Columns::All,
        note: "the pid; rank, host and configuration are left out",
    },
    KeptTable {
        table: &tables::STRING,
        columns: Columns::AllBut(&[string::ID]),
        note: "bytes that are not UTF-8 become `\\xff`: Python's sqlite3 could not read them",
    },
    KeptTable {
        table: &tables::SHAPE,
        columns: Columns::AllBut(&[shape::ID]),
        note: "shapes without a demangled or a base name get gpuprof's, as nsys stores both",
    },
    KeptTable {
        table: &tables::DEVICE,
        columns: Columns::All,
        note: "clocks and bandwidths of a process that shares its number and its machine with another may be the other's",
    },
    KeptTable { table: &tables::CONTEXT, columns: Columns::AllBut(&[context::API_KIND]), note: "" },
    KeptTable { table: &tables::STREAM, columns: Columns::All, note: "" },
    KeptTable {
        table: &tables::THREAD,
        columns: Columns::All,
        note: "threads that no other row names are not read back",
    },
    KeptTable {
        table: &tables::KERNEL,
        columns: Columns::AllBut(&[
            kernel::QUEUED_NS,
            kernel::SUBMITTED_NS,
            kernel::CHANNEL,
            kernel::PRIORITY,
            kernel::FLAGS,
        ]),
        note: "",
    },
    KeptTable { table: &tables::MEMCPY, columns: Columns::AllBut(&[memcpy::FLAGS, memcpy::CHANNEL]), note: "" },
    KeptTable { table: &tables::MEMSET, columns: Columns::AllBut(&[memset::FLAGS]), note: "" },
    KeptTable {
        table: &tables::API,
        columns: Columns::AllBut(&[api::CBID]),
        note: "nsys has 24 bits for a thread id, so larger ones are replaced, here and in all tables",
    },
    KeptTable { table: &tables::SYNC, columns: Columns::AllBut(&[sync::RESULT]), note: "" },
    KeptTable { table: &tables::OVERHEAD, columns: Columns::All, note: "" },
    KeptTable { table: &tables::GRAPH, columns: Columns::All, note: "" },
    KeptTable {
        table: &tables::MEMORY,
        columns: Columns::All,
        note: "operations of pools lose context, stream, kind of memory and name",
    },
    KeptTable {
        table: &tables::UVM,
        columns: Columns::All,
        note: "kinds 5 to 7 are left out; migrations stand among the copies, as with nsys; a CPU page fault counts as one",
    },
    KeptTable { table: &tables::EVENT, columns: Columns::All, note: "" },
    KeptTable { table: &tables::JIT, columns: Columns::All, note: "" },
    KeptTable {
        table: &tables::OPENACC,
        columns: Columns::AllBut(&[openacc::PARENT_CONSTRUCT, openacc::IMPLICIT, openacc::EXTERNAL_ID]),
        note: "",
    },
    KeptTable { table: &tables::OPENMP, columns: Columns::All, note: "kind 4 (idle) is left out" },
    KeptTable {
        table: &tables::HOST_CALL,
        columns: Columns::AllBut(&[host_call::RETURNED]),
        note: "what a function of the operating system returned is kept",
    },
    KeptTable {
        table: &tables::RANGE,
        columns: Columns::AllBut(&[range::RANGE_ID]),
        note: "operators, annotations and Python functions become push/pop ranges of domains with those names",
    },
];

/// What all writers of single tables share.
struct Writer<'a> {
    context: &'a Context<'a>,
    database: &'a Database,
    strings: Texts<'a>,
    ids: Ids,
    clock: Clock,
    /// For records that name a context only.
    devices: ContextDevices,
}

fn write(context: &Context, destination: &mut Destination) -> Result<()> {
    let database = Database::create(destination.path()?)?;
    enums::write(&database)?;
    // Readers know the format by this table, so it is there even if nothing has a name.
    database.execute(&schema::STRING_IDS.create())?;
    let texts = Rows::of_existing(&database, &schema::STRING_IDS, &["id", "value"]);
    let mut writer = Writer {
        context,
        database: &database,
        strings: Texts::new(&context.frames.names, texts),
        ids: Ids::new(context.frames),
        clock: Clock::new(context.frames)?,
        devices: ContextDevices::read(context.frames)?,
    };
    target::write(&mut writer)?;
    activity::write(&mut writer)?;
    records::write(&mut writer)?;
    directives::write(&mut writer)?;
    host_calls::write(&mut writer)?;
    ranges::write(&mut writer)?;
    drop(writer);
    context.count(database.inserted());
    database.finish()
}

impl Writer<'_> {
    /// Hands over the selected rows of one table, in order, with their processes.
    fn each<R: Row>(&mut self, mut each: impl FnMut(&mut Self, u32, R) -> Result<()>) -> Result<()> {
        self.each_of(&[R::TABLE], |writer, process, rows, i| each(writer, process, R::from_batch(rows, i)))
    }

    /// Hands over the rows that define something, whatever the filter keeps of the rest.
    fn each_defined<R: Row>(&mut self, mut each: impl FnMut(&mut Self, u32, R) -> Result<()>) -> Result<()> {
        let context = self.context;
        context.frames.in_order(&[R::TABLE], &Filter::everything(), |chunk| {
            chunk
                .iter()
                .filter(|(piece, _)| context.filter.takes_process(piece.process))
                .try_for_each(|(piece, i)| each(self, piece.process, R::from_batch(&piece.rows, i)))
        })
    }

    /// The same for several tables whose rows go into one.
    fn each_of(
        &mut self,
        tables: &[&'static TableSpec],
        mut each: impl FnMut(&mut Self, u32, &columns::Batch, usize) -> Result<()>,
    ) -> Result<()> {
        let context = self.context;
        context.frames.in_order(tables, context.filter, |chunk| {
            chunk.iter().try_for_each(|(piece, i)| each(self, piece.process, &piece.rows, i))
        })
    }

    /// The device of a context: where no record says, the only one that the process's contexts are on, else 0.
    fn device(&self, process: u32, context: Option<u32>) -> u32 {
        self.devices.of(process, context)
    }
}

/// A correlation id; 0 joins nothing.
fn correlation(id: u64) -> Option<u64> {
    Some(id).filter(|&id| id != 0)
}

/// CUPTI's "does not apply".
const NOT_APPLICABLE: u32 = u32::MAX;
