//! SELECT and what stands around it: WITH, set operations, ORDER BY and LIMIT.

use super::column::{Column, Kind};
use super::evaluate::{Grouped, Scope};
use super::keys::{self, Groups, SortKey};
use super::problem::{Problem, Result};
use super::relation::{Field, Lazy, Relation};
use super::{Engine, Outer, Tables, from, walk};
use sqlparser::ast::{
    Distinct, ExcludeSelectItem, Expr, GroupByExpr, Ident, LimitClause, OrderBy, OrderByExpr, OrderByKind, Query,
    Select, SelectItem, SelectItemQualifiedWildcardKind, SetExpr, SetOperator, SetQuantifier, Value as Literal,
    WildcardAdditionalOptions, With,
};
use std::cell::Cell;

/// How often the recursive part of WITH RECURSIVE may run.
const MOST_STEPS: usize = 100_000;

/// The answer to a query.
///
/// # Errors
/// Unknown names, values of wrong kinds, what SQL has and this has not.
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
        return run(engine, select, order, window, tables, outer);
    }
    let relation = set(engine, &query.body, tables, outer)?;
    let Some(order) = order else { return Ok(window.of(relation)) };
    let keys = order_keys(order, &relation)?;
    let depth = Cell::new(0);
    let scope = Scope {
        engine,
        tables,
        relation: &relation,
        grouped: None,
        aliases: &[],
        windows: &[],
        outer,
        depth: &depth,
    };
    let columns =
        keys.iter().map(|key| output_key(&key.expr, &relation, &scope)).collect::<Result<Vec<Column>>>()?;
    let index = keys::order(&sort_keys(&keys, &columns), relation.rows, window.reach());
    Ok(window.of(relation.take(index)))
}

/// LIMIT and OFFSET.
#[derive(Clone, Copy, Debug, Default)]
struct Limits {
    skip: usize,
    take: Option<usize>,
}

