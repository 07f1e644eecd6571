//! For how long work of which classes ran at once: exact, and in one pass over work in order of its start.
//!
//! Of each class only the latest end so far is needed. Between one start and the next a class covers the time up to that end
//! and nothing behind it: whatever ends last began before, and nothing begins in between.

/// Classes, at most.
pub const CLASSES: usize = 6;

/// Which classes run, in order of time. A set of them is a mask: bit `i` for class `i`.
#[derive(Clone, Debug)]
pub struct Running {
    /// Latest end of each class.
    ends_ns: [i64; CLASSES],
    /// Up to here every stretch was told; `None`: there was no work yet.
    told_to_ns: Option<i64>,
}

impl Default for Running {
    fn default() -> Self {
        Running { ends_ns: [i64::MIN; CLASSES], told_to_ns: None }
    }
}

impl Running {
    /// Takes work of a class, which must not start before work that was taken already. What is then known is told to
    /// `stretch`: which classes ran, from when, and to when.
    #[inline]
    pub fn add(&mut self, class: usize, start_ns: i64, end_ns: i64, stretch: impl FnMut(usize, i64, i64)) {
        match self.told_to_ns {
            Some(_) => self.tell_to(start_ns, stretch),
            None => self.told_to_ns = Some(start_ns),
        }
        self.ends_ns[class] = self.ends_ns[class].max(end_ns);
    }

    /// Tells what is left, after the last piece of work.
    pub fn finish(&mut self, stretch: impl FnMut(usize, i64, i64)) {
        let last_ns = self.ends_ns.into_iter().fold(i64::MIN, i64::max);
        self.tell_to(last_ns, stretch);
    }

    #[inline]
    fn tell_to(&mut self, until_ns: i64, mut stretch: impl FnMut(usize, i64, i64)) {
        let Some(mut at_ns) = self.told_to_ns else { return };
        while at_ns < until_ns {
            let (mut set, mut next_ns) = (0, until_ns);
            for (class, &end_ns) in self.ends_ns.iter().enumerate() {
                if end_ns > at_ns {
                    set |= 1 << class;
                    next_ns = next_ns.min(end_ns);
                }
            }
            stretch(set, at_ns, next_ns);
            at_ns = next_ns;
        }
        self.told_to_ns = Some(at_ns.max(until_ns));
    }
}

/// Time by the set of classes that ran.
#[derive(Clone, Debug)]
pub struct Coverage {
    running: Running,
    /// Nanoseconds by set. Those of the empty set are idle time between the first start and the last end.
    covered_ns: [i64; 1 << CLASSES],
    /// First start and last end.
    span: Option<(i64, i64)>,
}

impl Default for Coverage {
    fn default() -> Self {
        Coverage { running: Running::default(), covered_ns: [0; 1 << CLASSES], span: None }
    }
}

/// Adds a stretch to the time of its set.
#[inline]
fn count(covered_ns: &mut [i64], set: usize, from_ns: i64, to_ns: i64) {
    covered_ns[set] = covered_ns[set].saturating_add(to_ns.saturating_sub(from_ns));
}

impl Coverage {
    /// Counts work of a class. It must not start before work that was counted already.
    #[inline]
    pub fn add(&mut self, class: usize, start_ns: i64, end_ns: i64) {
        let (_, last_ns) = self.span.get_or_insert((start_ns, end_ns));
        *last_ns = (*last_ns).max(end_ns);
        let covered_ns = &mut self.covered_ns;
        self.running.add(class, start_ns, end_ns, |set, from, to| count(covered_ns, set, from, to));
    }

    /// Counts what is left, after the last piece of work.
    pub fn finish(&mut self) {
        let covered_ns = &mut self.covered_ns;
        self.running.finish(|set, from, to| count(covered_ns, set, from, to));
    }

    /// From the first start to the last end.
    pub fn span_ns(&self) -> i64 {
        self.span.map_or(0, |(first_ns, last_ns)| last_ns.saturating_sub(first_ns))
    }

    /// Time in which some class of `any` ran and none of `none`. Sets as masks.
    pub fn of(&self, any: usize, none: usize) -> i64 {
        let fits = |set: &usize| set & any != 0 && set & none == 0;
        (0..self.covered_ns.len()).filter(fits).map(|set| self.covered_ns[set]).fold(0, i64::saturating_add)
    }

    /// Time in which all classes of a set ran, and no others.
    pub fn exactly(&self, set: usize) -> i64 {
        self.covered_ns.get(set).copied().unwrap_or(0)
    }

    /// Time in which anything ran.
    pub fn busy_ns(&self) -> i64 {
        self.of((1 << CLASSES) - 1, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same by looking at every nanosecond.
    fn brute(work: &[(usize, i64, i64)], any: usize, none: usize) -> i64 {
        let first = work.iter().map(|w| w.1).min().unwrap_or(0);
        let last = work.iter().map(|w| w.2).max().unwrap_or(0);
        let set = |t: i64| work.iter().filter(|w| w.1 <= t && t < w.2).fold(0, |set, w| set | (1 << w.0));
        (first..last).filter(|&t| set(t) & any != 0 && set(t) & none == 0).count() as i64
    }

    #[test]
    fn every_nanosecond_is_counted_once() {
        let mut state = 7_u64;
        let mut below = |n: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % n
        };
        for _ in 0..200 {
            let mut work: Vec<(usize, i64, i64)> = (0..below(12) + 1)
                .map(|_| {
                    let start = below(60) as i64 - 20;
                    (below(CLASSES as u64) as usize, start, start + below(20) as i64)
                })
                .collect();
            work.sort_by_key(|w| w.1);
            let mut coverage = Coverage::default();
            work.iter().for_each(|&(class, start, end)| coverage.add(class, start, end));
            coverage.finish();
            for any in 1..1 << CLASSES {
                let none = below(1 << CLASSES) as usize;
                assert_eq!(coverage.of(any, none), brute(&work, any, none), "{any:b} {none:b} {work:?}");
            }
            let last = work.iter().map(|w| w.2).max().expect("some");
            assert_eq!(coverage.span_ns(), last - work[0].1);
        }
        let mut nothing = Coverage::default();
        nothing.finish();
        assert_eq!((nothing.busy_ns(), nothing.span_ns()), (0, 0));
    }
}
