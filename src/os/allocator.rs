//! The C library's allocator, which ours is.

/// Has freed memory stay with this process. Columns and pieces of output have megabytes each and come and go thousands of
/// times; the system clears every page that it hands out again, which is up to a tenth of what reports and exports cost.
pub fn keep_freed_memory() {
    #[cfg(target_env = "gnu")]
    {
        // How much free memory at the end of the heap stays, and from which size on a piece is mapped by itself and unmapped
        // when it is freed (glibc takes no more than this), in bytes.
        let settings = [(libc::M_TRIM_THRESHOLD, 64 << 20), (libc::M_MMAP_THRESHOLD, 32 << 20)];
        for (setting, bytes) in settings {
            // SAFETY: this sets a number of the allocator, under its own lock. What it does not accept it leaves as it was.
            unsafe { libc::mallopt(setting, bytes) };
        }
    }
}
