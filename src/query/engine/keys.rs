//! Equal rows and their order: what GROUP BY, DISTINCT, joins, set operations, windows and ORDER BY have in common.
//!
//! Rows are coded: equal values get one number, counted from 0 in the order in which they first appear, so that an
//! answer never depends on a hash or on threads. NULLs are equal to each other here; joins leave them out themselves.

use super::column::{Column, Values};
use super::problem::Result;
use hashbrown::HashMap;
use rayon::slice::ParallelSliceMut as _;
use std::cmp::Ordering;

/// Rows in groups of equal keys.
#[derive(Clone, Debug)]
pub struct Groups {
    /// The group of each row.
    pub of: Vec<u32>,
    /// The first row of each group.
    pub first: Vec<u32>,
}

impl Groups {
    /// All rows in one group, which is there without rows too: an aggregate without GROUP BY.
    pub fn one(rows: usize) -> Groups {
        Groups { of: vec![0; rows], first: vec![0] }
    }

    /// The number of groups.
    pub fn len(&self) -> usize {
        self.first.len()
    }
}

/// Groups of rows with equal values in all of `keys`.
pub fn groups(keys: &[&Column], rows: usize) -> Groups {
    let mut of: Option<(Vec<u32>, usize)> = None;
    for key in keys {
        if key.constant {
            continue;
        }
        let codes = codes(key, rows);
        of = Some(match of {
            None => codes,
            Some(earlier) => pairs(&earlier, &codes),
        });
    }
    let Some((of, count)) = of else {
        return Groups { of: vec![0; rows], first: if rows == 0 { Vec::new() } else { vec![0] } };
    };
    let mut first = vec![u32::MAX; count];
    for (row, &group) in of.iter().enumerate().rev() {
        first[group as usize] = row as u32;
    }
    Groups { of, first }
}

/// A code for each row, and how many codes there are.
fn codes(column: &Column, rows: usize) -> (Vec<u32>, usize) {
    match &column.values {
        Values::Bool(values) => direct(column, rows, 2, |row| usize::from(values[row])),
        Values::Text(codes, dictionary) => direct(column, rows, dictionary.len(), |row| codes[row] as usize),
        Values::Float(values) => {
            // 0 and -0 are equal, and so are all that are not numbers.
            let bits = |value: f64| if value.is_nan() { f64::NAN } else { value + 0.0 }.to_bits();
            hashed(column, rows, |row| bits(values[row]))
        }
        Values::Wide(values) => hashed(column, rows, |row| values[row]),
        Values::Int(values) => {
            let widen = |(least, most): (i64, i64), value: i64| (least.min(value), most.max(value));
            let (least, most) = match &column.valid {
                None => values.iter().copied().fold((i64::MAX, i64::MIN), widen),
                Some(valid) => {
                    let known = values.iter().zip(valid.iter()).filter(|(_, valid)| **valid);
                    known.map(|(value, _)| *value).fold((i64::MAX, i64::MIN), widen)
                }
            };
            let span = i128::from(most) - i128::from(least);
            if least > most {
                direct(column, rows, 0, |_| 0)
            } else if span < (rows as i128 * 4).clamp(1 << 10, 1 << 26) {
                direct(column, rows, span as usize + 1, |row| (values[row].wrapping_sub(least)) as usize)
            } else {
                hashed(column, rows, |row| values[row] as u64)
            }
        }
    }
}

/// Codes by way of a table of all possible values, of which there are `span`.
fn direct(column: &Column, rows: usize, span: usize, slot: impl Fn(usize) -> usize) -> (Vec<u32>, usize) {
    let mut table = vec![u32::MAX; span + 1];
    let mut next = 0;
    let mut code = |slot: usize| {
        let code = &mut table[slot];
        if *code == u32::MAX {
            *code = next;
            next += 1;
        }
        *code
    };
    let out = match &column.valid {
        None => (0..rows).map(|row| code(slot(row))).collect(),
        Some(valid) => (0..rows).map(|row| code(if valid[row] { slot(row) } else { span })).collect(),
    };
    (out, next as usize)
}

fn hashed(column: &Column, rows: usize, bits: impl Fn(usize) -> u64) -> (Vec<u32>, usize) {
    let mut table: HashMap<u64, u32> = HashMap::new();
    let mut null = None;
    let mut next = 0;
    let mut fresh = || {
        next += 1;
        next - 1
    };
    let out = (0..rows)
        .map(|row| match column.is_valid(row) {
            true => *table.entry(bits(row)).or_insert_with(&mut fresh),
            false => *null.get_or_insert_with(&mut fresh),
        })
        .collect();
    (out, next as usize)
}

/// Codes of pairs of codes.
fn pairs((left, lefts): &(Vec<u32>, usize), (right, rights): &(Vec<u32>, usize)) -> (Vec<u32>, usize) {
    let mut next = 0;
    if let Some(span) = lefts.checked_mul(*rights).filter(|&span| span <= (left.len() * 4).max(1 << 16)) {
        let mut table = vec![u32::MAX; span];
        let of = left.iter().zip(right).map(|(&l, &r)| {
            let code = &mut table[l as usize * rights + r as usize];
            if *code == u32::MAX {
                *code = next;
                next += 1;
            }
            *code
        });
        return (of.collect(), next as usize);
    }
    let mut table: HashMap<u64, u32> = HashMap::new();
    let of = left.iter().zip(right).map(|(&l, &r)| {
        *table.entry(u64::from(l) << 32 | u64::from(r)).or_insert_with(|| {
            next += 1;
            next - 1
        })
    });
    (of.collect(), next as usize)
}

