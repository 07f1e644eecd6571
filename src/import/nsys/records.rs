//! What CUPTI records around the work of the GPU: synchronisations, overhead, memory, events.

use super::Reader;
use super::activity::{GpuColumns, correlation, duration};
use crate::exchange::nsys_sqlite::memory_kind;
use hashbrown::HashMap;
use trace_format::tables::{EventRow, JitRow, MemoryRow, OverheadRow, SyncRow, UvmRow};
use trace_format::vocabulary::{memory_operation, overhead_kind, uvm_kind};

/// The id, unless it is CUPTI's "does not apply".
fn applicable(id: Option<u32>) -> Option<u32> {
    id.filter(|&id| id != u32::MAX)
}

/// Reads synchronisations.
pub(super) fn syncs(r: &mut Reader) {
    let Some(mut scan) = r.scan("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION") else { return };
    let gpu = GpuColumns::of(&mut scan, true);
    let [kind, event] = ["syncType", "eventId"].map(|name| scan.col(name));
    let tally = scan.run(|row| {
        let Some(start_ns) = row.int(gpu.start) else { return false };
        let process = r.process(row.int(gpu.process));
        let sync = SyncRow {
            start_ns,
            duration_ns: duration(start_ns, row.int(gpu.end)),
            kind: row.id_or_0(kind),
            context: applicable(gpu.context(row)),
            stream: applicable(row.id(gpu.stream)),
            event: applicable(row.id(event)),
            correlation: correlation(row, gpu.correlation),
            result: None,
        };
        r.sink.push(process, sync);
        true
    });
    r.close(tally);
}

/// Reads overhead of the CUDA driver and of CUPTI; nsys's own start-up is no overhead of the program.
pub(super) fn overheads(r: &mut Reader) {
    for table in ["CUPTI_ACTIVITY_KIND_OVERHEAD", "PROFILER_OVERHEAD"] {
        let Some(mut scan) = r.scan(table) else { continue };
        let [start, end, thread, kind] = ["start", "end", "globalTid", "overheadType"].map(|name| scan.col(name));
        let [name, call] = ["nameId", "correlationId"].map(|name| scan.col(name));
        let mut by_name: HashMap<Option<i64>, Option<u32>> = HashMap::new();
        let mut of_nsys = 0;
        let tally = scan.run(|row| {
            let Some(start_ns) = row.int(start) else { return false };
            let kind = match row.id(kind) {
                Some(kind) => overhead_kind::of_nsys(kind),
                None => *by_name.entry(row.int(name)).or_insert_with_key(|id| {
                    id.and_then(|id| r.strings.bytes(id)).and_then(|name| overhead_kind_by_name(&name))
                }),
            };
            let Some(kind) = kind else {
                of_nsys += 1;
                return true;
            };
            let thread = row.int(thread);
            let process = r.process(thread);
            let overhead = OverheadRow {
                start_ns,
                duration_ns: duration(start_ns, row.int(end)),
                kind,
                tid: thread.map(|thread| r.thread(Some(thread))).filter(|&tid| tid != 0),
                correlation: row.int(call).map(|id| id as u64).filter(|&id| id != 0),
            };
            r.sink.push(process, overhead);
            true
        });
        r.close(tally);
        r.unread.add(format!("{table} about nsys itself").as_bytes(), of_nsys);
    }
}

/// `CUpti_ActivityOverheadKind` for the name of a row: exports before 2026 have no numbers.
fn overhead_kind_by_name(name: &[u8]) -> Option<u32> {
    match name {
        b"CUPTI: Buffer flush" => Some(overhead_kind::BUFFER_FLUSH),
        b"CUPTI: Instrumentation" => Some(overhead_kind::INSTRUMENTATION),
        b"CUPTI: Resource Management" => Some(overhead_kind::RESOURCE),
        _ => name.starts_with(b"CUPTI").then_some(overhead_kind::UNKNOWN),
    }
}

/// Reads allocations and releases.
pub(super) fn memory(r: &mut Reader) {
    let Some(mut scan) = r.scan("CUDA_GPU_MEMORY_USAGE_EVENTS") else { return };
    let gpu = GpuColumns::of(&mut scan, true);
    let [operation, kind, address, bytes, name] =
        ["memoryOperationType", "memKind", "address", "bytes", "name"].map(|name| scan.col(name));
    let tally = scan.run(|row| {
        let Some(start_ns) = row.int(gpu.start) else { return false };
        let process = r.process(row.int(gpu.process));
        let operation = MemoryRow {
            start_ns,
            // nsys counts from 0, CUPTI from 1.
            operation: row.id(operation).map_or(0, |operation| operation.wrapping_add(1)),
            mem_kind: memory_kind::from_nsys(row.id(kind)),
            address: row.int(address).unwrap_or(0) as u64,
            bytes: row.int(bytes).unwrap_or(0),
            device: row.id_or_0(gpu.device),
            context: gpu.context(row),
            stream: applicable(row.id(gpu.stream)),
            correlation: correlation(row, gpu.correlation),
            name_id: row.bytes(name).map(|name| r.sink.name(name)).filter(|&name| name != 0),
        };
        r.sink.push(process, operation);
        true
    });
    r.close(tally);
}

