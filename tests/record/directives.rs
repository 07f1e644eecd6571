//! `gpuprof record` names the collector to OpenACC and OpenMP runtimes where their constructs are asked for, and there alone.

use crate::collector::{compiled, one, said};
use crate::sim::Sim;
use trace_format::tables::{OpenaccRow, OpenmpRow};

#[test]
fn asked_for_constructs_they_are_recorded_without_preloading() {
    let sim = Sim::new("12.8");
    let run = |what| sim.player("directives").args([what, "first", "10"]);
    let ended = run("acc").record(&["--kinds", "+openacc"]).run();
    assert_eq!(one(&ended).rows::<OpenaccRow>().len(), 30, "{}", ended.stderr);
    let ended = run("omp").record(&["--kinds", "+openmp"]).run();
    assert_eq!(one(&ended).rows::<OpenmpRow>().len(), 20, "{}", ended.stderr);
    assert!(!said(&ended).iter().any(|line| line.contains("OpenMP")), "{}", ended.stderr);
    let ended = run("omp").record(&["--kinds", "+openacc"]).run();
    assert_eq!((ended.number("tools"), one(&ended).rows::<OpenmpRow>().len()), (0, 0), "{}", ended.stderr);
}

#[test]
fn variables_of_the_program_keep_what_they_had_and_are_left_alone_unasked() {
    let sim = Sim::new("12.8");
    let show = compiled(
        "show",
        r#"#include <stdio.h>
#include <stdlib.h>
int main(void) { const char *a = getenv("ACC_PROFLIB"), *o = getenv("OMP_TOOL_LIBRARIES");
  printf("%s %s\n", a ? a : "none", o ? o : "none"); return 0; }"#,
        &[],
    );
    let run = || sim.program(&show).env("OMP_TOOL_LIBRARIES", "/theirs.so");
    let ended = run().record(&[]).run();
    assert_eq!(ended.stdout, "none /theirs.so\n");
    let ended = run().record(&["--kinds", "+openmp,+openacc"]).run();
    let (acc, omp) = ended.stdout.trim_end().split_once(' ').expect("two values");
    assert!(acc.ends_with("libgpuprof.so") && !acc.contains(';'), "{acc}");
    assert_eq!(omp, format!("/theirs.so:{acc}"));
}
