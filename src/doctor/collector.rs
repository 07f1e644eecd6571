//! Our own library: where it is, whether it loads, whether it can be preloaded.

use super::World;
use super::child::{self, Failure};
use super::finding::{Finding, Level};
use super::probe::Collector;
use crate::os::{disk, limits};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// Tries the library in a child.
pub fn try_it(world: &World, path: &Path) -> Result<Collector, Failure> {
    child::ask(world, &[OsStr::new("--probe-collector"), path.as_os_str()])
}

/// What to say of it. `found` is the launcher's answer, or why it has none.
pub fn judge(found: &Result<PathBuf, String>, tried: Option<&Result<Collector, Failure>>) -> Vec<Finding> {
    let path = match found {
        Ok(path) => path,
        Err(why) => {
            let finding = Finding::problem("collector", format!("libgpuprof.so is not to be found: {why}"));
            return vec![finding.help(
                "take a released gpuprof, which carries it, or name a file: GPUPROF_SHIM=/path/libgpuprof.so",
            )];
        }
    };
    let mut findings = vec![match tried {
        None => Finding::ok("collector", path.display().to_string()),
        Some(Err(failure)) => Finding::problem("collector", format!("{}: {failure}", path.display()))
            .help("please report this, with the lines above: it must load anywhere"),
        Some(Ok(Collector { load_error: Some(why), .. })) => not_loaded(path, why),
        Some(Ok(collector)) if !collector.missing.is_empty() => {
            let text = format!(
                "{} lacks {}: it is not gpuprof's, or of another version",
                path.display(),
                collector.missing.join(", ")
            );
            Finding::problem("collector", text).help("unset GPUPROF_SHIM, or name the right file")
        }
        Some(Ok(_)) => Finding::ok("collector", format!("{}, and it loads", path.display())),
    }];
    if path.as_os_str().as_bytes().iter().any(|&b| b == b' ' || b == b':') {
        let text = "the path of libgpuprof.so has a blank or a colon, at which LD_PRELOAD splits its value";
        findings.push(Finding::note("collector", text).help(
            "`gpuprof record` works all the same; for LD_PRELOAD copy the file elsewhere and set GPUPROF_SHIM",
        ));
    }
    findings
}

fn not_loaded(path: &Path, why: &str) -> Finding {
    let mut finding = Finding::problem("collector", format!("{} cannot be loaded: {why}", path.display()));
    let folder = path.parent().unwrap_or(path);
    if disk::room(folder).is_ok_and(|room| room.noexec) {
        return finding.help(format!(
            "{} is mounted noexec: set XDG_CACHE_HOME to a folder that is not, or GPUPROF_SHIM to a copy elsewhere",
            folder.display()
        ));
    }
    if why.contains("GLIBC_") {
        let version = limits::c_library_version().map_or(String::new(), |v| format!(" (this one is {v})"));
        finding = finding.help(format!(
            "it was built for a newer C library{version}: take a released gpuprof, which needs 2.28 or later"
        ));
    } else if why.contains("wrong ELF class") || why.contains("invalid ELF header") {
        finding = finding.help("the file is damaged or for another machine: remove it, gpuprof writes it anew");
    } else {
        finding = finding.help("name another copy with GPUPROF_SHIM=/path/libgpuprof.so");
    }
    debug_assert_eq!(finding.level, Level::Problem);
    finding
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(found: Result<PathBuf, String>, tried: Result<Collector, Failure>) -> Finding {
        judge(&found, Some(&tried)).remove(0)
    }

    #[test]
    fn a_collector_that_loads_is_fine() {
        let finding = one(Ok("/x/libgpuprof.so".into()), Ok(Collector::default()));
        assert_eq!((finding.level, finding.help.len()), (Level::Ok, 0));
    }

    #[test]
    fn each_reason_has_its_remedy() {
        let failed = |why: &str| Ok(Collector { load_error: Some(why.into()), missing: Vec::new() });
        for (why, remedy) in [
            ("/lib/libc.so.6: version `GLIBC_2.34' not found", "needs 2.28 or later"),
            ("wrong ELF class: ELFCLASS32", "another machine"),
            ("libfoo.so: cannot open shared object file", "GPUPROF_SHIM"),
        ] {
            let finding = one(Ok("/x/libgpuprof.so".into()), failed(why));
            assert_eq!(finding.level, Level::Problem, "{why}");
            assert!(finding.help[0].contains(remedy), "{finding:?}");
        }
        let finding = one(Err("nothing is embedded".into()), failed(""));
        assert!(finding.text.contains("nothing is embedded") && finding.help[0].contains("GPUPROF_SHIM"));
        let foreign = Collector { load_error: None, missing: vec!["InitializeInjection".into()] };
        let finding = one(Ok("/x/libother.so".into()), Ok(foreign));
        assert!(
            finding.level == Level::Problem && finding.text.contains("lacks InitializeInjection"),
            "{finding:?}"
        );
        let crash = Failure::Died { step: "dlopen".into(), how: "SIGSEGV".into(), said: String::new() };
        assert!(one(Ok("/x/libgpuprof.so".into()), Err(crash)).text.contains("crashed in dlopen (SIGSEGV)"));
    }

    #[test]
    fn a_path_that_ld_preload_would_split_is_noted() {
        let findings = judge(&Ok("/a b/libgpuprof.so".into()), None);
        assert_eq!(findings[1].level, Level::Note);
    }
}
