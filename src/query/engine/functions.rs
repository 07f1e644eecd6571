//! Functions of the values of one row.
//!
//! Adding one is one line in [`FUNCTIONS`]. A function of text runs once for each distinct text where its other
//! arguments are constants, which in traces is thousands of times less often than once a row.

use super::column::{Column, SqlType, Value};
use super::dictionary::Interner;
use super::operators::{self, Arithmetic};
use super::problem::{Problem, Result};
use std::sync::Arc;

/// A function of the values of one row.
pub struct Function {
    /// Its names, the usual one first.
    pub names: &'static [&'static str],
    /// The fewest and the most arguments.
    pub arguments: (usize, usize),
    /// The values for `rows` rows.
    pub call: fn(&[Column], usize) -> Result<Column>,
}

/// A function with this limit takes any number of arguments.
const ANY: usize = usize::MAX;

/// Every function.
#[rustfmt::skip]
pub static FUNCTIONS: &[Function] = &[
    Function { names: &["ABS"], arguments: (1, 1), call: |a, rows| abs(&a[0], rows) },
    Function { names: &["SIGN"], arguments: (1, 1), call: |a, _| sign(&a[0]) },
    Function { names: &["ROUND"], arguments: (1, 2), call: |a, rows| round(a, rows) },
    Function { names: &["TRUNC", "TRUNCATE"], arguments: (1, 1), call: |a, _| float(&a[0], f64::trunc) },
    Function { names: &["CEIL", "CEILING"], arguments: (1, 1), call: |a, _| float(&a[0], f64::ceil) },
    Function { names: &["FLOOR"], arguments: (1, 1), call: |a, _| float(&a[0], f64::floor) },
    Function { names: &["SQRT"], arguments: (1, 1), call: |a, _| float(&a[0], f64::sqrt) },
    Function { names: &["CBRT"], arguments: (1, 1), call: |a, _| float(&a[0], f64::cbrt) },
    Function { names: &["EXP"], arguments: (1, 1), call: |a, _| float(&a[0], f64::exp) },
    Function { names: &["LN"], arguments: (1, 1), call: |a, _| float(&a[0], f64::ln) },
    Function { names: &["LOG2"], arguments: (1, 1), call: |a, _| float(&a[0], f64::log2) },
    Function { names: &["LOG10"], arguments: (1, 1), call: |a, _| float(&a[0], f64::log10) },
    Function { names: &["LOG"], arguments: (1, 2), call: |a, rows| match a {
        [base, of] => floats(of, base, rows, f64::log),
        _ => float(&a[0], f64::log10),
    } },
    Function { names: &["POW", "POWER"], arguments: (2, 2), call: |a, rows| floats(&a[0], &a[1], rows, f64::powf) },
    Function { names: &["SIN"], arguments: (1, 1), call: |a, _| float(&a[0], f64::sin) },
    Function { names: &["COS"], arguments: (1, 1), call: |a, _| float(&a[0], f64::cos) },
    Function { names: &["TAN"], arguments: (1, 1), call: |a, _| float(&a[0], f64::tan) },
    Function { names: &["ASIN"], arguments: (1, 1), call: |a, _| float(&a[0], f64::asin) },
    Function { names: &["ACOS"], arguments: (1, 1), call: |a, _| float(&a[0], f64::acos) },
    Function { names: &["ATAN"], arguments: (1, 1), call: |a, _| float(&a[0], f64::atan) },
    Function { names: &["ATAN2"], arguments: (2, 2), call: |a, rows| floats(&a[0], &a[1], rows, f64::atan2) },
    Function { names: &["DEGREES"], arguments: (1, 1), call: |a, _| float(&a[0], f64::to_degrees) },
    Function { names: &["RADIANS"], arguments: (1, 1), call: |a, _| float(&a[0], f64::to_radians) },
    Function { names: &["PI"], arguments: (0, 0), call: |_, _| Ok(Column::constant(Value::Float(std::f64::consts::PI))) },
    Function { names: &["MOD"], arguments: (2, 2), call: |a, rows| operators::arithmetic(Arithmetic::Remainder, &a[0], &a[1], rows) },
    Function { names: &["DIV"], arguments: (2, 2), call: |a, rows| operators::arithmetic(Arithmetic::DivideWhole, &a[0], &a[1], rows) },
    Function { names: &["GREATEST"], arguments: (1, ANY), call: |a, rows| extreme(a, rows, std::cmp::Ordering::is_gt) },
    Function { names: &["LEAST"], arguments: (1, ANY), call: |a, rows| extreme(a, rows, std::cmp::Ordering::is_lt) },
    Function { names: &["COALESCE", "IFNULL", "NVL"], arguments: (1, ANY), call: coalesce },
    Function { names: &["NULLIF"], arguments: (2, 2), call: |a, rows| null_if(&a[0], &a[1], rows) },
    Function { names: &["IF", "IIF"], arguments: (3, 3), call: |a, rows| choose(&[(a[0].clone(), a[1].clone())], &a[2], rows) },
    Function { names: &["LOWER", "LCASE"], arguments: (1, 1), call: |a, rows| text(a, rows, |a| a[0].to_lowercase()) },
    Function { names: &["UPPER", "UCASE"], arguments: (1, 1), call: |a, rows| text(a, rows, |a| a[0].to_uppercase()) },
    Function { names: &["REVERSE"], arguments: (1, 1), call: |a, rows| text(a, rows, |a| a[0].chars().rev().collect()) },
    Function { names: &["LENGTH", "LEN", "CHAR_LENGTH", "CHARACTER_LENGTH"], arguments: (1, 1), call: |a, _| count(&a[0], |text| text.chars().count()) },
    Function { names: &["OCTET_LENGTH"], arguments: (1, 1), call: |a, _| count(&a[0], str::len) },
    Function { names: &["SUBSTR", "SUBSTRING"], arguments: (2, 3), call: substring },
    Function { names: &["LEFT"], arguments: (2, 2), call: |a, rows| with_number(a, rows, |text, n| part(text, 0, if n < 0 { letters(text) + n } else { n })) },
    Function { names: &["RIGHT"], arguments: (2, 2), call: |a, rows| with_number(a, rows, |text, n| {
        let skip = if n < 0 { -n } else { letters(text) - n };
        part(text, skip.max(0), i64::MAX)
    }) },
    Function { names: &["REPEAT"], arguments: (2, 2), call: |a, rows| with_number(a, rows, |text, n| {
        text.repeat(usize::try_from(n).unwrap_or(0).min((1 << 20) / text.len().max(1)))
    }) },
    Function { names: &["REPLACE"], arguments: (3, 3), call: |a, rows| text(a, rows, |a| match a[1] {
        "" => a[0].to_owned(),
        from => a[0].replace(from, a[2]),
    }) },
    Function { names: &["CONCAT"], arguments: (1, ANY), call: |a, rows| join_texts("", a, rows) },
    Function { names: &["CONCAT_WS"], arguments: (2, ANY), call: |a, rows| match a[0].constant_text() {
        Some(between) => join_texts(between, &a[1..], rows),
        _ => Problem::wrong("CONCAT_WS needs a constant text to put between the others"),
    } },
    Function { names: &["TRIM", "BTRIM", "STRIP_CHARS"], arguments: (1, 2), call: |a, rows| trim(a, rows, true, true) },
    Function { names: &["LTRIM"], arguments: (1, 2), call: |a, rows| trim(a, rows, true, false) },
    Function { names: &["RTRIM"], arguments: (1, 2), call: |a, rows| trim(a, rows, false, true) },
    Function { names: &["STARTS_WITH"], arguments: (2, 2), call: |a, rows| test(a, rows, |text, with| text.starts_with(with)) },
    Function { names: &["ENDS_WITH"], arguments: (2, 2), call: |a, rows| test(a, rows, |text, with| text.ends_with(with)) },
    Function { names: &["CONTAINS"], arguments: (2, 2), call: |a, rows| test(a, rows, |text, with| text.contains(with)) },
    Function { names: &["STRPOS", "INSTR", "POSITION"], arguments: (2, 2), call: |a, rows| number(a, rows, |a| {
        a[0].find(a[1]).map_or(0, |at| a[0][..at].chars().count() as i64 + 1)
    }) },
    Function { names: &["SPLIT_PART"], arguments: (3, 3), call: split_part },
    Function { names: &["LPAD"], arguments: (2, 3), call: |a, rows| pad(a, rows, true) },
    Function { names: &["RPAD"], arguments: (2, 3), call: |a, rows| pad(a, rows, false) },
    Function { names: &["REGEXP_LIKE"], arguments: (2, 3), call: |a, rows| regexp_like(a, rows) },
    Function { names: &["REGEXP_REPLACE"], arguments: (3, 3), call: |a, rows| regexp_replace(a, rows) },
    Function { names: &["REGEXP_EXTRACT"], arguments: (2, 3), call: regexp_extract },
    Function { names: &["TYPEOF"], arguments: (1, 1), call: |a, _| Ok(Column::constant(Value::Text(a[0].kind.word().into()))) },
];

