//! What an export says about itself, the machine's GPUs and the processes: a short list of values by name. The tables
//! they stand in hold the whole environment, users and hosts as well; nothing else of them is selected.

use super::{Reader, pid, process_part, tid};
use crate::import::rows::{ABSENT, Col, Fields, Scan, Tables};
use crate::trace::sink::{ProcessIx, Sink};
use hashbrown::{HashMap, HashSet};
use rusqlite::Connection;
use std::path::Path;
use trace_format::tables::{ContextRow, DeviceRow, StreamRow, ThreadRow};

/// What is known before any row is read.
pub(super) struct Session {
    /// Where the trace comes from, as `info` shows it.
    pub(super) origin: String,
    /// What turns the file's times into Unix nanoseconds.
    pub(super) unix_offset_ns: Option<i64>,
    /// Whether gpuprof wrote it.
    pub(super) ours: bool,
    /// If gpuprof wrote the file: the time from which the original trace counted.
    pub(super) origin_ns: Option<i64>,
}

/// Reads the versions and the start of the session.
pub(super) fn read(db: &Connection, tables: &Tables, path: &Path, sink: &mut Sink) -> Session {
    let mut value = |name: &'static str| meta(db, tables, path, sink, name);
    let product = value("EXPORT_PRODUCT_VERSION");
    let ours = value("EXPORT_PRODUCT_NAME").is_some_and(|name| name == crate::exchange::nsys_sqlite::PRODUCT);
    let origin_ns =
        value(crate::exchange::nsys_sqlite::ORIGIN).filter(|_| ours).and_then(|value| value.parse().ok());
    let schema = value("EXPORT_SCHEMA_VERSION");
    let normalised = value("EXPORT_PARAM_TIME_NORMALIZE").is_some_and(|value| value == "true");
    let shift = ["EXPORT_CONFIG_TIME_SHIFT", "EXPORT_PARAM_TIME_SHIFT"]
        .into_iter()
        .find_map(|name| value(name)?.parse::<i64>().ok().filter(|&shift| shift != 0));
    if let Some(shift) = shift {
        let path = path.display();
        sink.note("time-shift", format!("{path}: all times were shifted by {shift} ns when it was exported"));
    }
    let origin = match (schema, product) {
        (Some(schema), Some(product)) if ours => {
            format!("SQLite in nsys's schema {schema}, exported by gpuprof {product}")
        }
        (Some(schema), Some(product)) => format!("nsys SQLite export, schema {schema} (nsys {product})"),
        (Some(schema), None) => format!("nsys SQLite export, schema {schema}"),
        (None, Some(product)) => format!("nsys SQLite export (nsys {product})"),
        (None, None) => "nsys SQLite export of 2020 or 2021 (it states no version)".to_owned(),
    };
    // `nsys export --ts-normalize=true` has added the epoch to every time already.
    let unix_offset_ns = if normalised { Some(0) } else { session_start(db, tables, path, sink) };
    Session { origin, unix_offset_ns, ours, origin_ns }
}

/// The value called `name` of the table about the export, which was renamed in 2023.
fn meta(db: &Connection, tables: &Tables, path: &Path, sink: &mut Sink, name: &str) -> Option<String> {
    let table = ["META_DATA_EXPORT", "EXPORT_META_DATA"].into_iter().find(|table| tables.has(table))?;
    let sql = format!("SELECT value FROM \"{table}\" WHERE name = ?1");
    let value = db.query_row(&sql, [name], |row| row.get_ref(0)?.as_str().map(str::to_owned).map_err(Into::into));
    match value {
        Ok(value) => Some(value),
        Err(rusqlite::Error::QueryReturnedNoRows) => None,
        Err(error) => {
            let path = path.display();
            sink.note("unreadable-rows", format!("{path}: {name} cannot be read from table {table}: {error}"));
            None
        }
    }
}

fn session_start(db: &Connection, tables: &Tables, path: &Path, sink: &mut Sink) -> Option<i64> {
    let mut scan = Scan::new(db, tables, "TARGET_INFO_SESSION_START_TIME")?;
    let epoch = scan.col("utcEpochNs");
    let mut start = None;
    scan.run(|row| {
        start = start.or(row.int(epoch).filter(|&ns| ns > 0));
        true
    })
    .note(sink, path);
    start
}

