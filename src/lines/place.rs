//! Gives every row its line and lane.

use super::definitions::Definitions;
use super::line::{Form, Line, migrating_device};
use super::links::Links;
use super::view::view;
use crate::lines::lanes::Lanes;
use crate::trace::ordered::{Chunk, Piece};
use hashbrown::HashMap;
use std::ops::Range;
use std::sync::Arc;
use trace_format::schema::{AnyColumn as _, TableSpec};
use trace_format::tables;
use trace_format::tables::column::{any, range};
use trace_format::vocabulary::range_style;

/// A lane of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Track {
    /// The line.
    pub line: Line,
    /// The lane, 0 first.
    pub lane: u32,
}

/// A row that has its place.
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    /// Index into [`Placed::pieces`].
    pub piece: u32,
    /// Row in it.
    pub row: u32,
    /// Index into [`Placing::tracks`].
    pub track: u32,
    /// How it is drawn.
    pub form: Form,
    /// Whether an arrow begins (calls) or ends (work of a GPU) here.
    pub is_linked: bool,
    /// Start. Of a [`Form::Timeless`] row: as recorded.
    pub start_ns: i64,
    /// End of a slice, later than its start by 1 ns at least, for viewers lose track of slices without length. Of a
    /// [`Form::Timeless`] row: where it can be drawn.
    pub end_ns: i64,
}

impl Slot {
    /// When it is drawn: where it began, but within the trace whatever was recorded. One record of the year 1970 makes
    /// a timeline of half a century.
    pub fn drawn_ns(&self) -> i64 {
        match self.form {
            Form::Timeless => self.end_ns,
            Form::Slice | Form::Open | Form::Moment => self.start_ns,
        }
    }
}

/// Some rows, in order of time; of those that start together the longest first, so that what contains comes before
/// what is contained.
#[derive(Default)]
pub struct Placed {
    /// Where the rows are.
    pub pieces: Vec<Arc<Piece>>,
    /// The rows.
    pub slots: Vec<Slot>,
    /// Tracks that were not there before.
    pub new_tracks: Range<usize>,
}

struct Lines {
    lanes: Lanes,
    /// Tracks by lane.
    tracks: Vec<u32>,
}

/// A row whose neighbours with the same start may be still to come.
struct Carried {
    piece: Arc<Piece>,
    row: u32,
}

/// Rows that wait for others with the same start, at most: a trace whose records all start together is no trace, and
/// is not to take memory without bounds.
const WAITING_ROWS: usize = 250_000;

/// Places rows.
pub struct Placing<'a> {
    definitions: &'a Definitions,
    links: Option<Links>,
    lines: Vec<Lines>,
    by_line: HashMap<Line, u32>,
    /// All lanes so far.
    pub tracks: Vec<Track>,
    carried: Vec<Carried>,
    /// The first start and the last end so far of rows with valid times.
    span: Option<(i64, i64)>,
}

view! {
    /// What decides about a row's place.
    Columns {
        start_ns: i64 = any::START_NS,
        duration_ns: i64 = any::DURATION_NS,
        end_ns: i64 = any::END_NS,
        device: u32 = any::DEVICE,
        context: u32 = any::CONTEXT,
        stream: u32 = any::STREAM,
        tid: u32 = any::TID,
        style: u32 = range::STYLE,
        correlation: u64 = any::CORRELATION,
        src_device: u32 = any::SRC_DEVICE,
        dst_device: u32 = any::DST_DEVICE,
    }
}

struct Source<'p> {
    piece: &'p Piece,
    kind: PlacedBy,
    has_durations: bool,
    columns: Columns<'p>,
    /// The line of the row before, which most rows share.
    last: Option<(Line, u32)>,
}

/// What places rows of a table, found once for all of them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PlacedBy {
    /// Work of a stream.
    Work,
    Graph,
    Event,
    Sync,
    UnifiedMemory,
    Memory,
    Sample,
    Call,
    Overhead,
    Range,
    Compiler,
    /// Anything else of a thread.
    Thread,
}

