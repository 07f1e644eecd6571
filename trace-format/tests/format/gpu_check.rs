//! `scripts/gpu-check` runs where nothing can be built, so it reads traces with a reader of its own. Its lists of tables
//! must be those of the registry.

use std::collections::BTreeMap;
use std::path::Path;
use trace_format::schema::Role;
use trace_format::tables;

/// Tables of activity whose rows are not records of CUPTI, and who writes them.
const NOT_RECORDS: &[(&str, &str)] = &[
    ("range", "NVTX, and markers of CUPTI, whose rows are joined from two records"),
    ("cpu_sample", "the launcher"),
    ("launch_stack", "the collector, beside the API record"),
    ("host_call", "readers of nsys databases"),
    ("foreign", "readers of Kineto traces"),
    ("details", "readers of Kineto traces"),
];

/// The text between `begins` and `ends` in `frames.py`.
fn part(begins: &str, ends: char) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/gpu-check.d/frames.py");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let (_, rest) = text.split_once(begins).unwrap_or_else(|| panic!("no {begins:?} in {}", path.display()));
    rest.split_once(ends).unwrap_or_else(|| panic!("{begins:?} does not end")).0.to_owned()
}

#[test]
fn its_reader_knows_every_table() {
    let entry = |text: &str| {
        let (id, name) = text.split_once(':')?;
        Some((id.trim().parse::<u16>().ok()?, name.trim().trim_matches('"').to_owned()))
    };
    let known: BTreeMap<u16, String> = part("\nTABLES = {", '}').split(',').filter_map(entry).collect();
    let registry = tables::ALL.iter().map(|table| (table.id, table.name.to_owned())).collect::<BTreeMap<_, _>>();
    assert_eq!(known, registry, "scripts/gpu-check.d/frames.py against trace-format/src/tables");
}

#[test]
fn its_reader_counts_every_record() {
    let counted = part("\nACTIVITY = (", ')');
    let counted: Vec<&str> = counted.split('"').skip(1).step_by(2).collect();
    for table in tables::ALL.iter().filter(|table| table.role == Role::Activity) {
        let excused = NOT_RECORDS.iter().any(|(name, _)| *name == table.name);
        assert!(
            counted.contains(&table.name) != excused,
            "{}: in ACTIVITY of scripts/gpu-check.d/frames.py, or in NOT_RECORDS here, and not in both",
            table.name
        );
    }
    for name in counted.iter().chain(NOT_RECORDS.iter().map(|(name, _)| name)) {
        assert!(
            tables::by_name(name).is_some_and(|table| table.role == Role::Activity),
            "{name} is no table of activity"
        );
    }
}
