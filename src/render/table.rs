//! A table of typed cells, and how it becomes text for people and for machines.
//!
//! Machine formats are never scaled: cells print in the column's base unit, integers from integers.

use super::digits::{push_fixed, push_signed, push_unsigned};
use super::many_lines::write_lines;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write};

/// One cell.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Nothing: empty in CSV, null in JSON.
    Null,
    /// An integer that counts or measures.
    Int(i128),
    /// An integer that names something: a pid, a stream, a correlation id. People get it without digit groups.
    Id(u64),
    /// A number shown with this many decimals; machines get it with these decimals too, as nsys prints it.
    Fixed(f64, usize),
    /// The three sizes of a grid or block.
    Sizes([i64; 3]),
    /// Text.
    Text(String),
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Cell::Text(text.to_owned())
    }
}

impl Cell {
    /// An integer cell.
    pub fn int(value: impl TryInto<i128>) -> Cell {
        value.try_into().map_or(Cell::Null, Cell::Int)
    }

    /// The cell for `value`, or [`Cell::Null`].
    pub fn opt(value: Option<impl TryInto<i128>>) -> Cell {
        value.map_or(Cell::Null, Cell::int)
    }

    /// An id cell.
    pub fn id(value: impl Into<u64>) -> Cell {
        Cell::Id(value.into())
    }

    /// The id cell for `value`, or [`Cell::Null`].
    pub fn opt_id(value: Option<impl Into<u64>>) -> Cell {
        value.map_or(Cell::Null, Cell::id)
    }

    /// As machines get it.
    pub(crate) fn plain(&self) -> String {
        let mut text = String::new();
        self.push_plain(&mut text);
        text
    }

    fn push_plain(&self, out: &mut String) {
        match self {
            Cell::Null => {}
            Cell::Int(v) => match i64::try_from(*v) {
                Ok(v) => push_signed(out, v),
                // A String takes whatever it is given.
                Err(_) => drop(write!(out, "{v}")),
            },
            Cell::Id(v) => push_unsigned(out, *v),
            Cell::Fixed(v, decimals) => push_fixed(out, *v, *decimals),
            Cell::Sizes(sizes) => push_sizes(out, sizes),
            Cell::Text(text) => out.push_str(text),
        }
    }

    fn json(&self) -> Value {
        match self {
            Cell::Null => Value::Null,
            Cell::Int(v) => match (i64::try_from(*v), u64::try_from(*v)) {
                (Ok(v), _) => v.into(),
                (_, Ok(v)) => v.into(),
                _ => Value::String(v.to_string()),
            },
            Cell::Id(v) => (*v).into(),
            Cell::Fixed(v, decimals) => {
                format!("{v:.decimals$}").parse::<f64>().ok().map_or(Value::Null, Value::from)
            }
            Cell::Sizes(_) => self.plain().into(),
            Cell::Text(text) => text.as_str().into(),
        }
    }
}

/// One column heading.
#[derive(Clone, Debug, PartialEq)]
pub struct Heading {
    /// As printed, with its unit: `Total Time (ns)`.
    pub name: &'static str,
    /// Whether cells are flushed left in text.
    pub is_text: bool,
}

/// A titled table.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// The full title, e.g. `CUDA GPU Kernel Summary`.
    pub title: &'static str,
    /// The short name, e.g. `cuda_gpu_kern_sum`.
    pub name: &'static str,
    /// The columns.
    pub headings: Vec<Heading>,
    /// The names of the columns that tell rows apart, in this answer and in the next one; empty for lists of records, and
    /// for one row.
    pub key: &'static [&'static str],
    /// The rows, as many cells each as there are headings.
    pub rows: Vec<Vec<Cell>>,
}

/// How a table is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Aligned columns for people.
    #[value(name = "text", alias = "table")]
    Table,
    /// Comma-separated, RFC 4180 quoting.
    Csv,
    /// Tab-separated.
    Tsv,
    /// One object: `notes` about what is partial, and `tables` with a list of objects each.
    Json,
    /// A GitHub-flavoured Markdown table.
    Markdown,
}

/// Text columns are no wider than this, and cut here for a terminal, as `nsys stats` cuts them. What is piped and machine
/// formats never are.
const TEXT_WIDTH_CAP: usize = 100;

/// Rows looked at for column widths, as in `nsys stats`: later, wider cells are printed whole.
const WIDTH_ROWS: usize = 100;

impl Table {
    /// A table without rows.
    pub fn new(name: &'static str, title: &'static str, headings: Vec<Heading>) -> Self {
        Table { title, name, headings, key: &[], rows: Vec::new() }
    }