/// The tables whose rows are drawn, and what places them.
const KINDS: &[(&TableSpec, PlacedBy)] = &[
    (&tables::KERNEL, PlacedBy::Work),
    (&tables::MEMCPY, PlacedBy::Work),
    (&tables::MEMSET, PlacedBy::Work),
    (&tables::API, PlacedBy::Call),
    (&tables::SYNC, PlacedBy::Sync),
    (&tables::OVERHEAD, PlacedBy::Overhead),
    (&tables::GRAPH, PlacedBy::Graph),
    (&tables::MEMORY, PlacedBy::Memory),
    (&tables::UVM, PlacedBy::UnifiedMemory),
    (&tables::EVENT, PlacedBy::Event),
    (&tables::JIT, PlacedBy::Compiler),
    (&tables::OPENACC, PlacedBy::Thread),
    (&tables::OPENMP, PlacedBy::Thread),
    (&tables::HOST_CALL, PlacedBy::Thread),
    (&tables::RANGE, PlacedBy::Range),
    (&tables::SAMPLE, PlacedBy::Sample),
];

/// The tables of [`KINDS`].
pub(super) static PLACED: [&TableSpec; KINDS.len()] = {
    let mut placed: [&TableSpec; KINDS.len()] = [&tables::KERNEL; KINDS.len()];
    let mut i = 0;
    while i < KINDS.len() {
        placed[i] = KINDS[i].0;
        i += 1;
    }
    placed
};

impl PlacedBy {
    fn of(table: &TableSpec) -> PlacedBy {
        KINDS.iter().find(|(known, _)| *known == table).map_or(PlacedBy::Thread, |&(_, kind)| kind)
    }
}

/// A row, its times and form known.
#[derive(Clone, Copy)]
struct Timed {
    piece: u32,
    row: u32,
    form: Form,
    start_ns: i64,
    end_ns: i64,
}

impl<'a> Placing<'a> {
    /// Nothing placed yet.
    pub fn new(definitions: &'a Definitions, links: Option<Links>) -> Self {
        let (lines, by_line, tracks, carried) = Default::default();
        Placing { definitions, links, lines, by_line, tracks, carried, span: None }
    }

    /// Places the rows of the next chunk, but for the last ones, which may have to wait.
    pub fn place(&mut self, chunk: &Chunk) -> Placed {
        let mut pieces = chunk.pieces.clone();
        let before = pieces.len() as u32;
        let carried = std::mem::take(&mut self.carried);
        let mut order: Vec<(u32, u32)> = Vec::with_capacity(carried.len() + chunk.order.len());
        for (i, carried) in carried.into_iter().enumerate() {
            pieces.push(carried.piece);
            order.push((before + i as u32, carried.row));
        }
        order.extend_from_slice(&chunk.order);
        self.place_rows(pieces, &order, true)
    }

    /// Places what waited.
    pub fn rest(&mut self) -> Placed {
        let carried = std::mem::take(&mut self.carried);
        let order: Vec<(u32, u32)> = carried.iter().enumerate().map(|(i, c)| (i as u32, c.row)).collect();
        let pieces = carried.into_iter().map(|c| c.piece).collect();
        self.place_rows(pieces, &order, false)
    }

    fn place_rows(&mut self, pieces: Vec<Arc<Piece>>, order: &[(u32, u32)], may_wait: bool) -> Placed {
        let tracks_before = self.tracks.len();
        let mut sources: Vec<Source> = pieces.iter().map(|piece| Source::of(piece)).collect();
        let mut rows: Vec<Timed> =
            order.iter().map(|&(piece, row)| sources[piece as usize].timed(piece, row)).collect();
        let wait_from = if may_wait { last_start(&rows) } else { rows.len() };
        let wait_from = if rows.len() - wait_from > WAITING_ROWS { rows.len() } else { wait_from };
        let waiting =
            rows[wait_from..].iter().map(|row| Carried { piece: pieces[row.piece as usize].clone(), row: row.row });
        let waiting: Vec<Carried> = waiting.collect();
        rows.truncate(wait_from);
        longest_first(&mut rows);
        let mut slots = Vec::with_capacity(rows.len());
        for row in &rows {
            slots.push(self.slot(&mut sources[row.piece as usize], row));
        }
        drop(sources);
        self.carried = waiting;
        Placed { pieces, slots, new_tracks: tracks_before..self.tracks.len() }
    }

