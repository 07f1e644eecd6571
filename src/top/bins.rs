//! Sums per tenth of a second. Nothing here is as long as the program's run.

use super::busy::Busy;
use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use std::collections::VecDeque;

/// Length of a bin in nanoseconds.
pub const BIN_NS: i64 = 100_000_000;
/// Kernels of one bin that are summed by name; the rest is summed as [`OTHERS`].
const MOST_KERNELS: usize = 4_096;
/// The group of kernels beyond what a bin tells apart.
pub const OTHERS: u32 = u32::MAX;
/// Bins behind the newest whose stretches of work are kept: work that comes later than that is in no busy share.
const KEPT_APART: i64 = 100;

/// Kernels of one name on one device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kernels {
    /// How many started.
    pub count: u64,
    /// How long they took together, in nanoseconds.
    pub total_ns: u64,
    /// The longest, in nanoseconds.
    pub max_ns: u64,
}

impl Kernels {
    /// Adds others of the same name.
    pub fn add(&mut self, more: Kernels) {
        self.count += more.count;
        self.total_ns = self.total_ns.saturating_add(more.total_ns);
        self.max_ns = self.max_ns.max(more.max_ns);
    }
}

/// Copies of one kind on one device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Copies {
    /// How many started.
    pub count: u64,
    /// Bytes.
    pub bytes: u64,
    /// How long they took together, in nanoseconds.
    pub total_ns: u64,
}

impl Copies {
    /// Adds others of the same kind.
    pub fn add(&mut self, more: Copies) {
        self.count += more.count;
        self.bytes = self.bytes.saturating_add(more.bytes);
        self.total_ns = self.total_ns.saturating_add(more.total_ns);
    }
}

/// How work waited between its launch and its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// Pieces of work whose launch is known.
    pub count: u64,
    /// From the start of the call to the start on the GPU, together, in nanoseconds.
    pub total_ns: u64,
    /// The longest of them.
    pub max_ns: u64,
    /// From the start of the call to the end on the GPU, together: divided by a time it is how many were launched and
    /// not finished at a moment of it.
    pub open_ns: u64,
}

impl Waits {
    /// Adds others.
    pub fn add(&mut self, more: Waits) {
        self.count += more.count;
        self.total_ns = self.total_ns.saturating_add(more.total_ns);
        self.max_ns = self.max_ns.max(more.max_ns);
        self.open_ns = self.open_ns.saturating_add(more.open_ns);
    }
}

/// What is counted once per process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Records of all kinds.
    pub records: u64,
    /// API calls.
    pub calls: u64,
    /// API calls that launch GPU work, one call through two layers once.
    pub launches: u64,
    /// API calls that returned an error.
    pub failed: u64,
    /// Records that are known to be lost.
    pub lost: u64,
    /// Waiting.
    pub waits: Waits,
}

impl Counts {
    /// Adds others.
    pub fn add(&mut self, more: &Counts) {
        self.records += more.records;
        self.calls += more.calls;
        self.launches += more.launches;
        self.failed += more.failed;
        self.lost += more.lost;
        self.waits.add(more.waits);
    }
}

/// One tenth of a second.
#[derive(Clone, Debug, Default)]
pub struct Bin {
    /// What is counted once.
    pub counts: Counts,
    kernels: HashMap<(u32, u32), Kernels, foldhash::fast::FixedState>,
    copies: Vec<((u32, u32), Copies)>,
    busy: Vec<(u32, Busy, u64)>,
}

impl Bin {
    /// Adds a kernel of a group on a device.
    pub fn kernel(&mut self, device: u32, group: u32, ns: u64) {
        let full = self.kernels.len() >= MOST_KERNELS;
        let one = Kernels { count: 1, total_ns: ns, max_ns: ns };
        match self.kernels.entry((device, group)) {
            Entry::Occupied(mut known) => known.get_mut().add(one),
            Entry::Vacant(place) if !full => {
                place.insert(one);
            }
            Entry::Vacant(_) => self.kernels.entry((device, OTHERS)).or_default().add(one),
        }
    }

