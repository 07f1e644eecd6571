//! One printed table: its columns, their units, and its rows.

use crate::import::lines::{fields, separator_of};
use crate::import::units;
use std::borrow::Cow;

/// What the rows of a table are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableKind {
    /// Sums by name.
    Summary,
    /// Kernels, copies, fills, unified memory; API calls among them if both were asked for.
    GpuTrace,
    /// API calls.
    ApiTrace,
    /// OpenACC regions.
    OpenaccTrace,
    /// Sums of unified memory transfers.
    Sizes,
}

/// A column.
#[derive(Debug)]
struct Column {
    name: String,
    unit: Vec<u8>,
    /// Where its heading ends in the line; the unit below it ends there too. Of text only.
    end: usize,
}

/// A table being read.
#[derive(Debug)]
pub struct Table {
    /// What its rows are.
    pub kind: TableKind,
    /// Whether it is CSV.
    pub csv: bool,
    /// What parts its values if it is.
    separator: u8,
    columns: Vec<Column>,
    /// Nothing but the header was read so far: the next line may hold units.
    fresh: bool,
}

/// The pieces of a line that two or more spaces part, and where each ends.
fn pieces(line: &[u8]) -> Vec<(&[u8], usize)> {
    let mut pieces = Vec::new();
    let mut at = 0;
    while at < line.len() {
        if line[at] == b' ' {
            at += 1;
            continue;
        }
        let rest = &line[at..];
        let length = rest.windows(2).position(|pair| pair == b"  ").unwrap_or(rest.len());
        let piece = rest[..length].trim_ascii_end();
        pieces.push((piece, at + piece.len()));
        at += length;
    }
    pieces
}

impl Table {
    /// The table whose header this line is.
    pub fn of_header(line: &[u8]) -> Option<Table> {
        let csv = line.starts_with(b"\"");
        let text = line.trim_ascii_start();
        let starts: [&[u8]; 5] = [b"Type ", b"Time(%) ", b"Start ", b"Count ", b"\""];
        if line.len() > 2000 || !starts.iter().any(|start| text.starts_with(start)) {
            return None;
        }
        let separator = separator_of(line);
        let names: Vec<(Cow<[u8]>, usize)> = if csv {
            fields(line, separator).into_iter().map(|name| (Cow::Owned(name), 0)).collect()
        } else {
            pieces(line).into_iter().map(|(name, end)| (Cow::Borrowed(name), end)).collect()
        };
        let mut columns: Vec<Column> = names
            .iter()
            // A heading annotated below the table has a star.
            .map(|(name, end)| {
                (String::from_utf8_lossy(name.strip_suffix(b"*").unwrap_or(name)).into_owned(), *end)
            })
            .map(|(name, end)| Column { name, unit: Vec::new(), end })
            .collect();
        let has = |name: &str| columns.iter().any(|column| column.name == name);
        let kind = if has("Time") && has("Calls") && has("Min") && has("Max") && has("Name") {
            TableKind::Summary
        } else if has("Start") && has("Duration") && has("Name") {
            match (has("Grid X") || has("Grid Size"), has("Device")) {
                (true, _) => TableKind::GpuTrace,
                (false, true) => TableKind::OpenaccTrace,
                (false, false) => TableKind::ApiTrace,
            }
        } else if has("Count") && has("Total Size") {
            // The last column of the CSV form has no name.
            if let Some(last) = columns.last_mut().filter(|last| last.name.is_empty()) {
                "Name".clone_into(&mut last.name);
            }
            TableKind::Sizes
        } else {
            return None;
        };
        Some(Table { kind, csv, separator, columns, fresh: true })
    }

    /// Whether nvprof says below the table, behind an empty line, what its columns mean: below listings of GPU work in text.
    pub fn is_explained_below(&self) -> bool {
        !self.csv && self.kind == TableKind::GpuTrace && self.columns.iter().any(|column| column.name == "Regs")
    }