    fn slot(&mut self, source: &mut Source, row: &Timed) -> Slot {
        let i = row.row as usize;
        let line = line_of(self.definitions, source, i);
        let number = match source.last {
            Some((last, number)) if last == line => number,
            _ => self.line(line),
        };
        source.last = Some((line, number));
        let end_ns = match row.form {
            Form::Slice | Form::Open => row.end_ns.max(row.start_ns.saturating_add(1)),
            Form::Moment => row.end_ns,
            Form::Timeless => self.span.map_or(row.start_ns, |(from, to)| row.start_ns.clamp(from, to.max(from))),
        };
        if row.form != Form::Timeless {
            let end_ns = if row.form == Form::Open { row.start_ns } else { end_ns };
            let (from, to) = self.span.unwrap_or((row.start_ns, end_ns));
            self.span = Some((from.min(row.start_ns), to.max(end_ns)));
        }
        let lane = match row.form {
            Form::Slice | Form::Open => self.lines[number as usize].lanes.place(row.start_ns, end_ns),
            Form::Moment | Form::Timeless => 0,
        };
        let track = self.track(number, line, lane);
        let is_linked = row.form == Form::Slice && self.is_linked(source, i);
        Slot { piece: row.piece, row: row.row, track, form: row.form, is_linked, start_ns: row.start_ns, end_ns }
    }

    fn line(&mut self, line: Line) -> u32 {
        *self.by_line.entry(line).or_insert_with(|| {
            self.lines.push(Lines { lanes: Lanes::new(line.nesting()), tracks: Vec::new() });
            self.lines.len() as u32 - 1
        })
    }

    fn track(&mut self, number: u32, line: Line, lane: u32) -> u32 {
        let known = &mut self.lines[number as usize].tracks;
        // Lanes are opened one after the other.
        while known.len() <= lane as usize {
            known.push(self.tracks.len() as u32);
            self.tracks.push(Track { line, lane: known.len() as u32 - 1 });
        }
        known[lane as usize]
    }

    fn is_linked(&mut self, source: &Source, i: usize) -> bool {
        let Some(links) = &mut self.links else { return false };
        let correlation = source.columns.correlation.get(i).unwrap_or(0);
        match source.kind {
            PlacedBy::Call => links.begins(source.piece.process, correlation),
            PlacedBy::Work | PlacedBy::Graph => links.ends(source.piece.process, correlation),
            _ => false,
        }
    }
}

impl<'p> Source<'p> {
    fn of(piece: &'p Piece) -> Self {
        Source {
            piece,
            kind: PlacedBy::of(piece.table()),
            has_durations: piece.table().column_index(any::DURATION_NS.name()).is_some(),
            columns: Columns::of(&piece.rows),
            last: None,
        }
    }

    /// Times and form of a row.
    fn timed(&self, piece: u32, row: u32) -> Timed {
        let i = row as usize;
        let columns = &self.columns;
        let timed = |form, start_ns, end_ns| Timed { piece, row, form, start_ns, end_ns };
        let Some(start_ns) = columns.start_ns.get(i) else { return timed(Form::Timeless, 0, 0) };
        if self.kind == PlacedBy::Range {
            return match (columns.style.get(i), columns.end_ns.get(i)) {
                (Some(range_style::MARK), _) => timed(Form::Moment, start_ns, start_ns),
                (_, None) => timed(Form::Open, start_ns, i64::MAX),
                (_, Some(end_ns)) if end_ns < start_ns => timed(Form::Timeless, start_ns, start_ns),
                (_, Some(end_ns)) => timed(Form::Slice, start_ns, end_ns),
            };
        }
        if !self.has_durations {
            return timed(Form::Moment, start_ns, start_ns);
        }
        match columns.duration_ns.get(i) {
            Some(duration) if duration >= 0 => timed(Form::Slice, start_ns, start_ns.saturating_add(duration)),
            // A unified memory event without a duration is a moment, not a mistake.
            None if self.kind == PlacedBy::UnifiedMemory => timed(Form::Moment, start_ns, start_ns),
            _ => timed(Form::Timeless, start_ns, start_ns),
        }
    }
}