/// Reads what processes are called: the names of their programs, without the folders those are in.
pub(super) fn process_names(r: &mut Reader) {
    let Some(mut scan) = r.scan("PROCESSES") else { return };
    let [global, name] = ["globalPid", "name"].map(|name| scan.col(name));
    let tally = scan.run(|row| {
        if let (Some(global), Some(name)) = (row.int(global), row.bytes(name))
            && let Some(&ProcessIx(index)) = r.processes.get(&process_part(global))
        {
            let name = String::from_utf8_lossy(name);
            let program = name.rsplit(['/', '\\']).next().unwrap_or_default();
            // An export of a trace that had no names has the words of our reports.
            let is_none = program.is_empty() || (r.ours && program.starts_with("process "));
            r.sink.processes[index].info.name = if is_none { None } else { Some(program.to_owned()) };
        }
        true
    });
    r.close(tally);
}

/// One row of TARGET_INFO_GPU.
struct Gpu {
    id: Option<i64>,
    machine: Option<i64>,
    row: DeviceRow,
}

/// Reads GPUs. CUDA numbers those that a process sees from 0, and exports since 2026 say which is which. In older ones
/// nsys's number of the GPU is taken, as nsys's own reports do, which is the same unless CUDA_VISIBLE_DEVICES left
/// some out; as nobody can tell, devices of different processes are not declared the same by UUID and address then.
pub(super) fn devices(r: &mut Reader) {
    let gpus = gpus(r);
    let processes: Vec<(i64, ProcessIx)> = r.processes.iter().map(|(&global, &index)| (global, index)).collect();
    let mut told: HashSet<(ProcessIx, u32)> = HashSet::new();
    if let Some(mut scan) = r.scan("TARGET_INFO_CUDA_DEVICE") {
        let [gpu, cuda, process] = ["gpuId", "cudaId", "pid"].map(|name| scan.col(name));
        let [uuid, processors] = ["uuid", "numMultiprocessors"].map(|name| scan.col(name));
        let tally = scan.run(|row| {
            let (Some(device), Some(process)) = (row.id(cuda), row.id(process)) else { return false };
            let gpu = row.int(gpu);
            for &(global, index) in processes.iter().filter(|&&(global, _)| pid(global) == Some(process)) {
                let known = gpus.iter().find(|g| g.id == gpu && same_machine(g.machine, global));
                // Processes of different machines may have one pid, and the table does not name the machine.
                let elsewhere = known.is_none() && gpus.iter().any(|g| g.id == gpu);
                if elsewhere || !told.insert((index, device)) {
                    continue;
                }
                let row = match known {
                    Some(gpu) => DeviceRow { device, ..gpu.row.clone() },
                    None => DeviceRow {
                        device,
                        multiprocessors: row.int(processors),
                        uuid: row.bytes(uuid).and_then(uuid_bytes),
                        ..Default::default()
                    },
                };
                r.sink.push(index, row);
            }
            true
        });
        r.close(tally);
    }
    for (global, index) in processes {
        if told.iter().any(|&(process, _)| process == index) {
            continue;
        }
        let seen: Vec<&Gpu> = gpus.iter().filter(|gpu| same_machine(gpu.machine, global)).collect();
        for gpu in &seen {
            let mut row = gpu.row.clone();
            if seen.len() > 1 {
                (row.uuid, row.pci_bus_id) = (None, None);
            }
            r.sink.push(index, row);
        }
    }
}

