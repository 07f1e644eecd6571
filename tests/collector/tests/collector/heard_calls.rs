//! `GPUPROF_API_CALLS=by-call` where CUPTI cannot record single calls (before 12.5): the collector makes the records itself, of
//! callbacks for the calls that matter. They are to be those that CUPTI would have made.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::Value;
use trace_format::tables::{ApiRow, CaptureRow, NoteRow};

use crate::common::sim::{Ended, Run, Sim};
use crate::common::{Trace, in_parallel, laws, one, said};

/// What the players call of what is heard, by hand; all else that they call is a question, an event or a stream.
const HEARD: &[&str] = &[
    "cudaMalloc",
    "cudaMallocHost",
    "cudaMallocManaged",
    "cudaMallocAsync",
    "cudaFree",
    "cudaFreeHost",
    "cudaFreeAsync",
    "cudaMemcpy",
    "cudaMemcpyAsync",
    "cudaMemcpyPeerAsync",
    "cudaMemset",
    "cudaMemsetAsync",
    "cudaMemPrefetchAsync",
    "cudaLaunchKernel",
    "cudaGraphInstantiateWithFlags",
    "cudaGraphLaunch",
    "cudaDeviceSynchronize",
    "cudaStreamSynchronize",
    "cudaEventSynchronize",
    "cudaEventRecord",
    "cudaStreamWaitEvent",
    "cuMemAlloc_v2",
    "cuMemFree_v2",
    "cuCtxSynchronize",
    "cuLaunchKernel",
    "cuEventRecord",
    "cuEventSynchronize",
    "cuStreamSynchronize",
    "cuStreamWaitEvent",
    "cuMemcpyHtoDAsync_v2",
    "cuMemsetD8Async",
    "cuModuleLoadData",
    "cuModuleGetFunction",
];

const OLD: [&str; 3] = ["11.8", "12.0", "12.4"];

/// The name of a call as CUPTI gives it, without the release that stands behind it in the runtime.
fn plain(name: &str) -> &str {
    let release =
        name.rfind("_v").filter(|at| name.len() > at + 4 && name[at + 2..].bytes().all(|b| b.is_ascii_digit()));
    release.map_or(name, |at| &name[..at])
}

/// Domain and name of every call, beside its row.
fn named(trace: &Trace) -> Vec<(String, ApiRow)> {
    let mut names: BTreeMap<u32, String> = BTreeMap::new();
    let name = |row: &ApiRow| {
        names.entry(row.name_id).or_insert_with(|| plain(&trace.text(row.name_id)).to_owned()).clone()
    };
    let rows = trace.rows::<ApiRow>();
    rows.iter().map(name).collect::<Vec<_>>().into_iter().zip(rows).collect()
}

/// How often each call was recorded, by domain and name, of all calls or of those that are heard.
fn calls(trace: &Trace, of_heard: bool) -> BTreeMap<(u32, String), usize> {
    let mut calls = BTreeMap::new();
    for (name, row) in named(trace) {
        if !of_heard || HEARD.contains(&name.as_str()) {
            *calls.entry((row.domain, name)).or_default() += 1;
        }
    }
    calls
}

fn player<'s>(sim: &'s Sim, how: &str, player: &[&str], settings: &[(&str, &str)]) -> Run<'s> {
    let (name, args) = player.split_first().expect("a player");
    let run = sim.player(name).args(args).env("GPUPROF_API_CALLS", how).inject();
    settings.iter().fold(run, |run, (name, value)| run.env(name, value))
}

fn run(sim: &Sim, how: &str, args: &[&str], settings: &[(&str, &str)]) -> (Ended, Trace) {
    let ended = player(sim, how, args, settings).run();
    assert_eq!((ended.code(), said(&ended).len()), (Some(0), 0), "{}", ended.stderr);
    let trace = one(&ended);
    (ended, trace)
}

/// A player with its arguments, and settings.
type Case<'a> = (&'a [&'a str], &'a [(&'a str, &'a str)]);

