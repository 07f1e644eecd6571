//! The same with the real collector, over the simulated CUDA of `tests/sim`.

use crate::sim::{Ended, Sim};
use shim_config::seen;
use std::path::{Path, PathBuf};

/// The three lines at the end of what the run said.
fn closing(ended: &Ended) -> Vec<String> {
    let lines: Vec<&str> = ended.stderr.lines().collect();
    lines[lines.len().saturating_sub(3)..].iter().map(|line| (*line).to_owned()).collect()
}

/// Options that give the run a folder of its own, whatever the harness says.
const IN_FOLDER: [&str; 2] = ["-o", "run"];

fn files(ended: &Ended, folder: &str) -> Vec<PathBuf> {
    let folder = ended.folder().join(folder);
    let mut files: Vec<PathBuf> =
        folder.read_dir().map(|entries| entries.flatten().map(|e| e.path()).collect()).unwrap_or_default();
    files.sort();
    files
}

fn seen_in(ended: &Ended) -> Vec<seen::SeenLine> {
    let list = std::fs::read(ended.folder().join("run").join(seen::FILE_NAME)).unwrap_or_default();
    let (lines, unreadable) = seen::processes(&list);
    assert_eq!(unreadable, 0, "{}", String::from_utf8_lossy(&list));
    lines
}

#[test]
fn a_program_is_recorded_into_a_folder_that_report_reads() {
    let sim = Sim::new("12.8");
    let ended = sim.player("vector_add").arg("10").record(&IN_FOLDER).run();
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    assert!(ended.stdout.starts_with("{\"kernels\":10,"), "its own output alone: {}", ended.stdout);
    let lines = closing(&ended);
    assert!(lines[0].starts_with("gpuprof: recorded 1 process: 10 kernels, 30 copies, "), "{lines:?}");
    assert!(lines[0].ends_with("; nothing lost"), "{lines:?}");
    assert!(lines[1].starts_with("gpuprof: written to run/ ("), "{lines:?}");
    assert_eq!(lines[2], "gpuprof: next: gpuprof report run");
    let report = crate::common::gpuprof_in(ended.folder(), &["report", "run"]);
    assert_eq!(report.status, 0, "{}", report.stderr);
    assert!(report.stdout.contains("vector_add"), "{}", report.stdout);
    let seen = seen_in(&ended);
    assert_eq!(seen.len(), 1, "{seen:?}");
    assert!(seen[0].cuda && seen[0].trace.is_some() && seen[0].cause.is_none(), "{seen:?}");
    assert!(seen[0].exe.ends_with(b"/vector_add") || seen[0].exe.ends_with(b"vector_add"), "{seen:?}");
}

#[test]
fn one_file_is_written_where_it_was_asked_for() {
    let sim = Sim::new("13.0");
    let ended = sim.player("vector_add").record(&["-o", "deep/step.gpuprof"]).run();
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    assert_eq!(files(&ended, "deep"), [ended.folder().join("deep/step.gpuprof")], "{}", ended.stderr);
    assert_eq!(closing(&ended)[2], "gpuprof: next: gpuprof report deep/step.gpuprof");
    // Nothing is overwritten: the next one has a name of its own.
    let again =
        sim.player("vector_add").record(&["-o", ended.folder().join("deep/step.gpuprof").to_str().unwrap()]).run();
    assert_eq!(files(&ended, "deep").len(), 2, "{}", again.stderr);
}

#[test]
fn what_is_not_typed_is_taken_from_the_projects_file() {
    let sim = Sim::new("12.8");
    let record = |options: &[&str], output: Option<&str>| {
        let run = sim.player("vector_add").arg("10").record(options).default_output();
        let text = "[record]\noutput = \"from-file\"\nstats = true\ncapture = \"all\"\nnvtx = false\n";
        std::fs::write(run.folder().join("gpuprof.toml"), text).expect("a file of defaults");
        let run = output.into_iter().fold(run, |run, output| run.env("GPUPROF_OUTPUT", output));
        let ended = run.run();
        assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
        assert!(ended.stdout.starts_with("{\"kernels\":10,"), "its own output alone: {}", ended.stdout);
        ended
    };
    for (options, output, folder) in [
        (&[][..], None, "from-file"),
        (&[], Some("from-variable"), "from-variable"),
        (&["-o", "typed"], None, "typed"),
    ] {
        let ended = record(options, output);
        let traces =
            files(&ended, folder).into_iter().filter(|path| path.extension().is_some_and(|e| e == "gpuprof"));
        assert_eq!(traces.count(), 1, "{folder}: {}", ended.stderr);
        assert!(ended.stderr.contains("(cuda_gpu_kern_sum)"), "{folder}: {}", ended.stderr);
    }
}

