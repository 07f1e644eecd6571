//! Level of detail: what happened in bins of time, each level four times as coarse as the one before.

use super::varint::Writer;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// How many bins of one level make one of the next.
pub const BIN_FACTOR: u64 = 4;
/// Bins of a tile.
pub const BINS_PER_TILE: u64 = 1024;
/// Bins that the finest level has at least, as long as they are not shorter than 1 ns: headings have no records to
/// show when one looks closer.
const FEWEST_BINS: u64 = 16_384;
/// Bins that the finest level has at most, whatever the trace.
const MOST_BINS: u64 = 1 << 20;
/// Records per bin in the busiest row, on average: a page draws records, not bins, where there are few.
const RECORDS_PER_BIN: u64 = 8;

/// How time is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    /// Length of the timeline.
    pub duration_ns: u64,
    /// Width of the finest bins, a power of two.
    pub base_bin_ns: u64,
    /// The coarsest level, on which one tile covers everything. The finest is 1; level 0 is records.
    pub levels: u32,
}

impl Scale {
    /// The scale for a timeline whose busiest row has this many records.
    pub fn new(duration_ns: u64, records: u64) -> Scale {
        let bins = (records / RECORDS_PER_BIN).clamp(FEWEST_BINS, MOST_BINS);
        let base_bin_ns = (duration_ns / bins + 1).next_power_of_two();
        let mut scale = Scale { duration_ns, base_bin_ns, levels: 1 };
        while scale.bin_ns(scale.levels).saturating_mul(BINS_PER_TILE) <= duration_ns {
            scale.levels += 1;
        }
        scale
    }

    /// Width of the bins of a level from 1 on.
    pub fn bin_ns(self, level: u32) -> u64 {
        self.base_bin_ns.saturating_mul(BIN_FACTOR.saturating_pow(level.saturating_sub(1)))
    }
}

/// One record, as bins see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// Begin.
    pub start_ns: u64,
    /// End.
    pub end_ns: u64,
    /// Name, as an id of the page.
    pub name: u32,
}

/// What happened in a span of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bin {
    /// Which span, counted in bins of the level.
    pub index: u64,
    /// Records that start in it.
    pub count: u64,
    /// How much of it is covered by records.
    pub busy_ns: u64,
    /// The longest record that reaches into it, by its place in the row.
    pub longest: u32,
    /// How long that is.
    pub longest_ns: u64,
    /// What it is called.
    pub name: u32,
}

/// Stretches of time, in order and apart from each other.
pub type Spans = Vec<(u64, u64)>;

/// A record that may reach into bins to come: the longest first, of two the one that starts first.
type Open = (u64, Reverse<u32>, Slice);

struct ByLength(Open);

impl PartialEq for ByLength {
    fn eq(&self, other: &Self) -> bool {
        (self.0.0, self.0.1) == (other.0.0, other.0.1)
    }
}
impl Eq for ByLength {}
impl PartialOrd for ByLength {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for ByLength {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.0.0, self.0.1).cmp(&(other.0.0, other.0.1))
    }
}

/// The bins of the finest level that have anything in them, and when the row was busy. Slices come in order of start.
///
/// Takes a time that grows with records and bins, not with how many records overlap.
pub fn finest(slices: impl Iterator<Item = Slice>, base_bin_ns: u64) -> (Vec<Bin>, Spans) {
    let mut slices = slices.enumerate().peekable();
    let mut open: BinaryHeap<ByLength> = BinaryHeap::new();
    let mut bins = Vec::new();
    let mut spans = Spans::new();
    let mut index = 0;
    loop {
        // What ended before this bin reaches into no later one either.
        let begin = index * base_bin_ns;
        while open.peek().is_some_and(|ByLength((_, _, slice))| slice.end_ns <= begin && slice.start_ns < begin) {
            open.pop();
        }
        if open.is_empty() {
            let Some((_, next)) = slices.peek() else { break };
            index = next.start_ns / base_bin_ns;
        }
        let end = (index + 1).saturating_mul(base_bin_ns);
        let mut count = 0;
        while let Some((i, slice)) = slices.next_if(|(_, slice)| slice.start_ns < end) {
            count += 1;
            open.push(ByLength((slice.end_ns - slice.start_ns, Reverse(i as u32), slice)));
            cover(&mut spans, slice.start_ns, slice.end_ns);
        }
        if let Some(ByLength((longest_ns, Reverse(longest), slice))) = open.peek() {
            let (longest, longest_ns, name) = (*longest, *longest_ns, slice.name);
            bins.push(Bin { index, count, busy_ns: 0, longest, longest_ns, name });
        }
        index += 1;
    }
    fill_busy(&mut bins, &spans, base_bin_ns);
    (bins, spans)
}

