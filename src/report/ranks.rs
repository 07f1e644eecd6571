//! The ranks of a run as people, tables and programs read them.

mod lines;
mod tables;

use crate::analysis::ranks::{HeatMap, Ranks};
use crate::render::schemas;
use crate::render::table::{Format, Table};
use serde_json::{Map, Value, json};
use std::io::{self, Write};

/// What makes a row of the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Rows {
    /// Ranks.
    #[default]
    Ranks,
    /// Communicators and kinds of collectives.
    Communicators,
    /// Collectives, those with the most skew first.
    Collectives,
}

/// An answer about ranks, and how it is shown.
pub struct Shown<'a> {
    /// The answer.
    pub ranks: &'a Ranks,
    /// What makes a row.
    pub rows: Rows,
    /// How many rows; `None`: all.
    pub top: Option<usize>,
    /// What is partial about the traces.
    pub notes: &'a [String],
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
                writeln!(out)?;
                self.text_rows().iter().try_for_each(|row| writeln!(out, "{}", row.trim_end()))?;
                match (&self.ranks.heat_map, self.rows) {
                    (Some(map), Rows::Ranks) => self.write_heat_map(out, map),
                    _ => Ok(()),
                }
            }
            Format::Markdown => {
                let lines = self.lines();
                let (first, rest) = lines.split_first().map_or(("Ranks", &[][..]), |(first, rest)| (first, rest));
                writeln!(out, "### {first}\n")?;
                rest.iter().try_for_each(|line| writeln!(out, "- {line}"))?;
                writeln!(out)?;
                self.table().write(out, format)
            }
        }
    }

    fn top<T>(&self, rows: impl Iterator<Item = T>) -> Vec<T> {
        rows.take(self.top.unwrap_or(usize::MAX)).collect()
    }

    fn table(&self) -> Table {
        match self.rows {
            Rows::Ranks => self.ranks_table(),
            Rows::Communicators => self.communicators_table(),
            Rows::Collectives => self.collectives_table(),
        }
    }

    /// Waits by rank and time, a character for each bin.
    fn write_heat_map(&self, out: &mut dyn Write, map: &HeatMap) -> io::Result<()> {
        let bin = crate::numbers::short_time(map.bin_ns);
        writeln!(out, "\nWaiting for other ranks in collectives, in percent of each bin of {bin}:")?;
        writeln!(out, "' ' less than 1, '.' 10, ':' 25, '-' 40, '=' 60, '+' 80, '#' up to 100")?;
        for (row, bins) in self.top(self.ranks.rows.iter().zip(&map.waits_ns)) {
            let shades: String = bins.iter().map(|ns| shade(*ns, map.bin_ns)).collect();
            writeln!(out, "{:>6} |{shades}|", row.number)?;
        }
        Ok(())
    }

    fn json(&self) -> Value {
        let ranks = self.ranks;
        let (alignment, unaligned) = parts(&ranks.alignment);
        let (late, unjudged) = parts(&ranks.stragglers);
        let (links, no_links) = parts(&ranks.slow_links);
        let (pipeline, no_pipeline) = parts(&ranks.pipeline);
        let (memory, no_memory) = parts(&ranks.memory);
        let numbers = |places: &[usize]| places.iter().map(|place| ranks.number(*place)).collect::<Vec<u32>>();
        let stragglers = late.map(|late| {
            late.named
                .iter()
                .zip(&ranks.slow_work)
                .map(|(one, work)| {
                    json!({
                        "rank": ranks.number(one.late.rank),
                        "cause": one.cause.word(),
                        "communicator": ranks.lanes.get(one.lane).map(|lane| lane.text()),
                        "median_late_ns": one.late.median_ns,
                        "late_ns": one.late.total_ns,
                        "last": one.late.last,
                        "collectives": one.late.collectives,
                        "more_work_ns": one.more_work_ns,
                        "more_idle_ns": one.more_idle_ns,
                        "slowest_work": work.as_ref().map(|work| json!({
                            "name": work.name,
                            "more_ns": work.more_ns,
                            "total_ns": work.total_ns[0],
                            "middle_total_ns": work.total_ns[1],
                            "count": work.count[0],
                            "middle_count": work.count[1],
                        })),
                    })
                })
                .collect::<Vec<Value>>()
        });
        let tables = [self.ranks_table(), self.communicators_table(), self.collectives_table()];
        json!({
            "schema": schemas::RANKS,
            "verdict": ranks.verdict(),
            "reason": ranks.obstacle.as_ref().or(unjudged),
            "ranks_in_all": ranks.rows.len(),
            "world_size": ranks.who.world_size,
            "missing": ranks.who.missing,
            "numbered_by": ranks.who.numbered_by.word(),
            "clocks": {
                "reason": unaligned,
                "is_one_clock": alignment.map(|a| a.is_one_clock),
                "collectives": alignment.map(|a| a.collectives),
                "residual_ns": alignment.map(|a| a.residual_ns),
                "residual_95_ns": alignment.map(|a| a.residual_95_ns),
                "from_ns": alignment.map(|a| a.from_ns),
            },
            "stragglers": stragglers,
            "gain_ns": late.map(|late| late.gain_ns),
            "slow_links": {
                "reason": no_links,
                "communicators": links.map(|(links, _)| links.iter().map(|link| json!({
                    "communicator": ranks.lanes.get(link.lane).map(|lane| lane.text()),
                    "kind": link.op.word(),
                    "bytes": link.bytes,
                    "ranks": numbers(&link.ranks),
                    "bus_gb_per_s": link.bus_gb_per_s,
                    "middle_gb_per_s": link.middle_gb_per_s,
                })).collect::<Vec<Value>>()),
                "shared_by_ranks": links.map(|(_, shared)| numbers(shared)),
            },
            "pipeline": {
                "reason": no_pipeline,
                "bubble_percent": pipeline.map(|p| p.bubble_percent),
                "imbalance": pipeline.map(|p| p.imbalance),
                "longest_rank": pipeline.map(|p| ranks.number(p.longest)),
                "sends": pipeline.map(|p| p.sends),
            },
            "memory": {
                "reason": no_memory,
                "most_rank": memory.map(|m| ranks.number(m.most.0)),
                "most_bytes": memory.map(|m| m.most.1),
                "least_rank": memory.map(|m| ranks.number(m.least.0)),
                "least_bytes": memory.map(|m| m.least.1),
                "imbalance": memory.map(|m| m.imbalance),
            },
            "collectives_in_all": ranks.collectives.len(),
            "keys": tables.iter().map(|table| (table.name.to_owned(), table.key.into())).collect::<Map<String, Value>>(),
            "ranks": tables[0].json(),
            "communicators": tables[1].json(),
            "collectives": (self.rows == Rows::Collectives).then(|| tables[2].json()),
            "heat_map": ranks.heat_map.as_ref().map(|map| json!({
                "from_ns": map.from_ns,
                "bin_ns": map.bin_ns,
                "wait_ns": map.waits_ns,
            })),
            "notes": self.notes.iter().chain(&ranks.notes).collect::<Vec<_>>(),
        })
    }
}

/// What was found out, and why it was not.
fn parts<T>(found: &Result<T, String>) -> (Option<&T>, Option<&String>) {
    (found.as_ref().ok(), found.as_ref().err())
}

/// The character for a share of a bin.
fn shade(ns: i64, bin_ns: i64) -> char {
    let thousandths = i128::from(ns) * 1000 / i128::from(bin_ns.max(1));
    match thousandths {
        ..10 => ' ',
        10..100 => '.',
        100..250 => ':',
        250..400 => '-',
        400..600 => '=',
        600..800 => '+',
        _ => '#',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shades_are_what_the_line_above_the_map_says() {
        let shades: String = [0, 9, 10, 99, 100, 249, 250, 399, 400, 599, 600, 799, 800, 1000]
            .map(|ns| shade(ns, 1000))
            .into_iter()
            .collect();
        assert_eq!(shades, "  ..::--==++##");
    }
}
