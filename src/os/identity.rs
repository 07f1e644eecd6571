//! Who we are, and who is at the other end of a socket.

use rustix::process::{geteuid, getgid, getuid};
use std::ffi::OsString;
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd as _;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::net::UnixStream;

/// This process's user, as the system judges it when files are opened.
pub fn effective_user() -> u32 {
    geteuid().as_raw()
}

/// The user who started this process.
pub fn real_user() -> u32 {
    getuid().as_raw()
}

/// The group of the user who started this process.
pub fn real_group() -> u32 {
    getgid().as_raw()
}

/// The name of this machine, as everything on it has it; `None` where the system does not tell.
pub fn host() -> Option<OsString> {
    let bytes = std::fs::read("/proc/sys/kernel/hostname").ok()?;
    Some(OsString::from_vec(bytes.trim_ascii().to_vec()))
}

/// What this machine has been called since it was started, and no other machine or start is; `None` where the system does
/// not tell.
pub fn boot_id() -> Option<String> {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(text.trim().to_owned())
}

/// The process id of who made the socket at the other end, as we see them; `None` where we do not.
pub fn peer_pid(stream: &UnixStream) -> Option<u32> {
    // Not by rustix, which takes the id for one that is never 0, and it is 0 for processes that we cannot see.
    let mut peer = MaybeUninit::<libc::ucred>::zeroed();
    let mut bytes = size_of::<libc::ucred>() as libc::socklen_t;
    let (level, what) = (libc::SOL_SOCKET, libc::SO_PEERCRED);
    // SAFETY: room for the answer, of the size said; all zeros is a valid value of it.
    let (result, peer) = unsafe {
        let result = libc::getsockopt(stream.as_raw_fd(), level, what, peer.as_mut_ptr().cast(), &mut bytes);
        (result, peer.assume_init())
    };
    u32::try_from(peer.pid).ok().filter(|pid| result == 0 && *pid != 0)
}
