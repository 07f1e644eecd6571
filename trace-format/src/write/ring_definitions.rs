//! What a ring remembers, so that each of its segments defines what its own rows refer to.
//!
//! A run of any length defines names and shapes without end, most of which no row will refer to again. So a segment
//! does not open with all of them: it opens with those that were referred to last, as many as a part of a segment
//! holds, and any other follows in front of the first row of that segment that needs it. What nothing has referred to
//! for longest is forgotten when memory is full.

use std::collections::HashMap;

use serde_json::Value;

use crate::columns::{Batch, Column, Values};
use crate::schema::{Role, Row as _, RowBuilder as _, TableSpec};
use crate::tables::shape::ShapeBuilder;
use crate::tables::string::StringBuilder;
use crate::tables::{CLOCK, PROCESS, RANGE, SHAPE, STRING, ShapeRow, StringRow};

/// Ids that were looked up last, by their lower bits: most rows refer to few.
const RECENT: usize = 1 << 10;
/// Strings at most, however short. Seven eighths of them are more than can be referred to again: the shim's names
/// (98,304), the names of the shapes that it knows (22,000) and of calls (4,096).
const MOST_STRINGS: usize = 160 << 10;
/// What an entry costs beside its value.
const ENTRY_BYTES: usize = 48;
/// A row of `shape` in a file, about.
const SHAPE_FILE_BYTES: usize = 24;
/// What a row of `string` takes beside the string.
const STRING_FILE_BYTES: usize = 8;

/// One definition, and when it was last wanted.
struct Entry<T> {
    value: T,
    /// The segment that last had a row referring to it, or that it was defined in.
    used: u32,
    /// The segment that it was last written to.
    written: u32,
    /// Records refer to it, and may do so again at any time: ranges with ever new names do not push it out.
    lasting: bool,
}

/// Definitions of one table by id.
struct Known<T> {
    by_id: HashMap<u32, Entry<T>>,
    recent: Vec<u64>,
}

impl<T> Default for Known<T> {
    fn default() -> Self {
        Known { by_id: HashMap::new(), recent: vec![0; RECENT] }
    }
}

impl<T> Known<T> {
    fn insert(&mut self, id: u32, value: T, segment: u32) -> Option<T> {
        let entry = Entry { value, used: segment, written: segment, lasting: false };
        self.by_id.insert(id, entry).map(|old| old.value)
    }

    /// Whether the id was looked up in this segment a moment ago, by a row of that sort; true from now on.
    fn is_recent(&mut self, id: u32, lasts: bool) -> bool {
        let place = &mut self.recent[id as usize % RECENT];
        let key = u64::from(id) << 1 | u64::from(lasts);
        std::mem::replace(place, key) == key
    }

    /// Ids by when they were used, newest first; among equals the highest first.
    fn by_use(&self) -> Vec<u32> {
        let mut ids: Vec<(u32, u32)> = self.by_id.iter().map(|(id, entry)| (entry.used, *id)).collect();
        ids.sort_unstable_by(|a, b| b.cmp(a));
        ids.into_iter().map(|(_, id)| id).collect()
    }
}

/// The memory of a ring.
pub(super) struct RingDefinitions {
    strings: Known<Box<[u8]>>,
    shapes: Known<ShapeRow>,
    /// Devices, contexts, streams, threads: written whole at the beginning of each segment.
    others: Vec<Batch>,
    process: Option<Value>,
    /// The newest row of `clock`: a segment that got none of its own has no date otherwise.
    clock: Option<Batch>,
    bytes: usize,
    limit_bytes: usize,
    others_limit_bytes: usize,
    segment: u32,
    /// Ids that rows referred to when nobody knew them any more.
    unknown: u64,
}

/// Definitions to be written before something else, in this order.
#[derive(Default)]
pub(super) struct Wanted {
    strings: StringBuilder,
    shapes: ShapeBuilder,
}

