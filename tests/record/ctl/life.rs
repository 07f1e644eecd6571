//! Control at the edges of a program's life.

use super::obedient::{Folder, Line, obedient, until};
use crate::collector::sim::Sim;
use crate::collector::{laws, one, said};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

#[test]
fn before_the_first_context_there_is_no_socket_and_no_thread() {
    let (sim, folder) = (Sim::new("12.8"), Folder::new());
    let script = "import ctypes, os\n\
                  cuda = ctypes.CDLL('libcuda.so.1')\n\
                  assert cuda.cuInit(0) == 0\n\
                  names = [open(f'/proc/self/task/{t}/comm').read() for t in os.listdir('/proc/self/task')]\n\
                  print([n for n in names if n.startswith('gpuprof')])\n";
    let run = sim.program("python3").args(["-c", script]).inject().env("GPUPROF_RUNTIME_DIR", &folder.0);
    let ended = run.run();
    assert_eq!((ended.code(), ended.stdout.as_str(), ended.stderr.as_str()), (Some(0), "[]\n", ""));
    assert!(!folder.0.exists(), "not even the folder");
}

#[test]
fn a_program_that_ends_while_clients_are_at_it_ends_as_ever() {
    let sim = Sim::new("12.8");
    for _ in 0..6 {
        let folder = Folder::new();
        let player = obedient(&sim, &folder, &[("GPUPROF_CAPTURE", "manual")]);
        let is_over = AtomicBool::new(false);
        let ended = std::thread::scope(|scope| {
            let mut line = Line::to(&folder);
            let is_over = &is_over;
            scope.spawn(move || {
                let mut on = true;
                while !is_over.load(Ordering::Relaxed) {
                    let verb = if on { "start" } else { "stop" };
                    if !line.send(format!("{{\"gpuprof\":1,\"do\":\"{verb}\"}}\n").as_bytes())
                        || line.receive().is_none()
                    {
                        return;
                    }
                    on = !on;
                }
            });
            player.order("launch 500");
            let ended = player.end();
            is_over.store(true, Ordering::Relaxed);
            ended
        });
        assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
        assert!(ended.duration < Duration::from_secs(50), "{:?}", ended.duration);
        laws(&ended);
    }
}

#[test]
fn once_cupti_is_somebody_elses_a_start_is_refused_with_the_reason() {
    let (sim, folder) = (Sim::new("12.8"), Folder::new());
    let run = sim.player("steady").args(["2000", "20"]).takeover("libkineto.so", 500).inject();
    let run = run.env("GPUPROF_FLUSH_MS", "20").env("GPUPROF_RUNTIME_DIR", &folder.0);
    let running = run.start();
    until("a socket", || !folder.sockets().is_empty());
    until("the other tool", || folder.list("processes").first().is_some_and(|row| row["State"] == "finished"));
    let refused = folder.ctl(&["start"]);
    assert_eq!(refused.status, 2);
    assert!(refused.stderr.contains("taken over by another tool"), "{}", refused.stderr);
    running.signal("TERM");
    let ended = running.end();
    assert_eq!(ended.signal(), Some(15), "{}", ended.stderr);
}

#[test]
fn a_slow_cupti_makes_an_answer_late_and_nothing_else() {
    let (sim, folder) = (Sim::new("12.8"), Folder::new());
    // Switching a kind off takes its time.
    let settings =
        [("GPUPROF_CAPTURE", "manual"), ("SIM_STALL", "cuptiActivityDisable:700"), ("GPUPROF_KINDS", "kernel,api")];
    let player = obedient(&sim, &folder, &settings);
    folder.obeyed(&["start"]);
    player.order("launch 5");
    folder.obeyed(&["stop"]);
    let ended = player.end();
    assert_eq!((ended.code(), said(&ended).len()), (Some(0), 0), "{}", ended.stderr);
    assert_eq!(one(&ended).kernels().len(), 5);
}
