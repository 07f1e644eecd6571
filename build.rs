//! Tells the program which commit it was built from, and builds the collector into it. Downloads nothing, runs nothing
//! but `git`, `cargo` and `rustc`.
//!
//! The collector that is built in is, in this order:
//! 1. the file `$GPUPROF_SHIM_SO`: releases, wheels and cross builds set it to one made by `scripts/build-shim`, which
//!    runs on every Linux since glibc 2.28;
//! 2. in release builds, one that is built here and now, for machines with this one's glibc or a newer one;
//! 3. none: debug builds take the one that cargo has put beside the program.

use flate2::Compression;
use flate2::write::ZlibEncoder;
use std::env;
use std::fs::{self, File};
use std::io::Write as _;
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

    if is_release() {
        smaller_program();
    }

    println!("cargo::rustc-check-cfg=cfg(gpuprof_embedded_shim)");
    println!("cargo::rerun-if-env-changed=GPUPROF_SHIM_SO");
    match shim().and_then(|library| library.map(|path| packed(&path)).transpose()) {
        Ok(Some(packed)) => {
            println!("cargo::rustc-cfg=gpuprof_embedded_shim");
            println!("cargo::rustc-env=GPUPROF_EMBEDDED_SHIM={}", packed.display());
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
    if !Path::new("cupti-shim/Cargo.toml").exists() {
        println!(
            "cargo::warning=no source of the collector here, so none is built in; set GPUPROF_SHIM_SO to a \
             libgpuprof.so, or name one with GPUPROF_SHIM when gpuprof runs"
        );
        return Ok(None);
    }
    // All that it is made of. Its own build script runs under the cargo that we call.
    for source in ["cupti-shim", "trace-format/src", "trace-format/Cargo.toml", "Cargo.toml", "Cargo.lock"] {
        println!("cargo::rerun-if-changed={source}");
    }
    build_shim().map(Some)
}

/// The library, compressed: it is unpacked into a file anyway (`src/launch/shim.rs`). The path of what is built in.
fn packed(library: &Path) -> Result<PathBuf, String> {
    let packed =
        PathBuf::from(env::var_os("OUT_DIR").ok_or("cargo has not set OUT_DIR")?).join("libgpuprof.so.zlib");
    let pack = || {
        let mut encoder = ZlibEncoder::new(File::create(&packed)?, Compression::best());
        encoder.write_all(&fs::read(library)?)?;
        encoder.finish().map(drop)
    };
    pack().map_err(|e| format!("{} cannot be compressed into {}: {e}", library.display(), packed.display()))?;
    Ok(packed)
}

/// Builds the collector in a target folder of its own: the one we are built in is locked.
fn build_shim() -> Result<PathBuf, String> {
    let variable = |name: &str| env::var(name).map_err(|_| format!("cargo has not set {name}"));
    let (cargo, target) = (variable("CARGO")?, variable("TARGET")?);
    let folder = PathBuf::from(variable("OUT_DIR")?).join("shim");
    let mut command = Command::new(cargo);
    command.args([
        "build",
        "--profile",
        "collector",
        "--locked",
        "-p",
        "cupti-shim",
        "--target",
        &target,
        "--target-dir",
    ]);
    command.arg(&folder);
    // A build without network has been asked for as a whole.
    if env::var("CARGO_NET_OFFLINE").is_ok_and(|value| value == "true") {
        command.arg("--offline");
    }
    // What was meant for the outer build: flags (sanitizers, coverage, target-cpu), wrappers (clippy's among them) and
    // folders.
    for name in [
        "CARGO_ENCODED_RUSTFLAGS",
        "RUSTFLAGS",
        "RUSTC_WRAPPER",
        "RUSTC_WORKSPACE_WRAPPER",
        "CARGO_TARGET_DIR",
        "CARGO_BUILD_TARGET",
        "CARGO_BUILD_TARGET_DIR",
    ] {
        command.env_remove(name);
    }
    let output = command.output().map_err(|e| format!("cargo cannot be run to build the collector: {e}"))?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        let last: Vec<&str> = text.lines().rev().take(20).collect();
        let last: Vec<&str> = last.into_iter().rev().collect();
        return Err(format!(
            "the collector (cupti-shim) cannot be built; set GPUPROF_SHIM_SO to a libgpuprof.so to do without. Cargo \
             said: {}",
            last.join(" | ")
        ));
    }
    let library = folder.join(target).join("collector/libgpuprof.so");
    if library.is_file() { Ok(library) } else { Err(format!("cargo built no {}", library.display())) }
}
