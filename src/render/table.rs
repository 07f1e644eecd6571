//! A table of typed cells, and how it becomes text for people and for machines.
//!
//! Machine formats are never scaled: cells print in the column's base unit, integers from integers.

use serde_json::{Map, Value};
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

    fn plain(&self) -> String {
        match self {
            Cell::Null => String::new(),
            Cell::Int(v) => v.to_string(),
            Cell::Id(v) => v.to_string(),
            Cell::Fixed(v, decimals) => format!("{v:.decimals$}"),
            Cell::Text(text) => text.clone(),
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
    /// The rows, as many cells each as there are headings.
    pub rows: Vec<Vec<Cell>>,
}

/// How a table is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Aligned columns for people.
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
        Table { title, name, headings, rows: Vec::new() }
    }

    /// Writes the table in `format`; `json` lacks the enclosing document, which the caller adds notes to.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(&self, out: &mut dyn Write, format: Format) -> io::Result<()> {
        match format {
            Format::Table => self.write_text(out, usize::MAX),
            Format::Csv => self.write_separated(out, ',', quote_csv),
            Format::Tsv => self.write_separated(out, '\t', flatten_tsv),
            Format::Json => writeln!(out, "{}", self.json()),
            Format::Markdown => self.write_markdown(out),
        }
    }

    /// Writes the table for a terminal: long text is cut.
    ///
    /// # Errors
    /// Those of `out`.
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

    fn write_separated(&self, out: &mut dyn Write, separator: char, quote: fn(&str) -> String) -> io::Result<()> {
        let mut line = |cells: Vec<String>| {
            let quoted: Vec<String> = cells.iter().map(|c| quote(c)).collect();
            writeln!(out, "{}", quoted.join(&separator.to_string()))
        };
        line(self.headings.iter().map(|h| h.name.to_owned()).collect())?;
        self.rows.iter().try_for_each(|row| line(row.iter().map(Cell::plain).collect()))
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
        let cells: Vec<Vec<String>> =
            self.rows.iter().map(|row| row.iter().map(|c| cut(&c.grouped(), cap)).collect()).collect();
        let widths: Vec<usize> = self
            .headings
            .iter()
            .enumerate()
            .map(|(i, h)| {
                let widest = cells.iter().take(WIDTH_ROWS).map(|row| row[i].chars().count()).max().unwrap_or(0);
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
        for row in &cells {
            let padded: Vec<String> = row
                .iter()
                .zip(&widths)
                .zip(&self.headings)
                .map(|((cell, &w), h)| if h.is_text { format!("{cell:<w$}") } else { format!("{cell:>w$}") })
                .collect();
            writeln!(out, " {}", padded.join("  "))?;
        }
        writeln!(out)
    }
}

impl Cell {
    /// For people: integer digits in groups of three.
    pub(crate) fn grouped(&self) -> String {
        let plain = self.plain();
        if !matches!(self, Cell::Int(_) | Cell::Fixed(..)) {
            return plain.replace(char::is_control, " ");
        }
        let (sign, unsigned) = plain.strip_prefix('-').map_or(("", plain.as_str()), |u| ("-", u));
        let (whole, fraction) = unsigned.split_at(unsigned.find('.').unwrap_or(unsigned.len()));
        let mut grouped = String::from(sign);
        for (i, digit) in whole.chars().enumerate() {
            if i > 0 && (whole.len() - i) % 3 == 0 {
                grouped.push(',');
            }
            grouped.push(digit);
        }
        grouped + fraction
    }
}

/// Cuts text to `width` characters, the last one an ellipsis.
pub(crate) fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars().take(width - 1).chain(['…']).collect()
}

/// The text as a CSV field, quoted where RFC 4180 wants it.
pub(crate) fn quote_csv(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

/// TSV has no quoting, so separators inside a cell become spaces.
pub(crate) fn flatten_tsv(text: &str) -> String {
    text.replace(['\t', '\n', '\r'], " ")
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
