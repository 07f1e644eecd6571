//! Where `libgpuprof.so` is: named by `GPUPROF_SHIM`, carried inside this program, or beside it.
//!
//! A path that is preloaded must have no space, colon or `$` in it: the loader splits the variable at the first two
//! and expands the third. It must lie on a mount that allows code to run. So the embedded library, and one whose own
//! path will not do, are unpacked into a folder for which all that holds.
//!
//! In front of it there is a door, `libgpuprof_preload.so`, for whoever preloads: a small library that finds the collector
//! beside itself when CUDA asks (decision 025).

use crate::error::{Error, Result};
use crate::os::disk;
use crate::os::identity::effective_user;
use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// The library's name in every place where one looks for it.
pub const FILE_NAME: &str = "libgpuprof.so";

/// The library that `build.rs` had built in, as a raw deflate stream.
#[cfg(gpuprof_embedded_shim)]
static EMBEDDED: Option<&[u8]> = Some(shim_packed::packed!("GPUPROF_EMBEDDED_SHIM"));
#[cfg(not(gpuprof_embedded_shim))]
static EMBEDDED: Option<&[u8]> = None;
/// The door that goes with it, as it is: it is small.
#[cfg(gpuprof_embedded_shim)]
static EMBEDDED_DOOR: Option<&[u8]> = Some(include_bytes!(env!("GPUPROF_EMBEDDED_DOOR")));
#[cfg(not(gpuprof_embedded_shim))]
static EMBEDDED_DOOR: Option<&[u8]> = None;

/// What the environment says about places.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// `GPUPROF_SHIM`.
    pub named: Option<OsString>,
    /// `XDG_CACHE_HOME`.
    pub cache_home: Option<OsString>,
    /// `HOME`.
    pub home: Option<OsString>,
    /// `TMPDIR`.
    pub temporary: Option<OsString>,
    /// Path of this program.
    pub program: Option<PathBuf>,
}

impl Places {
    /// The places that the environment of this process names.
    pub fn here() -> Places {
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        Places {
            named: variable("GPUPROF_SHIM"),
            cache_home: variable("XDG_CACHE_HOME"),
            home: variable("HOME"),
            temporary: variable("TMPDIR"),
            program: std::env::current_exe().ok(),
        }
    }
}

/// The absolute path of the collector, fit for `LD_PRELOAD`.
///
/// # Errors
/// Fails if there is no collector, if the file that was named is not a collector, or if no folder takes the collector
/// that this program carries.
pub fn locate(places: &Places) -> Result<PathBuf> {
    if let Some(named) = &places.named {
        let path = Path::new(named);
        let whole = path.canonicalize().map_err(|e| named_badly(path, &format!("cannot be used: {e}")))?;
        check_library(&whole).map_err(|why| named_badly(path, &why))?;
        return fit(&whole, places);
    }
    if let Some(packed) = EMBEDDED {
        return unpack(&inflated(packed)?, places);
    }
    match beside(places.program.as_deref()) {
        Some(path) => fit(&path, places),
        None => Err(Error::new(format!("this gpuprof carries no collector, and there is no {FILE_NAME} beside it"))
            .remedy("build one with `cargo build --profile collector -p cupti-shim` and name it with GPUPROF_SHIM=/path/libgpuprof.so")),
    }
}

/// What was packed into the program. It takes some milliseconds, and needs no time while a trace is read.
fn inflated(packed: &[u8]) -> Result<Vec<u8>> {
    let mut library = Vec::new();
    flate2::read::DeflateDecoder::new(packed)
        .read_to_end(&mut library)
        .map_err(|e| Error::new(format!("the collector that this gpuprof carries is damaged: {e}")))?;
    Ok(library)
}

/// The absolute path of the library that is to be preloaded: the door in front of the collector, which costs a process
/// less that never calls CUDA, or the collector itself where it has none.
///
/// # Errors
/// As for [`locate`].
pub fn locate_preload(places: &Places) -> Result<PathBuf> {
    let collector = locate(places)?;
    // What is named may lie in a folder that is not ours to write to.
    let carried = EMBEDDED_DOOR.filter(|_| places.named.is_none());
    Ok(door_of(&collector, carried).unwrap_or(collector))
}

/// The door beside a collector. `carried` is put there; else one that is there serves.
fn door_of(collector: &Path, carried: Option<&[u8]>) -> Option<PathBuf> {
    let mut name = collector.file_name()?.as_bytes().strip_suffix(b".so")?.to_vec();
    name.extend(b"_preload.so");
    let door = collector.with_file_name(OsStr::from_bytes(&name));
    let is_there = match carried {
        Some(bytes) => is_ours(&door, bytes) || write_whole(&door, bytes).is_ok(),
        None => check_library(&door).is_ok(),
    };
    is_there.then_some(door)
}

