//! `-o`: the real nvprof 11.8 opens what was written, and prints what we print.

use super::bench::Bench;
use crate::common::tools::{nvidia, with_nvidia};

fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines
}

#[test]
fn the_real_nvprof_prints_of_our_file_what_we_print() {
    let Some(tools) = nvidia("the_real_nvprof_prints_of_our_file_what_we_print") else { return };
    let bench = Bench::new();
    let ended =
        bench.run("nvprof -o out.nvvp --process-name 'rank 0' --context-name 'ctx %i' --stream-name s%i app 4");
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    let file = ended.folder().join("out.nvvp");
    let file = file.to_str().unwrap();
    for options in ["", "--csv", "--print-gpu-summary", "--print-api-summary", "--print-summary-per-gpu"] {
        let theirs = with_nvidia(&tools, &format!("nvprof -i \"$1\" {options}"), &[file]);
        let ours = bench.run(&format!("nvprof -i {file} {options}"));
        assert_eq!(ours.code(), Some(0), "{}", ours.stderr);
        assert_eq!(sorted(&ours.stderr), sorted(&theirs), "{options}");
    }
    // It shows the names that were given, as we do.
    let theirs = with_nvidia(&tools, "nvprof -i \"$1\" --print-gpu-trace", &[file]);
    assert!(theirs.contains("     ctx 1        s7  vector_add"), "{theirs}");
    let live = bench.run("nvprof --print-gpu-trace --context-name 'ctx %i' --stream-name s%i app 4");
    assert!(live.stderr.contains("     ctx 1        s7  vector_add"), "{}", live.stderr);
}
