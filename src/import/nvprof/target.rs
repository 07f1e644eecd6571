//! What a database says about itself and about what the records refer to: devices, contexts, streams, threads.

use super::Reader;
use crate::exchange::nvprof_db::object_kind::{PROCESS, STREAM, THREAD};
use crate::import::rows::{Col, Fields};
use hashbrown::HashMap;
use trace_format::tables::{ContextRow, DeviceRow, StreamRow, ThreadRow};

/// An `objectId`: three packed little-endian numbers, what they are depends on the kind. What the kind does not use
/// is garbage.
pub(super) struct Object([u32; 3]);

impl Object {
    /// Reads the blob in `col`.
    pub(super) fn of(row: &Fields, col: Col) -> Option<Object> {
        let bytes = row.bytes(col)?;
        let word = |i: usize| bytes.get(4 * i..4 * i + 4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
        Some(Object([word(0)?, word(1).unwrap_or(0), word(2).unwrap_or(0)]))
    }

    /// Process id, of a process or thread.
    pub(super) fn pid(&self) -> u32 {
        self.0[0]
    }

    /// Thread id, of a thread.
    pub(super) fn tid(&self) -> u32 {
        self.0[1]
    }

    fn context_and_stream(&self) -> (u32, u32) {
        (self.0[1], self.0[2])
    }
}

/// The schema version.
pub(super) fn version(r: &mut Reader) -> Option<i64> {
    let mut scan = r.scan("Version")?;
    let version = scan.col("version");
    let mut found = None;
    let tally = scan.run(|row| {
        found = found.or(row.int(version));
        true
    });
    r.close(tally);
    found
}

/// The pid of the recorded process: the one that has a name, else that of the first record that names one.
pub(super) fn main_process(r: &mut Reader) -> Option<u32> {
    let mut pid = None;
    if let Some(mut scan) = r.scan("CUPTI_ACTIVITY_KIND_NAME") {
        let [kind, object] = ["objectKind", "objectId"].map(|name| scan.col(name));
        // `thread_names` reads the table again and notes what is wrong with it.
        let _ = scan.run(|row| {
            if pid.is_none() && row.id(kind) == Some(PROCESS) {
                pid = Object::of(row, object).map(|object| object.pid()).filter(|&pid| pid != 0);
            }
            true
        });
    }
    // Any record that names a process will do: records of the GPU name none.
    let others = ["RUNTIME", "DRIVER", "UNIFIED_MEMORY_COUNTER"].map(|kind| (kind, "processId"));
    let openacc = ["OPENACC_DATA", "OPENACC_LAUNCH", "OPENACC_OTHER", "OPENMP"].map(|kind| (kind, "cuProcessId"));
    others.into_iter().chain(openacc).fold(pid, |pid, (kind, column)| {
        let first = || {
            let sql = format!("SELECT {column} FROM CUPTI_ACTIVITY_KIND_{kind} LIMIT 1");
            let first = r.db.query_row(&sql, [], |row| row.get::<_, i64>(0));
            first.ok().map(|pid| pid as u32).filter(|&pid| pid != 0)
        };
        pid.or_else(first)
    })
}

/// Reads devices, seen by CUDA or not.
pub(super) fn devices(r: &mut Reader) {
    let Some(mut scan) = r.scan("CUPTI_ACTIVITY_KIND_DEVICE") else { return };
    let [id, name, uuid] = ["id", "name", "uuid"].map(|name| scan.col(name));
    let [major, minor] = ["computeCapabilityMajor", "computeCapabilityMinor"].map(|name| scan.col(name));
    let [processors, clock, memory] =
        ["numMultiprocessors", "coreClockRate", "globalMemorySize"].map(|name| scan.col(name));
    let [bandwidth, l2, warps] =
        ["globalMemoryBandwidth", "l2CacheSize", "maxWarpsPerMultiprocessor"].map(|name| scan.col(name));
    let process = r.process(None);
    let tally = scan.run(|row| {
        let Some(device) = row.id(id) else { return false };
        let device = DeviceRow {
            device,
            name_id: r.name(row.int(name)),
            compute_major: row.id(major),
            compute_minor: row.id(minor),
            multiprocessors: row.int(processors),
            core_clock_khz: row.int(clock),
            memory_bytes: row.int(memory),
            memory_bandwidth_kb_per_s: row.int(bandwidth),
            l2_cache_bytes: row.int(l2),
            max_warps_per_multiprocessor: row.int(warps),
            uuid: row.bytes(uuid).filter(|uuid| uuid.len() == 16 && **uuid != [0; 16]).map(<[u8]>::to_vec),
            pci_bus_id: None,
        };
        r.sink.push(process, device);
        true
    });
    r.close(tally);
}

/// Reads contexts.
pub(super) fn contexts(r: &mut Reader) {
    let Some(mut scan) = r.scan("CUPTI_ACTIVITY_KIND_CONTEXT") else { return };
    let [context, device, api, null_stream] =
        ["contextId", "deviceId", "computeApiKind", "nullStreamId"].map(|name| scan.col(name));
    let process = r.process(None);
    let tally = scan.run(|row| {
        let (Some(context), Some(device)) = (row.id(context), row.id(device)) else { return false };
        let (api_kind, null_stream) = (row.id(api), row.id(null_stream));
        r.sink.push(process, ContextRow { context, device, api_kind, null_stream, parent_context: None });
        true
    });
    r.close(tally);
}

/// Reads streams, with the names that the program gave them through NVTX.
pub(super) fn streams(r: &mut Reader) {
    let mut names: HashMap<(u32, u32), u32> = HashMap::new();
    if let Some(mut scan) = r.scan("CUPTI_ACTIVITY_KIND_NAME") {
        let [kind, object, name] = ["objectKind", "objectId", "name"].map(|name| scan.col(name));
        let _ = scan.run(|row| {
            if row.id(kind) == Some(STREAM)
                && let Some(object) = Object::of(row, object)
            {
                names.insert(object.context_and_stream(), r.name(row.int(name)));
            }
            true
        });
    }
    let Some(mut scan) = r.scan("CUPTI_ACTIVITY_KIND_STREAM") else { return };
    let [context, stream, priority, flag] =
        ["contextId", "streamId", "priority", "flag"].map(|name| scan.col(name));
    let process = r.process(None);
    let tally = scan.run(|row| {
        let (Some(context), Some(stream)) = (row.id(context), row.id(stream)) else { return false };
        let row = StreamRow {
            context,
            stream,
            // Priorities are negative and stored as if unsigned.
            priority: row.id(priority).map(|priority| i64::from(priority as i32)),
            flag: row.id(flag),
            name_id: names.get(&(context, stream)).copied(),
        };
        r.sink.push(process, row);
        true
    });
    r.close(tally);
}

/// Reads the names of threads.
pub(super) fn thread_names(r: &mut Reader) {
    let Some(mut scan) = r.scan("CUPTI_ACTIVITY_KIND_NAME") else { return };
    let [kind, object, name] = ["objectKind", "objectId", "name"].map(|name| scan.col(name));
    let tally = scan.run(|row| {
        if row.id(kind) != Some(THREAD) {
            return true;
        }
        let Some(object) = Object::of(row, object) else { return false };
        let process = r.process(Some(object.pid()));
        let name_id = r.name(row.int(name));
        r.sink.push(process, ThreadRow { tid: object.tid(), name_id });
        true
    });
    r.close(tally);
}