    /// Adds a copy of a kind on a device.
    pub fn copy(&mut self, device: u32, kind: u32, copy: Copies) {
        match self.copies.iter_mut().find(|(key, _)| *key == (device, kind)) {
            Some((_, copies)) => copies.add(copy),
            None => self.copies.push(((device, kind), copy)),
        }
    }

    fn work(&mut self, device: u32, stretches: &[(u32, u32)]) {
        match self.busy.iter_mut().find(|(known, ..)| *known == device) {
            Some((_, busy, _)) => busy.add(stretches),
            None => {
                let mut busy = Busy::default();
                busy.add(stretches);
                self.busy.push((device, busy, 0));
            }
        }
    }

    /// Kernels by device and group.
    pub fn kernels(&self) -> impl Iterator<Item = ((u32, u32), Kernels)> + '_ {
        self.kernels.iter().map(|(key, kernels)| (*key, *kernels))
    }

    /// Copies by device and kind.
    pub fn copies(&self) -> impl Iterator<Item = ((u32, u32), Copies)> + '_ {
        self.copies.iter().copied()
    }

    /// How long each device was at work before `until` nanoseconds of the bin.
    pub fn busy_ns(&self, until: u32) -> impl Iterator<Item = (u32, u64)> + '_ {
        self.busy.iter().map(move |(device, busy, frozen)| (*device, frozen + busy.until_ns(until)))
    }

    fn freeze(&mut self) {
        for (_, busy, frozen) in &mut self.busy {
            *frozen += busy.freeze();
        }
    }
}

/// The newest bins, without gaps.
#[derive(Debug)]
pub struct Bins {
    origin_ns: i64,
    /// Number of the first bin.
    first: i64,
    bins: VecDeque<Bin>,
    keep: usize,
    /// Numbers below are frozen.
    frozen: i64,
}

impl Bins {
    /// Bins whose borders are `origin_ns` and every [`BIN_NS`] from there; the newest `keep` are kept.
    pub fn new(origin_ns: i64, keep: usize) -> Self {
        Bins { origin_ns, first: 0, bins: VecDeque::new(), keep: keep.max(2), frozen: i64::MIN }
    }

    /// The number of the bin that holds a time.
    pub fn number(&self, time_ns: i64) -> i64 {
        time_ns.saturating_sub(self.origin_ns).div_euclid(BIN_NS)
    }

    /// When a bin begins.
    pub fn begin_ns(&self, number: i64) -> i64 {
        self.origin_ns.saturating_add(number.saturating_mul(BIN_NS))
    }

    /// The bin with this number, made if need be; `None`: it is too old.
    pub fn bin(&mut self, number: i64) -> Option<&mut Bin> {
        if self.bins.is_empty() {
            self.first = number;
        }
        let mut end = self.first + self.bins.len() as i64;
        if number >= end + self.keep as i64 {
            // Everything is older than what is kept.
            self.bins.clear();
            (self.first, end) = (number, number);
        }
        while end <= number {
            self.bins.push_back(Bin::default());
            end += 1;
            if self.bins.len() > self.keep {
                self.bins.pop_front();
                self.first += 1;
            }
        }
        if number < self.first {
            // Records come a little out of order: there may be room before the first.
            let missing = usize::try_from(self.first - number).unwrap_or(usize::MAX);
            if missing.saturating_add(self.bins.len()) > self.keep {
                return None;
            }
            (0..missing).for_each(|_| self.bins.push_front(Bin::default()));
            self.first = number;
        }
        let until = end - KEPT_APART;
        for old in self.frozen.max(self.first)..until {
            if let Some(bin) = self.bins.get_mut((old - self.first) as usize) {
                bin.freeze();
            }
        }
        self.frozen = self.frozen.max(until);
        self.bins.get_mut(usize::try_from(number - self.first).ok()?)
    }

