//! What the search looks at, gathered once.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

/// Everything that decides which libcupti is right. Plain data, so that tests can invent machines.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// Files mapped into the process, each once, in the order of their addresses.
    pub mapped: Vec<PathBuf>,
    /// The program, links resolved.
    pub exe: PathBuf,
    /// `argv[0]`: unlike `exe` it still says in which virtual environment a Python was started.
    pub argv0: OsString,
    /// The working folder, for relative paths.
    pub cwd: PathBuf,
    /// Where absolute well-known folders begin: `/`.
    pub root: PathBuf,
    /// What `cuDriverGetVersion` says (12040 for 12.4), if somebody has asked. Else the name of the mapped libcuda
    /// tells the major version.
    pub driver_version: Option<u32>,
    /// The environment values of [`VARIABLES`] that are set and not empty.
    pub env: Vec<(&'static str, OsString)>,
}

/// The environment variables that the search reads.
pub static VARIABLES: &[&str] = &[
    "GPUPROF_CUPTI",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "CUDA_HOME",
    "CUDA_PATH",
    "LD_LIBRARY_PATH",
    "PATH",
    "HOME",
    "PYTHONHOME",
    "PYTHONPATH",
    "PYTHONUSERBASE",
    "PYTHONNOUSERSITE",
];

/// `/proc/thread-self/ENTRY`. `/proc/self` is the main thread, and says nothing any more once that has ended by
/// `pthread_exit` while others go on; kernels before 3.17 and some sandboxes know only that.
pub fn own_proc(entry: &str) -> PathBuf {
    let own = Path::new("/proc/thread-self");
    // Asked by readlink, not by stat: sandboxes know the one from the loader, and may not know statx.
    let own = if fs::read_link(own).is_ok() { own } else { Path::new("/proc/self") };
    own.join(entry)
}

impl Facts {
    /// The facts of the calling process. Reads [`own_proc`]; allocates; takes no lock but the allocator's and, for
    /// the environment, that of Rust's own `std::env`.
    pub fn of_this_process() -> Facts {
        let env: Vec<(OsString, OsString)> = std::env::vars_os().collect();
        Facts::with_env(env.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())))
    }

    /// The facts of the calling process with these environment variables: the collector walks `environ` itself.
    pub fn with_env<'a>(vars: impl Iterator<Item = (&'a [u8], &'a [u8])>) -> Facts {
        let argv0 = fs::read(own_proc("cmdline")).unwrap_or_default();
        let argv0 = argv0.split(|&b| b == 0).next().unwrap_or_default().to_vec();
        Facts {
            mapped: fs::read(own_proc("maps")).map(|maps| mapped_files(&maps)).unwrap_or_default(),
            exe: fs::read_link(own_proc("exe")).unwrap_or_default(),
            argv0: OsString::from_vec(argv0),
            cwd: std::env::current_dir().unwrap_or_default(),
            root: PathBuf::from("/"),
            driver_version: None,
            env: chosen(vars),
        }
    }

    /// The value of one of [`VARIABLES`].
    pub fn var(&self, name: &str) -> Option<&OsStr> {
        self.env.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_os_str())
    }

    /// A variable that names a file or folder, made absolute.
    pub fn path_var(&self, name: &str) -> Option<PathBuf> {
        self.var(name).map(|value| self.cwd.join(value))
    }

    /// A variable that is a list of folders, each made absolute. Empty parts mean the working folder to the loader
    /// and nothing to us: no library is wanted from wherever the user happens to stand.
    pub fn list_var(&self, name: &str) -> Vec<PathBuf> {
        let Some(value) = self.var(name) else { return Vec::new() };
        let parts = value.as_bytes().split(|&b| b == b':').filter(|part| !part.is_empty());
        parts.map(|part| self.cwd.join(OsStr::from_bytes(part))).collect()
    }

    /// The mapped files whose name begins so.
    pub fn mapped_named<'a>(&'a self, beginning: &'a str) -> impl Iterator<Item = &'a Path> {
        let begins =
            move |p: &&PathBuf| p.file_name().is_some_and(|n| n.as_bytes().starts_with(beginning.as_bytes()));
        self.mapped.iter().filter(begins).map(PathBuf::as_path)
    }

    /// Major versions of the CUDA runtimes in the process: those that the program was built for. A runtime that is
    /// linked in statically does not show.
    pub fn runtime_majors(&self) -> Vec<u32> {
        let names = self.mapped_named("libcudart").filter_map(|p| p.file_name()?.to_str());
        let mut majors: Vec<u32> = names.filter_map(|n| Some(super::folder::version_of(n)?.0)).collect();
        majors.sort_unstable();
        majors.dedup();
        majors
    }

    /// The newest CUDA that the driver knows; `None` if unknown.
    pub fn driver_cuda(&self) -> Option<(u32, u32)> {
        if let Some(version) = self.driver_version {
            return Some((version / 1000, version % 1000 / 10));
        }
        let name =
            self.mapped_named("libcuda.so.").find_map(|p| p.file_name()?.to_str()?.strip_prefix("libcuda.so."));
        // `libcuda.so.1` itself tells nothing: WSL, a simulator.
        let release: u32 = name?.split('.').next()?.parse().ok()?;
        let (newest_release, _) = RELEASES.last()?;
        // A release between two branches has the CUDA of the older one; beyond the table nothing is known.
        let (_, cuda) = RELEASES.iter().rev().find(|(first, _)| release >= *first)?;
        (release < newest_release + 5).then_some(*cuda)
    }
}

