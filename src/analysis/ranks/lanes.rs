//! Which kernels are of one communicator.
//!
//! PyTorch names communicators beside its kernels. Where nothing does, a communicator has a stream of its own on each rank, as NCCL
//! and PyTorch use them, and the distances from one end to the next say which streams of different ranks are of one: collectives end
//! everywhere at once, so these distances are equal whatever the clocks show, and those of other communicators are not.

use super::calls::{Call, Group};
use std::collections::{BTreeMap, BTreeSet};

/// A communicator, as far as it is known.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lane {
    /// The trace names it.
    Named(Group),
    /// Streams whose collectives end together, counted from 1, and the numbers of their ranks.
    Found(u32, Vec<u32>),
    /// The n-th of the other streams with communication on every rank, counted from 1.
    Stream(u32),
    /// All kernels that nothing tells apart: ranks have different numbers of such streams.
    All,
}

/// Ranks of a communicator that are listed, at most.
const MOST_LISTED: usize = 8;

impl Lane {
    /// As users read it.
    pub fn text(&self) -> String {
        match self {
            Lane::Named(group) if group.ranks.is_empty() => format!("group {}", group.name),
            Lane::Named(group) => format!("group {} {}", group.name, group.ranks),
            Lane::Found(number, ranks) if ranks.len() > MOST_LISTED => {
                format!("communicator {number} of {} ranks", ranks.len())
            }
            Lane::Found(number, ranks) => format!("communicator {number} {ranks:?}"),
            Lane::Stream(number) => format!("communication stream {number}"),
            Lane::All => "all streams".to_owned(),
        }
    }
}

/// Collectives in which everybody waits for everybody that a stream needs to be told by its ends.
const LEAST_ENDS: usize = 4;

/// Distances between ends that belong together differ by this much in any case.
const CLOSE_NS: u64 = 20_000;

/// A stream that has found no other one so may differ by this share of what its kernels take: one of so many.
const SHARE: u64 = 10;

/// A stream of a rank.
struct Stream<'c> {
    rank: usize,
    calls: Vec<&'c Call>,
}

/// All communicators, and the place of each call's among them. Calls come with the place of their rank; `numbers` has the ranks'
/// numbers, and `groups` are what calls refer to.
pub fn lanes(calls: &[(usize, Call)], groups: &[Group], numbers: &[u32]) -> (Vec<Lane>, Vec<usize>) {
    type Key = (usize, u32, u32);
    let key = |rank: usize, call: &Call| -> Key { (rank, call.device, call.stream) };
    let mut unnamed: BTreeMap<Key, Vec<&Call>> = BTreeMap::new();
    for (rank, call) in calls.iter().filter(|(_, call)| call.said.is_none()) {
        unnamed.entry(key(*rank, call)).or_default().push(call);
    }
    let mut streams: Vec<(Key, Vec<&Call>)> = unnamed.into_iter().collect();
    streams.iter_mut().for_each(|(_, calls)| calls.sort_by_key(|call| (call.start_ns, call.end_ns)));
    // By rank, and there by when they were used first.
    streams.sort_by_key(|(key, calls)| (key.0, calls.first().map(|call| call.start_ns), *key));

    let mut keys = Vec::new();
    let mut told = Vec::new();
    let mut others: BTreeMap<usize, Vec<Key>> = BTreeMap::new();
    for (key, calls) in streams {
        let joint: Vec<&Call> = calls.into_iter().filter(|call| call.op.waits_for_all()).collect();
        if joint.len() >= LEAST_ENDS {
            keys.push(key);
            told.push(Stream { rank: key.0, calls: joint });
        } else {
            others.entry(key.0).or_default().push(key);
        }
    }
    let mut lanes: Vec<Lane> = groups.iter().cloned().map(Lane::Named).collect();
    let mut lane_of: BTreeMap<Key, usize> = BTreeMap::new();
    for (number, cluster) in (1..).zip(clusters(&told)) {
        lane_of.extend(cluster.iter().map(|at| (keys[*at], lanes.len())));
        let mut ranks: Vec<u32> = cluster.iter().filter_map(|at| numbers.get(told[*at].rank)).copied().collect();
        ranks.sort_unstable();
        lanes.push(Lane::Found(number, ranks));
    }
    let counts: BTreeSet<usize> = others.values().map(Vec::len).collect();
    if let (Some(count), 1) = (counts.first(), counts.len()) {
        for (place, key) in others.values().flat_map(|keys| keys.iter().enumerate()) {
            lane_of.insert(*key, lanes.len() + place);
        }
        lanes.extend((1..=*count as u32).map(Lane::Stream));
    }
    lanes.push(Lane::All);
    let all = lanes.len() - 1;
    let of = |(rank, call): &(usize, Call)| match &call.said {
        Some(said) => said.group.min(all),
        None => lane_of.get(&key(*rank, call)).copied().unwrap_or(all),
    };
    let of_calls = calls.iter().map(of).collect();
    (lanes, of_calls)
}

