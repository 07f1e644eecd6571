//! Of each collective, how long its ranks waited and how long it then took; sums by communicator and kind; and who waited when.

use super::align::Alignment;
use super::calls::Op;
use super::collectives::Collective;
use std::collections::BTreeMap;

/// A collective on one time for all.
#[derive(Clone, Debug, PartialEq)]
pub struct Timed {
    /// Its place among those that were matched.
    pub lane: usize,
    /// What it does.
    pub op: Op,
    /// Which one it is.
    pub number: i64,
    /// Bytes of the larger side on one rank, if known.
    pub bytes: Option<u64>,
    /// Ranks in the communicator.
    pub size: u32,
    /// When each rank began: rank and time, by rank.
    pub starts_ns: Vec<(usize, i64)>,
    /// When the first rank began.
    pub first_start_ns: i64,
    /// When the last rank began.
    pub last_start_ns: i64,
    /// The rank that began last; of several the first.
    pub last_rank: usize,
    /// When the last rank was done.
    pub end_ns: i64,
    /// When the first rank was done.
    pub first_end_ns: i64,
}

impl Timed {
    /// From the first start to the last: for so long the first rank waited.
    pub fn skew_ns(&self) -> i64 {
        self.last_start_ns.saturating_sub(self.first_start_ns)
    }

    /// From the last start to the last end: nobody waits for anybody any more.
    pub fn transfer_ns(&self) -> i64 {
        self.end_ns.saturating_sub(self.last_start_ns)
    }

    /// How long all ranks together waited for the last one.
    pub fn wait_ns(&self) -> i64 {
        self.starts_ns
            .iter()
            .map(|(_, start)| self.last_start_ns.saturating_sub(*start))
            .fold(0, i64::saturating_add)
    }

    /// Bytes through the time of the transfer, in GB (10^9 bytes) a second: of the algorithm and of the bus, as `nccl-tests` defines
    /// them. `None`: bytes are not known, some rank waits for none, or there was no time.
    pub fn bandwidth_gb_per_s(&self) -> Option<(f64, f64)> {
        let ns = self.transfer_ns();
        if ns <= 0 || !self.op.waits_for_all() {
            return None;
        }
        let algorithm = self.bytes? as f64 / ns as f64;
        Some((algorithm, algorithm * self.op.bus_factor(self.size)))
    }
}

/// All collectives on one time, by start.
pub fn timed(collectives: &[Collective], alignment: &Alignment, clock_of: &[usize]) -> Vec<Timed> {
    let one = |collective: &Collective| {
        let mut starts_ns = Vec::with_capacity(collective.members.len());
        let (mut first_end_ns, mut end_ns) = (i64::MAX, i64::MIN);
        for member in &collective.members {
            let clock = clock_of[member.rank];
            let (Some(start), Some(end)) =
                (alignment.time_ns(clock, member.start_ns), alignment.time_ns(clock, member.end_ns))
            else {
                continue;
            };
            starts_ns.push((member.rank, start));
            (first_end_ns, end_ns) = (first_end_ns.min(end), end_ns.max(end));
        }
        if starts_ns.len() < 2 {
            return None;
        }
        let first_start_ns = starts_ns.iter().map(|(_, start)| *start).min()?;
        let (last_rank, last_start_ns) =
            starts_ns.iter().copied().max_by_key(|(rank, start)| (*start, std::cmp::Reverse(*rank)))?;
        Some(Timed {
            lane: collective.lane,
            op: collective.op,
            number: collective.number,
            bytes: collective.bytes,
            size: collective.size,
            starts_ns,
            first_start_ns,
            last_start_ns,
            last_rank,
            end_ns,
            first_end_ns,
        })
    };
    let mut timed: Vec<Timed> = collectives.iter().filter_map(one).collect();
    timed.sort_by_key(|c| (c.first_start_ns, c.lane, c.op, c.number));
    timed
}

/// Sums of the collectives of one communicator and kind.
#[derive(Clone, Debug, PartialEq)]
pub struct LaneSum {
    /// The communicator.
    pub lane: usize,
    /// What they do.
    pub op: Op,
    /// Ranks in the communicator.
    pub size: u32,
    /// Ranks of it that are in the traces, by place.
    pub ranks: Vec<usize>,
    /// How many.
    pub count: u64,
    /// Bytes, added up over collectives whose bytes are known; `None`: of none they are.
    pub bytes: Option<u64>,
    /// Transfers, added up.
    pub transfer_ns: i64,
    /// Skews, added up: for so long the rank that was first every time would have waited.
    pub skew_ns: i64,
    /// The median skew.
    pub median_skew_ns: i64,
    /// The largest skew.
    pub most_skew_ns: i64,
    /// Medians of the bandwidth of algorithm and bus, in GB/s.
    pub bandwidth_gb_per_s: Option<(f64, f64)>,
}

