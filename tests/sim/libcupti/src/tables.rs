//! The tables of `cupti-shim/cupti-sys/tables`: strides of every package, names of callbacks.

use crate::settings::forever;
use std::ffi::c_char;
use std::sync::OnceLock;

const STRIDES: &str = include_str!("../../../../cupti-shim/cupti-sys/tables/strides_all_packages.csv");
const CALLBACKS: &str = include_str!("../../../../cupti-shim/cupti-sys/tables/cbids.csv");

pub fn strides(package: &str) -> [u16; 128] {
    let mut strides = [0; 128];
    let mut lines = STRIDES.lines();
    let kinds: Vec<usize> =
        lines.next().unwrap_or_default().split(',').skip(1).filter_map(|kind| kind.parse().ok()).collect();
    for line in lines {
        let mut fields = line.split(',');
        if fields.next() != Some(package) {
            continue;
        }
        for (kind, bytes) in kinds.iter().zip(fields) {
            if let Some(stride) = strides.get_mut(*kind) {
                *stride = bytes.parse().unwrap_or(0);
            }
        }
    }
    strides
}

/// 12.10 must not come before 12.9: toolkits as numbers.
fn toolkit(text: &str) -> u32 {
    let (major, minor) = text.trim().split_once('.').unwrap_or((text, "0"));
    major.parse::<u32>().unwrap_or(0) * 100 + minor.parse::<u32>().unwrap_or(0)
}

/// Names by domain (driver, runtime) and callback id, as this version spells them; null where it has none.
fn names() -> &'static [Vec<usize>; 2] {
    static NAMES: OnceLock<[Vec<usize>; 2]> = OnceLock::new();
    NAMES.get_or_init(|| {
        let own = crate::version::version().toolkit;
        let mut names = [Vec::new(), Vec::new()];
        for list in &mut names {
            list.push(forever("INVALID") as usize);
        }
        for line in CALLBACKS.lines().skip(1) {
            let fields: Vec<&str> = line.splitn(5, ',').collect();
            let [domain, cbid, first, latest, changes] = fields[..] else { continue };
            let list = &mut names[(domain == "runtime") as usize];
            let Ok(cbid) = cbid.parse::<usize>() else { continue };
            if toolkit(first) > own {
                continue;
            }
            // `12.2:cudaMemAdvise_v2_v12020; 13.0:cudaMemAdvise_v12020`
            let mut name = latest;
            for change in changes.trim_matches('"').split(';') {
                if let Some((from, other)) = change.trim().split_once(':')
                    && toolkit(from) <= own
                {
                    name = other;
                }
            }
            list.resize(list.len().max(cbid + 1), 0);
            list[cbid] = forever(name.trim()) as usize;
        }
        names
    })
}

/// The name of a callback; null if there is none. `domain` 1 driver, 2 runtime.
pub fn callback_name(domain: u32, cbid: u32) -> *const c_char {
    let list = match domain {
        1 => &names()[0],
        2 => &names()[1],
        _ => return std::ptr::null(),
    };
    list.get(cbid as usize).copied().unwrap_or(0) as *const c_char
}

/// Result codes and their names.
const RESULTS: &[(i32, &std::ffi::CStr)] = &[
    (0, c"CUPTI_SUCCESS"),
    (1, c"CUPTI_ERROR_INVALID_PARAMETER"),
    (2, c"CUPTI_ERROR_INVALID_DEVICE"),
    (3, c"CUPTI_ERROR_INVALID_CONTEXT"),
    (7, c"CUPTI_ERROR_INVALID_OPERATION"),
    (8, c"CUPTI_ERROR_OUT_OF_MEMORY"),
    (9, c"CUPTI_ERROR_HARDWARE"),
    (10, c"CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT"),
    (11, c"CUPTI_ERROR_API_NOT_IMPLEMENTED"),
    (12, c"CUPTI_ERROR_MAX_LIMIT_REACHED"),
    (13, c"CUPTI_ERROR_NOT_READY"),
    (14, c"CUPTI_ERROR_NOT_COMPATIBLE"),
    (15, c"CUPTI_ERROR_NOT_INITIALIZED"),
    (18, c"CUPTI_ERROR_QUEUE_EMPTY"),
    (19, c"CUPTI_ERROR_INVALID_HANDLE"),
    (20, c"CUPTI_ERROR_INVALID_STREAM"),
    (21, c"CUPTI_ERROR_INVALID_KIND"),
    (26, c"CUPTI_ERROR_HARDWARE_BUSY"),
    (27, c"CUPTI_ERROR_NOT_SUPPORTED"),
    (28, c"CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED"),
    (35, c"CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"),
    (36, c"CUPTI_ERROR_OLD_PROFILER_API_INITIALIZED"),
    (38, c"CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED"),
    (39, c"CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"),
    (40, c"CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES"),
    (41, c"CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED"),
    (999, c"CUPTI_ERROR_UNKNOWN"),
];

pub fn result_name(code: i32) -> Option<&'static std::ffi::CStr> {
    RESULTS.iter().find(|(known, _)| *known == code).map(|(_, name)| *name)
}
