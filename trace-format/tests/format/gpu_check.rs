//! `scripts/gpu-check` runs where nothing can be built, so it reads traces with a reader of its own. Its lists of tables
//! are written from the registry.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use trace_format::schema::{Role, TableSpec};
use trace_format::tables;

/// What the lists in the script stand between.
const BEGIN: &str = "# BEGIN TABLES, written by trace-format/tests/format/gpu_check.rs\n";
const END: &str = "# END TABLES\n";

/// Characters of a line at most.
const WIDTH: usize = 120;

/// Tables of activity whose rows are not records of CUPTI, and who writes them.
const NOT_RECORDS: &[(&str, &str)] = &[
    ("range", "NVTX, and markers of CUPTI, whose rows are joined from two records"),
    ("cpu_sample", "the launcher"),
    ("launch_stack", "the collector, beside the API record"),
    ("host_call", "readers of nsys databases"),
    ("foreign", "readers of Kineto traces"),
    ("details", "readers of Kineto traces"),
];

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/gpu-check.d/frames.py")
}

/// Whether rows of `table` are records of CUPTI.
fn is_record(table: &TableSpec) -> bool {
    table.role == Role::Activity && NOT_RECORDS.iter().all(|(name, _)| *name != table.name)
}

/// Entries behind one another, as many in a line as have room.
fn lines(entries: impl Iterator<Item = String>) -> String {
    let mut text = String::new();
    let mut line = String::new();
    for entry in entries {
        if !line.is_empty() && 4 + line.len() + entry.len() + 2 > WIDTH {
            let _ = writeln!(text, "    {}", line.trim_end());
            line.clear();
        }
        let _ = write!(line, "{entry}, ");
    }
    text + "    " + line.trim_end() + "\n"
}

/// The lists of tables as the script has them.
fn lists(tables: &[&TableSpec]) -> String {
    let by_number: BTreeMap<u16, &str> = tables.iter().map(|table| (table.id, table.name)).collect();
    let numbers = lines(by_number.iter().map(|(id, name)| format!("{id}: \"{name}\"")));
    let records = tables.iter().filter(|table| is_record(table));
    let records = lines(records.map(|table| format!("\"{}\"", table.name)));
    format!("TABLES = {{\n{numbers}}}\nACTIVITY = (\n{records})\n")
}

#[test]
fn its_reader_knows_every_table_and_counts_every_record() {
    let text = std::fs::read_to_string(script()).expect("the script");
    let (head, rest) = text.split_once(BEGIN).expect("a beginning");
    let (_, tail) = rest.split_once(END).expect("an end");
    let expected = format!("{head}{BEGIN}{}{END}{tail}", lists(tables::ALL));
    if std::env::var_os("GPUPROF_BLESS").is_some() {
        std::fs::write(script(), &expected).expect("the script");
    }
    let on_disk = std::fs::read_to_string(script()).expect("the script");
    assert!(
        on_disk == expected,
        "scripts/gpu-check.d/frames.py is stale: GPUPROF_BLESS=1 cargo test -p trace-format --test format gpu_check"
    );
}

#[test]
fn a_made_up_table_of_records_is_in_both_lists() {
    static MADE_UP: TableSpec =
        TableSpec { id: 9_999, name: "made_up", role: Role::Activity, columns: &[], doc: "Made up.\n" };
    let with_it: Vec<&TableSpec> = tables::ALL.iter().copied().chain([&MADE_UP]).collect();
    let (without, with) = (lists(tables::ALL), lists(&with_it));
    assert!(
        without != with && with.contains("9999: \"made_up\"") && with.contains("\"openmp\", \"made_up\""),
        "{with}"
    );
}

#[test]
fn what_is_no_record_is_a_table_of_activity() {
    for (name, _) in NOT_RECORDS {
        assert!(
            tables::by_name(name).is_some_and(|table| table.role == Role::Activity),
            "{name} is no table of activity"
        );
    }
}
