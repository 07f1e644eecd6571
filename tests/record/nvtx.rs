//! NVTX through real parts: the headers of three toolkits compiled into a program, libnvToolsExt.so.1 and
//! libnvtx3interop.so.1 as they were shipped, the Python package of PyPI (`scripts/fetch-nvtx`), all calling the shipped
//! `libgpuprof.so`. CUDA is the simulator's: without a context there is no file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::common::skip;
use crate::sim::{self, Attach, Ended, Run, Sim};
use serde_json::Value;
use trace_format::read::TraceReader;
use trace_format::schema::{Row, TableSpec};
use trace_format::tables::{self, RangeRow};

/// How a program comes to its NVTX: headers of a toolkit, and the library that has the functions; none: inlined.
type Build = (&'static str, Option<(&'static str, &'static str)>);

const BUILDS: [Build; 7] = [
    ("11.8", None),
    ("12.9", None),
    ("13.5", None),
    ("12.9", Some(("lib-11.8", "libnvToolsExt.so.1"))),
    ("12.9", Some(("lib-12.1", "libnvToolsExt.so.1"))),
    ("12.9", Some(("lib-12.9", "libnvtx3interop.so.1"))),
    ("13.5", Some(("lib-13.5", "libnvtx3interop.so.1"))),
];
const NEWEST: Build = BUILDS[2];

/// Where the real parts lie; `None`, said loudly and counted, where they cannot be had.
fn parts(test: &str) -> Option<&'static Path> {
    static PARTS: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let found = PARTS.get_or_init(|| {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/fetch-nvtx");
        let done = Command::new(&script).output().map_err(|e| format!("{}: {e}", script.display()))?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        if done.status.success() { Ok(PathBuf::from(text(&done.stdout))) } else { Err(text(&done.stderr)) }
    });
    match found {
        Ok(path) => Some(path),
        Err(why) => {
            skip(test, why.lines().last().unwrap_or("scripts/fetch-nvtx failed"));
            None
        }
    }
}

/// A program or library of `tests/record/nvtx`, built unless that was done since its source last changed.
fn compile(parts: &Path, source: &str, name: &str, headers: &str, more: &[&str]) -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/record/nvtx").join(source);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("nvtx-players");
    let out = folder.join(name);
    let age = |path: &Path| path.metadata().and_then(|data| data.modified()).ok();
    if age(&out) > age(&source) {
        return out;
    }
    std::fs::create_dir_all(&folder).unwrap();
    let new = folder.join(format!("{name}-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)));
    let mut cc = Command::new("cc");
    cc.args(["-O1", "-g", "-rdynamic", "-I"]).arg(parts.join(format!("include-{headers}")));
    cc.arg("-o").arg(&new).arg(&source).args(more).args(["-ldl", "-lpthread"]);
    let done = cc.output().expect("cc, the C compiler");
    assert!(done.status.success(), "{cc:?}: {}", String::from_utf8_lossy(&done.stderr));
    // Complete from the first moment: other tests use it too.
    std::fs::rename(&new, &out).unwrap();
    out
}

/// `tests/record/nvtx/calls.c`, built one of the ways.
fn program(parts: &Path, (headers, library): Build) -> PathBuf {
    match library {
        None => compile(parts, "calls.c", &format!("calls-{headers}"), headers, &[]),
        Some((folder, file)) => {
            let at = parts.join(folder);
            let path = format!("-Wl,-rpath,{}", at.display());
            let more = ["-DNVTX_NO_IMPL", "-L", at.to_str().unwrap(), &format!("-l:{file}"), &path];
            compile(parts, "calls.c", &format!("calls-{headers}-{folder}"), headers, &more)
        }
    }
}

fn calls<'s>(sim: &'s Sim, parts: &Path, how: &str) -> Run<'s> {
    sim.program(program(parts, NEWEST)).arg(how).preload()
}

/// A range as people see it.
#[derive(Clone, Debug, PartialEq)]
struct Range {
    row: RangeRow,
    name: String,
    domain: Option<String>,
}

/// What is in a trace.
struct Seen {
    /// By id: a later row replaces an earlier one.
    ranges: BTreeMap<u64, Range>,
    threads: BTreeMap<u32, String>,
    notes: Vec<String>,
    kernels: usize,
    losses: i64,
    totals: Option<Value>,
}