/// The function called `name`.
pub fn find(name: &str) -> Option<&'static Function> {
    FUNCTIONS.iter().find(|function| function.names.iter().any(|own| own.eq_ignore_ascii_case(name)))
}

/// Calls `function` with `arguments` for `rows` rows.
///
/// # Errors
/// Fails if the number of arguments is wrong, or if an argument has a wrong kind.
pub fn call(function: &Function, arguments: &[Column], rows: usize) -> Result<Column> {
    let (least, most) = function.arguments;
    if arguments.len() < least || arguments.len() > most {
        let wanted = match (least, most) {
            (least, ANY) => format!("at least {least}"),
            (least, most) if least == most => least.to_string(),
            (least, most) => format!("{least} to {most}"),
        };
        return Problem::wrong(format!("{} takes {wanted} arguments, not {}", function.names[0], arguments.len()));
    }
    // What is made of constants alone is made once.
    let constant = arguments.iter().all(|a| a.constant);
    let column = (function.call)(arguments, if constant { 1 } else { rows })?;
    Ok(Column { constant, ..column })
}

fn float(a: &Column, of: fn(f64) -> f64) -> Result<Column> {
    if a.kind.is_integer() && [1.5_f64, -1.5].map(of).iter().all(|v| v.fract() == 0.0 && v.abs() <= 2.0) {
        // Rounding leaves integers as they are, however large.
        return Ok(a.clone());
    }
    let values: Vec<f64> = a.as_floats()?.iter().map(|&value| of(value)).collect();
    Ok(numbers_only(values, a.valid.as_deref()))
}