impl Limits {
    fn new(engine: &Engine, tables: &Tables, query: &Query) -> Result<Limits> {
        let (unit, depth) = (Relation::unit(), Cell::new(0));
        let count = |expression: &Expr, what: &str| -> Result<Option<usize>> {
            let scope = Scope {
                engine,
                tables,
                relation: &unit,
                grouped: None,
                aliases: &[],
                windows: &[],
                outer: None,
                depth: &depth,
            };
            let value = scope.evaluate(expression)?;
            if value.kind == Kind::Null {
                return Ok(None);
            }
            match value.as_ints().ok().and_then(|values| usize::try_from(values[0]).ok()) {
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
    fn reach(self) -> Option<usize> {
        self.take.map(|take| take.saturating_add(self.skip))
    }

    fn of(self, relation: Relation) -> Relation {
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
        SetExpr::Select(select) => run(engine, select, None, Limits::default(), tables, outer),
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
        other => Problem::wrong(format!("{} is no query", super::evaluate::short(&other.to_string()))),
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
    let columns = relation.fields.iter().map(|field| field.data.get()).collect::<Result<Vec<_>>>()?;
    let groups = keys::groups(&columns.iter().map(|c| &**c).collect::<Vec<_>>(), relation.rows);
    Ok(relation.filtered(groups.first))
}

/// A scope for single rows of `relation`, with what `around` has.
pub fn plain_scope<'s>(around: &'s Scope<'s>, relation: &'s Relation, depth: &'s Cell<u32>) -> Scope<'s> {
    Scope { relation, grouped: None, aliases: &[], windows: &[], outer: None, depth, ..*around }
}

/// One column of the answer.
enum Item<'q> {
    Expression(&'q Expr),
    /// A column of FROM as it is, by its place.
    Column(usize),
}

/// Runs one SELECT, with the ORDER BY and LIMIT behind it.
fn run(
    engine: &Engine,
    select: &Select,
    order: Option<&OrderBy>,
    limits: Limits,
    tables: &Tables,
    outer: Option<&Outer>,
) -> Result<Relation> {
    let unusual = [
        (select.top.is_some(), "TOP; write LIMIT"),
        (select.into.is_some(), "INTO"),
        (!select.lateral_views.is_empty(), "LATERAL VIEW"),
        (select.prewhere.is_some(), "PREWHERE"),
        (!select.connect_by.is_empty(), "CONNECT BY"),
        (!select.cluster_by.is_empty() || !select.distribute_by.is_empty(), "CLUSTER BY"),
        (!select.sort_by.is_empty(), "SORT BY"),
        (select.exclude.is_some(), "EXCLUDE behind a list; write * EXCLUDE (…)"),
        (select.value_table_mode.is_some(), "AS VALUE"),
    ];
    if let Some((_, what)) = unusual.iter().find(|(there, _)| *there) {
        return Problem::unsupported(*what);
    }
    let conditions = select.selection.as_ref().map(walk::conjuncts).unwrap_or_default();
    if conditions.iter().any(|condition| walk::any(condition, &walk::is_window)) {
        return Problem::wrong("window functions cannot stand in WHERE; use QUALIFY");
    }
    let aliases = aliases(select);
    let conditions: Vec<&Expr> = conditions.into_iter().collect();
    let mut relation = where_rows(engine, select, &conditions, &aliases, tables, outer)?;
    let items = items(select, &relation)?;
    let keys = order.map(|order| order_keys(order, &relation)).transpose()?.unwrap_or_default();

    let expressions = |items: &[(String, Item<'_>)]| -> Vec<Expr> {
        let of = |item: &Item<'_>| match item {
            Item::Expression(e) => Some((*e).clone()),
            Item::Column(_) => None,
        };
        items.iter().filter_map(|(_, item)| of(item)).collect()
    };
    let all: Vec<Expr> = expressions(&items)
        .into_iter()
        .chain(keys.iter().map(|key| key.expr.clone()))
        .chain(select.having.clone())
        .chain(select.qualify.clone())
        .collect();
    let group_by = group_keys(&select.group_by, &items, &aliases, &relation)?;
    let has_windows = all.iter().any(|e| walk::any(e, &walk::is_window));
    let aggregated =
        !group_by.is_empty() || select.having.is_some() || all.iter().any(|e| walk::any(e, &walk::is_aggregate));
    let depth = Cell::new(0);
    let windows = &select.named_window[..];

    if !aggregated && !has_windows && select.distinct.is_none() && select.qualify.is_none() {
        // The rows of the answer are known before its columns are computed, for those rows alone.
        if !keys.is_empty() {
            let scope = Scope {
                engine,
                tables,
                relation: &relation,
                grouped: None,
                aliases: &aliases,
                windows,
                outer,
                depth: &depth,
            };
            let columns =
                keys.iter().map(|key| select_key(&key.expr, &items, &scope)).collect::<Result<Vec<Column>>>()?;
            let index = keys::order(&sort_keys(&keys, &columns), relation.rows, limits.reach());
            relation = relation.take(index);
        }
        let relation = limits.of(relation);
        let scope = Scope {
            engine,
            tables,
            relation: &relation,
            grouped: None,
            aliases: &aliases,
            windows,
            outer,
            depth: &depth,
        };
        return project(&items, &scope);
    }

    let grouped = match aggregated {
        false => None,
        true => Some(group(engine, tables, outer, &mut relation, &group_by, select, &aliases, &depth)?),
    };
    let scope = Scope {
        engine,
        tables,
        relation: &relation,
        grouped: grouped.as_ref(),
        aliases: &aliases,
        windows,
        outer,
        depth: &depth,
    };
    let mut answer = project(&items, &scope)?;
    let mut columns =
        keys.iter().map(|key| select_key(&key.expr, &items, &scope)).collect::<Result<Vec<Column>>>()?;
    columns = columns.into_iter().map(|column| column.full(scope.rows()).into_owned()).collect();
    let mut keep = |index: Vec<u32>, answer: &mut Relation| {
        columns.iter_mut().for_each(|column| *column = column.take(&index));
        *answer = answer.take(index);
    };
    if let Some(condition) = &select.qualify {
        let kept = scope.evaluate(condition)?.selected(scope.rows())?;
        keep(kept, &mut answer);
    }
    match &select.distinct {
        None | Some(Distinct::All) => {}
        Some(Distinct::Distinct) => {
            let visible = answer.fields.iter().map(|field| field.data.get()).collect::<Result<Vec<_>>>()?;
            let groups = keys::groups(&visible.iter().map(|c| &**c).collect::<Vec<_>>(), answer.rows);
            keep(groups.first, &mut answer);
        }
        Some(Distinct::On(by)) => {
            if select.qualify.is_some() {
                return Problem::unsupported("DISTINCT ON with QUALIFY");
            }
            let by = by.iter().map(|e| select_key(e, &items, &scope)).collect::<Result<Vec<Column>>>()?;
            let by: Vec<Column> = by.into_iter().map(|column| column.full(scope.rows()).into_owned()).collect();
            let index = keys::order(&sort_keys(&keys, &columns), answer.rows, None);
            let by: Vec<Column> = by.iter().map(|column| column.take(&index)).collect();
            let groups = keys::groups(&by.iter().collect::<Vec<_>>(), index.len());
            let kept = groups.first.iter().map(|&at| index[at as usize]).collect();
            return Ok(limits.of(answer.take(kept)));
        }
    }
    if !keys.is_empty() {
        let index = keys::order(&sort_keys(&keys, &columns), answer.rows, limits.reach());
        answer = answer.take(index);
    }
    Ok(limits.of(answer))
}

/// The rows of FROM for which WHERE holds. A condition that names an alias of SELECT waits until the others have run.
fn where_rows(
    engine: &Engine,
    select: &Select,
    conditions: &[&Expr],
    aliases: &[(String, &Expr)],
    tables: &Tables,
    outer: Option<&Outer>,
) -> Result<Relation> {
    let named =
        |e: &Expr| matches!(e, Expr::Identifier(ident) if aliases.iter().any(|(alias, _)| *alias == ident.value));
    let (by_alias, plain): (Vec<&Expr>, Vec<&Expr>) = conditions.iter().partition(|e| walk::any(e, &named));
    let mut relation = from::relation(engine, tables, outer, &select.from, &plain)?;
    let depth = Cell::new(0);
    for condition in by_alias {
        let scope = Scope {
            engine,
            tables,
            relation: &relation,
            grouped: None,
            aliases,
            windows: &[],
            outer,
            depth: &depth,
        };
        let kept = scope.evaluate(condition)?.selected(relation.rows)?;
        relation = relation.filtered(kept);
    }
    Ok(relation)
}

fn aliases(select: &Select) -> Vec<(String, &Expr)> {
    fn alias(item: &SelectItem) -> Option<(String, &Expr)> {
        match item {
            SelectItem::ExprWithAlias { expr, alias } => Some((alias.value.clone(), expr)),
            _ => None,
        }
    }
    select.projection.iter().filter_map(alias).collect()
}

/// The columns of the answer, `*` spelt out.
fn items<'q>(select: &'q Select, relation: &Relation) -> Result<Vec<(String, Item<'q>)>> {
    let mut out: Vec<(String, Item)> = Vec::new();
    let all =
        |out: &mut Vec<(String, Item)>, table: Option<&str>, options: &WildcardAdditionalOptions| -> Result<()> {
            if options.opt_replace.is_some() || options.opt_rename.is_some() || options.opt_ilike.is_some() {
                return Problem::unsupported("* with REPLACE, RENAME or ILIKE");
            }
            let left_out = excluded(options);
            for name in &left_out {
                if relation.find(table, name)?.is_none() {
                    return Err(Problem::UnknownColumn(name.clone()));
                }
            }
            let before = out.len();
            for (place, field) in relation.fields.iter().enumerate() {
                let other_table = table.is_some_and(|table| !field.table.eq_ignore_ascii_case(table));
                let excluded = left_out.iter().any(|name| field.name.eq_ignore_ascii_case(name));
                let unseen = other_table || excluded || (field.hidden && table.is_none());
                if !unseen {
                    // Of two tables with a column of one name, the second says whose it is.
                    let taken = out[..].iter().any(|(name, _)| **name == *field.name);
                    let name =
                        if taken { format!("{}:{}", field.name, field.table) } else { field.name.to_string() };
                    out.push((name, Item::Column(place)));
                }
            }
            if out.len() == before && left_out.is_empty() {
                return match table {
                    Some(table) => Err(Problem::UnknownTable(table.to_owned())),
                    None => Problem::wrong("* stands for the columns of tables, and there is none; add FROM"),
                };
            }
            Ok(())
        };
    for item in &select.projection {
        match item {
            SelectItem::UnnamedExpr(expression) => out.push((heading(expression), Item::Expression(expression))),
            SelectItem::ExprWithAlias { expr, alias } => out.push((alias.value.clone(), Item::Expression(expr))),
            SelectItem::Wildcard(options) => all(&mut out, None, options)?,
            SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), options) => {
                all(&mut out, Some(&walk::last(name)), options)?;
            }
            SelectItem::QualifiedWildcard(..) | SelectItem::ExprWithAliases { .. } => {
                return Problem::unsupported(super::evaluate::short(&item.to_string()));
            }
        }
    }
    if out.is_empty() {
        // FROM alone.
        let every = WildcardAdditionalOptions::default();
        all(&mut out, None, &every)?;
    }
    Ok(out)
}

/// What a column without a name is called: its own name, or what was written.
fn heading(expression: &Expr) -> String {
    match walk::column_name(expression) {
        Some((_, name)) => name.to_owned(),
        None => expression.to_string(),
    }
}

fn excluded(options: &WildcardAdditionalOptions) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    match &options.opt_exclude {
        None => {}
        Some(ExcludeSelectItem::Single(name)) => out.push(walk::last(name)),
        Some(ExcludeSelectItem::Multiple(names)) => out.extend(names.iter().map(walk::last)),
    }
    if let Some(except) = &options.opt_except {
        out.push(except.first_element.value.clone());
        out.extend(except.additional_elements.iter().map(|ident: &Ident| ident.value.clone()));
    }
    out
}

