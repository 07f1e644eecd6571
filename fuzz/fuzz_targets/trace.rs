//! A file of any format: its content decides which reader opens it, so one target searches all of them.
#![no_main]

mod shared;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| shared::ask_of_a_file(bytes));
