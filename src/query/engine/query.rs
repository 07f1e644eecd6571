//! A whole query: WITH, set operations, ORDER BY and LIMIT, around one SELECT or several.

use super::column::{Column, SqlType};
use super::evaluate::Scope;
use super::keys;
use super::problem::{Problem, Result};
use super::relation::Relation;
use super::select::{self, order_keys, ordinal, sort_keys};
use super::{Engine, Outer, Tables, from, walk};
use sqlparser::ast::{Expr, LimitClause, Query, SetExpr, SetOperator, SetQuantifier, Value as Literal, With};
use std::cell::Cell;

/// How often the recursive part of WITH RECURSIVE may run.
const MOST_STEPS: usize = 100_000;

/// The answer to a query.
///
/// # Errors
/// Fails if the query names something that does not exist, uses values of a wrong kind, or needs a part of SQL that
/// this engine does not have.
pub fn query(engine: &Engine, query: &Query, tables: &Tables, outer: Option<&Outer>) -> Result<Relation> {
    let _level = engine.enter()?;
    let with;
    let tables = match &query.with {
        None => tables,
        Some(clause) => {
            with = with_tables(engine, clause, tables, outer)?;
            &with
        }
    };
    let unusual = [
        (!query.locks.is_empty(), "FOR UPDATE"),
        (query.for_clause.is_some(), "FOR"),
        (query.settings.is_some(), "SETTINGS"),
        (query.format_clause.is_some(), "FORMAT; write --format"),
        (!query.pipe_operators.is_empty(), "|>"),
    ];
    if let Some((_, what)) = unusual.iter().find(|(there, _)| *there) {
        return Problem::unsupported(*what);
    }
    let window = Limits::new(engine, tables, query)?;
    let order = query.order_by.as_ref();
    if let SetExpr::Select(select) = &*query.body {
        return select::run(engine, select, order, window, tables, outer);
    }
    let relation = set(engine, &query.body, tables, outer)?;
    let Some(order) = order else { return Ok(window.of(relation)) };
    let keys = order_keys(order, &relation)?;
    let depth = Cell::new(0);
    let scope = Scope::new(engine, tables, &relation, outer, &depth);
    let columns =
        keys.iter().map(|key| output_key(&key.expr, &relation, &scope)).collect::<Result<Vec<Column>>>()?;
    let index = keys::order(&sort_keys(&keys, &columns), relation.rows, window.reach());
    Ok(window.of(relation.take(index)))
}

/// LIMIT and OFFSET.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    skip: usize,
    take: Option<usize>,
}

impl Limits {
    fn new(engine: &Engine, tables: &Tables, query: &Query) -> Result<Limits> {
        let (unit, depth) = (Relation::unit(), Cell::new(0));
        let count = |expression: &Expr, what: &str| -> Result<Option<usize>> {
            let scope = Scope::new(engine, tables, &unit, None, &depth);
            let value = scope.evaluate(expression)?;
            if value.kind == SqlType::Null {
                return Ok(None);
            }
            // `1e6` is a whole number to whoever types it.
            let whole =
                |number: f64| (number >= 0.0 && number.fract() == 0.0 && number < 1e18).then_some(number as usize);
            let given = match value.as_ints() {
                Ok(values) => usize::try_from(values[0]).ok(),
                Err(_) => value.as_floats().ok().and_then(|values| whole(values[0])),
            };
            match given {
                Some(count) => Ok(Some(count)),
                None => Problem::wrong(format!("{what} needs a whole number, 0 or more")),
            }
        };
        let mut limits = Limits::default();
        match &query.limit_clause {
            None => {}
            Some(LimitClause::LimitOffset { limit, offset, limit_by }) => {
                if !limit_by.is_empty() {
                    return Problem::unsupported("LIMIT … BY");
                }
                limits.take = limit.as_ref().map(|limit| count(limit, "LIMIT")).transpose()?.flatten();
                let offset = offset.as_ref().map(|offset| count(&offset.value, "OFFSET")).transpose()?;
                limits.skip = offset.flatten().unwrap_or(0);
            }
            Some(LimitClause::OffsetCommaLimit { offset, limit }) => {
                limits = Limits { skip: count(offset, "OFFSET")?.unwrap_or(0), take: count(limit, "LIMIT")? };
            }
        }
        if let Some(fetch) = &query.fetch {
            if fetch.with_ties || fetch.percent {
                return Problem::unsupported("FETCH with PERCENT or WITH TIES");
            }
            let rows = fetch.quantity.as_ref().map_or(Ok(Some(1)), |quantity| count(quantity, "FETCH"))?;
            limits.take = rows.or(limits.take);
        }
        Ok(limits)
    }

