//! A table that is new is forgotten nowhere: whoever draws or writes tables names each of them, or says why not. These
//! tests name the place that was forgotten; `docs/extending.md` has the steps.

use crate::sources;
use gpuprof::export::{EXPORTERS, Exporter};
use gpuprof::lines::DRAWN;
use gpuprof::timeline::{self, picture};
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

/// Tables of activity that the page does not read, and why.
const NOT_ON_PAGE: &[(&TableSpec, &str)] = &[
    (&tables::EVENT, "moments on a stream; synchronisations say which event they are about"),
    (&tables::JIT, "compilations have a line in files for viewers, and none of nvvp's rows"),
    (&tables::EXTERNAL, "ids that frameworks pushed, for joins"),
    (&tables::LAUNCH_STACK, "stacks stand beside the calls in reports"),
    (&tables::FOREIGN, "drawn by the exporter of the format that it is of"),
    (&tables::DETAILS, "arguments in another tool's words, for the exporter of that tool's format"),
];

/// Tables of activity that the page reads and a picture neither draws nor counts, and why.
const NOT_IN_PICTURES: &[(&TableSpec, &str)] = &[
    (&tables::MEMORY, "a curve on the page, and no records of it"),
    (&tables::SAMPLE, "curves on the page, and no records of it"),
    (&tables::CPU_SAMPLE, "the functions that samples saw, which are no records of the trace"),
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

/// Which of `tables` are neither among those that `has` names nor excused, or both, as sentences that name the place.
fn missed(
    tables: impl Iterator<Item = &'static TableSpec>,
    has: impl Fn(&'static TableSpec) -> bool,
    excused: &[(&TableSpec, &str)],
    place: &str,
) -> Vec<String> {
    let is_excused = |table: &TableSpec| excused.iter().any(|(excused, _)| *excused == table);
    let wrong = tables.filter(|&table| has(table) == is_excused(table));
    wrong.map(|table| format!("table {}: {place} here with the reason, and not into both", table.name)).collect()
}

/// Which of `tables` have neither a line in viewers nor a reason.
fn missed_by_viewers(tables: impl Iterator<Item = &'static TableSpec>) -> Vec<String> {
    let place = "put it into KINDS (src/lines/place.rs), or into NOT_DRAWN";
    missed(tables, |table| DRAWN.contains(&table), NOT_DRAWN, place)
}

/// Which of `tables` the page does not read without a reason.
fn missed_by_pages(tables: impl Iterator<Item = &'static TableSpec>) -> Vec<String> {
    let need = timeline::need(false);
    missed(
        tables,
        |table| need.wants(table),
        NOT_ON_PAGE,
        "put it into need (src/timeline.rs), or into NOT_ON_PAGE",
    )
}

/// Which of `tables`, if the page reads them, pictures leave out without a reason and without counting them.
fn missed_by_pictures(tables: impl Iterator<Item = &'static TableSpec>) -> Vec<String> {
    let need = picture::need();
    let place = "put it into TABLES or NOT_DRAWN (src/timeline/picture/rows.rs), or into NOT_IN_PICTURES";
    missed(tables, |table| need.wants(table), NOT_IN_PICTURES, place)
}

/// Exporters that do not say whether they keep some of `tables`, and which.
fn missed_by_exporters(tables: &[&'static TableSpec]) -> Vec<String> {
    // Sums and pictures keep no record.
    let of_records = |exporter: &&&Exporter| !exporter.keeps.is_nothing() && !OF_ONE_KIND.contains(&exporter.name);
    let missed = EXPORTERS.iter().filter(of_records).filter_map(|exporter| {
        let lost = LOST.iter().find(|(name, _)| *name == exporter.name).map_or(&[][..], |(_, lost)| lost);
        let is_wrong = |table: &&&'static TableSpec| exporter.keeps.of(table).is_some() == lost.contains(*table);
        let wrong: Vec<_> = tables.iter().filter(is_wrong).map(|table| table.name).collect();
        (!wrong.is_empty()).then(|| format!("{}: {wrong:?}", exporter.name))
    });
    missed.collect()
}

#[test]
fn every_table_of_activity_has_a_line_in_viewers_or_a_reason() {
    let missed = missed_by_viewers(tables_of(&[Role::Activity]));
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[test]
fn every_table_of_activity_is_on_the_page_or_has_a_reason() {
    let missed = missed_by_pages(tables_of(&[Role::Activity]));
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[test]
fn pictures_draw_or_count_what_the_page_reads() {
    let page = timeline::need(false);
    let missed = missed_by_pictures(tables_of(&[Role::Activity]).filter(|table| page.wants(table)));
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[test]
fn every_exporter_says_of_every_table_whether_it_is_kept() {
    let tables: Vec<_> =
        tables_of(&[Role::Activity, Role::Defining]).filter(|table| *table != &tables::STRING).collect();
    let missed = missed_by_exporters(&tables);
    assert!(
        missed.is_empty(),
        "put each into what the exporter keeps, or into LOST here, and not into both:\n{}",
        missed.join("\n")
    );
    for exporter in EXPORTERS {
        let listed = exporter.keeps.listed;
        for (n, keeps) in listed.iter().enumerate() {
            let again = listed[..n].iter().any(|before| before.table == keeps.table);
            assert!(!again, "{} names table {} twice", exporter.name, keeps.table.name);
        }
    }
}

/// A table of records whose author has forgotten every other place.
static MADE_UP: TableSpec =
    TableSpec { id: 9_999, name: "made_up", role: Role::Activity, columns: &[], doc: "Made up.\n" };

#[test]
fn a_made_up_table_is_missed_wherever_it_was_forgotten_and_kept_where_rows_are_written_whole() {
    let missed = missed_by_viewers([&MADE_UP].into_iter());
    assert_eq!(missed.len(), 1, "{missed:?}");
    assert!(missed[0].starts_with("table made_up: put it into KINDS (src/lines/place.rs)"), "{missed:?}");
    let missed = [missed_by_pages([&MADE_UP].into_iter()), missed_by_pictures([&MADE_UP].into_iter())].concat();
    assert!(missed[0].starts_with("table made_up: put it into need (src/timeline.rs)"), "{missed:?}");
    assert!(missed[1].starts_with("table made_up: put it into TABLES or NOT_DRAWN"), "{missed:?}");
    let missed = missed_by_exporters(&[&MADE_UP]);
    // Perfetto's follows from what is drawn; databases have a schema that is not ours.
    let expected = ["perfetto", "sqlite", "nvprof"].map(|name| format!("{name}: [\"made_up\"]"));
    assert_eq!(sorted(missed), sorted(expected.to_vec()));
    let keepers = EXPORTERS.iter().filter(|exporter| exporter.keeps.of(&MADE_UP).is_some()).map(|e| e.name);
    let keepers: Vec<_> = keepers.collect();
    for name in ["chrome", "gpuprof", "parquet", "arrow", "csv"] {
        assert!(keepers.contains(&name), "{name} is not among {keepers:?}");
    }
}

fn sorted(mut lines: Vec<String>) -> Vec<String> {
    lines.sort();
    lines
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
    for exporter in EXPORTERS.iter().filter(|exporter| !exporter.keeps.is_nothing()) {
        assert!(
            text.contains(&format!("\"{}\"", exporter.name)),
            "no test in tests/exports names {}",
            exporter.name
        );
    }
}

/// Lines that choose by the name of a table, which nothing checks: a name that no table has any more is never chosen.
fn chooses_by_name(line: &str) -> bool {
    let code = line.split("//").next().unwrap_or_default();
    ["table.name", "table().name"].iter().any(|name| {
        let compares = [" == \"", " != \""].iter().any(|sign| code.contains(&format!("{name}{sign}")));
        compares || (code.contains("match ") && code.trim_end().ends_with(&format!("{name} {{")))
    })
}

#[test]
fn tables_are_chosen_by_themselves_and_not_by_their_names() {
    let mut found = Vec::new();
    for (path, text) in sources::shipped("src", &["rs"]) {
        let lines = (1..).zip(text.lines()).filter(|(_, line)| chooses_by_name(line));
        found.extend(lines.map(|(number, _)| format!("src/{}:{number}", path.display())));
    }
    assert!(found.is_empty(), "compare with trace_format::tables::NAME:\n{}", found.join("\n"));
    for line in ["match piece.table().name {", "let is_range = rows.table.name == \"range\";"] {
        assert!(chooses_by_name(line), "{line}");
    }
    assert!(!chooses_by_name("json::string(own.key(\"table\"), rows.table.name.as_bytes());"));
}
