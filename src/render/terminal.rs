//! How wide the terminal is.

// One system call, on a structure of our own.
#![allow(unsafe_code, reason = "the width of a terminal is asked for by ioctl")]

/// Characters in a line of the terminal that the standard output goes to; `None` if it goes elsewhere. `COLUMNS`, if
/// it is exported, is believed first.
pub fn terminal_width() -> Option<usize> {
    let wished = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    if let Some(width) = wished.filter(|&width| width > 0) {
        return Some(width);
    }
    let mut size = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: TIOCGWINSZ writes a `winsize`, to which the pointer is valid.
    let outcome = unsafe { libc::ioctl(libc::STDOUT_FILENO, libc::TIOCGWINSZ, &raw mut size) };
    (outcome == 0 && size.ws_col > 0).then_some(usize::from(size.ws_col))
}
