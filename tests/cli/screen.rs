//! Answers on a terminal: through a pager where they are longer than it, coloured, and neither where they are piped.

use crate::common::build::{Story, native};
use crate::common::{Answer, TempFolder, answer, command, gpuprof, skip};
use crate::diff::trace as run;
use std::process::Command;

/// Runs a shell command on a terminal of 10 lines, in which `gpuprof` is the real one; what the terminal shows and the
/// status. `None`: there is no `script`, which is said and counted.
fn on_terminal(test: &str, line: &str) -> Option<Answer> {
    if Command::new("script").arg("--version").output().is_err() {
        skip(test, "there is no script, which makes a terminal");
        return None;
    }
    let gpuprof = env!("CARGO_BIN_EXE_gpuprof");
    let line = format!("stty rows 10 cols 200; gpuprof() {{ '{gpuprof}' \"$@\"; }}; {line}");
    let mut command = Command::new("script");
    command
        .args(["-qec", &line, "/dev/null"])
        .env("SHELL", "/bin/bash")
        .env("TERM", "xterm")
        .env_remove("NO_COLOR");
    for name in ["PAGER", "GPUPROF_PAGER", "CLICOLOR", "CLICOLOR_FORCE", "LESS", "COLUMNS"] {
        command.env_remove(name);
    }
    let mut answer = answer(&mut command);
    answer.stdout = answer.stdout.replace('\r', "");
    Some(answer)
}

fn trace(folder: &TempFolder) -> String {
    folder.argument("run.gpuprof", &native(&Story::sample(30)))
}

#[test]
fn a_long_answer_goes_through_the_pager_and_a_short_one_does_not() {
    let folder = TempFolder::new("screen-pager");
    let trace = trace(&folder);
    let test = "screen::a_long_answer_goes_through_the_pager_and_a_short_one_does_not";
    let run = |line: &str| on_terminal(test, line).map(|answer| answer.stdout);
    let listing = format!("report {trace} --print-gpu-trace");
    let Some(paged) = run(&format!("PAGER='sed s/^/paged:/' gpuprof {listing}")) else { return };
    assert!(paged.lines().count() > 10, "{paged}");
    assert!(paged.lines().all(|line| line.starts_with("paged:")), "{paged}");
    // The variable of our own comes first; words for a shell go to a shell.
    let ours = run(&format!("PAGER=false GPUPROF_PAGER='cat | tac' gpuprof {listing}")).expect("a terminal");
    assert_eq!(ours.lines().last().map(|line| line.contains("result:")), Some(true), "{ours}");
    // All commands that print tables.
    for words in
        [format!("info {trace}"), format!("query {trace} 'SELECT * FROM api'"), format!("diff {trace} {trace}")]
    {
        let paged = run(&format!("PAGER='sed s/^/paged:/' gpuprof {words}")).expect("a terminal");
        assert!(paged.starts_with("paged:"), "{words}: {paged}");
    }
    for (line, why) in [
        (format!("PAGER='sed s/^/paged:/' gpuprof report {trace} --view cuda_gpu_kern_sum --top 1"), "it is short"),
        (format!("PAGER='sed s/^/paged:/' gpuprof {listing} --no-pager"), "--no-pager"),
        (format!("PAGER=cat gpuprof {listing}"), "cat"),
        (format!("GPUPROF_PAGER= PAGER='sed s/^/paged:/' gpuprof {listing}"), "an empty variable"),
        (format!("PAGER='sed s/^/paged:/' gpuprof {listing} | cat"), "a pipe"),
        (format!("PAGER='sed s/^/paged:/' gpuprof {listing} --csv"), "it is for programs"),
        (format!("PAGER='sed s/^/paged:/' gpuprof nvprof -i {trace} --print-gpu-trace"), "nvprof has none"),
    ] {
        let shown = run(&line).expect("a terminal");
        assert!(!shown.contains("paged:") && !shown.is_empty(), "{why}: {shown}");
    }
    let without = run(&format!("PAGER=no-such-pager gpuprof {listing}")).expect("a terminal");
    assert!(without.contains("PAGER=no-such-pager: the pager cannot be started"), "{without}");
    assert!(without.contains("[CUDA memcpy HtoD]"), "{without}");
}

