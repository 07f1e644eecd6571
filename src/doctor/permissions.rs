//! What the platform allows: none of it stands in the way of tracing as a rule, and people fear that it does.

use super::World;
use super::finding::Finding;

/// Whether counters are for administrators, and what the platform is. Of virtual GPUs CUPTI tells.
pub fn judge(world: &World, is_virtual_gpu: bool) -> Vec<Finding> {
    let mut findings = Vec::new();
    match admin_only(world) {
        Some(true) => findings.push(Finding::ok(
            "permissions",
            "GPU counters are for administrators (RmProfilingAdminOnly: 1); tracing, which is all we do, needs none",
        )),
        Some(false) => findings.push(Finding::ok("permissions", "tracing and GPU counters are open to every user")),
        None => {}
    }
    if world.is_wsl() {
        findings.push(
            Finding::note("permissions", "this is WSL: tracing works, hardware tracing (HES) does not")
                .detail("the driver is that of Windows"),
        );
    }
    if let Some(container) = world.container() {
        findings.push(
            Finding::ok("permissions", format!("in a container ({container}): tracing needs no capability")).detail(
                "if CUPTI reports error 35 all the same, add --cap-add SYS_ADMIN or lift RmProfilingAdminOnly on the \
                 host",
            ),
        );
    }
    if is_virtual_gpu {
        let help =
            "if CUPTI reports error 33 or 40, profiling has to be allowed for it on the host: enable_profiling=1";
        findings.push(Finding::note("permissions", "this is a virtual GPU").help(help));
    }
    findings
}

/// `RmProfilingAdminOnly` of the loaded kernel module.
fn admin_only(world: &World) -> Option<bool> {
    let parameters = world.read("proc/driver/nvidia/params")?;
    let value = parameters.lines().find_map(|line| line.strip_prefix("RmProfilingAdminOnly:"))?;
    Some(value.trim() != "0")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::finding::Level;
    use crate::doctor::fixtures::Room;

    #[test]
    fn counters_for_administrators_do_not_stop_tracing() {
        let room = Room::new();
        assert_eq!(judge(&room.world, false), [], "no driver, nothing to say");
        for (value, word) in [("1", "need"), ("0", "open to every user")] {
            room.file("proc/driver/nvidia/params", format!("Mobile: 4294967295\nRmProfilingAdminOnly: {value}\n"));
            let findings = judge(&room.world, false);
            assert_eq!(findings.len(), 1);
            assert_eq!(findings[0].level, Level::Ok);
            assert!(findings[0].text.contains(word), "{findings:?}");
        }
    }

    #[test]
    fn platforms_are_named() {
        let mut room = Room::new();
        room.file("proc/version", "Linux version 5.15.90.1-microsoft-standard-WSL2");
        room.set("container", "lxc");
        let texts: Vec<String> = judge(&room.world, false).into_iter().map(|f| f.text).collect();
        assert!(texts[0].contains("WSL") && texts[1].contains("container"), "{texts:?}");
    }

    #[test]
    fn a_virtual_gpu_is_said_with_what_it_may_need() {
        let findings = judge(&Room::new().world, true);
        assert_eq!((findings.len(), findings[0].level), (1, Level::Note));
        assert!(findings[0].help[0].contains("enable_profiling"), "{findings:?}");
    }
}
