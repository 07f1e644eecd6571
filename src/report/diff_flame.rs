//! The difference of two sets of runs as a flame graph: boxes as wide as the time after, red where it grew and blue where it
//! shrank. Every box says by how much, its parts together.

use crate::analysis::diff::{Diff, StackChange, Unit};
use crate::error::{Error, Result};
use crate::numbers::{items, short_time};
use crate::render::flame_graph;
use inferno::flamegraph::color::{Color, PaletteMap};
use std::collections::BTreeMap;
use std::io::Write;

/// Draws it.
///
/// # Errors
/// Fails if there is no GPU work after, and if `out` cannot be written to.
pub fn write(diff: &Diff, changes: &[StackChange], out: &mut dyn Write) -> Result<()> {
    let (drawn, gone): (Vec<&StackChange>, Vec<&StackChange>) =
        changes.iter().partition(|change| whole(change.after_ns) > 0);
    if drawn.is_empty() {
        return Err(Error::nothing("the runs after have no GPU work, so there is no flame graph to draw")
            .remedy("gpuprof info says what a trace holds"));
    }
    let boxes = boxes(changes);
    let largest_ns = boxes.values().map(|times| times.difference_ns().abs()).fold(0.0, f64::max);
    let mut palette = PaletteMap::default();
    // inferno's own frame around everything has no name.
    palette.insert("", SAME);
    let mut lines: Vec<String> = drawn
        .iter()
        .map(|change| {
            let frames = (1..=change.frames.len()).map(|depth| {
                let times = boxes.get(&change.frames[..depth]).copied().unwrap_or_default();
                let name = change.frames[depth - 1].clone();
                let is_work = depth == change.frames.len();
                let name = if is_work { flame_graph::short_name_first(name) } else { name };
                let text = flame_graph::frame(&format!("{name} [{}]", times.text()), is_work);
                palette.insert(&text, color(times.difference_ns(), largest_ns));
                text
            });
            let stack = frames.collect::<Vec<_>>().join(";");
            format!("{stack} {}", whole(change.after_ns))
        })
        .collect();
    lines.sort_unstable();
    let mut options = flame_graph::options("GPU time before and after", &subtitle(diff, &gone));
    options.palette_map = Some(&mut palette);
    flame_graph::draw(&mut options, &lines, out)
}

fn whole(ns: f64) -> u64 {
    ns.round() as u64
}

fn subtitle(diff: &Diff, gone: &[&StackChange]) -> String {
    let of = match diff.unit {
        Unit::Run => "",
        Unit::Step => " per step",
        Unit::ScaledRun(_) => " per run of equal length",
    };
    let gone_ns: f64 = gone.iter().map(|change| change.before_ns).sum();
    let left_out = match gone.len() {
        0 => String::new(),
        stacks => format!(
            "; without {} that took {} before and nothing after",
            items(stacks as u64, "stack", "stacks"),
            short_time(whole(gone_ns) as i64)
        ),
    };
    format!("GPU time after{of} by ranges, call and kernel; red: more than before, blue: less{left_out}")
}

/// What a box has, with everything above it, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Times {
    before_ns: f64,
    after_ns: f64,
}

impl Times {
    fn difference_ns(self) -> f64 {
        self.after_ns - self.before_ns
    }

    /// `+600 us, +20.0 %`, `new, +600 us` or `same`. Boxes with the same text have the same colour, so each has its amount.
    fn text(self) -> String {
        let difference_ns = self.difference_ns();
        if whole(self.before_ns) == 0 {
            return format!("new, +{}", short_time(whole(difference_ns) as i64));
        }
        if whole(difference_ns.abs()) == 0 {
            return "same".to_owned();
        }
        let sign = if difference_ns > 0.0 { '+' } else { '-' };
        let percent = difference_ns.abs() * 100.0 / self.before_ns;
        format!("{sign}{}, {sign}{percent:.1} %", short_time(whole(difference_ns.abs()) as i64))
    }
}

/// The times of every box, by the frames up to it.
fn boxes<'c>(changes: &'c [StackChange]) -> BTreeMap<&'c [String], Times> {
    let mut boxes: BTreeMap<&'c [String], Times> = BTreeMap::new();
    for change in changes {
        for depth in 1..=change.frames.len() {
            let times = boxes.entry(&change.frames[..depth]).or_default();
            times.before_ns += change.before_ns;
            times.after_ns += change.after_ns;
        }
    }
    boxes
}

/// A box that took the same time.
const SAME: Color = Color { r: 238, g: 238, b: 238 };

/// The more of the largest difference, the stronger; never so pale that it could be taken for [`SAME`].
fn color(difference_ns: f64, largest_ns: f64) -> Color {
    if whole(difference_ns.abs()) == 0 {
        return SAME;
    }
    let faded = 200 - (difference_ns.abs() / largest_ns * 130.0) as u8;
    if difference_ns > 0.0 { Color::new(255, faded, faded) } else { Color::new(faded, faded, 255) }
}
