//! A table that is new is forgotten nowhere: whoever draws or writes tables names each of them, or says why not. These
//! tests name the place that was forgotten; `docs/extending.md` has the steps.

use gpuprof::export::EXPORTERS;
use gpuprof::lines::DRAWN;
use std::path::Path;
use trace_format::schema::{Role, TableSpec};
use trace_format::tables;

/// Tables of activity without a line of their own in viewers, and why.
const NOT_DRAWN: &[(&TableSpec, &str)] = &[
    (&tables::EXTERNAL, "ids that frameworks pushed; they stand beside the calls"),
    (&tables::LAUNCH_STACK, "stacks stand beside the calls"),
    (&tables::CPU_SAMPLE, "samples are drawn as the functions that they are of"),
    (&tables::FOREIGN, "drawn where the original had them, by the exporter of that format alone"),
    (&tables::DETAILS, "they stand beside the records that they are of"),
];

/// What exporters have no place for, by the name of the exporter. Texts stand in the rows where there is no table of them.
const LOST: &[(&str, &[&TableSpec])] = &[
    (
        "sqlite",
        &[
            &tables::EXTERNAL,
            &tables::FRAME,
            &tables::STACK,
            &tables::CPU_SAMPLE,
            &tables::LAUNCH_STACK,
            &tables::FOREIGN,
            &tables::DETAILS,
        ],
    ),
    (
        "nvprof",
        &[
            &tables::FRAME,
            &tables::STACK,
            &tables::CPU_SAMPLE,
            &tables::LAUNCH_STACK,
            &tables::HOST_CALL,
            &tables::FOREIGN,
            &tables::DETAILS,
        ],
    ),
    (
        "csv",
        &[
            &tables::CONTEXT,
            &tables::STREAM,
            &tables::FRAME,
            &tables::STACK,
            &tables::CPU_SAMPLE,
            &tables::LAUNCH_STACK,
        ],
    ),
    ("perfetto", &[&tables::SHAPE, &tables::EXTERNAL, &tables::LAUNCH_STACK, &tables::FOREIGN, &tables::DETAILS]),
];

/// Exporters of one kind of record alone, which need not hear of others.
const OF_ONE_KIND: &[&str] = &["speedscope"];

/// Tables of records, and tables that these refer to.
fn tables_of(roles: &'static [Role]) -> impl Iterator<Item = &'static TableSpec> {
    tables::ALL.iter().copied().filter(move |table| roles.contains(&table.role))
}

#[test]
fn every_table_of_activity_has_a_line_in_viewers_or_a_reason() {
    for table in tables_of(&[Role::Activity]) {
        let excused = NOT_DRAWN.iter().any(|(excused, _)| *excused == table);
        assert!(
            DRAWN.contains(&table) != excused,
            "table {}: put it into DRAWN (src/lines.rs), or into NOT_DRAWN here with the reason, and not into both",
            table.name
        );
    }
}

#[test]
fn every_exporter_says_of_every_table_whether_it_is_kept() {
    let mut all_wrong = Vec::new();
    for exporter in EXPORTERS {
        if exporter.keeps.is_empty() || OF_ONE_KIND.contains(&exporter.name) {
            // Sums and pictures, which keep no record.
            continue;
        }
        let lost = LOST.iter().find(|(name, _)| *name == exporter.name).map_or(&[][..], |(_, lost)| lost);
        let wrong: Vec<_> = tables_of(&[Role::Activity, Role::Defining])
            .filter(|table| *table != &tables::STRING)
            .filter(|table| exporter.keeps.iter().any(|keeps| keeps.table == *table) == lost.contains(table))
            .map(|table| table.name)
            .collect();
        if !wrong.is_empty() {
            all_wrong.push(format!("{}: {wrong:?}", exporter.name));
        }
        for (n, keeps) in exporter.keeps.iter().enumerate() {
            let again = exporter.keeps[..n].iter().any(|before| before.table == keeps.table);
            assert!(!again, "{} names table {} twice", exporter.name, keeps.table.name);
        }
    }
    assert!(
        all_wrong.is_empty(),
        "put each into KEEPS of the exporter, or into LOST here, and not into both:\n{}",
        all_wrong.join("\n")
    );
}

#[test]
fn every_exporter_of_records_is_named_in_the_tests_of_exports() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/exports");
    let mut text = String::new();
    for entry in std::fs::read_dir(&root).expect("the tests of exporters") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|ending| ending == "rs") {
            text.push_str(&std::fs::read_to_string(&path).expect("a source"));
        }
    }
    for exporter in EXPORTERS.iter().filter(|exporter| !exporter.keeps.is_empty()) {
        assert!(
            text.contains(&format!("\"{}\"", exporter.name)),
            "no test in tests/exports names {}",
            exporter.name
        );
    }
}
