//! The commands of the book that record, on the simulator of `tests/sim`: those in fences that say `needs=sim`. The programs
//! that they name are players that launch kernels inside ranges called `step`, or call cudaProfilerStart and Stop.

#[path = "../cli/book/pages.rs"]
mod pages;

use crate::sim::{Sim, player, shim_path};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

/// The root of the repository.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Writes a program that does what a training program does: 250 steps, or the gate that it is asked for.
fn program(path: &Path) {
    let script = format!(
        "#!/bin/sh\ncase \"$GPUPROF_CAPTURE\" in\nprofiler-api) exec '{}' step ;;\n*) exec '{}' launch=3 steps=250,0.1 ;;\nesac\n",
        player("gate").display(),
        player("flight").display()
    );
    std::fs::write(path, script).expect("a program");
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("permissions");
}

#[test]
fn commands_of_the_book_that_record_do_so_on_the_simulator() {
    let sim = Sim::new("13.0");
    let bin = sim.folder().join("bin");
    std::fs::create_dir_all(&bin).expect("a folder");
    symlink(env!("CARGO_BIN_EXE_gpuprof"), bin.join("gpuprof")).expect("a link");
    program(&bin.join("python"));
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
    let mut recorded = 0;
    for (number, page) in pages::all().iter().enumerate() {
        let here = sim.folder().join(format!("page-{number}"));
        std::fs::create_dir_all(&here).expect("a folder");
        program(&here.join("simulation"));
        let fences = page.fences.iter().filter(|fence| fence.needs.as_deref() == Some("sim"));
        for (fence, command) in fences.flat_map(|fence| fence.commands.iter().map(move |command| (fence, command)))
        {
            let line = format!("cd '{}' && {}", here.display(), command.line);
            let run = sim.program("bash").args(["-c", &line]).env("PATH", &path).env("GPUPROF_SHIM", shim_path());
            let ended = run.env("HOME", &here).env("GPUPROF_NO_CONFIG", "1").default_output().run();
            let said = format!("{}:{}: {}: {}{}", page.name, fence.line, command.line, ended.stdout, ended.stderr);
            assert_eq!(ended.code(), Some(0), "{said}");
            let records = command.line.contains("gpuprof record");
            // With these, something is recorded only when somebody asks, after a minute, or when the budget allows.
            let waits = ["manual", "delay:", "--budget"].iter().any(|word| command.line.contains(word));
            if records && !waits {
                assert!(ended.stderr.contains("gpuprof: recorded 1 process"), "{said}");
                recorded += 1;
            }
        }
    }
    assert!(recorded >= 10, "only {recorded} commands of the book record something");
}