/// Streams of different ranks that end together, each set by the first of its streams.
fn clusters(streams: &[Stream]) -> Vec<Vec<usize>> {
    let mut clusters: Vec<Vec<usize>> = Vec::new();
    // Every cluster is held against its first stream.
    let nearest = |clusters: &[Vec<usize>], at: usize, close_ns: u64| -> Option<usize> {
        let fits = |(index, cluster): (usize, &Vec<usize>)| {
            let known = |other: &usize| *other == at || streams[*other].rank == streams[at].rank;
            let first = *cluster.first()?;
            if cluster.iter().any(known) {
                return None;
            }
            let (_, apart) = fit(&streams[first].calls, &streams[at].calls);
            Some((apart.filter(|apart| *apart <= close_ns)?, index))
        };
        clusters.iter().enumerate().filter_map(fits).min().map(|(_, index)| index)
    };
    for at in 0..streams.len() {
        match nearest(&clusters, at, CLOSE_NS) {
            Some(index) => clusters[index].push(at),
            None => clusters.push(vec![at]),
        }
    }
    // What is alone may be of a slower network, whose ends scatter more.
    for index in (0..clusters.len()).rev() {
        let [alone] = clusters[index][..] else { continue };
        let mut takes: Vec<i64> =
            streams[alone].calls.iter().map(|call| call.end_ns.saturating_sub(call.start_ns)).collect();
        let takes = super::align::median(&mut takes).map_or(0, |ns| ns.max(0) as u64);
        if let Some(other) = nearest(&clusters, alone, (takes / SHARE).max(CLOSE_NS)) {
            clusters[other].push(alone);
            clusters.remove(index);
        }
    }
    clusters.iter_mut().for_each(|cluster| cluster.sort_unstable());
    clusters
}

/// How far apart the beginnings of two recordings may be, in collectives.
const MOST_SHIFT: i64 = 8;

/// Shifts between that and by how many collectives more one recording has are tried one by one, up to so many.
const MOST_BETWEEN: i64 = 256;

/// Distances looked at to find a shift.
const DISTANCES: usize = 100;

/// By how much the n-th end of the second sequence is a later one of the first, and how far distances between ends then differ, at
/// the median; `None`: there are too few.
pub fn fit(reference: &[&Call], other: &[&Call]) -> (i64, Option<u64>) {
    let apart = |shift: i64| -> Option<u64> {
        let from = (-shift).max(0);
        let to = (other.len() as i64).min(reference.len() as i64 - shift);
        // With less in common than half of it anything fits somewhere.
        if to - from < 3 || (to - from) * 2 < other.len() as i64 {
            return None;
        }
        let every = ((to - from) as usize).div_ceil(DISTANCES).max(1);
        let distance = |calls: &[&Call], at: usize| calls[at].end_ns.saturating_sub(calls[at - 1].end_ns);
        let mut apart: Vec<u64> = (from + 1..to)
            .step_by(every)
            .map(|at| distance(other, at as usize).abs_diff(distance(reference, (at + shift) as usize)))
            .collect();
        apart.sort_unstable();
        apart.get(apart.len() / 2).copied()
    };
    let unmoved = apart(0);
    // Steps of one program differ by more than a thousandth from each other, and distances that belong together by less.
    if unmoved.is_some_and(|unmoved| unmoved.saturating_mul(1_000) <= usual_distance(reference)) {
        return (0, unmoved);
    }
    let more = reference.len() as i64 - other.len() as i64;
    let near = |middle: i64| middle - MOST_SHIFT..=middle + MOST_SHIFT;
    let mut shifts: BTreeSet<i64> = near(0).chain(near(more)).collect();
    if more.abs() <= MOST_BETWEEN {
        shifts.extend(more.min(0)..=more.max(0));
    }
    let best = shifts.into_iter().filter_map(|shift| Some((apart(shift)?, shift.abs(), shift))).min();
    match (best, unmoved) {
        // Steps that are all alike fit with any shift.
        (Some((best, ..)), Some(unmoved)) if unmoved <= best.saturating_mul(4).saturating_add(1_000) => {
            (0, Some(unmoved))
        }
        (Some((best, _, shift)), _) => (shift, Some(best)),
        (None, _) => (0, None),
    }
}

