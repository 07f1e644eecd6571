//! Calls of the CUDA API. They are half of all rows and need nothing of the other tables, so a thread of its own reads
//! them; what it leaves for later is everything that belongs to the trace as a whole: names and processes.

use super::activity::duration;
use super::{Reader, process_part, tid};
use crate::exchange::nsys_sqlite::event_class;
use crate::import::rows::{Scan, Tables, Tally};
use crate::numbers::items;
use hashbrown::{HashMap, HashSet};
use rusqlite::Connection;
use trace_format::columns::{Batch, Values};
use trace_format::schema::RowBuilder;
use trace_format::tables::{API, ApiRow};
use trace_format::vocabulary::api_domain;

/// Rows per batch.
const BATCH_ROWS: usize = 65_536;

/// Event class of a row that repeats a call which has a row of its own, to tie a call stack to it: counting both counts twice.
const BACKTRACE: u32 = 67;

/// Domain of a call whose class does not say it, until its name is known.
const ASK_THE_NAME: u32 = u32::MAX;

/// The calls of all processes, still in the file's terms: `name_id` is an index into `names`.
#[derive(Default)]
pub(super) struct Calls {
    processes: Vec<Process>,
    names: Vec<Option<i64>>,
    threads: HashSet<i64>,
    backtraces: u64,
    tally: Option<Tally>,
}

#[derive(Default)]
struct Process {
    global: i64,
    builder: <ApiRow as trace_format::schema::Row>::Builder,
    batches: Vec<Batch>,
    /// Whether some row's domain is [`ASK_THE_NAME`].
    unclear: bool,
}

/// Reads all calls.
pub(super) fn read(db: &Connection, tables: &Tables, totals: bool) -> Calls {
    let mut calls = Calls::default();
    let Some(mut scan) = Scan::new(db, tables, "CUPTI_ACTIVITY_KIND_RUNTIME") else { return calls };
    let [start, end, class, thread, name] =
        ["start", "end", "eventClass", "globalTid", "nameId"].map(|name| scan.col(name));
    let [correlation, result] = ["correlationId", "returnValue"].map(|name| scan.col_if(!totals, name));
    let mut process_of: HashMap<i64, usize> = HashMap::new();
    let mut name_of: HashMap<Option<i64>, u32> = HashMap::new();
    let mut last_thread: Option<(Option<i64>, usize)> = None;
    let mut last_name: Option<(Option<i64>, u32)> = None;
    let tally = scan.run(|row| {
        let class = row.id(class);
        if class == Some(BACKTRACE) {
            calls.backtraces += 1;
            return true;
        }
        let Some(start_ns) = row.int(start) else { return false };
        let thread = row.int(thread);
        let index = match last_thread {
            Some((last, index)) if last == thread => index,
            _ => {
                calls.threads.extend(thread);
                let global = process_part(thread.unwrap_or(0));
                let processes = &mut calls.processes;
                let index = *process_of.entry(global).or_insert_with(|| {
                    processes.push(Process { global, ..Default::default() });
                    processes.len() - 1
                });
                last_thread = Some((thread, index));
                index
            }
        };
        let name = row.int(name);
        let name_id = match last_name {
            Some((last, id)) if last == name => id,
            _ => {
                let names = &mut calls.names;
                let id = *name_of.entry(name).or_insert_with(|| {
                    names.push(name);
                    names.len() as u32 - 1
                });
                last_name = Some((name, id));
                id
            }
        };
        let process = &mut calls.processes[index];
        let domain = match class {
            Some(event_class::RUNTIME) => api_domain::RUNTIME,
            Some(event_class::DRIVER) => api_domain::DRIVER,
            _ => {
                process.unclear = true;
                ASK_THE_NAME
            }
        };
        process.builder.push(ApiRow {
            start_ns,
            duration_ns: duration(start_ns, row.int(end)),
            domain,
            cbid: 0,
            name_id,
            tid: thread.map_or(0, tid),
            correlation: row.int(correlation).unwrap_or(0) as u64,
            result: row.id(result),
        });
        if process.builder.len() >= BATCH_ROWS {
            process.batches.push(process.builder.take());
        }
        true
    });
    calls.tally = Some(tally);
    calls
}

impl Calls {
    /// Hands the calls over to the sink.
    pub(super) fn merge(mut self, r: &mut Reader) {
        let name_ids: Vec<u32> = self.names.iter().map(|&id| r.name(id)).collect();
        let domains: Vec<u32> = self.names.iter().map(|&id| domain_by_name(r, id)).collect();
        let [domain, name_id] = ["domain", "name_id"].map(|name| API.column_index(name).expect("a column of api"));
        for process in &mut self.processes {
            if !process.builder.is_empty() {
                process.batches.push(process.builder.take());
            }
            for batch in &mut process.batches {
                let Values::U32(names) = &mut batch.columns[name_id].values else { continue };
                if process.unclear {
                    let names = names.clone();
                    if let Values::U32(codes) = &mut batch.columns[domain].values {
                        let unclear = codes.iter_mut().zip(names).filter(|(code, _)| **code == ASK_THE_NAME);
                        unclear.for_each(|(code, name)| *code = domains[name as usize]);
                    }
                }
                let Values::U32(names) = &mut batch.columns[name_id].values else { continue };
                names.iter_mut().for_each(|name| *name = name_ids[*name as usize]);
            }
            let index = r.process(Some(process.global));
            process.batches.drain(..).for_each(|batch| r.sink.keep(index, batch));
        }
        r.threads.extend(&self.threads);
        if self.backtraces > 0 {
            let path = r.path.display();
            let rows = items(self.backtraces, "row of API calls is", "rows of API calls are");
            let why = "such a row repeats a call in order to hold its call stack";
            r.sink.note("backtrace-rows", format!("{path}: {rows} left out: {why}"));
        }
        if let Some(tally) = self.tally {
            r.close(tally);
        }
    }
}

/// `cudaMalloc` is of the runtime, `cuMemAlloc` of the driver.
fn domain_by_name(r: &mut Reader, id: Option<i64>) -> u32 {
    match id.and_then(|id| r.strings.bytes(id)) {
        Some(name) if name.starts_with(b"cu") && name.get(2).is_some_and(u8::is_ascii_uppercase) => {
            api_domain::DRIVER
        }
        _ => api_domain::RUNTIME,
    }
}