fn floats(a: &Column, b: &Column, rows: usize, of: fn(f64, f64) -> f64) -> Result<Column> {
    let (x, y) = (a.as_floats()?, b.as_floats()?);
    let values = (0..rows).map(|row| of(x[a.at(row)], y[b.at(row)])).collect();
    Ok(numbers_only(values, operators::both_valid(a, b, rows).as_ref()))
}

/// What has no result, such as the root of -1, is NULL.
fn numbers_only(values: Vec<f64>, valid: Option<&Vec<bool>>) -> Column {
    let valid = match valid {
        Some(valid) => values.iter().zip(valid).map(|(value, &valid)| valid && !value.is_nan()).collect(),
        None => values.iter().map(|value| !value.is_nan()).collect(),
    };
    Column::floats(values, None).with_valid(Some(valid))
}

fn abs(a: &Column, rows: usize) -> Result<Column> {
    if a.kind == SqlType::Float {
        return float(a, f64::abs);
    }
    let negative = operators::negative(a, rows)?;
    extreme(&[a.clone(), negative], rows, std::cmp::Ordering::is_gt)
}

fn sign(a: &Column) -> Result<Column> {
    let values = a.as_floats()?.iter().map(|&v| if v == 0.0 { 0 } else { v.signum() as i64 }).collect();
    Ok(Column::ints(values, a.valid.clone()))
}

fn round(arguments: &[Column], rows: usize) -> Result<Column> {
    let a = &arguments[0];
    let digits = match arguments.get(1) {
        Some(digits) => digits.clone(),
        None => Column::constant(Value::Int(0)),
    };
    if a.kind.is_integer() && digits.constant && digits.as_ints()?[0] >= 0 {
        return Ok(a.clone());
    }
    let (x, d) = (a.as_floats()?, digits.as_ints()?);
    let of = |row: usize| {
        let scale = 10_f64.powi(d[digits.at(row)].clamp(-30, 30) as i32);
        let (value, scaled) = (x[a.at(row)], x[a.at(row)] * scale);
        if scaled.is_finite() { scaled.round() / scale } else { value }
    };
    Ok(numbers_only((0..rows).map(of).collect(), operators::both_valid(a, &digits, rows).as_ref()))
}

