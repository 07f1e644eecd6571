//! A comparison of runs as people, pull requests and programs read it.

use crate::analysis::diff::{Change, Diff, Judged, LEAST_SHARE_PERCENT, Pair, Run, Unit};
use crate::numbers::{items, short_time};
use crate::render::schemas;
use crate::render::table::{Cell, Format, Heading, Table};
use serde_json::{Value, json};
use std::io::{self, Write};

/// A comparison and what it is of.
pub struct Shown<'a> {
    /// The comparison.
    pub diff: &'a Diff,
    /// The runs before and after.
    pub sides: [&'a [Run]; 2],
    /// What is compared: `GPU work`.
    pub what: &'static str,
    /// How many rows, the largest differences first; `None`: all.
    pub top: Option<usize>,
    /// Which limits were broken.
    pub failures: &'a [String],
}

impl Shown<'_> {
    /// Writes it.
    ///
    /// # Errors
    /// Fails if `out` cannot be written to.
    pub fn write(&self, out: &mut dyn Write, format: Format) -> io::Result<()> {
        match format {
            Format::Json => {
                serde_json::to_writer_pretty(&mut *out, &self.json())?;
                writeln!(out)
            }
            Format::Csv | Format::Tsv => self.table().write(out, format),
            Format::Table => {
                for line in self.lines() {
                    writeln!(out, "{line}")?;
                }
                if self.diff.obstacle.is_some() {
                    return Ok(());
                }
                writeln!(out)?;
                self.rows().iter().try_for_each(|row| writeln!(out, "{}", row_line(row)))
            }
            Format::Markdown => {
                let lines = self.lines();
                writeln!(out, "### {}\n", lines[0])?;
                for line in &lines[1..] {
                    writeln!(out, "- {line}")?;
                }
                if self.diff.obstacle.is_some() {
                    return Ok(());
                }
                writeln!(out)?;
                self.table().write(out, format)
            }
        }
    }

    /// The verdict first, then what it rests on.
    fn lines(&self) -> Vec<String> {
        let diff = self.diff;
        if let Some(why) = &diff.obstacle {
            return vec![format!("These runs cannot be compared: {why}.")];
        }
        let verdict = match diff.total.judged {
            Judged::Faster => "Faster",
            Judged::Slower => "Slower",
            _ => "No difference",
        };
        let of = match diff.unit {
            Unit::Run => "",
            Unit::Step => " per step",
            Unit::ScaledRun(_) => " per run of equal length",
        };
        let mut lines = vec![
            format!("{verdict}: {}{of} took {}.", self.what, change_text(&diff.total)),
            format!(
                "From the first to the last GPU work{of}: {} ({}).",
                change_text(&diff.span),
                diff.span.judged.word()
            ),
        ];
        for (word, runs) in ["Before", "After"].iter().zip(self.sides) {
            lines.push(format!("{word}: {}.", side_text(runs)));
        }
        match diff.unit {
            Unit::Run => {}
            Unit::Step => lines.push("Every time and count is divided by the number of steps of its run.".into()),
            Unit::ScaledRun(factor) => lines.push(format!(
                "The runs after launched everything {factor:.2} times as often; their times and counts are divided by that."
            )),
        }
        if self.sides.iter().all(|runs| runs.len() == 1) {
            lines.push(
                "With one run on each side noise is unknown: only more than 5 % counts as a difference. Give several runs of each."
                    .into(),
            );
        }
        let judged = |judged: Judged| diff.rows.iter().filter(|row| row.change.judged == judged).count();
        let counts = [Judged::Slower, Judged::Faster, Judged::New, Judged::Gone];
        let texts: Vec<String> = counts.into_iter().map(|of| format!("{} {}", judged(of), of.word())).collect();
        let renamed = diff.rows.iter().filter(|row| matches!(row.pair, Pair::Renamed { .. })).count();
        lines.push(format!(
            "{}: {}, {renamed} renamed; only rows with {LEAST_SHARE_PERCENT} % of the time or more count as slower or faster.",
            items(diff.rows.len() as u64, "row", "rows"),
            texts.join(", ")
        ));
        lines.extend(self.failures.iter().map(|failure| format!("Failed: {failure}.")));
        lines
    }

    /// The rows as people read them, under a heading: rounded, with the name behind everything else, so that a terminal cuts
    /// nothing but names.
    fn rows(&self) -> Vec<[String; 7]> {
        let heading = ["change", "before", "after", "difference", "+/-", "count", "name"].map(str::to_owned);
        let most = self.top.unwrap_or(usize::MAX);
        let rows = self.diff.rows.iter().take(most).map(|row| {
            let change = &row.change;
            let time = |name: Option<&str>, ns: f64| name.map_or(String::new(), |_| short_time(ns.round() as i64));
            let count = |count: f64| match count.fract() == 0.0 {
                true => format!("{count}"),
                false => format!("{count:.2}"),
            };
            let counts = match row.counts[0] == row.counts[1] {
                true => count(row.counts[0]),
                false => format!("{} to {}", count(row.counts[0]), count(row.counts[1])),
            };
            [
                change.judged.word().to_owned(),
                time(row.pair.before(), change.before_ns()),
                time(row.pair.after(), change.after_ns()),
                change.percent().map_or(String::new(), |percent| format!("{percent:+.1} %")),
                change.within_percent().map_or(String::new(), |within| format!("{within:.1}")),
                counts,
                match &row.pair {
                    Pair::Renamed { before, after } => format!("{after} (before: {before})"),
                    other => other.name().to_owned(),
                },
            ]
        });
        std::iter::once(heading).chain(rows).collect()
    }

    fn table(&self) -> Table {
        let text = |name| Heading { name, is_text: true };
        let number = |name| Heading { name, is_text: false };
        let mut table = Table::new(
            "diff",
            "Differences",
            vec![
                text("Change"),
                number("Difference (ns)"),
                number("Difference (%)"),
                number("+/- (%)"),
                number("Before (ns)"),
                number("After (ns)"),
                number("Count Before"),
                number("Count After"),
                number("Med Before (ns)"),
                number("Med After (ns)"),
                text("Name"),
                text("Name Before"),
            ],
        )
        .with_key(&["Name", "Name Before"]);
        let most = self.top.unwrap_or(usize::MAX);
        table.rows = self
            .diff
            .rows
            .iter()
            .take(most)
            .map(|row| {
                let change = &row.change;
                let decimals =
                    |value: Option<f64>, decimals| value.map_or(Cell::Null, |value| Cell::Fixed(value, decimals));
                let count = |count: f64| match count.fract() == 0.0 {
                    true => Cell::int(count as i128),
                    false => Cell::Fixed(count, 2),
                };
                let renamed = match &row.pair {
                    Pair::Renamed { before, .. } => Cell::Text(before.clone()),
                    _ => Cell::Null,
                };
                vec![
                    change.judged.word().into(),
                    Cell::int(change.difference_ns().round() as i128),
                    decimals(change.percent(), 1),
                    decimals(change.within_percent(), 1),
                    Cell::int(change.before_ns().round() as i128),
                    Cell::int(change.after_ns().round() as i128),
                    count(row.counts[0]),
                    count(row.counts[1]),
                    decimals(row.medians_ns[0], 1),
                    decimals(row.medians_ns[1], 1),
                    Cell::Text(row.pair.name().to_owned()),
                    renamed,
                ]
            })
            .collect();
        table
    }

    fn json(&self) -> Value {
        let diff = self.diff;
        let change = |change: &Change| {
            json!({
                "before_ns": change.before_ns(),
                "after_ns": change.after_ns(),
                "difference_percent": change.percent(),
                "within_percent": change.within_percent(),
                "judged": change.judged.word(),
            })
        };
        let side = |runs: &[Run]| {
            let run = |run: &Run| json!({ "source": run.source, "gpus": run.gpus, "processes": run.processes, "steps": run.steps, "notes": run.notes });
            runs.iter().map(run).collect::<Vec<_>>()
        };
        let table = self.table();
        let (unit, factor) = match diff.unit {
            Unit::Run => ("run", None),
            Unit::Step => ("step", None),
            Unit::ScaledRun(factor) => ("scaled run", Some(factor)),
        };
        json!({
            "schema": schemas::DIFF,
            "verdict": diff.verdict(),
            "reason": diff.obstacle,
            "failed": self.failures,
            "what": self.what,
            "unit": unit,
            "launches_after_by_before": factor,
            "total": change(&diff.total),
            "span": change(&diff.span),
            "before": side(self.sides[0]),
            "after": side(self.sides[1]),
            "rows_in_all": diff.rows.len(),
            "key": table.key,
            "rows": table.json(),
        })
    }
}

