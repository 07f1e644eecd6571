//! What is recorded around the work of the GPU: calls, synchronisations, overhead, memory, events, compilations.

use super::{NOT_APPLICABLE, Writer, correlation, enums, schema};
use crate::cupti;
use crate::error::Result;
use crate::exchange::nsys_sqlite::{event_class, memory_kind};
use crate::export::database::Rows;
use hashbrown::HashMap;
use trace_format::tables::{self, ApiRow, EventRow, JitRow, MemoryRow, OverheadRow, SyncRow};
use trace_format::vocabulary::memory_operation::OF_POOL;
use trace_format::vocabulary::{api_domain, overhead_kind};

/// Event classes of further tables that have such a column.
const JIT_CLASS: u32 = 102;
const OVERHEAD_CLASS: u32 = 103;

pub(super) fn write(writer: &mut Writer) -> Result<()> {
    calls(writer)?;
    syncs(writer)?;
    events(writer)?;
    overheads(writer)?;
    compilations(writer)?;
    memory(writer)
}

fn calls(writer: &mut Writer) -> Result<()> {
    let mut rows = Rows::new(
        writer.database,
        &schema::RUNTIME,
        &["start", "end", "eventClass", "globalTid", "correlationId", "nameId", "returnValue"],
    );
    let mut by_number: HashMap<(u32, u32), i64> = HashMap::new();
    writer.each(|writer, process, call: ApiRow| {
        let name = if call.name_id != 0 || call.cbid == 0 {
            writer.strings.name(call.name_id)?
        } else {
            match by_number.get(&(call.domain, call.cbid)) {
                Some(&known) => known,
                None => {
                    let name = cupti::api_name(call.domain, call.cbid)
                        .map_or_else(|| format!("cbid_{}", call.cbid), str::to_owned);
                    let id = writer.strings.text(&name)?;
                    by_number.insert((call.domain, call.cbid), id);
                    id
                }
            }
        };
        let (start, end) = writer.clock.span_of(call.start_ns, call.duration_ns);
        let class = if call.domain == api_domain::DRIVER { event_class::DRIVER } else { event_class::RUNTIME };
        rows.add([
            start.into(),
            end.into(),
            class.into(),
            writer.ids.thread(process, call.tid).into(),
            correlation(call.correlation).into(),
            name.into(),
            call.result.into(),
        ])
    })
}

fn syncs(writer: &mut Writer) -> Result<()> {
    let mut rows = Rows::new(
        writer.database,
        &schema::SYNC,
        &["start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid", "syncType", "eventId"],
    );
    writer.each(|writer, process, sync: SyncRow| {
        let (start, end) = writer.clock.span_of(sync.start_ns, sync.duration_ns);
        rows.add([
            start.into(),
            end.into(),
            // nsys writes device 0, whatever device the context is on, and tools sum waits as they find them.
            0u32.into(),
            sync.context.unwrap_or(NOT_APPLICABLE).into(),
            sync.stream.unwrap_or(NOT_APPLICABLE).into(),
            correlation(sync.correlation).into(),
            writer.ids.process(process).into(),
            sync.kind.into(),
            sync.event.unwrap_or(NOT_APPLICABLE).into(),
        ])
    })
}

fn events(writer: &mut Writer) -> Result<()> {
    let mut rows = Rows::new(
        writer.database,
        &schema::EVENT,
        &["timestamp", "deviceId", "contextId", "streamId", "correlationId", "globalPid", "eventId"],
    );
    writer.each(|writer, process, event: EventRow| {
        // nsys has 0 where the device's time was not collected.
        let time = event.start_ns.map_or(0, |time| writer.clock.at(time));
        rows.add([
            time.into(),
            writer.device(process, Some(event.context)).into(),
            event.context.into(),
            event.stream.unwrap_or(NOT_APPLICABLE).into(),
            correlation(event.correlation).into(),
            writer.ids.process(process).into(),
            event.event.into(),
        ])
    })
}

