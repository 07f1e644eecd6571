//! The values of one column of a row group that is being filled.

use hashbrown::HashMap;

/// Values of the rows that are not null, and which rows those are.
#[derive(Default)]
pub struct Buffer<T> {
    /// Of the rows that are not null.
    pub values: Vec<T>,
    /// Of all rows; empty while none is null.
    validity: Vec<bool>,
    rows: usize,
}

impl<T> Buffer<T> {
    /// Rows, those that are null included.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Which rows have a value; `None`: all.
    pub fn validity(&self) -> Option<&[bool]> {
        Some(self.validity.as_slice()).filter(|validity| !validity.is_empty())
    }

    /// Adds rows that all have a value.
    pub fn extend(&mut self, values: impl Iterator<Item = T>) {
        let before = self.values.len();
        self.values.extend(values);
        self.rows += self.values.len() - before;
        if !self.validity.is_empty() {
            self.validity.resize(self.rows, true);
        }
    }

    /// Adds one row.
    pub fn push(&mut self, value: Option<T>) {
        if value.is_none() && self.validity.is_empty() {
            self.validity.resize(self.rows, true);
        }
        if value.is_none() || !self.validity.is_empty() {
            self.validity.push(value.is_some());
        }
        self.rows += 1;
        self.values.extend(value);
    }

    /// Adds rows without a value.
    pub fn extend_null(&mut self, rows: usize) {
        if rows > 0 {
            self.validity.resize(self.rows, true);
            self.rows += rows;
            self.validity.resize(self.rows, false);
        }
    }

    /// Adds rows that all have this value, or none.
    pub fn extend_same(&mut self, value: Option<T>, rows: usize)
    where
        T: Copy,
    {
        match value {
            Some(value) => self.extend(std::iter::repeat_n(value, rows)),
            None => self.extend_null(rows),
        }
    }

    /// Forgets everything but its memory.
    pub fn clear(&mut self) {
        self.values.clear();
        self.validity.clear();
        self.rows = 0;
    }
}

/// Different texts, numbered in the order of their first appearance.
#[derive(Default)]
pub struct Pool {
    numbers: HashMap<Box<[u8]>, u32, foldhash::fast::RandomState>,
    texts: Vec<Box<[u8]>>,
    bytes: usize,
}

impl Pool {
    /// The number of a text.
    pub fn number(&mut self, text: &[u8]) -> u32 {
        if let Some(&number) = self.numbers.get(text) {
            return number;
        }
        let number = self.texts.len() as u32;
        self.numbers.insert(text.into(), number);
        self.texts.push(text.into());
        self.bytes += text.len();
        number
    }

    /// The texts by number.
    pub fn texts(&self) -> &[Box<[u8]>] {
        &self.texts
    }

    /// Bytes of all texts.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nulls_are_where_they_were_put() {
        let mut buffer = Buffer::default();
        buffer.extend([1, 2].into_iter());
        assert_eq!(buffer.validity(), None);
        buffer.push(Some(3));
        assert_eq!(buffer.validity(), None);
        buffer.push(None);
        buffer.extend([4].into_iter());
        buffer.extend_null(2);
        buffer.push(Some(5));
        assert_eq!(buffer.values, [1, 2, 3, 4, 5]);
        assert_eq!(buffer.validity(), Some(&[true, true, true, false, true, false, false, true][..]));
        assert_eq!(buffer.rows(), 8);
        buffer.clear();
        buffer.extend_null(1);
        assert_eq!((buffer.rows(), buffer.validity()), (1, Some(&[false][..])));
    }
}
