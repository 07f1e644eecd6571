//! Batches of several tables in order of time, in bounded memory: for analyses that look at calls and work side by side.
//!
//! [`super::ordered`] hands out whole rows in one total order, which exporters need. Here a caller takes from each batch what
//! it wants, on all threads, and sorts only that; what is held is a few frames of each table.

use super::batch::Batch;
use super::frames::{Frames, Part};
use super::select::Filter;
use crate::error::Result;
use rayon::prelude::*;
use trace_format::schema::{AnyColumn, TableSpec};

/// A table and the columns of it that are wanted.
pub struct WantedTable<'a> {
    /// The table.
    pub table: &'static TableSpec,
    /// The columns. Start and duration have to be among them.
    pub columns: &'a [&'a dyn AnyColumn],
}

/// The parts of one turn, and from when on the parts of later turns begin.
struct Turn<'a> {
    parts: Vec<&'a Part>,
    horizon_ns: i64,
}

impl Frames {
    /// Calls `each` with what `extract` makes of some batches, turn by turn, and with the time from which on all that comes in
    /// later turns begins: what starts before it is complete. While `each` works on one turn, the next one is decoded.
    ///
    /// Parts in which no row has valid times come last.
    ///
    /// # Errors
    /// Fails if a part of a file cannot be read, and with any error that `each` returns. Damaged frames were noted when
    /// the file was opened and are passed over.
    pub fn by_start<T: Send>(
        &self,
        wanted: &[WantedTable],
        filter: &Filter,
        extract: impl Fn(&Batch) -> T + Sync,
        mut each: impl FnMut(Vec<T>, i64) -> Result<()> + Send,
    ) -> Result<()> {
        let turns = self.turns(wanted, filter);
        let decode = |turn: &Turn| -> Result<Vec<T>> {
            let made = turn.parts.par_iter().map_init(Vec::new, |buffer, part| {
                let columns = columns_of(wanted, part.table(), filter);
                Ok(self.decode(part, &columns, filter, buffer)?.map(|batch| extract(&batch)))
            });
            let made: Vec<Result<Option<T>>> = made.collect();
            made.into_iter().filter_map(Result::transpose).collect()
        };
        let mut decoded = turns.first().map_or(Ok(Vec::new()), &decode);
        for (i, turn) in turns.iter().enumerate() {
            let now = decoded?;
            let (next, outcome) =
                rayon::join(|| turns.get(i + 1).map_or(Ok(Vec::new()), &decode), || each(now, turn.horizon_ns));
            outcome?;
            decoded = next;
        }
        decoded.map(drop)
    }

    /// The parts of the wanted tables and selected processes by their first start, some in each turn.
    fn turns(&self, wanted: &[WantedTable], filter: &Filter) -> Vec<Turn<'_>> {
        let is_wanted = |part: &&Part| {
            wanted.iter().any(|wanted| wanted.table == part.table()) && filter.takes_process(part.process(self))
        };
        let mut parts: Vec<(i64, &Part)> = self
            .parts()
            .iter()
            .filter(is_wanted)
            .map(|part| (self.part_start_ns(part).unwrap_or(i64::MAX), part))
            .collect();
        parts.sort_by_key(|(start_ns, _)| *start_ns);
        // Enough for all threads, and for those that are done early.
        let at_once = rayon::current_num_threads().max(1) * 4;
        let mut turns = Vec::new();
        let mut at = 0;
        while at < parts.len() {
            let end = (at + at_once).min(parts.len());
            let horizon_ns = parts.get(end).map_or(i64::MAX, |(start_ns, _)| *start_ns);
            turns.push(Turn { parts: parts[at..end].iter().map(|(_, part)| *part).collect(), horizon_ns });
            at = end;
        }
        turns
    }
}

/// The names of what has to be decoded of `table`: the wanted columns that it has, and those that the filter judges by.
fn columns_of(wanted: &[WantedTable], table: &TableSpec, filter: &Filter) -> Vec<&'static str> {
    let of_table = wanted.iter().filter(|wanted| wanted.table == table);
    let names = of_table.flat_map(|wanted| wanted.columns).map(|column| column.name());
    let mut columns: Vec<&'static str> = names.filter(|name| table.column_index(name).is_some()).collect();
    columns.extend(filter.columns(table));
    columns.sort_unstable();
    columns.dedup();
    columns
}
