//! The rows of a picture and how busy each was in each column, from one pass over the records.

use super::columns::Columns;
use crate::error::Result;
use crate::lines::line::{migrating_device, range_times};
pub use crate::lines::picture::{Class, OnDevice, PictureRow};
use crate::trace::frames::Frames;
use crate::trace::ordered::Piece;
use crate::trace::select::Filter;
use crate::trace::sink::valid_duration;
use std::collections::BTreeMap;
use trace_format::schema::{AnyColumn, Row as _, TableSpec};
use trace_format::tables::column::{any, range};
use trace_format::tables::{self, ApiRow, GraphRow, KernelRow, MemcpyRow, MemsetRow, RangeRow, UvmRow};
use trace_format::vocabulary::range_style::MARK;
use trace_format::vocabulary::uvm_kind::{BYTES_DTOD, BYTES_DTOH, BYTES_HTOD};

/// The tables that a picture shows.
pub(super) const TABLES: &[&TableSpec] = &[
    &tables::KERNEL,
    &tables::MEMCPY,
    &tables::MEMSET,
    &tables::GRAPH,
    &tables::UVM,
    &tables::API,
    &tables::RANGE,
];

/// Tables that pages show and pictures do not.
pub(super) const NOT_DRAWN: &[&TableSpec] =
    &[&tables::SYNC, &tables::OVERHEAD, &tables::OPENACC, &tables::OPENMP, &tables::HOST_CALL];

/// How busy one row was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Busy {
    /// By class and column, in parts of a nanosecond as [`Columns::per_ns`] says. What overlaps counts once, for what
    /// began first.
    pub by_class: BTreeMap<Class, Vec<u64>>,
    /// All of it in nanoseconds: exactly the sum of all columns.
    pub busy_ns: u64,
    /// Records that lie in the window, or reach into it.
    pub records: u64,
    /// Up to where the row is known to be busy. Records come in the order of their start.
    covered_ns: Option<i64>,
}

impl Busy {
    fn add(&mut self, columns: &Columns, class: Class, start_ns: i64, end_ns: i64) {
        self.records += 1;
        let from = start_ns.max(self.covered_ns.unwrap_or(start_ns)).max(columns.first_ns);
        let to = end_ns.min(columns.last_ns);
        self.covered_ns = Some(end_ns.max(self.covered_ns.unwrap_or(end_ns)));
        if from >= to {
            return;
        }
        self.busy_ns += to.abs_diff(from);
        let cells = self.by_class.entry(class).or_insert_with(|| vec![0; columns.count]);
        columns.cut(from, to, |column, parts| cells[column] += parts);
    }

    /// Parts of column `i` that were busy, and the class that had most of them.
    pub fn cell(&self, i: usize) -> Option<(u64, Class)> {
        let parts = self.by_class.iter().map(|(class, cells)| (cells[i], *class));
        let most = parts.clone().rev().max_by_key(|(parts, _)| *parts).filter(|(parts, _)| *parts > 0)?;
        Some((parts.map(|(parts, _)| parts).sum(), most.1))
    }
}

/// Rows that are followed at the same time. Further streams and threads share one row.
const MOST_ROWS: usize = 2000;

/// All rows, by process and kind.
pub(super) type Rows = BTreeMap<(u32, PictureRow), Busy>;

/// First start and last end of what `filter` selects of the tables of a picture; `None` if that is nothing.
pub(super) fn window(frames: &Frames, filter: &Filter) -> Result<Option<(i64, i64)>> {
    let mut window: Option<(i64, i64)> = None;
    for table in TABLES {
        let found = frames.fold(
            table,
            &[any::START_NS, any::DURATION_NS, any::END_NS],
            filter,
            || None,
            |found: &mut Option<(i64, i64)>, batch| {
                let (start, duration, end) =
                    (batch.get(any::START_NS), batch.get(any::DURATION_NS), batch.get(any::END_NS));
                let is_range = *table == &tables::RANGE;
                batch.for_each_row(|i| {
                    let Some(from) = start.get(i) else { return };
                    let to = match (is_range, duration.get(i), end.get(i)) {
                        (false, Some(ns), _) => from.saturating_add(ns),
                        (true, _, Some(to)) if valid_duration(from, to).is_some() => to,
                        (true, _, None) => from,
                        _ => return,
                    };
                    let [from, to] = [from, to].map(|ns| ns.saturating_add(batch.offset_ns));
                    widen(found, (from, to));
                });
            },
            |all, other| {
                if let Some(span) = other {
                    widen(all, span);
                }
            },
        )?;
        if let Some(span) = found {
            widen(&mut window, span);
        }
    }
    Ok(window)
}

