//! How `libgpuprof.so` is linked: against the C library and the loader alone, and never unloaded.

use std::path::PathBuf;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let Some(out) = std::env::var_os("OUT_DIR").map(PathBuf::from) else { return };
    // The standard library asks for libgcc_s.so.1, which a container may lack and which programs bring in their own
    // versions. Its unwinder comes from the static archive instead: the linker finds this script before the library.
    let script = out.join("libgcc_s.so");
    if std::fs::write(&script, "INPUT(-lgcc_eh -lgcc -lc)\n").is_ok()
        && std::env::var_os("GPUPROF_LINKED_BY_ZIG").is_none()
    {
        println!("cargo::rustc-link-search=native={}", out.display());
    }
    // CUPTI, the driver and exit handlers keep pointers into us for good. CUDA unloads injection libraries.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    // What the release program carries has no symbols. (`strip` of the profile reaches no package that has an
    // optimisation level of its own.)
    if std::env::var("PROFILE").is_ok_and(|profile| profile == "release") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,--strip-all");
    }
}
