//! A flame graph: an SVG picture that answers the mouse, drawn by inferno from the folded stacks.

use super::folded::{BY, By, lines, to_stream};
use super::{Context, Destination, Exporter, KeptTables, Shape};
use crate::analysis::stacks::{self, Frame};
use crate::error::{Error, Result};
use crate::render::flame_graph;
use inferno::flamegraph::Direction;
use inferno::flamegraph::color::{Color, PaletteMap};
use trace_format::tables;
use trace_format::vocabulary::frame_kind::PYTHON;

/// Flame graphs.
pub static FLAMEGRAPH: Exporter = Exporter {
    name: "flamegraph",
    extension: "svg",
    other_endings: &[],
    binary: false,
    doc: "GPU or CPU time as a flame graph (SVG): process, thread, NVTX ranges, API call, kernel; or functions",
    shape: Shape::Stream,
    need: stacks::need,
    options: &[
        BY,
        ("title", "what stands above the picture"),
        ("width", "width in pixels; without it the picture fills the window"),
        ("inverted", "yes: the process at the top, kernels below (an icicle)"),
        ("min-width", "leave out what is narrower than this many per cent of the picture (0.01)"),
    ],
    keeps: KeptTables::NOTHING,
    write,
};

fn write(context: &Context, destination: &mut Destination) -> Result<()> {
    let by = By::of(context)?;
    let lines = lines(context, short_name_first)?;
    context.count(lines.stacks.len() as u64);
    let total_ns: u128 = lines.stacks.values().sum();
    if total_ns == 0 {
        let what = if by == By::Cpu { "no CPU sample is selected" } else { "no GPU work with a duration" };
        let has_samples = by != By::Cpu && context.frames.rows(&tables::CPU_SAMPLE) > 0;
        let remedy = match has_samples {
            true => "the trace has CPU samples: --option by=cpu draws them",
            false => "gpuprof info says what the trace holds",
        };
        return Err(Error::nothing(format!("{what}, so there is no flame graph to draw")).remedy(remedy));
    }
    if u64::try_from(total_ns).is_err() {
        return Err(Error::new("more than 2^64 ns, which a flame graph cannot add up")
            .remedy("choose a part with --from and --to"));
    }
    let mut palette = PaletteMap::default();
    for (name, frame) in &lines.kinds {
        palette.insert(name, color(*frame, name));
    }
    // inferno's own frame around everything has no name.
    palette.insert("", Color::new(224, 228, 233));
    let mut options = flame_graph::options(&title(context), by.title());
    options.palette_map = Some(&mut palette);
    options.image_width = number(context, "width", 200..=20_000)?;
    if let Some(text) = context.options.get("min-width") {
        let percent = text.parse().ok().filter(|percent| (0.0..=100.0).contains(percent));
        options.min_width = percent.ok_or_else(|| {
            Error::new(format!("--option min-width={text}: not a percentage"))
                .remedy("give per cent, from 0 to 100")
        })?;
    }
    if context.options.flag("inverted", false)? {
        options.direction = Direction::Inverted;
    }
    let text: Vec<String> = lines.stacks.iter().map(|(stack, ns)| format!("{stack} {ns}")).collect();
    to_stream(context, destination, |stream| flame_graph::draw(&mut options, &text, stream))
}

/// Names of functions begin with what tells them apart.
fn short_name_first(frame: Frame, name: String) -> String {
    let is_function = match frame {
        Frame::Kernel(_) => true,
        Frame::Host(frame) => frame.kind != PYTHON,
        _ => false,
    };
    if is_function { flame_graph::short_name_first(name) } else { name }
}

/// A whole number among the options.
fn number(context: &Context, key: &str, range: std::ops::RangeInclusive<usize>) -> Result<Option<usize>> {
    let Some(text) = context.options.get(key) else { return Ok(None) };
    match text.parse() {
        Ok(number) if range.contains(&number) => Ok(Some(number)),
        _ => Err(Error::new(format!("--option {key}={text}: cannot be drawn")).remedy(&format!(
            "give a whole number from {} to {}",
            range.start(),
            range.end()
        ))),
    }
}

/// What the user wants above the picture, else the names of the files.
fn title(context: &Context) -> String {
    if let Some(title) = context.options.get("title") {
        return title.to_owned();
    }
    let names = context.frames.files.iter().filter_map(|file| file.path.file_name());
    let mut names: Vec<String> = names.map(|name| name.to_string_lossy().into_owned()).collect();
    if names.len() > 3 {
        let more = names.len() - 2;
        names.truncate(2);
        names.push(format!("{more} more"));
    }
    names.join(", ")
}

/// A colour that says what a frame is: grey for the program, yellow for Python, red for native code, orange for ranges,
/// blue for calls, green for kernels, violet for copies and fills. Names of one kind differ in shade.
fn color(frame: Frame, name: &str) -> Color {
    // FNV-1a: the same on every machine.
    let hash =
        name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3));
    let part = |shift: u32, range: u64| ((hash >> shift) % range) as u8;
    let (a, b) = (part(16, 40), part(32, 30));
    let (r, g, blue) = match frame {
        Frame::Process(_) | Frame::Pid(_) | Frame::Device { .. } => (190 + a / 4, 196 + a / 4, 204 + a / 4),
        Frame::Thread { .. } | Frame::Stream { .. } => (205 + a / 4, 210 + a / 4, 216 + a / 4),
        Frame::Range { .. } => (235 + b / 3, 165 + a, 85 + b),
        Frame::Call(_) => (125 + b, 170 + b, 225 + b / 2),
        Frame::UnknownLaunch | Frame::UnknownLine => (170, 170, 170),
        // Python in yellow, native code in red.
        Frame::Host(frame) if frame.kind == PYTHON => (235 + b / 3, 195 + a, 95 + b),
        Frame::Host(_) => (225 + b / 3, 125 + a, 105 + b),
        Frame::Kernel(_) => (95 + a, 180 + a, 105 + b),
        Frame::Copy(_) | Frame::Fill => (185 + b, 140 + a, 220 + b / 2),
    };
    Color::new(r, g, blue)
}
