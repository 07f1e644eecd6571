//! Expressions over the rows of a relation, or over its groups.

use super::aggregates::{self, Call, Of};
use super::column::{Column, SqlType, Value};
use super::functions;
use super::keys::{Groups, SortKey};
use super::literals::{literal, number, short, type_of};
use super::operators::{self, Arithmetic};
use super::problem::{Problem, Result};
use super::relation::Relation;
use super::walk;
use super::windows::{self, Bound, Frame, Unit, Window};
use super::{Engine, Outer, Tables};
use sqlparser::ast::{
    BinaryOperator as B, CaseWhen, CastKind, CeilFloorKind, DuplicateTreatment, Expr, Function, FunctionArguments,
    NamedWindowDefinition, NamedWindowExpr, OrderByExpr, TrimWhereField, UnaryOperator, Value as Literal,
    WindowFrameBound, WindowFrameUnits, WindowSpec, WindowType,
};
use std::cell::Cell;
use std::cmp::Ordering;

/// How deep expressions may be nested: each level takes stack. The parser follows 50 levels of parentheses.
const DEEPEST: u32 = 1000;

/// What the rows of a SELECT with GROUP BY are.
pub struct Grouped<'q> {
    /// The expressions that rows are grouped by, with their values by group.
    pub keys: Vec<(&'q Expr, Column)>,
    /// The groups.
    pub groups: Groups,
}

/// Where an expression is evaluated.
pub struct Scope<'q> {
    /// Runs subqueries.
    pub engine: &'q Engine<'q>,
    /// Tables that WITH has defined.
    pub tables: &'q Tables,
    /// The rows.
    pub relation: &'q Relation,
    /// The groups, behind GROUP BY.
    pub grouped: Option<&'q Grouped<'q>>,
    /// Names that SELECT gives to expressions; columns come first.
    pub aliases: &'q [(String, &'q Expr)],
    /// Windows that WINDOW names.
    pub windows: &'q [NamedWindowDefinition],
    /// The row of the query around this one.
    pub outer: Option<&'q Outer<'q>>,
    /// How deep the expression is nested by now.
    pub depth: &'q Cell<u32>,
}

