//! Integers by record, as narrow as their values allow: ten million records must fit into memory.

/// What a narrow column holds where there is no value.
const NARROW_NULL: u32 = u32::MAX;
/// What a wide column holds where there is no value; the number itself cannot be stored.
const WIDE_NULL: u64 = u64::MAX;

/// One number per record, or none. Costs nothing while every record has none, and four bytes per record while all
/// numbers are small.
#[derive(Clone, Debug, Default)]
pub struct Column {
    len: usize,
    values: Values,
}

#[derive(Clone, Debug, Default)]
enum Values {
    #[default]
    Null,
    Narrow(Vec<u32>),
    Wide(Vec<u64>),
}

/// `value` as a narrow column holds it, if it can.
fn narrow(value: Option<u64>) -> Option<u32> {
    match value {
        None => Some(NARROW_NULL),
        Some(value) => u32::try_from(value).ok().filter(|&v| v != NARROW_NULL),
    }
}

impl Column {
    /// No records.
    pub const fn none() -> Column {
        Column { len: 0, values: Values::Null }
    }

    /// Number of records.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no records.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether no record has a number.
    pub fn is_all_null(&self) -> bool {
        matches!(self.values, Values::Null)
    }

    /// The number of record `i`.
    #[inline]
    pub fn get(&self, i: usize) -> Option<u64> {
        match &self.values {
            Values::Null => None,
            Values::Narrow(values) => values.get(i).filter(|&&v| v != NARROW_NULL).map(|&v| u64::from(v)),
            Values::Wide(values) => values.get(i).copied().filter(|&v| v != WIDE_NULL),
        }
    }

    /// The number of record `i` where it is an id or code; `missing` where there is none.
    #[inline]
    pub fn id(&self, i: usize, missing: u32) -> u32 {
        self.get(i).and_then(|v| u32::try_from(v).ok()).unwrap_or(missing)
    }

    /// Adds the next record.
    #[inline]
    pub fn push(&mut self, value: Option<u64>) {
        let before = self.len;
        self.len += 1;
        match (&mut self.values, narrow(value)) {
            (Values::Null, Some(NARROW_NULL)) => {}
            (Values::Null, Some(first)) => {
                let mut values = vec![NARROW_NULL; before];
                values.push(first);
                self.values = Values::Narrow(values);
            }
            (Values::Narrow(values), Some(value)) => values.push(value),
            (Values::Wide(values), _) => values.push(value.unwrap_or(WIDE_NULL)),
            (Values::Null | Values::Narrow(_), None) => {
                self.widen(before);
                if let Values::Wide(values) = &mut self.values {
                    values.push(value.unwrap_or(WIDE_NULL));
                }
            }
        }
    }

    /// Sets the number of record `i`.
    pub fn set(&mut self, i: usize, value: Option<u64>) {
        if i >= self.len {
            return;
        }
        if matches!(self.values, Values::Null) && value.is_some() {
            self.values = Values::Narrow(vec![NARROW_NULL; self.len]);
        }
        if narrow(value).is_none() && !matches!(self.values, Values::Wide(_)) {
            self.widen(self.len);
        }
        match (&mut self.values, narrow(value)) {
            (Values::Narrow(values), Some(value)) => values[i] = value,
            (Values::Wide(values), _) => values[i] = value.unwrap_or(WIDE_NULL),
            _ => {}
        }
    }

    fn widen(&mut self, len: usize) {
        let wide = match &self.values {
            Values::Null => vec![WIDE_NULL; len],
            Values::Narrow(values) => {
                let wide = |&v: &u32| if v == NARROW_NULL { WIDE_NULL } else { u64::from(v) };
                values.iter().map(wide).collect()
            }
            Values::Wide(_) => return,
        };
        self.values = Values::Wide(wide);
    }

    /// Adds all records of `other`.
    pub fn append(&mut self, other: &Column) {
        if self.is_empty() {
            self.clone_from(other);
            return;
        }
        match (&mut self.values, &other.values) {
            (Values::Null, Values::Null) => self.len += other.len,
            (Values::Narrow(mine), Values::Narrow(theirs)) => {
                mine.extend_from_slice(theirs);
                self.len += other.len;
            }
            _ => (0..other.len).for_each(|i| self.push(other.get(i))),
        }
    }

    /// Puts record `order[i]` at place `i`.
    pub fn reorder(&mut self, order: &[u32]) {
        match &mut self.values {
            Values::Null => {}
            Values::Narrow(values) => *values = order.iter().map(|&i| values[i as usize]).collect(),
            Values::Wide(values) => *values = order.iter().map(|&i| values[i as usize]).collect(),
        }
        self.len = order.len();
    }
}

impl FromIterator<Option<u64>> for Column {
    fn from_iter<I: IntoIterator<Item = Option<u64>>>(values: I) -> Self {
        let mut column = Column::default();
        values.into_iter().for_each(|value| column.push(value));
        column
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALUES: [Option<u64>; 7] =
        [None, Some(0), Some(u32::MAX as u64 - 1), Some(u32::MAX as u64), None, Some(u64::MAX - 1), Some(7)];

    #[test]
    fn every_number_comes_back_whatever_the_width() {
        for len in 0..=VALUES.len() {
            let column: Column = VALUES[..len].iter().copied().collect();
            assert_eq!((0..len).map(|i| column.get(i)).collect::<Vec<_>>(), VALUES[..len]);
            assert_eq!(column.len(), len);
        }
    }

    #[test]
    fn columns_of_any_widths_can_be_joined_changed_and_reordered() {
        for cut in 0..=VALUES.len() {
            let (left, right) = VALUES.split_at(cut);
            let mut column: Column = left.iter().copied().collect();
            column.append(&right.iter().copied().collect());
            assert_eq!((0..7).map(|i| column.get(i)).collect::<Vec<_>>(), VALUES);
            column.reorder(&[6, 5, 4, 3, 2, 1, 0]);
            assert_eq!((0..7).rev().map(|i| column.get(i)).collect::<Vec<_>>(), VALUES);
        }
        for value in VALUES {
            let mut column: Column = [None, Some(3), None].into_iter().collect();
            column.set(0, value);
            assert_eq!([column.get(0), column.get(1), column.get(2)], [value, Some(3), None]);
        }
    }
}