    /// How many rows, from the first on, are needed.
    pub fn reach(self) -> Option<usize> {
        self.take.map(|take| take.saturating_add(self.skip))
    }

    /// The rows that are left.
    pub fn of(self, relation: Relation) -> Relation {
        let from = self.skip.min(relation.rows);
        let to = self.reach().unwrap_or(relation.rows).min(relation.rows);
        if from == 0 && to == relation.rows { relation } else { relation.take((from as u32..to as u32).collect()) }
    }
}

/// The tables that WITH defines, each for those behind it too.
fn with_tables(engine: &Engine, with: &With, tables: &Tables, outer: Option<&Outer>) -> Result<Tables> {
    let mut all = tables.clone();
    for cte in &with.cte_tables {
        let name = &cte.alias.name.value;
        let columns: Vec<&str> = cte.alias.columns.iter().map(|column| column.name.value.as_str()).collect();
        let relation = match recursive_parts(with.recursive, name, &cte.query) {
            Some((first, all_rows, next)) => recursive(engine, name, &columns, first, next, all_rows, &all, outer)?,
            None => with_names(self::query(engine, &cte.query, &all, outer)?, name, &columns)?,
        };
        all.define(name, relation);
    }
    Ok(all)
}

fn with_names(relation: Relation, table: &str, columns: &[&str]) -> Result<Relation> {
    let mut relation = relation.renamed(table);
    if columns.len() > relation.fields.len() {
        return Problem::wrong(format!(
            "{table} names {} columns and has {}",
            columns.len(),
            relation.fields.len()
        ));
    }
    relation.fields.iter_mut().zip(columns).for_each(|(field, name)| field.name = (*name).into());
    Ok(relation)
}

/// The first part of a recursive query, whether equal rows are kept, and the part that sees the rows before it.
fn recursive_parts<'q>(recursive: bool, name: &str, query: &'q Query) -> Option<(&'q SetExpr, bool, &'q SetExpr)> {
    let SetExpr::SetOperation { left, op: SetOperator::Union, set_quantifier, right } = &*query.body else {
        return None;
    };
    let names_itself = walk::Named::of_set(right).tables.iter().any(|own| own.eq_ignore_ascii_case(name));
    (recursive && names_itself).then_some((&**left, *set_quantifier == SetQuantifier::All, &**right))
}

