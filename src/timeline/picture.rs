//! Static pictures of a timeline: SVG, PNG, and text for a terminal.
//!
//! A row for every process, thread, GPU and stream, and for every kind of work of a GPU. Time is cut into columns;
//! the colour of a column says for how much of it the row was busy. What overlaps counts once. The columns of a row
//! add up to its busy time exactly ([`rows::Busy`]). One pass over the records, memory for rows × columns.

pub(crate) mod axis;
pub(crate) mod columns;
pub mod layout;
mod letters;
mod png;
pub(crate) mod rows;
mod svg;
mod text;

use crate::analysis::labels::Labels;
use crate::error::{Error, Result};
use crate::numbers::{counted, grouped};
pub use crate::render::terminal::terminal_width;
use crate::trace::frames::Frames;
use crate::trace::select::Filter;
use crate::trace::sink::Need;
use columns::Columns;
use layout::{Geometry, Picture};
use std::io::Write;

/// How a picture is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Scalable, dark where the viewer is.
    Svg,
    /// Pixels.
    Png,
    /// Characters.
    Text,
}

impl Format {
    /// Its name on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Format::Svg => "svg",
            Format::Png => "png",
            Format::Text => "text",
        }
    }
}

/// How a picture looks.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Width in pixels (SVG, PNG) or characters (text); `None`: 1200 pixels, or as wide as the terminal.
    pub width: Option<usize>,
    /// Pixels of a PNG for each unit of width, 1 to 4; `None`: 1.
    pub scale: Option<usize>,
    /// Light on dark, for PNG; an SVG follows its viewer.
    pub dark: bool,
    /// Plain ASCII, for text.
    pub ascii: bool,
    /// Colours for text: for a terminal.
    pub color: bool,
    /// What stands above; `None`: the names of the files.
    pub title: Option<String>,
    /// From when to when, as times in the trace; `None`: what the filter says, else from the first to the last record
    /// that is selected.
    pub window: Option<(i64, i64)>,
    /// Rows at most, about; `None`: 100. Streams and threads with the least work are left out.
    pub rows: Option<usize>,
}

/// How a column of pixels looks.
const STRENGTH: &str = "in a colour that is the stronger the more of that time was busy";

/// The widths that can be drawn, in pixels.
const PIXELS: std::ops::RangeInclusive<usize> = 320..=16_384;
/// The widths that can be drawn, in characters.
const CHARACTERS: std::ops::RangeInclusive<usize> = 40..=2_000;

/// What a picture needs of a trace.
pub fn need() -> Need {
    // Times and places would do for the picture, but a filter may choose calls by what they launched.
    Need { operators: true, ..Need::full(&[rows::TABLES, rows::NOT_DRAWN].concat()) }
}

/// Draws what `filter` selects.
///
/// # Errors
/// Fails if there is nothing to draw, if the width or the scale cannot be drawn, if a part of a file cannot be read, or
/// if the output cannot be written.
pub fn picture(
    frames: &Frames,
    labels: &Labels,
    filter: &Filter,
    format: Format,
    options: &Options,
    out: &mut dyn Write,
) -> Result<()> {
    let (width, range) = match format {
        Format::Text => (options.width.or_else(terminal_width).unwrap_or(100), CHARACTERS),
        Format::Svg | Format::Png => (options.width.unwrap_or(1200), PIXELS),
    };
    // A narrow terminal gets long lines rather than nothing; who asks for a width gets it or hears why not.
    let width = if options.width.is_none() { width.clamp(*range.start(), *range.end()) } else { width };
    if !range.contains(&width) {
        return Err(Error::new(format!("--width {width}: cannot be drawn")).remedy(&format!(
            "give a width from {} to {}",
            range.start(),
            range.end()
        )));
    }
    let scale = options.scale.unwrap_or(1);
    if !(1..=4).contains(&scale) {
        return Err(Error::new(format!("--scale {scale}: cannot be drawn")).remedy("give a scale from 1 to 4"));
    }
    let columns = match format {
        Format::Text => text::plot_width(width),
        Format::Svg => Geometry::plot(width).1,
        Format::Png => Geometry::plot(width).1 * scale,
    };
    let picture = make(frames, labels, filter, options, columns)?;
    match format {
        Format::Svg => svg::write(&picture, width, out),
        Format::Png => png::write(&picture, width, scale, options.dark, out),
        Format::Text => text::write(&picture, width, options, out),
    }
}

