//! Open traces that answer statements.

use super::source::{self, Source, Trace};
use super::{explain, headings, lexer, plan, refuse, scan};
use crate::analysis::partial;
use crate::error::{Error, Result};
use crate::trace::frames::Frames;
use crate::trace::sink::{Need, Note};
use polars::prelude::*;
use polars::sql::{SQLContext, extract_table_identifiers};
use std::path::PathBuf;
use std::sync::Arc;
use trace_format::tables;

/// Open traces.
pub struct Session {
    trace: Arc<Trace>,
}

/// What has to be read to answer `statements`: the tables that their sources are made from.
///
/// # Errors
/// A statement that is no query, or that asks for a source there is none of.
pub fn need(statements: &[&str]) -> Result<Need> {
    let mut need = Need::full(&[]);
    for statement in statements {
        refuse::check(statement)?;
        for source in sources(statement)? {
            need.add(&Need::full(&source.tables()));
        }
    }
    need.operators = need.wants(&tables::RANGE);
    Ok(need)
}

/// The sources that a statement names.
fn sources(statement: &str) -> Result<Vec<&'static dyn Source>> {
    let named =
        extract_table_identifiers(statement, false, true).map_err(|e| explain::error(&e, statement, &[]))?;
    let mut sources: Vec<&'static dyn Source> = named.iter().filter_map(|name| source::find(name)).collect();
    if sources.is_empty() && lexer::tokens(statement).first().is_some_and(|t| t.is("SHOW")) {
        sources = source::all().collect();
    }
    Ok(sources)
}

impl Session {
    /// Opens `paths` for what `need` says.
    ///
    /// # Errors
    /// Paths that hold no trace.
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
    /// A part of a file that cannot be read.
    pub fn all_notes(&self) -> Result<Vec<Note>> {
        let losses = partial::losses(self.frames())?;
        let mut notes = self.notes();
        notes.extend(losses);
        Ok(notes)
    }

    /// The plan of one statement, nothing read yet.
    ///
    /// # Errors
    /// What SQL allows and Polars does not, names that there are none of, statements that are no query.
    fn plan(&self, statement: &str) -> Result<LazyFrame> {
        refuse::check(statement)?;
        let sources = sources(statement)?;
        let failed = |e: PolarsError| explain::error(&e, statement, &sources);
        let mut context = SQLContext::new();
        for &source in &sources {
            context.register(source.name(), scan::lazy(source, &self.trace).map_err(failed)?);
        }
        // Polars panics on some statements that its parser lets through.
        let planned = crate::trace::guard::guarded(|| context.execute(&headings::named(statement)));
        let frame = planned.unwrap_or_else(|panic| Err(polars_err!(SQLInterface: "{panic}"))).map_err(failed)?;
        Ok(plan::settled(frame))
    }

    /// The answer to one statement.
    ///
    /// # Errors
    /// As [`Session::explain`], and parts of files that cannot be read.
    pub fn run(&self, statement: &str) -> Result<DataFrame> {
        let plan = self.plan(statement)?;
        let collected = crate::trace::guard::guarded(|| plan.collect());
        let collected = collected.unwrap_or_else(|panic| Err(polars_err!(ComputeError: "{panic}")));
        let sources = sources(statement)?;
        collected.map_err(|e| explain::error(&e, statement, &sources))
    }

    /// How one statement would be answered: Polars' plan, optimised, as text.
    ///
    /// # Errors
    /// What SQL allows and Polars does not, names that there are none of, statements that are no query.
    pub fn explain(&self, statement: &str) -> Result<String> {
        let sources = sources(statement)?;
        let plan = self.plan(statement)?;
        plan.describe_optimized_plan().map_err(|e| explain::error(&e, statement, &sources))
    }
}

/// Reads every row of one source, for tests and documents.
///
/// # Errors
/// A part of a file that cannot be read.
pub fn rows(session: &Session, source: &dyn Source) -> Result<DataFrame> {
    let names: Vec<&str> = source.columns().iter().map(|c| c.name).collect();
    scan::columns(source, &session.trace, &names).map_err(|e| Error::new(e.to_string()))
}
