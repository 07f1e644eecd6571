//! What stands where: the lines of a picture with their labels, and their places for SVG and PNG.

use super::axis;
use super::columns::Columns;
use super::rows::{Busy, Class, OnDevice, PictureRow, Rows};
use crate::analysis::labels::Labels;
use crate::analysis::launches;
use crate::analysis::stacks::thread_text;
use crate::error::Result;
use crate::numbers::counted;
use std::collections::{BTreeSet, HashMap};

/// One line of the picture.
pub struct Line {
    /// How far it is indented.
    pub depth: usize,
    /// What stands before it; control characters are spaces.
    pub label: String,
    /// What it shows; `None`: a heading.
    pub busy: Option<Busy>,
    /// Whether it sums up what follows: drawn larger, as bars.
    pub is_summary: bool,
}

/// A picture ready to be drawn.
pub struct Picture {
    /// What stands above it.
    pub title: String,
    /// The window and its length in words.
    pub subtitle: String,
    /// The columns that all lines have.
    pub columns: Columns,
    /// The moment from which times are counted, in nanoseconds.
    pub origin_ns: i64,
    /// The lines.
    pub lines: Vec<Line>,
    /// Lines that are not shown.
    pub hidden: usize,
}

impl Picture {
    /// Length of the window.
    pub fn length_ns(&self) -> u64 {
        self.columns.last_ns.abs_diff(self.columns.first_ns)
    }

    /// Share of the window that a row was busy, in per cent.
    pub fn share(&self, busy: &Busy) -> String {
        axis::percent(busy.busy_ns, self.length_ns())
    }

    /// How much of column `i` a row was busy, from 1 (some) to 8 (all), and with what.
    pub fn level(&self, busy: &Busy, i: usize) -> Option<(u8, Class)> {
        let (parts, class) = busy.cell(i)?;
        let whole = u128::from(self.columns.parts(i)).max(1);
        Some(((u128::from(parts) * 8).div_ceil(whole).clamp(1, 8) as u8, class))
    }

    /// Columns of the same level and class together: first column, number of columns, level, class.
    pub fn runs(&self, busy: &Busy) -> Vec<(usize, usize, u8, Class)> {
        let mut runs: Vec<(usize, usize, u8, Class)> = Vec::new();
        for i in 0..self.columns.count {
            let Some((level, class)) = self.level(busy, i) else { continue };
            match runs.last_mut() {
                Some(run) if run.0 + run.1 == i && (run.2, run.3) == (level, class) => run.1 += 1,
                _ => runs.push((i, 1, level, class)),
            }
        }
        runs
    }

    /// Marks of the axis with the column that each is in.
    pub fn ticks(&self, most: usize) -> Vec<(usize, String)> {
        let from_ns = self.columns.first_ns.abs_diff(self.origin_ns);
        let ticks = axis::ticks(from_ns, from_ns.saturating_add(self.length_ns()), most as u64);
        let place = |tick: axis::Tick| {
            let offset = u128::from(tick.at_ns.saturating_sub(from_ns));
            let column = offset * self.columns.count as u128 / u128::from(self.length_ns().max(1));
            (column as usize, tick.label)
        };
        ticks.into_iter().map(place).collect()
    }

    /// Classes that occur, for the legend.
    pub fn classes(&self) -> Vec<Class> {
        let rows = self.lines.iter().filter_map(|line| line.busy.as_ref());
        let found: BTreeSet<Class> = rows.flat_map(|busy| busy.by_class.keys().copied()).collect();
        Class::ALL.into_iter().filter(|class| found.contains(class)).collect()
    }

    /// What stands below, as sentences: how long a column is and how it `looks`, and what is not shown.
    pub fn notes(&self, looks: &str) -> Vec<String> {
        let column = self.length_ns() / self.columns.count as u64;
        let column = match round(column) {
            0 => "less than 1 ns".to_owned(),
            ns => format!("about {}", axis::duration(ns)),
        };
        let mut notes = vec![format!("Each column is {column}, {looks}.")];
        if self.hidden > 0 {
            let are = if self.hidden == 1 { "is" } else { "are" };
            notes.push(format!("{} with less work {are} not shown.", counted(self.hidden as u64, "row")));
        }
        notes
    }
}

/// Three digits are enough where it says "about".
fn round(ns: u64) -> u64 {
    let mut unit = 1;
    while ns / unit >= 1000 {
        unit *= 10;
    }
    ns / unit * unit
}