/// What rows are grouped by: numbers of columns and aliases looked up.
fn group_keys<'q>(
    group_by: &'q GroupByExpr,
    items: &[(String, Item<'q>)],
    aliases: &[(String, &'q Expr)],
    relation: &Relation,
) -> Result<Vec<&'q Expr>> {
    let (keys, modifiers) = match group_by {
        GroupByExpr::Expressions(keys, modifiers) => (keys, modifiers),
        GroupByExpr::All(modifiers) => {
            if !modifiers.is_empty() {
                return Problem::unsupported("GROUPING SETS, ROLLUP and CUBE");
            }
            let plain = items.iter().filter_map(|(_, item)| match item {
                Item::Expression(e) if !walk::any(e, &walk::is_aggregate) && !walk::any(e, &walk::is_window) => {
                    Some(*e)
                }
                _ => None,
            });
            return Ok(plain.collect());
        }
    };
    if !modifiers.is_empty() {
        return Problem::unsupported("GROUPING SETS, ROLLUP and CUBE");
    }
    let mut out = Vec::new();
    for key in keys {
        out.push(match key {
            Expr::Rollup(_) | Expr::Cube(_) | Expr::GroupingSets(_) => {
                return Problem::unsupported("GROUPING SETS, ROLLUP and CUBE");
            }
            Expr::Value(value) if matches!(value.value, Literal::Number(..)) => {
                match items.get(ordinal(key, items.len())?) {
                    Some((_, Item::Expression(e))) => e,
                    _ => return Problem::wrong("GROUP BY a number of `*`; name the column"),
                }
            }
            Expr::Identifier(ident) if relation.find(None, &ident.value)?.is_none() => {
                aliases.iter().find(|(alias, _)| *alias == ident.value).map_or(key, |(_, e)| e)
            }
            other => other,
        });
        if out.last().is_some_and(|key| walk::any(key, &walk::is_aggregate)) {
            return Problem::wrong("rows cannot be grouped by an aggregate of them");
        }
    }
    Ok(out)
}

/// The place that a number of a column means.
fn ordinal(number: &Expr, columns: usize) -> Result<usize> {
    let digits = number.to_string();
    match digits.parse::<usize>() {
        Ok(n) if (1..=columns).contains(&n) => Ok(n - 1),
        _ => Problem::wrong(format!("there is no column {digits}: SELECT has {columns}")),
    }
}

/// Groups the rows of `relation`, and takes those away that HAVING does not let through.
#[allow(clippy::too_many_arguments)]
fn group<'q>(
    engine: &Engine,
    tables: &Tables,
    outer: Option<&Outer>,
    relation: &mut Relation,
    keys: &[&'q Expr],
    select: &Select,
    aliases: &[(String, &Expr)],
    depth: &Cell<u32>,
) -> Result<Grouped<'q>> {
    let windows = &select.named_window[..];
    let make = |relation: &Relation| -> Result<Grouped<'q>> {
        let scope = Scope { engine, tables, relation, grouped: None, aliases, windows, outer, depth };
        let columns = keys.iter().map(|key| scope.full(key)).collect::<Result<Vec<Column>>>()?;
        let groups = match keys.is_empty() {
            true => Groups::one(relation.rows),
            false => keys::groups(&columns.iter().collect::<Vec<_>>(), relation.rows),
        };
        let keys = keys.iter().zip(columns).map(|(key, column)| (*key, column.take(&groups.first))).collect();
        Ok(Grouped { keys, groups })
    };
    let grouped = make(relation)?;
    let Some(having) = &select.having else { return Ok(grouped) };
    let kept = {
        let scope = Scope { engine, tables, relation, grouped: Some(&grouped), aliases, windows, outer, depth };
        scope.evaluate(having)?.selected(grouped.groups.len())?
    };
    if kept.len() == grouped.groups.len() {
        return Ok(grouped);
    }
    let mut stays = vec![false; grouped.groups.len()];
    kept.iter().for_each(|&group| stays[group as usize] = true);
    let rows = (0..relation.rows as u32).filter(|&row| stays[grouped.groups.of[row as usize] as usize]).collect();
    *relation = relation.take(rows);
    if kept.is_empty() {
        let none = grouped.keys.into_iter().map(|(key, column)| (key, column.take(&[]))).collect();
        return Ok(Grouped { keys: none, groups: Groups { of: Vec::new(), first: Vec::new() } });
    }
    make(relation)
}

