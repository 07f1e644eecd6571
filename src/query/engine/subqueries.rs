//! Subqueries in expressions: one value, EXISTS and IN.
//!
//! A subquery that names nothing of the query around it runs once. One that does is, where an equality ties the two
//! together, answered for all rows by one join; else it runs once for each distinct combination of what it names.

use super::column::{self, Column, NO_ROW, SqlType, Value};
use super::evaluate::{Grouped, Scope};
use super::keys::{self, Groups};
use super::problem::{Problem, Result};
use super::relation::Relation;
use super::{Outer, select, walk};
use sqlparser::ast::{BinaryOperator, Expr, GroupByExpr, Query, SelectItem, SetExpr};
use std::cell::Cell;

/// How often one subquery may run, once for each combination of what it names.
const MOST_RUNS: usize = 20_000;

/// The one value of a subquery.
///
/// # Errors
/// Fails if the subquery has more than one row, or does not have exactly one column.
pub fn scalar(scope: &Scope, query: &Query) -> Result<Column> {
    if let Some(column) = tied_aggregate(scope, query)? {
        return Ok(column);
    }
    each(scope, query, &|relation| {
        let [field] = &relation.fields[..] else {
            return Problem::wrong(format!(
                "a subquery that stands for a value has 1 column, not {}",
                relation.fields.len()
            ));
        };
        match relation.rows {
            0 => Column::null().widened(field.data.get()?.kind),
            1 => Ok(Column::constant(field.data.get()?.value(0))),
            rows => Problem::wrong(format!(
                "a subquery that stands for a value has 1 row, not {rows}; add LIMIT 1, or an aggregate"
            )),
        }
    })
}

/// Whether a subquery has rows.
///
/// # Errors
/// Fails as [`Scope::evaluate`] does.
pub fn exists(scope: &Scope, query: &Query) -> Result<Column> {
    if let Some(tie) = tie(scope, query, None)? {
        let (outer, inner, count) = tie.codes(scope)?;
        let there = members(&inner, count);
        let values = outer.iter().map(|&code| code != NO_ROW && there[code as usize]).collect();
        return Ok(Column::bools(values, None));
    }
    each(scope, query, &|relation| Ok(Column::constant(Value::Bool(relation.rows > 0))))
}

/// `value IN (query)`: unknown where it is not found and a NULL may have been it.
///
/// # Errors
/// Fails as [`Scope::evaluate`] does.
pub fn is_in(scope: &Scope, value: &Expr, query: &Query) -> Result<Column> {
    let value = scope.evaluate(value)?;
    if let Some(tie) = tie(scope, query, Some(&value))?
        && tie.without_nulls()
    {
        let (outer, inner, count) = tie.codes(scope)?;
        let there = members(&inner, count);
        let values = outer.iter().map(|&code| code != NO_ROW && there[code as usize]).collect();
        return Ok(Column::bools(values, None));
    }
    let rows = scope.rows();
    let run = Run::new(scope, query)?;
    let mut parts = Vec::new();
    for (relation, members) in run.answers(scope, query)? {
        let [field] = &relation.fields[..] else {
            return Problem::wrong(format!("a subquery behind IN has 1 column, not {}", relation.fields.len()));
        };
        let among = field.data.get()?;
        let asked = match &members {
            Some(members) => value.take(members),
            None => value.full(rows).into_owned(),
        };
        let n = members.as_ref().map_or(rows, Vec::len);
        parts.push((membership(&asked, n, &among, relation.rows)?, members));
    }
    gathered(parts, rows)
}

/// Whether each of `rows` values is one of `among`; unknown where it is not and a NULL may have been it.
///
/// # Errors
/// Fails if `value` is text and `among` holds numbers, or the other way round.
pub fn membership(value: &Column, rows: usize, among: &Column, among_rows: usize) -> Result<Column> {
    if among_rows == 0 {
        return Ok(Column::bools(vec![false; rows], None));
    }
    let (left, right, count) = keys::joint(&[value], rows, &[among], among_rows)?;
    let there = members(&right, count);
    let has_null = among.kind == SqlType::Null || right.contains(&u32::MAX);
    let found: Vec<bool> = left.iter().map(|&code| code != u32::MAX && there[code as usize]).collect();
    let valid = left.iter().zip(&found).map(|(&code, &found)| found || (code != u32::MAX && !has_null)).collect();
    Ok(Column::bools(found, None).with_valid(Some(valid)))
}

fn members(codes: &[u32], count: usize) -> Vec<bool> {
    let mut there = vec![false; count];
    codes.iter().filter(|&&code| code != u32::MAX).for_each(|&code| there[code as usize] = true);
    there
}

/// The answers of a subquery, each with the rows that it is for; `None` for all.
struct Run {
    first: Relation,
    /// What the subquery names of the query around it.
    names: Vec<Column>,
}

