//! What a page has to know before it asks for tiles: rows, names, shapes, lists.

use super::Timeline;
use super::levels::{BIN_FACTOR, BINS_PER_TILE};
use super::links;
use super::records;
use super::rows::{Quantity, RECORDS_PER_TILE, Row};
use crate::error::{Error, Result};
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Version of the agreement between this side and the page.
const VERSION: u32 = 1;

#[derive(Serialize)]
struct Meta<'a> {
    version: u32,
    title: &'a str,
    origin: &'a str,
    generator: &'static str,
    /// Text: it is larger than what JavaScript counts in whole numbers.
    t0_unix_ns: Option<String>,
    duration_ns: u64,
    inline: bool,
    base_bin_ns: u64,
    bin_factor: u64,
    bins_per_tile: u64,
    records_per_tile: usize,
    names: &'a [Box<str>],
    /// Short names, by the id of the whole name.
    shorts: &'a BTreeMap<u32, Box<str>>,
    /// Ids of the names of kernels that must not share a colour, the longest first.
    longest_kernels: Vec<u32>,
    shapes: Value,
    rows: Vec<Value>,
    gaps: Vec<Value>,
    longest: Vec<Value>,
    counters: Vec<Value>,
    totals: BTreeMap<&'static str, u64>,
    notes: &'a [String],
    insights: &'a Value,
    waits: &'a Value,
}

impl Timeline {
    /// Records by table. Each counts once, though GPU work is shown in several rows.
    pub fn totals(&self) -> BTreeMap<&'static str, u64> {
        let mut totals = BTreeMap::new();
        for row in &self.rows {
            if let Some(table) = row.table {
                *totals.entry(table).or_default() += row.members.len() as u64;
            }
        }
        totals
    }

    /// The JSON that a page starts from.
    ///
    /// # Errors
    /// No trace can make this fail.
    pub fn meta(&self, inline: bool) -> Result<String> {
        let counters = self.rows.iter().enumerate().filter_map(|(id, row)| {
            let quantity = row.counter?;
            let (name, unit) = quantity.words();
            let name = if matches!(quantity, Quantity::Sample { .. }) { &row.label } else { name };
            Some(json!({ "row": id, "unit": unit, "name": name }))
        });
        let meta = Meta {
            version: VERSION,
            title: &self.title,
            origin: &self.origin,
            generator: concat!("gpuprof ", env!("CARGO_PKG_VERSION")),
            t0_unix_ns: self.has_epoch.then(|| self.model.start_ns.to_string()),
            duration_ns: self.model.duration_ns,
            inline,
            base_bin_ns: self.scale.base_bin_ns,
            bin_factor: BIN_FACTOR,
            bins_per_tile: BINS_PER_TILE,
            records_per_tile: RECORDS_PER_TILE,
            names: self.model.names.all(),
            shorts: self.model.names.shorts(),
            longest_kernels: links::longest_names(self),
            shapes: self.model.shapes.json(),
            rows: self.rows.iter().enumerate().map(|(id, row)| self.row_json(id, row)).collect(),
            gaps: self
                .gaps
                .iter()
                .map(|gap| json!({ "row": gap.row, "start_ns": gap.start_ns, "duration_ns": gap.duration_ns }))
                .collect(),
            longest: self.longest.iter().map(|(row, index)| json!({ "row": row, "index": index })).collect(),
            counters: counters.collect(),
            totals: self.totals(),
            notes: &self.notes,
            insights: &self.insights,
            waits: &self.waits,
        };
        serde_json::to_string(&meta).map_err(|e| Error::new(format!("the page's description: {e}")))
    }

    fn row_json(&self, id: usize, row: &Row) -> Value {
        let (kind, color) = row.kind.words();
        let columns = row.store(&self.model).map(|store| records::columns(row, store)).unwrap_or_default();
        let columns: Vec<Value> =
            columns.iter().map(|column| json!({ "name": column.name, "encoding": column.encoding })).collect();
        let mut out = json!({
            "id": id,
            "parent": row.parent.map_or(-1, |parent| parent as i64),
            "kind": kind,
            "label": row.label,
            "lanes": row.lane_count,
            "records": row.members.len(),
            "levels": row.levels,
            "columns": columns,
            "tile_spans": row.tile_spans,
            "busy_ns": row.busy_ns,
            "max_duration_ns": row.max_duration_ns,
            "color": color,
        });
        if let Some(table) = row.table {
            out["table"] = json!(table);
        }
        if let Some(quantity) = row.counter {
            out["unit"] = json!(quantity.words().1);
            // For the height of the curve only, so a float will do.
            out["max"] = json!(row.max_thousandths as f64 / 1000.0);
        }
        out
    }

    /// One tile; nothing where there is none. A tile of bins without bins is left out.
    pub fn tile(&self, row: usize, level: u32, index: u64) -> Option<Vec<u8>> {
        let row = self.rows.get(row)?;
        match level {
            0 => records::tile(self, row, index),
            _ => row.bins_tile(level, index),
        }
    }

    /// Whether a tile can be asked for, even if it has nothing in it.
    pub fn has_tile(&self, row: usize, level: u32, index: u64) -> bool {
        let Some(row) = self.rows.get(row) else { return false };
        match level {
            0 => index < row.tile_spans.len() as u64,
            _ => level <= row.levels && index <= self.model.duration_ns / self.scale.bin_ns(level) / BINS_PER_TILE,
        }
    }
}
