//! How fast copies could have been at most, as far as the trace says it: within a GPU's memory by what the device table says of it, to and
//! from the host by the PCIe link that samples saw.

use super::in_time::Place;
use super::system::{self, Whose};
use crate::error::Result;
use crate::metrics::name;
use crate::trace::frames::Frames;
use crate::trace::select::Filter;
use std::collections::BTreeMap;
use trace_format::vocabulary::memcpy_kind::{ATOA, ATOD, ATOH, DTOA, DTOD, DTOH, HTOA, HTOD};

/// Bytes per second of a lane, by generation from 1: transfers per second without what the encoding takes (8 of 10 bits, 128 of 130,
/// from the sixth on 236 of 256 bytes).
const LANE_BYTES_PER_S: [u64; 7] =
    [250_000_000, 500_000_000, 984_615_384, 1_969_230_769, 3_938_461_538, 7_375_000_000, 14_750_000_000];

/// What a limit follows from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// Half of the memory's bandwidth: each byte is read and written.
    Memory,
    /// The fastest PCIe link that was seen: generation and lanes.
    Pcie(u32, u32),
}

/// A limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// How many bytes can be copied in a second.
    pub bytes_per_s: u64,
    /// What it follows from.
    pub basis: Basis,
}

impl Limit {
    /// How many bytes could be copied in a time, times 10^9.
    pub fn ns_bytes(&self, ns: i64) -> u128 {
        u128::from(self.bytes_per_s) * u128::from(ns.max(0).unsigned_abs())
    }
}

/// The limits of each GPU.
#[derive(Debug, Default)]
pub struct CopyLimits {
    memory_bytes_per_s: BTreeMap<Place, u64>,
    /// Generation and lanes.
    links: BTreeMap<Place, (u32, u32)>,
}

impl CopyLimits {
    /// Reads the samples of links. A link runs slower while nothing is copied, so the fastest that was seen counts, at any time.
    ///
    /// # Errors
    /// Fails if a part of a file cannot be read.
    pub fn read(frames: &Frames) -> Result<CopyLimits> {
        let mut limits = CopyLimits::default();
        for (process, row) in &frames.devices {
            let kilobytes = row.memory_bandwidth_kb_per_s.and_then(|kilobytes| u64::try_from(kilobytes).ok());
            if let Some(bytes) = kilobytes.filter(|kilobytes| *kilobytes > 0).and_then(|kb| kb.checked_mul(1_000)) {
                limits.memory_bytes_per_s.insert(frames.device_identity(*process, row.device), bytes);
            }
        }
        let series = system::series(frames, &Filter::everything())?;
        let largest = |whose: &Whose, metric: &str| {
            let same = |other: &&Whose| {
                (other.process, other.device, other.pid) == (whose.process, whose.device, whose.pid)
                    && other.metric.1 == metric
            };
            let (_, points) = series.iter().find(|(other, _)| same(other))?;
            points.iter().map(|point| point.value as u32).max().filter(|value| *value > 0)
        };
        for whose in series.keys().filter(|whose| whose.metric.1 == name::pcie_link_gen) {
            let both = largest(whose, name::pcie_link_gen).zip(largest(whose, name::pcie_link_width_lanes));
            if let (Some(device), Some(link)) = (whose.device, both) {
                limits.links.insert(frames.device_identity(whose.process, device), link);
            }
        }
        Ok(limits)
    }

    /// The limit of copies of a kind (`CUpti_ActivityMemcpyKind`) on a GPU; `None`: the trace does not say it.
    pub fn of(&self, place: Place, kind: u32) -> Option<Limit> {
        match kind {
            DTOD | ATOA | ATOD | DTOA => {
                let bytes_per_s = self.memory_bytes_per_s.get(&place)? / 2;
                Some(Limit { bytes_per_s, basis: Basis::Memory })
            }
            HTOD | DTOH | HTOA | ATOH => {
                let &(generation, lanes) = self.links.get(&place)?;
                let lane = LANE_BYTES_PER_S.get(generation.checked_sub(1)? as usize)?;
                Some(Limit { bytes_per_s: lane.checked_mul(lanes.into())?, basis: Basis::Pcie(generation, lanes) })
            }
            _ => None,
        }
    }
}
