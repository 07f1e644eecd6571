//! Which records belong into the trace.

use std::cell::Cell;

use shim_config::Membership;

use super::spans::Spans;
use super::{Bounds, GATE, WINDOWS, Window};
use crate::correlation::Correlation;
use crate::decode::Facts;
use crate::sync::atomic::Ordering;
use crate::sys;

/// The writer's view of the windows.
pub struct Filter {
    version: u64,
    membership: Membership,
    /// Everything is kept: one window from the beginning that never closed.
    all: bool,
    /// Windows that have closed and are in the spans below; how many of all that ever opened.
    settled: u64,
    /// The window that is open.
    open: Option<Window>,
    /// Correlation ids inside windows that are told by them.
    ids: Spans<u64>,
    /// Moments inside windows without ids.
    times_without_ids: Spans<i64>,
    /// Moments inside any window.
    times: Spans<i64>,
    /// Calls of our own, and which state of them this is.
    own_calls: Spans<u64>,
    own_changes: u64,
    /// Records of the program that lay outside all windows.
    outside: Cell<u64>,
    seen: Cell<Seen>,
}

/// Records of the program by what they are of, kept or not.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    /// Kernels, copies, fills and whole graphs.
    pub work: u64,
    /// Calls of the runtime API.
    pub runtime: u64,
    /// Calls of the driver API.
    pub driver: u64,
}

impl Filter {
    /// A filter that has seen nothing yet.
    pub fn new(membership: Membership) -> Filter {
        Filter {
            version: u64::MAX,
            membership,
            all: false,
            settled: 0,
            open: None,
            ids: Spans::new(),
            times_without_ids: Spans::new(),
            times: Spans::new(),
            own_calls: Spans::new(),
            own_changes: 0,
            outside: Cell::new(0),
            seen: Cell::new(Seen::default()),
        }
    }

    /// A filter of windows that have closed, told by the calls that opened and closed them.
    #[cfg(test)]
    pub fn of_calls(calls: impl Iterator<Item = (u64, u64)>) -> Filter {
        let mut filter = Filter::new(Membership::Launched);
        for (after, before) in calls {
            let (start_ns, end_ns) = (after as i64 * 1_000, Some(before as i64 * 1_000));
            let (after, before) = (Some(after), Some(before));
            filter.settle(&Window { after, before, start_ns, end_ns, starts: 1, stops: 1 });
        }
        filter
    }

    /// Takes what is new, and no more: there may be thousands of windows, and each of them is a change.
    fn take(&mut self, bounds: &Bounds) {
        self.all = bounds.forgotten == 0 && Window::hold_everything(&bounds.windows);
        self.settled = self.settled.max(bounds.forgotten);
        let known = usize::try_from(self.settled - bounds.forgotten).unwrap_or(usize::MAX);
        let new = bounds.windows.get(known..).unwrap_or_default();
        new.iter().filter(|window| window.end_ns.is_some()).for_each(|window| self.settle(window));
        self.open = bounds.windows.last().filter(|window| window.end_ns.is_none()).cloned();
        if self.own_changes != bounds.own_changes {
            self.own_changes = bounds.own_changes;
            self.own_calls.clone_from(&bounds.own_calls);
        }
    }

    /// Adds a window that has closed.
    fn settle(&mut self, window: &Window) {
        self.settled += 1;
        let (first_ns, end_ns) = window.times();
        self.times.add(first_ns, end_ns);
        match window.ids() {
            Some((first, end)) => self.ids.add(first, end),
            None => self.times_without_ids.add(first_ns, end_ns),
        }
        self.times.keep_newest(WINDOWS);
        self.ids.keep_newest(WINDOWS);
        self.times_without_ids.keep_newest(WINDOWS);
    }

    /// Whether a moment lies in a window; `without_ids`: in one that times alone tell.
    fn holds_time(&self, ns: i64, without_ids: bool) -> bool {
        let is_in = |window: &Window| {
            let (first_ns, end_ns) = window.times();
            (first_ns..end_ns).contains(&ns) && !(without_ids && window.ids().is_some())
        };
        let settled = if without_ids { &self.times_without_ids } else { &self.times };
        self.open.as_ref().is_some_and(is_in) || settled.hold(ns)
    }

    /// Whether a call of this number lies in a window.
    fn holds_id(&self, id: u64) -> bool {
        let open = self.open.as_ref().and_then(Window::ids);
        open.is_some_and(|(first, end)| (first..end).contains(&id)) || self.ids.hold(id)
    }

    /// Takes the windows as they are now. Called before each block: all windows that its records can belong to have
    /// opened by then.
    pub fn refresh(&mut self) {
        if GATE.version.load(Ordering::Acquire) != self.version {
            let bounds = GATE.settled_bounds();
            self.version = GATE.version.load(Ordering::Acquire);
            self.take(&bounds);
        }
    }