fn named_badly(path: &Path, why: &str) -> Error {
    Error::new(format!("GPUPROF_SHIM={}: {why}", path.display()))
        .remedy("name a libgpuprof.so, or unset the variable to use gpuprof's own")
}

/// Says why the file at `path` cannot be loaded into this machine's programs.
fn check_library(path: &Path) -> std::result::Result<(), String> {
    let mut head = [0; 20];
    let mut file = File::open(path).map_err(|e| format!("cannot be read: {e}"))?;
    if !file.metadata().is_ok_and(|m| m.is_file()) {
        return Err("is not a file".to_owned());
    }
    let read = file.read_exact(&mut head);
    let is_shared_object = read.is_ok() && head.starts_with(b"\x7fELF\x02\x01") && head[16..18] == [3, 0];
    if !is_shared_object {
        return Err("is no 64-bit shared library".to_owned());
    }
    if u16::from_le_bytes([head[18], head[19]]) != super::program::OUR_MACHINE {
        return Err("is a library for another kind of machine".to_owned());
    }
    Ok(())
}

/// Beside the program: where cargo, packages and people put it. The newest counts, since cargo leaves old ones.
fn beside(program: Option<&Path>) -> Option<PathBuf> {
    let folder = program?.parent()?;
    let places = ["", "deps", "../lib/gpuprof", "../lib"].map(|place| folder.join(place).join(FILE_NAME));
    let found = places.into_iter().filter(|path| check_library(path).is_ok());
    found
        .filter_map(|path| Some((path.metadata().ok()?.modified().ok()?, path.canonicalize().ok()?)))
        .max()
        .map(|(_, path)| path)
}

/// Whether the loader takes the path apart.
fn is_plain(path: &Path) -> bool {
    !path.as_os_str().as_bytes().iter().any(|b| matches!(b, b' ' | b':' | b'$' | b'\t' | b'\n'))
}

/// `path`, or a copy of the file in a place that is fit to be preloaded from.
fn fit(path: &Path, places: &Places) -> Result<PathBuf> {
    if is_plain(path) && allows_code(path.parent().unwrap_or(path)) {
        return Ok(path.to_owned());
    }
    let library = fs::read(path).map_err(|e| Error::at(path, format_args!("cannot be read: {e}")))?;
    unpack(&library, places)
}

/// Whether code may run from files in `folder`.
fn allows_code(folder: &Path) -> bool {
    // Where it cannot be told, using the file will tell.
    disk::room(folder).map_or(true, |room| !room.noexec)
}

/// Writes the library into the first folder that takes it. A file that is there already, with these bytes, is used.
fn unpack(library: &[u8], places: &Places) -> Result<PathBuf> {
    let name = format!("libgpuprof-{:016x}.so", fingerprint(library));
    let mut refusals = Vec::new();
    for folder in folders(places) {
        match unpack_into(&folder, &name, library) {
            Ok(path) => return Ok(path),
            Err(why) => refusals.push(format!("{}: {why}", folder.display())),
        }
    }
    Err(Error::new(format!("no folder for the collector: {}", refusals.join("; "))).remedy(
        "set XDG_CACHE_HOME to a folder of yours that allows code to run, without a space or colon in its path",
    ))
}

/// The folders that are tried, in order.
fn folders(places: &Places) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    let absolute = |value: &Option<OsString>| value.as_ref().map(PathBuf::from).filter(|path| path.is_absolute());
    // As the XDG specification has it: a relative XDG_CACHE_HOME counts as not set.
    let cache = absolute(&places.cache_home).or_else(|| absolute(&places.home).map(|home| home.join(".cache")));
    folders.extend(cache.map(|cache| cache.join("gpuprof")));
    let private = format!("gpuprof-{}", effective_user());
    let temporary =
        absolute(&places.temporary).into_iter().chain(["/tmp", "/var/tmp", "/dev/shm"].map(PathBuf::from));
    folders.extend(temporary.map(|folder| folder.join(&private)));
    folders
}

