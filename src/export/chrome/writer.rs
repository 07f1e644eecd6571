//! Puts the document together: header, events, lists of rows.

use super::event::{self, Events, View};
use super::foreign::{self, Lanes, Waiting};
use super::gpuprof_argument;
use super::head;
use super::json;
use super::numbering::{self, Numbering};
use super::output::Output;
use super::prepared::{self, Prepared};
use crate::analysis::allocated::{self, Allocated};
use crate::analysis::cpu_slices::{self, SampledThread, earlier};
use crate::error::Result;
use crate::export::Context;
use crate::lines::line::Form;
use crate::lines::naming::Naming;
use crate::lines::place::{Placed, Placing, Track};
use crate::trace::ordered::{Chunk, Piece};
use hashbrown::HashMap;
use rayon::prelude::*;
use std::sync::Arc;
use trace_format::columns::Batch;
use trace_format::schema::{Row, RowBuilder};
use trace_format::tables::column::{any, memory};
use trace_format::tables::shape::ShapeBuilder;
use trace_format::tables::{self, DeviceRow, ExternalRow};

/// Rows that one thread makes text of at a time.
const PART_ROWS: usize = 8192;

/// About how long an event is.
const EVENT_BYTES: usize = 320;

/// How long a list of rows gets before another one begins: readers hold an event in memory as a whole.
const LIST_BYTES: usize = 100_000;

/// Writes a document.
pub struct Writer<'a, 'n> {
    context: &'a Context<'a>,
    prepared: Prepared<'a>,
    numbering: Numbering<'a, 'n>,
    placing: Placing<'a>,
    /// Rows that define devices, contexts, streams and threads.
    defining: Vec<(Arc<Piece>, usize)>,
    /// Once the header is written: the time that is written as 0.
    zero_ns: Option<i64>,
    /// Shapes that have been written.
    shapes: Vec<bool>,
    /// How much memory is allocated.
    allocated: Allocated,
    /// Arguments of foreign traces that wait for their rows.
    details: Waiting,
    /// Where entries of foreign traces stand.
    lanes: Lanes,
}

impl<'a, 'n> Writer<'a, 'n> {
    /// A document of which nothing is written yet.
    ///
    /// # Errors
    /// Fails if a part of a file cannot be read.
    pub fn new(
        context: &'a Context<'a>,
        naming: &'n mut Naming<'a>,
        placing: Placing<'a>,
        defining: Vec<(Arc<Piece>, usize)>,
    ) -> Result<Self> {
        let mut prepared = Prepared::new(context.labels);
        prepared.external_ids = external_ids(context)?;
        let shapes = vec![false; context.frames.shape_count()];
        let numbering = Numbering::new(naming);
        Ok(Writer {
            context,
            prepared,
            numbering,
            placing,
            defining,
            zero_ns: None,
            shapes,
            allocated: Allocated::default(),
            details: Waiting::default(),
            lanes: Lanes::default(),
        })
    }

    /// Writes the next rows.
    ///
    /// # Errors
    /// Fails if the output cannot be written.
    pub fn chunk(&mut self, chunk: &Chunk, output: &mut Output) -> Result<()> {
        let (entries, chunk) = self.details.sort_out(chunk);
        self.entries(&entries, output)?;
        let placed = self.placing.place(&chunk);
        self.placed(&placed, output)
    }

    /// Writes entries of foreign traces. They come before rows that begin with them, which they may contain.
    fn entries(&mut self, entries: &[(Arc<Piece>, usize)], output: &mut Output) -> Result<()> {
        let Some((piece, i)) = entries.first() else { return Ok(()) };
        let zero_ns = self.begin(piece.rows.get(any::START_NS).get(*i), output)?;
        let mut text = Vec::new();
        // The longest first, as everywhere.
        for (piece, i) in entries.iter().rev() {
            let (tracks, names) = (&self.placing.tracks, &self.context.frames.names);
            self.lanes.write(&mut text, (piece, *i), tracks, &mut self.numbering, &self.prepared, names, zero_ns);
        }
        output.text(text)
    }