fn gpus(r: &mut Reader) -> Vec<Gpu> {
    let mut gpus = Vec::new();
    let Some(mut scan) = r.scan("TARGET_INFO_GPU") else { return gpus };
    let [machine, id, old_id] = ["vmId", "id", "deviceId"].map(|name| scan.col(name));
    let [name, bus, uuid] = ["name", "busLocation", "uuid"].map(|name| scan.col(name));
    let [major, minor, processors, clock] =
        ["computeMajor", "computeMinor", "smCount", "clockRate"].map(|name| scan.col(name));
    let [memory, bandwidth, l2, warps] =
        ["totalMemory", "memoryBandwidth", "l2CacheSize", "maxWarpsPerSm"].map(|name| scan.col(name));
    let tally = scan.run(|row| {
        // nsys of 2021 called the column differently, and kept the numbers of the device in a table of its own.
        let id = if id == ABSENT { old_id } else { id };
        let Some(device) = row.id(id) else { return false };
        let row = Gpu {
            id: row.int(id),
            machine: row.int(machine),
            row: DeviceRow {
                device,
                name_id: row.bytes(name).map_or(0, |name| r.sink.name(name)),
                compute_major: row.id(major),
                compute_minor: row.id(minor),
                multiprocessors: row.int(processors),
                // nsys has Hz and bytes per second.
                core_clock_khz: row.int(clock).map(|hz| hz / 1000),
                memory_bytes: row.int(memory),
                memory_bandwidth_kb_per_s: row.int(bandwidth).map(|bytes| bytes / 1000),
                l2_cache_bytes: row.int(l2),
                max_warps_per_multiprocessor: row.int(warps),
                uuid: row.bytes(uuid).and_then(uuid_bytes),
                pci_bus_id: row.bytes(bus).filter(|bus| !bus.is_empty()).map(<[u8]>::to_vec),
            },
        };
        gpus.push(row);
        true
    });
    r.close(tally);
    numbers_of_2021(r, &mut gpus);
    gpus
}

/// Completes GPUs by what nsys of 2021 wrote for each process: numbers as CUDA gives them, clocks in kHz, bandwidth in
/// kilobytes.
fn numbers_of_2021(r: &mut Reader, gpus: &mut [Gpu]) {
    let Some(mut scan) = r.scan("TARGET_INFO_CUDA_GPU") else { return };
    let [machine, id, bus] = ["vmId", "deviceId", "pciBusId"].map(|name| scan.col(name));
    let [major, minor, processors] =
        ["computeCapabilityMajor", "computeCapabilityMinor", "numMultiprocessors"].map(|name| scan.col(name));
    let [clock, memory, bandwidth] =
        ["coreClockRate", "globalMemorySize", "globalMemoryBandwidth"].map(|name| scan.col(name));
    let tally = scan.run(|row| {
        let same = |gpu: &&mut Gpu| match (row.bytes(bus), gpu.row.pci_bus_id.as_deref()) {
            // CUDA numbers what a process sees, so the place on the bus is the better proof.
            (Some(theirs), Some(ours)) if !theirs.is_empty() => theirs.eq_ignore_ascii_case(ours),
            _ => gpu.id == row.int(id),
        };
        let on_machine = |gpu: &&mut Gpu| gpu.machine.is_none() || gpu.machine == row.int(machine);
        if let Some(gpu) = gpus.iter_mut().filter(on_machine).find(same) {
            let known = &mut gpu.row;
            known.compute_major = known.compute_major.or(row.id(major));
            known.compute_minor = known.compute_minor.or(row.id(minor));
            known.multiprocessors = known.multiprocessors.or(row.int(processors));
            known.core_clock_khz = known.core_clock_khz.or(row.int(clock));
            known.memory_bytes = known.memory_bytes.or(row.int(memory));
            known.memory_bandwidth_kb_per_s = known.memory_bandwidth_kb_per_s.or(row.int(bandwidth));
        }
        true
    });
    r.close(tally);
}

/// Whether a GPU's `vmId` is that of the process; reports of several machines can be merged into one file.
fn same_machine(gpu: Option<i64>, process: i64) -> bool {
    const MACHINE: i64 = 0xFFFF << 48;
    gpu.is_none_or(|gpu| gpu == 0 || gpu & MACHINE == process & MACHINE)
}

/// `554a6988-03dd-6206-3dd1-f43fb60a3ed0`, with or without `GPU-`, as 16 bytes; zeros are no UUID.
fn uuid_bytes(text: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(text).ok()?.trim_start_matches("GPU-").replace('-', "");
    if text.len() != 32 || !text.is_ascii() {
        return None;
    }
    let bytes: Option<Vec<u8>> = (0..16).map(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).ok()).collect();
    bytes.filter(|bytes| bytes.iter().any(|&byte| byte != 0))
}

/// The process that a row of a TARGET_INFO table is about, if it is one of ours.
fn process_of(r: &Reader, row: &Fields, ids: &[Col; 3]) -> Option<ProcessIx> {
    let [hardware, machine, process] = ids.map(|col| row.int(col).unwrap_or(0));
    let global = hardware << 56 | machine << 48 | process << 24;
    r.processes.get(&process_part(global)).copied()
}