impl Wanted {
    pub(super) fn batches(mut self) -> impl Iterator<Item = Batch> {
        [self.strings.take(), self.shapes.take()].into_iter().filter(|batch| batch.rows > 0)
    }
}

impl RingDefinitions {
    /// `limit_bytes`: most memory; `segment_bytes`: what a segment holds.
    pub(super) fn new(limit_bytes: usize, segment_bytes: u64) -> RingDefinitions {
        let part = usize::try_from(segment_bytes / 8).unwrap_or(usize::MAX);
        RingDefinitions {
            strings: Known::default(),
            shapes: Known::default(),
            others: Vec::new(),
            process: None,
            clock: None,
            bytes: 0,
            limit_bytes,
            others_limit_bytes: (limit_bytes / 8).min(part),
            segment: 1,
            unknown: 0,
        }
    }

    /// References that found nothing, because what they meant was forgotten.
    pub(super) fn unknown(&self) -> u64 {
        self.unknown
    }

    /// Remembers the rows of a batch that the current segment has. Only definitions, and the newest clock.
    pub(super) fn learn(&mut self, batch: &Batch, rows: usize) {
        if batch.table == &CLOCK && rows > 0 {
            let mut newest = Batch::empty(&CLOCK);
            newest.append(batch, rows - 1..rows);
            self.clock = Some(newest);
        }
        if batch.table.role != Role::Defining || batch.check().is_err() {
            return;
        }
        if batch.table == &STRING {
            for i in 0..rows {
                let row = StringRow::from_batch(batch, i);
                self.bytes += row.bytes.len() + ENTRY_BYTES;
                let old = self.strings.insert(row.id, row.bytes.into(), self.segment);
                self.bytes -= old.map_or(0, |old| old.len() + ENTRY_BYTES);
            }
        } else if batch.table == &SHAPE {
            for i in 0..rows {
                let row = ShapeRow::from_batch(batch, i);
                if self.shapes.insert(row.id, row, self.segment).is_none() {
                    self.bytes += size_of::<ShapeRow>() + ENTRY_BYTES;
                }
            }
        } else {
            self.learn_other(batch, rows);
        }
        if self.bytes > self.limit_bytes || self.strings.by_id.len() > MOST_STRINGS {
            self.forget();
        }
    }

    pub(super) fn learn_json(&mut self, table: &'static TableSpec, value: &Value) {
        if table == &PROCESS {
            self.process = Some(value.clone());
        }
    }

    fn learn_other(&mut self, batch: &Batch, rows: usize) {
        let known = match self.others.iter_mut().position(|known| known.table == batch.table) {
            Some(i) => &mut self.others[i],
            None => {
                self.others.push(Batch::empty(batch.table));
                let last = self.others.len() - 1;
                &mut self.others[last]
            }
        };
        known.append(batch, 0..rows);
        // A program that makes streams for ever: the older half of them is no longer at work.
        while known.rows > 1 && known.size_bytes() > self.others_limit_bytes {
            let mut newer = Batch::empty(known.table);
            newer.append(known, known.rows / 2..known.rows);
            *known = newer;
        }
    }

    /// Forgets what was not used for longest, down to seven eighths of the limit; what lasts goes last.
    fn forget(&mut self) {
        let target = self.limit_bytes / 8 * 7;
        let strings = self.strings.by_id.iter().map(|(id, e)| (e.lasting, e.used, false, *id));
        let shapes = self.shapes.by_id.iter().map(|(id, e)| (true, e.used, true, *id));
        let mut all: Vec<(bool, u32, bool, u32)> = strings.chain(shapes).collect();
        all.sort_unstable();
        for (_, _, is_shape, id) in all {
            if self.bytes <= target && self.strings.by_id.len() <= MOST_STRINGS / 8 * 7 {
                return;
            }
            if is_shape {
                self.shapes.by_id.remove(&id);
                self.bytes -= size_of::<ShapeRow>() + ENTRY_BYTES;
            } else if let Some(old) = self.strings.by_id.remove(&id) {
                self.bytes -= old.value.len() + ENTRY_BYTES;
            }
        }
    }

