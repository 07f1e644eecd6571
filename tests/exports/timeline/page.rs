//! Reads a timeline page as a browser would, with no code of the writer, and checks that it agrees with itself.

use base64::Engine;
use flate2::read::GzDecoder;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::io::Read;

/// A page taken apart.
pub struct Page {
    pub meta: Value,
    directory: HashMap<String, (usize, usize)>,
    data: Vec<u8>,
}

/// One bin of a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bin {
    pub index: u64,
    pub count: u64,
    pub busy: u64,
    pub longest: u64,
    pub longest_ns: u64,
    pub name: u64,
}

/// One record of a row, by column; `None`: null.
pub type Record = BTreeMap<String, Option<u64>>;

/// The text of the script element with this id.
pub fn element<'h>(html: &'h str, id: &str) -> &'h str {
    let (_, rest) = html.split_once(&format!("id=\"{id}\">")).unwrap_or_else(|| panic!("no element {id}"));
    rest.split_once("</script>").expect("the element ends").0
}

struct Varints<'b>(&'b [u8]);

impl Varints<'_> {
    fn next(&mut self) -> u64 {
        let mut value = 0;
        for shift in (0..).step_by(7) {
            let byte = self.0[0];
            self.0 = &self.0[1..];
            value |= u64::from(byte & 127) << shift;
            if byte < 128 {
                break;
            }
        }
        value
    }

    fn take(&mut self, n: u64) -> Vec<u64> {
        (0..n).map(|_| self.next()).collect()
    }

    fn deltas(&mut self, n: u64) -> Vec<u64> {
        let mut sum = 0;
        (0..n)
            .map(|_| {
                sum += self.next();
                sum
            })
            .collect()
    }
}

impl Page {
    pub fn parse(html: &str) -> Page {
        let meta = serde_json::from_str(element(html, "meta")).expect("the page's JSON");
        let tiles = base64::prelude::BASE64_STANDARD.decode(element(html, "tiles")).expect("base64");
        let mut pack = Vec::new();
        GzDecoder::new(&tiles[..]).read_to_end(&mut pack).expect("gzip");
        let length = u32::from_le_bytes(pack[..4].try_into().unwrap()) as usize;
        let directory = serde_json::from_slice(&pack[4..4 + length]).expect("the directory");
        Page { meta, directory, data: pack.split_off(4 + length) }
    }

    pub fn rows(&self) -> &[Value] {
        self.meta["rows"].as_array().unwrap()
    }

    /// The row of this kind; there must be one.
    pub fn row(&self, kind: &str) -> &Value {
        let mut rows = self.rows().iter().filter(|row| row["kind"] == kind);
        let row = rows.next().unwrap_or_else(|| panic!("no row {kind}"));
        assert!(rows.next().is_none(), "several rows {kind}");
        row
    }

    pub fn name(&self, id: u64) -> &str {
        self.meta["names"][id as usize].as_str().expect("a name")
    }

    /// The bytes of a tile; none if it is empty.
    pub fn tile(&self, row: u64, level: u64, index: u64) -> Option<&[u8]> {
        let &(offset, length) = self.directory.get(&format!("{row}/{level}/{index}"))?;
        Some(&self.data[offset..offset + length])
    }

    pub fn keys(&self) -> impl Iterator<Item = &String> {
        self.directory.keys()
    }

