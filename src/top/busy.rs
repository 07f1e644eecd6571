//! When a device was at work within one bin: the union of intervals, whatever order they come in.

/// Stretches of work that are kept apart. More than that in a tenth of a second is one every 6 µs.
const MOST_STRETCHES: usize = 16_384;

/// The stretches within one bin in which a device was at work.
#[derive(Clone, Debug, Default)]
pub struct Busy {
    /// Sorted, apart from each other; nanoseconds from the begin of the bin.
    stretches: Vec<(u32, u32)>,
    /// Idle time inside stretches, where short gaps were given up to keep their number down. Work that comes late and
    /// falls into one of those is not seen: the sum stays exact unless that happens.
    given_up_ns: u64,
}

impl Busy {
    /// Adds stretches that are sorted and apart from each other.
    pub fn add(&mut self, more: &[(u32, u32)]) {
        let Some(&(first, _)) = more.first() else { return };
        match self.stretches.last_mut() {
            // The usual case: later work comes later.
            Some(last) if first >= last.0 => {
                let mut rest = more;
                if first <= last.1 {
                    last.1 = last.1.max(more[0].1);
                    rest = &more[1..];
                }
                // A long one may reach over several of the new ones.
                for &(from, to) in rest {
                    push(&mut self.stretches, from, to);
                }
            }
            None => self.stretches.extend_from_slice(more),
            Some(_) => self.merge(more),
        }
        if self.stretches.len() > MOST_STRETCHES {
            self.thin();
        }
    }

    fn merge(&mut self, more: &[(u32, u32)]) {
        let old = std::mem::take(&mut self.stretches);
        let mut merged = Vec::with_capacity(old.len() + more.len());
        let (mut a, mut b) = (old.iter().peekable(), more.iter().peekable());
        loop {
            let next = match (a.peek(), b.peek()) {
                (Some(x), Some(y)) if x.0 <= y.0 => a.next(),
                (_, Some(_)) => b.next(),
                (Some(_), None) => a.next(),
                (None, None) => break,
            };
            if let Some(&(from, to)) = next {
                push(&mut merged, from, to);
            }
        }
        self.stretches = merged;
    }

    /// Gives up the shortest gaps until half as many stretches are left.
    fn thin(&mut self) {
        let mut gaps: Vec<u32> = self.stretches.windows(2).map(|w| w[1].0 - w[0].1).collect();
        let middle = gaps.len() / 2;
        let (_, &mut longest_given_up, _) = gaps.select_nth_unstable(middle);
        let old = std::mem::take(&mut self.stretches);
        for (from, to) in old {
            match self.stretches.last_mut() {
                Some(last) if from - last.1 <= longest_given_up => {
                    self.given_up_ns += u64::from(from - last.1);
                    last.1 = to;
                }
                _ => self.stretches.push((from, to)),
            }
        }
    }

    /// How long the device was at work, in nanoseconds.
    pub fn total_ns(&self) -> u64 {
        let all: u64 = self.stretches.iter().map(|&(from, to)| u64::from(to - from)).sum();
        all.saturating_sub(self.given_up_ns)
    }

    /// How long the device was at work before `until`, in nanoseconds.
    pub fn until_ns(&self, until: u32) -> u64 {
        if self.stretches.last().is_none_or(|last| last.1 <= until) {
            return self.total_ns();
        }
        let part = |&(from, to): &(u32, u32)| u64::from(to.min(until).saturating_sub(from));
        self.stretches.iter().map(part).sum::<u64>().saturating_sub(self.given_up_ns)
    }

    /// Forgets where the stretches were, and keeps how long they were.
    pub fn freeze(&mut self) -> u64 {
        let total = self.total_ns();
        self.stretches = Vec::new();
        self.given_up_ns = 0;
        total
    }

    /// Memory of it, about, in bytes.
    #[cfg(test)]
    fn size_bytes(&self) -> usize {
        self.stretches.capacity() * size_of::<(u32, u32)>()
    }
}

/// Appends a stretch that begins at or after the last one's begin.
fn push(stretches: &mut Vec<(u32, u32)>, from: u32, to: u32) {
    match stretches.last_mut() {
        Some(last) if from <= last.1 => last.1 = last.1.max(to),
        _ => stretches.push((from, to)),
    }
}

/// Sorts intervals and joins those that touch, in place.
pub fn join(intervals: &mut Vec<(i64, i64)>) {
    if !intervals.is_sorted() {
        intervals.sort_unstable();
    }
    intervals.dedup_by(|next, kept| {
        let touches = next.0 <= kept.1;
        if touches {
            kept.1 = kept.1.max(next.1);
        }
        touches
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Splitmix64.
    struct Random(u64);

    impl Random {
        fn below(&mut self, n: u64) -> u64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            (z ^ (z >> 31)) % n
        }
    }

    #[test]
    fn the_union_is_exact_in_any_order() {
        let mut random = Random(7);
        for round in 0..200 {
            let mut truth = vec![false; 2_000];
            let mut busy = Busy::default();
            for _ in 0..=round % 7 {
                let mut frame: Vec<(i64, i64)> = (0..random.below(40))
                    .map(|_| {
                        let from = random.below(1_990) as i64;
                        (from, from + random.below(10) as i64)
                    })
                    .collect();
                for &(from, to) in &frame {
                    truth[from as usize..to as usize].fill(true);
                }
                join(&mut frame);
                let frame: Vec<(u32, u32)> = frame.iter().map(|&(a, b)| (a as u32, b as u32)).collect();
                busy.add(&frame);
            }
            let count = |until: usize| truth[..until].iter().filter(|&&busy| busy).count() as u64;
            assert_eq!(busy.total_ns(), count(2_000), "round {round}");
            assert_eq!(busy.until_ns(700), count(700), "round {round}");
        }
    }

    #[test]
    fn more_stretches_than_are_kept_lose_no_time_while_they_come_in_order() {
        let mut busy = Busy::default();
        let count = 5 * MOST_STRETCHES as u32;
        for chunk in 0..5 {
            let some: Vec<(u32, u32)> =
                (chunk * count / 5..(chunk + 1) * count / 5).map(|i| (i * 10, i * 10 + 1 + i % 9)).collect();
            busy.add(&some);
        }
        let expected: u64 = (0..count).map(|i| u64::from(1 + i % 9)).sum();
        assert_eq!(busy.total_ns(), expected);
        assert!(busy.size_bytes() < 8 * 3 * MOST_STRETCHES, "{}", busy.size_bytes());
        assert_eq!(busy.freeze(), expected);
        assert_eq!(busy.size_bytes(), 0);
    }
}