/// The greatest or least of each row; NULLs are left out.
fn extreme(arguments: &[Column], rows: usize, better: fn(std::cmp::Ordering) -> bool) -> Result<Column> {
    let mut best = arguments[0].clone();
    for other in &arguments[1..] {
        let wins = operators::compare(other, &best, rows, better)?;
        let missing = operators::is_null(&best, false);
        let wins = operators::logic(true, &wins, &missing, rows)?;
        let there = operators::is_null(other, true);
        let wins = operators::logic(false, &wins, &there, rows)?;
        best = choose(&[(wins, other.clone())], &best, rows)?;
    }
    Ok(best)
}

fn coalesce(arguments: &[Column], rows: usize) -> Result<Column> {
    let Some((last, rest)) = arguments.split_last() else { return Ok(Column::null()) };
    let cases: Vec<(Column, Column)> = rest.iter().map(|a| (operators::is_null(a, true), a.clone())).collect();
    choose(&cases, last, rows)
}

fn null_if(a: &Column, b: &Column, rows: usize) -> Result<Column> {
    let equal = operators::compare(a, b, rows, std::cmp::Ordering::is_eq)?;
    choose(&[(equal, Column::null())], a, rows)
}

/// The value behind the first condition that holds, else `otherwise`: CASE.
///
/// # Errors
/// Fails if some values are text and others are numbers, or if a condition is text.
pub fn choose(cases: &[(Column, Column)], otherwise: &Column, rows: usize) -> Result<Column> {
    let all: Vec<&Column> = cases.iter().map(|(_, value)| value).chain([otherwise]).collect();
    if all.iter().all(|c| c.constant) && cases.iter().all(|(condition, _)| condition.constant) {
        let holds = |condition: &Column| Ok::<bool, Problem>(condition.as_bools()?[0] && condition.is_valid(0));
        for (condition, value) in cases {
            if holds(condition)? {
                return Ok(value.clone());
            }
        }
        return Ok(otherwise.clone());
    }
    // All values one behind another, and for each row the place of the one that it gets.
    let lengths: Vec<usize> = all.iter().map(|c| if c.constant { 1 } else { rows }).collect();
    let parts: Vec<(&Column, usize)> = all.iter().copied().zip(lengths.iter().copied()).collect();
    let stacked = super::column::concat(&parts)?;
    let starts: Vec<usize> =
        lengths.iter().scan(0, |at, length| Some(std::mem::replace(at, *at + length))).collect();
    let mut choice = vec![u32::try_from(cases.len()).unwrap_or(0); rows];
    for (i, (condition, _)) in cases.iter().enumerate().rev() {
        let truth = condition.as_bools()?;
        for (row, choice) in choice.iter_mut().enumerate() {
            if truth[condition.at(row)] && condition.is_valid(row) {
                *choice = i as u32;
            }
        }
    }
    let place = |(row, &choice): (usize, &u32)| {
        let i = choice as usize;
        (starts[i] + if all[i].constant { 0 } else { row }) as u32
    };
    let index: Vec<u32> = choice.iter().enumerate().map(place).collect();
    Ok(stacked.take(&index))
}

/// Arguments as text, whatever they are.
fn as_texts(arguments: &[Column]) -> Result<Vec<Column>> {
    arguments.iter().map(|a| operators::cast(a, SqlType::Text, true)).collect()
}

/// Rows in which all arguments have a value.
fn all_valid(arguments: &[Column], rows: usize) -> Option<Vec<bool>> {
    let any = arguments.iter().any(|a| a.valid.is_some());
    any.then(|| (0..rows).map(|row| arguments.iter().all(|a| a.is_valid(row))).collect())
}

/// A text made of texts: once for each distinct first argument, where the others are constants.
fn text(arguments: &[Column], rows: usize, of: impl Fn(&[&str]) -> String) -> Result<Column> {
    let arguments = as_texts(arguments)?;
    let rest: Vec<&str> = arguments[1..].iter().map(|a| a.constant_text().unwrap_or("")).collect();
    let others_constant = arguments[1..].iter().all(|a| a.constant);
    let valid = all_valid(&arguments, rows);
    let mut interner = Interner::default();
    let codes = if others_constant {
        let (codes, dictionary) = arguments[0].as_text()?;
        let first = &arguments[0];
        let mut known = vec![u32::MAX; dictionary.len().max(1)];
        let mut parts = vec![""];
        parts.extend(&rest);
        let mut code = |old: u32| {
            if known[old as usize] == u32::MAX {
                parts[0] = dictionary.text(old);
                known[old as usize] = interner.code(&of(&parts));
            }
            known[old as usize]
        };
        (0..rows).map(|row| code(codes[first.at(row)])).collect()
    } else {
        let mut code = |row: usize| {
            let parts: Vec<&str> = arguments.iter().map(|a| a.text(row).unwrap_or("")).collect();
            interner.code(&of(&parts))
        };
        (0..rows).map(&mut code).collect()
    };
    let values = super::column::Values::codes(codes, Arc::new(interner.dictionary()));
    Ok(Column::new(SqlType::Text, values).with_valid(valid))
}

