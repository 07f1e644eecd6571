//! What CUPTI records around the work of the GPU: synchronisations, overhead, memory, events, compilations.

use super::{Writer, correlation, id_or_none, process_object, schema};
use crate::cupti::environment::{DATA_BYTES, FIELDS, Field};
use crate::error::Result;
use crate::exchange::nvprof_db::object_kind::{PROCESS, THREAD};
use crate::export::database::{Rows, Value};
use hashbrown::HashMap;
use std::collections::BTreeMap;
use trace_format::schema::Row as _;
use trace_format::tables::{self, EventRow, ExternalRow, JitRow, MemoryRow, OverheadRow, SampleRow, SyncRow};
use trace_format::vocabulary::memory_operation::OF_POOL;

pub(super) fn write(writer: &mut Writer) -> Result<()> {
    syncs(writer)?;
    overheads(writer)?;
    memory(writer)?;
    events(writer)?;
    external(writer)?;
    compilations(writer)?;
    environment(writer)
}

/// What was measured of one GPU at one time: by kind of record, the union.
type Measured = BTreeMap<u32, [u8; DATA_BYTES]>;

/// Clocks, temperature, power and fans, as the process or a launcher on its machine measured them.
fn environment(writer: &mut Writer) -> Result<()> {
    let frames = writer.context.frames;
    let fields: HashMap<u32, &Field> = (0..frames.names.len() as u32)
        .filter_map(|id| {
            let field = FIELDS.iter().find(|field| field.metric.as_bytes() == frames.names.get(id))?;
            Some((id, field))
        })
        .collect();
    if fields.is_empty() {
        return Ok(());
    }
    let columns = &["deviceId", "timestamp", "environmentKind", "data"];
    let mut rows = Rows::of_existing(writer.database, &schema::ENVIRONMENT, columns);
    let mut flush = |(device, at): (u32, i64), measured: &mut Measured| {
        std::mem::take(measured)
            .into_iter()
            .try_for_each(|(kind, data)| rows.add([device.into(), at.into(), kind.into(), Value::Blob(&data)]))
    };
    let (mut last, mut measured) = ((0, 0), Measured::new());
    frames.in_order(&[&tables::SAMPLE], &writer.filter.for_samples(), |chunk| {
        for (piece, i) in chunk.iter() {
            let is_launcher = |p: u32| frames.processes.get(p as usize).is_some_and(|p| p.info.is_launcher);
            let is_ours = piece.process == writer.process
                || (is_launcher(piece.process) && frames.share_host(piece.process, writer.process));
            let sample = SampleRow::from_batch(&piece.rows, i);
            let (Some(field), Some(device), true) = (fields.get(&sample.metric_id), sample.device, is_ours) else {
                continue;
            };
            let now = (device, writer.at(sample.start_ns));
            if now != last {
                flush(last, &mut measured)?;
                last = now;
            }
            // Whole numbers is what they are; a number that is not saturates.
            field.write(measured.entry(field.kind).or_default(), sample.value as u32);
        }
        Ok(())
    })?;
    flush(last, &mut measured)
}

fn syncs(writer: &mut Writer) -> Result<()> {
    let columns = &["type", "start", "end", "correlationId", "contextId", "streamId", "cudaEventId"];
    let mut rows = Rows::of_existing(writer.database, &schema::SYNCHRONIZATION, columns);
    writer.each(|writer, sync: SyncRow| {
        let (start, end) = writer.span_of(sync.start_ns, sync.duration_ns);
        rows.add([
            sync.kind.into(),
            start.into(),
            end.into(),
            correlation(sync.correlation).into(),
            id_or_none(sync.context).into(),
            id_or_none(sync.stream).into(),
            id_or_none(sync.event).into(),
        ])
    })
}

