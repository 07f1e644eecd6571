//! Paths.

use super::*;

#[test]
fn paths_that_lead_nowhere_are_named() {
    let folder = TempFolder::new("err-paths");
    let here = folder.path().to_str().unwrap();
    let missing = format!("{here}/missing.gpuprof");
    for command in ["report", "info"] {
        refused(&[command, &missing], &[&missing, "no such file or folder", "; check the path"]);
        let pattern = format!("{here}/*.gpuprof");
        refused(&[command, &pattern], &[&pattern, "no file matches this pattern"]);
        let pattern = format!("{here}/[");
        refused(&[command, &pattern], &[&pattern, "not a valid pattern"]);
    }
    #[cfg(unix)]
    {
        let link = folder.path().join("dangling");
        std::os::unix::fs::symlink("nowhere", &link).unwrap();
        refused(&["report", link.to_str().unwrap()], &["dangling", "cannot be opened"]);
    }
}

#[test]
fn a_folder_without_traces_is_nothing_to_show() {
    let folder = TempFolder::new("err-folder");
    let here = folder.path().to_str().unwrap().to_owned();
    for command in ["report", "info"] {
        let answer = gpuprof_in(folder.path(), &[command, &here]);
        assert_eq!((answer.status, answer.stdout.as_str()), (1, ""), "{}", answer.stderr);
        assert!(answer.stderr.contains(&here) && answer.stderr.contains("no trace found among 0 files"));
    }
    folder.file("train.log", b"epoch 1\n");
    folder.file("model/weights.bin", &[7; 100]);
    let answer = gpuprof_in(folder.path(), &["report", &here]);
    assert_eq!((answer.status, answer.stdout.as_str()), (1, ""), "{}", answer.stderr);
    assert!(answer.stderr.contains("no trace found among 2 files"), "{}", answer.stderr);
    assert!(answer.stderr.contains("the first that was passed over: "), "{}", answer.stderr);
}

#[cfg(unix)]
#[test]
fn an_unreadable_file_says_why() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = TempFolder::new("err-permission");
    let path = folder.file("t.gpuprof", &native(&Story::sample(3)));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o0)).unwrap();
    if std::fs::File::open(&path).is_ok() {
        common::skip("an_unreadable_file_says_why", "this user may read everything (root)");
        return;
    }
    let path = path.to_str().unwrap();
    refused(&["report", path], &[path, "cannot be opened", "ermission denied"]);
}

#[cfg(unix)]
#[test]
fn what_can_be_read_only_once_is_refused_and_not_waited_for() {
    let folder = TempFolder::new("err-pipe");
    let pipe = folder.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    if !made.is_ok_and(|status| status.success()) {
        common::skip("what_can_be_read_only_once_is_refused_and_not_waited_for", "no mkfifo here");
        return;
    }
    // Nobody will ever write to it: a program that opens it hangs.
    let pipe = pipe.to_str().unwrap();
    refused(&["report", pipe], &[pipe, "not a regular file", "; "]);
    refused(&["report", "/dev/null"], &["/dev/null", "not a regular file", "; "]);
}

#[test]
fn one_bad_file_that_was_named_fails_and_one_that_lies_about_is_passed_over_with_a_remark() {
    let folder = TempFolder::new("err-among");
    let good = folder.argument("a.gpuprof", &native(&Story::sample(6)));
    let bad =
        folder.argument("b.gpuprof", b"GPUPROF\nthen nothing that makes sense, for long enough to be a header");
    folder.file("train.log", b"epoch 1\n");
    refused(&["report", &good, &bad], &[&bad]);
    let expected = gpuprof(&["report", &good]);
    let answer = gpuprof(&["report", folder.path().to_str().unwrap()]);
    assert_eq!(answer.stdout, expected.stdout);
    assert!(answer.stderr.contains(&bad), "the broken trace is remarked on: {}", answer.stderr);
    assert!(!answer.stderr.contains("train.log"), "a log is nobody's business: {}", answer.stderr);
}

#[cfg(unix)]
#[test]
fn more_traces_than_may_be_open_at_once_are_all_read_or_none_is() {
    let folder = TempFolder::new("err-open-files");
    let bytes = native(&Story::sample(3));
    (0..100).for_each(|number| drop(folder.file(&format!("{number}.gpuprof"), &bytes)));
    let limited = |limit: &str| {
        let script =
            format!("ulimit {limit} 90 && exec \"$0\" report \"$1\" --view cuda_gpu_kern_sum --format json");
        let gpuprof = env!("CARGO_BIN_EXE_gpuprof");
        let output = std::process::Command::new("sh").args(["-c", &script, gpuprof]).arg(folder.path()).output();
        output.expect("a shell")
    };
    let few =
        gpuprof(&["report", folder.path().to_str().unwrap(), "--view", "cuda_gpu_kern_sum", "--format", "json"]);
    // Programs may raise the soft limit.
    let raised = limited("-Sn");
    assert_eq!(
        String::from_utf8(raised.stdout).unwrap(),
        few.stdout,
        "{}",
        String::from_utf8_lossy(&raised.stderr)
    );
    let refused = limited("-n");
    let said = String::from_utf8(refused.stderr).unwrap();
    assert_eq!((refused.status.code(), refused.stdout.as_slice()), (Some(2), &b""[..]), "{said}");
    assert!(said.contains(".gpuprof: ") && said.contains("`ulimit -n`"), "{said}");
}
