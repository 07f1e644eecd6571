//! `scripts/gpu-check` works: all its steps run on the simulator, so that it does not rot between visits to a GPU. What it
//! says about the simulator is no claim about hardware.

use crate::common;
use crate::sim;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn gpu_check(args: &[&str]) -> Output {
    Command::new(root().join("scripts/gpu-check")).args(args).output().expect("scripts/gpu-check; it needs python3")
}

/// What a step may lack on a machine without a GPU; anything else that is skipped is a mistake of ours.
const NOT_HERE: &[&str] =
    &["no torch here", "no cupy here", "no triton here", "no jax here", "no statically linked program"];

#[test]
fn every_step_runs_on_the_simulator_and_none_fails() {
    let folder = common::TempFolder::new("gpu-check");
    let (out, libraries) = (folder.path().join("out"), folder.path().join("libraries"));
    std::fs::create_dir(&libraries).expect("a folder");
    for name in ["libsim_cuda.so", "libsim_cudart.so", "libsim_cupti.so"] {
        std::os::unix::fs::symlink(sim::built(name), libraries.join(name)).expect("a link");
    }
    std::os::unix::fs::symlink(sim::shim_path(), libraries.join("libgpuprof.so")).expect("a link");
    let cli = Path::new(env!("CARGO_BIN_EXE_gpuprof"));
    let examples = cli.parent().expect("cargo's folder").join("examples");
    let argument = |path: &Path| path.to_str().expect("a path").to_owned();
    let options = [
        ("--budget", "240".to_owned()),
        ("--libraries", argument(&libraries)),
        ("--cli", argument(cli)),
        ("--examples", argument(&examples)),
        ("--out", argument(&out)),
    ];
    let mut args = vec!["--dry-run"];
    args.extend(options.iter().flat_map(|(name, value)| [*name, value.as_str()]));
    let output = gpu_check(&args);
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let text =
        std::fs::read_to_string(out.join("results.json")).unwrap_or_else(|e| panic!("no results: {e}\n{said}"));
    let results: Value = serde_json::from_str(&text).expect("JSON");

    let checks = results["checks"].as_array().expect("checks");
    let failed: Vec<_> = checks.iter().filter(|check| check["verdict"] == "FAIL").map(|c| &c["check"]).collect();
    assert!(failed.is_empty(), "{failed:?} failed\n{said}");
    for check in checks.iter().filter(|check| check["verdict"] == "SKIP") {
        let why = check["skipped"].as_str().unwrap_or_default();
        assert!(NOT_HERE.contains(&why), "{} was skipped: {why}\n{said}", check["check"]);
    }
    let seen = checks.iter().filter(|check| check["verdict"] == "PASS").count();
    assert!(seen >= 35, "only {seen} of {} steps had something to compare\n{said}", checks.len());
    assert_eq!(results["machine"]["simulated"], true);
    assert_eq!(output.status.code(), Some(0), "{said}");
}

#[test]
fn the_ledger_has_a_line_for_every_step() {
    let listed = gpu_check(&["--list"]);
    let listed = String::from_utf8(listed.stdout).expect("text");
    let ledger = std::fs::read_to_string(root().join("docs/gpu-verified.md")).expect("the ledger");
    assert!(listed.lines().count() >= 50, "{listed}");
    for line in listed.lines() {
        let (step, claim) = line.split_once(": ").expect("step: claim");
        assert!(
            ledger.contains(&format!("| {claim} | `{step}` |")),
            "docs/gpu-verified.md lacks {step}; scripts/gpu-check --ledger adds it"
        );
    }
}

#[test]
fn results_of_the_simulator_never_enter_the_ledger() {
    let folder = common::TempFolder::new("ledger");
    let results = folder.path().join("results.json");
    std::fs::write(&results, r#"{"machine": {"simulated": true}, "checks": []}"#).expect("a file");
    let before = std::fs::read(root().join("docs/gpu-verified.md")).expect("the ledger");
    let output = gpu_check(&["--ledger", results.to_str().expect("a path")]);
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("not hardware"));
    assert_eq!(std::fs::read(root().join("docs/gpu-verified.md")).expect("the ledger"), before);
}
