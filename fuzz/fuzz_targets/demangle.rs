//! Kernel names.
#![no_main]

use gpuprof::demangle::{Demangling, base_name, demangle};

libfuzzer_sys::fuzz_target!(|name: &[u8]| {
    for how in [Demangling::On, Demangling::Nvprof, Demangling::Off] {
        let _ = base_name(&demangle(name, how));
    }
});
