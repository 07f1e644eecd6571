//! One SELECT: the rows of FROM, conditions, groups, the columns of the answer, and their order.

use super::column::Column;
use super::evaluate::{Grouped, Scope, sort_key};
use super::keys::{self, Groups, SortKey};
use super::problem::{Problem, Result};
use super::query::{self, Limits};
use super::relation::{Field, Lazy, Relation};
use super::{Engine, Outer, Tables, from, walk};
use sqlparser::ast::{
    Distinct, ExcludeSelectItem, Expr, GroupByExpr, Ident, OrderBy, OrderByExpr, OrderByKind, Select, SelectItem,
    SelectItemQualifiedWildcardKind, Value as Literal, WildcardAdditionalOptions,
};
use std::cell::Cell;

/// A scope for single rows of `relation`, with what `around` has.
pub fn plain_scope<'s>(around: &'s Scope<'s>, relation: &'s Relation, depth: &'s Cell<u32>) -> Scope<'s> {
    Scope::new(around.engine, around.tables, relation, None, depth)
}

/// One column of the answer.
enum Item<'q> {
    Expression(&'q Expr),
    /// A column of FROM as it is, by its place.
    Column(usize),
}

/// Runs one SELECT, with the ORDER BY and LIMIT behind it.
///
/// # Errors
/// Fails if the query names something that does not exist, uses values of a wrong kind, or needs a part of SQL that
/// this engine does not have.
pub fn run(
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
    let mut relation = where_rows(engine, select, &conditions, &aliases, tables, outer)?;
    let items = items(select, &relation)?;
    let keys = order.map(|order| order_keys(order, &relation)).transpose()?.unwrap_or_default();

    let selected = items.iter().filter_map(|(_, item)| match item {
        Item::Expression(e) => Some(*e),
        Item::Column(_) => None,
    });
    let sorted = keys.iter().map(|key| &key.expr);
    let all: Vec<&Expr> = selected.chain(sorted).chain(&select.having).chain(&select.qualify).collect();
    let group_by = group_keys(&select.group_by, &items, &aliases, &relation)?;
    let has_windows = all.iter().any(|e| walk::any(e, &walk::is_window));
    let aggregated =
        !group_by.is_empty() || select.having.is_some() || all.iter().any(|e| walk::any(e, &walk::is_aggregate));
    let depth = Cell::new(0);
    let windows = &select.named_window[..];

    if !aggregated && !has_windows && select.distinct.is_none() && select.qualify.is_none() {
        // The rows of the answer are known before its columns are computed, for those rows alone.
        if !keys.is_empty() {
            let scope =
                Scope { aliases: &aliases, windows, ..Scope::new(engine, tables, &relation, outer, &depth) };
            let columns =
                keys.iter().map(|key| select_key(&key.expr, &items, &scope)).collect::<Result<Vec<Column>>>()?;
            let index = keys::order(&sort_keys(&keys, &columns), relation.rows, limits.reach());
            relation = relation.take(index);
        }
        let relation = limits.of(relation);
        let scope = Scope { aliases: &aliases, windows, ..Scope::new(engine, tables, &relation, outer, &depth) };
        return project(&items, &scope);
    }

    let grouped = match aggregated {
        false => None,
        true => Some(group(engine, tables, outer, &mut relation, &group_by, select, &aliases, &depth)?),
    };
    let scope = Scope {
        grouped: grouped.as_ref(),
        aliases: &aliases,
        windows,
        ..Scope::new(engine, tables, &relation, outer, &depth)
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
            keep(query::distinct_rows(&answer)?, &mut answer);
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
        let scope = Scope { aliases, ..Scope::new(engine, tables, &relation, outer, &depth) };
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
                return Problem::unsupported(super::literals::short(&item.to_string()));
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
///
/// # Errors
/// Fails if there is no column with this number.
pub fn ordinal(number: &Expr, columns: usize) -> Result<usize> {
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
        let scope = Scope { aliases, windows, ..Scope::new(engine, tables, relation, outer, depth) };
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
        let scope = Scope {
            grouped: Some(&grouped),
            aliases,
            windows,
            ..Scope::new(engine, tables, relation, outer, depth)
        };
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

/// What ORDER BY sorts by.
///
/// # Errors
/// Fails if the query says ORDER BY ALL, which is not supported.
pub fn order_keys(order: &OrderBy, relation: &Relation) -> Result<Vec<OrderByExpr>> {
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

/// The keys of an ORDER BY with their values.
pub fn sort_keys<'c>(keys: &[OrderByExpr], columns: &'c [Column]) -> Vec<SortKey<'c>> {
    keys.iter().zip(columns).map(|(key, column)| sort_key(key, column)).collect()
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
