//! Code that a script writes from a table and that is checked in: it is what the script writes today.

use crate::common::skip;
use std::path::Path;
use std::process::Command;

/// Fails, naming the first line, unless `arguments` of python3 print what is in `file`.
fn is_current(test: &str, file: &str, arguments: &[&str]) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let Ok(output) = Command::new("python3").args(arguments).current_dir(root).output() else {
        return skip(test, "there is no python3");
    };
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    let written = String::from_utf8(output.stdout).expect("UTF-8");
    let kept = std::fs::read_to_string(root.join(file)).expect("the file is checked in");
    if written == kept {
        return;
    }
    let (line, (new, old)) =
        (1..).zip(written.lines().zip(kept.lines())).find(|(_, (new, old))| new != old).unwrap_or_default();
    panic!("python3 {} > {file} changes line {line}:\n- {old}\n+ {new}", arguments.join(" "));
}

#[test]
fn the_layouts_of_records_are_what_the_tables_say() {
    is_current(
        "generated::the_layouts_of_records_are_what_the_tables_say",
        "cupti-shim/cupti-sys/src/layouts.rs",
        &["scripts/gen_layouts.py", "cupti-shim/cupti-sys/tables"],
    );
}

#[test]
fn the_names_of_callbacks_are_what_the_table_says() {
    is_current(
        "generated::the_names_of_callbacks_are_what_the_table_says",
        "src/cupti/cbid.rs",
        &["scripts/gen_cbids.py", "cupti-shim/cupti-sys/tables/cbids.csv"],
    );
}