fn overheads(writer: &mut Writer) -> Result<()> {
    let mut rows = Rows::new(
        writer.database,
        &schema::OVERHEAD,
        &["start", "end", "eventClass", "globalTid", "correlationId", "nameId", "overheadType"],
    );
    writer.each(|writer, process, overhead: OverheadRow| {
        let (start, end) = writer.clock.span_of(overhead.start_ns, overhead.duration_ns);
        let kind = overhead_kind::to_nsys(overhead.kind);
        let name = writer.strings.text(enums::label("ENUM_CUPTI_OVERHEAD_TYPE", kind.into()))?;
        rows.add([
            start.into(),
            end.into(),
            OVERHEAD_CLASS.into(),
            writer.ids.thread(process, overhead.tid.unwrap_or(0)).into(),
            overhead.correlation.into(),
            name.into(),
            kind.into(),
        ])
    })
}

fn compilations(writer: &mut Writer) -> Result<()> {
    let mut rows = Rows::new(
        writer.database,
        &schema::JIT,
        &[
            "start",
            "end",
            "eventClass",
            "globalTid",
            "correlationId",
            "overheadType",
            "jitEntryType",
            "jitOperationType",
            "deviceId",
            "cacheSize",
        ],
    );
    writer.each(|writer, process, jit: JitRow| {
        let (start, end) = writer.clock.span_of(jit.start_ns, jit.duration_ns);
        rows.add([
            start.into(),
            end.into(),
            JIT_CLASS.into(),
            writer.ids.thread(process, 0).into(),
            correlation(jit.correlation).into(),
            overhead_kind::to_nsys(overhead_kind::DRIVER_COMPILER).into(),
            jit.kind.into(),
            jit.operation.into(),
            jit.device.into(),
            jit.cache_bytes.into(),
        ])
    })
}

fn memory(writer: &mut Writer) -> Result<()> {
    let mut usage = Rows::new(
        writer.database,
        &schema::MEMORY,
        &[
            "start",
            "globalPid",
            "deviceId",
            "contextId",
            "address",
            "pc",
            "bytes",
            "memKind",
            "memoryOperationType",
            "name",
            "correlationId",
            "streamId",
        ],
    );
    let mut pools = Rows::new(
        writer.database,
        &schema::POOL,
        &[
            "start",
            "globalPid",
            "deviceId",
            "address",
            "operationType",
            "poolType",
            "correlationId",
            "localMemoryPoolSize",
        ],
    );
    writer.each_of(&[&tables::MEMORY], |writer, process, batch, i| {
        let row = <MemoryRow as trace_format::schema::Row>::from_batch(batch, i);
        let start = writer.clock.at(row.start_ns).into();
        let pid = writer.ids.process(process).into();
        if row.operation > OF_POOL {
            // A pool of this process.
            let local = 1u32;
            return pools.add([
                start,
                pid,
                row.device.into(),
                row.address.into(),
                (row.operation - OF_POOL).into(),
                local.into(),
                correlation(row.correlation).into(),
                row.bytes.into(),
            ]);
        }
        let name = row.name_id.filter(|&name| name != 0).map(|name| writer.strings.text_of(name));
        usage.add([
            start,
            pid,
            row.device.into(),
            row.context.into(),
            row.address.into(),
            0u32.into(),
            row.bytes.into(),
            memory_kind::to_nsys(row.mem_kind).into(),
            // nsys counts from 0, CUPTI from 1.
            (i64::from(row.operation) - 1).into(),
            name.as_deref().into(),
            correlation(row.correlation).into(),
            row.stream.into(),
        ])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overhead_has_nsyss_numbers() {
        assert_eq!(
            [0, 1, 1 << 16, 6 << 16, 8 << 16, 9 << 16, 77].map(overhead_kind::to_nsys),
            [1, 2, 3, 8, 10, 1, 1]
        );
    }
}