    /// Writes the rows that waited for others.
    ///
    /// # Errors
    /// Fails if the output cannot be written.
    pub fn rest(&mut self, output: &mut Output) -> Result<()> {
        let placed = self.placing.rest();
        self.placed(&placed, output)
    }

    fn placed(&mut self, placed: &Placed, output: &mut Output) -> Result<()> {
        if placed.slots.is_empty() {
            return Ok(());
        }
        let first = placed.slots.iter().find(|slot| slot.form != Form::Timeless).map(|slot| slot.start_ns);
        let zero_ns = self.begin(first, output)?;
        let mut text = Vec::new();
        for track in placed.new_tracks.clone() {
            self.numbering.open(&self.placing.tracks[track], &mut text);
        }
        let views: Vec<View> = placed.pieces.iter().map(|piece| View::of(piece)).collect();
        self.new_shapes(placed, &views, &mut text);
        let events = Events {
            context: self.context,
            prepared: &self.prepared,
            zero_ns,
            heads: &self.numbering.heads,
            several_processes: self.context.frames.processes.len() > 1,
        };
        count_memory(&mut self.allocated, &events, placed, &mut text);
        output.text(text)?;
        let details = self.details.of_slots(&placed.pieces, &views, &placed.slots);
        let names = &self.context.frames.names;
        let packing = output.packing();
        let parts: Vec<Result<Vec<u8>>> = placed
            .slots
            .par_chunks(PART_ROWS)
            .enumerate()
            .map(|(part, slots)| {
                let mut out = Vec::with_capacity(slots.len() * EVENT_BYTES);
                for (i, slot) in slots.iter().enumerate() {
                    let piece = slot.piece as usize;
                    let begin = out.len();
                    events.write(&mut out, &placed.pieces[piece], &views[piece], slot);
                    if let Some(Some(row)) = details.get(part * PART_ROWS + i) {
                        foreign::insert(&mut out, begin, row, names, views[piece].is_python(slot.row as usize));
                    }
                }
                packing(out)
            })
            .collect();
        parts.into_iter().try_for_each(|part| output.write(part?))
    }

    /// Writes the functions of CPU samples as slices that begin and end, once all other slices are written.
    ///
    /// # Errors
    /// Fails if a part of a file cannot be read, or if the output cannot be written.
    pub fn stacks(&mut self, output: &mut Output) -> Result<()> {
        let zero_ns = self.begin(None, output)?;
        let (frames, filter, labels) = (self.context.frames, self.context.filter, self.context.labels);
        let mut heads: HashMap<SampledThread, usize> = HashMap::new();
        let mut text = Vec::new();
        cpu_slices::each(frames, filter, |thread, edge| {
            let head = *heads.entry(thread).or_insert_with(|| {
                self.numbering.open(&Track { line: thread.into(), lane: 0 }, &mut text);
                self.numbering.heads.len() - 1
            });
            event::stack_edge(&mut text, labels, &self.numbering.heads[head], zero_ns, &edge);
            if text.len() >= LIST_BYTES {
                output.text(std::mem::take(&mut text))?;
            }
            Ok(())
        })?;
        output.text(text)
    }

