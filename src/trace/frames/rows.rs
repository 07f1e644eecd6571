//! Rows of open traces: folded over in parallel batches, or as one frame.

use super::{Frames, Part};
use crate::error::{Error, Result};
use crate::trace::batch::Batch;
use crate::trace::select::Filter;
use polars::prelude::*;
use rayon::prelude::*;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use trace_format::schema::{AnyColumn, ColumnSpec, ColumnType, TableSpec};
use trace_format::tables;
use trace_format::tables::column::any;

/// Decodes one batch after another; `None` when there are no more for this thread.
type NextBatch<'n> = dyn FnMut() -> Option<Batch> + 'n;

impl Frames {
    /// Folds over all selected rows of `table`, batch by batch, on all threads.
    ///
    /// Each thread starts from `make()`, sees some of the batches in no particular order, and its result is merged
    /// into another's: results must not depend on order. `columns` and whatever the filter needs are decoded,
    /// nothing else, and `step` may read no other. Memory: one decoded batch per thread.
    ///
    /// # Errors
    /// Fails if a part of a file cannot be read. Damaged frames were noted when the file was opened and are passed
    /// over.
    pub fn fold<A: Send>(
        &self,
        table: &'static TableSpec,
        columns: &[&dyn AnyColumn],
        filter: &Filter,
        make: impl Fn() -> A + Sync,
        step: impl Fn(&mut A, &Batch) + Sync,
        merge: impl Fn(&mut A, A) + Sync,
    ) -> Result<A> {
        let results: Mutex<Vec<A>> = Mutex::new(Vec::new());
        self.share_out(table, columns, filter, &|next_batch| {
            let mut accumulated = make();
            while let Some(batch) = next_batch() {
                step(&mut accumulated, &batch);
            }
            results.lock().unwrap_or_else(|e| e.into_inner()).push(accumulated);
        })?;
        let results = results.into_inner().unwrap_or_else(|e| e.into_inner());
        let merged = results.into_iter().reduce(|mut all, one| {
            merge(&mut all, one);
            all
        });
        Ok(merged.unwrap_or_else(make))
    }

