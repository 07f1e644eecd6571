//! Paths.

use super::*;

#[test]
fn without_a_path_the_newest_trace_or_run_here_is_read_and_named() {
    let folder = TempFolder::new("cli-newest");
    let answer = gpuprof_in(folder.path(), &["report"]);
    assert_eq!((answer.status, answer.stdout.as_str()), (1, ""));
    assert!(
        answer.stderr.contains("no path given") && answer.stderr.contains("; name a trace"),
        "{}",
        answer.stderr
    );
    let at = |path: &Path, seconds: u64| {
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_000 + seconds);
        File::open(path).expect("it exists").set_modified(time).expect("a time");
    };
    let story = |n: u64| Story::sample(n);
    at(&folder.file("old.gpuprof", &native(&story(3))), 0);
    at(&folder.file("new.gpuprof", &native(&story(4))), 20);
    at(&folder.file("newer.json", b"no trace"), 90);
    let answer = gpuprof_in(folder.path(), &["report"]);
    assert_eq!(answer.status, 0, "{}", answer.stderr);
    assert!(answer.stderr.contains("reading new.gpuprof"), "{}", answer.stderr);
    assert_eq!(answer.stdout, gpuprof_in(folder.path(), &["report", "new.gpuprof"]).stdout);
    // A folder of traces counts as one run.
    folder.file("run-7/rank0.gpuprof", &native(&story(2)));
    folder.file("run-7/rank1.gpuprof", &native(&story(2)));
    at(&folder.path().join("run-7"), 40);
    let answer = gpuprof_in(folder.path(), &["report"]);
    assert!(answer.stderr.contains("reading run-7"), "{}", answer.stderr);
    assert_eq!(answer.stdout, gpuprof_in(folder.path(), &["report", "run-7"]).stdout);
}

#[test]
fn folders_are_walked_and_hidden_files_left_alone() {
    let folder = TempFolder::new("cli-folders");
    folder.file("run/node1/rank0.gpuprof", &native(&Story::sample(4)));
    folder.file("run/node2/rank1.json.gz", &gzip(&kineto(&Story::sample(5), KinetoEra::Base2024)));
    folder.file("run/.cache/old.gpuprof", &native(&Story::sample(50)));
    folder.file("run/node1/train.log", b"epoch 1");
    let here = folder.path();
    let expected = gpuprof_in(here, &["report", "run/node1/rank0.gpuprof", "run/node2/rank1.json.gz"]).stdout;
    for paths in
        [&["run"][..], &["run/"], &["run/*"], &["run/node?"], &["run/*/rank*"], &["run/node1", "run/node2"]]
    {
        let answer = gpuprof_in(here, &[&["report"], paths].concat());
        assert_eq!(answer.status, 0, "{paths:?}: {}", answer.stderr);
        assert_eq!(answer.stdout, expected, "{paths:?}");
    }
}

#[test]
fn a_file_is_known_by_its_content_whatever_it_is_called() {
    let folder = TempFolder::new("cli-content");
    let story = Story::sample(9);
    let expected = gpuprof(&["report", &folder.argument("right.gpuprof", &native(&story))]).stdout;
    for (kind, bytes) in every_kind(&story) {
        for name in [
            "wrong.qdrep",
            "wrong.nsys-rep",
            "wrong.gpuprof",
            "wrong.json",
            "wrong.gz",
            "no extension",
            "sp ace%41?.x",
        ] {
            let answer = gpuprof(&["report", &folder.argument(name, &bytes)]);
            assert_eq!(answer.stdout, expected, "{kind} as {name}");
        }
    }
    for (kind, bytes) in [
        ("nvprof", nvprof(&story, 8)),
        ("nsys", nsys(&story, NsysEra::Of2026)),
        ("session", nvvp_session(&nvprof(&story, 8), 2)),
    ] {
        let answer = gpuprof(&["report", &folder.argument("packed", &gzip(&bytes))]);
        assert_eq!(answer.stdout, expected, "{kind} packed with gzip");
    }
}
