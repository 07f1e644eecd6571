use super::*;
use crate::doctor::finding::Level;
use crate::doctor::fixtures::Room;

fn h100(ordinal: i32) -> Gpu {
    Gpu {
        ordinal,
        name: "NVIDIA H100 80GB HBM3".into(),
        uuid: "GPU-01234567-89ab-cdef-0123-456789abcdef".into(),
        compute: (9, 0),
        memory_bytes: 85_029_158_912,
        multiprocessors: 132,
    }
}

fn working(gpus: usize) -> Driver {
    Driver {
        load_error: None,
        path: Some("/usr/lib/x86_64-linux-gnu/libcuda.so.550.54.15".into()),
        version: Some(12_040),
        init: Some(0),
        gpus: (0..gpus as i32).map(h100).collect(),
    }
}

fn absent() -> Driver {
    let why = "libcuda.so.1: cannot open shared object file: No such file or directory";
    Driver { load_error: Some(why.into()), ..Driver::default() }
}

fn failing(code: i32) -> Driver {
    Driver { init: Some(code), ..working(0) }
}

fn judged(room: &Room, driver: Driver) -> Vec<Finding> {
    judge(&room.world, &Ok(driver))
}

/// All help of the findings, joined.
fn help(findings: &[Finding]) -> String {
    findings.iter().flat_map(|f| f.help.clone()).collect::<Vec<_>>().join(" | ")
}

#[test]
fn a_working_driver_tells_release_cuda_and_gpus() {
    let findings = judged(&Room::new(), working(2));
    let texts: Vec<&str> = findings.iter().map(|f| f.text.as_str()).collect();
    assert_eq!(texts[0], "550.54.15, CUDA 12.4 (/usr/lib/x86_64-linux-gnu/libcuda.so.550.54.15)");
    assert_eq!(
        texts[1],
        "0: NVIDIA H100 80GB HBM3, compute capability 9.0, 132 multiprocessors, 79.2 GiB, \
         GPU-01234567-89ab-cdef-0123-456789abcdef"
    );
    assert_eq!(texts.len(), 3);
    assert!(findings.iter().all(|f| f.level == Level::Ok), "{findings:?}");
}

#[test]
fn a_part_of_a_gpu_says_what_that_means() {
    let mut driver = working(1);
    driver.gpus[0].uuid = "MIG-01234567-89ab-cdef-0123-456789abcdef".into();
    assert!(judged(&Room::new(), driver)[1].details[0].contains("MIG"));
}

#[test]
fn without_a_driver_the_remedy_depends_on_the_machine() {
    let room = Room::new();
    let findings = judged(&room, absent());
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].level, Level::Problem);
    assert_eq!(findings[0].text, "no NVIDIA driver: libcuda.so.1 is not to be found");
    assert!(help(&findings).contains("gpuprof report FILE"), "{findings:?}");

    let mut room = Room::new();
    room.file(".dockerenv", "");
    assert!(help(&judged(&room, absent())).contains("--gpus all"));
    room.set("NVIDIA_DRIVER_CAPABILITIES", "utility,video");
    assert!(help(&judged(&room, absent())).contains("NVIDIA_DRIVER_CAPABILITIES=utility,video"));
    room.set("NVIDIA_DRIVER_CAPABILITIES", "compute,utility");
    assert!(!help(&judged(&room, absent())).contains("CAPABILITIES"));

    let room = Room::new();
    room.file("sys/bus/pci/devices/0000:01:00.0/vendor", "0x10de\n");
    room.file("sys/bus/pci/devices/0000:01:00.0/class", "0x030200\n");
    assert!(help(&judged(&room, absent())).contains("install its driver"));
    room.file("proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue\n");
    assert!(help(&judged(&room, absent())).contains("user-mode library"));

    let room = Room::new();
    room.file("proc/version", "Linux version 5.15-microsoft-standard-WSL2");
    assert!(help(&judged(&room, absent())).contains("/usr/lib/wsl/lib"));
}

#[test]
fn a_driver_that_is_there_but_does_not_load_says_the_loaders_words() {
    let driver = Driver { load_error: Some("libcuda.so.1: file too short".into()), ..Driver::default() };
    assert_eq!(judged(&Room::new(), driver)[0].text, "libcuda.so.1 cannot be loaded: libcuda.so.1: file too short");
}

#[test]
fn each_error_of_cu_init_has_its_remedy() {
    for (code, remedy) in [
        (34, "stubs"),
        (101, "CUDA_VISIBLE_DEVICES"),
        (304, "/dev/nvidia-uvm"),
        (802, "fabric manager"),
        (803, "reboot"),
        (804, "compat"),
        (999, "nvidia-modprobe"),
        (12_345, "dmesg"),
    ] {
        let findings = judged(&Room::new(), failing(code));
        let last = findings.last().expect("a finding");
        assert_eq!(last.level, Level::Problem);
        assert!(last.text.contains(&format!("error {code} ")), "{last:?}");
        assert!(help(&findings).contains(remedy), "{code}: {findings:?}");
    }
}

#[test]
fn a_mismatch_of_module_and_library_shows_both() {
    let room = Room::new();
    let nvrm =
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build\nGCC version: 12.3\n";
    room.file("proc/driver/nvidia/version", nvrm);
    let findings = judged(&room, failing(803));
    assert_eq!(findings[1].details, ["kernel module 580.65.06, libcuda 550.54.15"]);
}

#[test]
fn hidden_gpus_are_looked_for_in_the_environment() {
    let mut room = Room::new();
    assert!(help(&judged(&room, failing(100))).contains("gpuprof report FILE"));
    room.set("CUDA_VISIBLE_DEVICES", "7");
    assert!(help(&judged(&room, failing(100))).contains("CUDA_VISIBLE_DEVICES=7 may hide"));
    room.set("CUDA_VISIBLE_DEVICES", "");
    assert!(help(&judged(&room, failing(100))).contains("set to nothing"));
}

#[test]
fn what_is_visible_is_counted() {
    let mut room = Room::new();
    assert_eq!(visible(&room.world, &working(1), Some(8)), None);
    room.set("CUDA_VISIBLE_DEVICES", "3");
    let finding = visible(&room.world, &working(1), Some(8)).expect("a note");
    assert_eq!(finding.text, "CUDA_VISIBLE_DEVICES=3: programs see 1 of 8 GPUs and number them from 0");
    assert_eq!(visible(&room.world, &failing(100), None), None);
}

#[test]
fn a_driver_before_11_8_is_noted() {
    let mut driver = working(1);
    driver.version = Some(11_040);
    assert_eq!(judged(&Room::new(), driver)[0].level, Level::Note);
}

#[test]
fn a_driver_that_crashes_is_reported() {
    let crash = Failure::Died { step: "cuInit".into(), how: "SIGSEGV".into(), said: String::new() };
    let findings = judge(&Room::new().world, &Err(crash));
    assert_eq!(findings[0].text, "libcuda.so.1 crashed in cuInit (SIGSEGV)");
    assert_eq!(findings[0].level, Level::Problem);
}
