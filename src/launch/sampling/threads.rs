//! What the system says of threads: their state, their names, and who looks at them already.

use std::fs;
use std::path::Path;

/// A number as `/proc` has it.
fn number(text: &str) -> Option<u32> {
    text.trim().parse().ok()
}

/// The threads of a process, by id; empty once it is gone.
pub fn of(pid: u32) -> Vec<u32> {
    let entries = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let mut threads: Vec<u32> =
        entries.filter_map(|entry| number(entry.file_name().to_str()?)).filter(|tid| *tid != 0).collect();
    threads.sort_unstable();
    threads
}

/// The letter for a thread's state: `R` running or ready, `S` asleep, `D` in the disk's hands, `T` stopped, `t` stopped
/// by a debugger, `Z` gone.
pub fn state(pid: u32, tid: u32) -> Option<u8> {
    let text = fs::read(format!("/proc/{pid}/task/{tid}/stat")).ok()?;
    state_of(&text)
}

/// The state in a line of `stat`; the name before it may hold anything, brackets too.
fn state_of(stat: &[u8]) -> Option<u8> {
    let close = stat.iter().rposition(|b| *b == b')')?;
    stat.get(close + 2).copied()
}

/// The system's name of a thread: 15 bytes, which it may have chosen itself.
pub fn name(pid: u32, tid: u32) -> Option<String> {
    let text = fs::read(format!("/proc/{pid}/task/{tid}/comm")).ok()?;
    Some(String::from_utf8_lossy(text.trim_ascii_end()).into_owned())
}

/// One line of `/proc/PID/status`, without its title.
pub fn status(pid: u32, title: &str) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(title)?.strip_prefix(':'))?;
    Some(line.trim().to_owned())
}

/// Who debugs the process, if anybody does.
pub fn debugger(pid: u32) -> Option<u32> {
    status(pid, "TracerPid").and_then(|text| number(&text)).filter(|tracer| *tracer != 0)
}

/// The parent of a process.
pub fn parent(pid: u32) -> Option<u32> {
    status(pid, "PPid").and_then(|text| number(&text))
}

/// The program that a process runs; it changes with `exec`.
pub fn program(pid: u32) -> Option<String> {
    let path = fs::read_link(format!("/proc/{pid}/exe")).ok()?;
    Some(path.to_string_lossy().into_owned())
}

/// Whether a thread of this process exists.
pub fn exists(pid: u32, tid: u32) -> bool {
    Path::new(&format!("/proc/{pid}/task/{tid}")).exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_is_found_behind_any_name() {
        assert_eq!(state_of(b"12 (python3) R 1 12"), Some(b'R'));
        assert_eq!(state_of(b"12 (a) S) b) T 1 12"), Some(b'T'));
        assert_eq!(state_of(b"12 (a"), None);
        assert_eq!(state_of(b"12 (a)"), None);
    }

    #[test]
    fn this_thread_is_among_its_own() {
        let pid = std::process::id();
        assert!(of(pid).contains(&pid));
        assert_eq!(state(pid, pid).map(|s| s.is_ascii_alphabetic()), Some(true));
        assert!(exists(pid, pid) && !exists(pid, 1));
        assert!(program(pid).is_some_and(|p| p.contains("gpuprof")));
        assert_eq!(debugger(pid), None);
        assert!(of(0).is_empty());
    }
}