    /// The same table, whose rows are told apart by the columns of these names.
    pub fn with_key(self, key: &'static [&'static str]) -> Self {
        Table { key, ..self }
    }

    /// Writes the table in `format`; `json` lacks the enclosing document, which the caller adds notes to.
    ///
    /// # Errors
    /// Fails if `out` cannot be written to.
    pub fn write(&self, out: &mut dyn Write, format: Format) -> io::Result<()> {
        match format {
            Format::Table => self.write_text(out, usize::MAX),
            Format::Csv => self.write_separated(out, ',', quoted_csv),
            Format::Tsv => self.write_separated(out, '\t', flat_tsv),
            Format::Json => writeln!(out, "{}", self.json()),
            Format::Markdown => self.write_markdown(out),
        }
    }

    /// Writes the table for a terminal: long text is cut.
    ///
    /// # Errors
    /// Fails if `out` cannot be written to.
    pub fn write_cut(&self, out: &mut dyn Write) -> io::Result<()> {
        self.write_text(out, TEXT_WIDTH_CAP)
    }

    /// The rows as an array of objects.
    pub fn json(&self) -> Value {
        let object = |row: &Vec<Cell>| {
            let pairs = self.headings.iter().zip(row).map(|(h, cell)| (h.name.to_owned(), cell.json()));
            Value::Object(pairs.collect::<Map<_, _>>())
        };
        Value::Array(self.rows.iter().map(object).collect())
    }

    fn write_separated(
        &self,
        out: &mut dyn Write,
        separator: char,
        quote: fn(&str) -> Cow<'_, str>,
    ) -> io::Result<()> {
        let names: Vec<Cow<'_, str>> = self.headings.iter().map(|h| quote(h.name)).collect();
        writeln!(out, "{}", names.join(&separator.to_string()))?;
        write_lines(out, &self.rows, |line, _, row| {
            for (i, cell) in row.iter().enumerate() {
                if i > 0 {
                    line.push(separator);
                }
                match cell {
                    Cell::Text(text) => line.push_str(&quote(text)),
                    // Digits need no quotes.
                    number => number.push_plain(line),
                }
            }
            line.push('\n');
        })
    }

    fn write_markdown(&self, out: &mut dyn Write) -> io::Result<()> {
        let escape = |text: &str| text.replace('|', "\\|").replace(char::is_control, " ");
        let names: Vec<String> = self.headings.iter().map(|h| escape(h.name)).collect();
        let rules: Vec<&str> = self.headings.iter().map(|h| if h.is_text { ":--" } else { "--:" }).collect();
        writeln!(out, "| {} |", names.join(" | "))?;
        writeln!(out, "| {} |", rules.join(" | "))?;
        for row in &self.rows {
            let cells: Vec<String> = row.iter().map(|c| escape(&c.plain())).collect();
            writeln!(out, "| {} |", cells.join(" | "))?;
        }
        Ok(())
    }

    /// The layout of `nsys stats`: one leading space, gaps of two, centred headings over dashes.
    fn write_text(&self, out: &mut dyn Write, cap: usize) -> io::Result<()> {
        let looked_at = &self.rows[..self.rows.len().min(WIDTH_ROWS)];
        let shown =
            |row: &Vec<Cell>, i: usize| row.get(i).map_or(0, |cell| cut(&cell.grouped(), cap).chars().count());
        let widths: Vec<usize> = self
            .headings
            .iter()
            .enumerate()
            .map(|(i, h)| {
                let widest = looked_at.iter().map(|row| shown(row, i)).max().unwrap_or(0);
                // Longer cells are whole, and push what is right of them; all others would be padded for them.
                widest.min(TEXT_WIDTH_CAP).max(h.name.chars().count())
            })
            .collect();
        writeln!(out, " ** {} ({}):\n", self.title, self.name)?;
        let heads: Vec<String> =
            self.headings.iter().zip(&widths).map(|(h, &w)| format!("{:^w$}", h.name)).collect();
        let dashes: Vec<String> = widths.iter().map(|&w| "-".repeat(w)).collect();
        writeln!(out, " {}", heads.join("  "))?;
        writeln!(out, " {}", dashes.join("  "))?;
        write_lines(out, &self.rows, |line, _, row| {
            for (i, ((cell, &width), heading)) in row.iter().zip(&widths).zip(&self.headings).enumerate() {
                line.push_str(if i == 0 { " " } else { "  " });
                let start = line.len();
                cell.push_grouped(line);
                cut_tail(line, start, cap);
                pad(line, start, width, heading.is_text);
            }
            line.push('\n');
        })?;
        writeln!(out)
    }
}

impl Cell {
    /// For people: integer digits in groups of three.
    pub(crate) fn grouped(&self) -> String {
        let mut text = String::new();
        self.push_grouped(&mut text);
        text
    }

