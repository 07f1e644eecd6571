//! What the prompt knows beside SQL: `.tables`, `.schema`, `.help`, `.quit`.

use crate::query::schema_md;
use crate::query::source::{self, Source};
use crate::query::views::VIEWS;
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

/// Writes what a command answers.
///
/// # Errors
/// Those of `out`.
pub fn write(out: &mut dyn Write, command: Command) -> io::Result<()> {
    let first_line = |source: &dyn Source| source.doc().lines().next().unwrap_or_default().trim().to_owned();
    match command {
        Command::Tables => {
            writeln!(out, "Views:")?;
            for (i, source) in source::all().enumerate() {
                if i == VIEWS.len() {
                    writeln!(out, "\nTables:")?;
                }
                writeln!(out, "  {:<16}  {}", source.name(), first_line(source))?;
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
                let unit = schema_md::unit(column.unit);
                writeln!(
                    out,
                    "  {:<26}  {:<8}  {:<7}  {}",
                    column.name,
                    column.ty.word(),
                    unit,
                    column.doc.trim()
                )?;
            }
            Ok(())
        }
        Command::Help => writeln!(
            out,
            "SQL, ended by a semicolon, e.g. SELECT name, share FROM kernels_by_name LIMIT 10;
.tables          views and tables
.schema [NAME]   columns and what they mean
.quit            leave, as Ctrl+D
Ctrl+C           forget what was typed
Tab completes names and keywords; the arrow keys bring back earlier queries."
        ),
        Command::Quit => Ok(()),
    }
}
