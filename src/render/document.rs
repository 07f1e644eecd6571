//! What a command answers: some tables, and what is partial about them.

use super::table::{Format, Table};
use crate::note::Note;
use serde_json::json;
use std::io::{self, Write};

/// Tables and notes.
#[derive(Default)]
pub struct Document {
    /// What is partial. Text formats leave it to stderr; JSON carries it in `notes`.
    pub notes: Vec<Note>,
    /// The tables.
    pub tables: Vec<Table>,
    /// Whether long text in [`Format::Table`] is cut, so that a row has room on a terminal.
    pub cut: bool,
}

impl Document {
    /// Writes all tables in `format`. JSON is one object: `notes` (`code`, `text`) and `tables` (`name`, `title`,
    /// `rows`: objects by column name).
    ///
    /// # Errors
    /// Fails if `out` cannot be written to.
    pub fn write(&self, out: &mut dyn Write, format: Format) -> io::Result<()> {
        if format == Format::Json {
            let notes: Vec<_> = self.notes.iter().map(|n| json!({ "code": n.code, "text": n.text })).collect();
            let tables: Vec<_> =
                self.tables.iter().map(|t| json!({ "name": t.name, "title": t.title, "rows": t.json() })).collect();
            let document = json!({ "notes": notes, "tables": tables });
            serde_json::to_writer_pretty(&mut *out, &document)?;
            return writeln!(out);
        }
        for (i, table) in self.tables.iter().enumerate() {
            // Several tables in one stream have an empty line between them and their names above them; the text layout
            // brings both.
            if self.tables.len() > 1 && format != Format::Table {
                if i > 0 {
                    writeln!(out)?;
                }
                match format {
                    Format::Markdown => writeln!(out, "### {} ({})\n", table.title, table.name)?,
                    _ => writeln!(out, "# {}", table.name)?,
                }
            }
            match format {
                Format::Table if self.cut => table.write_cut(out)?,
                _ => table.write(out, format)?,
            }
        }
        Ok(())
    }
}
