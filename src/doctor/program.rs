//! The program that is to be recorded: which Python it is decides which libcupti is right.

use super::World;
use super::finding::Finding;
use super::world::is_program;
use crate::launch::program::obstacle;
use shim_config::find::Facts;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Read as _;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// A script's interpreter may be a script, but not for ever.
const MOST_INTERPRETERS: usize = 5;

/// Starting a Python from a slow network file system takes seconds.
const PATIENCE: Duration = Duration::from_secs(20);

/// What will run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The file, links resolved.
    pub exe: PathBuf,
    /// The name that it is started by: a virtual environment is known by it.
    pub argv0: OsString,
    /// Whether nobody named it.
    pub is_assumed: bool,
}

impl Program {
    /// The program that `gpuprof doctor -- NAME` means.
    ///
    /// # Errors
    /// Fails if there is no such program. The error says so in words.
    pub fn named(world: &World, name: &OsStr) -> Result<Program, String> {
        let shown = name.to_string_lossy();
        let path = if name.as_bytes().contains(&b'/') {
            world.cwd.join(name)
        } else {
            world.which(name).ok_or_else(|| format!("no program `{shown}` in PATH"))?
        };
        if !path.exists() {
            return Err(format!("no program {shown}"));
        }
        let Some(started_as) = through_interpreters(world, path.clone()) else {
            return Err(format!("{shown}: its interpreter is not to be found"));
        };
        // pyenv and its like put scripts in the way; only Python itself knows which Python they start.
        let is_shim = !is_python(&started_as) && is_python(&path);
        let started_as = if is_shim { asked(world, &path).unwrap_or(started_as) } else { started_as };
        let exe = fs::canonicalize(&started_as).map_err(|e| format!("{}: {e}", started_as.display()))?;
        Ok(Program { exe, argv0: started_as.into_os_string(), is_assumed: false })
    }

    /// The Python that is found first, if there is one: most of what people record is one.
    pub fn assumed(world: &World) -> Option<Program> {
        let name = ["python", "python3"].into_iter().find(|name| world.which(OsStr::new(name)).is_some())?;
        Some(Program { is_assumed: true, ..Program::named(world, OsStr::new(name)).ok()? })
    }

    /// Whether it is a Python.
    pub fn is_python(&self) -> bool {
        is_python(&self.exe)
    }
}

/// What the search for libcupti would look at in a process of `program`, before it has loaded anything.
pub fn facts(world: &World, program: Option<&Program>, driver_version: Option<i32>) -> Facts {
    let env = world.env.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes()));
    Facts {
        mapped: Vec::new(),
        exe: program.map(|p| p.exe.clone()).unwrap_or_default(),
        argv0: program.map(|p| p.argv0.clone()).unwrap_or_default(),
        cwd: world.cwd.clone(),
        root: world.root.clone(),
        driver_version: driver_version.and_then(|version| u32::try_from(version).ok()),
        ..Facts::with_env(env)
    }
}

/// What to say of a program that was named.
pub fn judge(program: &Program) -> Option<Finding> {
    let obstacle = obstacle(&program.exe)?;
    let text = format!("{} {obstacle}: the collector cannot get into it", program.exe.display());
    Some(
        Finding::problem("program", text)
            .help("build it, or start it, so that it loads libraries with your own rights"),
    )
}

fn is_python(path: &Path) -> bool {
    path.file_name()
        .is_some_and(|name| name.as_bytes().starts_with(b"python") || name.as_bytes().starts_with(b"pypy"))
}

/// Follows `#!` lines until there is none.
fn through_interpreters(world: &World, mut path: PathBuf) -> Option<PathBuf> {
    for _ in 0..MOST_INTERPRETERS {
        let Some(line) = interpreter_line(&path) else { return Some(path) };
        let mut words = line.split(|&b| b == b' ' || b == b'\t').filter(|word| !word.is_empty());
        let interpreter = Path::new(OsStr::from_bytes(words.next()?)).to_owned();
        path = if interpreter.file_name() == Some(OsStr::new("env")) {
            // `env -S VAR=value python3 -u`: the first word that is neither an option nor an assignment.
            let name = words.find(|word| !word.starts_with(b"-") && !word.contains(&b'='))?;
            world.which(OsStr::from_bytes(name))?
        } else {
            interpreter
        };
    }
    None
}

