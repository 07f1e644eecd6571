//! Operators: arithmetic that never wraps, comparisons, logic with unknown values, patterns.

use super::column::{Column, SqlType, Value, Values};
use super::problem::{Problem, Result};
use regex::Regex;
use std::cmp::Ordering;

/// The rows for which both have a value; `None` for all.
pub fn both_valid(a: &Column, b: &Column, rows: usize) -> Option<Vec<bool>> {
    if a.valid.is_none() && b.valid.is_none() {
        return None;
    }
    Some((0..rows).map(|row| a.is_valid(row) && b.is_valid(row)).collect())
}

/// The number of values to store for a result of `a` and `b`.
pub fn length(a: &Column, b: &Column, rows: usize) -> usize {
    if a.constant && b.constant { 1 } else { rows }
}

fn finished(a: &Column, b: &Column, column: Column, valid: Option<Vec<bool>>) -> Column {
    Column { constant: a.constant && b.constant, ..column.with_valid(valid) }
}

/// What arithmetic can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`, which gives decimals.
    Divide,
    /// `//` and `DIV`, which give whole numbers.
    DivideWhole,
    /// `%`
    Remainder,
}

/// `a` and `b`, row by row.
///
/// # Errors
/// Fails if a column holds text, or if a result does not fit into 64 bits.
pub fn arithmetic(operation: Arithmetic, a: &Column, b: &Column, rows: usize) -> Result<Column> {
    use Arithmetic as A;
    let n = length(a, b, rows);
    let mut valid = both_valid(a, b, n);
    if operation == A::Divide || a.kind == SqlType::Float || b.kind == SqlType::Float {
        let (x, y) = (a.as_floats()?, b.as_floats()?);
        let zero_is_null = matches!(operation, A::Divide | A::DivideWhole | A::Remainder);
        if zero_is_null && y.contains(&0.0) {
            let valid = valid.get_or_insert_with(|| vec![true; n]);
            valid.iter_mut().enumerate().for_each(|(row, valid)| *valid &= y[b.at(row)] != 0.0);
        }
        let of = |x: f64, y: f64| match operation {
            A::Add => x + y,
            A::Subtract => x - y,
            A::Multiply => x * y,
            A::Divide => x / y,
            A::DivideWhole => (x / y).trunc(),
            A::Remainder => x % y,
        };
        let values = (0..n).map(|row| of(x[a.at(row)], y[b.at(row)])).collect();
        return Ok(finished(a, b, Column::floats(values, None), valid));
    }
    let (x, y) = (a.as_ints()?, b.as_ints()?);
    let of = |x: i64, y: i64| match operation {
        A::Add => x.checked_add(y),
        A::Subtract => x.checked_sub(y),
        A::Multiply => x.checked_mul(y),
        A::Divide | A::DivideWhole => x.checked_div(y),
        A::Remainder => x.checked_rem(y),
    };
    let mut values = Vec::with_capacity(n);
    for row in 0..n {
        let (left, right) = (x[a.at(row)], y[b.at(row)]);
        values.push(match of(left, right) {
            Some(value) => value,
            None if valid.as_ref().is_some_and(|valid| !valid[row]) => 0,
            None if right == 0 => {
                valid.get_or_insert_with(|| vec![true; n])[row] = false;
                0
            }
            None => return Err(Problem::TooLarge(format!("{left} {} {right}", symbol(operation)))),
        });
    }
    Ok(finished(a, b, Column::ints(values, None), valid))
}

fn symbol(operation: Arithmetic) -> &'static str {
    match operation {
        Arithmetic::Add => "+",
        Arithmetic::Subtract => "-",
        Arithmetic::Multiply => "*",
        Arithmetic::Divide => "/",
        Arithmetic::DivideWhole => "//",
        Arithmetic::Remainder => "%",
    }
}

/// Integers combined bit by bit.
///
/// # Errors
/// Fails if a column does not hold integers.
pub fn bits(a: &Column, b: &Column, rows: usize, of: impl Fn(i64, i64) -> i64) -> Result<Column> {
    let n = length(a, b, rows);
    let (x, y) = (a.as_ints()?, b.as_ints()?);
    let values = (0..n).map(|row| of(x[a.at(row)], y[b.at(row)])).collect();
    Ok(finished(a, b, Column::ints(values, None), both_valid(a, b, n)))
}

