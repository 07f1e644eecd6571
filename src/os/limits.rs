//! What the system allows this process, and how it is configured.

pub use rustix::process::Resource;
use rustix::process::{Rlimit, getrlimit, setrlimit};

/// Lets no core file be written if this process crashes. Failure leaves a core file and nothing worse.
pub fn no_core_files() {
    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
}

/// Soft limit of a resource, in the resource's own unit; `None` is no limit.
pub fn soft_limit(resource: Resource) -> Option<u64> {
    getrlimit(resource).current
}

/// Bytes of a page of memory.
pub fn page_bytes() -> u64 {
    configuration(libc::_SC_PAGESIZE).unwrap_or(4096)
}

/// Ticks of a second in the times of `/proc/PID/stat`; never 0.
pub fn ticks_per_second() -> u64 {
    configuration(libc::_SC_CLK_TCK).unwrap_or(100)
}

fn configuration(key: libc::c_int) -> Option<u64> {
    // SAFETY: a plain number; an unknown one is an answer.
    u64::try_from(unsafe { libc::sysconf(key) }).ok().filter(|value| *value > 0)
}

/// The version of the C library, such as `2.36`.
pub fn c_library_version() -> Option<String> {
    #[cfg(target_env = "gnu")]
    {
        // SAFETY: no argument; the text is static.
        let text = unsafe { std::ffi::CStr::from_ptr(libc::gnu_get_libc_version()) };
        Some(text.to_string_lossy().into_owned())
    }
    #[cfg(not(target_env = "gnu"))]
    None
}
