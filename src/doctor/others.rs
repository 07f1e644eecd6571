//! Other tools that want CUPTI, and settings that change what a recording shows.

use super::World;
use super::finding::Finding;
use shim_config::from_env;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// Libraries and variables by which a tool gives itself away, and its name.
static TOOLS: &[(&str, &str)] = &[
    ("libToolsInjection", "Nsight Systems"),
    ("libnsys", "Nsight Systems"),
    ("nsight-systems", "Nsight Systems"),
    ("libInterceptorInjectionTarget", "compute-sanitizer"),
    ("libTreeLauncherTargetInjection", "compute-sanitizer or Nsight Compute"),
    ("libsanitizer-collection", "compute-sanitizer"),
    ("libcuda-injection", "Nsight Compute"),
    ("nsight-compute", "Nsight Compute"),
    ("libaccinj", "nvprof"),
    ("libcuinj", "nvprof"),
    ("libproton", "Triton's Proton"),
    ("parcagpu", "Parca"),
    ("perfetto", "Perfetto"),
    ("libkineto", "Kineto"),
    ("libbytehound", "bytehound"),
    ("libheaptrack", "heaptrack"),
];

/// Beginnings of variables that a tool sets in the programs that it starts.
static TOOL_VARIABLES: &[(&str, &str)] = &[
    ("NSYS_", "Nsight Systems"),
    ("QUADD_INJECTION", "Nsight Systems"),
    ("NVTX_INJECTION_NSYS", "Nsight Systems"),
    ("NV_NSIGHT_INJECTION", "Nsight Compute"),
    ("NV_COMPUTE_PROFILER", "Nsight Compute"),
    ("NV_SANITIZER_INJECTION", "compute-sanitizer"),
    ("CUDBG_", "cuda-gdb"),
    ("COMPUTE_PROFILE", "the old command line profiler"),
];

/// Programs that use the GPU's profiling hardware, with what that means for us.
static PROCESSES: &[(&str, &str, &str)] = &[
    ("nv-hostengine", "DCGM", "it reads counters; tracing is not affected"),
    ("dcgm-exporter", "DCGM", "it reads counters; tracing is not affected"),
    (
        "nvidia-cuda-mps-control",
        "MPS",
        "programs share one context on the GPU; tracing works, hardware tracing does not",
    ),
    (
        "nvidia-cuda-mps-server",
        "MPS",
        "programs share one context on the GPU; tracing works, hardware tracing does not",
    ),
    ("nsys", "Nsight Systems", "programs that it started cannot be recorded; others can"),
    ("ncu", "Nsight Compute", "programs that it started cannot be recorded, and it may lock the GPU's clocks"),
    ("compute-sanitizer", "compute-sanitizer", "programs that it started cannot be recorded"),
    ("cuda-gdb", "cuda-gdb", "a program that it debugs cannot be recorded"),
    ("nvprof", "nvprof", "programs that it started cannot be recorded"),
];

/// Everything that was found. `collector` is our own library, if it is known where that is.
pub fn judge(world: &World, collector: Option<&Path>) -> Vec<Finding> {
    let mut findings = injections(world, collector);
    findings.extend(tool_variables(world));
    findings.extend(running(world));
    if findings.is_empty() {
        findings.push(Finding::ok("tools", "no other tool is in the way"));
    }
    findings.extend(settings(world));
    findings
}

