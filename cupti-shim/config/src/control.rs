//! Where a recorded process can be reached while it runs, and what is said there: `docs/control.md`.
//!
//! The collector makes a socket in a folder, `gpuprof ctl` looks for it. Both go by the rules here: which folders there
//! are, which of them are refused, and how a socket is called.

mod folder;

pub use folder::{Folder, Refusal};

use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// Version of the protocol: what requests and answers carry as `gpuprof`.
pub const VERSION: u64 = 1;
/// The longest request, its line feed included. A longer one is refused, and the connection closed.
pub const REQUEST_BYTES: usize = 4096;
/// No answer is longer.
pub const ANSWER_BYTES: usize = 64 << 10;
/// The longest path that fits into the address of a socket, its final zero not counted.
pub const PATH_BYTES: usize = 107;

/// Where sockets are put.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RuntimeDir {
    /// The first of `default_folders` that serves.
    #[default]
    Default,
    /// Nowhere.
    Off,
    /// Sockets are put into this folder.
    Folder(Vec<u8>),
}

impl RuntimeDir {
    /// Reads the value of `GPUPROF_RUNTIME_DIR`.
    ///
    /// # Errors
    /// Fails if the value is not valid. The error says why, as the end of a sentence.
    pub fn parse(value: &[u8]) -> Result<RuntimeDir, String> {
        match value {
            b"off" => Ok(RuntimeDir::Off),
            _ if value.contains(&0) => Err("has a zero byte, which no path has".to_owned()),
            _ => Ok(RuntimeDir::Folder(value.to_vec())),
        }
    }

    /// The folders in which sockets of `uid` are looked for, in that order; `xdg`: the value of `XDG_RUNTIME_DIR`.
    pub fn folders(&self, xdg: Option<&[u8]>, uid: u32) -> Vec<PathBuf> {
        match self {
            RuntimeDir::Off => Vec::new(),
            RuntimeDir::Folder(path) => vec![PathBuf::from(OsStr::from_bytes(path))],
            RuntimeDir::Default => default_folders(xdg, uid),
        }
    }
}

/// `$XDG_RUNTIME_DIR/gpuprof` and `/tmp/gpuprof-UID`: the one where there is a login session, the other elsewhere.
fn default_folders(xdg: Option<&[u8]>, uid: u32) -> Vec<PathBuf> {
    let xdg = xdg.map(|path| Path::new(OsStr::from_bytes(path))).filter(|path| path.is_absolute());
    let xdg = xdg.map(|path| path.join("gpuprof"));
    xdg.into_iter().chain([PathBuf::from(format!("/tmp/gpuprof-{uid}"))]).collect()
}

/// What a socket's name tells: whose it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SocketName {
    /// The process, as it sees itself.
    pub pid: u32,
    /// Inode of the pid namespace in which it has that number: two containers that share a folder both have a pid 1.
    pub pid_namespace: u64,
    /// Something random, for namespaces of two machines that share a folder, and for pids that come again.
    pub random: u64,
}

impl fmt::Display for SocketName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}-{:016x}.sock", self.pid, self.pid_namespace, self.random)
    }
}

impl SocketName {
    /// Reads a file's name; `None`: it is no socket of ours.
    pub fn parse(name: &[u8]) -> Option<SocketName> {
        let text = std::str::from_utf8(name).ok()?.strip_suffix(".sock")?;
        let mut parts = text.split('-');
        let (pid, namespace, random) = (parts.next()?, parts.next()?, parts.next()?);
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        if parts.next().is_some() || !is_number(pid) || !is_number(namespace) || random.len() != 16 {
            return None;
        }
        let random = u64::from_str_radix(random, 16).ok()?;
        Some(SocketName { pid: pid.parse().ok()?, pid_namespace: namespace.parse().ok()?, random })
    }
}

/// The inode in a link such as `pid:[4026531836]`.
pub fn namespace_inode(link: &[u8]) -> Option<u64> {
    let digits = link.strip_prefix(b"pid:[")?.strip_suffix(b"]")?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// How the socket `name` in `folder` is addressed: by its path, or, where that is too long for an address, through the
/// open descriptor `fd` of the folder. `own_proc`: this process's folder in `/proc`.
///
/// None: neither way is short enough.
pub fn address(folder: &Path, name: &str, own_proc: &Path, fd: i32) -> Option<PathBuf> {
    let fits = |path: &PathBuf| path.as_os_str().len() <= PATH_BYTES;
    Some(folder.join(name)).filter(fits).or_else(|| Some(own_proc.join(format!("fd/{fd}/{name}"))).filter(fits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_sockets_read_back_and_others_are_left_alone() {
        let name = SocketName { pid: 1, pid_namespace: 4_026_531_836, random: 0xab };
        assert_eq!(name.to_string(), "1-4026531836-00000000000000ab.sock");
        assert_eq!(SocketName::parse(name.to_string().as_bytes()), Some(name));
        for other in [
            "",
            ".sock",
            "1-2-3.sock",
            "1-2-00000000000000ab.socket",
            "+1-2-00000000000000ab.sock",
            "1-2-00000000000000ab-4.sock",
            "-1-2-00000000000000ab.sock",
            "99999999999-2-00000000000000ab.sock",
            "1-2-00000000000000xy.sock",
        ] {
            assert_eq!(SocketName::parse(other.as_bytes()), None, "{other}");
        }
        assert_eq!(SocketName::parse(b"1-2-00000000000000\xff\xff.sock"), None);
    }

    #[test]
    fn the_folder_is_the_one_that_was_named_or_one_of_two() {
        let folders = |value: &[u8], xdg| RuntimeDir::parse(value).unwrap_or_default().folders(xdg, 7);
        assert_eq!(folders(b"/x", Some(b"/run/user/7")), [Path::new("/x")]);
        assert_eq!(folders(b"off", Some(b"/run/user/7")), [] as [&Path; 0]);
        assert_eq!(
            RuntimeDir::Default.folders(Some(b"/run/user/7"), 7),
            [Path::new("/run/user/7/gpuprof"), Path::new("/tmp/gpuprof-7")]
        );
        for xdg in [None, Some(&b""[..]), Some(b"relative")] {
            assert_eq!(RuntimeDir::Default.folders(xdg, 0), [Path::new("/tmp/gpuprof-0")]);
        }
        assert!(RuntimeDir::parse(b"a\0b").is_err());
    }

    #[test]
    fn a_path_that_is_too_long_goes_through_the_open_folder() {
        let (proc, name) = (Path::new("/proc/self"), "1-2-00000000000000ab.sock");
        assert_eq!(address(Path::new("/run/x"), name, proc, 9), Some(PathBuf::from(format!("/run/x/{name}"))));
        let long = PathBuf::from(format!("/{}", "x".repeat(200)));
        assert_eq!(address(&long, name, proc, 9), Some(PathBuf::from(format!("/proc/self/fd/9/{name}"))));
        assert_eq!(address(&long, &"y".repeat(200), proc, 9), None);
    }

    #[test]
    fn a_namespace_is_a_number_in_a_link() {
        assert_eq!(namespace_inode(b"pid:[4026531836]"), Some(4_026_531_836));
        assert_eq!(namespace_inode(b"net:[4026531836]"), None);
        assert_eq!(namespace_inode(b"pid:[]"), None);
    }
}
