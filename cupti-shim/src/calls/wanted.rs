//! Which calls are heard.

use std::ffi::CStr;

use cupti_sys::{CUPTI_CB_DOMAIN_DRIVER_API as DRIVER, CUPTI_CB_DOMAIN_RUNTIME_API as RUNTIME, cbid};

use crate::chatter;

/// Calls that matter, by their names without what versions and per-thread streams add; `*`: whatever follows. They put
/// work on the GPU, wait, allocate, load code or make a context: what the analyses ask for, and what may take long.
const MATTERING: &[&str] = &[
    // Launches of kernels, host functions and graphs.
    "__cudaLaunchKernel",
    "cudaLaunch*",
    "cuLaunch*",
    "cudaStreamAddCallback",
    "cuStreamAddCallback",
    "cudaGraphInstantiate*",
    "cuGraphInstantiate*",
    "cudaGraphExecUpdate",
    "cuGraphExecUpdate",
    "cudaGraphLaunch",
    "cuGraphLaunch",
    "cudaGraphUpload",
    "cuGraphUpload",
    // Copies and fills.
    "cudaMemcpy*",
    "cuMemcpy*",
    "cudaMemset*",
    "cuMemset*",
    "cudaMemPrefetch*",
    "cuMemPrefetch*",
    "cudaMemDiscard*",
    "cuMemDiscard*",
    "cuMemBatchDecompressAsync",
    // Waits, and what is waited for. No queries: whoever waits that way asks a million times.
    "cudaDeviceSynchronize",
    "cudaThreadSynchronize",
    "cudaStreamSynchronize",
    "cudaEventSynchronize",
    "cudaExecutionCtxSynchronize",
    "cuCtxSynchronize",
    "cuStreamSynchronize",
    "cuEventSynchronize",
    "cudaEventRecord*",
    "cuEventRecord*",
    "cuCtxRecordEvent",
    "cuGreenCtxRecordEvent",
    "cudaExecutionCtxRecordEvent",
    "cudaStreamWaitEvent",
    "cuStreamWaitEvent",
    "cuCtxWaitEvent",
    "cuGreenCtxWaitEvent",
    "cudaExecutionCtxWaitEvent",
    "cuStreamWaitValue*",
    "cuStreamWriteValue*",
    "cuStreamBatchMemOp",
    "cudaSignalExternalSemaphoresAsync",
    "cuSignalExternalSemaphoresAsync",
    "cudaWaitExternalSemaphoresAsync",
    "cuWaitExternalSemaphoresAsync",
    // Memory.
    "cudaMalloc*",
    "cudaFree*",
    "cudaHostAlloc",
    "cudaHostRegister",
    "cudaHostUnregister",
    "cudaMemPoolTrimTo",
    "cuMemAlloc*",
    "cuMemFree*",
    "cuMemHostAlloc",
    "cuMemHostRegister",
    "cuMemHostUnregister",
    "cuMemPoolTrimTo",
    "cuMemAddressReserve",
    "cuMemAddressFree",
    "cuMemCreate",
    "cuMemRelease",
    "cuMemMap*",
    "cuMemUnmap",
    "cuMemSetAccess",
    "cuArrayCreate",
    "cuArray3DCreate",
    "cuArrayDestroy",
    // Code.
    "cuModuleLoad*",
    "cuModuleUnload",
    "cuModuleGetFunction",
    "cuLibraryLoad*",
    "cuLibraryUnload",
    "cuLibraryGetKernel",
    "cudaLibraryLoad*",
    "cudaLibraryUnload",
    "cudaLibraryGetKernel",
    "cuLink*",
    "cuFuncLoad",
    // Contexts. Not the driver's calls for primary ones: the runtime makes these, within whatever it is called for first.
    "cudaInitDevice",
    "cudaDeviceReset",
    "cuCtxCreate",
    "cuCtxDestroy",
    "cuGreenCtxCreate",
    "cuGreenCtxDestroy",
];

/// Calls whose callbacks belong to the gate, which switches them by itself.
const OF_THE_GATE: [u32; 3] =
    [cbid::driver::PROFILER_START, cbid::driver::PROFILER_STOP, crate::session::CBID_DEVICE_GET_COUNT];

