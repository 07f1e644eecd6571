//! `gpuprof convert`: any trace as `.gpuprof`.

use super::export::Job;
use super::row_arguments::RowArguments;
use crate::demangle::Demangling;
use crate::error::{Error, Result};
use crate::export::{self, Options};
use std::path::PathBuf;

/// The beginning of the long help.
pub(super) const ABOUT: &str = "Rewrite traces of any kind as .gpuprof: smaller, cut, or the pieces of one joined.";

/// Arguments of `convert`.
#[derive(clap::Args, Debug)]
#[command(after_help = "A .gpuprof file holds one process: traces of several become a folder of files.

Examples:
  gpuprof convert report1.sqlite -o run.gpuprof
  gpuprof convert run.gpuprof --from 10s --to 12s -o two-seconds.gpuprof
  gpuprof convert 'run.00*.gpuprof' -o whole.gpuprof         the segments of a ring
  gpuprof convert --recompress run.gpuprof -o smaller.gpuprof")]
pub struct Args {
    /// Traces: files, folders or globs, of any known kind. Without any: the newest trace here
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,

    /// File or folder to write. A file that exists is replaced; the traces that are read never are. Without it: the
    /// first trace's name, here, if nothing has that name
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,

    /// Cut out a piece: --from and --to in one, e.g. 1s..2.5s
    #[arg(long, value_name = "FROM..TO", conflicts_with_all = ["from", "to"])]
    slice: Option<String>,

    /// Only rewrite, in full frames sorted by time. That is what convert does to every trace; the option refuses
    /// traces that are no .gpuprof
    #[arg(long)]
    recompress: bool,

    /// Join traces into one output: the segments of one recording into a file, several processes into a folder.
    /// That is what convert does with more than one path; the option refuses a single one
    #[arg(long)]
    merge: bool,

    /// Replace a folder too, if it holds nothing but an earlier conversion, and a file that was not named with -o
    #[arg(long)]
    force: bool,

    /// No progress and no closing line
    #[arg(short, long)]
    quiet: bool,

    #[command(flatten)]
    row_arguments: RowArguments,
}

/// Runs `convert`.
///
/// # Errors
/// Fails if options contradict each other, if a path holds no trace, or if the output cannot be written.
pub fn run(args: &Args) -> Result<()> {
    let paths = args.row_arguments.paths(&args.paths)?;
    let files = crate::open::inputs::expand(&paths)?;
    if args.merge && files.len() < 2 {
        return Err(Error::new("--merge: there is one trace only").remedy("name the others too, or leave it out"));
    }
    if args.recompress {
        for file in &files {
            let head = crate::import::Head::read(&file.path)?;
            if !crate::open::is_native(&head) {
                return Err(Error::at(&file.path, "is not a .gpuprof trace, which --recompress asks for")
                    .remedy("leave --recompress out to convert it"));
            }
        }
    }
    let mut row_arguments = args.row_arguments.clone();
    if let Some(slice) = &args.slice {
        let (from, to) = slice.split_once("..").ok_or_else(|| {
            Error::new(format!("--slice {slice}: not two times")).remedy("write FROM..TO, e.g. 1s..2.5s")
        })?;
        row_arguments.set_times(from, to)?;
    }
    let output = args.output.clone().or_else(|| {
        // The default name of an export would be the trace itself.
        let first = row_arguments.first(&paths);
        let stem = first.file_stem()?.to_string_lossy().into_owned();
        let is_native = first.extension().is_some_and(|e| e == "gpuprof") || first.is_dir();
        is_native.then(|| PathBuf::from(format!("{stem}-converted.gpuprof")))
    });
    Job {
        exporter: &export::native::GPUPROF,
        options: Options::default(),
        paths,
        names_output: args.output.is_some(),
        output,
        row_arguments: &row_arguments,
        min_duration: None,
        top_kernels: None,
        demangling: Demangling::Off,
        force: args.force,
        quiet: args.quiet,
    }
    .run()
}
