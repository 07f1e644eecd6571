//! Columns of values: what every expression gives and takes.
//!
//! Numbers are 64 bits wide, so that sums and differences of times never wrap unseen. Text is a code into a dictionary
//! of words ([`super::dictionary`]): a trace has few names and many rows, so comparing, grouping and sorting text works on
//! codes. A column of length 1 that stands for every row is constant; literals are.

use super::dictionary::{Dictionary, Interner};
use super::problem::{Problem, Result};
use std::borrow::Cow;
use std::sync::Arc;

/// The type of a column, as SQL sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SqlType {
    /// Nothing but NULL.
    Null,
    /// Yes or no.
    Bool,
    /// Signed, 64 bits.
    Int,
    /// An id or a code: 32 bits, unsigned.
    Id,
    /// An id or an address: 64 bits, unsigned.
    Id64,
    /// Floating point.
    Float,
    /// Text.
    Text,
}

impl SqlType {
    /// The word in messages.
    pub fn word(self) -> &'static str {
        match self {
            SqlType::Null => "NULL",
            SqlType::Bool => "boolean",
            SqlType::Int | SqlType::Id | SqlType::Id64 => "integer",
            SqlType::Float => "decimal",
            SqlType::Text => "text",
        }
    }

    /// Whether values are counted on, without fractions.
    pub fn is_integer(self) -> bool {
        matches!(self, SqlType::Int | SqlType::Id | SqlType::Id64)
    }

    /// The kind that holds values of both; `None` for text beside numbers.
    pub fn join(self, other: SqlType) -> Option<SqlType> {
        match (self, other) {
            (a, b) if a == b => Some(a),
            (SqlType::Null, kind) | (kind, SqlType::Null) => Some(kind),
            (SqlType::Text, _) | (_, SqlType::Text) => None,
            (SqlType::Float, _) | (_, SqlType::Float) => Some(SqlType::Float),
            (SqlType::Id64, SqlType::Id) | (SqlType::Id, SqlType::Id64) => Some(SqlType::Id64),
            _ => Some(SqlType::Int),
        }
    }
}

/// The values of a column, shared by its copies; what stands where a row is NULL means nothing.
#[derive(Clone, Debug)]
pub enum Values {
    /// Values of [`SqlType::Bool`].
    Bool(Arc<Vec<bool>>),
    /// Of integers of every kind, and of [`SqlType::Null`].
    Int(Arc<Vec<i64>>),
    /// Of [`SqlType::Id64`], where one is beyond the signed range.
    Wide(Arc<Vec<u64>>),
    /// Values of [`SqlType::Float`].
    Float(Arc<Vec<f64>>),
    /// Codes of texts.
    Text(Arc<Vec<u32>>, Arc<Dictionary>),
}

impl Values {
    /// Yes and no.
    pub fn bools(values: Vec<bool>) -> Values {
        Values::Bool(Arc::new(values))
    }

    /// Integers.
    pub fn ints(values: Vec<i64>) -> Values {
        Values::Int(Arc::new(values))
    }

    /// Integers beyond the signed range.
    fn wides(values: Vec<u64>) -> Values {
        Values::Wide(Arc::new(values))
    }

    /// Decimals.
    pub fn floats(values: Vec<f64>) -> Values {
        Values::Float(Arc::new(values))
    }

    /// Codes of `dictionary`.
    pub fn codes(codes: Vec<u32>, dictionary: Arc<Dictionary>) -> Values {
        Values::Text(Arc::new(codes), dictionary)
    }
}

/// Which rows have a value; all have one where this is `None`.
type Valid = Option<Arc<Vec<bool>>>;

/// One value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// NULL.
    Null,
    /// Yes or no.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// An integer beyond the signed range.
    Wide(u64),
    /// A decimal.
    Float(f64),
    /// Text.
    Text(String),
}

/// A column.
#[derive(Clone, Debug)]
pub struct Column {
    /// The type.
    pub kind: SqlType,
    /// The values.
    pub values: Values,
    /// Which rows have a value; all have one where this is `None`.
    pub valid: Valid,
    /// Whether the only value stands for every row.
    pub constant: bool,
}

impl Column {
    /// A column in which every row has a value.
    pub fn new(kind: SqlType, values: Values) -> Column {
        Column { kind, values, valid: None, constant: false }
    }

    /// Integers, some of them missing.
    pub fn ints(values: Vec<i64>, valid: Valid) -> Column {
        Column { kind: SqlType::Int, values: Values::ints(values), valid, constant: false }
    }

