//! Headers and rows of tables of `nsys stats`.

use crate::import::kineto::number::scaled;
use crate::import::lines::{fields, separator_of};
use crate::import::units;
use crate::trace::summaries::Section;
use std::borrow::Cow;

/// What a table is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableKind {
    /// Sums of durations; the section unless a column `Category` says.
    Durations(Section),
    /// Sums of sizes.
    Sizes,
    /// `cuda_gpu_trace`.
    GpuTrace,
    /// `cuda_api_trace`.
    ApiTrace,
    /// `cuda_kern_exec_trace`.
    ExecTrace,
    /// `nvtx_pushpop_trace`.
    RangeTrace,
    /// Known, but nothing is made of it.
    Other,
}

/// What parts the values of a row.
#[derive(Debug)]
enum Layout {
    /// A separator.
    Separator(u8),
    /// Columns of a width: where each begins, in characters.
    Columns(Vec<usize>),
}

/// The header of a table.
#[derive(Debug)]
pub struct Table {
    /// What its rows are.
    pub kind: TableKind,
    /// Column names without units and spaces, in lower case, and the units.
    columns: Vec<(String, Vec<u8>)>,
    layout: Layout,
}

impl Table {
    /// The table that begins with this line, if it is CSV.
    pub fn of_header(line: &[u8]) -> Option<Table> {
        let starts: [&[u8]; 10] = [
            b"Time (%)",
            b"Time(%)",
            b"\"Time",
            b"Start (",
            b"Start(",
            b"\"Start",
            b"Total (",
            b"API Start",
            b"PID,TID,DevId",
            b"Name,",
        ];
        let separator = separator_of(line);
        // Two of the beginnings hold a separator themselves.
        let begin = line.iter().take(40).map(|&byte| if byte == separator { b',' } else { byte });
        let begin: Vec<u8> = begin.collect();
        let is_start = starts.iter().any(|start| begin.starts_with(start)) || begin.starts_with(b"NVTX Range,");
        if !is_start || line.len() > 2000 {
            return None;
        }
        let columns: Vec<(String, Vec<u8>)> = fields(line, separator).iter().map(|name| split_unit(name)).collect();
        let kind = kind(&columns)?;
        Some(Table { kind, columns, layout: Layout::Separator(separator) })
    }

    /// The table that was printed as text and whose columns `rule`, a line of dashes, underlines. The unit may stand in the
    /// title alone.
    pub fn of_printed(title: &[u8], header: &[u8], rule: &[u8]) -> Option<Table> {
        let is_rule = rule.iter().all(|&byte| byte == b'-' || byte == b' ') && rule.contains(&b'-');
        if !is_rule || header.len() > 2000 {
            return None;
        }
        let begins = |at: &usize| rule[*at] == b'-' && (*at == 0 || rule[at - 1] == b' ');
        let starts: Vec<usize> = (0..rule.len()).filter(begins).collect();
        let mut columns: Vec<(String, Vec<u8>)> =
            cells(header, &starts).iter().map(|name| split_unit(name)).collect();
        let kind = kind(&columns)?;
        if kind == TableKind::Sizes {
            let (_, unit) = split_unit(title.trim_ascii_end());
            columns.iter_mut().filter(|(_, own)| own.is_empty()).for_each(|(_, own)| own.clone_from(&unit));
        }
        Some(Table { kind, columns, layout: Layout::Columns(starts) })
    }

    /// Whether it was printed as text.
    pub fn is_printed(&self) -> bool {
        matches!(self.layout, Layout::Columns(_))
    }

    /// The row that a line holds, if it has the columns of the table.
    pub fn row(&self, line: &[u8]) -> Option<Row<'_>> {
        let (cells, separator) = match &self.layout {
            Layout::Separator(separator) => (fields(line, *separator), *separator),
            Layout::Columns(starts) => (columns_of(line, starts)?, b' '),
        };
        (cells.len() == self.columns.len()).then_some(Row { table: self, cells, separator })
    }
}

/// What a table with these columns is.
fn kind(columns: &[(String, Vec<u8>)]) -> Option<TableKind> {
    let has = |name: &str| columns.iter().any(|(known, _)| known == name);
    let sums = has("totaltime") && (has("min") || has("minimum")) && (has("max") || has("maximum"));
    let counts = ["instances", "numcalls", "count", "calls", "operations"];
    let kind = if sums && counts.iter().any(|count| has(count)) {
        TableKind::Durations(if has("source") {
            Section::HostCalls
        } else if has("numcalls") || has("calls") {
            Section::Api
        } else if has("range") || has("nvtxrange") || has("style") {
            Section::Ranges
        } else {
            Section::Gpu
        })
    } else if has("total") && (has("count") && has("operation") || has("operations") && has("name")) {
        TableKind::Sizes
    } else if has("apistart") && has("kernelstart") && has("kernelname") {
        TableKind::ExecTrace
    } else if has("start") && has("duration") && (has("grdx") || has("strm")) && has("name") {
        TableKind::GpuTrace
    } else if has("start") && has("duration") && has("corrid") && has("name") {
        TableKind::ApiTrace
    } else if has("start") && has("end") && has("rangeid") && has("name") {
        TableKind::RangeTrace
    } else if (has("tavg") && has("kernelname")) || has("projectedstart") || has("nvtxinst") {
        TableKind::Other
    } else {
        return None;
    };
    Some(kind)
}

