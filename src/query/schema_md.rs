//! `docs/schema.md`: every view and table that a query may name, from the registry.

use super::source::{Source, groups};
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

const OF_REPORT: &str = "Every view of `gpuprof report --view` can be queried under its name, unless a ready view has that name. Rows and values are those
of the report, for the whole trace; columns have its headings in small letters: `Total Time (ns)` is `total_time_ns`, `Time (%)` is
`time_percent`. Starts and ends are those of the report too: they count from the start of the trace, and not from 1970 as in the tables. [views.md](views.md) and
[nsys-compat.md](nsys-compat.md) say what the columns mean. A view with millions of rows is better asked of the table that it is made from.";

/// The text of `docs/schema.md`.
pub fn generate() -> String {
    let mut out = HEAD.to_owned();
    let [(views_title, views), (tables_title, tables), (report_title, of_report)] = groups();
    for (title, sources) in [(views_title, &views), (tables_title, &tables)] {
        let _ = writeln!(out, "\n## {title}\n\n| name | rows |\n|---|---|");
        for source in sources {
            let _ = writeln!(out, "| [{0}](#{0}) | {1} |", source.name(), first_line(source.doc()));
        }
    }
    let _ = writeln!(out, "\n## {report_title}\n\n{OF_REPORT}\n\n| view | columns |\n|---|---|");
    for source in of_report {
        let columns = source.columns();
        let columns: Vec<String> = columns.iter().map(|c| format!("`{}` {}", c.name, c.ty.word())).collect();
        let _ = writeln!(out, "| `{}` | {} |", source.name(), columns.join(", "));
    }
    for source in views.into_iter().chain(tables) {
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