    /// Decimals, some of them missing.
    pub fn floats(values: Vec<f64>, valid: Valid) -> Column {
        Column { kind: SqlType::Float, values: Values::floats(values), valid, constant: false }
    }

    /// Truth values, some of them unknown.
    pub fn bools(values: Vec<bool>, valid: Valid) -> Column {
        Column { kind: SqlType::Bool, values: Values::bools(values), valid, constant: false }
    }

    /// Text, row by row.
    pub fn texts<T: AsRef<str>>(rows: impl Iterator<Item = Option<T>>) -> Column {
        let mut interner = Interner::default();
        let mut valid = Vec::new();
        let codes = rows
            .map(|text| {
                valid.push(text.is_some());
                text.map_or(0, |text| interner.code(text.as_ref()))
            })
            .collect();
        let column = Column::new(SqlType::Text, Values::codes(codes, Arc::new(interner.dictionary())));
        column.with_valid(Some(valid))
    }

    /// Nothing but NULL, as one constant.
    pub fn null() -> Column {
        Column {
            kind: SqlType::Null,
            values: Values::ints(vec![0]),
            valid: Some(Arc::new(vec![false])),
            constant: true,
        }
    }

    /// One value for every row.
    pub fn constant(value: Value) -> Column {
        let (kind, values) = match value {
            Value::Null => return Column::null(),
            Value::Bool(value) => (SqlType::Bool, Values::bools(vec![value])),
            Value::Int(value) => (SqlType::Int, Values::ints(vec![value])),
            Value::Wide(value) => (SqlType::Id64, Values::wides(vec![value])),
            Value::Float(value) => (SqlType::Float, Values::floats(vec![value])),
            Value::Text(text) => (SqlType::Text, Values::codes(vec![0], Arc::new(Dictionary::one(&text)))),
        };
        Column { kind, values, valid: None, constant: true }
    }

    /// 64-bit ids: signed where all fit, since nearly all do and that is faster.
    pub fn ids64(values: Vec<u64>, valid: Valid) -> Column {
        let fits = values.iter().all(|&value| i64::try_from(value).is_ok());
        let values = match fits {
            true => Values::ints(values.into_iter().map(|value| value as i64).collect()),
            false => Values::wides(values),
        };
        Column { kind: SqlType::Id64, values, valid, constant: false }
    }

    /// With another record of which rows have a value; none, where all have one.
    pub fn with_valid(mut self, valid: Option<Vec<bool>>) -> Column {
        self.valid = valid.filter(|valid| valid.contains(&false)).map(Arc::new);
        self
    }

    /// The number of values that are stored.
    pub fn stored(&self) -> usize {
        match &self.values {
            Values::Bool(values) => values.len(),
            Values::Int(values) => values.len(),
            Values::Wide(values) => values.len(),
            Values::Float(values) => values.len(),
            Values::Text(codes, _) => codes.len(),
        }
    }

    /// Where the value of `row` is stored.
    #[inline]
    pub fn at(&self, row: usize) -> usize {
        if self.constant { 0 } else { row }
    }

    /// Whether `row` has a value.
    #[inline]
    pub fn is_valid(&self, row: usize) -> bool {
        self.valid.as_ref().is_none_or(|valid| valid[self.at(row)])
    }

    /// One value.
    pub fn value(&self, row: usize) -> Value {
        let at = self.at(row);
        if self.kind == SqlType::Null || !self.is_valid(row) {
            return Value::Null;
        }
        match &self.values {
            Values::Bool(values) => Value::Bool(values[at]),
            Values::Int(values) => Value::Int(values[at]),
            Values::Wide(values) => Value::Wide(values[at]),
            Values::Float(values) => Value::Float(values[at]),
            Values::Text(codes, dictionary) => Value::Text(dictionary.text(codes[at]).to_owned()),
        }
    }

    /// The text of one row, of a text column.
    pub fn text(&self, row: usize) -> Option<&str> {
        match &self.values {
            Values::Text(codes, dictionary) if self.is_valid(row) => Some(dictionary.text(codes[self.at(row)])),
            _ => None,
        }
    }

    /// The text that stands for every row; `None` where rows differ.
    pub fn constant_text(&self) -> Option<&str> {
        if self.constant { self.text(0) } else { None }
    }

