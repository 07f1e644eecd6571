//! Rows of several tables in one total order, in bounded memory: what every exporter reads.
//!
//! Frames of a trace overlap in time, but not much: each holds what was delivered together. So they are decoded in
//! the order of their first start, a few at a time on all threads, and merged; a row may leave as soon as no frame
//! that is still to come can hold an earlier one. What is held is what overlaps, however long the trace is.

use super::batch::{self, Batch};
use super::frames::{Frames, Part};
use super::select::Filter;
use crate::error::{Error, Result};
use rayon::prelude::*;
use std::cmp::Ordering;
use std::collections::HashSet;
use std::sync::Arc;
use trace_format::columns::{Batch as Columns, Column, Values};
use trace_format::schema::{AnyColumn, TableSpec, Unit};
use trace_format::tables;
use trace_format::tables::column::{any, range};

/// Rows of one table of one process, with all columns that the registry gives the table, in its order.
///
/// Ids are those of [`Frames::names`] and [`Frames::shape`]. Times have the process's offset added: Unix
/// nanoseconds, or relative ones where the trace has no epoch.
#[derive(Debug)]
pub struct Piece {
    /// Ordinal of the process.
    pub process: u32,
    /// The rows; typed ones come from [`trace_format::schema::Row::from_batch`].
    pub rows: Columns,
}

impl Piece {
    /// The table the rows belong to.
    pub fn table(&self) -> &'static TableSpec {
        self.rows.table
    }
}

/// Some rows, in order.
#[derive(Clone)]
pub struct Chunk {
    /// Where the rows are.
    pub pieces: Vec<Arc<Piece>>,
    /// The order: index into `pieces`, row in it.
    pub order: Vec<(u32, u32)>,
}

impl Chunk {
    /// The rows in order.
    pub fn iter(&self) -> impl Iterator<Item = (&Piece, usize)> {
        self.order.iter().map(|&at| self.row(at))
    }

    /// The row that an entry of `order` stands for.
    pub fn row(&self, (piece, row): (u32, u32)) -> (&Piece, usize) {
        (&self.pieces[piece as usize], row as usize)
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }
}

/// Rows in one chunk, at most: enough for all threads, small enough to format while the caches are warm.
const CHUNK_ROWS: usize = 65_536;

/// A row on its way out.
#[derive(Clone, Copy)]
struct Entry {
    start_ns: i64,
    end_ns: i64,
    piece: u32,
    row: u32,
}

/// What decoding one part gives.
struct Decoded {
    piece: Arc<Piece>,
    /// Rows with valid times, and those without.
    timed: Vec<Entry>,
    timeless: Vec<u32>,
}

