//! Reading what is expensive less often.

use crate::os::clock::thread_cpu;
use std::time::{Duration, Instant};

/// A reading waits this many times as long as the last one took: half a percent of a CPU at most.
const PAUSE_PER_COST: u32 = 200;
/// But never longer than this.
const MOST_PAUSE: Duration = Duration::from_secs(5);

/// When the next reading is due. Some files of the system take a millisecond to make on large machines.
#[derive(Default)]
pub(super) struct Paced {
    due: Option<Instant>,
}

impl Paced {
    /// Reads if it is time to.
    pub(super) fn read<T>(&mut self, read: impl FnOnce() -> Option<T>) -> Option<T> {
        let began = Instant::now();
        if self.due.is_some_and(|due| began < due) {
            return None;
        }
        let before = thread_cpu();
        let value = read();
        let cost = thread_cpu().saturating_sub(before);
        let pause = cost.saturating_mul(PAUSE_PER_COST).min(MOST_PAUSE);
        self.due = Some(began + pause);
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cheap_reading_is_repeated_and_an_expensive_one_waits() {
        let mut paced = Paced::default();
        let slow = || {
            let begin = thread_cpu();
            while thread_cpu() - begin < Duration::from_millis(20) {}
            Some(1)
        };
        assert_eq!(paced.read(slow), Some(1));
        assert_eq!(paced.read(|| Some(2)), None, "four seconds have not passed");
        let mut paced = Paced { due: Some(Instant::now()) };
        assert_eq!(paced.read(|| Some(3)), Some(3));
    }
}