#[test]
fn what_is_heard_is_what_cupti_would_have_recorded_and_it_looks_at_nothing_else() {
    let gated = [("GPUPROF_CAPTURE", "profiler-api")];
    let cases: [Case<'_>; 10] = [
        (&["chatty", "200"], &[]),
        (&["calls", "20"], &[]),
        (&["calls", "20", "8"], &[]),
        (&["mixed", "5"], &[]),
        (&["graph", "20", "5", "2"], &[]),
        (&["chatty", "20", "3"], &gated),
        (&["gate", "repeat", "4"], &gated),
        (&["calls", "10"], &[("GPUPROF_KINDS", "-driver")]),
        (&["calls", "10"], &[("GPUPROF_KINDS", "-runtime")]),
        (&["calls", "10"], &[("SIM_CORRELATION", "own")]),
    ];
    let all = OLD.into_iter().flat_map(|version| cases.map(|case| (version, case)));
    in_parallel(all, 2, |(version, (player, settings))| {
        let sim = Sim::new(version);
        let [(by_kind, kinds), (by_call, heard)] =
            ["by-kind", "by-call"].map(|how| run(&sim, how, player, settings));
        let what = format!("CUPTI {version}, {player:?} {settings:?}");
        assert!(!calls(&heard, false).is_empty(), "{what}");
        assert_eq!(calls(&kinds, true), calls(&heard, false), "{what}");
        assert_eq!(kinds.kernels().len(), heard.kernels().len(), "{what}");
        let of_cupti = by_call.totals().generated_of(4) + by_call.totals().generated_of(5);
        let (made, rows) = (heard.total("heard"), heard.rows::<ApiRow>().len() as u64);
        assert!(
            of_cupti == 0 && made >= rows && made <= rows + heard.total("excluded"),
            "{what}: {made} for {rows}"
        );
        let (by_kind, by_call) = (by_kind.totals().intercepted, by_call.totals().intercepted);
        assert!(by_call < by_kind, "{what}: {by_call} of {by_kind}");
    });
}

#[test]
fn nothing_but_what_is_heard_is_looked_at() {
    let sim = Sim::new("12.4");
    let (ended, trace) = run(&sim, "by-call", &["chatty", "1000"], &[]);
    // Each launch is a call of the runtime and one of the driver, and there are a few other calls.
    let rows = trace.rows::<ApiRow>().len() as u64;
    assert!(ended.totals().intercepted < 2 * rows + 100, "{} for {rows}", ended.totals().intercepted);
    let (by_kind, _) = run(&sim, "by-kind", &["chatty", "1000"], &[]);
    assert!(by_kind.totals().intercepted > ended.totals().intercepted + 8_000);
}

#[test]
fn rows_are_the_same_to_the_nanosecond() {
    // On a clock that only the program's calls move: nothing of ours makes any meanwhile.
    let virtual_clock =
        [("SIM_CLOCK", "virtual"), ("SIM_EPOCH_NS", "1790000000000000000"), ("GPUPROF_FLUSH_MS", "60000")];
    for version in OLD {
        let sim = Sim::new(version);
        let [kinds, heard] = ["by-kind", "by-call"].map(|how| {
            let (_, trace) = run(&sim, how, &["calls", "20"], &virtual_clock);
            let mut rows = named(&trace);
            rows.retain(|(name, _)| HEARD.contains(&name.as_str()));
            rows.sort_by_key(|(_, row)| (row.correlation, row.domain));
            // Before that our own threads made calls too.
            let first = rows.iter().position(|(name, _)| name == "cudaMalloc").expect("a first round");
            let (first_ns, first_id) = (rows[first].1.start_ns, rows[first].1.correlation);
            let relative = |(name, row): (String, ApiRow)| {
                let ApiRow { start_ns, duration_ns, domain, cbid, correlation, result, .. } = row;
                (name, domain, cbid, start_ns - first_ns, duration_ns, correlation - first_id, result)
            };
            rows.into_iter().skip(first).map(relative).collect::<Vec<_>>()
        });
        let other = kinds.iter().zip(&heard).find(|(one, other)| one != other);
        assert_eq!((other, kinds.len()), (None, heard.len()), "CUPTI {version}");
        assert!(kinds.len() > 250, "{}", kinds.len());
    }
}

