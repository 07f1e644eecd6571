//! Ranges of the program by name, and one by one. PyTorch's operators and annotations are ranges too, told apart by
//! their style. Ranges that were still open at the end have no duration and are in no summary.

use super::lines::{Lines, QUANTILES};
use super::named::{Clock, Named, pid};
use super::nsys_names::{range_name, range_style, range_text};
use crate::analysis::ranges::{Nesting, Range, nesting, ranges};
use crate::analysis::stats::Stats;
use crate::error::Result;
use crate::render::table::{Cell, Table};
use crate::report::Context;
use crate::trace::select::Filter;
use crate::trace::sink::Detail;
use hashbrown::{HashMap, HashSet};
use trace_format::tables;
use trace_format::vocabulary::range_style::START_END;

/// `nvtx_sum`.
pub(super) static NVTX_SUM: Named = Named {
    name: "nvtx_sum",
    aliases: &["nvtxsum"],
    title: "NVTX Range Summary",
    tables: &[&tables::RANGE],
    detail: Detail::Totals,
    arguments: &[],
    key: &["Style", "Range"],
    make: |view, context| summary(view, context, true, |_| true),
};

/// `nvtx_pushpop_sum`.
pub(super) static NVTX_PUSHPOP_SUM: Named = Named {
    name: "nvtx_pushpop_sum",
    aliases: &["nvtxppsum"],
    title: "NVTX Push/Pop Range Summary",
    tables: &[&tables::RANGE],
    detail: Detail::Totals,
    arguments: &[],
    key: &["Range"],
    make: |view, context| summary(view, context, false, |style| style != START_END),
};

/// `nvtx_startend_sum`.
pub(super) static NVTX_STARTEND_SUM: Named = Named {
    name: "nvtx_startend_sum",
    aliases: &["nvtxsssum"],
    title: "NVTX Start/End Range Summary",
    tables: &[&tables::RANGE],
    detail: Detail::Totals,
    arguments: &[],
    key: &["Range"],
    make: |view, context| summary(view, context, false, |style| style == START_END),
};

/// `nvtx_pushpop_trace`.
pub(super) static NVTX_PUSHPOP_TRACE: Named = Named {
    name: "nvtx_pushpop_trace",
    aliases: &["nvtxpptrace"],
    title: "NVTX Push/Pop Range Trace",
    tables: &[&tables::RANGE],
    detail: Detail::Full,
    arguments: &[],
    key: &["PID", "RangeId"],
    make: trace,
};

fn summary(view: &Named, context: &Context, with_style: bool, takes: fn(u32) -> bool) -> Result<Table> {
    let mut sums: HashMap<(u32, u32, u32), Stats> = HashMap::new();
    for range in ranges(context.frames, context.filter)?.iter().filter(|r| takes(r.style)) {
        if let Some(ns) = range.duration_ns() {
            sums.entry((range.style, range.domain, range.name)).or_default().add(ns, QUANTILES);
        }
    }
    let mut lines = Lines::default();
    for ((style, domain, name), stats) in sums {
        let mut names = vec![range_name(context.labels, domain, name)];
        if with_style {
            names.insert(0, range_style(style).to_owned());
        }
        lines.merge(names, stats);
    }
    Ok(lines.table(view, "Instances", if with_style { &["Style", "Range"] } else { &["Range"] }))
}

/// Numbers of ranges, as printed: the producer's own where each range has one of its own, else 1, 2, 3 in order.
pub(super) fn numbers(ranges: &[Range]) -> Vec<u64> {
    let own: HashSet<u64> = ranges.iter().map(|r| r.id).filter(|&id| id != 0).collect();
    if own.len() == ranges.len() {
        return ranges.iter().map(|r| r.id).collect();
    }
    (1..=ranges.len() as u64).collect()
}

/// `:1:8:9`, the numbers from the outermost range to this one.
pub(super) fn stack(nesting: &[Nesting], numbers: &[u64], range: usize) -> String {
    let chain: Vec<usize> = std::iter::successors(Some(range), |&i| nesting[i].parent).collect();
    chain.iter().rev().map(|&i| format!(":{}", numbers[i])).collect()
}

/// Ranges that nest, one row each. Which of them enclose which is judged among all ranges, selected or not.
fn trace(view: &Named, context: &Context) -> Result<Table> {
    let columns = [
        "Start (ns)",
        "End (ns)",
        "Duration (ns)",
        "DurChild (ns)",
        "DurNonChild (ns)",
        "Name",
        "PID",
        "TID",
        "Lvl",
        "NumChild",
        "RangeId",
        "ParentId",
        "RangeStack",
        "NameTree",
    ];
    let mut table = view.mixed(&columns, &["Name", "RangeStack", "NameTree"]);
    let clock = Clock::new(context.frames);
    let nested = |filter: &Filter| -> Result<Vec<Range>> {
        let mut all = ranges(context.frames, filter)?;
        all.retain(|range| range.style != START_END);
        Ok(all)
    };
    let all = nested(&Filter::everything())?;
    // Both are in the same order, so one walk finds the selected ones.
    let selected = nested(context.filter)?;
    let mut selected = selected.iter().peekable();
    let nesting = nesting(&all);
    let numbers = numbers(&all);
    for (i, range) in all.iter().enumerate() {
        if selected.next_if(|s| *s == range).is_none() {
            continue;
        }
        let Nesting { parent, level, children, children_ns } = nesting[i];
        let time = |ns: i64| clock.cell(context.frames, range.process, ns);
        let duration = range.duration_ns();
        let text = range_text(context.labels, range.domain, range.name);
        table.rows.push(vec![
            time(range.start_ns),
            range.end_ns.map_or(Cell::Null, time),
            Cell::opt(duration),
            Cell::int(children_ns),
            Cell::opt(duration.map(|ns| ns - children_ns)),
            text.as_str().into(),
            pid(context.frames, range.process),
            Cell::id(range.tid),
            Cell::int(level),
            Cell::int(children),
            Cell::int(numbers[i]),
            Cell::opt(parent.map(|p| numbers[p])),
            Cell::Text(stack(&nesting, &numbers, i)),
            Cell::Text("--".repeat(level as usize) + &text),
        ]);
    }
    Ok(table)
}
