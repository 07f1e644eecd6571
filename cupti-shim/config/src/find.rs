//! Which libcupti to load: the candidates in order, each with the reason for its place.
//!
//! 1. What is already mapped. A second file of a mapped SONAME is never loaded: two copies fight for the one
//!    subscriber slot.
//! 2. `GPUPROF_CUPTI`.
//! 3. The copy that this Python would load: of PyTorch, of NVIDIA's wheels, of conda ([`python`] says why).
//! 4. Beside the CUDA runtime in the process.
//! 5. `$CUDA_HOME`, `$CUDA_PATH`.
//! 6. Toolkits in the usual places, newest first.
//! 7. What the loader finds under the known SONAMEs.
//!
//! Within one place those made for the program's CUDA runtime come first, then newest first. What cannot work
//! (CUPTI newer than the driver by a major version) or would break the program is left out and named in
//! [`FoundLibraries::skipped`]. Whether a candidate accepts this driver and GPU is for CUPTI to say: callers try in order.
//!
//! The search runs once, on the thread that calls `cuInit`. It may allocate, and only looks at the file system.

pub mod elf;
pub mod facts;
pub mod folder;
pub mod python;

pub use facts::{Facts, own_proc};
use folder::{Library, version_of};
use python::Python;
use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// The SONAMEs that the loader is asked for, newest first.
pub static SONAMES: &[&str] = &["libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8"];

#[cfg(target_arch = "aarch64")]
const TARGET: &str = "sbsa-linux";
#[cfg(not(target_arch = "aarch64"))]
const TARGET: &str = "x86_64-linux";

/// Why a candidate stands where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The program has loaded it already; take it with `RTLD_NOLOAD`.
    Mapped,
    /// `GPUPROF_CUPTI` names it.
    Asked,
    /// PyTorch of this Python loads it.
    Torch,
    /// It lies among the packages of this Python, or in the environment of conda.
    Python,
    /// It belongs to the CUDA runtime in the process.
    BesideRuntime,
    /// `CUDA_HOME` or `CUDA_PATH` leads to it.
    CudaHome,
    /// It belongs to a toolkit in one of the usual places.
    Toolkit,
    /// The dynamic loader finds it by its SONAME.
    Loader,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Why::Mapped => "already loaded by the program",
            Why::Asked => "named by GPUPROF_CUPTI",
            Why::Torch => "the copy that this Python's PyTorch loads",
            Why::Python => "among the packages of this Python",
            Why::BesideRuntime => "beside the CUDA runtime of the program",
            Why::CudaHome => "in CUDA_HOME or CUDA_PATH",
            Why::Toolkit => "in an installed toolkit",
            Why::Loader => "found by the dynamic loader",
        })
    }
}

/// One libcupti to try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// A path, or for [`Why::Loader`] and PyTorch without a copy of its own a bare SONAME.
    pub path: PathBuf,
    /// The reason for its place.
    pub why: Why,
    /// Its SONAME: read from the file, else guessed from the name.
    pub soname: Option<String>,
}

/// Why a library that was found is not to be loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Skip {
    /// Another file of the same SONAME is mapped already.
    SonameMapped(PathBuf),
    /// PyTorch will want its own file of this SONAME.
    SonameOfTorch(PathBuf),
    /// Made for a newer major version of CUDA than the driver knows.
    NewerThanDriver(u32),
    /// There is no such file.
    Missing,
}

impl fmt::Display for Skip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Skip::SonameMapped(path) => {
                write!(f, "the program has loaded another file of that name: {}", path.display())
            }
            Skip::SonameOfTorch(path) => write!(f, "PyTorch would break: it needs {}", path.display()),
            Skip::NewerThanDriver(major) => write!(f, "the driver knows CUDA {major} at most"),
            Skip::Missing => f.write_str("there is no libcupti"),
        }
    }
}

/// The answer of [`search`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundLibraries {
    /// Libraries, in the order in which they are tried.
    pub candidates: Vec<Candidate>,
    /// Seen, but not to be loaded.
    pub skipped: Vec<(Candidate, Skip)>,
}

/// The candidates for the process that `facts` describes, best first.
pub fn candidates(facts: &Facts) -> Vec<Candidate> {
    search(facts).candidates
}

