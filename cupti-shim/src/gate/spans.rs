//! Many spans of numbers, and whether one of them holds a number: a binary search, however many there are, and less where
//! one is asked for after the other.

use std::cell::Cell;

/// Spans `[first, end)` in order, none of which touches the next.
#[derive(Clone, Debug, Default)]
pub struct Spans<T> {
    spans: Vec<(T, T)>,
    /// How many spans begin at the number that was asked for last, or before. Records come nearly in order, so the next
    /// answer is mostly the same, and a search costs several branches that nobody can foresee.
    hint: Cell<usize>,
}

impl<T: Copy + Ord> Spans<T> {
    /// No span.
    pub const fn new() -> Spans<T> {
        Spans { spans: Vec::new(), hint: Cell::new(0) }
    }

    /// Adds a span; an empty span changes nothing. Nearly always the span lies behind all others, and then nothing is
    /// searched.
    pub fn add(&mut self, first: T, end: T) {
        if first >= end {
            return;
        }
        // The new span and all spans that it touches become one.
        let from = match self.spans.last() {
            Some(last) if last.1 >= first => self.spans.partition_point(|(_, end)| *end < first),
            _ => self.spans.len(),
        };
        let touched = self.spans.get(from..).unwrap_or_default();
        let to = from + touched.partition_point(|(begin, _)| *begin <= end);
        let touched = self.spans.get(from..to).unwrap_or_default();
        let begin = touched.first().map_or(first, |span| span.0.min(first));
        let end = touched.last().map_or(end, |span| span.1.max(end));
        self.spans.splice(from..to, [(begin, end)]);
    }

    /// How many begin at `number` or before.
    fn before(&self, number: T) -> usize {
        let hint = self.hint.get();
        let is_before = |i: Option<usize>| i.and_then(|i| self.spans.get(i)).is_none_or(|span| span.0 <= number);
        if hint <= self.spans.len()
            && is_before(hint.checked_sub(1))
            && self.spans.get(hint).is_none_or(|span| span.0 > number)
        {
            return hint;
        }
        let before = self.spans.partition_point(|(first, _)| *first <= number);
        self.hint.set(before);
        before
    }

    /// Whether one of them holds `number`.
    pub fn hold(&self, number: T) -> bool {
        let last = self.before(number).checked_sub(1).and_then(|last| self.spans.get(last));
        last.is_some_and(|(_, end)| number < *end)
    }

    /// Whether one of them has something of what lies from `first` to `last`.
    pub fn touch(&self, first: T, last: T) -> bool {
        let ends_later = self.spans.partition_point(|(_, end)| *end <= first);
        self.spans.get(ends_later).is_some_and(|(begin, _)| *begin <= last)
    }

    /// Forgets the older half when there are more than `most`.
    pub fn keep_newest(&mut self, most: usize) {
        if self.spans.len() > most {
            self.spans.drain(..most / 2);
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
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
            let mut union = Spans::new();
            spans.iter().for_each(|(first, end)| union.add(*first, *end));
            let apart = union.spans.windows(2).all(|two| two[0].1 < two[1].0);
            assert!(apart, "{union:?} of {spans:?}");
            // Numbers are asked for upwards, downwards and in a mixed order, because each question leaves a hint for
            // the next one.
            for number in (0..60).chain((0..60).rev()).chain((0..60).map(|i| i * 37 % 60)) {
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
        (5u64..9).chain(20..22).for_each(|id| spans.add(id, id + 1));
        assert_eq!(spans.spans, [(5, 9), (20, 22)]);
        spans.keep_newest(1);
        assert_eq!(spans.spans, [(5, 9), (20, 22)]);
        spans.add(30, 31);
        assert!(spans.hold(30));
        spans.keep_newest(2);
        assert!(!spans.hold(6) && spans.hold(21) && spans.hold(30));
    }
}
