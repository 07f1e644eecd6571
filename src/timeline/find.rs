//! Answers of the server that need all records: search and selection. Pages with everything inside find the same
//! themselves.

use super::Timeline;
use super::rows::{RECORDS_PER_TILE, Row};
use crate::error::{Error, Result};
use hashbrown::HashMap;
use rayon::prelude::*;
use regex::RegexBuilder;
use serde_json::{Value, json};
use std::cmp::Reverse;

/// Names that a selection lists for each row.
const SELECTED_NAMES: usize = 20;

/// A record that was found: its start, its row, its place there.
type Hit = (u64, usize, usize);

impl Timeline {
    /// Names that contain a text in any case, or that match `/a regular expression/`.
    fn matching_names(&self, query: &str) -> Result<Vec<bool>> {
        let names = self.model.names.all();
        let slashes =
            query.strip_prefix('/').and_then(|rest| rest.strip_suffix('/')).filter(|text| !text.is_empty());
        let mut wanted: Vec<bool> = match slashes {
            Some(pattern) => {
                let pattern = RegexBuilder::new(pattern).case_insensitive(true).build();
                let pattern = pattern.map_err(|e| Error::new(format!("not a regular expression: {e}")))?;
                names.par_iter().map(|name| pattern.is_match(name)).collect()
            }
            None => {
                let text = query.to_lowercase();
                names.par_iter().map(|name| name.to_lowercase().contains(&text)).collect()
            }
        };
        // Id 0 is no name.
        if let Some(none) = wanted.first_mut() {
            *none = false;
        }
        Ok(wanted)
    }

    /// How many records have a matching name, and the first of them in time.
    ///
    /// # Errors
    /// Fails if the query looks like a regular expression and is not one.
    pub fn search(&self, query: &str, limit: usize) -> Result<Value> {
        let wanted = self.matching_names(query)?;
        let find = |(id, row): (usize, &Row)| {
            let store = row.store(&self.model).filter(|_| row.table.is_some())?;
            let mut total = 0_u64;
            let mut hits = Vec::new();
            for (place, &i) in row.members.iter().enumerate() {
                if wanted.get(store.name.id(i as usize, 0) as usize).copied().unwrap_or(false) {
                    total += 1;
                    if hits.len() < limit {
                        hits.push((store.start_ns[i as usize], id, place));
                    }
                }
            }
            Some((total, hits))
        };
        let found: Vec<(u64, Vec<Hit>)> = self.rows.par_iter().enumerate().filter_map(find).collect();
        let total: u64 = found.iter().map(|(total, _)| total).sum();
        let mut hits: Vec<Hit> = found.into_iter().flat_map(|(_, hits)| hits).collect();
        hits.sort_unstable();
        hits.truncate(limit);
        let hit = |&(start_ns, id, place): &Hit| {
            let row = &self.rows[id];
            let store = row.store(&self.model)?;
            let i = row.members[place] as usize;
            let name = self.model.names.get(store.name.id(i, 0));
            let duration_ns = store.duration_ns.get(i);
            Some(
                json!({ "row": id, "index": place, "start_ns": start_ns, "duration_ns": duration_ns, "name": name }),
            )
        };
        Ok(json!({ "total": total, "hits": hits.iter().filter_map(hit).collect::<Vec<_>>() }))
    }

    /// What every row did in a span: how many records start in it, how much of it they cover, and by which names.
    pub fn select(&self, from_ns: u64, to_ns: u64) -> Value {
        let rows = self.rows.par_iter().enumerate();
        let rows: Vec<Value> = rows.filter_map(|(id, row)| self.select_row(id, row, from_ns, to_ns)).collect();
        json!({ "rows": rows })
    }

    fn select_row(&self, id: usize, row: &Row, from_ns: u64, to_ns: u64) -> Option<Value> {
        let store = row.store(&self.model)?;
        let (mut count, mut busy_ns, mut covered) = (0_u64, 0, from_ns);
        let mut names: HashMap<u32, (u64, u64)> = HashMap::new();
        for (tile, &(start, end)) in row.members.chunks(RECORDS_PER_TILE).zip(&row.tile_spans) {
            if start >= to_ns || end < from_ns {
                continue;
            }
            for i in tile.iter().map(|&i| i as usize) {
                let (start, end) = store.span(i);
                if start >= to_ns {
                    break;
                }
                let (begin, until) = (start.max(covered), end.min(to_ns));
                if until > begin {
                    busy_ns += until - begin;
                    covered = until;
                }
                if start >= from_ns {
                    count += 1;
                    let sums = names.entry(store.name.id(i, 0)).or_default();
                    *sums = (sums.0 + 1, sums.1.saturating_add(store.duration_ns.get(i).unwrap_or(0)));
                }
            }
        }
        if count == 0 && busy_ns == 0 {
            return None;
        }
        let mut longest: Vec<(u64, Reverse<u32>, u64)> =
            names.into_iter().map(|(name, (count, total))| (total, Reverse(name), count)).collect();
        longest.sort_unstable_by(|a, b| b.cmp(a));
        longest.truncate(SELECTED_NAMES);
        let name = |&(total, Reverse(name), count): &(u64, Reverse<u32>, u64)| json!({ "name": self.model.names.get(name), "count": count, "total_ns": total });
        let names: Vec<Value> = longest.iter().map(name).collect();
        Some(json!({ "row": id, "count": count, "busy_ns": busy_ns, "names": names }))
    }
}
