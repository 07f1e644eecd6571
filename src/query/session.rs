//! Open traces that answer statements.

use super::arrow::{self, Out};
use super::engine::parse::{self, Asked};
use super::engine::problem::Problem;
use super::engine::relation::Relation;
use super::engine::walk::Named;
use super::engine::{self, Engine};
use super::plain::plain;
use super::scan::{self, Sources};
use super::source::{self, Source, Trace};
use super::{convert, describe, explain, headings, refuse};
use crate::analysis::partial;
use crate::error::{Error, Result};
use crate::trace::frames::Frames;
use crate::trace::guard::guarded;
use crate::trace::sink::{Need, Note};
use polars::prelude::DataFrame;
use std::path::PathBuf;
use std::sync::Arc;
use trace_format::tables;

/// Open traces.
pub struct Session {
    trace: Arc<Trace>,
}

/// A statement, read.
struct Statement {
    asked: Asked,
    /// What it names; nothing for SHOW TABLES.
    named: Named,
    /// The sources among these names.
    sources: Vec<&'static dyn Source>,
}

/// Reads a statement whose rows are asked for.
fn read(text: &str) -> Result<Statement> {
    read_as(text, &headings::named(text))
}

/// Reads `text`, of which the parser sees `written`.
fn read_as(text: &str, written: &str) -> Result<Statement> {
    refuse::check(text)?;
    let asked = parse::statement(written).map_err(|problem| explain::error(problem, text, &[]))?;
    let named = match &asked {
        Asked::Rows(query) | Asked::Plan(query) => Named::of(query),
        Asked::Tables => Named::default(),
    };
    let sources = named.tables.iter().filter_map(|name| source::find(name)).collect();
    Ok(Statement { asked, named, sources })
}

/// What has to be read to answer `statements`: the tables that their sources are made from.
///
/// # Errors
/// Fails if a statement is not a query, or asks for a source that does not exist.
pub fn need(statements: &[&str]) -> Result<Need> {
    let mut need = Need::full(&[]);
    for statement in statements {
        for source in deep(|| Ok(read(statement)?.sources))? {
            need.add(&Need::full(&source.tables()));
        }
    }
    need.operators = need.wants(&tables::RANGE);
    Ok(need)
}

impl Session {
    /// Opens `paths` for what `need` says.
    ///
    /// # Errors
    /// Fails if a path holds no trace.
    pub fn open(paths: &[PathBuf], need: &Need) -> Result<Session> {
        Ok(Session::new(Frames::open(paths, need)?))
    }

    /// Over open traces.
    pub fn new(frames: Frames) -> Session {
        Session { trace: Arc::new(Trace::new(frames)) }
    }

    /// The traces.
    pub fn frames(&self) -> &Frames {
        &self.trace.frames
    }

    /// What is partial, as far as it is known by now.
    pub fn notes(&self) -> Vec<Note> {
        self.frames().all_notes()
    }

    /// As [`Session::notes`], with losses that were recorded; for after an answer, which may have found damage.
    ///
    /// # Errors
    /// Fails if a part of a file cannot be read.
    pub fn all_notes(&self) -> Result<Vec<Note>> {
        let missing = partial::missing(self.frames())?;
        let mut notes = self.notes();
        notes.extend(missing);
        Ok(notes)
    }

    /// The answer to one statement.
    ///
    /// # Errors
    /// Fails if the text is not SQL, if it names something that does not exist, if a statement is not a query, or if a
    /// part of a file cannot be read.
    pub fn run(&self, text: &str) -> Result<DataFrame> {
        deep(|| self.answer_as(text, convert::to_frame))
    }

    /// Writes the answer to one statement as an Arrow file, and counts its rows.
    ///
    /// # Errors
    /// As [`Session::run`], and if `out` cannot be written to.
    pub fn write_arrow(&self, text: &str, out: &mut Out) -> Result<usize> {
        deep(|| {
            if let Some((source, columns)) = plain(text)
                && let Some(rows) = arrow::write_pieces(source, &self.trace, &columns, out)?
            {
                return Ok(rows);
            }
            self.answer_as(text, |answer| arrow::write(answer, out))
        })
    }

    fn answer_as<T>(&self, text: &str, made: impl FnOnce(&Relation) -> engine::problem::Result<T>) -> Result<T> {
        let statement = read(text)?;
        let failed = |problem: Problem| explain::error(problem, text, &statement.sources);
        let answer = match &statement.asked {
            Asked::Rows(query) => {
                let sources = Sources::new(&self.trace, statement.named.clone());
                Engine::new(&sources).run(query).map_err(failed)?
            }
            Asked::Plan(_) => Relation::of_texts("plan", plan(text)?.lines()),
            Asked::Tables => Relation::of_texts("name", source::all().map(Source::name)),
        };
        made(&answer).map_err(failed)
    }

    /// How one statement would be answered, as text for people. Nothing is read.
    ///
    /// # Errors
    /// Fails if the text is not SQL, or if it names a table that does not exist.
    pub fn explain(&self, text: &str) -> Result<String> {
        deep(|| plan(text))
    }
}

/// As the statement is written: without the names that answers have.
fn plan(text: &str) -> Result<String> {
    let statement = read_as(text, text)?;
    match &statement.asked {
        Asked::Rows(query) | Asked::Plan(query) => Ok(describe::plan(query, &statement.named)),
        Asked::Tables => Ok("the names of all tables and views\n".to_owned()),
    }
}

/// Statements are read, answered and dropped on a stack of their own; a fault of the engine or of a decoder ends the
/// statement, and not the prompt that it was typed at.
fn deep<T: Send>(work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    let cannot = |why: String| Error::new(format!("the query cannot be answered: {why}"));
    match engine::on_deep_stack(|| guarded(work)) {
        Ok(Ok(answer)) => answer,
        Ok(Err(panic)) => Err(cannot(panic)),
        Err(e) => Err(cannot(format!("no thread can be started: {e}"))),
    }
}

/// Reads every row of one source, for tests and documents.
///
/// # Errors
/// Fails if a part of a file cannot be read.
pub fn rows(session: &Session, source: &dyn Source) -> Result<DataFrame> {
    let names: Vec<&str> = source.columns().iter().map(|c| c.name).collect();
    scan::frame(source, &session.trace, &names).map_err(|problem| explain::error(problem, "", &[]))
}
