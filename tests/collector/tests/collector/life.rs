//! Whatever becomes of a program and its children: it ends as it would have without us, and what it did is on disk,
//! all of it where exit handlers run, else everything up to the last flush.

use std::time::Duration;

use crate::common::sim::{Attach, Ended, Run, Sim, player};
use crate::common::{Trace, compiled, in_parallel, in_time, laws, one, said, same_end};

const BOTH: [Attach; 2] = [Attach::Preload, Attach::Injection];

/// The same program with and without us.
fn with_and_without<'s>(run: impl Fn() -> Run<'s>, attach: &Attach) -> (Ended, Ended) {
    (run().run(), run().attach(attach.clone()).run())
}

/// Kernels in the trace of the process that began the run, and in all others.
fn kernels(ended: &Ended, traces: &[Trace]) -> (u64, u64) {
    let first = ended.processes.first().map_or(0, |p| p.pid);
    let of = |is_first: bool| {
        let chosen = traces.iter().filter(|t| (t.pid() == first) == is_first);
        chosen.map(|t| t.kernels().len() as u64).sum()
    };
    (of(true), of(false))
}

#[test]
fn where_exit_handlers_run_everything_is_recorded() {
    let ways = ["return", "exit", "sync", "reset", "thread_exit"];
    let versions = ["11.8", "12.4", "12.8", "13.1"];
    let all = versions.iter().flat_map(|v| ways.iter().map(move |w| (*v, *w)));
    in_parallel(all, 4, |(version, how)| {
        let sim = Sim::new(version);
        for attach in &BOTH {
            let (bare, ended) = with_and_without(|| sim.player("leave").args([how, "1000"]), attach);
            let what = format!("{how}, CUPTI {version}, {attach:?}");
            same_end(&bare, &ended, &what);
            let trace = one(&ended);
            assert_eq!(trace.kernels().len(), 1000, "{what}\n{}", ended.stderr);
            assert!(trace.kernels().iter().all(|k| k.duration_ns.is_some()), "{what}");
            assert_eq!((trace.losses(), said(&ended).len()), (vec![], 0), "{what}: {}", ended.stderr);
        }
    });
}

#[test]
fn buffers_that_come_after_the_last_flush_has_returned_are_in_the_trace() {
    let all = ["11.8", "13.0"].into_iter().flat_map(|v| ["1", "15", "60"].map(|ms| (v, ms)));
    in_parallel(all, 4, |(version, ms)| {
        let sim = Sim::new(version);
        for how in ["return", "sync", "thread_exit"] {
            let run = || sim.player("leave").args([how, "1000"]).env("SIM_HANDOVER_MS", ms);
            let (bare, ended) = with_and_without(run, &Attach::Injection);
            let what = format!("{how}, CUPTI {version}, {ms} ms");
            same_end(&bare, &ended, &what);
            let trace = one(&ended);
            assert_eq!(trace.kernels().len(), 1000, "{what}\n{}", ended.stderr);
            assert_eq!((trace.losses(), said(&ended).len()), (vec![], 0), "{what}: {}", ended.stderr);
        }
    });
}

#[test]
fn where_none_run_everything_that_was_flushed_is_on_disk_and_the_trace_says_that_it_was_not_closed() {
    let ways = ["_exit", "quick_exit", "abort", "TERM", "INT", "KILL", "SEGV", "segv", "handler", "exec"];
    in_parallel(ways, 4, |how| {
        let sim = Sim::new("12.8");
        for attach in &BOTH {
            let run = || sim.player("leave").args([how, "1000", "1500"]).env("GPUPROF_FLUSH_MS", "100");
            let (bare, ended) = with_and_without(run, attach);
            let what = format!("{how}, {attach:?}");
            same_end(&bare, &ended, &what);
            let traces = laws(&ended);
            assert_eq!(traces.len(), 1, "{what}: {:?}", ended.files());
            assert!(!traces[0].reader.is_closed(), "{what}");
            assert_eq!(traces[0].kernels().len(), 1000, "{what}");
            assert_eq!(said(&ended).len(), 0, "{what}: {}", ended.stderr);
        }
    });
}

#[test]
fn a_program_that_leaves_at_once_without_exit_handlers_leaves_a_whole_file() {
    let ways = ["_exit", "quick_exit", "abort", "TERM", "KILL", "segv", "exec"];
    in_parallel(ways, 4, |how| {
        let sim = Sim::new("13.0");
        let (bare, ended) = with_and_without(|| sim.player("leave").args([how, "1000"]), &Attach::Preload);
        same_end(&bare, &ended, how);
        let traces = laws(&ended);
        assert!(traces.len() <= 1 && traces.iter().all(|t| !t.reader.is_closed()), "{how}: {:?}", ended.files());
        let other: Vec<_> =
            ended.files().into_iter().filter(|f| !f.to_string_lossy().ends_with(".gpuprof")).collect();
        assert!(other.is_empty(), "{how}: {other:?}");
    });
}

