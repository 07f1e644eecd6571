//! Changes to Polars' plans before they run: the same answer for any number of threads, and numbers that do not wrap.
//!
//! SQL promises no order without ORDER BY, and Polars gives none: groups, joins and distinct rows come as the threads
//! finish. Here each of them keeps the order of its input. Counts are 32 bits wide in Polars, and so is all that is
//! computed from them; here they are 64. Sums wrap; here a sum that does not fit is an error.

use polars::prelude::*;
use std::sync::Arc;

/// The same plan, in order and 64 bits wide.
pub fn settled(frame: LazyFrame) -> LazyFrame {
    LazyFrame::from(plan(frame.logical_plan))
}

fn input(of: Arc<DslPlan>) -> Arc<DslPlan> {
    Arc::new(plan(Arc::unwrap_or_clone(of)))
}

fn plan(of: DslPlan) -> DslPlan {
    use DslPlan as P;
    match of {
        P::Filter { input: i, predicate } => P::Filter { input: input(i), predicate: wide(predicate) },
        P::Cache { input: i, id } => P::Cache { input: input(i), id },
        P::Select { expr, input: i, options } => P::Select { expr: all_wide(expr), input: input(i), options },
        P::GroupBy { input: i, keys, predicates, aggs, maintain_order: _, options, apply } => P::GroupBy {
            input: input(i),
            keys: all_wide(keys),
            predicates: all_wide(predicates),
            aggs: all_wide(aggs),
            maintain_order: true,
            options,
            apply,
        },
        P::Join { input_left, input_right, left_on, right_on, predicates, options } => {
            let mut options = Arc::unwrap_or_clone(options);
            // Of what a right join keeps, the right side is whole.
            options.args.maintain_order = match options.args.how {
                JoinType::Right => MaintainOrderJoin::RightLeft,
                JoinType::Inner | JoinType::Left | JoinType::Full => MaintainOrderJoin::LeftRight,
                _ => MaintainOrderJoin::Left,
            };
            P::Join {
                input_left: input(input_left),
                input_right: input(input_right),
                left_on: all_wide(left_on),
                right_on: all_wide(right_on),
                predicates: all_wide(predicates),
                options: Arc::new(options),
            }
        }
        P::HStack { input: i, exprs, options } => P::HStack { input: input(i), exprs: all_wide(exprs), options },
        P::Distinct { input: i, mut options } => {
            options.maintain_order = true;
            if options.keep_strategy == UniqueKeepStrategy::Any {
                options.keep_strategy = UniqueKeepStrategy::First;
            }
            P::Distinct { input: input(i), options }
        }
        P::Sort { input: i, by_column, slice, mut sort_options } => {
            sort_options.maintain_order = true;
            P::Sort { input: input(i), by_column: all_wide(by_column), slice, sort_options }
        }
        P::Slice { input: i, offset, len } => P::Slice { input: input(i), offset, len },
        P::MapFunction { input: i, function } => P::MapFunction { input: input(i), function },
        P::Union { inputs, mut args } => {
            args.maintain_order = true;
            P::Union { inputs: inputs.into_iter().map(plan).collect(), args }
        }
        P::HConcat { inputs, options } => P::HConcat { inputs: inputs.into_iter().map(plan).collect(), options },
        P::ExtContext { input: i, contexts } => {
            P::ExtContext { input: input(i), contexts: contexts.into_iter().map(plan).collect() }
        }
        P::MatchToSchema { input: i, match_schema, per_column, extra_columns } => {
            P::MatchToSchema { input: input(i), match_schema, per_column, extra_columns }
        }
        P::Gather { input: i, idxs, null_on_oob } => P::Gather { input: input(i), idxs: input(idxs), null_on_oob },
        // What was lowered on the way is lowered anew.
        P::IR { dsl, .. } => plan(Arc::unwrap_or_clone(dsl)),
        other => other,
    }
}

fn all_wide(expressions: Vec<Expr>) -> Vec<Expr> {
    expressions.into_iter().map(wide).collect()
}

fn wide(expression: Expr) -> Expr {
    expression.map_expr(|e| match e {
        Expr::Len | Expr::Agg(AggExpr::Count { .. } | AggExpr::NUnique(_)) => e.cast(DataType::Int64),
        // `device - 1` of GPU 0 is -1, and not 4294967295.
        Expr::BinaryExpr { left, op: op @ (Operator::Plus | Operator::Minus | Operator::Multiply), right } => {
            let side =
                |of: Arc<Expr>| if matches!(*of, Expr::Column(_)) { Arc::new(widened((*of).clone())) } else { of };
            Expr::BinaryExpr { left: side(left), op, right: side(right) }
        }
        Expr::Agg(AggExpr::Sum(of)) => checked_sum(Arc::unwrap_or_clone(of)),
        other => other,
    })
}

/// A sum that does not wrap: narrow integers are summed in 64 bits, and a sum of 64-bit integers is compared with the
/// sum in floating point, which is off by far less than a wrap.
fn checked_sum(of: Expr) -> Expr {
    let of = widened(of);
    let about = of.clone().cast(DataType::Float64).sum();
    let check = |columns: &mut [Column]| {
        let exact = columns[0].clone();
        let limit = match exact.dtype() {
            DataType::Int64 => i64::MAX as f64,
            DataType::UInt64 => u64::MAX as f64,
            _ => return Ok(exact),
        };
        // So near the limit that rounding may hide a wrap, it counts as one.
        let fits = columns[1].f64()?.iter().flatten().all(|sum| sum.abs() < limit * 0.999);
        polars_ensure!(fits, ComputeError: "a SUM does not fit into 64 bits");
        Ok(exact)
    };
    map_multiple(check, [of.sum(), about], |_, fields| Ok(fields[0].clone()))
}

/// Narrow integers as 64-bit ones, anything else as it is.
fn widened(of: Expr) -> Expr {
    of.map(
        |column| match wide_type(column.dtype()) {
            Some(wide) => column.cast(&wide),
            None => Ok(column),
        },
        |_, field| Ok(Field::new(field.name().clone(), wide_type(field.dtype()).unwrap_or(field.dtype().clone()))),
    )
}

fn wide_type(narrow: &DataType) -> Option<DataType> {
    let narrow = matches!(
        narrow,
        DataType::Boolean
            | DataType::UInt8
            | DataType::UInt16
            | DataType::UInt32
            | DataType::Int8
            | DataType::Int16
            | DataType::Int32
    );
    narrow.then_some(DataType::Int64)
}
