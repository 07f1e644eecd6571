//! How a query would be answered, in words: what is read of each table, and what happens to the rows then.

use super::engine::walk::{self, Named};
use super::{scan, source};
use sqlparser::ast::{
    Distinct, GroupByExpr, JoinOperator, LimitClause, OrderByKind, Query, Select, SetExpr, TableFactor,
    TableWithJoins,
};
use std::fmt::Write as _;

/// Longest piece of a query that is repeated.
const LONGEST: usize = 100;

/// The steps of `query`, one a line, those inside others behind more space.
pub fn plan(query: &Query, named: &Named) -> String {
    let mut plan = Plan { named, out: String::new() };
    plan.query(query, 0);
    plan.out
}

struct Plan<'q> {
    named: &'q Named,
    out: String,
}

impl Plan<'_> {
    fn line(&mut self, depth: usize, text: &str) {
        let mut line: String = text.chars().filter(|c| !c.is_control()).take(LONGEST).collect();
        if text.chars().count() > LONGEST {
            line.push('…');
        }
        let _ = writeln!(self.out, "{:1$}{line}", "", depth * 2);
    }

    fn list(&mut self, depth: usize, what: &str, parts: impl Iterator<Item = String>) {
        let parts: Vec<String> = parts.collect();
        if !parts.is_empty() {
            self.line(depth, &format!("{what} {}", parts.join(", ")));
        }
    }

    fn query(&mut self, query: &Query, depth: usize) {
        for cte in query.with.iter().flat_map(|with| &with.cte_tables) {
            self.line(depth, &format!("{} is", cte.alias.name.value));
            self.query(&cte.query, depth + 1);
        }
        self.set(&query.body, depth);
        if let Some(order) = &query.order_by {
            match &order.kind {
                OrderByKind::Expressions(keys) => self.list(depth, "sort by", keys.iter().map(ToString::to_string)),
                OrderByKind::All(_) => self.line(depth, "sort by every column"),
            }
        }
        match &query.limit_clause {
            None => {}
            Some(LimitClause::LimitOffset { limit, offset, .. }) => {
                self.list(depth, "leave out the first", offset.iter().map(|offset| offset.value.to_string()));
                self.list(depth, "keep the first", limit.iter().map(ToString::to_string));
            }
            Some(LimitClause::OffsetCommaLimit { offset, limit }) => {
                self.line(depth, &format!("leave out the first {offset}"));
                self.line(depth, &format!("keep the first {limit}"));
            }
        }
    }

    fn set(&mut self, set: &SetExpr, depth: usize) {
        match set {
            SetExpr::Select(select) => self.select(select, depth),
            SetExpr::Query(query) => self.query(query, depth),
            SetExpr::SetOperation { left, op, set_quantifier, right } => {
                self.line(depth, format!("{op} {set_quantifier}").trim_end());
                self.set(left, depth + 1);
                self.set(right, depth + 1);
            }
            SetExpr::Table(table) => self.table(table.table_name.as_deref().unwrap_or(""), depth),
            SetExpr::Values(values) => self.line(depth, &format!("{} rows of VALUES", values.rows.len())),
            _ => {}
        }
    }

    fn select(&mut self, select: &Select, depth: usize) {
        select.from.iter().for_each(|item| self.from(item, depth));
        let conditions = select.selection.as_ref().map(walk::conjuncts).unwrap_or_default();
        self.list(depth, "keep rows with", conditions.iter().map(ToString::to_string));
        match &select.group_by {
            GroupByExpr::Expressions(keys, _) => self.list(depth, "group by", keys.iter().map(ToString::to_string)),
            GroupByExpr::All(_) => self.line(depth, "group by all that is not an aggregate"),
        }
        self.list(depth, "keep groups with", select.having.iter().map(ToString::to_string));
        self.list(depth, "compute", select.projection.iter().map(ToString::to_string));
        self.list(depth, "keep rows with", select.qualify.iter().map(ToString::to_string));
        match &select.distinct {
            Some(Distinct::Distinct) => self.line(depth, "keep each row once"),
            Some(Distinct::On(keys)) => {
                self.list(depth, "keep one row for each", keys.iter().map(ToString::to_string))
            }
            Some(Distinct::All) | None => {}
        }
    }

    fn from(&mut self, item: &TableWithJoins, depth: usize) {
        self.factor(&item.relation, depth);
        for join in &item.joins {
            let text = join.to_string();
            let how = match &join.join_operator {
                JoinOperator::Left(_) | JoinOperator::LeftOuter(_) => "left join",
                JoinOperator::Right(_) | JoinOperator::RightOuter(_) => "right join",
                JoinOperator::FullOuter(_) => "full join",
                JoinOperator::CrossJoin(_) => "cross join",
                _ => "join",
            };
            let on = text.find(" ON ").or_else(|| text.find(" USING")).map_or("", |at| &text[at..]);
            self.line(depth, &format!("{how}{}", on.replace('\n', " ")));
            self.factor(&join.relation, depth + 1);
        }
    }

    fn factor(&mut self, factor: &TableFactor, depth: usize) {
        match factor {
            TableFactor::Table { name, .. } => self.table(&walk::last(name), depth),
            TableFactor::Derived { subquery, .. } => {
                self.line(depth, "subquery");
                self.query(subquery, depth + 1);
            }
            TableFactor::NestedJoin { table_with_joins, .. } => self.from(table_with_joins, depth),
            other => self.line(depth, &other.to_string()),
        }
    }

    fn table(&mut self, name: &str, depth: usize) {
        let Some(source) = source::find(name) else { return self.line(depth, name) };
        let columns = source.columns();
        let wanted = scan::wanted(&columns, self.named);
        let names: Vec<&str> = wanted.iter().map(|&i| columns[i].name).collect();
        let text =
            format!("read {}: {} of {} columns ({})", source.name(), wanted.len(), columns.len(), names.join(", "));
        self.line(depth, &text);
    }
}
