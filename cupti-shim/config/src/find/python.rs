//! Which libcupti the Python in this process would load, had it imported PyTorch already.
//!
//! A foreign `libcupti.so.12` that is mapped first satisfies the NEEDED entry of PyTorch, which then dies for want
//! of a symbol. This was seen when CUPTI 12.1 was mapped before a program that is linked against CUPTI 12.8. MPI, CuPy
//! and numba call `cuInit` before anybody imports torch, so the site-packages are looked through instead.

use super::facts::Facts;
use super::folder::{self, Library};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// What is known about the Python in the process.
#[derive(Clone, Debug, Default)]
pub struct Python {
    /// Folders that hold packages, in the order of `sys.path`.
    pub sites: Vec<PathBuf>,
    /// Installation prefixes: `PREFIX/lib` is where conda puts libraries.
    pub prefixes: Vec<PathBuf>,
    /// The sites without links: `lib64` is one to `lib` as a rule.
    real_sites: Vec<PathBuf>,
}

/// A PyTorch that is installed in one of the sites.
#[derive(Clone, Debug)]
pub struct Torch {
    /// `…/site-packages/torch`.
    pub folder: PathBuf,
    /// From `torch/version.py`: (12, 8). `None` for builds without CUDA.
    pub cuda: Option<(u32, u32)>,
}

impl Python {
    /// The Python of these facts; `None` if the process is no Python.
    pub fn of(facts: &Facts) -> Option<Python> {
        let stem = facts.exe.file_name().unwrap_or_default().as_bytes();
        let embedded = facts.mapped_named("libpython3").next().is_some();
        if !(stem.starts_with(b"python") || stem.starts_with(b"pypy") || embedded) {
            return None;
        }
        let version = version_in(facts.exe.file_name()).or_else(|| {
            let mut names = facts.mapped_named("libpython3");
            names.find_map(|path| version_in(path.file_name()))
        });
        let mut python = Python::default();
        // What is mapped from a site-packages folder proves that the folder is used.
        for path in &facts.mapped {
            if let Some(site) = site_of(path) {
                python.add_site(site);
            }
        }
        for folder in facts.list_var("PYTHONPATH") {
            python.add_site(folder);
        }
        let mut home = facts.path_var("PYTHONHOME");
        let mut own_sites_only = false;
        if let Some(venv) = venv_of(facts) {
            python.add_prefix(&venv.root, version.as_deref());
            own_sites_only = !venv.system_sites;
            home = home.or(venv.base);
        }
        if !own_sites_only {
            if let Some(base) = user_base(facts) {
                python.add_packages(&base, version.as_deref());
            }
            // A distribution's Python looks into /usr/local as well.
            let base = home.or_else(|| facts.exe.parent()?.parent().map(Path::to_owned));
            if let Some(base) = base {
                if base == facts.root.join("usr") {
                    python.add_packages(&base.join("local"), version.as_deref());
                }
                python.add_prefix(&base, version.as_deref());
            }
        }
        Some(python)
    }

    /// The PyTorch that `import torch` would find.
    pub fn torch(&self) -> Option<Torch> {
        let folder = self.sites.iter().map(|site| site.join("torch")).find(|f| f.join("version.py").is_file())?;
        let cuda = torch_cuda(&fs::read_to_string(folder.join("version.py")).unwrap_or_default());
        Some(Torch { folder, cuda })
    }

    /// The copies in the packages: NVIDIA's wheels and what PyTorch brings itself.
    pub fn libraries(&self) -> Vec<Library> {
        let mut found: Vec<Library> = Vec::new();
        for site in &self.sites {
            for folder in package_folders(site) {
                found.extend(folder::libraries(&folder));
            }
        }
        for prefix in &self.prefixes {
            found.extend(folder::libraries(&prefix.join("lib")));
        }
        found
    }

    fn add_prefix(&mut self, prefix: &Path, version: Option<&str>) {
        self.add_packages(prefix, version);
        if !self.prefixes.iter().any(|p| p == prefix) {
            self.prefixes.push(prefix.to_owned());
        }
    }

    /// The package folders below `prefix`. Without a version every one that is there.
    fn add_packages(&mut self, prefix: &Path, version: Option<&str>) {
        for lib in ["lib64", "lib"] {
            let lib = prefix.join(lib);
            let Ok(entries) = fs::read_dir(&lib) else { continue };
            let mut names: Vec<PathBuf> = entries.flatten().map(|e| e.path()).collect();
            names.sort();
            for folder in names {
                let name = folder.file_name().unwrap_or_default().as_bytes();
                let Some(digits) = name.strip_prefix(b"python").or_else(|| name.strip_prefix(b"pypy")) else {
                    continue;
                };
                // Debian's shared folder is `python3`; other installations' folders are named in full.
                let fits = digits == b"3"
                    || version.is_none_or(|v| digits.strip_suffix(b"t").unwrap_or(digits) == v.as_bytes());
                if fits {
                    self.add_site(folder.join("site-packages"));
                    self.add_site(folder.join("dist-packages"));
                }
            }
        }
    }