    pub fn records(&self, row: &Value) -> Vec<Record> {
        let columns: Vec<(&str, &str)> = row["columns"]
            .as_array()
            .unwrap()
            .iter()
            .map(|c| (c["name"].as_str().unwrap(), c["encoding"].as_str().unwrap()))
            .collect();
        let mut records = Vec::new();
        let spans = row["tile_spans"].as_array().unwrap();
        for k in 0..spans.len() {
            let mut bytes = Varints(self.tile(u(&row["id"]), 0, k as u64).expect("a tile of records"));
            let n = bytes.next();
            let mut tile = vec![Record::new(); n as usize];
            for (name, encoding) in &columns {
                let values: Vec<Option<u64>> = match *encoding {
                    "delta" => bytes.deltas(n).into_iter().map(Some).collect(),
                    "plain" => bytes.take(n).into_iter().map(Some).collect(),
                    "nullable" => bytes.take(n).into_iter().map(|v| v.checked_sub(1)).collect(),
                    other => panic!("encoding {other}"),
                };
                tile.iter_mut().zip(values).for_each(|(record, value)| {
                    record.insert((*name).to_owned(), value);
                });
            }
            assert!(bytes.0.is_empty(), "a tile with bytes left over");
            let first = tile[0]["start_ns"].unwrap();
            let end = tile.iter().map(|r| r["start_ns"].unwrap() + self.duration(r)).max().unwrap();
            assert_eq!(spans[k], serde_json::json!([first, end]));
            assert!(k + 1 == spans.len() || n == u(&self.meta["records_per_tile"]));
            records.append(&mut tile);
        }
        records
    }

    /// What is not finished lasts to the end.
    pub fn duration(&self, record: &Record) -> u64 {
        record["duration_ns"].unwrap_or(u(&self.meta["duration_ns"]) - record["start_ns"].unwrap())
    }

    pub fn bin_ns(&self, level: u64) -> u64 {
        u(&self.meta["base_bin_ns"]) * u(&self.meta["bin_factor"]).pow(level as u32 - 1)
    }

    /// The tiles of a level, as far as there are any.
    fn tiles(&self, row: &Value, level: u64) -> Vec<(u64, Varints<'_>)> {
        let per_tile = u(&self.meta["bins_per_tile"]);
        let last = u(&self.meta["duration_ns"]) / self.bin_ns(level) / per_tile;
        let tiles = (0..=last).filter_map(|k| Some((k * per_tile, Varints(self.tile(u(&row["id"]), level, k)?))));
        tiles.collect()
    }

    pub fn bins(&self, row: &Value, level: u64) -> Vec<Bin> {
        let mut bins = Vec::new();
        for (first, mut bytes) in self.tiles(row, level) {
            let n = bytes.next();
            let index = bytes.deltas(n);
            let columns: [Vec<u64>; 5] = std::array::from_fn(|_| bytes.take(n));
            assert!(bytes.0.is_empty() && index.iter().all(|&i| i < 1024));
            for i in 0..n as usize {
                let [count, busy, longest, longest_ns, name] = std::array::from_fn(|c| columns[c][i]);
                bins.push(Bin { index: first + index[i], count, busy, longest, longest_ns, name });
            }
        }
        assert!(bins.is_sorted_by(|a, b| a.index < b.index), "bins in order, each once");
        bins
    }

    /// Bins of a counter: index and mean in thousandths. The mean lies between the least and the most.
    pub fn values(&self, row: &Value, level: u64) -> Vec<(u64, i64)> {
        let mut out = Vec::new();
        for (first, mut bytes) in self.tiles(row, level) {
            let n = bytes.next();
            let (index, values) = (bytes.deltas(n), bytes.take(n));
            let (_above, _below) = (bytes.take(n), bytes.take(n));
            assert!(bytes.0.is_empty());
            let value = |v: u64| (v >> 1) as i64 ^ -((v & 1) as i64);
            out.extend(index.iter().zip(values).map(|(i, v)| (first + i, value(v))));
        }
        out
    }

