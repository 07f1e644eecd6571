//! `gpuprof timeline`: what happened when, as a page for a browser.

use super::endings;
use super::progress::Progress;
use super::row_arguments::RowArguments;
use super::written;
use crate::analysis::labels::Labels;
use crate::demangle::Demangling;
use crate::error::{Error, Result};
use crate::export::Shape;
use crate::export::destination::{Pending, Replace, Request};
use crate::numbers::counted;
use crate::render::color;
use crate::render::terminal_text;
use crate::timeline::picture;
use crate::timeline::serve::Server;
use crate::timeline::{Timeline, need};
use std::io::{self, IsTerminal as _, Write};
use std::path::{Path, PathBuf};

/// The beginning of the long help.
pub(super) const ABOUT: &str = "Show what happened when, as one HTML page that needs no network, from a local server, as a picture, or as text in the terminal.";

/// Arguments of `timeline`.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  gpuprof timeline run.gpuprof\n  gpuprof timeline trace.sqlite -o page.html --from 1.5s --to 2s\n  gpuprof timeline --serve huge.gpuprof\n  gpuprof timeline run.gpuprof --format text"
)]
pub struct Args {
    /// Trace files, folders or globs [default: the newest trace here]
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Write the page here, in place of a file of that name; - for the standard output [default: NAME.html, here]
    #[arg(short, long, value_name = "FILE", conflicts_with = "serve")]
    output: Option<PathBuf>,
    /// What is written: html (a page), svg or png (a picture), text (for the terminal) [default: what the name of the
    /// output ends in, else html]
    #[arg(long, value_name = "FORMAT", conflicts_with = "serve")]
    format: Option<Format>,
    /// Show it at a local address instead, piece by piece, until Ctrl+C: for traces that are too large for one page
    #[arg(long)]
    serve: bool,
    /// Port of that address; 0: any that is free
    #[arg(long, value_name = "PORT", default_value_t = 0, requires = "serve", hide_short_help = true)]
    port: u16,
    /// Kernel names: on (correct), nvprof (as nvprof printed them, bugs included) or off (as stored)
    #[arg(long, value_name = "HOW", default_value = "on", hide_short_help = true)]
    demangling: Demangling,
    /// No progress and no closing line
    #[arg(short, long, hide_short_help = true)]
    quiet: bool,
    #[command(flatten)]
    picture: PictureArgs,
    #[command(flatten)]
    row_arguments: RowArguments,
}

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    Html,
    Svg,
    Png,
    Text,
}

/// How a picture looks.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Pictures")]
struct PictureArgs {
    /// Width in pixels, or in characters of text [default: 1200, or the terminal's]
    #[arg(long, value_name = "N", hide_short_help = true)]
    width: Option<usize>,
    /// Pixels of a PNG for each unit of width, 1 to 4
    #[arg(long, value_name = "N", hide_short_help = true)]
    scale: Option<usize>,
    /// Light on dark, for PNG; an SVG follows its viewer
    #[arg(long, hide_short_help = true)]
    dark: bool,
    /// Plain ASCII, for text
    #[arg(long, hide_short_help = true)]
    ascii: bool,
    /// Rows at most, about [default: 100]
    #[arg(long, value_name = "N", hide_short_help = true)]
    rows: Option<usize>,
}

