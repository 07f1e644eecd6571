//! One row of a listing: its cells and its name.

use super::columns::{COLUMNS, Column};
use std::fmt::Write as _;

/// What stands in one cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in super::super) enum Cell {
    /// Nothing: `-` in text, nothing in CSV.
    Empty,
    /// A value on the scale of its column.
    Value(f64),
    /// A plain number.
    Number(i64),
    /// A number that CSV quotes.
    Id(u32),
    /// Three sizes: `(64 1 1)` in text, three columns in CSV.
    Triple([i64; 3]),
    /// A word.
    Word(&'static str),
    /// A device of a process.
    Device(u32, u32),
    /// A pair of places in unified memory; `None` is the CPU.
    Pair(u32, Option<u32>, Option<u32>),
    /// Who fights for pages of unified memory: whether the CPU does, and a mask of devices.
    Fighters(u32, bool, u32),
    /// Faults of unified memory.
    Faults(i64),
    /// The instruction of a fault.
    Pc(u64),
    /// A virtual address.
    Address(u64),
}

/// A row's name; what text shows in brackets, CSV has as a column of its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in super::super) enum Name<'a> {
    /// Just a name.
    Plain(&'a str),
    /// A kernel: name and correlation id.
    Kernel(&'a str, u64),
    /// A call that launched a kernel: its name, the kernel's name, correlation id.
    Launch(&'a str, &'a str, u64),
    /// An NVTX range that begins or ends, or a mark: which of them, its name, its domain.
    Marker(&'static str, &'a str, &'a str),
    /// An OpenACC region: its event, `file:line`, and a kernel or variable in parentheses.
    Region(&'static str, Option<(&'a str, i64)>, Option<&'a str>),
}

/// One row.
#[derive(Clone, Debug)]
pub(in super::super) struct Row<'a> {
    /// The cells, by the number of their [`Column`].
    pub cells: [Cell; COLUMNS.len()],
    /// The last column.
    pub name: Name<'a>,
    /// CSV's `Correlation_ID`.
    pub correlation: Option<u64>,
}

impl<'a> Row<'a> {
    /// A row of nothing but a name.
    pub fn new(name: Name<'a>) -> Row<'a> {
        Row { cells: [Cell::Empty; COLUMNS.len()], name, correlation: None }
    }

    /// Puts `cell` into `column`.
    pub fn set(&mut self, column: Column, cell: Cell) -> &mut Self {
        self.cells[column as usize] = cell;
        self
    }

    /// Whether it is an event of unified memory.
    pub fn is_unified(&self) -> bool {
        self.cells[Column::VirtualAddress as usize] != Cell::Empty
    }

    /// Puts the times into a row. One without valid times shows none, since the start of one that lost its timestamps is
    /// as meaningless as its end.
    pub fn set_times(&mut self, start_ns: i64, duration_ns: Option<i64>, origin_ns: i64) -> &mut Self {
        if let Some(duration) = duration_ns {
            self.set(Column::Start, Cell::Value(start_ns.saturating_sub(origin_ns) as f64))
                .set(Column::Duration, Cell::Value(duration as f64));
        }
        self
    }
}

/// nvprof builds the name of a launch in a buffer of 256 bytes: longer ones lose their end, correlation id and all, and
/// a space where the cut leaves one.
const LAUNCH_BYTES: usize = 255;

/// Appends a name; `text` puts the correlation id and the kernel launched behind it.
pub(in super::super) fn push_name(line: &mut String, name: Name, text: bool) {
    let _ = match name {
        Name::Plain(name) => line.write_str(name),
        Name::Kernel(name, correlation) if text => write!(line, "{name} [{correlation}]"),
        Name::Kernel(name, _) => line.write_str(name),
        Name::Launch(call, kernel, correlation) if text => {
            let start = line.len();
            let written = write!(line, "{call} ({kernel} [{correlation}])");
            if line.len() > start + LAUNCH_BYTES {
                line.truncate(line.floor_char_boundary(start + LAUNCH_BYTES));
                line.truncate(line.trim_end_matches(' ').len());
            }
            written
        }
        Name::Marker(what, name, domain) => write!(line, "{what} {name} (Domain: {domain})"),
        Name::Launch(call, ..) => line.write_str(call),
        Name::Region(event, place, about) => {
            line.push_str(event);
            if let Some((file, number)) = place {
                let _ = write!(line, "@{file}:{number}");
            }
            about.map_or(Ok(()), |about| write!(line, " ({about})"))
        }
    };
}
