//! How this process found itself, before Rust's runtime tidied up: it ignores SIGPIPE and opens `/dev/null` in place
//! of closed standard descriptors. The program must start with what we were started with.
#![allow(unsafe_code, reason = "system calls that std does not offer, before std is ready")]

use crate::os::signals;
use std::ffi::{CStr, c_char, c_int};
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

static SIGPIPE_WAS_IGNORED: AtomicBool = AtomicBool::new(false);
static WAS_CLOSED: [AtomicBool; 3] = [const { AtomicBool::new(false) }; 3];
static ARGUMENTS: AtomicPtr<*mut c_char> = AtomicPtr::new(std::ptr::null_mut());

/// Runs before `main`; glibc gives such functions main's arguments.
#[used]
#[unsafe(link_section = ".init_array")]
static REMEMBER: extern "C" fn(c_int, *mut *mut c_char) = remember;

extern "C" fn remember(_count: c_int, arguments: *mut *mut c_char) {
    ARGUMENTS.store(arguments, Ordering::Relaxed);
    for (descriptor, was_closed) in (0..).zip(&WAS_CLOSED) {
        // SAFETY: F_GETFD takes no pointer; an unknown descriptor is an answer.
        was_closed.store(unsafe { libc::fcntl(descriptor, libc::F_GETFD) } == -1, Ordering::Relaxed);
    }
    SIGPIPE_WAS_IGNORED.store(signals::is_ignored(libc::SIGPIPE), Ordering::Relaxed);
}

/// Puts back what the runtime changed. Only for the child that is about to become the program: plain system calls.
pub(super) fn restore() {
    if !SIGPIPE_WAS_IGNORED.load(Ordering::Relaxed) {
        signals::act_by_default(libc::SIGPIPE);
    }
    for (descriptor, was_closed) in (0..).zip(&WAS_CLOSED) {
        if was_closed.load(Ordering::Relaxed) {
            // SAFETY: it is the runtime's stand-in, in a process that is about to become another program.
            unsafe { libc::close(descriptor) };
        }
    }
}

/// Writes `name` over the arguments that `ps` and `pkill -f` show of this process, and cuts off the rest.
pub(super) fn rename(name: &CStr) {
    let arguments = ARGUMENTS.load(Ordering::Relaxed);
    if arguments.is_null() {
        return;
    }
    // SAFETY: main's arguments live as long as the process, are writable, and end with a null pointer; each is a C
    // string that is overwritten within its own length. Only the witness calls this, which has no other thread and
    // reads no argument.
    unsafe {
        let mut name = name.to_bytes().iter();
        for i in 0.. {
            let mut letter = *arguments.add(i);
            if letter.is_null() {
                return;
            }
            while *letter != 0 {
                // A `char` of C is signed on some processors and not on others.
                *letter.cast::<u8>() = name.next().copied().unwrap_or(0);
                letter = letter.add(1);
            }
        }
    }
}
