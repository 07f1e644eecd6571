//! Regions of OpenACC and OpenMP.

use super::{Reader, duration};
use trace_format::tables::{OpenaccRow, OpenmpRow};

/// Reads OpenACC regions. Their own `threadId` counts OpenACC's threads; `cuThreadId` is the one that API calls have.
pub(super) fn openacc(r: &mut Reader) {
    for table in [
        "CUPTI_ACTIVITY_KIND_OPENACC_DATA",
        "CUPTI_ACTIVITY_KIND_OPENACC_LAUNCH",
        "CUPTI_ACTIVITY_KIND_OPENACC_OTHER",
    ] {
        let Some(mut scan) = r.scan(table) else { continue };
        let [start, end, kind, construct] =
            ["start", "end", "eventKind", "parentConstruct"].map(|name| scan.col(name));
        let [process, thread, external] = ["cuProcessId", "cuThreadId", "externalId"].map(|name| scan.col(name));
        let [line, file, function] = ["lineNo", "srcFile", "funcName"].map(|name| scan.col(name));
        let [bytes, variable, kernel, implicit] =
            ["bytes", "varName", "kernelName", "implicit"].map(|name| scan.col(name));
        let [device, context, stream] = ["cuDeviceId", "cuContextId", "cuStreamId"].map(|name| scan.col(name));
        let tally = scan.run(|row| {
            let Some(start_ns) = row.int(start) else { return false };
            let process = r.process(row.id(process));
            let region = OpenaccRow {
                start_ns,
                duration_ns: duration(start_ns, row.int(end)),
                kind: row.id_or_0(kind),
                parent_construct: row.id_or_0(construct),
                tid: row.id_or_0(thread),
                line: row.int(line),
                file_id: r.name_if_any(row.int(file)),
                function_id: r.name_if_any(row.int(function)),
                variable_id: r.name_if_any(row.int(variable).or(row.int(kernel))),
                bytes: row.int(bytes),
                implicit: row.int(implicit).map(|implicit| implicit != 0),
                external_id: row.id(external),
                device: row.id(device),
                context: row.id(context),
                stream: row.id(stream),
            };
            r.sink.push(process, region);
            true
        });
        r.close(tally);
    }
}

/// Reads OpenMP regions.
pub(super) fn openmp(r: &mut Reader) {
    let Some(mut scan) = r.scan("CUPTI_ACTIVITY_KIND_OPENMP") else { return };
    let [start, end, kind] = ["start", "end", "eventKind"].map(|name| scan.col(name));
    let [process, thread] = ["cuProcessId", "cuThreadId"].map(|name| scan.col(name));
    let tally = scan.run(|row| {
        let Some(start_ns) = row.int(start) else { return false };
        let process = r.process(row.id(process));
        let region = OpenmpRow {
            start_ns,
            duration_ns: duration(start_ns, row.int(end)),
            kind: row.id_or_0(kind),
            tid: row.id_or_0(thread),
        };
        r.sink.push(process, region);
        true
    });
    r.close(tally);
}
