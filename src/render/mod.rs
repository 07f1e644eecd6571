//! Text for people and machines from typed tables.

pub mod digits;
pub mod document;
pub mod people;
pub mod table;
pub mod terminal;
