//! What the recording itself took: a line for people beside a report and in `info`, and nowhere else.

use crate::collector::one;
use crate::common::gpuprof;
use crate::sim::Sim;

#[test]
fn people_are_told_what_the_recording_took_and_machines_are_not() {
    let sim = Sim::new("13.0");
    let ended = sim.player("vector_add").arg("200").record(&[]).run();
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    let trace = one(&ended).path.display().to_string();
    let is_told = |text: &str| {
        let lines: Vec<&str> = text.lines().filter(|line| line.contains("own threads took")).collect();
        assert!(lines.len() < 2, "{text}");
        for line in &lines {
            let parts = ["% of one core over the ", " s of the recording (flushes ", ", writer ", ", control "];
            assert!(parts.iter().all(|part| line.contains(part)), "{line}");
        }
        !lines.is_empty()
    };
    for arguments in [&["report"][..], &["report", "--print-gpu-trace"], &["report", "--per-process"]] {
        let done = gpuprof(&[arguments, &[&trace]].concat());
        assert!(is_told(&done.stderr) && !is_told(&done.stdout), "{arguments:?}: {}{}", done.stdout, done.stderr);
    }
    let info = gpuprof(&["info", &trace]);
    assert!(is_told(&info.stdout) && info.stdout.contains("\ngpuprof itself: its own threads"), "{}", info.stdout);
    for arguments in [
        &["report", "--no-insights"][..],
        &["report", "--csv"],
        &["report", "--print-gpu-trace", "--csv"],
        &["report", "--format", "json"],
        &["report", "--view", "cuda_gpu_kern_sum"],
        &["nvprof", "-i"],
        &["info", "--format", "json"],
    ] {
        let done = gpuprof(&[arguments, &[&trace]].concat());
        let said = format!("{}{}", done.stdout, done.stderr);
        assert!(said.contains("vector_add") || arguments[0] == "info", "{arguments:?}: {said}");
        assert!(!is_told(&said), "{arguments:?}: {said}");
    }
}
