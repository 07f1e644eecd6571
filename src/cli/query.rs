//! `gpuprof query`: SQL over traces, once or at a prompt.

mod commands;
mod completion;
mod prompt;

use super::endings;
use super::progress::Progress;
use super::report::say;
use super::row_arguments::Events;
use super::screen::{self, ScreenArgs};
use crate::error::{Error, Result};
use crate::export::Shape;
use crate::export::destination::{Destination, Pending, Replace, Request};
use crate::open::inputs;
use crate::query::output::{self, Format};
use crate::query::session::{self, Session};
use crate::query::{lexer, refuse};
use std::fs::File;
use std::io::{self, IsTerminal, Read as _, Write};
use std::path::{Path, PathBuf};

/// The beginning of the long help.
pub(super) const ABOUT: &str =
    "Ask traces in SQL: all tables of the trace format, and ready views such as kernels_by_name and gaps.

`.schema` lists tables, views and columns. Without a query there is a prompt, with history and completion.";

/// Arguments of `query`.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  gpuprof query run.gpuprof 'SELECT name, count, share FROM kernels_by_name LIMIT 10'
  gpuprof query run.gpuprof 'SELECT * FROM gaps ORDER BY duration_ns DESC LIMIT 5'
  gpuprof query 'run-*/' @busiest.sql --format csv -o busiest.csv
  gpuprof query run.gpuprof .schema                        views, tables and their columns
  gpuprof query run.gpuprof                                a prompt, with history and completion

docs/schema.md has every table, view and column; docs/query.md says what of SQL works.")]
pub struct Args {
    /// Traces (files, folders or globs, of any known kind; without any the newest trace here), and a query: SQL that
    /// begins with SELECT or WITH, @FILE with SQL in it, or .tables, .schema, .help
    #[arg(value_name = "PATH|SQL")]
    arguments: Vec<PathBuf>,

    /// Read the query from this file, - for the standard input
    #[arg(short, long, value_name = "FILE")]
    file: Option<PathBuf>,

    /// How the answer is written; machine formats in base units, never scaled [default: what the name of the output
    /// ends in, else text]
    #[arg(long, value_name = "FORMAT")]
    format: Option<Format>,

    /// Write to this file instead of the standard output, in place of a file of that name; .csv, .tsv, .json, .jsonl,
    /// .md, .parquet, .arrow and .txt (a table) choose the format
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Show how the query would be answered, and do not answer it
    #[arg(long)]
    explain: bool,

    #[command(flatten)]
    screen: ScreenArgs,

    #[command(flatten)]
    events: Events,
}

/// Runs `query`.
///
/// # Errors
/// Fails if there is no query, if a query is refused or not understood, if a path holds no trace, if the output cannot
/// be written, or if no format has the ending of its name.
pub fn run(args: Args) -> Result<()> {
    let (paths, mut queries) = sort_arguments(&args.arguments)?;
    if let Some(file) = &args.file {
        queries.push(read_query(file)?);
    }
    let format = match (args.format, args.output.as_deref()) {
        (Some(format), _) => format,
        (None, Some(output)) => endings::format(output, ENDINGS, Format::Table, &paths)?,
        (None, None) => Format::Table,
    };
    let from_terminal = io::stdin().is_terminal();
    if queries.is_empty() {
        if from_terminal && io::stdout().is_terminal() && args.output.is_none() && !args.explain {
            return prompt::run(&args.events, &args.events.paths(&paths)?, format, args.screen.wide);
        }
        if from_terminal {
            return Err(Error::new("no query given").remedy("give SQL that begins with SELECT or WITH, or @FILE"));
        }
        queries.push(read_query(Path::new("-"))?);
    }
    if let [only] = &queries[..]
        && let Some(command) = commands::find(only)
    {
        let mut out = Output::open(&args, &paths, format)?;
        commands::write(out.writer()?, command).map_err(|e| Error::output(&e))?;
        return out.done();
    }
    let statements: Vec<&str> = queries.iter().flat_map(|text| lexer::statements(text).0).collect();
    if statements.is_empty() {
        return Err(Error::new("the query is empty").remedy("give SQL that begins with SELECT or WITH, or @FILE"));
    }
    if format.is_binary() && args.output.is_none() && io::stdout().is_terminal() {
        let name = if format == Format::Arrow { "Arrow" } else { "Parquet" };
        return Err(Error::new(format!("{name} is not for terminals")).remedy("name a file with --output"));
    }
    if format == Format::Arrow && statements.len() != 1 {
        return Err(Error::new("an Arrow file holds one answer").remedy("give one query at a time"));
    }
    // What is wrong with the query is said before traces are opened, which may take long.
    let need = session::need(&statements)?;
    let paths = args.events.paths(&paths)?;
    let progress = Progress::new(false, "reading");
    let session = Session::new(args.events.open(&paths, &need)?);
    if args.explain {
        let plans = statements.iter().map(|sql| session.explain(sql)).collect::<Result<Vec<_>>>()?;
        progress.finish();
        let mut out = Output::open(&args, &paths, format)?;
        writeln!(out.writer()?, "{}", plans.join("\n\n")).map_err(|e| Error::output(&e))?;
        return out.done();
    }
    if let (Format::Arrow, [statement]) = (format, &statements[..]) {
        let mut out = Output::open(&args, &paths, format)?;
        let rows = session.write_arrow(statement, out.writer()?)?;
        let notes = session.all_notes()?;
        progress.finish();
        say(&notes);
        out.done()?;
        return found(rows > 0);
    }
    let answers = statements.iter().map(|sql| session.run(sql)).collect::<Result<Vec<_>>>()?;
    // Reading rows is what finds damage, so this is what there is to say.
    let notes = session.all_notes()?;
    progress.finish();
    say(&notes);
    if format == Format::Table && args.output.is_none() {
        let terminal = args.screen.text(true);
        let mut lines = terminal.lines(args.screen.open(true));
        output::write(&mut lines, &answers, format, &notes, terminal.width.is_some())?;
        screen::written(lines.flush())?;
    } else {
        let mut out = Output::open(&args, &paths, format)?;
        output::write(out.writer()?, &answers, format, &notes, false)?;
        out.done()?;
    }
    found(answers.iter().any(|answer| answer.height() > 0))
}