    /// Writes the header, unless that is done. `first` is the start of the first row, which is the earliest.
    fn begin(&mut self, first: Option<i64>, output: &mut Output) -> Result<i64> {
        if let Some(zero_ns) = self.zero_ns {
            return Ok(zero_ns);
        }
        let first_ns = earlier(first, cpu_slices::first_ns(self.context.frames, self.context.filter)?);
        let zero_ns = first_ns.map_or(0, base);
        self.zero_ns = Some(zero_ns);
        let devices: Vec<(u32, DeviceRow)> = self
            .defining
            .iter()
            .filter(|(piece, _)| piece.table() == &tables::DEVICE)
            .map(|(piece, i)| (piece.process, DeviceRow::from_batch(&piece.rows, *i)))
            .collect();
        self.prepared.multiprocessors = common(devices.iter().map(|(_, device)| device.multiprocessors));
        let mut header = Vec::new();
        head::write(&mut header, self.context.labels, &self.numbering, &devices, zero_ns);
        let mut text = Vec::new();
        self.numbering.describe_processes(&mut text);
        if text.is_empty() {
            numbering::describe(&mut text, "gpuprof_rows", 0, 0, |_| {});
        }
        let defining = std::mem::take(&mut self.defining);
        for same in defining.chunk_by(|(a, _), (b, _)| Arc::ptr_eq(a, b)) {
            let rows: Vec<usize> = same.iter().map(|(_, i)| *i).collect();
            self.list(&mut text, same[0].0.process, &same[0].0.rows, &rows);
        }
        // Every event begins with the comma behind the one before.
        header.extend_from_slice(text.strip_prefix(b",").unwrap_or(&text));
        output.text(header)?;
        Ok(zero_ns)
    }

    /// Writes those launch shapes that occur for the first time.
    fn new_shapes(&mut self, placed: &Placed, views: &[View], out: &mut Vec<u8>) {
        let mut new = ShapeBuilder::default();
        for slot in &placed.slots {
            let View::Kernels(columns) = &views[slot.piece as usize] else { continue };
            let Some(id) = columns.shape_id.get(slot.row as usize) else { continue };
            if let Some(written) = self.shapes.get_mut(id as usize)
                && !std::mem::replace(written, true)
                && let Some(shape) = self.context.frames.shape(id)
            {
                new.push(shape.clone());
            }
        }
        if !new.is_empty() {
            let batch = new.take();
            let rows: Vec<usize> = (0..batch.rows).collect();
            self.list(out, 0, &batch, &rows);
        }
    }

    /// Writes rows as events that viewers pass over.
    fn list(&self, out: &mut Vec<u8>, process: u32, batch: &Batch, rows: &[usize]) {
        let mut rows = rows.iter().peekable();
        while rows.peek().is_some() {
            numbering::describe(out, "gpuprof_rows", self.numbering.pid(process), 0, |out| {
                out.extend_from_slice(b"\"gpuprof\":{\"process\":");
                json::unsigned(out, process.into());
                out.extend_from_slice(b",\"table\":");
                json::string(out, batch.table.name.as_bytes());
                out.extend_from_slice(b",\"rows\":[");
                let begin = out.len();
                while out.len() - begin < LIST_BYTES
                    && let Some(&i) = rows.next()
                {
                    if out.len() > begin {
                        out.push(b',');
                    }
                    gpuprof_argument::row(out, &self.context.frames.names, batch, i);
                }
                out.extend_from_slice(b"]}");
            });
        }
    }

    /// Writes rows that are not drawn.
    ///
    /// # Errors
    /// Fails if the output cannot be written.
    pub fn listed(&mut self, chunk: &Chunk, output: &mut Output) -> Result<()> {
        self.begin(None, output)?;
        // Rows of many tables and processes alternate in time; in lists their order means nothing.
        let mut by_piece: Vec<Vec<usize>> = vec![Vec::new(); chunk.pieces.len()];
        for &(piece, row) in &chunk.order {
            by_piece[piece as usize].push(row as usize);
        }
        let mut text = Vec::new();
        for (piece, rows) in chunk.pieces.iter().zip(by_piece) {
            self.list(&mut text, piece.process, &piece.rows, &rows);
        }
        output.text(text)
    }

    /// Ends the document.
    ///
    /// # Errors
    /// Fails if the output cannot be written.
    pub fn finish(&mut self, output: &mut Output) -> Result<()> {
        self.begin(None, output)?;
        let left_over = self.details.left_over();
        if left_over > 0 && self.context.filter.is_everything() {
            let text = format!("arguments that belong to no row are not written: {left_over} (table details)");
            self.context.note("details-left-out", text);
        }
        let mut text = Vec::new();
        self.lanes.finish(&mut text, &self.numbering);
        text.extend_from_slice(b"\n]}\n");
        output.text(text)
    }
}

