//! `gpuprof baseline`: runs that later ones are compared with, kept as sums: a few kilobytes that can be checked in.

use super::diff::{read_run, run_options};
use super::row_arguments::RowArguments;
use crate::analysis::diff::{By, Run};
use crate::error::{Error, Result};
use crate::numbers::items;
use crate::render::document::Document;
use crate::render::schemas;
use crate::render::table::{Cell, Format, Heading, Table};
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write as _};
use std::path::PathBuf;

/// What baselines of this version are called.
const SCHEMA: &str = "gpuprof/baseline/1";

/// Where baselines are kept.
#[derive(clap::Args, Clone, Debug)]
pub struct StoreArgs {
    /// The folder in which baselines are kept
    #[arg(long, value_name = "FOLDER", default_value = ".gpuprof-baselines")]
    baselines: PathBuf,
}

/// The beginning of the long help.
pub(super) const ABOUT: &str =
    "Keep runs under a name, for later runs to be compared with `gpuprof diff --baseline NAME`.

A baseline is a file of a few kilobytes with the sums of whole runs, which can be checked in.";

/// Arguments of `baseline`.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  gpuprof baseline save main run-*.gpuprof
  gpuprof diff --baseline main new-*.gpuprof --fail-if 'total>+3%'
  gpuprof baseline list")]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand, Debug)]
enum Action {
    /// Keep runs under a name
    Save(SaveArgs),
    /// List the names, with the number of runs of each
    List(ListArgs),
}

#[derive(clap::Args, Debug)]
struct SaveArgs {
    /// The name
    name: String,
    /// The runs: a trace each, or a folder with the traces of one run
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<PathBuf>,
    /// The name of the ranges that are steps, in which * stands for anything. Without it: ranges called step, iteration,
    /// ProfilerStep and the like
    #[arg(long, value_name = "NAME")]
    steps: Option<String>,
    /// Add to the runs that are kept under the name
    #[arg(long, conflicts_with = "force")]
    add: bool,
    /// Replace what is kept under the name
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    store: StoreArgs,
}

#[derive(clap::Args, Debug)]
struct ListArgs {
    /// How the list is written
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
    #[command(flatten)]
    store: StoreArgs,
}

/// What is kept under a name.
#[derive(Debug, Serialize, Deserialize)]
pub struct Baseline {
    schema: String,
    /// The name of the ranges that are steps, as it was given.
    pub steps: Option<String>,
    /// The runs.
    pub runs: Vec<Run>,
}

/// Runs `baseline`.
///
/// # Errors
/// Fails if a path holds no trace, if the name is taken, or if the folder cannot be read or written.
pub fn run(args: &Args) -> Result<()> {
    match &args.action {
        Action::Save(save) => self::save(save),
        Action::List(args) => list(&args.store, args.format),
    }
}

/// Reads what is kept under a name.
///
/// # Errors
/// Fails if nothing is, or if the file is not a baseline of a version that is known.
pub fn load(store: &StoreArgs, name: &str) -> Result<Baseline> {
    let path = path(store, name)?;
    let text = fs::read(&path).map_err(|e| match e.kind() {
        io::ErrorKind::NotFound => Error::at(&path, format_args!("there is no baseline \"{name}\""))
            .remedy("gpuprof baseline list shows those there are; gpuprof baseline save makes one"),
        _ => Error::at(&path, format_args!("cannot be read: {e}")),
    })?;
    let again = "save it again from its traces with gpuprof baseline save --force";
    let baseline: Baseline = serde_json::from_slice(&text)
        .map_err(|e| Error::at(&path, format_args!("is not a baseline: {e}")).remedy(again))?;
    if baseline.schema != SCHEMA {
        let text = format_args!("is a baseline of another version: {}, and not {SCHEMA}", baseline.schema);
        return Err(Error::at(&path, text).remedy(again));
    }
    if baseline.runs.is_empty() {
        return Err(Error::at(&path, "holds no run").remedy(again));
    }
    Ok(baseline)
}

