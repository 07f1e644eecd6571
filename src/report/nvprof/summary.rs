//! The summary table: sections one under the other with one header, rows by falling total.

use std::fmt::Write as _;
use std::io;

use crate::analysis::summary::SummaryRow;
use crate::render::digits::{push_fixed, push_unsigned};
use crate::render::many_lines::write_lines;

use super::fmt::{self, TIME, TimeUnit, Unit};
use super::{Options, messages};

/// One section of the table.
#[derive(Clone, Copy, Debug)]
pub struct Section<'a> {
    /// Its name, without the colon of the text form.
    pub label: &'a str,
    /// Its rows, in the order of [`crate::analysis::summary::Summary`].
    pub rows: &'a [SummaryRow],
    /// What the shares are of. `None`: the sum of `rows`; given where only some of the rows are shown.
    pub total_ns: Option<u128>,
    /// The line that stands for it when it has no rows; empty: nothing does.
    pub empty: &'static str,
}

impl<'a> Section<'a> {
    /// Kernels, copies and fills.
    pub fn gpu(rows: &'a [SummaryRow]) -> Section<'a> {
        Section { label: "GPU activities", rows, total_ns: None, empty: messages::NO_KERNELS }
    }

    /// Runtime and driver calls.
    pub fn api(rows: &'a [SummaryRow]) -> Section<'a> {
        Section { label: "API calls", rows, total_ns: None, empty: messages::NO_API }
    }

    /// OpenACC regions next to other sections: left out when there are none.
    pub fn openacc(rows: &'a [SummaryRow], inclusive: bool) -> Section<'a> {
        Section {
            label: if inclusive { "OpenACC (incl)" } else { "OpenACC (excl)" },
            rows,
            total_ns: None,
            empty: "",
        }
    }

    /// OpenACC regions alone, as `--print-openacc-summary` asks for: says so when there are none.
    pub fn openacc_only(rows: &'a [SummaryRow], inclusive: bool) -> Section<'a> {
        Section { empty: messages::NO_OPENACC, ..Section::openacc(rows, inclusive) }
    }

    /// An NVTX range, which stands above what happened in it. In CSV its label keeps the colon.
    pub fn range(row: &'a SummaryRow, csv: bool) -> Section<'a> {
        let label = if csv { "Range:" } else { "Range" };
        Section { label, rows: std::slice::from_ref(row), total_ns: None, empty: "" }
    }

    fn is_range(&self) -> bool {
        self.label.starts_with("Range")
    }

    /// The same section with shares of `total_ns`, of which the rows shown may be a part.
    pub fn of(self, total_ns: u128) -> Section<'a> {
        Section { total_ns: Some(total_ns), ..self }
    }

    /// OpenMP regions.
    pub fn openmp(rows: &'a [SummaryRow], inclusive: bool) -> Section<'a> {
        Section {
            label: if inclusive { "OpenMP (incl)" } else { "OpenMP (excl)" },
            rows,
            total_ns: None,
            empty: "",
        }
    }
}

/// The four columns of times.
const TIMES: usize = 4;

/// Writes the table. The header comes with the first section that has rows, so that messages about empty ones
/// before it stand above the header.
pub fn write(out: &mut dyn io::Write, sections: &[Section], options: &Options) -> io::Result<()> {
    let units = column_units(sections, options);
    let is_estimate = sections.iter().flat_map(|section| section.rows).any(|row| row.estimate().is_some());
    let mut headed = false;
    for section in sections {
        if section.rows.is_empty() {
            if !section.empty.is_empty() {
                writeln!(out, "{}", section.empty)?;
            }
            continue;
        }
        if !headed {
            headed = true;
            let head = if options.csv { csv_head(&units, is_estimate) } else { text_head(&units, is_estimate) };
            out.write_all(head.as_bytes())?;
        }
        let total = section.total_ns.unwrap_or_else(|| section.rows.iter().map(|r| r.stats.total_ns).sum());
        write_lines(out, section.rows, |line, i, row| match options.csv {
            true => push_csv_row(line, section.label, row, (total, is_estimate), &units),
            false => {
                push_text_row(line, if i == 0 { section.label } else { "" }, row, (total, is_estimate), &units);
            }
        })?;
    }
    Ok(())
}

/// One unit per column, or `None` where each cell has its own.
type Units = Option<[&'static Unit; TIMES]>;

/// A column's unit suits its largest value in the first section that has rows, an NVTX range itself last; the others
/// follow, however badly it suits them.
fn column_units(sections: &[Section], options: &Options) -> Units {
    if let Some(fixed) = options.unit.fixed() {
        return Some([fixed; TIMES]);
    }
    if !options.csv && options.unit == TimeUnit::Auto {
        return None;
    }
    let mut largest = [0.0; TIMES];
    let with_rows = || sections.iter().filter(|s| !s.rows.is_empty());
    if let Some(first) = with_rows().find(|s| !s.is_range()).or(with_rows().next()) {
        for row in first.rows {
            for (max, value) in largest.iter_mut().zip(times(row)) {
                *max = f64::max(*max, value.unwrap_or(0.0));
            }
        }
    }
    Some(largest.map(|max| fmt::suited(max, &TIME)))
}

/// Total, mean, minimum, maximum in nanoseconds, as far as they are known. The mean is a whole number, rounded down.
fn times(row: &SummaryRow) -> [Option<f64>; TIMES] {
    let stats = &row.stats;
    let min = if stats.count == 0 { 0 } else { stats.min_ns };
    let extreme = |ns: i64| row.has_extremes().then_some(ns as f64);
    [Some(stats.total_ns as f64), Some(row.mean_ns() as f64), extreme(min), extreme(stats.max_ns)]
}

/// The heading of the column that says how near the true time is to an estimate of it, in 95 of 100 cases.
const WITHIN: &str = "+/-";

/// What stands in that column.
fn within_ns(row: &SummaryRow) -> Option<f64> {
    match row.estimate() {
        Some(estimate) => estimate.total_within_ns.map(|ns| ns as f64),
        None => Some(0.0),
    }
}

/// What stands where a time is not known.
const UNKNOWN: &str = "-";

fn text_head(units: &Units, is_estimate: bool) -> String {
    let mut head = String::new();
    push_columns(
        &mut head,
        ["Type", "Time(%)", "Time"],
        ["Calls", "Avg", "Min", "Max"],
        is_estimate.then_some(WITHIN),
    );
    head.push_str("Name\n");
    if let Some([time, avg, min, max]) = units {
        let names = ["", avg.name, min.name, max.name];
        push_columns(&mut head, ["", "%", time.name], names, is_estimate.then_some(time.name));
        head.truncate(head.trim_end().len());
        head.push('\n');
    }
    head
}

fn push_columns(line: &mut String, first: [&str; 3], last: [&str; 4], within: Option<&str>) {
    let [kind, percent, time] = first;
    let _ = write!(line, "{kind:>16}  {percent:>7}  {time:>8}  ");
    for cell in within.into_iter().chain(last) {
        let _ = write!(line, "{cell:>8}  ");
    }
}

fn push_text_row(
    line: &mut String,
    label: &str,
    row: &SummaryRow,
    (total, is_estimate): (u128, bool),
    units: &Units,
) {
    let values = times(row);
    let push = |line: &mut String, value: Option<f64>, i: usize| match (value, units) {
        (None, _) => line.push_str(UNKNOWN),
        (Some(value), None) => fmt::push_cell(line, value, &fmt::TIME, 8),
        (Some(value), Some(units)) => fmt::push_in_unit(line, value, units[i], 8),
    };
    let time = |line: &mut String, i: usize| push(line, values[i], i);
    push_right(line, 16, |line| {
        if !label.is_empty() {
            line.push_str(label);
            line.push(':');
        }
    });
    push_right(line, 7, |line| {
        fmt::push_percent(line, row.stats.total_ns, total);
        // With one unit per column the sign is in the row of units.
        line.push_str(if units.is_some() { "" } else { "%" });
    });
    push_right(line, 8, |line| time(line, 0));
    if is_estimate {
        push_right(line, 8, |line| push(line, within_ns(row), 0));
    }
    push_right(line, 8, |line| push_unsigned(line, row.stats.count));
    (1..TIMES).for_each(|i| push_right(line, 8, |line| time(line, i)));
    // The Name column is as wide as its title.
    let start = line.len();
    match row.name.len() {
        ..4 => drop(write!(line, "{:>4}", row.name)),
        _ => line.push_str(&row.name),
    }
    fmt::flatten(line, start);
    line.push('\n');
}

/// Adds a cell of ASCII, flushed right, and the gap behind it.
fn push_right(line: &mut String, width: usize, cell: impl FnOnce(&mut String)) {
    const SPACES: &str = "                ";
    let start = line.len();
    cell(line);
    let missing = width.saturating_sub(line.len() - start).min(SPACES.len());
    line.insert_str(start, &SPACES[..missing]);
    line.push_str("  ");
}

fn csv_head(units: &Units, is_estimate: bool) -> String {
    let [time, avg, min, max] = units.map_or([""; TIMES], |u| u.map(|u| u.name));
    let (within, unit) = match is_estimate {
        true => (format!("\"Time {WITHIN}\","), format!("{time},")),
        false => Default::default(),
    };
    format!(
        "\"Type\",\"Time(%)\",\"Time\",{within}\"Calls\",\"Avg\",\"Min\",\"Max\",\"Name\"\n,%,{time},{unit},{avg},{min},{max},\n"
    )
}

fn push_csv_row(
    line: &mut String,
    label: &str,
    row: &SummaryRow,
    (total, is_estimate): (u128, bool),
    units: &Units,
) {
    let units = units.unwrap_or([&TIME[0]; TIMES]);
    let values = times(row);
    fmt::push_quoted(line, label);
    line.push(',');
    push_fixed(line, fmt::share(row.stats.total_ns, total), 6);
    line.push(',');
    for (i, (value, unit)) in values.into_iter().zip(units).enumerate() {
        if i == 1 && is_estimate {
            line.push(',');
            if let Some(within) = within_ns(row) {
                fmt::push_csv(line, within, units[0]);
            }
        }
        if i == 1 {
            line.push(',');
            push_unsigned(line, row.stats.count);
        }
        if i > 0 {
            line.push(',');
        }
        if let Some(value) = value {
            fmt::push_csv(line, value, unit);
        }
    }
    line.push(',');
    fmt::push_quoted(line, &row.name);
    line.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::stats::{Stats, Wanted};

    fn row(name: &str, durations: &[i64]) -> SummaryRow {
        let mut stats = Stats::default();
        durations.iter().for_each(|&d| stats.add(d, Wanted::default()));
        SummaryRow::new(name, stats)
    }

    fn print(sections: &[Section], csv: bool, unit: TimeUnit) -> String {
        let mut out = Vec::new();
        write(&mut out, sections, &Options { csv, unit, origin_ns: None }).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn two() -> (Vec<SummaryRow>, Vec<SummaryRow>) {
        let gpu = vec![row("f(int, float*)", &[1_660_166, 896, 131_810]), row("[CUDA memset]", &[3_507])];
        (gpu, vec![row("cudaMalloc", &[246_222_783])])
    }

    #[test]
    fn text_has_one_header_and_a_label_per_section() {
        let (gpu, api) = two();
        assert_eq!(
            print(&[Section::gpu(&gpu), Section::api(&api), Section::openacc(&[], false)], false, TimeUnit::Auto),
            &"
            Type  Time(%)      Time     Calls       Avg       Min       Max  Name
 GPU activities:   99.80%  1.7929ms         3  597.62us     896ns  1.6602ms  f(int, float*)
                    0.20%  3.5070us         1  3.5070us  3.5070us  3.5070us  [CUDA memset]
      API calls:  100.00%  246.22ms         1  246.22ms  246.22ms  246.22ms  cudaMalloc
"[1..]
        );
    }

    #[test]
    fn one_unit_per_column_suits_the_first_section() {
        let (gpu, api) = two();
        assert_eq!(
            print(&[Section::gpu(&gpu), Section::api(&api)], false, TimeUnit::Col),
            &"
            Type  Time(%)      Time     Calls       Avg       Min       Max  Name
                        %        ms                  us        us        ms
 GPU activities:    99.80  1.792872         3  597.6240  0.896000  1.660166  f(int, float*)
                     0.20  3.51e-03         1  3.507000  3.507000  3.51e-03  [CUDA memset]
      API calls:   100.00  246.2228         1  2.46e+05  2.46e+05  246.2228  cudaMalloc
"[1..]
        );
        assert_eq!(
            print(&[Section::gpu(&gpu), Section::api(&api)], true, TimeUnit::Auto),
            "\
\"Type\",\"Time(%)\",\"Time\",\"Calls\",\"Avg\",\"Min\",\"Max\",\"Name\"
,%,ms,,us,us,ms,
\"GPU activities\",99.804774,1.792872,3,597.624000,0.896000,1.660166,\"f(int, float*)\"
\"GPU activities\",0.195226,0.003507,1,3.507000,3.507000,0.003507,\"[CUDA memset]\"
\"API calls\",100.000000,246.222783,1,246222.783000,246222.783000,246.222783,\"cudaMalloc\"
"
        );
    }

    #[test]
    fn a_forced_unit_holds_for_all() {
        let (gpu, _) = two();
        assert_eq!(
            print(&[Section::gpu(&gpu)], false, TimeUnit::Ns),
            &"
            Type  Time(%)      Time     Calls       Avg       Min       Max  Name
                        %        ns                  ns        ns        ns
 GPU activities:    99.80  1.79e+06         3  5.98e+05       896  1.66e+06  f(int, float*)
                     0.20  3.51e+03         1  3.51e+03  3.51e+03  3.51e+03  [CUDA memset]
"[1..]
        );
        assert!(print(&[Section::gpu(&gpu)], true, TimeUnit::Ns).contains(",597624.000000,896,1660166.000000,"));
    }

    #[test]
    fn empty_sections_speak_above_the_header_or_below_the_rows() {
        let (gpu, api) = two();
        let print = |sections: &[Section]| print(sections, false, TimeUnit::Auto);
        assert!(print(&[Section::gpu(&[]), Section::api(&api)]).starts_with("No kernels were profiled.\n      "));
        assert!(print(&[Section::gpu(&gpu), Section::api(&[])]).ends_with("\nNo API activities were profiled.\n"));
        assert_eq!(
            print(&[Section::gpu(&[]), Section::api(&[])]),
            "No kernels were profiled.\nNo API activities were profiled.\n"
        );
        assert_eq!(print(&[Section::openacc_only(&[], false)]), "No OpenACC activities were profiled.\n");
    }

    #[test]
    fn shares_of_the_rows_shown_are_of_all_rows() {
        let (gpu, _) = two();
        let text = print(&[Section::gpu(&gpu[1..]).of(1_796_379)], false, TimeUnit::Auto);
        assert!(text.contains(" GPU activities:    0.20%  3.5070us "), "{text}");
    }

    #[test]
    fn short_names_are_as_wide_as_their_title() {
        let rows = [row("ab", &[1])];
        assert!(print(&[Section::gpu(&rows)], false, TimeUnit::Auto).ends_with("1ns    ab\n"));
    }
}