    /// Takes the line below the header if it holds units.
    pub fn takes_units(&mut self, line: &[u8]) -> bool {
        if !std::mem::take(&mut self.fresh) {
            return false;
        }
        if self.csv {
            let units = fields(line, self.separator);
            let all = units.iter().all(|unit| unit.is_empty() || units::is_unit(unit));
            if !all || units.iter().all(Vec::is_empty) {
                return false;
            }
            for (column, unit) in self.columns.iter_mut().zip(units) {
                column.unit = unit;
            }
            return true;
        }
        let units = pieces(line);
        if units.is_empty() || !units.iter().all(|(unit, _)| units::is_unit(unit)) {
            return false;
        }
        for (unit, end) in units {
            if let Some(column) = self.columns.iter_mut().find(|column| column.end == end) {
                column.unit = unit.to_vec();
            }
        }
        true
    }

    /// The cells of a row; `None` if the line has too few to be one.
    pub fn row<'t>(&'t self, line: &'t [u8]) -> Option<Row<'t>> {
        let wanted = self.columns.len();
        if self.csv {
            let cells = fields(line, self.separator);
            // Trailing cells may be missing from a line that was cut off, and then so is the name.
            return (cells.len() == wanted)
                .then(|| Row { table: self, cells: cells.into_iter().map(Cow::Owned).collect() });
        }
        let mut cells: Vec<Cow<[u8]>> = Vec::with_capacity(wanted);
        let mut rest = line.trim_ascii_start();
        let has_type = self.columns.first().is_some_and(|column| column.name == "Type");
        while cells.len() + 1 < wanted {
            let end = rest.windows(2).position(|pair| pair == b"  ").unwrap_or(rest.len());
            let (cell, after) = rest.split_at(end);
            // Only the first row of a block says what the block is.
            if has_type && cells.is_empty() && !cell.ends_with(b":") {
                cells.push(Cow::Borrowed(b""));
                continue;
            }
            cells.push(Cow::Borrowed(cell));
            rest = after.trim_ascii_start();
        }
        if rest.is_empty() {
            return None;
        }
        cells.push(Cow::Borrowed(rest.trim_ascii_end()));
        Some(Row { table: self, cells })
    }
}

/// One row.
pub struct Row<'t> {
    table: &'t Table,
    cells: Vec<Cow<'t, [u8]>>,
}

impl Row<'_> {
    fn index(&self, column: &str) -> Option<usize> {
        self.table.columns.iter().position(|known| known.name == column)
    }

    /// The cell of a column; `None` if there is no such column. Absent values are empty in CSV and `-` in text.
    pub fn get(&self, column: &str) -> Option<&[u8]> {
        let cell = self.cells.get(self.index(column)?)?;
        Some(if !self.table.csv && **cell == *b"-" { b"" } else { cell })
    }

    /// The cell of a column if it is not empty.
    pub fn value(&self, column: &str) -> Option<&[u8]> {
        self.get(column).filter(|cell| !cell.is_empty())
    }

    /// The unit of a column; empty if it has none or each cell its own.
    pub fn unit(&self, column: &str) -> &[u8] {
        self.index(column).map_or(b"", |at| &self.table.columns[at].unit)
    }

    /// The number in a column, with a decimal point.
    fn number(&self, column: &str) -> Option<Cow<'_, [u8]>> {
        let separator = if self.table.csv { self.table.separator } else { b',' };
        units::plain_number(self.value(column)?, separator)
    }

    /// The time in a column.
    pub fn nanoseconds(&self, column: &str) -> Option<i64> {
        units::nanoseconds(&self.number(column)?, self.unit(column))
    }

    /// The share of its section's time that a row of a summary has, in percent.
    pub fn share(&self) -> Option<Cow<'_, [u8]>> {
        let separator = if self.table.csv { self.table.separator } else { b',' };
        let value = self.value("Time(%)")?;
        units::plain_number(value.strip_suffix(b"%").unwrap_or(value), separator)
    }

    /// The size in a column; 0 may stand without a unit.
    pub fn bytes(&self, column: &str) -> Option<i64> {
        let value = self.number(column)?;
        units::bytes(&value, self.unit(column)).or((*value == *b"0").then_some(0))
    }

    /// The whole number in a column.
    pub fn integer(&self, column: &str) -> Option<i64> {
        std::str::from_utf8(self.value(column)?).ok()?.parse().ok()
    }
}