/// An integer made of texts.
fn number(arguments: &[Column], rows: usize, of: impl Fn(&[&str]) -> i64) -> Result<Column> {
    let arguments = as_texts(arguments)?;
    if let [one, rest @ ..] = &arguments[..]
        && rest.iter().all(|a| a.constant)
    {
        let (codes, dictionary) = one.as_text()?;
        let mut parts = vec![""];
        parts.extend(rest.iter().map(|a| a.constant_text().unwrap_or("")));
        let by_code: Vec<i64> = dictionary
            .iter()
            .map(|word| {
                parts[0] = word;
                of(&parts)
            })
            .collect();
        let value = |row: usize| by_code.get(codes[one.at(row)] as usize).copied().unwrap_or(0);
        return Ok(Column::ints((0..rows).map(value).collect(), None).with_valid(all_valid(&arguments, rows)));
    }
    let value = |row: usize| of(&arguments.iter().map(|a| a.text(row).unwrap_or("")).collect::<Vec<_>>());
    Ok(Column::ints((0..rows).map(value).collect(), None).with_valid(all_valid(&arguments, rows)))
}

fn count(a: &Column, of: impl Fn(&str) -> usize) -> Result<Column> {
    number(std::slice::from_ref(a), a.stored(), |text| of(text[0]) as i64)
}

fn test(arguments: &[Column], rows: usize, of: impl Fn(&str, &str) -> bool) -> Result<Column> {
    let column = number(arguments, rows, |a| i64::from(of(a[0], a[1])))?;
    column.widened(SqlType::Bool)
}

fn letters(text: &str) -> i64 {
    text.chars().count() as i64
}

/// `count` letters of `text` behind the first `skip`.
fn part(text: &str, skip: i64, count: i64) -> String {
    let usize = |n: i64| usize::try_from(n).unwrap_or(0);
    text.chars().skip(usize(skip)).take(usize(count)).collect()
}

fn with_number(arguments: &[Column], rows: usize, of: impl Fn(&str, i64) -> String) -> Result<Column> {
    let number = arguments[1].widened(SqlType::Int)?;
    if number.constant {
        let n = number.as_ints()?[0];
        let column = text(&arguments[..1], rows, |a| of(a[0], n))?;
        return if number.is_valid(0) {
            Ok(column)
        } else {
            Ok(Column::null().full(rows).widened(SqlType::Text)?)
        };
    }
    let texts = as_texts(&arguments[..1])?;
    let n = number.as_ints()?;
    Ok(Column::texts((0..rows).map(|row| {
        let text = texts[0].text(row).filter(|_| number.is_valid(row));
        text.map(|text| of(text, n[number.at(row)]))
    })))
}

fn substring(arguments: &[Column], rows: usize) -> Result<Column> {
    let whole = Column::constant(Value::Int(i64::MAX));
    let length = arguments.get(2).unwrap_or(&whole);
    // From 1; what stands before the first letter counts, as in PostgreSQL.
    let of = |text: &str, from: i64, length: i64| {
        let end = from.saturating_add(length.max(0));
        part(text, (from - 1).max(0), end.saturating_sub(from.max(1)))
    };
    if length.constant {
        let length = length.as_ints()?[0];
        return with_number(&arguments[..2], rows, |text, from| of(text, from, length));
    }
    let texts = as_texts(&arguments[..1])?;
    let (from, lengths) = (arguments[1].as_ints()?, length.as_ints()?);
    let valid = all_valid(arguments, rows);
    Ok(Column::texts((0..rows).map(|row| {
        let text = texts[0].text(row).filter(|_| valid.as_ref().is_none_or(|valid| valid[row]));
        text.map(|text| of(text, from[arguments[1].at(row)], lengths[length.at(row)]))
    })))
}

