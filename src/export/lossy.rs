//! `docs/lossy.md`: what each format keeps, written from what the exporters say of themselves.

use super::{Columns, EXPORTERS, Exporter, has_records};
use std::fmt::Write as _;
use trace_format::schema::TableSpec;
use trace_format::tables;

/// The whole page.
pub fn page() -> String {
    let mut out = String::from(
        "# What each export keeps\n\n\
         Generated from the exporters (`src/export`); `cargo test` says when it is stale.\n\n\
         A trace that is exported and opened again answers as before, as far as its format can hold what was in it. \
         Below stands, for every format, what it keeps of each table of the registry (`trace-format/FORMAT.md`); what \
         is not named is lost. Names that are not UTF-8 have `\\xff` for each such byte in every format \
         but `gpuprof`. Names are never altered to please a spreadsheet: open CSV files of strangers as text.\n",
    );
    for exporter in EXPORTERS {
        section(&mut out, exporter);
    }
    out
}

fn section(out: &mut String, exporter: &Exporter) {
    // Writing to a string cannot fail.
    let _ = writeln!(out, "\n## `{}`\n\n{}.\n", exporter.name, capitalised(exporter.doc));
    for (key, doc) in exporter.options {
        let _ = writeln!(out, "- `--option {key}=…`: {doc}");
    }
    if !exporter.options.is_empty() {
        out.push('\n');
    }
    if exporter.keeps.is_nothing() {
        out.push_str("gpuprof does not read this format back.\n");
        return;
    }
    out.push_str("| table | keeps | loses |\n|---|---|---|\n");
    let mut lost = Vec::new();
    for table in tables::ALL.iter().copied().filter(|table| has_records(table)) {
        match exporter.keeps.of(table) {
            None => lost.push(format!("`{}`", table.name)),
            Some(keeps) => {
                let (kept, gone) = columns(table, &keeps.columns);
                let note = if keeps.note.is_empty() { String::new() } else { format!("; {}", keeps.note) };
                let _ = writeln!(out, "| `{}` | {kept}{note} | {gone} |", table.name);
            }
        }
    }
    if !lost.is_empty() {
        let _ = writeln!(out, "\nLost: {}.", lost.join(", "));
    }
}

fn columns(table: &TableSpec, columns: &Columns) -> (String, String) {
    let list = |kept: bool| {
        let names = table.columns.iter().map(|column| column.name).filter(|name| columns.keep(name) == kept);
        names.collect::<Vec<_>>().join(", ")
    };
    match columns {
        Columns::All => ("all".to_owned(), String::new()),
        Columns::Only(_) => (list(true), list(false)),
        Columns::AllBut(_) => ("the rest".to_owned(), list(false)),
    }
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}
