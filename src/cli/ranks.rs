//! `gpuprof ranks`: the ranks of one distributed run side by side.

use super::progress::Progress;
use super::report::{row_count, say};
use super::row_arguments::RowArguments;
use super::screen::{ScreenArgs, written};
use crate::analysis::labels::Labels;
use crate::analysis::partial;
use crate::analysis::ranks::Ranks;
use crate::demangle::Demangling;
use crate::error::{Error, Result};
use crate::launch::supervise::Ended;
use crate::render::table::Format;
use crate::report::ranks::{Rows, Shown};
use crate::trace::sink::Need;
use std::io::Write as _;
use std::path::PathBuf;
use trace_format::tables;

/// The exit status when ranks cannot be held against each other.
const NOT_COMPARABLE: i32 = 4;

/// Rows shown unless more are asked for.
const ROWS: usize = 64;

/// The beginning of the long help.
pub(super) const ABOUT: &str = "Hold the ranks of one distributed run against each other: who makes the others wait, and why.

The clocks of the ranks are put on one time by the ends of collectives. Waits are told from transfers, and ranks that are late again \
and again are named with the cause.";

/// Arguments of `ranks`.
#[derive(clap::Args, Debug)]
#[command(after_help = "The exit status is 4 if the traces are of one rank only, or have a rank twice.

Examples:
  gpuprof ranks run/
  gpuprof ranks rank*.json.gz --range 'ProfilerStep*'
  gpuprof ranks run/ --rows collectives --top 20
  gpuprof ranks run/ --format json")]
pub struct Args {
    /// The traces of one run: a folder, or each of them. Without it, the newest run here
    #[arg(value_name = "RUN")]
    run: Vec<PathBuf>,

    /// What makes a row
    #[arg(long, value_name = "WHAT", default_value = "ranks")]
    rows: Rows,

    /// How the answer is written
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,

    /// Show only the first N rows; without it 64 in text and Markdown, and all in formats for programs
    #[arg(long, value_name = "N", value_parser = row_count, conflicts_with = "all")]
    top: Option<usize>,

    /// Show all rows
    #[arg(long)]
    all: bool,

    /// No progress bar
    #[arg(short, long)]
    quiet: bool,

    #[command(flatten)]
    screen: ScreenArgs,

    #[command(flatten)]
    choice: RowArguments,
}

/// Runs `ranks`.
///
/// # Errors
/// Fails if a path holds no trace, or if the output cannot be written.
pub fn run(args: &Args) -> Result<Ended> {
    let progress = Progress::new(args.quiet, "reading");
    let paths = args.choice.paths(&args.run)?;
    let mut need = Ranks::need();
    if !args.choice.is_everything() {
        // Calls and ranges say which work is chosen.
        need.add(&Need { operators: true, ..Need::full(&[&tables::API, &tables::RANGE]) });
    }
    let mut frames = args.choice.open(&paths, &need)?;
    args.choice.align(&mut frames, false)?;
    let labels = Labels::new(&frames, Demangling::On);
    let filter = args.choice.filter(args.choice.selection()?, &labels)?;
    let ranks = Ranks::of(&labels, &filter)?;
    if ranks.rows.is_empty() {
        let places: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
        return Err(Error::nothing(format!(
            "{}: no kernel was recorded, so there are no ranks",
            places.join(", ")
        ))
        .remedy("name the traces of a distributed run, or its folder; `gpuprof info` says what is in them"));
    }
    let mut notes = frames.all_notes();
    notes.extend(partial::notes(&frames, &filter, &need)?);
    progress.finish();
    say(&notes);
    let notes: Vec<String> = notes.into_iter().map(|note| note.text).collect();
    // Programs get all rows.
    let is_for_people = matches!(args.format, Format::Table | Format::Markdown);
    let top = match (args.all, args.top) {
        (true, _) => None,
        (false, None) if !is_for_people => None,
        (false, top) => Some(top.unwrap_or(ROWS)),
    };
    let shown = Shown { ranks: &ranks, rows: args.rows, top, notes: &notes };
    let for_people = args.format == Format::Table;
    let mut out = args.screen.text(for_people).lines(args.screen.open(for_people));
    written(shown.write(&mut out, args.format).and_then(|()| out.flush()))?;
    Ok(Ended::Exited(if ranks.obstacle.is_some() { NOT_COMPARABLE } else { 0 }))
}
