use super::super::probe::{Gpu, Support};
use super::*;
use crate::doctor::finding::Level;
use shim_config::find::Skip;

fn candidate(path: &str, why: Why) -> Candidate {
    let name = Path::new(path).file_name().expect("a name").to_str().expect("UTF-8");
    Candidate { path: path.into(), why, soname: Some(name.to_owned()) }
}

fn driver() -> Driver {
    let gpu = |ordinal, name: &str, compute| Gpu { ordinal, name: name.into(), compute, ..Gpu::default() };
    let gpus = vec![gpu(0, "H100", (9, 0)), gpu(1, "B200", (10, 0))];
    Driver { version: Some(12_080), init: Some(0), gpus, ..Driver::default() }
}

/// A libcupti that answers.
fn cupti(path: &str, version: u32) -> Cupti {
    let supports = |ordinal| Support { ordinal, compute: Some(true), device: Some(true), virtualization: Some(0) };
    Cupti {
        path: Some(path.into()),
        soname: Some("libcupti.so.12".into()),
        version: Some(version),
        has_callback_state: true,
        has_driver: true,
        gpus: vec![supports(0), supports(1)],
        ..Cupti::default()
    }
}

fn refusing(path: &str, version: u32, code: i32) -> Cupti {
    Cupti { refused: Some(("cuptiSubscribe".into(), code)), gpus: Vec::new(), ..cupti(path, version) }
}

type Probed = Vec<(Candidate, Result<Cupti, Failure>)>;

fn weighed(probed: Probed) -> Vec<Tried> {
    weigh(probed, &FoundLibraries::default(), Some(&driver()))
}

#[test]
fn the_first_that_accepts_driver_and_gpus_is_taken() {
    let tried = weighed(vec![
        (candidate("/a/libcupti.so.13", Why::CudaHome), Ok(refusing("/a/libcupti.so.13", 130_001, 999))),
        (candidate("/b/libcupti.so.12", Why::Toolkit), Ok(cupti("/b/libcupti.so.12", 22))),
        (candidate("/c/libcupti.so.12", Why::Toolkit), Ok(cupti("/c/libcupti.so.12", 24))),
    ]);
    let states: Vec<_> = tried.iter().map(|t| (t.accepted, t.taken)).collect();
    assert_eq!(states, [(Some(false), false), (Some(true), true), (Some(true), false)]);
    let findings = judge(&tried, None, Some(&driver()));
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].level, Level::Ok);
    assert_eq!(findings[0].text, "12.4 (/b/libcupti.so.12), in an installed toolkit");
    assert_eq!(
        findings[0].details,
        [
            "not usable 13.0 (/a/libcupti.so.13): in CUDA_HOME or CUDA_PATH; cuptiSubscribe returned CUPTI error 999 \
             (unknown)",
            "taken      12.4 (/b/libcupti.so.12): in an installed toolkit",
            "works      12.6 (/c/libcupti.so.12): in an installed toolkit",
        ]
    );
}

#[test]
fn of_each_soname_only_the_first_that_loads_is_used() {
    let missing = Cupti { load_error: Some("undefined symbol: x".into()), ..Cupti::default() };
    let tried = weighed(vec![
        (candidate("/a/libcupti.so.12", Why::CudaHome), Ok(missing)),
        (candidate("/b/libcupti.so.12", Why::Toolkit), Ok(refusing("/b/libcupti.so.12", 28, 15))),
        (candidate("/c/libcupti.so.12", Why::Toolkit), Ok(cupti("/c/libcupti.so.12", 24))),
        (candidate("/d/libcupti.so.11.8", Why::Toolkit), Ok(cupti("/d/libcupti.so.11.8", 18))),
    ]);
    let taken: Vec<_> = tried.iter().map(|t| t.taken).collect();
    assert_eq!(taken, [false, false, false, true]);
    assert_eq!(tried[2].objection.as_deref(), Some("another file of its name is loaded before it"));
}

