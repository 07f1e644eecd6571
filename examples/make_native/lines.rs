//! What a summary of the trace must say, counted in the plainest way: every duration kept and sorted.

use std::collections::BTreeMap;
use std::io::{self, Write};

/// Durations by kind ("api", "kernel") and printed name.
#[derive(Default)]
pub struct Lines {
    ids: BTreeMap<(&'static str, String), usize>,
    durations: Vec<Vec<u32>>,
}

impl Lines {
    /// A number for one kind and name.
    pub fn id(&mut self, kind: &'static str, name: &str) -> usize {
        let next = self.ids.len();
        let id = *self.ids.entry((kind, name.to_owned())).or_insert(next);
        if id == self.durations.len() {
            self.durations.push(Vec::new());
        }
        id
    }

    /// Counts one record; durations here are all below four seconds.
    pub fn add(&mut self, id: usize, ns: i64) {
        self.durations[id].push(ns as u32);
    }

    /// Writes the lines by kind, total (descending) and name; medians to a tenth.
    pub fn print(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let mut lines = Vec::new();
        for ((kind, name), &id) in &self.ids {
            let durations = &mut self.durations[id];
            durations.sort_unstable();
            let n = durations.len();
            let (Some(&min), Some(&max)) = (durations.first(), durations.last()) else { continue };
            let total: u64 = durations.iter().map(|&d| u64::from(d)).sum();
            let twice = u64::from(durations[n / 2]) + u64::from(durations[(n - 1) / 2]);
            let text = format!("{kind}|{name}|{n}|{total}|{min}|{max}|{}.{}", twice / 2, twice % 2 * 5);
            lines.push((*kind, std::cmp::Reverse(total), name.as_str(), text));
        }
        lines.sort();
        lines.iter().try_for_each(|(.., text)| writeln!(out, "{text}"))
    }
}
