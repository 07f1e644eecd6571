//! What a command answers: some tables, and what is partial about them.

use super::table::{Format, Table};
use crate::note::Note;
use serde_json::json;
use std::io::{self, Write};

/// What views read and the trace does not have: their answers are about the rest.
pub struct Absent {
    /// A table without rows, by the name that SQL has for it.
    pub table: &'static str,
    /// The views of this answer that read it.
    pub views: Vec<&'static str>,
}

/// Tables and notes.
pub struct Document {
    /// The form of the answer in JSON, one of [`super::schemas::SCHEMAS`].
    pub schema: &'static str,
    /// What is missing of what the answer needs; `None` for answers that need nothing in particular.
    pub absent: Option<Vec<Absent>>,
    /// What is partial. Text formats leave it to stderr; JSON carries it in `notes`.
    pub notes: Vec<Note>,
    /// The tables.
    pub tables: Vec<Table>,
    /// Whether long text in [`Format::Table`] is cut, so that a row has room on a terminal.
    pub cut: bool,
}

impl Document {
    /// Nothing yet, in a form of [`super::schemas`].
    pub fn new(schema: &'static str) -> Document {
        Document { schema, absent: None, notes: Vec::new(), tables: Vec::new(), cut: false }
    }

    /// Writes all tables in `format`. JSON is one object: `schema`, `notes` (`code`, `text`), `absent` where it is
    /// known (`table`, `views`) and `tables` (`name`, `title`, `key`: names of columns, `rows`: objects by column name).
    ///
    /// # Errors
    /// Fails if `out` cannot be written to.
    pub fn write(&self, out: &mut dyn Write, format: Format) -> io::Result<()> {
        if format == Format::Json {
            let notes: Vec<_> = self.notes.iter().map(|n| json!({ "code": n.code, "text": n.text })).collect();
            let table = |t: &Table| json!({ "name": t.name, "title": t.title, "key": t.key, "rows": t.json() });
            let tables: Vec<_> = self.tables.iter().map(table).collect();
            let mut document = json!({ "schema": self.schema, "notes": notes });
            if let Some(absent) = &self.absent {
                let absent = absent.iter().map(|a| json!({ "table": a.table, "views": a.views }));
                document["absent"] = absent.collect();
            }
            document["tables"] = tables.into();
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
