//! The text of a statement as a tree, made by sqlparser.

use super::problem::{Problem, Result};
use sqlparser::ast::{Query, Statement};
use sqlparser::dialect::GenericDialect;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, Tokenizer};

/// Longest statement, in tokens: a chain of that many additions is as deep a tree, and all that walks it takes stack
/// ([`super::on_deep_stack`]).
const MOST_TOKENS: usize = 50_000;

/// A statement that can be answered.
pub enum Asked {
    /// Rows.
    Rows(Box<Query>),
    /// How a query would be answered.
    Plan(Box<Query>),
    /// What tables there are.
    Tables,
}

/// The tree of one statement.
///
/// # Errors
/// Fails if the text is not SQL, or is not a question.
pub fn statement(text: &str) -> Result<Asked> {
    let tokens = Tokenizer::new(&GenericDialect, text)
        .tokenize_with_location()
        .map_err(|e| Problem::Syntax(e.to_string()))?;
    if tokens.iter().filter(|token| !matches!(token.token, Token::Whitespace(_))).count() > MOST_TOKENS {
        return Err(Problem::Depth);
    }
    let mut parser = Parser::new(&GenericDialect).with_tokens_with_locations(tokens);
    let mut statements = parser.parse_statements().map_err(problem)?;
    if statements.len() > 1 {
        return Problem::wrong("one statement at a time");
    }
    match statements.pop() {
        Some(Statement::Query(query)) => Ok(Asked::Rows(query)),
        Some(Statement::Explain { statement, .. }) => match *statement {
            Statement::Query(query) => Ok(Asked::Plan(query)),
            other => Problem::unsupported(first_word(&other.to_string())),
        },
        Some(Statement::ShowTables { .. }) => Ok(Asked::Tables),
        Some(other) => Problem::unsupported(first_word(&other.to_string())),
        None => Problem::wrong("the query is empty"),
    }
}

fn first_word(text: &str) -> String {
    text.split_whitespace().next().unwrap_or("this").to_uppercase()
}

fn problem(error: ParserError) -> Problem {
    match error {
        ParserError::RecursionLimitExceeded => Problem::Depth,
        ParserError::TokenizerError(said) | ParserError::ParserError(said) => Problem::Syntax(said),
    }
}