fn injections(world: &World, collector: Option<&Path>) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Some(path) = world.text_var("CUDA_INJECTION64_PATH") {
        let finding = if is_ours(&path, collector) {
            Finding::ok("tools", format!("CUDA_INJECTION64_PATH={path}: gpuprof itself"))
        } else {
            let text = format!(
                "CUDA_INJECTION64_PATH={path} names {}; gpuprof leaves it in place and stays inert",
                tool(&path)
            );
            Finding::problem("tools", text).help("to record with gpuprof: `unset CUDA_INJECTION64_PATH`")
        };
        findings.push(finding);
    }
    if let Some(path) = world.text_var("NVTX_INJECTION64_PATH").filter(|path| !is_ours(path, collector)) {
        // The value by which NVTX is switched off.
        let finding = if path == "./." {
            Finding::note(
                "tools",
                "NVTX_INJECTION64_PATH=./. switches NVTX off: ranges will be missing from traces",
            )
            .help("unset NVTX_INJECTION64_PATH")
        } else {
            let text = format!(
                "NVTX_INJECTION64_PATH={path} names {}; gpuprof takes its place while it records",
                tool(&path)
            );
            Finding::note("tools", text).help("to serve both: GPUPROF_NVTX_CHAIN with the same path")
        };
        findings.push(finding);
    }
    let preloads = world.text_var("LD_PRELOAD").unwrap_or_default();
    for path in preloads.split([':', ' ']).filter(|path| !path.is_empty()) {
        if is_ours(path, collector) {
            findings.push(Finding::ok("tools", format!("LD_PRELOAD has {path}: gpuprof itself")));
        } else if known(path).is_some() {
            let text = format!("LD_PRELOAD has {path}, which is {}", tool(path));
            findings
                .push(Finding::note("tools", text).help("if CUPTI reports error 39, start the program without it"));
        } else if path.contains("libcupti") {
            let text = format!("LD_PRELOAD has {path}: every program gets this CUPTI, whichever it was built for");
            let help = "take it out: a Python with PyTorch dies of a foreign libcupti; GPUPROF_CUPTI names one for gpuprof";
            findings.push(Finding::note("tools", text).help(help));
        } else {
            findings.push(Finding::ok(
                "tools",
                format!("LD_PRELOAD has {path}, which is no CUDA tool that is known here"),
            ));
        }
    }
    findings
}

fn is_ours(path: &str, collector: Option<&Path>) -> bool {
    let path = Path::new(path);
    let same = |collector: &Path| match (fs::canonicalize(path), fs::canonicalize(collector)) {
        (Ok(a), Ok(b)) => a == b,
        _ => false,
    };
    collector.is_some_and(same) || path.file_name().is_some_and(|name| name.as_bytes().starts_with(b"libgpuprof"))
}

fn known(path: &str) -> Option<&'static str> {
    TOOLS.iter().find(|(part, _)| path.contains(part)).map(|(_, tool)| *tool)
}

fn tool(path: &str) -> String {
    known(path).map_or_else(|| "another tool".to_owned(), |tool| format!("another tool ({tool})"))
}

fn tool_variables(world: &World) -> Vec<Finding> {
    let mut by_tool: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for name in world.env.keys() {
        let name = name.to_string_lossy();
        if let Some((_, tool)) = TOOL_VARIABLES.iter().find(|(beginning, _)| name.starts_with(beginning)) {
            by_tool.entry(tool).or_default().push(name.into_owned());
        }
    }
    let note = |(tool, names): (&str, Vec<String>)| {
        let text = format!("this shell seems to run under {tool}: {} set", names.join(", "));
        Finding::note("tools", text)
            .help("CUPTI serves one tool in a process (error 39): start gpuprof outside of it, or unset them")
    };
    by_tool.into_iter().map(note).collect()
}

/// Programs that run on this machine.
fn running(world: &World) -> Vec<Finding> {
    let mut found: BTreeMap<&str, (&str, Vec<u32>)> = BTreeMap::new();
    for entry in fs::read_dir(world.place("proc")).into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        let Ok(command) = fs::read(entry.path().join("cmdline")) else { continue };
        let first = command.split(|&b| b == 0).next().unwrap_or_default();
        let Some(name) = Path::new(std::ffi::OsStr::from_bytes(first)).file_name().and_then(|n| n.to_str()) else {
            continue;
        };
        if let Some((_, tool, means)) = PROCESSES.iter().find(|(program, ..)| *program == name) {
            found.entry(tool).or_insert((means, Vec::new())).1.push(pid);
        }
    }
    let note = |(tool, (means, pids)): (&str, (&str, Vec<u32>))| {
        let pids: Vec<String> = pids.iter().map(u32::to_string).collect();
        Finding::note("tools", format!("{tool} is running (pid {}): {means}", pids.join(", ")))
    };
    found.into_iter().map(note).collect()
}

