//! `gpuprof diff`: two sets of runs compared.

use super::baseline;
use super::progress::Progress;
use super::report::{row_count, say};
use super::row_arguments::RowArguments;
use super::screen::{self, ScreenArgs};
use super::stdin::Paths;
use super::written;
use crate::analysis::diff::{By, Diff, Gate, Options, Run, RunOptions, stack_changes};
use crate::analysis::labels::Labels;
use crate::analysis::partial;
use crate::demangle::Demangling;
use crate::error::{Error, Result};
use crate::export::Shape;
use crate::export::destination::{Pending, Replace, Request};
use crate::launch::supervise::Ended;
use crate::render::table::Format;
use crate::report::diff::Shown;
use crate::report::diff_flame;
use crate::trace::select::name_pattern;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// The exit status when a limit of `--fail-if` is broken.
const BROKEN: i32 = 3;

/// The exit status when runs cannot be compared.
const NOT_COMPARABLE: i32 = 4;

/// The beginning of the long help.
pub(super) const ABOUT: &str = "Compare runs: what became faster or slower, by how much, and whether that is more than noise.

Kernels that were renamed are matched, and runs of different lengths are compared per step. Several runs of each side tell differences from \
noise; --fail-if sets the exit status for continuous integration.";

/// Arguments of `diff`.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "The exit status is 3 if a limit of --fail-if is broken, and 4 if the runs cannot be compared.

Examples:
  gpuprof diff old.gpuprof new.gpuprof
  gpuprof diff --before old-*.gpuprof --after new-*.gpuprof --by base-name
  gpuprof diff --baseline main new-*.gpuprof --fail-if 'total>+3%'
  gpuprof diff old.json.gz new.json.gz --range 'ProfilerStep*' --format markdown"
)]
pub struct Args {
    /// The run before and the run after: a trace each, or a folder with the traces of one run. With --baseline: the runs after
    #[arg(value_name = "RUN")]
    runs: Vec<PathBuf>,

    /// Several runs before. The more there are of each, the smaller the differences that can be told from noise
    #[arg(long, value_name = "RUN", num_args = 1.., requires = "after", conflicts_with_all = ["runs", "baseline"])]
    before: Vec<PathBuf>,

    /// Several runs after
    #[arg(long, value_name = "RUN", num_args = 1.., conflicts_with = "runs")]
    after: Vec<PathBuf>,

    /// Compare with the runs that `gpuprof baseline save` has kept under this name
    #[arg(long, value_name = "NAME")]
    baseline: Option<String>,

    #[command(flatten)]
    store: baseline::StoreArgs,

    /// What makes a row
    #[arg(long, value_name = "WHAT", default_value = "kernel")]
    by: By,

    /// The name of the ranges that are steps, in which * stands for anything: runs with different numbers of steps are compared per
    /// step. Without it: ranges called step, iteration, ProfilerStep and the like
    #[arg(long, value_name = "NAME", conflicts_with = "baseline")]
    steps: Option<String>,

    /// Compare although the GPUs are not the same
    #[arg(long)]
    across_gpus: bool,

    /// Fail if this comes true and is more than noise: total, span (from the first to the last GPU work) or row, > or <, and a change
    /// in percent. May be given several times
    #[arg(long, value_name = "LIMIT")]
    fail_if: Vec<Gate>,

    /// How the answer is written
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,

    /// Also draw the difference as a flame graph into this SVG file: GPU time by ranges, call and kernel, as wide as it is after, red
    /// where it grew and blue where it shrank. - writes it to the standard output, without the table
    #[arg(long, value_name = "FILE", conflicts_with = "baseline")]
    flame_graph: Option<PathBuf>,

    /// Show only the N largest differences; 20 unless all are asked for
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
    rows: RowArguments,
}

/// Rows shown unless more are asked for.
const ROWS: usize = 20;

/// Runs `diff`.
///
/// # Errors
/// Fails if arguments contradict each other, if a path holds no trace, or if the output cannot be written.
pub fn run(args: &Args) -> Result<Ended> {
    let progress = Progress::new(args.quiet, "reading");
    let (before, after) = sides(args)?;
    let diff = Diff::of(&before, &after, &Options { by: args.by, across_gpus: args.across_gpus });
    let failures: Vec<String> = match diff.obstacle {
        None => args.fail_if.iter().flat_map(|gate| gate.failures(&diff)).collect(),
        Some(_) => Vec::new(),
    };
    progress.finish();
    if let (Some(output), None) = (&args.flame_graph, &diff.obstacle) {
        flame_graph(args, output, &diff, [&before, &after])?;
    }
    let is_on_stdout = args.flame_graph.as_deref() == Some(Path::new("-"));
    let top = if args.all { None } else { Some(args.top.unwrap_or(ROWS)) };
    let what = args.by.what();
    let shown = Shown { diff: &diff, sides: [&before, &after], what, top, failures: &failures };
    let for_people = args.format == Format::Table;
    let mut out = args.screen.text(for_people).lines(args.screen.open(for_people));
    // Two answers in one stream would be of no use to anyone.
    if !is_on_stdout || diff.obstacle.is_some() {
        screen::written(shown.write(&mut out, args.format).and_then(|()| out.flush()))?;
    }
    Ok(Ended::Exited(match diff.obstacle {
        Some(_) => NOT_COMPARABLE,
        None if failures.is_empty() => 0,
        None => BROKEN,
    }))
}

