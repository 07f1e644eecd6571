//! A row: which records it shows, in which lanes, and how it looks from afar.

use super::column::Column;
use super::field;
use super::levels::{self, Bin, Scale, Slice, Spans};
use super::model::{Field, Model, Shown, Store, StoreKind};
use super::records::links_grow;
use crate::lines::lanes::FirstFree;
pub use crate::lines::page::{Quantity, RowKind};
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use std::io::{Read, Write};

/// Records of a tile of level 0.
pub const RECORDS_PER_TILE: usize = 4096;
/// A row of no more tiles of records has none of bins: pages draw so few records as they are.
const TILES_AS_RECORDS: usize = 2;

/// One row.
#[derive(Debug)]
pub struct Row {
    /// What it shows.
    pub kind: RowKind,
    /// The row it is below of.
    pub parent: Option<usize>,
    /// What it is called.
    pub label: String,
    /// The table its records count for, or what they are called where they are in no table; none where they are shown
    /// a second time.
    pub table: Option<&'static str>,
    /// Whether what it shows belongs to what its parent shows while that is closed.
    pub adds_up: bool,
    /// Where its records are.
    pub kept: Option<StoreKind>,
    /// Its records, in order of start.
    pub members: Vec<u32>,
    /// Lanes of its records; nothing where all are in lane 0.
    pub lanes: Column,
    /// How many lanes there are.
    pub lane_count: u32,
    /// Fields that some of its records have, as places in [`Store::fields`], and whether they grow.
    pub fields: Vec<(usize, bool)>,
    /// Whether the other side of any of its records is known: the call, or the work that a call launched.
    pub linked: bool,
    /// Whether the other sides are all in one row and follow each other as the records do.
    pub links_grow: bool,
    /// How long anything of it was running.
    pub busy_ns: u64,
    /// Its longest record.
    pub max_duration_ns: u64,
    /// First start and last end of each tile of records.
    pub tile_spans: Vec<(u64, u64)>,
    /// The coarsest level; 0 where there are only records.
    pub levels: u32,
    /// Tiles of bins by level, from 1 on.
    pub tiles: Vec<Vec<(u64, Packed)>>,
    /// What a counter counts.
    pub counter: Option<Quantity>,
    /// The largest value of a counter, in thousandths.
    pub max_thousandths: i64,
}

impl Row {
    /// A row without records.
    pub(super) fn heading(kind: RowKind, parent: Option<usize>, label: String) -> Row {
        Row {
            kind,
            parent,
            label,
            table: None,
            adds_up: true,
            kept: None,
            members: Vec::new(),
            lanes: Column::default(),
            lane_count: 0,
            fields: Vec::new(),
            linked: false,
            links_grow: false,
            busy_ns: 0,
            max_duration_ns: 0,
            tile_spans: Vec::new(),
            levels: 0,
            tiles: Vec::new(),
            counter: None,
            max_thousandths: 0,
        }
    }

    /// The records of the row.
    pub fn store<'m>(&self, model: &'m Model) -> Option<&'m Store> {
        self.kept.map(|kept| model.store(kept))
    }

    /// The place of a record in this row.
    pub fn position(&self, record: u32) -> Option<u64> {
        self.members.binary_search(&record).ok().map(|i| i as u64)
    }

    /// Finds lanes, spans of tiles and which fields are in use, and what the row looks like from afar.
    pub(super) fn prepare(&mut self, model: &Model, scale: Scale) -> (Vec<Bin>, Spans) {
        let Some(store) = self.store(model) else { return Default::default() };
        let spans = || self.members.iter().map(|&i| store.span(i as usize));
        let (lanes, lane_count) = lanes(spans());
        let tile_spans = self.members.chunks(RECORDS_PER_TILE).map(|tile| {
            let all = tile.iter().map(|&i| store.span(i as usize));
            all.reduce(|(start, a), (_, b)| (start, a.max(b))).unwrap_or_default()
        });
        let tile_spans = tile_spans.collect();
        let used = |values: &Column| {
            !values.is_all_null() && self.members.iter().any(|&i| values.get(i as usize).is_some())
        };
        // Most ids grow along a row, and take a third of the room as differences.
        let grows = |values: &Column| {
            let mut all = self.members.iter().map(|&i| values.get(i as usize));
            let mut last = Some(0);
            all.all(|value| value >= std::mem::replace(&mut last, value))
        };
        let shown = |field: &Field| match field.shown {
            Shown::Always => used(&field.values),
            Shown::Once => self.table.is_some() && used(&field.values),
            Shown::Never => false,
        };
        let fields = (0..store.fields.len()).filter(|&f| shown(&store.fields[f]));
        let fields = fields.map(|f| (f, grows(&store.fields[f].values))).collect();
        let linked = used(store.field(field::LAUNCH)) || used(store.field(field::GPU));
        let links_grow = linked && links_grow(model, self);
        let max_duration_ns = spans().map(|(start, end)| end - start).max().unwrap_or(0);
        let slices = self.members.iter().map(|&i| {
            let (start_ns, end_ns) = store.span(i as usize);
            Slice { start_ns, end_ns, name: store.name.id(i as usize, 0) }
        });
        let (bins, busy) = levels::finest(slices, scale.base_bin_ns);
        (self.lanes, self.lane_count, self.tile_spans) = (lanes, lane_count, tile_spans);
        (self.fields, self.linked, self.links_grow) = (fields, linked, links_grow);
        self.max_duration_ns = max_duration_ns;
        (bins, busy)
    }

    /// Makes all tiles of bins from the finest level.
    pub(super) fn pack(&mut self, finest: &[Bin], busy: &Spans, scale: Scale) {
        self.busy_ns = busy.iter().map(|(start, end)| end - start).sum();
        if self.kept.is_some() && self.tile_spans.len() <= TILES_AS_RECORDS {
            return;
        }
        self.levels = scale.levels;
        let pack =
            |bins: &[Bin]| levels::tiles(bins).into_iter().map(|(i, bytes)| (i, Packed::new(bytes))).collect();
        self.tiles = vec![pack(finest)];
        let mut bins = levels::coarser(finest);
        for level in 2..=scale.levels {
            self.tiles.push(pack(&bins));
            if level < scale.levels {
                bins = levels::coarser(&bins);
            }
        }
    }

    /// A tile of bins; nothing where it has none.
    pub fn bins_tile(&self, level: u32, index: u64) -> Option<Vec<u8>> {
        let tiles = self.tiles.get((level as usize).checked_sub(1)?)?;
        let at = tiles.binary_search_by_key(&index, |(i, _)| *i).ok()?;
        Some(tiles[at].1.unpack())
    }
}