/// Texts one behind another; NULLs are left out, as everywhere but with `||`.
fn join_texts(between: &str, arguments: &[Column], rows: usize) -> Result<Column> {
    let texts = as_texts(arguments)?;
    if let [one] = &texts[..] {
        return Ok(one.full(rows).into_owned());
    }
    let mut out = String::new();
    let mut interner = Interner::default();
    let mut codes = Vec::with_capacity(rows);
    for row in 0..rows {
        out.clear();
        let mut first = true;
        for text in texts.iter().filter_map(|a| a.text(row)) {
            if !first {
                out.push_str(between);
            }
            first = false;
            out.push_str(text);
        }
        codes.push(interner.code(&out));
    }
    Ok(Column::new(SqlType::Text, super::column::Values::codes(codes, Arc::new(interner.dictionary()))))
}

/// `a || b`: NULL where one of them is.
///
/// # Errors
/// No value is known that makes this fail.
pub fn concatenate(a: &Column, b: &Column, rows: usize) -> Result<Column> {
    let constant = a.constant && b.constant;
    let rows = if constant { 1 } else { rows };
    let column = text(&[a.clone(), b.clone()], rows, |a| [a[0], a[1]].concat())?;
    Ok(Column { constant, ..column })
}

fn trim(arguments: &[Column], rows: usize, start: bool, end: bool) -> Result<Column> {
    text(arguments, rows, |a| {
        let unwanted = |c: char| a.get(1).map_or(c.is_whitespace(), |set| set.contains(c));
        let out = if start { a[0].trim_start_matches(unwanted) } else { a[0] };
        if end { out.trim_end_matches(unwanted) } else { out }.to_owned()
    })
}

fn split_part(arguments: &[Column], rows: usize) -> Result<Column> {
    text(arguments, rows, |a| {
        let parts: Vec<&str> = if a[1].is_empty() { vec![a[0]] } else { a[0].split(a[1]).collect() };
        let n: i64 = a[2].parse().unwrap_or(0);
        let at = if n < 0 { parts.len() as i64 + n } else { n - 1 };
        usize::try_from(at).ok().and_then(|at| parts.get(at)).map_or(String::new(), |part| (*part).to_owned())
    })
}

fn pad(arguments: &[Column], rows: usize, left: bool) -> Result<Column> {
    text(arguments, rows, |a| {
        let width = a[1].parse::<i64>().unwrap_or(0).clamp(0, 1 << 16);
        let filler = a.get(2).copied().unwrap_or(" ");
        let missing = width - letters(a[0]);
        if missing <= 0 || filler.is_empty() {
            return part(a[0], 0, width);
        }
        let fill: String = filler.chars().cycle().take(missing as usize).collect();
        if left { fill + a[0] } else { a[0].to_owned() + &fill }
    })
}

/// A pattern with flags of PostgreSQL: `i` for any case, `c` for the case as written.
fn flagged(pattern: &str, flags: Option<&str>) -> Result<regex::Regex> {
    match flags {
        Some(flags) if flags.contains('i') => operators::regex(&format!("(?i){pattern}")),
        _ => operators::regex(pattern),
    }
}

fn regexp_like(arguments: &[Column], rows: usize) -> Result<Column> {
    let flags = arguments.get(2).and_then(Column::constant_text);
    operators::matches(&arguments[0], &arguments[1], rows, |pattern| flagged(pattern, flags))
}

fn constant_pattern(arguments: &[Column], function: &str) -> Result<regex::Regex> {
    match arguments[1].constant_text() {
        Some(pattern) => operators::regex(pattern),
        _ => Problem::wrong(format!("{function} needs a constant pattern")),
    }
}

fn regexp_replace(arguments: &[Column], rows: usize) -> Result<Column> {
    let regex = constant_pattern(arguments, "REGEXP_REPLACE")?;
    let texts = [arguments[0].clone(), arguments[2].clone()];
    text(&texts, rows, |a| regex.replace_all(a[0], a[1]).into_owned())
}

fn regexp_extract(arguments: &[Column], rows: usize) -> Result<Column> {
    let regex = constant_pattern(arguments, "REGEXP_EXTRACT")?;
    let group = match arguments.get(2) {
        Some(group) => usize::try_from(group.as_ints()?.first().copied().unwrap_or(0)).unwrap_or(0),
        None => 0,
    };
    text(&arguments[..1], rows, |a| {
        let found = regex.captures(a[0]).and_then(|captures| captures.get(group));
        found.map_or(String::new(), |found| found.as_str().to_owned())
    })
}