fn unpack_into(folder: &Path, name: &str, library: &[u8]) -> std::result::Result<PathBuf, String> {
    if !is_plain(folder) {
        return Err("has a space, colon or $ in its path, at which the loader would split it".to_owned());
    }
    // For us alone: whoever can write there could have their code run as us.
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(|e| format!("cannot be made: {e}"))?;
    let found = fs::symlink_metadata(folder).map_err(|e| e.to_string())?;
    if !found.is_dir() || (found.uid() != effective_user() && found.uid() != 0) || found.mode() & 0o022 != 0 {
        return Err("belongs to somebody else, or others may write to it".to_owned());
    }
    if !allows_code(folder) {
        return Err("is mounted noexec".to_owned());
    }
    let path = folder.join(name);
    if is_ours(&path, library) {
        return Ok(path);
    }
    write_whole(&path, library).map_err(|e| format!("cannot be written: {e}"))?;
    Ok(path)
}

/// Whether the file is there, ours, and exactly this.
fn is_ours(path: &Path, library: &[u8]) -> bool {
    let fits = |m: &fs::Metadata| {
        m.is_file()
            && (m.uid() == effective_user() || m.uid() == 0)
            && m.mode() & 0o022 == 0
            && m.mode() & 0o500 == 0o500
            && m.len() == library.len() as u64
    };
    fs::symlink_metadata(path).is_ok_and(|m| fits(&m)) && fs::read(path).is_ok_and(|bytes| bytes == library)
}

/// Others may be doing the same at this moment, and running programs have the old file mapped: a new file takes the
/// name in one step.
fn write_whole(path: &Path, library: &[u8]) -> io::Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}", std::process::id()));
    let temporary = PathBuf::from(name);
    let _ = fs::remove_file(&temporary);
    let write = || {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o700).open(&temporary)?;
        file.write_all(library)?;
        file.set_permissions(fs::Permissions::from_mode(0o755))?;
        fs::rename(&temporary, path)
    };
    write().inspect_err(|_| drop(fs::remove_file(&temporary)))
}

/// FNV-1a: only keeps versions apart, the bytes themselves are compared.
fn fingerprint(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}

