//! nvprof's databases.
#![no_main]

mod shared;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| shared::ask_of_a_file(bytes));
