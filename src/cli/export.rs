//! `gpuprof export`: traces in other tools' formats.

use super::progress::Progress;
use super::report::say;
use super::row_arguments::RowArguments;
use super::stdin::Paths;
use super::times::Length;
use super::written;
use crate::analysis::labels::Labels;
use crate::analysis::partial;
use crate::demangle::Demangling;
use crate::error::{Error, Result};
use crate::export::destination::{Pending, Replace, Request};
use crate::export::{self, Context, Exporter, Options, Shape, Tally};
use crate::trace::frames::Frames;
use crate::trace::sink::Note;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use trace_format::tables;

/// The beginning of the long help.
pub(super) const ABOUT: &str = "Write traces in another format, for other tools: CSV, Parquet, Arrow, SQLite, Chrome JSON, Perfetto, flame graphs and more.

The ending of the output's name chooses the format unless --format does. What each format keeps is in docs/lossy.md.";

/// Arguments of `export`.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  gpuprof export run.gpuprof -o timeline.csv
  gpuprof export --format jsonl report1.sqlite -o - | head
  gpuprof export --format parquet 'run-*/' -o tables/
  gpuprof export run.nvvp -o trace.json.gz            for Perfetto and chrome://tracing
  gpuprof export --formats                            every format, its endings and its options

Endings of -o that choose a format, with .gz behind those of text to pack it:
  .csv  .tsv .tab  .jsonl .ndjson       one row per activity
  .parquet .pq  .arrow .ipc .feather    a folder of that name with one file per table
  .gpuprof  .nvvp .nvprof               one file per process; several processes make a folder
  .sqlite .sqlite3 .db                  for nsys
  .json  .perfetto-trace .pftrace .perfetto  .speedscope.json .speedscope  .folded .collapsed  .svg")]
pub struct Args {
    /// Traces: files, folders or globs, of any known kind. Without any: the newest trace here
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,

    /// The format; without it, what the ending of the output's name says (--formats lists the endings)
    #[arg(short = 'F', long, value_name = "FORMAT")]
    format: Option<String>,

    /// File or folder to write, - for the standard output. A file that exists is replaced; the traces that are read
    /// never are. Without it: the first trace's name with the format's ending, here, if nothing has that name
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,

    /// Columns of tabular formats, in this order, with commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    columns: Option<Vec<String>>,

    /// Leave out rows that last less than TIME, e.g. 10us
    #[arg(long, value_name = "TIME")]
    min_duration: Option<Length>,

    /// Of the kernels, write only those of the N names with the most time
    #[arg(long, value_name = "N", value_parser = super::report::row_count)]
    top_kernels: Option<usize>,

    /// An option of the format; --formats lists them
    #[arg(long = "option", value_name = "KEY=VALUE")]
    own: Vec<String>,

    /// Kernel names: on (correct), nvprof (as nvprof printed them, bugs included) or off (as stored)
    #[arg(long, value_name = "HOW", default_value = "on")]
    demangling: Demangling,

    /// Replace a folder too, if it holds nothing but an earlier export, and a file that was not named with -o
    #[arg(long)]
    force: bool,

    /// No progress and no closing line
    #[arg(short, long)]
    quiet: bool,

    /// List the formats with their options and what they keep, and exit
    #[arg(long)]
    formats: bool,

    #[command(flatten)]
    row_arguments: RowArguments,
}

/// Runs `export`.
///
/// # Errors
/// Fails if options contradict each other, if a path holds no trace, or if the output cannot be written.
pub fn run(args: &Args) -> Result<()> {
    if args.formats {
        use std::io::Write as _;
        return std::io::stdout().write_all(formats().as_bytes()).map_err(|e| Error::output(&e));
    }
    let exporter = exporter(args)?;
    let job = Job {
        exporter,
        options: options(args, exporter)?,
        paths: args.row_arguments.paths(&args.paths)?,
        output: args.output.clone(),
        names_output: args.output.is_some(),
        row_arguments: &args.row_arguments,
        min_duration: args.min_duration,
        top_kernels: args.top_kernels,
        demangling: args.demangling,
        force: args.force,
        quiet: args.quiet,
    };
    job.run()
}