fn rows<T: Row>(trace: &TraceReader, table: &'static TableSpec) -> Vec<T> {
    let frames = trace.frames().iter().filter(|f| f.table == table.id && !f.is_repeat());
    let batches = frames.map(|f| trace.read_batch(f, None).unwrap());
    batches.flat_map(|b| (0..b.rows).map(|i| T::from_batch(&b, i)).collect::<Vec<T>>()).collect()
}

fn look(path: &Path) -> Seen {
    let trace = TraceReader::open(path).unwrap();
    let strings: Vec<tables::StringRow> = rows(&trace, &tables::STRING);
    let strings: BTreeMap<u32, String> =
        strings.into_iter().map(|s| (s.id, String::from_utf8_lossy(&s.bytes).into_owned())).collect();
    let text = |id: u32| strings.get(&id).unwrap_or_else(|| panic!("no string {id} in {}", path.display())).clone();
    let mut ranges = BTreeMap::new();
    for row in rows::<RangeRow>(&trace, &tables::RANGE) {
        let (name, domain) = (text(row.name_id), row.domain_id.map(text));
        ranges.insert(row.range_id, Range { row, name, domain });
    }
    let threads: Vec<tables::ThreadRow> = rows(&trace, &tables::THREAD);
    let notes: Vec<tables::NoteRow> = rows(&trace, &tables::NOTE);
    let losses: Vec<tables::LossRow> = rows(&trace, &tables::LOSS);
    Seen {
        ranges,
        threads: threads.into_iter().map(|t| (t.tid, text(t.name_id))).collect(),
        notes: notes.into_iter().map(|n| text(n.text_id)).collect(),
        kernels: rows::<tables::KernelRow>(&trace, &tables::KERNEL).len(),
        losses: losses.iter().map(|l| l.rows).sum(),
        totals: trace.closed_totals().cloned(),
    }
}

fn ended_well(ended: &Ended) -> Seen {
    assert_eq!(ended.code(), Some(0), "stdout: {}\nstderr: {}", ended.stdout, ended.stderr);
    assert_eq!(ended.stderr, "");
    look(&ended.trace())
}

/// All that a range or mark says of itself.
#[derive(Debug, Default, PartialEq)]
struct Fields {
    name: String,
    domain: Option<String>,
    style: u32,
    category: Option<u32>,
    color: Option<u32>,
    integer: Option<i64>,
    fraction: Option<f64>,
}

fn fields(range: &Range) -> Fields {
    let r = &range.row;
    Fields {
        name: range.name.clone(),
        domain: range.domain.clone(),
        style: r.style,
        category: r.category,
        color: r.color,
        integer: r.payload_i64,
        fraction: r.payload_f64,
    }
}

#[test]
fn every_function_arrives_whatever_headers_or_library_it_is_called_through() {
    let Some(parts) = parts("nvtx: every function") else { return };
    let sim = Sim::new("12.8");
    for build in BUILDS {
        let ended = sim.program(program(parts, build)).arg("all").preload().run();
        let seen = ended_well(&ended);
        let plain = |name: &str, domain: Option<&str>, style: u32| Fields {
            name: name.to_owned(),
            domain: domain.map(str::to_owned),
            style,
            ..Fields::default()
        };
        let io = Some("io");
        let expected: Vec<Fields> = vec![
            plain("outer", None, 0),
            plain("größer", None, 0),
            Fields { category: Some(3), ..plain("read", io, 0) },
            plain("crossed", io, 0),
            Fields { color: Some(0xFF11_2233), ..plain("colour", None, 0) },
            plain("one", None, 1),
            plain("zwei", None, 1),
            plain("lies 東京", Some("weit é"), 1),
            plain("mark", None, 2),
            plain("Marke", None, 2),
            Fields { integer: Some(1 << 40), ..plain("u64", None, 2) },
            Fields { integer: Some(-5), ..plain("i64", io, 2) },
            Fields { fraction: Some(0.25), ..plain("f64", None, 2) },
            Fields { integer: Some(4_000_000_000), ..plain("u32", None, 2) },
            Fields { integer: Some(-7), ..plain("i32", None, 2) },
            Fields { fraction: Some(1.5), ..plain("f32", None, 2) },
            plain("", None, 2),
        ];
        // Ids are given in the order in which ranges begin.
        let found: Vec<Fields> = seen.ranges.values().map(fields).collect();
        assert_eq!(found, expected, "{build:?}");
        let ranges = seen.ranges.values();
        assert!(ranges.clone().all(|r| (r.row.style == 2) == r.row.end_ns.is_none()), "{build:?}");
        assert!(ranges.clone().all(|r| r.row.end_ns.is_none_or(|end| end >= r.row.start_ns)), "{build:?}");
        let tid = seen.ranges.values().next().unwrap().row.tid;
        assert!(ranges.clone().all(|r| r.row.tid == tid), "{build:?}");
        assert_eq!(seen.threads.get(&tid).map(String::as_str), Some("main thread"), "{build:?}");
        assert_eq!(seen.threads.get(&12345).map(String::as_str), Some("a resource"), "{build:?}");
        for note in [
            "NVTX category 3: plain",
            "NVTX category 3 of domain io: files",
            "NVTX category 4 of domain weit é: überall",
        ] {
            assert!(seen.notes.iter().any(|n| n == note), "{build:?}: {:?}", seen.notes);
        }
        assert_eq!(seen.losses, 0, "{build:?}");
    }
}

