//! The traces of a process and its children, by what `/proc` says of them.

use crate::error::{Error, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use trace_format::header::MAGIC;
use trace_format::read::TraceReader;

/// A file that a process holds open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenFile {
    /// What `/proc/PID/fd` says: the path, or for a file that was made without a name a place where it no longer is.
    pub link: PathBuf,
    /// Device and inode.
    pub identity: (u64, u64),
    /// The link itself, through which the file can be opened.
    pub through: PathBuf,
}

/// The regular files that the process of `folder` (`/proc/PID`) holds open.
///
/// # Errors
/// Fails if the process has ended, or if this user may not look at it.
pub fn open_files(folder: &Path) -> io::Result<Vec<OpenFile>> {
    let mut files = Vec::new();
    for entry in folder.join("fd").read_dir()? {
        let through = entry?.path();
        // Between the two calls the program may close it.
        let (Ok(metadata), Ok(link)) = (fs::metadata(&through), fs::read_link(&through)) else { continue };
        if metadata.is_file() {
            files.push(OpenFile { link, identity: (metadata.dev(), metadata.ino()), through });
        }
    }
    Ok(files)
}

/// What is known of a process's traces.
#[derive(Debug, Default)]
pub struct ProcessTraces {
    /// Traces of the process and its children.
    pub traces: BTreeSet<PathBuf>,
    /// Whether the process or one of its children was started to be recorded.
    pub is_recorded: bool,
}

/// The traces of process `pid` and its children.
///
/// # Errors
/// Fails if there is no such process, if this user may not look at it, or if gpuprof does not record it.
pub fn traces(pid: u32) -> Result<ProcessTraces> {
    let own = proc_folder(pid);
    if !own.exists() {
        return Err(Error::new(format!("there is no process {pid}"))
            .remedy("name its trace or the folder of its run: those stay when the program ends"));
    }
    let mut found = ProcessTraces::default();
    let family = family(pid);
    for &member in &family {
        let folder = proc_folder(member);
        match open_files(&folder) {
            Ok(files) => found.traces.extend(files.iter().filter_map(trace_of)),
            Err(error) if member == pid && error.kind() == io::ErrorKind::PermissionDenied => {
                return Err(Error::new(format!(
                    "process {pid} belongs to another user: what it holds open cannot be seen"
                ))
                .remedy("run as that user or as root, or name the trace or its folder"));
            }
            Err(_) => {}
        }
        if let Some(place) = output_of(&folder) {
            found.is_recorded = true;
            found.traces.extend(place.into_iter().flat_map(|folder| traces_by_pid(&folder, &family)));
        }
    }
    if found.traces.is_empty() && !found.is_recorded {
        return Err(Error::new(format!(
            "process {pid} is not recorded by gpuprof: neither it nor a child of it holds a trace open"
        ))
        .remedy("start it with `gpuprof record -- PROGRAM`, or name a trace"));
    }
    Ok(found)
}

fn proc_folder(pid: u32) -> PathBuf {
    PathBuf::from(format!("/proc/{pid}"))
}

/// The process and all that descend from it.
fn family(pid: u32) -> BTreeSet<u32> {
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for entry in Path::new("/proc").read_dir().into_iter().flatten().flatten() {
        let Some(child) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        // The name stands in brackets and may hold anything; behind it come the state and the parent.
        let parent =
            stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1)?.parse::<u32>().ok());
        if let Some(parent) = parent {
            children.entry(parent).or_default().push(child);
        }
    }
    let mut family = BTreeSet::from([pid]);
    let mut open = vec![pid];
    while let Some(parent) = open.pop() {
        for &child in children.get(&parent).into_iter().flatten() {
            if family.insert(child) {
                open.push(child);
            }
        }
    }
    family
}

