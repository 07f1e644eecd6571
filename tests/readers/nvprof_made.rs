//! Databases made of rows for one question each, what the real nvprof 11.8 printed of them, and we print the same bytes.
//!
//! `tests/fixtures/nvprof` has the rows (`*.sql`) and the prints (`*.golden`), which `scripts/nvprof_goldens.py` writes.

use crate::common;
use rusqlite::Connection;
use std::path::Path;

/// Lines about records that were left out. Ours say it in other words, on the standard error.
fn is_warning(line: &str) -> bool {
    line.starts_with("======== Warning: Found ") && line.contains(" invalid records")
        || line.starts_with("======== Warning: This can happen")
}

/// The database that `name`.sql makes, in `folder`.
fn made(fixtures: &Path, name: &str, folder: &Path) -> String {
    let path = folder.join(format!("{name}.nvvp"));
    let read = |name: &str| std::fs::read_to_string(fixtures.join(name)).expect("a fixture");
    let db = Connection::open(&path).expect("a database");
    db.execute_batch(&format!("BEGIN; {} {} COMMIT;", read("schema.sql"), read(&format!("{name}.sql"))))
        .unwrap_or_else(|e| panic!("{name}: {e}"));
    path.to_str().expect("a path").to_owned()
}

#[test]
fn what_the_real_nvprof_printed_of_small_databases_is_reproduced() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/nvprof");
    let folder = common::TempFolder::new("nvprof-made");
    let (mut prints, mut wrong) = (0, Vec::new());
    for entry in fixtures.read_dir().expect("the fixtures") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|ending| ending != "golden") {
            continue;
        }
        let name = path.file_stem().expect("a name").to_str().expect("text");
        let trace = made(&fixtures, name, folder.path());
        let golden = std::fs::read_to_string(&path).expect("a golden file");
        for print in golden.split("$ nvprof").skip(1) {
            let (options, expected) = print.split_once('\n').expect("a line of options");
            let mut args = vec!["report", "--demangling", "nvprof"];
            args.extend(options.split_whitespace());
            args.push(&trace);
            let answer = common::gpuprof_in(folder.path(), &args);
            let warned = expected.lines().any(is_warning);
            let expected: String = expected.split_inclusive('\n').filter(|line| !is_warning(line)).collect();
            // Listings and summaries of nothing end with status 1.
            assert!(answer.status <= 1, "{name}: {args:?}: {}", answer.stderr);
            if answer.stdout != expected {
                wrong.push(format!("== {name} {options}\n-- nvprof\n{expected}-- gpuprof\n{}", answer.stdout));
            }
            let is_of_gpu = !options.contains("--print-api");
            if warned && is_of_gpu && !answer.stderr.contains("3 records of GPU work that took 0 ns are left out") {
                wrong.push(format!(
                    "== {name} {options}: nothing is said about what is left out: {}",
                    answer.stderr
                ));
            }
            prints += 1;
        }
    }
    assert!(wrong.is_empty(), "{} of {prints} differ\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(prints, 88);
}
