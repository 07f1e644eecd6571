//! The README tells the truth: its output is what the program prints.

use crate::common;
use std::path::Path;
use std::process::Command;

/// The folder where cargo puts programs; examples lie in a folder beside them.
pub fn make_native() -> std::path::PathBuf {
    let programs = Path::new(env!("CARGO_BIN_EXE_gpuprof")).parent().expect("a folder");
    programs.join("examples/make_native")
}

#[test]
fn the_output_on_the_first_screen_is_real() {
    let folder = common::TempFolder::new("readme");
    let sample = folder.path().join("sample.gpuprof");
    let made = Command::new(make_native())
        .arg(&sample)
        .arg("--sample")
        .status()
        .expect("the example; `cargo test` builds it, `cargo test --test cli` does not");
    assert!(made.success());
    let readme = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).expect("README");
    let block = readme.split("$ ./scripts/demo").nth(1).expect("the command");
    let (options, rest) = block.split_once('\n').expect("a line");
    let shown = rest.split("```").next().expect("the end of the block");
    assert!(shown.lines().count() <= 15, "the first screen has room for 15 lines");
    let mut args = vec!["report", sample.to_str().expect("a path")];
    args.extend(options.split_whitespace());
    assert_eq!(common::gpuprof(&args).stdout, shown);
}

#[test]
fn the_files_it_links_to_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = std::fs::read_to_string(root.join("README.md")).expect("README");
    let targets = readme.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    for target in targets.filter(|t| !t.starts_with("http")) {
        assert!(root.join(target).exists(), "README links to {target}, which is not there");
    }
}