/// Variables that change what gpuprof does or what it will show.
fn settings(world: &World) -> Vec<Finding> {
    let vars = world.env.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes()));
    let (settings, problems) = from_env(vars);
    let mut findings: Vec<Finding> = Vec::new();
    if settings.disable {
        let text = "GPUPROF_DISABLE is set: the collector stays inert";
        findings.push(Finding::problem("settings", text).help("unset GPUPROF_DISABLE"));
    }
    for problem in problems {
        let text = format!("{problem}; the default holds");
        findings.push(Finding::note("settings", text).help("`gpuprof record --help` lists what there is"));
    }
    if world.text_var("CUDA_LAUNCH_BLOCKING").is_some_and(|value| value != "0") {
        findings.push(
            Finding::note(
                "settings",
                "CUDA_LAUNCH_BLOCKING is set: every launch waits for its kernel, and traces will show that",
            )
            .help("unset it unless that is what you look for"),
        );
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::finding::Level;
    use crate::doctor::fixtures::Room;

    fn levels(findings: &[Finding]) -> Vec<Level> {
        findings.iter().map(|f| f.level).collect()
    }

    #[test]
    fn nothing_in_the_way_is_said() {
        let room = Room::new();
        let findings = judge(&room.world, None);
        assert_eq!(findings, [Finding::ok("tools", "no other tool is in the way")]);
    }

    #[test]
    fn a_foreign_injection_prevents_recording_and_our_own_does_not() {
        let mut room = Room::new();
        room.set(
            "CUDA_INJECTION64_PATH",
            "/opt/nvidia/nsight-systems/2025.1/target-linux-x64/libToolsInjection64.so",
        );
        let findings = judge(&room.world, None);
        assert_eq!(levels(&findings), [Level::Problem]);
        assert!(findings[0].text.contains("Nsight Systems"), "{findings:?}");
        assert!(findings[0].help[0].contains("unset CUDA_INJECTION64_PATH"));

        let ours = room.file("cache/0123.so", "ours");
        room.set("CUDA_INJECTION64_PATH", &ours);
        assert_eq!(levels(&judge(&room.world, Some(&ours))), [Level::Ok]);
        room.set("CUDA_INJECTION64_PATH", "/elsewhere/libgpuprof.so");
        assert_eq!(levels(&judge(&room.world, None)), [Level::Ok]);
    }

    #[test]
    fn nvtx_of_others_and_nvtx_switched_off_are_told_apart() {
        let mut room = Room::new();
        room.set("NVTX_INJECTION64_PATH", "./.");
        assert!(judge(&room.world, None)[0].text.contains("switches NVTX off"));
        room.set("NVTX_INJECTION64_PATH", "/x/libcupti.so.12");
        assert!(judge(&room.world, None)[0].text.contains("takes its place"));
    }

    #[test]
    fn every_preload_is_named() {
        let mut room = Room::new();
        room.set("LD_PRELOAD", "/a/libheaptrack.so /b/libcupti.so.12:/c/libjemalloc.so");
        let findings = judge(&room.world, None);
        assert_eq!(levels(&findings), [Level::Note, Level::Note, Level::Ok]);
        assert!(findings[1].help[0].contains("GPUPROF_CUPTI"), "{findings:?}");
    }

    #[test]
    fn tools_are_known_by_their_variables() {
        let mut room = Room::new();
        room.set("NSYS_PROFILING_SESSION_ID", "1");
        room.set("NSYS_OTHER", "1");
        let findings = judge(&room.world, None);
        assert_eq!(findings.len(), 1, "one line for one tool");
        assert!(findings[0].text.contains("NSYS_OTHER, NSYS_PROFILING_SESSION_ID"), "{findings:?}");
    }

    #[test]
    fn running_tools_are_known_by_their_names() {
        let room = Room::new();
        room.file("proc/17/cmdline", b"/usr/bin/nv-hostengine\0-n\0");
        room.file("proc/18/cmdline", b"vim\0nsys\0");
        room.file("proc/19/cmdline", b"");
        room.file("proc/self/cmdline", b"nsys\0");
        let findings = judge(&room.world, None);
        assert_eq!(findings.len(), 1);
        assert!(findings[0].text.starts_with("DCGM is running (pid 17)"), "{findings:?}");
    }

    #[test]
    fn settings_that_do_not_exist_are_noted() {
        let mut room = Room::new();
        room.set("GPUPROF_OUTPT", "x");
        room.set("CUDA_LAUNCH_BLOCKING", "1");
        let findings = judge(&room.world, None);
        assert_eq!(levels(&findings), [Level::Ok, Level::Note, Level::Note]);
        assert!(findings[1].text.contains("GPUPROF_OUTPT"), "{findings:?}");
        room.set("GPUPROF_DISABLE", "1");
        assert!(levels(&judge(&room.world, None)).contains(&Level::Problem));
    }
}
