//! The one table of which all trace listings show a part: its columns, and its cells as text and as CSV.

use std::fmt::Write as _;
use std::io;

use crate::cupti::unified::devices_of_mask;

use super::fmt::{self, RATE, SIZE, TIME, TimeUnit, Unit};
use super::{Labels, Options, device_label};

/// What stands in one cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Cell {
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
    /// Bytes of unified memory. They name their unit in text, whatever `-u` says.
    Bytes(i64),
    /// Faults of unified memory.
    Faults(i64),
    /// The instruction of a fault.
    Pc(u64),
    /// A virtual address.
    Address(u64),
}

/// A row's name; what text shows in brackets, CSV has as a column of its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Name<'a> {
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
pub(super) struct Row<'a> {
    /// By [`Column`].
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

    /// The same row with `cell` in `column`.
    pub fn with(mut self, column: Column, cell: Cell) -> Row<'a> {
        self.cells[column as usize] = cell;
        self
    }

    /// Whether it is an event of unified memory.
    pub fn is_unified(&self) -> bool {
        self.cells[Column::VirtualAddress as usize] != Cell::Empty
    }

    /// The same row with its times. A row without valid times shows none, since the start of one that lost its
    /// timestamps is as meaningless as its end.
    pub fn at(self, start_ns: i64, duration_ns: Option<i64>, origin_ns: i64) -> Row<'a> {
        match duration_ns {
            None => self,
            Some(duration) => self
                .with(Column::Start, Cell::Value(start_ns.saturating_sub(origin_ns) as f64))
                .with(Column::Duration, Cell::Value(duration as f64)),
        }
    }
}

/// The columns that any listing has, in the order in which they stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Column {
    Start,
    Duration,
    Grid,
    Block,
    Registers,
    StaticSmem,
    DynamicSmem,
    Size,
    Throughput,
    SrcMemType,
    DstMemType,
    Device,
    Context,
    Stream,
    SrcDevice,
    SrcContext,
    DstDevice,
    DstContext,
    UnifiedMemory,
    VirtualAddress,
}

/// How a column is headed.
struct Spec {
    column: Column,
    /// In text. A star refers to the notes below the table.
    title: &'static str,
    width: usize,
    /// In CSV; more than one where CSV splits the cell.
    csv: &'static [&'static str],
    scale: Option<&'static [Unit]>,
    /// The note below a text table.
    note: &'static str,
}

const fn spec(column: Column, title: &'static str, width: usize, csv: &'static [&'static str]) -> Spec {
    Spec { column, title, width, csv, scale: None, note: "" }
}

const fn scaled(scale: &'static [Unit], spec: Spec) -> Spec {
    Spec { scale: Some(scale), ..spec }
}

const fn noted(note: &'static str, spec: Spec) -> Spec {
    Spec { note, ..spec }
}

const REGISTERS_NOTE: &str = "Regs: Number of registers used per CUDA thread. This number includes registers used \
    internally by the CUDA driver and/or tools and can be more than what the compiler shows.";
const STATIC_NOTE: &str = "SSMem: Static shared memory allocated per CUDA block.";
const DYNAMIC_NOTE: &str = "DSMem: Dynamic shared memory allocated per CUDA block.";
const SRC_NOTE: &str = "SrcMemType: The type of source memory accessed by memory operation/copy";
const DST_NOTE: &str = "DstMemType: The type of destination memory accessed by memory operation/copy";

/// All columns, indexed by [`Column`].
static COLUMNS: [Spec; 20] = [
    scaled(&TIME, spec(Column::Start, "Start", 8, &["Start"])),
    scaled(&TIME, spec(Column::Duration, "Duration", 8, &["Duration"])),
    spec(Column::Grid, "Grid Size", 19, &["Grid X", "Grid Y", "Grid Z"]),
    spec(Column::Block, "Block Size", 14, &["Block X", "Block Y", "Block Z"]),
    noted(REGISTERS_NOTE, spec(Column::Registers, "Regs*", 8, &["Registers Per Thread"])),
    noted(STATIC_NOTE, scaled(&SIZE, spec(Column::StaticSmem, "SSMem*", 8, &["Static SMem"]))),
    noted(DYNAMIC_NOTE, scaled(&SIZE, spec(Column::DynamicSmem, "DSMem*", 8, &["Dynamic SMem"]))),
    scaled(&SIZE, spec(Column::Size, "Size", 8, &["Size"])),
    scaled(&RATE, spec(Column::Throughput, "Throughput", 10, &["Throughput"])),
    noted(SRC_NOTE, spec(Column::SrcMemType, "SrcMemType", 10, &["SrcMemType"])),
    noted(DST_NOTE, spec(Column::DstMemType, "DstMemType", 10, &["DstMemType"])),
    spec(Column::Device, "Device", 15, &["Device"]),
    spec(Column::Context, "Context", 8, &["Context"]),
    spec(Column::Stream, "Stream", 8, &["Stream"]),
    spec(Column::SrcDevice, "Src Dev", 15, &["Src Dev"]),
    spec(Column::SrcContext, "Src Ctx", 8, &["Src Ctx"]),
    spec(Column::DstDevice, "Dst Dev", 15, &["Dst Dev"]),
    spec(Column::DstContext, "Dst Ctx", 8, &["Dst Ctx"]),
    spec(Column::UnifiedMemory, "Unified Memory", 20, &["Unified Memory"]),
    spec(Column::VirtualAddress, "Virtual Address", 15, &["Virtual Address"]),
];

/// Which columns a listing shows, and in which units.
pub(super) struct Listing<'l> {
    columns: Vec<Column>,
    units: Vec<Option<&'static Unit>>,
    widths: [usize; COLUMNS.len()],
    labels: &'l dyn Labels,
    options: Options,
    line: String,
}

