//! What happens one after the other: beginnings, ends, counters. Ends of slices and changes of counters come between
//! the rows, so this is decided in one go; how each is written is left to all threads.

use super::names::{Columns, Names};
use super::tracks::{Counter, Tracks};
use crate::analysis::allocated::{self, Allocated};
use crate::lines::line::Form;
use crate::lines::place::{Placed, Slot};
use crate::trace::ordered::Piece;
use hashbrown::HashMap;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use trace_format::tables;

/// Something to be written.
#[derive(Clone, Copy, Debug)]
pub struct Item {
    /// When.
    pub at_ns: i64,
    /// What the item is.
    pub what: ItemKind,
}

/// What is to be written.
#[derive(Clone, Copy, Debug)]
pub enum ItemKind {
    /// A slice begins: index of the slot, number of its name.
    Begin(u32, u64),
    /// The innermost slice of this track ends.
    End(u64),
    /// A moment, as [`ItemKind::Begin`].
    Moment(u32, u64),
    /// A counter has this value from now on.
    Count(u32, i64),
    /// A counter has this value from now on, which need not be whole.
    Measure(u32, f64),
}

/// A slice that has begun. The order is that of the ends; of equal ends the slice that began last comes first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Ending {
    end_ns: i64,
    begun: Reverse<u64>,
    track: u64,
    device: Option<(u32, u32)>,
    /// Counter and throughput of a copy.
    copy: Option<(u32, i64)>,
}

/// The state between chunks.
#[derive(Default)]
pub struct Items {
    open: BinaryHeap<Reverse<Ending>>,
    begun: u64,
    counts: HashMap<u32, i64>,
    allocated: Allocated,
    with_counters: bool,
    /// The items of the chunk that is being written.
    pub list: Vec<Item>,
}

impl Items {
    /// Nothing has happened yet.
    pub fn new(with_counters: bool) -> Self {
        Items { with_counters, ..Items::default() }
    }

    /// Appends what happens up to and with the rows of `placed`. Descriptors of new counters go to `out`.
    pub fn add(
        &mut self,
        placed: &Placed,
        columns: &[Columns],
        names: &mut Names,
        tracks: &mut Tracks,
        out: &mut Vec<u8>,
    ) {
        for (index, slot) in placed.slots.iter().enumerate() {
            let piece = &placed.pieces[slot.piece as usize];
            let columns = &columns[slot.piece as usize];
            let i = slot.row as usize;
            if slot.form != Form::Timeless {
                self.end_until(slot.start_ns, tracks, out);
            }
            let at_ns = slot.drawn_ns();
            if piece.table() == &tables::SAMPLE {
                self.sample(piece, columns, slot, tracks, out);
                continue;
            }
            let name = names.of(&piece.rows, columns, i);
            match slot.form {
                Form::Slice | Form::Open => {
                    self.list.push(Item { at_ns, what: ItemKind::Begin(index as u32, name) });
                    self.begin(piece, columns, slot, tracks, out);
                }
                // Where a record without valid times belongs nobody knows; it is no slice.
                Form::Moment | Form::Timeless => {
                    self.list.push(Item { at_ns, what: ItemKind::Moment(index as u32, name) });
                    if self.with_counters && piece.table() == &tables::MEMORY {
                        self.memory(piece, columns, slot, tracks, out);
                    }
                }
            }
        }
    }

    /// Appends all ends that are left.
    pub fn end_all(&mut self, tracks: &mut Tracks, out: &mut Vec<u8>) {
        self.end_until(i64::MAX - 1, tracks, out);
    }

    fn end_until(&mut self, until_ns: i64, tracks: &mut Tracks, out: &mut Vec<u8>) {
        while let Some(&Reverse(ending)) = self.open.peek()
            && ending.end_ns <= until_ns
        {
            self.open.pop();
            let at_ns = ending.end_ns;
            self.list.push(Item { at_ns, what: ItemKind::End(ending.track) });
            if let Some((process, device)) = ending.device {
                let busy = tracks.counter(Counter::Busy(process, device), out);
                if self.change(busy, -1) == 0 {
                    self.list.push(Item { at_ns, what: ItemKind::Count(busy, 0) });
                }
            }
            if let Some((counter, rate)) = ending.copy {
                self.rate(at_ns, counter, -rate);
            }
        }
    }

