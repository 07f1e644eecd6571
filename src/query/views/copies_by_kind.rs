//! Copies summed by direction and kinds of memory.

use super::columns::{STATISTICS, bytes, frame, plain, statistics, text, texts};
use crate::analysis::stats::{Stats, Wanted};
use crate::error::Result;
use crate::query::source::{Source, SourceColumn, Trace, Type};
use crate::trace::select::Filter;
use hashbrown::HashMap;
use polars::prelude::{Column, DataFrame};
use trace_format::schema::TableSpec;
use trace_format::tables;
use trace_format::tables::column::memcpy;
use trace_format::vocabulary::{Vocabulary, memcpy_kind, memory_kind};

/// The view.
pub struct CopiesByKind;

/// Copies of one kind: durations, bytes of those with valid times, the largest.
#[derive(Default)]
struct Group {
    stats: Stats,
    bytes: i128,
    largest: i64,
}

impl Group {
    fn merge(&mut self, other: Group) {
        self.stats.merge(other.stats);
        self.bytes += other.bytes;
        self.largest = self.largest.max(other.largest);
    }

    /// Bytes per second over the time that the copies took.
    fn rate(&self) -> Option<i64> {
        let total = i128::try_from(self.stats.total_ns).ok().filter(|ns| *ns > 0)?;
        i64::try_from(self.bytes.checked_mul(1_000_000_000)? / total).ok()
    }
}

impl Source for CopiesByKind {
    fn name(&self) -> &'static str {
        "copies_by_kind"
    }
    fn doc(&self) -> &'static str {
        "Memory copies by direction and kinds of memory, the longest total first."
    }
    fn columns(&self) -> Vec<SourceColumn> {
        let own = [
            text("kind", "Direction, e.g. `HtoD`."),
            text("src_kind", "Kind of memory read, e.g. `pageable`."),
            text("dst_kind", "Kind of memory written."),
            bytes("bytes", "Bytes copied; NULL beyond 64 bits."),
            bytes("max_bytes", "The largest copy."),
            plain("bytes_per_s", Type::Int, "Bytes per second of `total_ns`."),
        ];
        [&own[..], &STATISTICS].concat()
    }
    fn tables(&self) -> Vec<&'static TableSpec> {
        vec![&tables::MEMCPY]
    }
    fn read(&self, trace: &Trace, _: &[&str]) -> Result<DataFrame> {
        let groups = trace.frames.fold(
            &tables::MEMCPY,
            &[memcpy::DURATION_NS, memcpy::KIND, memcpy::SRC_KIND, memcpy::DST_KIND, memcpy::BYTES],
            &Filter::everything(),
            HashMap::new,
            |groups: &mut HashMap<[u32; 3], Group>, batch| {
                let (duration, size) = (batch.get(memcpy::DURATION_NS), batch.get(memcpy::BYTES));
                let kinds = [memcpy::KIND, memcpy::SRC_KIND, memcpy::DST_KIND].map(|column| batch.get(column));
                batch.for_each_row(|i| {
                    let Some(ns) = duration.get(i) else { return };
                    let size = size.get(i).unwrap_or(0);
                    let group = groups.entry(kinds.map(|kind| kind.get(i).unwrap_or(0))).or_default();
                    group.stats.add(ns, Wanted { quantiles: true });
                    group.bytes += i128::from(size);
                    group.largest = group.largest.max(size);
                });
            },
            |a, b| b.into_iter().for_each(|(key, group)| a.entry(key).or_default().merge(group)),
        )?;
        let mut rows: Vec<_> = groups.into_iter().collect();
        rows.sort_unstable_by(|a, b| b.1.stats.total_ns.cmp(&a.1.stats.total_ns).then(a.0.cmp(&b.0)));
        let words = |at: usize, vocabulary: &Vocabulary| {
            rows.iter().map(|(key, _)| vocabulary.text(key[at]).into_owned()).collect::<Vec<_>>()
        };
        let column = |name, words: Vec<String>| texts(name, words.iter().map(String::as_str));
        let numbers = |name: &str, values: Vec<Option<i64>>| Column::new(name.into(), values);
        let mut columns = vec![
            column("kind", words(0, &memcpy_kind::VOCABULARY)),
            column("src_kind", words(1, &memory_kind::VOCABULARY)),
            column("dst_kind", words(2, &memory_kind::VOCABULARY)),
            numbers("bytes", rows.iter().map(|(_, g)| i64::try_from(g.bytes).ok()).collect()),
            numbers("max_bytes", rows.iter().map(|(_, g)| Some(g.largest)).collect()),
            numbers("bytes_per_s", rows.iter().map(|(_, g)| g.rate()).collect()),
        ];
        let mut stats: Vec<Stats> = rows.into_iter().map(|(_, group)| group.stats).collect();
        columns.extend(statistics(&mut stats));
        frame(stats.len(), columns)
    }
}