#[test]
fn without_cuda_a_process_ends_with_the_last_of_its_own_threads() {
    let source = r#"
#include <pthread.h>
#include <unistd.h>
static void *later(void *p) { usleep(50000); return p; }
int main(void) { pthread_t t; pthread_create(&t, 0, later, 0); pthread_exit(0); }
"#;
    let program = compiled("main_leaves", source, &["-pthread"]);
    let sim = Sim::new("12.8");
    let ended = sim.program(program).preload().timeout(Duration::from_secs(20)).run();
    assert_eq!((ended.code(), ended.traces().len()), (Some(0), 0), "{}", ended.stderr);
}

#[test]
fn what_other_threads_do_after_the_main_thread_is_gone_is_recorded() {
    // The process does not end by itself then: CUDA's own threads, CUPTI's, and ours outlive the program's.
    let sim = Sim::new("12.8");
    // Gone while CUDA is at work, and before it begins: /proc/self says nothing of such a process.
    for (attach, how) in BOTH.iter().flat_map(|attach| [(attach, "pthread_exit"), (attach, "pthread_gone")]) {
        let run = sim.player("leave").args([how, "1000"]).env("GPUPROF_FLUSH_MS", "50");
        let running = run.attach(attach.clone()).start();
        let begin = std::time::Instant::now();
        while running.totals().delivered_of(10) < 1001 && begin.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(20));
        }
        std::thread::sleep(Duration::from_millis(1000));
        running.signal("KILL");
        let ended = running.end();
        assert_eq!(ended.signal(), Some(9), "{}", ended.stderr);
        let traces = laws(&ended);
        assert_eq!(traces.len(), 1, "{how} by {attach:?}: {}", ended.stderr);
        assert_eq!(traces[0].kernels().len(), 1001, "{how} by {attach:?}");
    }
}

#[test]
fn a_kernel_that_never_ends_costs_neither_the_program_nor_the_other_records() {
    for version in ["11.8", "12.8", "13.0"] {
        let sim = Sim::new(version);
        let run = || sim.player("leave").args(["running", "1000"]);
        let bare = run().run();
        let ended = in_time(&bare, |_| Duration::from_millis(2200), version, || run().preload());
        same_end(&bare, &ended, version);
        let trace = one(&ended);
        let (done, not_done): (Vec<_>, Vec<_>) = trace.kernels().into_iter().partition(|k| k.duration_ns.is_some());
        assert_eq!(done.len(), 1000, "CUPTI {version}");
        assert!(not_done.len() <= 1, "CUPTI {version}");
    }
}

#[test]
fn exit_while_eight_threads_are_launching_ends_the_program_in_time_with_its_own_status() {
    in_parallel(0..12, 2, |i| {
        let sim = Sim::new(["11.8", "12.8", "13.0"][i % 3]);
        let run = || sim.player("threads").args(["8", "1", "exit"]);
        let bare = run().run();
        let ended = in_time(&bare, |_| Duration::from_millis(2700), "exit", || run().attach(BOTH[i % 2].clone()));
        same_end(&bare, &ended, "exit");
        assert_eq!(ended.code(), Some(7), "{}", ended.stderr);
        let traces = laws(&ended);
        assert_eq!(traces.len(), 1, "{:?}", ended.files());
        assert!(traces[0].kernels().len() > 8, "{}", ended.stderr);
        // The threads go on launching while the last records are fetched, on as many processors as there are.
        assert!(traces[0].reader.is_closed() || ended.stderr.contains("in time"), "{}", ended.stderr);
    });
}

#[test]
fn a_program_without_cuda_gets_no_thread_no_file_and_no_descriptor() {
    let sim = Sim::new("12.8");
    for attach in &BOTH {
        let (bare, ended) = with_and_without(|| sim.player("nocuda").arg("23"), attach);
        same_end(&bare, &ended, "nocuda");
        assert_eq!((ended.code(), ended.number("threads")), (Some(23), 1));
        assert_eq!((ended.files(), ended.stderr.as_str()), (vec![], ""));
    }
    // It is seen where the launcher asked for a list; by a preload alone, since nothing else brings us into it.
    for (attach, lines) in [(Attach::Preload, 1), (Attach::Injection, 0)] {
        let run = sim.player("nocuda").attach(attach.clone());
        let list = run.folder().join("seen.jsonl");
        let ended = run.env("GPUPROF_SEEN", &list).run();
        let text = std::fs::read_to_string(&list).unwrap_or_default();
        assert_eq!((text.lines().count(), ended.code()), (lines, Some(0)), "{attach:?}: {text}");
        assert!(!text.contains("\"cuda\":true"), "{text}");
    }
}

