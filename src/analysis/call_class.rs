//! What CUDA calls do, as far as it matters for why a GPU has nothing to do.

use crate::cupti::strip_version;
use crate::trace::frames::Frames;

/// What a call of the CUDA API does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CallClass {
    /// It launches kernels or graphs and returns at once.
    Launch,
    /// It copies or fills, and returns when that is done or staged.
    BlockingCopy,
    /// It puts a copy or fill into a stream.
    AsyncCopy,
    /// It waits for work: for a device, a stream or an event.
    Synchronization,
    /// It allocates or releases memory, other than in the order of a stream.
    Allocation,
    /// It loads or links code.
    Module,
    /// Anything else.
    Other,
}

/// Calls that return when work is done.
pub const WAITING: [&str; 9] = [
    "cudaDeviceSynchronize",
    "cudaThreadSynchronize",
    "cudaStreamSynchronize",
    "cudaEventSynchronize",
    "cuCtxSynchronize",
    "cuStreamSynchronize",
    "cuEventSynchronize",
    "hipDeviceSynchronize",
    "hipStreamSynchronize",
];

/// Beginnings of calls that allocate or release. Those for the order of a stream end in `Async`.
pub const ALLOCATING: [&str; 14] = [
    "cudaMalloc",
    "cudaFree",
    "cudaHostAlloc",
    "cudaHostRegister",
    "cudaHostUnregister",
    "cuMemAlloc",
    "cuMemFree",
    "cuMemHostAlloc",
    "cuMemHostRegister",
    "cuMemHostUnregister",
    "cuMemCreate",
    "cuMemMap",
    "cuMemUnmap",
    "cuMemRelease",
];

/// Beginnings of calls that load, link or look up code.
pub const LOADING: [&str; 8] = [
    "cuModuleLoad",
    "cuModuleGetFunction",
    "cuModuleUnload",
    "cuLibraryLoad",
    "cuLibraryGetKernel",
    "cuLink",
    "cudaLibraryLoad",
    "cuKernelGetFunction",
];

/// Copies from the host up to this size return before they are done, through whichever call.
pub const STAGED_BYTES: i64 = 64 * 1024;

impl CallClass {
    /// The class of a call by its name, with or without the version of its entry point.
    pub fn of(name: &str) -> CallClass {
        let name = strip_version(name);
        let begins = |list: &[&str]| list.iter().any(|beginning| name.starts_with(beginning));
        if WAITING.contains(&name) {
            CallClass::Synchronization
        } else if name.contains("Memcpy") || name.contains("Memset") {
            if name.contains("Async") { CallClass::AsyncCopy } else { CallClass::BlockingCopy }
        } else if name.contains("Launch") && !name.contains("HostFunc") {
            CallClass::Launch
        } else if begins(&ALLOCATING) && !name.contains("Async") {
            CallClass::Allocation
        } else if begins(&LOADING) {
            CallClass::Module
        } else {
            CallClass::Other
        }
    }
}

/// The classes of the calls of open traces, by the id of their name: each name is judged once.
pub struct CallClasses<'a> {
    frames: &'a Frames,
    known: Vec<Option<CallClass>>,
}

impl<'a> CallClasses<'a> {
    /// None judged yet.
    pub fn new(frames: &'a Frames) -> Self {
        CallClasses { frames, known: vec![None; frames.names.len()] }
    }

    /// The class of the calls of this name.
    #[inline]
    pub fn of(&mut self, name: u32) -> CallClass {
        match self.known.get(name as usize) {
            Some(Some(class)) => *class,
            Some(None) => {
                let class = CallClass::of(&self.frames.names.text(name));
                self.known[name as usize] = Some(class);
                class
            }
            None => CallClass::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_every_api_are_told_apart() {
        for (name, class) in [
            ("cudaLaunchKernel_v7000", CallClass::Launch),
            ("cuLaunchKernelEx", CallClass::Launch),
            ("cudaGraphLaunch_v10000", CallClass::Launch),
            ("cudaLaunchHostFunc_v10000", CallClass::Other),
            ("cudaMemcpy_v3020", CallClass::BlockingCopy),
            ("cuMemcpyHtoD_v2", CallClass::BlockingCopy),
            ("cudaMemcpyAsync_v3020", CallClass::AsyncCopy),
            ("cudaMemsetAsync_ptsz_v7000", CallClass::AsyncCopy),
            ("cudaDeviceSynchronize_v3020", CallClass::Synchronization),
            ("cudaStreamWaitEvent_v3020", CallClass::Other),
            ("cudaEventSynchronize_v3020", CallClass::Synchronization),
            ("cudaMalloc_v3020", CallClass::Allocation),
            ("cudaFreeHost_v3020", CallClass::Allocation),
            ("cudaMallocAsync_v11020", CallClass::Other),
            ("cudaFreeAsync_v11020", CallClass::Other),
            ("cuModuleLoadDataEx", CallClass::Module),
            ("cuLibraryLoadData", CallClass::Module),
            ("cudaGetDevice_v3020", CallClass::Other),
            ("", CallClass::Other),
        ] {
            assert_eq!(CallClass::of(name), class, "{name}");
        }
    }
}
