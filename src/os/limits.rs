//! What the system allows this process, and how it is configured.

pub use rustix::process::Resource;
use rustix::process::{Rlimit, getrlimit, setrlimit};

/// Lets no core file be written if this process crashes. Failure leaves a core file and nothing worse.
pub fn no_core_files() {
    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
}

/// Files that are opened beside those that are meant to be: outputs, and what libraries open for a moment.
const OTHER_FILES: u64 = 64;

/// Raises the soft limit of open files so far that `files` more can be opened, if the hard limit lets it. Most systems have a soft limit of
/// 1,024 for the sake of programs that use `select`, and let everybody raise it. Where it is enough already it stays as it is, for
/// programs that are started later inherit it.
pub fn allow_open_files(files: usize) {
    let limit = getrlimit(Resource::Nofile);
    let open = std::fs::read_dir("/proc/self/fd").map_or(0, |entries| entries.count() as u64);
    let wanted = (files as u64).saturating_add(open).saturating_add(OTHER_FILES);
    if limit.current.is_some_and(|current| current < wanted) {
        let raised = limit.maximum.map_or(wanted, |maximum| maximum.min(wanted));
        // Whoever cannot open a file says so.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(raised), maximum: limit.maximum });
    }
}

/// Whether no more file can be opened because this process, or the whole system, has too many open.
pub fn has_too_many_open_files() -> bool {
    let error = std::fs::File::open("/dev/null").err().and_then(|error| error.raw_os_error());
    matches!(error, Some(libc::EMFILE | libc::ENFILE))
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