/// Control characters, what XML forbids, and what turns the direction of writing around, as spaces.
pub fn printable(text: &str) -> String {
    text.replace(
        |c: char| {
            c.is_control()
                || matches!(c, '\u{fffe}' | '\u{ffff}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        },
        " ",
    )
}

/// The lines for `rows`, at most about `most` of them, and how many were left out: streams and threads with the
/// least work.
pub(super) fn lines(mut rows: Rows, labels: &Labels, most: usize) -> Result<(Vec<Line>, usize)> {
    let mut droppable: Vec<(u64, (u32, PictureRow))> = rows
        .iter()
        .filter(|((_, kind), _)| {
            matches!(
                kind,
                PictureRow::Ranges(_) | PictureRow::Calls(_) | PictureRow::Device(_, OnDevice::Stream(..))
            )
        })
        .map(|(key, busy)| (busy.busy_ns, *key))
        .collect();
    droppable.sort_unstable();
    let hidden = rows.len().saturating_sub(most).min(droppable.len());
    for (_, key) in &droppable[..hidden] {
        rows.remove(key);
    }
    let names = launches::thread_names(labels.frames())?;
    let name =
        |process: u32, tid: u32| thread_text(tid, names.get(&(process, tid)).map_or("", |&id| labels.text(id)));
    // A stream id is unique within its context only.
    let mut contexts: HashMap<(u32, u32), BTreeSet<u32>> = HashMap::new();
    for (process, kind) in rows.keys() {
        if let PictureRow::Device(device, OnDevice::Stream(context, _)) = kind {
            contexts.entry((*process, *device)).or_default().insert(*context);
        }
    }
    let mut lines = Vec::new();
    let mut last = None;
    for ((process, kind), busy) in rows {
        if last != Some(process) {
            lines.push(Line { depth: 0, label: labels.process(process), busy: None, is_summary: false });
            last = Some(process);
        }
        let several_contexts = |device| contexts.get(&(process, device)).is_some_and(|all| all.len() > 1);
        let thread = |tid| name(process, tid);
        let (depth, label) = kind.label(labels, process, &thread, &several_contexts);
        let is_summary = matches!(kind, PictureRow::Device(_, OnDevice::All));
        lines.push(Line { depth, label: printable(&label), busy: Some(busy), is_summary });
    }
    Ok((lines, hidden))
}

/// A colour as red, green, blue.
pub type Rgb = [u8; 3];

/// The colours of a picture.
pub struct Theme {
    /// Behind everything.
    pub background: Rgb,
    /// Behind a row.
    pub track: Rgb,
    /// Lines of the axis.
    pub grid: Rgb,
    /// Text.
    pub text: Rgb,
    /// Text that matters less.
    pub faint: Rgb,
    class: [Rgb; Class::ALL.len()],
}

impl Theme {
    /// The colour of a class.
    pub fn class(&self, class: Class) -> Rgb {
        self.class[class as usize]
    }
}

/// Dark on light.
pub static LIGHT: Theme = Theme {
    background: [0xff, 0xff, 0xff],
    track: [0xf1, 0xf4, 0xf7],
    grid: [0xd9, 0xdf, 0xe5],
    text: [0x1b, 0x24, 0x2d],
    faint: [0x66, 0x72, 0x7e],
    class: [
        [0x1f, 0x8f, 0x5f],
        [0x0f, 0x76, 0x6e],
        [0xd9, 0x77, 0x06],
        [0xa2, 0x3f, 0xc9],
        [0x8a, 0x6d, 0x4b],
        [0x6b, 0x7a, 0x8a],
        [0xc2, 0x3b, 0x22],
        [0x2f, 0x6f, 0xd0],
        [0x0e, 0x93, 0xb0],
    ],
};

/// Light on dark.
pub static DARK: Theme = Theme {
    background: [0x10, 0x15, 0x1b],
    track: [0x1a, 0x21, 0x29],
    grid: [0x2c, 0x36, 0x41],
    text: [0xe4, 0xea, 0xf0],
    faint: [0x8d, 0x99, 0xa6],
    class: [
        [0x3c, 0xc4, 0x8a],
        [0x2b, 0xb3, 0xa6],
        [0xf2, 0xa0, 0x3d],
        [0xc9, 0x7b, 0xec],
        [0xc3, 0xa1, 0x78],
        [0x97, 0xa6, 0xb5],
        [0xef, 0x6f, 0x55],
        [0x6a, 0xa3, 0xf5],
        [0x43, 0xc6, 0xe0],
    ],
};

/// Per cent of the colour that shades have, by level; the rest is the track behind.
pub const SHADES: [u32; 9] = [0, 40, 48, 56, 64, 73, 82, 91, 100];

/// Places of everything, in units of the picture.
pub struct Geometry {
    /// All of it.
    pub width: usize,
    /// All of it.
    pub height: usize,
    /// Where the columns begin.
    pub plot_x: usize,
    /// How many units wide they are together.
    pub plot_width: usize,
    /// Top and height of each line.
    pub lines: Vec<(usize, usize)>,
    /// Top and bottom of the rows.
    pub rows: (usize, usize),
    /// Where the legend stands.
    pub legend_y: usize,
    /// Where the last line of text stands.
    pub footnote_y: usize,
}

/// Space around the picture.
pub const MARGIN: usize = 16;
/// Where the title, the subtitle and the labels of the axis stand (their base lines).
pub const TITLE_Y: usize = 28;
/// See [`TITLE_Y`].
pub const SUBTITLE_Y: usize = 46;
/// See [`TITLE_Y`].
pub const AXIS_Y: usize = 72;
/// Room for shares at the right.
const SHARE_WIDTH: usize = 62;

impl Geometry {
    /// Units that the columns of a picture of this width take.
    pub fn plot(width: usize) -> (usize, usize) {
        let label_width = (width / 4).clamp(120, 280);
        let x = MARGIN + label_width;
        (x, width.saturating_sub(x + SHARE_WIDTH + MARGIN).max(1))
    }

    /// Places for these lines.
    pub fn new(width: usize, lines: &[Line]) -> Geometry {
        let (plot_x, plot_width) = Geometry::plot(width);
        let top = AXIS_Y + 10;
        let mut y = top;
        let place = |line: &Line| {
            let is_first = y == top;
            let height = match line {
                Line { busy: None, .. } => 22,
                Line { is_summary: true, .. } => 30,
                _ => 16,
            };
            let before = match line {
                Line { busy: None, .. } if !is_first => 14,
                Line { is_summary: true, .. } => 8,
                _ => 3,
            };
            y += before;
            let at = (y, height);
            y += height;
            at
        };
        let lines: Vec<(usize, usize)> = lines.iter().map(place).collect();
        let bottom = y + 6;
        Geometry {
            width,
            height: bottom + 64,
            plot_x,
            plot_width,
            lines,
            rows: (top, bottom),
            legend_y: bottom + 24,
            footnote_y: bottom + 48,
        }
    }
}