    /// The same with a value stored for each of `rows` rows.
    pub fn full(&self, rows: usize) -> Cow<'_, Column> {
        if !self.constant {
            return Cow::Borrowed(self);
        }
        let values = match &self.values {
            Values::Bool(values) => Values::bools(vec![values[0]; rows]),
            Values::Int(values) => Values::ints(vec![values[0]; rows]),
            Values::Wide(values) => Values::wides(vec![values[0]; rows]),
            Values::Float(values) => Values::floats(vec![values[0]; rows]),
            Values::Text(codes, dictionary) => Values::codes(vec![codes[0]; rows], Arc::clone(dictionary)),
        };
        let valid = self.valid.as_ref().map(|valid| Arc::new(vec![valid[0]; rows]));
        Cow::Owned(Column { kind: self.kind, values, valid, constant: false })
    }

    /// The rows that `index` names, in that order; [`NO_ROW`] gives NULL.
    pub fn take(&self, index: &[u32]) -> Column {
        if self.constant && !index.contains(&NO_ROW) {
            return self.clone();
        }
        if self.stored() == 0 || (self.kind == SqlType::Null) {
            let nothing = Column::null().widened(self.kind).unwrap_or_else(|_| Column::null());
            return nothing.full(index.len()).into_owned();
        }
        let whole = |row: u32| if row == NO_ROW { 0 } else { self.at(row as usize) };
        let values = match &self.values {
            Values::Bool(values) => Values::bools(index.iter().map(|&row| values[whole(row)]).collect()),
            Values::Int(values) => Values::ints(index.iter().map(|&row| values[whole(row)]).collect()),
            Values::Wide(values) => Values::wides(index.iter().map(|&row| values[whole(row)]).collect()),
            Values::Float(values) => Values::floats(index.iter().map(|&row| values[whole(row)]).collect()),
            Values::Text(codes, dictionary) => {
                Values::codes(index.iter().map(|&row| codes[whole(row)]).collect(), Arc::clone(dictionary))
            }
        };
        let missing = index.contains(&NO_ROW);
        let valid = (missing || self.valid.is_some())
            .then(|| index.iter().map(|&row| row != NO_ROW && self.is_valid(row as usize)).collect());
        Column { kind: self.kind, values, valid: None, constant: false }.with_valid(valid)
    }

    /// As integers that fit into 64 signed bits; truth values are 0 and 1.
    ///
    /// # Errors
    /// Fails if the column holds text, decimals, or an id beyond the signed range.
    pub fn as_ints(&self) -> Result<Cow<'_, [i64]>> {
        match &self.values {
            Values::Int(values) => Ok(Cow::Borrowed(values)),
            Values::Bool(values) => Ok(Cow::Owned(values.iter().map(|&value| i64::from(value)).collect())),
            Values::Wide(values) => {
                let narrow = values.iter().enumerate().map(|(row, &value)| match i64::try_from(value) {
                    Ok(value) => Ok(value),
                    Err(_) if !self.is_valid(row) => Ok(0),
                    Err(_) => Err(Problem::TooLarge(format!("the id {value}"))),
                });
                narrow.collect::<Result<Vec<i64>>>().map(Cow::Owned)
            }
            Values::Float(_) | Values::Text(..) => Err(Problem::kind("an integer", self.kind)),
        }
    }

    /// As decimals.
    ///
    /// # Errors
    /// Fails if the column holds text.
    pub fn as_floats(&self) -> Result<Cow<'_, [f64]>> {
        match &self.values {
            Values::Float(values) => Ok(Cow::Borrowed(values)),
            Values::Int(values) => Ok(Cow::Owned(values.iter().map(|&value| value as f64).collect())),
            Values::Wide(values) => Ok(Cow::Owned(values.iter().map(|&value| value as f64).collect())),
            Values::Bool(values) => Ok(Cow::Owned(values.iter().map(|&value| f64::from(value)).collect())),
            Values::Text(..) => Err(Problem::kind("a number", self.kind)),
        }
    }

    /// As truth values; numbers are true unless they are 0.
    ///
    /// # Errors
    /// Fails if the column holds text.
    pub fn as_bools(&self) -> Result<Cow<'_, [bool]>> {
        match &self.values {
            Values::Bool(values) => Ok(Cow::Borrowed(values)),
            Values::Int(values) => Ok(Cow::Owned(values.iter().map(|&value| value != 0).collect())),
            Values::Wide(values) => Ok(Cow::Owned(values.iter().map(|&value| value != 0).collect())),
            Values::Float(values) => Ok(Cow::Owned(values.iter().map(|&value| value != 0.0).collect())),
            Values::Text(..) => Err(Problem::kind("a condition", self.kind)),
        }
    }

    /// Codes and the texts that they stand for.
    ///
    /// # Errors
    /// Fails if the column does not hold text.
    pub fn as_text(&self) -> Result<(&[u32], &Arc<Dictionary>)> {
        match &self.values {
            Values::Text(codes, dictionary) => Ok((codes, dictionary)),
            _ => Err(Problem::kind("text", self.kind)),
        }
    }

    /// Rows for which a condition holds; unknown does not.
    ///
    /// # Errors
    /// Fails if the column holds text.
    pub fn selected(&self, rows: usize) -> Result<Vec<u32>> {
        let values = self.as_bools()?;
        let row = |row: &u32| values[self.at(*row as usize)] && self.is_valid(*row as usize);
        Ok((0..rows as u32).filter(row).collect())
    }

    /// The values of `kind`, without a change of meaning: integers as decimals, ids as integers.
    ///
    /// # Errors
    /// Fails if `kind` cannot hold the values: text is never a number, a number is never text, and a decimal is never
    /// an integer.
    pub fn widened(&self, kind: SqlType) -> Result<Column> {
        let as_it_is = |values: Values| Column { kind, values, valid: self.valid.clone(), constant: self.constant };
        if self.kind == kind {
            return Ok(self.clone());
        }
        if self.kind == SqlType::Null {
            let values = match kind {
                SqlType::Bool => Values::bools(vec![false; self.stored()]),
                SqlType::Float => Values::floats(vec![0.0; self.stored()]),
                SqlType::Text => Values::codes(vec![0; self.stored()], Arc::new(Dictionary::one(""))),
                SqlType::Null | SqlType::Int | SqlType::Id | SqlType::Id64 => self.values.clone(),
            };
            return Ok(as_it_is(values));
        }
        match kind {
            SqlType::Float => Ok(as_it_is(Values::floats(self.as_floats()?.into_owned()))),
            SqlType::Bool => Ok(as_it_is(Values::bools(self.as_bools()?.into_owned()))),
            SqlType::Text => self.as_text().and(Err(Problem::kind("text", self.kind))),
            SqlType::Int => Ok(as_it_is(Values::ints(self.as_ints()?.into_owned()))),
            SqlType::Id | SqlType::Id64 | SqlType::Null => Ok(as_it_is(match &self.values {
                Values::Wide(values) => Values::Wide(values.clone()),
                _ => Values::ints(self.as_ints()?.into_owned()),
            })),
        }
    }
}

