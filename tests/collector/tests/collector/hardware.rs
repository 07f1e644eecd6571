//! Traces that the collector wrote on a real GPU (`tests/fixtures/hardware/gpu-check`: H100, driver 580.159.04, CUPTI
//! 13.0 Update 1). Their counts are known by construction of the programs (`scripts/gpu-check.d/work.cu`).

use std::path::PathBuf;

use crate::common::Trace;
use trace_format::tables::*;

fn trace(name: &str) -> Trace {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../fixtures/hardware/gpu-check");
    Trace::open(&root.join(name))
}

#[test]
fn counts_are_those_of_the_programs() {
    let kernels = |name: &str| trace(name).kernels().len();
    assert_eq!((kernels("fork-100.gpuprof"), kernels("fork-200.gpuprof")), (100, 200));
    let mixed = trace("mixed.gpuprof");
    let (copies, fills) = (mixed.rows::<MemcpyRow>().len(), mixed.rows::<MemsetRow>().len());
    assert_eq!((mixed.kernels().len(), copies, fills), (300, 300, 100));
    assert_eq!(mixed.rows::<DeviceRow>().len(), 1);
    // A window of three steps of seven kernels; one of a training step.
    assert_eq!((kernels("range.gpuprof"), kernels("train-one-step.gpuprof")), (21, 935));
    let windows = trace("windows.gpuprof");
    assert_eq!((windows.kernels().len(), windows.rows::<CaptureRow>().len()), (5, 2));
    assert_eq!(
        trace("cupy.gpuprof").kernel_names().into_iter().filter(|(n, _)| n == "tick").collect::<Vec<_>>(),
        [("tick".to_owned(), 50)]
    );
}

#[test]
fn a_killed_program_left_what_was_flushed() {
    let killed = trace("killed.gpuprof");
    assert!(!killed.reader.is_closed());
    assert_eq!(killed.kernels().len(), 1000);
}

#[test]
fn no_kernel_begins_before_the_call_that_launched_it() {
    let mixed = trace("mixed.gpuprof");
    let calls: std::collections::HashMap<u64, i64> =
        mixed.rows::<ApiRow>().into_iter().map(|call| (call.correlation, call.start_ns)).collect();
    for kernel in mixed.kernels() {
        let call = calls.get(&kernel.correlation).expect("the launch of every kernel");
        assert!(kernel.start_ns > *call && kernel.duration_ns.is_some_and(|ns| ns > 0));
    }
}

#[test]
fn delivered_records_are_accounted_for() {
    for name in ["mixed", "range", "windows", "fork-100", "fork-200", "cupy", "train-one-step"] {
        let trace = trace(&format!("{name}.gpuprof"));
        let [delivered, written, excluded, lost] =
            ["delivered", "written", "excluded", "lost"].map(|figure| trace.total(figure));
        assert_eq!((delivered, lost), (written + excluded, 0), "{name}");
    }
}