/// Codes that are equal where rows of the two sides have equal keys, and how many there are. Rows with a NULL in a key
/// have none.
///
/// # Errors
/// Fails if a key is text on one side and a number on the other.
pub fn joint(
    left: &[&Column],
    left_rows: usize,
    right: &[&Column],
    right_rows: usize,
) -> Result<(Vec<u32>, Vec<u32>, usize)> {
    let both = left
        .iter()
        .zip(right)
        .map(|(left, right)| super::column::concat(&[(left, left_rows), (right, right_rows)]));
    let both: Vec<Column> = both.collect::<Result<_>>()?;
    let keys: Vec<&Column> = both.iter().collect();
    let Groups { mut of, first } = groups(&keys, left_rows + right_rows);
    for valid in both.iter().filter_map(|key| key.valid.as_ref()) {
        for (code, _) in of.iter_mut().zip(valid.iter()).filter(|(_, valid)| !**valid) {
            *code = u32::MAX;
        }
    }
    let right = of.split_off(left_rows);
    Ok((of, right, first.len()))
}

/// What rows are sorted by.
pub struct SortKey<'c> {
    /// The values.
    pub column: &'c Column,
    /// Greatest first.
    pub descending: bool,
    /// NULLs before all values.
    pub nulls_first: bool,
}

/// A key as numbers that sort as its values do, and where it is NULL.
struct Sortable {
    bits: Vec<u64>,
    nulls: Option<Vec<bool>>,
    nulls_first: bool,
}

/// Compares rows by several keys.
pub struct Sorter(Vec<Sortable>);

impl Sorter {
    /// Makes a sorter of `rows` rows by `keys`.
    pub fn new(keys: &[SortKey], rows: usize) -> Sorter {
        Sorter(keys.iter().map(|key| sortable(key, rows)).collect())
    }

    /// How two rows compare; equal ones do not stand in any order.
    pub fn compare(&self, a: u32, b: u32) -> Ordering {
        let (x, y) = (a as usize, b as usize);
        for key in &self.0 {
            if let Some(nulls) = &key.nulls {
                let by_null = nulls[y].cmp(&nulls[x]);
                let by_null = if key.nulls_first { by_null } else { by_null.reverse() };
                if by_null.is_ne() {
                    return by_null;
                }
                if nulls[x] {
                    continue;
                }
            }
            let by_value = key.bits[x].cmp(&key.bits[y]);
            if by_value.is_ne() {
                return by_value;
            }
        }
        Ordering::Equal
    }

    /// The only key, where no value of it is NULL.
    fn plain(&self) -> Option<&[u64]> {
        match &self.0[..] {
            [Sortable { bits, nulls: None, .. }] => Some(bits),
            _ => None,
        }
    }

    /// Puts `rows`, which ascend, in order; equal ones stay as they are.
    pub fn sort(&self, rows: &mut [u32]) {
        if self.0.is_empty() {
            return;
        }
        if let Some(bits) = self.plain() {
            // What was recorded in order of time is nearly always asked for in it.
            if rows.is_sorted_by_key(|&row| bits[row as usize]) {
                return;
            }
            let mut pairs: Vec<(u64, u32)> = rows.iter().map(|&row| (bits[row as usize], row)).collect();
            pairs.par_sort_unstable();
            rows.iter_mut().zip(pairs).for_each(|(row, (_, sorted))| *row = sorted);
            return;
        }
        rows.par_sort_unstable_by(|&a, &b| self.compare(a, b).then(a.cmp(&b)));
    }
}

fn sortable(key: &SortKey, rows: usize) -> Sortable {
    const SIGN: u64 = 1 << 63;
    let column = key.column;
    let mut bits: Vec<u64> = match &column.values {
        Values::Bool(values) => values.iter().map(|&value| u64::from(value)).collect(),
        Values::Int(values) => values.iter().map(|&value| value as u64 ^ SIGN).collect(),
        Values::Wide(values) => values.to_vec(),
        Values::Float(values) => values
            .iter()
            .map(|&value| {
                let bits = (value + 0.0).to_bits();
                if bits & SIGN == 0 { bits ^ SIGN } else { !bits }
            })
            .collect(),
        Values::Text(codes, dictionary) => {
            let ranks = dictionary.ranks();
            codes.iter().map(|&code| u64::from(ranks.get(code as usize).copied().unwrap_or(0))).collect()
        }
    };
    if key.descending {
        bits.iter_mut().for_each(|bits| *bits = !*bits);
    }
    if column.constant {
        bits = vec![0; rows];
    }
    let nulls = column.valid.as_ref().map(|_| (0..rows).map(|row| !column.is_valid(row)).collect());
    Sortable { bits, nulls, nulls_first: key.nulls_first }
}

/// Rows in order, equal ones as they came; the first `limit` of them where there is one.
pub fn order(keys: &[SortKey], rows: usize, limit: Option<usize>) -> Vec<u32> {
    let sorter = Sorter::new(keys, rows);
    let limit = limit.unwrap_or(rows).min(rows);
    let few = limit > 0 && limit < rows / 4;
    let mut index: Vec<u32> = (0..rows as u32).collect();
    if few && let Some(bits) = sorter.plain() {
        let mut pairs: Vec<(u64, u32)> = bits.iter().copied().zip(index).collect();
        pairs.select_nth_unstable(limit - 1);
        pairs.truncate(limit);
        pairs.sort_unstable();
        return pairs.into_iter().map(|(_, row)| row).collect();
    }
    if few {
        index.select_nth_unstable_by(limit - 1, |&a, &b| sorter.compare(a, b).then(a.cmp(&b)));
        index.truncate(limit);
        index.sort_unstable();
    }
    sorter.sort(&mut index);
    index.truncate(limit);
    index
}