/// Where the character with this number begins.
fn byte_at(line: &[u8], character: usize) -> usize {
    let begins = |&(_, byte): &(usize, &u8)| byte & 0xC0 != 0x80;
    line.iter().enumerate().filter(begins).nth(character).map_or(line.len(), |(at, _)| at)
}

/// What stands from each of these places to the next.
fn cells(line: &[u8], starts: &[usize]) -> Vec<Vec<u8>> {
    let ends = starts.iter().skip(1).copied().chain([usize::MAX]);
    let cell =
        |(&start, end): (&usize, usize)| line[byte_at(line, start)..byte_at(line, end)].trim_ascii().to_vec();
    starts.iter().zip(ends).map(cell).collect()
}

/// The same, of a line that is blank before each column: a number wider than its column is none of the table's.
fn columns_of(line: &[u8], starts: &[usize]) -> Option<Vec<Vec<u8>>> {
    let is_apart =
        |&start: &usize| start == 0 || line.get(byte_at(line, start - 1)).is_none_or(|&byte| byte == b' ');
    starts.iter().all(is_apart).then(|| cells(line, starts))
}

/// `Total Time (ns)` is column `totaltime` in `ns`.
fn split_unit(name: &[u8]) -> (String, Vec<u8>) {
    let (name, unit) = match name.iter().position(|&byte| byte == b'(') {
        Some(open) => (&name[..open], name[open + 1..].strip_suffix(b")").unwrap_or_default()),
        None => (name, &b""[..]),
    };
    let letters = name.iter().filter(|byte| !byte.is_ascii_whitespace());
    (letters.map(|&byte| char::from(byte.to_ascii_lowercase())).collect(), unit.to_vec())
}

/// One row.
pub struct Row<'t> {
    table: &'t Table,
    cells: Vec<Vec<u8>>,
    separator: u8,
}

impl Row<'_> {
    /// The cell of a column and the column's unit; `None` if it has no value. Some versions write `None`.
    fn cell(&self, column: &str) -> Option<(&[u8], &[u8])> {
        let at = self.table.columns.iter().position(|(known, _)| known == column)?;
        let cell = self.cells.get(at)?.trim_ascii();
        (!matches!(cell, b"" | b"None" | b"-")).then(|| (cell, &self.table.columns[at].1[..]))
    }

    /// The text in a column.
    pub fn text(&self, column: &str) -> Option<&[u8]> {
        self.cell(column).map(|(cell, _)| cell)
    }

    /// The share of its table's time that a row of a summary has, in percent.
    pub fn share(&self) -> Option<Cow<'_, [u8]>> {
        let (cell, unit) = self.cell("time")?;
        if unit == b"%" { units::plain_number(cell, self.separator) } else { None }
    }

    /// The whole number in a column, which may have digit groups.
    pub fn integer(&self, column: &str) -> Option<i64> {
        let number = units::plain_number(self.text(column)?, self.separator)?;
        std::str::from_utf8(&number).ok()?.parse().ok()
    }

    /// An id.
    pub fn id<T: TryFrom<i64>>(&self, column: &str) -> Option<T> {
        T::try_from(self.integer(column)?).ok()
    }

    /// The time in a column; nanoseconds where the header says nothing.
    pub fn nanoseconds(&self, column: &str) -> Option<i64> {
        let (cell, unit) = self.cell(column)?;
        let digits = units::plain_number(cell, self.separator)?;
        let unit: &[u8] = match unit {
            b"" | b"nsec" => b"ns",
            b"usec" => b"us",
            b"msec" => b"ms",
            b"sec" => b"s",
            unit => unit,
        };
        units::nanoseconds(&digits, unit)
    }

    /// The size in a column: here a megabyte is a million bytes.
    pub fn bytes(&self, column: &str) -> Option<i64> {
        let (cell, unit) = self.cell(column)?;
        let scale = match unit {
            b"" | b"byte" | b"bytes" | b"B" => 0,
            b"KB" | b"kB" => 3,
            b"MB" => 6,
            b"GB" => 9,
            b"KiB" => return units::bytes(&units::plain_number(cell, self.separator)?, b"KB"),
            b"MiB" => return units::bytes(&units::plain_number(cell, self.separator)?, b"MB"),
            _ => return None,
        };
        scaled(&units::plain_number(cell, self.separator)?, scale)
    }

    /// Whether its name was cut to the width of the table.
    pub fn has_cut_name(&self) -> bool {
        self.table.is_printed()
            && self.cells.last().is_some_and(|name| name.ends_with("…".as_bytes()) || name.ends_with(b"..."))
    }

    /// The first of these columns that has a time.
    pub fn first_time(&self, columns: &[&str]) -> Option<u64> {
        let found = columns.iter().find_map(|column| self.nanoseconds(column))?;
        u64::try_from(found).ok()
    }
}
