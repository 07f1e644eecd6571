//! Tables of a trace as sorted columns.

use super::column::Column;
use super::field::FieldName;
use crate::error::{Error, Result};
use crate::trace::batch::{Batch, Col};
use crate::trace::frames::Frames;
use crate::trace::select::Filter;
use crate::trace::sink::valid_duration;
use rayon::prelude::*;
use std::cmp::Ordering;
use trace_format::schema::{AnyColumn, ColumnType, TableSpec, TypedColumn};
use trace_format::tables::column::any;

/// How a column of a table is taken over.
#[derive(Clone, Copy)]
pub(super) enum Take {
    /// As it is; negative numbers are none.
    Plain(&'static dyn AnyColumn),
    /// A point in time, as how long before the start it was.
    Before(&'static dyn AnyColumn),
    /// A number that may be negative, zigzag coded.
    Signed(&'static dyn AnyColumn),
}

impl Take {
    fn column(self) -> &'static dyn AnyColumn {
        match self {
            Take::Plain(column) | Take::Before(column) | Take::Signed(column) => column,
        }
    }
}

/// What says when a record ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ends {
    /// `duration_ns`; a record without one has impossible times.
    Duration,
    /// `duration_ns`; a record without one is a point in time.
    Instant,
    /// `end_ns`; a record without one was not finished.
    End,
}

impl Ends {
    fn column(self) -> &'static TypedColumn<i64> {
        if self == Ends::End { any::END_NS } else { any::DURATION_NS }
    }
}

/// Records of one table or of several that share columns.
#[derive(Debug, Default)]
pub(super) struct Raw {
    /// Start, as [`Batch::offset_ns`] makes it.
    pub start_ns: Vec<i64>,
    /// End minus start; null: not finished.
    pub duration_ns: Column,
    /// Ordinal of the process.
    pub process: Column,
    /// What was taken, in the order in which it was asked for.
    pub fields: Vec<(FieldName, Column)>,
    /// Records that were left out because their times are impossible.
    pub undrawn: u64,
}