#[test]
fn kernels_join_their_launches_and_calls_of_a_thread_come_one_after_the_other() {
    let sim = Sim::new("12.4");
    let (ended, trace) = run(&sim, "by-call", &["calls", "200", "8"], &[]);
    let rows = named(&trace);
    let launches: BTreeMap<u64, &ApiRow> =
        rows.iter().filter(|(name, _)| name == "cudaLaunchKernel").map(|(_, row)| (row.correlation, row)).collect();
    let kernels = trace.kernels();
    assert_eq!((kernels.len() as u64, launches.len()), (ended.number("launches"), kernels.len()));
    for kernel in &kernels {
        let launch = launches.get(&kernel.correlation).expect("the launch of a kernel");
        assert!(launch.start_ns <= kernel.start_ns, "{launch:?} {kernel:?}");
    }
    let mut threads: BTreeMap<u32, Vec<(i64, i64)>> = BTreeMap::new();
    for (_, row) in &rows {
        let end_ns = row.start_ns + row.duration_ns.expect("a call that ended");
        threads.entry(row.tid).or_default().push((row.start_ns, end_ns));
    }
    assert_eq!(threads.len(), 9, "eight threads and the first");
    for calls in threads.values_mut() {
        calls.sort_unstable();
        assert!(calls.windows(2).all(|two| two[0].1 <= two[1].0));
    }
    assert_eq!(trace.losses(), []);
}

#[test]
fn a_clock_that_does_not_answer_costs_no_call() {
    let sim = Sim::new("12.4");
    let ended = player(&sim, "by-call", &["calls", "20"], &[]).fail("cuptiGetTimestamp:15@20+").run();
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    let trace = one(&ended);
    assert_eq!(calls(&trace, false), calls(&run(&sim, "by-call", &["calls", "20"], &[]).1, false));
    let (first_ns, last_ns) = trace.kernels().iter().fold((i64::MAX, i64::MIN), |(first_ns, last_ns), kernel| {
        (first_ns.min(kernel.start_ns), last_ns.max(kernel.start_ns))
    });
    let near = |row: &ApiRow| (first_ns - 1_000_000_000..last_ns + 1_000_000_000).contains(&row.start_ns);
    assert!(trace.rows::<ApiRow>().iter().all(near));
}

#[test]
fn calls_say_what_they_returned() {
    for version in OLD {
        let sim = Sim::new(version);
        let (ended, trace) = run(&sim, "by-call", &["calls", "10"], &[]);
        let failed: Vec<(String, u32, u32)> = named(&trace)
            .into_iter()
            .filter_map(|(name, row)| Some((name, row.domain, row.result.filter(|code| *code != 0)?)))
            .collect();
        let [runtime, driver] = ["runtime_code", "driver_code"].map(|code| ended.number(code) as u32);
        let count = |what: &(String, u32, u32)| failed.iter().filter(|one| *one == what).count();
        assert_eq!(count(&("cudaMalloc".to_owned(), 0, runtime)), 10, "{failed:?}");
        assert_eq!(count(&("cuMemAlloc_v2".to_owned(), 1, driver)), 10, "{failed:?}");
        assert_eq!(failed.len() as u64, ended.number("failures"));
    }
}

#[test]
fn windows_hold_the_same_calls_whoever_opens_them() {
    let cases: [Case<'_>; 6] = [
        (&["gate", "step"], &[("GPUPROF_CAPTURE", "profiler-api")]),
        (&["gate", "driver"], &[("GPUPROF_CAPTURE", "profiler-api")]),
        (&["gate", "cross"], &[("GPUPROF_CAPTURE", "profiler-api")]),
        (&["gate", "graph"], &[("GPUPROF_CAPTURE", "profiler-api")]),
        (&["gate", "apart", "12"], &[("GPUPROF_CAPTURE", "profiler-api")]),
        (&["flight", "launch=3", "steps=20,1", "launch=3"], &[("GPUPROF_CAPTURE", "nvtx:step")]),
    ];
    let all = OLD.into_iter().flat_map(|version| cases.map(|case| (version, case)));
    in_parallel(all, 2, |(version, (player, settings))| {
        let sim = Sim::new(version);
        let [(_, kinds), (_, heard)] = ["by-kind", "by-call"].map(|how| run(&sim, how, player, settings));
        let what = format!("CUPTI {version}, {player:?}");
        assert!(!calls(&heard, false).is_empty(), "{what}");
        assert_eq!(calls(&kinds, true), calls(&heard, false), "{what}");
        assert_eq!(kinds.kernels().len(), heard.kernels().len(), "{what}");
        let windows = |trace: &Trace| trace.rows::<CaptureRow>().len();
        assert_eq!(windows(&kinds), windows(&heard), "{what}");
    });
}

