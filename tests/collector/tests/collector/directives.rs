//! OpenACC and OpenMP: CUPTI hears of constructs from the runtime alone, which we bring to it, and nobody else's tool is
//! pushed aside.

use std::path::PathBuf;

use crate::common::sim::{Attach, Ended, Run, Sim, preload_path, shim_path};
use crate::common::skips::skip;
use crate::common::{Trace, compiled, one, said};
use trace_format::tables::{OpenaccRow, OpenmpRow};

const KINDS: &str = "+openacc,+openmp";

/// The variables through which a runtime finds the collector where it is not preloaded.
fn named<'s>(run: Run<'s>) -> Run<'s> {
    run.env("ACC_PROFLIB", shim_path()).env("OMP_TOOL_LIBRARIES", shim_path())
}

/// Rows of both tables, by kind of event.
fn constructs(trace: &Trace) -> Vec<(u32, usize)> {
    let acc = trace.rows::<OpenaccRow>().into_iter().map(|row| row.kind);
    let kinds: Vec<u32> = acc.chain(trace.rows::<OpenmpRow>().into_iter().map(|row| row.kind)).collect();
    let count = |kind: u32| (kind, kinds.iter().filter(|k| **k == kind).count());
    let mut known = kinds.clone();
    known.sort_unstable();
    known.dedup();
    known.into_iter().map(count).collect()
}

const ACC: [(u32, usize); 3] = [(4, 10), (5, 10), (9, 10)];
const OMP: [(u32, usize); 2] = [(1, 10), (5, 10)];

#[test]
fn constructs_are_recorded_whoever_comes_first_and_however_we_were_found() {
    let sim = Sim::new("12.8");
    for (what, expected) in [("acc", &ACC[..]), ("omp", &OMP[..])] {
        for when in ["first", "last"] {
            let run = || sim.player("directives").args([what, when, "10"]).env("GPUPROF_KINDS", KINDS);
            let ways = [
                ("preloaded", run().preload()),
                ("preloaded whole", run().attach(Attach::PreloadWhole)),
                ("named", named(run().inject())),
                ("preloaded and named", named(run().preload())),
            ];
            for (way, run) in ways {
                let ended = run.run();
                let what = format!("{what} {when}, {way}: {}", ended.stderr);
                assert_eq!((ended.code(), said(&ended).len()), (Some(0), 0), "{what}");
                let trace = one(&ended);
                assert_eq!(trace.kernels().len(), 10, "{what}");
                assert_eq!(constructs(&trace), expected, "{what}");
            }
        }
    }
}

#[test]
fn a_construct_says_where_it_is_how_much_it_moved_and_how_long_it_took() {
    let sim = Sim::new("13.0");
    let ended = sim.player("directives").args(["acc", "first", "3"]).preload().env("GPUPROF_KINDS", KINDS).run();
    let trace = one(&ended);
    let rows: Vec<OpenaccRow> = trace.rows();
    let uploads: Vec<&OpenaccRow> = rows.iter().filter(|row| row.kind == 5).collect();
    assert_eq!((rows.len(), uploads.len()), (9, 3));
    assert!(uploads.iter().all(|row| row.bytes == Some(4096) && row.line == Some(17)), "{uploads:?}");
    assert_eq!(trace.text(uploads[0].file_id.expect("a file")), "solver.c");
    let construct = rows.iter().find(|row| row.kind == 9).expect("a construct");
    let (begin, end) = (construct.start_ns, construct.start_ns + construct.duration_ns.expect("a length"));
    assert!(uploads.iter().any(|row| (begin..end).contains(&row.start_ns)), "{rows:?}");
}

/// A run that nobody asked to record constructs: the runtime is as without us.
fn untouched(ended: &Ended, tools: u64) {
    assert_eq!((ended.code(), said(ended).len()), (Some(0), 0), "{}", ended.stderr);
    assert_eq!(ended.number("tools"), tools, "{}", ended.stdout);
    let trace = one(ended);
    assert_eq!((trace.kernels().len(), constructs(&trace)), (10, vec![]));
    let calls = ended.log.lines().filter(|line| line.ends_with(" openacc") || line.ends_with(" openmp")).count();
    assert_eq!(calls, 0, "{}", ended.log);
}

#[test]
fn unasked_no_runtime_is_listened_to() {
    let sim = Sim::new("12.8");
    untouched(&sim.player("directives").args(["omp", "first", "10"]).preload().run(), 0);
    // OpenACC tells whoever has the function; ours then does nothing.
    untouched(&sim.player("directives").args(["acc", "first", "10"]).preload().run(), 1);
}

