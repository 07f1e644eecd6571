//! Which launch belongs to which work, for as many launches as can be under way. Nothing grows with the run.

use super::bins::Waits;

/// Launches that are remembered at most: what the collector can have written of one table before the other.
const MOST_LAUNCHES: usize = 1 << 18;
/// Launches that are remembered at first.
const FEW_LAUNCHES: usize = 1 << 10;
/// Pieces of work that wait for the row of their launch, at most.
const MOST_WAITING: usize = 1 << 16;

/// A piece of GPU work.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    /// What joins it to its call.
    pub correlation: u64,
    /// Start in nanoseconds.
    pub start_ns: i64,
    /// End in nanoseconds.
    pub end_ns: i64,
}

/// The newest launches and the work that came before the row of its launch did.
#[derive(Debug, Default)]
pub struct Queue {
    /// Correlation and start of the call, at the place that the correlation gives; 0 is no correlation.
    launches: Vec<(u64, i64)>,
    waiting: Vec<Work>,
}

impl Queue {
    /// A launch; false if a call with this correlation was seen before: the runtime calls the driver, and both are
    /// recorded.
    pub fn launch(&mut self, correlation: u64, start_ns: i64) -> bool {
        if correlation == 0 {
            return true;
        }
        if self.launches.is_empty() {
            self.launches = vec![(0, 0); FEW_LAUNCHES];
        }
        loop {
            let places = self.launches.len();
            let known = &mut self.launches[correlation as usize & (places - 1)];
            if known.0 == correlation {
                // The outer call began first.
                known.1 = known.1.min(start_ns);
                return false;
            }
            let is_recent = known.0 != 0 && known.0.abs_diff(correlation) < MOST_LAUNCHES as u64;
            if is_recent && places < MOST_LAUNCHES {
                self.grow();
                continue;
            }
            *known = (correlation, start_ns);
            return true;
        }
    }

    fn grow(&mut self) {
        let larger = vec![(0, 0); 2 * self.launches.len()];
        let old = std::mem::replace(&mut self.launches, larger);
        for launch in old.into_iter().filter(|launch| launch.0 != 0) {
            let place = launch.0 as usize & (self.launches.len() - 1);
            self.launches[place] = launch;
        }
    }

    fn call_of(&self, correlation: u64) -> Option<i64> {
        let place = (correlation as usize).checked_rem(self.launches.len())?;
        Some(self.launches[place])
            .filter(|launch| launch.0 == correlation && correlation != 0)
            .map(|launch| launch.1)
    }

    /// How a piece of work waited; `None` while its launch is not known.
    pub fn work(&mut self, work: Work) -> Option<Waits> {
        let waits = self.call_of(work.correlation).map(|call_ns| waits(call_ns, work));
        if waits.is_none() && work.correlation != 0 && self.waiting.len() < MOST_WAITING {
            self.waiting.push(work);
        }
        waits
    }

    /// Hands over the work whose launches have come since; what started before `oldest_ns` is forgotten.
    pub fn settle(&mut self, oldest_ns: i64, mut settled: impl FnMut(Work, Waits)) {
        let waiting = std::mem::take(&mut self.waiting);
        for work in waiting {
            match self.call_of(work.correlation) {
                Some(call_ns) => settled(work, waits(call_ns, work)),
                None if work.start_ns >= oldest_ns => self.waiting.push(work),
                None => {}
            }
        }
    }
}

fn waits(call_ns: i64, work: Work) -> Waits {
    // Clocks of host and device may differ by a little.
    let since = |time_ns: i64| time_ns.saturating_sub(call_ns).max(0).unsigned_abs();
    let wait_ns = since(work.start_ns);
    Waits { count: 1, total_ns: wait_ns, max_ns: wait_ns, open_ns: since(work.end_ns) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(correlation: u64) -> Work {
        let start_ns = correlation as i64 * 10 + 4;
        Work { correlation, start_ns, end_ns: start_ns + 3 }
    }

    #[test]
    fn launches_and_work_meet_whichever_comes_first() {
        let mut queue = Queue::default();
        let expected = Waits { count: 1, total_ns: 4, max_ns: 4, open_ns: 7 };
        assert!(queue.launch(1, 10));
        assert!(!queue.launch(1, 12), "the driver's call inside the runtime's");
        assert_eq!(queue.work(work(1)), Some(expected));
        assert_eq!(queue.work(work(2)), None);
        assert_eq!(queue.work(work(3)), None);
        assert!(queue.launch(2, 20));
        let mut settled = Vec::new();
        queue.settle(0, |work, waits| settled.push((work.correlation, waits)));
        assert_eq!(settled, [(2, expected)]);
        queue.settle(1_000, |_, _| panic!("nothing new"));
        assert!(queue.waiting.is_empty(), "too old to wait for");
    }

    #[test]
    fn hundreds_of_thousands_of_launches_may_be_under_way_and_memory_is_bounded() {
        let mut queue = Queue::default();
        let many = 200_000;
        assert!((1..=many).all(|c| queue.launch(c, c as i64 * 10)));
        assert!((1..=many).all(|c| queue.work(work(c)).is_some()));
        assert!((many + 1..3_000_000).all(|c| queue.launch(c, 0)));
        assert_eq!(queue.launches.len(), MOST_LAUNCHES);
        for c in 0..200_000 {
            let _ = queue.work(work(10_000_000 + c));
        }
        assert_eq!(queue.waiting.len(), MOST_WAITING);
    }
}