    /// Tells the gate how far the 32-bit counter has come.
    pub fn seen(&self, counter: Correlation) {
        GATE.newest.fetch_max(counter.newest(), Ordering::Relaxed);
    }

    /// Whether a record belongs into the trace.
    pub fn keeps(&self, record: &Facts) -> bool {
        use cupti_sys::*;
        if record.tid != 0 && sys::is_own_thread(record.tid) {
            return false;
        }
        if !self.own_calls.is_empty() && record.correlation.is_some_and(|id| self.own_calls.hold(id)) {
            return false;
        }
        if self.all {
            return true;
        }
        let ran_on_gpu = matches!(
            record.kind,
            CUPTI_ACTIVITY_KIND_KERNEL
                | CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL
                | CUPTI_ACTIVITY_KIND_MEMCPY
                | CUPTI_ACTIVITY_KIND_MEMCPY2
                | CUPTI_ACTIVITY_KIND_MEMSET
                | CUPTI_ACTIVITY_KIND_GRAPH_TRACE
        );
        let mut seen = self.seen.get();
        seen.work += u64::from(ran_on_gpu);
        seen.runtime += u64::from(record.kind == CUPTI_ACTIVITY_KIND_RUNTIME);
        seen.driver += u64::from(record.kind == CUPTI_ACTIVITY_KIND_DRIVER);
        self.seen.set(seen);
        let keeps = match record.kind {
            // What defines devices, contexts and streams is needed whenever it came.
            CUPTI_ACTIVITY_KIND_DEVICE
            | CUPTI_ACTIVITY_KIND_CONTEXT
            | CUPTI_ACTIVITY_KIND_STREAM
            | CUPTI_ACTIVITY_KIND_NAME
            | CUPTI_ACTIVITY_KIND_DEVICE_ATTRIBUTE => true,
            _ => match record.correlation {
                Some(id) if !(ran_on_gpu && self.membership == Membership::RanInside) => {
                    self.holds_id(id) || self.holds_time(record.start_ns, true)
                }
                _ => self.holds_time(record.start_ns, false),
            },
        };
        self.outside.set(self.outside.get() + u64::from(!keeps));
        keeps
    }

    /// Records of the program that lay outside all windows, so far. Those of our own calls are not among them.
    pub fn outside(&self) -> u64 {
        self.outside.get()
    }

    /// Records of the program so far, unless all are kept.
    pub fn seen_of_program(&self) -> Seen {
        self.seen.get()
    }

