//! What CUPTI records around the work of the GPU: synchronisations, overhead, memory, events, compilations.

use super::activity::{GpuColumns, known_time};
use super::target::Object;
use super::{Reader, applicable, duration};
use crate::cupti::environment;
use crate::exchange::nvprof_db::object_kind::THREAD;
use trace_format::tables::{EventRow, ExternalRow, JitRow, MemoryRow, OverheadRow, SampleRow, SyncRow, UvmRow};
use trace_format::vocabulary::memory_operation;
use trace_format::vocabulary::uvm_kind::CPU_PAGE_FAULTS;

/// Reads synchronisations.
pub(super) fn syncs(r: &mut Reader) {
    let Some(mut scan) = r.scan("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION") else { return };
    let gpu = GpuColumns::of(&mut scan, true);
    let [kind, event] = ["type", "cudaEventId"].map(|name| scan.col(name));
    let process = r.process(None);
    let tally = scan.run(|row| {
        let Some(start_ns) = row.int(gpu.start) else { return false };
        let sync = SyncRow {
            start_ns,
            duration_ns: duration(start_ns, row.int(gpu.end)),
            kind: row.id_or_0(kind),
            context: applicable(row.id(gpu.context)),
            stream: applicable(row.id(gpu.stream)),
            event: applicable(row.id(event)),
            correlation: gpu.correlation(row),
            result: None,
        };
        r.sink.push(process, sync);
        true
    });
    r.close(tally);
}

/// Reads clocks, temperature, power and fans.
pub(super) fn environment(r: &mut Reader) {
    let Some(mut scan) = r.scan("CUPTI_ACTIVITY_KIND_ENVIRONMENT") else { return };
    let [device, time] = ["deviceId", "timestamp"].map(|name| scan.col(name));
    let [kind, data] = ["environmentKind", "data"].map(|name| scan.col(name));
    let process = r.process(None);
    let tally = scan.run(|row| {
        let (Some(start_ns), Some(data)) = (row.int(time), row.bytes(data)) else { return false };
        let mut known = false;
        for field in environment::FIELDS.iter().filter(|field| row.id(kind) == Some(field.kind)) {
            if let Some(value) = field.read(data) {
                known = true;
                let metric_id = r.sink.name(field.metric.as_bytes());
                let (device, value) = (row.id(device), f64::from(value));
                r.sink.push(process, SampleRow { start_ns, metric_id, device, value, of_pid: None });
            }
        }
        if !known {
            let name = format!("CUPTI_ACTIVITY_KIND_ENVIRONMENT of kind {}", row.id_or_0(kind));
            r.unread.add(name.as_bytes(), 1);
        }
        true
    });
    r.close(tally);
}

/// Reads overhead of the CUDA driver and of CUPTI.
pub(super) fn overheads(r: &mut Reader) {
    let Some(mut scan) = r.scan("CUPTI_ACTIVITY_KIND_OVERHEAD") else { return };
    let [start, end, kind] = ["start", "end", "overheadKind"].map(|name| scan.col(name));
    let [object_kind, object] = ["objectKind", "objectId"].map(|name| scan.col(name));
    let tally = scan.run(|row| {
        let Some(start_ns) = row.int(start) else { return false };
        let thread = Object::of(row, object).filter(|_| row.id(object_kind) == Some(THREAD));
        let process = r.process(None);
        let overhead = OverheadRow {
            start_ns,
            duration_ns: duration(start_ns, row.int(end)),
            kind: row.id_or_0(kind),
            tid: thread.map(|thread| thread.tid()),
            correlation: None,
        };
        r.sink.push(process, overhead);
        true
    });
    r.close(tally);
}

/// Reads allocations and releases: one row for each since CUDA 11, before that one row for both.
pub(super) fn memory(r: &mut Reader) {
    if let Some(mut scan) = r.scan("CUPTI_ACTIVITY_KIND_MEMORY2") {
        let gpu = GpuColumns::of(&mut scan, true);
        let [time, operation, kind] = ["timestamp", "memoryOperationType", "memoryKind"].map(|name| scan.col(name));
        let [address, bytes, process, name] = ["address", "bytes", "processId", "name"].map(|name| scan.col(name));
        let tally = scan.run(|row| {
            let Some(start_ns) = row.int(time) else { return false };
            let process = r.process(row.id(process));
            let operation = MemoryRow {
                start_ns,
                operation: row.id_or_0(operation),
                mem_kind: row.id_or_0(kind),
                address: row.int(address).unwrap_or(0) as u64,
                bytes: row.int(bytes).unwrap_or(0),
                device: row.id_or_0(gpu.device),
                context: applicable(row.id(gpu.context)),
                stream: applicable(row.id(gpu.stream)),
                correlation: gpu.correlation(row),
                name_id: r.name_if_any(row.int(name)),
            };
            r.sink.push(process, operation);
            true
        });
        r.close(tally);
    }
    pools(r);
    let Some(mut scan) = r.scan("CUPTI_ACTIVITY_KIND_MEMORY") else { return };
    let gpu = GpuColumns::of(&mut scan, false);
    let [kind, address, bytes] = ["memoryKind", "address", "bytes"].map(|name| scan.col(name));
    let [process, name] = ["processId", "name"].map(|name| scan.col(name));
    let tally = scan.run(|row| {
        let Some(allocated) = row.int(gpu.start) else { return false };
        let process = r.process(row.id(process));
        let allocation = MemoryRow {
            start_ns: allocated,
            operation: memory_operation::ALLOCATION,
            mem_kind: row.id_or_0(kind),
            address: row.int(address).unwrap_or(0) as u64,
            bytes: row.int(bytes).unwrap_or(0),
            device: row.id_or_0(gpu.device),
            context: applicable(row.id(gpu.context)),
            stream: None,
            correlation: 0,
            name_id: r.name_if_any(row.int(name)),
        };
        let released = known_time(row.int(gpu.end)).map(|time| MemoryRow {
            start_ns: time,
            operation: memory_operation::RELEASE,
            ..allocation.clone()
        });
        r.sink.push(process, allocation);
        released.into_iter().for_each(|release| r.sink.push(process, release));
        true
    });
    r.close(tally);
}

