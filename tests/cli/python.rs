//! The Python package over traces that are there already, with nothing but Python: `python/tests/reading.py`, on every
//! version of Python that this machine has.

use crate::common::build::*;
use crate::common::{TempFolder, skip};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The versions that are said to work, each with the program of that name if it is here.
const VERSIONS: [&str; 6] = ["3.9", "3.10", "3.11", "3.12", "3.13", "3.14"];

/// A Python of that version: by its name, or among those of pyenv.
fn python(version: &str) -> Option<PathBuf> {
    let says = |program: &Path| {
        let print = "import sys; print('%d.%d' % sys.version_info[:2])";
        let output = Command::new(program).args(["-c", print]).output().ok()?;
        (String::from_utf8_lossy(&output.stdout).trim() == version).then(|| program.to_path_buf())
    };
    let installed = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".pyenv/versions"));
    let installed = installed.and_then(|folder| std::fs::read_dir(folder).ok()).into_iter().flatten();
    let installed = installed.filter_map(|entry| Some(entry.ok()?.path().join("bin/python3")));
    [PathBuf::from(format!("python{version}")), PathBuf::from("python3")]
        .into_iter()
        .chain(installed)
        .find_map(|program| says(&program))
}

#[test]
fn the_package_reads_traces_without_any_other_package_on_every_python() {
    let test = "the_package_reads_traces_without_any_other_package_on_every_python";
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("python");
    let folder = TempFolder::new("python-reading");
    let story = Story::sample(120).with_ranges();
    let bytes = native(&story);
    let trace = folder.argument("run.gpuprof", &bytes);
    folder.file("other.gpuprof", &bytes);
    folder.file("cut.gpuprof", &bytes[..bytes.len() - 40]);
    let bin = folder.path().join("bin");
    std::fs::create_dir(&bin).expect("a folder");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_gpuprof"), bin.join("gpuprof")).expect("a link");
    let truth = serde_json::json!({
        "kernels": story.kernels.len(),
        "kernel_ns": story.kernels.iter().map(|kernel| kernel.end - kernel.start).sum::<i64>(),
        "copied_bytes": story.copies.iter().map(|copy| copy.bytes).sum::<i64>(),
    });
    // All of them at the same time.
    let mut running = Vec::new();
    for version in VERSIONS {
        let Some(python) = python(version) else {
            skip(test, &format!("there is no Python {version} here"));
            continue;
        };
        let child = Command::new(python)
            .arg(package.join("tests/reading.py"))
            .args([&trace, &truth.to_string()])
            .env("PYTHONPATH", &package)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("GPUPROF_PROGRAM", env!("CARGO_BIN_EXE_gpuprof"))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("Python");
        running.push((version, child));
    }
    assert!(!running.is_empty(), "the tests need a Python of 3.9 or later");
    for (version, child) in running {
        let output = child.wait_with_output().expect("Python");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "Python {version}: {said}{}", String::from_utf8_lossy(&output.stderr));
    }
}