/// One export, as `export` and `convert` ask for it.
pub(super) struct Job<'a> {
    pub exporter: &'static Exporter,
    pub options: Options,
    pub paths: Paths,
    pub output: Option<PathBuf>,
    /// Whether the user gave that name, so that a file which has it may be replaced.
    pub names_output: bool,
    pub row_arguments: &'a RowArguments,
    pub min_duration: Option<Length>,
    pub top_kernels: Option<usize>,
    pub demangling: Demangling,
    pub force: bool,
    pub quiet: bool,
}

impl Job<'_> {
    /// Reads, writes, and says what is partial.
    ///
    /// # Errors
    /// Fails if a path holds no trace, or if the output cannot be written.
    pub fn run(&self) -> Result<()> {
        let exporter = self.exporter;
        let need = (exporter.need)();
        let progress = Progress::new(self.quiet, "reading");
        let mut frames = self.row_arguments.open(&self.paths, &need)?;
        self.row_arguments.align(&mut frames, true)?;
        let labels = Labels::new(&frames, self.demangling);
        let mut selection = self.row_arguments.selection()?;
        selection.min_duration_ns = self.min_duration.map(|length| length.0);
        selection.top_kernels = self.top_kernels;
        let filter = self.row_arguments.filter(selection, &labels)?.with_what_refers(&frames)?;
        let shape = exporter.shape.of_processes(frames.processes.len());
        let output = match &self.output {
            // The name that `convert` makes up is one of a file.
            Some(output) if !self.names_output && shape == Shape::Folder => output.with_extension(""),
            Some(output) => output.clone(),
            None => default_output(self.row_arguments.first(&self.paths), exporter, shape, self.options.gzip),
        };
        if self.output.is_some() {
            refuse_folder_called_like_a_file(exporter, shape, &output, frames.processes.len())?;
        }
        let replace = match (self.force, self.names_output) {
            (true, _) => Replace::Everything,
            (false, true) => Replace::Files,
            (false, false) => Replace::Nothing,
        };
        let binary = exporter.binary || self.options.gzip;
        let sources = self.row_arguments.sources(&frames);
        let request = Request { path: &output, shape, binary, replace, sources: &sources };
        let (pending, mut destination) = Pending::open(&request)?;
        let rows = need.tables.iter().map(|table| frames.rows(table)).sum();
        progress.stage("writing", rows, frames.rows_decoded());
        let tally = Tally::default();
        let context =
            Context { frames: &frames, labels: &labels, filter: &filter, options: &self.options, tally: &tally };
        (exporter.write)(&context, &mut destination)?;
        let size = pending.finish(destination)?;
        progress.finish();
        let (rows, remarks) = tally.into_parts();
        let mut notes = frames.all_notes();
        notes.extend(remarks);
        notes.extend(without_place(exporter, &frames));
        notes.extend(partial::missing(&frames)?);
        say(&notes);
        if !self.quiet && output != Path::new("-") {
            written::say(&output, Some(rows), size, exporter.name);
        }
        Ok(())
    }
}

/// What other profilers say about their records, where the format has no place for it.
fn without_place(exporter: &Exporter, frames: &Frames) -> Option<Note> {
    if exporter.keeps.is_nothing() {
        return None;
    }
    let kinds = [(&tables::DETAILS, "arguments of rows"), (&tables::FOREIGN, "entries that are no records")];
    let lost = kinds.iter().map(|(table, what)| (*table, frames.rows(table), what));
    let lost = lost.filter(|(table, rows, _)| *rows > 0 && exporter.keeps.of(table).is_none());
    let lost: Vec<String> =
        lost.map(|(table, rows, what)| format!("{rows} {what} (table {})", table.name)).collect();
    let text = format!(
        "{} has no place for {}; chrome, gpuprof, parquet, arrow and csv-tables keep them (docs/lossy.md)",
        exporter.name,
        lost.join(" and ")
    );
    (!lost.is_empty()).then_some(Note { code: "without-place", text })
}

