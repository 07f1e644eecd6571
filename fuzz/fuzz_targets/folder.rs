//! A folder of tables with one file in it. The first byte says of which format the file is, the second of which table; or the
//! file is the manifest.
#![no_main]

mod shared;

use trace_format::tables;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let [format, table, content @ ..] = bytes else { return };
    let folder = shared::in_memory("folder");
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.join(name), bytes).expect("a temporary file");
    match shared::FOLDERS.get(usize::from(*format)) {
        None => write("gpuprof-export.json", content),
        Some((format, _)) => {
            let table = tables::ALL[usize::from(*table) % tables::ALL.len()].name;
            write("table", content);
            write("gpuprof-export.json", shared::manifest(format, table).as_bytes());
        }
    }
    shared::exercise::exercise(&folder, shared::exercise::Depth::Everything);
});
