//! What the prompt knows beside SQL: `.tables`, `.schema`, `.help`, `.quit`.

use crate::query::source::{self, Source};
use std::io::{self, Write};

/// One command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Names of views and tables.
    Tables,
    /// Columns of what is named, else of everything.
    Schema(Option<String>),
    /// What can be typed.
    Help,
    /// Leave.
    Quit,
}

/// What can be typed, for completion.
pub const NAMES: [&str; 4] = [".tables", ".schema", ".help", ".quit"];

/// The command that `text` is.
pub fn find(text: &str) -> Option<Command> {
    let mut words = text.trim().trim_end_matches(';').split_whitespace();
    let command = words.next()?;
    let argument = words.next();
    Some(match command {
        ".tables" => Command::Tables,
        ".schema" => Command::Schema(argument.map(str::to_owned)),
        ".help" => Command::Help,
        ".quit" | ".exit" => Command::Quit,
        _ => return None,
    })
}

/// The command that a line at the prompt is. Where a statement begins, `exit`, `quit` and `help` are commands too: other
/// prompts know them without a dot, and no statement consists of such a word.
pub fn typed(line: &str, begins: bool) -> Option<Command> {
    let word = line.trim().trim_end_matches(';').trim_end().to_ascii_lowercase();
    match word.as_str() {
        "exit" | "quit" if begins => Some(Command::Quit),
        "help" if begins => Some(Command::Help),
        _ => find(line),
    }
}

/// What to say of a line that looks like a command and is none.
pub fn unknown(line: &str) -> Option<String> {
    let word = line.split_whitespace().next()?;
    let is_one = word.strip_prefix('.').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic()));
    let shown: String = word.chars().filter(|c| !c.is_control()).take(40).collect();
    is_one.then(|| format!("there is no command {shown}; known are {}", NAMES.join(", ")))
}

/// Writes what a command answers.
///
/// # Errors
/// Fails if `out` cannot be written to.
pub fn write(out: &mut dyn Write, command: Command) -> io::Result<()> {
    let first_line = |source: &dyn Source| source.doc().lines().next().unwrap_or_default().trim().to_owned();
    match command {
        Command::Tables => {
            for (i, (title, sources)) in source::groups().into_iter().enumerate() {
                writeln!(out, "{}{title}:", if i == 0 { "" } else { "\n" })?;
                let width = sources.iter().map(|source| source.name().len()).max().unwrap_or(0);
                for source in sources {
                    writeln!(out, "  {:<width$}  {}", source.name(), first_line(source))?;
                }
            }
            Ok(())
        }
        Command::Schema(None) => {
            for source in source::all() {
                let columns: Vec<&str> = source.columns().iter().map(|c| c.name).collect();
                writeln!(out, "{}({})", source.name(), columns.join(", "))?;
            }
            writeln!(out, "\n.schema NAME says what the columns mean")
        }
        Command::Schema(Some(name)) => {
            let Some(source) = source::find(&name) else {
                let shown: String = name.chars().filter(|c| !c.is_control()).take(80).collect();
                return writeln!(out, "there is no table or view \"{shown}\"; .tables lists all");
            };
            for line in source.doc().lines().map(str::trim).filter(|line| !line.is_empty()) {
                writeln!(out, "{line}")?;
            }
            writeln!(out)?;
            for column in source.columns() {
                let (ty, unit) = (column.ty.word(), column.unit.to_string());
                writeln!(out, "  {:<26}  {ty:<8}  {unit:<10}  {}", column.name, column.doc.trim())?;
            }
            Ok(())
        }
        Command::Help => writeln!(
            out,
            "SQL, ended by a semicolon, e.g. SELECT name, share FROM kernels_by_name LIMIT 10;
.tables          views and tables
.schema [NAME]   columns and what they mean
.quit            leave, as exit and Ctrl+D
Ctrl+C           forget what was typed
Tab completes names and keywords; the arrow keys bring back earlier queries."
        ),
        Command::Quit => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_without_a_dot_are_commands_where_a_statement_begins() {
        for leave in ["exit", "quit;", " EXIT ", ".quit", ".exit"] {
            assert_eq!(typed(leave, true), Some(Command::Quit), "{leave}");
        }
        assert_eq!(typed("help", true), Some(Command::Help));
        assert_eq!((typed("exit", false), typed(".quit", false)), (None, Some(Command::Quit)));
        assert_eq!(typed("SELECT 1", true), None);
    }

    #[test]
    fn a_mistyped_command_is_named() {
        let said = unknown(".tabels").expect("it is none");
        assert!(said.contains(".tabels") && said.contains(".tables"), "{said}");
        assert_eq!((unknown(".5"), unknown("SELECT 1"), unknown("")), (None, None, None));
    }
}
