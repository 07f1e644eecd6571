//! `gpuprof FILE`: a trace in the place of the command is reported on.

use crate::common::build::{Story, native};
use crate::common::{Answer, TempFolder, gpuprof_in};

fn same(bare: &Answer, asked: &Answer) {
    assert_eq!((bare.status, &bare.stdout, &bare.stderr), (asked.status, &asked.stdout, &asked.stderr));
}

#[test]
fn a_trace_in_the_place_of_the_command_is_reported_on() {
    let folder = TempFolder::new("bare");
    folder.file("run.gpuprof", &native(&Story::sample(3)));
    // No ending that is known, and a name that begins like a command.
    folder.file("reporting", &native(&Story::sample(3)));
    folder.file("runs/a.gpuprof", &native(&Story::sample(2)));
    for words in [
        &["run.gpuprof"][..],
        &["run.gpuprof", "--top", "1", "--no-insights"],
        &["run.gpuprof", "--view", "cuda_gpu_kern_sum", "--format", "csv"],
        &["run.gpuprof", "runs/a.gpuprof", "--print-gpu-trace"],
        &["reporting"],
        &["runs"],
        &["run*"],
    ] {
        let bare = gpuprof_in(folder.path(), words);
        assert_eq!(bare.status, 0, "{words:?}: {}", bare.stderr);
        same(&bare, &gpuprof_in(folder.path(), &[&["report"], words].concat()));
    }
}

#[test]
fn a_trace_that_is_not_there_is_missed_by_report() {
    let folder = TempFolder::new("bare-missing");
    for words in [&["missing.gpuprof"][..], &["runs/missing"], &["missing.sqlite", "--top", "3"]] {
        let bare = gpuprof_in(folder.path(), words);
        assert_eq!((bare.status, bare.stdout.as_str()), (2, ""));
        assert!(bare.stderr.contains("no such file or folder"), "{}", bare.stderr);
        same(&bare, &gpuprof_in(folder.path(), &[&["report"], words].concat()));
    }
    // An option that report does not have is refused as report refuses it.
    let answer = gpuprof_in(folder.path(), &["missing.gpuprof", "--nope"]);
    assert_eq!(answer.status, 2);
    assert!(answer.stderr.contains("--nope") && answer.stderr.contains("gpuprof report"), "{}", answer.stderr);
}

#[test]
fn a_mistyped_command_and_a_view_are_no_traces() {
    let folder = TempFolder::new("bare-mistyped");
    let answer = gpuprof_in(folder.path(), &["repotr", "run.gpuprof"]);
    assert_eq!((answer.status, answer.stdout.as_str()), (2, ""));
    assert!(answer.stderr.contains("'report'"), "{}", answer.stderr);
    let answer = gpuprof_in(folder.path(), &["cuda_gpu_kern_sum", "run.gpuprof"]);
    assert_eq!(answer.status, 2);
    assert!(answer.stderr.contains("gpuprof report --view cuda_gpu_kern_sum"), "{}", answer.stderr);
    // A file that is called like a command does not take its place.
    folder.file("doctor", &native(&Story::sample(3)));
    assert!(gpuprof_in(folder.path(), &["doctor", "--help"]).stdout.contains("libcupti"));
}
