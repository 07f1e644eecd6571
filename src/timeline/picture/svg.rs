//! A timeline as SVG: one path for each row, class and shade.

use super::layout::{
    AXIS_Y, DARK, Geometry, LIGHT, Line, MARGIN, Picture, Rgb, SHADES, SUBTITLE_Y, TITLE_Y, Theme,
};
use super::rows::{Busy, Class};
use super::shorten;
use crate::error::{Error, Result};
use crate::numbers::counted;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write;

/// Width of a character, about, of the fonts below at 12 pixels, in tenths.
const CHARACTER_TENTHS: usize = 68;

pub(super) fn write(picture: &Picture, width: usize, out: &mut dyn Write) -> Result<()> {
    let geometry = Geometry::new(width, &picture.lines);
    let mut svg = String::new();
    head(picture, &geometry, &mut svg);
    axis(picture, &geometry, &mut svg);
    for (line, &place) in picture.lines.iter().zip(&geometry.lines) {
        row(picture, &geometry, line, place, &mut svg);
    }
    legend(picture, &geometry, &mut svg);
    svg.push_str("</svg>\n");
    out.write_all(svg.as_bytes()).map_err(|e| Error::output(&e))
}

/// Text as XML has it. Control characters are gone already.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn hex([r, g, b]: Rgb) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

/// The name of a class in the style sheet.
fn style(class: Class) -> String {
    format!("c{}", class as usize)
}

fn rules(theme: &Theme) -> String {
    let mut rules = format!(
        ".bg{{fill:{}}}.tr{{fill:{}}}.gr{{stroke:{}}}text{{fill:{}}}.ft{{fill:{}}}",
        hex(theme.background),
        hex(theme.track),
        hex(theme.grid),
        hex(theme.text),
        hex(theme.faint)
    );
    for class in Class::ALL {
        let _ = write!(rules, ".{}{{fill:{}}}", style(class), hex(theme.class(class)));
    }
    rules
}

fn head(picture: &Picture, geometry: &Geometry, svg: &mut String) {
    let Geometry { width, height, .. } = geometry;
    let title = escape(&picture.title);
    let _ = write!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" role=\"img\">\n<title>{title}</title>\n<style>\n\
         text{{font:12px system-ui,-apple-system,\"Segoe UI\",\"Helvetica Neue\",\"DejaVu Sans\",sans-serif}}\
         .h{{font-weight:600}}.t{{font-size:16px;font-weight:600}}.s{{font-size:11px}}\
         .e{{text-anchor:end}}.m{{text-anchor:middle}}path{{shape-rendering:crispEdges}}"
    );
    for (level, shade) in SHADES.iter().enumerate().skip(1) {
        let _ = write!(svg, ".l{level}{{fill-opacity:{}}}", f64::from(*shade) / 100.0);
    }
    let _ = write!(
        svg,
        "\n{}\n@media (prefers-color-scheme:dark){{{}}}\n</style>\n\
         <rect class=\"bg\" width=\"{width}\" height=\"{height}\"/>\n",
        rules(&LIGHT),
        rules(&DARK)
    );
    let shown = escape(&shorten(&picture.title, width / 10, "…"));
    let _ = write!(
        svg,
        "<text class=\"t\" x=\"{MARGIN}\" y=\"{TITLE_Y}\">{shown}</text>\n\
         <text class=\"ft\" x=\"{MARGIN}\" y=\"{SUBTITLE_Y}\">{}</text>\n",
        escape(&picture.subtitle)
    );
}

fn axis(picture: &Picture, geometry: &Geometry, svg: &mut String) {
    let (top, bottom) = geometry.rows;
    let right = geometry.width - MARGIN;
    let _ = writeln!(svg, "<text class=\"ft s e\" x=\"{right}\" y=\"{AXIS_Y}\">busy</text>");
    for (column, label) in picture.ticks(geometry.plot_width / 90) {
        let x = geometry.plot_x + column.min(geometry.plot_width);
        let label = escape(&label);
        let _ = writeln!(
            svg,
            "<path class=\"gr\" d=\"M{x}.5 {}V{bottom}\"/><text class=\"ft s m\" x=\"{x}\" y=\"{AXIS_Y}\">{label}</text>",
            top - 4
        );
    }
}

fn row(picture: &Picture, geometry: &Geometry, line: &Line, (y, height): (usize, usize), svg: &mut String) {
    let x = MARGIN + 14 * line.depth;
    let room = (geometry.plot_x - x - 8) * 10 / CHARACTER_TENTHS;
    let base = y + height / 2 + 4;
    let Some(busy) = &line.busy else {
        let label = escape(&shorten(&line.label, geometry.width / 8, "…"));
        let _ = writeln!(svg, "<text class=\"h\" x=\"{x}\" y=\"{base}\">{label}</text>");
        return;
    };
    // It may begin with "<".
    let share = escape(&picture.share(busy));
    let full = escape(&line.label);
    let label = escape(&shorten(&line.label, room, "…"));
    let heavy = if line.is_summary { " class=\"h\"" } else { "" };
    let (plot_x, right) = (geometry.plot_x, geometry.width - MARGIN);
    let _ = writeln!(
        svg,
        "<g><title>{full}: busy for {} ({share}), {}</title>\n\
         <text{heavy} x=\"{x}\" y=\"{base}\">{label}</text>\
         <text class=\"ft s e\" x=\"{right}\" y=\"{base}\">{share}</text>\n\
         <rect class=\"tr\" x=\"{plot_x}\" y=\"{y}\" width=\"{}\" height=\"{height}\"/>",
        super::axis::duration(busy.busy_ns),
        counted(busy.records, "record"),
        geometry.plot_width
    );
    for ((class, level), path) in paths(picture, busy, line.is_summary, (plot_x, y, height)) {
        let shade = if line.is_summary { String::new() } else { format!(" l{level}") };
        let _ = writeln!(svg, "<path class=\"{}{shade}\" d=\"{path}\"/>", style(class));
    }
    svg.push_str("</g>\n");
}

/// The rectangles of a row by class and level. Of a summary the level is their height, and they share one path.
fn paths(
    picture: &Picture,
    busy: &Busy,
    is_summary: bool,
    (x, y, height): (usize, usize, usize),
) -> BTreeMap<(Class, u8), String> {
    let mut paths: BTreeMap<(Class, u8), String> = BTreeMap::new();
    for (column, columns, level, class) in picture.runs(busy) {
        let (shade, tall) =
            if is_summary { (8, (height * usize::from(level)).div_ceil(8)) } else { (level, height) };
        let path = paths.entry((class, shade)).or_default();
        let _ = write!(path, "M{} {}h{columns}v{tall}h-{columns}z", x + column, y + height - tall);
    }
    paths
}

fn legend(picture: &Picture, geometry: &Geometry, svg: &mut String) {
    let (mut x, y) = (geometry.plot_x, geometry.legend_y);
    for class in picture.classes() {
        let text = class.text();
        let _ = writeln!(
            svg,
            "<rect class=\"{}\" x=\"{x}\" y=\"{}\" width=\"10\" height=\"10\" rx=\"2\"/>\
             <text class=\"s\" x=\"{}\" y=\"{y}\">{text}</text>",
            style(class),
            y - 9,
            x + 15
        );
        x += 34 + text.len() * 62 / 10;
    }
    let _ = writeln!(
        svg,
        "<text class=\"ft s\" x=\"{MARGIN}\" y=\"{}\">{}</text>",
        geometry.footnote_y,
        escape(&picture.notes(super::STRENGTH).join(" "))
    );
}
