//! How much time may be taken from the program.

/// The length of a window. Each window begins with a budget of its own.
const WINDOW_NS: i64 = 1_000_000_000;
/// The budget of a window: 2 %.
const BUDGET_NS: i64 = 20_000_000;
/// What one launch is charged at most. Reading a stack takes microseconds; a launch that took longer by the clock was
/// put aside by the system meanwhile, and on a busy machine that happens to a thread whatever it does.
const MOST_PER_LAUNCH_NS: i64 = 1_000_000;

/// What was taken in this second.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Budget {
    since_ns: i64,
    spent_ns: i64,
}

impl Budget {
    /// Whether there is time left. `now_ns`: monotonic.
    pub(super) fn has_some(&mut self, now_ns: i64) -> bool {
        if now_ns - self.since_ns >= WINDOW_NS {
            // What was taken too much counts for the next second.
            let windows = (now_ns - self.since_ns) / WINDOW_NS;
            *self =
                Budget { since_ns: now_ns, spent_ns: (self.spent_ns - BUDGET_NS.saturating_mul(windows)).max(0) };
        }
        self.spent_ns < BUDGET_NS
    }

    /// Takes note of what one launch took by the clock, and returns how much of it is charged.
    pub(super) fn spend(&mut self, took_ns: i64) -> i64 {
        let charged_ns = took_ns.clamp(0, MOST_PER_LAUNCH_NS);
        self.spent_ns = self.spent_ns.saturating_add(charged_ns);
        charged_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_has_its_budget_and_debts_are_paid_by_the_next() {
        let mut budget = Budget::default();
        let spend = |budget: &mut Budget, ns: i64| (0..ns).step_by(500_000).for_each(|_| _ = budget.spend(500_000));
        let mut now_ns = 5_000_000_000;
        assert!(budget.has_some(now_ns));
        spend(&mut budget, BUDGET_NS - 500_000);
        assert_eq!(budget.spend(499_999), 499_999);
        assert!(budget.has_some(now_ns + 10));
        assert_eq!(budget.spend(1), 1);
        assert!(!budget.has_some(now_ns + 20), "it is used up");
        now_ns += WINDOW_NS;
        assert!(budget.has_some(now_ns));
        spend(&mut budget, BUDGET_NS * 3);
        assert!(!budget.has_some(now_ns + WINDOW_NS), "a debt of two windows");
        assert!(budget.has_some(now_ns + 4 * WINDOW_NS));
    }

    #[test]
    fn a_thread_that_was_put_aside_pays_for_what_it_can_have_done() {
        let mut budget = Budget::default();
        assert!(budget.has_some(5_000_000_000));
        assert_eq!(budget.spend(30_000_000), 1_000_000);
        assert_eq!(budget.spend(-7), 0, "a clock that goes back gives nothing back");
        assert!(budget.has_some(5_000_000_010));
        (0..19).for_each(|_| _ = budget.spend(i64::MAX));
        assert!(!budget.has_some(5_000_000_020));
    }
}
