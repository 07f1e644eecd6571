//! `--dependency-analysis`: the critical path by name, and `--print-dependency-analysis-trace` by activity.
//!
//! The summary's layout is that of two public logs; the listing's is guessed.

use super::messages::{Message, Prefix};
use super::{Options, fmt};
use crate::analysis::dependency::{Dependencies, Part};
use std::io;

/// Writes the summary.
pub fn summary(out: &mut dyn io::Write, found: &Dependencies, prefix: Prefix, options: &Options) -> io::Result<()> {
    head(out, prefix)?;
    if options.csv {
        writeln!(out, "\"Critical path(%)\",\"Critical path\",\"Waiting time\",\"Name\"\n%,s,s,")?;
    } else {
        writeln!(out, "{:>16}  {:>13}  {:>12}  Name", "Critical path(%)", "Critical path", "Waiting time")?;
    }
    for row in &found.rows {
        let (critical, waiting) = (row.critical_ns as f64, row.waiting_ns as f64);
        let mut line = String::new();
        if options.csv {
            let share = fmt::share(row.critical_ns, found.total_ns);
            line.push_str(&format!("{share:.6},{:.6},{:.6},", critical * 1e-9, waiting * 1e-9));
            fmt::push_quoted(&mut line, &row.name);
        } else {
            let share = format!("{}%", fmt::percent(row.critical_ns, found.total_ns));
            let (critical, waiting) = (six_decimals(critical, options), six_decimals(waiting, options));
            line.push_str(&format!("{share:>16}  {critical:>13}  {waiting:>12}  "));
            let start = line.len();
            line.push_str(&row.name);
            fmt::flatten(&mut line, start);
        }
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// Writes every activity with its part in the critical path and its waiting time, in order of starts.
pub fn trace(out: &mut dyn io::Write, found: &Dependencies, prefix: Prefix, options: &Options) -> io::Result<()> {
    head(out, prefix)?;
    let origin = options.origin_ns.or_else(|| found.parts.first().map(|part| part.start_ns)).unwrap_or(0);
    if options.csv {
        writeln!(out, "\"Start\",\"Duration\",\"Critical path\",\"Waiting time\",\"Name\"\ns,s,s,s,")?;
    } else {
        let (critical, waiting) = ("Critical path", "Waiting time");
        writeln!(out, "{:>8}  {:>8}  {critical:>13}  {waiting:>12}  Name", "Start", "Duration")?;
    }
    for part in &found.parts {
        row(out, part, &found.names[part.name], origin, options)?;
    }
    Ok(())
}

fn row(out: &mut dyn io::Write, part: &Part, name: &str, origin_ns: i64, options: &Options) -> io::Result<()> {
    let start = part.start_ns.saturating_sub(origin_ns) as f64;
    let [duration, critical, waiting] = [part.duration_ns, part.critical_ns, part.waiting_ns].map(|ns| ns as f64);
    let mut line = String::new();
    if options.csv {
        for value in [start, duration, critical, waiting] {
            line.push_str(&format!("{:.6},", value * 1e-9));
        }
        fmt::push_quoted(&mut line, name);
    } else {
        let (critical, waiting) = (six_decimals(critical, options), six_decimals(waiting, options));
        let (start, duration) = (cell(start, options), cell(duration, options));
        line.push_str(&format!("{start:>8}  {duration:>8}  {critical:>13}  {waiting:>12}  "));
        let start = line.len();
        line.push_str(name);
        fmt::flatten(&mut line, start);
    }
    writeln!(out, "{line}")
}

fn head(out: &mut dyn io::Write, prefix: Prefix) -> io::Result<()> {
    writeln!(out)?;
    Message::DependencyAnalysis.write(out, prefix)?;
    writeln!(out, "{prefix}Analysis progress: 100%")
}

/// `369.095123ms`, `1.483397s`, `0ns`.
fn six_decimals(ns: f64, options: &Options) -> String {
    let unit = options.unit.fixed().unwrap_or_else(|| fmt::suited(ns, &fmt::TIME));
    let mut text = String::new();
    fmt::push_csv(&mut text, ns, unit);
    text + unit.name
}

fn cell(ns: f64, options: &Options) -> String {
    let mut text = String::new();
    match options.unit.fixed() {
        Some(unit) => fmt::push_in_unit(&mut text, ns, unit, 8),
        None => fmt::push_cell(&mut text, ns, &fmt::TIME, 8),
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{CSV, TEXT, written};
    use super::*;
    use crate::analysis::dependency::{Between, Kind, Row};

    fn found() -> Dependencies {
        let row = |name: &str, critical_ns, waiting_ns| Row {
            name: name.to_owned(),
            kind: Kind::Call,
            critical_ns,
            waiting_ns,
        };
        let rows = vec![
            row("<Other>", 4_751_991_000, 0),
            row("vec_inc1(float*, int)", 1_484_002_000, 0),
            row("cudaMallocManaged", 369_095_123, 0),
            row("cudaFree", 53_900_904, 0),
            row("cudaDeviceSynchronize", 0, 1_483_397_000),
            row("vec_inc2(float*, int)", 0, 0),
        ];
        let total_ns = rows.iter().map(|row| row.critical_ns).sum();
        let part =
            |start_ns, name| Part { start_ns, duration_ns: 2_000, name, critical_ns: 500, waiting_ns: 1_500 };
        Dependencies {
            rows,
            total_ns,
            between: Between::default(),
            parts: vec![part(1_000, 0), part(6_000, 1)],
            names: vec!["a".into(), "b".into()],
        }
    }

    /// As a public log of nvprof has it.
    #[test]
    fn the_summary_has_six_decimals() {
        assert_eq!(
            written(|out| summary(out, &found(), Prefix(Some(1001)), &TEXT)),
            "
==1001== Dependency Analysis:
==1001== Analysis progress: 100%
Critical path(%)  Critical path  Waiting time  Name
          71.36%      4.751991s           0ns  <Other>
          22.29%      1.484002s           0ns  vec_inc1(float*, int)
           5.54%   369.095123ms           0ns  cudaMallocManaged
           0.81%    53.900904ms           0ns  cudaFree
           0.00%            0ns     1.483397s  cudaDeviceSynchronize
           0.00%            0ns           0ns  vec_inc2(float*, int)
"
        );
    }

    #[test]
    fn the_listing_has_each_activity() {
        assert_eq!(
            written(|out| trace(out, &found(), Prefix(None), &TEXT)),
            "
======== Dependency Analysis:
======== Analysis progress: 100%
   Start  Duration  Critical path  Waiting time  Name
     0ns  2.0000us          500ns    1.500000us  a
5.0000us  2.0000us          500ns    1.500000us  b
"
        );
        let csv = written(|out| trace(out, &found(), Prefix(None), &CSV));
        assert!(csv.ends_with("0.000005,0.000002,0.000001,0.000002,\"b\"\n"), "{csv}");
    }
}
