//! One pass over a table: exact statistics per key and place.

use super::estimate::RowBlocks;
use super::many_keys::Log;
use super::stats::{Stats, Wanted};
use crate::error::Result;
use crate::trace::batch::{Batch, Col};
use crate::trace::frames::Frames;
use crate::trace::sampling::Sampling;
use crate::trace::select::Filter;
use hashbrown::HashMap;
use std::sync::Arc;
use trace_format::schema::{AnyColumn, TableSpec, TypedColumn};
use trace_format::tables;
use trace_format::tables::column::{any, kernel};

/// Which parts of a record's place make separate groups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Split {
    /// The process.
    pub process: bool,
    /// Process and device.
    pub device: bool,
    /// Process, device, context and stream.
    pub stream: bool,
}

/// Where a group's records ran; [`RanOn::ANY`] in what was not split by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RanOn {
    /// Ordinal of the process.
    pub process: u32,
    /// Device index.
    pub device: u32,
    /// Context id.
    pub context: u32,
    /// Stream id.
    pub stream: u32,
}

impl RanOn {
    /// "All of them".
    pub const ANY: u32 = u32::MAX;

    /// Everything together.
    pub const ANYWHERE: RanOn =
        RanOn { process: Self::ANY, device: Self::ANY, context: Self::ANY, stream: Self::ANY };
}

/// Statistics of the records that share a key and a place.
#[derive(Clone, Debug)]
pub struct Group {
    /// Where the records ran.
    pub place: RanOn,
    /// The key: shape, name, kind; 0 for tables that have none.
    pub key: u32,
    /// Statistics of their durations.
    pub stats: Stats,
}

/// All groups of one table.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// The groups, in key and place order.
    pub groups: Vec<Group>,
    /// Records with impossible times; they are in no group.
    pub invalid: u64,
}

/// Keys below this are indexed directly at least, one [`Stats`] slot each; shapes and names of nearly every trace are.
const DIRECT_KEYS: usize = 1 << 14;

/// Groups of one place.
struct Slots {
    direct: Vec<Stats>,
    /// How many keys may be indexed directly.
    most_direct: usize,
    /// The other keys where sums are wanted,
    other: HashMap<u32, Stats>,
    /// and where quantiles are.
    log: Log,
}

impl Slots {
    fn new(most_direct: usize) -> Slots {
        Slots { direct: Vec::new(), most_direct, other: HashMap::new(), log: Log::default() }
    }

    #[inline]
    fn add(&mut self, key: u32, ns: i64, wanted: Wanted) {
        let index = key as usize;
        if index >= self.most_direct {
            match wanted.quantiles {
                true => self.log.add(key, ns),
                false => self.other.entry(key).or_default().add(ns, wanted),
            }
            return;
        }
        self.direct(index).add(ns, wanted);
    }

    #[inline]
    fn direct(&mut self, index: usize) -> &mut Stats {
        if index >= self.direct.len() {
            self.direct.resize_with(index + 1, Stats::default);
        }
        &mut self.direct[index]
    }

    fn merge(&mut self, theirs: Slots) {
        for (index, stats) in theirs.direct.into_iter().enumerate().filter(|(_, stats)| stats.count > 0) {
            self.direct(index).merge(stats);
        }
        for (key, stats) in theirs.other {
            self.other.entry(key).or_default().merge(stats);
        }
        self.log.append(theirs.log);
    }

    fn into_groups(self, place: RanOn, out: &mut Vec<Group>) {
        let direct = self.direct.into_iter().enumerate().map(|(key, stats)| (key as u32, stats));
        let groups = direct.chain(self.other).filter(|(_, stats)| stats.count > 0);
        out.extend(groups.map(|(key, stats)| Group { place, key, stats }));
        self.log.add_groups(place, out);
    }
}

struct Accumulator {
    places: Vec<(RanOn, Slots)>,
    index: HashMap<RanOn, usize>,
    invalid: u64,
    most_direct: usize,
}

impl Accumulator {
    fn new(most_direct: usize) -> Accumulator {
        Accumulator { places: Vec::new(), index: HashMap::new(), invalid: 0, most_direct }
    }

    fn place(&mut self, place: RanOn) -> usize {
        *self.index.entry(place).or_insert_with(|| {
            self.places.push((place, Slots::new(self.most_direct)));
            self.places.len() - 1
        })
    }

    fn add_batch(
        &mut self,
        batch: &Batch,
        key_column: Option<&'static TypedColumn<u32>>,
        group_of: impl Fn(u32) -> u32,
        split: Split,
        wanted: Wanted,
        sampling: Option<&Arc<Sampling>>,
    ) {
        let durations = batch.get(any::DURATION_NS);
        let keys = key_column.map(|column| batch.get(column));
        let by_process = split.process || split.device || split.stream;
        let base = RanOn { process: if by_process { batch.process } else { RanOn::ANY }, ..RanOn::ANYWHERE };
        let whole = !split.device && !split.stream && batch.selected.is_none() && sampling.is_none();
        let slices = durations.all_valid().zip(keys.and_then(|k| k.all_valid()));
        if let Some((durations, keys)) = slices.filter(|_| whole) {
            let at = self.place(base);
            let slots = &mut self.places[at].1;
            for (&ns, &key) in durations.iter().zip(keys) {
                slots.add(group_of(key), ns, wanted);
            }
            return;
        }
        let column = |wanted: bool, column| wanted.then(|| batch.get(column));
        let at =
            |column: &Option<Col<'_, u32>>, i: usize| column.and_then(|column| column.get(i)).unwrap_or(RanOn::ANY);
        let device = column(split.device || split.stream, any::DEVICE);
        let (context, stream) = (column(split.stream, any::CONTEXT), column(split.stream, any::STREAM));
        let blocks = sampling.map(|sampling| RowBlocks::of(sampling, batch));
        let mut last = None;
        batch.for_each_row(|i| {
            let Some(ns) = durations.get(i) else {
                self.invalid += 1;
                return;
            };
            let place = RanOn {
                process: base.process,
                device: at(&device, i),
                context: at(&context, i),
                stream: at(&stream, i),
            };
            // Neighbouring records mostly share their place, so the map is rarely asked.
            let slots = match last {
                Some((known, index)) if known == place => index,
                _ => self.place(place),
            };
            last = Some((place, slots));
            let key = group_of(keys.as_ref().and_then(|k| k.get(i)).unwrap_or(0));
            let slots = &mut self.places[slots].1;
            match &blocks {
                None => slots.add(key, ns, wanted),
                Some(blocks) => blocks.add(i, ns, slots.direct(key as usize), wanted),
            }
        });
    }

