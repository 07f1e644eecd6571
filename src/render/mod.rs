//! Text for people and machines from typed tables.

pub mod table;
