//! Which records belong into the trace.

use shim_config::Membership;

use super::spans::Spans;
use super::{GATE, Window};
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
    /// Correlation ids inside windows that are told by them.
    ids: Spans<u64>,
    /// Moments inside windows without ids.
    times_without_ids: Spans<i64>,
    /// Moments inside any window.
    times: Spans<i64>,
    /// Calls of our own.
    own_calls: Spans<u64>,
}

impl Filter {
    /// A filter that has seen nothing yet.
    pub fn new(membership: Membership) -> Filter {
        Filter::of(&[], membership)
    }

    fn of(windows: &[Window], membership: Membership) -> Filter {
        let mut filter = Filter {
            version: u64::MAX,
            membership,
            all: false,
            ids: Spans::new(),
            times_without_ids: Spans::new(),
            times: Spans::new(),
            own_calls: Spans::new(),
        };
        filter.take(windows);
        filter
    }

    fn take(&mut self, windows: &[Window]) {
        self.all = matches!(windows, [w] if w.after == Some(0) && w.end_ns.is_none());
        self.ids = Spans::union(windows.iter().filter_map(Window::ids));
        self.times = Spans::union(windows.iter().map(Window::times));
        self.times_without_ids = Spans::union(windows.iter().filter(|w| w.ids().is_none()).map(Window::times));
    }

    /// Takes the windows as they are now. Called before each block: all windows that its records can belong to have
    /// opened by then.
    pub fn refresh(&mut self) {
        if GATE.version.load(Ordering::Acquire) != self.version {
            let bounds = GATE.settled_bounds();
            self.version = GATE.version.load(Ordering::Acquire);
            self.take(&bounds.windows);
            self.own_calls.clone_from(&bounds.own_calls);
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
        match record.kind {
            // What defines devices, contexts and streams is needed whenever it came.
            CUPTI_ACTIVITY_KIND_DEVICE
            | CUPTI_ACTIVITY_KIND_CONTEXT
            | CUPTI_ACTIVITY_KIND_STREAM
            | CUPTI_ACTIVITY_KIND_NAME
            | CUPTI_ACTIVITY_KIND_DEVICE_ATTRIBUTE => true,
            _ => match record.correlation {
                Some(id) if !(ran_on_gpu && self.membership == Membership::RanInside) => {
                    self.ids.hold(id) || self.times_without_ids.hold(record.start_ns)
                }
                _ => self.times.hold(record.start_ns),
            },
        }
    }

    /// Whether a range of the program that lasted from `start_ns` to `end_ns` (none: still open) touches a window.
    pub fn keeps_range(&self, start_ns: i64, end_ns: Option<i64>) -> bool {
        self.all || self.times.touch(start_ns, end_ns.unwrap_or(i64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(after: Option<u64>, before: Option<u64>, start_ns: i64, end_ns: Option<i64>) -> Window {
        Window { after, before, start_ns, end_ns, starts: 1, stops: 1 }
    }

    fn filter(windows: Vec<Window>, membership: Membership) -> Filter {
        Filter::of(&windows, membership)
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