const ASK: &str = "
import ctypes, os
cuda = ctypes.CDLL('libcuda.so.1')
count = ctypes.c_int()
assert cuda.cuInit(0) == 0 and cuda.cuDeviceGetCount(ctypes.byref(count)) == 0
names = [open(f'/proc/self/task/{t}/comm').read() for t in os.listdir('/proc/self/task')]
print(count.value, [n for n in names if n.startswith('gpuprof')])
";

#[test]
fn a_launcher_that_only_asks_for_gpus_gets_no_thread_and_no_file() {
    for version in ["11.8", "12.8", "13.0"] {
        let sim = Sim::new(version);
        for attach in &BOTH {
            // With a flush that hangs where nothing was ever recorded, as it does.
            let run = || sim.program("python3").args(["-c", ASK]).env("SIM_EMPTY_FLUSH", "hang");
            let (bare, ended) = with_and_without(run, attach);
            same_end(&bare, &ended, version);
            assert_eq!((ended.stdout.as_str(), ended.code()), ("1 []\n", Some(0)), "{}", ended.stderr);
            assert_eq!((ended.files(), said(&ended).len()), (vec![], 0), "{}", ended.stderr);
        }
    }
}

#[test]
fn a_context_without_a_record_is_not_flushed_at_the_end() {
    let sim = Sim::new("12.8");
    let run = sim.player("leave").args(["return", "0"]).env("SIM_EMPTY_FLUSH", "hang");
    let ended = run.env("GPUPROF_KINDS", "kernel").inject().run();
    assert_eq!(ended.code(), Some(5), "{}", ended.stderr);
    assert!(ended.duration < Duration::from_millis(1500), "{:?}", ended.duration);
    one(&ended);
}

#[test]
fn cuda_may_come_late_by_dlopen() {
    for version in ["11.8", "12.8", "13.0"] {
        let sim = Sim::new(version);
        for attach in &BOTH {
            let (bare, ended) = with_and_without(|| sim.player("late").args(["100", "300"]), attach);
            same_end(&bare, &ended, version);
            assert_eq!(one(&ended).kernels().len(), 100, "CUPTI {version}, {attach:?}");
        }
    }
}

#[test]
fn a_static_program_runs_as_ever() {
    let sim = Sim::new("12.8");
    let source = "#include <stdio.h>\nint main(void) { puts(\"static\"); return 17; }\n";
    let program = compiled("still", source, &["-static"]);
    let (bare, ended) = with_and_without(|| sim.program(&program), &Attach::Preload);
    same_end(&bare, &ended, "static");
    assert_eq!((ended.code(), ended.files()), (Some(17), vec![]));
}

#[test]
fn children_are_recorded_where_they_use_cuda_and_harmless_where_they_do_not() {
    let ways = [
        "before",
        "both",
        "after",
        "after_use",
        "_fork",
        "vfork",
        "spawn",
        "exec",
        "pool",
        "daemon",
        "daemon_first",
    ];
    let all = ways.iter().flat_map(|how| BOTH.iter().map(move |attach| (*how, attach)));
    in_parallel(all, 4, |(how, attach)| {
        let version = if attach == &Attach::Preload { "12.8" } else { "13.0" };
        let sim = Sim::new(version);
        let (bare, ended) = with_and_without(|| sim.player("forks").arg(how), attach);
        let what = format!("{how}, CUPTI {version}, {attach:?}");
        same_end(&bare, &ended, &what);
        assert_eq!(ended.code(), Some(0), "{what}: {}", ended.stderr);
        let traces = laws(&ended);
        assert!(traces.iter().all(|t| t.reader.is_closed()), "{what}: {}", ended.stderr);
        let all: u64 = traces.iter().map(|t| t.kernels().len() as u64).sum();
        assert_eq!(all, ended.number("parent") + ended.number("child"), "{what}: {}", ended.stderr);
        let processes = match how {
            "before" | "both" | "spawn" | "exec" => 2,
            "pool" => 9,
            _ => 1,
        };
        assert_eq!(traces.len(), processes, "{what}: {:?}", ended.files());
        let mut pids: Vec<u32> = traces.iter().map(Trace::pid).collect();
        pids.sort_unstable();
        pids.dedup();
        assert_eq!(pids.len(), processes, "{what}: a trace for each process, and no other");
        assert_eq!(said(&ended).len(), 0, "{what}: {}", ended.stderr);
        if !matches!(how, "before" | "both" | "pool" | "daemon_first") {
            assert_eq!(kernels(&ended, &traces).0, ended.number("parent"), "{what}");
        }
    });
}

