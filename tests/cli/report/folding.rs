//! `--fold-ranges`: ranges whose names differ in PyTorch's numbers alone are one.

use super::*;

/// Ranges as `emit_nvtx` names them, around the first launches of a program.
fn story() -> Story {
    let mut story = Story::sample(6).with_ranges();
    let names = [
        "aten::add, seq = 1, op_id = 11",
        "aten::add, seq = 2, op_id = 12",
        "aten::mm, op_id = 13, sizes = [[2, 2]], input_op_ids = [(12,0)]",
        "step 7",
    ];
    let open = story.ranges[1].clone();
    story.ranges = names
        .iter()
        .zip(&story.calls[1..])
        .map(|(name, call)| NvtxRange {
            name: (*name).into(),
            domain: None,
            start: call.start - 100,
            end: Some(call.end + 100),
            ..open.clone()
        })
        .collect();
    story
}

/// Names and numbers of the ranges of a view.
fn ranges(args: &[&str]) -> BTreeMap<String, u64> {
    let document = json(&[&["--view", "nvtx_sum"], args].concat());
    // The default domain has no name.
    let name = |row: &Value| row["Range"].as_str().unwrap().trim_start_matches(':').to_owned();
    let row = |row: &Value| (name(row), row["Instances"].as_u64().unwrap());
    rows(&document, "nvtx_sum").iter().map(row).collect()
}

#[test]
fn ranges_of_one_operator_are_one_if_that_is_asked_for() {
    let folder = TempFolder::new("report-folding");
    for (kind, bytes) in [("native", native(&story())), ("nsys", nsys(&story(), NsysEra::Of2026))] {
        let path = folder.argument("t", &bytes);
        let apart = ranges(&[&path]);
        assert_eq!(apart.len(), 4, "{kind}: {apart:?}");
        assert_eq!(apart["aten::add, seq = 1, op_id = 11"], 1);
        let folded = ranges(&["--fold-ranges", &path]);
        let expected = [("aten::add", 2), ("aten::mm, sizes = [[2, 2]]", 1), ("step 7", 1)];
        let expected: BTreeMap<String, u64> = expected.map(|(name, count)| (name.to_owned(), count)).into();
        assert_eq!(folded, expected, "{kind}");
        // One section of nvprof's for both calls of the operator.
        let sections = gpuprof(&["report", "--fold-ranges", &path]).stdout;
        assert_eq!(sections.matches("Range \"aten::add\"").count(), 1, "{kind}: {sections}");
        let stacks = gpuprof(&["export", "--fold-ranges", "--format", "folded", &path, "-o", "-"]).stdout;
        assert!(stacks.contains(";aten::add;") && !stacks.contains("op_id"), "{kind}: {stacks}");
        // A range can be chosen by the name that is shown.
        let chosen = gpuprof(&["report", "--fold-ranges", "--range", "aten::add", "--view", "cuda_api_sum", &path]);
        assert!(chosen.stdout.contains("cudaLaunchKernel"), "{kind}: {}", chosen.stdout);
    }
}
