//! `gpuprof record --capture nvtx:NAME,every:N,steps:M` and what is made of it: estimates for all steps, by the real collector.

use crate::common::gpuprof_in;
use crate::sim::Sim;

#[test]
fn what_some_steps_launched_stands_for_all() {
    for version in ["11.8", "13.0"] {
        let sim = Sim::new(version);
        // 52 steps of ten launches each; eight of them are recorded, two of every twelve. The player launches 3 more outside.
        let run = sim.player("flight").args(["launch=3", "steps=52,1"]);
        let options = ["-o", "run.gpuprof", "--capture", "nvtx:step,every:12,steps:2", "--stats"];
        let ended = run.record(&options).run();
        assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
        let report = |args: &[&str]| gpuprof_in(ended.folder(), &[&["report", "run.gpuprof"], args].concat());
        let calls = |args: &[&str]| {
            let answer = report(args);
            let row = answer.stdout.lines().find(|line| line.contains("null_kernel"));
            row.unwrap_or_else(|| panic!("{version}: {}{}", answer.stderr, answer.stdout)).to_owned()
        };
        let view = ["--view", "cuda_gpu_kern_sum", "--format", "csv"];
        // Every step launches the same, so nothing is left to chance but the times.
        let row = calls(&view);
        let cells: Vec<&str> = row.split(',').collect();
        assert_eq!((cells[2], cells[9]), ("520", "0"), "{version}: {row}");
        let row = calls(&[&view[..], &["--raw"]].concat());
        assert_eq!(row.split(',').nth(2), Some("80"), "{version}: {row}");
        let said = report(&[]).stderr;
        assert!(said.contains("8 of 52 steps were recorded (15.4 %)"), "{version}: {said}");
        assert!(ended.stderr.contains("8 of 52 steps were recorded (15.4 %)"), "{version}: {}", ended.stderr);
        let stats = ended.stderr.lines().find(|line| line.contains("null_kernel")).expect("a row of --stats");
        assert!(stats.contains(" 520 "), "{version}: {stats}");
    }
}