/// Whether two paths name the same file.
pub fn same_file(a: &OsStr, b: &Path) -> bool {
    let identity = |path: &Path| path.metadata().ok().map(|m| (m.dev(), m.ino()));
    identity(Path::new(a)).is_some_and(|a| Some(a) == identity(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The start of a shared library for this machine, then `tail`.
    fn library(tail: &[u8]) -> Vec<u8> {
        let mut bytes = b"\x7fELF\x02\x01\x01".to_vec();
        bytes.resize(16, 0);
        bytes.extend([3, 0]);
        bytes.extend(super::super::program::OUR_MACHINE.to_le_bytes());
        bytes.extend(tail);
        bytes
    }

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let path = std::env::temp_dir().join(format!("gpuprof-shim-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&path);
            fs::create_dir_all(&path).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
            Folder(path.canonicalize().unwrap())
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn places(folder: &Path) -> Places {
        Places { cache_home: Some(folder.into()), temporary: Some(folder.join("tmp").into()), ..Places::default() }
    }

    #[test]
    fn the_library_is_written_once_and_replaced_when_it_is_not_the_same() {
        let folder = Folder::new("once");
        let path = unpack(&library(b"one"), &places(&folder.0)).unwrap();
        assert!(path.starts_with(folder.0.join("gpuprof")), "{}", path.display());
        let before = path.metadata().unwrap();
        assert_eq!(before.mode() & 0o7777, 0o755);
        assert_eq!(unpack(&library(b"one"), &places(&folder.0)).unwrap(), path);
        assert_eq!(path.metadata().unwrap().ino(), before.ino(), "not written again");
        fs::write(&path, library(b"two")).unwrap();
        assert_eq!(unpack(&library(b"one"), &places(&folder.0)).unwrap(), path);
        assert_eq!(fs::read(&path).unwrap(), library(b"one"));
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "nothing else is left there");
    }

    #[test]
    fn what_was_packed_is_whole_or_said_to_be_damaged() {
        let whole = library(&b"the same again and again ".repeat(1000));
        let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(&whole).unwrap();
        let packed = encoder.finish().unwrap();
        assert!(packed.len() < whole.len() / 10);
        assert_eq!(inflated(&packed).unwrap(), whole);
        assert!(inflated(&packed[..packed.len() / 2]).unwrap_err().to_string().contains("damaged"));
    }

    #[test]
    fn versions_lie_side_by_side() {
        let folder = Folder::new("versions");
        let one = unpack(&library(b"one"), &places(&folder.0)).unwrap();
        let two = unpack(&library(b"two"), &places(&folder.0)).unwrap();
        assert_ne!(one, two);
        assert!(one.exists() && two.exists());
    }

    #[test]
    fn a_cache_with_a_space_in_its_path_is_passed_over() {
        let folder = Folder::new("space");
        let places = Places { cache_home: Some(folder.0.join("my cache").into()), ..places(&folder.0) };
        let path = unpack(&library(b""), &places).unwrap();
        assert!(path.starts_with(folder.0.join("tmp")), "{}", path.display());
        assert_eq!(path.parent().unwrap().metadata().unwrap().mode() & 0o777, 0o700);
    }

    #[test]
    fn a_folder_that_others_may_write_to_is_passed_over() {
        let folder = Folder::new("shared");
        let cache = folder.0.join("gpuprof");
        fs::create_dir(&cache).unwrap();
        fs::set_permissions(&cache, fs::Permissions::from_mode(0o777)).unwrap();
        let path = unpack(&library(b""), &places(&folder.0)).unwrap();
        assert!(path.starts_with(folder.0.join("tmp")), "{}", path.display());
    }

    #[test]
    fn a_named_library_is_checked_and_copied_only_if_it_must_be() {
        let folder = Folder::new("named");
        let file = folder.0.join("libmine.so");
        fs::write(&file, library(b"mine")).unwrap();
        let named = |path: &Path| locate(&Places { named: Some(path.into()), ..places(&folder.0) });
        assert_eq!(named(&file).unwrap(), file);
        let spaced = folder.0.join("with space.so");
        fs::copy(&file, &spaced).unwrap();
        let copy = named(&spaced).unwrap();
        assert!(is_plain(&copy), "{}", copy.display());
        assert_eq!(fs::read(copy).unwrap(), library(b"mine"));
        for (bytes, why) in
            [(b"#!/bin/sh\n".to_vec(), "no 64-bit shared library"), (Vec::new(), "no 64-bit shared library")]
        {
            fs::write(&file, bytes).unwrap();
            let error = named(&file).unwrap_err().to_string();
            assert!(error.contains(why) && error.starts_with("GPUPROF_SHIM="), "{error}");
        }
        let mut other = library(b"");
        other[18] ^= 0xff;
        fs::write(&file, other).unwrap();
        assert!(named(&file).unwrap_err().to_string().contains("another kind of machine"));
        assert!(named(&folder.0.join("absent")).unwrap_err().to_string().contains("cannot be used"));
        assert!(named(&folder.0).unwrap_err().to_string().contains("is not a file"));
    }

    #[test]
    fn the_newest_one_beside_the_program_is_found() {
        let folder = Folder::new("beside");
        let program = folder.0.join("gpuprof");
        assert_eq!(beside(Some(&program)), None);
        fs::create_dir(folder.0.join("deps")).unwrap();
        let (old, new) = (folder.0.join(FILE_NAME), folder.0.join("deps").join(FILE_NAME));
        for path in [&old, &new] {
            fs::write(path, library(b"")).unwrap();
        }
        let past = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
        File::open(&old).unwrap().set_modified(past).unwrap();
        assert_eq!(beside(Some(&program)), Some(new));
    }

    #[test]
    fn a_door_stands_beside_its_collector_or_is_put_there() {
        let folder = Folder::new("door");
        let collector = unpack(&library(b"collector"), &places(&folder.0)).unwrap();
        assert_eq!(door_of(&collector, None), None);
        let door = door_of(&collector, Some(&library(b"door"))).unwrap();
        assert_eq!(
            door.to_str().unwrap().strip_suffix("_preload.so"),
            collector.to_str().unwrap().strip_suffix(".so"),
            "the door finds the collector by that"
        );
        assert_eq!((fs::read(&door).unwrap(), door.metadata().unwrap().mode() & 0o777), (library(b"door"), 0o755));
        assert_eq!(door_of(&collector, None), Some(door.clone()));
        // Another gpuprof's is replaced by ours.
        assert_eq!(door_of(&collector, Some(&library(b"newer"))), Some(door.clone()));
        assert_eq!(fs::read(&door).unwrap(), library(b"newer"));
        // One that is named is left alone, and its door serves if it has one.
        let named = Places { named: Some(collector.clone().into()), ..places(&folder.0) };
        assert_eq!(locate_preload(&named).unwrap(), door);
        fs::remove_file(&door).unwrap();
        assert_eq!(locate_preload(&named).unwrap(), collector);
    }

    #[test]
    fn relative_cache_folders_count_as_not_set() {
        let places =
            Places { cache_home: Some("cache".into()), home: Some("/home/me".into()), ..Places::default() };
        assert_eq!(folders(&places)[0], Path::new("/home/me/.cache/gpuprof"));
        let places = Places::default();
        assert!(folders(&places).iter().all(|f| f.is_absolute()));
    }
}