#[test]
fn windows_that_open_and_close_under_calling_threads_hold_their_own_ids_and_all_of_the_first_threads() {
    let sim = Sim::new("12.4");
    for how in [&["gate", "threads"][..], &["threads", "8", "300", "toggle"]] {
        let (ended, trace) = run(&sim, "by-call", how, &[("GPUPROF_CAPTURE", "profiler-api")]);
        let windows: Vec<(u64, u64)> = trace
            .rows::<CaptureRow>()
            .iter()
            .map(|row| (row.first_correlation.expect("an id"), row.last_correlation.unwrap_or(u64::MAX)))
            .collect();
        let is_in = |id: u64| windows.iter().any(|(after, before)| *after < id && id < *before);
        let rows = named(&trace);
        assert!(rows.iter().all(|(_, row)| is_in(row.correlation)), "{how:?}");
        if how[0] == "gate" {
            let launched =
                rows.iter().filter(|(name, row)| name == "cudaLaunchKernel" && row.tid == trace.pid()).count();
            assert_eq!(launched as u64, ended.number("in_windows"), "{how:?}");
        }
    }
}

#[test]
fn a_window_knows_its_calls_from_the_first_on_however_soon_the_writer_comes() {
    // The calls of a window are heard before the window is known, while kinds and callbacks go on one after the other.
    let sim = Sim::new("12.4");
    let slow = sim.player("gate").args(["again"]).env("GPUPROF_API_CALLS", "by-call").inject();
    let slow =
        slow.env("GPUPROF_CAPTURE", "profiler-api").stall("cuptiEnableCallback:1@5+").env("GPUPROF_FLUSH_MS", "10");
    let ended = slow.timeout(Duration::from_secs(120)).run();
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    let trace = one(&ended);
    let [_, window] = &trace.rows::<CaptureRow>()[..] else { panic!("two windows") };
    let (after, before) = (window.first_correlation.expect("an id"), window.last_correlation.expect("an id"));
    let mut rows = named(&trace);
    rows.retain(|(_, row)| row.correlation > after);
    assert!(rows.iter().all(|(_, row)| row.correlation < before));
    // The callbacks went on for a third of a second, the most frequent calls' among the first, and then the window was known.
    let first_ns = rows.iter().map(|(_, row)| row.start_ns).min().expect("a call");
    assert!(first_ns < window.start_ns - 100_000_000, "{} ns before", window.start_ns - first_ns);
    let is_launch = |name: &str| name.ends_with("LaunchKernel");
    let launches: BTreeSet<u64> =
        rows.iter().filter(|(name, _)| is_launch(name)).map(|(_, row)| row.correlation).collect();
    // Kernels are recorded before calls are. From the first launch on that was heard there is one to each kernel, but for what
    // was in its call when the callbacks went off again, and for what is told as lost.
    let first = launches.first().expect("a launch");
    let missing =
        trace.kernels().iter().filter(|k| k.correlation > *first && !launches.contains(&k.correlation)).count();
    let lost: i64 = trace.losses().iter().map(|row| row.rows).sum();
    assert!(missing as i64 <= lost + 9, "{missing} of {}, {lost} lost", trace.kernels().len());
}

/// 120,000 launches while the writer waits 2 s for the name of the first call.
fn with_a_writer_that_waits(settings: &[(&str, &str)]) -> (Ended, Trace) {
    let sim = Sim::new("12.4");
    let player =
        player(&sim, "by-call", &["threads", "4", "30000"], settings).env("GPUPROF_EXIT_DEADLINE_MS", "30000");
    // The names of all calls were asked for before.
    let known = 467 + 1 + 753 + 1;
    let stall = format!("cuptiGetCallbackName:2000@{}", known + 1);
    let ended = player.stall(&stall).timeout(Duration::from_secs(120)).run();
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    assert!(ended.log.contains("stall cuptiGetCallbackName"), "the writer did not wait");
    let trace = one(&ended);
    (ended, trace)
}

/// Launches and waits of that program.
const LAUNCHES_AND_WAITS: i64 = 120_000 + 4 * (30_000 / 64 + 1) + 2;

#[test]
fn a_writer_that_does_not_come_loses_no_call_while_there_are_blocks() {
    let (_, trace) = with_a_writer_that_waits(&[]);
    assert_eq!(trace.losses(), []);
    assert_eq!(trace.rows::<ApiRow>().len() as i64, LAUNCHES_AND_WAITS);
}