/// No row: what an outer join puts beside a row without partner.
pub const NO_ROW: u32 = u32::MAX;

/// `parts` one behind another, each with its number of rows.
///
/// # Errors
/// Fails if some parts hold text and others hold numbers.
pub fn concat(parts: &[(&Column, usize)]) -> Result<Column> {
    let mut kind = SqlType::Null;
    for (part, _) in parts {
        kind = kind.join(part.kind).ok_or_else(|| Problem::mixed(kind, part.kind))?;
    }
    let parts = parts.iter().map(|(part, rows)| part.full(*rows).widened(kind)).collect::<Result<Vec<Column>>>()?;
    let rows: usize = parts.iter().map(Column::stored).sum();
    let valid = parts.iter().any(|part| part.valid.is_some()).then(|| {
        let mut valid = Vec::with_capacity(rows);
        for part in &parts {
            match &part.valid {
                Some(some) => valid.extend_from_slice(some),
                None => valid.resize(valid.len() + part.stored(), true),
            }
        }
        valid
    });
    let values = match kind {
        SqlType::Bool => {
            let mut values = Vec::with_capacity(rows);
            for part in &parts {
                values.extend_from_slice(&part.as_bools()?);
            }
            Values::bools(values)
        }
        SqlType::Float => {
            let mut values = Vec::with_capacity(rows);
            for part in &parts {
                values.extend_from_slice(&part.as_floats()?);
            }
            Values::floats(values)
        }
        SqlType::Text => {
            let mut interner = Interner::default();
            let mut codes = Vec::with_capacity(rows);
            for part in &parts {
                let (own, dictionary) = part.as_text()?;
                interner.extend(own, dictionary, &mut codes);
            }
            Values::codes(codes, Arc::new(interner.dictionary()))
        }
        SqlType::Null | SqlType::Int | SqlType::Id | SqlType::Id64 => {
            if parts.iter().any(|part| matches!(part.values, Values::Wide(_))) {
                let wide = |part: &Column| match &part.values {
                    Values::Wide(values) => values.to_vec(),
                    Values::Int(values) => values.iter().map(|&value| value as u64).collect(),
                    _ => Vec::new(),
                };
                Values::wides(parts.iter().flat_map(wide).collect())
            } else {
                let mut values = Vec::with_capacity(rows);
                for part in &parts {
                    values.extend_from_slice(&part.as_ints()?);
                }
                Values::ints(values)
            }
        }
    };
    Ok(Column { kind, values, valid: valid.map(Arc::new), constant: false })
}