/// The columns of the answer.
fn project(items: &[(String, Item)], scope: &Scope) -> Result<Relation> {
    let mut fields: Vec<Field> = Vec::new();
    for (name, item) in items {
        let mut unique = name.clone();
        let mut copies = 1;
        while fields.iter().any(|field| *field.name == *unique) {
            copies += 1;
            unique = format!("{name} {copies}");
        }
        let (data, table) = match item {
            Item::Column(place) if scope.grouped.is_none() => {
                let field = &scope.relation.fields[*place];
                (field.data.clone(), field.table.clone())
            }
            Item::Column(place) => {
                let field = &scope.relation.fields[*place];
                let ident = Expr::CompoundIdentifier(vec![Ident::new(&*field.table), Ident::new(&*field.name)]);
                (Lazy::made(scope.full(&ident)?), field.table.clone())
            }
            Item::Expression(e) => {
                let table = match walk::column_name(e) {
                    Some((table, name)) => match scope.relation.find(table, name)? {
                        Some(place) => scope.relation.fields[place].table.clone(),
                        None => "".into(),
                    },
                    None => "".into(),
                };
                (Lazy::made(scope.full(e)?), table)
            }
        };
        fields.push(Field { table, name: unique.into(), data, hidden: false });
    }
    Ok(Relation { fields, rows: scope.rows() })
}

