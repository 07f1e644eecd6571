//! What stands in an expression, without what stands in its subqueries, and what a whole statement names.

use super::{aggregates, windows};
use sqlparser::ast::{
    Distinct, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentClause, FunctionArguments, GroupByExpr,
    JoinConstraint, JoinOperator, NamedWindowDefinition, NamedWindowExpr, ObjectName, ObjectNamePart, OrderByExpr,
    OrderByKind, Query, SelectItem, SetExpr, TableFactor, TableWithJoins, WindowType,
};

/// The expressions directly inside `expression`.
pub fn children(expression: &Expr) -> Vec<&Expr> {
    let mut out: Vec<&Expr> = Vec::new();
    match expression {
        Expr::IsFalse(e)
        | Expr::IsNotFalse(e)
        | Expr::IsTrue(e)
        | Expr::IsNotTrue(e)
        | Expr::IsNull(e)
        | Expr::IsNotNull(e)
        | Expr::IsUnknown(e)
        | Expr::IsNotUnknown(e)
        | Expr::Nested(e)
        | Expr::UnaryOp { expr: e, .. }
        | Expr::Cast { expr: e, .. }
        | Expr::Ceil { expr: e, .. }
        | Expr::Floor { expr: e, .. }
        | Expr::InSubquery { expr: e, .. } => out.push(e),
        Expr::IsDistinctFrom(a, b) | Expr::IsNotDistinctFrom(a, b) => out.extend([&**a, b]),
        Expr::BinaryOp { left, right, .. } => out.extend([&**left, right]),
        Expr::AnyOp { left, right, .. } | Expr::AllOp { left, right, .. } => out.extend([&**left, right]),
        Expr::InList { expr, list, .. } => {
            out.push(expr);
            out.extend(list);
        }
        Expr::Between { expr, low, high, .. } => out.extend([&**expr, low, high]),
        Expr::Like { expr, pattern, .. }
        | Expr::ILike { expr, pattern, .. }
        | Expr::SimilarTo { expr, pattern, .. }
        | Expr::RLike { expr, pattern, .. } => out.extend([&**expr, pattern]),
        Expr::Position { expr, r#in } => out.extend([&**expr, r#in]),
        Expr::Substring { expr, substring_from, substring_for, .. } => {
            out.push(expr);
            out.extend(substring_from.iter().chain(substring_for).map(|e| &**e));
        }
        Expr::Trim { expr, trim_what, trim_characters, .. } => {
            out.push(expr);
            out.extend(trim_what.iter().map(|e| &**e));
            out.extend(trim_characters.iter().flatten());
        }
        Expr::Case { operand, conditions, else_result, .. } => {
            out.extend(operand.iter().chain(else_result).map(|e| &**e));
            out.extend(conditions.iter().flat_map(|when| [&when.condition, &when.result]));
        }
        Expr::Tuple(list) => out.extend(list),
        Expr::Function(function) => {
            out.extend(arguments(function).into_iter().flatten());
            out.extend(function.filter.iter().map(|e| &**e));
            out.extend(function.within_group.iter().map(|key| &key.expr));
            out.extend(order_in(function).iter().map(|key| &key.expr));
            if let Some(WindowType::WindowSpec(window)) = &function.over {
                out.extend(&window.partition_by);
                out.extend(window.order_by.iter().map(|key| &key.expr));
            }
        }
        _ => {}
    }
    out
}

/// The arguments of a call; `None` stands for `*`.
pub fn arguments(function: &Function) -> Vec<Option<&Expr>> {
    let FunctionArguments::List(list) = &function.args else { return Vec::new() };
    list.args
        .iter()
        .map(|argument| {
            let (FunctionArg::Named { arg, .. } | FunctionArg::ExprNamed { arg, .. } | FunctionArg::Unnamed(arg)) =
                argument;
            match arg {
                FunctionArgExpr::Expr(expression) => Some(expression),
                _ => None,
            }
        })
        .collect()
}

/// The ORDER BY inside the parentheses of a call.
pub fn order_in(function: &Function) -> &[OrderByExpr] {
    let FunctionArguments::List(list) = &function.args else { return &[] };
    let order = list.clauses.iter().find_map(|clause| match clause {
        FunctionArgumentClause::OrderBy(order) => Some(&order[..]),
        _ => None,
    });
    order.unwrap_or(&[])
}

/// The last part of a name.
pub fn last(name: &ObjectName) -> String {
    match name.0.last() {
        Some(ObjectNamePart::Identifier(ident)) => ident.value.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    }
}

/// Table and column of an identifier.
pub fn column_name(expression: &Expr) -> Option<(Option<&str>, &str)> {
    match expression {
        Expr::Identifier(ident) => Some((None, &ident.value)),
        Expr::CompoundIdentifier(parts) => match &parts[..] {
            [.., table, column] => Some((Some(&table.value), &column.value)),
            [column] => Some((None, &column.value)),
            [] => None,
        },
        _ => None,
    }
}

/// Whether `test` holds for `expression` or anything inside it.
pub fn any(expression: &Expr, test: &dyn Fn(&Expr) -> bool) -> bool {
    // Not by recursion: a chain of a thousand additions is a thousand levels deep.
    let mut open = vec![expression];
    while let Some(expression) = open.pop() {
        if test(expression) {
            return true;
        }
        open.extend(children(expression));
    }
    false
}

/// Every identifier in `expression`.
pub fn identifiers(expression: &Expr) -> Vec<&Expr> {
    let mut out = Vec::new();
    let mut open = vec![expression];
    while let Some(expression) = open.pop() {
        if column_name(expression).is_some() {
            out.push(expression);
        }
        open.extend(children(expression));
    }
    out
}

/// Whether `expression` is a call of an aggregate, and not over a window.
pub fn is_aggregate(expression: &Expr) -> bool {
    match expression {
        Expr::Function(function) => function.over.is_none() && aggregates::find(&last(&function.name)).is_some(),
        _ => false,
    }
}

/// Whether `expression` is a call of a window function.
pub fn is_window(expression: &Expr) -> bool {
    match expression {
        Expr::Function(function) => {
            let name = last(&function.name);
            function.over.is_some() || windows::NAMES.iter().any(|own| own.eq_ignore_ascii_case(&name))
        }
        _ => false,
    }
}

/// Whether `expression` is or has a subquery at its top.
pub fn is_subquery(expression: &Expr) -> bool {
    matches!(expression, Expr::Subquery(_) | Expr::Exists { .. } | Expr::InSubquery { .. })
}

/// The conditions that AND joins.
pub fn conjuncts(expression: &Expr) -> Vec<&Expr> {
    let mut out = Vec::new();
    let mut open = vec![expression];
    while let Some(expression) = open.pop() {
        match expression {
            Expr::BinaryOp { left, op: sqlparser::ast::BinaryOperator::And, right } => {
                open.extend([&**right, left])
            }
            Expr::Nested(inner) => open.push(inner),
            other => out.push(other),
        }
    }
    out
}

/// What a statement names.
#[derive(Clone, Debug, Default)]
pub struct Named {
    /// Tables, each once, those that its own WITH defines among them.
    pub tables: Vec<String>,
    /// Columns, each once, whatever table they are of.
    pub columns: Vec<String>,
    /// Whether `*` stands for columns somewhere.
    pub everything: bool,
}

impl Named {
    /// What `query` and all queries inside it name.
    pub fn of(query: &Query) -> Named {
        let mut named = Named::default();
        named.query(query);
        named
    }

    /// What one part of a UNION names.
    pub fn of_set(set: &SetExpr) -> Named {
        let mut named = Named::default();
        named.set(set);
        named
    }

    fn query(&mut self, query: &Query) {
        query.with.iter().flat_map(|with| &with.cte_tables).for_each(|cte| self.query(&cte.query));
        self.set(&query.body);
        if let Some(OrderByKind::Expressions(keys)) = query.order_by.as_ref().map(|order| &order.kind) {
            keys.iter().for_each(|key| self.expression(&key.expr));
        }
    }

    fn set(&mut self, set: &SetExpr) {
        match set {
            SetExpr::Query(query) => self.query(query),
            SetExpr::SetOperation { left, right, .. } => {
                self.set(left);
                self.set(right);
            }
            SetExpr::Table(table) => {
                self.everything = true;
                table.table_name.iter().for_each(|name| add(&mut self.tables, name));
            }
            SetExpr::Select(select) => {
                select.from.iter().for_each(|item| self.from(item));
                self.everything |= select.projection.is_empty();
                for item in &select.projection {
                    match item {
                        SelectItem::UnnamedExpr(e) | SelectItem::ExprWithAlias { expr: e, .. } => {
                            self.expression(e)
                        }
                        _ => self.everything = true,
                    }
                }
                if let GroupByExpr::Expressions(keys, _) = &select.group_by {
                    keys.iter().for_each(|key| self.expression(key));
                }
                if let Some(Distinct::On(keys)) = &select.distinct {
                    keys.iter().for_each(|key| self.expression(key));
                }
                for NamedWindowDefinition(_, window) in &select.named_window {
                    if let NamedWindowExpr::WindowSpec(window) = window {
                        window.partition_by.iter().for_each(|e| self.expression(e));
                        window.order_by.iter().for_each(|key| self.expression(&key.expr));
                    }
                }
                let conditions = select.selection.iter().chain(&select.having).chain(&select.qualify);
                conditions.for_each(|e| self.expression(e));
            }
            _ => {}
        }
    }

    fn from(&mut self, item: &TableWithJoins) {
        self.factor(&item.relation);
        for join in &item.joins {
            self.factor(&join.relation);
            use JoinOperator as J;
            match &join.join_operator {
                J::Join(c)
                | J::Inner(c)
                | J::Left(c)
                | J::LeftOuter(c)
                | J::Right(c)
                | J::RightOuter(c)
                | J::FullOuter(c)
                | J::Semi(c)
                | J::LeftSemi(c)
                | J::Anti(c)
                | J::LeftAnti(c) => match c {
                    JoinConstraint::On(condition) => self.expression(condition),
                    JoinConstraint::Using(columns) => {
                        columns.iter().for_each(|name| add(&mut self.columns, &last(name)))
                    }
                    JoinConstraint::Natural => self.everything = true,
                    JoinConstraint::None => {}
                },
                _ => {}
            }
        }
    }

    fn factor(&mut self, factor: &TableFactor) {
        match factor {
            TableFactor::Table { name, .. } => add(&mut self.tables, &last(name)),
            TableFactor::Derived { subquery, .. } => self.query(subquery),
            TableFactor::NestedJoin { table_with_joins, .. } => self.from(table_with_joins),
            _ => {}
        }
    }

    fn expression(&mut self, expression: &Expr) {
        let mut open = vec![expression];
        while let Some(expression) = open.pop() {
            match expression {
                Expr::Subquery(query)
                | Expr::Exists { subquery: query, .. }
                | Expr::InSubquery { subquery: query, .. } => self.query(query),
                _ => {}
            }
            if let Some((_, name)) = column_name(expression) {
                add(&mut self.columns, name);
            }
            open.extend(children(expression));
        }
    }
}

fn add(to: &mut Vec<String>, name: &str) {
    if !to.iter().any(|own| own == name) {
        to.push(name.to_owned());
    }
}
