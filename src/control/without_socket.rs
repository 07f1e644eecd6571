//! Processes that should have a control socket and have none, each with the reason.

use super::sockets::chosen_folders;
use crate::os::identity::effective_user;
use shim_config::control::{Folder, RuntimeDir};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// A process without a socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WithoutSocket {
    /// Its pid, as we see it.
    pub pid: u32,
    /// The file name of its program.
    pub name: String,
    /// Its command line.
    pub command: String,
    /// Its rank, by the variables of its launcher.
    pub rank: Option<u32>,
    /// Why it cannot be controlled.
    pub why: String,
}

/// All processes that gpuprof is in, or was meant to be in, but for those in `known` (pids as we see them).
pub fn find(known: &[u32], chosen: &RuntimeDir) -> Vec<WithoutSocket> {
    let searched = chosen_folders(chosen);
    let mut without_socket = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let pid = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok());
        let Some(pid) = pid.filter(|pid| *pid != std::process::id() && !known.contains(pid)) else { continue };
        without_socket.extend(look_at(pid, &entry.path(), &searched));
    }
    without_socket.sort_by_key(|person| person.pid);
    without_socket
}

fn look_at(pid: u32, proc: &Path, searched: &[PathBuf]) -> Option<WithoutSocket> {
    let uid = proc.metadata().ok()?.uid();
    // Empty where we may not read it.
    let environment = fs::read(proc.join("environ")).unwrap_or_default();
    let variables: Vec<(&[u8], &[u8])> = environment
        .split(|b| *b == 0)
        .filter_map(|entry| {
            let equals = entry.iter().position(|b| *b == b'=')?;
            Some((&entry[..equals], &entry[equals + 1..]))
        })
        .collect();
    let var = |name: &str| variables.iter().find(|(n, _)| *n == name.as_bytes()).map(|(_, value)| *value);
    let threads = threads(proc);
    let has_thread = |name: &str| threads.iter().any(|thread| thread == name);
    let maps = fs::read(proc.join("maps")).unwrap_or_default();
    let seen = Seen {
        uid,
        is_ours: uid == effective_user() || effective_user() == 0,
        is_asked_for: is_asked_for(&var),
        is_mapped: mapped(&maps).any(is_collector),
        uses_cuda: mapped(&maps).any(|path| file_name(path).starts_with(b"libcuda.so")),
        records: has_thread("gpuprof-writer"),
        listens: has_thread("gpuprof-ctl"),
        is_disabled: var("GPUPROF_DISABLE").is_some_and(|value| !value.is_empty()),
        is_zombie: state(proc) == Some('Z'),
    };
    let folders = wanted_folders(&var, uid);
    let why = seen.why(&folders, searched)?;
    let rank = shim_config::rank::place(&|name| {
        variables.iter().find(|(n, _)| *n == name).map(|(_, value)| value.to_vec())
    });
    let cmdline = fs::read(proc.join("cmdline")).unwrap_or_default();
    let words = cmdline.split(|b| *b == 0).filter(|word| !word.is_empty()).map(String::from_utf8_lossy);
    let comm = fs::read_to_string(proc.join("comm")).unwrap_or_default();
    let exe = fs::read_link(proc.join("exe")).ok();
    let exe = exe.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
    Some(WithoutSocket {
        pid,
        name: exe.unwrap_or_else(|| comm.trim_end().to_owned()),
        command: words.collect::<Vec<_>>().join(" "),
        rank: rank.rank,
        why,
    })
}

/// What can be seen of a process from outside.
struct Seen {
    uid: u32,
    is_ours: bool,
    is_asked_for: bool,
    is_mapped: bool,
    uses_cuda: bool,
    records: bool,
    listens: bool,
    is_disabled: bool,
    is_zombie: bool,
}

impl Seen {
    /// Why it cannot be controlled. None: nothing to do with gpuprof, or gone.
    fn why(&self, folders: &RuntimeFolders, searched: &[PathBuf]) -> Option<String> {
        if !self.is_asked_for && !self.is_mapped && !self.records || self.is_zombie {
            return None;
        }
        if !self.is_ours {
            return Some(format!("it belongs to another user (uid {})", self.uid));
        }
        if !self.records {
            return Some(match (self.is_disabled, self.is_mapped, self.uses_cuda) {
                (true, ..) => "GPUPROF_DISABLE is set in it".to_owned(),
                (_, _, false) => "it has not used CUDA yet".to_owned(),
                (_, true, true) => "it has no CUDA context yet, or is not recorded".to_owned(),
                (_, false, true) => "gpuprof is not in it, though it was meant to be".to_owned(),
            });
        }
        let others: Vec<&PathBuf> = folders.all.iter().filter(|folder| !searched.contains(folder)).collect();
        if folders.is_off {
            return Some("control is switched off in it (GPUPROF_RUNTIME_DIR=off)".to_owned());
        }
        if let Some(refused) = folders.all.iter().find_map(|folder| refusal(folder, self.uid)) {
            return Some(format!("its folder for sockets was refused: {refused}"));
        }
        if let ([folder], true) = (others.as_slice(), self.listens) {
            return Some(format!("its socket is in another folder: --runtime-dir {}", folder.display()));
        }
        Some(match self.listens {
            true => "its socket is not in the folders that were looked into".to_owned(),
            false => "it has no control socket; what it said when it began tells why".to_owned(),
        })
    }
}

/// The folders that a process would put its socket into.
struct RuntimeFolders {
    all: Vec<PathBuf>,
    is_off: bool,
}