#[test]
fn the_python_package_is_heard() {
    let Some(parts) = parts("nvtx: Python") else { return };
    let sim = Sim::new("12.8");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/record/nvtx/calls.py");
    for attach in [Attach::Preload, Attach::Injection] {
        let run = sim.program("python3").arg(&script).env("PYTHONPATH", parts.join("python")).attach(attach);
        let seen = ended_well(&run.run());
        let named = |name: &str| seen.ranges.values().filter(|r| r.name == name).collect::<Vec<&Range>>();
        let one = |name: &str| {
            let found = named(name);
            assert_eq!(found.len(), 1, "{name}");
            found[0].clone()
        };
        let (with, pushed) = (one("with"), one("pushed"));
        assert!(with.row.start_ns <= pushed.row.start_ns && pushed.row.end_ns <= with.row.end_ns);
        assert_eq!((with.row.color, with.domain), (Some(0x00FF_0000), None));
        assert_eq!((pushed.domain.as_deref(), pushed.row.payload_i64), (Some("loader"), Some(42)));
        let category = format!("NVTX category {} of domain loader: disk", pushed.row.category.unwrap());
        assert!(seen.notes.contains(&category), "{:?}", seen.notes);
        let started = one("started");
        assert_eq!((started.row.style, started.row.payload_f64), (1, Some(0.5)));
        assert!(started.row.end_ns.is_some());
        assert_eq!((one("größe").row.style, one("größe").row.payload_i64), (2, Some(-1)));
        assert_eq!([named("forward").len(), named("again").len()], [3, 3]);
        // Deeper than a thread keeps track of, and every one of them has its end all the same.
        assert_eq!([named("fibonacci").len(), named("deep").len()], [15, 301]);
        let nested = ["forward", "fibonacci", "deep"];
        assert!(nested.iter().flat_map(|n| named(n)).all(|r| r.row.end_ns.is_some()));
        let mut deep: Vec<(i64, i64)> =
            named("deep").iter().map(|r| (r.row.start_ns, r.row.end_ns.unwrap())).collect();
        deep.sort_unstable();
        assert!(deep.windows(2).all(|w| w[1].1 <= w[0].1), "each lies in the one before");
    }
}

#[test]
fn calls_before_the_first_context_are_in_the_trace() {
    let Some(parts) = parts("nvtx: early") else { return };
    let sim = Sim::new("12.8");
    for attach in [Attach::Preload, Attach::Injection] {
        let ended = calls(&sim, parts, "early").attach(attach).run();
        let seen = ended_well(&ended);
        let found: Vec<(&str, bool)> =
            seen.ranges.values().map(|r| (r.name.as_str(), r.row.end_ns.is_some())).collect();
        assert_eq!(found, [("before", true), ("around", true), ("after", true)]);
        let around = seen.ranges.values().nth(1).unwrap();
        let ns = around.row.end_ns.unwrap() - around.row.start_ns;
        assert!(ns < i64::try_from(ended.duration.as_nanos()).unwrap(), "{ns}");
    }
}