    fn add_site(&mut self, site: PathBuf) {
        // Most of what is mapped comes from the same few.
        if self.sites.contains(&site) {
            return;
        }
        let Ok(real) = fs::canonicalize(&site) else { return };
        if real.is_dir() && !self.real_sites.contains(&real) {
            self.sites.push(site);
            self.real_sites.push(real);
        }
    }
}

/// The folders of one site that may hold a libcupti: `torch/lib` (bundled), `nvidia/cu13/lib` and later ones,
/// `nvidia/cuda_cupti/lib`.
fn package_folders(site: &Path) -> Vec<PathBuf> {
    let mut folders = vec![site.join("torch/lib")];
    let mut toolkits: Vec<PathBuf> = fs::read_dir(site.join("nvidia"))
        .map(|entries| entries.flatten().map(|e| e.path()).collect::<Vec<_>>())
        .unwrap_or_default();
    toolkits.retain(|p| toolkit_number(p).is_some());
    toolkits.sort_by_key(|p| std::cmp::Reverse(toolkit_number(p)));
    folders.extend(toolkits.into_iter().map(|p| p.join("lib")));
    folders.push(site.join("nvidia/cuda_cupti/lib"));
    folders
}

/// 13 for `nvidia/cu13`.
fn toolkit_number(path: &Path) -> Option<u32> {
    path.file_name()?.to_str()?.strip_prefix("cu")?.parse().ok()
}

/// The package folder that `path` lies in.
fn site_of(path: &Path) -> Option<PathBuf> {
    path.ancestors()
        .skip(1)
        .find(|folder| folder.file_name().is_some_and(|name| name == "site-packages" || name == "dist-packages"))
        .map(Path::to_owned)
}

struct Venv {
    root: PathBuf,
    base: Option<PathBuf>,
    system_sites: bool,
}

/// The virtual environment. `/proc/self/exe` is the base interpreter, for the venv's `python` is a link to it;
/// Python itself goes by `argv[0]`, and so do we. `VIRTUAL_ENV` decides only where `argv[0]` tells nothing (embedded
/// interpreters, renamed processes): `/usr/bin/python3` run inside an activated environment does not belong to it.
fn venv_of(facts: &Facts) -> Option<Venv> {
    if let Some(started_as) = started_as(facts) {
        let bin = started_as.parent()?;
        return [Some(bin), bin.parent()].into_iter().flatten().find_map(read_venv);
    }
    read_venv(&facts.path_var("VIRTUAL_ENV")?)
}

/// The path by which the program was started, if that is still to be told.
fn started_as(facts: &Facts) -> Option<PathBuf> {
    if facts.argv0.is_empty() {
        return None;
    }
    let candidates = if facts.argv0.as_bytes().contains(&b'/') {
        vec![facts.cwd.join(&facts.argv0)]
    } else {
        facts.list_var("PATH").into_iter().map(|folder| folder.join(&facts.argv0)).collect()
    };
    candidates.into_iter().find(|path| fs::canonicalize(path).is_ok_and(|real| real == facts.exe))
}

fn read_venv(root: &Path) -> Option<Venv> {
    let text = fs::read_to_string(root.join("pyvenv.cfg")).ok()?;
    let value = |key: &str| {
        text.lines().find_map(|line| {
            let (name, value) = line.split_once('=')?;
            name.trim().eq_ignore_ascii_case(key).then(|| value.trim().to_owned())
        })
    };
    Some(Venv {
        root: root.to_owned(),
        base: value("home").and_then(|bin| Path::new(&bin).parent().map(Path::to_owned)),
        system_sites: value("include-system-site-packages").is_some_and(|v| v.eq_ignore_ascii_case("true")),
    })
}

/// `~/.local`, unless packages of the user are switched off.
fn user_base(facts: &Facts) -> Option<PathBuf> {
    if facts.var("PYTHONNOUSERSITE").is_some() {
        return None;
    }
    facts.path_var("PYTHONUSERBASE").or_else(|| Some(facts.path_var("HOME")?.join(".local")))
}

/// `3.11` of `python3.11`, `pypy3.10`, `libpython3.11.so.1.0`, `python3.13t`.
fn version_in(name: Option<&OsStr>) -> Option<String> {
    let name = name?.to_str()?;
    let (_, rest) = name.split_once("python").or_else(|| name.split_once("pypy"))?;
    let (major, rest) = rest.split_once('.')?;
    let minor: String = rest.chars().take_while(char::is_ascii_digit).collect();
    (major == "3" && !minor.is_empty()).then(|| format!("3.{minor}"))
}

/// The CUDA version in the text of `torch/version.py`: `cuda: Optional[str] = '12.8'`.
fn torch_cuda(text: &str) -> Option<(u32, u32)> {
    let line = text.lines().find(|line| line.starts_with("cuda"))?;
    let (_, value) = line.split_once('=')?;
    let value = value.trim().trim_matches(['\'', '"']);
    let (major, minor) = value.split_once('.').unwrap_or((value, "0"));
    Some((major.parse().ok()?, minor.split('.').next()?.parse().ok()?))
}
