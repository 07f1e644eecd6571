//! The command line.

use super::*;

#[test]
fn options_that_make_no_sense_are_refused() {
    let folder = TempFolder::new("err-options");
    let path = folder.argument("t.gpuprof", &native(&Story::sample(3)));
    for (options, words) in [
        (&["--filter", "("][..], &["--filter", "not a regular expression"][..]),
        (&["--filter", "a", "--filter", "b"], &["--filter", "one expression only", "; join"]),
        (&["--filter", "device=x"], &["device=x", "not a number"]),
        (&["--filter", "stream=1,,2"], &["stream=1,,2", "not a number"]),
        (&["--view", "nope"], &["unknown view \"nope\"", "known are"]),
        (&["--view", "cuda_gpu_kern_sum:nope"], &["unknown argument \"nope\""]),
        (&["--view", "cuda_gpu_kern_sum", "--csv"], &["--view", "does not go with"]),
        (&["--view", "cuda_gpu_kern_sum", "--print-gpu-trace"], &["--view", "does not go with"]),
        (&["--print-gpu-trace", "--format", "json"], &["--format", "--csv"]),
        (&["--print-gpu-trace", "--percentiles"], &["--percentiles"]),
        (&["--log-file", "%q{GPUPROF_TEST_UNSET}.log"], &["%q{GPUPROF_TEST_UNSET}", "not set"]),
        (&["--log-file", "%x.log"], &["%x", "known are %p"]),
        (&["--log-file", "/no/such/folder/x.log"], &["/no/such/folder/x.log", "cannot be created"]),
    ] {
        refused(&[&["report"], options, &[&path]].concat(), words);
    }
    // What clap finds by itself has its own form, the same status and nothing on the standard output either.
    for options in [
        &["--from", "tomorrow"][..],
        &["--to", "1.5"],
        &["--group-by", "colour"],
        &["--sort", "colour"],
        &["--top", "-1"],
        &["-u", "h"],
        &["--demangling", "maybe"],
        &["--format", "xml"],
        &["--nope"],
    ] {
        let answer = gpuprof_in(Path::new("."), &[&["report"], options, &[&path]].concat());
        assert_eq!((answer.status, answer.stdout.as_str()), (2, ""), "{options:?}: {}", answer.stderr);
        assert!(answer.stderr.contains(options.last().unwrap()), "{options:?}: {}", answer.stderr);
    }
}

#[test]
fn summaries_and_traces_at_once_are_refused_in_nvprofs_words() {
    let folder = TempFolder::new("err-both");
    let path = folder.argument("t.gpuprof", &native(&Story::sample(3)));
    let answer = gpuprof_in(Path::new("."), &["report", "--print-gpu-trace", "--print-gpu-summary", &path]);
    assert_eq!((answer.status, answer.stdout.as_str()), (2, ""));
    assert_eq!(
        answer.stderr,
        "======== Error: Use either the print summary options or the print trace options.\n\
         ======== Use \"nvprof --help\" to get more information.\n"
    );
}
