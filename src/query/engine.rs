//! SQL over columns: parsed by sqlparser, run by us.
//!
//! A query goes one way: [`parse`] → `query` (WITH, set operations) → `select` (one SELECT after the other) → `from` (tables,
//! `joins`, conditions as early as they can be applied) → [`keys`] (groups) → `evaluate` (every expression, over
//! rows or groups: `operators`, [`functions`], [`aggregates`], [`windows`], `subqueries`) → a
//! [`relation::Relation`]. A column is read or gathered when something asks for it, and only then.
//!
//! Everything comes in the order of its input: groups in the order of their first rows, joins in the order of the left
//! side. Integers that do not fit into 64 bits are an error and never wrap.

pub mod aggregates;
pub mod column;
pub mod dictionary;
mod evaluate;
mod from;
pub mod functions;
mod joins;
pub mod keys;
mod literals;
mod operators;
pub mod parse;
pub mod problem;
mod query;
pub mod relation;
mod select;
mod subqueries;
#[cfg(test)]
mod tests;
pub mod walk;
pub mod windows;

use column::{Column, SqlType, Value};
use evaluate::Scope;
use problem::{Problem, Result};
use relation::{Relation, Table};
use sqlparser::ast::{Expr, Query};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;

/// How deep queries may stand in each other.
const DEEPEST: u32 = 40;

/// Stack for the deepest statement that [`parse`] lets through; only what is used of it takes memory.
const STACK_BYTES: usize = 256 << 20;

/// Does `work` on a thread whose stack is large enough for every statement: reading, answering and dropping it.
///
/// # Errors
/// Fails if no thread can be started.
pub fn on_deep_stack<T: Send>(work: impl FnOnce() -> T + Send) -> std::io::Result<T> {
    std::thread::scope(|scope| {
        let worker = std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, work)?;
        Ok(worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}

/// Where tables come from.
pub trait Catalog {
    /// The table or view of a name, in any case.
    fn table(&self, name: &str) -> Option<Arc<dyn Table>>;
}

/// Runs queries over the tables of a catalog.
pub struct Engine<'c> {
    catalog: &'c dyn Catalog,
    depth: Cell<u32>,
}

/// Counts a query as left when it ends.
struct Level<'e>(&'e Cell<u32>);

impl Drop for Level<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get().saturating_sub(1));
    }
}

impl<'c> Engine<'c> {
    /// Over `catalog`.
    pub fn new(catalog: &'c dyn Catalog) -> Engine<'c> {
        Engine { catalog, depth: Cell::new(0) }
    }

    /// The answer to a query.
    ///
    /// # Errors
    /// Fails if the query names something that does not exist, uses values of a wrong kind, or needs a part of SQL that
    /// this engine does not have.
    pub fn run(&self, query: &Query) -> Result<Relation> {
        self.query(query, &Tables::default(), None)
    }

    fn query(&self, query: &Query, tables: &Tables, outer: Option<&Outer>) -> Result<Relation> {
        query::query(self, query, tables, outer)
    }

    fn enter(&self) -> Result<Level<'_>> {
        self.depth.set(self.depth.get() + 1);
        let level = Level(&self.depth);
        if self.depth.get() > DEEPEST { Err(Problem::Depth) } else { Ok(level) }
    }
}

/// Tables that WITH has defined, by name in small letters.
#[derive(Clone, Default)]
pub struct Tables(HashMap<String, Relation>);

impl Tables {
    fn find(&self, name: &str) -> Option<Relation> {
        self.0.get(&name.to_lowercase()).cloned()
    }

    fn define(&mut self, name: &str, relation: Relation) {
        self.0.insert(name.to_lowercase(), relation);
    }
}

/// One row of the query around a subquery, and what the subquery names of it.
pub struct Outer<'q> {
    scope: &'q Scope<'q>,
    /// `None`: the query around has no rows, and every value is NULL.
    row: Option<usize>,
    names: RefCell<Vec<(Expr, Column)>>,
}

impl<'q> Outer<'q> {
    fn new(scope: &'q Scope<'q>, row: Option<usize>) -> Outer<'q> {
        Outer { scope, row, names: RefCell::new(Vec::new()) }
    }

    /// The value of a name in this row.
    fn value(&self, name: &Expr) -> Result<Column> {
        let known = self.names.borrow().iter().find(|(own, _)| own == name).map(|(_, column)| column.clone());
        let column = match known {
            Some(column) => column,
            None => {
                let column = self.scope.full(name)?;
                self.names.borrow_mut().push((name.clone(), column.clone()));
                column
            }
        };
        match self.row {
            Some(row) => {
                let kind = column.kind;
                let value = Column::constant(column.value(row));
                if kind == SqlType::Null || value.kind == SqlType::Null {
                    Column::null().widened(kind)
                } else {
                    Ok(Column { kind, ..value })
                }
            }
            None => Column::constant(Value::Null).widened(column.kind),
        }
    }

    /// The values of all names that were asked for.
    fn names(&self) -> Vec<Column> {
        self.names.borrow().iter().map(|(_, column)| column.clone()).collect()
    }
}
