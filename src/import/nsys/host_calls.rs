//! Calls of libraries other than CUDA's: of the operating system's runtime (`--trace=osrt`) and of MPI (`--trace=mpi`).

use super::activity::duration;
use super::{Reader, process_part};
use trace_format::tables::HostCallRow;
use trace_format::vocabulary::{host_call_domain, mpi_kind};

/// A table of calls.
struct Source {
    table: &'static str,
    /// Column of the number of the function's name.
    name: &'static str,
    domain: u32,
    /// `host_call.kind`.
    kind: Option<u32>,
}

const fn of_mpi(table: &'static str, kind: u32) -> Source {
    Source { table, name: "textId", domain: host_call_domain::MPI, kind: Some(kind) }
}

const SOURCES: [Source; 5] = [
    Source { table: "OSRT_API", name: "nameId", domain: host_call_domain::OS_RUNTIME, kind: None },
    of_mpi("MPI_P2P_EVENTS", mpi_kind::MESSAGE),
    of_mpi("MPI_COLLECTIVES_EVENTS", mpi_kind::COLLECTIVE),
    of_mpi("MPI_START_WAIT_EVENTS", mpi_kind::REQUEST),
    of_mpi("MPI_OTHER_EVENTS", mpi_kind::OTHER),
];

/// Event classes of rows that say when nsys began and ended to look at such calls. Others are calls.
const STARTED: u32 = 31;
const FINISHED: u32 = 32;

/// Reads the calls of all tables.
pub(super) fn read(r: &mut Reader) {
    SOURCES.iter().for_each(|source| read_table(r, source));
}

fn read_table(r: &mut Reader, source: &Source) {
    let Some(mut scan) = r.scan(source.table) else { return };
    let [start, end, class, thread, name] =
        ["start", "end", "eventClass", "globalTid", source.name].map(|name| scan.col(name));
    let returned = scan.col_if(r.full(), "returnValue");
    let mut of_nsys = 0;
    let tally = scan.run(|row| {
        if matches!(row.id(class), Some(STARTED | FINISHED)) {
            of_nsys += 1;
            return true;
        }
        let Some(start_ns) = row.int(start) else { return false };
        let thread = row.int(thread);
        let process = r.process(thread);
        let call = HostCallRow {
            start_ns,
            duration_ns: duration(start_ns, row.int(end)),
            domain: source.domain,
            kind: source.kind,
            name_id: r.name(row.int(name)),
            tid: r.thread(thread),
            returned: row.int(returned),
        };
        r.sink.push(process, call);
        true
    });
    r.close(tally);
    r.unread.add(format!("{} about nsys itself", source.table).as_bytes(), of_nsys);
}

/// Gives processes their ranks, which the file has for each thread that calls MPI.
pub(super) fn ranks(r: &mut Reader) {
    let Some(mut scan) = r.scan("MPI_RANKS") else { return };
    let [thread, rank] = ["globalTid", "rank"].map(|name| scan.col(name));
    let mut found: Vec<(i64, u32)> = Vec::new();
    let tally = scan.run(|row| {
        let (Some(thread), Some(rank)) = (row.int(thread), row.id(rank)) else { return false };
        found.push((process_part(thread), rank));
        true
    });
    r.close(tally);
    found.sort_unstable();
    found.dedup();
    // A process whose threads are of several ranks is of none.
    for ranks in found.chunk_by(|a, b| a.0 == b.0) {
        if let [(global, rank)] = *ranks
            && let Some(process) = r.processes.get(&global)
        {
            r.sink.processes[process.0].info.rank = Some(rank);
        }
    }
}
