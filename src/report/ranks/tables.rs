//! The tables: exact for machines, rounded for people.

use super::{Rows, Shown};
use crate::analysis::ranks::{LaneSum, RankRow, Timed};
use crate::numbers::{BINARY, short_time, size};
use crate::render::table::{Cell, Heading, Table};

fn text(name: &'static str) -> Heading {
    Heading { name, is_text: true }
}

fn number(name: &'static str) -> Heading {
    Heading { name, is_text: false }
}

/// A part of the observed time, in percent.
fn percent(ns: i64, of_ns: i64) -> Option<f64> {
    (of_ns > 0).then(|| ns as f64 * 100.0 / of_ns as f64)
}

fn fixed(value: Option<f64>, decimals: usize) -> Cell {
    value.map_or(Cell::Null, |value| Cell::Fixed(value, decimals))
}

impl Shown<'_> {
    /// One row per rank. Shares are of the observed time.
    pub(super) fn ranks_table(&self) -> Table {
        let headings = vec![
            number("Rank"),
            text("Host"),
            text("GPU"),
            number("Observed (ns)"),
            number("Compute (ns)"),
            number("Communication (ns)"),
            number("Exposed Communication (ns)"),
            number("Exposed Copies (ns)"),
            number("Idle (ns)"),
            number("Bubble of Observed (%)"),
            number("Wait (ns)"),
            number("Collectives"),
            number("Last"),
            number("Med Late (ns)"),
            number("Late (ns)"),
            number("Clock Ahead (ns)"),
            number("Clock Drift (ppm)"),
            number("Peak Memory (bytes)"),
            text("Trace"),
        ];
        let mut table = Table::new("ranks", "Ranks", headings).with_key(&["Rank"]);
        let has_collectives = !self.ranks.collectives.is_empty();
        let row = |row: &RankRow| {
            let late = row.late.as_ref();
            vec![
                Cell::id(row.number),
                row.host.clone().map_or(Cell::Null, Cell::Text),
                Cell::Text(row.gpu.clone()),
                Cell::int(row.observed_ns),
                Cell::int(row.compute_ns),
                Cell::int(row.communication_ns),
                Cell::int(row.exposed_communication_ns),
                Cell::int(row.exposed_memory_ns),
                Cell::int(row.idle_ns),
                fixed(percent(row.bubble_ns(), row.observed_ns), 2),
                Cell::opt(has_collectives.then_some(row.wait_ns)),
                Cell::opt(late.map(|late| late.collectives)),
                Cell::opt(late.map(|late| late.last)),
                Cell::opt(late.map(|late| late.median_ns)),
                Cell::opt(late.map(|late| late.total_ns)),
                Cell::opt(row.clock.map(|clock| clock.offset_ns)),
                fixed(row.clock.map(|clock| clock.drift_ppm), 3),
                Cell::opt(row.peak_bytes),
                Cell::Text(row.path.clone()),
            ]
        };
        table.rows = self.top(self.ranks.rows.iter().map(row));
        table
    }

    fn lane(&self, lane: usize) -> String {
        self.ranks.lanes.get(lane).map(|lane| lane.text()).unwrap_or_default()
    }

    /// One row per communicator and kind, those with the most time first.
    pub(super) fn communicators_table(&self) -> Table {
        let headings = vec![
            text("Communicator"),
            text("Kind"),
            number("Ranks"),
            number("Ranks Present"),
            number("Collectives"),
            number("Bytes"),
            number("Transfer (ns)"),
            number("Skew (ns)"),
            number("Med Skew (ns)"),
            number("Max Skew (ns)"),
            number("Med Algorithm (GB/s)"),
            number("Med Bus (GB/s)"),
        ];
        let mut table = Table::new("communicators", "Communicators", headings).with_key(&["Communicator", "Kind"]);
        let row = |sum: &LaneSum| {
            vec![
                Cell::Text(self.lane(sum.lane)),
                sum.op.word().into(),
                Cell::int(sum.size),
                Cell::int(sum.ranks.len() as u64),
                Cell::int(sum.count),
                Cell::opt(sum.bytes),
                Cell::int(sum.transfer_ns),
                Cell::int(sum.skew_ns),
                Cell::int(sum.median_skew_ns),
                Cell::int(sum.most_skew_ns),
                fixed(sum.bandwidth_gb_per_s.map(|rate| rate.0), 3),
                fixed(sum.bandwidth_gb_per_s.map(|rate| rate.1), 3),
            ]
        };
        let is_cut = self.rows == Rows::Communicators;
        let rows = self.ranks.sums.iter().map(row);
        table.rows = if is_cut { self.top(rows) } else { rows.collect() };
        table
    }

    /// One row per collective, those with the most skew first.
    pub(super) fn collectives_table(&self) -> Table {
        let headings = vec![
            number("Start (ns)"),
            text("Communicator"),
            text("Kind"),
            number("Number"),
            number("Ranks Present"),
            number("Bytes"),
            number("Skew (ns)"),
            number("Last Rank"),
            number("Wait (ns)"),
            number("Transfer (ns)"),
            number("Algorithm (GB/s)"),
            number("Bus (GB/s)"),
        ];
        let mut table =
            Table::new("collectives", "Collectives", headings).with_key(&["Communicator", "Kind", "Number"]);
        let mut all: Vec<&Timed> = self.ranks.collectives.iter().collect();
        // They come by start, and the sort is stable.
        all.sort_by_key(|c| std::cmp::Reverse(c.skew_ns()));
        let row = |c: &Timed| {
            let rate = c.bandwidth_gb_per_s();
            vec![
                Cell::int(c.first_start_ns),
                Cell::Text(self.lane(c.lane)),
                c.op.word().into(),
                Cell::int(c.number),
                Cell::int(c.starts_ns.len() as u64),
                Cell::opt(c.bytes),
                Cell::int(c.skew_ns()),
                Cell::id(self.ranks.number(c.last_rank)),
                Cell::opt(c.op.waits_for_all().then(|| c.wait_ns())),
                Cell::int(c.transfer_ns()),
                fixed(rate.map(|rate| rate.0), 3),
                fixed(rate.map(|rate| rate.1), 3),
            ]
        };
        table.rows = self.top(all.into_iter().map(row));
        table
    }

    /// The rows as people read them: rounded, the longest text last.
    pub(super) fn text_rows(&self) -> Vec<String> {
        let ranks = self.ranks;
        let gb = |rate: Option<(f64, f64)>| rate.map_or(String::new(), |(_, bus)| format!("{bus:.1} GB/s"));
        match self.rows {
            Rows::Ranks => {
                let head = format!(
                    "{:>6}  {:>7}  {:>7}  {:>7}  {:>7}  {:>9}  {:>11}  {:>9}  {:>10}  {}",
                    "rank", "compute", "exposed", "copies", "idle", "waits", "last", "late", "memory", "host, GPU"
                );
                let row = |row: &RankRow| {
                    let share =
                        |ns: i64| percent(ns, row.observed_ns).map_or(String::new(), |p| format!("{p:.1} %"));
                    let late = row.late.as_ref();
                    let place: Vec<&str> = [row.host.as_deref().unwrap_or_default(), &row.gpu]
                        .into_iter()
                        .filter(|text| !text.is_empty())
                        .collect();
                    format!(
                        "{:>6}  {:>7}  {:>7}  {:>7}  {:>7}  {:>9}  {:>11}  {:>9}  {:>10}  {}",
                        row.number,
                        share(row.compute_ns),
                        share(row.exposed_communication_ns),
                        share(row.exposed_memory_ns),
                        share(row.idle_ns),
                        if ranks.heat_map.is_some() { short_time(row.wait_ns) } else { String::new() },
                        late.map_or(String::new(), |late| format!("{} of {}", late.last, late.collectives)),
                        late.map_or(String::new(), |late| short_time(late.median_ns)),
                        row.peak_bytes.map_or(String::new(), |bytes| size(bytes.max(0) as u64, &BINARY)),
                        place.join(", ")
                    )
                };
                std::iter::once(head).chain(self.top(ranks.rows.iter()).into_iter().map(row)).collect()
            }
            Rows::Communicators => {
                let head = format!(
                    "{:>5}  {:<13}  {:>11}  {:>9}  {:>9}  {:>9}  {:>10}  {}",
                    "ranks", "kind", "collectives", "transfer", "med skew", "max skew", "bus", "communicator"
                );
                let row = |sum: &LaneSum| {
                    format!(
                        "{:>5}  {:<13}  {:>11}  {:>9}  {:>9}  {:>9}  {:>10}  {}",
                        sum.size,
                        sum.op.word(),
                        sum.count,
                        short_time(sum.transfer_ns),
                        short_time(sum.median_skew_ns),
                        short_time(sum.most_skew_ns),
                        gb(sum.bandwidth_gb_per_s),
                        self.lane(sum.lane)
                    )
                };
                std::iter::once(head).chain(self.top(ranks.sums.iter()).into_iter().map(row)).collect()
            }
            Rows::Collectives => {
                let head = format!(
                    "{:>9}  {:>9}  {:>9}  {:>10}  {:<13}  {:>9}  {}",
                    "skew", "last rank", "transfer", "bus", "kind", "number", "communicator"
                );
                let mut all: Vec<&Timed> = ranks.collectives.iter().collect();
                all.sort_by_key(|c| std::cmp::Reverse(c.skew_ns()));
                let row = |c: &Timed| {
                    format!(
                        "{:>9}  {:>9}  {:>9}  {:>10}  {:<13}  {:>9}  {}",
                        short_time(c.skew_ns()),
                        ranks.number(c.last_rank),
                        short_time(c.transfer_ns()),
                        gb(c.bandwidth_gb_per_s()),
                        c.op.word(),
                        c.number,
                        self.lane(c.lane)
                    )
                };
                std::iter::once(head).chain(self.top(all.into_iter()).into_iter().map(row)).collect()
            }
        }
    }
}