impl Run {
    fn new(scope: &Scope, query: &Query) -> Result<Run> {
        let outer = Outer::new(scope, if scope.rows() == 0 { None } else { Some(0) });
        let first = scope.engine.query(query, scope.tables, Some(&outer))?;
        Ok(Run { first, names: outer.names() })
    }

    fn answers(self, scope: &Scope, query: &Query) -> Result<Vec<(Relation, Option<Vec<u32>>)>> {
        let rows = scope.rows();
        if self.names.is_empty() || rows == 0 {
            return Ok(vec![(self.first, None)]);
        }
        let groups = keys::groups(&self.names.iter().collect::<Vec<_>>(), rows);
        if groups.len() > MOST_RUNS {
            return Problem::wrong(format!(
                "a subquery that depends on each of {} rows would run for hours; join instead, or tie it to the outer \
                 query by an equality",
                groups.len()
            ));
        }
        let mut of: Vec<Vec<u32>> = vec![Vec::new(); groups.len()];
        groups.of.iter().enumerate().for_each(|(row, &group)| of[group as usize].push(row as u32));
        let mut out = Vec::with_capacity(of.len());
        for (rows, &first) in of.into_iter().zip(&groups.first) {
            let answer = match first {
                0 => self.first.clone(),
                row => scope.engine.query(query, scope.tables, Some(&Outer::new(scope, Some(row as usize))))?,
            };
            out.push((answer, Some(rows)));
        }
        Ok(out)
    }
}

/// A value for each answer of a subquery, spread over the rows that it is for.
fn each(scope: &Scope, query: &Query, of: &dyn Fn(&Relation) -> Result<Column>) -> Result<Column> {
    let answers = Run::new(scope, query)?.answers(scope, query)?;
    let parts = answers.into_iter().map(|(relation, rows)| Ok((of(&relation)?, rows)));
    gathered(parts.collect::<Result<_>>()?, scope.rows())
}

fn gathered(mut parts: Vec<(Column, Option<Vec<u32>>)>, rows: usize) -> Result<Column> {
    if let [(_, None)] = &parts[..] {
        return Ok(parts.remove(0).0);
    }
    let lengths: Vec<usize> = parts.iter().map(|(_, of)| of.as_ref().map_or(0, Vec::len)).collect();
    let both: Vec<(&Column, usize)> = parts.iter().map(|(column, _)| column).zip(lengths).collect();
    let stacked = column::concat(&both)?;
    let mut index = vec![NO_ROW; rows];
    for (at, &row) in parts.iter().flat_map(|(_, of)| of.iter().flatten()).enumerate() {
        index[row as usize] = at as u32;
    }
    Ok(stacked.take(&index))
}

/// A subquery whose only ties to the query around it are equalities.
struct Tie {
    /// The rows of the subquery, filtered by its other conditions.
    inner: Relation,
    /// Keys, of the outer rows and of these.
    outer_keys: Vec<Column>,
    inner_keys: Vec<Column>,
}

impl Tie {
    fn codes(&self, scope: &Scope) -> Result<(Vec<u32>, Vec<u32>, usize)> {
        let (outer, inner): (Vec<&Column>, Vec<&Column>) =
            (self.outer_keys.iter().collect(), self.inner_keys.iter().collect());
        keys::joint(&outer, scope.rows(), &inner, self.inner.rows)
    }

    /// Whether all keys have values, so that nothing is unknown.
    fn without_nulls(&self) -> bool {
        self.outer_keys.iter().chain(&self.inner_keys).all(|key| key.kind != SqlType::Null && key.valid.is_none())
    }
}

/// How `query` is tied to `scope`: `None` where it is not, or in another way than by equalities. With `value`, the only
/// column of the subquery is one more key, beside it.
fn tie(scope: &Scope, query: &Query, value: Option<&Column>) -> Result<Option<Tie>> {
    let SetExpr::Select(select) = &*query.body else { return Ok(None) };
    let plain = query.with.is_none() && query.limit_clause.is_none() && query.fetch.is_none();
    let grouped = !matches!(&select.group_by, GroupByExpr::Expressions(keys, _) if keys.is_empty());
    let items: Vec<&Expr> = select
        .projection
        .iter()
        .filter_map(|item| match item {
            SelectItem::UnnamedExpr(e) | SelectItem::ExprWithAlias { expr: e, .. } => Some(e),
            _ => None,
        })
        .collect();
    let special = |e: &Expr| walk::is_aggregate(e) || walk::is_window(e) || walk::is_subquery(e);
    let unusual = select.having.is_some() || select.qualify.is_some() || select.from.is_empty();
    if !plain || grouped || unusual || items.iter().any(|item| walk::any(item, &special)) {
        return Ok(None);
    }
    let Some(condition) = &select.selection else { return Ok(None) };
    let Some(mut tie) = tied_rows(scope, select, condition)? else { return Ok(None) };
    if let Some(value) = value {
        let [item] = items[..] else { return Ok(None) };
        let depth = Cell::new(0);
        if !inside(item, &tie.inner)? {
            return Ok(None);
        }
        let own = select::plain_scope(scope, &tie.inner, &depth).full(item)?;
        tie.inner_keys.push(own);
        tie.outer_keys.push(value.full(scope.rows()).into_owned());
    }
    Ok(Some(tie))
}