#[allow(clippy::too_many_arguments)]
fn recursive(
    engine: &Engine,
    name: &str,
    columns: &[&str],
    first: &SetExpr,
    next: &SetExpr,
    all_rows: bool,
    tables: &Tables,
    outer: Option<&Outer>,
) -> Result<Relation> {
    let unique = |relation: Relation| if all_rows { Ok(relation) } else { distinct(&relation) };
    let mut total = unique(with_names(set(engine, first, tables, outer)?, name, columns)?)?;
    let names: Vec<String> = total.fields.iter().map(|field| field.name.to_string()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut fresh = total.clone();
    for _ in 0..MOST_STEPS {
        if fresh.rows == 0 {
            return Ok(total);
        }
        let mut inner = tables.clone();
        inner.define(name, fresh);
        let more = with_names(set(engine, next, &inner, outer)?, name, &names)?;
        if more.fields.len() != total.fields.len() {
            return Problem::wrong(format!("the two parts of {name} have different numbers of columns"));
        }
        let before = total.rows;
        total = unique(Relation::stack(&[total, more.clone()])?)?;
        fresh = if all_rows { more } else { total.take((before as u32..total.rows as u32).collect()) };
    }
    Problem::wrong(format!("{name} does not end: its recursive part ran {MOST_STEPS} times"))
}

/// A SELECT, VALUES, or several of them with UNION and its kin.
fn set(engine: &Engine, expression: &SetExpr, tables: &Tables, outer: Option<&Outer>) -> Result<Relation> {
    let _level = engine.enter()?;
    match expression {
        SetExpr::Select(select) => select::run(engine, select, None, Limits::default(), tables, outer),
        SetExpr::Query(inner) => query(engine, inner, tables, outer),
        SetExpr::Values(values) => {
            let rows: Vec<&[Expr]> = values.rows.iter().map(|row| &row.content[..]).collect();
            from::values(engine, tables, outer, &rows)
        }
        SetExpr::Table(table) => {
            let name = table.table_name.clone().unwrap_or_default();
            match (tables.find(&name), engine.catalog.table(&name)) {
                (Some(relation), _) => Ok(relation),
                (None, Some(table)) => Relation::of_table(&table, &name),
                (None, None) => Err(Problem::UnknownTable(name)),
            }
        }
        SetExpr::SetOperation { left, op, set_quantifier, right } => {
            let all = match set_quantifier {
                SetQuantifier::All => true,
                SetQuantifier::Distinct | SetQuantifier::None => false,
                other => return Problem::unsupported(format!("{op} {other}")),
            };
            let (left, right) = (set(engine, left, tables, outer)?, set(engine, right, tables, outer)?);
            combine(*op, all, left, right)
        }
        other => Problem::wrong(format!("{} is not a query", super::literals::short(&other.to_string()))),
    }
}

fn combine(op: SetOperator, all: bool, left: Relation, right: Relation) -> Result<Relation> {
    let visible = |mut relation: Relation| {
        relation.fields.retain(|field| !field.hidden);
        relation
    };
    let (left, right) = (visible(left), visible(right));
    if left.fields.len() != right.fields.len() {
        return Problem::wrong(format!(
            "the two sides of {op} have {} and {} columns",
            left.fields.len(),
            right.fields.len()
        ));
    }
    let both = Relation::stack(&[left.clone(), right.clone()])?;
    if op == SetOperator::Union {
        return if all { Ok(both) } else { distinct(&both) };
    }
    let columns = both.fields.iter().map(|field| field.data.get()).collect::<Result<Vec<_>>>()?;
    let groups = keys::groups(&columns.iter().map(|c| &**c).collect::<Vec<_>>(), both.rows);
    // How often each row is on the right, and how often it may still be taken.
    let mut counts = vec![0_usize; groups.len()];
    groups.of[left.rows..].iter().for_each(|&group| counts[group as usize] += 1);
    let is_in = op == SetOperator::Intersect;
    let mut taken = vec![false; groups.len()];
    let mut index = Vec::new();
    for (row, &group) in groups.of[..left.rows].iter().enumerate() {
        let count = &mut counts[group as usize];
        let keep = match (is_in, all) {
            (true, true) => *count > 0,
            (false, true) => *count == 0,
            (is_in, false) => (*count > 0) == is_in && !std::mem::replace(&mut taken[group as usize], true),
        };
        if all {
            *count = count.saturating_sub(1);
        }
        if keep {
            index.push(row as u32);
        }
    }
    Ok(both.take(index))
}

/// Each row once: the first of those that are equal.
fn distinct(relation: &Relation) -> Result<Relation> {
    Ok(relation.filtered(distinct_rows(relation)?))
}

/// The first of all rows that are equal.
///
/// # Errors
/// Fails if a column cannot be read from its file.
pub fn distinct_rows(relation: &Relation) -> Result<Vec<u32>> {
    let columns = relation.fields.iter().map(|field| field.data.get()).collect::<Result<Vec<_>>>()?;
    let groups = keys::groups(&columns.iter().map(|c| &**c).collect::<Vec<_>>(), relation.rows);
    Ok(groups.first)
}

/// The same behind UNION and its kin, where there are columns of the answer alone.
fn output_key(key: &Expr, relation: &Relation, scope: &Scope) -> Result<Column> {
    match key {
        Expr::Value(value) if matches!(value.value, Literal::Number(..)) => {
            Ok(Column::clone(&*relation.fields[ordinal(key, relation.fields.len())?].data.get()?))
        }
        _ => scope.evaluate(key),
    }
}