impl Frames {
    /// Hands all selected rows of `tables` to `each`, in one total order over all of them: start, end, process,
    /// device, stream, correlation, graph node, table, then whatever else tells them apart. Rows without valid times,
    /// and rows of tables without times, come last, in the order of the files. A range that was written while open
    /// and again when closed comes once.
    ///
    /// Memory: up to twice what overlaps in time, decoded; not the trace.
    ///
    /// # Errors
    /// Fails if a part of a file cannot be read, and with any error that `each` returns. Damaged frames were noted when
    /// the file was opened and are passed over.
    pub fn in_order(
        &self,
        tables: &[&'static TableSpec],
        filter: &Filter,
        mut each: impl FnMut(&Chunk) -> Result<()>,
    ) -> Result<()> {
        // Compiled once, and not for every exporter: sorting on all threads is a lot of code.
        self.hand_out(tables, filter, &mut each)
    }

    fn hand_out(
        &self,
        tables: &[&'static TableSpec],
        filter: &Filter,
        each: &mut dyn FnMut(&Chunk) -> Result<()>,
    ) -> Result<()> {
        let reading = Reading { frames: self, filter, superseded: self.superseded(tables)? };
        let mut parts: Vec<(i64, &Part)> = Vec::new();
        let mut without_bound = Vec::new();
        for part in self.parts().iter().filter(|part| tables.contains(&part.table())) {
            match self.part_start_ns(part) {
                Some(bound) => parts.push((bound, part)),
                None => without_bound.push(part),
            }
        }
        parts.sort_by_key(|(bound, _)| *bound);
        let mut merge = Merge { frames: self, pieces: Vec::new(), held: Vec::new(), kept: 0 };
        let mut with_timeless: Vec<&Part> = Vec::new();
        let at_once = rayon::current_num_threads().max(1) * 2;
        let mut at = 0;
        while at < parts.len() {
            let group = &parts[at..(at + at_once).min(parts.len())];
            at += group.len();
            let decoded: Vec<Result<Option<Decoded>>> =
                group.par_iter().map(|(_, part)| reading.decode(part)).collect();
            for ((_, part), decoded) in group.iter().zip(decoded) {
                if let Some(decoded) = decoded? {
                    if !decoded.timeless.is_empty() {
                        with_timeless.push(part);
                    }
                    merge.add(decoded);
                }
            }
            let horizon = parts.get(at).map_or(i64::MAX, |(bound, _)| *bound);
            if merge.has_enough() || at == parts.len() {
                merge.emit(horizon, each)?;
            }
        }
        with_timeless.extend(without_bound);
        for part in with_timeless {
            if let Some(decoded) = reading.decode(part)? {
                for rows in decoded.timeless.chunks(CHUNK_ROWS) {
                    let order = rows.iter().map(|&row| (0, row)).collect();
                    each(&Chunk { pieces: vec![decoded.piece.clone()], order })?;
                }
            }
        }
        Ok(())
    }

    /// Ranges that are written twice: open, and later closed.
    fn superseded(&self, tables: &[&'static TableSpec]) -> Result<HashSet<(u32, u64)>> {
        if !tables.contains(&&tables::RANGE) {
            return Ok(HashSet::new());
        }
        let ids = |open: bool| {
            self.fold(
                &tables::RANGE,
                &[range::RANGE_ID, range::END_NS],
                &Filter::everything(),
                HashSet::new,
                |found: &mut HashSet<(u32, u64)>, batch| {
                    let (id, end) = (batch.get(range::RANGE_ID), batch.get(range::END_NS));
                    batch.for_each_row(|i| {
                        if end.get(i).is_none() == open {
                            found.extend(id.get(i).filter(|&id| id != 0).map(|id| (batch.process, id)));
                        }
                    });
                },
                |a, b| a.extend(b),
            )
        };
        let open = ids(true)?;
        if open.is_empty() {
            return Ok(open);
        }
        let closed = ids(false)?;
        Ok(open.intersection(&closed).copied().collect())
    }
}

/// What decoding needs to know.
struct Reading<'a> {
    frames: &'a Frames,
    filter: &'a Filter,
    superseded: HashSet<(u32, u64)>,
}

impl Reading<'_> {
    fn decode(&self, part: &Part) -> Result<Option<Decoded>> {
        let table = part.table();
        let columns: Vec<&str> = table.columns.iter().map(|c| c.name).collect();
        let mut buffer = Vec::new();
        let Some(batch) = self.frames.decode(part, &columns, self.filter, &mut buffer)? else { return Ok(None) };
        let rows = registry_columns(table, &batch).map_err(|e| Error::new(format!("table {}: {e}", table.name)))?;
        let piece = Piece { process: batch.process, rows };
        let (mut timed, mut timeless) = (Vec::new(), Vec::new());
        let column = |column: &dyn AnyColumn| piece.rows.column(column.name());
        let start = column(any::START_NS);
        let (duration, end) = (column(any::DURATION_NS), column(any::END_NS));
        let id = column(range::RANGE_ID);
        let open_twice = |i: usize| {
            let Some(Values::U64(ids)) = id.map(|c| &c.values) else { return false };
            !self.superseded.is_empty()
                && end.is_some_and(|c| c.is_null(i))
                && self.superseded.contains(&(piece.process, ids[i]))
        };
        batch.for_each_row(|i| {
            if open_twice(i) {
                return;
            }
            match times_of(start, duration, end, i) {
                Some((start_ns, end_ns)) => timed.push(Entry { start_ns, end_ns, piece: 0, row: i as u32 }),
                None => timeless.push(i as u32),
            }
        });
        Ok(Some(Decoded { piece: Arc::new(piece), timed, timeless }))
    }
}

/// Start and end of row `i`; `None` where it has no valid times.
fn times_of(
    start: Option<&Column>,
    duration: Option<&Column>,
    end: Option<&Column>,
    i: usize,
) -> Option<(i64, i64)> {
    let value = |column: &Column| match &column.values {
        Values::I64(values) if !column.is_null(i) => Some(values[i]),
        _ => None,
    };
    let start_ns = value(start?)?;
    let end_ns = match (duration, end) {
        (Some(duration), _) => start_ns.saturating_add(value(duration)?),
        // A range without an end is still open.
        (None, Some(end)) => value(end).unwrap_or(i64::MAX).max(start_ns),
        (None, None) => start_ns,
    };
    Some((start_ns, end_ns))
}

/// All columns of the registry, times moved by the process's offset; absent ones are null in every row.
fn registry_columns(table: &'static TableSpec, batch: &Batch) -> polars::prelude::PolarsResult<Columns> {
    let mut columns = Vec::with_capacity(table.columns.len());
    for spec in table.columns {
        let mut column = batch::to_column(&batch.frame, spec, batch.rows)?;
        if spec.is_time()
            && batch.offset_ns != 0
            && let Values::I64(times) = &mut column.values
        {
            times.iter_mut().for_each(|t| *t = t.saturating_add(batch.offset_ns));
        }
        columns.push(column);
    }
    Ok(Columns { table, rows: batch.rows, columns })
}

/// Rows that have been decoded and may not leave yet.
struct Merge<'a> {
    frames: &'a Frames,
    pieces: Vec<Arc<Piece>>,
    held: Vec<Entry>,
    /// Rows that could not leave the last time.
    kept: usize,
}