/// What ORDER BY sorts by; ALL is every column.
fn order_keys(order: &OrderBy, relation: &Relation) -> Result<Vec<OrderByExpr>> {
    match &order.kind {
        OrderByKind::Expressions(keys) => {
            // Some dialects read ALL as a name.
            let all = matches!(&keys[..], [OrderByExpr { expr: Expr::Identifier(ident), .. }]
                if ident.value.eq_ignore_ascii_case("all") && ident.quote_style.is_none() && relation.find(None, "all")?.is_none());
            if all {
                return Problem::unsupported("ORDER BY ALL; name the columns, or their numbers");
            }
            Ok(keys.clone())
        }
        OrderByKind::All(_) => Problem::unsupported("ORDER BY ALL; name the columns, or their numbers"),
    }
}

fn sort_keys<'c>(keys: &[OrderByExpr], columns: &'c [Column]) -> Vec<SortKey<'c>> {
    let key = |(key, column): (&OrderByExpr, &'c Column)| {
        let descending = key.options.asc == Some(false);
        SortKey { column, descending, nulls_first: key.options.nulls_first.unwrap_or(descending) }
    };
    keys.iter().zip(columns).map(key).collect()
}

/// A key of the ORDER BY behind a SELECT: the number of a column, a name that SELECT gives, or any expression.
fn select_key(key: &Expr, items: &[(String, Item)], scope: &Scope) -> Result<Column> {
    let of = |item: &Item| match item {
        Item::Expression(e) => scope.evaluate(e),
        Item::Column(place) => Ok(Column::clone(&*scope.relation.fields[*place].data.get()?)),
    };
    match key {
        Expr::Value(value) if matches!(value.value, Literal::Number(..)) => {
            of(&items[ordinal(key, items.len())?].1)
        }
        Expr::Identifier(ident) => {
            // A name that SELECT gives comes before a column of the same name.
            let named = items
                .iter()
                .find(|(name, item)| *name == ident.value && !matches!(item, Item::Expression(e) if *e == key));
            match named {
                Some((_, item)) => of(item),
                None => scope.evaluate(key),
            }
        }
        _ => scope.evaluate(key),
    }
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
