//! Calls of the CUDA API. The database holds numbers of callbacks, not names: see [`crate::cupti`].

use super::{Reader, duration};
use crate::cupti;
use hashbrown::HashMap;
use trace_format::tables::ApiRow;
use trace_format::vocabulary::api_domain;

/// What nvprof calls callback 0.
const INVALID: &[u8] = b"INVALID";

/// Reads the calls of both APIs.
pub(super) fn read(r: &mut Reader) {
    let mut unknown = 0u64;
    let own_names = super::gpuprof_tables::call_names(r);
    for (table, domain) in
        [("CUPTI_ACTIVITY_KIND_RUNTIME", api_domain::RUNTIME), ("CUPTI_ACTIVITY_KIND_DRIVER", api_domain::DRIVER)]
    {
        let Some(mut scan) = r.scan(table) else { continue };
        let [cbid, start, end, process, thread] =
            ["cbid", "start", "end", "processId", "threadId"].map(|name| scan.col(name));
        let full = r.full();
        let [correlation, result] = ["correlationId", "returnValue"].map(|name| scan.col_if(full, name));
        let mut names: HashMap<u32, u32> = HashMap::new();
        let mut last = None;
        let tally = scan.run(|row| {
            let (Some(cbid), Some(start_ns)) = (row.id(cbid), row.int(start)) else { return false };
            let pid = row.id(process);
            let process = match last {
                Some((last_pid, process)) if last_pid == pid => process,
                _ => r.process(pid),
            };
            last = Some((pid, process));
            let known = || cupti::api_name_before_13(domain, cbid).map(str::as_bytes);
            let own_name = || own_names.get(&(domain, cbid)).map(Vec::as_slice);
            let name_id = *names.entry(cbid).or_insert_with(|| match own_name().or_else(known) {
                // nvprof ended before CUDA 13.
                Some(name) => r.sink.name(name),
                None if cbid == 0 => r.sink.name(INVALID),
                None => {
                    unknown += 1;
                    let domain = if domain == api_domain::RUNTIME { "runtime" } else { "driver" };
                    r.sink.name(format!("{domain}_cbid_{cbid}").as_bytes())
                }
            });
            let call = ApiRow {
                start_ns,
                duration_ns: duration(start_ns, row.int(end)),
                domain,
                cbid,
                name_id,
                // nvprof stores the low 32 bits of a pthread id, signed.
                tid: row.id_or_0(thread),
                correlation: u64::from(row.id_or_0(correlation)),
                result: row.id(result),
            };
            r.sink.push(process, call);
            true
        });
        r.close(tally);
    }
    if unknown > 0 {
        let path = r.path.display();
        r.sink.note(
            "unknown-calls",
            format!("{path}: {unknown} API functions are newer than this gpuprof and are shown by number"),
        );
    }
}
