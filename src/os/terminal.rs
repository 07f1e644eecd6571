//! The terminal.

use rustix::process::getpgrp;
use rustix::termios::{tcgetpgrp, tcgetwinsize};

/// Characters in a line of the terminal that the standard output goes to; `None` if it goes elsewhere.
pub fn columns() -> Option<usize> {
    let columns = tcgetwinsize(std::io::stdout()).ok()?.ws_col;
    (columns > 0).then_some(usize::from(columns))
}

/// Lines of the terminal that the standard output goes to; `None` if it goes elsewhere.
pub fn rows() -> Option<usize> {
    let rows = tcgetwinsize(std::io::stdout()).ok()?.ws_row;
    (rows > 0).then_some(usize::from(rows))
}

/// Whether we are in the foreground of a terminal, so that a shell waits for us.
pub fn is_in_foreground() -> bool {
    let Ok(terminal) = std::fs::File::open("/dev/tty") else { return false };
    tcgetpgrp(terminal).is_ok_and(|group| group == getpgrp())
}
