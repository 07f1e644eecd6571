//! Sources as the engine's tables: read when a query asks for a column, and of them only the columns that it names.

use super::convert;
use super::engine::Catalog;
use super::engine::column::Column;
use super::engine::problem::{Problem, Result};
use super::engine::relation::Table;
use super::engine::walk::Named;
use super::source::{self, Source, SourceColumn, Trace};
use crate::error::Error;
use polars::prelude::DataFrame;
use rayon::prelude::*;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The sources of one trace, as one statement sees them: a source that it names twice is read once.
pub struct Sources {
    trace: Arc<Trace>,
    named: Named,
    open: Mutex<Vec<Arc<Stored>>>,
}

impl Sources {
    /// Makes the sources of a statement that names `named`.
    pub fn new(trace: &Arc<Trace>, named: Named) -> Sources {
        Sources { trace: Arc::clone(trace), named, open: Mutex::default() }
    }
}

impl Catalog for Sources {
    fn table(&self, name: &str) -> Option<Arc<dyn Table>> {
        let source = source::find(name)?;
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = open.iter().find(|stored| stored.source.name() == source.name()) {
            return Some(Arc::clone(known) as Arc<dyn Table>);
        }
        let stored = Arc::new(Stored::new(source, Arc::clone(&self.trace), &self.named));
        open.push(Arc::clone(&stored));
        Some(stored)
    }
}

/// The columns of `source` that a statement names, by their places; all of them where it says `*`.
pub fn wanted(columns: &[SourceColumn], named: &Named) -> Vec<usize> {
    let is_named = |column: &SourceColumn| {
        named.everything || named.columns.iter().any(|n| n.eq_ignore_ascii_case(column.name))
    };
    (0..columns.len()).filter(|&i| is_named(&columns[i])).collect()
}

/// One source, and what was read of it.
struct Stored {
    source: &'static dyn Source,
    trace: Arc<Trace>,
    columns: Vec<SourceColumn>,
    /// Columns that are read together, at the first that is asked for.
    wanted: Vec<usize>,
    together: OnceLock<Result<Read>>,
    /// Columns that are asked for though the statement does not name them.
    alone: Vec<OnceLock<Result<Arc<Column>>>>,
}

/// Some columns of a source, by their places.
struct Read {
    rows: usize,
    columns: Vec<(usize, Arc<Column>)>,
}

impl Stored {
    fn new(source: &'static dyn Source, trace: Arc<Trace>, named: &Named) -> Stored {
        let columns = source.columns();
        let wanted = wanted(&columns, named);
        let alone = columns.iter().map(|_| OnceLock::new()).collect();
        Stored { source, trace, columns, wanted, together: OnceLock::new(), alone }
    }

    fn read(&self, places: &[usize]) -> Result<Read> {
        let names: Vec<&str> = places.iter().map(|&i| self.columns[i].name).collect();
        let (frame, numbered) = self.source.read_numbered(&self.trace, &names).map_err(unreadable)?;
        let frame = select(&frame, &names)?;
        let rows = frame.height();
        // One after the other is let go as soon as it is converted.
        let columns = frame.into_columns().into_par_iter().zip(places.par_iter());
        let columns = columns.map(|(column, &i)| {
            let column = match numbered.iter().find(|numbered| numbered.name == column.name().as_str()) {
                Some(numbered) => convert::from_numbers(&column, &numbered.texts)?,
                None => convert::from_polars(&column)?,
            };
            Ok((i, Arc::new(column)))
        });
        let columns = columns.collect::<Result<_>>()?;
        Ok(Read { rows, columns })
    }

    /// The columns that the statement names. Without any, the first: nothing else says how many rows there are.
    fn together(&self) -> Result<&Read> {
        let some = if self.wanted.is_empty() { &[0][..] } else { &self.wanted };
        self.together.get_or_init(|| self.read(some)).as_ref().map_err(Problem::clone)
    }
}

impl Table for Stored {
    fn columns(&self) -> Vec<String> {
        self.columns.iter().map(|column| column.name.to_owned()).collect()
    }

    fn rows(&self) -> Result<usize> {
        Ok(self.together()?.rows)
    }

    fn column(&self, index: usize) -> Result<Arc<Column>> {
        if let Some((_, column)) = self.together()?.columns.iter().find(|(place, _)| *place == index) {
            return Ok(Arc::clone(column));
        }
        let alone = self.alone[index].get_or_init(|| {
            let mut read = self.read(&[index])?;
            read.columns.pop().map(|(_, column)| column).ok_or_else(|| Problem::Wrong("a column is missing".into()))
        });
        alone.clone()
    }
}

/// `names` of `source`, in that order.
///
/// # Errors
/// Fails if a part of a file cannot be read.
pub fn frame(source: &dyn Source, trace: &Trace, names: &[&str]) -> Result<DataFrame> {
    select(&source.read(trace, names).map_err(unreadable)?, names)
}

fn unreadable(error: Error) -> Problem {
    Problem::Read(Box::new(error))
}

fn select(frame: &DataFrame, names: &[&str]) -> Result<DataFrame> {
    frame.select(names.iter().copied()).map_err(|e| Problem::Wrong(e.to_string()))
}