/// `-a`.
///
/// # Errors
/// Fails if the column holds text, or the smallest number, which has no opposite.
pub fn negative(a: &Column, rows: usize) -> Result<Column> {
    arithmetic(Arithmetic::Subtract, &Column::constant(Value::Int(0)), a, rows).map(|mut column| {
        // 0.0 - 0.0 is not -0.0, and nobody minds.
        column.constant = a.constant;
        column
    })
}

/// `a` and `b` compared; `holds` says for which outcomes the result is true. Values that are not numbers compare as
/// greater than all others.
///
/// # Errors
/// Fails if one column holds text and the other does not.
pub fn compare(a: &Column, b: &Column, rows: usize, holds: impl Fn(Ordering) -> bool) -> Result<Column> {
    let n = length(a, b, rows);
    let valid = both_valid(a, b, n);
    if a.kind == SqlType::Null || b.kind == SqlType::Null {
        return Ok(finished(a, b, Column::bools(vec![false; n], None), valid.or_else(|| Some(vec![false; n]))));
    }
    let table = [holds(Ordering::Less), holds(Ordering::Equal), holds(Ordering::Greater)];
    let truth = |order: Ordering| table[(order as i8 + 1) as usize];
    let values: Vec<bool> = match (&a.values, &b.values) {
        (Values::Text(x, words_x), Values::Text(y, words_y)) => {
            if std::sync::Arc::ptr_eq(words_x, words_y) {
                let ranks = words_x.ranks();
                (0..n).map(|row| truth(ranks[x[a.at(row)] as usize].cmp(&ranks[y[b.at(row)] as usize]))).collect()
            } else if b.constant {
                let word = words_y.text(y[0]);
                let by_code: Vec<bool> = words_x.iter().map(|own| truth(own.cmp(word))).collect();
                (0..n).map(|row| by_code[x[a.at(row)] as usize]).collect()
            } else if a.constant {
                let word = words_x.text(x[0]);
                let by_code: Vec<bool> = words_y.iter().map(|own| truth(word.cmp(own))).collect();
                (0..n).map(|row| by_code[y[b.at(row)] as usize]).collect()
            } else {
                let text = |row: usize| words_x.text(x[a.at(row)]).cmp(words_y.text(y[b.at(row)]));
                (0..n).map(|row| truth(text(row))).collect()
            }
        }
        (Values::Text(..), _) | (_, Values::Text(..)) => {
            return Problem::wrong(format!(
                "cannot compare {} with {}; CAST one of them",
                a.kind.word(),
                b.kind.word()
            ));
        }
        (Values::Float(_), _) | (_, Values::Float(_)) => {
            let (x, y) = (a.as_floats()?, b.as_floats()?);
            let order = |x: f64, y: f64| x.partial_cmp(&y).unwrap_or_else(|| x.is_nan().cmp(&y.is_nan()));
            (0..n).map(|row| truth(order(x[a.at(row)], y[b.at(row)]))).collect()
        }
        (Values::Wide(_), _) | (_, Values::Wide(_)) => {
            (0..n).map(|row| truth(wide(a, row).cmp(&wide(b, row)))).collect()
        }
        _ => {
            let (x, y) = (a.as_ints()?, b.as_ints()?);
            let [less, equal, greater] = table;
            // Without a branch, so that several values are compared at once.
            let truth = |x: i64, y: i64| (less & (x < y)) | (equal & (x == y)) | (greater & (x > y));
            match (a.constant, b.constant) {
                (false, true) => x[..n].iter().map(|&x| truth(x, y[0])).collect(),
                (true, false) => y[..n].iter().map(|&y| truth(x[0], y)).collect(),
                _ => x[..n].iter().zip(&y[..n]).map(|(&x, &y)| truth(x, y)).collect(),
            }
        }
    };
    Ok(finished(a, b, Column::bools(values, None), valid))
}

fn wide(column: &Column, row: usize) -> i128 {
    match &column.values {
        Values::Int(values) => values[column.at(row)].into(),
        Values::Wide(values) => values[column.at(row)].into(),
        Values::Bool(values) => values[column.at(row)].into(),
        Values::Float(_) | Values::Text(..) => 0,
    }
}