    fn change(&mut self, counter: u32, by: i64) -> i64 {
        let count = self.counts.entry(counter).or_default();
        *count = count.saturating_add(by);
        *count
    }

    fn begin(&mut self, piece: &Piece, columns: &Columns, slot: &Slot, tracks: &mut Tracks, out: &mut Vec<u8>) {
        let i = slot.row as usize;
        let process = piece.process;
        let (at_ns, table) = (slot.start_ns, piece.table());
        let is_copy = table == &tables::MEMCPY;
        let is_work = is_copy || table == &tables::KERNEL || table == &tables::MEMSET || table == &tables::GRAPH;
        let (mut device, mut copy) = (None, None);
        if self.with_counters && is_work {
            let number = columns.device.get(i).unwrap_or(0);
            device = Some((process, number));
            let busy = tracks.counter(Counter::Busy(process, number), out);
            if self.change(busy, 1) == 1 {
                self.list.push(Item { at_ns, what: ItemKind::Count(busy, 1) });
            }
            if is_copy && let Some(rate) = bytes_per_s(columns.bytes.get(i), columns.duration_ns.get(i)) {
                let kind = columns.kind.get(i).unwrap_or(0);
                let counter = tracks.counter(Counter::Copies(process, number, kind), out);
                self.rate(at_ns, counter, rate);
                copy = Some((counter, rate));
            }
        }
        if self.with_counters && slot.is_linked {
            let queue = tracks.counter(Counter::Queue(process), out);
            let length = self.change(queue, if is_work { -1 } else { 1 });
            self.list.push(Item { at_ns, what: ItemKind::Count(queue, length) });
        }
        if slot.form == Form::Slice {
            self.begun += 1;
            let track = tracks.slices.get(slot.track as usize).copied().unwrap_or(0);
            let begun = Reverse(self.begun);
            self.open.push(Reverse(Ending { end_ns: slot.end_ns, begun, track, device, copy }));
        }
    }

    fn rate(&mut self, at_ns: i64, counter: u32, by: i64) {
        // Summed as whole numbers, so that it is exactly 0 when nothing is copied.
        let rate = self.change(counter, by) as f64 / 1e9;
        self.list.push(Item { at_ns, what: ItemKind::Measure(counter, rate) });
    }

    fn memory(&mut self, piece: &Piece, columns: &Columns, slot: &Slot, tracks: &mut Tracks, out: &mut Vec<u8>) {
        let i = slot.row as usize;
        if !allocated::is_on_device(columns.mem_kind.get(i).unwrap_or(0)) {
            return;
        }
        let device = (piece.process, columns.device.get(i).unwrap_or(0));
        let (operation, bytes) = (columns.operation.get(i).unwrap_or(0), columns.bytes.get(i).unwrap_or(0));
        let address = columns.address.get(i).unwrap_or(0);
        if let Some((_, sum)) = self.allocated.take(device, operation, address, bytes) {
            let counter = tracks.counter(Counter::Memory(device.0, device.1), out);
            self.list.push(Item { at_ns: slot.start_ns, what: ItemKind::Count(counter, sum) });
        }
    }

    fn sample(&mut self, piece: &Piece, columns: &Columns, slot: &Slot, tracks: &mut Tracks, out: &mut Vec<u8>) {
        let i = slot.row as usize;
        if let Some(value) = columns.value.get(i) {
            let metric = columns.metric_id.get(i).unwrap_or(0);
            let (device, pid) = (columns.device.get(i), columns.of_pid.get(i));
            let counter = tracks.counter(Counter::Sample(piece.process, device, pid, metric), out);
            self.list.push(Item { at_ns: slot.start_ns, what: ItemKind::Measure(counter, value) });
        }
    }
}

/// The throughput of a copy, if it took any time.
fn bytes_per_s(bytes: Option<i64>, duration_ns: Option<i64>) -> Option<i64> {
    let (bytes, duration) = (i128::from(bytes?), i128::from(duration_ns?));
    (duration > 0).then(|| i64::try_from(bytes * 1_000_000_000 / duration).unwrap_or(i64::MAX / 4))
}