/// Another tool for both runtimes, which says on standard output what it is told.
const OTHER: &str = r#"
#include <stdint.h>
#include <stdio.h>
typedef struct { int (*i)(void *(*)(const char *), int, void *); void (*f)(void *); uint64_t data; } Started;
static int begin(void *(*l)(const char *), int d, void *t) { (void)l; (void)d; (void)t; printf("theirs begins\n"); return 1; }
static void end(void *t) { (void)t; printf("theirs ends\n"); }
static Started started = {begin, end, 0};
Started *ompt_start_tool(unsigned version, const char *runtime) { (void)version; (void)runtime; return &started; }
void acc_register_library(void *a, void *b, void *c) { printf("theirs %s\n", a && b && c ? "registers" : "fails"); }
"#;

#[test]
fn another_tool_stays_the_one_that_openmp_has() {
    let sim = Sim::new("12.8");
    let other = compiled("libother.so", OTHER, &["-shared", "-fPIC"]);
    let behind = |us: PathBuf| format!("{}:{}", us.display(), other.display());
    let before = |us: PathBuf| format!("{}:{}", other.display(), us.display());
    let run = || sim.player("directives").args(["omp", "first", "10"]).env("GPUPROF_KINDS", KINDS);
    let listed = before(shim_path());
    let ways = [
        ("preloaded behind us", run().env("LD_PRELOAD", behind(preload_path())), 1),
        ("preloaded behind all of us", run().env("LD_PRELOAD", behind(shim_path())), 1),
        ("preloaded before us", run().env("LD_PRELOAD", before(preload_path())), 0),
        ("preloaded before all of us", run().env("LD_PRELOAD", before(shim_path())), 0),
        ("named before us", run().inject().env("OMP_TOOL_LIBRARIES", &listed), 0),
    ];
    for (way, run, lines) in ways {
        let ended = run.run();
        let what = format!("{way}: {}{}", ended.stdout, ended.stderr);
        assert_eq!(ended.code(), Some(0), "{what}");
        assert!(ended.stdout.starts_with("theirs begins\ntheirs ends\n"), "{what}");
        assert_eq!(said(&ended).len(), lines, "{what}");
        assert!(
            lines == 0
                || ended
                    .stderr
                    .contains("OpenMP is not recorded: another tool listens to it, and OpenMP allows one tool"),
            "{what}"
        );
        assert_eq!(constructs(&one(&ended)), [], "{what}");
    }
}

#[test]
fn openacc_has_another_tool_beside_us() {
    let sim = Sim::new("12.8");
    let other = compiled("libother.so", OTHER, &["-shared", "-fPIC"]);
    let run = || sim.player("directives").args(["acc", "first", "10"]);
    for us in [preload_path(), shim_path()] {
        let both = format!("{}:{}", us.display(), other.display());
        for (kinds, expected) in [(KINDS, &ACC[..]), ("default", &[])] {
            let ended = run().env("LD_PRELOAD", &both).env("GPUPROF_KINDS", kinds).run();
            assert_eq!(ended.stdout.matches("theirs registers").count(), 1, "{both}: {}", ended.stdout);
            assert_eq!(constructs(&one(&ended)), expected, "{both}: {kinds}");
        }
    }
}

#[test]
fn what_cupti_refuses_is_said_and_the_rest_is_recorded() {
    let sim = Sim::new("12.8");
    for (what, function) in [("acc", "cuptiOpenACCInitialize"), ("omp", "cuptiOpenMpInitialize_v2")] {
        let run = sim.player("directives").args([what, "last", "10"]).preload().env("GPUPROF_KINDS", KINDS);
        let ended = run.fail(&format!("{function}:15")).run();
        let lines = said(&ended);
        assert_eq!(lines.len(), 1, "{}", ended.stderr);
        assert!(lines[0].contains(&format!("are not available: {function} returned 15")), "{lines:?}");
        let trace = one(&ended);
        assert_eq!((trace.kernels().len(), constructs(&trace)), (10, vec![]));
    }
}

