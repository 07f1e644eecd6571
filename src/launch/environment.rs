//! The variables through which the collector gets into every process, and hears what to do.

use super::shim::same_file;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

/// Where the driver looks for a library to load at the first `cuInit`.
pub const CUDA_INJECTION: &str = "CUDA_INJECTION64_PATH";
/// Where NVTX looks for one at the first range.
pub const NVTX_INJECTION: &str = "NVTX_INJECTION64_PATH";
/// Which libraries OpenACC runtimes tell of themselves: a list with semicolons.
pub const OPENACC_TOOLS: &str = "ACC_PROFLIB";
/// Which libraries OpenMP runtimes ask whether they listen, until one does: a list with colons.
pub const OPENMP_TOOLS: &str = "OMP_TOOL_LIBRARIES";
/// What the loader loads into every program.
const PRELOAD: &str = "LD_PRELOAD";

/// The environment of the program to be.
#[derive(Clone, Debug)]
pub struct Environment {
    variables: Vec<(OsString, OsString)>,
    /// The library that another tool wants the driver to load; it is left in place, and ours stays out.
    pub foreign_cuda: Option<PathBuf>,
    /// The library that another tool wanted NVTX to load; ours takes its place.
    pub foreign_nvtx: Option<PathBuf>,
}

impl Environment {
    /// An environment without the collector.
    pub fn new(variables: impl Iterator<Item = (OsString, OsString)>) -> Self {
        Environment { variables: variables.collect(), foreign_cuda: None, foreign_nvtx: None }
    }

    /// Puts the collector at `shim` in, for NVTX only if asked, preloaded only if asked.
    pub fn put_in(&mut self, shim: &Path, nvtx: bool, preload: bool) {
        let foreign = |value: Option<&OsStr>| {
            let value = value.filter(|v| !v.is_empty() && !is_gpuprof(v, shim));
            value.map(PathBuf::from)
        };
        self.foreign_cuda = foreign(self.get(CUDA_INJECTION));
        if self.foreign_cuda.is_some() {
            return;
        }
        self.set(CUDA_INJECTION, shim.as_os_str());
        if nvtx {
            self.foreign_nvtx = foreign(self.get(NVTX_INJECTION));
            self.set(NVTX_INJECTION, shim.as_os_str());
        }
        if preload {
            self.preload(shim);
        }
    }

    /// Puts the collector behind whatever else is in a list of libraries with `separator` between them.
    pub fn append(&mut self, name: &str, separator: u8, shim: &Path) {
        let before = self.get(name).map(|v| v.as_bytes().to_vec()).unwrap_or_default();
        let others = before.split(|b| *b == separator).filter(|entry| !entry.is_empty());
        let mut value = Vec::new();
        for entry in others.filter(|entry| !is_gpuprof(OsStr::from_bytes(entry), shim)) {
            value.extend(entry);
            value.push(separator);
        }
        value.extend(shim.as_os_str().as_bytes());
        self.set(name, OsStr::from_bytes(&value));
    }

    /// Puts the collector before whatever else is preloaded, but for another one of ours: each would take the other for a
    /// foreign tool.
    fn preload(&mut self, shim: &Path) {
        let mut value = shim.as_os_str().as_bytes().to_vec();
        let before = self.get(PRELOAD).map(|v| v.as_bytes().to_vec()).unwrap_or_default();
        // The loader takes spaces for colons.
        let others = before.split(|b| matches!(b, b':' | b' ')).filter(|entry| !entry.is_empty());
        for entry in others.filter(|entry| !is_gpuprof(OsStr::from_bytes(entry), shim)) {
            value.push(b':');
            value.extend(entry);
        }
        self.set(PRELOAD, OsStr::from_bytes(&value));
    }

    /// The value of a variable: the first, as for `getenv`.
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.variables.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_os_str())
    }

    /// Sets a variable, where it stands or at the end.
    pub fn set(&mut self, name: &str, value: &OsStr) {
        let place = self.variables.iter().position(|(n, _)| n == name).unwrap_or(self.variables.len());
        self.remove(name);
        let place = place.min(self.variables.len());
        self.variables.insert(place, (name.into(), value.into()));
    }

    /// Removes a variable.
    pub fn remove(&mut self, name: &str) {
        self.variables.retain(|(n, _)| n != name);
    }

    /// Each variable as `NAME=VALUE`.
    pub fn strings(&self) -> impl Iterator<Item = OsString> {
        self.variables.iter().map(|(name, value)| {
            let mut text = name.as_bytes().to_vec();
            text.push(b'=');
            text.extend(value.as_bytes());
            OsString::from_vec(text)
        })
    }

    /// Each variable as the collector's settings read them.
    pub fn pairs(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.variables.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes()))
    }
}

