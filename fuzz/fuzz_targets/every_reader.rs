//! A reader that is given what may not be its own: the first byte chooses one of all readers, so that a new one is searched
//! without a line here, and what it knows its files by is no hindrance.
#![no_main]

mod shared;

use gpuprof::import::IMPORTERS;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Some((&which, bytes)) = bytes.split_first() {
        shared::ask_of_a_reader(IMPORTERS[usize::from(which) % IMPORTERS.len()], bytes);
    }
});
