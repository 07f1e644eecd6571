//! nvprof and the Visual Profiler: the SQLite databases that `nvprof -o` writes, schema 8 (CUDA 8) to 26 (CUDA 12).
//!
//! One table per kind of CUPTI record, all made even when empty, columns named like the fields of CUPTI's structs and
//! added or dropped from version to version. Times are Unix nanoseconds. One file holds one process as a rule.
//!
//! Names of processes are command lines and stay in the file.

mod activity;
mod api;
mod catalogue;
mod directives;
mod gpuprof_tables;
mod markers;
mod records;
mod target;

use super::rows::{Scan, Strings, Tables, Tally};
use super::unread::Unread;
use super::{Head, Importer, sqlite};
use crate::error::Result;
use crate::trace::names::{Names, Shapes};
use crate::trace::sink::{Detail, Need, Note, ProcessInfo, ProcessIx, Sink, SinkProcess, valid_duration};
use hashbrown::HashMap;
use rusqlite::Connection;
use std::path::Path;
use trace_format::schema::TableSpec;
use trace_format::tables;

/// Reads nvprof's databases.
pub struct Nvprof;

impl Importer for Nvprof {
    fn name(&self) -> &'static str {
        "nvprof"
    }

    fn describes(&self) -> &'static str {
        "nvprof or Visual Profiler database (nvprof -o)"
    }

    fn sniff(&self, head: &Head) -> bool {
        sqlite::holds(head, "StringTable")
    }

    fn read(&self, path: &Path, need: &Need, sink: &mut Sink) -> Result<()> {
        let database = sqlite::open_any(path, sink)?;
        // API calls are half of all rows; a second connection reads them beside the rest. What a packed file unpacks
        // to exists once, in memory, and belongs to one connection.
        let apart = need.wants(&tables::API) && database.on_disk && database.bytes >= PARALLEL_BYTES;
        let version = std::thread::scope(|scope| {
            let worker = apart.then(|| scope.spawn(|| Calls::read(path, need)));
            let db = &database.connection;
            let Some(worker) = worker else { return read_tables(db, path, need, sink, WhichTables::Everything) };
            let version = read_tables(db, path, need, sink, WhichTables::AllButCalls)?;
            match worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)) {
                Ok(calls) => calls.merge(sink),
                // The second connection could not be opened (no file handles left, say), the first one still can.
                Err(_) => read_tables(db, path, need, sink, WhichTables::Calls).map(drop)?,
            }
            Ok(version)
        })?;
        gpuprof_tables::restore_times(&database.connection, sink);
        sink.origin = format!("nvprof database, {version}");
        Ok(())
    }
}

/// Databases smaller than this are read faster than a thread starts.
const PARALLEL_BYTES: u64 = 1 << 20;

/// Which tables to read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WhichTables {
    Everything,
    AllButCalls,
    Calls,
}

/// API calls read on another thread.
struct Calls {
    processes: Vec<SinkProcess>,
    notes: Vec<Note>,
    names: Names,
}

impl Calls {
    fn read(path: &Path, need: &Need) -> Result<Calls> {
        let (mut names, mut shapes) = (Names::default(), Shapes::default());
        let mut sink = Sink::new(&mut names, &mut shapes);
        read_tables(&sqlite::open(path)?, path, need, &mut sink, WhichTables::Calls)?;
        sink.finish();
        let (processes, notes) = (std::mem::take(&mut sink.processes), std::mem::take(&mut sink.notes));
        Ok(Calls { processes, notes, names })
    }

    fn merge(self, sink: &mut Sink) {
        sink.absorb(self.processes, self.notes, &self.names, |sink, info| {
            let known = sink.processes.iter().position(|process| process.info == info);
            known.map_or_else(|| sink.process(info), ProcessIx)
        });
    }
}

/// Reads an open database; returns its schema version in words.
pub(super) fn read_database(db: &Connection, path: &Path, need: &Need, sink: &mut Sink) -> Result<String> {
    read_tables(db, path, need, sink, WhichTables::Everything)
}

fn read_tables(db: &Connection, path: &Path, need: &Need, sink: &mut Sink, what: WhichTables) -> Result<String> {
    let tables = Tables::read(db, path, sink)?;
    let (strings, tally) = Strings::new(db, &tables, "StringTable", "_id_");
    tally.note(sink, path);
    let mut reader = Reader {
        db,
        tables: &tables,
        path,
        need,
        sink,
        strings,
        processes: HashMap::new(),
        main: None,
        unread: Unread::default(),
    };
    let version = target::version(&mut reader).map_or("schema unknown".to_owned(), |v| format!("schema {v}"));
    reader.main = target::main_process(&mut reader);
    reader.read(what);
    Ok(version)
}