/// What stands behind `#!`, if the file begins so.
fn interpreter_line(path: &Path) -> Option<Vec<u8>> {
    let mut start = Vec::new();
    fs::File::open(path).ok()?.take(512).read_to_end(&mut start).ok()?;
    let line = start.strip_prefix(b"#!")?.split(|&b| b == b'\n').next()?;
    Some(line.to_vec())
}

/// Asks a launcher script which Python it starts.
fn asked(world: &World, launcher: &Path) -> Option<PathBuf> {
    let mut command = Command::new(launcher);
    command.args(["-c", "import sys; sys.stdout.write(sys.executable)"]).env_clear().envs(&world.env);
    command.env_remove("LD_PRELOAD").current_dir(&world.cwd).stdin(Stdio::null()).stderr(Stdio::null());
    let mut child = command.stdout(Stdio::piped()).spawn().ok()?;
    let mut out = child.stdout.take()?;
    let (sender, answer) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = out.read_to_end(&mut bytes);
        let _ = sender.send(bytes);
    });
    let answer = answer.recv_timeout(PATIENCE);
    // It has answered and is ending, or never will.
    let _ = child.kill();
    let _ = child.wait();
    let path = PathBuf::from(OsString::from_vec(answer.ok()?));
    (path.is_absolute() && is_program(&path)).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::fixtures::Room;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    fn program(room: &Room, name: &str, content: &str) -> PathBuf {
        let path = room.file(name, content);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("permissions");
        path
    }

    #[test]
    fn a_script_is_its_interpreter_under_the_name_that_starts_it() {
        let mut room = Room::new();
        let python = program(&room, "usr/bin/python3.11", "\x7fELF");
        fs::create_dir_all(room.path("venv/bin")).expect("a folder");
        let inside = room.path("venv/bin/python");
        symlink(&python, &inside).expect("a link");
        let torchrun = format!("#!{}\nimport torch\n", inside.display());
        program(&room, "venv/bin/torchrun", &torchrun);
        room.set("PATH", room.path("venv/bin"));
        let expected = Program { exe: python, argv0: inside.into(), is_assumed: false };
        for name in ["torchrun", "python", "venv/bin/torchrun"] {
            assert_eq!(Program::named(&room.world, name.as_ref()), Ok(expected.clone()), "{name}");
        }
        for line in ["#!/usr/bin/env python\n", "#! /usr/bin/env -S A=b python -u\n"] {
            program(&room, "venv/bin/script", line);
            assert_eq!(Program::named(&room.world, "script".as_ref()), Ok(expected.clone()), "{line}");
        }
    }

    #[test]
    fn a_launcher_that_is_no_python_is_asked() {
        let mut room = Room::new();
        let real = program(&room, "versions/3.12/bin/python3.12", "\x7fELF");
        let shim = format!("#!/bin/sh\nprintf %s {}\n", real.display());
        program(&room, "shims/python3", &shim);
        room.set("PATH", room.path("shims"));
        let found = Program::assumed(&room.world).expect("a Python");
        assert_eq!(found, Program { exe: real.clone(), argv0: real.into(), is_assumed: true });
        assert!(found.is_python());
    }

    #[test]
    fn what_is_not_there_is_said() {
        let mut room = Room::new();
        room.set("PATH", room.path("bin"));
        let missing = Program::named(&room.world, "trainer".as_ref());
        assert_eq!(missing, Err("no program `trainer` in PATH".to_owned()));
        program(&room, "bin/loop", &format!("#!{}\n", room.path("bin/loop").display()));
        let looping = Program::named(&room.world, "loop".as_ref());
        assert_eq!(looping, Err("loop: its interpreter is not to be found".to_owned()));
        assert_eq!(Program::assumed(&room.world), None);
    }
}
