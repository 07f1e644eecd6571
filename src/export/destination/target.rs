//! What the name of an output stands for.
//!
//! Symbolic links are followed: what they lead to is replaced, and the link stays. Devices, named pipes and streams
//! that are open already (`/dev/stdout`, `/dev/fd/3`) are written into, because renaming a file over one of them
//! would leave the machine without it.

use crate::error::{Error, Result};
use std::fs::{self, File, FileType, Metadata, OpenOptions};
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

/// Where an output goes.
pub enum Target {
    /// A file, a folder, or nothing yet; the path is not a symbolic link.
    Ordinary(PathBuf),
    /// Something that is written into and never replaced.
    Node(Node),
}

/// A device, a named pipe, or a stream that is open already.
pub struct Node {
    /// Where to write.
    pub writer: Box<dyn Write + Send>,
    /// What it is, if the system says: a stream may lead to a regular file.
    pub metadata: Option<Metadata>,
    /// Whether people look at it.
    pub is_terminal: bool,
    /// What the user called it.
    pub name: String,
}

/// Symbolic links followed before they are taken for a circle; as many as Linux follows.
const LINKS: usize = 40;

/// What `path` stands for; `-` is the standard output.
///
/// # Errors
/// Fails if what is there can be neither replaced nor written into.
pub fn of(path: &Path) -> Result<Target> {
    if path == Path::new("-") {
        let name = "the standard output".to_owned();
        let is_terminal = io::stdout().is_terminal();
        let metadata = duplicate(io::stdout()).ok().and_then(|file| file.metadata().ok());
        return Ok(Target::Node(Node { writer: Box::new(io::stdout()), metadata, is_terminal, name }));
    }
    let given = path;
    let mut path = path.to_owned();
    for _ in 0..LINKS {
        if let Some(descriptor) = Descriptor::at(&path) {
            let file = descriptor.open(&path).map_err(|e| Error::at(given, e))?;
            return Ok(node(given, file));
        }
        let Ok(metadata) = path.symlink_metadata() else { return ordinary(path) };
        let kind = metadata.file_type();
        if kind.is_symlink() {
            let target = path.read_link().map_err(|e| Error::at(given, format_args!("cannot be followed: {e}")))?;
            path = path.parent().unwrap_or(Path::new("")).join(target);
            continue;
        }
        if kind.is_file() || kind.is_dir() {
            return ordinary(path);
        }
        return special(given, &path, kind);
    }
    Err(Error::at(given, "is a symbolic link that leads in a circle").remedy("name another with -o"))
}

fn ordinary(path: PathBuf) -> Result<Target> {
    if path.file_name().is_none() {
        return Err(Error::at(&path, "is not the name of a file").remedy("name a file or folder with -o"));
    }
    Ok(Target::Ordinary(path))
}

fn special(given: &Path, path: &Path, kind: FileType) -> Result<Target> {
    let refused = |what: &str| {
        Error::at(given, format_args!("is {what}, which an export cannot be written into"))
            .remedy("name a file with -o")
    };
    if kind.is_block_device() {
        return Err(refused("a block device"));
    }
    if kind.is_socket() {
        return Err(refused("a socket"));
    }
    let file = OpenOptions::new().write(true).open(path);
    file.map(|file| node(given, file)).map_err(|e| Error::at(given, format_args!("cannot be written: {e}")))
}

fn node(given: &Path, file: File) -> Target {
    let metadata = file.metadata().ok();
    let is_terminal = file.is_terminal();
    Target::Node(Node { writer: Box::new(file), metadata, is_terminal, name: given.display().to_string() })
}

fn duplicate(stream: impl AsFd) -> io::Result<File> {
    stream.as_fd().try_clone_to_owned().map(File::from)
}

/// A file descriptor that a path in `/proc` stands for; `/dev/stdout` and `/dev/fd` lead there.
#[derive(Debug, PartialEq, Eq)]
struct Descriptor {
    number: u32,
    /// Whether it is one of this process.
    is_own: bool,
}

impl Descriptor {
    fn at(path: &Path) -> Option<Descriptor> {
        let number = path.file_name()?.to_str()?.parse().ok()?;
        let folder = match path.parent()? {
            here if here.as_os_str().is_empty() => Path::new("."),
            parent => parent,
        };
        let folder = folder.canonicalize().ok()?;
        if !folder.starts_with("/proc") || !folder.ends_with("fd") {
            return None;
        }
        let is_own = fs::canonicalize("/proc/self").is_ok_and(|own| folder.starts_with(own));
        Some(Descriptor { number, is_own })
    }

    /// Opens what the descriptor leads to, so that nothing written there before is lost.
    fn open(&self, path: &Path) -> std::result::Result<File, String> {
        let failed = |e: io::Error| format!("cannot be written: {e}");
        match (self.is_own, self.number) {
            // A duplicate shares the place up to which the file is written; opening it again would begin at 0.
            (true, 1) => return duplicate(io::stdout()).map_err(failed),
            (true, 2) => return duplicate(io::stderr()).map_err(failed),
            _ => {}
        }
        if self.is_own && !self.is_for_writing() {
            return Err("is not open for writing".to_owned());
        }
        // At the end of a regular file: what a shell has redirected there begins empty or is to be added to.
        OpenOptions::new().append(true).open(path).map_err(failed)
    }

    /// Whether the program that opened it meant it to be written.
    fn is_for_writing(&self) -> bool {
        let info = fs::read_to_string(format!("/proc/self/fdinfo/{}", self.number)).unwrap_or_default();
        let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
        // The lowest two bits are the way of access, and 0 is reading alone.
        flags.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok()).is_some_and(|flags| flags & 3 != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_open_streams_are_known_as_such() {
        let own = |number| Some(Descriptor { number, is_own: true });
        assert_eq!(Descriptor::at(Path::new("/dev/fd/1")), own(1));
        assert_eq!(Descriptor::at(Path::new("/proc/self/fd/7")), own(7));
        assert!(!Descriptor::at(Path::new("/proc/1/fd/2")).is_some_and(|descriptor| descriptor.is_own));
        assert_eq!(Descriptor::at(Path::new("/tmp/1")), None);
        assert_eq!(Descriptor::at(Path::new("1")), None);
        assert!(matches!(of(Path::new("/dev/stdout")), Ok(Target::Node(_))));
    }

    #[test]
    fn what_is_open_for_reading_alone_is_not_written() {
        use std::os::fd::AsRawFd as _;
        let file = File::open("/proc/self/status").unwrap();
        let path = PathBuf::from(format!("/dev/fd/{}", file.as_raw_fd()));
        let refused = of(&path).map(drop).unwrap_err().to_string();
        assert!(refused.contains("not open for writing"), "{refused}");
    }
}
