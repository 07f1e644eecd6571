//! Tells the program which commit it was built from. Downloads nothing, runs nothing but `git`.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=.git/HEAD");
    println!("cargo::rerun-if-changed=.git/refs/heads");
    println!("cargo::rerun-if-env-changed=GPUPROF_COMMIT");
    let from_git = || {
        let output = Command::new("git").args(["rev-parse", "--short=10", "HEAD"]).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    // Packagers build from an archive without `.git` and set the variable instead.
    let commit = std::env::var("GPUPROF_COMMIT").ok().or_else(from_git).unwrap_or_else(|| "unknown".into());
    println!("cargo::rustc-env=GPUPROF_COMMIT={commit}");
}