impl<'l> Listing<'l> {
    /// A listing of `columns`. `rows` are looked at only where each column has one unit, which suits its largest
    /// value.
    pub fn new<'r>(
        columns: &[Column],
        rows: impl Iterator<Item = Row<'r>>,
        labels: &'l dyn Labels,
        options: &Options,
    ) -> Listing<'l> {
        let per_column = options.csv || options.unit != TimeUnit::Auto;
        let named = !options.csv && (labels.context(0).is_some() || labels.stream(0).is_some());
        let mut units = vec![None; COLUMNS.len()];
        let mut widths = COLUMNS.each_ref().map(|spec| spec.width);
        if per_column || named {
            let mut largest = [0.0; COLUMNS.len()];
            for row in rows {
                for (column, width) in widths.iter_mut().enumerate().filter(|_| named) {
                    // A column is as wide as the longest name in it.
                    let name = place_name(labels, COLUMNS[column].column, row.cells[column]);
                    *width = (*width).max(name.map_or(0, |name| name.chars().count()));
                }
                for (max, cell) in largest.iter_mut().zip(row.cells) {
                    if let Cell::Value(value) = cell {
                        *max = f64::max(*max, value);
                    }
                }
            }
            for (i, spec) in COLUMNS.iter().enumerate().filter(|_| per_column) {
                units[i] = spec.scale.map(|scale| {
                    let is_time = matches!(spec.column, Column::Start | Column::Duration);
                    options.unit.fixed().filter(|_| is_time).unwrap_or_else(|| fmt::suited(largest[i], scale))
                });
            }
        }
        Listing { columns: columns.to_vec(), units, widths, labels, options: *options, line: String::new() }
    }

    /// Writes the header, and the row of units where there is one.
    pub fn head(&mut self, out: &mut dyn io::Write) -> io::Result<()> {
        let mut line = String::new();
        if self.options.csv {
            for spec in self.specs() {
                spec.csv.iter().for_each(|title| _ = write!(line, "\"{title}\","));
            }
            line.push_str("\"Name\",\"Correlation_ID\"\n");
            for spec in self.specs() {
                // Unified memory is in bytes whatever its size.
                let fixed = if spec.column == Column::UnifiedMemory { "B" } else { "" };
                line.push_str(self.units[spec.column as usize].map_or(fixed, |u| u.name));
                spec.csv.iter().for_each(|_| line.push(','));
            }
            line.push_str(",\n");
            return out.write_all(line.as_bytes());
        }
        self.specs().for_each(|spec| _ = write!(line, "{:>1$}  ", spec.title, self.width(spec)));
        line.push_str("Name\n");
        if self.units.iter().any(Option::is_some) {
            for spec in self.specs() {
                let name = self.units[spec.column as usize].map_or("", |u| u.name);
                let _ = write!(line, "{name:>0$}  ", self.width(spec));
            }
            line.truncate(line.trim_end().len());
            line.push('\n');
        }
        out.write_all(line.as_bytes())
    }

    /// Writes one row.
    pub fn row(&mut self, out: &mut dyn io::Write, row: &Row) -> io::Result<()> {
        let mut line = std::mem::take(&mut self.line);
        line.clear();
        if self.options.csv {
            for spec in self.specs() {
                self.push_csv(&mut line, spec, row.cells[spec.column as usize]);
                line.push(',');
            }
            let start = line.len();
            push_name(&mut line, row.name, false);
            let name = line.split_off(start);
            fmt::push_quoted(&mut line, &name);
            line.push(',');
            if let Some(correlation) = row.correlation {
                let _ = write!(line, "{correlation}");
            }
        } else {
            for spec in self.specs() {
                let start = line.len();
                self.push_text(&mut line, spec, row.cells[spec.column as usize]);
                pad_left(&mut line, start, self.width(spec));
                line.push_str("  ");
            }
            let start = line.len();
            push_name(&mut line, row.name, true);
            fmt::flatten(&mut line, start);
            pad_left(&mut line, start, 4);
        }
        line.push('\n');
        let written = out.write_all(line.as_bytes());
        self.line = line;
        written
    }

    /// Writes the notes that belong to the columns shown.
    pub fn notes(&self, out: &mut dyn io::Write) -> io::Result<()> {
        let mut notes = self.specs().map(|s| s.note).filter(|n| !n.is_empty()).peekable();
        if self.options.csv || notes.peek().is_none() {
            return Ok(());
        }
        writeln!(out)?;
        notes.try_for_each(|note| writeln!(out, "{note}"))
    }

    fn specs(&self) -> impl Iterator<Item = &'static Spec> {
        self.columns.iter().map(|&c| &COLUMNS[c as usize])
    }

    fn width(&self, spec: &Spec) -> usize {
        self.widths[spec.column as usize]
    }

    fn push_text(&self, line: &mut String, spec: &Spec, cell: Cell) {
        let _ = match cell {
            Cell::Empty => line.write_char('-'),
            Cell::Value(value) => match (self.units[spec.column as usize], spec.scale) {
                (Some(unit), _) => {
                    fmt::push_in_unit(line, value, unit, spec.width);
                    Ok(())
                }
                (None, Some(scale)) => {
                    fmt::push_cell(line, value, scale, spec.width);
                    Ok(())
                }
                (None, None) => write!(line, "{value}"),
            },
            Cell::Number(number) => write!(line, "{number}"),
            Cell::Id(id) => match place_name(self.labels, spec.column, cell) {
                Some(name) => line.write_str(&name),
                None => write!(line, "{id}"),
            },
            Cell::Triple([x, y, z]) => write!(line, "({x} {y} {z})"),
            Cell::Word(word) => line.write_str(word),
            Cell::Device(..) | Cell::Pair(..) | Cell::Fighters(..) => {
                // Cut to the column, wherever that is: `Tesla V100-SXM2`, `CPU, TITAN Xp (`.
                let label = self.device(cell);
                line.extend(label.chars().take(spec.width));
                Ok(())
            }
            Cell::Bytes(bytes) => {
                let unit = fmt::suited(bytes as f64, &SIZE);
                fmt::push_csv(line, bytes as f64, unit);
                line.write_str(unit.name)
            }
            Cell::Faults(count) => write!(line, "{count}"),
            Cell::Pc(pc) => write!(line, "PC {pc:#x}"),
            Cell::Address(address) => write!(line, "{address:#x}"),
        };
    }

    fn push_csv(&self, line: &mut String, spec: &Spec, cell: Cell) {
        let _ = match cell {
            Cell::Empty => {
                (1..spec.csv.len()).for_each(|_| line.push(','));
                Ok(())
            }
            Cell::Value(value) => {
                fmt::push_csv(line, value, self.units[spec.column as usize].unwrap_or(&TIME[0]));
                Ok(())
            }
            Cell::Bytes(bytes) => {
                fmt::push_csv(line, bytes as f64, &SIZE[0]);
                Ok(())
            }
            Cell::Number(number) => write!(line, "{number}"),
            Cell::Triple([x, y, z]) => write!(line, "{x},{y},{z}"),
            Cell::Id(id) => {
                let name = place_name(self.labels, spec.column, cell);
                fmt::push_quoted(line, &name.unwrap_or_else(|| id.to_string()));
                Ok(())
            }
            Cell::Word(word) => write!(line, "\"{word}\""),
            Cell::Device(..) | Cell::Pair(..) | Cell::Fighters(..) => {
                fmt::push_quoted(line, &self.device(cell));
                Ok(())
            }
            Cell::Faults(count) => write!(line, "\"{count}\""),
            Cell::Pc(pc) => write!(line, "\"PC {pc:#x}\""),
            Cell::Address(address) => write!(line, "\"{address:#x}\""),
        };
    }

    fn device(&self, cell: Cell) -> String {
        let one = |process, place: Option<u32>| match place {
            None => "CPU".to_owned(),
            Some(device) => device_label(self.labels, process, device),
        };
        match cell {
            Cell::Device(process, device) => device_label(self.labels, process, device),
            Cell::Pair(process, a, b) => format!("{}, {}", one(process, a), one(process, b)),
            Cell::Fighters(process, cpu, mask) => {
                let places = cpu.then_some(None).into_iter().chain(devices_of_mask(Some(mask)).map(Some));
                places.map(|place| one(process, place)).collect::<Vec<_>>().join(", ")
            }
            _ => String::new(),
        }
    }
}

/// The name that the user gave to the context or stream of a cell.
fn place_name(labels: &dyn Labels, column: Column, cell: Cell) -> Option<String> {
    let Cell::Id(id) = cell else { return None };
    let name = match column {
        Column::Context | Column::SrcContext | Column::DstContext => labels.context(id),
        Column::Stream => labels.stream(id),
        _ => None,
    }?;
    Some(name.replace(char::is_control, " "))
}

/// nvprof builds the name of a launch in a buffer of 256 bytes: longer ones lose their end, correlation id and all, and
/// a space where the cut leaves one.
const LAUNCH_BYTES: usize = 255;

/// Appends a name; `text` puts the correlation id and the kernel launched behind it.
pub(super) fn push_name(line: &mut String, name: Name, text: bool) {
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

/// Moves what `line` has from `start` on to the right edge of `width` characters.
fn pad_left(line: &mut String, start: usize, width: usize) {
    let have = line[start..].chars().count();
    if have < width {
        line.insert_str(start, &" ".repeat(width - have));
    }
}
