//! Gives the library a SONAME that the harness writes over: one built file becomes the libcupti of any toolkit.
fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=../tables");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libcupti.so.SIMULATED");
}
