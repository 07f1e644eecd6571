//! The calls of the last moments, in bounded memory: which of them launched a piece of work, and what a thread did in a
//! stretch of time.

use super::call_class::CallClass;
use super::in_time::{Call, Work};
use hashbrown::HashMap;
use std::collections::VecDeque;

/// A call as it is remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Remembered {
    /// Start.
    pub start_ns: i64,
    /// End.
    pub end_ns: i64,
    /// What it does.
    pub class: CallClass,
    /// Name id.
    pub name: u32,
    /// The thread, for [`RecentCalls::spent`].
    thread: u32,
}

/// Calls that are found by their correlation id: the latest so many. A program has at most a few thousand launches that did not
/// run yet, since the driver makes it wait then.
const BY_ID: usize = 1 << 17;

/// Calls of a thread that are remembered. What a thread did before them is not known any more.
const CALLS_OF_THREAD: usize = 1 << 13;

/// What a thread did in a stretch of time, by class of its outermost calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Nanoseconds in calls of each class, in the order of [`CallClass`].
    in_calls: [i64; 7],
    /// Nanoseconds outside of calls.
    pub outside_ns: i64,
}

impl Spent {
    /// Nanoseconds in calls of this class.
    pub fn of(&self, class: CallClass) -> i64 {
        self.in_calls[class as usize]
    }
}

/// Calls of one thread that are in no other call, by start.
#[derive(Default)]
struct Lane {
    calls: VecDeque<Remembered>,
    /// Before this moment calls were forgotten.
    forgotten_until_ns: Option<i64>,
}

/// A call that is found by its correlation id.
struct Identified {
    key: (u32, u64),
    call: Remembered,
    /// The number of the call that had the same slot before.
    before: u64,
}

/// The latest [`BY_ID`] calls by process and correlation id. They lie one behind the other in a ring, and those that share a slot
/// form a chain, so that nothing has to be removed: a chain ends where the ring has been overwritten. Ids of a process are handed
/// out in sequence, so calls that follow each other have slots that do.
#[derive(Default)]
struct ById {
    /// Call number `n` lies at `n % BY_ID`. Numbers begin with 1.
    ring: Vec<Identified>,
    /// The number of the latest call of each slot; 0: none.
    slots: Vec<u64>,
    /// The number of the latest call.
    latest: u64,
}

impl ById {
    #[inline]
    fn slot((process, correlation): (u32, u64)) -> usize {
        // What tells ids of other tools apart may lie in their upper half.
        let above = (correlation / BY_ID as u64).wrapping_add(u64::from(process) << 32);
        correlation.wrapping_add(above.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % BY_ID
    }

    /// Remembers a call, unless one with its key is remembered: of several calls with one id the first is the one that the
    /// program made; the others were made by it.
    #[inline]
    fn add(&mut self, key: (u32, u64), call: Remembered) {
        if self.get(key).is_some() {
            return;
        }
        if self.slots.is_empty() {
            self.slots.resize(BY_ID, 0);
        }
        self.latest += 1;
        let before = std::mem::replace(&mut self.slots[ById::slot(key)], self.latest);
        let identified = Identified { key, call, before };
        let at = (self.latest - 1) as usize % BY_ID;
        match self.ring.get_mut(at) {
            Some(overwritten) => *overwritten = identified,
            None => self.ring.push(identified),
        }
    }

    #[inline]
    fn get(&self, key: (u32, u64)) -> Option<&Remembered> {
        let mut number = *self.slots.get(ById::slot(key))?;
        while number > 0 && self.latest - number < BY_ID as u64 {
            let found = &self.ring[(number - 1) as usize % BY_ID];
            if found.key == key {
                return Some(&found.call);
            }
            number = found.before;
        }
        None
    }
}

/// Remembers calls in order of their start.
#[derive(Default)]
pub struct RecentCalls {
    by_id: ById,
    threads: HashMap<(u32, u32), u32>,
    lanes: Vec<Lane>,
    last_thread: Option<((u32, u32), u32)>,
}

impl RecentCalls {
    /// Remembers a call.
    #[inline]
    pub fn add(&mut self, call: &Call, class: CallClass) {
        let thread = self.thread((call.process, call.tid));
        let remembered =
            Remembered { start_ns: call.start_ns, end_ns: call.end_ns, class, name: call.name, thread };
        let launches = !matches!(class, CallClass::Synchronization | CallClass::Allocation | CallClass::Module);
        if call.correlation != 0 && launches {
            self.by_id.add((call.process, call.correlation), remembered);
        }
        let lane = &mut self.lanes[thread as usize];
        // A call inside another one is a part of it.
        if lane.calls.back().is_some_and(|outer| call.end_ns <= outer.end_ns) {
            return;
        }
        if lane.calls.len() >= CALLS_OF_THREAD
            && let Some(forgotten) = lane.calls.pop_front()
        {
            lane.forgotten_until_ns = Some(forgotten.end_ns);
        }
        lane.calls.push_back(remembered);
    }

