//! The story as nvprof and the Visual Profiler store it.

use super::database::*;
use super::*;

pub(super) const NVPROF_TABLES: &str = "
CREATE TABLE Version(version INTEGER);
CREATE TABLE StringTable(_id_ INTEGER PRIMARY KEY AUTOINCREMENT, value TEXT NOT NULL UNIQUE);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(_id_ INTEGER PRIMARY KEY AUTOINCREMENT, cbid INT NOT NULL, start INT NOT NULL, end INT NOT NULL, processId INT NOT NULL, threadId INT NOT NULL, correlationId INT NOT NULL, returnValue INT NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_DRIVER(_id_ INTEGER PRIMARY KEY AUTOINCREMENT, cbid INT NOT NULL, start INT NOT NULL, end INT NOT NULL, processId INT NOT NULL, threadId INT NOT NULL, correlationId INT NOT NULL, returnValue INT NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_DEVICE(_id_ INTEGER PRIMARY KEY AUTOINCREMENT, globalMemorySize INT NOT NULL, numMultiprocessors INT NOT NULL, computeCapabilityMajor INT NOT NULL, computeCapabilityMinor INT NOT NULL, id INT NOT NULL, name INT NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_NAME(_id_ INTEGER PRIMARY KEY AUTOINCREMENT, objectKind INT NOT NULL, objectId BLOB NOT NULL, name INT NOT NULL);
";

pub(super) const NVPROF_8: &str = "
CREATE TABLE CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL(_id_ INTEGER PRIMARY KEY AUTOINCREMENT, cacheConfig BLOB NOT NULL, registersPerThread INT NOT NULL, start INT NOT NULL, end INT NOT NULL, completed INT NOT NULL, deviceId INT NOT NULL, contextId INT NOT NULL, streamId INT NOT NULL, gridX INT NOT NULL, gridY INT NOT NULL, gridZ INT NOT NULL, blockX INT NOT NULL, blockY INT NOT NULL, blockZ INT NOT NULL, staticSharedMemory INT NOT NULL, dynamicSharedMemory INT NOT NULL, localMemoryPerThread INT NOT NULL, localMemoryTotal INT NOT NULL, correlationId INT NOT NULL, gridId INT NOT NULL, name INT NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(_id_ INTEGER PRIMARY KEY AUTOINCREMENT, copyKind INT NOT NULL, srcKind INT NOT NULL, dstKind INT NOT NULL, flags INT NOT NULL, bytes INT NOT NULL, start INT NOT NULL, end INT NOT NULL, deviceId INT NOT NULL, contextId INT NOT NULL, streamId INT NOT NULL, correlationId INT NOT NULL, runtimeCorrelationId INT NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET(_id_ INTEGER PRIMARY KEY AUTOINCREMENT, value INT NOT NULL, bytes INT NOT NULL, start INT NOT NULL, end INT NOT NULL, deviceId INT NOT NULL, contextId INT NOT NULL, streamId INT NOT NULL, correlationId INT NOT NULL, runtimeCorrelationId INT NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_MARKER(_id_ INTEGER PRIMARY KEY AUTOINCREMENT, flags INT NOT NULL, timestamp INT NOT NULL, id INT NOT NULL, objectKind INT NOT NULL, objectId BLOB NOT NULL, name INT NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER(_id_ INTEGER PRIMARY KEY AUTOINCREMENT, counterKind INT NOT NULL, value INT NOT NULL, start INT NOT NULL, end INT NOT NULL, address INT NOT NULL, srcId INT NOT NULL, dstId INT NOT NULL, streamId INT NOT NULL, processId INT NOT NULL);
";

pub(super) const NVPROF_16: &str = "
CREATE TABLE CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL(_id_ INTEGER PRIMARY KEY AUTOINCREMENT, cacheConfig BLOB NOT NULL, sharedMemoryConfig INT NOT NULL, registersPerThread INT NOT NULL, start INT NOT NULL, end INT NOT NULL, completed INT NOT NULL, deviceId INT NOT NULL, contextId INT NOT NULL, streamId INT NOT NULL, gridX INT NOT NULL, gridY INT NOT NULL, gridZ INT NOT NULL, blockX INT NOT NULL, blockY INT NOT NULL, blockZ INT NOT NULL, staticSharedMemory INT NOT NULL, dynamicSharedMemory INT NOT NULL, localMemoryPerThread INT NOT NULL, localMemoryTotal INT NOT NULL, correlationId INT NOT NULL, gridId INT NOT NULL, name INT NOT NULL, queued INT NOT NULL, submitted INT NOT NULL, launchType INT NOT NULL, graphNodeId INT NOT NULL, graphId INT NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(_id_ INTEGER PRIMARY KEY AUTOINCREMENT, copyKind INT NOT NULL, srcKind INT NOT NULL, dstKind INT NOT NULL, flags INT NOT NULL, bytes INT NOT NULL, start INT NOT NULL, end INT NOT NULL, deviceId INT NOT NULL, contextId INT NOT NULL, streamId INT NOT NULL, correlationId INT NOT NULL, runtimeCorrelationId INT NOT NULL, graphNodeId INT NOT NULL, graphId INT NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET(_id_ INTEGER PRIMARY KEY AUTOINCREMENT, value INT NOT NULL, bytes INT NOT NULL, start INT NOT NULL, end INT NOT NULL, deviceId INT NOT NULL, contextId INT NOT NULL, streamId INT NOT NULL, correlationId INT NOT NULL, flags INT NOT NULL, memoryKind INT NOT NULL, graphNodeId INT NOT NULL, graphId INT NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_MARKER(_id_ INTEGER PRIMARY KEY AUTOINCREMENT, flags INT NOT NULL, timestamp INT NOT NULL, id INT NOT NULL, objectKind INT NOT NULL, objectId BLOB NOT NULL, name INT NOT NULL, domain INT NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER(_id_ INTEGER PRIMARY KEY AUTOINCREMENT, counterKind INT NOT NULL, value INT NOT NULL, start INT NOT NULL, end INT NOT NULL, address INT NOT NULL, srcId INT NOT NULL, dstId INT NOT NULL, streamId INT NOT NULL, processId INT NOT NULL, flags INT NOT NULL);
";

/// A packed `objectId`: three little-endian numbers, and garbage behind them.
pub(super) fn object(words: [u32; 3]) -> Sql {
    let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    bytes.extend(b"junk");
    Sql::Blob(bytes)
}

/// The story as a database of nvprof, schema 8 (CUDA 8) or 16 (CUDA 11).
pub fn nvprof(story: &Story, version: i64) -> Vec<u8> {
    let newer = version >= 16;
    let db = Database::new(&format!("{NVPROF_TABLES}{}", if newer { NVPROF_16 } else { NVPROF_8 }));
    db.insert("Version", &[("version", int(version))]);
    let mut texts = Texts { db: &db, table: "StringTable", key: "_id_", known: BTreeMap::new() };
    // 0/0 means "no time" and has no epoch.
    let epoch = story.epoch.unwrap_or(0);
    let times = |start: i64, end: i64| match (start, end) {
        (0, 0) => (int(0), int(0)),
        _ => (int(start.wrapping_add(epoch)), int(end.wrapping_add(epoch))),
    };
    let place = |device: u32, context: u32, stream: u32, correlation: u64| {
        [
            ("deviceId", int(device)),
            ("contextId", int(context)),
            ("streamId", int(stream)),
            ("correlationId", int(correlation)),
        ]
    };
    let command = texts.id(b"./app --secret-of-the-command-line");
    let process = object([story.pid, 0, 0]);
    db.insert("CUPTI_ACTIVITY_KIND_NAME", &[("objectKind", int(1)), ("objectId", process), ("name", command)]);
    for (tid, name) in &story.threads {
        let (object, name) = (object([story.pid, *tid, 0]), texts.id(name.as_bytes()));
        db.insert("CUPTI_ACTIVITY_KIND_NAME", &[("objectKind", int(2)), ("objectId", object), ("name", name)]);
    }
    for (device, name) in story.devices.iter().enumerate() {
        let row = [
            ("id", int(device as i64)),
            ("name", texts.id(name.as_bytes())),
            ("globalMemorySize", int(34_000_000_000_i64)),
            ("numMultiprocessors", int(80)),
            ("computeCapabilityMajor", int(7)),
            ("computeCapabilityMinor", int(0)),
        ];
        db.insert("CUPTI_ACTIVITY_KIND_DEVICE", &row);
    }
    for k in &story.kernels {
        let (start, end) = times(k.start, k.end);
        let mut row = vec![
            ("start", start),
            ("end", end),
            ("cacheConfig", Sql::Blob(vec![0; 4])),
            ("name", texts.id(&k.name.mangled)),
        ];
        row.extend(place(k.device, k.context, k.stream, k.correlation));
        row.extend(["gridX", "gridY", "gridZ"].into_iter().zip(k.grid.map(int)));
        row.extend(["blockX", "blockY", "blockZ"].into_iter().zip(k.block.map(int)));
        row.push(("registersPerThread", int(32)));
        let zeros = [
            "completed",
            "staticSharedMemory",
            "dynamicSharedMemory",
            "localMemoryPerThread",
            "localMemoryTotal",
            "gridId",
        ];
        row.extend(zeros.map(|name| (name, int(0))));
        if newer {
            let zeros = ["sharedMemoryConfig", "queued", "submitted", "launchType", "graphNodeId", "graphId"];
            row.extend(zeros.map(|name| (name, int(0))));
        }
        db.insert("CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL", &row);
    }
    let graph = [("graphNodeId", int(0)), ("graphId", int(0))];
    for c in &story.copies {
        let (start, end) = times(c.start, c.end);
        let mut row = vec![("start", start), ("end", end), ("bytes", int(c.bytes)), ("copyKind", int(c.kind))];
        let (src, dst) = c.memories();
        row.extend([
            ("srcKind", int(src)),
            ("dstKind", int(dst)),
            ("flags", int(0)),
            ("runtimeCorrelationId", int(0)),
        ]);
        row.extend(place(c.device, c.context, c.stream, c.correlation));
        row.extend(graph.clone().into_iter().filter(|_| newer));
        db.insert("CUPTI_ACTIVITY_KIND_MEMCPY", &row);
    }
    for f in &story.fills {
        let (start, end) = times(f.start, f.end);
        let mut row = vec![("start", start), ("end", end), ("bytes", int(f.bytes)), ("value", int(0))];
        row.extend(place(f.device, f.context, f.stream, f.correlation));
        if newer {
            row.extend([("flags", int(0)), ("memoryKind", int(3))]);
            row.extend(graph.clone());
        } else {
            row.push(("runtimeCorrelationId", int(0)));
        }
        db.insert("CUPTI_ACTIVITY_KIND_MEMSET", &row);
    }
    for c in &story.calls {
        let (start, end) = times(c.start, c.end);
        let table = ["CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_DRIVER"][c.function.2 as usize];
        // A signed 32-bit truncation in real files.
        let thread = int(c.tid as i32);
        let row = [
            ("cbid", int(c.function.1)),
            ("start", start),
            ("end", end),
            ("processId", int(story.pid)),
            ("threadId", thread),
            ("correlationId", int(c.correlation)),
            ("returnValue", int(0)),
        ];
        db.insert(table, &row);
    }
    nvprof_ranges(story, &db, &mut texts, newer);
    for m in &story.migrations {
        let (start, end) = times(m.start, m.end.unwrap_or(0));
        let device = |d: Option<u32>| int(d.unwrap_or(u32::MAX));
        let mut row = vec![
            ("counterKind", int(m.kind)),
            ("value", int(m.value)),
            ("start", start),
            ("end", if m.end.is_some() { end } else { int(0) }),
            ("address", int(0x7000_0000)),
            ("srcId", device(m.src)),
            ("dstId", device(m.dst)),
            ("streamId", int(7)),
            ("processId", int(story.pid)),
        ];
        row.extend(newer.then_some(("flags", int(0))));
        db.insert("CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER", &row);
    }
    db.bytes()
}

pub(super) fn nvprof_ranges(story: &Story, db: &Database, texts: &mut Texts, newer: bool) {
    for (i, range) in story.ranges.iter().enumerate() {
        let name = texts.id(range.name.as_bytes());
        let domain = range.domain.as_ref().map_or(int(0), |domain| texts.id(domain.as_bytes()));
        let marker = |flags: i64, time: i64, tid: u32, name: Sql| {
            let mut row = vec![
                ("flags", int(flags)),
                ("timestamp", int(time + story.epoch.unwrap_or(0))),
                ("id", int(i as i64 + 1)),
                ("objectKind", int(2)),
                ("objectId", object([story.pid, tid, 0])),
                ("name", name),
            ];
            row.extend(newer.then(|| ("domain", domain.clone())));
            db.insert("CUPTI_ACTIVITY_KIND_MARKER", &row);
        };
        marker(if range.style == 2 { 1 } else { 2 }, range.start, range.tid, name);
        if let Some(end) = range.end {
            // A start/end range that ends on another thread is the only kind that can be told from a pushed one.
            marker(4, end, range.tid + range.style, int(0));
        }
    }
}

/// A database of nvprof as a Visual Profiler session wraps it.
pub fn nvvp_session(database: &[u8], version: u32) -> Vec<u8> {
    let packed = base64(&gzip(database));
    let (half, rest) = packed.split_at(packed.len() / 8 * 4);
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<session version=\"{version}\" name=\"New Session\">\n\
         <launch executable=\"/home/alice/app\" arguments=\"--token hf_secret\"/>\n<timelinepdm><pdm>\
         <split>{half}</split><split>{rest}</split></pdm></timelinepdm><analysispdm></analysispdm></session>\n"
    )
    .into_bytes()
}

pub(super) fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let word = chunk.iter().fold(0u32, |word, &byte| word << 8 | u32::from(byte)) << (8 * (3 - chunk.len()));
        for i in 0..4 {
            let digit = DIGITS[(word >> (18 - 6 * i)) as usize & 63] as char;
            text.push(if i <= chunk.len() { digit } else { '=' });
        }
    }
    text
}