    /// Whether a range of the program that lasted from `start_ns` to `end_ns` (none: still open) touches a window.
    pub fn keeps_range(&self, start_ns: i64, end_ns: Option<i64>) -> bool {
        let last_ns = end_ns.unwrap_or(i64::MAX);
        let touches = |window: &Window| {
            let (first_ns, end_ns) = window.times();
            first_ns <= last_ns && start_ns < end_ns
        };
        self.all || self.open.as_ref().is_some_and(touches) || self.times.touch(start_ns, last_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(after: Option<u64>, before: Option<u64>, start_ns: i64, end_ns: Option<i64>) -> Window {
        Window { after, before, start_ns, end_ns, starts: 1, stops: 1 }
    }

    fn filter(windows: Vec<Window>, membership: Membership) -> Filter {
        let mut filter = Filter::new(membership);
        filter.take(&Bounds { windows, ..Bounds::none() });
        filter
    }

    fn kernel(correlation: u64, start_ns: i64) -> Facts {
        let kind = cupti_sys::CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
        Facts { kind, correlation: Some(correlation), start_ns, end_ns: start_ns + 10, tid: 0 }
    }

    #[test]
    fn a_launch_belongs_strictly_between_start_and_stop() {
        let f = filter(vec![window(Some(10), Some(20), 100, Some(200))], Membership::Launched);
        let kept: Vec<u64> = (8..23).filter(|&id| f.keeps(&kernel(id, 0))).collect();
        assert_eq!(kept, (11..20).collect::<Vec<_>>());
        // It ran long after the window closed, and belongs all the same.
        assert!(f.keeps(&kernel(19, 1_000_000)));
    }

    #[test]
    fn ran_inside_asks_for_the_start_of_gpu_work_alone() {
        let f = filter(vec![window(Some(10), Some(20), 100, Some(200))], Membership::RanInside);
        assert!(f.keeps(&kernel(5, 100)) && !f.keeps(&kernel(15, 200)) && !f.keeps(&kernel(15, 99)));
        let call = Facts { kind: cupti_sys::CUPTI_ACTIVITY_KIND_RUNTIME, ..kernel(15, 0) };
        assert!(f.keeps(&call));
    }

    #[test]
    fn windows_without_ids_are_spans_of_time() {
        let f = filter(vec![window(None, None, 100, Some(200))], Membership::Launched);
        assert!(f.keeps(&kernel(1, 150)) && !f.keeps(&kernel(1, 250)));
        let f = filter(vec![window(Some(7), None, 100, Some(200))], Membership::Launched);
        assert!(f.keeps(&kernel(1, 150)) && !f.keeps(&kernel(8, 250)));
    }

    #[test]
    fn windows_that_come_one_after_the_other_are_as_good_as_all_at_once() {
        let mut random = 11u64;
        let mut below = |most: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % most
        };
        for _ in 0..60 {
            let (mut bounds, mut all, mut filter) = (Bounds::none(), Vec::new(), Filter::new(Membership::Launched));
            for i in 0..12 {
                // Now and then without ids, out of order, or forgotten before anybody has looked.
                let (first, length) = (i * 10 + below(14), below(9));
                let after = (below(5) > 0).then_some(first);
                let start_ns = (i * 100 + below(130)) as i64;
                bounds.windows.push(window(after, None, start_ns, None));
                if below(3) > 0 {
                    filter.take(&bounds);
                }
                let open = bounds.windows.last_mut().unwrap();
                (open.before, open.end_ns) = (after.map(|id| id + 1 + length), Some(start_ns + below(90) as i64));
                if below(3) > 0 {
                    filter.take(&bounds);
                }
                all.push(bounds.windows.last().unwrap().clone());
            }
            filter.take(&bounds);
            assert_eq!(filter.settled, 12);
            for id in 0..160 {
                for start_ns in [id as i64 * 9, 1_500 - id as i64 * 9] {
                    let expected = all.iter().any(|w| match w.ids() {
                        Some((first, end)) => (first..end).contains(&id),
                        None => w.start_ns <= start_ns && start_ns < w.end_ns.unwrap(),
                    });
                    assert_eq!(filter.keeps(&kernel(id, start_ns)), expected, "{id} at {start_ns} in {all:?}");
                    let touches = all.iter().any(|w| {
                        w.start_ns < w.end_ns.unwrap()
                            && w.start_ns <= start_ns + 20
                            && start_ns < w.end_ns.unwrap()
                    });
                    assert_eq!(filter.keeps_range(start_ns, Some(start_ns + 20)), touches, "{start_ns} in {all:?}");
                }
            }
        }
    }

    #[test]
    fn windows_without_end_cost_the_same_each() {
        let (mut bounds, mut filter) = (Bounds::none(), Filter::new(Membership::Launched));
        let mut looks = Vec::new();
        for i in 0..20_000u64 {
            if bounds.windows.len() >= WINDOWS {
                bounds.windows.drain(..WINDOWS / 2);
                bounds.forgotten += WINDOWS as u64 / 2;
            }
            let start_ns = i as i64 * 1_000;
            bounds.windows.push(window(Some(i * 10), Some(i * 10 + 6), start_ns, Some(start_ns + 500)));
            let begin = std::time::Instant::now();
            filter.take(&bounds);
            looks.push(begin.elapsed());
            assert!(filter.keeps(&kernel(i * 10 + 3, 0)) && !filter.keeps(&kernel(i * 10 + 8, start_ns + 700)));
        }
        // Those of 3,000 windows back, and none of 7,000.
        assert!(filter.keeps(&kernel(170_003, 0)) && filter.ids.hold(170_003) && !filter.ids.hold(130_003));
        let median = |looks: &mut [std::time::Duration]| {
            looks.sort_unstable();
            looks[looks.len() / 2]
        };
        let (first, later) = (median(&mut looks[10..1_000]), median(&mut looks[3_000..]));
        assert!(later < first * 20 + std::time::Duration::from_micros(2), "{first:?} each, then {later:?}");
    }

    #[test]
    fn definitions_are_kept_whenever_they_came() {
        let f = filter(Vec::new(), Membership::Launched);
        let device = Facts { kind: cupti_sys::CUPTI_ACTIVITY_KIND_DEVICE, ..kernel(0, 0) };
        assert!(f.keeps(&device) && !f.keeps(&kernel(1, 1)));
    }

    #[test]
    fn ranges_are_kept_where_they_touch_a_window() {
        let f = filter(vec![window(Some(1), Some(9), 100, Some(200))], Membership::Launched);
        assert!(f.keeps_range(50, Some(100)) && f.keeps_range(199, None) && f.keeps_range(0, None));
        assert!(!f.keeps_range(0, Some(99)) && !f.keeps_range(200, Some(300)));
    }
}