/// The line a row belongs to.
fn line_of(definitions: &Definitions, source: &Source, i: usize) -> Line {
    let columns = &source.columns;
    let process = source.piece.process;
    let device = || columns.device.get(i).unwrap_or(0);
    let context = || columns.context.get(i).unwrap_or(0);
    let stream = || columns.stream.get(i).unwrap_or(0);
    let thread = |tid| Line::Thread { process, tid };
    match source.kind {
        PlacedBy::Work => Line::Stream { process, device: device(), context: context(), stream: stream() },
        PlacedBy::Graph => Line::Graphs { process, device: device(), context: context(), stream: stream() },
        PlacedBy::Event => {
            let device = definitions.device_of(process, columns.context.get(i));
            Line::Stream { process, device, context: context(), stream: stream() }
        }
        PlacedBy::Sync => {
            let device = definitions.device_of(process, columns.context.get(i));
            Line::Sync { process, device, context: context(), stream: columns.stream.get(i) }
        }
        PlacedBy::UnifiedMemory => {
            let device = migrating_device(columns.dst_device.get(i), columns.src_device.get(i));
            Line::UnifiedMemory { process, device }
        }
        PlacedBy::Memory => Line::Memory { process, device: device() },
        PlacedBy::Sample => match columns.device.get(i) {
            Some(device) => Line::Memory { process, device },
            None => Line::Overhead { process },
        },
        PlacedBy::Overhead => columns.tid.get(i).map_or(Line::Overhead { process }, thread),
        PlacedBy::Range if columns.style.get(i) == Some(range_style::START_END) => Line::Ranges { process },
        PlacedBy::Compiler => Line::Compiler { process },
        PlacedBy::Call | PlacedBy::Range | PlacedBy::Thread => thread(columns.tid.get(i).unwrap_or(0)),
    }
}

/// Where the last rows with one common start begin. Rows without times come after all others and need not wait.
fn last_start(rows: &[Timed]) -> usize {
    match rows.last() {
        Some(last) if last.form != Form::Timeless => {
            let same =
                rows.iter().rev().take_while(|row| row.start_ns == last.start_ns && row.form != Form::Timeless);
            rows.len() - same.count()
        }
        _ => rows.len(),
    }
}

/// Reverses the order by end within each group of rows that start together, leaving equal rows as they are.
fn longest_first(rows: &mut [Timed]) {
    let mut from = 0;
    while from < rows.len() {
        let start_ns = rows[from].start_ns;
        let length = rows[from..].iter().take_while(|row| row.start_ns == start_ns).count();
        if length > 1 {
            rows[from..from + length].sort_by_key(|row| std::cmp::Reverse(row.end_ns));
        }
        from += length;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_format::schema::RowBuilder;
    use trace_format::tables::range::RangeBuilder;
    use trace_format::tables::{KernelRow, RangeRow, kernel::KernelBuilder};

    #[test]
    fn a_table_has_one_place() {
        for table in crate::lines::DRAWN {
            assert_eq!(KINDS.iter().filter(|(known, _)| known == table).count(), 1, "table {}", table.name);
        }
    }

    fn chunk(rows: trace_format::columns::Batch) -> Chunk {
        let order = (0..rows.rows as u32).map(|row| (0, row)).collect();
        Chunk { pieces: vec![Arc::new(Piece { process: 0, rows })], order }
    }

    fn ranges(times: &[(i64, i64)]) -> Chunk {
        let mut builder = RangeBuilder::default();
        for &(start_ns, end_ns) in times {
            builder.push(RangeRow { start_ns, end_ns: Some(end_ns), tid: 5, ..RangeRow::default() });
        }
        chunk(builder.take())
    }

    fn shown(placed: &[Placed]) -> Vec<(i64, i64, u32)> {
        placed.iter().flat_map(|p| &p.slots).map(|slot| (slot.start_ns, slot.end_ns, slot.track)).collect()
    }

    #[test]
    fn what_contains_comes_first_even_from_the_next_chunk() {
        let definitions = Definitions::default();
        let mut placing = Placing::new(&definitions, None);
        // In the order of `in_order`: of equal starts the shortest first.
        let placed = [
            placing.place(&ranges(&[(0, 10), (20, 20), (20, 25)])),
            placing.place(&ranges(&[(20, 30), (40, 45)])),
            placing.rest(),
        ];
        assert_eq!(shown(&placed), [(0, 10, 0), (20, 30, 0), (20, 25, 0), (20, 21, 0), (40, 45, 0)]);
        assert_eq!(placing.tracks.len(), 1);
    }

    #[test]
    fn records_without_times_are_drawn_within_the_trace() {
        let definitions = Definitions::default();
        let mut placing = Placing::new(&definitions, None);
        let mut builder = KernelBuilder::default();
        for (start_ns, duration_ns) in [(1_000, Some(50)), (0, None), (i64::MAX, None), (1_010, None)] {
            builder.push(KernelRow { start_ns, duration_ns, ..KernelRow::default() });
        }
        let placed = placing.place(&chunk(builder.take()));
        let drawn: Vec<i64> = placed.slots.iter().map(Slot::drawn_ns).collect();
        assert_eq!(drawn, [1_000, 1_000, 1_050, 1_010]);
        assert_eq!(placed.slots[2].start_ns, i64::MAX, "what was recorded is not lost");
    }
}
