//! `FORMAT.md`: the format in words, and every table from the registry.

use std::fmt::Write as _;

use crate::header::{MAJOR, MINOR};
use crate::schema::{ColumnSpec, ColumnType, Encoding, Role, TableSpec, Unit};
use crate::tables::ALL;

const LAYOUT: &str = include_str!("format_layout.md");

/// The text of `FORMAT.md`.
pub fn generate() -> String {
    let mut text = LAYOUT.replace("{VERSION}", &format!("{MAJOR}.{MINOR}"));
    text.push_str("\n## Tables\n\n| number | table | kind | rows |\n|---|---|---|---|\n");
    for table in ALL {
        let first = table.doc.lines().next().unwrap_or_default().trim();
        let _ = writeln!(text, "| {} | [{1}](#{1}) | {2} | {first} |", table.id, table.name, role(table.role));
    }
    for table in ALL {
        describe(table, &mut text);
    }
    text
}

fn describe(table: &TableSpec, text: &mut String) {
    let _ = writeln!(text, "\n### {}\n", table.name);
    for line in table.doc.lines().map(str::trim).filter(|l| !l.is_empty()) {
        let _ = writeln!(text, "{line}");
    }
    if table.columns.is_empty() {
        return;
    }
    text.push_str("\n| column | type | null | unit | encoding | meaning |\n|---|---|---|---|---|---|\n");
    for column in table.columns {
        let ColumnSpec { name, ty, nullable, encoding, unit, doc, .. } = column;
        let null = if *nullable { "yes" } else { "" };
        let encoding = if *ty == ColumnType::Bytes { "lengths" } else { encoding_name(*encoding) };
        let (ty, unit, doc) = (type_name(*ty), unit_text(*unit), unit.meaning(doc).replace('|', "\\|"));
        let _ = writeln!(text, "| `{name}` | {ty} | {null} | {unit} | {encoding} | {doc} |");
    }
}

fn role(role: Role) -> &'static str {
    match role {
        Role::Json => "JSON",
        Role::Defining => "definitions",
        Role::Activity => "activity",
        Role::Meta => "recording",
    }
}

fn type_name(ty: ColumnType) -> &'static str {
    match ty {
        ColumnType::U32 => "u32",
        ColumnType::U64 => "u64",
        ColumnType::I64 => "i64",
        ColumnType::F64 => "f64",
        ColumnType::Bool => "bool",
        ColumnType::Bytes => "bytes",
    }
}

fn encoding_name(encoding: Encoding) -> &'static str {
    match encoding {
        Encoding::Delta => "delta",
        Encoding::Dictionary => "dictionary",
        Encoding::Plain => "plain",
    }
}

/// The unit in documents, with a link to the table that ids refer to.
pub fn unit_text(unit: Unit) -> String {
    match unit {
        Unit::Id(table) => format!("[{0}](#{0}) id", table.name),
        _ => unit.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn format_md_is_up_to_date() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/FORMAT.md");
        let text = generate();
        if std::env::var_os("GPUPROF_BLESS").is_some() {
            std::fs::write(path, &text).unwrap();
        }
        let on_disk = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            on_disk == text,
            "FORMAT.md is stale: run GPUPROF_BLESS=1 cargo test -p trace-format and look at it"
        );
    }

    #[test]
    fn format_md_names_every_constant_as_the_code_has_it() {
        use crate::frame::{HEADER_BYTES, JSON, MAX_PAYLOAD_BYTES, MAX_ROWS, REPEAT, SORTED};
        use crate::header::PREFIX_BYTES;
        let text = generate();
        for claim in [
            format!("{HEADER_BYTES} bytes of header"),
            format!("first {PREFIX_BYTES} bytes"),
            format!("at most {} MiB", MAX_PAYLOAD_BYTES >> 20),
            format!("at most {MAX_ROWS} rows"),
            format!("{SORTED} sorted"),
            format!("{JSON} JSON"),
            format!("{REPEAT} repeat"),
            format!("last {} bytes", crate::index::TRAILER_BYTES),
        ] {
            assert!(text.contains(&claim), "FORMAT.md does not say \"{claim}\"");
        }
    }
}
