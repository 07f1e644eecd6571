//! Where traces will go: whether they can be written there, and for how long.

use super::World;
use super::finding::Finding;
use crate::numbers::{BINARY_TO_GIB, size};
use crate::os::disk::{Room, room};
use crate::os::limits::{Resource, soft_limit};
use shim_config::from_env;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// Our own descriptors are numbered from here on, out of the program's way.
const FIRST_DESCRIPTOR: u64 = 64;

/// A minute of a busy training loop writes about this much.
const LITTLE_BYTES: u64 = 1 << 30;

/// What to say of the folder that traces go to: `output`, else that of `GPUPROF_OUTPUT`, else this one.
pub fn judge(world: &World, output: Option<&Path>) -> Vec<Finding> {
    let vars = world.env.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes()));
    let (settings, _) = from_env(vars);
    let folder = output.map_or_else(|| folder_of(world, &settings.output), |folder| world.cwd.join(folder));
    let mut findings = vec![folder_finding(&folder, settings.min_free_percent)];
    if let Some(limit) = soft_limit(Resource::Fsize) {
        let text =
            format!("no file may grow beyond {} (ulimit -f): recording stops there", size(limit, &BINARY_TO_GIB));
        findings.push(
            Finding::note("disk", text)
                .help("`ulimit -f unlimited`, or --size-policy ring with a smaller --size-limit"),
        );
    }
    if let Some(limit) = soft_limit(Resource::Nofile).filter(|&limit| limit <= FIRST_DESCRIPTOR) {
        let text = format!(
            "{limit} open files are allowed (ulimit -n): the collector keeps its own beyond {FIRST_DESCRIPTOR}"
        );
        findings
            .push(Finding::note("disk", text).help("`ulimit -n 1024`, else it takes a number among the program's"));
    }
    findings
}

/// The folder of an output template, up to the first part that is not known yet.
fn folder_of(world: &World, template: &[u8]) -> PathBuf {
    let known = template.split(|&b| b == b'%').next().unwrap_or_default();
    match known.iter().rposition(|&b| b == b'/') {
        None => world.cwd.clone(),
        Some(0) => PathBuf::from("/"),
        Some(at) => world.cwd.join(OsStr::from_bytes(&known[..at])),
    }
}

fn folder_finding(folder: &Path, min_free_percent: u64) -> Finding {
    let shown = folder.display();
    // A folder that does not exist yet is made; what counts is where.
    let Some(there) = folder.ancestors().find(|f| f.is_dir()) else {
        return Finding::problem("disk", format!("{shown}: there is no such folder"))
            .help("choose another place with -o");
    };
    let room = match room(there) {
        Ok(room) => room,
        Err(e) => return Finding::problem("disk", format!("{shown}: {e}")).help("choose another place with -o"),
    };
    if let Err(e) = write_test(there) {
        let why = if room.read_only { "the file system is read-only".to_owned() } else { e.to_string() };
        return Finding::problem("disk", format!("{shown} cannot be written to: {why}"))
            .help("choose another place with -o, or set GPUPROF_OUTPUT");
    }
    space(folder, room, min_free_percent)
}

fn space(folder: &Path, room: Room, min_free_percent: u64) -> Finding {
    let shown = folder.display();
    let percent =
        if room.total_bytes == 0 { 100 } else { u128::from(room.free_bytes) * 100 / u128::from(room.total_bytes) };
    let text = format!("{shown}: {} free ({percent} %)", size(room.free_bytes, &BINARY_TO_GIB));
    if percent < u128::from(min_free_percent) {
        return Finding::problem("disk", format!("{text}; recording stops below {min_free_percent} %"))
            .help("make room, choose another place with -o, or lower GPUPROF_MIN_FREE_PERCENT");
    }
    if room.free_bytes < LITTLE_BYTES {
        return Finding::note("disk", format!("{text}, which a busy program fills within minutes"))
            .help("make room, or keep only the newest part with --size-limit and --size-policy ring");
    }
    Finding::ok("disk", text)
}

/// Makes a file and removes it again.
fn write_test(folder: &Path) -> io::Result<()> {
    let path = folder.join(format!(".gpuprof-doctor-{}", std::process::id()));
    fs::File::create_new(&path)?;
    fs::remove_file(&path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::finding::Level;
    use crate::doctor::fixtures;

    const GIB: u64 = 1 << 30;

    #[test]
    fn room_decides() {
        let level = |free_bytes, total_bytes| {
            let room = Room { free_bytes, total_bytes, noexec: false, read_only: false };
            space(Path::new("/x"), room, 5).level
        };
        assert_eq!(level(500 * GIB, 1000 * GIB), Level::Ok);
        assert_eq!(level(40 * GIB, 1000 * GIB), Level::Problem, "recording would stop at once");
        assert_eq!(level(GIB / 2, 2 * GIB), Level::Note);
        assert_eq!(level(u64::MAX, u64::MAX), Level::Ok);
        assert_eq!(level(0, 0), Level::Note, "a file system that does not tell");
    }

    #[test]
    fn the_folder_is_that_of_the_template() {
        let room = fixtures::Room::new();
        let folder = |template: &str| folder_of(&room.world, template.as_bytes());
        assert_eq!(folder("gpuprof-%n-%p.gpuprof"), room.world.cwd);
        assert_eq!(folder("/scratch/%h/%p.gpuprof"), PathBuf::from("/scratch"));
        assert_eq!(folder("/scratch/run-%h/%p.gpuprof"), PathBuf::from("/scratch"));
        assert_eq!(folder("/%p.gpuprof"), PathBuf::from("/"));
        assert_eq!(folder("out/trace.gpuprof"), room.world.cwd.join("out"));
    }

    #[test]
    fn a_folder_that_cannot_be_written_to_is_a_problem() {
        let room = fixtures::Room::new();
        let findings = judge(&room.world, Some(Path::new("/proc")));
        assert_eq!(findings[0].level, Level::Problem, "{findings:?}");
        assert!(findings[0].text.starts_with("/proc cannot be written to"), "{findings:?}");
        room.file("file", "");
        let not_yet = judge(&room.world, Some(Path::new("new/deeper")));
        assert_ne!(not_yet[0].level, Level::Problem, "{not_yet:?}");
        assert_eq!(fs::read_dir(room.path("")).expect("a folder").count(), 1, "nothing is left behind");
    }
}
