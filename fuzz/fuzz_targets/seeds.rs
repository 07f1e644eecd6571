//! Writes the files that a search begins with: `fuzz/corpus/TARGET/*`. Those of `trace` are the files that the seeded
//! tests damage, of which every reader has at least one (`files_of_every_reader_are_mutated`).
//!
//! It is a target as well, which ends before it searches: libraries that libFuzzer counts in do not link without it.
#![no_main]

mod shared;

use gpuprof::import::{Head, IMPORTERS, choose};
use shared::build::{NsysEra, Story, every_kind, native, nsys, nvprof};
use std::path::Path;
use trace_format::tables;

/// A target, what the file is, and its bytes.
type Seed = (&'static str, String, Vec<u8>);

/// Each file of a folder of tables, for the target that has one file in a folder: the first byte says of which format it is,
/// the second of which table.
fn folders(story: &Story, seeds: &mut Vec<Seed>) -> std::io::Result<()> {
    let trace = shared::in_memory("trace");
    std::fs::write(&trace, native(story))?;
    for (number, (_, exporter)) in (0..).zip(shared::FOLDERS) {
        let folder = shared::in_memory(exporter);
        std::fs::create_dir_all(&folder)?;
        shared::exercise::export_folder(&trace, exporter, &folder).map_err(std::io::Error::other)?;
        for entry in std::fs::read_dir(&folder)? {
            let path = entry?.path();
            let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
            let begin = match (0..).zip(tables::ALL).find(|(_, table)| table.name == name) {
                Some((table, _)) => [number, table],
                // The manifest.
                None => [u8::MAX, 0],
            };
            seeds.push(("folder", format!("{exporter} {name}"), [&begin[..], &std::fs::read(&path)?].concat()));
        }
        std::fs::remove_dir_all(&folder)?;
    }
    std::fs::remove_file(&trace)
}

libfuzzer_sys::fuzz_target!(init: write_and_end(), |_bytes: &[u8]| {});

fn write_and_end() {
    write().unwrap_or_else(|error| panic!("the seeds cannot be written: {error}"));
    std::process::exit(0)
}

fn write() -> std::io::Result<()> {
    let story = Story::sample(4).with_ranges();
    let mut seeds: Vec<Seed> = Vec::new();
    for (kind, bytes) in every_kind(&story).into_iter().chain(shared::foreign::foreign_kinds()) {
        seeds.push(("trace", kind.to_owned(), bytes));
    }
    // The first byte says which reader.
    let own = |bytes: &[u8]| {
        let path = shared::in_memory("seed");
        std::fs::write(&path, bytes).ok()?;
        let name = choose(&Head::read(&path).ok()?).ok()?.name();
        IMPORTERS.iter().position(|importer| importer.name() == name)
    };
    let of_readers = seeds.iter().filter_map(|(_, kind, bytes)| {
        let which = u8::try_from(own(bytes)?).ok()?;
        Some(("every_reader", kind.clone(), [&[which], &bytes[..]].concat()))
    });
    let of_readers: Vec<_> = of_readers.collect();
    std::fs::remove_file(shared::in_memory("seed"))?;
    seeds.extend(of_readers);
    folders(&story, &mut seeds)?;
    seeds.push(("trace", "nsys without records".to_owned(), nsys(&Story::empty(), NsysEra::Of2026)));
    // This target packs what it is given.
    seeds.push(("nvvp_session", "nvprof".to_owned(), nvprof(&story, 8)));
    let name = b"_ZN2at6native18elementwise_kernelILi128ELi2EZNS0_3addEvEUliE_EEviT1_".to_vec();
    seeds.push(("demangle", "kernel".to_owned(), name));
    for (target, kind, bytes) in seeds {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join(kind.replace([' ', ','], "-")), bytes)?;
    }
    Ok(())
}
