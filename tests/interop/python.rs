//! polars, pyarrow and pandas take over what the Python package reads: `python/tests/packages.py`.

use crate::common::build::{Story, native};
use crate::common::tools::python;
use crate::common::{TempFolder, python_door};
use std::path::Path;
use std::process::{Command, Output};

fn run(python: &Path, folder: &TempFolder, program: &Path, arguments: &[&str]) -> Output {
    let output = Command::new(python)
        .arg(program)
        .args(arguments)
        .current_dir(folder.path())
        .env("PYTHONPATH", python_door::folder())
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("GPUPROF_PROGRAM", env!("CARGO_BIN_EXE_gpuprof"))
        .output()
        .expect("Python");
    assert!(output.status.success(), "{}: {}", program.display(), String::from_utf8_lossy(&output.stderr));
    output
}

#[test]
fn polars_pyarrow_and_pandas_take_tables_over() {
    let test = "python::polars_pyarrow_and_pandas_take_tables_over";
    let Some(python) = python(test, "python-door", &python_door::test_file("requirements.txt")) else { return };
    let folder = TempFolder::new("interop-python");
    let story = Story::sample(300).with_ranges();
    let trace = folder.argument("run.gpuprof", &native(&story));
    let moved = story.copies.iter().map(|copy| copy.bytes).chain(story.fills.iter().map(|fill| fill.bytes));
    let truth = serde_json::json!({
        "kernels": story.kernels.len(),
        "kernel_ns": story.kernels.iter().map(|kernel| kernel.end - kernel.start).sum::<i64>(),
        "moved_bytes": moved.sum::<i64>(),
    });
    let program = python_door::test_file("packages.py");
    assert_eq!(run(&python, &folder, &program, &[&trace, &truth.to_string()]).stdout, b"read\n");
}

#[test]
fn the_examples_that_read_traces_run() {
    let test = "python::the_examples_that_read_traces_run";
    let requirements = python_door::test_file("requirements.txt");
    let Some(python) = python(test, "python-door", &requirements) else { return };
    for document in python_door::DOCUMENTS {
        let folder = TempFolder::new("interop-python-examples");
        folder.file("run.gpuprof", &native(&Story::sample(300).with_ranges()));
        let examples = python_door::examples(document, "python");
        assert!(!examples.is_empty(), "{document}");
        // One after the other, as a reader types them.
        let program = folder.file("examples.py", examples.concat().as_bytes());
        run(&python, &folder, &program, &[]);
    }
}
