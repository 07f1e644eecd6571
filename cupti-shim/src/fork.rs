//! What a forked child forgets before it is recorded in its own right.
//!
//! It inherits all memory of ours, as its parent's threads left it at that moment, and none of these threads. So no lock
//! may be waited for, and what another thread may have been half way through is replaced and left where it is. A test
//! finds variables that are neither in this list nor excused.

use crate::gate::GATE;
use crate::names::NAMES;
use crate::{
    calls, control, cupti, exit, failure, flight, flush, nvtx, output, own_cost, python, session, sys, writer,
};

/// Forgets what the parent recorded and waited for. False: a thread of the parent was inside the gate, and this child
/// cannot record.
pub fn forget() -> bool {
    session::forget();
    sys::forget();
    exit::forget();
    failure::forget();
    flush::forget();
    own_cost::forget();
    cupti::forget();
    flight::forget();
    control::forget();
    nvtx::forget();
    NAMES.forget();
    writer::forget();
    output::forget();
    python::forget();
    calls::forget();
    GATE.forget()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    /// Variables that a child keeps, and why.
    const KEPT: &[(&str, &str, &str)] = &[
        ("lib.rs", "BROKEN", "a panic of ours has left the same memory in the child"),
        ("lib.rs", "ONCE", "the hook for panics is inherited too"),
        ("directives.rs", "OPENACC_GIVEN", "the child has the same runtime"),
        ("directives.rs", "OPENMP_GIVEN", "the child has the same runtime"),
        ("directives.rs", "OPENMP_DEVICE", "the child has the same runtime"),
        ("load.rs", "LOADED", "the environment and the settings are the same"),
        ("load.rs", "SNAPSHOT", "the environment is the same; Loaded::inert looks at the pid"),
        ("log.rs", "SEEN", "standard error is inherited"),
        ("log.rs", "DEVICE", "standard error is inherited"),
        ("log.rs", "INODE", "standard error is inherited"),
        ("log.rs", "VERBOSITY", "a setting"),
        ("sys.rs", "OWNER", "it is what tells a child"),
        ("sys.rs", "AFFINITY", "written anew when a process attaches"),
        ("sys.rs", "STACK_BYTES", "the C library is the same"),
        ("exit.rs", "HANDLERS", "the handlers are inherited, and count for the child too"),
        ("session/attach.rs", "USED", "it is what tells a child"),
        ("control/signal.rs", "DEVICE", "only read where WAKE names a file"),
        ("control/signal.rs", "INODE", "only read where WAKE names a file"),
        ("nvtx/chain.rs", "PATH", "which library of the program's own is called"),
        ("nvtx/chain.rs", "STATE", "which library of the program's own is called"),
        ("nvtx/chain.rs", "LOADER", "which library of the program's own is called"),
        ("nvtx/chain.rs", "INITIALIZE", "which library of the program's own is called"),
        ("nvtx/chain.rs", "THEIRS", "which library of the program's own is called"),
        ("nvtx/handles.rs", "ARENA", "the program holds the handles"),
        ("nvtx/handles.rs", "USED", "the program holds the handles"),
        ("nvtx/handles.rs", "COUNT", "the program holds the handles"),
        ("nvtx/handles.rs", "DOMAINS", "the program holds the handles"),
        ("nvtx/handles.rs", "TABLE", "the program holds the handles"),
        ("nvtx/calls/domain.rs", "RESOURCE", "the program holds the handles"),
        ("nvtx/queue.rs", "WAKER", "the same function"),
        ("nvtx/record.rs", "NEWEST_ID", "ids of ranges that the program holds are not given twice"),
        ("nvtx/record.rs", "ANY_MATCHED", "only spares a look at MATCHED"),
        ("nvtx/thread.rs", "THREADS", "numbers threads; a number need not begin at 1"),
    ];

    fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
            let name = entry.file_name().expect("a name").to_string_lossy().into_owned();
            if entry.is_dir() && name != "tests" {
                sources(&entry, found);
            } else if name.ends_with(".rs") && name != "tests.rs" {
                found.push(entry);
            }
        }
    }

    /// Names of the variables that are written to while the program runs.
    fn variables(text: &str) -> impl Iterator<Item = &str> {
        const MUTABLE: &[&str] =
            &["Atomic", "[Atomic", "[[Atomic", "Given", "Meter", "Mutex", "OnceLock", "Gate", "Names", "Counters"];
        text.lines().filter_map(|line| {
            let line = line.trim_start();
            let (_, declared) = line.split_once("static ").filter(|(before, _)| !before.contains("//"))?;
            let (name, kind) = declared.split_once(": ")?;
            MUTABLE.iter().any(|mutable| kind.starts_with(mutable)).then_some(name)
        })
    }

    /// The bodies of all functions called `forget`.
    fn forgotten(text: &str) -> String {
        let bodies = text.split("fn forget(").skip(1).map(|rest| rest.split("\n}").next().unwrap_or_default());
        bodies.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn every_variable_is_forgotten_or_excused() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let mut files = Vec::new();
        sources(&root, &mut files);
        let (mut missing, mut used, mut count) = (Vec::new(), Vec::new(), 0);
        let here = forgotten(include_str!("fork.rs"));
        for path in &files {
            let file = path.strip_prefix(&root).expect("below").to_string_lossy().into_owned();
            let text = fs::read_to_string(path).expect("a source");
            let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
            let own = forgotten(text);
            for name in variables(text) {
                count += 1;
                let has =
                    |text: &str| text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name);
                if let Some(kept) = KEPT.iter().find(|(of, kept, _)| *of == file && *kept == name) {
                    used.push(*kept);
                } else if !has(&own) && !has(&here) {
                    missing.push(format!("{file}: {name}"));
                }
            }
        }
        assert!(count > 40, "only {count} variables were found: does this test still know how they are written?");
        assert!(missing.is_empty(), "a forked child keeps these, and nothing says why it may: {missing:#?}");
        let stale: Vec<_> = KEPT.iter().filter(|kept| !used.contains(kept)).collect();
        assert!(stale.is_empty(), "these are no longer there: {stale:#?}");
    }
}
