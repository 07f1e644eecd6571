//! Regions of OpenACC and OpenMP.

use super::Reader;
use super::activity::duration;
use crate::exchange::nsys_sqlite::openmp_wait;
use trace_format::tables::{OpenaccRow, OpenmpRow};
use trace_format::vocabulary::{openacc_kind, openmp_kind};

/// Reads OpenACC regions; nsys keeps CUPTI's numbers here.
pub(super) fn openacc(r: &mut Reader) {
    for table in [
        "CUPTI_ACTIVITY_KIND_OPENACC_DATA",
        "CUPTI_ACTIVITY_KIND_OPENACC_LAUNCH",
        "CUPTI_ACTIVITY_KIND_OPENACC_OTHER",
    ] {
        let Some(mut scan) = r.scan(table) else { continue };
        let [start, end, thread, kind] = ["start", "end", "globalTid", "eventKind"].map(|name| scan.col(name));
        let [line, file, function] = ["lineNo", "srcFile", "funcName"].map(|name| scan.col(name));
        let [bytes, variable, kernel] = ["bytes", "varName", "kernelName"].map(|name| scan.col(name));
        let device_type = scan.col("DeviceType");
        let [device, context, stream] = ["cuDeviceId", "cuContextId", "cuStreamId"].map(|name| scan.col(name));
        let tally = scan.run(|row| {
            let Some(start_ns) = row.int(start) else { return false };
            let thread = row.int(thread);
            let process = r.process(thread);
            // What is not on one of NVIDIA's devices has none of their ids.
            let on_gpu = row.id(device_type) == Some(openacc_kind::NVIDIA_DEVICE);
            let id = |col| row.id(col).filter(|_| on_gpu);
            let region = OpenaccRow {
                start_ns,
                duration_ns: duration(start_ns, row.int(end)),
                kind: row.id_or_0(kind),
                parent_construct: 0,
                tid: r.thread(thread),
                line: row.int(line),
                file_id: r.name_if_any(row.int(file)),
                function_id: r.name_if_any(row.int(function)),
                variable_id: r.name_if_any(row.int(variable).or(row.int(kernel))),
                bytes: row.int(bytes),
                implicit: None,
                external_id: None,
                device: id(device),
                context: id(context),
                stream: id(stream),
            };
            r.sink.push(process, region);
            true
        });
        r.close(tally);
    }
}

/// Reads those OpenMP regions that CUPTI, and so the trace format, has a kind for.
pub(super) fn openmp(r: &mut Reader) {
    for (table, fixed) in [
        ("OPENMP_EVENT_KIND_PARALLEL", Some(openmp_kind::PARALLEL)),
        ("OPENMP_EVENT_KIND_TASK", Some(openmp_kind::TASK)),
        ("OPENMP_EVENT_KIND_THREAD", Some(openmp_kind::THREAD)),
        ("OPENMP_EVENT_KIND_SYNC_REGION_WAIT", None),
    ] {
        let Some(mut scan) = r.scan(table) else { continue };
        let [start, end, thread, region] = ["start", "end", "globalTid", "kind"].map(|name| scan.col(name));
        let tally = scan.run(|row| {
            let Some(start_ns) = row.int(start) else { return false };
            // A wait is for a task group where the region says so, else at a barrier.
            let kind = fixed.unwrap_or(match row.id(region) {
                Some(openmp_wait::TASKWAIT) => openmp_kind::WAIT_TASKWAIT,
                _ => openmp_kind::WAIT_BARRIER,
            });
            let thread = row.int(thread);
            let process = r.process(thread);
            let tid = r.thread(thread);
            r.sink.push(process, OpenmpRow { start_ns, duration_ns: duration(start_ns, row.int(end)), kind, tid });
            true
        });
        r.close(tally);
    }
}
