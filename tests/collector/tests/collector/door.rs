//! The door, `libgpuprof_preload.so`: what processes are preloaded with, in front of the collector.

use std::path::PathBuf;

use crate::common::sim::{Attach, Run, Sim, player, preload_path, shim_path};
use crate::common::{compiled, laws, one, said, same_end};

/// A folder with a door and, if asked, a collector behind it.
fn installed(run: &Run<'_>, with_collector: bool) -> PathBuf {
    let door = run.folder().join("libgpuprof-1_preload.so");
    std::fs::copy(preload_path(), &door).expect("the door");
    if with_collector {
        std::fs::copy(shim_path(), run.folder().join("libgpuprof-1.so")).expect("the collector");
    }
    door
}

#[test]
fn a_program_without_cuda_maps_the_door_alone_and_hands_the_collector_on() {
    let sim = Sim::new("12.8");
    assert_ne!(preload_path(), shim_path(), "the tests are to run with a door");
    let ended = sim.program("sh").args(["-c", "cat /proc/self/maps; env"]).preload().run();
    assert_eq!((ended.code(), said(&ended).len()), (Some(0), 0), "{}", ended.stderr);
    let (door, collector) = (preload_path(), shim_path());
    let ends = |path: &PathBuf| ended.stdout.lines().any(|line| line.ends_with(&format!(" {}", path.display())));
    assert!(ends(&door) && !ends(&collector), "{}", ended.stdout);
    for name in ["CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"] {
        let line = format!("{name}={}", collector.display());
        assert_eq!(ended.stdout.lines().filter(|l| l.starts_with(name)).collect::<Vec<_>>(), [line]);
    }
}

#[test]
fn what_a_setting_wants_done_before_main_maps_the_collector() {
    let sim = Sim::new("12.8");
    let run = |name: &str, value: &str| {
        sim.program("sh").args(["-c", "cat /proc/self/maps; env"]).env(name, value).preload().run()
    };
    let is_mapped = |text: &str| text.lines().any(|line| line.ends_with(&format!(" {}", shim_path().display())));
    for (name, value, is_meant) in
        [("GPUPROF_SEEN", "seen", true), ("GPUPROF_NVTX", "off", true), ("GPUPROF_FLUSH_MS", "50", false)]
    {
        let ended = run(name, value);
        assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
        assert_eq!(is_mapped(&ended.stdout), is_meant, "{name}: {}", ended.stdout);
        let nvtx = ended.stdout.lines().any(|line| line.starts_with("NVTX_INJECTION64_PATH="));
        assert_eq!(nvtx, name != "GPUPROF_NVTX", "{}", ended.stdout);
    }
}

/// Changes all that it can of how it was started before it calls CUDA.
const CHANGES: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
int main(int c, char **v) {
  struct timespec now; clock_gettime(CLOCK_REALTIME, &now);
  printf("main %lld\n", now.tv_sec * 1000000000LL + now.tv_nsec); fflush(stdout);
  char *text = getenv("NCCL_DEBUG"); memset(text, 'x', strlen(text)); setenv("NCCL_DEBUG", "later", 1); setenv("NEW", "1", 1);
  memset(v[1], 'x', strlen(v[1])); unsetenv("LD_PRELOAD");
  usleep(200000);
  void *h = dlopen("libcuda.so.1", RTLD_NOW); if (!h) { puts(dlerror()); return 2; }
  int (*init)(unsigned) = dlsym(h, "cuInit"); void *x = 0; int (*retain)(void **, int) = dlsym(h, "cuDevicePrimaryCtxRetain");
  return init(0) || retain(&x, 0) || c != 2;
}
"#;

#[test]
fn what_the_process_was_at_load_is_what_the_trace_says() {
    let sim = Sim::new("12.8");
    let program = compiled("changes", CHANGES, &["-ldl"]);
    for attach in [Attach::Preload, Attach::PreloadWhole] {
        let run = sim.program(&program).arg("as it was").env("NCCL_DEBUG", "at load");
        let ended = run.attach(attach.clone()).run();
        assert_eq!(ended.code(), Some(0), "{attach:?}: {}{}", ended.stdout, ended.stderr);
        let process = one(&ended).process();
        assert_eq!(process["environment"]["NCCL_DEBUG"], "at load", "{attach:?}: {process}");
        assert_eq!(process["argv"][1], "as it was", "{attach:?}: {process}");
        assert!(process["exe"].as_str().is_some_and(|exe| exe.ends_with("/changes")), "{process}");
        let main: i64 = ended.stdout.trim().strip_prefix("main ").expect("a time").parse().expect("a time");
        let start = process["start_unix_ns"].as_i64().expect("a time");
        assert!((main - 100_000_000..=main).contains(&start), "{attach:?}: {start} {main}");
    }
}