/// Like [`candidates`], with what was left out and why.
pub fn search(facts: &Facts) -> FoundLibraries {
    let mut search = Search {
        found: FoundLibraries::default(),
        taken: Vec::new(),
        mapped: Vec::new(),
        reserved: None,
        runtime_majors: facts.runtime_majors(),
        driver_major: facts.driver_cuda().map(|(major, _)| major),
    };
    search.mapped(facts);
    search.asked(facts);
    search.python(facts);
    search.beside_runtime(facts);
    for variable in ["CUDA_HOME", "CUDA_PATH"] {
        if let Some(home) = facts.path_var(variable) {
            search.folders(&toolkit_folders(&home), Why::CudaHome);
        }
    }
    for toolkit in installed_toolkits(&facts.root, facts.driver_cuda()) {
        search.folders(&toolkit_folders(&toolkit), Why::Toolkit);
    }
    let path = facts.list_var("LD_LIBRARY_PATH");
    for soname in search.sonames() {
        search.loader(soname, &path, Why::Loader);
    }
    search.found
}

struct Search {
    found: FoundLibraries,
    /// Files seen so far, links resolved: a second name of one adds nothing.
    taken: Vec<PathBuf>,
    mapped: Vec<Library>,
    /// What PyTorch will load: no other file of its SONAME may come first.
    reserved: Option<Library>,
    runtime_majors: Vec<u32>,
    driver_major: Option<u32>,
}

impl Search {
    fn mapped(&mut self, facts: &Facts) {
        for path in facts.mapped.iter().filter(|p| folder::is_cupti(p)) {
            // Mapped is mapped, even if the file is gone by now.
            let library = Library::at(path).unwrap_or_else(|| Library {
                path: path.clone(),
                real: path.clone(),
                soname: path.file_name().and_then(OsStr::to_str).map(str::to_owned),
            });
            self.taken.push(library.real.clone());
            self.accept(&library, Why::Mapped);
            self.mapped.push(library);
        }
    }

    fn asked(&mut self, facts: &Facts) {
        let Some(asked) = facts.var("GPUPROF_CUPTI") else { return };
        let path = facts.cwd.join(asked);
        let libraries =
            if path.is_dir() { folder::libraries(&path) } else { Library::at(&path).into_iter().collect() };
        if !libraries.is_empty() {
            self.offer(libraries, Why::Asked);
        } else if Path::new(asked).components().count() == 1 && !path.exists() {
            // A bare name is for the loader, as everywhere else.
            self.loader(&asked.to_string_lossy(), &facts.list_var("LD_LIBRARY_PATH"), Why::Asked);
        } else {
            let soname = path.file_name().and_then(OsStr::to_str).map(str::to_owned);
            self.found.skipped.push((Candidate { path, why: Why::Asked, soname }, Skip::Missing));
        }
    }

    fn python(&mut self, facts: &Facts) {
        if let Some(python) = Python::of(facts) {
            let libraries = python.libraries();
            if let Some((major, minor)) = python.torch().and_then(|torch| torch.cuda) {
                let soname = if major >= 12 {
                    format!("libcupti.so.{major}")
                } else {
                    format!("libcupti.so.{major}.{minor}")
                };
                match libraries.iter().find(|library| library.version().is_some_and(|(m, _)| m == major)) {
                    Some(own) => {
                        let own = own.clone();
                        self.offer(vec![own.clone()], Why::Torch);
                        self.reserved = Some(own);
                    }
                    // Containers and distributions build PyTorch against the toolkit of the system.
                    None => self.loader(&soname, &facts.list_var("LD_LIBRARY_PATH"), Why::Torch),
                }
            }
            self.offer(libraries, Why::Python);
        }
        if let Some(conda) = facts.path_var("CONDA_PREFIX") {
            self.folders(&[conda.join("lib"), conda.join("targets").join(TARGET).join("lib")], Why::Python);
        }
    }

    fn beside_runtime(&mut self, facts: &Facts) {
        for runtime in facts.mapped_named("libcudart") {
            let Some(lib) = runtime.parent() else { continue };
            let mut folders = vec![lib.to_owned()];
            // NVIDIA's wheels up to CUDA 12: nvidia/cuda_runtime/lib and nvidia/cuda_cupti/lib.
            folders.extend(lib.ancestors().nth(2).map(|nvidia| nvidia.join("cuda_cupti/lib")));
            // A toolkit: lib64, or targets/x86_64-linux/lib.
            folders.extend(lib.ancestors().nth(1).map(|toolkit| toolkit.join("extras/CUPTI/lib64")));
            folders.extend(lib.ancestors().nth(3).map(|toolkit| toolkit.join("extras/CUPTI/lib64")));
            self.folders(&folders, Why::BesideRuntime);
        }
    }