/// Sums by communicator and kind, those with the most time first.
pub fn sums(collectives: &[Timed]) -> Vec<LaneSum> {
    let mut groups: BTreeMap<(usize, Op), Vec<&Timed>> = BTreeMap::new();
    collectives.iter().for_each(|c| groups.entry((c.lane, c.op)).or_default().push(c));
    let sum = |((lane, op), all): ((usize, Op), Vec<&Timed>)| {
        let mut skews: Vec<i64> = all.iter().map(|c| c.skew_ns()).collect();
        let mut ranks: Vec<usize> = all.iter().flat_map(|c| c.starts_ns.iter().map(|(rank, _)| *rank)).collect();
        ranks.sort_unstable();
        ranks.dedup();
        let rates: Vec<(f64, f64)> = all.iter().filter_map(|c| c.bandwidth_gb_per_s()).collect();
        let middle =
            |of: fn(&(f64, f64)) -> f64| super::align::median_f64(&mut rates.iter().map(of).collect::<Vec<f64>>());
        let known: Vec<u64> = all.iter().filter_map(|c| c.bytes).collect();
        LaneSum {
            lane,
            op,
            size: all.iter().map(|c| c.size).max().unwrap_or(0),
            ranks,
            count: all.len() as u64,
            bytes: (!known.is_empty()).then(|| known.iter().fold(0_u64, |a, b| a.saturating_add(*b))),
            transfer_ns: all.iter().map(|c| c.transfer_ns()).fold(0, i64::saturating_add),
            skew_ns: skews.iter().copied().fold(0, i64::saturating_add),
            most_skew_ns: skews.iter().copied().max().unwrap_or(0),
            median_skew_ns: super::align::median(&mut skews).unwrap_or(0),
            bandwidth_gb_per_s: (!rates.is_empty()).then(|| (middle(|r| r.0), middle(|r| r.1))),
        }
    };
    let mut sums: Vec<LaneSum> = groups.into_iter().map(sum).collect();
    sums.sort_by_key(|sum| (std::cmp::Reverse(sum.transfer_ns.saturating_add(sum.skew_ns)), sum.lane, sum.op));
    sums
}

/// How long each rank waited for the last one, in each of some bins of equal length: unions, so that waits in two communicators
/// at once count once. Only in collectives in which everybody waits for everybody.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HeatMap {
    /// When the first bin begins.
    pub from_ns: i64,
    /// How long a bin is.
    pub bin_ns: i64,
    /// By rank and bin, in nanoseconds.
    pub waits_ns: Vec<Vec<i64>>,
}

impl HeatMap {
    /// Waits in `bins` bins from one moment to another.
    pub fn of(collectives: &[Timed], ranks: usize, (from_ns, to_ns): (i64, i64), bins: usize) -> HeatMap {
        let bins = bins.max(1);
        let length = to_ns.saturating_sub(from_ns).max(1);
        let bin_ns = (length.saturating_add(bins as i64 - 1) / bins as i64).max(1);
        let mut waits_ns = vec![vec![0; bins]; ranks];
        // Collectives come by their first start, and starts of one rank need not.
        let mut of_rank: Vec<Vec<(i64, i64)>> = vec![Vec::new(); ranks];
        for collective in collectives.iter().filter(|c| c.op.waits_for_all()) {
            for &(rank, start) in &collective.starts_ns {
                of_rank[rank].push((start, collective.last_start_ns));
            }
        }
        for (waits, bins_of_rank) in of_rank.iter_mut().zip(&mut waits_ns) {
            waits.sort_unstable();
            let mut counted_to = from_ns;
            for &(start, end) in waits.iter() {
                let (mut at, end) = (start.max(counted_to), end.min(to_ns));
                while at < end {
                    let bin = ((at - from_ns) / bin_ns) as usize;
                    let until = from_ns.saturating_add((bin as i64 + 1).saturating_mul(bin_ns)).min(end);
                    if let Some(sum) = bins_of_rank.get_mut(bin) {
                        *sum += until - at;
                    }
                    at = until;
                }
                counted_to = counted_to.max(end);
            }
        }
        HeatMap { from_ns, bin_ns, waits_ns }
    }

    /// How long a rank waited in all.
    pub fn wait_ns(&self, rank: usize) -> i64 {
        self.waits_ns.get(rank).map_or(0, |bins| bins.iter().copied().fold(0, i64::saturating_add))
    }
}