/// AND, where `decides` is false, and OR, where it is true: one side that decides is enough, even beside NULL.
///
/// # Errors
/// Fails if a column holds text.
pub fn logic(decides: bool, a: &Column, b: &Column, rows: usize) -> Result<Column> {
    let n = length(a, b, rows);
    let (x, y) = (a.as_bools()?, b.as_bools()?);
    let is = |column: &Column, values: &[bool], row: usize| column.is_valid(row).then(|| values[column.at(row)]);
    let mut valid = Vec::new();
    let known = a.valid.is_none() && b.valid.is_none();
    let values = (0..n)
        .map(|row| {
            if known {
                let (x, y) = (x[a.at(row)], y[b.at(row)]);
                return if decides { x | y } else { x & y };
            }
            let (x, y) = (is(a, &x, row), is(b, &y, row));
            let decided = x == Some(decides) || y == Some(decides);
            valid.push(decided || (x.is_some() && y.is_some()));
            if decided { decides } else { !decides }
        })
        .collect();
    Ok(finished(a, b, Column::bools(values, None), (!known).then_some(valid)))
}

/// NOT.
///
/// # Errors
/// Fails if the column holds text.
pub fn not(a: &Column) -> Result<Column> {
    let values = a.as_bools()?.iter().map(|value| !value).collect();
    Ok(Column { constant: a.constant, ..Column::bools(values, a.valid.clone()) })
}

/// IS NULL, or IS NOT NULL.
pub fn is_null(a: &Column, negated: bool) -> Column {
    let values = (0..a.stored()).map(|row| (a.is_valid(row) && a.kind != SqlType::Null) == negated).collect();
    Column { constant: a.constant, ..Column::bools(values, None) }
}

/// Whether `test` holds for the text of each row.
///
/// # Errors
/// Fails if the column does not hold text.
fn test_words(a: &Column, test: impl Fn(&str) -> bool) -> Result<Column> {
    if a.kind == SqlType::Null {
        return Ok(Column { kind: SqlType::Bool, values: Values::bools(vec![false]), ..Column::null() });
    }
    let (codes, dictionary) = a.as_text()?;
    let by_code: Vec<bool> = dictionary.iter().map(test).collect();
    let values = codes.iter().map(|&code| by_code.get(code as usize).copied().unwrap_or(false)).collect();
    Ok(Column { constant: a.constant, ..Column::bools(values, a.valid.clone()) })
}

/// LIKE, SIMILAR and regular expressions: the texts of `a` against the pattern of each row of `pattern`.
///
/// # Errors
/// Fails if a column does not hold text, or if a pattern is not a regular expression.
pub fn matches(
    a: &Column,
    pattern: &Column,
    rows: usize,
    compile: impl Fn(&str) -> Result<Regex>,
) -> Result<Column> {
    if a.kind == SqlType::Null || pattern.kind == SqlType::Null {
        return Ok(Column { kind: SqlType::Bool, values: Values::bools(vec![false]), ..Column::null() });
    }
    let (codes, dictionary) = pattern.as_text()?;
    if pattern.constant {
        let regex = compile(dictionary.text(codes[0]))?;
        return test_words(a, |text| regex.is_match(text));
    }
    a.as_text()?;
    let compiled = dictionary.iter().map(compile).collect::<Result<Vec<Regex>>>()?;
    let n = length(a, pattern, rows);
    let matched = |row: usize| compiled[codes[pattern.at(row)] as usize].is_match(a.text(row).unwrap_or(""));
    Ok(Column::bools((0..n).map(matched).collect(), None).with_valid(both_valid(a, pattern, n)))
}

/// The regular expression for a pattern of LIKE: `%` is any text, `_` any letter.
///
/// # Errors
/// Fails if the pattern is too large.
pub fn like(pattern: &str, escape: Option<char>, mind_case: bool) -> Result<Regex> {
    let mut out = String::from(if mind_case { "(?s)^" } else { "(?si)^" });
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        match letter {
            _ if Some(letter) == escape => out.extend(letters.next().map(|c| regex::escape(&c.to_string()))),
            '%' => out.push_str(".*"),
            '_' => out.push('.'),
            _ => out.push_str(&regex::escape(&letter.to_string())),
        }
    }
    out.push('$');
    regex(&out)
}

/// A regular expression.
///
/// # Errors
/// Fails if the pattern is not a regular expression.
pub fn regex(pattern: &str) -> Result<Regex> {
    Regex::new(pattern).map_err(|e| {
        let why = e.to_string();
        let why = why.lines().last().unwrap_or("").trim_start_matches("error: ").to_owned();
        Problem::Wrong(format!("{pattern:?} is not a regular expression: {why}"))
    })
}

