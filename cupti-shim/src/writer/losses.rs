//! What is known to be missing, gathered until it can be said.

use std::borrow::Cow;

use crate::messages::{Cause, Loss};

/// Different (cause, detail) pairs between two writes; beyond, details are left out.
const MOST: usize = 64;

/// Losses that no row tells of yet. Those of one cause and detail become one row.
#[derive(Debug, Default)]
pub(super) struct Losses {
    pending: Vec<Loss>,
}

/// A span of time that grows; empty at first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Window {
    pub start_ns: i64,
    pub end_ns: i64,
}

impl Window {
    pub(super) const EMPTY: Window = Window { start_ns: i64::MAX, end_ns: i64::MIN };

    pub(super) fn add(&mut self, start_ns: i64, end_ns: i64) {
        self.start_ns = self.start_ns.min(start_ns);
        self.end_ns = self.end_ns.max(end_ns);
    }

    pub(super) fn bounds(&self) -> (Option<i64>, Option<i64>) {
        if self.start_ns > self.end_ns { (None, None) } else { (Some(self.start_ns), Some(self.end_ns)) }
    }
}

impl Losses {
    /// Adds records that are missing.
    pub(super) fn add(&mut self, cause: Cause, detail: Option<Cow<'static, str>>, rows: u64, window: Window) {
        let (start_ns, end_ns) = window.bounds();
        self.push(Loss { start_ns, end_ns, rows, cause, detail });
    }

    /// Adds one loss to those of its kind.
    pub(super) fn push(&mut self, mut loss: Loss) {
        if self.pending.len() >= MOST {
            loss.detail = None;
        }
        let same = |p: &&mut Loss| p.cause == loss.cause && p.detail == loss.detail;
        let Some(known) = self.pending.iter_mut().find(same) else {
            self.pending.push(loss);
            return;
        };
        known.rows = known.rows.saturating_add(loss.rows);
        known.start_ns = either(known.start_ns, loss.start_ns, i64::min);
        known.end_ns = either(known.end_ns, loss.end_ns, i64::max);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// Takes all of them; what cannot be written is pushed back.
    pub(super) fn take(&mut self) -> Vec<Loss> {
        std::mem::take(&mut self.pending)
    }
}

fn either(a: Option<i64>, b: Option<i64>, both: impl Fn(i64, i64) -> i64) -> Option<i64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(both(a, b)),
        (a, b) => a.or(b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_of_one_cause_and_detail_become_one_with_the_widest_window() {
        let mut losses = Losses::default();
        let window = |start_ns, end_ns| Window { start_ns, end_ns };
        losses.add(Cause::QueueFull, None, 3, window(50, 60));
        losses.add(Cause::Cupti, None, 1, Window::EMPTY);
        losses.add(Cause::QueueFull, None, 4, window(10, 20));
        losses.add(Cause::QueueFull, Some("ranges".into()), 5, Window::EMPTY);
        losses.add(Cause::Cupti, None, 1, window(7, 8));
        let loss = |cause, detail: Option<&'static str>, rows, start_ns, end_ns| Loss {
            cause,
            detail: detail.map(Cow::from),
            rows,
            start_ns,
            end_ns,
        };
        assert_eq!(
            losses.take(),
            [
                loss(Cause::QueueFull, None, 7, Some(10), Some(60)),
                loss(Cause::Cupti, None, 2, Some(7), Some(8)),
                loss(Cause::QueueFull, Some("ranges"), 5, None, None),
            ]
        );
        assert!(losses.is_empty());
    }

    #[test]
    fn details_without_end_do_not_take_memory_without_end() {
        let mut losses = Losses::default();
        for i in 0..1_000 {
            losses.add(Cause::UnknownKind, Some(format!("kind {i}").into()), 1, Window::EMPTY);
        }
        let all = losses.take();
        assert!(all.len() <= MOST + 1);
        assert_eq!(all.iter().map(|l| l.rows).sum::<u64>(), 1_000);
    }
}