    fn merge(&mut self, other: Accumulator) {
        self.invalid += other.invalid;
        for (place, slots) in other.places {
            let at = self.place(place);
            self.places[at].1.merge(slots);
        }
    }
}

/// Statistics of `table`'s durations per value of `key_column` (none: one group) and place.
///
/// The result is the same for any order of records and any number of threads.
///
/// # Errors
/// A part of a file that cannot be read.
pub fn totals(
    frames: &Frames,
    table: &'static TableSpec,
    key_column: Option<&'static TypedColumn<u32>>,
    split: Split,
    wanted: Wanted,
    filter: &Filter,
) -> Result<Totals> {
    fold(frames, table, key_column, (DIRECT_KEYS, |key| key), split, wanted, filter)
}

/// As [`totals`], over groups of keys: the records of all keys with the same `groups[key]` are one group, whose key
/// that is. A key beyond `groups` is a group of its own.
///
/// Where keys are many and groups few, as launch shapes and kernel names may be, this takes the memory of the groups.
///
/// # Errors
/// A part of a file that cannot be read.
pub fn grouped_totals(
    frames: &Frames,
    table: &'static TableSpec,
    key_column: &'static TypedColumn<u32>,
    groups: &[u32],
    split: Split,
    wanted: Wanted,
    filter: &Filter,
) -> Result<Totals> {
    let group_of = |key: u32| groups.get(key as usize).copied().unwrap_or(key);
    let most = groups.iter().max().map_or(0, |&most| most as usize + 1);
    fold(
        frames,
        table,
        Some(key_column),
        (direct_keys(frames, table, most, split, wanted), group_of),
        split,
        wanted,
        filter,
    )
}

/// As [`totals`] of kernels, those of one kernel together whatever their launch shapes. The key is one of its shapes.
///
/// # Errors
/// A part of a file that cannot be read.
pub fn kernel_totals(frames: &Frames, split: Split, wanted: Wanted, filter: &Filter) -> Result<Totals> {
    // Kernels are numbered in a row, their shapes are not.
    let numbers = frames.kernel_numbers();
    let mut all = grouped_totals(frames, &tables::KERNEL, kernel::SHAPE_ID, &numbers, split, wanted, filter)?;
    let mut first = vec![u32::MAX; frames.kernels().len()];
    for (shape, &kernel) in (0..).zip(&numbers) {
        let first = &mut first[kernel as usize];
        *first = shape.min(*first);
    }
    for group in &mut all.groups {
        group.key = first.get(group.key as usize).copied().unwrap_or(group.key);
    }
    all.groups.sort_unstable_by_key(|g| (g.key, g.place));
    Ok(all)
}

/// How many of `keys` keys are indexed directly: of sums all of them where each thread has as many rows as there are keys,
/// as its table has room for them all anyway then.
fn direct_keys(frames: &Frames, table: &'static TableSpec, keys: usize, split: Split, wanted: Wanted) -> usize {
    let rows = frames.rows(table) / rayon::current_num_threads().max(1) as u64;
    let sums = split == Split::default() && !wanted.quantiles;
    if sums && keys as u64 <= rows { keys.max(DIRECT_KEYS) } else { DIRECT_KEYS }
}

fn fold(
    frames: &Frames,
    table: &'static TableSpec,
    key_column: Option<&'static TypedColumn<u32>>,
    (most_direct, group_of): (usize, impl Fn(u32) -> u32 + Sync),
    split: Split,
    wanted: Wanted,
    filter: &Filter,
) -> Result<Totals> {
    let mut columns: Vec<&dyn AnyColumn> = vec![any::DURATION_NS];
    columns.extend(key_column.map(|key| key as &dyn AnyColumn));
    if split.device || split.stream {
        columns.push(any::DEVICE);
    }
    if split.stream {
        columns.push(any::CONTEXT);
        columns.push(any::STREAM);
    }
    let sampling = filter.sampling();
    columns.extend(RowBlocks::columns(sampling, table));
    let all = frames.fold(
        table,
        &columns,
        filter,
        || Accumulator::new(most_direct),
        |accumulator, batch| accumulator.add_batch(batch, key_column, &group_of, split, wanted, sampling),
        Accumulator::merge,
    )?;
    let mut out = Totals { groups: Vec::new(), invalid: all.invalid };
    for (place, slots) in all.places {
        slots.into_groups(place, &mut out.groups);
    }
    out.groups.sort_unstable_by_key(|g| (g.key, g.place));
    Ok(out)
}
