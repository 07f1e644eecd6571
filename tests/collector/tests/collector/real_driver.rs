//! NVIDIA's own driver library loads the collector, and the collector loads NVIDIA's own libcupti. No GPU and no kernel
//! module: `cuInit` answers 100, "no device", CUPTI will not be subscribed to, and the program must not notice any of
//! it. What a simulator cannot show is shown here: that the real driver finds our entry, and that the real libraries
//! of all releases bear what we do before and after they refuse.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::sim::shim_path;

/// Every release that `scripts/fetch-cupti` is asked for, with the code with which it refuses.
const PACKAGES: [(&str, u64); 12] = [
    ("11.8.87", 15),
    ("12.1.105", 15),
    ("12.4.127", 15),
    ("12.6.80", 15),
    ("12.8.90", 15),
    ("12.9.79", 15),
    ("13.0.85", 999),
    ("13.1.115", 999),
    ("13.2.86", 999),
    ("13.3.75", 999),
    ("13.4.92", 999),
    ("13.5.25", 999),
];

/// Calls cuInit twice, says what came of it, and ends in its own way.
const PROGRAM: &str = "
import ctypes, sys
cuda = ctypes.CDLL('libcuda.so.1')
print(cuda.cuInit(0), cuda.cuInit(0), flush=True)
sys.exit(7)
";

/// The folder that a script names; `None`, said loudly and counted, where it has nothing.
fn fetch(test: &str, script: &str, args: &[&str]) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts").join(script);
    let fetched = Command::new(&path).args(args).output().unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    if fetched.status.success() {
        return Some(PathBuf::from(String::from_utf8(fetched.stdout).expect("a path").trim_end()));
    }
    let reason = String::from_utf8_lossy(&fetched.stderr).trim_end().to_owned();
    eprintln!("SKIPPED: {test}: {reason}");
    if let Some(list) = std::env::var_os("GPUPROF_SKIPS") {
        let file = std::fs::OpenOptions::new().append(true).create(true).open(list);
        let _ = file.and_then(|mut f| f.write_all(format!("{test}: {reason}\n").as_bytes()));
    }
    None
}

#[test]
fn the_real_driver_loads_us_and_the_real_libcupti_s_refusal_disturbs_nobody() {
    let test = "the_real_driver_loads_us_and_the_real_libcupti_s_refusal_disturbs_nobody";
    let Some(libcuda) = fetch(test, "fetch-libcuda", &[]) else { return };
    let Some(cache) = fetch(test, "fetch-cupti", &PACKAGES.map(|(package, _)| package)) else { return };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("real-driver-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    for (package, code) in PACKAGES {
        for variable in ["CUDA_INJECTION64_PATH", "LD_PRELOAD"] {
            let work = folder.join(package).join(variable);
            std::fs::create_dir_all(&work).expect("a folder");
            let cupti =
                std::fs::read_dir(cache.join(package)).expect("the cache").next().expect("a file").expect("it");
            let seen = work.join("seen.jsonl");
            let ended = Command::new("python3")
                .args(["-c", PROGRAM])
                .current_dir(&work)
                .env("LD_LIBRARY_PATH", &libcuda)
                .env("GPUPROF_CUPTI", cupti.path())
                .env("GPUPROF_SEEN", &seen)
                .env(variable, shim_path())
                .output()
                .expect("python3");
            let stderr = String::from_utf8_lossy(&ended.stderr);
            let what = format!("CUPTI {package} by {variable}: {stderr}");
            assert_eq!(String::from_utf8_lossy(&ended.stdout), "100 100\n", "{what}");
            assert_eq!(ended.status.code(), Some(7), "{what}");
            // One line that says what is wrong, and with which file.
            assert_eq!(stderr.lines().count(), 1, "{what}");
            assert!(stderr.starts_with("gpuprof: ") && stderr.contains("libcupti.so."), "{what}");
            let seen = std::fs::read_to_string(&seen).expect("the list of processes seen");
            let line: serde_json::Value = serde_json::from_str(seen.lines().last().expect("a line")).expect("JSON");
            assert_eq!(
                (&line["cause"], &line["cause_code"]),
                (&"cupti_error".into(), &code.into()),
                "{what}{line}"
            );
            assert_eq!(line["cause_function"], "cuptiSubscribe", "{what}");
            // The driver is down when we are asked whether there was a context, so there is a file, and it says why it
            // is empty.
            let files = std::fs::read_dir(&work).expect("the folder").map(|entry| entry.expect("an entry").path());
            let traces: Vec<PathBuf> =
                files.filter(|path| path.extension().is_some_and(|e| e == "gpuprof")).collect();
            for trace in traces {
                let trace = crate::common::Trace::open(&trace);
                assert_eq!(trace.process()["cause"], "cupti_error", "{what}");
                assert!(trace.reader.is_closed() && trace.kernels().is_empty(), "{what}");
            }
        }
    }
    let _ = std::fs::remove_dir_all(&folder);
}
