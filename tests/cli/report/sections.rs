//! Sections.

use super::*;

#[test]
fn the_nvtx_section_names_thread_domain_and_range() {
    let folder = TempFolder::new("cli-nvtx");
    let mut story = Story::empty().with_kernel(Name::plain("kern"), 5_000_000, 30_000);
    story.threads.push((THREAD, "main".into()));
    story.calls.push(Call { function: LAUNCH, start: 4_000_000, end: 4_010_000, tid: THREAD, correlation: 1 });
    let range = |name: &str, domain: Option<&str>, start, end, tid| NvtxRange {
        name: name.into(),
        domain: domain.map(str::to_owned),
        start,
        end,
        style: 0,
        tid,
    };
    story.ranges = vec![
        range("step", None, 3_000_000, Some(8_000_000), THREAD),
        range("load", Some("io"), 1_000_000, Some(2_000_000), THREAD + 4),
        range("never closed", None, 1_000_000, None, THREAD),
    ];
    let text = gpuprof(&["report", "--no-insights", &folder.argument("t", &native(&story))]).stdout;
    let expected = "
======== NVTX result:
======== Warning: Found 1 invalid range marker(s)
========   Thread \"main\" (id = 4243)
========     Domain \"<unnamed>\"
========       Range \"step\"
            Type  Time(%)      Time     Calls       Avg       Min       Max  Name
          Range:  100.00%  5.0000ms         1  5.0000ms  5.0000ms  5.0000ms  step
 GPU activities:  100.00%  30.000us         1  30.000us  30.000us  30.000us  kern
      API calls:  100.00%  10.000us         1  10.000us  10.000us  10.000us  cudaLaunchKernel

========   Thread \"<unnamed>\" (id = 4247)
========     Domain \"io\"
========       Range \"load\"
            Type  Time(%)      Time     Calls       Avg       Min       Max  Name
          Range:  100.00%  1.0000ms         1  1.0000ms  1.0000ms  1.0000ms  load
No kernels were profiled in this range.
No API activities were profiled in this range.

";
    assert!(text.ends_with(expected), "{text}");
}

#[test]
fn work_counts_once_however_many_calls_have_its_id() {
    let folder = TempFolder::new("cli-nvtx-nested");
    let mut story = Story::empty().with_kernel(Name::plain("kern"), 5_000_000, 30_000);
    let call = |function, start, end| Call { function, start, end, tid: THREAD, correlation: 1 };
    story.calls.push(call(LAUNCH, 4_000_000, 4_010_000));
    story.calls.push(call(DRIVER_LAUNCH, 4_001_000, 4_009_000));
    let step = NvtxRange {
        name: "step".into(),
        domain: None,
        start: 3_000_000,
        end: Some(8_000_000),
        style: 0,
        tid: THREAD,
    };
    story.ranges = vec![step];
    let text = gpuprof(&["report", &folder.argument("t", &native(&story))]).stdout;
    let (_, section) = text.split_once("NVTX result").expect("a section");
    let kernel = section.lines().find(|line| line.ends_with("kern")).expect("a kernel");
    assert_eq!(kernel, " GPU activities:  100.00%  30.000us         1  30.000us  30.000us  30.000us  kern");
    assert!(section.contains("cudaLaunchKernel") && section.contains("cuLaunchKernel"), "{section}");
}

#[test]
fn more_than_fifty_ranges_are_left_out_unless_asked_for() {
    let folder = TempFolder::new("cli-many-ranges");
    let mut story = Story::sample(3);
    story.ranges = (0..51)
        .map(|i| NvtxRange {
            name: format!("op {i}"),
            domain: None,
            start: 100 * i,
            end: Some(100 * i + 50),
            style: 0,
            tid: THREAD,
        })
        .collect();
    let path = folder.argument("t", &native(&story));
    let short = gpuprof(&["report", "--no-insights", &path]);
    assert!(!short.stdout.contains("NVTX result"), "{}", short.stdout);
    assert!(
        short.stderr.contains("51 NVTX ranges of different names") && short.stderr.contains("--nvtx"),
        "{}",
        short.stderr
    );
    let long = gpuprof(&["report", "--no-insights", "--nvtx", &path]);
    assert_eq!(long.stdout.matches(" Range \"op ").count(), 51);
    assert!(long.stdout.starts_with(&short.stdout) && long.stderr.is_empty(), "{}", long.stderr);
}

#[test]
fn the_unified_memory_section_counts_per_device() {
    let folder = TempFolder::new("cli-uvm");
    let mut story = Story::sample(4);
    let event = |kind, value, end, src, dst| Migration { start: 2_000_000, end, kind, value, src, dst };
    story.migrations = vec![
        event(1, 4_096, Some(2_001_000), None, Some(0)),
        event(1, 1_040_384, Some(2_090_000), None, Some(0)),
        event(2, 8_192, Some(2_003_000), Some(1), None),
        event(3, 1, None, None, None),
        event(3, 1, None, None, None),
        event(4, 12, Some(2_040_000), Some(0), None),
    ];
    let expected = "
======== Unified Memory profiling result:
Device \"Tesla V100 (0)\"
   Count  Avg Size  Min Size  Max Size  Total Size  Total Time  Name
       2  510.00KB  4.0000KB  0.9922MB  0.996094MB  91.00000us  Host To Device
       1         -         -         -           -  40.00000us  Gpu page fault groups
Device \"Tesla V100 (1)\"
   Count  Avg Size  Min Size  Max Size  Total Size  Total Time  Name
       1  8.0000KB  8.0000KB  8.0000KB  8.000000KB  3.000000us  Device To Host
Total CPU Page faults: 2
";
    for (kind, bytes) in
        [("native", native(&story)), ("nvprof 8", nvprof(&story, 8)), ("nvprof 16", nvprof(&story, 16))]
    {
        let text = gpuprof(&["report", "--no-insights", &folder.argument("t", &bytes)]).stdout;
        assert!(text.ends_with(expected), "{kind}: {text}");
    }
}

#[test]
fn sums_beyond_32_bits_never_wrap() {
    let folder = TempFolder::new("cli-overflow");
    let mut story = Story::sample(2);
    // 5 kernels of 4 s: each fits 32 bits of nanoseconds, their sum does not; 3 copies of 3 GB each likewise.
    for i in 0..5 {
        story = story.with_kernel(Name::plain("long"), 100_000_000_000 * (i + 1), 4_000_000_000);
    }
    for i in 0..3 {
        let (start, end) = (1_000_000_000_000 + i, 1_000_000_001_000 + i);
        story.copies.push(Copy { start, end, bytes: 3_000_000_000, kind: 1, ..story.copies[0].clone() });
    }
    let first = story.copies[0].bytes;
    for (kind, bytes) in every_kind(&story) {
        if matches!(kind, "kineto 2020" | "kineto 2021" | "kineto 2022" | "kineto early 2024") {
            continue; // Times of single nanoseconds do not fit in there.
        }
        let path = folder.argument("t", &bytes);
        let [gpu, _] = totals(&[&path]);
        assert_eq!(gpu["long"], (5, 20_000_000_000), "{kind}");
        let document = json(&["--view", "cuda_gpu_mem_size_sum", &path]);
        let row = rows(&document, "cuda_gpu_mem_size_sum").iter().find(|row| {
            row["Operation"].as_str().is_some_and(|text| text.contains("Host-to-Device") || text.contains("HtoD"))
        });
        let total = row.expect("a row")["Total (MB)"].as_f64().expect("a number");
        assert_eq!(total, ((9_000_000_000 + first) as f64 / 1e3).round() / 1e3, "{kind}");
    }
}