/// Reads what became of memory pools (schemas of CUDA 11.5 and later); CUPTI numbers their operations apart, the trace
/// format behind the others.
fn pools(r: &mut Reader) {
    let Some(mut scan) = r.scan("CUPTI_ACTIVITY_KIND_MEMORY_POOL") else { return };
    let gpu = GpuColumns::of(&mut scan, true);
    let [time, operation, process] =
        ["timestamp", "memoryPoolOperationType", "processId"].map(|name| scan.col(name));
    let [address, bytes] = ["address", "size"].map(|name| scan.col(name));
    let tally = scan.run(|row| {
        let Some(start_ns) = row.int(time) else { return false };
        let process = r.process(row.id(process));
        let operation = MemoryRow {
            start_ns,
            operation: row.id_or_0(operation).wrapping_add(memory_operation::OF_POOL),
            address: row.int(address).unwrap_or(0) as u64,
            bytes: row.int(bytes).unwrap_or(0),
            device: row.id_or_0(gpu.device),
            correlation: gpu.correlation(row),
            ..Default::default()
        };
        r.sink.push(process, operation);
        true
    });
    r.close(tally);
}

/// Reads events of unified memory.
pub(super) fn counters(r: &mut Reader) {
    let Some(mut scan) = r.scan("CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER") else { return };
    let [start, end, kind, value] = ["start", "end", "counterKind", "value"].map(|name| scan.col(name));
    let [address, src, dst] = ["address", "srcId", "dstId"].map(|name| scan.col(name));
    let [stream, process, flags] = ["streamId", "processId", "flags"].map(|name| scan.col(name));
    let tally = scan.run(|row| {
        let Some(start_ns) = row.int(start) else { return false };
        let process = r.process(row.id(process));
        let (kind, value) = (row.id_or_0(kind), row.int(value).unwrap_or(0));
        let cpu_fault = kind == CPU_PAGE_FAULTS;
        let counter = UvmRow {
            start_ns,
            duration_ns: duration(start_ns, row.int(end)),
            kind,
            value: if cpu_fault { 1 } else { value },
            address: row.int(address).unwrap_or(0) as u64,
            src_device: applicable(row.id(src)),
            dst_device: applicable(row.id(dst)),
            stream: applicable(row.id(stream)),
            flags: row.id(flags),
            pc: cpu_fault.then_some(value as u64),
        };
        r.sink.push(process, counter);
        true
    });
    r.close(tally);
}

/// Reads records of CUDA events.
pub(super) fn events(r: &mut Reader) {
    let Some(mut scan) = r.scan("CUPTI_ACTIVITY_KIND_CUDA_EVENT") else { return };
    let gpu = GpuColumns::of(&mut scan, true);
    let event = scan.col("eventId");
    let process = r.process(None);
    let tally = scan.run(|row| {
        let Some(event) = row.id(event) else { return false };
        let record = EventRow {
            start_ns: None,
            event,
            context: row.id_or_0(gpu.context),
            stream: applicable(row.id(gpu.stream)),
            correlation: gpu.correlation(row),
        };
        r.sink.push(process, record);
        true
    });
    r.close(tally);
}

/// Reads ids that tie calls to OpenACC regions and to the program's own.
pub(super) fn external(r: &mut Reader) {
    let Some(mut scan) = r.scan("CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION") else { return };
    let [kind, id, correlation] = ["externalKind", "externalId", "correlationId"].map(|name| scan.col(name));
    let process = r.process(None);
    let tally = scan.run(|row| {
        let (Some(id), Some(correlation)) = (row.int(id), row.id(correlation)) else { return false };
        let row = ExternalRow {
            correlation: u64::from(correlation),
            external_kind: row.id_or_0(kind),
            external_id: id as u64,
        };
        r.sink.push(process, row);
        true
    });
    r.close(tally);
}

/// Reads just-in-time compilations (schemas of CUDA 11.8 and later). Their cache paths stay in the file.
pub(super) fn compilations(r: &mut Reader) {
    let Some(mut scan) = r.scan("CUPTI_ACTIVITY_KIND_JIT") else { return };
    let gpu = GpuColumns::of(&mut scan, true);
    let [kind, operation, cache] = ["jitEntryType", "jitOperationType", "cacheSize"].map(|name| scan.col(name));
    let process = r.process(None);
    let tally = scan.run(|row| {
        let Some(start_ns) = row.int(gpu.start) else { return false };
        let compilation = JitRow {
            start_ns,
            duration_ns: duration(start_ns, row.int(gpu.end)),
            kind: row.id_or_0(kind),
            operation: row.id_or_0(operation),
            device: row.id_or_0(gpu.device),
            correlation: gpu.correlation(row),
            cache_bytes: row.int(cache),
        };
        r.sink.push(process, compilation);
        true
    });
    r.close(tally);
}
