//! The terminal.

use std::os::fd::AsRawFd as _;

/// Characters in a line of the terminal that the standard output goes to; `None` if it goes elsewhere.
pub fn columns() -> Option<usize> {
    let mut size = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: TIOCGWINSZ writes a `winsize`, to which the pointer is valid.
    let outcome = unsafe { libc::ioctl(libc::STDOUT_FILENO, libc::TIOCGWINSZ, &raw mut size) };
    (outcome == 0 && size.ws_col > 0).then_some(usize::from(size.ws_col))
}

/// Whether we are in the foreground of a terminal, so that a shell waits for us.
pub fn is_in_foreground() -> bool {
    let Ok(terminal) = std::fs::File::open("/dev/tty") else { return false };
    // SAFETY: plain numbers, of an open descriptor.
    unsafe { libc::tcgetpgrp(terminal.as_raw_fd()) == libc::getpgrp() }
}
