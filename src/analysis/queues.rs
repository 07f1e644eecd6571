//! How much work waited in each stream, and how fast copies were together.
//!
//! **A queue** grows when the call that launches a piece of work begins, and shrinks when the work does. Work whose call is not known,
//! or seems to begin after it, is not part of it.
//!
//! **Bandwidth** of one way of copying on one GPU is the sum of that of the copies that run at once. It is counted in whole
//! [`PER_GB_S`]ths of a GB/s (10^9 bytes), so that sums do not depend on their order. Copies that took no time count as of one nanosecond.

use super::call_class::CallClasses;
use super::in_time::{self, Call, InTime, Place, Stream, Work, WorkKind};
use super::recent_calls::RecentCalls;
use crate::error::Result;
use crate::trace::frames::Frames;
use crate::trace::select::Filter;
use hashbrown::HashMap;
use rayon::prelude::*;
use std::collections::BTreeMap;

/// Launches that a stream can hold, after which calls wait: what Holistic Trace Analysis takes for a full queue.
pub const FULL: u64 = 1024;

/// The queue of one stream over time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Queue {
    /// Pieces of work with a call.
    pub launches: u64,
    /// When the first call began, and the last piece of work.
    pub span_ns: (i64, i64),
    /// The most that waited.
    pub most: u64,
    /// For how long so much waited.
    pub by_length: BTreeMap<u64, i64>,
    /// Lengths behind each change added up, and their squares. There are two changes for each launch.
    pub changes: (u128, u128),
}

impl Queue {
    /// Of calls and pieces of work by their starts.
    fn of(waits: Vec<(i64, i64)>) -> Queue {
        let mut queue = Queue { launches: waits.len() as u64, ..Queue::default() };
        let (mut grows, mut shrinks): (Vec<i64>, Vec<i64>) = waits.into_iter().unzip();
        grows.sort_unstable();
        shrinks.sort_unstable();
        let (Some(&first), Some(&last)) = (grows.first(), shrinks.last()) else { return queue };
        queue.span_ns = (first, last);
        let (mut length, mut at_ns, mut grown) = (0_u64, first, 0);
        for shrink_ns in shrinks {
            while let Some(&grow_ns) = grows.get(grown).filter(|grow_ns| **grow_ns <= shrink_ns) {
                queue.pass(length, grow_ns - at_ns);
                (length, at_ns, grown) = (length + 1, grow_ns, grown + 1);
                queue.change(length);
            }
            queue.pass(length, shrink_ns - at_ns);
            (length, at_ns) = (length.saturating_sub(1), shrink_ns);
            queue.change(length);
        }
        queue
    }

    fn pass(&mut self, length: u64, ns: i64) {
        if ns > 0 {
            let sum = self.by_length.entry(length).or_default();
            *sum = sum.saturating_add(ns);
        }
    }

    fn change(&mut self, length: u64) {
        self.most = self.most.max(length);
        let length = u128::from(length);
        self.changes = (self.changes.0 + length, self.changes.1 + length * length);
    }

    /// From the first call to the start of the last piece of work.
    pub fn duration_ns(&self) -> i64 {
        self.span_ns.1.saturating_sub(self.span_ns.0)
    }

    /// Lengths times nanoseconds.
    pub fn weighted(&self) -> u128 {
        self.by_length.iter().map(|(&length, &ns)| u128::from(length) * u128::from(ns.unsigned_abs())).sum()
    }

    /// The smallest length that was not exceeded for so many percent of the time.
    pub fn percentile(&self, percent: u32) -> u64 {
        let all = i128::from(self.duration_ns());
        let mut until = 0;
        for (&length, &ns) in &self.by_length {
            until += i128::from(ns);
            if until * 100 >= all * i128::from(percent) {
                return length;
            }
        }
        self.most
    }

    /// For how long at least so much waited.
    pub fn at_least_ns(&self, length: u64) -> i64 {
        self.by_length.range(length..).map(|(_, ns)| *ns).fold(0, i64::saturating_add)
    }
}

/// The queues of all streams with launches, in order.
///
/// # Errors
/// Fails if a part of a file cannot be read.
pub fn queues(frames: &Frames, filter: &Filter) -> Result<Vec<(Stream, Queue)>> {
    struct Pass<'a> {
        classes: CallClasses<'a>,
        calls: RecentCalls,
        streams: HashMap<Stream, Vec<(i64, i64)>>,
    }
    impl InTime for Pass<'_> {
        fn call(&mut self, call: &Call) {
            self.calls.add(call, self.classes.of(call.name));
        }
        fn work(&mut self, work: &Work) {
            // A call that seems to begin after its work was not seen yet.
            if let Some(call) = self.calls.launch_of(work) {
                let waits = self.streams.entry((work.process, work.device, work.stream)).or_default();
                waits.push((call.start_ns, work.start_ns));
            }
        }
    }
    let mut pass =
        Pass { classes: CallClasses::new(frames), calls: RecentCalls::default(), streams: HashMap::new() };
    in_time::visit(frames, filter, &mut pass)?;
    let mut all: Vec<_> = pass.streams.into_par_iter().map(|(stream, waits)| (stream, Queue::of(waits))).collect();
    all.sort_unstable_by_key(|(stream, _)| *stream);
    Ok(all)
}

