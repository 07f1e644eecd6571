//! Tiles of level 0: the records themselves, column after column.

use super::Timeline;
use super::column::Column;
use super::model::{Kept, Store};
use super::rows::{RECORDS_PER_TILE, Row};
use super::tree::work_key;
use super::varint::Writer;

/// Where a column's numbers come from.
enum From {
    Start,
    Duration,
    Name,
    Lane,
    Field(usize),
    /// The row of the other side of a launch.
    LinkRow,
    /// The place of the other side in that row.
    LinkIndex,
}

/// A column of a row's records.
pub(super) struct PageColumn {
    pub name: &'static str,
    pub encoding: &'static str,
    from: From,
}

/// The columns of a row, in the order in which tiles have them.
pub(super) fn columns(row: &Row, store: &Store) -> Vec<PageColumn> {
    let column = |name, encoding, from| PageColumn { name, encoding, from };
    let mut out = vec![
        column("start_ns", "delta", From::Start),
        column("duration_ns", "nullable", From::Duration),
        column("name", "plain", From::Name),
        column("lane", "plain", From::Lane),
    ];
    out.extend(row.fields.iter().map(|&field| column(store.fields[field].name, "nullable", From::Field(field))));
    if row.linked {
        let [row, index] = match row.kept {
            Some(Kept::Api) => ["gpu_row", "gpu_index"],
            _ => ["launch_row", "launch_index"],
        };
        out.push(column(row, "nullable", From::LinkRow));
        out.push(column(index, "nullable", From::LinkIndex));
    }
    out
}

/// Finds the other side of launches: GPU work in the row of its kind, calls in the row of their thread.
struct Links<'t> {
    timeline: &'t Timeline,
    /// The record on the other side.
    link: &'t Column,
    other: &'t Store,
    /// What says which row a record on the other side is in.
    keys: [&'t Column; 4],
    to_gpu: bool,
}

impl<'t> Links<'t> {
    fn new(timeline: &'t Timeline, store: &'t Store, kept: Option<Kept>) -> Self {
        let to_gpu = kept == Some(Kept::Api);
        let other = timeline.model.store(if to_gpu { Kept::Gpu } else { Kept::Api });
        let keys = if to_gpu { ["device", "context", "table", "kind"] } else { ["tid", "domain", "", ""] };
        let link = store.field(if to_gpu { "gpu" } else { "launch" });
        Links { timeline, link, other, keys: keys.map(|key| other.field(key)), to_gpu }
    }

    /// Row and place of the other side of record `i`.
    fn get(&self, i: usize) -> Option<(usize, u64)> {
        let record = self.link.get(i)? as usize;
        let process = self.other.process.id(record, 0);
        let [a, b, c, d] = self.keys;
        let (a, b) = (a.id(record, 0), b.id(record, 0));
        let row = match self.to_gpu {
            true => *self.timeline.work.get(&(process, a, b, work_key(c.get(record), d.id(record, 0))))?,
            false => *self.timeline.calls.get(&(process, a, b))?,
        };
        Some((row, self.timeline.rows[row].position(record as u32)?))
    }
}

/// Tile `index` of the records of a row; nothing beyond the last.
pub(super) fn tile(timeline: &Timeline, row: &Row, index: u64) -> Option<Vec<u8>> {
    let store = row.store(&timeline.model)?;
    let first = usize::try_from(index).ok()?.checked_mul(RECORDS_PER_TILE)?;
    let end = row.members.len().min(first.checked_add(RECORDS_PER_TILE)?);
    let members = row.members.get(first..end).filter(|members| !members.is_empty())?;
    let links = Links::new(timeline, store, row.kept);
    let linked: Vec<Option<(usize, u64)>> = match row.linked {
        true => members.iter().map(|&i| links.get(i as usize)).collect(),
        false => Vec::new(),
    };
    let mut out = Writer::default();
    out.put(members.len() as u64);
    let records = || members.iter().map(|&i| i as usize);
    for column in columns(row, store) {
        match column.from {
            From::Start => out.deltas(records().map(|i| store.start_ns[i])),
            From::Duration => records().for_each(|i| out.nullable(store.duration_ns.get(i))),
            From::Name => records().for_each(|i| out.put(store.name.get(i).unwrap_or(0))),
            From::Lane => (first..end).for_each(|i| out.put(row.lanes.get(i).unwrap_or(0))),
            From::Field(field) => records().for_each(|i| out.nullable(store.fields[field].values.get(i))),
            From::LinkRow => linked.iter().for_each(|link| out.nullable(link.map(|(row, _)| row as u64))),
            From::LinkIndex => linked.iter().for_each(|link| out.nullable(link.map(|(_, place)| place))),
        }
    }
    Some(out.into_bytes())
}
