//! Text for people and machines from typed tables.

pub(crate) mod color;
pub(crate) mod digits;
pub mod document;
pub mod flame_graph;
pub(crate) mod many_lines;
pub mod schemas;
pub mod table;
pub(crate) mod terminal;
pub mod terminal_text;
