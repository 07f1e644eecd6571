//! Rows of summaries in their order, of which there can be a million.

use rayon::prelude::*;
use std::cmp::Ordering;

/// From so many rows on, all threads sort.
const MANY: usize = 1 << 13;

/// Sorts by falling `key`, rows of equal keys by `tie`, and those that are equal in both stay in their order.
pub fn sort_falling<T: Send + Sync>(
    rows: &mut [T],
    key: impl Fn(&T) -> u128 + Sync,
    tie: impl Fn(&T, &T) -> Ordering + Sync,
) {
    let Some(mut from) = falling_order(rows, key, tie) else { return };
    for first in 0..rows.len() {
        // A circle of rows, each of which goes to the place of the one before it. A place that has its row leads to itself.
        let mut at = first;
        while from[at] != first {
            let next = from[at];
            rows.swap(at, next);
            from[at] = at;
            at = next;
        }
        from[at] = at;
    }
}

/// The places of rows in the order of [`sort_falling`]; `None`: they are in it. Rows hold all the figures of a line, so whoever makes
/// something smaller of them moves that, and not the rows.
pub fn falling_order<T: Send + Sync>(
    rows: &[T],
    key: impl Fn(&T) -> u128 + Sync,
    tie: impl Fn(&T, &T) -> Ordering + Sync,
) -> Option<Vec<usize>> {
    if rows.is_sorted_by(|a, b| key(b).cmp(&key(a)).then_with(|| tie(a, b)).is_le()) {
        return None;
    }
    let mut order: Vec<(u128, usize)> = rows.iter().zip(0..).map(|(row, at)| (key(row), at)).collect();
    let by = |a: &(u128, usize), b: &(u128, usize)| {
        b.0.cmp(&a.0).then_with(|| tie(&rows[a.1], &rows[b.1])).then_with(|| a.1.cmp(&b.1))
    };
    match order.len() {
        ..MANY => order.sort_unstable_by(by),
        _ => order.par_sort_unstable_by(by),
    }
    Some(order.into_iter().map(|(_, at)| at).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_and_many_rows_come_in_the_order_of_a_stable_sort() {
        for count in [0, 1, 100, 3 * MANY] {
            // Keys and names come several times, so that ties decide, and so does the place.
            let rows: Vec<(u128, String, usize)> =
                (0..count).map(|i| ((i * 7 % 53) as u128, format!("f{}", i * 11 % 17), i)).collect();
            let mut expected = rows.clone();
            expected.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
            let mut sorted = rows;
            sort_falling(&mut sorted, |row| row.0, |a, b| a.1.cmp(&b.1));
            assert_eq!(sorted, expected);
        }
    }
}