/// Bandwidths are counted in these parts of a GB/s.
pub const PER_GB_S: u128 = 1_000_000;

/// Copies of one way on one GPU: the device and the kind of copy.
pub type Way = (Place, u8);

/// The bandwidth of copies of one way on one GPU.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bandwidth {
    /// How many.
    pub copies: u64,
    /// Bytes.
    pub bytes: u128,
    /// Time in which at least one of them ran.
    pub busy_ns: i64,
    /// The largest sum of what ran at once.
    pub peak: u128,
    /// The sums behind those changes that leave something running, added up, and how many those are.
    pub changes: (u128, u64),
    /// The bandwidth of each copy, in order.
    pub each: Vec<u64>,
}

impl Bandwidth {
    /// Of copies as start, duration and bytes.
    fn of(copies: &[(i64, i64, i64)]) -> Bandwidth {
        let mut found = Bandwidth { copies: copies.len() as u64, ..Bandwidth::default() };
        // Ends come before starts of the same moment: what follows does not run at once.
        let mut changes: Vec<(i64, bool, u64)> = Vec::with_capacity(2 * copies.len());
        for &(start_ns, ns, bytes) in copies {
            let ns = ns.max(1);
            let bytes = u128::from(bytes.max(0).unsigned_abs());
            let bandwidth = u64::try_from(bytes * PER_GB_S / u128::from(ns.unsigned_abs())).unwrap_or(u64::MAX);
            found.bytes += bytes;
            found.each.push(bandwidth);
            changes.push((start_ns, true, bandwidth));
            changes.push((start_ns.saturating_add(ns), false, bandwidth));
        }
        found.each.sort_unstable();
        changes.sort_unstable();
        let (mut sum, mut running, mut since_ns) = (0_u128, 0_u64, 0);
        for (ns, begins, bandwidth) in changes {
            if begins {
                since_ns = if running == 0 { ns } else { since_ns };
                (sum, running) = (sum + u128::from(bandwidth), running + 1);
            } else {
                (sum, running) = (sum.saturating_sub(bandwidth.into()), running.saturating_sub(1));
                if running == 0 {
                    found.busy_ns = found.busy_ns.saturating_add(ns.saturating_sub(since_ns));
                }
            }
            found.peak = found.peak.max(sum);
            if sum > 0 {
                found.changes = (found.changes.0 + sum, found.changes.1 + 1);
            }
        }
        found
    }
}

/// The bandwidth of copies of each way, in order.
///
/// # Errors
/// Fails if a part of a file cannot be read.
pub fn bandwidths(frames: &Frames, filter: &Filter) -> Result<Vec<(Way, Bandwidth)>> {
    struct Pass<'a> {
        frames: &'a Frames,
        places: HashMap<Place, Place>,
        copies: BTreeMap<Way, Vec<(i64, i64, i64)>>,
    }
    impl InTime for Pass<'_> {
        fn work(&mut self, work: &Work) {
            if let WorkKind::Memcpy { kind, .. } = work.kind {
                let (known, frames) = ((work.process, work.device), self.frames);
                let place = *self.places.entry(known).or_insert_with(|| frames.device_identity(known.0, known.1));
                let copy = (work.start_ns, work.duration_ns(), work.bytes);
                self.copies.entry((place, kind)).or_default().push(copy);
            }
        }
    }
    let mut pass = Pass { frames, places: HashMap::new(), copies: BTreeMap::new() };
    in_time::visit_work(frames, filter, &mut pass)?;
    let found = pass.copies.into_par_iter();
    Ok(found.map(|(way, copies)| (way, Bandwidth::of(&copies))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_grow_with_calls_and_shrink_with_work() {
        // Calls at 0, 10, 20; work at 15, 40, 45.
        let queue = Queue::of(vec![(0, 15), (10, 40), (20, 45)]);
        assert_eq!((queue.launches, queue.most, queue.duration_ns()), (3, 2, 45));
        // 1 from 0, 2 from 10, 1 from 15, 2 from 20, 1 from 40, 0 from 45.
        assert_eq!(queue.by_length, BTreeMap::from([(1, 20), (2, 25)]));
        assert_eq!((queue.weighted(), queue.changes), (70, (7, 11)));
        assert_eq!((queue.percentile(44), queue.percentile(45), queue.at_least_ns(2)), (1, 2, 25));
        assert_eq!(Queue::of(Vec::new()), Queue::default());
        // Work that begins with its call changes the length twice at one moment.
        assert_eq!(Queue::of(vec![(5, 5)]).most, 1);
    }

    #[test]
    fn copies_that_run_at_once_are_faster_together() {
        // 1 GB/s from 0 to 100, 2 GB/s from 50 to 150 and 4 GB/s from 150 on; one of no time.
        let found = Bandwidth::of(&[(0, 100, 100), (50, 100, 200), (150, 50, 200), (300, 0, 3)]);
        assert_eq!((found.copies, found.bytes, found.busy_ns), (4, 503, 201));
        assert_eq!((found.peak, &found.each[..]), (4_000_000, &[1_000_000, 2_000_000, 3_000_000, 4_000_000][..]));
        // 1, 3, 2, (0), 4, (0), 3, (0).
        assert_eq!(found.changes, (13_000_000, 5));
    }
}