    #[inline]
    fn thread(&mut self, thread: (u32, u32)) -> u32 {
        if let Some((known, index)) = self.last_thread
            && known == thread
        {
            return index;
        }
        let index = *self.threads.entry(thread).or_insert_with(|| {
            self.lanes.push(Lane::default());
            self.lanes.len() as u32 - 1
        });
        self.last_thread = Some((thread, index));
        index
    }

    /// The call that launched `work`, if it was recorded and is not forgotten.
    #[inline]
    pub fn launch_of(&self, work: &Work) -> Option<Remembered> {
        if work.correlation == 0 {
            return None;
        }
        self.by_id.get((work.process, work.correlation)).copied()
    }

    /// What the thread of `call` did from one moment to another; `None`: its calls of that time are forgotten.
    pub fn spent(&self, call: &Remembered, from_ns: i64, to_ns: i64) -> Option<Spent> {
        let lane = &self.lanes[call.thread as usize];
        if lane.forgotten_until_ns.is_some_and(|until| until > from_ns) {
            return None;
        }
        let mut spent = Spent { outside_ns: to_ns.saturating_sub(from_ns), ..Spent::default() };
        for call in lane.calls.iter().rev() {
            if call.end_ns <= from_ns {
                break;
            }
            let ns = call.end_ns.min(to_ns).saturating_sub(call.start_ns.max(from_ns));
            if ns > 0 {
                let in_calls = &mut spent.in_calls[call.class as usize];
                *in_calls = in_calls.saturating_add(ns);
                spent.outside_ns = spent.outside_ns.saturating_sub(ns);
            }
        }
        Some(spent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::in_time::WorkKind;

    fn call(start_ns: i64, end_ns: i64, correlation: u64) -> Call {
        Call { start_ns, end_ns, process: 0, tid: 1, correlation, name: 0 }
    }

    fn work(correlation: u64) -> Work {
        let kind = WorkKind::Memset;
        Work { start_ns: 0, end_ns: 1, process: 0, device: 0, stream: 7, correlation, kind, bytes: 0 }
    }

    #[test]
    fn a_call_inside_another_is_a_part_of_it_and_time_outside_is_known() {
        let mut recent = RecentCalls::default();
        recent.add(&call(0, 10, 0), CallClass::Synchronization);
        recent.add(&call(20, 40, 5), CallClass::Launch);
        recent.add(&call(22, 38, 6), CallClass::Allocation);
        let launch = recent.launch_of(&work(5)).expect("the call");
        let spent = recent.spent(&launch, 5, 30).expect("known");
        assert_eq!(
            [CallClass::Synchronization, CallClass::Launch, CallClass::Allocation].map(|class| spent.of(class)),
            [5, 10, 0]
        );
        assert_eq!(spent.outside_ns, 10);
        assert!(recent.launch_of(&work(6)).is_none() && recent.launch_of(&work(0)).is_none());
    }

    #[test]
    fn what_is_forgotten_is_not_made_up() {
        let mut recent = RecentCalls::default();
        for i in 0..(BY_ID + 1) as i64 {
            recent.add(&call(i * 10, i * 10 + 5, i as u64 + 1), CallClass::Launch);
        }
        assert!(recent.launch_of(&work(1)).is_none());
        assert!(recent.launch_of(&work(2)).is_some());
        let last = recent.launch_of(&work(BY_ID as u64 + 1)).expect("the call");
        let now_ns = BY_ID as i64 * 10;
        assert_eq!(recent.spent(&last, 0, now_ns), None);
        let spent = recent.spent(&last, now_ns - 100, now_ns).expect("known");
        assert_eq!((spent.of(CallClass::Launch), spent.outside_ns), (50, 50));
    }

    #[test]
    fn calls_are_found_as_in_a_list_of_the_latest() {
        let mut state = 5_u64;
        let mut below = |n: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % n
        };
        let mut by_id = ById::default();
        let mut list: Vec<((u32, u64), i64)> = Vec::new();
        for i in 0..3 * BY_ID as i64 {
            // Ids that meet in one slot, ids that come again and again, and two processes.
            let id = [below(50) * BY_ID as u64 + 7, below(1000) + 1, i as u64 * 12, below(u64::MAX >> 33)];
            let which = below(4) as usize;
            let key = (below(2) as u32, id[which]);
            let known = by_id.get(key).map(|call| call.start_ns);
            let class = CallClass::Launch;
            by_id.add(key, Remembered { start_ns: i, end_ns: i, class, name: 0, thread: 0 });
            if known.is_none() {
                list.push((key, i));
            }
            if i % 997 == 0 {
                let latest = &list[list.len().saturating_sub(BY_ID)..];
                let expected = latest.iter().find(|(of, _)| *of == key).map(|(_, start_ns)| *start_ns);
                assert_eq!(by_id.get(key).map(|call| call.start_ns), expected);
                let some = below(list.len() as u64) as usize;
                let other = list[some].0;
                let expected = latest.iter().find(|(of, _)| *of == other).map(|(_, start_ns)| *start_ns);
                assert_eq!(by_id.get(other).map(|call| call.start_ns), expected);
            }
        }
    }
}
