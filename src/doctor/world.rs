//! What `doctor` looks at: this machine, or one that a test invents.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// The surroundings.
#[derive(Clone, Debug)]
pub struct World {
    /// Where `/proc`, `/sys`, `/dev` and installed toolkits are: `/`.
    pub root: PathBuf,
    /// The environment.
    pub env: BTreeMap<OsString, OsString>,
    /// The working folder.
    pub cwd: PathBuf,
    /// Our own program, which probes are run with.
    pub gpuprof: PathBuf,
}

impl World {
    /// This machine, as this process sees it.
    pub fn here() -> World {
        World {
            root: PathBuf::from("/"),
            env: std::env::vars_os().collect(),
            cwd: std::env::current_dir().unwrap_or_default(),
            gpuprof: std::env::current_exe().unwrap_or_else(|_| "gpuprof".into()),
        }
    }

    /// A variable that is set and not empty.
    pub fn var(&self, name: &str) -> Option<&OsStr> {
        self.env.get(OsStr::new(name)).map(OsString::as_os_str).filter(|value| !value.is_empty())
    }

    /// A variable of the environment as text.
    pub fn text_var(&self, name: &str) -> Option<String> {
        self.var(name).map(|value| value.to_string_lossy().into_owned())
    }

    /// A place on this machine, e.g. `proc/version`.
    pub fn place(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// A small file of the system as text.
    pub fn read(&self, path: &str) -> Option<String> {
        fs::read(self.place(path)).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// What `which` would say.
    pub fn which(&self, name: &OsStr) -> Option<PathBuf> {
        let folders = std::env::split_paths(self.var("PATH")?).filter(|folder| !folder.as_os_str().is_empty());
        folders.map(|folder| self.cwd.join(folder).join(name)).find(|path| is_program(path))
    }

    /// The container that we are in, in a word.
    pub fn container(&self) -> Option<&'static str> {
        if self.place(".dockerenv").exists() {
            return Some("Docker");
        }
        if self.place("run/.containerenv").exists() {
            return Some("Podman");
        }
        if self.var("APPTAINER_CONTAINER").or(self.var("SINGULARITY_CONTAINER")).is_some() {
            return Some("Apptainer");
        }
        if self.var("KUBERNETES_SERVICE_HOST").is_some() {
            return Some("Kubernetes");
        }
        // systemd-nspawn, LXC and what sets it by hand.
        self.var("container").map(|_| "container")
    }

    /// Whether this is Linux inside Windows.
    pub fn is_wsl(&self) -> bool {
        self.read("proc/version").is_some_and(|version| version.to_ascii_lowercase().contains("microsoft"))
    }

    /// Whether an NVIDIA GPU is plugged in, whatever drives it; `None` if the bus cannot be looked at.
    pub fn has_nvidia_hardware(&self) -> Option<bool> {
        let devices = fs::read_dir(self.place("sys/bus/pci/devices")).ok()?;
        let is_gpu = |folder: &Path| {
            let read = |name| fs::read_to_string(folder.join(name)).unwrap_or_default();
            // Class 03: display controllers, 3D controllers among them.
            read("vendor").trim() == "0x10de" && read("class").trim().starts_with("0x03")
        };
        Some(devices.flatten().any(|device| is_gpu(&device.path())))
    }
}

/// Whether there is a file that may be run.
pub fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}