    /// The first bin with this number or a later one that exists, up to `last`.
    pub fn range(&self, first: i64, last: i64) -> impl Iterator<Item = (i64, &Bin)> + '_ {
        let skip = usize::try_from(first.saturating_sub(self.first)).unwrap_or(0);
        let numbered = self.bins.iter().enumerate().skip(skip);
        numbered.map(|(i, bin)| (self.first + i as i64, bin)).take_while(move |(number, _)| *number <= last)
    }

    /// Adds stretches of work of a device: sorted, apart from each other.
    pub fn work(&mut self, device: u32, intervals: &[(i64, i64)]) {
        let mut stretches: Vec<(u32, u32)> = Vec::new();
        let mut open: Option<i64> = None;
        for &(from_ns, to_ns) in intervals {
            let (first, last) = (self.number(from_ns), self.number(to_ns.max(from_ns + 1) - 1));
            // What lies before all that is kept is passed over at once, however long it is.
            let oldest = self.first.max(last - self.keep as i64);
            for number in first.max(oldest.min(last))..=last {
                if open.is_some_and(|open| open != number) {
                    self.flush(device, open, &mut stretches);
                }
                open = Some(number);
                let begin_ns = self.begin_ns(number);
                let within = |time_ns: i64| (time_ns - begin_ns).clamp(0, BIN_NS) as u32;
                stretches.push((within(from_ns), within(to_ns)));
            }
        }
        self.flush(device, open, &mut stretches);
    }

    fn flush(&mut self, device: u32, number: Option<i64>, stretches: &mut Vec<(u32, u32)>) {
        if let Some(number) = number
            && number >= self.frozen
            && let Some(bin) = self.bin(number)
        {
            bin.work(device, stretches);
        }
        stretches.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn busy_ns(bins: &Bins, number: i64) -> u64 {
        bins.range(number, number).flat_map(|(_, bin)| bin.busy_ns(u32::MAX)).map(|(_, ns)| ns).sum()
    }

    #[test]
    fn work_that_crosses_borders_is_split_and_counted_once() {
        let mut bins = Bins::new(1_000, 50);
        bins.work(0, &[(1_000 + BIN_NS / 2, 1_000 + 3 * BIN_NS + 10)]);
        bins.work(0, &[(1_000, 1_000 + BIN_NS)]);
        let shares: Vec<u64> = (0..5).map(|number| busy_ns(&bins, number)).collect();
        let bin = BIN_NS as u64;
        assert_eq!(shares, [bin, bin, bin, 10, 0]);
    }

    #[test]
    fn old_bins_go_and_what_belongs_to_them_is_dropped() {
        let mut bins = Bins::new(0, 10);
        for number in 0..1_000 {
            bins.bin(number).expect("a new bin").counts.records = number as u64;
        }
        assert!(bins.bin(989).is_none());
        let kept: Vec<u64> = bins.range(0, i64::MAX).map(|(_, bin)| bin.counts.records).collect();
        assert_eq!(kept, (990..1_000).collect::<Vec<_>>());
        bins.bin(1_000_000).expect("a leap");
        assert_eq!(bins.range(0, i64::MAX).count(), 1);
    }

    #[test]
    fn kernels_beyond_what_a_bin_tells_apart_are_summed_together() {
        let mut bin = Bin::default();
        (0..10_000).for_each(|group| bin.kernel(0, group, 5));
        let total: u64 = bin.kernels().map(|(_, kernels)| kernels.count).sum();
        assert_eq!(total, 10_000);
        assert!(bin.kernels().count() <= MOST_KERNELS + 1);
    }

    #[test]
    fn an_interval_of_hours_costs_no_more_than_what_is_kept() {
        let mut bins = Bins::new(0, 10);
        bins.work(0, &[(i64::MIN / 4, 5)]);
        assert_eq!(busy_ns(&bins, 0), 5);
        assert!(bins.range(i64::MIN, i64::MAX).count() <= 11);
    }
}
