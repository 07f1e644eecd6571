//! The command line: one file per subcommand, holding its arguments and its `run`.

pub(crate) mod baseline;
pub(crate) mod cluster;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod convert;
pub(crate) mod ctl;
pub(crate) mod diff;
pub(crate) mod doctor;
mod endings;
pub(crate) mod export;
pub(crate) mod info;
pub(crate) mod man;
pub(crate) mod mcp;
mod newest;
pub mod nvprof;
pub(crate) mod preload_path;
mod progress;
pub(crate) mod query;
pub(crate) mod ranks;
pub(crate) mod record;
pub(crate) mod report;
mod row_arguments;
mod screen;
mod stdin;
pub(crate) mod timeline;
mod times;
pub(crate) mod top;
mod written;

use crate::error::{Error, Result};
use crate::launch::supervise::Ended;
pub use crate::os::allocator::keep_freed_memory;
use clap::{Parser, Subcommand};
use std::ffi::OsString;
use std::path::Path;

/// Where did the GPU time go.
#[derive(Parser, Debug)]
#[command(
    name = "gpuprof",
    version = concat!(env!("CARGO_PKG_VERSION"), " (", env!("GPUPROF_COMMIT"), ")"),
    about = "Records what programs do on GPUs, reads GPU traces (gpuprof, nvprof, Nsight Systems, PyTorch) and says where the time went",
    long_about = "Records what programs do on GPUs, reads GPU traces (gpuprof, nvprof, Nsight Systems, PyTorch) and says where the time went.

A trace in the place of the command is reported on: `gpuprof run.nvvp` is `gpuprof report run.nvvp`. `gpuprof COMMAND -h` is short, and \
`gpuprof help COMMAND` has every option. Exit status: 0 answered, 1 nothing to show, 2 failed; record ends as the program did.",
    override_usage = "gpuprof <COMMAND>\n       gpuprof <TRACE> [OPTIONS]...",
    after_help = "Examples:
  gpuprof record -- python train.py
  gpuprof report                       the newest trace here
  gpuprof run.nvvp --top 10
  gpuprof timeline trace.json.gz
  gpuprof help record"
)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
    /// What was not typed.
    #[arg(skip)]
    from_files: config::FromFiles,
}

/// The subcommands.
#[derive(Subcommand, Debug)]
enum Command {
    /// Run a program and record what it does on the GPU
    #[command(long_about = record::ABOUT)]
    Record(record::Args),
    /// Summarise traces, or list every activity in them
    #[command(long_about = report::ABOUT)]
    Report(report::Args),
    /// Compare runs: what became faster or slower, and whether that is more than noise
    #[command(long_about = diff::ABOUT)]
    Diff(diff::Args),
    /// Hold the ranks of one distributed run against each other: who makes the others wait, and why
    #[command(long_about = ranks::ABOUT)]
    Ranks(ranks::Args),
    /// Report on a run with Apache Spark, where it is too large for one machine
    #[command(long_about = cluster::ABOUT)]
    Cluster(cluster::Args),
    /// Keep runs under a name, for later runs to be compared with
    #[command(long_about = baseline::ABOUT)]
    Baseline(baseline::Args),
    /// Write traces in another format: CSV, Parquet, SQLite, Chrome JSON and more
    #[command(long_about = export::ABOUT)]
    Export(export::Args),
    /// Rewrite traces of any kind as .gpuprof: smaller, cut, or the pieces of one joined
    #[command(long_about = convert::ABOUT)]
    Convert(convert::Args),
    /// Show what happened when, as a page for a browser
    #[command(long_about = timeline::ABOUT)]
    Timeline(timeline::Args),
    /// Ask traces in SQL
    #[command(long_about = query::ABOUT)]
    Query(query::Args),
    /// Answer programs that ask about traces, over the Model Context Protocol
    #[command(long_about = mcp::ABOUT)]
    Mcp(mcp::Args),
    /// Show what programs do on the GPU right now, by the traces they write
    #[command(long_about = top::ABOUT)]
    Top(top::Args),
    /// Say what a file is, who wrote it, and what is in it
    #[command(long_about = info::ABOUT)]
    Info(info::Args),
    /// Find recorded processes that run, and switch, mark or flush them
    #[command(long_about = ctl::ABOUT)]
    Ctl(ctl::Args),
    /// Say whether programs can be recorded here, and if not, what to do
    #[command(long_about = doctor::ABOUT)]
    Doctor(doctor::Args),
    /// Run a program as nvprof would: its options, its output. The same under the name nvprof
    Nvprof(nvprof::Args),
    /// Print where the collector is, for LD_PRELOAD and CUDA_INJECTION64_PATH
    PreloadPath(preload_path::Args),
    /// Show which defaults are in force for record and report, and where they come from
    #[command(long_about = config::ABOUT)]
    Config(config::Args),
    /// Print what a shell needs to complete commands and options
    Completions(completions::Args),
    /// Print manual pages
    Man(man::Args),
}

