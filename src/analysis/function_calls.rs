//! Calls that a program logged itself: how long in each function, and what was called inside what.
//!
//! A log tells when a call ended and how long it took, and neither exactly: the clock is read a little later than the
//! call returns. So a call lies inside another where its middle does and it is no longer, on the same thread; and since
//! a call is written down after those inside it, one walk in the order of ends finds all of that.

use super::stats::{Stats, Wanted};
use crate::error::Result;
use crate::trace::frames::Frames;
use crate::trace::names::FUNCTIONS_DOMAIN;
use crate::trace::select::Filter;
use crate::trace::sink::valid_duration;
use hashbrown::HashMap;
use trace_format::tables;
use trace_format::tables::column::range;

/// All calls of one function.
#[derive(Clone, Debug, Default)]
pub struct Function {
    /// Name id.
    pub name: u32,
    /// Durations of its calls.
    pub calls: Stats,
    /// Time in it and in no logged call inside it, in nanoseconds.
    pub self_ns: u128,
    /// Calls of other functions inside it, at any depth, by name id.
    pub nested: Vec<Nested>,
}

/// Calls of one function inside another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Nested {
    /// Name id of the inner one.
    pub name: u32,
    /// How many there were together.
    pub calls: u64,
    /// The fewest inside one call of the outer.
    pub min: u64,
    /// The most inside one call of the outer.
    pub max: u64,
}

/// One logged call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Call {
    process: u32,
    tid: u32,
    start_ns: i64,
    end_ns: i64,
    name: u32,
}

impl Call {
    fn duration_ns(&self) -> i64 {
        self.end_ns - self.start_ns
    }

    fn middle_ns(&self) -> i64 {
        self.start_ns + self.duration_ns() / 2
    }
}

/// The selected calls by function, in no particular order.
///
/// # Errors
/// Fails if a part of a file cannot be read.
pub fn functions(frames: &Frames, filter: &Filter) -> Result<Vec<Function>> {
    let mut calls = frames.fold(
        &tables::RANGE,
        &[range::START_NS, range::END_NS, range::DOMAIN_ID, range::NAME_ID, range::TID],
        filter,
        Vec::new,
        |out: &mut Vec<Call>, batch| {
            let (start, end, tid) = (batch.get(range::START_NS), batch.get(range::END_NS), batch.get(range::TID));
            let (domain, name) = (batch.get(range::DOMAIN_ID), batch.get(range::NAME_ID));
            batch.for_each_row(|i| {
                let (Some(start_ns), Some(end_ns), Some(domain)) = (start.get(i), end.get(i), domain.get(i)) else {
                    return;
                };
                let is_possible = valid_duration(start_ns, end_ns).is_some();
                if is_possible && frames.names.get(domain) == FUNCTIONS_DOMAIN.as_bytes() {
                    let (tid, name) = (tid.get(i).unwrap_or(0), name.get(i).unwrap_or(0));
                    out.push(Call { process: batch.process, tid, start_ns, end_ns, name });
                }
            });
        },
        |a, mut b| a.append(&mut b),
    )?;
    // Of calls that end together the shorter one was inside.
    calls.sort_unstable_by_key(|c| (c.process, c.tid, c.end_ns, std::cmp::Reverse(c.start_ns), c.name));
    Ok(sum(&calls))
}

/// A call whose outer one has not come yet.
struct Finished {
    call: Call,
    /// Calls inside it and itself, by name.
    inside: HashMap<u32, u64>,
}