    /// What the rows of `batch` refer to and the current segment does not have yet.
    pub(super) fn wanted_by(&mut self, batch: &Batch) -> Wanted {
        let mut wanted = Wanted::default();
        // Its columns are about to be checked by the encoder, which then says what is wrong.
        if batch.check().is_err() {
            return wanted;
        }
        let lasts = batch.table != &RANGE;
        for (column, spec) in batch.columns.iter().zip(batch.table.columns) {
            let Values::U32(ids) = &column.values else { continue };
            match spec.unit {
                unit if unit.is_shape() => each(column, ids, |id| self.want_shape(id, &mut wanted)),
                unit if unit.is_name() => each(column, ids, |id| self.want_string(id, lasts, &mut wanted)),
                _ => {}
            }
        }
        wanted
    }

    fn want_string(&mut self, id: u32, lasts: bool, wanted: &mut Wanted) {
        if self.strings.is_recent(id, lasts) {
            return;
        }
        match self.strings.by_id.get_mut(&id) {
            Some(entry) => {
                entry.used = self.segment;
                entry.lasting |= lasts;
                if std::mem::replace(&mut entry.written, self.segment) != self.segment {
                    wanted.strings.push(StringRow { id, bytes: entry.value.to_vec() });
                }
            }
            None => self.unknown += 1,
        }
    }

    fn want_shape(&mut self, id: u32, wanted: &mut Wanted) {
        if self.shapes.is_recent(id, true) {
            return;
        }
        let Some(entry) = self.shapes.by_id.get_mut(&id) else {
            self.unknown += 1;
            return;
        };
        entry.used = self.segment;
        let is_new = std::mem::replace(&mut entry.written, self.segment) != self.segment;
        let row = entry.value.clone();
        for name in [Some(row.name_id), row.demangled_id, row.base_id].into_iter().flatten().filter(|id| *id != 0) {
            self.want_string(name, true, wanted);
        }
        if is_new {
            wanted.shapes.push(row);
        }
    }

    /// Nobody knows any more what the current segment has: everything comes again with its next use.
    pub(super) fn start_over(&mut self, segment: u32) {
        self.segment = segment;
        self.strings.recent.fill(0);
        self.shapes.recent.fill(0);
        self.strings.by_id.values_mut().for_each(|entry| entry.written = 0);
        self.shapes.by_id.values_mut().for_each(|entry| entry.written = 0);
    }

    /// The next segment begins, with these definitions of at most about `most_bytes`, and what is always there.
    pub(super) fn open(&mut self, segment: u32, most_bytes: usize) -> Opening {
        self.segment = segment;
        self.strings.recent.fill(0);
        self.shapes.recent.fill(0);
        let mut shape_ids = self.shapes.by_use();
        shape_ids.truncate(most_bytes / 4 / SHAPE_FILE_BYTES);
        let mut left = most_bytes / 4 * 3;
        let mut string_ids = self.strings.by_use();
        let fit = string_ids.iter().take_while(|id| {
            let bytes = self.strings.by_id.get(id).map_or(0, |entry| entry.value.len()) + STRING_FILE_BYTES;
            let fits = left >= bytes;
            left = left.saturating_sub(bytes);
            fits
        });
        let fit = fit.count();
        string_ids.truncate(fit);
        let mut wanted = Wanted::default();
        string_ids.sort_unstable();
        for id in string_ids {
            if let Some(entry) = self.strings.by_id.get_mut(&id) {
                entry.written = segment;
                wanted.strings.push(StringRow { id, bytes: entry.value.to_vec() });
            }
        }
        shape_ids.sort_unstable();
        for id in shape_ids {
            // One whose name had no room comes with it, in front of the first row that needs both.
            let Some(entry) = self.shapes.by_id.get_mut(&id) else { continue };
            let row = entry.value.clone();
            let names = [Some(row.name_id), row.demangled_id, row.base_id].into_iter().flatten();
            let is_defined = |name: u32| {
                name == 0 || self.strings.by_id.get(&name).is_none_or(|string| string.written == segment)
            };
            if names.into_iter().all(is_defined) {
                entry.written = segment;
                wanted.shapes.push(row);
            }
        }
        let others: Vec<Batch> = self.others.clone();
        for batch in &others {
            for (column, spec) in batch.columns.iter().zip(batch.table.columns) {
                if let (Values::U32(ids), true) = (&column.values, spec.unit.is_name()) {
                    each(column, ids, |id| self.want_string(id, true, &mut wanted));
                }
            }
        }
        Opening { process: self.process.clone(), definitions: wanted, others, clock: self.clock.clone() }
    }
}

