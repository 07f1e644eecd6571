//! Answers as text and as Parquet: written row by row, integers from integers, never scaled for machines.

use crate::error::{Error, Result};
use crate::export::parquet;
use crate::render::schemas;
use crate::render::table::{Cell, cut, flatten_tsv, quote_csv};
use crate::trace::sink::Note;
use polars::prelude::*;
use serde_json::{Map, Value, json};
use std::io::{self, Write};

/// How an answer is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Aligned columns for people.
    #[value(name = "text", alias = "table")]
    Table,
    /// Comma-separated, RFC 4180 quoting; NULL is empty, empty text is "".
    Csv,
    /// Tab-separated; tabs and newlines inside text become spaces.
    Tsv,
    /// One object: `notes` about what is partial, and `tables` with a list of objects each.
    Json,
    /// One object per line and row.
    Jsonl,
    /// A GitHub-flavoured Markdown table.
    Markdown,
    /// A Parquet file, zstd (needs --output).
    Parquet,
    /// An Arrow IPC file, not compressed, text by dictionary: for programs that map it into memory.
    Arrow,
}

impl Format {
    /// Whether it is for programs alone, so that a terminal is no place for it.
    pub fn is_binary(self) -> bool {
        matches!(self, Format::Parquet | Format::Arrow)
    }
}

/// Rows turned into text at a time.
const CHUNK_ROWS: usize = 65_536;

/// Columns are no wider than this, as in reports; for a terminal longer cells are cut.
const WIDTH_CAP: usize = 100;

/// Rows looked at for the width of columns.
const WIDTH_ROWS: usize = 1000;

/// Writes some answers. `cut` shortens long text in [`Format::Table`], so that a row has room on a terminal.
///
/// # Errors
/// Fails if `out` cannot be written to, or if the format holds exactly one answer and there are several or none.
pub fn write(
    out: &mut (dyn Write + Send),
    answers: &[DataFrame],
    format: Format,
    notes: &[Note],
    cut: bool,
) -> Result<()> {
    if format == Format::Parquet {
        let [answer] = answers else {
            return Err(Error::new("a Parquet file holds one answer").remedy("give one query at a time"));
        };
        return parquet::answer::write(out, answer);
    }
    text(out, answers, format, notes, cut).map_err(|e| Error::output(&e))
}

fn text(out: &mut dyn Write, answers: &[DataFrame], format: Format, notes: &[Note], cut: bool) -> io::Result<()> {
    if format == Format::Json {
        let notes: Vec<_> = notes.iter().map(|n| json!({ "code": n.code, "text": n.text })).collect();
        write!(out, "{{\"schema\":\"{}\",\"notes\":{},\"tables\":[", schemas::QUERY, Value::Array(notes))?;
    }
    for (i, answer) in answers.iter().enumerate() {
        if i > 0 {
            match format {
                Format::Json => write!(out, ",")?,
                Format::Jsonl => {}
                _ => writeln!(out)?,
            }
        }
        match format {
            Format::Table => aligned(out, answer, if cut { WIDTH_CAP } else { usize::MAX })?,
            Format::Csv => separated(out, answer, ",", quote_csv)?,
            Format::Tsv => separated(out, answer, "\t", flatten_tsv)?,
            Format::Json => {
                // Nothing is known of what tells its rows apart.
                write!(out, "{{\"name\":\"query\",\"title\":\"Query\",\"key\":[],\"rows\":[")?;
                objects(out, answer, ",\n")?;
                write!(out, "]}}")?;
            }
            Format::Jsonl => {
                objects(out, answer, "\n")?;
                if answer.height() > 0 {
                    writeln!(out)?;
                }
            }
            Format::Markdown => markdown(out, answer)?,
            Format::Parquet | Format::Arrow => {}
        }
    }
    if format == Format::Json {
        writeln!(out, "]}}")?;
    }
    out.flush()
}

