//! FROM: tables, subqueries and joins, with each condition of WHERE applied as early as it can be.

use super::column::Column;
use super::evaluate::Scope;
use super::joins::{self, Bound, Conditions, How};
use super::problem::{Problem, Result};
use super::relation::{Field, Lazy, Relation};
use super::{Engine, Outer, Tables, walk};
use sqlparser::ast::{
    BinaryOperator, Expr, Join, JoinConstraint, JoinOperator, TableAlias, TableFactor, TableWithJoins,
};
use std::cell::Cell;

/// One relation of a FROM, and how it joins those before it.
struct Part<'q> {
    relation: Relation,
    how: How,
    on: Vec<&'q Expr>,
    using: Using,
}

enum Using {
    Nothing,
    Columns(Vec<String>),
    Common,
}

/// The rows of `from` for which all of `conditions` hold.
///
/// # Errors
/// Fails if `from` or a condition names something that does not exist, or needs a part of SQL that this engine does not
/// have.
pub fn relation(
    engine: &Engine,
    tables: &Tables,
    outer: Option<&Outer>,
    from: &[TableWithJoins],
    conditions: &[&Expr],
) -> Result<Relation> {
    let mut parts = Vec::new();
    for item in from {
        collect(engine, tables, outer, item, &mut parts)?;
    }
    let depth = Cell::new(0);
    let mut open: Vec<&Expr> = conditions.to_vec();
    if parts.is_empty() {
        let unit = Relation::unit();
        return filter(engine, tables, outer, unit, &open, &depth);
    }
    // A side that an outer join fills with NULLs is filtered behind it, where the NULLs count.
    let is_whole = |part: &Part| matches!(part.how, How::Inner | How::Left | How::Semi | How::Anti);
    let whole = parts.iter().all(is_whole);
    let names: Vec<Relation> = parts.iter().map(|part| part.relation.clone()).collect();
    let left_join = parts.iter().position(|part| part.how != How::Inner).unwrap_or(parts.len());
    for (i, part) in parts.iter_mut().enumerate().take(if whole { left_join } else { 0 }) {
        let (own, rest): (Vec<&Expr>, Vec<&Expr>) =
            open.iter().partition(|condition| belongs(condition, &names, i));
        open = rest;
        part.relation = filter(engine, tables, outer, part.relation.clone(), &own, &depth)?;
    }
    let mut parts = parts.into_iter();
    let Some(first) = parts.next() else { return Ok(Relation::unit()) };
    let mut joined = first.relation;
    for part in parts {
        let mut on = part.on.clone();
        if part.how == How::Inner && whole {
            // Conditions of WHERE that are about these two sides join them, as with `FROM a, b WHERE a.x = b.x`.
            let both = joins::beside(
                &Relation { rows: 0, ..joined.clone() },
                &Relation { rows: 0, ..part.relation.clone() },
            );
            let (own, rest): (Vec<&Expr>, Vec<&Expr>) =
                open.iter().partition(|condition| !has_subquery(condition) && resolves(condition, &both));
            open = rest;
            on.extend(own);
        }
        joined = join(engine, tables, outer, joined, part, &on, &depth)?;
    }
    filter(engine, tables, outer, joined, &open, &depth)
}

fn has_subquery(expression: &Expr) -> bool {
    walk::any(expression, &walk::is_subquery)
}

/// Whether all names in `expression` are columns of `relation`, each of one.
fn resolves(expression: &Expr, relation: &Relation) -> bool {
    walk::identifiers(expression).into_iter().all(|name| {
        walk::column_name(name).is_some_and(|(table, name)| matches!(relation.find(table, name), Ok(Some(_))))
    })
}

/// Whether a condition is about the relation `i` of `all` alone.
fn belongs(condition: &Expr, all: &[Relation], i: usize) -> bool {
    let names = walk::identifiers(condition);
    let special = |e: &Expr| walk::is_subquery(e) || walk::is_aggregate(e) || walk::is_window(e);
    if names.is_empty() || walk::any(condition, &special) {
        return false;
    }
    names.into_iter().filter_map(walk::column_name).all(|(table, name)| {
        let found = |relation: &Relation| matches!(relation.find(table, name), Ok(Some(_)));
        all.iter().enumerate().all(|(j, relation)| found(relation) == (i == j))
    })
}