    /// Everything that a page promises about itself. `thorough` also computes every bin anew, record by record.
    pub fn check(&self, thorough: bool) {
        let rows = self.rows();
        let mut totals: BTreeMap<&str, u64> = BTreeMap::new();
        let mut below: Vec<u64> = rows.iter().map(|row| u(&row["records"])).collect();
        for (id, row) in rows.iter().enumerate() {
            assert_eq!(u(&row["id"]), id as u64);
            assert!(row["parent"].as_i64().unwrap() < id as i64, "parents come first");
            if let Some(table) = row["table"].as_str() {
                *totals.entry(table).or_default() += u(&row["records"]);
            }
        }
        let said: BTreeMap<&str, u64> =
            self.meta["totals"].as_object().unwrap().iter().map(|(k, v)| (k.as_str(), u(v))).collect();
        assert_eq!(totals, said, "rows add up to the totals");
        // A heading shows each record below it once: those that count, or all streams.
        for row in rows.iter().rev() {
            let counts = row["table"].is_string() || matches!(row["kind"].as_str(), Some("stream"));
            let heads = u(&row["records"]) == 0 && !matches!(row["kind"].as_str(), Some("streams" | "counter"));
            if let (true, Ok(parent)) = (counts || heads, usize::try_from(row["parent"].as_i64().unwrap())) {
                below[parent] += below[u(&row["id"]) as usize];
            }
        }
        for row in rows {
            let id = u(&row["id"]) as usize;
            let kind = row["kind"].as_str().unwrap();
            let levels = u(&row["levels"]);
            // Few records are shown as they are.
            let tiles = row["tile_spans"].as_array().unwrap().len();
            let as_records = (1..=2).contains(&tiles);
            assert_eq!(levels, if as_records { 0 } else { u(&self.meta["rows"][0]["levels"]) });
            if levels > 0 {
                assert!(self.bin_ns(levels) * 1024 > u(&self.meta["duration_ns"]), "the top is one tile");
            }
            if kind == "counter" {
                continue;
            }
            for level in 1..=levels {
                let bins = self.bins(row, level);
                let count: u64 = bins.iter().map(|bin| bin.count).sum();
                // Compute holds its kernels' records itself.
                let expected = if u(&row["records"]) > 0 { u(&row["records"]) } else { below[id] };
                assert_eq!(count, expected, "records of {kind} {} on level {level}", row["label"]);
                let busy: u64 = bins.iter().map(|bin| bin.busy).sum();
                assert_eq!(busy, u(&row["busy_ns"]), "busy time of {kind} {} on level {level}", row["label"]);
            }
            let records = self.records(row);
            assert_eq!(records.len() as u64, u(&row["records"]));
            self.check_lanes(row, &records);
            if thorough && !records.is_empty() {
                for level in 1..=levels {
                    assert_eq!(self.bins(row, level), self.bins_of(&records, level), "{kind} on level {level}");
                }
            }
        }
    }

    fn check_lanes(&self, row: &Value, records: &[Record]) {
        let mut ends = vec![0; u(&row["lanes"]) as usize];
        let mut last = 0;
        for record in records {
            let (start, lane) = (record["start_ns"].unwrap(), record["lane"].unwrap() as usize);
            assert!(start >= last, "records in order of start");
            last = start;
            assert!(ends[lane] <= start, "slices of one lane overlap");
            ends[lane] = start + self.duration(record);
            let name = record["name"].unwrap();
            assert!((name as usize) < self.meta["names"].as_array().unwrap().len());
        }
    }

    /// The slow way, bin by bin.
    fn bins_of(&self, records: &[Record], level: u64) -> Vec<Bin> {
        let width = self.bin_ns(level);
        let mut bins: BTreeMap<u64, Bin> = BTreeMap::new();
        let mut covered = 0;
        for (i, record) in records.iter().enumerate() {
            let (start, duration) = (record["start_ns"].unwrap(), self.duration(record));
            let end = start + duration;
            let last = if duration == 0 { start / width } else { (end - 1) / width };
            for index in start / width..=last {
                let new = Bin { index, count: 0, busy: 0, longest: i as u64, longest_ns: 0, name: 0 };
                let bin = bins.entry(index).or_insert(new);
                bin.count += u64::from(index == start / width);
                let (from, to) = (start.max(covered).max(index * width), end.min((index + 1) * width));
                bin.busy += to.saturating_sub(from);
                if duration > bin.longest_ns || bin.longest == i as u64 {
                    (bin.longest, bin.longest_ns, bin.name) = (i as u64, duration, record["name"].unwrap());
                }
            }
            covered = covered.max(end);
        }
        bins.into_values().collect()
    }
}

/// An unsigned number of the page's JSON.
pub fn u(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no number"))
}
