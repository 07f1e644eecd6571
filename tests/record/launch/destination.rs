//! Where it goes.

use super::*;

#[test]
fn a_run_without_records_leaves_nothing_behind() {
    let folder = TempFolder::new("record-nothing");
    recorded(&folder, &[], &["true"]);
    recorded(&folder, &["-o", "named"], &["true"]);
    recorded(&folder, &["-o", "one.gpuprof"], &["true"]);
    assert_eq!(names(folder.path()), [] as [&str; 0]);
}

#[test]
fn processes_are_told_where_to_write() {
    let folder = TempFolder::new("record-places");
    let here = folder.path().canonicalize().unwrap();
    let here = here.display();
    let told = |options: &[&str], script: &str| {
        let lines = environment(&mut record(&folder, options, &sh(&format!("{script} env"))));
        (variable(&lines, "GPUPROF_OUTPUT").unwrap(), variable(&lines, "GPUPROF_SEEN").unwrap())
    };
    let (output, seen) = told(&[], "");
    let run = output.strip_suffix("/gpuprof-%n-%h-%p.gpuprof").expect("the default name in the run's folder");
    assert!(run.starts_with(&format!("{here}/gpuprof-sh-2")), "{run}");
    assert_eq!(seen, format!("{run}/seen.jsonl"));
    let (output, seen) = told(&["-o", "a/100%% b/"], "");
    assert_eq!(output, format!("{here}/a/100%% b/gpuprof-%n-%h-%p.gpuprof"));
    assert_eq!(seen, format!("{here}/a/100% b/seen.jsonl"));
    let (output, _) = told(&["-o", "c/%n-%p.gpuprof"], "");
    assert_eq!(output, format!("{here}/c/%n-%p.gpuprof"));
    assert!(folder.path().join("c").is_dir(), "the folder is made");
    let (output, _) = told(&["-o", "/tmp/x-%r.gpuprof"], "");
    assert_eq!(output, "/tmp/x-%r.gpuprof");
    let mut by_variable = record(&folder, &[], &["env"]);
    let lines = environment(by_variable.env("GPUPROF_OUTPUT", "d/%p.gpuprof"));
    assert_eq!(variable(&lines, "GPUPROF_OUTPUT").unwrap(), format!("{here}/d/%p.gpuprof"));
}

#[test]
fn mistakes_in_the_name_are_errors_before_the_launch() {
    let folder = TempFolder::new("record-template");
    for (template, words) in [
        ("run-%x", "unknown placeholder %x; known are %p"),
        ("%q{GPUPROF_TEST_UNSET}.gpuprof", "the variable GPUPROF_TEST_UNSET is not set"),
        ("%q.gpuprof", "%q without a variable"),
        ("file/run", "the folder for the traces cannot be made"),
    ] {
        folder.file("file", b"");
        let answer = recorded(&folder, &["-o", template], &sh("echo ran"));
        assert_eq!((answer.status, answer.stdout.as_str()), (2, ""), "{template}: {}", answer.stderr);
        assert!(answer.stderr.contains(words), "{template}: {}", answer.stderr);
    }
}

#[test]
fn runs_in_the_same_second_get_folders_of_their_own_and_ranks_share_the_one_that_is_named() {
    let folder = TempFolder::new("record-clash");
    let keep = sh("echo >> \"$GPUPROF_SEEN\"; echo \"$GPUPROF_SEEN\"");
    let mut folders: Vec<PathBuf> = Vec::new();
    let runs: Vec<Child> = (0..4)
        .map(|_| record(&folder, &[], &keep).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap())
        .collect();
    for run in runs {
        let output = run.wait_with_output().unwrap();
        let seen = String::from_utf8(output.stdout).unwrap();
        folders.push(Path::new(seen.trim()).parent().unwrap().to_owned());
    }
    folders.sort();
    folders.dedup();
    assert_eq!(folders.len(), 4);
    let first = recorded(&folder, &["-o", "ranks"], &keep).stdout;
    let second = recorded(&folder, &["-o", "ranks"], &keep).stdout;
    assert!(first.ends_with("ranks/seen.jsonl\n") && second.ends_with("ranks/seen-1.jsonl\n"), "{first}{second}");
}

#[test]
fn a_folder_that_takes_nothing_is_said_with_what_to_do() {
    // Even root cannot make files in there.
    let mut command = command(&["record", "--", "echo", "ran"]);
    let answer = answer(command.current_dir("/proc/self").env_remove("GPUPROF_OUTPUT"));
    assert_eq!((answer.status, answer.stdout.as_str()), (2, ""), "{}", answer.stderr);
    assert!(answer.stderr.contains("choose another place with -o"), "{}", answer.stderr);
}