#[test]
fn a_queue_that_is_full_loses_calls_and_says_how_many() {
    let (ended, trace) =
        with_a_writer_that_waits(&[("GPUPROF_KINDS", "runtime,driver"), ("GPUPROF_MEMORY_BYTES", "1MiB")]);
    let lost: i64 = trace.losses().iter().map(|row| row.rows).sum();
    assert!(lost > 0, "{:?} {}", trace.losses(), ended.log);
    let texts: Vec<String> = trace.losses().iter().filter_map(|row| Some(trace.text(row.detail_id?))).collect();
    assert!(!texts.is_empty() && texts.iter().all(|text| text == "API calls"), "{texts:?}");
    assert!(trace.losses().iter().all(|row| row.start_ns < row.end_ns), "{:?}", trace.losses());
    // Each launch and each wait was heard or lost.
    assert_eq!(trace.rows::<ApiRow>().len() as i64 + lost, LAUNCHES_AND_WAITS);
}

#[test]
fn children_are_recorded_with_calls_of_their_own() {
    for how in ["before", "both", "exec", "pool"] {
        let sim = Sim::new("12.4");
        let ended = player(&sim, "by-call", &["forks", how], &[]).run();
        assert_eq!(ended.code(), Some(0), "{how}: {}", ended.stderr);
        let traces = laws(&ended);
        assert!(traces.len() > 1, "{how}");
        for trace in traces {
            let launches = calls(&trace, false).get(&(0, "cudaLaunchKernel".to_owned())).copied();
            assert_eq!(launches, Some(trace.kernels().len()), "{how}");
            let is_own = |row: &ApiRow| row.tid == trace.pid();
            assert!(trace.rows::<ApiRow>().iter().all(is_own), "{how}: threads of the child itself");
        }
    }
    let sim = Sim::new("12.4");
    let ended = player(&sim, "by-call", &["threads", "8", "200", "fork"], &[]).run();
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    let trace = one(&ended);
    assert_eq!(calls(&trace, false).get(&(0, "cudaLaunchKernel".to_owned())), Some(&1_600));
}

#[test]
fn a_program_may_end_in_the_middle_of_its_calls() {
    let sim = Sim::new("12.0");
    let ended = player(&sim, "by-call", &["threads", "8", "1", "exit"], &[]).run();
    assert_eq!(ended.code(), Some(7), "{}", ended.stderr);
    assert_eq!(one(&ended).losses(), []);
    for how in ["return", "exit", "quick_exit", "abort", "_exit"] {
        let ended = player(&sim, "by-call", &["leave", how, "500", "300"], &[("GPUPROF_FLUSH_MS", "50")]).run();
        let [trace] = &laws(&ended)[..] else { panic!("{how}: {}", ended.stderr) };
        let launches = calls(trace, false).get(&(0, "cudaLaunchKernel".to_owned())).copied();
        assert_eq!(launches, Some(500), "{how}");
    }
}

#[test]
fn calls_that_fail_ask_for_a_dump_whichever_they_are() {
    for (settings, has_calls) in [(&[][..], true), (&[("GPUPROF_KINDS", "-runtime,-driver")], false)] {
        for (command, call) in [("error", "cudaSetDevice"), ("driver_error", "cuDeviceGet")] {
            let sim = Sim::new("12.4");
            let ring = [("GPUPROF_RING", "30s"), ("GPUPROF_DUMP_ON", "error")];
            let settings = [&ring, settings].concat();
            let ended = player(&sim, "by-call", &["flight", "launch=100", command, "sleep=400"], &settings).run();
            assert_eq!((ended.code(), said(&ended).len()), (Some(0), 0), "{}", ended.stderr);
            let dumps: Vec<_> =
                ended.files().into_iter().filter(|path| path.to_string_lossy().contains("001-error")).collect();
            assert!(!dumps.is_empty(), "{command}: {:?}", ended.files());
            let traces: Vec<Trace> = dumps.iter().map(|path| Trace::open(path)).collect();
            let notes: Vec<String> = traces
                .iter()
                .flat_map(|trace| trace.rows::<NoteRow>().into_iter().map(|note| trace.text(note.text_id)))
                .collect();
            assert!(notes.iter().any(|note| note.starts_with(&format!("dump 1, error: {call}"))), "{notes:?}");
            let rows: usize = traces.iter().map(|trace| trace.rows::<ApiRow>().len()).sum();
            assert_eq!(rows > 100, has_calls, "{rows} calls");
        }
    }
}

