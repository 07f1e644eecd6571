//! The one table of which all trace listings show a part, as text and as CSV.

mod columns;
mod row;

pub(super) use columns::Column;
pub(super) use row::{Cell, Name, Row, push_name};

use super::fmt::{self, SIZE, TIME, TimeUnit, Unit};
use super::{Labels, Options, device_label};
use crate::cupti::unified::devices_of_mask;
use crate::render::digits::{push_signed, push_unsigned};
use columns::{COLUMNS, Spec};
use hashbrown::HashMap;
use std::fmt::Write as _;
use std::io;

/// Which columns a listing shows, and in which units.
pub(super) struct Listing<'l> {
    columns: Vec<Column>,
    units: Vec<Option<&'static Unit>>,
    widths: [usize; COLUMNS.len()],
    labels: &'l dyn Labels,
    options: Options,
    /// Devices by process and number, as they are called.
    devices: HashMap<(u32, u32), String>,
    line: String,
    name: String,
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
                units[i] = spec.scale.map(|scale| match spec.column {
                    Column::Start | Column::Duration => {
                        options.unit.fixed().unwrap_or_else(|| fmt::suited(largest[i], scale))
                    }
                    // Whatever its size.
                    Column::UnifiedMemory => &SIZE[0],
                    _ => fmt::suited(largest[i], scale),
                });
            }
        }
        Listing {
            columns: columns.to_vec(),
            units,
            widths,
            labels,
            options: *options,
            devices: HashMap::new(),
            line: String::new(),
            name: String::new(),
        }
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
                line.push_str(self.units[spec.column as usize].map_or("", |u| u.name));
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
        let (mut line, mut name) = (std::mem::take(&mut self.line), std::mem::take(&mut self.name));
        line.clear();
        name.clear();
        for at in 0..self.columns.len() {
            let spec = &COLUMNS[self.columns[at] as usize];
            let cell = row.cells[spec.column as usize];
            if self.options.csv {
                self.push_csv(&mut line, spec, cell);
                line.push(',');
            } else {
                let start = line.len();
                self.push_text(&mut line, spec, cell);
                pad_left(&mut line, start, self.width(spec));
                line.push_str("  ");
            }
        }
        push_name(&mut name, row.name, !self.options.csv);
        if self.options.csv {
            fmt::push_quoted(&mut line, &name);
            line.push(',');
            if let Some(correlation) = row.correlation {
                push_unsigned(&mut line, correlation);
            }
        } else {
            fmt::flatten(&mut name, 0);
            pad_left(&mut name, 0, 4);
            line.push_str(&name);
        }
        line.push('\n');
        let written = out.write_all(line.as_bytes());
        (self.line, self.name) = (line, name);
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

    fn push_text(&mut self, line: &mut String, spec: &Spec, cell: Cell) {
        match cell {
            Cell::Empty => line.push('-'),
            Cell::Value(value) => match (self.units[spec.column as usize], spec.scale) {
                (Some(unit), _) => fmt::push_in_unit(line, value, unit, spec.width),
                (None, Some(scale)) => fmt::push_cell(line, value, scale, spec.width),
                (None, None) => _ = write!(line, "{value}"),
            },
            Cell::Number(number) | Cell::Faults(number) => push_signed(line, number),
            Cell::Id(id) => match place_name(self.labels, spec.column, cell) {
                Some(name) => line.push_str(&name),
                None => push_unsigned(line, id.into()),
            },
            Cell::Triple([x, y, z]) => {
                line.push('(');
                push_signed(line, x);
                line.push(' ');
                push_signed(line, y);
                line.push(' ');
                push_signed(line, z);
                line.push(')');
            }
            Cell::Word(word) => line.push_str(word),
            // Cut to the column, wherever that is: `Tesla V100-SXM2`, `CPU, TITAN Xp (`.
            Cell::Device(process, device) => line.extend(self.device(process, device).chars().take(spec.width)),
            Cell::Pair(..) | Cell::Fighters(..) => line.extend(self.devices(cell).chars().take(spec.width)),
            Cell::Pc(pc) => _ = write!(line, "PC {pc:#x}"),
            Cell::Address(address) => _ = write!(line, "{address:#x}"),
        }
    }

    fn push_csv(&mut self, line: &mut String, spec: &Spec, cell: Cell) {
        match cell {
            Cell::Empty => (1..spec.csv.len()).for_each(|_| line.push(',')),
            Cell::Value(value) => {
                fmt::push_csv(line, value, self.units[spec.column as usize].unwrap_or(&TIME[0]));
            }
            Cell::Number(number) => push_signed(line, number),
            Cell::Triple([x, y, z]) => {
                push_signed(line, x);
                line.push(',');
                push_signed(line, y);
                line.push(',');
                push_signed(line, z);
            }
            Cell::Id(id) => match place_name(self.labels, spec.column, cell) {
                Some(name) => fmt::push_quoted(line, &name),
                None => _ = write!(line, "\"{id}\""),
            },
            Cell::Word(word) => _ = write!(line, "\"{word}\""),
            Cell::Device(process, device) => fmt::push_quoted(line, self.device(process, device)),
            Cell::Pair(..) | Cell::Fighters(..) => fmt::push_quoted(line, &self.devices(cell)),
            Cell::Faults(count) => _ = write!(line, "\"{count}\""),
            Cell::Pc(pc) => _ = write!(line, "\"PC {pc:#x}\""),
            Cell::Address(address) => _ = write!(line, "\"{address:#x}\""),
        }
    }

    /// What a device is called; put together once.
    fn device(&mut self, process: u32, device: u32) -> &str {
        let labels = self.labels;
        self.devices.entry((process, device)).or_insert_with(|| device_label(labels, process, device))
    }

    /// Several devices, or the CPU and a device.
    fn devices(&self, cell: Cell) -> String {
        let one = |process, place: Option<u32>| match place {
            None => "CPU".to_owned(),
            Some(device) => device_label(self.labels, process, device),
        };
        match cell {
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

/// Moves what `line` has from `start` on to the right edge of `width` characters.
fn pad_left(line: &mut String, start: usize, width: usize) {
    const SPACES: &str = "                                ";
    let text = &line[start..];
    let mut missing = width.saturating_sub(if text.is_ascii() { text.len() } else { text.chars().count() });
    while missing > 0 {
        let step = missing.min(SPACES.len());
        line.insert_str(start, &SPACES[..step]);
        missing -= step;
    }
}
