//! CUPTI's correlation ids as numbers that never repeat.
//!
//! CUPTI counts calls in 32 bits, one counter per process, and starts over when they are used up: at a million calls a
//! second after little more than an hour. In a trace an id must name one call, so the high half is added here. Records
//! come out of order, but never by anything near half of the counter's range, so an id means the number nearest to the
//! newest one seen.

/// Turns 32-bit ids into 64-bit ones. Each user has an own copy; two that saw about the same records agree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Correlation {
    /// The largest number given out; 0 before the first.
    newest: u64,
}

impl Correlation {
    /// A counter that has come as far as `newest`.
    pub const fn at(newest: u64) -> Correlation {
        Correlation { newest }
    }

    /// How far the counter has come.
    pub const fn newest(self) -> u64 {
        self.newest
    }

    /// What an id means now. 0, "no call", stays 0.
    #[inline]
    pub fn widen(self, id: u32) -> u64 {
        self.nearest(id).unwrap_or(u64::from(id))
    }

    /// As [`Correlation::widen`], and remembers how far the counter has come.
    #[inline]
    pub fn see(&mut self, id: u32) -> u64 {
        match self.nearest(id) {
            Some(wide) => {
                self.newest = self.newest.max(wide);
                wide
            }
            None => u64::from(id),
        }
    }

    /// `None` for an id that would have to be older than the first call: one odd number, such as 0xFFFFFFFF where
    /// somebody means "none", must not make all that follow look like the next round of the counter.
    #[inline(always)]
    fn nearest(self, id: u32) -> Option<u64> {
        if id == 0 || self.newest == 0 {
            return Some(u64::from(id));
        }
        let distance = id.wrapping_sub(self.newest as u32) as i32;
        self.newest.checked_add_signed(i64::from(distance))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_that_wraps_goes_on_counting() {
        let mut ids = Correlation::default();
        assert_eq!(ids.see(0xFFFF_FFFE), 0xFFFF_FFFE);
        assert_eq!(ids.see(0xFFFF_FFFF), 0xFFFF_FFFF);
        assert_eq!(ids.see(1), 0x1_0000_0001);
        assert_eq!(ids.see(0xFFFF_FFFD), 0xFFFF_FFFD, "a late record belongs to the time before");
        assert_eq!(ids.see(5), 0x1_0000_0005);
        for step in 1..=9u64 {
            let id = 0x1_0000_0005 + step * 0x7000_0000;
            assert_eq!(ids.see(id as u32), id);
        }
    }

    #[test]
    fn no_call_stays_no_call() {
        let mut ids = Correlation::default();
        assert_eq!(ids.see(0), 0);
        assert_eq!(ids.see(7), 7);
        assert_eq!(ids.see(0), 0);
        assert_eq!(ids.see(3), 3, "out of order at the beginning");
    }

    #[test]
    fn one_odd_id_changes_nothing_for_those_that_follow() {
        let mut ids = Correlation::default();
        for odd in [0xFFFF_FFFF, 0xF000_0000, 0x7FFF_FFF0, 0xFFFF_FFFF] {
            ids.see(100);
            assert_eq!(ids.see(odd), u64::from(odd), "nothing comes before the first call");
            assert_eq!(ids.see(101), 101);
        }
    }
}