/// For slices in order of start the first lane that is free, from 0, and how many lanes that takes.
fn lanes(slices: impl Iterator<Item = (u64, u64)>) -> (Column, u32) {
    let mut column = Column::default();
    let mut lanes = FirstFree::default();
    for (start, end) in slices {
        let lane = lanes.place(start, end);
        // Lane 0 is left out until there is another: most rows need no lanes at all.
        column.push((lane > 0 || !column.is_all_null()).then_some(u64::from(lane)));
    }
    (column, lanes.count())
}

/// A tile at rest. A row that one long record covers has tiles that are nearly all the same byte.
#[derive(Debug)]
pub enum Packed {
    /// The bytes as they are.
    Plain(Box<[u8]>),
    /// Deflated.
    Deflated(Box<[u8]>),
}

/// Deflating a smaller tile takes longer than it is worth.
const WORTH_DEFLATING_BYTES: usize = 1024;

impl Packed {
    pub(super) fn new(bytes: Vec<u8>) -> Packed {
        if bytes.len() < WORTH_DEFLATING_BYTES {
            return Packed::Plain(bytes.into());
        }
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
        match encoder.write_all(&bytes).and_then(|()| encoder.finish()) {
            Ok(deflated) => Packed::Deflated(deflated.into()),
            Err(_) => Packed::Plain(bytes.into()),
        }
    }

    fn unpack(&self) -> Vec<u8> {
        match self {
            Packed::Plain(bytes) => bytes.to_vec(),
            Packed::Deflated(deflated) => {
                let mut bytes = Vec::new();
                // What was deflated into memory here inflates; there is nobody to tell if it did not.
                let _ = DeflateDecoder::new(&**deflated).read_to_end(&mut bytes);
                bytes
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(slices: &[(u64, u64)]) -> (Vec<u32>, u32) {
        let (column, count) = lanes(slices.iter().copied());
        ((0..slices.len()).map(|i| column.id(i, 0)).collect(), count)
    }

    #[test]
    fn slices_take_the_first_free_lane() {
        assert_eq!(of(&[]), (vec![], 0));
        assert_eq!(of(&[(0, 10), (10, 20), (20, 20), (20, 30)]), (vec![0, 0, 0, 0], 1));
        assert_eq!(of(&[(0, 10), (5, 15), (9, 12), (10, 11), (12, 13)]), (vec![0, 1, 2, 0, 0], 3));
    }

    #[test]
    fn the_lane_of_what_nests_is_its_depth() {
        let nested = [(0, 100), (0, 50), (10, 20), (20, 50), (20, 30), (50, 100), (100, 100), (100, 200)];
        assert_eq!(of(&nested), (vec![0, 1, 2, 2, 3, 1, 0, 0], 4));
    }

    #[test]
    fn no_two_slices_of_a_lane_overlap_and_no_lane_is_wasted() {
        let mut state = 7_u64;
        let mut next = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let mut slices = Vec::new();
        for _ in 0..2_000 {
            let start = next(10_000);
            slices.push((start, start + next(200)));
        }
        slices.sort_unstable();
        let (lanes, count) = of(&slices);
        let mut last = vec![0; count as usize];
        for (&(start, end), &lane) in slices.iter().zip(&lanes) {
            assert!((0..lane as usize).all(|lower| last[lower] > start), "a lower lane was free");
            assert!(last[lane as usize] <= start, "two slices overlap");
            last[lane as usize] = end;
        }
        assert!((0..count).all(|lane| lanes.contains(&lane)));
    }
}