#[test]
fn the_trace_says_how_calls_were_recorded_and_which_were_not() {
    let process = |version: &str, how: &str, settings: &[(&str, &str)]| {
        run(&Sim::new(version), how, &["chatty", "5"], settings).1.process()
    };
    let muted = |process: &Value| {
        let names = process["muted_calls"].as_array().cloned().unwrap_or_default();
        names.iter().map(|name| name.as_str().expect("a name").to_owned()).collect::<Vec<_>>()
    };
    let heard = process("12.4", "by-call", &[]);
    assert_eq!(heard["api_calls"], "callbacks");
    let names = muted(&heard);
    for name in [
        "cudaGetDevice",
        "cudaStreamQuery",
        "cudaSetDevice",
        "cudaProfilerStart",
        "cuCtxGetCurrent",
        "cudaEventCreate",
    ] {
        assert!(names.iter().any(|one| one == name), "{name}");
    }
    assert!(!names.iter().any(|name| HEARD.contains(&name.as_str())), "{names:?}");
    // The runtime's alone, where nothing of the driver is asked for.
    let runtime = muted(&process("12.4", "by-call", &[("GPUPROF_KINDS", "-driver")]));
    assert!(runtime.iter().all(|name| !name.starts_with("cu") || name.starts_with("cuda")) && runtime.len() > 100);
    let kinds = process("12.4", "by-kind", &[]);
    assert_eq!((&kinds["api_calls"], muted(&kinds).len()), (&Value::from("by-kind"), 0));
    assert_eq!(process("12.5", "by-call", &[])["api_calls"], "by-call");
    assert_eq!(process("12.4", "by-call", &[("GPUPROF_MUTE", "off")])["api_calls"], "by-kind");
    let light = process("12.4", "by-call", &[("GPUPROF_PRESET", "light")]);
    assert_eq!(muted(&light).len(), 0, "no call is recorded, muted or not");
}

#[test]
fn a_cupti_that_does_not_call_back_is_asked_by_kind_and_one_line_says_so() {
    let sim = Sim::new("12.4");
    let (_, kinds) = run(&sim, "by-kind", &["chatty", "20"], &[]);
    // The first four are those of every session.
    let ended = player(&sim, "by-call", &["chatty", "20"], &[]).fail("cuptiEnableCallback:15@5").run();
    let lines = said(&ended);
    assert!(lines.len() == 1 && lines[0].contains("GPUPROF_API_CALLS=by-call cannot be had"), "{lines:?}");
    assert_eq!(calls(&kinds, false), calls(&one(&ended), false));
}

#[test]
fn stacks_of_launches_and_calls_are_listened_to_side_by_side() {
    let sim = Sim::new("12.4");
    let settings = [("GPUPROF_LAUNCH_STACKS", "on"), ("GPUPROF_CAPTURE", "profiler-api")];
    let [(_, kinds), (_, heard)] =
        ["by-kind", "by-call"].map(|how| run(&sim, how, &["chatty", "20", "3"], &settings));
    assert_eq!(calls(&kinds, true), calls(&heard, false));
    // There is no Python: each launch inside the windows was looked at, by either way.
    let seen =
        |trace: &Trace| trace.reader.closed_totals().expect("closed")["writer_totals"]["launch_stacks"].clone();
    assert_eq!(seen(&kinds), seen(&heard));
}

#[test]
fn windows_of_a_budget_and_of_a_timer_hold_the_launches_of_their_kernels() {
    let budget =
        [("GPUPROF_BUDGET", "10%"), ("SIM_CALL_COST_NS", "20000"), ("SIM_WORK_COST_NS", "1600")].as_slice();
    for (settings, least) in [(budget, 2), (&[("GPUPROF_CAPTURE", "delay:0.5,duration:0.5")], 1)] {
        let sim = Sim::new("12.4");
        let (_, trace) = run(&sim, "by-call", &["steady", "4000", "3"], settings);
        let windows = trace.rows::<CaptureRow>().len();
        let launches: BTreeSet<u64> = trace.rows::<ApiRow>().iter().map(|row| row.correlation).collect();
        let kernels = trace.kernels();
        let without = kernels.iter().filter(|kernel| !launches.contains(&kernel.correlation)).count();
        assert!(windows >= least && kernels.len() > 100, "{windows} windows, {} kernels", kernels.len());
        // Kernels go on before calls do and off behind them, as by kind: what is launched meanwhile has no call.
        assert!(without * 4 < kernels.len(), "{without} of {}", kernels.len());
    }
}