fn found(rows: bool) -> Result<()> {
    if rows { Ok(()) } else { Err(Error::nothing("the query gives no rows")) }
}

/// Endings of file names that say what is to be written.
const ENDINGS: &[(&str, Format)] = &[
    ("csv", Format::Csv),
    ("tsv", Format::Tsv),
    ("json", Format::Json),
    ("jsonl", Format::Jsonl),
    ("ndjson", Format::Jsonl),
    ("md", Format::Markdown),
    ("parquet", Format::Parquet),
    ("arrow", Format::Arrow),
    ("txt", Format::Table),
];

/// Which arguments are traces and which are queries. What exists is a trace, whatever it is called.
fn sort_arguments(arguments: &[PathBuf]) -> Result<(Vec<PathBuf>, Vec<String>)> {
    let (mut paths, mut queries) = (Vec::new(), Vec::new());
    for argument in arguments {
        let text = argument.to_str().filter(|_| argument.symlink_metadata().is_err());
        let Some(text) = text else {
            paths.push(argument.clone());
            continue;
        };
        if let Some(file) = text.strip_prefix('@') {
            queries.push(read_query(Path::new(file))?);
        } else if refuse::looks_like_sql(text) || commands::find(text).is_some() {
            queries.push(text.to_owned());
        } else if text.contains(char::is_whitespace) && inputs::expand(std::slice::from_ref(argument)).is_err() {
            return Err(Error::at(argument, "no such file, and not a query either")
                .remedy("a query begins with SELECT or WITH"));
        } else {
            paths.push(argument.clone());
        }
    }
    Ok((paths, queries))
}

/// Longest query that is read: a file named by mistake is most likely a trace.
const LONGEST_QUERY: u64 = 1 << 20;

fn read_query(file: &Path) -> Result<String> {
    let mut bytes = Vec::new();
    let read = |from: &mut dyn io::Read, bytes: &mut Vec<u8>| from.take(LONGEST_QUERY + 1).read_to_end(bytes);
    if file == Path::new("-") {
        read(&mut io::stdin().lock(), &mut bytes)
            .map_err(|e| Error::new(format!("the standard input cannot be read: {e}")))?;
    } else {
        let opened = File::open(file).map_err(|e| Error::at(file, format_args!("the query cannot be read: {e}")));
        read(&mut opened?, &mut bytes)
            .map_err(|e| Error::at(file, format_args!("the query cannot be read: {e}")))?;
    }
    if bytes.len() as u64 > LONGEST_QUERY {
        return Err(Error::at(file, "longer than any query").remedy("name a file of SQL"));
    }
    let text = String::from_utf8(bytes).map_err(|_| Error::at(file, "not a query: it is not UTF-8 text"))?;
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

/// Where an answer goes. A file gets its name when it is whole.
struct Output {
    pending: Pending,
    destination: Destination,
}

impl Output {
    fn open(args: &Args, paths: &[PathBuf], format: Format) -> Result<Output> {
        // Paths that lead nowhere are no traces to be kept.
        let files = inputs::expand(paths).unwrap_or_default().into_iter().map(|file| file.path);
        let sources: Vec<PathBuf> = files.chain(args.events.logs()).chain(args.file.clone()).collect();
        let (pending, destination) = Pending::open(&Request {
            path: args.output.as_deref().unwrap_or(Path::new("-")),
            shape: Shape::Stream,
            binary: format.is_binary(),
            replace: Replace::Files,
            sources: &sources,
        })?;
        Ok(Output { pending, destination })
    }

    fn writer(&mut self) -> Result<&mut (dyn Write + Send)> {
        self.destination.stream()
    }

    fn done(self) -> Result<()> {
        self.pending.finish(self.destination).map(drop)
    }
}