/// Three months as Kineto counts them, in nanoseconds: the raster of the times that are written as 0.
const RASTER_NS: i64 = 7_889_238 * 1_000_000_000;

/// The time that is written as 0 in a file whose first record begins at `first_ns`: the same for all files of a job,
/// for HTA compares the numbers of different ranks and overlooks what they count from (decision 018).
fn base(first_ns: i64) -> i64 {
    first_ns.div_euclid(RASTER_NS).saturating_mul(RASTER_NS)
}

/// Writes how much memory of each device is allocated whenever that changes.
fn count_memory(allocated: &mut Allocated, events: &Events, placed: &Placed, out: &mut Vec<u8>) {
    for slot in &placed.slots {
        let piece = &placed.pieces[slot.piece as usize];
        if piece.table() != &tables::MEMORY {
            continue;
        }
        let i = slot.row as usize;
        let number = |column| piece.rows.get(column).get(i).unwrap_or(0);
        if !allocated::is_on_device(number(memory::MEM_KIND)) {
            continue;
        }
        let bytes = piece.rows.get(memory::BYTES).get(i).unwrap_or(0);
        let address = piece.rows.get(memory::ADDRESS).get(i).unwrap_or(0);
        let device = (piece.process, number(memory::DEVICE));
        if let Some((_, sum)) = allocated.take(device, number(memory::OPERATION), address, bytes) {
            events.counter(out, slot, "allocated bytes", |out| json::signed(out, sum));
        }
    }
}

/// The one value that all have.
fn common<T: Copy + PartialEq>(mut values: impl Iterator<Item = Option<T>>) -> Option<T> {
    let first = values.next()??;
    values.all(|value| value == Some(first)).then_some(first)
}

/// Operators' ids by correlation id, unless there are too many to keep.
fn external_ids(context: &Context) -> Result<HashMap<(u32, u64), u64>> {
    let mut ids = HashMap::new();
    if prepared::keeps_external_ids(context.frames.rows(&tables::EXTERNAL)) {
        context.frames.in_order(&[&tables::EXTERNAL], context.filter, |chunk| {
            for (piece, i) in chunk.iter() {
                let row = ExternalRow::from_batch(&piece.rows, i);
                if prepared::is_operator(row.external_kind) {
                    ids.insert((piece.process, row.correlation), row.external_id);
                }
            }
            Ok(())
        })?;
    }
    Ok(ids)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_base_is_that_of_kineto() {
        // From real files: `baseTimeNanoseconds` of PyTorch 2.8 in July 2025 and of 2.10 in January 2026.
        assert_eq!(base(1_751_500_000_123_456_789), 1_751_410_836_000_000_000);
        assert_eq!(base(1_767_189_312_000_000_000), 1_767_189_312_000_000_000);
        assert_eq!(base(123), 0, "times without an epoch stay as they are");
    }

    #[test]
    fn microseconds_as_doubles_give_every_nanosecond_back() {
        // Microseconds with three decimals, read as doubles: all the way to the end of the raster.
        let exact = |read: f64| read.trunc() as i64 * 1000 + (read.fract() * 1000.0).round() as i64;
        let steps = (0..1_000_000).map(|i| RASTER_NS - 1 - i * 7_889_237_999);
        for ns in steps.chain(RASTER_NS - 100_000..RASTER_NS).filter(|ns| *ns >= 0) {
            let mut text = Vec::new();
            json::microseconds(&mut text, ns);
            let read: f64 = String::from_utf8(text).unwrap().parse().unwrap();
            assert_eq!(exact(read), ns);
            // Whoever multiplies doubles rounds twice, which costs one nanosecond where their steps are coarsest.
            assert!(((read * 1000.0).round() as i64 - ns).abs() <= 1, "{ns}");
        }
    }
}
