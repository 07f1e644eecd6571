//! A timeline as pixels.

use super::layout::{
    AXIS_Y, DARK, Geometry, LIGHT, Line, MARGIN, Picture, Rgb, SHADES, SUBTITLE_Y, TITLE_Y, Theme,
};
use super::letters::{self, Size};
use super::shorten;
use crate::error::{Error, Result};
use std::io::{self, Write};

pub(super) fn write(picture: &Picture, width: usize, scale: usize, dark: bool, out: &mut dyn Write) -> Result<()> {
    let geometry = Geometry::new(width, &picture.lines);
    let theme = if dark { &DARK } else { &LIGHT };
    let mut canvas = Canvas::new(&geometry, scale, theme);
    let title = canvas.fit(&picture.title, width - 2 * MARGIN, Size::Title, true);
    canvas.text_of((MARGIN, TITLE_Y), &title, theme.text, Size::Title, true);
    canvas.text((MARGIN, SUBTITLE_Y), &picture.subtitle, theme.faint, false);
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
        let half = letters::width(&label, Size::Text, false) / 2;
        canvas.text(((x / canvas.scale).saturating_sub(half), AXIS_Y), &label, theme.faint, false);
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
    let label = canvas.fit(&line.label, room, Size::Text, heavy);
    canvas.text((x, base), &label, theme.text, heavy);
    let Some(busy) = &line.busy else { return };
    canvas.text_until(geometry.width - MARGIN, base, &picture.share(busy), theme.faint);
    let plot_x = geometry.plot_x * scale;
    canvas.fill((plot_x, y * scale), (geometry.plot_width * scale, height * scale), theme.track);
    for (column, columns, level, class) in picture.runs(busy) {
        let color = theme.class(class);
        let (tall, color) = match line.is_summary {
            true => ((height * scale * usize::from(level)).div_ceil(8), color),
            false => (height * scale, mix(theme.track, color, SHADES[usize::from(level)], 100)),
        };
        canvas.fill((plot_x + column, (y + height) * scale - tall), (columns, tall), color);
    }
}

fn legend(picture: &Picture, geometry: &Geometry, canvas: &mut Canvas, theme: &Theme) {
    let (mut x, y, scale) = (geometry.plot_x, geometry.legend_y, canvas.scale);
    for class in picture.classes() {
        canvas.fill((x * scale, (y - 9) * scale), (10 * scale, 10 * scale), theme.class(class));
        canvas.text((x + 15, y), class.text(), theme.text, false);
        x += 34 + letters::width(class.text(), Size::Text, false);
    }
    let note =
        canvas.fit(&picture.notes(super::STRENGTH).join(" "), geometry.width - 2 * MARGIN, Size::Text, false);
    canvas.text((MARGIN, geometry.footnote_y), &note, theme.faint, false);
}

/// `part` of `whole` of `front` over `back`.
fn mix(back: Rgb, front: Rgb, part: u32, whole: u32) -> Rgb {
    std::array::from_fn(|i| {
        ((u32::from(front[i]) * part + u32::from(back[i]) * (whole - part) + whole / 2) / whole) as u8
    })
}

/// Pixels, `scale` of them for each unit.
struct Canvas {
    width: usize,
    height: usize,
    scale: usize,
    pixels: Vec<u8>,
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

    /// The text, shortened to fit into so many units.
    fn fit(&self, text: &str, room: usize, size: Size, bold: bool) -> String {
        let mut most = text.chars().count().min(room);
        loop {
            let short = shorten(text, most, "…");
            if most <= 3 || letters::width(&short, size, bold) <= room {
                return short;
            }
            most -= 1;
        }
    }

    /// Text that ends at `x`.
    fn text_until(&mut self, x: usize, base: usize, text: &str, color: Rgb) {
        let width = letters::width(text, Size::Text, false);
        self.text((x.saturating_sub(width), base), text, color, false);
    }

    /// Text that begins at a place, with its base line there, in units.
    fn text(&mut self, place: (usize, usize), text: &str, color: Rgb, bold: bool) {
        self.text_of(place, text, color, Size::Text, bold);
    }

    /// Text of any size.
    fn text_of(&mut self, (x, base): (usize, usize), text: &str, color: Rgb, size: Size, bold: bool) {
        let cover = letters::cover(text, size, bold, self.scale);
        // What is above or left of the picture is cut off.
        let (x, y) = (
            (x * self.scale) as isize - cover.before as isize,
            (base * self.scale) as isize - cover.ascent as isize,
        );
        for (i, &strength) in cover.rows.iter().enumerate().filter(|(_, strength)| **strength > 0) {
            let (x, y) = (x + (i % cover.width) as isize, y + (i / cover.width) as isize);
            let (Ok(x), Ok(y)) = (usize::try_from(x), usize::try_from(y)) else { continue };
            if x < self.width && y < self.height {
                let at = (y * self.width + x) * 3;
                let pixel = &mut self.pixels[at..at + 3];
                let mixed = mix([pixel[0], pixel[1], pixel[2]], color, u32::from(strength), 255);
                pixel.copy_from_slice(&mixed);
            }
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