/// The file of a name. Names are no paths, so that a name never reaches beyond the folder.
fn path(store: &StoreArgs, name: &str) -> Result<PathBuf> {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.is_empty() || name.starts_with('.') || !name.chars().all(is_plain) {
        return Err(Error::new(format!("\"{name}\" is no name for a baseline"))
            .remedy("use letters, digits, -, _ and ., and another character than . first"));
    }
    Ok(store.baselines.join(format!("{name}.json")))
}

fn save(args: &SaveArgs) -> Result<()> {
    let path = path(&args.store, &args.name)?;
    let mut runs = Vec::new();
    let mut steps = args.steps.clone();
    if args.add {
        let kept = load(&args.store, &args.name)?;
        if args.steps.is_some() && args.steps != kept.steps {
            return Err(
                Error::at(&path, "was saved with other --steps").remedy("leave --steps out, or use --force")
            );
        }
        (runs, steps) = (kept.runs, kept.steps);
    } else if !args.force && path.exists() {
        return Err(Error::at(&path, format_args!("there is a baseline \"{}\" already", args.name))
            .remedy("add runs to it with --add, or replace it with --force"));
    }
    let options = run_options(steps.as_deref())?;
    for run in &args.runs {
        runs.push(read_run(run, &RowArguments::default(), &By::ALL, &options)?);
    }
    let baseline = Baseline { schema: SCHEMA.to_owned(), steps, runs };
    let failed = |e: io::Error| Error::at(&path, format_args!("cannot be written: {e}"));
    let text = serde_json::to_vec_pretty(&baseline).map_err(|e| failed(e.into()))?;
    fs::create_dir_all(&args.store.baselines).map_err(failed)?;
    // Beside it first, so that a disk that is full costs no baseline that was there.
    let new = path.with_extension(format!("new-{}", std::process::id()));
    let written = fs::write(&new, &text).and_then(|()| fs::rename(&new, &path));
    if written.is_err() {
        let _ = fs::remove_file(&new);
    }
    written.map_err(failed)?;
    eprintln!("gpuprof: {}: {} kept", path.display(), items(baseline.runs.len() as u64, "run", "runs"));
    Ok(())
}

fn list(store: &StoreArgs, format: Format) -> Result<()> {
    let folder = &store.baselines;
    let nothing = || {
        Error::nothing(format!("{}: there are no baselines", folder.display()))
            .remedy("gpuprof baseline save NAME RUN makes one")
    };
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Err(nothing()),
        Err(e) => return Err(Error::at(folder, format_args!("the folder cannot be read: {e}"))),
    };
    let is_json = |path: &PathBuf| path.extension() == Some(OsStr::new("json"));
    let files = entries.flatten().map(|entry| entry.path()).filter(is_json);
    let mut names: Vec<String> = files.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned())).collect();
    names.sort();
    if names.is_empty() {
        return Err(nothing());
    }
    let runs = |name: &String| load(store, name).map(|baseline| baseline.runs.len() as u64);
    let mut out = io::stdout().lock();
    if format == Format::Table {
        for name in names {
            let runs = runs(&name).map_or_else(|error| error.to_string(), |runs| items(runs, "run", "runs"));
            writeln!(out, "{name}  {runs}").map_err(|e| Error::output(&e))?;
        }
        return Ok(());
    }
    let text = |name| Heading { name, is_text: true };
    let headings = vec![text("Name"), Heading { name: "Runs", is_text: false }, text("Problem")];
    let mut table = Table::new("baselines", "Baselines", headings).with_key(&["Name"]);
    for name in names {
        let (runs, problem) = match runs(&name) {
            Ok(runs) => (Cell::int(runs), Cell::Null),
            Err(error) => (Cell::Null, Cell::Text(error.to_string())),
        };
        table.rows.push(vec![Cell::Text(name), runs, problem]);
    }
    let document = Document { tables: vec![table], ..Document::new(schemas::BASELINES) };
    document.write(&mut out, format).and_then(|()| out.flush()).map_err(|e| Error::output(&e))
}