/// Whether all names in `expression` are columns of `relation`.
fn inside(expression: &Expr, relation: &Relation) -> Result<bool> {
    for name in walk::identifiers(expression) {
        let found = walk::column_name(name).map(|(table, name)| relation.find(table, name)).transpose()?;
        if found.flatten().is_none() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Rows of a subquery's FROM that its own conditions let through, and the keys of its equalities with the query around
/// it. `None` where another condition ties them, or none does.
fn tied_rows(scope: &Scope, select: &sqlparser::ast::Select, condition: &Expr) -> Result<Option<Tie>> {
    // FROM may itself depend on the query around, or fail; the ordinary way says so.
    let Ok(from) = super::from::relation(scope.engine, scope.tables, None, &select.from, &[]) else {
        return Ok(None);
    };
    let mut own = Vec::new();
    let mut pairs: Vec<(&Expr, &Expr)> = Vec::new();
    for part in walk::conjuncts(condition) {
        if walk::any(part, &walk::is_subquery) {
            return Ok(None);
        }
        if inside(part, &from)? {
            own.push(part);
            continue;
        }
        let Expr::BinaryOp { left, op: BinaryOperator::Eq, right } = part else { return Ok(None) };
        let names_none = |e: &Expr| {
            walk::identifiers(e).into_iter().all(|name| {
                walk::column_name(name).is_none_or(|(table, name)| matches!(from.find(table, name), Ok(None)))
            })
        };
        if inside(left, &from)? && names_none(right) {
            pairs.push((right, left));
        } else if inside(right, &from)? && names_none(left) {
            pairs.push((left, right));
        } else {
            return Ok(None);
        }
    }
    if pairs.is_empty() {
        return Ok(None);
    }
    let inner = super::from::relation(scope.engine, scope.tables, None, &select.from, &own)?;
    let depth = Cell::new(0);
    let inner_scope = select::plain_scope(scope, &inner, &depth);
    let mut outer_keys = Vec::new();
    let mut inner_keys = Vec::new();
    for (outer, own) in pairs {
        outer_keys.push(scope.full(outer)?);
        inner_keys.push(inner_scope.full(own)?);
    }
    Ok(Some(Tie { inner, outer_keys, inner_keys }))
}

/// `(SELECT aggregate FROM … WHERE own = outer)`, for all rows at once.
fn tied_aggregate(scope: &Scope, query: &Query) -> Result<Option<Column>> {
    let SetExpr::Select(select) = &*query.body else { return Ok(None) };
    let plain =
        query.with.is_none() && query.limit_clause.is_none() && query.fetch.is_none() && query.order_by.is_none();
    let grouped = !matches!(&select.group_by, GroupByExpr::Expressions(keys, _) if keys.is_empty());
    let [SelectItem::UnnamedExpr(item) | SelectItem::ExprWithAlias { expr: item, .. }] = &select.projection[..]
    else {
        return Ok(None);
    };
    let unusual = select.having.is_some() || select.qualify.is_some() || select.distinct.is_some();
    let special = |e: &Expr| walk::is_window(e) || walk::is_subquery(e);
    if !plain || grouped || unusual || !walk::any(item, &walk::is_aggregate) || walk::any(item, &special) {
        return Ok(None);
    }
    let Some(condition) = &select.selection else { return Ok(None) };
    let Some(tie) = tied_rows(scope, select, condition)? else { return Ok(None) };
    if !inside(item, &tie.inner)? {
        return Ok(None);
    }
    let (outer, codes, count) = tie.codes(scope)?;
    // One group more, without rows: what an outer row without partner gets. Rows with a NULL key are in none.
    let kept: Vec<u32> = (0..tie.inner.rows as u32).filter(|&row| codes[row as usize] != u32::MAX).collect();
    let of = kept.iter().map(|&row| codes[row as usize]).collect();
    let relation = tie.inner.filtered(kept);
    let grouped = Grouped { keys: Vec::new(), groups: Groups { of, first: vec![0; count + 1] } };
    let depth = Cell::new(0);
    let inner_scope = Scope { grouped: Some(&grouped), ..select::plain_scope(scope, &relation, &depth) };
    let by_group = inner_scope.full(item)?;
    let index: Vec<u32> = outer.iter().map(|&code| if code == u32::MAX { count as u32 } else { code }).collect();
    Ok(Some(by_group.take(&index)))
}