#[test]
fn every_process_is_listed_with_what_became_of_it() {
    let sim = Sim::new("12.8");
    let ended = sim.player("forks").arg("before").record(&IN_FOLDER).run();
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    let traces = files(&ended, "run").into_iter().filter(|path| path.extension().is_some_and(|e| e == "gpuprof"));
    assert_eq!(traces.count(), 2, "{}", ended.stderr);
    let lines = closing(&ended);
    assert!(lines[0].starts_with("gpuprof: recorded 2 processes: 300 kernels"), "{lines:?}");
    assert_eq!(seen_in(&ended).iter().filter(|line| line.trace.is_some()).count(), 2);
}

#[test]
fn preloaded_processes_without_cuda_are_listed_and_leave_no_trace() {
    let sim = Sim::new("12.8");
    let player = crate::sim::player("vector_add");
    let script = format!("true; {} 3; ls >/dev/null", player.display());
    let mut options = IN_FOLDER.to_vec();
    options.push("--preload");
    let ended = sim.program("sh").args(["-c", &script]).record(&options).run();
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    let seen = seen_in(&ended);
    let with_cuda = seen.iter().filter(|line| line.cuda).count();
    assert_eq!((with_cuda, seen.len()), (1, 3), "sh, the player and ls: {seen:?}");
    assert!(
        closing(&ended)[0].contains("recorded 1 of 3 processes (2 without CUDA): 3 kernels"),
        "{}",
        ended.stderr
    );
}

#[test]
fn a_gate_that_never_opens_is_the_cause_that_is_given() {
    let sim = Sim::new("12.8");
    let mut options = IN_FOLDER.to_vec();
    options.extend(["--capture", "profiler-api"]);
    let ended = sim.player("gate").arg("never").record(&options).run();
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    let lines = closing(&ended);
    assert!(
        lines[0].contains("nothing was recorded: gate (pid ") && lines[0].contains("never switched on"),
        "{lines:?}"
    );
    assert!(lines[1].contains("choose another --capture"), "{lines:?}");
    assert_eq!(lines[2], "gpuprof: next: gpuprof report run", "the trace says so too");
    let windows = sim.player("gate").arg("step").record(&options).run();
    let recorded = windows.number("in_windows");
    assert!(closing(&windows)[0].contains(&format!("{recorded} kernels")), "{}", windows.stderr);
}

#[test]
fn what_cupti_refuses_is_said_with_code_and_remedy() {
    let sim = Sim::new("12.8");
    let ended = sim.player("vector_add").env("SIM_FAIL", "cuptiSubscribe:39").record(&IN_FOLDER).run();
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    assert!(ended.stdout.contains("\"ok\":true"), "{}", ended.stdout);
    let lines = closing(&ended);
    assert!(lines[0].contains("cuptiSubscribe") && lines[0].contains("39"), "{lines:?}");
    assert!(lines[1].contains("torch.profiler"), "{lines:?}");
    let sim = Sim::new("12.8").without_cupti();
    let ended = sim.player("vector_add").record(&IN_FOLDER).run();
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    assert!(closing(&ended)[0].contains("no usable libcupti was found"), "{}", ended.stderr);
}

#[test]
fn a_killed_program_keeps_what_was_flushed() {
    let sim = Sim::new("12.8");
    let mut options = IN_FOLDER.to_vec();
    options.extend(["--flush-interval", "50ms"]);
    let ended = sim.player("leave").args(["KILL", "1000", "1500"]).record(&options).run();
    assert_eq!(ended.signal(), Some(9), "{:?} {}", ended.status, ended.stderr);
    let first = &closing(&ended)[0];
    assert!(first.contains("1,000 kernels") && first.contains("1 trace not closed: killed"), "{first}");
}

#[test]
fn a_program_without_cuda_leaves_nothing() {
    let sim = Sim::new("12.8");
    let ended = sim.player("nocuda").arg("4").record(&IN_FOLDER).run();
    assert_eq!(ended.code(), Some(4), "{}", ended.stderr);
    assert!(closing(&ended)[0].ends_with("nocuda: it used no CUDA"), "{}", ended.stderr);
    assert!(!Path::new(&ended.folder().join("run")).exists());
}

#[test]
fn processes_that_are_not_chosen_say_so() {
    let sim = Sim::new("12.8");
    let mut options = IN_FOLDER.to_vec();
    options.extend(["--processes", "name:python*"]);
    let ended = sim.player("vector_add").record(&options).run();
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    assert!(closing(&ended)[0].contains("--processes leaves it out"), "{}", ended.stderr);
}