/// Reads everything that is drawn, in so many columns.
///
/// # Errors
/// Fails if there is nothing to draw, or if a part of a file cannot be read.
pub fn make(
    frames: &Frames,
    labels: &Labels,
    filter: &Filter,
    options: &Options,
    columns: usize,
) -> Result<Picture> {
    let nothing = || {
        Error::nothing("no record with a time is selected, so there is no timeline to draw")
            .remedy("gpuprof info says what the trace holds")
    };
    let all = rows::window(frames, filter)?.ok_or_else(nothing)?;
    // Times count from the start of the trace, whatever part of it is shown.
    let trace = frames.time_span()?.unwrap_or(all);
    let (from_ns, to_ns) = filter.times();
    let (first_ns, last_ns) = options.window.unwrap_or((
        from_ns.map_or(all.0, |from_ns| from_ns.max(trace.0)),
        to_ns.map_or(all.1, |to_ns| to_ns.min(all.1)),
    ));
    let columns = Columns::new(first_ns, last_ns, columns);
    let rows = rows::read(frames, filter, &columns)?;
    if rows.is_empty() {
        return Err(nothing());
    }
    let records: u64 =
        rows.iter().filter(|((_, kind), _)| kind.is_part_of_total()).map(|(_, busy)| busy.records).sum();
    let (lines, hidden) = layout::lines(rows, labels, options.rows.unwrap_or(100))?;
    let origin_ns = trace.0.min(all.0).min(first_ns);
    let mut subtitle = axis::duration(columns.last_ns.abs_diff(columns.first_ns));
    if origin_ns != first_ns {
        let from = axis::duration(first_ns.abs_diff(origin_ns));
        subtitle.push_str(&format!(" from {from} on"));
    }
    // A page has rows for more kinds of records.
    match rows::not_drawn(frames, filter, &columns)? {
        0 => subtitle.push_str(&format!(", {}", counted(records, "record"))),
        others => {
            let (drawn, all) = (grouped(records), counted(records.saturating_add(others), "record"));
            subtitle.push_str(&format!(", {drawn} of {all}"));
        }
    }
    let title = layout::printable(&options.title.clone().unwrap_or_else(|| title(frames)));
    Ok(Picture { title, subtitle, columns, origin_ns, lines, hidden })
}

/// The names of the files.
fn title(frames: &Frames) -> String {
    let names = frames.files.iter().filter_map(|file| file.path.file_name());
    let mut names: Vec<_> = names.map(|name| name.to_string_lossy()).collect();
    if names.len() > 3 {
        let more = format!("{} more", names.len() - 2);
        names.truncate(2);
        names.push(more.into());
    }
    names.join(", ")
}

/// `text` in at most `most` characters, its middle left out: names of kernels and files differ at both ends.
fn shorten(text: &str, most: usize, ellipsis: &str) -> String {
    let count = text.chars().count();
    if count <= most {
        return text.to_owned();
    }
    let kept = most.saturating_sub(ellipsis.chars().count());
    let end = kept / 3;
    let head: String = text.chars().take(kept - end).collect();
    let tail: String = text.chars().skip(count - end).collect();
    format!("{head}{ellipsis}{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_keeps_both_ends() {
        assert_eq!(shorten("abcdefghij", 10, "…"), "abcdefghij");
        assert_eq!(shorten("abcdefghijk", 7, "…"), "abcd…jk");
        assert_eq!(shorten("äöüäöüäöü", 4, "…"), "äö…ü");
        assert_eq!(shorten("abc", 1, "…"), "…");
    }
}