    fn folders(&mut self, folders: &[PathBuf], why: Why) {
        let libraries = folders.iter().flat_map(|folder| folder::libraries(folder)).collect();
        self.offer(libraries, why);
    }

    /// Takes in what one place holds, that which fits the program's runtime first.
    fn offer(&mut self, mut libraries: Vec<Library>, why: Why) {
        libraries.sort_by_key(|library| !self.fits_runtime(library.version().map(|(major, _)| major)));
        for library in libraries {
            if self.taken.contains(&library.real) {
                continue;
            }
            self.taken.push(library.real.clone());
            match self.objection(&library, why) {
                Some(skip) => self.found.skipped.push((candidate(&library, why), skip)),
                None => self.accept(&library, why),
            }
        }
    }

    fn accept(&mut self, library: &Library, why: Why) {
        self.found.candidates.push(candidate(library, why));
    }

    fn objection(&self, library: &Library, why: Why) -> Option<Skip> {
        let same_soname = |other: &&Library| other.soname == library.soname && library.soname.is_some();
        if let Some(mapped) = self.mapped.iter().find(same_soname) {
            return Some(Skip::SonameMapped(mapped.path.clone()));
        }
        if let Some(own) = self.reserved.iter().find(same_soname) {
            return Some(Skip::SonameOfTorch(own.path.clone()));
        }
        // Whoever names a file gets it tried: the driver's name may mislead us.
        let major = library.version().map(|(major, _)| major)?;
        let newest = self.driver_major.filter(|&newest| major > newest && why != Why::Asked)?;
        Some(Skip::NewerThanDriver(newest))
    }

    fn fits_runtime(&self, major: Option<u32>) -> bool {
        major.is_some_and(|major| self.runtime_majors.contains(&major))
    }

    fn sonames(&self) -> Vec<&'static str> {
        let mut sonames = SONAMES.to_vec();
        sonames.sort_by_key(|soname| !self.fits_runtime(version_of(soname).map(|(major, _)| major)));
        sonames
    }

    /// A bare name: the file, where `LD_LIBRARY_PATH` shows it, else the name for the loader to look up.
    fn loader(&mut self, soname: &str, path: &[PathBuf], why: Why) {
        if let Some(library) = path.iter().find_map(|folder| Library::at(&folder.join(soname))) {
            return self.offer(vec![library], why);
        }
        let library = Library { path: soname.into(), real: soname.into(), soname: Some(soname.to_owned()) };
        // A name that cannot be had is no library that was found: not worth a line in `skipped`.
        if self.objection(&library, why).is_none() && !self.taken.contains(&library.real) {
            self.taken.push(library.real.clone());
            self.accept(&library, why);
        }
    }
}

fn candidate(library: &Library, why: Why) -> Candidate {
    Candidate { path: library.path.clone(), why, soname: library.soname.clone() }
}

/// Where a toolkit keeps libcupti.
fn toolkit_folders(home: &Path) -> [PathBuf; 4] {
    [
        home.join("extras/CUPTI/lib64"),
        home.join("targets").join(TARGET).join("lib"),
        home.join("lib64"),
        home.join("lib"),
    ]
}

/// Installed toolkits, newest first. Those newer than the driver come last: their CUPTI refuses it (error 15), and
/// trying costs a second library in the process.
fn installed_toolkits(root: &Path, driver: Option<(u32, u32)>) -> Vec<PathBuf> {
    let mut toolkits = vec![((0, 0), root.join("opt/cuda"))];
    for entry in std::fs::read_dir(root.join("usr/local")).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if name == "cuda" || name.as_bytes().starts_with(b"cuda-") {
            // `cuda` is a link to the version that the administrator chose.
            let real = std::fs::canonicalize(entry.path()).unwrap_or_else(|_| entry.path());
            let version = [real.file_name(), Some(&name)]
                .into_iter()
                .flatten()
                .find_map(|name| toolkit_version(name.to_str()?.strip_prefix("cuda-")?));
            toolkits.push((version.unwrap_or((0, 0)), entry.path()));
        }
    }
    toolkits.sort_by(|(a, path_a), (b, path_b)| b.cmp(a).then_with(|| path_a.cmp(path_b)));
    toolkits.sort_by_key(|(version, _)| driver.is_some_and(|driver| *version > driver));
    toolkits.into_iter().map(|(_, path)| path).collect()
}

/// `12.8` is (12, 8); `12`, the alternatives link to the newest 12, is (12, 0).
fn toolkit_version(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.split_once('.').unwrap_or((text, "0"));
    Some((major.parse().ok()?, minor.parse().ok()?))
}

#[cfg(test)]
mod tests;
