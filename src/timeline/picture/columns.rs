//! The columns of a picture: equal parts of a window of time, cut without losing a nanosecond.

/// A window of time in columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Columns {
    /// Start of the window.
    pub first_ns: i64,
    /// Its end, not in it.
    pub last_ns: i64,
    /// Number of columns.
    pub count: usize,
    /// Parts of a nanosecond that times are counted in, so that a short window too has columns of some length: 1
    /// wherever a column is a nanosecond or longer.
    pub per_ns: u64,
}

impl Columns {
    /// `count` columns (at least one) over a window (at least a nanosecond).
    pub fn new(first_ns: i64, last_ns: i64, count: usize) -> Columns {
        let count = count.max(1);
        // The last nanosecond that there is begins no window.
        let first_ns = first_ns.min(i64::MAX - 1);
        let last_ns = last_ns.max(first_ns + 1);
        let per_ns = (count as u64).div_ceil(last_ns.abs_diff(first_ns)).max(1);
        Columns { first_ns, last_ns, count, per_ns }
    }

    /// Length of the window in parts.
    fn length(&self) -> u128 {
        u128::from(self.last_ns.abs_diff(self.first_ns)) * u128::from(self.per_ns)
    }

    /// Where column `i` begins, in parts from the start of the window.
    fn begin(&self, i: usize) -> u128 {
        i as u128 * self.length() / self.count as u128
    }

    /// Length of column `i` in parts; no two differ by more than one.
    pub fn parts(&self, i: usize) -> u64 {
        // A column is no longer than the window, whose nanoseconds fit.
        u64::try_from(self.begin(i + 1) - self.begin(i)).unwrap_or(u64::MAX)
    }

    /// The column that a part of the window is in: the last one that begins at it or before.
    fn column(&self, part: u128) -> usize {
        (((part + 1) * self.count as u128 - 1) / self.length()) as usize
    }

    /// Calls `each(column, parts)` with every column that the span has a share in; what lies outside of the window is
    /// cut off.
    pub fn cut(&self, start_ns: i64, end_ns: i64, mut each: impl FnMut(usize, u64)) {
        let (start_ns, end_ns) = (start_ns.max(self.first_ns), end_ns.min(self.last_ns));
        if start_ns >= end_ns {
            return;
        }
        let part = |ns: i64| u128::from(ns.abs_diff(self.first_ns)) * u128::from(self.per_ns);
        let (mut from, to) = (part(start_ns), part(end_ns));
        let mut column = self.column(from);
        while from < to {
            let until = self.begin(column + 1).min(to);
            each(column, u64::try_from(until - from).unwrap_or(u64::MAX));
            from = until;
            column += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every part by itself.
    fn slow(columns: &Columns, start_ns: i64, end_ns: i64) -> Vec<u64> {
        let mut all = vec![0; columns.count];
        for ns in start_ns.max(columns.first_ns)..end_ns.min(columns.last_ns) {
            for k in 0..columns.per_ns {
                let part = u128::from(ns.abs_diff(columns.first_ns)) * u128::from(columns.per_ns) + u128::from(k);
                all[(0..columns.count).rfind(|&i| columns.begin(i) <= part).unwrap()] += 1;
            }
        }
        all
    }

    #[test]
    fn spans_are_cut_as_if_every_nanosecond_were_placed_by_itself() {
        for (first, last, count) in
            [(0, 100, 7), (-50, 13, 64), (5, 6, 10), (1000, 1003, 2), (0, 997, 100), (3, 3, 1)]
        {
            let columns = Columns::new(first, last, count);
            assert_eq!((0..count).map(|i| columns.parts(i)).sum::<u64>() as u128, columns.length());
            assert!((0..count).all(|i| columns.parts(i) > 0), "{columns:?}");
            let step = ((last - first) / 30 + 1) as usize;
            for start in (first - 3..last + 3).step_by(step) {
                for end in (start..last + 5).step_by(step) {
                    let mut cut = vec![0; count];
                    columns.cut(start, end, |column, parts| cut[column] += parts);
                    assert_eq!(cut, slow(&columns, start, end), "{columns:?} {start}..{end}");
                }
            }
        }
    }

    #[test]
    fn the_longest_window_overflows_nothing() {
        let columns = Columns::new(i64::MIN, i64::MAX, 4000);
        let mut total = 0_u128;
        columns.cut(i64::MIN, i64::MAX, |_, parts| total += u128::from(parts));
        assert_eq!(total, u128::from(u64::MAX));
    }
}
