//! Many spans of numbers, and whether one of them holds a number: a binary search, however many there are.

/// Spans `[first, end)` in order, none of which touches the next.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spans<T>(Vec<(T, T)>);

impl<T: Copy + Ord> Spans<T> {
    /// No span.
    pub const fn new() -> Spans<T> {
        Spans(Vec::new())
    }

    /// The union of spans in any order. Empty ones are left out.
    pub fn union(spans: impl Iterator<Item = (T, T)>) -> Spans<T> {
        let mut sorted: Vec<(T, T)> = spans.filter(|(first, end)| first < end).collect();
        sorted.sort_unstable();
        let mut union = Spans(Vec::with_capacity(sorted.len()));
        sorted.into_iter().for_each(|(first, end)| union.push(first, end));
        union
    }

    /// Adds a span that begins where the last one begins, or later.
    pub fn push(&mut self, first: T, end: T) {
        match self.0.last_mut() {
            Some(last) if first <= last.1 => last.1 = last.1.max(end),
            _ => self.0.push((first, end)),
        }
    }

    /// Whether one of them holds `number`.
    pub fn hold(&self, number: T) -> bool {
        let before = self.0.partition_point(|(first, _)| *first <= number);
        before.checked_sub(1).and_then(|last| self.0.get(last)).is_some_and(|(_, end)| number < *end)
    }

    /// Whether one of them has something of what lies from `first` to `last`.
    pub fn touch(&self, first: T, last: T) -> bool {
        let ends_later = self.0.partition_point(|(_, end)| *end <= first);
        self.0.get(ends_later).is_some_and(|(begin, _)| *begin <= last)
    }

    /// Forgets the older half when there are more than `most`.
    pub fn keep_newest(&mut self, most: usize) {
        if self.0.len() > most {
            self.0.drain(..most / 2);
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_union_holds_what_one_of_its_spans_holds() {
        let mut random = 7u64;
        let mut below = |most: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % most
        };
        for _ in 0..200 {
            let spans: Vec<(u64, u64)> = (0..below(12)).map(|_| (below(60), below(60))).collect();
            let union = Spans::union(spans.iter().copied());
            for number in 0..60 {
                let held = spans.iter().any(|(first, end)| (*first..*end).contains(&number));
                assert_eq!(union.hold(number), held, "{number} in {spans:?}");
                for last in number..60 {
                    let touched = (number..=last).any(|number| union.hold(number));
                    assert_eq!(union.touch(number, last), touched, "{number} to {last} in {spans:?}");
                }
            }
        }
    }

    #[test]
    fn numbers_in_a_row_are_one_span() {
        let mut spans = Spans::new();
        (5u64..9).chain(20..22).for_each(|id| spans.push(id, id + 1));
        assert_eq!(spans, Spans(vec![(5, 9), (20, 22)]));
        spans.keep_newest(1);
        assert_eq!(spans, Spans(vec![(5, 9), (20, 22)]));
        spans.push(30, 31);
        spans.keep_newest(2);
        assert!(!spans.hold(6) && spans.hold(21) && spans.hold(30));
    }
}
