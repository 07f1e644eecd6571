//! System samples: how busy, full, fast and hot the machine and its GPUs were.

use super::named::Named;
use crate::analysis::system::{reduce, series};
use crate::error::Result;
use crate::metrics::unit_of;
use crate::render::table::{Cell, Table};
use crate::report::Context;
use crate::trace::sink::Detail;
use trace_format::tables;

/// `system`.
pub(super) static SYSTEM: Named = Named {
    name: "system",
    aliases: &[],
    title: "System Samples",
    tables: &[&tables::SAMPLE, &tables::RANGE],
    detail: Detail::Full,
    arguments: &[],
    key: &["Host", "Source", "GPU", "PID", "Metric"],
    make,
};

const COLUMNS: [&str; 13] = [
    "Host",
    "Source",
    "GPU",
    "PID",
    "Metric",
    "Unit",
    "Samples",
    "Mean",
    "P50",
    "P95",
    "Max",
    "Missed",
    "Energy (J)",
];

fn make(view: &Named, context: &Context) -> Result<Table> {
    let series = series(context.frames, context.filter)?;
    let mut table = view.mixed(&COLUMNS, &["Host", "Source", "Metric", "Unit"]);
    for (whose, reduced) in reduce(&series) {
        let host = context.frames.processes.get(whose.process as usize).and_then(|p| p.info.host.clone());
        let unit = unit_of(&whose.metric.1);
        let decimals = if unit.starts_with("bytes") { 0 } else { 3 };
        let value = |value: Option<f64>, decimals| value.map_or(Cell::Null, |value| Cell::Fixed(value, decimals));
        let values = reduced.values;
        table.rows.push(vec![
            host.map_or(Cell::Null, Cell::Text),
            Cell::Text(context.labels.process(whose.process)),
            Cell::opt_id(whose.device),
            Cell::opt_id(whose.pid),
            Cell::Text(whose.metric.1.clone()),
            unit.into(),
            Cell::int(reduced.samples),
            value(values.map(|v| v.mean), decimals),
            value(values.map(|v| v.p50), decimals),
            value(values.map(|v| v.p95), decimals),
            value(values.map(|v| v.max), decimals),
            Cell::int(reduced.missed),
            value(reduced.energy_j, 3),
        ]);
    }
    Ok(table)
}
