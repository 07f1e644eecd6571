//! What can be wrong with a query, before it is put into words for people ([`crate::query::explain`]).

use super::column::SqlType;
use crate::error::Error;

/// What is wrong with a query.
#[derive(Clone, Debug)]
pub enum Problem {
    /// The text is not SQL: what the parser says.
    Syntax(String),
    /// The query is nested too deeply.
    Depth,
    /// No table or view has this name.
    UnknownTable(String),
    /// No table of the query has this column.
    UnknownColumn(String),
    /// Several tables of the query have this column: the column, and two of the tables.
    Ambiguous(String, String, String),
    /// No function has this name.
    UnknownFunction(String),
    /// SQL has this and gpuprof does not.
    Unsupported(String),
    /// A result beyond 64 bits: of what.
    TooLarge(String),
    /// A part of a file that cannot be read.
    Read(Box<Error>),
    /// Anything else, as a sentence.
    Wrong(String),
}

/// A value, or what is wrong.
pub type Result<T> = std::result::Result<T, Problem>;

impl Problem {
    /// A value of another kind than the one that is needed.
    pub fn kind(needed: &str, got: SqlType) -> Problem {
        Problem::Wrong(format!("{needed} is needed where the query has {}", with_article(got)))
    }

    /// Text where the same column has numbers.
    pub fn mixed(one: SqlType, other: SqlType) -> Problem {
        Problem::Wrong(format!("{} and {} cannot stand in one column; CAST one of them", one.word(), other.word()))
    }

    /// Fails with [`Problem::Wrong`].
    pub fn wrong<T>(sentence: impl Into<String>) -> Result<T> {
        Err(Problem::Wrong(sentence.into()))
    }

    /// Fails with [`Problem::Unsupported`].
    pub fn unsupported<T>(what: impl Into<String>) -> Result<T> {
        Err(Problem::Unsupported(what.into()))
    }
}

fn with_article(kind: SqlType) -> String {
    match kind {
        SqlType::Null | SqlType::Text => kind.word().to_owned(),
        SqlType::Int | SqlType::Id | SqlType::Id64 => format!("an {}", kind.word()),
        SqlType::Bool | SqlType::Float => format!("a {}", kind.word()),
    }
}