impl Merge<'_> {
    /// Whether there are as many new rows as had to stay. Traces of a thousand ranks begin together, so that nothing leaves before
    /// a part of each is there: what stays must not be sorted anew with each of them.
    fn has_enough(&self) -> bool {
        self.held.len() >= 2 * self.kept
    }

    fn add(&mut self, decoded: Decoded) {
        let piece = self.pieces.len() as u32;
        self.pieces.push(decoded.piece);
        self.held.extend(decoded.timed.iter().map(|entry| Entry { piece, ..*entry }));
    }

    /// Hands out everything that starts before `horizon`.
    fn emit(&mut self, horizon: i64, each: &mut dyn FnMut(&Chunk) -> Result<()>) -> Result<()> {
        let mut held = std::mem::take(&mut self.held);
        // What was held is sorted, and every piece nearly so: a merge sort is quick with that.
        held.par_sort_by(|a, b| (a.start_ns, a.end_ns).cmp(&(b.start_ns, b.end_ns)).then_with(|| self.tie(a, b)));
        let leaving =
            if horizon == i64::MAX { held.len() } else { held.partition_point(|entry| entry.start_ns < horizon) };
        let mut chunk = Chunk { pieces: std::mem::take(&mut self.pieces), order: Vec::new() };
        for entries in held[..leaving].chunks(CHUNK_ROWS) {
            chunk.order.clear();
            chunk.order.extend(entries.iter().map(|entry| (entry.piece, entry.row)));
            each(&chunk)?;
        }
        held.drain(..leaving);
        // Pieces of which nothing is left are let go.
        let mut renumbered = vec![u32::MAX; chunk.pieces.len()];
        for entry in &mut held {
            let new = &mut renumbered[entry.piece as usize];
            if *new == u32::MAX {
                *new = self.pieces.len() as u32;
                self.pieces.push(chunk.pieces[entry.piece as usize].clone());
            }
            entry.piece = *new;
        }
        self.kept = held.len();
        self.held = held;
        Ok(())
    }

    /// The order of two rows with equal times. By what they say, never by where they were written.
    fn tie(&self, a: &Entry, b: &Entry) -> Ordering {
        let (left, right) = (&self.pieces[a.piece as usize], &self.pieces[b.piece as usize]);
        let (i, j) = (a.row as usize, b.row as usize);
        let number = |piece: &Piece, column: &dyn AnyColumn, row: usize| {
            piece.rows.column(column.name()).and_then(|column| cell_number(column, row))
        };
        left.process
            .cmp(&right.process)
            .then_with(|| {
                let columns: [&dyn AnyColumn; 4] = [any::DEVICE, any::STREAM, any::CORRELATION, any::GRAPH_NODE_ID];
                columns
                    .into_iter()
                    .map(|column| number(left, column, i).cmp(&number(right, column, j)))
                    .find(|order| order.is_ne())
                    .unwrap_or(Ordering::Equal)
            })
            .then_with(|| left.table().id.cmp(&right.table().id))
            .then_with(|| {
                // From here on both rows are of one table.
                let specs = left.table().columns.iter().zip(left.rows.columns.iter().zip(&right.rows.columns));
                specs
                    .map(|(spec, (x, y))| self.cell_order(spec.unit, (x, i), (y, j)))
                    .find(|order| order.is_ne())
                    .unwrap_or(Ordering::Equal)
            })
    }

    fn cell_order(&self, unit: Unit, (x, i): (&Column, usize), (y, j): (&Column, usize)) -> Ordering {
        match (&x.values, &y.values) {
            (Values::U32(a), Values::U32(b)) if unit.is_name() => {
                let name = |id: u32| self.frames.names.get(id);
                (!x.is_null(i), name(a[i])).cmp(&(!y.is_null(j), name(b[j])))
            }
            (Values::U32(a), Values::U32(b)) if unit.is_shape() => {
                let name = |id: u32| self.frames.kernel(id).map(|kernel| self.frames.names.get(kernel.name_id));
                // Shapes of one name are numbered in the order of the files.
                name(a[i]).cmp(&name(b[j])).then(a[i].cmp(&b[j]))
            }
            (Values::F64(a), Values::F64(b)) => a[i].total_cmp(&b[j]).then(x.is_null(i).cmp(&y.is_null(j))),
            (Values::Bytes(a), Values::Bytes(b)) => a.get(i).cmp(b.get(j)),
            _ => cell_number(x, i).cmp(&cell_number(y, j)),
        }
    }
}

/// A whole number as one that all compare as; `None` where null or none.
fn cell_number(column: &Column, i: usize) -> Option<i128> {
    if column.is_null(i) {
        return None;
    }
    match &column.values {
        Values::U32(v) => Some(i128::from(v[i])),
        Values::U64(v) => Some(i128::from(v[i])),
        Values::I64(v) => Some(i128::from(v[i])),
        Values::Bool(v) => Some(i128::from(v[i])),
        Values::F64(_) | Values::Bytes(_) => None,
    }
}
