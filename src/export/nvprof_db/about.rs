//! What nvprof's tables cannot say about the trace that a database was made of, in two tables of our own: from where its
//! times counted, and what its calls were called. nvprof passes over tables that it does not know.

use super::Writer;
use crate::cupti;
use crate::error::Result;
use crate::exchange::nvprof_db::{CALLS, EXPORT, ORIGIN, SHIFT};
use crate::export::database::{Rows, Table};

static EXPORT_TABLE: Table =
    Table { name: EXPORT, columns: &[("name", "TEXT NOT NULL"), ("value", "INT NOT NULL")] };

static CALLS_TABLE: Table = Table {
    name: CALLS,
    columns: &[("domain", "INT NOT NULL"), ("cbid", "INT NOT NULL"), ("name", "TEXT NOT NULL")],
};

/// Writes from where the process counted.
pub(super) fn write(writer: &Writer) -> Result<()> {
    let info = writer.context.frames.processes.get(writer.process as usize).map(|process| &process.info);
    let (name, value) = match info.and_then(|info| info.epoch_ns()) {
        Some(origin_ns) => (ORIGIN, origin_ns),
        None => (SHIFT, writer.shift_ns),
    };
    Rows::new(writer.database, &EXPORT_TABLE, &["name", "value"]).add([name.into(), value.into()])
}

/// Writes what calls with these numbers were called, where a reader of the numbers would call them otherwise.
pub(super) fn write_calls<'n>(writer: &Writer, names: impl Iterator<Item = ((u32, u32), &'n str)>) -> Result<()> {
    let mut rows = Rows::new(writer.database, &CALLS_TABLE, &["domain", "cbid", "name"]);
    let mut seen = hashbrown::HashSet::new();
    for ((domain, number), name) in names {
        let differs = cupti::api_name_before_13(domain, number) != Some(name);
        if differs && number != 0 && !name.is_empty() && seen.insert((domain, number)) {
            rows.add([domain.into(), number.into(), name.into()])?;
        }
    }
    Ok(())
}