    fn push_grouped(&self, out: &mut String) {
        let start = out.len();
        self.push_plain(out);
        if !matches!(self, Cell::Int(_) | Cell::Fixed(..)) {
            if matches!(self, Cell::Text(_)) && out[start..].contains(char::is_control) {
                let flat = out[start..].replace(char::is_control, " ");
                out.truncate(start);
                out.push_str(&flat);
            }
            return;
        }
        let number = &out[start..];
        let whole_from = start + usize::from(number.starts_with('-'));
        let mut at = start + number.find('.').unwrap_or(number.len());
        while at > whole_from + 3 {
            at -= 3;
            out.insert(at, ',');
        }
    }
}

/// As nsys prints a grid or block: each size takes four characters at least.
fn push_sizes(out: &mut String, sizes: &[i64; 3]) {
    for (i, &size) in sizes.iter().enumerate() {
        if i > 0 {
            out.push(' ');
        }
        let start = out.len();
        push_signed(out, size);
        pad(out, start, 4, false);
    }
}

/// Cuts text to `width` characters, the last one an ellipsis.
pub(crate) fn cut(text: &str, width: usize) -> String {
    let mut text = text.to_owned();
    cut_tail(&mut text, 0, width);
    text
}

/// As [`cut`], what `line` has from `start` on.
fn cut_tail(line: &mut String, start: usize, width: usize) {
    let text = &line[start..];
    // There are no more characters than bytes.
    if text.len() <= width || text.chars().count() <= width {
        return;
    }
    let kept = text.char_indices().nth(width.saturating_sub(1)).map_or(text.len(), |(at, _)| at);
    line.truncate(start + kept);
    line.push('…');
}

/// Brings what `line` has from `start` on to `width` characters, flushed left or right.
fn pad(line: &mut String, start: usize, width: usize, left: bool) {
    let missing = width.saturating_sub(line[start..].chars().count());
    if missing == 0 {
        return;
    }
    let at = if left { line.len() } else { start };
    const SPACES: &str = "                                ";
    let mut missing = missing;
    while missing > 0 {
        let spaces = &SPACES[..missing.min(SPACES.len())];
        line.insert_str(at, spaces);
        missing -= spaces.len();
    }
}

/// The text as a CSV field, quoted where RFC 4180 wants it.
pub(crate) fn quote_csv(text: &str) -> String {
    quoted_csv(text).into_owned()
}

fn quoted_csv(text: &str) -> Cow<'_, str> {
    // Without leaving at the first, so that the compiler looks at many bytes at once: next to no text has any.
    if text.bytes().fold(false, |any, byte| any | matches!(byte, b',' | b'"' | b'\n' | b'\r')) {
        Cow::Owned(format!("\"{}\"", text.replace('"', "\"\"")))
    } else {
        Cow::Borrowed(text)
    }
}

/// TSV has no quoting, so separators inside a cell become spaces.
pub(crate) fn flatten_tsv(text: &str) -> String {
    flat_tsv(text).into_owned()
}

fn flat_tsv(text: &str) -> Cow<'_, str> {
    if text.contains(['\t', '\n', '\r']) {
        Cow::Owned(text.replace(['\t', '\n', '\r'], " "))
    } else {
        Cow::Borrowed(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Table {
        let heading = |name, is_text| Heading { name, is_text };
        let mut table = Table::new(
            "t",
            "T",
            vec![heading("Total (ns)", false), heading("Avg (ns)", false), heading("Name", true)],
        );
        table.rows.push(vec![Cell::Int(1_234_567), Cell::Fixed(4128.0, 1), "a, \"b\"\nc|d".into()]);
        table
    }

    fn written(format: Format) -> String {
        let mut out = Vec::new();
        sample().write(&mut out, format).expect("memory");
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn machine_formats_quote_and_never_scale() {
        assert_eq!(written(Format::Csv), "Total (ns),Avg (ns),Name\n1234567,4128.0,\"a, \"\"b\"\"\nc|d\"\n");
        assert_eq!(written(Format::Tsv), "Total (ns)\tAvg (ns)\tName\n1234567\t4128.0\ta, \"b\" c|d\n");
        assert_eq!(
            written(Format::Json),
            "[{\"Total (ns)\":1234567,\"Avg (ns)\":4128.0,\"Name\":\"a, \\\"b\\\"\\nc|d\"}]\n"
        );
    }

    #[test]
    fn text_centres_headings_and_groups_digits() {
        let expected = " ** T (t):\n\n Total (ns)  Avg (ns)     Name   \n ----------  --------  ----------\n  \
                        1,234,567   4,128.0  a, \"b\" c|d\n\n";
        assert_eq!(written(Format::Table), expected);
    }

    #[test]
    fn markdown_escapes_its_separators() {
        assert!(written(Format::Markdown).ends_with("| 1234567 | 4128.0 | a, \"b\" c\\|d |\n"));
    }
}
