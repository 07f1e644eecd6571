//! Gives the library a SONAME that the harness writes over.
fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libcudart.so.SIMULATED");
}
