//! Functions that the program logged itself, given with `--events`: how long in each, and how many calls of others each
//! call of one had inside.

use super::named::{Named, five, percent, ratio};
use crate::analysis::function_calls::{Function, functions};
use crate::error::Result;
use crate::render::table::{Cell, Table};
use crate::report::Context;
use crate::trace::sink::Detail;
use trace_format::tables;

/// `functions`.
pub(super) static FUNCTIONS: Named = Named {
    name: "functions",
    aliases: &["function_sum"],
    title: "Function Log Summary",
    tables: &[&tables::RANGE],
    detail: Detail::Full,
    arguments: &[NESTED],
    key: &["Function"],
    make: table,
};

/// The argument for a row per function and function inside it.
const NESTED: &str = "nested";

fn table(view: &Named, context: &Context) -> Result<Table> {
    let mut rows = functions(context.frames, context.filter)?;
    let name = |id: u32| context.labels.text(id);
    rows.sort_by(|a, b| b.calls.total_ns.cmp(&a.calls.total_ns).then_with(|| name(a.name).cmp(name(b.name))));
    for row in &mut rows {
        row.nested.sort_by(|a, b| b.calls.cmp(&a.calls).then_with(|| name(a.name).cmp(name(b.name))));
    }
    Ok(match context.arguments.iter().any(|argument| argument == NESTED) {
        true => nested(view, context, &rows),
        false => summary(view, context, rows),
    })
}

fn summary(view: &Named, context: &Context, rows: Vec<Function>) -> Table {
    let numbers = [
        "Self (%)",
        "Self Time (ns)",
        "Total Time (ns)",
        "Calls",
        "Avg (ns)",
        "Med (ns)",
        "Min (ns)",
        "Max (ns)",
        "StdDev (ns)",
    ];
    let mut table = view.empty(&numbers, &["Function", "Calls Inside Each Call"]);
    let all: u128 = rows.iter().map(|row| row.self_ns).sum();
    for mut row in rows {
        let mut cells = vec![
            percent(row.self_ns, all),
            Cell::int(row.self_ns),
            Cell::int(row.calls.total_ns),
            Cell::int(row.calls.count),
        ];
        let inside: Vec<String> = row
            .nested
            .iter()
            .map(|n| {
                let mean = n.calls as f64 / row.calls.count.max(1) as f64;
                format!("{} {mean:.2} ({} to {})", context.labels.text(n.name), n.min, n.max)
            })
            .collect();
        cells.extend(five(&mut row.calls));
        cells.push(context.labels.text(row.name).into());
        cells.push(Cell::Text(inside.join(", ")));
        table.rows.push(cells);
    }
    table
}

fn nested(view: &Named, context: &Context, rows: &[Function]) -> Table {
    let numbers = ["Calls Of Outer", "Calls Of Inner", "Per Call", "Min Per Call", "Max Per Call"];
    let mut table = view.empty(&numbers, &["Outer", "Inner"]).with_key(&["Outer", "Inner"]);
    for row in rows {
        for inner in &row.nested {
            table.rows.push(vec![
                Cell::int(row.calls.count),
                Cell::int(inner.calls),
                ratio(u128::from(inner.calls), u128::from(row.calls.count), 2),
                Cell::int(inner.min),
                Cell::int(inner.max),
                context.labels.text(row.name).into(),
                context.labels.text(inner.name).into(),
            ]);
        }
    }
    table
}
