//! What records refer to: processes, threads, GPUs, contexts, streams, and what the file says about itself.

use super::clock::utc;
use super::{Writer, ids, schema};
use crate::error::Result;
use crate::exchange::nsys_sqlite::{ORIGIN, PRODUCT};
use crate::export::database::{Rows, Value};
use hashbrown::{HashMap, HashSet};
use std::collections::BTreeMap;
use trace_format::tables::{ContextRow, DeviceRow, StreamRow, ThreadRow};

pub(super) fn write(writer: &mut Writer) -> Result<()> {
    about(writer)?;
    processes(writer)?;
    contexts(writer)?;
    devices(writer)?;
    streams(writer)?;
    threads(writer)
}

/// Number of the property that nsys calls Hostname.
const HOSTNAME: u32 = 619;

/// Versions, start and length of the session, hosts.
fn about(writer: &mut Writer) -> Result<()> {
    let mut meta = Rows::new(writer.database, &schema::META, &["name", "value"]);
    let [major, minor, micro] = schema::VERSION;
    for (name, value) in [
        ("EXPORT_PRODUCT_NAME", PRODUCT),
        ("EXPORT_PRODUCT_VERSION", env!("CARGO_PKG_VERSION")),
        ("EXPORT_SCHEMA_VERSION", &schema::VERSION.join(".")),
        ("EXPORT_SCHEMA_VERSION_MAJOR", major),
        ("EXPORT_SCHEMA_VERSION_MINOR", minor),
        ("EXPORT_SCHEMA_VERSION_MICRO", micro),
        ("EXPORT_PARAM_EXPORT_TYPE", "SQLite"),
        ("EXPORT_PARAM_LAZY", "true"),
        ("EXPORT_PARAM_TIME_NORMALIZE", "false"),
        ("EXPORT_PARAM_TIME_SHIFT", "0"),
    ] {
        meta.add([name.into(), value.into()])?;
    }
    if let (Some(_), Some(origin_ns)) = (writer.clock.epoch_ns, writer.context.frames.origin_ns()) {
        meta.add([ORIGIN.into(), origin_ns.to_string().as_str().into()])?;
    }
    let mut start = Rows::new(writer.database, &schema::SESSION_START, &["utcEpochNs", "utcTime"]);
    let time = writer.clock.epoch_ns.map(utc);
    start.add([writer.clock.epoch_ns.into(), time.as_deref().into()])?;
    let frames = writer.context.frames;
    let mut details =
        Rows::new(writer.database, &schema::DETAILS, &["globalVid", "duration", "startTime", "stopTime"]);
    let mut system =
        Rows::new(writer.database, &schema::SYSTEM, &["globalVid", "devStateName", "name", "nameEnum", "value"]);
    let (first, last) = writer.clock.span.unwrap_or((0, 0));
    let mut machines = HashSet::new();
    for (process, ordinal) in frames.processes.iter().zip(0..) {
        let machine = ids::machine(writer.ids.process(ordinal));
        if writer.context.filter.takes_process(ordinal) && machines.insert(machine) {
            // From 0, so that a tool that takes the start from here shows times as they are in the tables.
            details.add([machine.into(), last.max(0).into(), first.min(0).into(), last.into()])?;
            let host = process.info.host.as_deref().unwrap_or("unknown");
            system.add([machine.into(), PRODUCT.into(), "Hostname".into(), HOSTNAME.into(), host.into()])?;
        }
    }
    Ok(())
}

fn processes(writer: &mut Writer) -> Result<()> {
    let mut rows = Rows::new(writer.database, &schema::PROCESSES, &["globalPid", "pid", "name"]);
    for (process, ordinal) in writer.context.frames.processes.iter().zip(0..) {
        if writer.context.filter.takes_process(ordinal) {
            let name = process.info.name.clone().unwrap_or_else(|| writer.context.labels.process(ordinal));
            rows.add([writer.ids.process(ordinal).into(), process.info.pid.into(), name.as_str().into()])?;
        }
    }
    Ok(())
}

/// Writes contexts. A definition is repeated in native files, the last knows most.
fn contexts(writer: &mut Writer) -> Result<()> {
    let mut found = BTreeMap::new();
    writer.each_defined(|_, process, row: ContextRow| {
        found.insert((process, row.context), row);
        Ok(())
    })?;
    let columns = &[
        "nullStreamId",
        "hwId",
        "vmId",
        "processId",
        "deviceId",
        "contextId",
        "parentContextId",
        "isGreenContext",
    ];
    // nsys2prv reads the table whether there are contexts or not.
    writer.database.execute(&schema::CONTEXT.create())?;
    let mut rows = Rows::of_existing(writer.database, &schema::CONTEXT, columns);
    for (&(process, _), row) in &found {
        let [hardware, machine, pid] = ids::parts(writer.ids.process(process));
        rows.add([
            row.null_stream.into(),
            hardware.into(),
            machine.into(),
            pid.into(),
            row.device.into(),
            row.context.into(),
            row.parent_context.into(),
            u32::from(row.parent_context.is_some()).into(),
        ])?;
    }
    Ok(())
}

/// What is the same GPU: the machine and its UUID, or where it has none its number and name.
type GpuKey = (i64, Option<Vec<u8>>, Option<(u32, u32)>);