/// What a segment begins with.
pub(super) struct Opening {
    pub process: Option<Value>,
    pub definitions: Wanted,
    pub others: Vec<Batch>,
    pub clock: Option<Batch>,
}

/// Each id that stands for something, repetitions in a row left out.
fn each(column: &Column, ids: &[u32], mut f: impl FnMut(u32)) {
    let mut last = 0;
    for (i, &id) in ids.iter().enumerate() {
        if id != last && id != 0 && !column.is_null(i) {
            f(id);
        }
        last = id;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::kernel::KernelBuilder;
    use crate::tables::{KERNEL, KernelRow};

    fn strings(ids: std::ops::Range<u32>, bytes: usize) -> Batch {
        let mut builder = StringBuilder::default();
        ids.for_each(|id| builder.push(StringRow { id, bytes: vec![b'x'; bytes] }));
        builder.take()
    }

    fn shapes(ids: std::ops::Range<u32>) -> Batch {
        let mut builder = ShapeBuilder::default();
        ids.for_each(|id| builder.push(ShapeRow { id, name_id: id, ..ShapeRow::default() }));
        builder.take()
    }

    fn kernels(shapes: &[u32]) -> Batch {
        let mut builder = KernelBuilder::default();
        shapes.iter().for_each(|&shape_id| builder.push(KernelRow { shape_id, ..KernelRow::default() }));
        builder.take()
    }

    fn rows(wanted: Wanted) -> Vec<(&'static str, usize)> {
        wanted.batches().map(|batch| (batch.table.name, batch.rows)).collect()
    }

    #[test]
    fn what_a_segment_did_not_open_with_comes_before_its_first_use_and_once() {
        let mut definitions = RingDefinitions::new(1 << 20, 1 << 20);
        definitions.learn(&strings(1..101, 20), 100);
        definitions.learn(&shapes(1..101), 100);
        assert_eq!(rows(definitions.wanted_by(&kernels(&[1, 2, 100]))), [], "defined in this very segment");
        let opening = definitions.open(2, 0);
        assert_eq!(rows(opening.definitions), []);
        assert_eq!(rows(definitions.wanted_by(&kernels(&[5, 5, 0, 7, 5]))), [("string", 2), ("shape", 2)]);
        assert_eq!(rows(definitions.wanted_by(&kernels(&[7, 5]))), []);
        // What was used last comes first where there is room for a part.
        let opening = definitions.open(3, 4 * 2 * SHAPE_FILE_BYTES);
        let found: Vec<Batch> = opening.definitions.batches().collect();
        let ids = |batch: &Batch| (0..batch.rows).map(|i| StringRow::from_batch(batch, i).id).collect::<Vec<_>>();
        assert_eq!((found.len(), ids(&found[0])), (2, vec![5, 7, 98, 99, 100]));
        assert_eq!((found[1].rows, ShapeRow::from_batch(&found[1], 0).id), (2, 5));
        assert_eq!(rows(definitions.wanted_by(&kernels(&[7, 5]))), []);
        assert_eq!(rows(definitions.wanted_by(&kernels(&[100, 9]))), [("string", 1), ("shape", 2)]);
        assert_eq!(definitions.unknown(), 0);
    }

    #[test]
    fn memory_is_bounded_and_what_is_in_use_is_not_forgotten() {
        let mut definitions = RingDefinitions::new(100_000, 1 << 20);
        definitions.learn(&strings(1..11, 50), 10);
        definitions.learn(&shapes(1..11), 10);
        for segment in 2..200_u32 {
            definitions.open(segment, 1_000);
            let first = segment * 100;
            definitions.learn(&strings(first..first + 100, 50), 100);
            let wanted = definitions.wanted_by(&kernels(&(1..11).collect::<Vec<_>>()));
            assert!(wanted.batches().all(|b| b.rows <= 10));
            assert!(definitions.bytes <= 100_000);
        }
        assert_eq!(definitions.unknown(), 0);
        assert_eq!(rows(definitions.wanted_by(&kernels(&[11]))), []);
        assert_eq!(definitions.unknown(), 1, "a shape that nobody ever defined");
    }

    #[test]
    fn ranges_with_ever_new_names_do_not_push_out_the_names_of_calls() {
        use crate::tables::api::ApiBuilder;
        use crate::tables::range::RangeBuilder;
        use crate::tables::{ApiRow, RangeRow};
        let mut definitions = RingDefinitions::new(100_000, 1 << 20);
        definitions.learn(&strings(1..21, 50), 20);
        // Ten launch shapes, one of whose names is also that of a range.
        let mut builder = RangeBuilder::default();
        builder.push(RangeRow { name_id: 15, ..RangeRow::default() });
        assert_eq!(rows(definitions.wanted_by(&builder.take())), []);
        assert_eq!(rows(definitions.wanted_by(&shapes(11..21))), []);
        definitions.learn(&shapes(11..21), 10);
        assert_eq!(rows(definitions.wanted_by(&kernels(&(11..21).collect::<Vec<_>>()))), []);
        let calls = || {
            let mut builder = ApiBuilder::default();
            (1..11).for_each(|name_id| builder.push(ApiRow { name_id, ..ApiRow::default() }));
            builder.take()
        };
        assert_eq!(rows(definitions.wanted_by(&calls())), []);
        for segment in 2..100_u32 {
            definitions.open(segment, 1_000);
            let names = segment * 100..segment * 100 + 100;
            definitions.learn(&strings(names.clone(), 50), 100);
            let mut builder = RangeBuilder::default();
            names.for_each(|name_id| builder.push(RangeRow { name_id, ..RangeRow::default() }));
            assert_eq!(rows(definitions.wanted_by(&builder.take())), []);
        }
        definitions.open(100, 0);
        assert_eq!(rows(definitions.wanted_by(&calls())), [("string", 10)]);
        let all = kernels(&(11..21).collect::<Vec<_>>());
        assert_eq!(rows(definitions.wanted_by(&all)), [("string", 10), ("shape", 10)]);
        assert_eq!(definitions.unknown(), 0);
    }

    #[test]
    fn streams_without_end_keep_the_newer_ones() {
        use crate::tables::StreamRow;
        use crate::tables::stream::StreamBuilder;
        let mut definitions = RingDefinitions::new(1 << 20, 64 << 10);
        for stream in 0..10_000_u32 {
            let mut builder = StreamBuilder::default();
            builder.push(StreamRow { stream, ..StreamRow::default() });
            definitions.learn(&builder.take(), 1);
        }
        let opening = definitions.open(2, 1 << 20);
        let [streams] = &opening.others[..] else { panic!("{}", opening.others.len()) };
        assert!(streams.size_bytes() <= 8 << 10 && streams.rows > 100, "{}", streams.rows);
        assert_eq!(StreamRow::from_batch(streams, streams.rows - 1).stream, 9_999);
        assert_eq!(KERNEL.name, "kernel");
    }
}