fn overheads(writer: &mut Writer) -> Result<()> {
    let columns = &["overheadKind", "objectKind", "objectId", "start", "end"];
    let mut rows = Rows::of_existing(writer.database, &schema::OVERHEAD, columns);
    writer.each(|writer, overhead: OverheadRow| {
        let (start, end) = writer.span_of(overhead.start_ns, overhead.duration_ns);
        let object = process_object(writer.pid, overhead.tid.unwrap_or(0));
        rows.add([
            overhead.kind.into(),
            if overhead.tid.is_some() { THREAD } else { PROCESS }.into(),
            Value::Blob(&object),
            start.into(),
            end.into(),
        ])
    })
}

/// A pool of this process.
const LOCAL_POOL: u32 = 1;

fn memory(writer: &mut Writer) -> Result<()> {
    let columns = &[
        "memoryOperationType",
        "memoryKind",
        "correlationId",
        "address",
        "bytes",
        "timestamp",
        "PC",
        "processId",
        "deviceId",
        "contextId",
        "streamId",
        "name",
        "isAsync",
        "memoryPoolConfig",
    ];
    let mut rows = Rows::of_existing(writer.database, &schema::MEMORY2, columns);
    let columns = &[
        "memoryPoolOperationType",
        "memoryPoolType",
        "correlationId",
        "processId",
        "deviceId",
        "minBytesToKeep",
        "address",
        "size",
        "releaseThreshold",
        "timestamp",
        "utilizedSize",
    ];
    let mut pools = Rows::of_existing(writer.database, &schema::MEMORY_POOL, columns);
    let zero = Value::Int(0);
    writer.each(|writer, row: MemoryRow| {
        let pid = writer.pid.into();
        let time = writer.at(row.start_ns).into();
        if row.operation > OF_POOL {
            return pools.add([
                (row.operation - OF_POOL).into(),
                LOCAL_POOL.into(),
                correlation(row.correlation).into(),
                pid,
                row.device.into(),
                zero,
                row.address.into(),
                row.bytes.into(),
                zero,
                time,
                zero,
            ]);
        }
        rows.add([
            row.operation.into(),
            row.mem_kind.into(),
            correlation(row.correlation).into(),
            row.address.into(),
            row.bytes.into(),
            time,
            zero,
            pid,
            row.device.into(),
            id_or_none(row.context).into(),
            id_or_none(row.stream).into(),
            writer.name(row.name_id)?.into(),
            u32::from(row.stream.is_some()).into(),
            Value::Blob(&[0; 40]),
        ])
    })
}

fn events(writer: &mut Writer) -> Result<()> {
    let columns = &["correlationId", "contextId", "streamId", "eventId"];
    let mut rows = Rows::of_existing(writer.database, &schema::CUDA_EVENT, columns);
    writer.each(|_, event: EventRow| {
        rows.add([
            correlation(event.correlation).into(),
            event.context.into(),
            id_or_none(event.stream).into(),
            event.event.into(),
        ])
    })
}

fn external(writer: &mut Writer) -> Result<()> {
    let columns = &["externalKind", "externalId", "correlationId"];
    let mut rows = Rows::of_existing(writer.database, &schema::EXTERNAL_CORRELATION, columns);
    writer.each(|_, row: ExternalRow| {
        rows.add([row.external_kind.into(), row.external_id.into(), correlation(row.correlation).into()])
    })
}

fn compilations(writer: &mut Writer) -> Result<()> {
    let columns = &[
        "jitEntryType",
        "jitOperationType",
        "deviceId",
        "start",
        "end",
        "correlationId",
        "jitOperationCorrelationId",
        "cacheSize",
        "cachePath",
    ];
    let mut rows = Rows::of_existing(writer.database, &schema::JIT, columns);
    writer.each(|writer, jit: JitRow| {
        let (start, end) = writer.span_of(jit.start_ns, jit.duration_ns);
        rows.add([
            jit.kind.into(),
            jit.operation.into(),
            jit.device.into(),
            start.into(),
            end.into(),
            correlation(jit.correlation).into(),
            Value::Int(0),
            jit.cache_bytes.into(),
            // No path.
            Value::Int(0),
        ])
    })
}