#[test]
fn once_another_tool_holds_the_slot_no_other_file_is_tried() {
    let tried = weighed(vec![
        (candidate("/a/libcupti.so.12", Why::CudaHome), Ok(refusing("/a/libcupti.so.12", 28, 39))),
        (candidate("/b/libcupti.so.13", Why::Toolkit), Ok(cupti("/b/libcupti.so.13", 130_001))),
    ]);
    assert!(tried.iter().all(|t| !t.taken));
    assert_eq!(judge(&tried, None, Some(&driver()))[0].level, Level::Problem);
}

#[test]
fn what_is_refused_after_subscribing_is_final() {
    let not_allowed = Cupti { refused: Some(("cuptiActivityEnable".into(), 35)), ..cupti("/a/libcupti.so.12", 24) };
    let tried = weighed(vec![
        (candidate("/a/libcupti.so.12", Why::CudaHome), Ok(not_allowed)),
        (candidate("/b/libcupti.so.13", Why::Toolkit), Ok(cupti("/b/libcupti.so.13", 130_001))),
    ]);
    assert!(tried.iter().all(|t| !t.taken));
    let findings = judge(&tried, None, Some(&driver()));
    assert_eq!(findings[0].level, Level::Problem);
    assert!(findings[0].help[0].contains("NVreg_RestrictProfilingToAdminUsers"), "{findings:?}");
}

#[test]
fn a_libcupti_that_crashes_with_a_driver_would_take_programs_down() {
    let crash = Failure::Died { step: "cuptiSubscribe".into(), how: "SIGSEGV".into(), said: String::new() };
    let tried = weighed(vec![
        (candidate("/a/libcupti.so.12", Why::CudaHome), Err(crash)),
        (candidate("/b/libcupti.so.13", Why::Toolkit), Ok(cupti("/b/libcupti.so.13", 130_001))),
    ]);
    let findings = judge(&tried, None, Some(&driver()));
    assert_eq!(findings[0].level, Level::Problem);
    assert!(findings[0].text.contains("take programs down"), "{findings:?}");
}

#[test]
fn the_cupti_of_the_drivers_own_cuda_is_advised_where_a_version_is_the_matter() {
    let one = |code| weighed(vec![(candidate("/a/libcupti.so.12", Why::Toolkit), Ok(refusing("/a", 28, code)))]);
    let help = |code, version| {
        let driver = Driver { version: Some(version), ..driver() };
        judge(&one(code), None, Some(&driver))[0].help.join(" | ")
    };
    for (version, advice) in [
        (11_080, "'nvidia-cuda-cupti-cu11==11.8.*'`, then GPUPROF_CUPTI=DIR/nvidia/cuda_cupti/lib"),
        (12_040, "'nvidia-cuda-cupti-cu12==12.4.*'`, then GPUPROF_CUPTI=DIR/nvidia/cuda_cupti/lib"),
        // There never was a toolkit 12.7.
        (12_070, "'nvidia-cuda-cupti-cu12==12.6.*'"),
        (13_010, "'nvidia-cuda-cupti==13.1.*'`, then GPUPROF_CUPTI=DIR/nvidia/cu13/lib"),
    ] {
        assert!(help(15, version).contains(advice), "{version}: {}", help(15, version));
    }
    for code in [35, 39, 41] {
        assert!(!help(code, 12_040).contains("pip"), "{code}: {}", help(code, 12_040));
    }
}

#[test]
fn a_virtual_gpu_is_known_by_cupti() {
    for (mode, expected) in [(0, false), (1, false), (2, true)] {
        let mut virtualized = cupti("/a/libcupti.so.12", 24);
        virtualized.gpus[1].virtualization = Some(mode);
        let tried = weighed(vec![(candidate("/a/libcupti.so.12", Why::Toolkit), Ok(virtualized))]);
        assert_eq!(tried[0].on_virtual_gpu, expected, "{mode}");
    }
}

