//! Which column of which table a field of a record belongs to, written down by hand a second time, so that a slip in
//! `decode` and one here would have to be the same.

use std::collections::BTreeMap;

use trace_format::columns::{Batch, Values};

use super::synthetic::get;

/// How a column comes from a field.
#[derive(Clone, Copy)]
pub enum Source {
    /// The column has the value of this field.
    Same(&'static str),
    /// Null for 0.
    NonZero(&'static str),
    /// Null for 0xFFFFFFFF.
    Applicable(&'static str),
    /// Null where this CUPTI has no such field.
    IfThere(&'static str),
    /// A 32-bit number with a sign.
    Signed(&'static str),
    /// Null where this CUPTI has no such field, a 32-bit number with a sign.
    SignedIfThere(&'static str),
    /// `end - start`.
    Duration,
    /// A number.
    Number(u64),
    /// The column is null.
    Null,
    /// Worked out from the bytes of the record.
    By(fn(&[u8]) -> Option<u64>),
}

use Source::*;

pub type Columns = &'static [(&'static str, Source)];

const SHAPE: Columns = &[
    ("name_id", Same("name")),
    ("grid_x", Same("gridX")),
    ("grid_y", Same("gridY")),
    ("grid_z", Same("gridZ")),
    ("block_x", Same("blockX")),
    ("block_y", Same("blockY")),
    ("block_z", Same("blockZ")),
    ("cluster_x", NonZero("clusterX")),
    ("cluster_y", NonZero("clusterY")),
    ("cluster_z", NonZero("clusterZ")),
    ("registers", Same("registersPerThread")),
    ("static_smem_bytes", Same("staticSharedMemory")),
    ("dynamic_smem_bytes", Same("dynamicSharedMemory")),
    ("local_mem_per_thread_bytes", Same("localMemoryPerThread")),
    (
        "local_mem_total_bytes",
        By(|r| {
            Some(if r.len() >= 200 { get(r, 10, "localMemoryTotal_v2") } else { get(r, 10, "localMemoryTotal") })
        }),
    ),
    ("demangled_id", Null),
    ("base_id", Null),
];

const KERNEL: Columns = &[
    ("start_ns", Same("start")),
    ("duration_ns", Duration),
    ("shape_id", Number(1)),
    ("device", Same("deviceId")),
    ("context", Same("contextId")),
    ("stream", Same("streamId")),
    ("correlation", Same("correlationId")),
    ("graph_id", NonZero("graphId")),
    ("graph_node_id", NonZero("graphNodeId")),
    ("queued_ns", NonZero("queued")),
    ("submitted_ns", NonZero("submitted")),
    ("channel", Applicable("channelID")),
    ("priority", SignedIfThere("priority")),
    ("flags", By(|r| (r.len() >= 216 && get(r, 10, "isDeviceLaunched") != 0).then_some(1))),
];

const API: Columns = &[
    ("start_ns", Same("start")),
    ("duration_ns", Duration),
    ("domain", By(|r| Some(u64::from(r[0] == 4)))),
    ("cbid", Same("cbid")),
    ("name_id", By(|r| Some(api_name(if r[0] == 4 { 1 } else { 2 }, get(r, 5, "cbid") as u32).into()))),
    ("tid", Same("threadId")),
    ("correlation", Same("correlationId")),
    ("result", Same("returnValue")),
];

const OPENACC: Columns = &[
    ("start_ns", Same("start")),
    ("duration_ns", Duration),
    ("kind", Same("eventKind")),
    ("parent_construct", Same("parentConstruct")),
    ("tid", Same("cuThreadId")),
    ("line", NonZero("lineNo")),
    ("file_id", Same("srcFile")),
    ("function_id", Same("funcName")),
    (
        "variable_id",
        By(|r| match r[0] {
            33 => Some(get(r, 33, "varName")),
            34 => Some(get(r, 34, "kernelName")),
            _ => None,
        }),
    ),
    ("bytes", By(|r| (r[0] == 33).then(|| get(r, 33, "bytes")))),
    ("implicit", By(|r| Some(u64::from(get(r, 35, "implicit") != 0)))),
    ("external_id", NonZero("externalId")),
    ("device", Applicable("cuDeviceId")),
    ("context", Applicable("cuContextId")),
    ("stream", Applicable("cuStreamId")),
];

/// Kind, table, columns.
pub const EXPECTED: &[(u32, &str, Columns)] = &[
    (10, "kernel", KERNEL),
    (10, "shape", SHAPE),
    (3, "kernel", KERNEL),
    (3, "shape", SHAPE),
    (
        18,
        "kernel",
        &[
            ("start_ns", Same("start")),
            ("duration_ns", Duration),
            ("shape_id", Number(1)),
            ("device", Same("deviceId")),
            ("context", Same("contextId")),
            ("stream", Same("streamId")),
            ("correlation", Same("correlationId")),
            ("graph_id", Null),
            ("graph_node_id", Null),
            ("queued_ns", NonZero("queued")),
            ("submitted_ns", NonZero("submitted")),
            ("channel", Null),
            ("priority", Null),
            ("flags", Number(1)),
        ],
    ),
    (
        18,
        "shape",
        &[
            ("name_id", Same("name")),
            ("grid_x", Same("gridX")),
            ("grid_y", Same("gridY")),
            ("grid_z", Same("gridZ")),
            ("block_x", Same("blockX")),
            ("block_y", Same("blockY")),
            ("block_z", Same("blockZ")),
            ("cluster_x", Null),
            ("cluster_y", Null),
            ("cluster_z", Null),
            ("registers", Same("registersPerThread")),
            ("static_smem_bytes", Same("staticSharedMemory")),
            ("dynamic_smem_bytes", Same("dynamicSharedMemory")),
            ("local_mem_per_thread_bytes", Same("localMemoryPerThread")),
            ("local_mem_total_bytes", Same("localMemoryTotal")),
            ("demangled_id", Null),
            ("base_id", Null),
        ],
    ),
    (
        1,
        "memcpy",
        &[
            ("start_ns", Same("start")),
            ("duration_ns", Duration),
            ("kind", Same("copyKind")),
            ("src_kind", Same("srcKind")),
            ("dst_kind", Same("dstKind")),
            ("bytes", Same("bytes")),
            ("device", Same("deviceId")),
            ("context", Same("contextId")),
            ("stream", Same("streamId")),
            ("src_device", Null),
            ("dst_device", Null),
            ("src_context", Null),
            ("dst_context", Null),
            ("correlation", Same("correlationId")),
            ("graph_id", NonZero("graphId")),
            ("graph_node_id", NonZero("graphNodeId")),
            ("flags", Same("flags")),
            ("channel", Applicable("channelID")),
        ],
    ),
    (
        22,
        "memcpy",
        &[
            ("start_ns", Same("start")),
            ("duration_ns", Duration),
            ("kind", Same("copyKind")),
            ("src_kind", Same("srcKind")),
            ("dst_kind", Same("dstKind")),
            ("bytes", Same("bytes")),
            ("device", Same("deviceId")),
            ("context", Same("contextId")),
            ("stream", Same("streamId")),
            ("src_device", Same("srcDeviceId")),
            ("dst_device", Same("dstDeviceId")),
            ("src_context", Same("srcContextId")),
            ("dst_context", Same("dstContextId")),
            ("correlation", Same("correlationId")),
            ("graph_id", NonZero("graphId")),
            ("graph_node_id", NonZero("graphNodeId")),
            ("flags", Same("flags")),
            ("channel", Applicable("channelID")),
        ],
    ),
    (
        2,
        "memset",
        &[
            ("start_ns", Same("start")),
            ("duration_ns", Duration),
            ("value", Same("value")),
            ("bytes", Same("bytes")),
            ("mem_kind", Same("memoryKind")),
            ("device", Same("deviceId")),
            ("context", Same("contextId")),
            ("stream", Same("streamId")),
            ("correlation", Same("correlationId")),
            ("graph_id", NonZero("graphId")),
            ("graph_node_id", NonZero("graphNodeId")),
            ("flags", Same("flags")),
        ],
    ),
    (4, "api", API),
    (5, "api", API),
    (
        38,
        "sync",
        &[
            ("start_ns", Same("start")),
            ("duration_ns", Duration),
            ("kind", Same("type")),
            ("context", Applicable("contextId")),
            ("stream", Applicable("streamId")),
            ("event", Applicable("cudaEventId")),
            ("correlation", Same("correlationId")),
            ("result", IfThere("returnValue")),
        ],
    ),
    (
        17,
        "overhead",
        &[
            ("start_ns", Same("start")),
            ("duration_ns", Duration),
            ("kind", Same("overheadKind")),
            ("tid", By(|r| (get(r, 17, "objectKind") == 2).then(|| get(r, 17, "objectId.pt.threadId")))),
            ("correlation", NonZero("correlationId")),
        ],
    ),
    (
        8,
        "device",
        &[
            ("device", Same("id")),
            ("name_id", Same("name")),
            ("compute_major", Same("computeCapabilityMajor")),
            ("compute_minor", Same("computeCapabilityMinor")),
            ("multiprocessors", Same("numMultiprocessors")),
            ("core_clock_khz", Same("coreClockRate")),
            ("memory_bytes", Same("globalMemorySize")),
            ("memory_bandwidth_kb_per_s", Same("globalMemoryBandwidth")),
            ("l2_cache_bytes", Same("l2CacheSize")),
            ("max_warps_per_multiprocessor", Same("maxWarpsPerMultiprocessor")),
            // The first eight of its bytes; all of them in a test of their own.
            ("uuid", Same("uuid.bytes")),
            ("pci_bus_id", Null),
        ],
    ),
    (
        9,
        "context",
        &[
            ("context", Same("contextId")),
            ("device", Same("deviceId")),
            ("api_kind", Same("computeApiKind")),
            ("null_stream", Same("nullStreamId")),
            (
                "parent_context",
                By(|r| (r.len() >= 24 && get(r, 9, "isGreenContext") != 0).then(|| get(r, 9, "parentContextId"))),
            ),
        ],
    ),
    (
        37,
        "stream",
        &[
            ("context", Same("contextId")),
            ("stream", Same("streamId")),
            ("priority", Signed("priority")),
            ("flag", Same("flag")),
            ("name_id", Null),
        ],
    ),
    (
        51,
        "graph",
        &[
            ("start_ns", Same("start")),
            ("duration_ns", Duration),
            ("graph_id", Same("graphId")),
            ("device", Same("deviceId")),
            ("context", Same("contextId")),
            ("stream", Same("streamId")),
            ("correlation", Same("correlationId")),
        ],
    ),
    (
        53,
        "graph",
        &[
            ("start_ns", Same("start")),
            ("duration_ns", Duration),
            ("graph_id", Same("graphId")),
            ("device", Same("deviceId")),
            ("context", Same("contextId")),
            ("stream", By(|r| Some(get(r, 53, "streamId") & 0xFFFF_FFFF))),
            ("correlation", Number(0)),
        ],
    ),
    (
        49,
        "memory",
        &[
            ("start_ns", Same("timestamp")),
            ("operation", Same("memoryOperationType")),
            ("mem_kind", Same("memoryKind")),
            ("address", Same("address")),
            ("bytes", Same("bytes")),
            ("device", Same("deviceId")),
            ("context", Applicable("contextId")),
            ("stream", Applicable("streamId")),
            ("correlation", Same("correlationId")),
            ("name_id", NonZero("name")),
        ],
    ),
    (
        50,
        "memory",
        &[
            ("start_ns", Same("timestamp")),
            ("operation", By(|r| Some((get(r, 50, "memoryPoolOperationType") + 16).min(0xFFFF_FFFF)))),
            ("mem_kind", Number(0)),
            ("address", Same("address")),
            ("bytes", Same("size")),
            ("device", Same("deviceId")),
            ("context", Null),
            ("stream", Null),
            ("correlation", Same("correlationId")),
            ("name_id", Null),
        ],
    ),
    (
        25,
        "uvm",
        &[
            ("start_ns", Same("start")),
            ("duration_ns", Duration),
            ("kind", Same("counterKind")),
            ("value", Same("value")),
            ("address", Same("address")),
            ("src_device", Applicable("srcId")),
            ("dst_device", Applicable("dstId")),
            ("stream", Null),
            ("flags", Same("flags")),
            ("pc", Null),
        ],
    ),
    (
        39,
        "external",
        &[
            ("correlation", Same("correlationId")),
            ("external_kind", Same("externalKind")),
            ("external_id", Same("externalId")),
        ],
    ),
    (
        36,
        "event",
        &[
            ("start_ns", IfThere("deviceTimestamp")),
            ("event", Same("eventId")),
            ("context", Same("contextId")),
            ("stream", Applicable("streamId")),
            ("correlation", Same("correlationId")),
        ],
    ),
    (
        52,
        "jit",
        &[
            ("start_ns", Same("start")),
            ("duration_ns", Duration),
            ("kind", Same("jitEntryType")),
            ("operation", Same("jitOperationType")),
            ("device", Same("deviceId")),
            ("correlation", Same("correlationId")),
            ("cache_bytes", NonZero("cacheSize")),
        ],
    ),
    (33, "openacc", OPENACC),
    (34, "openacc", OPENACC),
    (35, "openacc", OPENACC),
    (
        47,
        "openmp",
        &[
            ("start_ns", Same("start")),
            ("duration_ns", Duration),
            ("kind", Same("eventKind")),
            ("tid", Same("cuThreadId")),
        ],
    ),
];

/// Kinds whose rows depend on an enumeration in the record; they have tests of their own.
pub const SEPARATE: &[u32] = &[11, 20, 45];

/// A name for each call, from nothing but its numbers.
pub fn api_name(domain: u32, cbid: u32) -> u32 {
    (domain << 28 | cbid & 0xFF_FFFF) + 1
}

/// A cell as a number, whatever its type.
pub fn cell(batch: &Batch, column: &str, row: usize) -> Option<u64> {
    let column = batch.column(column).unwrap_or_else(|| panic!("{} has no {column}", batch.table.name));
    if column.is_null(row) {
        return None;
    }
    Some(match &column.values {
        Values::U32(v) => u64::from(v[row]),
        Values::U64(v) => v[row],
        Values::I64(v) => v[row] as u64,
        Values::F64(v) => v[row].to_bits(),
        Values::Bool(v) => u64::from(v[row]),
        Values::Bytes(v) => u64::from_le_bytes(v.get(row)[..8].try_into().unwrap()),
    })
}

fn expected(record: &[u8], kind: u32, from: Source) -> Option<u64> {
    let value = |name| get(record, kind, name);
    let is_there = |name| super::synthetic::field(kind, name, record.len()).is_some();
    let signed = |name| value(name) as u32 as i32 as i64 as u64;
    match from {
        Same(name) => Some(value(name)),
        NonZero(name) => Some(value(name)).filter(|&v| v != 0),
        Applicable(name) => Some(value(name)).filter(|&v| v != 0xFFFF_FFFF),
        IfThere(name) => is_there(name).then(|| value(name)),
        Signed(name) => Some(signed(name)),
        SignedIfThere(name) => is_there(name).then(|| signed(name)),
        Duration => Some(value("end") - value("start")),
        Number(n) => Some(n),
        Null => None,
        By(f) => f(record),
    }
}

/// Compares the rows that one record made with what is written above.
pub fn compare(record: &[u8], kind: u32, tables: &BTreeMap<&'static str, Batch>, row: usize, context: &str) {
    for (_, table, columns) in EXPECTED.iter().filter(|e| e.0 == kind) {
        let batch = tables.get(table).unwrap_or_else(|| panic!("{context}: no rows of {table}"));
        let columns_of_table = batch.table.columns.len() - usize::from(*table == "shape");
        assert_eq!(columns.len(), columns_of_table, "{table}: every column has to be named here");
        for &(column, from) in *columns {
            let want = expected(record, kind, from);
            assert_eq!(cell(batch, column, row), want, "{context}: kind {kind}, {table}.{column}");
        }
    }
}