/// No API has more calls.
const MOST: u32 = 4096;
const WORDS: usize = MOST as usize / 64;

/// Where what belongs to a domain lies among two.
#[inline]
pub fn place(domain: u32) -> Option<usize> {
    match domain {
        DRIVER => Some(0),
        RUNTIME => Some(1),
        _ => None,
    }
}

/// The calls that are heard.
pub struct Wanted {
    ids: [Vec<u32>; 2],
    bits: [[u64; WORDS]; 2],
}

impl Wanted {
    /// Those of a domain.
    pub fn ids(&self, domain: u32) -> &[u32] {
        place(domain).and_then(|place| self.ids.get(place)).map_or(&[], Vec::as_slice)
    }

    /// Whether a call is one of them.
    #[inline]
    pub fn has(&self, domain: u32, cbid: u32) -> bool {
        let words = place(domain).and_then(|place| self.bits.get(place));
        words.and_then(|words| words.get(cbid as usize / 64)).is_some_and(|word| word >> (cbid % 64) & 1 != 0)
    }

    fn add(&mut self, domain: u32, cbid: u32) {
        let Some(place) = place(domain) else { return };
        let (ids, words) = (self.ids.get_mut(place), self.bits.get_mut(place));
        if let (Some(ids), Some(word)) = (ids, words.and_then(|words| words.get_mut(cbid as usize / 64))) {
            ids.push(cbid);
            *word |= 1 << (cbid % 64);
        }
    }
}

/// Chooses among the calls of `domains` that this CUPTI has a name for; beside them the names of all others, in order.
/// `whoever_fails`: not only those that matter, because a failure of any call is waited for, but all that are no questions.
pub fn choose(
    domains: &[u32],
    whoever_fails: bool,
    name_of: impl Fn(u32, u32) -> Option<&'static CStr>,
) -> (Wanted, Vec<&'static str>) {
    let mut wanted = Wanted { ids: [Vec::new(), Vec::new()], bits: [[0; WORDS]; 2] };
    let mut others = Vec::new();
    for &domain in domains {
        for id in 1..MOST {
            let Some(name) = name_of(domain, id) else { break };
            let Ok(name) = name.to_str() else { continue };
            let is_question = || chatter::CALLS.iter().any(|call| (call.0, call.1) == (domain, id));
            let is_wanted = if whoever_fails { !is_question() } else { matters(name) };
            if is_wanted && !(domain == DRIVER && OF_THE_GATE.contains(&id)) {
                wanted.add(domain, id);
            } else if !is_placeholder(name) {
                others.push(without_release(name));
            }
        }
    }
    others.sort_unstable();
    others.dedup();
    (wanted, others)
}

fn matters(name: &str) -> bool {
    let name = plain(name);
    MATTERING.iter().any(|pattern| match pattern.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => name == *pattern,
    })
}

/// A name without what versions and per-thread streams add to it.
fn plain(mut name: &str) -> &str {
    loop {
        let version = name.rfind("_v").filter(|at| is_number(name.get(at + 2..)));
        let shorter = name.strip_suffix("_ptsz").or_else(|| name.strip_suffix("_ptds"));
        match shorter.or_else(|| name.get(..version?)) {
            Some(shorter) => name = shorter,
            None => return name,
        }
    }
}

/// A runtime call's name without the release of CUDA that it came with.
fn without_release(name: &str) -> &str {
    let release = name.rfind("_v").filter(|at| name.len() >= at + 6 && is_number(name.get(at + 2..)));
    release.and_then(|at| name.get(..at)).unwrap_or(name)
}

fn is_number(text: Option<&str>) -> bool {
    text.is_some_and(|text| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()))
}