#[test]
fn a_driver_that_is_given_the_door_gets_the_collector() {
    let sim = Sim::new("12.8");
    let door = preload_path();
    let run = || sim.player("vector_add");
    let bare = run().run();
    let named = || run().env("CUDA_INJECTION64_PATH", &door).env("NVTX_INJECTION64_PATH", &door);
    for (way, run) in [("injected", named()), ("injected and preloaded", named().preload())] {
        let ended = run.run();
        same_end(&bare, &ended, way);
        assert_eq!((one(&ended).kernels().len(), said(&ended).len()), (10, 0), "{way}: {}", ended.stderr);
    }
}

#[test]
fn door_and_collector_may_both_be_preloaded() {
    let sim = Sim::new("12.8");
    let (door, collector) = (preload_path().display().to_string(), shim_path().display().to_string());
    for list in [format!("{door}:{collector}"), format!("{collector}:{door}")] {
        for (name, value) in [("GPUPROF_VERBOSE", "1"), ("GPUPROF_FLUSH_MS", "50")] {
            let run = sim.player("vector_add").env("LD_PRELOAD", &list).env(name, value);
            let ended = run.run();
            assert_eq!((ended.code(), said(&ended).len()), (Some(0), 0), "{list}: {}", ended.stderr);
            assert_eq!(one(&ended).kernels().len(), 10, "{list}");
        }
    }
}

#[test]
fn a_door_without_a_collector_says_so_and_harms_nobody() {
    let sim = Sim::new("12.8");
    for (name, value) in [("GPUPROF_FLUSH_MS", "50"), ("GPUPROF_SEEN", "seen")] {
        let run = || sim.player("vector_add").env(name, value);
        let bare = run().run();
        let run = run();
        let door = installed(&run, false);
        let ended = run.env("LD_PRELOAD", &door).run();
        same_end(&bare, &ended, name);
        let [line] = &said(&ended)[..] else { panic!("{}", ended.stderr) };
        assert!(line.contains("/libgpuprof-1.so is not there") && line.contains("nothing is recorded"), "{line}");
    }
    let run = sim.player("vector_add");
    let door = installed(&run, false);
    let ended = run.env("CUDA_INJECTION64_PATH", &door).run();
    assert_eq!((ended.code(), ended.traces()), (Some(0), vec![]), "{}", ended.stderr);
}

#[test]
fn a_door_by_a_relative_path_or_another_name_finds_its_own_collector() {
    let sim = Sim::new("12.8");
    let run = sim.program("sh").args(["-c", "cd / && exec \"$0\" 10"]).arg(player("vector_add"));
    installed(&run, true);
    let ended = run.env("LD_PRELOAD", "./libgpuprof-1_preload.so").run();
    assert_eq!(one(&ended).kernels().len(), 10, "{}", ended.stderr);
    // One that is called something else than a door knows of no collector.
    let run = sim.player("vector_add");
    let other = run.folder().join("libother.so");
    std::fs::copy(preload_path(), &other).expect("the door");
    let ended = run.env("LD_PRELOAD", &other).run();
    assert_eq!((ended.code(), ended.traces()), (Some(0), vec![]), "{}", ended.stderr);
    let [line] = &said(&ended)[..] else { panic!("{}", ended.stderr) };
    assert!(line.contains("/libother.so must be called") && line.contains("nothing is recorded"), "{line}");
}

#[test]
fn children_that_are_cut_off_from_the_door_are_recorded_all_the_same() {
    let sim = Sim::new("12.8");
    let run = sim.program("sh").args(["-c", "unset LD_PRELOAD; \"$0\" 10; env -u CUDA_INJECTION64_PATH \"$0\" 5"]);
    let ended = run.arg(player("vector_add")).preload().run();
    let kernels: Vec<usize> = laws(&ended).iter().map(|trace| trace.kernels().len()).collect();
    assert_eq!((ended.code(), kernels), (Some(0), vec![10]), "{}", ended.stderr);
}