fn wanted_folders<'v>(var: &impl Fn(&str) -> Option<&'v [u8]>, uid: u32) -> RuntimeFolders {
    let chosen = var("GPUPROF_RUNTIME_DIR").filter(|value| !value.is_empty());
    let chosen = chosen.and_then(|value| RuntimeDir::parse(value).ok()).unwrap_or_default();
    RuntimeFolders { all: chosen.folders(var("XDG_RUNTIME_DIR"), uid), is_off: chosen == RuntimeDir::Off }
}

/// Why the process would refuse the folder, judged as it judges.
fn refusal(folder: &Path, uid: u32) -> Option<String> {
    let refusal = Folder::open(folder, Some(uid)).err().filter(|refusal| refusal.is_suspicious())?;
    Some(format!("{} {refusal}", folder.display()))
}

/// Whether variables ask for gpuprof in it.
fn is_asked_for<'v>(var: &impl Fn(&str) -> Option<&'v [u8]>) -> bool {
    let names_us = |value: &[u8]| value.split(|b| matches!(b, b':' | b' ')).any(is_collector);
    ["CUDA_INJECTION64_PATH", "LD_PRELOAD"].iter().any(|name| var(name).is_some_and(names_us))
}

fn is_collector(path: &[u8]) -> bool {
    let name = file_name(path);
    // A compiler that builds gpuprof maps a `libgpuprof-….rlib`.
    name.starts_with(b"libgpuprof") && name.ends_with(b".so")
}

fn file_name(path: &[u8]) -> &[u8] {
    path.rsplit(|b| *b == b'/').next().unwrap_or(path)
}

/// Paths of the files in a table of mappings.
fn mapped(maps: &[u8]) -> impl Iterator<Item = &[u8]> {
    let lines = maps.split(|b| *b == b'\n');
    let paths = lines.filter_map(|line| Some(&line[line.iter().position(|b| *b == b'/')?..]));
    // Of a library that was replaced since.
    paths.map(|path| path.strip_suffix(b" (deleted)").unwrap_or(path))
}

fn threads(proc: &Path) -> Vec<String> {
    let tasks = fs::read_dir(proc.join("task")).into_iter().flatten().flatten();
    tasks
        .filter_map(|task| fs::read_to_string(task.path().join("comm")).ok())
        .map(|name| name.trim_end().to_owned())
        .collect()
}

/// The letter that stands for what a process does: `Z` has ended.
pub(super) fn state(proc: &Path) -> Option<char> {
    let stat = fs::read_to_string(proc.join("stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEEN: Seen = Seen {
        uid: 0,
        is_ours: true,
        is_asked_for: true,
        is_mapped: true,
        uses_cuda: true,
        records: true,
        listens: true,
        is_disabled: false,
        is_zombie: false,
    };

    fn why(seen: Seen, folders: &[&str], is_off: bool) -> Option<String> {
        let all = folders.iter().map(PathBuf::from).collect();
        seen.why(&RuntimeFolders { all, is_off }, &[PathBuf::from("/searched")])
    }

    #[test]
    fn every_process_without_a_socket_gets_its_reason() {
        let says = |seen, word: &str| {
            let why = why(seen, &["/searched"], false).expect(word);
            assert!(why.contains(word), "{why}");
        };
        says(Seen { records: false, uses_cuda: false, is_mapped: false, ..SEEN }, "not used CUDA yet");
        says(Seen { records: false, ..SEEN }, "no CUDA context yet");
        says(Seen { records: false, is_disabled: true, ..SEEN }, "GPUPROF_DISABLE");
        says(Seen { records: false, is_mapped: false, ..SEEN }, "not in it");
        says(Seen { is_ours: false, uid: 7, ..SEEN }, "another user (uid 7)");
        says(Seen { listens: false, ..SEEN }, "no control socket");
        assert!(why(SEEN, &["/else"], false).expect("a reason").contains("--runtime-dir /else"));
        assert!(why(SEEN, &[], true).expect("a reason").contains("switched off"));
        assert_eq!(why(Seen { is_asked_for: false, is_mapped: false, records: false, ..SEEN }, &[], false), None);
        assert_eq!(why(Seen { is_zombie: true, ..SEEN }, &[], false), None);
    }

    #[test]
    fn what_asks_for_us_is_told_from_what_does_not() {
        let asks = |name: &'static str, value: &'static str| {
            is_asked_for(&|n: &str| (n == name).then_some(value.as_bytes()))
        };
        assert!(asks("CUDA_INJECTION64_PATH", "/x/libgpuprof.so"));
        assert!(asks("LD_PRELOAD", "/lib/a.so:/cache/libgpuprof-0123.so /b.so"));
        assert!(!asks("CUDA_INJECTION64_PATH", "/opt/nsys/libToolsInjection64.so"));
        assert!(!asks("LD_PRELOAD", "/x/gpuprof/a.so") && !asks("GPUPROF_OUTPUT", "x"));
        let maps = b"7f00-7f10 r-xp 0 08:01 7    /x/libgpuprof.so (deleted)\n7f20-7f30 rw-p 0 00:00 0 \n7f40-7f50 r--p 0 08:01 8 /t/libgpuprof-1.rlib\n";
        let mapped: Vec<&[u8]> = mapped(maps).collect();
        assert_eq!(mapped, [&b"/x/libgpuprof.so"[..], b"/t/libgpuprof-1.rlib"]);
        assert!(is_collector(mapped[0]) && !is_collector(mapped[1]));
    }
}