/// Calls `each` with every row.
fn for_each_row(answer: &DataFrame, mut each: impl FnMut(&[AnyValue]) -> io::Result<()>) -> io::Result<()> {
    for from in (0..answer.height()).step_by(CHUNK_ROWS) {
        let mut chunk = answer.slice(from as i64, CHUNK_ROWS);
        chunk.rechunk_mut();
        let columns: Vec<&Series> = chunk.columns().iter().map(Column::as_materialized_series).collect();
        let mut iterators: Vec<_> = columns.iter().map(|series| series.iter()).collect();
        let mut row = Vec::with_capacity(iterators.len());
        for _ in 0..chunk.height() {
            row.clear();
            row.extend(iterators.iter_mut().map(|values| values.next().unwrap_or(AnyValue::Null)));
            each(&row)?;
        }
    }
    Ok(())
}

fn names(answer: &DataFrame) -> Vec<String> {
    answer.get_column_names().iter().map(|name| name.to_string()).collect()
}

/// A value without any scaling; `None` for NULL.
fn plain(value: &AnyValue) -> Option<String> {
    Some(match value {
        AnyValue::Null => return None,
        AnyValue::String(text) => (*text).to_owned(),
        AnyValue::StringOwned(text) => text.to_string(),
        AnyValue::Boolean(yes) => yes.to_string(),
        AnyValue::Float64(number) => number.to_string(),
        AnyValue::Float32(number) => number.to_string(),
        AnyValue::Binary(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        AnyValue::List(values) => Value::Array(values.iter().map(|v| json_value(&v)).collect()).to_string(),
        other => other.to_string(),
    })
}

fn json_value(value: &AnyValue) -> Value {
    match value {
        AnyValue::Null => Value::Null,
        AnyValue::Boolean(yes) => Value::Bool(*yes),
        AnyValue::Float64(number) => Value::from(*number),
        AnyValue::Float32(number) => Value::from(*number),
        AnyValue::UInt64(number) => Value::from(*number),
        AnyValue::List(values) => Value::Array(values.iter().map(|v| json_value(&v)).collect()),
        other => match other.extract::<i64>().filter(|_| other.is_integer()) {
            Some(number) => Value::from(number),
            None => plain(other).map_or(Value::Null, Value::String),
        },
    }
}

/// A value for people: sizes and times with their digits in groups, ids without, few decimals.
fn for_people(value: &AnyValue) -> String {
    let grouped = |number: i128| Cell::Int(number).grouped();
    match value {
        AnyValue::Null => "NULL".to_owned(),
        AnyValue::Int64(number) => grouped(i128::from(*number)),
        AnyValue::Int32(number) => grouped(i128::from(*number)),
        AnyValue::Float64(number) if !number.is_finite() => number.to_string(),
        AnyValue::Float64(number) => {
            let decimals = if number.abs() >= 1000.0 { 1 } else { 6 };
            let text = Cell::Fixed(*number, decimals).grouped();
            if decimals == 1 { text } else { text.trim_end_matches('0').trim_end_matches('.').to_owned() }
        }
        other => plain(other).unwrap_or_default().replace(char::is_control, " "),
    }
}

fn is_number(ty: &DataType) -> bool {
    ty.is_primitive_numeric()
}

fn aligned(out: &mut dyn Write, answer: &DataFrame, cap: usize) -> io::Result<()> {
    let names = names(answer);
    let cell = |value: &AnyValue| cut(&for_people(value), cap);
    let mut widths: Vec<usize> = names.iter().map(|name| name.chars().count().min(WIDTH_CAP)).collect();
    for_each_row(&answer.head(Some(WIDTH_ROWS)), |row| {
        for (width, value) in widths.iter_mut().zip(row) {
            // Longer cells are whole, and push what is right of them; all others would be padded for them.
            *width = (*width).max(cell(value).chars().count().min(WIDTH_CAP));
        }
        Ok(())
    })?;
    let right: Vec<bool> = answer.columns().iter().map(|c| is_number(c.dtype())).collect();
    let line = |out: &mut dyn Write, cells: Vec<String>| {
        let padded = cells
            .iter()
            .zip(&widths)
            .zip(&right)
            .map(|((cell, &w), right)| if *right { format!("{cell:>w$}") } else { format!("{cell:<w$}") });
        let line = padded.collect::<Vec<_>>().join("  ");
        writeln!(out, "{}", line.trim_end())
    };
    line(out, names.iter().map(|name| name.replace(char::is_control, " ")).collect())?;
    line(out, widths.iter().map(|&w| "-".repeat(w)).collect())?;
    for_each_row(answer, |row| line(out, row.iter().map(cell).collect()))
}

fn separated(
    out: &mut dyn Write,
    answer: &DataFrame,
    separator: &str,
    quote: fn(&str) -> String,
) -> io::Result<()> {
    let names: Vec<String> = names(answer).iter().map(|name| quote(name)).collect();
    writeln!(out, "{}", names.join(separator))?;
    let empty = quote("");
    // Empty text is told from NULL where the format can.
    let empty = if separator == "," { "\"\"" } else { empty.as_str() };
    for_each_row(answer, |row| {
        for (i, value) in row.iter().enumerate() {
            if i > 0 {
                out.write_all(separator.as_bytes())?;
            }
            match plain(value) {
                None => {}
                Some(text) if text.is_empty() => out.write_all(empty.as_bytes())?,
                Some(text) => out.write_all(quote(&text).as_bytes())?,
            }
        }
        writeln!(out)
    })
}

fn objects(out: &mut dyn Write, answer: &DataFrame, between: &str) -> io::Result<()> {
    let names = names(answer);
    let mut first = true;
    for_each_row(answer, |row| {
        if !std::mem::take(&mut first) {
            out.write_all(between.as_bytes())?;
        }
        let pairs = names.iter().zip(row).map(|(name, value)| (name.clone(), json_value(value)));
        serde_json::to_writer(&mut *out, &pairs.collect::<Map<_, _>>())?;
        Ok(())
    })
}

fn markdown(out: &mut dyn Write, answer: &DataFrame) -> io::Result<()> {
    let escape = |text: &str| text.replace('|', "\\|").replace(char::is_control, " ");
    let names: Vec<String> = names(answer).iter().map(|name| escape(name)).collect();
    let rules = answer.columns().iter().map(|c| if is_number(c.dtype()) { "--:" } else { ":--" });
    writeln!(out, "| {} |", names.join(" | "))?;
    writeln!(out, "| {} |", rules.collect::<Vec<_>>().join(" | "))?;
    for_each_row(answer, |row| {
        let cells: Vec<String> = row.iter().map(|value| escape(&plain(value).unwrap_or_default())).collect();
        writeln!(out, "| {} |", cells.join(" | "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(format: Format) -> String {
        let frame = df!(
            "start_ns" => [Some(1_700_000_000_000_000_001_i64), None],
            "name" => [Some("=cmd(),\"</script>\"\n|"), Some("")],
            "share" => [0.1, f64::NAN],
            "id" => [u64::MAX, 7],
        );
        let mut out = Vec::new();
        let notes = [Note { code: "lost-records", text: "1 record lost".into() }];
        write(&mut out, &[frame.expect("a frame")], format, &notes, false).expect("memory");
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn machine_formats_are_exact() {
        assert_eq!(
            written(Format::Csv),
            "start_ns,name,share,id\n1700000000000000001,\"=cmd(),\"\"</script>\"\"\n|\",0.1,18446744073709551615\n,\"\",NaN,7\n"
        );
        assert_eq!(
            written(Format::Tsv),
            "start_ns\tname\tshare\tid\n1700000000000000001\t=cmd(),\"</script>\" |\t0.1\t18446744073709551615\n\t\tNaN\t7\n"
        );
        assert_eq!(
            written(Format::Jsonl),
            "{\"start_ns\":1700000000000000001,\"name\":\"=cmd(),\\\"</script>\\\"\\n|\",\"share\":0.1,\"id\":18446744073709551615}\n{\"start_ns\":null,\"name\":\"\",\"share\":null,\"id\":7}\n"
        );
        let json: Value = serde_json::from_str(&written(Format::Json)).expect("JSON");
        assert_eq!(json["tables"][0]["rows"][0]["id"], u64::MAX);
        assert_eq!(json["notes"][0]["code"], "lost-records");
        assert!(written(Format::Markdown).contains("| 1700000000000000001 | =cmd(),\"</script>\" \\| | 0.1 |"));
    }

    #[test]
    fn people_get_groups_of_digits_but_not_in_ids() {
        let text = written(Format::Table);
        assert!(text.contains("1,700,000,000,000,000,001  =cmd(),\"</script>\" |"), "{text}");
        assert!(text.contains("18446744073709551615") && text.contains("NULL"), "{text}");
    }
}
