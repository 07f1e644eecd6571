//! The prompt: lines until a semicolon, history, completion.

use super::commands::{self, Command};
use super::completion;
use crate::cli::report::say;
use crate::cli::row_arguments::Events;
use crate::error::{Error, Result};
use crate::query::lexer;
use crate::query::output::{self, Format};
use crate::query::session::Session;
use crate::render::terminal_text::TerminalText;
use crate::trace::sink::Need;
use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::Validator;
use rustyline::{CompletionType, Config, Context, Editor, Helper};
use std::cell::RefCell;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Rows of one answer that are shown; a terminal shows fewer, and SQL has LIMIT.
const MOST_ROWS: usize = 1000;

/// Queries that are kept.
const HISTORY: usize = 1000;

/// Completes from what the statement has so far.
struct Words {
    /// Lines of the statement before the current one.
    before: Rc<RefCell<String>>,
}

impl Completer for Words {
    type Candidate = String;

    fn complete(&self, line: &str, cursor: usize, _: &Context) -> rustyline::Result<(usize, Vec<String>)> {
        Ok(completion::complete(&self.before.borrow(), line.get(..cursor).unwrap_or(line)))
    }
}

impl Hinter for Words {
    type Hint = String;
}
impl Highlighter for Words {}
impl Validator for Words {}
impl Helper for Words {}

/// Where queries are kept; nowhere without a home.
fn history_file() -> Option<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")))?;
    Some(state.join("gpuprof/query_history"))
}

/// Opens the traces and answers what is typed, until the end of input.
///
/// # Errors
/// Fails if a path holds no trace, or if the terminal cannot be read.
pub fn run(events: &Events, paths: &[PathBuf], format: Format, wide: bool) -> Result<()> {
    let session = Session::new(events.open(paths, &Need::all())?);
    say(&session.notes());
    let failed = |e: ReadlineError| Error::new(format!("the terminal cannot be read: {e}"));
    let config =
        Config::builder().completion_type(CompletionType::List).max_history_size(HISTORY).map_err(failed)?;
    let mut editor: Editor<Words, FileHistory> = Editor::with_config(config.build()).map_err(failed)?;
    // The editor catches SIGINT for as long as it lives; during a query it ends the program, as anywhere else.
    let answering = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register_conditional_default(signal_hook::consts::SIGINT, Arc::clone(&answering))
        .map_err(|e| Error::new(format!("Ctrl+C cannot be set up: {e}")))?;
    let statement = Rc::new(RefCell::new(String::new()));
    editor.set_helper(Some(Words { before: Rc::clone(&statement) }));
    let history = history_file();
    if let Some(file) = &history {
        // There is none yet, or it is not ours to read: queries work all the same.
        let _ = editor.load_history(file);
    }
    println!("{}; .help says what can be typed", describe(&session));
    loop {
        let prompt = if statement.borrow().is_empty() { "gpuprof> " } else { "    ...> " };
        let line = match editor.readline(prompt) {
            Ok(line) => line,
            Err(ReadlineError::Interrupted) => {
                statement.borrow_mut().clear();
                continue;
            }
            Err(ReadlineError::Eof) => return Ok(()),
            Err(error) => return Err(failed(error)),
        };
        let begins = statement.borrow().is_empty();
        if begins && line.trim().is_empty() {
            continue;
        }
        // No line of SQL begins like a command, so one is meant inside a statement too.
        if let Some(command) = commands::typed(&line, begins) {
            remember(&mut editor, history.as_ref(), line.trim());
            if command == Command::Quit {
                return Ok(());
            }
            commands::write(&mut io::stdout().lock(), command).map_err(|e| Error::output(&e))?;
            continue;
        }
        if let Some(said) = commands::unknown(&line).filter(|_| begins) {
            eprintln!("{said}");
            continue;
        }
        let whole = {
            let mut statement = statement.borrow_mut();
            statement.push_str(&line);
            statement.push('\n');
            let (statements, open) = lexer::statements(&statement);
            if open {
                continue;
            }
            let whole = statements.iter().map(|sql| (*sql).to_owned()).collect::<Vec<_>>();
            statement.clear();
            whole
        };
        for sql in whole {
            remember(&mut editor, history.as_ref(), &format!("{};", on_one_line(&sql)));
            answering.store(true, Ordering::SeqCst);
            let outcome = answer(&session, &sql, format, wide);
            answering.store(false, Ordering::SeqCst);
            match outcome {
                Err(error) if error.is_closed_pipe() => return Err(error),
                Err(error) => eprintln!("{error}"),
                Ok(()) => {}
            }
        }
    }
}

/// A statement as one line of history. A line comment would swallow what follows, so such a statement keeps its lines.
fn on_one_line(sql: &str) -> String {
    if sql.contains("--") { sql.to_owned() } else { sql.split('\n').map(str::trim).collect::<Vec<_>>().join(" ") }
}

fn remember(editor: &mut Editor<Words, FileHistory>, file: Option<&PathBuf>, entry: &str) {
    let added = editor.add_history_entry(entry).unwrap_or(false);
    if let Some(file) = file.filter(|_| added) {
        // Written at once: Ctrl+C during a query ends the program. A history that cannot be kept is no reason to stop.
        if let Some(folder) = file.parent() {
            let _ = std::fs::create_dir_all(folder);
        }
        let _ = editor.append_history(file);
    }
}

fn describe(session: &Session) -> String {
    let frames = session.frames();
    let some = |n: usize, one: &str, many: &str| if n == 1 { format!("1 {one}") } else { format!("{n} {many}") };
    let (files, processes) = (frames.files.len(), frames.processes.len());
    format!("{}, {}", some(files, "file", "files"), some(processes, "process", "processes"))
}

fn answer(session: &Session, sql: &str, format: Format, wide: bool) -> Result<()> {
    let answer = session.run(sql)?;
    let rows = answer.height();
    let shown = answer.head(Some(MOST_ROWS));
    let format = if format.is_binary() { Format::Table } else { format };
    // Not locked: a lock stays on its thread, and the writer of Parquet uses all.
    let mut out = io::BufWriter::new(io::stdout());
    let terminal = if format == Format::Table { TerminalText::of_stdout(wide) } else { TerminalText::default() };
    let mut lines = terminal.lines(&mut out);
    output::write(&mut lines, &[shown], format, &[], terminal.width.is_some())?;
    drop(lines);
    let rest = if rows > MOST_ROWS { format!("first {MOST_ROWS} of {rows} rows") } else { format!("{rows} rows") };
    writeln!(out, "{}\n", if rows == 1 { "1 row" } else { &rest }).map_err(|e| Error::output(&e))?;
    out.flush().map_err(|e| Error::output(&e))
}