/// A column of any type as unsigned numbers.
enum Numbers<'a> {
    Absent,
    U32(Col<'a, u32>),
    U64(Col<'a, u64>),
    I64(Col<'a, i64>),
    F64(Col<'a, f64>),
}

impl<'a> Numbers<'a> {
    fn of(batch: &'a Batch, column: &dyn AnyColumn) -> Self {
        let spec = batch.table.column_index(column.name()).map(|index| &batch.table.columns[index]);
        let Some(spec) = spec.filter(|_| column.is_of(batch.table)) else { return Numbers::Absent };
        match spec.ty {
            ColumnType::U32 => Numbers::U32(batch.get(&TypedColumn::of_any(spec.name))),
            ColumnType::U64 => Numbers::U64(batch.get(&TypedColumn::of_any(spec.name))),
            ColumnType::I64 => Numbers::I64(batch.get(&TypedColumn::of_any(spec.name))),
            ColumnType::F64 => Numbers::F64(batch.get(&TypedColumn::of_any(spec.name))),
            ColumnType::Bool | ColumnType::Bytes => Numbers::Absent,
        }
    }

    #[inline]
    fn get(&self, i: usize) -> Option<u64> {
        match self {
            Numbers::Absent => None,
            Numbers::U32(column) => column.get(i).map(u64::from),
            Numbers::U64(column) => column.get(i),
            Numbers::I64(column) => column.get(i).and_then(|v| u64::try_from(v).ok()),
            Numbers::F64(column) => column.get(i).map(f64::to_bits),
        }
    }

    #[inline]
    fn signed(&self, i: usize) -> Option<i64> {
        match self {
            Numbers::I64(column) => column.get(i),
            _ => self.get(i).and_then(|v| i64::try_from(v).ok()),
        }
    }
}

impl Raw {
    fn new(takes: &[Take]) -> Raw {
        Raw {
            fields: takes
                .iter()
                .map(|take| (FieldName::of_column(take.column().name()), Column::default()))
                .collect(),
            ..Raw::default()
        }
    }

    /// The rows of `table` that pass, in no order.
    ///
    /// # Errors
    /// Fails if a part of a file cannot be read.
    pub(super) fn read(
        frames: &Frames,
        filter: &Filter,
        table: &'static TableSpec,
        takes: &[Take],
        ends: Ends,
    ) -> Result<Raw> {
        let is_anothers =
            |column: &dyn AnyColumn| !column.is_of(table) && table.column_index(column.name()).is_some();
        debug_assert!(
            !takes.iter().any(|take| is_anothers(take.column())),
            "{} has a column of the name of one of another table's that is taken",
            table.name
        );
        let mut columns: Vec<&dyn AnyColumn> = vec![any::START_NS, ends.column()];
        columns.extend(takes.iter().map(|take| take.column()).filter(|column| column.is_of(table)));
        frames.fold(
            table,
            &columns,
            filter,
            || Raw::new(takes),
            |raw, batch| raw.add(batch, takes, ends),
            |raw, other| raw.append(&other),
        )
    }

    /// No records yet, of these fields.
    pub(super) fn with_fields(names: &[FieldName]) -> Raw {
        Raw { fields: names.iter().map(|name| (*name, Column::default())).collect(), ..Raw::default() }
    }

    /// Adds a record; `numbers` in the order of the fields.
    pub(super) fn push(&mut self, process: u32, (start_ns, end_ns): (i64, i64), numbers: &[Option<u64>]) {
        self.start_ns.push(start_ns);
        self.duration_ns.push(Some(end_ns.abs_diff(start_ns.min(end_ns))));
        self.process.push(Some(u64::from(process)));
        for ((_, column), number) in self.fields.iter_mut().zip(numbers) {
            column.push(*number);
        }
    }

    fn add(&mut self, batch: &Batch, takes: &[Take], ends: Ends) {
        let start = batch.get(any::START_NS);
        let end = batch.get(ends.column());
        let mut kept = Vec::with_capacity(batch.rows);
        batch.for_each_row(|i| {
            let Some(from) = start.get(i) else {
                self.undrawn += 1;
                return;
            };
            // `Some(None)`: not finished; `None`: not to be drawn.
            let duration = match (ends, end.get(i)) {
                (Ends::End, Some(to)) => valid_duration(from, to).map(Some),
                (Ends::Duration | Ends::Instant, Some(ns)) => {
                    from.checked_add(ns).and_then(|to| valid_duration(from, to)).map(Some)
                }
                (Ends::Duration, None) => None,
                (Ends::Instant, None) => point(from).map(|()| Some(0)),
                (Ends::End, None) => point(from).map(|()| None),
            };
            match duration {
                Some(duration) => {
                    kept.push(i as u32);
                    self.start_ns.push(from.saturating_add(batch.offset_ns));
                    self.duration_ns.push(duration.and_then(|ns| u64::try_from(ns).ok()));
                    self.process.push(Some(u64::from(batch.process)));
                }
                None => self.undrawn += 1,
            }
        });
        for ((_, column), take) in self.fields.iter_mut().zip(takes) {
            let numbers = Numbers::of(batch, take.column());
            for i in kept.iter().map(|&i| i as usize) {
                column.push(match take {
                    Take::Plain(_) => numbers.get(i),
                    Take::Signed(_) => numbers.signed(i).map(zigzag),
                    Take::Before(_) => start.get(i).zip(numbers.signed(i)).and_then(|(start, before)| {
                        start.checked_sub(before).and_then(|ns| u64::try_from(ns).ok())
                    }),
                });
            }
        }
    }

    /// Adds all records of `other`, which has the same fields.
    pub(super) fn append(&mut self, other: &Raw) {
        self.start_ns.extend_from_slice(&other.start_ns);
        self.duration_ns.append(&other.duration_ns);
        self.process.append(&other.process);
        for ((_, mine), (_, theirs)) in self.fields.iter_mut().zip(&other.fields) {
            mine.append(theirs);
        }
        self.undrawn += other.undrawn;
    }

    /// What was taken under this name.
    pub(super) fn field(&self, name: FieldName) -> &Column {
        static NONE: Column = Column::none();
        self.fields.iter().find(|(field, _)| *field == name).map_or(&NONE, |(_, column)| column)
    }

    /// Takes away what was taken under this name.
    pub(super) fn take(&mut self, name: FieldName) -> Column {
        let found = self.fields.iter_mut().find(|(field, _)| *field == name);
        found.map(|(_, column)| std::mem::take(column)).unwrap_or_default()
    }

    /// Sorts by start, then by end (the other way round where records nest, so that what encloses comes first), then
    /// by everything else: the order of batches must not show.
    ///
    /// # Errors
    /// Fails if there are more records than can be numbered.
    pub(super) fn sort(&mut self, outer_first: bool) -> Result<()> {
        if u32::try_from(self.start_ns.len()).is_err() {
            return Err(Error::new(format!("{} records are too many for a timeline", self.start_ns.len()))
                .remedy("choose a part of them with --from and --to"));
        }
        let mut order: Vec<(i64, u32)> = self.start_ns.iter().copied().zip(0..).collect();
        let compare = |a: usize, b: usize| {
            let open = |i: usize| self.duration_ns.get(i).unwrap_or(u64::MAX);
            let ends = open(a).cmp(&open(b));
            let ends = if outer_first { ends.reverse() } else { ends };
            let rest = || self.fields.iter().map(|(_, c)| c.get(a).cmp(&c.get(b))).find(|o| o.is_ne());
            ends.then_with(|| self.process.get(a).cmp(&self.process.get(b)))
                .then_with(|| rest().unwrap_or(Ordering::Equal))
        };
        order.par_sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| compare(a.1 as usize, b.1 as usize)));
        self.start_ns.clear();
        self.start_ns.extend(order.iter().map(|(start, _)| *start));
        let order: Vec<u32> = order.into_iter().map(|(_, i)| i).collect();
        self.reorder_columns(&order);
        Ok(())
    }

    fn reorder_columns(&mut self, order: &[u32]) {
        self.duration_ns.reorder(order);
        self.process.reorder(order);
        self.fields.iter_mut().for_each(|(_, column)| column.reorder(order));
    }

    /// Keeps the records that `keeps`.
    pub(super) fn retain(&mut self, keeps: impl Fn(&Raw, usize) -> bool) {
        let order: Vec<u32> = (0..self.start_ns.len() as u32).filter(|&i| keeps(self, i as usize)).collect();
        if order.len() < self.start_ns.len() {
            self.start_ns = order.iter().map(|&i| self.start_ns[i as usize]).collect();
            self.reorder_columns(&order);
        }
    }
}

/// Whether this can be a point in time: 0 is one where traces count from their own start.
fn point(at: i64) -> Option<()> {
    valid_duration(at, at.saturating_add(1)).map(drop)
}

/// Small numbers of either sign as small numbers without one.
pub(super) fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

/// What [`zigzag`] was made of.
pub(super) fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}
