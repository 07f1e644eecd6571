//! Getting in: whichever CUPTI there is, the program keeps its own.

use std::path::{Path, PathBuf};

use crate::common::sim::{Attach, Sim, VERSIONS, player, write_cupti};
use crate::common::{in_parallel, laws, one, said, same_end};
use trace_format::tables::{ApiRow, ContextRow, DeviceRow, MemcpyRow, StreamRow};

const BOTH: [Attach; 2] = [Attach::Preload, Attach::Injection];

fn write_at(version: &str, path: &Path) {
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    write_cupti(version, path);
}

#[test]
fn every_cupti_from_11_8_to_13_5_records_all_of_a_small_program_either_way() {
    in_parallel(VERSIONS.iter().flat_map(|v| BOTH.iter().map(move |a| (*v, a))), 4, |(version, attach)| {
        let sim = Sim::new(version);
        let run = || sim.player("vector_add").args(["25", "2048"]);
        let (bare, ended) = (run().run(), run().attach(attach.clone()).run());
        let what = format!("CUPTI {version}, {attach:?}");
        same_end(&bare, &ended, &what);
        assert_eq!(said(&ended).len(), 0, "{what}: {}", ended.stderr);
        let trace = one(&ended);
        assert_eq!((trace.kernels().len(), trace.losses()), (25, vec![]), "{what}");
        assert!(trace.kernels().iter().all(|k| k.duration_ns.is_some_and(|d| d > 0)), "{what}");
        let names: Vec<(String, usize)> = trace.kernel_names().into_iter().collect();
        assert_eq!(names, [("_Z10vector_addPKfS0_Pfi".to_owned(), 25)], "{what}");
        let copies: Vec<MemcpyRow> = trace.rows();
        let bytes: i64 = copies.iter().map(|c| c.bytes).sum();
        assert_eq!((copies.len(), bytes), (75, 75 * 2048 * 4), "{what}");
        let calls: Vec<ApiRow> = trace.rows();
        let runtime: Vec<&ApiRow> = calls.iter().filter(|call| call.domain == 0).collect();
        assert_eq!(runtime.len() as u64, ended.number("runtime_calls"), "{what}");
        let launches =
            runtime.iter().filter(|call| trace.text(call.name_id).starts_with("cudaLaunchKernel")).count();
        assert_eq!(launches, 25, "{what}");
        let (devices, contexts, streams): (Vec<DeviceRow>, Vec<ContextRow>, Vec<StreamRow>) =
            (trace.rows(), trace.rows(), trace.rows());
        assert!(!devices.is_empty() && !contexts.is_empty() && !streams.is_empty(), "{what}");
        assert_eq!(trace.process()["cupti_path"], sim.cupti().display().to_string(), "{what}");
    });
}

#[test]
fn a_runtime_of_another_version_than_cupti_is_no_matter() {
    in_parallel([("12.8", "11.8"), ("12.8", "12.1"), ("13.0", "12.8"), ("12.4", "12.8")], 4, |(cupti, runtime)| {
        let sim = Sim::with_cudart(cupti, runtime);
        let ended = sim.player("vector_add").preload().run();
        assert_eq!(ended.code(), Some(0), "CUPTI {cupti}, runtime {runtime}: {}", ended.stderr);
        assert_eq!(one(&ended).kernels().len(), 10, "CUPTI {cupti}, runtime {runtime}");
    });
}

#[test]
fn a_program_that_is_linked_to_its_own_cupti_is_recorded_with_that_one() {
    let sim = Sim::new("12.8");
    let old = sim.folder().join("old/libcupti.so.12");
    write_at("12.1", &old);
    for attach in &BOTH {
        let run =
            || sim.player("needs_cupti").env("GPUPROF_CUPTI", &old).env("CUDA_HOME", sim.folder().join("old"));
        let (bare, ended) = (run().run(), run().attach(attach.clone()).run());
        same_end(&bare, &ended, "needs_cupti");
        let trace = one(&ended);
        assert_eq!((ended.code(), trace.kernels().len()), (Some(0), 100), "{}", ended.stderr);
        assert_eq!(trace.process()["cupti_path"], sim.cupti().display().to_string());
    }
}

#[test]
fn a_library_that_needs_its_own_cupti_may_be_loaded_after_cuda_was_used() {
    // As `import torch` after `import cupy`: an old toolkit is installed as well, and must not get into the way.
    let sim = Sim::new("12.8");
    let home = sim.folder().join("cuda-12.1");
    write_at("12.1", &home.join("extras/CUPTI/lib64/libcupti.so.12"));
    write_at("12.1", &home.join("lib64/libcupti.so.12"));
    for attach in &BOTH {
        let run =
            || sim.player("needs_late").arg(player("libneeds")).env("CUDA_HOME", &home).env("CUDA_PATH", &home);
        let (bare, ended) = (run().run(), run().attach(attach.clone()).run());
        same_end(&bare, &ended, "needs_late");
        let trace = one(&ended);
        assert_eq!((ended.code(), trace.kernels().len()), (Some(0), 200), "{}", ended.stderr);
    }
}