/// How many records of the window have no place in a picture: those of tables that are not drawn, marks, and events of
/// unified memory that moved nothing.
pub(super) fn not_drawn(frames: &Frames, filter: &Filter, columns: &Columns) -> Result<u64> {
    let mut count = 0;
    for table in NOT_DRAWN.iter().copied().chain([&tables::UVM, &tables::RANGE]) {
        let is_range = table == &tables::RANGE;
        let mut read: Vec<&dyn AnyColumn> = vec![any::START_NS, any::DURATION_NS, any::KIND];
        read.extend(is_range.then_some(range::STYLE as &dyn AnyColumn));
        count += frames.fold(
            table,
            &read,
            filter,
            || 0,
            |count: &mut u64, batch| {
                let (start, duration) = (batch.get(any::START_NS), batch.get(any::DURATION_NS));
                let (kind, style) = (batch.get(any::KIND), is_range.then(|| batch.get(range::STYLE)));
                batch.for_each_row(|i| {
                    let has_row = match table {
                        _ if is_range => style.and_then(|style| style.get(i)) != Some(MARK),
                        table if table == &tables::UVM => moves(kind.get(i)) && duration.get(i).is_some(),
                        // Without a duration its times are impossible.
                        _ => duration.get(i).is_none(),
                    };
                    let Some(from) = start.get(i).filter(|_| !has_row) else { return };
                    let from = from.saturating_add(batch.offset_ns);
                    let to = from.saturating_add(duration.get(i).unwrap_or(0));
                    *count += u64::from(to >= columns.first_ns && from <= columns.last_ns);
                });
            },
            |all, other| *all += other,
        )?;
    }
    Ok(count)
}

/// Whether an event of unified memory of this kind moves bytes.
fn moves(kind: Option<u32>) -> bool {
    matches!(kind, Some(BYTES_HTOD | BYTES_DTOH | BYTES_DTOD))
}

fn widen(all: &mut Option<(i64, i64)>, (from, to): (i64, i64)) {
    let (first, last) = all.get_or_insert((from, to));
    (*first, *last) = ((*first).min(from), (*last).max(to));
}

/// All rows that have a record in the window.
///
/// # Errors
/// Fails if a part of a file cannot be read.
pub(super) fn read(frames: &Frames, filter: &Filter, columns: &Columns) -> Result<Rows> {
    let mut reading = Reading { frames, columns, rows: Rows::new() };
    frames.in_order(TABLES, filter, |chunk| {
        chunk.iter().for_each(|(piece, i)| reading.row(piece, i));
        Ok(())
    })?;
    Ok(reading.rows)
}

struct Reading<'a> {
    frames: &'a Frames,
    columns: &'a Columns,
    rows: Rows,
}

impl Reading<'_> {
    fn row(&mut self, piece: &Piece, i: usize) {
        let (process, rows) = (piece.process, &piece.rows);
        macro_rules! work {
            ($row:ty, $kind:expr, $class:expr) => {{
                let row = <$row>::from_batch(rows, i);
                let (kind, class): (fn(&$row) -> OnDevice, fn(&$row) -> Class) = ($kind, $class);
                let Some(end_ns) = row.duration_ns.map(|ns| row.start_ns.saturating_add(ns)) else { return };
                let stream = OnDevice::Stream(row.context, row.stream);
                for on_device in [OnDevice::All, kind(&row), stream] {
                    self.add(process, PictureRow::Device(row.device, on_device), class(&row), row.start_ns, end_ns);
                }
            }};
        }
        match piece.table() {
            table if table == &tables::KERNEL => work!(KernelRow, |_| OnDevice::Compute, |_| Class::Kernel),
            table if table == &tables::GRAPH => work!(GraphRow, |_| OnDevice::Compute, |_| Class::Graph),
            table if table == &tables::MEMSET => work!(MemsetRow, |_| OnDevice::Fills, |_| Class::Fill),
            table if table == &tables::MEMCPY => {
                work!(MemcpyRow, |row| OnDevice::Copies(row.kind), |row| Class::of_copy(row.kind))
            }
            table if table == &tables::UVM => {
                let row = UvmRow::from_batch(rows, i);
                let Some(ns) = row.duration_ns.filter(|_| moves(Some(row.kind))) else { return };
                let device = migrating_device(row.dst_device, row.src_device).unwrap_or(0);
                let kind = PictureRow::Device(device, OnDevice::Migration);
                self.add(process, kind, Class::Migration, row.start_ns, row.start_ns.saturating_add(ns));
            }
            table if table == &tables::API => {
                let row = ApiRow::from_batch(rows, i);
                let Some(ns) = row.duration_ns else { return };
                self.add(
                    process,
                    PictureRow::Calls(row.tid),
                    Class::Call,
                    row.start_ns,
                    row.start_ns.saturating_add(ns),
                );
            }
            _ => {
                let row = RangeRow::from_batch(rows, i);
                // A range that is open at the end lasts to the end.
                if let Some((start_ns, end_ns)) = range_times(&row, self.frames.offset_ns(process)) {
                    let end_ns = end_ns.unwrap_or(i64::MAX);
                    self.add(process, PictureRow::Ranges(row.tid), Class::Range, start_ns, end_ns);
                }
            }
        }
    }

    fn add(&mut self, process: u32, kind: PictureRow, class: Class, start_ns: i64, end_ns: i64) {
        let Columns { first_ns, last_ns, .. } = *self.columns;
        // Something without length counts where it stands; the last moment of the window is part of it.
        if end_ns < first_ns || start_ns > last_ns {
            return;
        }
        let mut key = (process, kind);
        if self.rows.len() >= MOST_ROWS && !self.rows.contains_key(&key) {
            key.1 = match kind {
                PictureRow::Ranges(_) | PictureRow::Calls(_) => PictureRow::OtherThreads,
                PictureRow::Device(device, OnDevice::Stream(..)) => {
                    PictureRow::Device(device, OnDevice::OtherStreams)
                }
                // There are few of these.
                kind => kind,
            };
        }
        self.rows.entry(key).or_default().add(self.columns, class, start_ns, end_ns);
    }
}
