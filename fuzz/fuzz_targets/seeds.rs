//! Writes the files that a search begins with: `fuzz/corpus/TARGET/*`. Those of `trace` are the files that the seeded
//! tests damage, of which every reader has at least one (`files_of_every_reader_are_mutated`).

mod shared;

#[path = "../../tests/common/foreign.rs"]
mod foreign;

use shared::build::{NsysEra, Story, every_kind, nsys, nvprof};
use std::path::Path;

fn main() -> std::io::Result<()> {
    let story = Story::sample(4).with_ranges();
    let mut seeds: Vec<(&str, &str, Vec<u8>)> = Vec::new();
    for (kind, bytes) in every_kind(&story).into_iter().chain(foreign::foreign_kinds()) {
        seeds.push(("trace", kind, bytes));
    }
    seeds.push(("trace", "nsys without records", nsys(&Story::empty(), NsysEra::Of2026)));
    // This target packs what it is given.
    seeds.push(("nvvp_session", "nvprof", nvprof(&story, 8)));
    let name = b"_ZN2at6native18elementwise_kernelILi128ELi2EZNS0_3addEvEUliE_EEviT1_".to_vec();
    seeds.push(("demangle", "kernel", name));
    for (target, kind, bytes) in seeds {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join(kind.replace([' ', ','], "-")), bytes)?;
    }
    Ok(())
}
