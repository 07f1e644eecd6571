//! Tiles of level 0: the records themselves, column after column.

use super::Timeline;
use super::column::Column;
use super::field;
use super::model::{Model, Store, StoreKind};
use super::rows::{RECORDS_PER_TILE, Row};
use super::varint::Writer;
use crate::lines::page::work_key;

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
    let encoding = |grows| if grows { "delta" } else { "nullable" };
    let field = |&(field, grows): &(usize, bool)| {
        column(store.fields[field].name.as_str(), encoding(grows), From::Field(field))
    };
    out.extend(row.fields.iter().map(field));
    if row.linked {
        let [other, index] = match row.kept {
            Some(StoreKind::Api) => ["gpu_row", "gpu_index"],
            _ => ["launch_row", "launch_index"],
        };
        out.push(column(other, encoding(row.links_grow), From::LinkRow));
        out.push(column(index, encoding(row.links_grow), From::LinkIndex));
    }
    out
}

/// What tells rows of one process apart: device, context and [`work_key`], or thread and domain.
type Key = (u32, u32, (u32, u32));

/// The other side of launches.
struct Sides<'m> {
    /// The record on the other side.
    link: &'m Column,
    other: &'m Store,
    keys: [&'m Column; 4],
    to_gpu: bool,
}

impl<'m> Sides<'m> {
    fn new(model: &'m Model, row: &Row) -> Option<Self> {
        let to_gpu = row.kept == Some(StoreKind::Api);
        let other = model.store(if to_gpu { StoreKind::Gpu } else { StoreKind::Api });
        static NONE: Column = Column::none();
        let keys = match to_gpu {
            true => [field::DEVICE, field::CONTEXT, field::TABLE, field::KIND].map(|key| other.field(key)),
            false => [other.field(field::TID), other.field(field::DOMAIN), &NONE, &NONE],
        };
        let link = row.store(model)?.field(if to_gpu { field::GPU } else { field::LAUNCH });
        Some(Sides { link, other, keys, to_gpu })
    }

    /// The other side of record `i`, and what says which row that is in.
    fn get(&self, i: usize) -> Option<(u32, Key)> {
        let record = self.link.get(i)? as usize;
        let [a, b, c, d] = self.keys;
        let work = if self.to_gpu { work_key(c.get(record), d.id(record, 0)) } else { (0, 0) };
        Some((record as u32, (a.id(record, 0), b.id(record, 0), work)))
    }
}

/// Whether all records of a row have another side, all of them in one row and in the same order.
pub(super) fn links_grow(model: &Model, row: &Row) -> bool {
    let Some(sides) = Sides::new(model, row) else { return false };
    let mut last: Option<(u32, Key)> = None;
    row.members.iter().all(|&i| {
        let Some((record, key)) = sides.get(i as usize) else { return false };
        let (before, first) = *last.get_or_insert((record, key));
        last = Some((record, first));
        record >= before && key == first
    })
}

/// Row and place of the other side of record `i`: GPU work in the row of its kind, calls in the row of their thread.
fn link(timeline: &Timeline, sides: &Sides, i: usize) -> Option<(usize, u64)> {
    let (record, (a, b, work)) = sides.get(i)?;
    let process = sides.other.process.id(record as usize, 0);
    let row = match sides.to_gpu {
        true => *timeline.work.get(&(process, a, b, work))?,
        false => *timeline.calls.get(&(process, a, b))?,
    };
    Some((row, timeline.rows[row].position(record)?))
}

/// Tile `index` of the records of a row; nothing beyond the last.
pub(super) fn tile(timeline: &Timeline, row: &Row, index: u64) -> Option<Vec<u8>> {
    let store = row.store(&timeline.model)?;
    let first = usize::try_from(index).ok()?.checked_mul(RECORDS_PER_TILE)?;
    let end = row.members.len().min(first.checked_add(RECORDS_PER_TILE)?);
    let members = row.members.get(first..end).filter(|members| !members.is_empty())?;
    let sides = Sides::new(&timeline.model, row).filter(|_| row.linked);
    let linked: Vec<Option<(usize, u64)>> = match sides {
        Some(sides) => members.iter().map(|&i| link(timeline, &sides, i as usize)).collect(),
        None => Vec::new(),
    };
    let mut out = Writer::default();
    out.put(members.len() as u64);
    let records = || members.iter().map(|&i| i as usize);
    for column in columns(row, store) {
        let numbers: Box<dyn Iterator<Item = Option<u64>>> = match column.from {
            From::Start => Box::new(records().map(|i| Some(store.start_ns[i]))),
            From::Duration => Box::new(records().map(|i| store.duration_ns.get(i))),
            From::Name => Box::new(records().map(|i| store.name.get(i))),
            From::Lane => Box::new((first..end).map(|i| row.lanes.get(i))),
            From::Field(field) => Box::new(records().map(move |i| store.fields[field].values.get(i))),
            From::LinkRow => Box::new(linked.iter().map(|link| link.map(|(row, _)| row as u64))),
            From::LinkIndex => Box::new(linked.iter().map(|link| link.map(|(_, place)| place))),
        };
        match column.encoding {
            "delta" => out.deltas(numbers.map(Option::unwrap_or_default)),
            "plain" => numbers.for_each(|number| out.put(number.unwrap_or(0))),
            _ => numbers.for_each(|number| out.nullable(number)),
        }
    }
    Some(out.into_bytes())
}