/// The path of an open file that is a trace. Traces are made without a name and get one when they are whole, which
/// `/proc` does not learn: `FOLDER/#1234 (deleted)`.
fn trace_of(file: &OpenFile) -> Option<PathBuf> {
    let is_trace = |path: &Path| path.extension().is_some_and(|e| e == "gpuprof");
    let same = |path: &Path| path.metadata().is_ok_and(|m| (m.dev(), m.ino()) == file.identity);
    if is_trace(&file.link) && same(&file.link) {
        return Some(file.link.clone());
    }
    let mut head = [0; MAGIC.len()];
    let mut opened = fs::File::open(&file.through).ok()?;
    io::Read::read_exact(&mut opened, &mut head).ok()?;
    if head != MAGIC {
        return None;
    }
    let folder = file.link.parent()?;
    let entries = folder.read_dir().ok()?;
    entries.flatten().map(|entry| entry.path()).find(|path| is_trace(path) && same(path))
}

/// Whether the process was started to be recorded, and where its traces would go as far as that is a folder.
fn output_of(folder: &Path) -> Option<Option<PathBuf>> {
    let environment = fs::read(folder.join("environ")).ok()?;
    let value = |name: &str| {
        environment.split(|b| *b == 0).find_map(|line| {
            line.strip_prefix(name.as_bytes())?.strip_prefix(b"=").map(|v| OsString::from_vec(v.to_vec()))
        })
    };
    let is_ours = |path: OsString| {
        let name = Path::new(&path).file_name().map(OsStr::as_bytes).unwrap_or_default().to_owned();
        name.starts_with(b"libgpuprof") && name.ends_with(b".so")
    };
    let injected = value("CUDA_INJECTION64_PATH").is_some_and(is_ours);
    let preloaded = value("LD_PRELOAD").is_some_and(|list| {
        list.as_bytes().split(|b| matches!(b, b':' | b' ')).any(|entry| is_ours(OsString::from_vec(entry.to_vec())))
    });
    if !injected && !preloaded {
        return None;
    }
    let template = value("GPUPROF_OUTPUT");
    let place = template.and_then(|template| {
        let parent = Path::new(&template).parent()?.to_owned();
        // Placeholders in folders differ from process to process; a doubled sign is one.
        let bytes = parent.as_os_str().as_bytes();
        let plain = String::from_utf8_lossy(bytes).replace("%%", "");
        (!plain.contains('%')).then(|| PathBuf::from(String::from_utf8_lossy(bytes).replace("%%", "%")))
    });
    Some(place.filter(|place| place.is_absolute()))
}

/// The traces in `folder` that say to be of one of these processes.
fn traces_by_pid(folder: &Path, family: &BTreeSet<u32>) -> Vec<PathBuf> {
    let paths = folder.read_dir().into_iter().flatten().flatten().map(|entry| entry.path());
    let of_family = |path: &PathBuf| {
        let Ok(reader) = TraceReader::open(path) else { return false };
        let pid = reader.process().and_then(|p| p.get("pid").and_then(serde_json::Value::as_u64));
        pid.is_some_and(|pid| family.iter().any(|&member| u64::from(member) == pid))
    };
    paths.filter(|path| path.extension().is_some_and(|e| e == "gpuprof")).filter(of_family).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_family_has_us_and_our_children() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().expect("a child");
        let family = family(std::process::id());
        let (own, its) = (family.contains(&std::process::id()), family.contains(&child.id()));
        let _ = child.kill();
        let _ = child.wait();
        assert!(own && its);
    }

    #[test]
    fn a_process_that_is_not_recorded_or_not_there_is_said() {
        let mut child = std::process::Command::new("sleep").arg("60").env_clear().spawn().expect("a child");
        let not_recorded = traces(child.id()).map(drop).map_err(|e| e.to_string());
        let _ = child.kill();
        let _ = child.wait();
        let gone = traces(child.id()).map(drop).map_err(|e| e.to_string());
        assert!(not_recorded.as_ref().is_err_and(|e| e.contains("not recorded by gpuprof")), "{not_recorded:?}");
        assert!(gone.as_ref().is_err_and(|e| e.contains("there is no process")), "{gone:?}");
    }
}
