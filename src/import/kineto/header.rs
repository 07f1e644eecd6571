//! The header of a trace: devices, ranks, versions and the epoch. Nothing else of it is copied: metadata that
//! people add holds environments, host names and access tokens.

use super::gpuprof_fields::GpuprofFields;
use super::json_tokens::{Tape, Value};
use super::number::{id, integer};
use super::text::unescape;
use trace_format::tables::DeviceRow;

/// What the header says.
#[derive(Default, Debug)]
pub struct Header {
    /// `schemaVersion`.
    pub schema: Option<i64>,
    /// CUPTI's version number.
    pub cupti: Option<i64>,
    /// HIP's version number.
    pub hip: Option<i64>,
    /// What to add to times to get Unix nanoseconds.
    pub base_ns: Option<i64>,
    /// Rank in a distributed job.
    pub rank: Option<u32>,
    /// Number of ranks.
    pub world_size: Option<u32>,
    /// The devices.
    pub devices: Vec<Device>,
    /// What gpuprof itself wrote, if it did.
    pub own: Option<GpuprofFields>,
    /// Whether this is a speedscope file, which is no trace of events.
    pub speedscope: bool,
}

/// A device as the header describes it.
#[derive(Debug)]
pub struct Device {
    /// Its row; the name is still missing.
    pub row: DeviceRow,
    /// Its name; ROCm may leave it empty.
    pub name: Vec<u8>,
}

impl Header {
    /// Whether [`Header::set`] does anything with a field of this name.
    pub fn wants(key: &[u8]) -> bool {
        matches!(
            key,
            b"schemaVersion"
                | b"cupti_version"
                | b"hip_runtime_version"
                | b"baseTimeNanoseconds"
                | b"distributedInfo"
                | b"deviceProperties"
                | b"computeProperties"
                | b"$schema"
                | b"gpuprof"
        )
    }

    /// Takes a field. As in Python's `json`, the last of equal keys counts.
    pub fn set(&mut self, key: &[u8], value: Value, tape: Tape) {
        match (key, value) {
            (b"schemaVersion", _) => self.schema = integer(value),
            (b"cupti_version", _) => self.cupti = integer(value),
            (b"hip_runtime_version", _) => self.hip = integer(value),
            (b"baseTimeNanoseconds", _) => self.base_ns = integer(value),
            (b"gpuprof", Value::Nested(open)) => self.own = GpuprofFields::read(tape, open),
            (b"$schema", Value::Text(url)) => self.speedscope = url.windows(10).any(|w| w == b"speedscope"),
            (b"distributedInfo", Value::Nested(open)) => {
                for (key, value) in tape.fields(open) {
                    match key {
                        b"rank" => self.rank = id(value),
                        b"world_size" => self.world_size = id(value),
                        _ => {}
                    }
                }
            }
            (b"deviceProperties" | b"computeProperties", Value::Nested(open)) => {
                self.devices = tape.elements(open).filter_map(|device| Device::read(tape, device)).collect();
                let mut seen = std::collections::BTreeSet::new();
                self.devices.retain(|device| seen.insert(device.row.device));
            }
            _ => {}
        }
    }

    /// What wrote the file, as far as it says.
    pub fn origin(&self) -> String {
        if let Some(own) = &self.own {
            let origins: Vec<_> = own.origins.iter().map(|origin| String::from_utf8_lossy(origin)).collect();
            return format!("Chrome trace exported by gpuprof from: {}", origins.join("; "));
        }
        let schema = self.schema.map_or("no schema version".to_owned(), |v| format!("schema {v}"));
        let library = match (self.cupti, self.hip) {
            (Some(version), _) => format!(", CUPTI {version}"),
            (None, Some(version)) => format!(", HIP {version}"),
            (None, None) => String::new(),
        };
        format!("PyTorch profiler trace (Kineto, {schema}{library})")
    }
}

impl Device {
    fn read(tape: Tape, open: usize) -> Option<Device> {
        let mut device = None;
        let mut name = Vec::new();
        let (mut major, mut minor, mut multiprocessors, mut memory) = (None, None, None, None);
        let (mut threads, mut warp) = (None, None);
        for (key, value) in tape.fields(open) {
            match key {
                b"id" => device = id(value),
                b"name" => {
                    if let Value::Text(text) = value {
                        name = unescape(text).into_owned();
                    }
                }
                b"totalGlobalMem" => memory = integer(value),
                b"computeMajor" | b"major" => major = id(value),
                b"computeMinor" | b"minor" => minor = id(value),
                b"numSms" | b"multiProcessorCount" => multiprocessors = integer(value),
                b"maxThreadsPerMultiprocessor" | b"maxThreadsPerMultiProcessor" => threads = integer(value),
                b"warpSize" => warp = integer(value),
                _ => {}
            }
        }
        let row = DeviceRow {
            device: device?,
            name_id: 0,
            compute_major: major,
            compute_minor: minor,
            multiprocessors,
            core_clock_khz: None,
            memory_bytes: memory,
            memory_bandwidth_kb_per_s: None,
            l2_cache_bytes: None,
            max_warps_per_multiprocessor: threads.and_then(|t: i64| t.checked_div(warp?)),
            uuid: None,
            pci_bus_id: None,
        };
        Some(Device { row, name })
    }
}