#[test]
fn refused_by_all_is_a_problem_with_every_remedy_once() {
    let tried = weighed(vec![
        (candidate("/a/libcupti.so.12", Why::Toolkit), Ok(refusing("/a/libcupti.so.12", 28, 39))),
        (candidate("/b/libcupti.so.12", Why::Toolkit), Ok(refusing("/b/libcupti.so.12", 26, 39))),
    ]);
    let findings = judge(&tried, None, Some(&driver()));
    assert_eq!((findings[0].level, findings[0].help.len()), (Level::Problem, 1));
    assert!(findings[0].help[0].contains("compute-sanitizer"), "{findings:?}");
}

#[test]
fn a_gpu_that_is_not_supported_is_named_and_the_others_still_record() {
    let mut partly = cupti("/a/libcupti.so.12", 24);
    partly.gpus[1].compute = Some(false);
    let tried = weighed(vec![(candidate("/a/libcupti.so.12", Why::Toolkit), Ok(partly))]);
    assert!(tried[0].taken);
    let findings = judge(&tried, None, Some(&driver()));
    assert_eq!(findings[0].level, Level::Note);
    assert!(
        findings[0].details[0].contains("does not support GPU 1 (B200, compute capability 10.0)"),
        "{findings:?}"
    );

    let mut not_at_all = cupti("/a/libcupti.so.12", 24);
    for gpu in &mut not_at_all.gpus {
        gpu.device = Some(false);
    }
    let tried = weighed(vec![
        (candidate("/a/libcupti.so.12", Why::Toolkit), Ok(not_at_all)),
        (candidate("/b/libcupti.so.13", Why::Toolkit), Ok(cupti("/b/libcupti.so.13", 130_001))),
    ]);
    let findings = judge(&tried, None, Some(&driver()));
    assert_eq!(findings[0].level, Level::Problem, "the collector would take it all the same");
    assert_eq!(findings[0].help, ["GPUPROF_CUPTI=/b/libcupti.so.13 supports all GPUs here"]);
}

#[test]
fn what_the_loader_does_not_find_is_not_worth_a_line() {
    let absent = Cupti {
        load_error: Some("libcupti.so.13: cannot open shared object file: No such file or directory".into()),
        ..Cupti::default()
    };
    let tried = weighed(vec![(candidate("libcupti.so.13", Why::Loader), Ok(absent.clone()))]);
    assert_eq!(tried, []);
    let findings = judge(&tried, None, Some(&driver()));
    assert_eq!(findings[0].level, Level::Problem);
    assert!(findings[0].help[1].contains("'nvidia-cuda-cupti-cu12==12.8.*'"), "{findings:?}");
    // A file that is there but lacks something is.
    let tried = weighed(vec![(candidate("/a/libcupti.so.13", Why::Toolkit), Ok(absent))]);
    assert_eq!(tried[0].accepted, Some(false));
}

#[test]
fn what_the_loader_finds_again_is_one_library() {
    let tried = weighed(vec![
        (candidate("/a/libcupti.so.12", Why::Toolkit), Ok(cupti("/a/libcupti.so.2024.1", 22))),
        (candidate("libcupti.so.12", Why::Loader), Ok(cupti("/a/libcupti.so.2024.1", 22))),
    ]);
    assert_eq!(tried.len(), 1);
    let tried = weighed(vec![(candidate("libcupti.so.12", Why::Loader), Ok(cupti("/lib/libcupti.so.12", 22)))]);
    assert_eq!(tried[0].path, Path::new("/lib/libcupti.so.12"), "the file is shown, not the name");
}

