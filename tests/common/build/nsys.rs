//! The story as Nsight Systems exports it.

use super::database::*;
use super::*;

/// Which nsys wrote an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NsysEra {
    /// No meta tables, no mangled names, no start of the session.
    Of2020,
    /// Meta tables, mangled names, tables made only when there is something to put in.
    Of2026,
}

pub(super) const NSYS_2020: &str = "
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, callchainId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, value INTEGER NOT NULL, bytes INTEGER NOT NULL, graphNodeId INTEGER, memKind INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL, deprecatedSrcId INTEGER, srcKind INTEGER, dstKind INTEGER, srcDeviceId INTEGER, srcContextId INTEGER, dstDeviceId INTEGER, dstContextId INTEGER, migrationCause INTEGER, graphNodeId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, launchType INTEGER, cacheConfig INTEGER, registersPerThread INTEGER NOT NULL, gridX INTEGER NOT NULL, gridY INTEGER NOT NULL, gridZ INTEGER NOT NULL, blockX INTEGER NOT NULL, blockY INTEGER NOT NULL, blockZ INTEGER NOT NULL, staticSharedMemory INTEGER NOT NULL, dynamicSharedMemory INTEGER NOT NULL, localMemoryPerThread INTEGER NOT NULL, localMemoryTotal INTEGER NOT NULL, gridId INTEGER NOT NULL, sharedMemoryExecuted INTEGER, graphNodeId INTEGER, sharedMemoryLimitConfig INTEGER);
CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER, category INTEGER, color INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId INTEGER, uint64Value INTEGER, int64Value INTEGER, doubleValue REAL);
CREATE TABLE ThreadNames (nameId INTEGER NOT NULL, priority INTEGER, globalTid INTEGER);
CREATE TABLE TARGET_INFO_GPU (vmId INTEGER NOT NULL, id INTEGER NOT NULL, name TEXT, totalMemory INTEGER, smCount INTEGER, computeMajor INTEGER, computeMinor INTEGER);
";

pub(super) const NSYS_2026: &str = "
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE META_DATA_EXPORT (name TEXT NOT NULL, value TEXT);
CREATE TABLE META_DATA_CAPTURE (name TEXT NOT NULL, value TEXT);
CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT, localTime TEXT, systemClockNs INTEGER);
CREATE TABLE TARGET_INFO_SYSTEM_ENV (globalVid INTEGER, devStateName TEXT NOT NULL, name TEXT NOT NULL, nameEnum INTEGER NOT NULL, value TEXT NOT NULL);
CREATE TABLE TARGET_INFO_GPU (vmId INTEGER NOT NULL, id INTEGER NOT NULL, name TEXT, busLocation TEXT, totalMemory INTEGER, smCount INTEGER, computeMajor INTEGER, computeMinor INTEGER, uuid TEXT);
CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER NOT NULL, pid INTEGER NOT NULL, uuid TEXT, numMultiprocessors INTEGER);
CREATE TABLE ThreadNames (nameId INTEGER NOT NULL, priority INTEGER, globalTid INTEGER);
";

