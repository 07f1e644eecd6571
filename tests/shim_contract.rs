//! What `libgpuprof.so`, and the door in front of it, promise to the programs they are loaded into, seen in the files: what
//! they need, export and ask for, and that they stay. Holds for the libraries that cargo built for the tests and for the
//! portable collector.

// A program of its own, with only these parts of `common`, so that Polars is not linked into it.
#[path = "common/elf.rs"]
mod elf;
#[path = "common/skips.rs"]
mod skips;

use elf::*;
use skips::skip;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The library that is preloaded: the door in front of the collector.
fn door() -> PathBuf {
    let output = Command::new(env!("CARGO_BIN_EXE_gpuprof")).arg("preload-path").output().expect("gpuprof");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    PathBuf::from(String::from_utf8_lossy(&output.stdout).trim_end())
}

/// The collector that the tests preload.
fn built() -> PathBuf {
    let door = door().to_string_lossy().into_owned();
    PathBuf::from(format!("{}.so", door.strip_suffix("_preload.so").expect("a door")))
}

/// The C library's parts and the loader, by the names they have had: before glibc 2.34 they were apart.
const ALLOWED: [&str; 8] = [
    "libc.so.6",
    "libm.so.6",
    "libdl.so.2",
    "libpthread.so.0",
    "librt.so.1",
    "ld-linux-x86-64.so.2",
    "ld-linux-aarch64.so.1",
    "libutil.so.1",
];

/// All that others may call: the driver at `cuInit`, NVTX at its first range, OpenACC and OpenMP runtimes at their
/// beginning.
const EXPORTS: [&str; 4] =
    ["InitializeInjection", "InitializeInjectionNvtx2", "acc_register_library", "ompt_start_tool"];

/// Asked for without a version because they are newer than the glibc it is for: absent ones stay null, and Rust's
/// standard library then does without.
const WEAK: [&str; 9] = [
    "__cxa_thread_atexit_impl",
    "__gmon_start__",
    "_ITM_deregisterTMCloneTable",
    "_ITM_registerTMCloneTable",
    "__cxa_finalize",
    "getrandom",
    "gettid",
    "statx",
    "copy_file_range",
];

/// Everything that holds for each build of it.
fn check(path: &Path) {
    let elf = Elf::read(path);
    let needed = elf.needed();
    let foreign: Vec<&String> = needed.iter().filter(|name| !ALLOWED.contains(&name.as_str())).collect();
    assert!(foreign.is_empty(), "a container may lack {foreign:?}");
    assert!(needed.contains(&"libc.so.6".to_owned()));
    // Mapping it costs every process below a preloaded one 0.1 ms, and nothing that runs here calls it.
    assert!(!cfg!(target_arch = "x86_64") || !needed.contains(&"libm.so.6".to_owned()), "{needed:?}");

    let symbols = elf.symbols();
    let exported: BTreeSet<&str> = symbols.iter().filter(|s| s.defined).map(|s| s.name.as_str()).collect();
    assert_eq!(exported, BTreeSet::from(EXPORTS), "whatever else it exports takes the place of a program's own");
    for symbol in symbols.iter().filter(|symbol| !symbol.defined) {
        let versioned = symbol.version.as_ref().is_some_and(|version| version.starts_with("GLIBC_"));
        assert!(versioned || (symbol.weak && WEAK.contains(&symbol.name.as_str())), "asks for {symbol:?}");
        assert!(
            !symbol.name.starts_with("_Unwind_"),
            "the unwinder is to be linked in, but {symbol:?} is asked for"
        );
        // It must neither end the program nor hear of its end behind the loader's back.
        assert!(
            !["exit", "quick_exit", "on_exit", "system", "setenv", "putenv"].contains(&symbol.name.as_str()),
            "{symbol:?}"
        );
    }

    check_mapping(&elf);
    let segments = elf.segments();
    assert!(segments.iter().any(|s| s.kind == PT_GNU_EH_FRAME), "without it no panic can be caught");
    let tls: u64 = segments.iter().filter(|s| s.kind == PT_TLS).map(|s| s.memory_bytes).sum();
    assert!(tls <= 4096, "{tls} bytes of every thread's memory");
}

/// What holds for whatever is mapped into other people's programs.
fn check_mapping(elf: &Elf) {
    let flags = elf.dynamic(DT_FLAGS_1).unwrap_or(0);
    assert!(
        flags & DF_1_NODELETE != 0,
        "CUDA unloads injection libraries while their threads run: -z nodelete is missing"
    );
    assert_eq!(
        elf.dynamic(DT_FLAGS).unwrap_or(0) & DF_STATIC_TLS,
        0,
        "loaded late, there is no room for static TLS"
    );
    for (tag, name) in [(DT_TEXTREL, "relocations in code"), (DT_RPATH, "an RPATH"), (DT_RUNPATH, "a RUNPATH")] {
        assert_eq!(elf.dynamic(tag), None, "{name}");
    }
    let segments = elf.segments();
    let stack = segments.iter().find(|s| s.kind == PT_GNU_STACK).expect("a word about the stack");
    assert_eq!(stack.flags & 1, 0, "an executable stack, which it would force on the whole program");
    assert!(segments.iter().all(|s| s.kind != PT_LOAD || s.flags & 3 != 3), "code that can be written to");
}