#[test]
fn crashes_are_reported_with_what_is_known_of_them() {
    let crash = || Failure::Died { step: "cuptiGetVersion".into(), how: "SIGSEGV".into(), said: String::new() };
    let probed = || vec![(candidate("/a/libcupti.so.13", Why::Python), Err(crash()))];
    let without = weigh(probed(), &FoundLibraries::default(), None);
    assert_eq!(without[0].accepted, None, "with a driver it may well work");
    assert!(without[0].objection.as_deref().is_some_and(|o| o.contains("as 13.2 does")), "{without:?}");
    let with = weighed(probed());
    assert_eq!(with[0].accepted, Some(false));
    assert_eq!(with[0].objection.as_deref(), Some("crashed in cuptiGetVersion (SIGSEGV)"));
}

#[test]
fn without_a_driver_nothing_is_judged() {
    let untested = Cupti { has_driver: false, gpus: Vec::new(), ..cupti("/a/libcupti.so.12", 22) };
    let tried =
        weigh(vec![(candidate("/a/libcupti.so.12", Why::Asked), Ok(untested))], &FoundLibraries::default(), None);
    assert_eq!((tried[0].accepted, tried[0].taken), (None, false));
    let findings = judge(&tried, None, None);
    assert_eq!(findings.iter().map(|f| f.level).collect::<Vec<_>>(), [Level::Note]);
}

#[test]
fn what_is_skipped_says_why() {
    let found = FoundLibraries {
        candidates: Vec::new(),
        skipped: vec![(candidate("/a/libcupti.so.12", Why::Asked), Skip::Missing)],
    };
    let findings = judge(&weigh(Vec::new(), &found, Some(&driver())), None, Some(&driver()));
    assert_eq!(findings[0].level, Level::Problem);
    assert_eq!(findings[1].text, "GPUPROF_CUPTI is passed over: there is no libcupti");
}

#[test]
fn a_libcupti_that_would_replace_pytorchs_own_is_warned_of() {
    let probed = |soname: &str| {
        let asked = Cupti { soname: Some(soname.into()), ..cupti("/a/libcupti.so.12", 18) };
        vec![
            (candidate("/a/libcupti.so.12", Why::Asked), Ok(asked)),
            (candidate("/t/libcupti.so.12", Why::Torch), Ok(cupti("/t/libcupti.so.12", 26))),
        ]
    };
    let findings = judge(&weighed(probed("libcupti.so.12")), None, Some(&driver()));
    assert_eq!(findings.len(), 2);
    assert!(findings[1].text.contains("in place of its own (/t/libcupti.so.12)"), "{findings:?}");
    assert_eq!(
        judge(&weighed(probed("libcupti.so.13")), None, Some(&driver())).len(),
        1,
        "another SONAME is in nobody's way"
    );
}

#[test]
fn the_python_that_was_assumed_is_named() {
    let program = Program { exe: "/usr/bin/python3.11".into(), argv0: "/v/bin/python".into(), is_assumed: true };
    let tried = weighed(vec![(candidate("/a/libcupti.so.12", Why::Torch), Ok(cupti("/a/libcupti.so.12", 26)))]);
    let details = &judge(&tried, Some(&program), Some(&driver()))[0].details;
    assert_eq!(details[0], "looked for what /v/bin/python would get (another one: `gpuprof doctor -- PROGRAM`)");
}

#[test]
fn versions_are_told_by_the_toolkit_people_know() {
    for (version, soname, has_callback_state, expected) in [
        (17, "libcupti.so.11.7", false, Some("11.7")),
        (18, "libcupti.so.11.8", false, Some("11.8")),
        (18, "libcupti.so.12", false, Some("12.0")),
        (18, "libcupti.so.12", true, Some("12.1")),
        (24, "libcupti.so.12", true, Some("12.6")),
        (28, "libcupti.so.12", true, Some("12.9")),
        (130_001, "libcupti.so.13", true, Some("13.0")),
        (130_202, "libcupti.so.13", true, Some("13.2")),
        (130_500, "libcupti.so.13", true, Some("13.5")),
        (140_000, "libcupti.so.14", true, Some("14.0")),
        (25, "libcupti.so.12", true, None),
    ] {
        assert_eq!(toolkit(version, soname, has_callback_state).as_deref(), expected, "{version}");
    }
}