/// The rows for which all of `conditions` hold.
fn filter(
    engine: &Engine,
    tables: &Tables,
    outer: Option<&Outer>,
    relation: Relation,
    conditions: &[&Expr],
    depth: &Cell<u32>,
) -> Result<Relation> {
    let mut relation = relation;
    let mut rest = conditions;
    while let Some(first) = rest.first() {
        // What may fail for a row sees the rows that the conditions before it let through, and no others.
        let together = if may_fail(first) { 1 } else { rest.iter().take_while(|next| !may_fail(next)).count() };
        let (some, later) = rest.split_at(together);
        let kept = rows_with_all(&Scope::new(engine, tables, &relation, outer, depth), some)?;
        relation = relation.filtered(kept);
        rest = later;
    }
    Ok(relation)
}

/// Whether a value can make this an error: arithmetic beyond 64 bits, text that is no number.
fn may_fail(condition: &Expr) -> bool {
    walk::any(condition, &|part| match part {
        Expr::Cast { .. } | Expr::Function(_) | Expr::Subquery(_) | Expr::UnaryOp { .. } => true,
        Expr::BinaryOp { op, .. } => {
            use BinaryOperator as B;
            matches!(op, B::Plus | B::Minus | B::Multiply | B::Divide | B::Modulo | B::DuckIntegerDivide)
        }
        _ => walk::is_subquery(part),
    })
}

/// The rows for which all of `conditions` hold, all of them looked at for every row.
fn rows_with_all(scope: &Scope, conditions: &[&Expr]) -> Result<Vec<u32>> {
    let rows = scope.rows();
    let mut kept: Option<Vec<bool>> = None;
    for condition in conditions {
        let truth = scope.evaluate(condition)?;
        let full = truth.full(rows);
        let values = full.as_bools()?;
        let mut holds = kept.take().unwrap_or_else(|| vec![true; rows]);
        holds.iter_mut().zip(values.iter()).for_each(|(holds, value)| *holds &= value);
        if let Some(valid) = &full.valid {
            holds.iter_mut().zip(valid.iter()).for_each(|(holds, valid)| *holds &= valid);
        }
        kept = Some(holds);
    }
    let kept = kept.unwrap_or_else(|| vec![true; rows]);
    Ok((0..rows as u32).filter(|&row| kept[row as usize]).collect())
}

/// The relations of one item of FROM.
fn collect<'q>(
    engine: &Engine,
    tables: &Tables,
    outer: Option<&Outer>,
    item: &'q TableWithJoins,
    parts: &mut Vec<Part<'q>>,
) -> Result<()> {
    // The first of an item stands behind a comma, or behind nothing.
    let first = factor(engine, tables, outer, &item.relation)?;
    parts.push(Part { relation: first, how: How::Inner, on: Vec::new(), using: Using::Nothing });
    for Join { relation, join_operator, .. } in &item.joins {
        use JoinOperator as J;
        let (how, constraint) = match join_operator {
            J::Join(c) | J::Inner(c) | J::StraightJoin(c) | J::CrossJoin(c) => (How::Inner, c),
            J::Left(c) | J::LeftOuter(c) => (How::Left, c),
            J::Right(c) | J::RightOuter(c) => (How::Right, c),
            J::FullOuter(c) => (How::Full, c),
            J::Semi(c) | J::LeftSemi(c) => (How::Semi, c),
            J::Anti(c) | J::LeftAnti(c) => (How::Anti, c),
            J::RightSemi(_) | J::RightAnti(_) => return Problem::unsupported("RIGHT SEMI and RIGHT ANTI joins"),
            J::AsOf { .. } => return Problem::unsupported("ASOF joins"),
            J::CrossApply | J::OuterApply => return Problem::unsupported("APPLY"),
            J::ArrayJoin | J::LeftArrayJoin | J::InnerArrayJoin => return Problem::unsupported("ARRAY JOIN"),
        };
        let (on, using) = match constraint {
            JoinConstraint::On(condition) => (walk::conjuncts(condition), Using::Nothing),
            JoinConstraint::Using(columns) => {
                (Vec::new(), Using::Columns(columns.iter().map(walk::last).collect()))
            }
            JoinConstraint::Natural => (Vec::new(), Using::Common),
            JoinConstraint::None => (Vec::new(), Using::Nothing),
        };
        if matches!(constraint, JoinConstraint::None) && how != How::Inner {
            return Problem::wrong("this join needs a condition: ON … or USING (…)");
        }
        parts.push(Part { relation: factor(engine, tables, outer, relation)?, how, on, using });
    }
    Ok(())
}