/// `a` as another type. `strict`: text that is no number is an error and not NULL.
///
/// # Errors
/// Fails if a value does not fit the type and `strict` is set.
pub fn cast(a: &Column, to: SqlType, strict: bool) -> Result<Column> {
    let n = a.stored();
    if a.kind == to || a.kind == SqlType::Null {
        return a.widened(to);
    }
    let mut valid: Vec<bool> = (0..n).map(|row| a.is_valid(row)).collect();
    let mut failed = |row: usize, what: String| -> Result<()> {
        if strict {
            return Problem::wrong(format!("{what} cannot be CAST to {}; TRY_CAST gives NULL instead", to.word()));
        }
        valid[row] = false;
        Ok(())
    };
    let values = match (to, &a.values) {
        (SqlType::Text, _) => {
            let text = |row: usize| match a.value(row) {
                Value::Null => None,
                Value::Text(text) => Some(text),
                Value::Bool(value) => Some(value.to_string()),
                Value::Int(value) => Some(value.to_string()),
                Value::Wide(value) => Some(value.to_string()),
                Value::Float(value) => Some(value.to_string()),
            };
            return Ok(Column { constant: a.constant, ..Column::texts((0..n).map(text)) });
        }
        (SqlType::Bool, Values::Text(codes, dictionary)) => {
            let mut out = Vec::with_capacity(n);
            for (row, &code) in codes.iter().enumerate() {
                let word = dictionary.text(code);
                let truth = ["true", "t", "yes", "1"].iter().any(|yes| word.eq_ignore_ascii_case(yes));
                let known = truth || ["false", "f", "no", "0"].iter().any(|no| word.eq_ignore_ascii_case(no));
                if !known && a.is_valid(row) {
                    failed(row, format!("'{word}'"))?;
                }
                out.push(truth);
            }
            Values::bools(out)
        }
        (SqlType::Float, Values::Text(codes, dictionary)) => {
            let numbers: Vec<Option<f64>> = dictionary.iter().map(|word| word.trim().parse().ok()).collect();
            let mut out = Vec::with_capacity(n);
            for (row, &code) in codes.iter().enumerate() {
                let number = numbers.get(code as usize).copied().flatten();
                if number.is_none() && a.is_valid(row) {
                    failed(row, format!("'{}'", dictionary.text(code)))?;
                }
                out.push(number.unwrap_or(0.0));
            }
            Values::floats(out)
        }
        (SqlType::Int | SqlType::Id | SqlType::Id64, _) => {
            let mut out: Vec<i128> = Vec::with_capacity(n);
            for row in 0..n {
                let number: Option<i128> = match a.value(row) {
                    Value::Null => Some(0),
                    Value::Bool(value) => Some(value.into()),
                    Value::Int(value) => Some(value.into()),
                    Value::Wide(value) => Some(value.into()),
                    // Towards 0, as everywhere.
                    Value::Float(value) => value.is_finite().then_some(value.trunc() as i128),
                    Value::Text(text) => text.trim().parse().ok(),
                };
                let fits = |number: &i128| match to {
                    SqlType::Id64 => u64::try_from(*number).is_ok(),
                    SqlType::Id => u32::try_from(*number).is_ok(),
                    _ => i64::try_from(*number).is_ok(),
                };
                match number.filter(fits) {
                    Some(number) => out.push(number),
                    None => {
                        out.push(0);
                        let what = match a.value(row) {
                            Value::Text(text) => format!("'{text}'"),
                            Value::Float(value) => value.to_string(),
                            Value::Int(value) => value.to_string(),
                            Value::Wide(value) => value.to_string(),
                            Value::Null | Value::Bool(_) => "it".into(),
                        };
                        failed(row, what)?;
                    }
                }
            }
            if to == SqlType::Id64 {
                let column = Column::ids64(out.into_iter().map(|number| number as u64).collect(), None);
                return Ok(Column { constant: a.constant, ..column.with_valid(Some(valid)) });
            }
            Values::ints(out.into_iter().map(|number| number as i64).collect())
        }
        (SqlType::Float, _) => Values::floats(a.as_floats()?.into_owned()),
        (SqlType::Bool, _) => Values::bools(a.as_bools()?.into_owned()),
        (SqlType::Null, _) => return Ok(Column::null()),
    };
    Ok(Column { constant: a.constant, ..Column::new(to, values).with_valid(Some(valid)) })
}
