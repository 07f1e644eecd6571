//! Visual Profiler sessions around a database, so that packing does not hide what is inside.
#![no_main]

mod shared;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| shared::ask_of_a_file(&shared::build::nvvp_session(bytes, 2)));