/// Runs `timeline`.
///
/// # Errors
/// Fails if a path holds no trace, if there is nothing to show, if the page would be too large, if the output cannot be
/// written, or if no format has the ending of its name.
pub fn run(args: &Args) -> Result<()> {
    let paths = args.row_arguments.paths(&args.paths)?;
    let format = match (args.format, args.output.as_deref()) {
        (Some(format), _) => format,
        (None, Some(output)) => endings::format(output, ENDINGS, Format::Html, &paths)?,
        (None, None) => Format::Html,
    };
    if let Some(format) = format.picture() {
        return draw(args, &paths, format);
    }
    // A port that is taken is better known before minutes of reading.
    let server = if args.serve { Some(Server::bind(args.port)?) } else { None };
    let progress = Progress::new(args.quiet, "reading");
    let several = paths.len() > 1 || paths.iter().any(|path| !path.is_file());
    let mut frames = args.row_arguments.open(&paths, &need(several))?;
    args.row_arguments.align(&mut frames, true)?;
    let labels = Labels::new(&frames, args.demangling);
    let filter = args.row_arguments.filter(args.row_arguments.selection()?, &labels)?;
    let timeline = Timeline::build(&labels, &filter)?;
    let sources = args.row_arguments.sources(&frames);
    // The timeline has columns of its own; what it was made from may be several times as large.
    drop((filter, labels));
    drop(frames);
    progress.finish();
    for note in &timeline.notes {
        // A closed stderr must not cost the page.
        let _ = writeln!(io::stderr(), "gpuprof: {note}");
    }
    let say = |text: String| {
        let mut out = io::stdout().lock();
        writeln!(out, "{text}").and_then(|()| out.flush()).map_err(|e| Error::output(&e))
    };
    let records = timeline.model.records();
    if let Some(server) = server {
        say(format!("{} at {} until Ctrl+C", counted(records, "record"), server.url()))?;
        return server.run(&timeline);
    }
    let page = timeline.page()?;
    let output = args.output.clone().unwrap_or_else(|| default_output(args.row_arguments.first(&paths), "html"));
    let (pending, mut destination) = Pending::open(&request(&output, false, &sources))?;
    destination.stream()?.write_all(page.as_bytes()).map_err(|e| Error::output(&e))?;
    let size = pending.finish(destination)?;
    if args.quiet || output == Path::new("-") {
        return Ok(());
    }
    written::say(&output, Some(records), size, "html; open it in a browser");
    Ok(())
}

/// Endings of file names that say what is to be written.
const ENDINGS: &[(&str, Format)] = &[
    ("html", Format::Html),
    ("htm", Format::Html),
    ("svg", Format::Svg),
    ("png", Format::Png),
    ("txt", Format::Text),
];

impl Format {
    fn picture(self) -> Option<picture::Format> {
        match self {
            Format::Html => None,
            Format::Svg => Some(picture::Format::Svg),
            Format::Png => Some(picture::Format::Png),
            Format::Text => Some(picture::Format::Text),
        }
    }
}

/// Writes a picture; text goes to the standard output unless it is told otherwise.
fn draw(args: &Args, paths: &[PathBuf], format: picture::Format) -> Result<()> {
    let progress = Progress::new(args.quiet, "reading");
    let mut frames = args.row_arguments.open(paths, &picture::need())?;
    args.row_arguments.align(&mut frames, true)?;
    let labels = Labels::new(&frames, args.demangling);
    let filter = args.row_arguments.filter(args.row_arguments.selection()?, &labels)?;
    let output = args.output.clone().unwrap_or_else(|| match format {
        picture::Format::Text => PathBuf::from("-"),
        picture::Format::Svg => default_output(args.row_arguments.first(paths), "svg"),
        picture::Format::Png => default_output(args.row_arguments.first(paths), "png"),
    });
    let on_terminal = output == Path::new("-") && io::stdout().is_terminal();
    let options = picture::Options {
        width: args.picture.width,
        scale: args.picture.scale,
        dark: args.picture.dark,
        ascii: args.picture.ascii || (output == Path::new("-") && terminal_text::ascii_only()),
        color: output == Path::new("-") && color::is_wanted(on_terminal),
        rows: args.picture.rows,
        ..picture::Options::default()
    };
    let is_binary = format == picture::Format::Png;
    let sources = args.row_arguments.sources(&frames);
    let (pending, mut destination) = Pending::open(&request(&output, is_binary, &sources))?;
    picture::picture(&frames, &labels, &filter, format, &options, destination.stream()?)?;
    let size = pending.finish(destination)?;
    progress.finish();
    super::report::say(&frames.all_notes());
    if !args.quiet && output != Path::new("-") {
        written::say(&output, None, size, format.word());
    }
    Ok(())
}

/// What is to be written: one stream, in place of an earlier one.
fn request<'a>(path: &'a Path, binary: bool, sources: &'a [PathBuf]) -> Request<'a> {
    Request { path, shape: Shape::Stream, binary, replace: Replace::Files, sources }
}

/// The name of the trace, here.
fn default_output(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.file_name().map_or_else(|| "timeline".into(), std::ffi::OsStr::to_os_string);
    name.push(format!(".{ending}"));
    PathBuf::from(name)
}