#[test]
fn forking_from_sixteen_launching_threads_hangs_nobody_and_loses_nothing() {
    for version in ["12.8", "13.0"] {
        let sim = Sim::new(version);
        let run = || sim.player("threads").args(["16", "300", "fork"]).env("GPUPROF_FLUSH_MS", "10");
        let (bare, ended) = with_and_without(run, &Attach::Preload);
        same_end(&bare, &ended, version);
        let trace = one(&ended);
        assert_eq!(trace.kernels().len(), 16 * 300);
        assert_eq!((ended.number("forks"), trace.losses()), (16 * 6, vec![]));
    }
}

#[test]
fn threads_may_come_and_go() {
    for version in ["12.8", "13.0"] {
        let sim = Sim::new(version);
        for args in [["8", "100", "churn", "1"], ["8", "50", "launch", "20"]] {
            let (bare, ended) = with_and_without(|| sim.player("threads").args(args), &Attach::Injection);
            same_end(&bare, &ended, version);
            assert_eq!(one(&ended).kernels().len() as u64, ended.number("kernels"), "{args:?}");
        }
    }
}

#[test]
fn python_may_fork_raise_and_leave_as_it_likes() {
    let ways = ["step", "fork", "_exit", "threads", "daemon", "raise"];
    let all = ways.iter().flat_map(|how| BOTH.iter().map(move |attach| (*how, attach)));
    in_parallel(all, 4, |(how, attach)| {
        let sim = Sim::new("12.8");
        let run = || sim.python("classic.py").arg(how);
        let (bare, ended) =
            (run().run(), run().attach(attach.clone()).env("GPUPROF_CAPTURE", "profiler-api").run());
        let what = format!("{how}, {attach:?}");
        assert_eq!((bare.status, bare.stderr.as_str()), (ended.status, ended.stderr.as_str()), "{what}");
        let traces = laws(&ended);
        assert_eq!(traces.len(), 1, "{what}: {:?}", ended.files());
        let trace = &traces[0];
        if how == "_exit" {
            // Nothing runs at os._exit: what came after the last flush is gone.
            assert!(!trace.reader.is_closed(), "{what}");
            return;
        }
        assert!(trace.reader.is_closed(), "{what}");
        let (found, expected) = (trace.kernels().len() as u64, ended.number("in_windows"));
        // Another thread's launches fall into the window too.
        let is_right = if matches!(how, "threads" | "daemon") { found >= expected } else { found == expected };
        assert!(is_right, "{what}: {found} kernels, {expected} in the window");
    });
}

#[test]
fn a_context_may_be_made_while_another_thread_loads_a_library() {
    // The driver makes contexts under locks of its own: what waits for the loader's lock there can wait for ever.
    let sim = Sim::new("13.0");
    for attach in &BOTH {
        let ended = sim.player("loading").arg(player("libloads")).attach(attach.clone()).run();
        assert_eq!((ended.code(), ended.number("waited")), (Some(0), 0), "{attach:?}: {}", ended.stderr);
        assert_eq!(one(&ended).kernels().len(), 100, "{attach:?}");
    }
}

#[test]
fn forked_children_are_chosen_for_themselves() {
    let sim = Sim::new("12.8");
    let forks = player("forks");
    for attach in &BOTH {
        // The program itself was started by this process, its child was not.
        let children = format!("children-of:{}", std::process::id());
        let run = sim.program(&forks).arg("both").env("GPUPROF_PROCESSES", children).attach(attach.clone());
        let ended = run.run();
        assert_eq!(one(&ended).kernels().len(), 200, "{attach:?}: {}", ended.stderr);
        // And the other way round: the shell becomes the program, whose child alone is wanted.
        let script = "GPUPROF_PROCESSES=children-of:$$ exec \"$0\" both";
        let run = sim.program("/bin/sh").args(["-c", script]).arg(&forks).attach(attach.clone());
        let ended = run.run();
        assert_eq!(one(&ended).kernels().len(), 100, "{attach:?}: {}", ended.stderr);
    }
}
