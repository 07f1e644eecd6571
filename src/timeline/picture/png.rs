//! A timeline as pixels. Letters are those of an old terminal, 8 by 8, set by their own widths and doubled without
//! stairs.

use super::layout::{
    AXIS_Y, DARK, Geometry, LIGHT, Line, MARGIN, Picture, Rgb, SHADES, SUBTITLE_Y, TITLE_Y, Theme,
};
use super::shorten;
use crate::error::{Error, Result};
use font8x8::legacy::{BASIC_LEGACY, BLOCK_LEGACY, BOX_LEGACY, GREEK_LEGACY, HIRAGANA_LEGACY, LATIN_LEGACY};
use std::io::{self, Write};

pub(super) fn write(picture: &Picture, width: usize, scale: usize, dark: bool, out: &mut dyn Write) -> Result<()> {
    let geometry = Geometry::new(width, &picture.lines);
    let theme = if dark { &DARK } else { &LIGHT };
    let mut canvas = Canvas::new(&geometry, scale, theme);
    canvas.text(MARGIN, TITLE_Y, &canvas.fit(&picture.title, width - 2 * MARGIN, true), theme.text, true);
    canvas.text(MARGIN, SUBTITLE_Y, &picture.subtitle, theme.faint, false);
    axis(picture, &geometry, &mut canvas, theme);
    for (line, &place) in picture.lines.iter().zip(&geometry.lines) {
        row(picture, &geometry, line, place, &mut canvas, theme);
    }
    legend(picture, &geometry, &mut canvas, theme);
    canvas.encode(out).map_err(|error| match error {
        png::EncodingError::IoError(error) => Error::output(&error),
        other => Error::output(&io::Error::other(other)),
    })
}

fn axis(picture: &Picture, geometry: &Geometry, canvas: &mut Canvas, theme: &Theme) {
    let (top, bottom) = geometry.rows;
    canvas.text_until(geometry.width - MARGIN, AXIS_Y, "busy", theme.faint);
    for (column, label) in picture.ticks(geometry.plot_width / 90) {
        let x = geometry.plot_x * canvas.scale + column.min(geometry.plot_width * canvas.scale);
        canvas.fill((x, (top - 4) * canvas.scale), (1, (bottom - top + 4) * canvas.scale), theme.grid);
        let half = canvas.width_of(&label, false) / 2;
        canvas.text((x / canvas.scale).saturating_sub(half), AXIS_Y, &label, theme.faint, false);
    }
}

fn row(
    picture: &Picture,
    geometry: &Geometry,
    line: &Line,
    (y, height): (usize, usize),
    canvas: &mut Canvas,
    theme: &Theme,
) {
    let scale = canvas.scale;
    let x = MARGIN + 14 * line.depth;
    let base = y + height / 2 + 4;
    let heavy = line.is_summary || line.busy.is_none();
    let room = if line.busy.is_some() { geometry.plot_x - x - 8 } else { geometry.width - x - MARGIN };
    let label = canvas.fit(&line.label, room, heavy);
    canvas.text(x, base, &label, theme.text, heavy);
    let Some(busy) = &line.busy else { return };
    canvas.text_until(geometry.width - MARGIN, base, &picture.share(busy), theme.faint);
    let plot_x = geometry.plot_x * scale;
    canvas.fill((plot_x, y * scale), (geometry.plot_width * scale, height * scale), theme.track);
    for (column, columns, level, class) in picture.runs(busy) {
        let color = theme.class(class);
        let (tall, color) = match line.is_summary {
            true => ((height * scale * usize::from(level)).div_ceil(8), color),
            false => (height * scale, mix(theme.track, color, SHADES[usize::from(level)])),
        };
        canvas.fill((plot_x + column, (y + height) * scale - tall), (columns, tall), color);
    }
}

fn legend(picture: &Picture, geometry: &Geometry, canvas: &mut Canvas, theme: &Theme) {
    let (mut x, y, scale) = (geometry.plot_x, geometry.legend_y, canvas.scale);
    for class in picture.classes() {
        canvas.fill((x * scale, (y - 9) * scale), (10 * scale, 10 * scale), theme.class(class));
        canvas.text(x + 15, y, class.text(), theme.text, false);
        x += 34 + canvas.width_of(class.text(), false);
    }
    let note = canvas.fit(&picture.notes(super::STRENGTH).join(" "), geometry.width - 2 * MARGIN, false);
    canvas.text(MARGIN, geometry.footnote_y, &note, theme.faint, false);
}

/// So many per cent of `front` over `back`.
fn mix(back: Rgb, front: Rgb, percent: u32) -> Rgb {
    std::array::from_fn(|i| {
        ((u32::from(front[i]) * percent + u32::from(back[i]) * (100 - percent) + 50) / 100) as u8
    })
}

/// Pixels, `scale` of them for each unit.
struct Canvas {
    width: usize,
    height: usize,
    scale: usize,
    pixels: Vec<u8>,
}

/// The letters there are: the first of a block, and its letters.
const LETTERS: [(u32, &[[u8; 8]]); 6] = [
    (0x00, &BASIC_LEGACY),
    (0xa0, &LATIN_LEGACY),
    (0x390, &GREEK_LEGACY),
    (0x2500, &BOX_LEGACY),
    (0x2580, &BLOCK_LEGACY),
    (0x3040, &HIRAGANA_LEGACY),
];