impl<'q> Scope<'q> {
    /// Makes a place for expressions over single rows of `relation`.
    pub fn new(
        engine: &'q Engine<'q>,
        tables: &'q Tables,
        relation: &'q Relation,
        outer: Option<&'q Outer<'q>>,
        depth: &'q Cell<u32>,
    ) -> Scope<'q> {
        Scope { engine, tables, relation, grouped: None, aliases: &[], windows: &[], outer, depth }
    }

    /// The number of rows, or of groups.
    pub fn rows(&self) -> usize {
        self.grouped.map_or(self.relation.rows, |grouped| grouped.groups.len())
    }

    /// Inside an aggregate: the rows, and no longer the groups.
    fn ungrouped(&self) -> Scope<'q> {
        Scope { grouped: None, ..*self }
    }

    /// The values of `expression`.
    ///
    /// # Errors
    /// Fails if the expression names something that does not exist, uses values of a wrong kind, or needs a part of SQL
    /// that this engine does not have.
    pub fn evaluate(&self, expression: &Expr) -> Result<Column> {
        self.depth.set(self.depth.get() + 1);
        if self.depth.get() > DEEPEST {
            return Err(Problem::Depth);
        }
        let value = self.value(expression);
        self.depth.set(self.depth.get().saturating_sub(1));
        value
    }

    /// Evaluates as [`Scope::evaluate`] does, but stores a value for every row.
    ///
    /// # Errors
    /// Fails as [`Scope::evaluate`] does.
    pub fn full(&self, expression: &Expr) -> Result<Column> {
        Ok(self.evaluate(expression)?.full(self.rows()).into_owned())
    }

    fn value(&self, expression: &Expr) -> Result<Column> {
        let rows = self.rows();
        if let Some(key) = self.group_key(expression)? {
            return Ok(key);
        }
        match expression {
            Expr::Identifier(_) | Expr::CompoundIdentifier(_) => self.named(expression),
            Expr::Nested(inner) => self.evaluate(inner),
            Expr::Value(value) => literal(&value.value),
            Expr::UnaryOp { op, expr } => match (op, &**expr) {
                // -9223372036854775808 is a number, and its opposite is none.
                (UnaryOperator::Minus, Expr::Value(value)) => match &value.value {
                    Literal::Number(digits, _) => number(&format!("-{digits}")),
                    other => operators::negative(&literal(other)?, rows),
                },
                (UnaryOperator::Minus, _) => operators::negative(&self.evaluate(expr)?, rows),
                (UnaryOperator::Plus, _) => self.evaluate(expr),
                (UnaryOperator::Not | UnaryOperator::BangNot, _) => operators::not(&self.evaluate(expr)?),
                (UnaryOperator::BitwiseNot, _) => {
                    let value = self.evaluate(expr)?;
                    operators::bits(&value, &value, rows, |a, _| !a)
                }
                (op, _) => Problem::unsupported(format!("the operator {op}")),
            },
            Expr::BinaryOp { left, op, right } => self.binary(left, op, right),
            Expr::IsNull(e) => Ok(operators::is_null(&self.evaluate(e)?, false)),
            Expr::IsNotNull(e) => Ok(operators::is_null(&self.evaluate(e)?, true)),
            Expr::IsTrue(e) => self.is(e, true, false),
            Expr::IsNotTrue(e) => self.is(e, true, true),
            Expr::IsFalse(e) => self.is(e, false, false),
            Expr::IsNotFalse(e) => self.is(e, false, true),
            Expr::IsUnknown(e) => Ok(operators::is_null(&self.evaluate(e)?, false)),
            Expr::IsNotUnknown(e) => Ok(operators::is_null(&self.evaluate(e)?, true)),
            Expr::IsDistinctFrom(a, b) => operators::not(&self.same(a, b)?),
            Expr::IsNotDistinctFrom(a, b) => self.same(a, b),
            Expr::Between { expr, negated, low, high } => {
                let (value, low, high) = (self.evaluate(expr)?, self.evaluate(low)?, self.evaluate(high)?);
                let above = operators::compare(&value, &low, rows, Ordering::is_ge)?;
                let below = operators::compare(&value, &high, rows, Ordering::is_le)?;
                self.negated(operators::logic(false, &above, &below, rows)?, *negated)
            }
            Expr::InList { expr, list, negated } => {
                let value = self.evaluate(expr)?;
                let items = list.iter().map(|item| self.evaluate(item)).collect::<Result<Vec<Column>>>()?;
                self.negated(self.in_list(&value, &items)?, *negated)
            }
            Expr::Like { negated, any: false, expr, pattern, escape_char } => {
                let escape = escape_char.as_ref().and_then(|escape| literal(&escape.value).ok());
                let escape = escape.and_then(|escape| escape.text(0).and_then(|text| text.chars().next()));
                let (value, pattern) = (self.evaluate(expr)?, self.evaluate(pattern)?);
                let found = operators::matches(&value, &pattern, rows, |p| operators::like(p, escape, true))?;
                self.negated(found, *negated)
            }
            Expr::ILike { negated, any: false, expr, pattern, escape_char } => {
                let escape = escape_char.as_ref().and_then(|escape| literal(&escape.value).ok());
                let escape = escape.and_then(|escape| escape.text(0).and_then(|text| text.chars().next()));
                let (value, pattern) = (self.evaluate(expr)?, self.evaluate(pattern)?);
                let found = operators::matches(&value, &pattern, rows, |p| operators::like(p, escape, false))?;
                self.negated(found, *negated)
            }
            Expr::RLike { negated, expr, pattern, .. } => {
                let (value, pattern) = (self.evaluate(expr)?, self.evaluate(pattern)?);
                self.negated(operators::matches(&value, &pattern, rows, operators::regex)?, *negated)
            }
            Expr::Cast { kind, expr, data_type, .. } => {
                let strict = matches!(kind, CastKind::Cast | CastKind::DoubleColon);
                operators::cast(&self.evaluate(expr)?, type_of(data_type)?, strict)
            }
            Expr::Case { operand, conditions, else_result, .. } => {
                self.case(operand.as_deref(), conditions, else_result.as_deref())
            }
            Expr::Ceil { expr, field: CeilFloorKind::DateTimeField(_) } => self.call("CEIL", &[expr]),
            Expr::Floor { expr, field: CeilFloorKind::DateTimeField(_) } => self.call("FLOOR", &[expr]),
            Expr::Position { expr, r#in } => self.call("STRPOS", &[r#in, expr]),
            Expr::Substring { expr, substring_from, substring_for, .. } => {
                let one = Expr::value(Literal::Number("1".into(), false));
                let mut arguments: Vec<&Expr> = vec![expr, substring_from.as_deref().unwrap_or(&one)];
                arguments.extend(substring_for.as_deref());
                self.call("SUBSTR", &arguments)
            }
            Expr::Trim { expr, trim_where, trim_what, trim_characters } => {
                let name = match trim_where {
                    Some(TrimWhereField::Leading) => "LTRIM",
                    Some(TrimWhereField::Trailing) => "RTRIM",
                    Some(TrimWhereField::Both) | None => "TRIM",
                };
                let mut arguments: Vec<&Expr> = vec![expr];
                arguments.extend(trim_what.as_deref().into_iter().chain(trim_characters.iter().flatten()));
                self.call(name, &arguments)
            }
            Expr::Function(function) => self.function(function),
            Expr::Subquery(query) => super::subqueries::scalar(self, query),
            Expr::Exists { subquery, negated } => {
                let found = super::subqueries::exists(self, subquery)?;
                self.negated(found, *negated)
            }
            Expr::InSubquery { expr, subquery, negated } => {
                let found = super::subqueries::is_in(self, expr, subquery)?;
                self.negated(found, *negated)
            }
            other => Problem::unsupported(short(&other.to_string())),
        }
    }

    /// The values of a key of GROUP BY, where `expression` is one.
    fn group_key(&self, expression: &Expr) -> Result<Option<Column>> {
        let Some(grouped) = self.grouped else { return Ok(None) };
        for (key, column) in &grouped.keys {
            if *key == expression {
                return Ok(Some(column.clone()));
            }
        }
        // `k.name` and `name` are one column.
        let Some((table, name)) = walk::column_name(expression) else { return Ok(None) };
        let Some(place) = self.relation.find(table, name)? else { return Ok(None) };
        for (key, column) in &grouped.keys {
            if let Some((table, name)) = walk::column_name(key)
                && self.relation.find(table, name)? == Some(place)
            {
                return Ok(Some(column.clone()));
            }
        }
        Ok(None)
    }

    /// A column, an expression that SELECT has named, or a column of the query around.
    fn named(&self, expression: &Expr) -> Result<Column> {
        let Some((table, name)) = walk::column_name(expression) else {
            return Problem::unsupported(short(&expression.to_string()));
        };
        let place = self.relation.find(table, name)?;
        if let Some(place) = place
            && self.grouped.is_none()
        {
            return Ok(Column::clone(&*self.relation.fields[place].data.get()?));
        }
        if table.is_none()
            && let Some((_, of)) = self.aliases.iter().find(|(alias, of)| alias == name && *of != expression)
            && !walk::any(of, &|inner| inner == expression)
        {
            return self.evaluate(of);
        }
        if place.is_some() {
            return Problem::wrong(format!(
                "{expression} is neither in GROUP BY nor inside an aggregate; group by it too, or take MIN({expression})"
            ));
        }
        match self.outer {
            Some(outer) => outer.value(expression),
            None => Err(Problem::UnknownColumn(expression.to_string())),
        }
    }

    /// `value IN (items)`: one lookup for many constants, one comparison for each of a few values.
    fn in_list(&self, value: &Column, items: &[Column]) -> Result<Column> {
        let rows = self.rows();
        if items.len() > 4 && items.iter().all(|item| item.constant) {
            let parts: Vec<(&Column, usize)> = items.iter().map(|item| (item, 1)).collect();
            let among = super::column::concat(&parts)?;
            let n = if value.constant { 1 } else { rows };
            let found = super::subqueries::membership(&value.full(n), n, &among, items.len())?;
            return Ok(Column { constant: value.constant, ..found });
        }
        let mut found = Column::constant(Value::Bool(false));
        for item in items {
            let equal = operators::compare(value, item, rows, Ordering::is_eq)?;
            found = operators::logic(true, &found, &equal, rows)?;
        }
        Ok(found)
    }

    fn negated(&self, column: Column, negated: bool) -> Result<Column> {
        if negated { operators::not(&column) } else { Ok(column) }
    }

    /// IS TRUE and its kin: never NULL.
    fn is(&self, expression: &Expr, wanted: bool, negated: bool) -> Result<Column> {
        let column = self.evaluate(expression)?;
        let truth = column.as_bools()?;
        let values =
            (0..column.stored()).map(|row| (column.is_valid(row) && truth[row] == wanted) != negated).collect();
        Ok(Column { constant: column.constant, ..Column::bools(values, None) })
    }

    /// IS NOT DISTINCT FROM: equal, or both NULL.
    fn same(&self, a: &Expr, b: &Expr) -> Result<Column> {
        let (a, b, rows) = (self.evaluate(a)?, self.evaluate(b)?, self.rows());
        let equal = operators::compare(&a, &b, rows, Ordering::is_eq)?;
        let truth = equal.as_bools()?;
        let n = operators::length(&a, &b, rows);
        let there = |column: &Column, row: usize| column.kind != SqlType::Null && column.is_valid(row);
        let values = (0..n)
            .map(|row| match (there(&a, row), there(&b, row)) {
                (true, true) => truth[equal.at(row)],
                (x, y) => x == y,
            })
            .collect();
        Ok(Column { constant: a.constant && b.constant, ..Column::bools(values, None) })
    }

    /// A chain such as `a + b - c` is as deep a tree as it is long; it is followed without recursion.
    fn binary(&self, left: &Expr, op: &B, right: &Expr) -> Result<Column> {
        let mut chain = vec![(op, right)];
        let mut first = left;
        let mut key = self.group_key(first)?;
        while key.is_none()
            && let Expr::BinaryOp { left, op, right } = first
        {
            chain.push((op, &**right));
            first = left;
            key = self.group_key(first)?;
        }
        let mut value = match key {
            Some(key) => key,
            None => self.evaluate(first)?,
        };
        for (op, next) in chain.into_iter().rev() {
            value = self.combined(&value, op, &self.evaluate(next)?, self.rows())?;
        }
        Ok(value)
    }

    fn combined(&self, a: &Column, op: &B, b: &Column, rows: usize) -> Result<Column> {
        use operators::{arithmetic, bits, compare, logic, matches};
        match op {
            B::Plus => arithmetic(Arithmetic::Add, a, b, rows),
            B::Minus => arithmetic(Arithmetic::Subtract, a, b, rows),
            B::Multiply => arithmetic(Arithmetic::Multiply, a, b, rows),
            B::Divide => arithmetic(Arithmetic::Divide, a, b, rows),
            B::DuckIntegerDivide | B::MyIntegerDivide => arithmetic(Arithmetic::DivideWhole, a, b, rows),
            B::Modulo => arithmetic(Arithmetic::Remainder, a, b, rows),
            B::Eq => compare(a, b, rows, Ordering::is_eq),
            B::NotEq => compare(a, b, rows, Ordering::is_ne),
            B::Lt => compare(a, b, rows, Ordering::is_lt),
            B::LtEq => compare(a, b, rows, Ordering::is_le),
            B::Gt => compare(a, b, rows, Ordering::is_gt),
            B::GtEq => compare(a, b, rows, Ordering::is_ge),
            B::And => logic(false, a, b, rows),
            B::Or => logic(true, a, b, rows),
            B::Xor => compare(&a.widened(SqlType::Bool)?, &b.widened(SqlType::Bool)?, rows, Ordering::is_ne),
            B::StringConcat => functions::concatenate(a, b, rows),
            B::BitwiseAnd => bits(a, b, rows, |a, b| a & b),
            B::BitwiseOr => bits(a, b, rows, |a, b| a | b),
            B::BitwiseXor | B::PGBitwiseXor => bits(a, b, rows, |a, b| a ^ b),
            B::PGBitwiseShiftLeft => {
                bits(a, b, rows, |a, b| u32::try_from(b).ok().and_then(|b| a.checked_shl(b)).unwrap_or(0))
            }
            B::PGBitwiseShiftRight => {
                bits(a, b, rows, |a, b| u32::try_from(b).ok().and_then(|b| a.checked_shr(b)).unwrap_or(0))
            }
            B::PGRegexMatch | B::Regexp => matches(a, b, rows, operators::regex),
            B::PGRegexIMatch => matches(a, b, rows, |p| operators::regex(&format!("(?i){p}"))),
            B::PGRegexNotMatch => operators::not(&matches(a, b, rows, operators::regex)?),
            B::PGRegexNotIMatch => operators::not(&matches(a, b, rows, |p| operators::regex(&format!("(?i){p}")))?),
            B::PGExp => functions::call(functions::find("POW").expect("a function"), &[a.clone(), b.clone()], rows),
            other => Problem::unsupported(format!("the operator {other}")),
        }
    }

    fn case(&self, operand: Option<&Expr>, conditions: &[CaseWhen], otherwise: Option<&Expr>) -> Result<Column> {
        let rows = self.rows();
        let operand = operand.map(|operand| self.evaluate(operand)).transpose()?;
        let mut cases = Vec::new();
        for when in conditions {
            let condition = self.evaluate(&when.condition)?;
            let condition = match &operand {
                Some(operand) => operators::compare(operand, &condition, rows, Ordering::is_eq)?,
                None => condition,
            };
            cases.push((condition, self.evaluate(&when.result)?));
        }
        let otherwise = otherwise.map_or(Ok(Column::null()), |otherwise| self.evaluate(otherwise))?;
        functions::choose(&cases, &otherwise, rows)
    }

    fn call(&self, name: &str, arguments: &[&Expr]) -> Result<Column> {
        let Some(function) = functions::find(name) else { return Err(Problem::UnknownFunction(name.to_owned())) };
        let arguments = arguments.iter().map(|a| self.evaluate(a)).collect::<Result<Vec<Column>>>()?;
        functions::call(function, &arguments, self.rows())
    }

    fn function(&self, function: &Function) -> Result<Column> {
        let name = walk::last(&function.name).to_uppercase();
        if matches!(function.args, FunctionArguments::Subquery(_)) {
            return Problem::unsupported(format!("{name} of a subquery"));
        }
        if let Some(over) = &function.over {
            return self.over(&name, function, over);
        }
        if let Some(aggregate) = aggregates::find(&name) {
            let Some(grouped) = self.grouped else {
                return Problem::wrong(format!(
                    "{name}() stands where single rows are looked at, as in WHERE; conditions on groups go into HAVING"
                ));
            };
            let inner = self.ungrouped();
            let (arguments, order) = inner.aggregate_arguments(aggregate, function)?;
            let mut rows = inner.filter(function)?;
            let distinct = is_distinct(function);
            if let Some(order) = order {
                let chosen = rows.map(|rows| rows.into_iter().collect::<std::collections::HashSet<u32>>());
                rows =
                    Some(order.into_iter().filter(|row| chosen.as_ref().is_none_or(|c| c.contains(row))).collect());
            }
            return aggregates::aggregate(
                aggregate.of,
                Call { arguments: &arguments, rows, distinct },
                &grouped.groups,
            );
        }
        if windows::NAMES.contains(&name.as_str()) {
            return Problem::wrong(format!("{name}() needs OVER (…), which says among which rows"));
        }
        let Some(known) = functions::find(&name) else { return Err(Problem::UnknownFunction(name)) };
        let arguments = walk::arguments(function).into_iter().map(|argument| match argument {
            Some(argument) => self.evaluate(argument),
            None => Problem::wrong(format!("{name}(*) means nothing")),
        });
        functions::call(known, &arguments.collect::<Result<Vec<Column>>>()?, self.rows())
    }

    /// Arguments of an aggregate, in this scope, and the order in which it is to see the rows.
    fn aggregate_arguments(
        &self,
        aggregate: &aggregates::Aggregate,
        function: &Function,
    ) -> Result<(Vec<Column>, Option<Vec<u32>>)> {
        let name = aggregate.names[0];
        let mut arguments = Vec::new();
        for argument in walk::arguments(function) {
            match argument {
                Some(argument) => arguments.push(self.evaluate(argument)?),
                None if aggregate.of == Of::Count => {}
                None => return Problem::wrong(format!("{name}(*) means nothing; only COUNT has it")),
            }
        }
        // PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x)
        if let [key] = &function.within_group[..]
            && matches!(aggregate.of, Of::QuantileBetween | Of::QuantileDiscrete)
        {
            arguments.insert(0, self.evaluate(&key.expr)?);
            if key.options.asc == Some(false) {
                let share = arguments.pop().unwrap_or_else(Column::null);
                let one = Column::constant(Value::Float(1.0));
                arguments.push(operators::arithmetic(Arithmetic::Subtract, &one, &share, 1)?);
            }
        } else if !function.within_group.is_empty() && aggregate.of != Of::Join {
            return Problem::unsupported(format!("WITHIN GROUP of {name}"));
        }
        let (least, most) = aggregate.arguments;
        if arguments.len() < least || arguments.len() > most {
            return Problem::wrong(format!("{name} takes {least} to {most} arguments, not {}", arguments.len()));
        }
        let order = if aggregate.of == Of::Join { &function.within_group[..] } else { &[] };
        let order = if order.is_empty() { walk::order_in(function) } else { order };
        let order = if order.is_empty() { None } else { Some(self.order(order, None)?) };
        Ok((arguments, order))
    }

    /// The rows that FILTER lets through.
    fn filter(&self, function: &Function) -> Result<Option<Vec<u32>>> {
        function.filter.as_ref().map(|filter| self.evaluate(filter)?.selected(self.rows())).transpose()
    }

    /// All rows of this scope in the order of `keys`.
    ///
    /// # Errors
    /// Fails as [`Scope::evaluate`] does.
    pub fn order(&self, keys: &[OrderByExpr], limit: Option<usize>) -> Result<Vec<u32>> {
        let columns = keys.iter().map(|key| self.evaluate(&key.expr)).collect::<Result<Vec<Column>>>()?;
        let sort: Vec<SortKey> = keys.iter().zip(&columns).map(|(key, column)| sort_key(key, column)).collect();
        Ok(super::keys::order(&sort, self.rows(), limit))
    }

    fn over(&self, name: &str, function: &Function, over: &WindowType) -> Result<Column> {
        let spec = self.window(over)?;
        let partition = spec.partition_by.iter().map(|e| self.evaluate(e)).collect::<Result<Vec<Column>>>()?;
        let order = spec.order_by.iter().map(|key| self.evaluate(&key.expr)).collect::<Result<Vec<Column>>>()?;
        let sort: Vec<SortKey> =
            spec.order_by.iter().zip(&order).map(|(key, column)| sort_key(key, column)).collect();
        let frame = match &spec.window_frame {
            None => None,
            Some(frame) => Some(Frame {
                unit: match frame.units {
                    WindowFrameUnits::Rows => Unit::Rows,
                    WindowFrameUnits::Range => Unit::Range,
                    WindowFrameUnits::Groups => Unit::Groups,
                },
                from: self.bound(&frame.start_bound)?,
                to: frame.end_bound.as_ref().map_or(Ok(Bound::Current), |bound| self.bound(bound))?,
            }),
        };
        let window = Window::new(&partition.iter().collect::<Vec<_>>(), &sort, frame, self.rows());
        if let Some(aggregate) = aggregates::find(name) {
            let (arguments, _) = self.aggregate_arguments(aggregate, function)?;
            return window.aggregate(aggregate.of, &arguments, self.filter(function)?, is_distinct(function));
        }
        let arguments = walk::arguments(function).into_iter().flatten().map(|a| self.evaluate(a));
        window.call(name, &arguments.collect::<Result<Vec<Column>>>()?)
    }

    /// What a window is, names looked up.
    fn window(&self, over: &WindowType) -> Result<WindowSpec> {
        let named = |name: &str| {
            let found = self.windows.iter().find(|window| window.0.value.eq_ignore_ascii_case(name));
            match found.map(|window| &window.1) {
                Some(NamedWindowExpr::WindowSpec(spec)) => Ok(spec.clone()),
                Some(NamedWindowExpr::NamedWindow(_)) => {
                    Problem::unsupported("a window that is another one's name")
                }
                None => Problem::wrong(format!("there is no WINDOW {name} in this query")),
            }
        };
        match over {
            WindowType::NamedWindow(name) => named(&name.value),
            WindowType::WindowSpec(spec) => match &spec.window_name {
                None => Ok(spec.clone()),
                Some(name) => {
                    let base = named(&name.value)?;
                    Ok(WindowSpec {
                        window_name: None,
                        partition_by: base.partition_by,
                        order_by: if spec.order_by.is_empty() { base.order_by } else { spec.order_by.clone() },
                        window_frame: spec.window_frame.clone().or(base.window_frame),
                    })
                }
            },
        }
    }

    fn bound(&self, bound: &WindowFrameBound) -> Result<Bound> {
        let distance = |distance: &Expr| {
            let value = self.evaluate(distance)?;
            let negative = value.as_floats()?.iter().any(|value| *value < 0.0);
            match value.constant && !negative && value.is_valid(0) {
                true => Ok(value),
                false => Problem::wrong("the distance of a frame is a constant number, 0 or more"),
            }
        };
        Ok(match bound {
            WindowFrameBound::CurrentRow => Bound::Current,
            WindowFrameBound::Preceding(None) | WindowFrameBound::Following(None) => Bound::Unbounded,
            WindowFrameBound::Preceding(Some(by)) => Bound::Before(distance(by)?),
            WindowFrameBound::Following(Some(by)) => Bound::Behind(distance(by)?),
        })
    }
}

/// NULLs stand as if they were greater than all values, unless the query says otherwise.
pub fn sort_key<'c>(key: &OrderByExpr, column: &'c Column) -> SortKey<'c> {
    let descending = key.options.asc == Some(false);
    SortKey { column, descending, nulls_first: key.options.nulls_first.unwrap_or(descending) }
}

fn is_distinct(function: &Function) -> bool {
    match &function.args {
        FunctionArguments::List(list) => list.duplicate_treatment == Some(DuplicateTreatment::Distinct),
        _ => false,
    }
}