/// Sums over calls, those of a thread together and in the order of their ends.
fn sum(calls: &[Call]) -> Vec<Function> {
    let mut functions: HashMap<u32, Function> = HashMap::new();
    // How many calls of the outer one had the inner one inside at all, and what is known of those.
    let mut nested: HashMap<(u32, u32), (u64, Nested)> = HashMap::new();
    let mut finished: Vec<Finished> = Vec::new();
    let mut thread = None;
    for &call in calls {
        if thread.replace((call.process, call.tid)) != Some((call.process, call.tid)) {
            finished.clear();
        }
        let (mut inside, mut inner_ns) = (HashMap::new(), 0i64);
        while let Some(inner) = finished.pop_if(|inner| {
            inner.call.middle_ns() >= call.start_ns && inner.call.duration_ns() <= call.duration_ns()
        }) {
            // What sticks out at the front is not inside.
            inner_ns = inner_ns.saturating_add(inner.call.end_ns - inner.call.start_ns.max(call.start_ns));
            absorb(&mut inside, inner.inside);
        }
        let function =
            functions.entry(call.name).or_insert_with(|| Function { name: call.name, ..Function::default() });
        function.calls.add(call.duration_ns(), Wanted { quantiles: true });
        function.self_ns += u128::from((call.duration_ns() - inner_ns).max(0).unsigned_abs());
        for (&name, &count) in &inside {
            let (with, sums) =
                nested.entry((call.name, name)).or_insert((0, Nested { name, min: u64::MAX, ..Nested::default() }));
            *with += 1;
            sums.calls += count;
            sums.min = sums.min.min(count);
            sums.max = sums.max.max(count);
        }
        *inside.entry(call.name).or_insert(0) += 1;
        finished.push(Finished { call, inside });
    }
    for ((outer, _), (with, mut sums)) in nested {
        if let Some(function) = functions.get_mut(&outer) {
            if with < function.calls.count {
                sums.min = 0;
            }
            function.nested.push(sums);
        }
    }
    functions.into_values().collect()
}

/// Adds the counts of one map to another, the smaller to the larger.
fn absorb(counts: &mut HashMap<u32, u64>, mut more: HashMap<u32, u64>) {
    if counts.len() < more.len() {
        std::mem::swap(counts, &mut more);
    }
    more.into_iter().for_each(|(name, count)| *counts.entry(name).or_insert(0) += count);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(name: u32, start_ns: i64, end_ns: i64) -> Call {
        Call { process: 0, tid: 0, start_ns, end_ns, name }
    }

    fn of(mut calls: Vec<Call>) -> HashMap<u32, Function> {
        calls.sort_by_key(|c| (c.process, c.tid, c.end_ns, std::cmp::Reverse(c.start_ns), c.name));
        sum(&calls).into_iter().map(|function| (function.name, function)).collect()
    }

    #[test]
    fn calls_inside_calls_are_counted_at_any_depth_and_calls_without_any_count_as_none() {
        // 1 holds two of 2, each of which holds one of 3; another 1 holds nothing.
        let sums = of(vec![
            call(1, 0, 100),
            call(2, 10, 30),
            call(3, 12, 14),
            call(2, 40, 60),
            call(3, 41, 59),
            call(1, 200, 210),
        ]);
        assert_eq!((sums[&1].calls.count, sums[&1].calls.total_ns, sums[&1].self_ns), (2, 110, 70));
        assert_eq!((sums[&2].calls.total_ns, sums[&2].self_ns, sums[&3].self_ns), (40, 20, 20));
        let mut nested = sums[&1].nested.clone();
        nested.sort_by_key(|n| n.name);
        assert_eq!(
            nested,
            [Nested { name: 2, calls: 2, min: 0, max: 2 }, Nested { name: 3, calls: 2, min: 0, max: 2 }]
        );
        assert_eq!(sums[&2].nested, [Nested { name: 3, calls: 2, min: 1, max: 1 }]);
        assert!(sums[&3].nested.is_empty());
    }

    #[test]
    fn clocks_read_a_little_late_do_not_matter() {
        // The inner one seems to begin before the outer one, which was written down later after its end.
        let sums = of(vec![call(2, 98, 150), call(1, 100, 200)]);
        assert_eq!(sums[&1].nested.len(), 1);
        assert_eq!(sums[&1].self_ns, 50);
    }

    #[test]
    fn what_follows_or_runs_on_another_thread_is_not_inside() {
        let other = Call { tid: 5, ..call(3, 20, 30) };
        let sums = of(vec![call(1, 0, 100), call(2, 100, 150), other, call(2, 150, 300)]);
        assert!(sums.values().all(|function| function.nested.is_empty()), "{sums:?}");
    }

    #[test]
    fn recursion_is_inside_itself() {
        let sums = of(vec![call(1, 20, 30), call(1, 10, 40), call(1, 0, 50)]);
        assert_eq!(sums[&1].nested, [Nested { name: 1, calls: 3, min: 0, max: 2 }]);
        assert_eq!((sums[&1].calls.total_ns, sums[&1].self_ns), (90, 50));
    }
}