fn exporter(args: &Args) -> Result<&'static Exporter> {
    if let Some(name) = &args.format {
        return export::find(name);
    }
    let name = args.output.as_deref().and_then(Path::file_name).and_then(|n| n.to_str()).unwrap_or_default();
    export::by_file_name(name).ok_or_else(|| {
        Error::new("which format to write is not clear")
            .remedy("say --format FORMAT (--formats lists them), or give -o a known ending")
    })
}

/// Whoever names a file means a file: for several processes there is a folder instead, and that is not made unasked.
fn refuse_folder_called_like_a_file(
    exporter: &Exporter,
    shape: Shape,
    output: &Path,
    processes: usize,
) -> Result<()> {
    let name = output.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let is_folder = output.is_dir() || output.as_os_str().as_encoded_bytes().ends_with(b"/");
    let is_asked = exporter.shape == Shape::Folder || is_folder;
    if shape != Shape::Folder || is_asked || export::by_file_name(name).is_none() {
        return Ok(());
    }
    let what = format_args!("is called like a file, and {processes} processes make a folder of files");
    Err(Error::at(output, what).remedy("name a folder with -o, with a slash at its end if it is to be called so"))
}

fn options(args: &Args, exporter: &Exporter) -> Result<Options> {
    let mut own = Vec::new();
    for option in &args.own {
        let (key, value) = option
            .split_once('=')
            .ok_or_else(|| Error::new(format!("--option {option}: no value")).remedy("write --option KEY=VALUE"))?;
        if !exporter.options.iter().any(|(known, _)| *known == key) {
            let known: Vec<&str> = exporter.options.iter().map(|(known, _)| *known).collect();
            let known = if known.is_empty() { "it has none".to_owned() } else { known.join(", ") };
            return Err(Error::new(format!("--option {key}: format {} has no such option", exporter.name))
                .remedy(&format!("known: {known}")));
        }
        own.push((key.to_owned(), value.to_owned()));
    }
    let gzip = args.output.as_deref().and_then(Path::extension).is_some_and(|e| e == "gz");
    Ok(Options { columns: args.columns.clone(), gzip, own })
}

/// Beside the trace, under its name with another ending.
fn default_output(path: &Path, exporter: &Exporter, shape: Shape, gzip: bool) -> PathBuf {
    let stem = path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let ending = if exporter.extension.is_empty() { exporter.name } else { exporter.extension };
    match shape {
        Shape::Folder => PathBuf::from(format!("{stem}-{}", exporter.name)),
        _ => PathBuf::from(format!("{stem}.{ending}{}", if gzip { ".gz" } else { "" })),
    }
}

/// What `--formats` prints.
fn formats() -> String {
    let mut out = String::new();
    for exporter in export::EXPORTERS {
        let _ = writeln!(out, "{:<11} {}", exporter.name, exporter.doc);
        let endings: Vec<String> = exporter.endings().map(|ending| format!(".{ending}")).collect();
        if !endings.is_empty() {
            let _ = writeln!(out, "{:<13} chosen by -o NAME{}", "", endings.join(", "));
        }
        for (key, doc) in exporter.options {
            let _ = writeln!(out, "{:<13} --option {key}=…  {doc}", "");
        }
    }
    out.push_str("\nWhat each of them keeps: docs/lossy.md\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_lists_every_ending() {
        let help = <Args as clap::Args>::augment_args(clap::Command::new("export")).render_help().to_string();
        for ending in export::EXPORTERS.iter().flat_map(|exporter| exporter.endings()) {
            assert!(help.split_whitespace().any(|word| word == format!(".{ending}")), "{ending} in {help}");
            assert!(export::by_file_name(&format!("a.{ending}")).is_some());
        }
        assert!(formats().contains(".parquet, .pq"));
    }
}