/// What the loader and the kernel do for each library that is mapped costs more than all that the door does itself.
#[test]
fn the_door_is_small_and_loads_on_every_linux_since_glibc_2_17() {
    let elf = Elf::read(&door());
    check_mapping(&elf);
    let needed = elf.needed();
    // GNU's linker names the loader as well, which is always there.
    let others: Vec<&String> = needed.iter().filter(|name| !name.starts_with("ld-linux-")).collect();
    assert_eq!(others, ["libc.so.6"], "each is 0.05 ms in every process");
    let symbols = elf.symbols();
    let exported: BTreeSet<&str> = symbols.iter().filter(|s| s.defined).map(|s| s.name.as_str()).collect();
    assert_eq!(exported, EXPORTS.into_iter().chain(["gpuprof_door_1"]).collect::<BTreeSet<_>>());
    let older = ["__libc_dlopen_mode", "__libc_dlsym"];
    for symbol in symbols.iter().filter(|symbol| !symbol.defined) {
        let name = symbol.name.as_str();
        let versioned = symbol.version.as_ref().is_some_and(|version| version.starts_with("GLIBC_"));
        assert!(versioned || (symbol.weak && (WEAK.contains(&name) || older.contains(&name))), "{symbol:?}");
        assert!(!["malloc", "free", "setenv", "exit"].contains(&name), "{symbol:?}");
        assert!(symbol.weak || !name.starts_with("dl") || name == "dl_iterate_phdr", "in libdl before: {symbol:?}");
    }
    // Linked here, with whatever glibc this machine has, and for all.
    let newest = elf.newest_glibc();
    assert!(newest <= (2, 17), "asks for glibc {}.{}", newest.0, newest.1);
    // With the standard library's reports of panics it would be 300 KiB and 500 relocations.
    let segments = elf.segments();
    let bytes: u64 = segments.iter().filter(|s| s.kind == PT_LOAD).map(|s| s.memory_bytes).sum();
    let limits = (bytes <= 32 << 10, elf.relocations() <= 64);
    assert_eq!(limits, (true, true), "{bytes} bytes, {} relocations", elf.relocations());
    assert!(segments.iter().all(|s| s.kind != PT_TLS), "memory of every thread");
}

#[test]
fn the_library_that_the_tests_preload_keeps_the_contract() {
    check(&built());
}

/// `scripts/check-portable` builds it as it is released, which takes minutes and a linker of 100 MB, and runs this.
#[test]
fn the_portable_library_loads_on_every_linux_since_glibc_2_28() {
    const TEST: &str = "the_portable_library_loads_on_every_linux_since_glibc_2_28";
    let Some(path) = std::env::var_os("GPUPROF_PORTABLE_SO").map(PathBuf::from) else {
        return skip(TEST, "scripts/check-portable builds the portable collector and checks it");
    };
    check(&path);
    let elf = Elf::read(&path);
    let newest = elf.newest_glibc();
    assert!(newest <= (2, 28), "asks for glibc {}.{}", newest.0, newest.1);
    assert!(elf.len_bytes() <= 4 << 20, "{} bytes", elf.len_bytes());
    // It does load, here and now.
    let loaded = Command::new("true").env("LD_PRELOAD", &path).env("GPUPROF_VERBOSE", "3").output().expect("true");
    assert!(loaded.status.success(), "{}", String::from_utf8_lossy(&loaded.stderr));
    assert!(
        !String::from_utf8_lossy(&loaded.stderr).contains("ld.so"),
        "{}",
        String::from_utf8_lossy(&loaded.stderr)
    );
}

/// Every crate that may be linked into other people's programs. A new one is a decision: does it start threads, register
/// exit hooks, or bring in a dozen others? (syn and the like only run while it is built.)
#[rustfmt::skip]
const CRATES: [&str; 43] = [
    "ahash", "bytes", "cfg-if", "chrono", "crc32c", "crossbeam-queue", "crossbeam-utils", "cupti-shim",
    "cupti-sys", "equivalent", "foldhash", "getrandom", "half", "hashbrown", "iana-time-zone", "indexmap",
    "itoa", "libc", "libloading", "libm", "memchr", "num-bigint", "num-integer", "num-traits", "once_cell",
    // pastey makes names while the format is compiled; nothing of it runs.
    "parquet", "pastey", "proc-macro2", "quote", "seq-macro", "serde", "serde_core", "serde_derive", "serde_json",
    "shim-at-load", "shim-config", "syn", "trace-format", "twox-hash", "unicode-ident", "zerocopy", "zerocopy-derive", "zmij",
];

/// The crates that a library is made of; or why cargo cannot say.
fn crates(package: &str) -> Result<BTreeSet<String>, String> {
    let mut command = Command::new(env!("CARGO"));
    command.args([
        "tree",
        "-p",
        package,
        "-e",
        "normal",
        "--offline",
        "--locked",
        "--prefix",
        "none",
        "--format",
        "{p}",
    ]);
    let output = command.current_dir(env!("CARGO_MANIFEST_DIR")).output().expect("cargo");
    if !output.status.success() {
        return Err(format!("cargo tree: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let names = text.lines().filter_map(|line| line.split(' ').next()).filter(|name| !name.is_empty());
    Ok(names.map(str::to_owned).collect())
}

#[test]
fn the_libraries_are_made_of_known_crates() {
    const TEST: &str = "the_libraries_are_made_of_known_crates";
    let (found, door) = match (crates("cupti-shim"), crates("shim-preload")) {
        (Ok(found), Ok(door)) => (found, door),
        (Err(why), _) | (_, Err(why)) => return skip(TEST, &why),
    };
    assert_eq!(door.iter().collect::<Vec<_>>(), ["libc", "shim-at-load", "shim-preload"]);
    let unknown: Vec<&String> = found.iter().filter(|name| !CRATES.contains(&name.as_str())).collect();
    assert!(
        unknown.is_empty(),
        "{unknown:?}: in other people's programs now; add them to the list if that is meant"
    );
    assert!(found.contains("parquet") && found.contains("shim-config"), "{found:?}");
    for forbidden in ["polars", "tokio", "rayon", "clap", "anyhow", "log", "tracing"] {
        assert!(!found.contains(forbidden), "{forbidden}");
    }
}