/// The command line with `report` put before it, where its first word is no command but a trace: a file or folder that
/// is there, or a word that can only be meant as one.
fn as_report(error: &clap::Error, words: &[OsString]) -> Option<Vec<OsString>> {
    let [program, first, rest @ ..] = words else { return None };
    let is_unknown = error.kind() == clap::error::ErrorKind::InvalidSubcommand;
    (is_unknown && looks_like_a_trace(first)).then(|| {
        let before = [program.clone(), "report".into(), first.clone()];
        before.into_iter().chain(rest.iter().cloned()).collect()
    })
}

/// Endings of the names of traces. Of a file that is not there, `report` says so; clap would look for a command.
const ENDINGS: [&str; 16] = [
    "gpuprof", "nvvp", "nvprof", "sqlite", "db", "json", "gz", "csv", "txt", "log", "xml", "prof", "parquet",
    "arrow", "folded", "nsys-rep",
];

fn looks_like_a_trace(word: &OsString) -> bool {
    let path = Path::new(word);
    let has_ending = path.extension().is_some_and(|ending| ENDINGS.iter().any(|known| ending == *known));
    let is_glob = word.to_str().is_some_and(|word| word.contains(['*', '?', '[']));
    word == "-" || path.symlink_metadata().is_ok() || path.components().count() > 1 || has_ending || is_glob
}

/// What to say where a view stands in the place of the command.
fn view_as_command(error: &clap::Error, word: Option<&OsString>) -> Option<Error> {
    if error.kind() != clap::error::ErrorKind::InvalidSubcommand {
        return None;
    }
    let word = word?.to_str()?;
    crate::report::find_view(word).ok()?;
    let remedy = format!("write `gpuprof report --view {word} TRACE`");
    Some(Error::new(format!("{word}: not a command but a view")).remedy(&remedy))
}

/// What comes of a command line: what it asks for, or why it asks for nothing.
pub enum Asked {
    /// A command.
    For(Box<Cli>),
    /// Help, or a mistake that clap explains.
    Nothing(clap::Error),
}

/// Reads a command line, the first word of which is the program's name. A trace in the place of the command is reported on,
/// and what `gpuprof.toml` says holds where nothing else is typed.
///
/// # Errors
/// Fails if a view stands in the place of the command, or if a file with defaults is wrong.
pub fn read(words: &[OsString]) -> Result<Asked> {
    let mut words = words.to_vec();
    let mut typed = Cli::try_parse_from(&words);
    if let Err(error) = &typed {
        if !error.use_stderr() {
            // Help needs no files.
            return Ok(typed.into());
        }
        if let Some(report) = as_report(error, &words) {
            words = report;
            typed = Cli::try_parse_from(&words);
        } else if let Some(better) = view_as_command(error, words.get(1)) {
            return Err(better);
        }
    }
    let Some((with_defaults, from_files)) = config::with_defaults(&words)? else { return Ok(typed.into()) };
    match (Cli::try_parse_from(&with_defaults), typed) {
        (Ok(cli), _) => Ok(Asked::For(Box::new(Cli { from_files, ..cli }))),
        (Err(error), Ok(_)) => Err(from_files.contradiction(&error)),
        (Err(_), Err(error)) => Ok(Asked::Nothing(error)),
    }
}

impl From<std::result::Result<Cli, clap::Error>> for Asked {
    fn from(parsed: std::result::Result<Cli, clap::Error>) -> Asked {
        match parsed {
            Ok(cli) => Asked::For(Box::new(cli)),
            Err(error) => Asked::Nothing(error),
        }
    }
}

/// Runs what the command line asks for.
///
/// # Errors
/// Fails if the command cannot give its answer. `main` prints the error and chooses the exit status.
pub fn run(cli: Cli) -> Result<Ended> {
    carry_out(cli.command).map_err(|error| cli.from_files.explain(error))
}

fn carry_out(command: Command) -> Result<Ended> {
    match command {
        // As the program ended, so do we.
        Command::Record(args) => return record::run(&args),
        Command::Nvprof(args) => return nvprof::run(&args),
        Command::Diff(args) => return diff::run(&args),
        Command::Ranks(args) => return ranks::run(&args),
        Command::Cluster(args) => cluster::run(&args),
        Command::Baseline(args) => baseline::run(&args),
        Command::Report(args) => report::run(args),
        Command::Export(args) => export::run(&args),
        Command::Convert(args) => convert::run(&args),
        Command::Timeline(args) => timeline::run(&args),
        Command::Query(args) => query::run(args),
        Command::Mcp(args) => mcp::run(&args),
        Command::Top(args) => top::run(&args),
        Command::Info(args) => info::run(&args),
        Command::Ctl(args) => ctl::run(&args),
        Command::Doctor(args) => doctor::run(args),
        Command::PreloadPath(args) => preload_path::run(&args),
        Command::Config(args) => config::run(&args),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args),
    }?;
    Ok(Ended::Exited(0))
}