/// A line of the rows for people.
fn row_line([change, before, after, difference, within, count, name]: &[String; 7]) -> String {
    format!("{change:<13}  {before:>9}  {after:>9}  {difference:>11}  {within:>5}  {count:>12}  {name}")
}

/// `11.9 ms before and 12.3 ms after: +3.1 % +/- 0.4`.
fn change_text(change: &Change) -> String {
    let time = |ns: f64| short_time(ns.round() as i64);
    let within = change.within_percent().map_or(String::new(), |within| format!(" +/- {within:.1}"));
    match change.percent() {
        Some(percent) => {
            format!(
                "{} before and {} after: {percent:+.1} %{within}",
                time(change.before_ns()),
                time(change.after_ns())
            )
        }
        None => format!("nothing before and {} after", time(change.after_ns())),
    }
}

fn side_text(runs: &[Run]) -> String {
    let steps: Vec<u64> = runs.iter().map(|run| run.steps).filter(|steps| *steps > 0).collect();
    let steps = match (steps.iter().min(), steps.iter().max()) {
        (Some(least), Some(most)) if least == most => format!(" of {}", items(*least, "step", "steps")),
        (Some(least), Some(most)) => format!(" of {least} to {most} steps"),
        _ => String::new(),
    };
    let names: Vec<&str> = runs.iter().map(|run| run.source.as_str()).collect();
    let names = match &names[..] {
        [first, .., last] if names.len() > 3 => format!("{first} to {last}"),
        all => all.join(", "),
    };
    format!("{}{steps} ({names})", items(runs.len() as u64, "run", "runs"))
}