    /// Calls `work` on some threads, each with a function that decodes one batch after another until none is left.
    /// What depends on the type of a result is in [`Frames::fold`] alone: this is compiled once.
    fn share_out(
        &self,
        table: &'static TableSpec,
        columns: &[&dyn AnyColumn],
        filter: &Filter,
        work: &(dyn Fn(&mut NextBatch) + Sync),
    ) -> Result<()> {
        debug_assert!(
            columns.iter().all(|column| column.is_of(table)),
            "a column of another table than {}",
            table.name
        );
        let present = columns.iter().map(|column| column.name()).filter(|name| table.column_index(name).is_some());
        let asked: Arc<[&'static str]> = present.collect();
        let mut wanted: Vec<&str> = asked.to_vec();
        wanted.extend(filter.columns(table));
        wanted.sort_unstable();
        wanted.dedup();
        let parts: Vec<&Part> = self.parts.iter().filter(|part| part.table() == table).collect();
        let next = AtomicUsize::new(0);
        let duration = any::DURATION_NS.name();
        let with_times = wanted.contains(&duration) && table.column_index(duration).is_some();
        let without_times = AtomicU64::new(0);
        let failure: Mutex<Option<Error>> = Mutex::new(None);
        let one_thread = || {
            let mut buffer = Vec::new();
            work(&mut || {
                loop {
                    let part = parts.get(next.fetch_add(1, Ordering::Relaxed))?;
                    match self.decode(part, &wanted, filter, &mut buffer) {
                        Ok(Some(mut batch)) => {
                            if with_times {
                                without_times.fetch_add(batch.null_rows(any::DURATION_NS), Ordering::Relaxed);
                            }
                            batch.asked = Some(asked.clone());
                            return Some(batch);
                        }
                        Ok(None) => {}
                        Err(error) => {
                            next.store(parts.len(), Ordering::Relaxed);
                            failure.lock().unwrap_or_else(|e| e.into_inner()).get_or_insert(error);
                            return None;
                        }
                    }
                }
            });
        };
        let threads = rayon::current_num_threads().min(parts.len()).max(1);
        rayon::scope(|scope| {
            for _ in 1..threads {
                scope.spawn(|_| one_thread());
            }
            one_thread();
        });
        if let Some(error) = failure.into_inner().unwrap_or_else(|e| e.into_inner()) {
            return Err(error);
        }
        if with_times {
            filter.found_without_times(table, without_times.into_inner());
        }
        Ok(())
    }

    /// All parts of all tables, in the order of the files.
    pub(in crate::trace) fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Earliest start of the part's rows with valid times, its process's offset added; `None` if it has none.
    pub(in crate::trace) fn part_start_ns(&self, part: &Part) -> Option<i64> {
        match part {
            Part::Native { file, frame, .. } => {
                let native = &self.natives[*file];
                native.frame_times(*frame).map(|(start, _)| start.saturating_add(self.offset_ns(native.process)))
            }
            Part::Away { process, away } => {
                away.bounds().map(|(start, _)| start.saturating_add(self.offset_ns(*process)))
            }
            Part::Kept { process, table, frame } => {
                let batch = Batch::of_kept(*process, table, frame.clone(), frame.height());
                let (start, duration) = (batch.get(any::START_NS), batch.get(any::DURATION_NS));
                let has_duration = table.column_index(any::DURATION_NS.name()).is_some();
                let valid = |i: &usize| !has_duration || duration.get(*i).is_some();
                let first = (0..batch.rows).filter(valid).filter_map(|i| start.get(i)).min();
                first.map(|start| start.saturating_add(self.offset_ns(*process)))
            }
        }
    }

    /// Decodes `columns` of one part, and marks what the filter selects; `None`: not of a wanted process, or damaged.
    pub(in crate::trace) fn decode(
        &self,
        part: &Part,
        columns: &[&str],
        filter: &Filter,
        buffer: &mut Vec<u8>,
    ) -> Result<Option<Batch>> {
        let (process, frame) = match part {
            Part::Kept { process, frame, .. } => {
                if !filter.takes_process(*process) {
                    return Ok(None);
                }
                let present = columns.iter().filter(|c| frame.get_column_index(c).is_some());
                let chosen = frame.select(present.copied()).map_err(|e| Error::new(e.to_string()))?;
                // `select` of no columns forgets the height, so rows are counted from the source.
                (*process, (chosen, frame.height()))
            }
            Part::Away { process, away } => {
                if !filter.takes_process(*process) {
                    return Ok(None);
                }
                (*process, (away.decode(columns, buffer)?, away.rows))
            }
            Part::Native { file, frame, table } => {
                let native = &self.natives[*file];
                if !filter.takes_process(native.process) {
                    return Ok(None);
                }
                let share_ids = |decoded: &mut DataFrame| self.share_ids(*file, table, decoded);
                let Some(decoded) = native.decode(*frame, table, columns, buffer, &share_ids) else {
                    return Ok(None);
                };
                (native.process, decoded)
            }
        };
        let (frame, rows) = frame;
        self.rows_decoded.fetch_add(rows as u64, Ordering::Relaxed);
        let offset_ns = self.offset_ns(process);
        let mut batch = Batch { table: part.table(), process, offset_ns, rows, frame, selected: None, asked: None };
        filter.apply(part.table(), &mut batch);
        Ok(Some(batch))
    }

    /// Some columns of all rows of `table` as a Polars frame, in the table's order, `process` (ordinal) before them, for
    /// queries and small traces: two columns of 98 M rows take over 2 GB. Rows come in the order of processes, files and
    /// frames, whatever the number of threads. Times become Unix nanoseconds; every size, count and dimension is i64,
    /// u32 is left for ids and codes alone.
    ///
    /// # Errors
    /// Fails if a part of a file cannot be read.
    pub fn read(&self, table: &'static TableSpec, columns: &[&str]) -> Result<DataFrame> {
        self.read_parts(table, columns, &self.parts_by_process(table))
    }

    /// As [`Frames::read`], in pieces of about a million rows: while one is used the next one is decoded, and no more are
    /// in memory. The first piece is empty, so that its columns are known where there are no rows.
    ///
    /// # Errors
    /// Fails if a part of a file cannot be read, and with any error that `each` returns.
    pub fn read_in_pieces(
        &self,
        table: &'static TableSpec,
        columns: &[&str],
        mut each: impl FnMut(DataFrame) -> Result<()> + Send,
    ) -> Result<()> {
        let mut ready = self.read_parts(table, columns, &[])?;
        for parts in self.parts_by_process(table).chunks(PARTS_OF_PIECE) {
            let (used, next) = rayon::join(|| each(ready), || self.read_parts(table, columns, parts));
            used?;
            ready = next?;
        }
        each(ready)
    }

    /// The parts of `table` in the order of processes, files and frames.
    fn parts_by_process(&self, table: &'static TableSpec) -> Vec<&Part> {
        let mut parts: Vec<&Part> = self.parts.iter().filter(|part| part.table() == table).collect();
        parts.sort_by_key(|part| part.process(self));
        parts
    }

    fn read_parts(&self, table: &'static TableSpec, columns: &[&str], parts: &[&Part]) -> Result<DataFrame> {
        let everything = Filter::everything();
        let decoded: Vec<Option<PolarsResult<DataFrame>>> = parts
            .par_iter()
            .map_init(Vec::new, |buffer, part| {
                let batch = self.decode(part, columns, &everything, buffer)?;
                Ok(batch.map(|batch| with_union_schema(table, columns, &batch)))
            })
            .collect::<Result<_>>()?;
        let failed = |e: PolarsError| Error::new(format!("table {}: {e}", table.name));
        let mut all = empty_frame(table, columns).map_err(failed)?;
        for frame in decoded.into_iter().flatten() {
            all.vstack_mut(&frame.map_err(failed)?).map_err(failed)?;
        }
        Ok(all)
    }
}

/// Parts of a piece: frames of the collector have 65,536 rows at most.
const PARTS_OF_PIECE: usize = 16;

/// The type a registry column has in `lazy` frames.
fn lazy_type(column: &ColumnSpec) -> DataType {
    match column.ty {
        ColumnType::U32 if column.unit.is_label() => DataType::UInt32,
        ColumnType::U32 => DataType::Int64,
        ColumnType::U64 => DataType::UInt64,
        ColumnType::I64 => DataType::Int64,
        ColumnType::F64 => DataType::Float64,
        ColumnType::Bool => DataType::Boolean,
        ColumnType::Bytes => DataType::Binary,
    }
}

/// The columns of `table` that are asked for, in its order.
fn asked<'a>(table: &'a TableSpec, columns: &'a [&str]) -> impl Iterator<Item = &'a ColumnSpec> {
    table.columns.iter().filter(|c| columns.contains(&c.name))
}

fn empty_frame(table: &TableSpec, names: &[&str]) -> PolarsResult<DataFrame> {
    let mut columns = vec![Column::new_empty("process".into(), &DataType::UInt32)];
    columns.extend(asked(table, names).map(|c| Column::new_empty(c.name.into(), &lazy_type(c))));
    DataFrame::new(0, columns)
}

fn with_union_schema(table: &TableSpec, names: &[&str], batch: &Batch) -> PolarsResult<DataFrame> {
    let rows = batch.rows;
    let mut columns = vec![Column::new_scalar("process".into(), Scalar::from(batch.process), rows)];
    for spec in asked(table, names) {
        let ty = lazy_type(spec);
        let column = match batch.frame.column(spec.name) {
            Ok(column) => {
                // Rows of `clock` say what each clock showed; the offset was made from them.
                let is_time = spec.is_time() && table != &tables::CLOCK;
                let shifted =
                    if is_time && batch.offset_ns != 0 { column + batch.offset_ns } else { column.clone() };
                shifted.cast(&ty)?
            }
            Err(_) => Column::full_null(spec.name.into(), rows, &ty),
        };
        columns.push(column);
    }
    DataFrame::new(rows, columns)
}
