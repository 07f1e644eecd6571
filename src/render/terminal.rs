//! How wide the terminal is.

use crate::os::terminal;

/// Characters in a line of the terminal that the standard output goes to; `None` if it goes elsewhere. `COLUMNS`, if
/// it is exported, is believed first.
pub fn terminal_width() -> Option<usize> {
    let wished = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    wished.filter(|&width| width > 0).or_else(terminal::columns)
}