/// One table, subquery or list of joins.
fn factor(engine: &Engine, tables: &Tables, outer: Option<&Outer>, factor: &TableFactor) -> Result<Relation> {
    match factor {
        TableFactor::Table { name, alias, args: None, .. } => {
            let name = walk::last(name);
            let called = alias.as_ref().map_or(name.as_str(), |alias| &alias.name.value);
            let relation = match tables.find(&name) {
                Some(relation) => relation.renamed(called),
                None => match engine.catalog.table(&name) {
                    Some(table) => Relation::of_table(&table, called)?,
                    None => return Err(Problem::UnknownTable(name)),
                },
            };
            renamed(relation, alias.as_ref())
        }
        TableFactor::Derived { lateral: false, subquery, alias, .. } => {
            let relation = engine.query(subquery, tables, outer)?;
            let called = alias.as_ref().map_or("", |alias| &alias.name.value);
            renamed(relation.renamed(called), alias.as_ref())
        }
        TableFactor::Derived { .. } => Problem::unsupported("LATERAL"),
        TableFactor::NestedJoin { table_with_joins, alias } => {
            let inner = relation(engine, tables, outer, std::slice::from_ref(table_with_joins), &[])?;
            match alias {
                Some(alias) => renamed(inner.renamed(&alias.name.value), Some(alias)),
                None => Ok(inner),
            }
        }
        TableFactor::Pivot { .. } | TableFactor::Unpivot { .. } => Problem::unsupported("PIVOT"),
        TableFactor::Table { name, .. } | TableFactor::Function { name, .. } => {
            Problem::unsupported(format!("the table function {}", walk::last(name)))
        }
        other => Problem::unsupported(super::literals::short(&other.to_string())),
    }
}

/// With the names that the list of an alias gives: `AS t(a, b)`.
fn renamed(mut relation: Relation, alias: Option<&TableAlias>) -> Result<Relation> {
    let Some(alias) = alias.filter(|alias| !alias.columns.is_empty()) else { return Ok(relation) };
    if alias.columns.len() > relation.fields.len() {
        return Problem::wrong(format!(
            "{} names {} columns and has {}",
            alias.name.value,
            alias.columns.len(),
            relation.fields.len()
        ));
    }
    for (field, column) in relation.fields.iter_mut().zip(&alias.columns) {
        field.name = column.name.value.as_str().into();
    }
    Ok(relation)
}