/// Adds a span that starts no earlier than any before it.
fn cover(spans: &mut Spans, start: u64, end: u64) {
    match spans.last_mut() {
        Some(last) if start <= last.1 => last.1 = last.1.max(end),
        _ if end > start => spans.push((start, end)),
        _ => {}
    }
}

/// Says how much of every bin is covered; every covered bin is among them.
fn fill_busy(bins: &mut [Bin], spans: &Spans, bin_ns: u64) {
    bins.iter_mut().for_each(|bin| bin.busy_ns = 0);
    let mut at = 0;
    for &(start, end) in spans {
        while bins.get(at).is_some_and(|bin| (bin.index + 1).saturating_mul(bin_ns) <= start) {
            at += 1;
        }
        // The next span may begin in the bin where this one ends.
        while let Some(bin) = bins.get_mut(at).filter(|bin| bin.index * bin_ns < end) {
            let last = (bin.index + 1).saturating_mul(bin_ns);
            bin.busy_ns += end.min(last) - start.max(bin.index * bin_ns);
            if end < last {
                break;
            }
            at += 1;
        }
    }
}

/// The next coarser level.
pub fn coarser(bins: &[Bin]) -> Vec<Bin> {
    let mut out: Vec<Bin> = Vec::with_capacity(bins.len() / 2);
    for bin in bins {
        let index = bin.index / BIN_FACTOR;
        match out.last_mut().filter(|last| last.index == index) {
            Some(last) => {
                last.count += bin.count;
                last.busy_ns += bin.busy_ns;
                take_longer(last, bin);
            }
            None => out.push(Bin { index, ..*bin }),
        }
    }
    out
}

/// Of two records that are as long the one that comes first in the row, or has the smaller name.
fn take_longer(bin: &mut Bin, other: &Bin) {
    let rank = |bin: &Bin| (bin.longest_ns, Reverse(bin.longest), Reverse(bin.name));
    if rank(other) > rank(bin) {
        (bin.longest, bin.longest_ns, bin.name) = (other.longest, other.longest_ns, other.name);
    }
}

/// Bins of a heading, which stands for several rows: its longest record has no place in it.
#[derive(Default)]
pub struct Union {
    bins: Vec<Bin>,
    spans: Spans,
}

impl Union {
    /// Adds what is in a row.
    pub fn add(&mut self, bins: &[Bin], spans: &[(u64, u64)]) {
        let old = std::mem::take(&mut self.bins);
        self.bins.reserve(old.len().max(bins.len()));
        let (mut a, mut b) = (old.iter().peekable(), bins.iter().peekable());
        loop {
            let takes_a = match (a.peek(), b.peek()) {
                (Some(x), Some(y)) => x.index <= y.index,
                (Some(_), None) => true,
                (None, Some(_)) => false,
                (None, None) => break,
            };
            let Some(next) = (if takes_a { a.next() } else { b.next() }) else { break };
            let next = Bin { longest: 0, ..*next };
            match self.bins.last_mut().filter(|last| last.index == next.index) {
                Some(last) => {
                    last.count += next.count;
                    take_longer(last, &next);
                }
                None => self.bins.push(next),
            }
        }
        self.spans = union(&self.spans, spans);
    }

    /// The bins and the busy time of all rows together.
    pub fn finish(mut self, base_bin_ns: u64) -> (Vec<Bin>, Spans) {
        fill_busy(&mut self.bins, &self.spans, base_bin_ns);
        (self.bins, self.spans)
    }
}