/// `cuda25`: an id that no call has.
fn is_placeholder(name: &str) -> bool {
    is_number(name.strip_prefix("cuda").or_else(|| name.strip_prefix("reserved")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers and names of all calls; `docs/hardware` and the simulator have the same table.
    const CALLBACKS: &str = include_str!("../../cupti-sys/tables/cbids.csv");

    fn names() -> impl Iterator<Item = (u32, u32, &'static str)> {
        CALLBACKS.lines().skip(1).map(|line| {
            let mut cells = line.split(',');
            let domain = if cells.next() == Some("driver") { DRIVER } else { RUNTIME };
            let id = cells.next().and_then(|id| id.parse().ok()).expect("an id");
            (domain, id, cells.nth(1).expect("a name"))
        })
    }

    /// Every call by a name that lives for ever and ends in a zero, as CUPTI gives it.
    fn name_of(domain: u32, id: u32) -> Option<&'static CStr> {
        let (_, _, name) = names().find(|(of, number, _)| (*of, *number) == (domain, id))?;
        Some(Box::leak(std::ffi::CString::new(name).expect("no zero").into_boxed_c_str()))
    }

    #[test]
    fn every_pattern_is_the_name_of_a_call() {
        let all: Vec<&str> = names().map(|(.., name)| plain(name)).collect();
        for pattern in MATTERING {
            let is_there = match pattern.strip_suffix('*') {
                Some(beginning) => all.iter().any(|name| name.starts_with(beginning)),
                None => all.contains(pattern),
            };
            assert!(is_there, "{pattern}");
        }
    }

    #[test]
    fn variants_of_a_call_are_that_call() {
        for (name, is) in [
            ("cudaLaunchKernel_ptsz_v7000", "cudaLaunchKernel"),
            ("cudaStreamGetCaptureInfo_v2_ptsz_v11030", "cudaStreamGetCaptureInfo"),
            ("cuMemcpyHtoDAsync_v2_ptsz", "cuMemcpyHtoDAsync"),
            ("cuLaunchKernel", "cuLaunchKernel"),
            ("__cudaLaunchKernel_v13000", "__cudaLaunchKernel"),
            ("cuMemcpy2D_v2", "cuMemcpy2D"),
            ("_v", "_v"),
        ] {
            assert_eq!(plain(name), is);
        }
        assert_eq!(without_release("cudaStreamIsCapturing_ptsz_v10000"), "cudaStreamIsCapturing_ptsz");
        assert_eq!(without_release("cuMemcpy2D_v2"), "cuMemcpy2D_v2");
    }

    #[test]
    fn launches_of_every_kind_are_heard_and_questions_are_not() {
        let (wanted, others) = choose(&[DRIVER, RUNTIME], false, name_of);
        for id in [211, 214, 269, 270, 311, 312, 430, 31, 41, 49, 131, 137, 165, 20, 22] {
            assert!(wanted.has(RUNTIME, id), "{id}");
        }
        for id in [115, 116, 117, 307, 442, 477, 478, 514, 515, 652, 653, 243, 245, 17, 121, 126, 276, 421] {
            assert!(wanted.has(DRIVER, id), "{id}");
        }
        for (domain, id, name) in chatter::CALLS {
            assert!(!wanted.has(*domain, *id), "{name}");
        }
        assert!(others.contains(&"cudaGetDevice") && others.contains(&"cudaStreamIsCapturing_ptsz"), "{others:?}");
        assert!(!wanted.has(RUNTIME, MOST + 211) && !wanted.has(3, 211));
        assert!(others.contains(&"cudaStreamQuery") && others.contains(&"cuProfilerStart"));
        assert!(!others.iter().any(|name| is_placeholder(name) || name.ends_with("_v3020")));
        // What is switched on and off with each window.
        let count = wanted.ids(DRIVER).len() + wanted.ids(RUNTIME).len();
        assert!((300..450).contains(&count), "{count} calls");
    }

    #[test]
    fn where_failures_are_waited_for_all_but_questions_and_the_gates_own_are_heard() {
        let (wanted, others) = choose(&[DRIVER], true, name_of);
        assert!(wanted.has(DRIVER, 3) && !wanted.has(RUNTIME, 211) && wanted.ids(RUNTIME).is_empty());
        for id in OF_THE_GATE {
            assert!(!wanted.has(DRIVER, id), "{id}");
        }
        let questions = chatter::CALLS.iter().filter(|(domain, ..)| *domain == DRIVER).count();
        assert_eq!(others.len(), questions + OF_THE_GATE.len(), "{others:?}");
    }
}
