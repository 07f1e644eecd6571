//! What a program is, and what would keep the collector out of it.

use crate::os::disk::has_capabilities;
use crate::os::identity::{real_group, real_user};
use std::ffi::OsStr;
use std::fmt;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

/// ELF's number of the machine that this gpuprof is for.
pub const OUR_MACHINE: u16 = if cfg!(target_arch = "aarch64") { 183 } else { 62 };

/// Why the collector cannot get into a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// It loads no libraries.
    Static,
    /// It is for 32-bit machines.
    ThirtyTwoBit,
    /// It is for another machine, and emulated.
    OtherMachine,
    /// It runs with somebody else's rights, so the loader ignores what we ask.
    Privileged,
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Obstacle::Static => "is linked statically and loads no libraries",
            Obstacle::ThirtyTwoBit => "is a 32-bit program",
            Obstacle::OtherMachine => "is a program for another kind of machine",
            Obstacle::Privileged => "runs with other rights than yours (setuid or file capabilities)",
        })
    }
}

/// The file that running `command` would run, if there is one: as the shell and `execvp` find it.
pub fn find(command: &OsStr, search: Option<&OsStr>) -> Option<PathBuf> {
    if command.as_bytes().contains(&b'/') {
        return Some(PathBuf::from(command));
    }
    // What execvp takes without a PATH.
    let search = search.unwrap_or(OsStr::new("/bin:/usr/bin"));
    let folders = search.as_bytes().split(|b| *b == b':').map(OsStr::from_bytes);
    let candidates =
        folders.map(|folder| Path::new(if folder.is_empty() { OsStr::new(".") } else { folder }).join(command));
    candidates.into_iter().find(|path| path.metadata().is_ok_and(|m| m.is_file() && m.mode() & 0o111 != 0))
}

/// What would keep the collector out of the program at `path`; a script is as good as its interpreter.
pub fn obstacle(path: &Path) -> Option<Obstacle> {
    let mut path = path.to_owned();
    // A script may name a script.
    for _ in 0..4 {
        let file = File::open(&path).ok()?;
        let mut head = [0; 256];
        let read = file.read_at(&mut head, 0).ok()?;
        match interpreter(&head[..read]) {
            Some(next) => path = next,
            None => return if is_privileged(&path) { Some(Obstacle::Privileged) } else { elf_obstacle(file) },
        }
    }
    None
}

/// The program that a script names in its first line.
fn interpreter(head: &[u8]) -> Option<PathBuf> {
    let line = head.strip_prefix(b"#!")?.split(|b| *b == b'\n').next()?;
    let mut words = line.split(|b| matches!(b, b' ' | b'\t')).filter(|word| !word.is_empty());
    let first = OsStr::from_bytes(words.next()?);
    if Path::new(first).file_name() == Some(OsStr::new("env")) {
        let name = words.find(|word| !word.starts_with(b"-") && !word.contains(&b'='))?;
        return find(OsStr::from_bytes(name), std::env::var_os("PATH").as_deref());
    }
    Some(PathBuf::from(first))
}

fn is_privileged(path: &Path) -> bool {
    let Ok(found) = path.metadata() else { return false };
    // Only a change of identity makes the loader careful: root running a setuid-root program is root as before.
    let setuid = found.mode() & libc::S_ISUID != 0 && found.uid() != real_user();
    let setgid =
        found.mode() & libc::S_ISGID != 0 && found.mode() & libc::S_IXGRP != 0 && found.gid() != real_group();
    setuid || setgid || (real_user() != 0 && has_capabilities(path))
}

