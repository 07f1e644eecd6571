//! Nsight Systems: the SQLite databases that `nsys export --type sqlite` (or `nsys stats`, beside the report) writes.
//!
//! Their tables grew with every release and are mostly made only when there is something to put in, so everything is
//! read by name and a missing table means no rows. Times count from the start of the session. One file may hold
//! several processes, and correlation ids are unique within one of them only.
//!
//! Such a file also holds the environment, users, addresses and all processes of the machine it was made on. Nothing
//! of that is read: see `session` for the few values that are.

mod activity;
mod api;
mod catalogue;
mod diagnostics;
mod directives;
mod host_calls;
mod host_stacks;
mod metrics;
mod ranges;
mod records;
mod session;

use super::rows::{Scan, Strings, Tables, Tally};
use super::unread::Unread;
use super::{Head, Importer, sqlite};
use crate::error::Result;
use crate::trace::sink::{Detail, Need, ProcessInfo, ProcessIx, Sink};
use hashbrown::{HashMap, HashSet};
use rusqlite::Connection;
use std::path::Path;
use trace_format::schema::TableSpec;
use trace_format::tables;

/// Reads nsys's SQLite exports.
pub struct Nsys;

impl Importer for Nsys {
    fn name(&self) -> &'static str {
        "nsys-sqlite"
    }

    fn describes(&self) -> &'static str {
        "Nsight Systems SQLite export (nsys export --type sqlite)"
    }

    fn sniff(&self, head: &Head) -> bool {
        sqlite::holds(head, "StringIds")
    }

    fn read(&self, path: &Path, need: &Need, sink: &mut Sink) -> Result<()> {
        let database = sqlite::open_any(path, sink)?;
        let tables = Tables::read(&database.connection, path, sink)?;
        let session = session::read(&database.connection, &tables, path, sink);
        sink.origin = session.origin;
        let wants_api = need.wants(&tables::API);
        let totals = need.detail == Detail::Totals;
        std::thread::scope(|scope| {
            // API calls are half of all rows; a second connection reads them beside the rest. What a packed file
            // unpacks to exists once, in memory, and belongs to one connection.
            let worker = (wants_api && database.on_disk && database.bytes >= PARALLEL_BYTES).then(|| {
                let tables = &tables;
                scope.spawn(move || Ok(api::read(&sqlite::open(path)?, tables, totals)))
            });
            let mut reader = Reader::new(&database.connection, &tables, path, need, sink, session.unix_offset_ns);
            reader.ours = session.ours;
            reader.read();
            match worker.map(|worker| worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))) {
                Some(Ok(calls)) => calls.merge(&mut reader),
                // The second connection could not be opened (no file handles left, say), the first one still can.
                Some(Err::<_, crate::error::Error>(_)) => api::read(reader.db, &tables, totals).merge(&mut reader),
                None if wants_api => api::read(reader.db, &tables, totals).merge(&mut reader),
                None => {}
            }
            reader.finish();
        });
        if let Some(origin_ns) = session.origin_ns {
            sink.processes.iter_mut().for_each(|process| process.count_from(origin_ns));
        }
        Ok(())
    }
}

/// Databases smaller than this are read faster than a thread starts.
const PARALLEL_BYTES: u64 = 1 << 20;

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
    /// What every process of the file adds to its times.
    unix_offset_ns: Option<i64>,
    /// Whether gpuprof wrote the file: some of what it put into nsys's tables comes back as what it was.
    ours: bool,
    processes: HashMap<i64, ProcessIx>,
    last_process: Option<(i64, ProcessIx)>,
    /// Threads that some row named: only their names are read.
    threads: HashSet<i64>,
    last_thread: Option<i64>,
    /// Green contexts that records name, with their devices and parents.
    green_contexts: HashMap<(ProcessIx, u32), (u32, Option<u32>)>,
    /// Rows that nobody here makes anything of.
    unread: Unread,
}

impl<'r, 's> Reader<'r, 's> {
    fn new(
        db: &'r Connection,
        tables: &'r Tables,
        path: &'r Path,
        need: &'r Need,
        sink: &'r mut Sink<'s>,
        unix_offset_ns: Option<i64>,
    ) -> Self {
        let (strings, tally) = Strings::new(db, tables, "StringIds", "id");
        tally.note(sink, path);
        Reader {
            db,
            tables,
            path,
            need,
            sink,
            strings,
            unix_offset_ns,
            ours: false,
            processes: HashMap::new(),
            last_process: None,
            threads: HashSet::new(),
            last_thread: None,
            green_contexts: HashMap::new(),
            unread: Unread::default(),
        }
    }