pub(super) const NSYS_2026_LAZY: [(&str, &str); 5] = [
    (
        "CUPTI_ACTIVITY_KIND_KERNEL",
        "start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, mangledName INTEGER, launchType INTEGER, cacheConfig INTEGER, registersPerThread INTEGER NOT NULL, gridX INTEGER NOT NULL, gridY INTEGER NOT NULL, gridZ INTEGER NOT NULL, blockX INTEGER NOT NULL, blockY INTEGER NOT NULL, blockZ INTEGER NOT NULL, clusterX INTEGER, clusterY INTEGER, clusterZ INTEGER, staticSharedMemory INTEGER NOT NULL, dynamicSharedMemory INTEGER NOT NULL, localMemoryPerThread INTEGER NOT NULL, localMemoryTotal INTEGER NOT NULL, gridId INTEGER NOT NULL, graphNodeId INTEGER, graphId INTEGER, tensorSizeMinusOneElements TEXT",
    ),
    (
        "CUPTI_ACTIVITY_KIND_MEMCPY",
        "start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL, deprecatedSrcId INTEGER, srcKind INTEGER, dstKind INTEGER, srcDeviceId INTEGER, srcContextId INTEGER, dstDeviceId INTEGER, dstContextId INTEGER, migrationCause INTEGER, graphNodeId INTEGER, virtualAddress INTEGER, copyCount INTEGER",
    ),
    (
        "CUPTI_ACTIVITY_KIND_MEMSET",
        "start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, value INTEGER NOT NULL, bytes INTEGER NOT NULL, graphNodeId INTEGER, memKind INTEGER",
    ),
    (
        "CUPTI_ACTIVITY_KIND_RUNTIME",
        "start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, callchainId INTEGER",
    ),
    (
        "NVTX_EVENTS",
        "start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER, category INTEGER, color INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId INTEGER, uint64Value INTEGER, int64Value INTEGER, doubleValue REAL, binaryData TEXT",
    ),
];

