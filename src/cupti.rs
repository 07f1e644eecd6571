//! What CUPTI's numbers mean. Recordings hold numbers; these tables turn them into words wherever a report needs
//! them, for our own traces and for other tools' alike.

pub(crate) mod cbid;
pub(crate) mod environment;
pub(crate) mod operation;
pub(crate) mod unified;

use trace_format::vocabulary::api_domain::{DRIVER, RUNTIME};

/// The raw name of a callback id with its version suffix, e.g. `cudaLaunchKernel_v7000`; `None` for a number that is
/// newer than the table.
pub fn api_name(domain: u32, cbid: u32) -> Option<&'static str> {
    let table = match domain {
        RUNTIME => cbid::RUNTIME,
        DRIVER => cbid::DRIVER,
        _ => return None,
    };
    table.get(cbid as usize).copied().filter(|name| !name.is_empty())
}

/// As [`api_name`], for a recording made with a CUDA older than 13.0, which renamed some functions.
pub fn api_name_before_13(domain: u32, cbid: u32) -> Option<&'static str> {
    let old = cbid::RUNTIME_BEFORE_13.binary_search_by_key(&cbid, |&(id, _)| id).ok();
    match old.filter(|_| domain == RUNTIME) {
        Some(at) => Some(cbid::RUNTIME_BEFORE_13[at].1),
        None => api_name(domain, cbid),
    }
}

/// The name that programs call: without the version of the entry point and without the per-thread stream variant.
///
/// Runtime names end in the toolkit version (`cudaStreamGetCaptureInfo_v2_ptsz_v11030`), and a `_v2` before that
/// belongs to the name. Driver names end in `_v2`, in `_ptsz` or in both, in either order; programs write neither.
pub fn strip_version(name: &str) -> &str {
    if let Some(stem) = without_number(name, 4) {
        return without_variant(stem);
    }
    let stem = without_variant(name);
    if name.starts_with("cuda") {
        // Kineto writes names of the runtime without the toolkit version; what is left is the name.
        return stem;
    }
    let stem = without_number(stem, 1).unwrap_or(stem);
    without_variant(stem)
}

/// `name` without the `_v2` that tells a function from an older one of the same purpose.
pub fn strip_function_version(name: &str) -> &str {
    without_number(name, 1).unwrap_or(name)
}

/// `name` without a trailing `_v` and at least `digits` digits.
fn without_number(name: &str, digits: usize) -> Option<&str> {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    (name.len() - stem.len() >= digits).then_some(stem)?.strip_suffix("_v").filter(|stem| !stem.is_empty())
}

/// `name` without `_ptsz` (per-thread default stream) or `_ptds` (the same, synchronous).
fn without_variant(name: &str) -> &str {
    name.strip_suffix("_ptsz").or_else(|| name.strip_suffix("_ptds")).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_names_that_recordings_mean() {
        assert_eq!(api_name(RUNTIME, 31), Some("cudaMemcpy_v3020"));
        assert_eq!(api_name(RUNTIME, 211), Some("cudaLaunchKernel_v7000"));
        assert_eq!(api_name(RUNTIME, 13), Some("cudaLaunch_v3020"));
        assert_eq!(api_name(DRIVER, 243), Some("cuMemAlloc_v2"));
        // A retired number keeps its old name, a number named late has the new one.
        assert_eq!(api_name(DRIVER, 464), Some("cuNVNbufferGetPointer"));
        assert_eq!(api_name(RUNTIME, 439), Some("cudaGetKernel_v12000"));
        assert_eq!(api_name(RUNTIME, 0), None);
        assert_eq!(api_name(RUNTIME, 99_999), None);
        assert_eq!(api_name(2, 31), None);
        assert_eq!(api_name(RUNTIME, 440), Some("cudaGetDeviceProperties_v12000"));
        assert_eq!(api_name_before_13(RUNTIME, 440), Some("cudaGetDeviceProperties_v2_v12000"));
        assert_eq!(api_name_before_13(RUNTIME, 470), Some("cudaLibraryLoadData_v12060"));
        assert_eq!(api_name_before_13(DRIVER, 440), api_name(DRIVER, 440));
        assert!(cbid::RUNTIME_BEFORE_13.is_sorted_by_key(|&(id, _)| id));
    }

    #[test]
    fn versions_and_stream_variants_go_and_the_rest_of_the_name_stays() {
        for (raw, stripped) in [
            ("cudaLaunchKernel_v7000", "cudaLaunchKernel"),
            ("cudaGraphLaunch_v10000", "cudaGraphLaunch"),
            ("cudaGraphLaunch_ptsz_v10000", "cudaGraphLaunch"),
            ("cudaStreamGetCaptureInfo_v2_v11030", "cudaStreamGetCaptureInfo_v2"),
            ("cudaStreamGetCaptureInfo_v2_ptsz_v11030", "cudaStreamGetCaptureInfo_v2"),
            ("cudaStreamGetCaptureInfo_v2", "cudaStreamGetCaptureInfo_v2"),
            ("cuMemAlloc_v2", "cuMemAlloc"),
            ("cuMemcpyHtoD_v2_ptds", "cuMemcpyHtoD"),
            ("cuLaunchKernel_ptsz", "cuLaunchKernel"),
            ("cuLaunchKernel", "cuLaunchKernel"),
            ("cuMemcpy2D", "cuMemcpy2D"),
            ("runtime_cbid_9999", "runtime_cbid_9999"),
            ("_v2", "_v2"),
            ("", ""),
        ] {
            assert_eq!(strip_version(raw), stripped, "{raw}");
        }
        assert_eq!(strip_function_version("cudaStreamGetCaptureInfo_v2"), "cudaStreamGetCaptureInfo");
        assert_eq!(strip_function_version("cudaMemcpy2D"), "cudaMemcpy2D");
    }
}
