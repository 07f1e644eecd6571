//! Text for people and machines from typed tables.

pub mod digits;
pub mod document;
pub mod many_lines;
pub mod table;
pub mod terminal;
pub mod terminal_text;