/// Reads what became of memory pools; CUPTI numbers their operations apart, the trace format behind the others.
pub(super) fn pools(r: &mut Reader) {
    let Some(mut scan) = r.scan("CUDA_GPU_MEMORY_POOL_EVENTS") else { return };
    let gpu = GpuColumns::of(&mut scan, true);
    let [operation, address, bytes] =
        ["operationType", "address", "localMemoryPoolSize"].map(|name| scan.col(name));
    let tally = scan.run(|row| {
        let Some(start_ns) = row.int(gpu.start) else { return false };
        let process = r.process(row.int(gpu.process));
        let operation = MemoryRow {
            start_ns,
            operation: row.id_or_0(operation).wrapping_add(memory_operation::OF_POOL),
            address: row.int(address).unwrap_or(0) as u64,
            bytes: row.int(bytes).unwrap_or(0),
            device: row.id_or_0(gpu.device),
            correlation: correlation(row, gpu.correlation),
            ..Default::default()
        };
        r.sink.push(process, operation);
        true
    });
    r.close(tally);
}

/// Reads just-in-time compilations (nsys of 2026). Their cache paths stay in the file.
pub(super) fn compilations(r: &mut Reader) {
    let Some(mut scan) = r.scan("CUPTI_ACTIVITY_KIND_JIT") else { return };
    let gpu = GpuColumns::of(&mut scan, true);
    let [thread, kind, operation, cache] =
        ["globalTid", "jitEntryType", "jitOperationType", "cacheSize"].map(|name| scan.col(name));
    let tally = scan.run(|row| {
        let Some(start_ns) = row.int(gpu.start) else { return false };
        let process = r.process(row.int(thread));
        let compilation = JitRow {
            start_ns,
            duration_ns: duration(start_ns, row.int(gpu.end)),
            kind: row.id_or_0(kind),
            operation: row.id_or_0(operation),
            device: row.id_or_0(gpu.device),
            correlation: correlation(row, gpu.correlation),
            cache_bytes: row.int(cache),
        };
        r.sink.push(process, compilation);
        true
    });
    r.close(tally);
}

/// Reads page faults of unified memory.
pub(super) fn page_faults(r: &mut Reader) {
    if let Some(mut scan) = r.scan("CUDA_UM_CPU_PAGE_FAULT_EVENTS") {
        let [start, process, address, pc] =
            ["start", "globalPid", "address", "originalFaultPc"].map(|name| scan.col(name));
        let tally = scan.run(|row| {
            let Some(start_ns) = row.int(start) else { return false };
            let process = r.process(row.int(process));
            let address = row.int(address).unwrap_or(0) as u64;
            let pc = row.int(pc).map(|pc| pc as u64);
            r.sink.push(
                process,
                UvmRow { start_ns, kind: uvm_kind::CPU_PAGE_FAULTS, value: 1, address, pc, ..Default::default() },
            );
            true
        });
        r.close(tally);
    }
    if let Some(mut scan) = r.scan("CUDA_UM_GPU_PAGE_FAULT_EVENTS") {
        let gpu = GpuColumns::of(&mut scan, false);
        let [address, faults, access] =
            ["address", "numberOfPageFaults", "faultAccessType"].map(|name| scan.col(name));
        let tally = scan.run(|row| {
            let Some(start_ns) = row.int(gpu.start) else { return false };
            let process = r.process(row.int(gpu.process));
            let fault = UvmRow {
                start_ns,
                duration_ns: duration(start_ns, row.int(gpu.end)),
                kind: uvm_kind::GPU_PAGE_FAULTS,
                value: row.int(faults).unwrap_or(0),
                address: row.int(address).unwrap_or(0) as u64,
                src_device: row.id(gpu.device),
                flags: row.id(access),
                ..Default::default()
            };
            r.sink.push(process, fault);
            true
        });
        r.close(tally);
    }
}

/// Reads records of CUDA events.
pub(super) fn events(r: &mut Reader) {
    let Some(mut scan) = r.scan("CUPTI_ACTIVITY_KIND_CUDA_EVENT") else { return };
    let gpu = GpuColumns::of(&mut scan, true);
    let [time, event] = ["timestamp", "eventId"].map(|name| scan.col(name));
    let tally = scan.run(|row| {
        let Some(event) = row.id(event) else { return false };
        let process = r.process(row.int(gpu.process));
        let record = EventRow {
            start_ns: row.int(time).filter(|&time| time != 0),
            event,
            context: gpu.context(row).unwrap_or(0),
            stream: applicable(row.id(gpu.stream)),
            correlation: correlation(row, gpu.correlation),
        };
        r.sink.push(process, record);
        true
    });
    r.close(tally);
}