fn elf_obstacle(mut file: File) -> Option<Obstacle> {
    let mut head = [0; 64];
    file.read_exact(&mut head).ok()?;
    if !head.starts_with(b"\x7fELF") {
        return None;
    }
    if head[4] != 2 {
        return Some(Obstacle::ThirtyTwoBit);
    }
    let half = |at: usize| u16::from_le_bytes([head[at], head[at + 1]]);
    if head[5] != 1 || half(18) != OUR_MACHINE {
        return Some(Obstacle::OtherMachine);
    }
    let table = u64::from_le_bytes(head[32..40].try_into().ok()?);
    let (entry_bytes, entries) = (u64::from(half(54)), u64::from(half(56)));
    for i in 0..entries {
        let mut kind = [0; 4];
        let at = table.checked_add(i.checked_mul(entry_bytes)?)?;
        file.read_exact_at(&mut kind, at).ok()?;
        // PT_INTERP: it names a loader.
        if u32::from_le_bytes(kind) == 3 {
            return None;
        }
    }
    Some(Obstacle::Static)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    fn file(name: &str, bytes: &[u8], mode: u32) -> PathBuf {
        let path = std::env::temp_dir().join(format!("gpuprof-program-{name}-{}", std::process::id()));
        fs::write(&path, bytes).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    /// A program for this machine whose only segment is of `kind`.
    fn elf(class: u8, machine: u16, kind: u32) -> Vec<u8> {
        let mut bytes = vec![0; 64];
        bytes[..6].copy_from_slice(&[0x7f, b'E', b'L', b'F', class, 1]);
        bytes[18..20].copy_from_slice(&machine.to_le_bytes());
        bytes[32] = 64;
        bytes[54] = 56;
        bytes[56] = 1;
        bytes.extend(kind.to_le_bytes());
        bytes.resize(64 + 56, 0);
        bytes
    }

    #[test]
    fn obstacles_are_seen_in_the_file() {
        for (name, bytes, expected) in [
            ("dynamic", elf(2, OUR_MACHINE, 3), None),
            ("static", elf(2, OUR_MACHINE, 1), Some(Obstacle::Static)),
            ("narrow", elf(1, 3, 3), Some(Obstacle::ThirtyTwoBit)),
            ("foreign", elf(2, 243, 3), Some(Obstacle::OtherMachine)),
            ("text", b"hello".to_vec(), None),
            ("empty", Vec::new(), None),
            ("cut", elf(2, OUR_MACHINE, 1)[..64].to_vec(), None),
        ] {
            let path = file(name, &bytes, 0o755);
            assert_eq!(obstacle(&path), expected, "{name}");
            let script = file(&format!("{name}-script"), format!("#! {} -x\n", path.display()).as_bytes(), 0o755);
            assert_eq!(obstacle(&script), expected, "{name} by a script");
            fs::remove_file(path).unwrap();
            fs::remove_file(script).unwrap();
        }
        assert_eq!(obstacle(Path::new("/absent")), None);
    }

    #[test]
    fn a_script_that_names_itself_is_no_endless_loop() {
        let path = file("loop", b"", 0o755);
        fs::write(&path, format!("#!{}\n", path.display())).unwrap();
        assert_eq!(obstacle(&path), None);
        fs::remove_file(path).unwrap();
    }

    #[test]
    fn env_in_a_first_line_is_followed() {
        let sh = find(OsStr::new("sh"), std::env::var_os("PATH").as_deref());
        assert_eq!(interpreter(b"#!/usr/bin/env sh\n"), sh);
        assert_eq!(interpreter(b"#!/usr/bin/env -S A=b sh -e\n"), sh);
        assert_eq!(interpreter(b"#!/bin/bash"), Some(PathBuf::from("/bin/bash")));
        assert_eq!(interpreter(b"\x7fELF"), None);
        assert_eq!(interpreter(b"#!\n"), None);
    }

    #[test]
    fn the_search_is_that_of_the_shell() {
        let here = std::env::temp_dir().join(format!("gpuprof-search-{}", std::process::id()));
        fs::create_dir_all(here.join("a")).unwrap();
        fs::create_dir_all(here.join("b/tool")).unwrap();
        fs::write(here.join("a/tool"), "").unwrap();
        let search = |names: &[&str]| {
            let folders: Vec<String> = names.iter().map(|n| here.join(n).display().to_string()).collect();
            find(OsStr::new("tool"), Some(OsStr::new(&folders.join(":"))))
        };
        assert_eq!(search(&["a", "b"]), None, "not executable, and a folder");
        fs::set_permissions(here.join("a/tool"), fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(search(&["absent", "b", "a"]), Some(here.join("a/tool")));
        assert_eq!(find(OsStr::new("./x"), None), Some(PathBuf::from("./x")));
        fs::remove_dir_all(here).unwrap();
    }
}