/// Reads one table into the sink.
type ReadTable<'r, 's> = fn(&mut Reader<'r, 's>);

/// What all readers of single tables share.
struct Reader<'r, 's> {
    db: &'r Connection,
    tables: &'r Tables,
    path: &'r Path,
    need: &'r Need,
    sink: &'r mut Sink<'s>,
    strings: Strings<'r>,
    processes: HashMap<Option<u32>, ProcessIx>,
    /// Pid of the process that GPU records, which name none, belong to.
    main: Option<u32>,
    /// Rows that nobody here makes anything of.
    unread: Unread,
}

impl<'r, 's> Reader<'r, 's> {
    fn read(&mut self, what: WhichTables) {
        let readers: &[(&TableSpec, ReadTable<'r, 's>)] = &[
            (&tables::DEVICE, target::devices),
            (&tables::CONTEXT, target::contexts),
            (&tables::STREAM, target::streams),
            (&tables::THREAD, target::thread_names),
            (&tables::KERNEL, activity::kernels),
            (&tables::MEMCPY, activity::copies),
            (&tables::MEMSET, activity::fills),
            (&tables::API, api::read),
            (&tables::SYNC, records::syncs),
            (&tables::OVERHEAD, records::overheads),
            (&tables::GRAPH, activity::graphs),
            (&tables::MEMORY, records::memory),
            (&tables::UVM, records::counters),
            (&tables::EVENT, records::events),
            (&tables::EXTERNAL, records::external),
            (&tables::JIT, records::compilations),
            (&tables::OPENACC, directives::openacc),
            (&tables::OPENMP, directives::openmp),
            (&tables::RANGE, markers::read),
            (&tables::SAMPLE, records::environment),
        ];
        for (table, read) in readers {
            let defines = table.role == trace_format::schema::Role::Defining;
            let meant = match what {
                WhichTables::Everything => true,
                WhichTables::AllButCalls => *table != &tables::API,
                WhichTables::Calls => *table == &tables::API,
            };
            if meant && (defines || self.need.wants(table)) {
                read(self);
            }
        }
        if what != WhichTables::Calls {
            self.strings.note(self.sink, self.path);
            catalogue::count_unread(self);
            std::mem::take(&mut self.unread).note(
                self.path,
                self.sink,
                "rows",
                "the Visual Profiler (nvvp) shows what nvprof measured",
            );
        }
    }

    /// Whether more than what summaries need is asked for.
    fn full(&self) -> bool {
        self.need.detail != Detail::Totals
    }

    /// Whether ids of calls and graph nodes are needed: always where graphs were traced whole, as work of a graph whose
    /// nodes were traced too counts once.
    fn wants_ids(&self) -> bool {
        self.full() || self.tables.has("CUPTI_ACTIVITY_KIND_GRAPH_TRACE")
    }

    fn scan(&self, table: &'static str) -> Option<Scan<'r>> {
        debug_assert!(catalogue::is_known(table), "{table} is read and would be counted as not read");
        Scan::new(self.db, self.tables, table)
    }

    fn close(&mut self, tally: Tally) {
        tally.note(self.sink, self.path);
    }

    /// The name with this id in `StringTable`; entry 0 is a placeholder for none.
    fn name(&mut self, id: Option<i64>) -> u32 {
        self.strings.name(self.sink, id.filter(|&id| id != 0))
    }

    fn name_if_any(&mut self, id: Option<i64>) -> Option<u32> {
        Some(self.name(id)).filter(|&name| name != 0)
    }

    /// The process with this pid, or the main one for records that name none.
    fn process(&mut self, pid: Option<u32>) -> ProcessIx {
        let pid = pid.filter(|&pid| pid != 0).or(self.main);
        let sink = &mut *self.sink;
        *self
            .processes
            .entry(pid)
            .or_insert_with(|| sink.process(ProcessInfo { pid, unix_offset_ns: Some(0), ..Default::default() }))
    }
}

/// End minus start; a record with either of them 0 was never completed.
fn duration(start: i64, end: Option<i64>) -> Option<i64> {
    end.filter(|&end| start != 0 && end != 0).and_then(|end| valid_duration(start, end))
}

/// The id, unless it is CUPTI's "does not apply".
fn applicable(id: Option<u32>) -> Option<u32> {
    id.filter(|&id| id != u32::MAX)
}

#[cfg(test)]
mod tests;
