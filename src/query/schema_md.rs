//! `docs/schema.md`: every view and table that a query may name, from the registry.

use super::source::{Source, all};
use super::views::VIEWS;
use std::fmt::Write as _;
use trace_format::format_md::unit_text;

const HEAD: &str = "# What a query may name

Generated from `src/query/views/` and `trace-format/src/tables/`; do not edit. `GPUPROF_BLESS=1 cargo test -p gpuprof
--test cli` writes it anew. How to ask is in [query.md](query.md).

- `process` is the ordinal of a process among the traces that were opened; joins between tables are on `process` and
  `correlation`. View `processes` says who each one is.
- Times (`start_ns` and the like) are nanoseconds since the Unix epoch, or since some moment of its own for a trace
  that does not know the epoch. Durations, sizes and counts are 64-bit integers in base units.
- NULL means absent or unknown, never 0. A record whose times are impossible has a NULL `duration_ns` and enters no
  sum.
- `u32` and `u64` are ids and codes. Unknown codes are legal; their text is the number.
";

/// The text of `docs/schema.md`.
pub fn generate() -> String {
    let mut out = HEAD.to_owned();
    out.push_str("\n## Ready views\n\n| view | rows |\n|---|---|\n");
    for view in VIEWS {
        let _ = writeln!(out, "| [{0}](#{0}) | {1} |", view.name(), first_line(view.doc()));
    }
    out.push_str("\n## Tables\n\n| table | rows |\n|---|---|\n");
    for table in all().skip(VIEWS.len()) {
        let _ = writeln!(out, "| [{0}](#{0}) | {1} |", table.name(), first_line(table.doc()));
    }
    for source in all() {
        out.push('\n');
        out.push_str(&describe(source));
    }
    out
}

fn first_line(doc: &str) -> &str {
    doc.lines().next().unwrap_or_default().trim()
}

fn describe(source: &dyn Source) -> String {
    let mut out = format!("### {}\n\n", source.name());
    for line in source.doc().lines().map(str::trim).filter(|l| !l.is_empty()) {
        let _ = writeln!(out, "{line}");
    }
    out.push_str("\n| column | type | unit | meaning |\n|---|---|---|---|\n");
    for column in source.columns() {
        let doc = column.unit.meaning(column.doc).replace('|', "\\|");
        let _ = writeln!(out, "| `{}` | {} | {} | {doc} |", column.name, column.ty.word(), unit_text(column.unit));
    }
    out
}
