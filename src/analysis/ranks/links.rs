//! Communicators that are slower than others that do the same: of as many ranks, with as many bytes.
//!
//! Within one communicator all ranks move at the pace of the slowest link, so nothing tells which it is. Several that do the
//! same can be held against each other; a rank that all slow ones share, and no fast one, has the slow link.

use super::align::median_f64;
use super::calls::Op;
use super::waits::Timed;
use std::collections::{BTreeMap, BTreeSet};

/// Communicators that do the same, below which none can be called slow.
const LEAST_ALIKE: usize = 3;

/// A communicator is slow if its bandwidth is below this share of the middle one's, in percent.
pub const SLOW_PERCENT: f64 = 70.0;

/// A communicator that is slow.
#[derive(Clone, Debug, PartialEq)]
pub struct SlowLink {
    /// The communicator.
    pub lane: usize,
    /// What it does.
    pub op: Op,
    /// Bytes of each collective that was compared.
    pub bytes: u64,
    /// Its ranks, by place.
    pub ranks: Vec<usize>,
    /// Its median bandwidth of the bus, in GB/s.
    pub bus_gb_per_s: f64,
    /// That of the middle communicator that does the same.
    pub middle_gb_per_s: f64,
}

/// Finds the slow ones, and the ranks that all of them share and no other communicator has that does the same.
pub fn slow(collectives: &[Timed]) -> (Vec<SlowLink>, Vec<usize>) {
    let mut alike: BTreeMap<(Op, u64, u32), BTreeMap<usize, Vec<&Timed>>> = BTreeMap::new();
    for collective in collectives {
        if let (Some(bytes), Some(_)) = (collective.bytes, collective.bandwidth_gb_per_s()) {
            let same = alike.entry((collective.op, bytes, collective.size)).or_default();
            same.entry(collective.lane).or_default().push(collective);
        }
    }
    let mut found = Vec::new();
    let mut well: BTreeSet<usize> = BTreeSet::new();
    for ((op, bytes, _), lanes) in alike {
        if lanes.len() < LEAST_ALIKE {
            continue;
        }
        let rate = |all: &Vec<&Timed>| {
            median_f64(
                &mut all.iter().filter_map(|c| c.bandwidth_gb_per_s()).map(|(_, bus)| bus).collect::<Vec<f64>>(),
            )
        };
        let rates: Vec<(usize, f64)> = lanes.iter().map(|(lane, all)| (*lane, rate(all))).collect();
        let middle = median_f64(&mut rates.iter().map(|(_, rate)| *rate).collect::<Vec<f64>>());
        for (lane, rate) in rates {
            let members = lanes[&lane].iter().flat_map(|c| c.starts_ns.iter().map(|(rank, _)| *rank));
            let ranks: BTreeSet<usize> = members.collect();
            match rate * 100.0 < SLOW_PERCENT * middle {
                true => found.push(SlowLink {
                    lane,
                    op,
                    bytes,
                    ranks: ranks.into_iter().collect(),
                    bus_gb_per_s: rate,
                    middle_gb_per_s: middle,
                }),
                false => well.extend(ranks),
            }
        }
    }
    found.sort_by(|a, b| {
        let share = |link: &SlowLink| link.bus_gb_per_s / link.middle_gb_per_s;
        share(a).total_cmp(&share(b)).then_with(|| (a.lane, a.op, a.bytes).cmp(&(b.lane, b.op, b.bytes)))
    });
    let lanes: BTreeSet<usize> = found.iter().map(|link| link.lane).collect();
    let mut shared: Vec<usize> = match found.first() {
        Some(first) if lanes.len() > 1 => first.ranks.clone(),
        _ => Vec::new(),
    };
    shared.retain(|rank| found.iter().all(|link| link.ranks.contains(rank)) && !well.contains(rank));
    (found, shared)
}
