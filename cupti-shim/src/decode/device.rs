//! Devices. `CUpti_ActivityDevice4` and later.

use cupti_sys::fields::device as f;
use trace_format::schema::RowBuilder as _;
use trace_format::tables::DeviceRow;

use super::record::Record;
use super::{Facts, Kind, NONE, Out};

pub(super) const KIND: Kind =
    Kind { id: f::KIND, start: NONE, end: NONE, correlation: NONE, names: &[f::NAME], defines: true, decode };

fn decode(record: Record, _: &Facts, out: &mut Out) {
    let uuid = record.0.get(usize::from(f::UUID_BYTES.offset)..f::UUID_BYTES.end());
    out.tables.device.push(DeviceRow {
        device: record.u32(f::ID),
        name_id: record.name(f::NAME),
        compute_major: record.try_u32(f::COMPUTE_CAPABILITY_MAJOR),
        compute_minor: record.try_u32(f::COMPUTE_CAPABILITY_MINOR),
        multiprocessors: Some(record.count(f::NUM_MULTIPROCESSORS)),
        core_clock_khz: Some(record.count(f::CORE_CLOCK_RATE)),
        memory_bytes: Some(record.bytes_count(f::GLOBAL_MEMORY_SIZE)),
        memory_bandwidth_kb_per_s: Some(record.bytes_count(f::GLOBAL_MEMORY_BANDWIDTH)),
        l2_cache_bytes: Some(record.count(f::L2_CACHE_SIZE)),
        max_warps_per_multiprocessor: Some(record.count(f::MAX_WARPS_PER_MULTIPROCESSOR)),
        uuid: uuid.map(<[u8]>::to_vec),
        pci_bus_id: None,
    });
}