/// Reads contexts, from the table of 2023.4 or from the one before that had them only for their default streams. Green
/// contexts that neither has are declared as far as records know them.
pub(super) fn contexts(r: &mut Reader) {
    let mut declared: HashSet<(ProcessIx, u32)> = HashSet::new();
    for (table, null_stream) in
        [("TARGET_INFO_CUDA_CONTEXT_INFO", "nullStreamId"), ("TARGET_INFO_CUDA_NULL_STREAM", "streamId")]
    {
        let Some(mut scan) = r.scan(table) else { continue };
        let ids = ["hwId", "vmId", "processId"].map(|name| scan.col(name));
        let [context, device, null_stream] = ["contextId", "deviceId", null_stream].map(|name| scan.col(name));
        let [parent, green] = ["parentContextId", "isGreenContext"].map(|name| scan.col(name));
        let tally = scan.run(|row| {
            let (Some(context), Some(device)) = (row.id(context), row.id(device)) else { return false };
            if let Some(process) = process_of(r, row, &ids) {
                declared.insert((process, context));
                let row = ContextRow {
                    context,
                    device,
                    api_kind: None,
                    null_stream: row.id(null_stream),
                    parent_context: row.id(parent).filter(|_| row.int(green) == Some(1)),
                };
                r.sink.push(process, row);
            }
            true
        });
        r.close(tally);
        break;
    }
    let mut green: Vec<_> = std::mem::take(&mut r.green_contexts).into_iter().collect();
    green.retain(|(key, _)| !declared.contains(key));
    green.sort_unstable_by_key(|&((process, context), _)| (process.0, context));
    for ((process, context), (device, parent_context)) in green {
        r.sink.push(process, ContextRow { context, device, api_kind: None, null_stream: None, parent_context });
    }
}

/// Reads streams, with the names that the program gave them through NVTX.
pub(super) fn streams(r: &mut Reader) {
    let mut names: HashMap<(ProcessIx, u32, u32), u32> = HashMap::new();
    if let Some(mut scan) = r.scan("TARGET_INFO_NVTX_CUDA_STREAM") {
        let ids = ["hwId", "vmId", "processId"].map(|name| scan.col(name));
        let [context, stream, name] = ["contextId", "streamId", "name"].map(|name| scan.col(name));
        let tally = scan.run(|row| {
            let (Some(context), Some(stream)) = (row.id(context), row.id(stream)) else { return false };
            if let (Some(process), Some(name)) = (process_of(r, row, &ids), row.bytes(name)) {
                names.insert((process, context, stream), r.sink.name(name));
            }
            true
        });
        r.close(tally);
    }
    let Some(mut scan) = r.scan("TARGET_INFO_CUDA_STREAM") else { return };
    let ids = ["hwId", "vmId", "processId"].map(|name| scan.col(name));
    let [context, stream, priority, flag] =
        ["contextId", "streamId", "priority", "flag"].map(|name| scan.col(name));
    let tally = scan.run(|row| {
        let (Some(context), Some(stream)) = (row.id(context), row.id(stream)) else { return false };
        if let Some(process) = process_of(r, row, &ids) {
            let row = StreamRow {
                context,
                stream,
                // Priorities are negative and stored as if unsigned.
                priority: row.id(priority).map(|priority| i64::from(priority as i32)),
                flag: row.id(flag),
                name_id: names.get(&(process, context, stream)).copied(),
            };
            r.sink.push(process, row);
        }
        true
    });
    r.close(tally);
}

/// Reads the names of threads that called CUDA or opened ranges; the table names every thread of the machine.
pub(super) fn thread_names(r: &mut Reader) {
    let Some(mut scan) = r.scan("ThreadNames") else { return };
    let [thread, name] = ["globalTid", "nameId"].map(|name| scan.col(name));
    let mut named: HashSet<i64> = HashSet::new();
    let tally = scan.run(|row| {
        let Some(thread) = row.int(thread) else { return false };
        if r.threads.contains(&thread) && named.insert(thread) {
            let name_id = r.name(row.int(name));
            let process = r.process(Some(thread));
            r.sink.push(process, ThreadRow { tid: tid(thread), name_id });
        }
        true
    });
    r.close(tally);
}