/// The median distance from one end to the next.
fn usual_distance(calls: &[&Call]) -> u64 {
    let every = calls.len().div_ceil(DISTANCES).max(1);
    let pairs = calls.windows(2).step_by(every);
    let mut distances: Vec<u64> = pairs.map(|pair| pair[1].end_ns.abs_diff(pair[0].end_ns)).collect();
    distances.sort_unstable();
    distances.get(distances.len() / 2).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::super::calls::Op;
    use super::*;

    /// AllReduces of a stream that end at these times.
    fn calls(rank: usize, stream: u32, ends: impl Iterator<Item = i64>) -> Vec<(usize, Call)> {
        let call = |end_ns| Call {
            process: rank as u32,
            device: 0,
            stream,
            start_ns: end_ns - 100_000,
            end_ns,
            op: Op::AllReduce,
            said: None,
        };
        ends.map(|end| (rank, call(end))).collect()
    }

    /// Ends of collectives, a millisecond and a bit apart.
    fn ends(seed: i64, ahead: i64) -> impl Iterator<Item = i64> {
        (0..20).map(move |at: i64| ahead + at * 1_000_000 + (at * at * seed * 7_919) % 300_000)
    }

    #[test]
    fn communicators_are_found_by_when_their_collectives_end() {
        // As the four GPUs of a real trace: one communicator of all, of 0 and 1, and of these two with each of the others.
        let mut all = Vec::new();
        for (seed, ranks) in [(3, vec![0, 1]), (5, vec![0, 1, 2]), (11, vec![0, 1, 3]), (17, vec![0, 1, 2, 3])] {
            for rank in ranks {
                // Clocks are a second apart.
                all.extend(calls(rank, 10 + seed as u32, ends(seed, rank as i64 * 1_000_000_000)));
            }
        }
        let (lanes, of) = lanes(&all, &[], &[0, 1, 2, 3]);
        let found: Vec<String> = lanes.iter().map(Lane::text).collect();
        let expected = [
            "communicator 1 [0, 1]",
            "communicator 2 [0, 1, 2]",
            "communicator 3 [0, 1, 3]",
            "communicator 4 [0, 1, 2, 3]",
            "all streams",
        ];
        assert_eq!(found, expected);
        for ((_, call), lane) in all.iter().zip(of) {
            assert_eq!(lane, [13, 15, 21, 27].iter().position(|stream| *stream == call.stream).expect("a stream"));
        }
    }

    #[test]
    fn a_recording_that_began_or_ended_elsewhere_is_moved() {
        let whole = calls(0, 1, ends(5, 0));
        let of = |from: usize, to: usize| calls(1, 1, ends(5, 77).skip(from).take(to - from));
        let fit = |other: &[(usize, Call)]| {
            let list =
                |calls: &'_ [(usize, Call)]| calls.iter().map(|(_, call)| call.clone()).collect::<Vec<Call>>();
            let (a, b) = (list(&whole), list(other));
            fit(&a.iter().collect::<Vec<_>>(), &b.iter().collect::<Vec<_>>())
        };
        assert_eq!(fit(&of(0, 20)), (0, Some(0)));
        assert_eq!(fit(&of(3, 20)), (3, Some(0)));
        assert_eq!(fit(&of(12, 18)), (12, Some(0)));
        assert_eq!(fit(&of(0, 6)), (0, Some(0)));
        assert_eq!(fit(&of(0, 2)), (0, None));
    }
}
