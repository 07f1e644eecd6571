//! Nothing to show.

use super::*;

#[test]
fn a_trace_without_gpu_work_says_so_and_shows_the_calls() {
    let folder = TempFolder::new("err-nogpu");
    let mut story = Story::sample(5);
    story.kernels.clear();
    story.copies.clear();
    story.fills.clear();
    for (kind, bytes) in every_kind(&story) {
        let answer = report(&folder, "t", &bytes, &[]);
        assert_eq!(answer.status, 0, "{kind}: {}", answer.stderr);
        assert!(answer.stdout.contains("No kernels were profiled."), "{kind}: {}", answer.stdout);
        assert!(answer.stdout.contains("cudaDeviceSynchronize"), "{kind}: {}", answer.stdout);
        let answer = report(&folder, "t", &bytes, &["--print-gpu-summary"]);
        assert_eq!(answer.status, 1, "{kind}: nothing to show");
        assert!(answer.stdout.contains("No kernels were profiled."), "{kind}: {}", answer.stdout);
        let path = folder.path().join("t");
        assert!(answer.stderr.contains(path.to_str().unwrap()), "{kind}: {}", answer.stderr);
        assert!(answer.stderr.contains("nothing to show"), "{kind}: {}", answer.stderr);
    }
}

#[test]
fn a_trace_without_api_calls_says_so_and_shows_the_kernels() {
    let folder = TempFolder::new("err-noapi");
    let mut story = Story::sample(5);
    story.calls.clear();
    for (kind, bytes) in every_kind(&story) {
        let answer = report(&folder, "t", &bytes, &[]);
        assert_eq!(answer.status, 0, "{kind}: {}", answer.stderr);
        assert!(answer.stdout.contains("No API activities were profiled."), "{kind}: {}", answer.stdout);
        assert!(answer.stdout.contains("reduce"), "{kind}: {}", answer.stdout);
        let answer = report(&folder, "t", &bytes, &["--print-api-summary"]);
        assert_eq!(answer.status, 1, "{kind}: nothing to show");
    }
}

#[test]
fn a_trace_without_records_is_nothing_to_show() {
    let folder = TempFolder::new("err-nothing");
    for (kind, bytes) in every_kind(&Story::empty()) {
        for options in [&[][..], &["--print-gpu-trace"], &["--print-api-trace"], &["--format", "json"]] {
            let answer = report(&folder, "t", &bytes, options);
            assert_eq!(answer.status, 1, "{kind} {options:?}: {}{}", answer.stdout, answer.stderr);
            assert!(answer.stderr.contains("nothing to show"), "{kind} {options:?}: {}", answer.stderr);
        }
        let answer = report(&folder, "t", &bytes, &[]);
        assert_eq!(answer.stdout, "======== Warning: No profile data collected.\n", "{kind}");
    }
}

#[test]
fn filters_that_nothing_passes_are_nothing_to_show() {
    let folder = TempFolder::new("err-filter");
    let path = folder.argument("t.gpuprof", &native(&Story::sample(5)));
    for filter in
        [&["--filter", "no_such_kernel"][..], &["--filter", "device=9"], &["--from", "10s"], &["--range", "x"]]
    {
        let answer = gpuprof_in(Path::new("."), &[&["report"], filter, &[&path]].concat());
        assert_eq!(answer.status, 1, "{filter:?}: {}{}", answer.stdout, answer.stderr);
        assert!(answer.stderr.contains("no record passes the filters"), "{filter:?}: {}", answer.stderr);
    }
}
