//! The socket of this process: where it is put, and how it goes.

use std::ffi::CString;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use shim_config::control::{self, Folder, Refusal, RuntimeDir, SocketName};
use shim_config::find::own_proc;

use super::socket::Socket;
use crate::output::{LOWEST_FD, away_from_the_program};
use crate::session::Session;
use crate::sys;

/// Connections that wait until the thread has time for them.
const BACKLOG: i32 = 64;

/// Descriptors that are used at a time, with some to spare.
const MOST_FDS: libc::rlim_t = 32;

/// What is added to the name of a socket that does not listen yet.
const EARLY: &str = ".new";

/// A socket that listens.
pub(super) struct Endpoint {
    pub(super) listener: Listener,
    pub(super) bound: Bound,
}

/// The listening end.
#[derive(Debug)]
pub(super) struct Listener {
    pub(super) socket: Socket,
    sandbox: i32,
}

impl Listener {
    /// Whether this thread may do today what it could do when the socket was made.
    pub(super) fn may_serve(&self) -> bool {
        sandbox() == self.sandbox
    }
}

/// The name of a socket in the file system.
pub(super) struct Bound {
    path: CString,
    sandbox: i32,
}

impl Bound {
    /// Removes the name, unless the caller is in a sandbox that was not there when it was made: that may kill for it.
    pub(super) fn remove(&self) {
        if sandbox() == self.sandbox {
            // SAFETY: a terminated path. The name has 64 random bits: it is ours.
            unsafe { libc::unlink(self.path.as_ptr()) };
        }
    }
}

/// Why there is no socket.
#[derive(Debug)]
pub(super) struct Trouble {
    pub(super) text: String,
    /// Whether the user should see it even if he did not ask for control.
    pub(super) is_worth_a_line: bool,
}

/// Makes the socket. `Ok(None)`: it is switched off.
///
/// Errors: no folder serves.
pub(super) fn open(session: &Session) -> Result<Option<Endpoint>, Trouble> {
    // SAFETY: cannot fail.
    let uid = unsafe { libc::geteuid() };
    let chosen = &session.settings.runtime_dir;
    let folders = chosen.folders(session.loaded.var(b"XDG_RUNTIME_DIR").as_deref(), uid);
    let mut reasons = Vec::new();
    let mut is_worth_a_line = matches!(chosen, RuntimeDir::Folder(_));
    for folder in &folders {
        let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.clone());
        match open_in(&folder, uid) {
            Ok(endpoint) => return Ok(Some(endpoint)),
            Err(Obstacle::Refused(refusal)) => {
                is_worth_a_line |= refusal.is_suspicious();
                reasons.push(format!("{} {refusal}", folder.display()));
            }
            // The program has room for so few that it needs them all: not a word about it.
            Err(Obstacle::NoDescriptor) => {
                is_worth_a_line = false;
                reasons.push("the limit of open files (ulimit -n) is too low".to_owned());
            }
        }
    }
    if folders.is_empty() {
        return Ok(None);
    }
    let text = format!(
        "no control socket: {}; `gpuprof ctl` does not reach this process; name a folder of your own with \
         GPUPROF_RUNTIME_DIR, or off",
        reasons.join("; ")
    );
    Err(Trouble { text, is_worth_a_line })
}

enum Obstacle {
    Refused(Refusal),
    NoDescriptor,
}

impl Obstacle {
    fn last_os_error() -> Obstacle {
        Obstacle::Refused(Refusal::Cannot(std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)))
    }
}