/// The story as an SQLite export of nsys.
pub fn nsys(story: &Story, era: NsysEra) -> Vec<u8> {
    let newer = era == NsysEra::Of2026;
    let mut schema = if newer { NSYS_2026.to_owned() } else { NSYS_2020.to_owned() };
    let needed = |table: &str| match table {
        "CUPTI_ACTIVITY_KIND_KERNEL" => !story.kernels.is_empty(),
        "CUPTI_ACTIVITY_KIND_MEMCPY" => !story.copies.is_empty(),
        "CUPTI_ACTIVITY_KIND_MEMSET" => !story.fills.is_empty(),
        "CUPTI_ACTIVITY_KIND_RUNTIME" => !story.calls.is_empty(),
        _ => !story.ranges.is_empty(),
    };
    for (table, columns) in NSYS_2026_LAZY.iter().filter(|(table, _)| newer && needed(table)) {
        schema.push_str(&format!("CREATE TABLE {table} ({columns});\n"));
    }
    let db = Database::new(&schema);
    let mut texts = Texts { db: &db, table: "StringIds", key: "id", known: BTreeMap::new() };
    let process = 1_i64 << 48 | i64::from(story.pid) << 24;
    if newer {
        let text = |value: &str| Sql::Text(value.to_owned());
        for (name, value) in [
            ("EXPORT_PRODUCT_VERSION", "2026.2.1.210"),
            ("EXPORT_SCHEMA_VERSION", "3.25.0"),
            ("EXPORT_USER", "alice"),
            ("EXPORT_HOST", "secret-host"),
        ] {
            db.insert("META_DATA_EXPORT", &[("name", text(name)), ("value", text(value))]);
        }
        let variable = [("name", text("PROCESS_0:ENVIRONMENT_VARIABLE_0")), ("value", text("HF_TOKEN=hf_secret"))];
        db.insert("META_DATA_CAPTURE", &variable);
        if let Some(epoch) = story.epoch {
            db.insert("TARGET_INFO_SESSION_START_TIME", &[("utcEpochNs", int(epoch))]);
        }
    }
    for (device, name) in story.devices.iter().enumerate() {
        let mut row = vec![
            ("vmId", int(1_i64 << 48)),
            ("id", int(device as i64)),
            ("name", Sql::Text(name.clone())),
            ("totalMemory", int(34_000_000_000_i64)),
            ("smCount", int(80)),
            ("computeMajor", int(7)),
            ("computeMinor", int(0)),
        ];
        if newer {
            row.push(("uuid", Sql::Text(format!("554a6988-03dd-6206-3dd1-f43fb60a3e{device:02}"))));
            let cuda = [("gpuId", int(device as i64)), ("cudaId", int(device as i64)), ("pid", int(story.pid))];
            db.insert("TARGET_INFO_CUDA_DEVICE", &cuda);
        }
        db.insert("TARGET_INFO_GPU", &row);
    }
    for (tid, name) in &story.threads {
        let row = [("nameId", texts.id(name.as_bytes())), ("globalTid", int(process | i64::from(*tid)))];
        db.insert("ThreadNames", &row);
    }
    let place = |start: i64, end: i64, (device, context, stream): (u32, u32, u32), correlation: u64| {
        vec![
            ("start", int(start)),
            ("end", int(end)),
            ("deviceId", int(device)),
            ("contextId", int(context)),
            ("streamId", int(stream)),
            ("correlationId", int(correlation)),
            ("globalPid", int(process)),
        ]
    };
    for k in &story.kernels {
        let mut row = place(k.start, k.end, (k.device, k.context, k.stream), k.correlation);
        row.extend([("demangledName", texts.id(&k.name.demangled)), ("shortName", texts.id(&k.name.base))]);
        if newer {
            row.push(("mangledName", texts.id(&k.name.mangled)));
            row.push(("tensorSizeMinusOneElements", Sql::Text("[]".into())));
        }
        row.extend(["gridX", "gridY", "gridZ"].into_iter().zip(k.grid.map(int)));
        row.extend(["blockX", "blockY", "blockZ"].into_iter().zip(k.block.map(int)));
        row.push(("registersPerThread", int(32)));
        let zeros =
            ["staticSharedMemory", "dynamicSharedMemory", "localMemoryPerThread", "localMemoryTotal", "gridId"];
        row.extend(zeros.map(|name| (name, int(0))));
        db.insert("CUPTI_ACTIVITY_KIND_KERNEL", &row);
    }
    for c in &story.copies {
        let mut row = place(c.start, c.end, (c.device, c.context, c.stream), c.correlation);
        // nsys numbers kinds of memory one lower than CUPTI.
        let (src, dst) = c.memories();
        row.extend([
            ("bytes", int(c.bytes)),
            ("copyKind", int(c.kind)),
            ("srcKind", int(src - 1)),
            ("dstKind", int(dst - 1)),
        ]);
        db.insert("CUPTI_ACTIVITY_KIND_MEMCPY", &row);
    }
    for f in &story.fills {
        let mut row = place(f.start, f.end, (f.device, f.context, f.stream), f.correlation);
        row.extend([("bytes", int(f.bytes)), ("value", int(0)), ("memKind", int(2))]);
        db.insert("CUPTI_ACTIVITY_KIND_MEMSET", &row);
    }
    for c in &story.calls {
        let row = [
            ("start", int(c.start)),
            ("end", int(c.end)),
            ("eventClass", int(c.function.2)),
            ("globalTid", int(process | i64::from(c.tid))),
            ("correlationId", int(c.correlation)),
            ("nameId", texts.id(c.function.0.as_bytes())),
            ("returnValue", int(0)),
        ];
        db.insert("CUPTI_ACTIVITY_KIND_RUNTIME", &row);
    }
    let mut domains: BTreeMap<&str, i64> = BTreeMap::new();
    for range in &story.ranges {
        let thread = ("globalTid", int(process | i64::from(range.tid)));
        let domain = range.domain.as_ref().map_or(0, |domain| {
            let next = domains.len() as i64 + 1;
            *domains.entry(domain).or_insert_with(|| {
                let text = ("text", Sql::Text(domain.clone()));
                let row =
                    [("start", int(0)), ("eventType", int(75)), text, thread.clone(), ("domainId", int(next))];
                db.insert("NVTX_EVENTS", &row);
                next
            })
        });
        let event_type = [59, 60, 34][range.style as usize];
        let mut row =
            vec![("start", int(range.start)), ("eventType", int(event_type)), thread, ("domainId", int(domain))];
        row.extend(range.end.map(|end| ("end", int(end))));
        // Registered strings stand in StringIds, others here.
        match range.name.len() % 2 {
            0 => row.push(("text", Sql::Text(range.name.clone()))),
            _ => row.push(("textId", texts.id(range.name.as_bytes()))),
        }
        db.insert("NVTX_EVENTS", &row);
    }
    db.bytes()
}