#[test]
fn whoever_leaves_the_pager_early_changes_no_exit_status() {
    let folder = TempFolder::new("screen-status");
    let test = "screen::whoever_leaves_the_pager_early_changes_no_exit_status";
    let (old, new) = (run(&folder, "old.gpuprof", 1, 100), run(&folder, "new.gpuprof", 2, 120));
    for (line, status) in [
        (format!("report {old} --print-gpu-trace"), 0),
        (format!("query {old} 'SELECT * FROM api'"), 0),
        (format!("diff {old} {new} --all --fail-if 'total>+1%'"), 3),
    ] {
        for pager in ["true", "'head -n 1'"] {
            let Some(answer) = on_terminal(test, &format!("GPUPROF_PAGER={pager} gpuprof {line}")) else { return };
            assert_eq!(answer.status, status, "{line}: {}", answer.stdout);
            assert!(!answer.stdout.contains("cannot be written"), "{}", answer.stdout);
        }
        let unpaged = on_terminal(test, &format!("gpuprof {line} --no-pager > /dev/null")).expect("a terminal");
        assert_eq!(unpaged.status, status, "{line}: {}", unpaged.stdout);
    }
}

#[test]
fn a_terminal_has_colour_unless_the_environment_says_no() {
    let folder = TempFolder::new("screen-color");
    let trace = trace(&folder);
    let test = "screen::a_terminal_has_colour_unless_the_environment_says_no";
    let line = format!("gpuprof report {trace} --no-pager");
    let Some(coloured) = on_terminal(test, &line) else { return };
    assert!(coloured.stdout.contains("\x1b[1m"), "{}", coloured.stdout);
    for variable in ["NO_COLOR=1", "CLICOLOR=0", "TERM=dumb"] {
        let plain = on_terminal(test, &format!("export {variable}; {line}")).expect("a terminal");
        assert!(!plain.stdout.contains('\x1b') && plain.stdout.contains("result:"), "{variable}: {}", plain.stdout);
    }
    // What is piped is plain, and the same bytes but for the colours where they are forced.
    let plain = gpuprof(&["report", &trace]).stdout;
    assert!(!plain.contains('\x1b'));
    let forced = answer(command(&["report", &trace]).env("CLICOLOR_FORCE", "1")).stdout;
    assert!(forced.contains("\x1b[1m"));
    assert_eq!(["\x1b[1m", "\x1b[2m", "\x1b[0m"].iter().fold(forced, |text, code| text.replace(code, "")), plain);
    let csv = answer(command(&["report", &trace, "--format", "csv"]).env("CLICOLOR_FORCE", "1")).stdout;
    assert!(!csv.contains('\x1b'));
}

#[test]
fn every_command_that_prints_tables_takes_the_same_formats() {
    let folder = TempFolder::new("screen-formats");
    let trace = trace(&folder);
    let same = ["text", "csv", "tsv", "json", "markdown"];
    for words in [
        &["report", &trace, "--view", "cuda_gpu_kern_sum"][..],
        &["info", &trace],
        &["query", &trace, "SELECT name FROM kernels_by_name"],
        &["diff", &trace, &trace],
        &["ranks", &trace],
        &["ctl", "list"],
        &["config"],
    ] {
        let refused = crate::common::gpuprof_in(folder.path(), &[words, &["--format", "xml"]].concat());
        assert_eq!((refused.status, refused.stdout.as_str()), (2, ""), "{words:?}");
        for format in same {
            assert!(refused.stderr.contains(format), "{words:?}: {}", refused.stderr);
            let answer = crate::common::gpuprof_in(folder.path(), &[words, &["--format", format]].concat());
            assert!([0, 1, 4].contains(&answer.status), "{words:?} {format}: {}", answer.stderr);
        }
        // As it was called before.
        let text = crate::common::gpuprof_in(folder.path(), &[words, &["--format", "text"]].concat());
        let table = crate::common::gpuprof_in(folder.path(), &[words, &["--format", "table"]].concat());
        assert_eq!((text.status, text.stdout), (table.status, table.stdout), "{words:?}");
    }
    for words in [&["doctor"][..], &["top", "--once", &trace], &["ctl", "status"]] {
        let refused = crate::common::gpuprof_in(folder.path(), &[words, &["--format", "xml"]].concat());
        assert_eq!(refused.status, 2, "{words:?}");
        assert!(refused.stderr.contains("text, json"), "{words:?}: {}", refused.stderr);
        let table = crate::common::gpuprof_in(folder.path(), &[words, &["--format", "table"]].concat());
        assert!(!table.stderr.contains("invalid value"), "{words:?}: {}", table.stderr);
    }
}