fn open_in(path: &Path, uid: u32) -> Result<Endpoint, Obstacle> {
    if !has_room() {
        return Err(Obstacle::NoDescriptor);
    }
    let folder = Folder::open_or_make(path, uid).map_err(Obstacle::Refused)?;
    let folder = folder.with_fd(away_from_the_program);
    if folder.fd() < LOWEST_FD {
        return Err(Obstacle::NoDescriptor);
    }
    let name = own_name();
    remove_leftovers(&folder, name);
    let name = name.to_string();
    // The socket gets its own name only when it listens. Whoever finds a socket that does not listen concludes that its
    // process has ended.
    let early = format!("{name}{EARLY}");
    let own_proc = own_proc("");
    let address = control::address(path, &early, &own_proc, folder.fd());
    let address = address.ok_or(Obstacle::Refused(Refusal::Cannot(libc::ENAMETOOLONG)))?;
    let socket = Socket::stream().ok_or(Obstacle::NoDescriptor)?;
    bind(&socket, &address)?;
    let full = CString::new(path.join(&name).as_os_str().as_bytes());
    let full = full.map_err(|_| Obstacle::Refused(Refusal::Cannot(libc::EINVAL)))?;
    let bound = Bound { path: full, sandbox: sandbox() };
    // SAFETY: takes numbers only.
    let listens = unsafe { libc::listen(socket.fd(), BACKLOG) } == 0;
    if !listens || !folder.rename(&early, &name) {
        let error = Obstacle::last_os_error();
        folder.remove(&early);
        return Err(error);
    }
    Ok(Endpoint { listener: Listener { socket, sandbox: sandbox() }, bound })
}

/// Whether descriptors above the program's own can be had.
fn has_room() -> bool {
    let mut limit = MaybeUninit::<libc::rlimit>::zeroed();
    // SAFETY: `limit` is writable; all zeros is a valid value of it.
    let limit = unsafe {
        libc::getrlimit(libc::RLIMIT_NOFILE, limit.as_mut_ptr());
        limit.assume_init()
    };
    limit.rlim_cur > LOWEST_FD as libc::rlim_t + MOST_FDS
}

fn own_name() -> SocketName {
    let namespace = std::fs::read_link(own_proc("ns/pid")).ok();
    let pid_namespace = namespace.and_then(|link| control::namespace_inode(link.as_os_str().as_bytes()));
    let random = trace_format::header::random_id();
    let random = random.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    SocketName { pid: sys::getpid(), pid_namespace: pid_namespace.unwrap_or(0), random }
}

/// Removes sockets of earlier processes that had our pid, or of what this process was before `exec`.
fn remove_leftovers(folder: &Folder, own: SocketName) {
    for file in folder.names() {
        let Some(name) = SocketName::parse(file.strip_suffix(EARLY.as_bytes()).unwrap_or(&file)) else { continue };
        // Where the namespace cannot be read nothing tells a stranger's pid from ours.
        if name.pid == own.pid && name.pid_namespace == own.pid_namespace && own.pid_namespace != 0 {
            folder.remove(&String::from_utf8_lossy(&file));
        }
    }
}

fn bind(socket: &Socket, path: &Path) -> Result<(), Obstacle> {
    let mut address = MaybeUninit::<libc::sockaddr_un>::zeroed();
    let bytes = path.as_os_str().as_bytes();
    // SAFETY: all zeros is a valid address; what is written into it is checked to fit, with a zero behind it.
    unsafe {
        let address = address.assume_init_mut();
        address.sun_family = libc::AF_UNIX as libc::sa_family_t;
        if bytes.len() >= address.sun_path.len() {
            return Err(Obstacle::Refused(Refusal::Cannot(libc::ENAMETOOLONG)));
        }
        for (to, from) in address.sun_path.iter_mut().zip(bytes) {
            *to = *from as libc::c_char;
        }
    }
    let length = size_of::<libc::sockaddr_un>() as libc::socklen_t;
    // The file gets the mode of the socket: at no moment may anybody else connect.
    // SAFETY: a whole address of the length said.
    let rc = unsafe {
        libc::fchmod(socket.fd(), 0o600);
        libc::bind(socket.fd(), address.as_ptr().cast(), length)
    };
    if rc == 0 { Ok(()) } else { Err(Obstacle::last_os_error()) }
}

/// Whether this thread runs under a seccomp filter. -1: the kernel knows none.
fn sandbox() -> i32 {
    // SAFETY: takes numbers only.
    unsafe { libc::prctl(libc::PR_GET_SECCOMP) }
}
