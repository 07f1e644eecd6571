//! SQL over traces: the tables of the format and ready views, answered by Polars.
//!
//! A [`source::Source`] is anything with a name after `FROM`: every table of the format ([`tables`]) and every ready
//! view ([`views::VIEWS`]). [`session::Session`] opens traces and runs statements: [`lexer`] cuts them, [`refuse`]
//! stops what would write or read files, `headings` names what is computed, `scan` hands Polars the columns that the plan asks for and no others,
//! `plan` makes the answer independent of threads and counts 64 bits wide, [`output`] writes it. [`explain`] turns
//! Polars' errors into sentences. `docs/schema.md` ([`schema_md`]) is made from the same registry, and `docs/query.md`
//! says what of SQL works ([`support`]).

pub mod explain;
mod headings;
pub mod lexer;
mod names;
pub mod output;
mod plan;
pub mod refuse;
mod scan;
pub mod schema_md;
pub mod session;
pub mod source;
pub mod support;
pub mod tables;
pub mod views;
