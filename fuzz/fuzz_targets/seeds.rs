//! Writes the files that a search begins with: `fuzz/corpus/TARGET/*`, one small trace of every kind.

mod shared;

use shared::build::{NsysEra, Story, every_kind, nsys, nvprof};

fn main() -> std::io::Result<()> {
    let story = Story::sample(4).with_ranges();
    let mut seeds = every_kind(&story);
    seeds.push(("nvvp_session", nvprof(&story, 8)));
    seeds.push(("demangle", b"_ZN2at6native18elementwise_kernelILi128ELi2EZNS0_3addEvEUliE_EEviT1_".to_vec()));
    seeds.push(("nsys empty", nsys(&Story::empty(), NsysEra::Of2026)));
    for (kind, bytes) in seeds {
        let target = kind.split(' ').next().unwrap_or(kind);
        // The session's target packs what it is given.
        let target = if kind == "nvvp session" { continue } else { target };
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join(kind.replace(' ', "-")), bytes)?;
    }
    Ok(())
}
