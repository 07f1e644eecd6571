//! What databases that gpuprof wrote say about the trace that they were made of, in tables of our own
//! ([`crate::export::nvprof_db::about`]).

use super::Reader;
use crate::exchange::nvprof_db::{EXPORT, ORIGIN, SHIFT};
use crate::trace::sink::Sink;
use hashbrown::HashMap;
use rusqlite::Connection;

/// What calls were called, by domain and number.
pub(super) fn call_names(r: &mut Reader) -> HashMap<(u32, u32), Vec<u8>> {
    let mut names = HashMap::new();
    let Some(mut scan) = r.scan("GPUPROF_CALLS") else { return names };
    let [domain, cbid, name] = ["domain", "cbid", "name"].map(|column| scan.col(column));
    let tally = scan.run(|row| {
        let (Some(domain), Some(cbid), Some(name)) = (row.id(domain), row.id(cbid), row.bytes(name)) else {
            return false;
        };
        names.insert((domain, cbid), name.to_vec());
        true
    });
    r.close(tally);
    names
}

/// Lets times count from where they did.
pub(super) fn restore_times(db: &Connection, sink: &mut Sink) {
    let value = |name: &str| {
        let sql = format!("SELECT value FROM {EXPORT} WHERE name = ?1");
        db.query_row(&sql, [name], |row| row.get::<_, i64>(0)).ok()
    };
    let (origin_ns, shift_ns) = (value(ORIGIN), value(SHIFT));
    for process in &mut sink.processes {
        match (origin_ns, shift_ns) {
            (Some(origin_ns), _) => process.count_from(origin_ns),
            (None, Some(shift_ns)) => {
                process.info.unix_offset_ns = None;
                process.move_times(shift_ns.saturating_neg());
            }
            (None, None) => {}
        }
    }
}
