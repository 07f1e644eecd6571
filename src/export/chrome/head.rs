//! The header: what stands before the list of events.

use super::json;
use super::numbering::Numbering;
use crate::analysis::labels::Labels;
use crate::trace::frames::Frames;
use std::collections::HashSet;
use trace_format::tables::DeviceRow;

/// Threads of a warp, on every GPU that CUDA has ever run on.
const WARP: i64 = 32;

/// Writes the header, up to the bracket that opens the events.
pub fn write(
    out: &mut Vec<u8>,
    labels: &Labels,
    numbering: &Numbering,
    devices: &[(u32, DeviceRow)],
    zero_ns: i64,
) {
    let frames = labels.frames();
    out.extend_from_slice(b"{\"schemaVersion\":1,\"displayTimeUnit\":\"ms\",\"deviceProperties\":[");
    let mut seen = HashSet::new();
    let mut separator: &[u8] = b"";
    for (_, device) in devices {
        if seen.insert(device.device) {
            out.extend_from_slice(separator);
            separator = b",";
            properties(out, labels, device);
        }
    }
    out.push(b']');
    if let [process] = &frames.processes[..]
        && let Some(rank) = process.info.rank
    {
        out.extend_from_slice(format!(",\"distributedInfo\":{{\"rank\":{rank}").as_bytes());
        if let Some(size) = process.info.world_size {
            out.extend_from_slice(format!(",\"world_size\":{size}").as_bytes());
        }
        out.push(b'}');
    }
    // Readers add this to all times; where some count from 1970 and some do not, there is nothing to add.
    if frames.processes.iter().all(|p| p.info.epoch_ns().is_some()) {
        out.extend_from_slice(format!(",\"baseTimeNanoseconds\":{zero_ns}").as_bytes());
    }
    if let Some(name) = frames.files.first().and_then(|file| file.path.file_name()) {
        out.extend_from_slice(b",\"traceName\":");
        json::string(out, name.as_encoded_bytes());
    }
    own(out, frames, numbering, zero_ns);
    out.extend_from_slice(b",\"traceEvents\":[");
}

fn properties(out: &mut Vec<u8>, labels: &Labels, device: &DeviceRow) {
    out.extend_from_slice(format!("\n{{\"id\":{},\"name\":", device.device).as_bytes());
    json::string(out, labels.text(device.name_id).as_bytes());
    let numbers = [
        ("totalGlobalMem", device.memory_bytes),
        ("computeMajor", device.compute_major.map(i64::from)),
        ("computeMinor", device.compute_minor.map(i64::from)),
        ("maxThreadsPerMultiprocessor", device.max_warps_per_multiprocessor.and_then(|n| n.checked_mul(WARP))),
        ("warpSize", Some(WARP)),
        ("numSms", device.multiprocessors),
    ];
    for (key, value) in numbers {
        if let Some(value) = value {
            out.extend_from_slice(format!(",\"{key}\":{value}").as_bytes());
        }
    }
    out.push(b'}');
}

/// What our own reader needs to get back what was exported.
fn own(out: &mut Vec<u8>, frames: &Frames, numbering: &Numbering, zero_ns: i64) {
    out.extend_from_slice(format!(",\"gpuprof\":{{\"version\":1,\"zero_ns\":{zero_ns},\"processes\":[").as_bytes());
    for (ordinal, process) in frames.processes.iter().enumerate() {
        if ordinal > 0 {
            out.push(b',');
        }
        let info = &process.info;
        let number = |value: Option<i64>| value.map_or("null".to_owned(), |v| v.to_string());
        let [pid, rank, world_size] = [info.pid, info.rank, info.world_size].map(|v| number(v.map(i64::from)));
        let text = format!(
            "{{\"json_pid\":{},\"pid\":{pid},\"rank\":{rank},\"world_size\":{world_size},\"offset_ns\":{}{}",
            numbering.pid(ordinal as u32),
            number(info.epoch_ns()),
            if info.is_launcher { ",\"launcher\":true" } else { "" },
        );
        out.extend_from_slice(text.as_bytes());
        if let Some(name) = &info.name {
            out.extend_from_slice(b",\"name\":");
            json::string(out, name.as_bytes());
        }
        out.push(b'}');
    }
    out.extend_from_slice(b"],\"origins\":[");
    for (i, file) in frames.files.iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        json::string(out, file.origin.as_bytes());
    }
    // What a remark says may name paths; that there was one is what a reader must know.
    let mut codes: Vec<&str> = frames.all_notes().iter().map(|note| note.code).collect();
    codes.sort_unstable();
    codes.dedup();
    out.extend_from_slice(b"],\"notes\":[");
    for (i, code) in codes.iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        json::string(out, code.as_bytes());
    }
    out.extend_from_slice(b"]}");
}