/// A virtual environment over this machine's Python, with NVIDIA's wheel of CUPTI in it.
fn environment(sim: &Sim, cupti: &str, torch: Option<&str>) -> (PathBuf, PathBuf) {
    let root = sim.folder().join("venv");
    let version = std::process::Command::new("python3")
        .args(["-c", "import sys; print('python%d.%d' % sys.version_info[:2]); print(sys.base_prefix + '/bin')"])
        .output()
        .expect("python3");
    let text = String::from_utf8(version.stdout).expect("text");
    let (name, home) = text.trim().split_once('\n').expect("two lines");
    let python = root.join("bin/python");
    std::fs::create_dir_all(root.join("bin")).expect("a folder");
    let real = ["python3", name].map(|file| Path::new(home).join(file)).into_iter().find(|p| p.exists());
    std::os::unix::fs::symlink(real.expect("the interpreter"), &python).expect("a link");
    std::fs::write(root.join("pyvenv.cfg"), format!("home = {home}\ninclude-system-site-packages = false\n"))
        .expect("its settings");
    let packages = root.join("lib").join(name).join("site-packages");
    let file = crate::common::sim::cupti_soname(cupti);
    let library = packages.join("nvidia/cuda_cupti/lib").join(file);
    write_at(cupti, &library);
    if let Some(cuda) = torch {
        std::fs::create_dir_all(packages.join("torch/lib")).expect("a folder");
        let text = format!("__version__ = '2.7.0+cu128'\ncuda: Optional[str] = '{cuda}'\n");
        std::fs::write(packages.join("torch/version.py"), text).expect("torch");
        std::fs::write(packages.join("torch/__init__.py"), "").expect("torch");
    }
    (python, library)
}

#[test]
fn the_cupti_that_this_python_would_load_comes_before_that_of_the_machine() {
    let classic = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sim/players/classic.py");
    for torch in [None, Some("12.8")] {
        let sim = Sim::with_cudart("12.1", "12.8");
        let (python, library) = environment(&sim, "12.8", torch);
        for attach in &BOTH {
            let run = || sim.program(&python).arg(&classic).arg("step");
            let (bare, ended) = (run().run(), run().attach(attach.clone()).run());
            same_end(&bare, &ended, "classic.py");
            let trace = one(&ended);
            // Up to cudaProfilerStop after its fifth step of ten.
            assert_eq!(trace.kernels().len() as u64, ended.number("total") / 2, "{}", ended.stderr);
            assert_eq!(trace.process()["cupti_path"], library.display().to_string(), "torch {torch:?}, {attach:?}");
        }
    }
}

#[test]
fn no_cupti_at_all_is_one_line_and_a_trace_that_says_so() {
    let sim = Sim::new("12.8").without_cupti();
    for attach in &BOTH {
        let run = || sim.player("vector_add");
        let (bare, ended) = (run().run(), run().attach(attach.clone()).run());
        same_end(&bare, &ended, "without CUPTI");
        let [line] = &said(&ended)[..] else { panic!("{}", ended.stderr) };
        assert!(line.contains("no usable libcupti was found") && line.contains("GPUPROF_CUPTI"), "{line}");
        let traces = laws(&ended);
        assert_eq!(
            (traces.len(), &traces[0].process()["cause"]),
            (1, &"cupti_not_found".into()),
            "{}",
            ended.stderr
        );
    }
}

#[test]
fn the_one_that_is_named_is_taken_where_the_program_has_none() {
    let sim = Sim::new("12.4");
    let named = sim.folder().join("named/libcupti.so.12");
    write_at("12.6", &named);
    let ended = sim.player("vector_add").env("GPUPROF_CUPTI", &named).inject().run();
    let trace = one(&ended);
    assert_eq!((trace.kernels().len(), ended.code()), (10, Some(0)));
    assert_eq!(trace.process()["cupti_path"], named.display().to_string());
    // A file that is no libcupti is passed over.
    let odd = sim.folder().join("odd/libcupti.so.12");
    std::fs::create_dir_all(odd.parent().expect("a folder")).expect("a folder");
    std::fs::write(&odd, "no library").expect("a file");
    let ended = sim.player("vector_add").env("GPUPROF_CUPTI", &odd).inject().run();
    assert_eq!((one(&ended).kernels().len(), ended.code()), (10, Some(0)), "{}", ended.stderr);
}