/// The dots of a letter, row by row from the top; the lowest bit is the leftmost.
fn glyph(c: char) -> [u8; 8] {
    let letter = |(first, letters): &(u32, &[[u8; 8]])| {
        u32::from(c).checked_sub(*first).and_then(|i| letters.get(i as usize)).copied()
    };
    // What is not there is a hollow box.
    LETTERS.iter().find_map(letter).unwrap_or([0, 0x3e, 0x22, 0x22, 0x22, 0x3e, 0, 0])
}

/// First dot and number of dots of a letter.
fn extent(glyph: &[u8; 8]) -> (usize, usize) {
    let all = glyph.iter().fold(0, |all, row| all | row);
    match all {
        0 => (0, 3),
        _ => (all.trailing_zeros() as usize, 8 - all.leading_zeros() as usize - all.trailing_zeros() as usize),
    }
}

impl Canvas {
    fn new(geometry: &Geometry, scale: usize, theme: &Theme) -> Canvas {
        let (width, height) = (geometry.width * scale, geometry.height * scale);
        Canvas { width, height, scale, pixels: theme.background.repeat(width * height) }
    }

    /// A rectangle, in pixels; what is outside is cut off.
    fn fill(&mut self, (x, y): (usize, usize), (width, height): (usize, usize), color: Rgb) {
        let (from, to) = (x.min(self.width), (x + width).min(self.width));
        for row in y.min(self.height)..(y + height).min(self.height) {
            let start = row * self.width;
            let line = &mut self.pixels[(start + from) * 3..(start + to) * 3];
            line.chunks_exact_mut(3).for_each(|pixel| pixel.copy_from_slice(&color));
        }
    }

    /// Units that text takes.
    fn width_of(&self, text: &str, heavy: bool) -> usize {
        text.chars().map(|c| extent(&glyph(c)).1 + 1 + usize::from(heavy)).sum()
    }

    /// The text, shortened to fit into so many units.
    fn fit(&self, text: &str, room: usize, heavy: bool) -> String {
        let mut most = text.chars().count().min(room);
        loop {
            let short = shorten(text, most, "..");
            if most <= 3 || self.width_of(&short, heavy) <= room {
                return short;
            }
            most -= 1;
        }
    }

    /// Text that ends at `x`.
    fn text_until(&mut self, x: usize, base: usize, text: &str, color: Rgb) {
        let width = self.width_of(text, false);
        self.text(x.saturating_sub(width), base, text, color, false);
    }

    /// Text with its base line at `base`, in units.
    fn text(&mut self, mut x: usize, base: usize, text: &str, color: Rgb, heavy: bool) {
        // Letters are strong as they are: half a dot more is enough for a heading.
        let (scale, stroke) = (self.scale, if heavy { 1 + self.scale / 2 } else { 1 });
        for c in text.chars() {
            let glyph = glyph(c);
            let (first, width) = extent(&glyph);
            for (row, dots) in Dots::of(&glyph).scaled(scale).0.iter().enumerate() {
                let y = base.saturating_sub(7) * scale + row;
                for (column, _) in dots.iter().enumerate().filter(|(_, set)| **set) {
                    self.fill(((x * scale + column).saturating_sub(first * scale), y), (stroke, 1), color);
                }
            }
            x += width + 1 + usize::from(heavy);
        }
    }

    fn encode(&self, out: &mut dyn Write) -> std::result::Result<(), png::EncodingError> {
        let mut encoder = png::Encoder::new(out, self.width as u32, self.height as u32);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        let mut writer = encoder.write_header()?;
        writer.write_image_data(&self.pixels)?;
        writer.finish()
    }
}

/// A letter of any size.
struct Dots(Vec<Vec<bool>>);

impl Dots {
    fn of(glyph: &[u8; 8]) -> Dots {
        Dots(glyph.iter().map(|row| (0..8).map(|i| row >> i & 1 == 1).collect()).collect())
    }

    /// So many times as large: twice by Scale2x, which keeps slanted lines slanted, else by larger dots.
    fn scaled(self, scale: usize) -> Dots {
        match scale {
            2 => self.twice(),
            4 => self.twice().twice(),
            _ => {
                let wide = |row: &Vec<bool>| row.iter().flat_map(|&dot| std::iter::repeat_n(dot, scale)).collect();
                let rows = self.0.iter().flat_map(|row| std::iter::repeat_n(wide(row), scale));
                Dots(rows.collect())
            }
        }
    }

    fn twice(self) -> Dots {
        let (height, width) = (self.0.len(), self.0.first().map_or(0, Vec::len));
        let dot = |y: usize, x: usize| self.0.get(y).and_then(|row| row.get(x)).copied().unwrap_or(false);
        let mut large = vec![vec![false; width * 2]; height * 2];
        for y in 0..height {
            for x in 0..width {
                let here = dot(y, x);
                let (up, down) = (y > 0 && dot(y - 1, x), dot(y + 1, x));
                let (left, right) = (x > 0 && dot(y, x - 1), dot(y, x + 1));
                let corners = if up != down && left != right {
                    let corner = |a: bool, b: bool| if a == b { a } else { here };
                    [corner(up, left), corner(up, right), corner(down, left), corner(down, right)]
                } else {
                    [here; 4]
                };
                large[y * 2][x * 2] = corners[0];
                large[y * 2][x * 2 + 1] = corners[1];
                large[y * 2 + 1][x * 2] = corners[2];
                large[y * 2 + 1][x * 2 + 1] = corners[3];
            }
        }
        Dots(large)
    }
}
