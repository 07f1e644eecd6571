//! How much time may be taken from the program.

/// The second begins anew…
const WINDOW_NS: i64 = 1_000_000_000;
/// …with this much: 2 %.
const BUDGET_NS: i64 = 20_000_000;

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
            // What was taken too much counts for the next second: one slow launch may not be followed by another.
            let windows = (now_ns - self.since_ns) / WINDOW_NS;
            *self =
                Budget { since_ns: now_ns, spent_ns: (self.spent_ns - BUDGET_NS.saturating_mul(windows)).max(0) };
        }
        self.spent_ns < BUDGET_NS
    }

    /// Takes note of time taken.
    pub(super) fn spend(&mut self, ns: i64) {
        self.spent_ns = self.spent_ns.saturating_add(ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_has_its_budget_and_debts_are_paid_by_the_next() {
        let mut budget = Budget::default();
        let mut now_ns = 5_000_000_000;
        assert!(budget.has_some(now_ns));
        budget.spend(BUDGET_NS - 1);
        assert!(budget.has_some(now_ns + 10));
        budget.spend(1);
        assert!(!budget.has_some(now_ns + 20), "it is used up");
        now_ns += WINDOW_NS;
        assert!(budget.has_some(now_ns));
        budget.spend(BUDGET_NS * 3);
        assert!(!budget.has_some(now_ns + WINDOW_NS), "the debt of one long launch");
        assert!(budget.has_some(now_ns + 4 * WINDOW_NS));
    }
}
