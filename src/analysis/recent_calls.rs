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

/// Calls that are found by their correlation id, of the newer generation; the older one has as many. A program has at most a
/// few thousand launches that did not run yet, since the driver makes it wait then.
const GENERATION: usize = 1 << 17;

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

/// Remembers calls in order of their start.
#[derive(Default)]
pub struct RecentCalls {
    newer: HashMap<(u32, u64), Remembered>,
    older: HashMap<(u32, u64), Remembered>,
    threads: HashMap<(u32, u32), u32>,
    lanes: Vec<Lane>,
    last_thread: Option<((u32, u32), u32)>,
}

impl RecentCalls {
    /// Remembers a call.
    pub fn add(&mut self, call: &Call, class: CallClass) {
        let thread = self.thread((call.process, call.tid));
        let remembered =
            Remembered { start_ns: call.start_ns, end_ns: call.end_ns, class, name: call.name, thread };
        let launches = !matches!(class, CallClass::Synchronization | CallClass::Allocation | CallClass::Module);
        if call.correlation != 0 && launches {
            if self.newer.len() >= GENERATION {
                // The room of the older ones is used again.
                std::mem::swap(&mut self.newer, &mut self.older);
                self.newer.clear();
            }
            // Of several calls with one id the first is the one the program made; the others were made by it.
            self.newer.entry((call.process, call.correlation)).or_insert(remembered);
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
    pub fn launch_of(&self, work: &Work) -> Option<Remembered> {
        if work.correlation == 0 {
            return None;
        }
        let key = (work.process, work.correlation);
        self.newer.get(&key).or_else(|| self.older.get(&key)).copied()
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
        for i in 0..(2 * GENERATION + 1) as i64 {
            recent.add(&call(i * 10, i * 10 + 5, i as u64 + 1), CallClass::Launch);
        }
        assert!(recent.launch_of(&work(1)).is_none());
        let last = recent.launch_of(&work(2 * GENERATION as u64 + 1)).expect("the call");
        assert!(recent.launch_of(&work(GENERATION as u64 + 1)).is_some());
        let now_ns = 2 * GENERATION as i64 * 10;
        assert_eq!(recent.spent(&last, 0, now_ns), None);
        let spent = recent.spent(&last, now_ns - 100, now_ns).expect("known");
        assert_eq!((spent.of(CallClass::Launch), spent.outside_ns), (50, 50));
    }
}