    /// Reads everything but API calls and what is known only after all rows.
    fn read(&mut self) {
        let readers: &[(&TableSpec, ReadTable<'r, 's>)] = &[
            (&tables::KERNEL, activity::kernels),
            (&tables::MEMCPY, activity::copies),
            (&tables::MEMSET, activity::fills),
            (&tables::GRAPH, activity::graphs),
            (&tables::SYNC, records::syncs),
            (&tables::OVERHEAD, records::overheads),
            (&tables::MEMORY, records::memory),
            (&tables::MEMORY, records::pools),
            (&tables::JIT, records::compilations),
            (&tables::UVM, records::page_faults),
            (&tables::EVENT, records::events),
            (&tables::RANGE, ranges::read),
            (&tables::OPENACC, directives::openacc),
            (&tables::OPENMP, directives::openmp),
            (&tables::CPU_SAMPLE, host_stacks::read),
            (&tables::HOST_CALL, host_calls::read),
        ];
        // Migrations of unified memory stand among the copies.
        let copies_too = self.ours && self.need.wants(&tables::UVM);
        for (table, read) in readers {
            if self.need.wants(table) || (copies_too && *table == &tables::MEMCPY) {
                read(self);
            }
        }
    }

    fn finish(&mut self) {
        host_calls::ranks(self);
        if self.need.wants(&tables::SAMPLE) {
            metrics::read(self);
        }
        session::process_names(self);
        session::devices(self);
        session::contexts(self);
        session::streams(self);
        session::thread_names(self);
        self.strings.note(self.sink, self.path);
        diagnostics::pass_on(self);
        catalogue::count_unread(self);
        std::mem::take(&mut self.unread).note(self.path, self.sink, "rows", "");
        self.settle_strays();
    }

    /// Gives rows without a process to the only process there is: tables made or cut by hand may have calls with
    /// their thread but kernels without, and the two must meet.
    fn settle_strays(&mut self) {
        if self.processes.len() != 2 {
            return;
        }
        let Some(&ProcessIx(strays)) = self.processes.get(&0) else { return };
        self.sink.finish();
        // The two may not be the first of the sink.
        let other = self.processes.values().map(|index| index.0).find(|&index| index != strays);
        let kept = std::mem::take(&mut self.sink.processes[strays].kept);
        if let Some(other) = other {
            self.sink.processes[other].kept.extend(kept);
            self.sink.processes.remove(strays);
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

    /// The name with this id in `StringIds`.
    fn name(&mut self, id: Option<i64>) -> u32 {
        self.strings.name(self.sink, id)
    }

    fn name_if_any(&mut self, id: Option<i64>) -> Option<u32> {
        self.strings.name_if_any(self.sink, id)
    }

    /// The process of a `globalPid` or `globalTid`; rows without one belong to a process of unknown pid.
    fn process(&mut self, global: Option<i64>) -> ProcessIx {
        let global = process_part(global.unwrap_or(0));
        match self.last_process {
            Some((last, index)) if last == global => index,
            _ => {
                let (sink, offset) = (&mut *self.sink, self.unix_offset_ns);
                let index = *self.processes.entry(global).or_insert_with(|| {
                    sink.process(ProcessInfo { pid: pid(global), unix_offset_ns: offset, ..Default::default() })
                });
                self.last_process = Some((global, index));
                index
            }
        }
    }

    /// The thread id in a `globalTid`.
    fn thread(&mut self, global: Option<i64>) -> u32 {
        let Some(global) = global else { return 0 };
        if self.last_thread != Some(global) {
            self.threads.insert(global);
            self.last_thread = Some(global);
        }
        tid(global)
    }
}

/// `globalTid` is, from the top, 8 bits of hardware id, 8 of virtual machine id, 24 of process and 24 of thread id;
/// `globalPid` is the same with the thread bits zero.
fn process_part(global: i64) -> i64 {
    global & !0xFF_FFFF
}

fn pid(global: i64) -> Option<u32> {
    Some((global >> 24) as u32 & 0xFF_FFFF).filter(|&pid| pid != 0)
}

fn tid(global: i64) -> u32 {
    global as u32 & 0xFF_FFFF
}

#[cfg(test)]
mod tests;
