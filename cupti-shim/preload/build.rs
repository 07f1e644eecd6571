//! How `libgpuprof_preload.so` is linked: without the standard library's reports of panics, and never unloaded.

use std::path::PathBuf;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Nothing here panics. The table of stack frames alone would bring in the function that unwinds panics, with it all
    // that reports them, and with that 500 relocations (0.2 ms in every process).
    println!("cargo::rustc-cdylib-link-arg=-Wl,--defsym=rust_eh_personality=0");
    // The standard library's request for libgcc_s.so.1 is met by nothing: the linker finds this script before the library.
    if let Some(out) = std::env::var_os("OUT_DIR").map(PathBuf::from)
        && std::fs::write(out.join("libgcc_s.so"), "INPUT(-lgcc_eh -lgcc -lc)\n").is_ok()
    {
        println!("cargo::rustc-link-search=native={}", out.display());
    }
    // The loader's name of this file is kept, and the driver unloads what it was given.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    if std::env::var("PROFILE").is_ok_and(|profile| profile == "release") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,--strip-all");
    }
}