/// Writes GPUs, each once per machine, and which process knows which by which number.
fn devices(writer: &mut Writer) -> Result<()> {
    let mut found: BTreeMap<(u32, u32), DeviceRow> = BTreeMap::new();
    writer.each_defined(|_, process, row: DeviceRow| {
        found.insert((process, row.device), row);
        Ok(())
    })?;
    let mut gpus = Rows::new(
        writer.database,
        &schema::GPU,
        &[
            "vmId",
            "id",
            "name",
            "busLocation",
            "l2CacheSize",
            "totalMemory",
            "memoryBandwidth",
            "clockRate",
            "smCount",
            "uuid",
            "cuDevice",
            "maxWarpsPerSm",
            "computeMajor",
            "computeMinor",
            "smMajor",
            "smMinor",
        ],
    );
    let mut seen =
        Rows::new(writer.database, &schema::CUDA_DEVICE, &["gpuId", "cudaId", "pid", "uuid", "numMultiprocessors"]);
    let mut known: HashMap<GpuKey, u32> = HashMap::new();
    let mut taken: HashSet<u32> = HashSet::new();
    for (&(process, device), row) in &found {
        let global = writer.ids.process(process);
        let machine = ids::machine(global);
        let [_, _, pid] = ids::parts(global);
        let uuid = row.uuid.as_deref().map(uuid_text);
        let named = row.uuid.is_none().then_some((device, row.name_id));
        let key = (machine, row.uuid.clone(), named);
        let id = match known.get(&key) {
            Some(&id) => id,
            None => {
                // The number that CUDA gave it if that is free: SQL for nsys joins by it.
                let mut id = device;
                while !taken.insert(id) {
                    id = id.wrapping_add(1);
                }
                known.insert(key, id);
                let name = Some(writer.strings.text_of(row.name_id)).filter(|name| !name.is_empty());
                let bus = row.pci_bus_id.as_deref().map(String::from_utf8_lossy);
                // nsys has Hz and bytes per second.
                let thousand = |value: Option<i64>| value.map(|value| value.saturating_mul(1000));
                gpus.add([
                    machine.into(),
                    id.into(),
                    name.as_deref().into(),
                    bus.as_deref().into(),
                    row.l2_cache_bytes.into(),
                    row.memory_bytes.into(),
                    thousand(row.memory_bandwidth_kb_per_s).into(),
                    thousand(row.core_clock_khz).into(),
                    row.multiprocessors.into(),
                    uuid.as_deref().into(),
                    device.into(),
                    row.max_warps_per_multiprocessor.into(),
                    row.compute_major.into(),
                    row.compute_minor.into(),
                    row.compute_major.into(),
                    row.compute_minor.into(),
                ])?;
                id
            }
        };
        seen.add([id.into(), device.into(), pid.into(), uuid.as_deref().into(), row.multiprocessors.into()])?;
    }
    Ok(())
}

/// `554a6988-03dd-6206-3dd1-f43fb60a3ed0`.
fn uuid_text(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(36);
    for (i, byte) in bytes.iter().enumerate() {
        if matches!(i, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text.push_str(&format!("{byte:02x}"));
    }
    text
}

fn streams(writer: &mut Writer) -> Result<()> {
    let mut found: BTreeMap<(u32, u32, u32), StreamRow> = BTreeMap::new();
    writer.each_defined(|_, process, row: StreamRow| {
        found.insert((process, row.context, row.stream), row);
        Ok(())
    })?;
    let columns = &["streamId", "hwId", "vmId", "processId", "contextId", "priority", "flag"];
    let mut rows = Rows::new(writer.database, &schema::STREAM, columns);
    let named = &["name", "hwId", "vmId", "processId", "deviceId", "contextId", "streamId"];
    let mut names = Rows::new(writer.database, &schema::STREAM_NAME, named);
    for (&(process, ..), row) in &found {
        let [hardware, machine, pid] = ids::parts(writer.ids.process(process)).map(Value::Int);
        let (context, stream) = (row.context.into(), row.stream.into());
        rows.add([stream, hardware, machine, pid, context, row.priority.into(), row.flag.into()])?;
        if let Some(name) = row.name_id.filter(|&name| name != 0) {
            let text = writer.strings.text_of(name);
            let device = writer.device(process, Some(row.context)).into();
            names.add([(&*text).into(), hardware, machine, pid, device, context, stream])?;
        }
    }
    Ok(())
}

fn threads(writer: &mut Writer) -> Result<()> {
    let mut found: BTreeMap<(u32, u32), u32> = BTreeMap::new();
    writer.each_defined(|_, process, row: ThreadRow| {
        found.insert((process, row.tid), row.name_id);
        Ok(())
    })?;
    let mut rows = Rows::new(writer.database, &schema::THREAD_NAMES, &["nameId", "globalTid"]);
    for (&(process, tid), &name) in &found {
        let name = writer.strings.name(name)?;
        rows.add([name.into(), writer.ids.thread(process, tid).into()])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuids_are_written_as_nvidia_smi_writes_them() {
        let bytes: Vec<u8> = (0..16).map(|i| i * 17).collect();
        assert_eq!(uuid_text(&bytes), "00112233-4455-6677-8899-aabbccddeeff");
    }
}