/// Draws the difference into a file.
fn flame_graph(args: &Args, output: &Path, diff: &Diff, [before, after]: [&[Run]; 2]) -> Result<()> {
    let sources = [&args.runs[..], &args.before, &args.after].concat();
    let request =
        Request { path: output, shape: Shape::Stream, binary: false, replace: Replace::Files, sources: &sources };
    let (pending, mut destination) = Pending::open(&request)?;
    diff_flame::write(diff, &stack_changes(before, after, diff.unit), destination.stream()?)?;
    let size = pending.finish(destination)?;
    if !args.quiet && output != Path::new("-") {
        written::say(output, None, size, "svg");
    }
    Ok(())
}

/// The runs of both sides.
fn sides(args: &Args) -> Result<(Vec<Run>, Vec<Run>)> {
    let options = RunOptions { stacks: args.flame_graph.is_some(), ..run_options(args.steps.as_deref())? };
    let read = |paths: &[PathBuf], options: &RunOptions| -> Result<Vec<Run>> {
        paths.iter().map(|path| read_run(path, &args.rows, &[args.by], options)).collect()
    };
    if let Some(name) = &args.baseline {
        let after = if args.after.is_empty() { &args.runs } else { &args.after };
        if after.is_empty() {
            return Err(
                Error::new("--baseline: there is no run to compare with it").remedy("name one or more traces")
            );
        }
        if !args.rows.is_everything() {
            return Err(Error::new(
                "--baseline does not go with a choice of rows: it holds the sums of whole runs",
            )
            .remedy("compare the traces themselves, with --before and --after"));
        }
        let kept = baseline::load(&args.store, name)?;
        let options = run_options(kept.steps.as_deref())?;
        return Ok((kept.runs, read(after, &options)?));
    }
    if !args.after.is_empty() {
        if args.before.is_empty() {
            return Err(Error::new("--after: there is nothing to compare with")
                .remedy("name runs with --before, or a baseline with --baseline"));
        }
        return Ok((read(&args.before, &options)?, read(&args.after, &options)?));
    }
    match &args.runs[..] {
        [before, after] => {
            Ok((read(std::slice::from_ref(before), &options)?, read(std::slice::from_ref(after), &options)?))
        }
        others => Err(Error::new(format!(
            "two runs are compared, and {} named",
            match others.len() {
                0 => "none was".to_owned(),
                1 => "one was".to_owned(),
                n => format!("{n} were"),
            }
        ))
        .remedy("name the run before and the run after; several of each with --before and --after")),
    }
}

/// How runs are read, with steps of this name.
pub(super) fn run_options(steps: Option<&str>) -> Result<RunOptions> {
    let pattern = |name: &str| {
        name_pattern(name)
            .ok_or_else(|| Error::new(format!("--steps {name}: the name is too long to be looked for")))
    };
    Ok(RunOptions { steps: steps.map(pattern).transpose()?, stacks: false })
}

/// Reads the trace, or all traces of a folder, as one run.
///
/// # Errors
/// Fails if the path holds no trace.
pub(super) fn read_run(path: &Path, rows: &RowArguments, bys: &[By], options: &RunOptions) -> Result<Run> {
    let paths = Paths::new(&[path.to_owned()])?;
    let mut need = Run::need();
    if bys.iter().all(|by| *by != By::Api) && rows.is_everything() && !options.stacks {
        // The calls are most of a trace, and then nothing looks at them.
        need.tables.retain(|table| *table != &trace_format::tables::API);
    }
    let mut frames = rows.open(&paths, &need)?;
    rows.align(&mut frames, false)?;
    let labels = Labels::new(&frames, Demangling::On);
    let filter = rows.filter(rows.selection()?, &labels)?;
    let mut notes = frames.all_notes();
    notes.extend(partial::notes(&frames, &filter, &need)?);
    say(&notes);
    let mut run = Run::of(&path.display().to_string(), &labels, &filter, bys, options)?;
    run.notes = notes.into_iter().map(|note| note.text).collect();
    Ok(run)
}
