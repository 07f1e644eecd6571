//! The GitHub Action that compares traces, run as GitHub runs it: inputs as variables, outputs and summary as files.

use crate::common::build::Player;
use crate::common::{TempFolder, gpuprof_in};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

fn trace(folder: &TempFolder, name: &str, seed: u64, ns: i64) {
    let mut player = Player::new(seed);
    for _ in 0..60 {
        player.kernel("gemm", 7, ns);
        player.stay_near(7, 3_000_000);
    }
    folder.file(name, &player.native());
}

/// What a step of a job leaves.
struct Step {
    status: i32,
    log: String,
    outputs: BTreeMap<String, String>,
    summary: String,
}

/// Runs the action with these inputs; the others have what `action.yml` says.
fn run(folder: &TempFolder, inputs: &[(&str, &str)]) -> Step {
    let action = Path::new(env!("CARGO_MANIFEST_DIR")).join(".github/actions/diff");
    let text = std::fs::read_to_string(action.join("action.yml")).expect("the action");
    let mut command = Command::new("bash");
    command.arg(action.join("diff.sh")).current_dir(folder.path()).env("GITHUB_ACTION_PATH", &action);
    let [outputs, summary] = ["outputs", "summary"].map(|name| folder.file(name, b""));
    command.env("GITHUB_OUTPUT", &outputs).env("GITHUB_STEP_SUMMARY", &summary);
    let (_, inputs_and_rest) = text.split_once("\ninputs:\n").expect("inputs");
    let (declared, rest) = inputs_and_rest.split_once("\noutputs:\n").expect("outputs");
    let names: Vec<&str> = declared
        .lines()
        .filter_map(|line| line.strip_prefix("  ")?.strip_suffix(':'))
        .filter(|name| !name.starts_with(' '))
        .collect();
    assert_eq!(names, ["before", "after", "baseline", "baselines", "by", "fail-if", "gpuprof"]);
    for (name, _) in inputs {
        assert!(names.contains(name), "{name} is no input");
    }
    for name in names {
        let variable = name.to_uppercase().replace('-', "_");
        assert!(
            rest.contains(&format!("{variable}: ${{{{ inputs.{name} }}}}")),
            "{name} does not reach the script"
        );
        let given = inputs.iter().find(|(input, _)| *input == name).map(|(_, value)| (*value).to_owned());
        let default = || {
            let (_, of_input) = declared.split_once(&format!("  {name}:\n")).expect("the input");
            let default = of_input.lines().take_while(|line| line.starts_with("    "));
            let default = default.filter_map(|line| line.trim().strip_prefix("default: ")).next();
            default.unwrap_or_default().trim_matches('"').to_owned()
        };
        command.env(&variable, given.unwrap_or_else(default));
    }
    command.env("GPUPROF", env!("CARGO_BIN_EXE_gpuprof"));
    let output = command.output().expect("bash");
    let read = |path: &Path| std::fs::read_to_string(path).expect("a file");
    let outputs = read(&outputs);
    Step {
        status: output.status.code().expect("an exit status"),
        log: String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr),
        outputs: outputs
            .lines()
            .map(|line| line.split_once('=').expect("NAME=VALUE"))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect(),
        summary: read(&summary),
    }
}

#[test]
fn the_job_fails_where_a_limit_is_broken_and_its_summary_has_the_table() {
    let folder = TempFolder::new("cli-diff-action");
    for (seed, name) in (1..).zip(["old one.gpuprof", "old2.gpuprof", "old3.gpuprof"]) {
        trace(&folder, name, seed, 400_000);
    }
    for (seed, name) in (11..).zip(["new1.gpuprof", "new2.gpuprof", "new3.gpuprof"]) {
        trace(&folder, name, seed, 500_000);
    }
    let before = "old one.gpuprof\nold2.gpuprof\n\nold3.gpuprof\n";
    let after = "new1.gpuprof\r\nnew2.gpuprof\r\nnew3.gpuprof";

    let step = run(&folder, &[("before", before), ("after", after)]);
    assert_eq!(step.status, 0, "{}", step.log);
    assert_eq!((step.outputs["verdict"].as_str(), step.outputs["failed"].as_str()), ("slower", "false"));
    assert!(step.summary.starts_with("## GPU time: slower\n\n"), "{}", step.summary);
    assert!(step.summary.contains("| gemm |"), "{}", step.summary);

    let limits = ("fail-if", "span>+500%\ntotal>+3%\n");
    let step = run(&folder, &[("before", before), ("after", after), limits]);
    assert_eq!(step.status, 3, "{}", step.log);
    assert!(step.log.contains("::error title=gpuprof::GPU time is slower, and a limit is broken"), "{}", step.log);
    assert_eq!(step.outputs["failed"], "true");
    assert!(step.summary.contains("total>+3%") && !step.summary.contains("span>+500%"), "{}", step.summary);

    // The same of a baseline, and the other way around.
    gpuprof_in(folder.path(), &["baseline", "save", "main", "new1.gpuprof", "new2.gpuprof", "new3.gpuprof"]);
    let step = run(&folder, &[("baseline", "main"), ("after", before), limits]);
    assert_eq!((step.status, step.outputs["verdict"].as_str()), (0, "faster"), "{}", step.log);

    let step = run(&folder, &[("before", "nothing.gpuprof"), ("after", after)]);
    assert!(![0, 3, 4].contains(&step.status) && step.log.contains("nothing.gpuprof"), "{}", step.log);
    assert!(step.outputs.is_empty() && step.summary.is_empty());
}
