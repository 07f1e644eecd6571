//! Sockets that stay out of the program's way: high, closed on exec, never waited for, and no longer touched once the
//! program has given their number to something else.

use std::io;
use std::mem::MaybeUninit;

use crate::log::identity;
use crate::output::{LOWEST_FD, away_from_the_program};
use crate::sys;

/// A descriptor of ours.
#[derive(Debug)]
pub(super) struct Socket {
    fd: i32,
    identity: (u64, u64),
}

impl Socket {
    /// Takes a descriptor, and moves it up. None: there was none, or no room above the program's own.
    pub(super) fn adopt(fd: i32) -> Option<Socket> {
        if fd < 0 {
            return None;
        }
        let identity = identity(fd)?;
        let socket = Socket { fd: away_from_the_program(fd), identity };
        // A program that may have so few descriptors needs them all.
        (socket.fd >= LOWEST_FD).then_some(socket)
    }

    /// A new unconnected socket, not visible to anybody yet.
    pub(super) fn stream() -> Option<Socket> {
        let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: takes numbers only.
        Socket::adopt(unsafe { libc::socket(libc::AF_UNIX, kind, 0) })
    }

    /// Two sockets connected with each other.
    pub(super) fn pair() -> Option<(Socket, Socket)> {
        let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        let mut fds = [-1; 2];
        // SAFETY: room for two descriptors.
        if unsafe { libc::socketpair(libc::AF_UNIX, kind, 0, fds.as_mut_ptr()) } != 0 {
            return None;
        }
        let (one, other) = (Socket::adopt(fds[0]), Socket::adopt(fds[1]));
        one.zip(other)
    }

    /// The number.
    pub(super) fn fd(&self) -> i32 {
        self.fd
    }

    /// Device and inode.
    pub(super) fn identity(&self) -> (u64, u64) {
        self.identity
    }

    /// Whether the number still means this socket: programs close what they do not know.
    pub(super) fn is_ours(&self) -> bool {
        identity(self.fd) == Some(self.identity)
    }

    /// The next connection that waits.
    pub(super) fn accept(&self) -> Option<Socket> {
        let flags = libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: no address is asked for.
        Socket::adopt(unsafe { libc::accept4(self.fd, std::ptr::null_mut(), std::ptr::null_mut(), flags) })
    }

    /// The user at the other end, as of when it connected.
    pub(super) fn peer_uid(&self) -> Option<u32> {
        let mut peer = MaybeUninit::<libc::ucred>::zeroed();
        let mut bytes = size_of::<libc::ucred>() as libc::socklen_t;
        let (level, name) = (libc::SOL_SOCKET, libc::SO_PEERCRED);
        // SAFETY: room for the answer, of the size said; all zeros is a valid value of it.
        let (rc, peer) = unsafe {
            (libc::getsockopt(self.fd, level, name, peer.as_mut_ptr().cast(), &mut bytes), peer.assume_init())
        };
        (rc == 0).then_some(peer.uid)
    }

    /// Reads what is there. `Ok(0)`: the other end sends no more.
    pub(super) fn receive(&self, room: &mut [u8]) -> io::Result<usize> {
        // SAFETY: the buffer is as long as said.
        let n = unsafe { libc::recv(self.fd, room.as_mut_ptr().cast(), room.len(), libc::MSG_DONTWAIT) };
        usize::try_from(n).map_err(|_| io::Error::last_os_error())
    }

    /// Writes what fits, and raises no signal.
    pub(super) fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
        // SAFETY: the buffer is as long as said.
        let n = unsafe { libc::send(self.fd, bytes.as_ptr().cast(), bytes.len(), flags) };
        usize::try_from(n).map_err(|_| io::Error::last_os_error())
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // In a forked child it is the parent's to close.
        if sys::is_ours() && self.is_ours() {
            // SAFETY: still the descriptor that we opened.
            unsafe { libc::close(self.fd) };
        }
    }
}

/// Waits until one of the descriptors has something to tell, at most `timeout_ns`; none: for ever. False: it could not.
pub(super) fn poll(polled: &mut [libc::pollfd], timeout_ns: Option<i64>) -> bool {
    let timeout = timeout_ns.map(|ns| {
        let ns = ns.max(0);
        libc::timespec { tv_sec: ns / 1_000_000_000, tv_nsec: ns % 1_000_000_000 }
    });
    let timeout = timeout.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: the array is as long as said; the signal mask stays as it is.
    let found =
        unsafe { libc::ppoll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, timeout, std::ptr::null()) };
    if found <= 0 {
        polled.iter_mut().for_each(|p| p.revents = 0);
    }
    found >= 0 || io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_descriptor_is_high_and_one_that_the_program_took_is_left_alone() {
        assert!(sys::claim(|| true));
        let (one, other) = Socket::pair().expect("two sockets");
        assert!(one.fd() >= LOWEST_FD && other.fd() >= LOWEST_FD);
        assert_eq!(one.send(b"hello").expect("room"), 5);
        let mut room = [0; 8];
        assert_eq!(other.receive(&mut room).expect("five bytes"), 5);
        assert_eq!(other.receive(&mut room).map_err(|e| e.kind()), Err(io::ErrorKind::WouldBlock));
        // SAFETY: the null device takes the number of our socket.
        let null = unsafe {
            let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDONLY);
            assert_eq!(libc::dup2(null, other.fd()), other.fd());
            libc::close(null);
            other.fd()
        };
        assert!(!other.is_ours() && one.is_ours());
        drop(other);
        assert!(identity(null).is_some(), "it was not ours to close");
        assert_eq!(one.send(b"nobody").map_err(|e| e.raw_os_error()), Err(Some(libc::EPIPE)), "and no signal");
        // SAFETY: the test's own.
        unsafe { libc::close(null) };
    }
}
