//! SQL over traces: the tables of the format and ready views, answered by an engine of our own (decision 016).
//!
//! A [`source::Source`] is anything with a name after `FROM`: every table of the format ([`tables`]), every ready
//! view ([`views::VIEWS`]) and every view of `report` (`report_views`). [`session::Session`] opens traces and runs
//! statements: [`lexer`] cuts them, [`refuse`] stops what would write or read files, `headings` names what is
//! computed, [`engine`] runs them over the columns that
//! `scan` reads, [`output`] writes the answer. [`arrow`] writes it as an Arrow file, piece by piece where the
//! statement is [`plain`]. [`explain`] says what is wrong with a query, `describe` how one would be
//! answered. `docs/schema.md` ([`schema_md`]) is made from the same registry, and `docs/query.md` says what of SQL works
//! ([`support`]).

pub(crate) mod arrow;
mod convert;
mod describe;
pub(crate) mod engine;
pub mod explain;
mod headings;
pub mod lexer;
mod names;
pub(crate) mod output;
mod plain;
pub(crate) mod refuse;
mod report_views;
mod scan;
pub mod schema_md;
pub mod session;
pub mod source;
pub mod support;
pub(crate) mod tables;
pub(crate) mod views;
