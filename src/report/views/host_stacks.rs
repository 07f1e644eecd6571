//! What the CPU did, by function and by line, and what each Python line made the GPU do.

use super::named::{Named, percent};
use crate::analysis::cpu_stacks::{ByFrame, HostFrame, HostStacks, Spent, function_name, samples};
use crate::analysis::labels::Labels;
use crate::analysis::stacks::{Frame, Stacks};
use crate::error::Result;
use crate::render::table::{Cell, Heading, Table};
use crate::report::{Context, View};
use crate::trace::sink::{Detail, Need};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use trace_format::tables;

/// `cprofile`: CPU samples by function, as Python's profiler prints its counts.
pub(super) struct CProfile;

/// `cpu_lines`.
pub(super) static CPU_LINES: Named = Named {
    name: "cpu_lines",
    aliases: &[],
    title: "CPU Time by Line",
    tables: &[&tables::CPU_SAMPLE, &tables::FRAME, &tables::STACK],
    detail: Detail::Full,
    arguments: &[],
    key: &["Line", "Function", "File"],
    make: cpu_lines,
};

/// `python_lines`.
pub(super) static PYTHON_LINES: Named = Named {
    name: "python_lines",
    aliases: &[],
    title: "GPU Time by Python Line",
    tables: &[&tables::KERNEL, &tables::MEMCPY, &tables::MEMSET, &tables::LAUNCH_STACK],
    detail: Detail::Full,
    arguments: &[],
    key: &["Line", "Function", "File"],
    make: python_lines,
};

/// Function, file and line as they are printed; 0: no line.
type Key = (String, String, u32);

/// Sums by what is printed, the longest own time first, then by name.
fn printed(labels: &Labels, sums: Vec<(HostFrame, Spent)>) -> Vec<(Key, Spent)> {
    let mut rows: BTreeMap<Key, Spent> = BTreeMap::new();
    for (frame, spent) in sums {
        let file = if frame.file == 0 { String::new() } else { labels.text(frame.file).to_owned() };
        let row = rows.entry((function_name(labels, frame).to_owned(), file, frame.line)).or_default();
        row.own_count += spent.own_count;
        row.own_ns += spent.own_ns;
        row.total_count += spent.total_count;
        row.total_ns += spent.total_ns;
    }
    let mut rows: Vec<(Key, Spent)> = rows.into_iter().collect();
    rows.sort_by_key(|(_, spent)| std::cmp::Reverse((spent.own_ns, spent.total_ns)));
    rows
}

/// CPU samples by frame, all lines of a function together unless `by_line`.
fn cpu(context: &Context, by_line: bool) -> Result<Vec<(Key, Spent)>> {
    let stacks = HostStacks::read(context.frames)?;
    let (mut sums, mut path) = (ByFrame::default(), Vec::new());
    for (place, sum) in samples(context.frames, context.filter)? {
        stacks.path(place.process, place.stack, &mut path);
        let frames = path.iter().map(|frame| if by_line { *frame } else { frame.function() });
        sums.add(frames, sum.samples, sum.weight_ns);
    }
    Ok(printed(context.labels, sums.finish()))
}

/// Share, times and counts; then what it is.
fn table(mut table: Table, rows: Vec<(Key, Spent)>, with_lines: bool) -> Table {
    let all: u128 = rows.iter().map(|(_, spent)| spent.own_ns).sum();
    for ((function, file, line), spent) in rows {
        let mut row = vec![
            percent(spent.own_ns, all),
            Cell::int(spent.own_ns),
            Cell::int(spent.own_count),
            Cell::int(spent.total_ns),
            Cell::int(spent.total_count),
        ];
        if with_lines {
            row.push(if line == 0 { Cell::Null } else { Cell::id(line) });
        }
        row.extend([Cell::Text(function), Cell::Text(file)]);
        table.rows.push(row);
    }
    table
}

fn cpu_lines(view: &Named, context: &Context) -> Result<Table> {
    let numbers = ["Time (%)", "Own Time (ns)", "Own Samples", "Total Time (ns)", "Samples", "Line"];
    Ok(table(view.empty(&numbers, &["Function", "File"]), cpu(context, true)?, true))
}

/// The innermost line that was kept of a launch has its work for its own; every line of its stack has it in its total.
fn python_lines(view: &Named, context: &Context) -> Result<Table> {
    let stacks = Stacks::gpu_python(context.labels, context.filter)?;
    let (mut sums, mut without) = (ByFrame::default(), Spent::default());
    stacks.for_each(|path, weight| {
        let lines: Vec<HostFrame> = path
            .iter()
            .filter_map(|frame| match frame {
                Frame::Host(frame) => Some(*frame),
                _ => None,
            })
            .collect();
        if lines.is_empty() {
            without.own_ns += weight.total_ns;
            without.own_count += weight.count;
        }
        sums.add(lines.into_iter(), weight.count, weight.total_ns);
    });
    let mut rows = printed(context.labels, sums.finish());
    if without.own_count > 0 {
        let without = Spent { total_ns: without.own_ns, total_count: without.own_count, ..without };
        rows.push((("[no Python line]".to_owned(), String::new(), 0), without));
    }
    let numbers = ["Time (%)", "Own Time (ns)", "Own Instances", "Total Time (ns)", "Instances", "Line"];
    Ok(table(view.empty(&numbers, &["Function", "File"]), rows, true))
}

impl View for CProfile {
    fn name(&self) -> &'static str {
        "cprofile"
    }

    fn title(&self) -> &'static str {
        "CPU Time by Function (samples)"
    }

    fn need(&self) -> Need {
        Need::full(&[&tables::CPU_SAMPLE, &tables::FRAME, &tables::STACK])
    }

    fn table(&self, context: &Context) -> Result<Table> {
        let number = |name| Heading { name, is_text: false };
        let text = |name| Heading { name, is_text: true };
        let headings = vec![
            number("Time (%)"),
            number("tottime (ns)"),
            number("Own Samples"),
            number("cumtime (ns)"),
            number("Samples"),
            text("Function"),
            text("File"),
        ];
        let empty = Table::new(self.name(), self.title(), headings).with_key(&["Function", "File"]);
        Ok(table(empty, cpu(context, false)?, false))
    }

    /// In the layout of `pstats`. How often a function was called cannot be told from samples.
    fn own_layout(&self, context: &Context, top: Option<usize>) -> Result<Option<String>> {
        let rows = cpu(context, false)?;
        let seconds = |ns: u128| ns as f64 / 1e9;
        let samples: u64 = rows.iter().map(|(_, spent)| spent.own_count).sum();
        let all: u128 = rows.iter().map(|(_, spent)| spent.own_ns).sum();
        let mut out =
            format!("         {samples} samples in {:.3} seconds\n\n   Ordered by: internal time\n", seconds(all));
        let shown = top.unwrap_or(usize::MAX).min(rows.len());
        // Writing to memory does not fail.
        if shown < rows.len() {
            let _ = writeln!(out, "   List reduced from {} to {shown} due to restriction <{shown}>", rows.len());
        }
        out.push_str("\n   ncalls  tottime  percall  cumtime  percall filename(function)\n");
        for ((function, file, _), spent) in rows.iter().take(shown) {
            let (own, total) = (seconds(spent.own_ns), seconds(spent.total_ns));
            let name = format!("{file}({function})").replace(char::is_control, " ");
            let _ = writeln!(out, "{:>9} {own:8.3} {:>8} {total:8.3} {:>8} {name}", "-", "-", "-");
        }
        out.push_str("\n\n");
        Ok((!rows.is_empty()).then_some(out))
    }
}