/// What either covers.
fn union(a: &[(u64, u64)], b: &[(u64, u64)]) -> Spans {
    let mut out = Spans::with_capacity(a.len().max(b.len()));
    let (mut a, mut b) = (a.iter().peekable(), b.iter().peekable());
    loop {
        let takes_a = match (a.peek(), b.peek()) {
            (Some(x), Some(y)) => x.0 <= y.0,
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (None, None) => return out,
        };
        if let Some(&(start, end)) = if takes_a { a.next() } else { b.next() } {
            cover(&mut out, start, end);
        }
    }
}

/// The tiles of one level: their numbers and bytes. Tiles without bins are left out.
pub fn tiles(bins: &[Bin]) -> Vec<(u64, Vec<u8>)> {
    let of_tile = bins.chunk_by(|a, b| a.index / BINS_PER_TILE == b.index / BINS_PER_TILE);
    let encode = |bins: &[Bin]| {
        let tile = bins[0].index / BINS_PER_TILE;
        let mut out = Writer::default();
        out.put(bins.len() as u64);
        out.deltas(bins.iter().map(|bin| bin.index % BINS_PER_TILE));
        bins.iter().for_each(|bin| out.put(bin.count));
        bins.iter().for_each(|bin| out.put(bin.busy_ns));
        bins.iter().for_each(|bin| out.put(u64::from(bin.longest)));
        bins.iter().for_each(|bin| out.put(bin.longest_ns));
        bins.iter().for_each(|bin| out.put(u64::from(bin.name)));
        (tile, out.into_bytes())
    };
    of_tile.map(encode).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slices(list: &[(u64, u64)]) -> impl Iterator<Item = Slice> + '_ {
        list.iter().zip(1..).map(|(&(start_ns, end_ns), name)| Slice { start_ns, end_ns, name })
    }

    #[test]
    fn one_tile_of_the_coarsest_level_covers_everything() {
        for duration in [0, 1, 5, 16_383, 16_384, 16_385, 1 << 20, (1 << 30) + 7, 1 << 50, (1 << 53) - 1] {
            for records in [0, 100, 1_000_000, u64::MAX] {
                let scale = Scale::new(duration, records);
                let top = scale.bin_ns(scale.levels);
                assert!(top * BINS_PER_TILE > duration, "{scale:?}");
                assert!(scale.levels == 1 || top / 4 * BINS_PER_TILE <= duration, "{scale:?}");
                assert!(duration / scale.base_bin_ns <= MOST_BINS, "{scale:?}");
            }
        }
    }

    #[test]
    fn a_bin_knows_what_starts_in_it_what_covers_it_and_its_longest() {
        let (bins, spans) = finest(slices(&[(1, 3), (2, 25), (5, 5), (30, 40), (39, 41), (90, 90)]), 10);
        assert_eq!(spans, [(1, 25), (30, 41)]);
        let found: Vec<_> =
            bins.iter().map(|b| (b.index, b.count, b.busy_ns, b.longest, b.longest_ns, b.name)).collect();
        assert_eq!(
            found,
            [
                (0, 3, 9, 1, 23, 2),
                (1, 0, 10, 1, 23, 2),
                (2, 0, 5, 1, 23, 2),
                (3, 2, 10, 3, 10, 4),
                (4, 0, 1, 4, 2, 5),
                (9, 1, 0, 5, 0, 6)
            ]
        );
        let coarse = coarser(&bins);
        assert_eq!(
            coarse.iter().map(|b| (b.index, b.count, b.busy_ns, b.longest)).collect::<Vec<_>>(),
            [(0, 5, 34, 1), (1, 0, 1, 4), (2, 1, 0, 5)]
        );
    }

    #[test]
    fn a_heading_counts_all_rows_and_time_once() {
        let mut heading = Union::default();
        for list in [&[(0, 10), (20, 30)][..], &[(5, 25)], &[], &[(28, 28)]] {
            let (bins, spans) = finest(slices(list), 10);
            heading.add(&bins, &spans);
        }
        let (bins, spans) = heading.finish(10);
        assert_eq!(spans, [(0, 30)]);
        assert_eq!(
            bins.iter().map(|b| (b.index, b.count, b.busy_ns, b.longest_ns)).collect::<Vec<_>>(),
            [(0, 2, 10, 20), (1, 0, 10, 20), (2, 2, 10, 20)]
        );
    }
}