#[test]
fn a_range_opens_the_gate_by_name_and_domain_registered_or_not() {
    let Some(parts) = parts("nvtx: gate") else { return };
    let sim = Sim::new("12.8");
    // Total of launches is 140; 21 of them lie in "train".
    for (capture, kernels) in [("nvtx:train@model", 21), ("nvtx:train", 21), ("nvtx:train@", 0), ("nvtx:step", 140)]
    {
        let ended = calls(&sim, parts, "window").env("GPUPROF_CAPTURE", capture).run();
        assert_eq!((ended.code(), ended.stdout.trim()), (Some(0), "21"), "{capture}: {}", ended.stderr);
        assert_eq!(look(&ended.trace()).kernels, kernels, "{capture}: {}", ended.stderr);
    }
}

#[test]
fn a_range_that_began_before_cuda_opens_the_gate() {
    let Some(parts) = parts("nvtx: gate before CUDA") else { return };
    let sim = Sim::new("12.8");
    let ended = calls(&sim, parts, "around").env("GPUPROF_CAPTURE", "nvtx:train").run();
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    assert_eq!(look(&ended.trace()).kernels, 7);
}

#[test]
fn a_range_that_hangs_is_in_the_file_of_a_program_that_was_killed() {
    let Some(parts) = parts("nvtx: hung") else { return };
    let sim = Sim::new("12.8");
    let ended = calls(&sim, parts, "hung").run();
    assert_eq!(ended.signal(), Some(9));
    let seen = look(&ended.trace());
    let found: Vec<(&str, u32, Option<i64>)> =
        seen.ranges.values().map(|r| (r.name.as_str(), r.row.style, r.row.end_ns)).collect();
    assert_eq!(found, [("hung", 0, None), ("hung as well", 1, None)]);
    assert!(seen.totals.is_none());
}

#[test]
fn forked_children_are_silent_and_end_as_they_would() {
    let Some(parts) = parts("nvtx: fork") else { return };
    let sim = Sim::new("12.8");
    let ended = calls(&sim, parts, "fork").run();
    let seen = ended_well(&ended);
    assert_eq!(ended.traces().len(), 1);
    let found: Vec<(&str, bool)> =
        seen.ranges.values().map(|r| (r.name.as_str(), r.row.end_ns.is_some())).collect();
    assert_eq!(found, [("parent", true)]);
}

#[test]
fn threads_have_their_names_and_what_they_left_open_stays_open() {
    let Some(parts) = parts("nvtx: threads") else { return };
    let sim = Sim::new("12.8");
    let seen = ended_well(&calls(&sim, parts, "threads").run());
    let mut by_thread: BTreeMap<u32, (usize, usize)> = BTreeMap::new();
    for range in seen.ranges.values() {
        let (ended, open) = by_thread.entry(range.row.tid).or_default();
        if range.name == "left open" {
            assert_eq!(range.row.end_ns, None);
            *open += 1;
        } else {
            assert_eq!(seen.threads.get(&range.row.tid), Some(&range.name));
            assert!(range.row.end_ns.is_some());
            *ended += 1;
        }
    }
    // A thread id may be used again by a thread that starts later.
    assert_eq!(by_thread.values().map(|(ended, _)| ended).sum::<usize>(), 8_000);
    assert_eq!(by_thread.values().map(|(_, open)| open).sum::<usize>(), 8);
}

#[test]
fn calls_allocate_nothing() {
    let Some(parts) = parts("nvtx: memory") else { return };
    let sim = Sim::new("12.8");
    for attach in [Attach::Preload, Attach::Injection] {
        for build in [NEWEST, BUILDS[3]] {
            let ended = sim.program(program(parts, build)).arg("memory").attach(attach.clone()).run();
            assert_eq!((ended.code(), ended.stdout.trim()), (Some(0), "0"), "{build:?}: {}", ended.stderr);
        }
    }
}

#[test]
fn what_comes_faster_than_it_is_written_is_counted_to_the_last_call() {
    let Some(parts) = parts("nvtx: flood") else { return };
    let sim = Sim::new("12.8");
    let ended = calls(&sim, parts, "flood").run();
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    let seen = look(&ended.trace());
    let totals = seen.totals.unwrap();
    let count =
        |name: &str| totals["writer_totals"]["nvtx"][name].as_i64().unwrap_or_else(|| panic!("{name}: {totals}"));
    let paired = seen.ranges.values().filter(|r| r.row.end_ns.is_some()).count() as i64;
    let alone = count("without_end") + count("still_open") + count("without_start");
    println!("of 200,000 pairs {paired} were kept whole, {} calls were lost", seen.losses);
    assert_eq!(2 * paired + alone + seen.losses, 400_000, "{totals}");
    assert!(
        seen.ranges.values().all(|r| r.name == "flood" && r.row.end_ns.is_none_or(|end| end >= r.row.start_ns))
    );
}