/// Whether a variable already names the collector, this one or another version of it: a run inside a run.
fn is_gpuprof(value: &OsStr, shim: &Path) -> bool {
    let name = Path::new(value).file_name().map(OsStr::as_bytes).unwrap_or_default();
    same_file(value, shim) || (name.starts_with(b"libgpuprof") && name.ends_with(b".so"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(variables: &[(&str, &str)], preload: bool) -> Environment {
        let variables = variables.iter().map(|(n, v)| (OsString::from(n), OsString::from(v)));
        let mut environment = Environment::new(variables);
        environment.put_in(Path::new("/x/libgpuprof.so"), true, preload);
        environment
    }

    fn value<'e>(environment: &'e Environment, name: &str) -> Option<&'e str> {
        environment.get(name).and_then(OsStr::to_str)
    }

    #[test]
    fn both_injections_are_set_and_nothing_is_preloaded_unasked() {
        let e = environment(&[("A", "1"), (PRELOAD, "/lib/other.so")], false);
        assert_eq!(value(&e, CUDA_INJECTION), Some("/x/libgpuprof.so"));
        assert_eq!(value(&e, NVTX_INJECTION), Some("/x/libgpuprof.so"));
        assert_eq!(value(&e, PRELOAD), Some("/lib/other.so"));
        assert_eq!(value(&e, "A"), Some("1"));
    }

    #[test]
    fn what_else_is_preloaded_stays() {
        let e = environment(&[(PRELOAD, "/lib/a.so /lib/b.so::/lib/c.so")], true);
        assert_eq!(value(&e, PRELOAD), Some("/x/libgpuprof.so:/lib/a.so:/lib/b.so:/lib/c.so"));
        assert_eq!(value(&environment(&[], true), PRELOAD), Some("/x/libgpuprof.so"));
    }

    #[test]
    fn in_a_list_of_tools_the_others_come_first_and_we_once() {
        let tools = |value: &str| {
            let mut e = environment(&[(OPENMP_TOOLS, value)], false);
            e.append(OPENMP_TOOLS, b':', Path::new("/x/libgpuprof.so"));
            e.get(OPENMP_TOOLS).and_then(OsStr::to_str).map(str::to_owned)
        };
        assert_eq!(tools("").as_deref(), Some("/x/libgpuprof.so"));
        assert_eq!(tools("/a.so::/b.so").as_deref(), Some("/a.so:/b.so:/x/libgpuprof.so"));
        assert_eq!(tools("/old/libgpuprof-1.so:/a.so").as_deref(), Some("/a.so:/x/libgpuprof.so"));
    }

    #[test]
    fn another_tools_cuda_injection_is_left_and_ours_stays_out() {
        let e = environment(&[(CUDA_INJECTION, "/opt/nsys/inject.so")], true);
        assert_eq!(value(&e, CUDA_INJECTION), Some("/opt/nsys/inject.so"));
        assert_eq!(e.foreign_cuda.as_deref(), Some(Path::new("/opt/nsys/inject.so")));
        assert_eq!(value(&e, NVTX_INJECTION), None);
        assert_eq!(value(&e, PRELOAD), None);
    }

    #[test]
    fn another_tools_nvtx_injection_gives_way_and_is_named() {
        let e = environment(&[(NVTX_INJECTION, "/opt/nvtx.so")], false);
        assert_eq!(value(&e, NVTX_INJECTION), Some("/x/libgpuprof.so"));
        assert_eq!(e.foreign_nvtx.as_deref(), Some(Path::new("/opt/nvtx.so")));
    }

    #[test]
    fn without_nvtx_its_injection_is_left_alone() {
        let mut e = Environment::new([(NVTX_INJECTION.into(), "/opt/nvtx.so".into())].into_iter());
        e.put_in(Path::new("/x/libgpuprof.so"), false, false);
        assert_eq!(value(&e, NVTX_INJECTION), Some("/opt/nvtx.so"));
        assert_eq!(e.foreign_nvtx, None);
    }

    #[test]
    fn a_run_inside_a_run_is_not_foreign() {
        let e = environment(&[(CUDA_INJECTION, "/cache/libgpuprof-0123.so"), (NVTX_INJECTION, "")], false);
        assert_eq!((&e.foreign_cuda, &e.foreign_nvtx), (&None, &None));
        assert_eq!(value(&e, CUDA_INJECTION), Some("/x/libgpuprof.so"));
    }

    #[test]
    fn variables_keep_their_places_and_duplicates_go() {
        let mut e = environment(&[("A", "1"), ("B", "2"), ("A", "3")], false);
        e.set("A", OsStr::new("4"));
        let strings: Vec<OsString> = e.strings().collect();
        assert_eq!(strings[..2], ["A=4", "B=2"]);
        assert_eq!(strings.len(), 4);
        e.remove("A");
        assert_eq!(e.get("A"), None);
    }
}
