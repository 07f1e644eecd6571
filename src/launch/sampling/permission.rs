//! Why a process cannot be looked into, and how to get permission.

use super::native::maps;
use super::threads;
use crate::os::memory;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;

/// Whether the memory of a process can be read: `Ok` also where it is gone or has nothing to read yet.
///
/// # Errors
/// Fails if the memory cannot be read. The error is one sentence, which says what is missing and how to get it.
pub fn check(pid: u32) -> Result<(), String> {
    let refused = |error: &io::Error| {
        matches!(error.raw_os_error(), Some(libc::EPERM | libc::EACCES | libc::ENOSYS)).then(|| reason(pid, error))
    };
    let mappings = match maps::executable(pid) {
        Ok(mappings) => mappings,
        Err(error) => return refused(&error).map_or(Ok(()), Err),
    };
    let Some(first) = mappings.first() else { return Ok(()) };
    match memory::read(pid, first.start, &mut [0; 8]) {
        Err(error) => refused(&error).map_or(Ok(()), Err),
        Ok(_) => Ok(()),
    }
}

/// What stands in the way, in the order in which the kernel asks.
fn reason(pid: u32, error: &io::Error) -> String {
    let own = threads::status(std::process::id(), "Uid").and_then(|line| effective(&line));
    let theirs = threads::status(pid, "Uid").and_then(|line| effective(&line));
    // The folder itself keeps its owner; what is in it is root's once the process is unreadable.
    let owner = fs::metadata(format!("/proc/{pid}/environ")).ok().map(|m| m.uid());
    explain(error.raw_os_error(), own, theirs, owner, scope())
}

/// `Uid:` real, effective, saved and file system.
fn effective(line: &str) -> Option<u32> {
    line.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// `kernel.yama.ptrace_scope`, where the kernel has it.
fn scope() -> Option<u32> {
    fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").ok()?.trim().parse().ok()
}

fn explain(
    errno: Option<i32>,
    own: Option<u32>,
    theirs: Option<u32>,
    owner: Option<u32>,
    scope: Option<u32>,
) -> String {
    let grant = "run gpuprof as root, or once: sudo setcap cap_sys_ptrace+ep \"$(command -v gpuprof)\"";
    let container = "in a container add --cap-add=SYS_PTRACE to docker or podman run";
    if errno == Some(libc::ENOSYS) {
        return "the kernel, or a sandbox around this process, has no process_vm_readv".to_owned();
    }
    match (own, theirs) {
        (Some(own), Some(theirs)) if own != theirs => {
            return format!("it belongs to user {theirs}, and gpuprof runs as user {own}: {grant}; {container}");
        }
        _ => {}
    }
    if owner.is_some() && owner != theirs {
        return format!(
            "it has made itself unreadable (it has the rights of its file, or asked for it by prctl): {grant}; \
             {container}"
        );
    }
    match scope {
        Some(3) => "kernel.yama.ptrace_scope is 3, which forbids it to everybody until the next boot".to_owned(),
        Some(2) => {
            format!("kernel.yama.ptrace_scope is 2: sudo sysctl kernel.yama.ptrace_scope=1; or {grant}")
        }
        // 1 lets parents look into their children and those of these; somebody who left that family is not among them.
        Some(1) => format!(
            "kernel.yama.ptrace_scope is 1, and the process is no longer a descendant of gpuprof: \
             sudo sysctl kernel.yama.ptrace_scope=0; or {grant}"
        ),
        _ => format!("the system forbids it (a container or a security module): {container}; or {grant}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_may_be_read_and_one_that_is_gone_is_no_refusal() {
        assert_eq!(check(std::process::id()), Ok(()));
        assert_eq!(check(u32::MAX >> 1), Ok(()));
    }

    #[test]
    fn each_obstacle_is_named_with_its_remedy() {
        let eperm = Some(libc::EPERM);
        let same = Some(1000);
        for (text, wanted) in [
            (explain(eperm, same, Some(0), Some(0), Some(1)), "belongs to user 0, and gpuprof runs as user 1000"),
            (explain(eperm, same, same, Some(0), None), "made itself unreadable"),
            (explain(eperm, same, same, same, Some(2)), "sysctl kernel.yama.ptrace_scope=1"),
            (explain(eperm, same, same, same, Some(3)), "until the next boot"),
            (explain(eperm, same, same, same, Some(1)), "no longer a descendant"),
            (explain(eperm, same, same, same, None), "--cap-add=SYS_PTRACE"),
            (explain(Some(libc::ENOSYS), same, same, same, None), "process_vm_readv"),
        ] {
            assert!(text.contains(wanted), "{text}");
        }
    }
}