/// Compute constructs on the host, and a CUDA call before them so that there is a CUPTI.
const HOST: &str = r#"
#include <stdio.h>
int cudaMalloc(void *out, unsigned long bytes);
int main(int c, char **v) {
  (void)v; void *d; float a[1000]; int first = c > 1;
  if (first && cudaMalloc(&d, 64)) return 3;
  for (int k = 0; k < 5; k++) {
#ifdef _OPENACC
#pragma acc parallel loop copy(a)
#else
#pragma omp parallel for num_threads(4)
#endif
    for (int i = 0; i < 1000; i++) a[i] = i;
    if (!first && !k && cudaMalloc(&d, 64)) return 3;
  }
  printf("{\"sum\":%d}\n", (int)(a[0] + a[999]));
  return 0;
}
"#;

/// `HOST`, with a runtime of this machine. None: this machine's compiler lacks it.
fn with_runtime(sim: &Sim, name: &str, flags: &[&str]) -> Option<PathBuf> {
    let folder = sim.folder().join(name);
    std::fs::create_dir_all(&folder).expect("a folder");
    let (source, program) = (folder.join("host.c"), folder.join("host"));
    std::fs::write(&source, HOST).expect("a source");
    let mut cc = std::process::Command::new("cc");
    cc.arg("-O1").arg(&source).arg("-o").arg(&program).args(flags);
    cc.arg(sim.lib().join("libcudart.so.12")).arg(sim.lib().join("libcuda.so.1"));
    cc.output().is_ok_and(|done| done.status.success()).then_some(program)
}

#[test]
fn gccs_openacc_runtime_on_the_host_is_heard() {
    const TEST: &str = "gccs_openacc_runtime_on_the_host_is_heard";
    let sim = Sim::new("12.8");
    let Some(program) = with_runtime(&sim, "acc", &["-fopenacc"]) else {
        return skip(TEST, "the C compiler has no OpenACC");
    };
    for (first, constructs_after) in [(true, 5), (false, 4)] {
        // It asks the libraries that are named alone, not those that are preloaded.
        for way in ["named", "preloaded and named"] {
            let run = named(sim.program(&program).env("GPUPROF_KINDS", KINDS).args(first.then_some("first")));
            let ended = if way == "named" { run.inject().run() } else { run.preload().run() };
            assert_eq!((ended.code(), said(&ended).len()), (Some(0), 0), "{way}: {}", ended.stderr);
            assert_eq!(ended.number("sum"), 999);
            let found = constructs(&one(&ended));
            assert!(found.contains(&(9, constructs_after)), "{way}, CUDA first: {first}: {found:?}");
        }
    }
}

/// A real runtime with OMPT, which gcc's has not: LLVM's or Intel's.
fn libomp() -> Option<PathBuf> {
    let folders = (10..=30).rev().map(|version| format!("/usr/lib/llvm-{version}/lib/libomp.so.5"));
    let given = std::env::var_os("GPUPROF_TEST_LIBOMP").map(PathBuf::from);
    let usual = ["/usr/lib/x86_64-linux-gnu/libomp.so.5", "/usr/lib/aarch64-linux-gnu/libomp.so.5"];
    let found = folders.chain(usual.map(str::to_owned)).map(PathBuf::from).find(|path| path.is_file());
    given.or(found)
}

#[test]
fn a_real_openmp_runtime_is_heard() {
    const TEST: &str = "a_real_openmp_runtime_is_heard";
    let Some(runtime) = libomp() else {
        return skip(TEST, "no libomp.so.5 here (GPUPROF_TEST_LIBOMP names one; Debian: libomp5)");
    };
    let sim = Sim::new("12.8");
    let Some(program) = with_runtime(&sim, "omp", &["-fopenmp"]) else {
        return skip(TEST, "the C compiler has no OpenMP");
    };
    // The program asks for gcc's runtime by name, whose functions LLVM's has too.
    std::fs::copy(&runtime, sim.lib().join("libgomp.so.1")).expect("the runtime");
    for (first, regions) in [(true, 5), (false, 4)] {
        for way in ["preloaded", "named"] {
            let run = sim.program(&program).env("GPUPROF_KINDS", KINDS).args(first.then_some("first"));
            let ended = if way == "named" { named(run.inject()).run() } else { run.preload().run() };
            assert_eq!((ended.code(), said(&ended).len()), (Some(0), 0), "{way}: {}", ended.stderr);
            assert_eq!(ended.number("sum"), 999);
            let trace = one(&ended);
            let found = constructs(&trace);
            assert!(found.contains(&(1, regions)), "{way}, CUDA first: {first}: {found:?}");
            let threads: std::collections::BTreeSet<u32> =
                trace.rows::<OpenmpRow>().into_iter().map(|row| row.tid).collect();
            assert!(threads.len() > 1, "barriers of the team's other threads: {found:?}");
        }
    }
}