fn join(
    engine: &Engine,
    tables: &Tables,
    outer: Option<&Outer>,
    left: Relation,
    part: Part,
    on: &[&Expr],
    depth: &Cell<u32>,
) -> Result<Relation> {
    let right = part.relation;
    let using: Vec<String> = match part.using {
        Using::Nothing => Vec::new(),
        Using::Columns(columns) => columns,
        Using::Common => {
            let own =
                |field: &&Field| !field.hidden && left.find(None, &field.name).is_ok_and(|found| found.is_some());
            right.fields.iter().filter(own).map(|field| field.name.to_string()).collect()
        }
    };
    let mut equal: Vec<(Column, Column)> = Vec::new();
    let mut merged = Vec::new();
    for name in &using {
        let place =
            |relation: &Relation| relation.find(None, name)?.ok_or_else(|| Problem::UnknownColumn(name.clone()));
        let (l, r) = (place(&left)?, place(&right)?);
        equal.push((Column::clone(&*left.fields[l].data.get()?), Column::clone(&*right.fields[r].data.get()?)));
        merged.push((l, r + left.fields.len()));
    }
    let (on_left, on_right) =
        (Scope::new(engine, tables, &left, outer, depth), Scope::new(engine, tables, &right, outer, depth));
    let mut bounds = Vec::new();
    let mut rest = Vec::new();
    for &condition in on {
        match compared(condition, &left, &right) {
            Some((l, BinaryOperator::Eq, r)) => equal.push((on_left.full(l)?, on_right.full(r)?)),
            Some((l, operator, r)) => bounds.push(Bound {
                left: on_left.full(l)?,
                right: on_right.full(r)?,
                above: matches!(operator, BinaryOperator::Gt | BinaryOperator::GtEq),
                or_equal: matches!(operator, BinaryOperator::GtEq | BinaryOperator::LtEq),
            }),
            None => rest.push(condition),
        }
    }
    for (l, r) in &equal {
        if l.kind.join(r.kind).is_none() {
            return Problem::wrong(format!(
                "cannot compare {} with {}; CAST one of them",
                l.kind.word(),
                r.kind.word()
            ));
        }
    }
    let held = |pairs: &Relation| {
        let mut rows: Vec<u32> = (0..pairs.rows as u32).collect();
        let mut pairs = pairs.clone();
        for condition in &rest {
            let kept =
                Scope::new(engine, tables, &pairs, outer, depth).evaluate(condition)?.selected(pairs.rows)?;
            rows = kept.iter().map(|&at| rows[at as usize]).collect();
            pairs = pairs.filtered(kept);
        }
        Ok(rows)
    };
    let residual: Option<&joins::Residual> = if rest.is_empty() { None } else { Some(&held) };
    let mut joined = joins::join(part.how, &left, &right, &Conditions { equal, bounds, residual })?;
    if !matches!(part.how, How::Semi | How::Anti) {
        for (added, (l, r)) in merged.into_iter().enumerate() {
            let shift = if matches!(part.how, How::Right | How::Full) { added } else { 0 };
            joins::merge(part.how, &mut joined, l + shift, r + shift)?;
        }
    }
    Ok(joined)
}

/// A condition as `left OPERATOR right`, where each side is about one relation: an equality, or an order.
fn compared<'e>(
    condition: &'e Expr,
    left: &Relation,
    right: &Relation,
) -> Option<(&'e Expr, BinaryOperator, &'e Expr)> {
    let Expr::BinaryOp { left: a, op, right: b } = condition else { return None };
    let flipped = match op {
        BinaryOperator::Eq => BinaryOperator::Eq,
        BinaryOperator::Lt => BinaryOperator::Gt,
        BinaryOperator::LtEq => BinaryOperator::GtEq,
        BinaryOperator::Gt => BinaryOperator::Lt,
        BinaryOperator::GtEq => BinaryOperator::LtEq,
        _ => return None,
    };
    let about = |e: &Expr, own: &Relation, other: &Relation| {
        let names = walk::identifiers(e);
        !names.is_empty()
            && !has_subquery(e)
            && names.into_iter().filter_map(walk::column_name).all(|(table, name)| {
                matches!(own.find(table, name), Ok(Some(_))) && matches!(other.find(table, name), Ok(None))
            })
    };
    if about(a, left, right) && about(b, right, left) {
        Some((a, op.clone(), b))
    } else if about(b, left, right) && about(a, right, left) {
        Some((b, flipped, a))
    } else {
        None
    }
}

/// VALUES: rows of constants.
///
/// # Errors
/// Fails if the rows have different lengths, or if a column gets values of kinds that do not go together.
pub fn values(engine: &Engine, tables: &Tables, outer: Option<&Outer>, rows: &[&[Expr]]) -> Result<Relation> {
    let width = rows.first().map_or(0, |row| row.len());
    if rows.iter().any(|row| row.len() != width) {
        return Problem::wrong("the rows of VALUES have different numbers of columns");
    }
    let (unit, depth) = (Relation::unit(), Cell::new(0));
    let scope = Scope::new(engine, tables, &unit, outer, &depth);
    let mut fields = Vec::new();
    for i in 0..width {
        let cells = rows.iter().map(|row| scope.evaluate(&row[i])).collect::<Result<Vec<Column>>>()?;
        let parts: Vec<(&Column, usize)> = cells.iter().map(|cell| (cell, 1)).collect();
        let data = Lazy::made(super::column::concat(&parts)?);
        fields.push(Field { table: "".into(), name: format!("column_{i}").into(), data, hidden: false });
    }
    Ok(Relation { fields, rows: rows.len() })
}
