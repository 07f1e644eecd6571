//! What records refer to: the process, its threads, devices, contexts and streams.

use super::{Writer, process_object, schema, stream_object};
use crate::analysis::contexts::ContextDevices;
use crate::error::Result;
use crate::exchange::nvprof_db::object_kind::{CONTEXT, PROCESS, STREAM, THREAD};
use crate::export::database::{Rows, Value};
use std::collections::BTreeMap;
use trace_format::tables::{ContextRow, DeviceRow, StreamRow, ThreadRow};

pub(super) fn write(writer: &mut Writer) -> Result<()> {
    let mut names = Rows::of_existing(writer.database, &schema::NAME, &["objectKind", "objectId", "name"]);
    let labels = writer.context.labels;
    let process = labels.process_name().map_or_else(|| labels.process(writer.process), str::to_owned);
    let process = writer.strings.text(&process)?;
    let object = process_object(writer.pid, 0);
    names.add([PROCESS.into(), Value::Blob(&object), process.into()])?;
    devices(writer)?;
    contexts(writer, &mut names)?;
    streams(writer, &mut names)?;
    threads(writer, &mut names)
}

/// The UUID of no device.
const NO_UUID: [u8; 16] = [0; 16];

/// A definition is repeated in native files, and the last knows most. A file with several processes may describe the
/// devices for one of them only, so another's serve where the process has none.
fn devices(writer: &mut Writer) -> Result<()> {
    let (mut found, mut others): (BTreeMap<u32, DeviceRow>, BTreeMap<u32, DeviceRow>) = Default::default();
    let main = writer.process;
    let files: Vec<_> = writer.context.frames.processes.iter().map(|process| &process.path).collect();
    writer.each_defined(|_, process, row: DeviceRow| {
        if process == main {
            found.insert(row.device, row);
        } else if files.get(process as usize) == files.get(main as usize) {
            others.entry(row.device).or_insert(row);
        }
        Ok(())
    })?;
    for (device, row) in others {
        found.entry(device).or_insert(row);
    }
    let columns = &[
        "flags",
        "globalMemoryBandwidth",
        "globalMemorySize",
        "l2CacheSize",
        "numThreadsPerWarp",
        "coreClockRate",
        "numMultiprocessors",
        "maxWarpsPerMultiprocessor",
        "computeCapabilityMajor",
        "computeCapabilityMinor",
        "id",
        "uuid",
        "name",
        "isCudaVisible",
        "migUuid",
    ];
    let mut rows = Rows::of_existing(writer.database, &schema::DEVICE, columns);
    for row in found.values() {
        let name = writer.name(Some(row.name_id))?;
        // nvprof ends without a word where there is none.
        let uuid = Value::Blob(row.uuid.as_deref().filter(|uuid| uuid.len() == NO_UUID.len()).unwrap_or(&NO_UUID));
        rows.add([
            Value::Int(0),
            row.memory_bandwidth_kb_per_s.into(),
            row.memory_bytes.into(),
            row.l2_cache_bytes.into(),
            32u32.into(),
            row.core_clock_khz.into(),
            row.multiprocessors.into(),
            row.max_warps_per_multiprocessor.into(),
            row.compute_major.into(),
            row.compute_minor.into(),
            row.device.into(),
            uuid,
            name.into(),
            1u32.into(),
            Value::Blob(&NO_UUID),
        ])?;
    }
    Ok(())
}

/// Writes contexts.
fn contexts(writer: &mut Writer, names: &mut Rows) -> Result<()> {
    let mut found: BTreeMap<u32, ContextRow> = BTreeMap::new();
    let main = writer.process;
    writer.each_defined(|_, process, row: ContextRow| {
        if process == main {
            found.insert(row.context, row);
        }
        Ok(())
    })?;
    let columns = &["contextId", "deviceId", "computeApiKind", "nullStreamId"];
    let mut rows = Rows::of_existing(writer.database, &schema::CONTEXT, columns);
    for row in found.values() {
        rows.add([row.context.into(), row.device.into(), row.api_kind.into(), row.null_stream.into()])?;
        if let Some(name) = writer.context.labels.context_name(row.context) {
            let name = writer.strings.text(&name)?;
            names.add([CONTEXT.into(), Value::Blob(&stream_object(row.device, row.context, 0)), name.into()])?;
        }
    }
    Ok(())
}

fn streams(writer: &mut Writer, names: &mut Rows) -> Result<()> {
    let devices = ContextDevices::read(writer.context.frames)?;
    let mut found: BTreeMap<(u32, u32), StreamRow> = BTreeMap::new();
    let main = writer.process;
    writer.each_defined(|_, process, row: StreamRow| {
        if process == main {
            found.insert((row.context, row.stream), row);
        }
        Ok(())
    })?;
    let columns = &["contextId", "streamId", "priority", "flag", "correlationId"];
    let mut rows = Rows::of_existing(writer.database, &schema::STREAM, columns);
    for row in found.values() {
        rows.add([row.context.into(), row.stream.into(), row.priority.into(), row.flag.into(), Value::Int(0)])?;
        // The program's own name for it, else the user's.
        let name = match row.name_id.filter(|&name| name != 0) {
            Some(name) => Some(writer.name(Some(name))?),
            None => match writer.context.labels.stream_name(row.stream) {
                Some(name) => Some(writer.strings.text(&name)?),
                None => None,
            },
        };
        if let Some(name) = name {
            let device = devices.of(main, Some(row.context));
            let object = stream_object(device, row.context, row.stream);
            names.add([STREAM.into(), Value::Blob(&object), name.into()])?;
        }
    }
    Ok(())
}

fn threads(writer: &mut Writer, names: &mut Rows) -> Result<()> {
    let mut found: BTreeMap<u32, u32> = BTreeMap::new();
    let main = writer.process;
    writer.each_defined(|_, process, row: ThreadRow| {
        if process == main {
            found.insert(row.tid, row.name_id);
        }
        Ok(())
    })?;
    for (&tid, &name) in &found {
        let object = process_object(writer.pid, tid);
        let name = writer.name(Some(name))?;
        names.add([THREAD.into(), Value::Blob(&object), name.into()])?;
    }
    Ok(())
}