#[test]
fn another_tool_hears_everything_too_when_asked_and_decides_what_the_program_sees() {
    let Some(parts) = parts("nvtx: chain") else { return };
    let sim = Sim::new("12.8");
    let other = compile(parts, "other_tool.c", "libother_tool.so", "12.9", &["-shared", "-fPIC"]);
    let log = sim.folder().join("other.log");
    let run = calls(&sim, parts, "both").env("GPUPROF_NVTX_CHAIN", &other).env("OTHER_TOOL_LOG", &log);
    let seen = ended_well(&run.run());
    let names: Vec<&str> = seen.ranges.values().map(|r| r.name.as_str()).collect();
    assert_eq!(names, ["plain", "work", "async", "only for gpuprof"]);
    assert!(seen.ranges.values().all(|r| (r.row.style == 2) == r.row.end_ns.is_none()));
    let expected = "initialize\ncreate library\nregister work@library\npush plain\npush work@library\n\
                    pop @library\npop\nstart async\nend 4242\n";
    assert_eq!(std::fs::read_to_string(log).unwrap(), expected);
}

#[test]
fn another_tool_is_not_chained_to_unasked() {
    let Some(parts) = parts("nvtx: no chain") else { return };
    let sim = Sim::new("12.8");
    let other = compile(parts, "other_tool.c", "libother_tool.so", "12.9", &["-shared", "-fPIC"]);
    let log = sim.folder().join("other.log");
    let run = calls(&sim, parts, "early").env("NVTX_INJECTION64_PATH", &other).env("OTHER_TOOL_LOG", &log);
    let ended = run.run();
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    // What was left out, and how to have both.
    assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    assert!(ended.stderr.contains("GPUPROF_NVTX_CHAIN") && ended.stderr.contains(other.to_str().unwrap()));
    assert_eq!(look(&ended.trace()).ranges.len(), 3);
    assert!(!log.exists());
}

#[test]
fn we_are_not_chained_to_ourselves_under_any_name() {
    let Some(parts) = parts("nvtx: chain to ourselves") else { return };
    let sim = Sim::new("12.8");
    let link = sim.folder().join("link.so");
    std::os::unix::fs::symlink(sim::shim_path(), &link).unwrap();
    for path in [sim::shim_path(), link] {
        let ended = calls(&sim, parts, "early").env("GPUPROF_NVTX_CHAIN", path).run();
        assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
        assert_eq!(look(&ended.trace()).ranges.len(), 3);
    }
}

#[test]
fn a_chain_that_leads_nowhere_is_one_line_and_no_harm() {
    let Some(parts) = parts("nvtx: no such chain") else { return };
    let sim = Sim::new("12.8");
    let ended = calls(&sim, parts, "early").env("GPUPROF_NVTX_CHAIN", "/nonexistent/tool.so").run();
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    assert!(ended.stderr.contains("/nonexistent/tool.so") && ended.stderr.contains("GPUPROF_NVTX_CHAIN"));
    assert_eq!(look(&ended.trace()).ranges.len(), 3);
}

#[test]
fn nvtx_can_be_switched_off() {
    let Some(parts) = parts("nvtx: off") else { return };
    let sim = Sim::new("12.8");
    let ended = calls(&sim, parts, "early").env("GPUPROF_NVTX", "off").run();
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    assert!(look(&ended.trace()).ranges.is_empty());
}

#[test]
fn nvtx_without_cuda_leaves_nothing_behind() {
    let Some(parts) = parts("nvtx: no CUDA") else { return };
    let sim = Sim::new("12.8");
    for attach in [Attach::Preload, Attach::Injection] {
        let ended = calls(&sim, parts, "nothing").attach(attach).run();
        assert_eq!((ended.code(), ended.stdout.as_str(), ended.stderr.as_str()), (Some(0), "", ""));
        assert!(ended.files().is_empty(), "{:?}", ended.files());
    }
}
