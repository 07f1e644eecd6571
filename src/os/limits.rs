//! What the system allows this process, and how it is configured.

/// Lets no core file be written if this process crashes. Failure leaves a core file and nothing worse.
pub fn no_core_files() {
    let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: a valid pointer to a structure that is only read.
    unsafe { libc::setrlimit(libc::RLIMIT_CORE, &raw const none) };
}

/// Soft limit of a resource, e.g. `libc::RLIMIT_NOFILE`, in the resource's own unit; `None` is no limit.
pub fn soft_limit(resource: libc::__rlimit_resource_t) -> Option<u64> {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: `limit` is valid for writing.
    let result = unsafe { libc::getrlimit(resource, &raw mut limit) };
    (result == 0 && limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur)
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
