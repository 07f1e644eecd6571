//! Tells the program which commit it was built from, and which collector to carry. Downloads nothing, runs nothing but
//! `git` and `rustc`.
//!
//! The collector that is built in is, in this order:
//! 1. the file `$GPUPROF_SHIM_SO`: releases, wheels and cross builds set it to one made by `scripts/build-shim`, which
//!    runs on every Linux since glibc 2.28;
//! 2. in release builds, the one that cargo has built as a dependency, for machines with this one's glibc or a newer one;
//! 3. none: debug builds take the one that cargo has put beside the program.
//!
//! The door in front of it (`libgpuprof_preload.so`) is always the one of this build: it loads on every Linux wherever it was
//! linked.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=GPUPROF_COMMIT");
    // Packagers build from an archive without `.git` and set the variable.
    let commit = env::var("GPUPROF_COMMIT").ok().unwrap_or_else(|| match is_release() {
        true => commit().unwrap_or_else(|| "unknown".into()),
        // Every commit would build all of gpuprof and its tests anew.
        false => "debug build".into(),
    });
    println!("cargo::rustc-env=GPUPROF_COMMIT={commit}");

    match is_release() {
        true => smaller_program(),
        false => quicker_start(),
    }

    println!("cargo::rustc-check-cfg=cfg(gpuprof_embedded_shim)");
    println!("cargo::rerun-if-env-changed=GPUPROF_SHIM_SO");
    match shim() {
        Ok(Some(library)) => {
            println!("cargo::rustc-cfg=gpuprof_embedded_shim");
            println!("cargo::rustc-env=GPUPROF_EMBEDDED_SHIM={}", library.display());
            match built("libgpuprof_preload.so") {
                Ok(door) => println!("cargo::rustc-env=GPUPROF_EMBEDDED_DOOR={}", door.display()),
                Err(why) => println!("cargo::error={why}"),
            }
        }
        Ok(None) => {}
        Err(why) => println!("cargo::error={why}"),
    }
}

fn is_release() -> bool {
    env::var("PROFILE").is_ok_and(|profile| profile == "release")
}

/// Has the linker keep one copy of functions that are equal, which generic code is full of, and leave out the symbols.
/// (`strip` of the profile reaches no package that has an optimisation level of its own.)
fn smaller_program() {
    if links_with_lld() {
        println!("cargo::rustc-link-arg-bins=-Wl,--icf=all");
    }
    println!("cargo::rerun-if-env-changed=GPUPROF_KEEP_SYMBOLS");
    if env::var_os("GPUPROF_KEEP_SYMBOLS").is_none() {
        println!("cargo::rustc-link-arg-bins=-Wl,--strip-all");
    }
}

/// Has the linker put the debug program at a fixed address. One that may lie anywhere holds 350,000 addresses that the
/// loader writes anew in each process, more than half of what a short command costs, and the tests start thousands. Only
/// where the C library is GNU's: for others rustc brings the code that a program begins with, which is for one kind.
fn quicker_start() {
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|target| target == value);
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}

/// Whether rustc links with the LLD that rustup's toolchains bring for this target. GNU's linker refuses the option; a
/// distribution's Rust, or somebody who has chosen a linker, may well have that one.
fn links_with_lld() -> bool {
    let target = env::var("TARGET").unwrap_or_default();
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    let chosen = env::var_os("RUSTC_LINKER").is_some() || ["linker", "-fuse-ld"].iter().any(|w| flags.contains(w));
    if target != "x86_64-unknown-linux-gnu" || chosen {
        return false;
    }
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let Ok(output) = Command::new(rustc).args(["--print", "sysroot"]).output() else { return false };
    let sysroot = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    Path::new(&sysroot).join("lib/rustlib").join(&target).join("bin/gcc-ld/ld.lld").is_file()
}

/// The commit that is checked out. Another one has this asked again, in worktrees too.
fn commit() -> Option<String> {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    for file in ["HEAD", "logs/HEAD"] {
        // A file that is not there would have this run at every build.
        if let Some(path) = git(&["rev-parse", "--git-path", file]).filter(|path| Path::new(path).exists()) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    git(&["rev-parse", "--short=10", "HEAD"])
}

/// The library to build in, if any.
fn shim() -> Result<Option<PathBuf>, String> {
    if let Some(named) = env::var_os("GPUPROF_SHIM_SO").filter(|value| !value.is_empty()) {
        let path = Path::new(&named).canonicalize();
        let path = path.map_err(|e| format!("GPUPROF_SHIM_SO={}: {e}", Path::new(&named).display()))?;
        println!("cargo::rerun-if-changed={}", path.display());
        return Ok(Some(path));
    }
    if !is_release() || env::var_os("DOCS_RS").is_some() {
        return Ok(None);
    }
    built("libgpuprof.so").map(Some)
}

/// A library that is a dependency of ours, so cargo has it ready when it compiles us, if not yet while this runs. It lies
/// beside all others: OUT_DIR is PROFILE/build/gpuprof-HASH/out.
fn built(file: &str) -> Result<PathBuf, String> {
    let out = env::var_os("OUT_DIR").map(PathBuf::from).ok_or("cargo has not set OUT_DIR")?;
    let profile = out.ancestors().nth(3).ok_or_else(|| format!("OUT_DIR={} is not cargo's", out.display()))?;
    Ok(profile.join("deps").join(file))
}