/// The first driver release of each branch and the CUDA it brought.
static RELEASES: &[(u32, (u32, u32))] = &[
    (450, (11, 0)),
    (455, (11, 1)),
    (460, (11, 2)),
    (465, (11, 3)),
    (470, (11, 4)),
    (495, (11, 5)),
    (510, (11, 6)),
    (515, (11, 7)),
    (520, (11, 8)),
    (525, (12, 0)),
    (530, (12, 1)),
    (535, (12, 2)),
    (545, (12, 3)),
    (550, (12, 4)),
    (555, (12, 5)),
    (560, (12, 6)),
    (565, (12, 7)),
    (570, (12, 8)),
    (575, (12, 9)),
    (580, (13, 0)),
    (590, (13, 1)),
];

fn chosen<'a>(vars: impl Iterator<Item = (&'a [u8], &'a [u8])>) -> Vec<(&'static str, OsString)> {
    let known = |name: &[u8]| VARIABLES.iter().copied().find(|known| known.as_bytes() == name);
    vars.filter(|(_, value)| !value.is_empty())
        .filter_map(|(name, value)| Some((known(name)?, OsString::from_vec(value.to_vec()))))
        .collect()
}

/// The files in the text of `/proc/PID/maps`, each once.
pub fn mapped_files(maps: &[u8]) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = Vec::new();
    // A process with PyTorch and JAX has thousands of lines. Not a HashSet: its seed is a system call.
    let mut seen: BTreeSet<&[u8]> = BTreeSet::new();
    for line in maps.split(|&b| b == b'\n') {
        // Five fields, blanks, then the path up to the end of the line, blanks included.
        let Some(at) = line.iter().position(|&b| b == b'/') else { continue };
        let path = line[at..].strip_suffix(b" (deleted)").unwrap_or(&line[at..]);
        if seen.insert(path) {
            files.push(PathBuf::from(OsString::from_vec(unescaped(path))));
        }
    }
    files
}

/// The kernel writes a line feed in a path as `\012`, and nothing else that way.
fn unescaped(path: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(path.len());
    let mut rest = path;
    while let Some((&first, tail)) = rest.split_first() {
        if let Some(after) = rest.strip_prefix(b"\\012") {
            out.push(b'\n');
            rest = after;
        } else {
            out.push(first);
            rest = tail;
        }
    }
    out
}
