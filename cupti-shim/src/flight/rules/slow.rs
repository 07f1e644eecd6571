//! `slow:NAME[@DOMAIN]:FACTOR`: a range of that name took longer than FACTOR times the median of those before it.

use std::collections::VecDeque;

use shim_config::DumpRule;
use trace_format::tables::RangeRow;

use super::{Fired, Rule};

/// Durations that the median is taken of: the newest so many.
const WINDOW: usize = 256;
/// Fewer say nothing: the first ranges of a program are slow for reasons of their own.
const LEAST: usize = 10;
/// Ids of one name that are remembered: forgotten names get new ones.
const MOST_IDS: usize = 64;

/// The rule, if that is what is wanted.
pub(super) fn rule(wanted: &DumpRule) -> Option<Box<dyn Rule>> {
    let DumpRule::Slow { name, domain, factor_milli } = wanted else { return None };
    Some(Box::new(Slow {
        name: name.clone(),
        domain: domain.clone(),
        factor_milli: *factor_milli,
        name_ids: VecDeque::new(),
        domain_ids: VecDeque::new(),
        newest: VecDeque::new(),
        sorted: Vec::new(),
    }))
}

struct Slow {
    name: Vec<u8>,
    domain: Option<Vec<u8>>,
    factor_milli: u32,
    name_ids: VecDeque<u32>,
    domain_ids: VecDeque<u32>,
    /// The durations in the order in which the ranges ended, and the same in order of length.
    newest: VecDeque<u64>,
    sorted: Vec<u64>,
}

impl Rule for Slow {
    fn name(&mut self, id: u32, name: &[u8]) {
        if name == self.name {
            remember(&mut self.name_ids, id);
        }
        if self.domain.as_deref() == Some(name) {
            remember(&mut self.domain_ids, id);
        }
    }

    fn range(&mut self, row: &RangeRow) -> Option<Fired> {
        if !self.name_ids.contains(&row.name_id) || !self.is_of_domain(row.domain_id) {
            return None;
        }
        let duration_ns = u64::try_from(row.end_ns?.checked_sub(row.start_ns)?).ok()?;
        let fired = self.judge(duration_ns);
        self.add(duration_ns);
        fired
    }
}

impl Slow {
    fn is_of_domain(&self, domain: Option<u32>) -> bool {
        match (&self.domain, domain) {
            (None, _) => true,
            (Some(wanted), None) => wanted.is_empty(),
            (Some(_), Some(id)) => self.domain_ids.contains(&id),
        }
    }

    fn judge(&self, duration_ns: u64) -> Option<Fired> {
        let count = self.sorted.len();
        if count < LEAST {
            return None;
        }
        // Twice the median, which may lie between two.
        let twice = u128::from(self.sorted[(count - 1) / 2]) + u128::from(self.sorted[count / 2]);
        let is_slow = 2_000 * u128::from(duration_ns) > twice * u128::from(self.factor_milli);
        is_slow.then(|| {
            let name = String::from_utf8_lossy(&self.name);
            let (took_ms, median_ms) = (duration_ns as f64 / 1e6, twice as f64 / 2e6);
            Fired {
                reason: format!("slow-{name}"),
                text: format!(
                    "range {name} took {took_ms:.3} ms, the median of the {count} before it is {median_ms:.3} ms"
                ),
                call: None,
            }
        })
    }

    fn add(&mut self, duration_ns: u64) {
        if self.newest.len() >= WINDOW
            && let Some(oldest) = self.newest.pop_front()
            && let Ok(at) = self.sorted.binary_search(&oldest)
        {
            self.sorted.remove(at);
        }
        self.newest.push_back(duration_ns);
        let at = self.sorted.partition_point(|other| *other < duration_ns);
        self.sorted.insert(at, duration_ns);
    }
}

fn remember(ids: &mut VecDeque<u32>, id: u32) {
    if ids.len() >= MOST_IDS {
        ids.pop_front();
    }
    ids.push_back(id);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(name_id: u32, domain_id: Option<u32>, duration_ns: i64) -> RangeRow {
        RangeRow { start_ns: 5, end_ns: Some(5 + duration_ns), name_id, domain_id, ..RangeRow::default() }
    }

    fn made(text: &str) -> Box<dyn Rule> {
        rule(&DumpRule::parse_list(text.as_bytes()).unwrap()[0]).unwrap()
    }

    #[test]
    fn it_fires_beyond_the_factor_and_only_when_it_knows_enough() {
        let mut rule = made("slow:step:2.5");
        rule.name(3, b"step");
        rule.name(4, b"steps");
        // Nine say nothing, however slow the tenth.
        for _ in 0..9 {
            assert_eq!(rule.range(&range(3, None, 100)), None);
        }
        assert_eq!(rule.range(&range(3, None, 1_000_000)), None);
        // The median of nine hundreds and a million.
        assert_eq!(rule.range(&range(3, None, 250)), None, "exactly the factor is not beyond it");
        let fired = rule.range(&range(3, Some(9), 251)).unwrap();
        assert_eq!(fired.reason, "slow-step");
        assert_eq!(fired.text, "range step took 0.000 ms, the median of the 11 before it is 0.000 ms");
        assert_eq!(rule.range(&range(4, None, 1_000_000)), None, "another name");
        let open = RangeRow { end_ns: None, ..range(3, None, 0) };
        assert_eq!(rule.range(&open), None);
    }

    #[test]
    fn domains_are_told_apart() {
        for (rule, default, a, b) in
            [("slow:x:2", true, true, true), ("slow:x@:2", true, false, false), ("slow:x@a:2", false, true, false)]
        {
            for (domain, expected) in [(None, default), (Some(11), a), (Some(12), b)] {
                let mut rule = made(rule);
                for (id, name) in [(1, "x"), (11, "a"), (12, "b")] {
                    rule.name(id, name.as_bytes());
                }
                (0..20).for_each(|_| assert_eq!(rule.range(&range(1, domain, 10)), None));
                assert_eq!(rule.range(&range(1, domain, 100)).is_some(), expected, "{domain:?}");
            }
        }
    }

    #[test]
    fn the_median_is_exact_and_of_the_newest() {
        let mut slow = Slow {
            name: b"x".to_vec(),
            domain: None,
            factor_milli: 2_000,
            name_ids: VecDeque::new(),
            domain_ids: VecDeque::new(),
            newest: VecDeque::new(),
            sorted: Vec::new(),
        };
        let mut seed = 7_u64;
        let mut all = Vec::new();
        for i in 0..3_000 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let duration_ns = (seed >> 40) % 500 + 1;
            if i >= LEAST {
                let mut window: Vec<u64> = all[i.saturating_sub(WINDOW)..].to_vec();
                window.sort_unstable();
                let median2 = window[(window.len() - 1) / 2] + window[window.len() / 2];
                assert_eq!(slow.judge(duration_ns).is_some(), duration_ns > median2, "range {i}");
                assert_eq!(slow.sorted, window);
            }
            slow.add(duration_ns);
            all.push(duration_ns);
        }
        assert!(slow.newest.len() == WINDOW && slow.sorted.len() == WINDOW);
    }
}
