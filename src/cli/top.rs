//! `gpuprof top`: the last seconds of programs that run.

use super::newest;
use super::times::Length;
use crate::error::{Error, Result};
use crate::live::watch::Target;
use crate::top::run::{self, Format, Request};
use std::io::{self, BufWriter, IsTerminal as _};
use std::path::PathBuf;
use std::time::Duration;

/// The beginning of the long help.
pub(super) const ABOUT: &str = "Show what programs do on the GPU right now, by the traces that they write.";

/// Arguments of `top`.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  gpuprof top                                     the newest run here
  gpuprof top 4242                                what process 4242 and its children do
  gpuprof top gpuprof-train.py-20261128-024741/   all processes of a run, those to come included
  gpuprof top --once --format json run.gpuprof    one measurement for a script
  gpuprof top --interval 10s --for 1h run/ >> log

Only the traces are read; the programs are not asked. On a terminal this is a screen: q ends it. Otherwise, or with
--format, a measurement is written every --interval, until all traces are finished or --for is over; docs/top.md has the
figures and their names.")]
pub struct Args {
    /// A process id, or traces: files, folders or globs. Without any: the newest trace or run here
    #[arg(value_name = "PID|DIR|FILE")]
    targets: Vec<PathBuf>,

    /// How far back the numbers look: 200ms to 1h
    #[arg(long, value_name = "TIME", default_value = "5s")]
    window: Length,

    /// Time between two measurements: 100ms and more
    #[arg(long, value_name = "TIME", default_value = "1s")]
    interval: Length,

    /// Measure once, over the window that the traces hold now, and end
    #[arg(long)]
    once: bool,

    /// Write lines instead of a screen: text, json (an object per measurement), csv (a figure per line)
    #[arg(long, value_name = "FORMAT")]
    format: Option<Format>,

    /// End after so long
    #[arg(long = "for", value_name = "TIME", conflicts_with = "once")]
    limit: Option<Length>,

    /// Kernels of each process that text lists [default: 15]
    #[arg(long, value_name = "N", value_parser = super::report::row_count)]
    top: Option<usize>,
}

/// Runs `top`.
///
/// # Errors
/// Fails if what was named cannot be used or holds nothing, or if the output cannot be written.
pub fn run(args: &Args) -> Result<()> {
    let request = Request {
        target: target(&args.targets)?,
        window_ns: within("--window", args.window, 200_000_000, 3_600_000_000_000, "200ms to 1h")?,
        interval: duration(within("--interval", args.interval, 100_000_000, i64::MAX, "100ms or more")?),
        limit: args.limit.map(|limit| duration(limit.0)),
        kernels: args.top,
    };
    let on_terminal = io::stdout().is_terminal();
    if args.once {
        let mut out = BufWriter::new(io::stdout());
        return run::once(&request, args.format.unwrap_or(Format::Text), &mut out);
    }
    match args.format {
        None if on_terminal => run::screen(&request),
        format => {
            let mut out = BufWriter::new(io::stdout());
            run::lines(&request, format.unwrap_or(Format::Text), &mut out)
        }
    }
}

/// A number is a process unless a file is called so.
fn target(targets: &[PathBuf]) -> Result<Target> {
    if targets.is_empty() {
        return Ok(Target::Paths(vec![newest::trace_here()?]));
    }
    let pid = |path: &PathBuf| path.to_str()?.parse::<u32>().ok().filter(|_| path.symlink_metadata().is_err());
    match (targets, targets.iter().find_map(pid)) {
        ([_], Some(pid)) => Ok(Target::Process(pid)),
        (_, Some(pid)) => Err(Error::new(format!("{pid}: a process is watched alone"))
            .remedy("name one process, or the folder in which the traces of all of them lie")),
        (paths, None) => Ok(Target::Paths(paths.to_vec())),
    }
}

fn within(option: &str, length: Length, least_ns: i64, most_ns: i64, range: &str) -> Result<i64> {
    match length.0 {
        ns if (least_ns..=most_ns).contains(&ns) => Ok(ns),
        _ => Err(Error::new(format!("{option}: out of range")).remedy(&format!("choose {range}"))),
    }
}

fn duration(ns: i64) -> Duration {
    Duration::from_nanos(ns.max(0).unsigned_abs())
}
