//! CUPTI fails, stalls, drops, shuffles, is taken away: the program does not notice, and the trace tells.

use std::collections::BTreeSet;
use std::sync::OnceLock;
use std::time::Duration;

use crate::common::sim::{Ended, Run, Sim, VERSIONS};
use crate::common::{Trace, in_parallel, in_time, laws, one, said, same_end};
use trace_format::tables::{LossRow, NoteRow};

/// Loss causes, as the format numbers them.
const QUEUE_FULL: u32 = 1;
const CUPTI_DROPPED: u32 = 2;
const UNKNOWN_KIND: u32 = 3;
const TAKEN_OVER: u32 = 7;
const FLUSH_DEADLINE: u32 = 8;

/// Functions without which nothing can be recorded, where their first call fails.
const VITAL: [&str; 4] =
    ["cuptiSubscribe", "cuptiGetVersion", "cuptiActivityRegisterCallbacks", "cuptiEnableCallback"];
/// All others that the collector calls.
const OTHERS: [&str; 13] = [
    "cuptiSetThreadIdType",
    "cuptiActivitySetAttribute",
    "cuptiActivityGetAttribute",
    "cuptiActivityEnable",
    "cuptiActivityDisable",
    "cuptiActivityEnableRuntimeApi",
    "cuptiActivityEnableDriverApi",
    "cuptiActivityFlushAll",
    "cuptiActivityGetNumDroppedRecords",
    "cuptiActivityGetNextRecord",
    "cuptiGetTimestamp",
    "cuptiGetCallbackName",
    "cuptiComputeCapabilitySupported",
];
/// Every code that a version has, and two that none has.
const CODES: [u32; 45] = [
    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30,
    31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 46, 999, 4242,
];

/// One failure: the function, its code, and which of its calls.
#[derive(Clone, Copy)]
struct Failure {
    function: &'static str,
    code: u32,
    calls: &'static str,
}

fn matrix(calls: &'static [&'static str], every: usize) -> Vec<Failure> {
    let functions: Vec<&str> = VITAL.into_iter().chain(OTHERS).collect();
    let mut all = Vec::new();
    for (f, function) in functions.into_iter().enumerate() {
        for (c, code) in CODES.into_iter().enumerate() {
            all.extend(calls.iter().enumerate().map(|(i, calls)| (f + c + i, Failure { function, code, calls })));
        }
    }
    // A different part of the codes for every function, all of them over all functions.
    all.into_iter().filter(|(n, _)| n.is_multiple_of(every)).map(|(_, failure)| failure).collect()
}

fn fails(failure: Failure) {
    let Failure { function, code, calls } = failure;
    // Versions differ in what is called.
    static MACHINES: OnceLock<Vec<(Sim, Ended)>> = OnceLock::new();
    let machines = MACHINES.get_or_init(|| {
        let sims = ["12.8", "11.8", "13.0"].map(Sim::new).into_iter();
        sims.map(|sim| (sim.player("vector_add").arg("20").run(), sim)).map(|(bare, sim)| (sim, bare)).collect()
    });
    let (sim, bare) = &machines[(code % 3) as usize];
    let run = || sim.player("vector_add").arg("20");
    let what = format!("{function} gives {code} at call {calls}, CUPTI {}", sim.version());
    let ended = in_time(
        bare,
        |_| Duration::from_millis(2200),
        &what,
        || run().fail(&format!("{function}:{code}@{calls}")).env("GPUPROF_FLUSH_MS", "20").inject(),
    );
    same_end(bare, &ended, &what);
    assert!(said(&ended).len() <= 1, "{what}: more than one line\n{}", ended.stderr);
    let failed = ended.log.contains(&format!("fail {function} call"));
    let traces: Vec<Trace> = ended.traces().iter().map(|path| Trace::open(path)).collect();
    assert_eq!((traces.len(), ended.totals().violations), (1, 0), "{what}: {}", ended.stderr);
    let trace = &traces[0];
    assert!(trace.reader.is_closed(), "{what}");
    let process = trace.process();
    let is_vital = match function {
        // Records cannot be read by a walker that never answers; one refusal is asked again.
        "cuptiActivityGetNextRecord" => calls.ends_with('+'),
        // The second call is for the end of cuInit, which only helps; the fifth and later ones are heartbeats.
        "cuptiEnableCallback" => !matches!(calls, "2" | "7"),
        _ => VITAL.contains(&function),
    };
    if is_vital && failed {
        let [line] = &said(&ended)[..] else { panic!("{what}: {}", ended.stderr) };
        assert!(line.contains(&format!("{function} returned CUPTI error {code}")), "{what}: {line}");
        assert_eq!((&process["cause"], process["cause_code"].as_u64()), (&"cupti_error".into(), Some(code.into())));
        assert_eq!(process["cause_function"], function, "{what}");
        assert_eq!(trace.kernels().len(), 0, "{what}");
    } else {
        // The writer's own account, and what it says of what is missing.
        let [delivered, written, excluded, lost] =
            ["delivered", "written", "excluded", "lost"].map(|name| trace.total(name));
        assert_eq!(delivered, written + excluded + lost, "{what}");
        assert_eq!(trace.rows_of_cupti(), written, "{what}");
        let is_whole = trace.kernels().len() == 20;
        let notes = trace.rows::<NoteRow>().len() + trace.losses().len();
        let is_told = notes > 0 || !process["denied_kinds"].is_null();
        assert!(is_whole || is_told, "{what}: {} kernels, and the trace does not say why", trace.kernels().len());
        assert!(is_whole || said(&ended).len() == 1, "{what}: {} kernels, and not a word", trace.kernels().len());
    }
}

#[test]
fn whatever_cupti_function_fails_with_whatever_code_the_program_is_as_ever_and_the_reason_is_told() {
    in_parallel(matrix(&["1", "1+", "3", "3+"], 17), 4, fails);
}

#[test]
#[ignore = "4,590 runs, 4 minutes: for whoever changes how the collector calls CUPTI"]
fn the_whole_matrix_of_failures() {
    in_parallel(matrix(&["1", "1+", "2", "3", "3+", "7"], 1), 4, fails);
}

#[test]
fn a_kind_that_is_not_permitted_is_named_and_the_others_are_kept() {
    let sim = Sim::new("12.8");
    let ended = sim.player("vector_add").fail("cuptiActivityEnable#5:35").inject().run();
    let trace = one(&ended);
    assert_eq!((trace.kernels().len(), ended.code()), (10, Some(0)));
    let process = trace.process();
    let denied = process["denied_kinds"].as_array().expect("a list");
    assert_eq!((denied.len(), &denied[0]["kind"], &denied[0]["code"]), (1, &5.into(), &35.into()));
    assert_eq!(denied[0]["reason"], "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES");
    assert_eq!(said(&ended).len(), 1, "{}", ended.stderr);
}

#[test]
fn a_cupti_that_somebody_else_holds_is_not_touched_at_all() {
    for version in VERSIONS {
        let sim = Sim::new(version);
        let ended = sim.player("vector_add").fail("cuptiSubscribe:39@1+").preload().run();
        assert_eq!(ended.code(), Some(0));
        // The simulator writes down every call that changes anything. The one is the question whether we may.
        let calls: Vec<&str> = ended.log.lines().filter(|line| !line.contains(" inject ")).collect();
        assert!(
            matches!(&calls[..], [call] if call.contains("fail cuptiSubscribe call 1")),
            "CUPTI {version}: {calls:?}"
        );
        assert_eq!((ended.totals().requested, ended.totals().flushes), (0, 0), "CUPTI {version}");
        let [line] = &said(&ended)[..] else { panic!("{}", ended.stderr) };
        assert!(line.contains("39"), "{line}");
        let trace = one(&ended);
        assert_eq!(trace.process()["cause_code"], 39);
    }
}

/// How much longer a run may take than its deadline: 0.2 s by the design, the rest for a busy machine.
const GRACE: Duration = Duration::from_millis(700);

fn stalled<'s>(run: impl Fn() -> Run<'s>, bare: &Ended, what: &str) -> Ended {
    let bound = |_: &Ended| Duration::from_millis(300) + GRACE;
    let ended = in_time(bare, bound, what, || run().env("GPUPROF_EXIT_DEADLINE_MS", "300").inject());
    same_end(bare, &ended, what);
    ended
}

#[test]
fn a_flush_that_never_comes_back_costs_the_deadline_and_no_more() {
    let all = ["11.8", "12.8", "13.0"].into_iter().flat_map(|v| ["1", "1+", "2"].map(|calls| (v, calls)));
    in_parallel(all, 3, |(version, calls)| {
        let sim = Sim::new(version);
        for how in ["return", "exit", "thread_exit"] {
            let run = || sim.player("leave").args([how, "1000", "150"]);
            let bare = run().run();
            let what = format!("{how}, CUPTI {version}, call {calls}");
            let rules = format!("cuptiActivityFlushAll:forever@{calls}");
            let ended = stalled(|| run().stall(&rules).env("GPUPROF_FLUSH_MS", "50"), &bare, &what);
            let [line] = &said(&ended)[..] else { panic!("{what}: {}", ended.stderr) };
            assert!(line.contains("in time"), "{what}: {line}");
            let traces = laws(&ended);
            let causes: Vec<u32> = traces[0].losses().iter().map(|l| l.cause).collect();
            assert_eq!((traces.len(), causes), (1, vec![FLUSH_DEADLINE]), "{what}");
            assert!(traces[0].reader.is_closed(), "{what}: the file is ours, whatever CUPTI does");
            // Once missed, CUPTI is left alone.
            let flushes = ended.log.lines().filter(|l| l.contains("stall")).count();
            assert_eq!(flushes, 1, "{what}: {}", ended.log);
        }
    });
}

#[test]
fn other_calls_of_our_threads_that_never_come_back_cost_no_more_either() {
    let calls = [
        ("cuptiActivityGetNumDroppedRecords", "1"),
        ("cuptiActivityGetNumDroppedRecords", "3+"),
        // The first ten are those of the writer, which asks once.
        ("cuptiGetTimestamp", "12+"),
        ("cuptiComputeCapabilitySupported", "1"),
    ];
    in_parallel(calls, 3, |(function, calls)| {
        let sim = Sim::new("12.8");
        let run = || sim.player("leave").args(["exit", "1000", "300"]);
        let bare = run().run();
        let what = format!("{function} at call {calls}");
        let rules = format!("{function}:forever@{calls}");
        let ended = stalled(|| run().stall(&rules).env("GPUPROF_FLUSH_MS", "50"), &bare, &what);
        let traces = laws(&ended);
        assert_eq!(traces.len(), 1, "{what}");
        assert!(said(&ended).len() <= 1, "{what}: {}", ended.stderr);
    });
}

#[test]
fn where_cupti_has_handed_over_all_there_is_its_hanging_is_no_loss() {
    let sim = Sim::new("12.8");
    let run = || sim.player("flight").args(["launch=20", "sleep=400"]);
    let bare = run().run();
    // Long after everything was flushed.
    let rules = "cuptiActivityGetNumDroppedRecords:forever@6+";
    let ended = stalled(|| run().stall(rules).env("GPUPROF_FLUSH_MS", "50"), &bare, "nothing outstanding");
    assert!(ended.log.contains("stall"), "{}", ended.log);
    let trace = one(&ended);
    assert_eq!((trace.kernels().len(), trace.losses(), said(&ended).len()), (20, vec![], 0), "{}", ended.stderr);
}

#[test]
fn windows_that_end_while_cupti_is_flushed_do_not_look_like_another_tool() {
    // The program is silent inside each window for long enough that it is asked whether CUPTI still knows us, and ends it
    // at another moment each time: also while the flush takes its time that comes before the question.
    in_parallel(["11.8", "12.8", "13.0"], 3, |version| {
        let sim = Sim::new(version);
        let run = sim.player("gate").args(["silent", "30"]).env("GPUPROF_CAPTURE", "profiler-api");
        let run = run.env("GPUPROF_FLUSH_MS", "10").stall("cuptiActivityFlushAll:25").inject();
        let ended = run.run();
        let trace = one(&ended);
        assert_eq!((said(&ended).len(), trace.losses()), (0, vec![]), "CUPTI {version}: {}", ended.stderr);
        assert_eq!(trace.kernels().len() as u64, ended.number("in_windows"), "CUPTI {version}: {}", ended.stderr);
    });
}

#[test]
fn a_program_that_is_silent_where_calls_cannot_be_recorded_is_not_taken_for_another_tool() {
    let sim = Sim::new("12.8");
    let run = sim.player("flight").args(["launch=5", "sleep=500", "launch=5"]).env("GPUPROF_FLUSH_MS", "10");
    let ended = run.fail("cuptiActivityEnable#4:28").inject().run();
    let [line] = &said(&ended)[..] else { panic!("{}", ended.stderr) };
    assert!(line.contains("records of DRIVER are not available"), "{line}");
    assert_eq!(one(&ended).kernels().len(), 10, "{}", ended.stderr);
}

#[test]
fn kinds_that_never_go_off_keep_no_call_of_the_program_waiting() {
    let sim = Sim::new("13.0");
    let run = || sim.player("gate").args(["apart", "6"]).env("GPUPROF_CAPTURE", "profiler-api");
    let bare = run().run();
    // The flush thread switches the kinds of the GPU off when a window has drained, and holds the gate meanwhile.
    // Kind 10 are kernels.
    let what = "a disable that never comes back";
    let ended = in_time(
        &bare,
        |_| Duration::from_millis(2_000 + 300) + GRACE,
        what,
        || run().stall("cuptiActivityDisable#10:forever").env("GPUPROF_EXIT_DEADLINE_MS", "300").inject(),
    );
    same_end(&bare, &ended, what);
    let [line] = &said(&ended)[..] else { panic!("{}", ended.stderr) };
    assert!(line.contains("hangs while it is switched"), "{line}");
    let traces = laws(&ended);
    let causes: Vec<u32> = traces[0].losses().iter().map(|l| l.cause).collect();
    assert_eq!(causes, vec![FLUSH_DEADLINE]);
}

#[test]
fn slow_flushes_only_make_records_late() {
    let sim = Sim::new("12.8");
    let run = || sim.player("leave").args(["exit", "1000", "200"]);
    let ended = run().stall("cuptiActivityFlushAll:150").env("GPUPROF_FLUSH_MS", "50").inject().run();
    assert_eq!((ended.code(), one(&ended).kernels().len()), (Some(6), 1000));
}

#[test]
fn what_cupti_drops_is_counted_with_its_window() {
    for version in ["11.8", "12.8", "13.0"] {
        let sim = Sim::new(version);
        let ended = sim.player("leave").args(["sync", "2000", "300"]).env("SIM_DROP", "10").inject().run();
        let trace = one(&ended);
        let totals = ended.totals();
        assert!(totals.dropped > 200, "{totals:?}");
        assert_eq!(trace.total("dropped_by_cupti"), totals.dropped, "CUPTI {version}");
        let losses: Vec<LossRow> = trace.losses();
        assert!(losses.iter().all(|l| l.cause == CUPTI_DROPPED), "{losses:?}");
        assert!(losses.iter().all(|l| l.start_ns.zip(l.end_ns).is_some_and(|(s, e)| s < e)), "{losses:?}");
        assert_eq!(losses.iter().map(|l| l.rows as u64).sum::<u64>(), totals.dropped);
        assert_eq!(trace.kernels().len() as u64, totals.delivered_of(10));
    }
}

#[test]
fn records_in_any_order_with_any_times_are_all_kept() {
    for version in ["11.8", "12.8", "13.0"] {
        let sim = Sim::new(version);
        let run = || sim.player("leave").args(["sync", "2000"]).inject();
        for seed in ["1", "2", "3"] {
            let trace = one(&run().env("SIM_ORDER", "shuffle").env("SIM_SEED", seed).run());
            let ids: BTreeSet<u64> = trace.kernels().iter().map(|k| k.correlation).collect();
            assert_eq!((trace.kernels().len(), ids.len(), trace.losses()), (2000, 2000, vec![]));
        }
        for (wish, every) in [("SIM_ZERO_TIMES", 4), ("SIM_BAD_TIMES", 8)] {
            let trace = one(&run().env(wish, every.to_string()).run());
            let impossible = trace.kernels().iter().filter(|k| k.duration_ns.is_none()).count();
            assert_eq!((trace.kernels().len(), impossible), (2000, 2000 / every), "{wish}, CUPTI {version}");
        }
        let trace = one(&run().env("SIM_UNKNOWN_ENUMS", "1").run());
        assert_eq!((trace.kernels().len(), trace.losses()), (2000, vec![]));
    }
}

#[test]
fn correlation_ids_that_wrap_stay_unique() {
    let sim = Sim::new("12.8");
    let run = sim.player("leave").args(["sync", "2000"]).env("SIM_CORRELATION_START", "4294966000");
    let trace = one(&run.inject().run());
    let ids: BTreeSet<u64> = trace.kernels().iter().map(|k| k.correlation).collect();
    assert_eq!((ids.len(), trace.kernels().len()), (2000, 2000));
    let (first, last) = (ids.first().copied().unwrap_or(0), ids.last().copied().unwrap_or(0));
    assert!(first < 1 << 32 && last > 1 << 32 && last - first < 10_000, "{first} to {last}");
}

#[test]
fn kinds_that_nobody_knows_are_stepped_over_if_the_walker_can_and_counted_if_not() {
    let sim = Sim::new("12.8");
    let run = || sim.player("leave").args(["sync", "1000"]).inject();
    let ended = run().env("SIM_UNKNOWN", "77").run();
    let trace = one(&ended);
    assert_eq!(trace.kernels().len(), 1000);
    assert_eq!(trace.total("ignored"), ended.totals().delivered_of(77), "{}", ended.stderr);
    // What lies behind a record of unknown size in its buffer cannot be found; the trace says so.
    let ended = run().env("SIM_UNKNOWN", "78:0").run();
    assert_eq!(ended.code(), Some(5));
    let path = ended.trace();
    let trace = Trace::open(&path);
    assert!(trace.reader.is_closed() && trace.kernels().len() < 1000);
    let losses = trace.losses();
    assert!(!losses.is_empty() && losses.iter().all(|l| l.cause == UNKNOWN_KIND), "{losses:?}");
    let texts: Vec<String> = losses.iter().filter_map(|l| l.detail_id).map(|id| trace.text(id)).collect();
    assert!(texts.iter().all(|t| t.contains("kind 78")), "{texts:?}");
}

#[test]
fn another_tool_that_takes_cupti_over_is_named_and_left_alone() {
    in_parallel(["11.8", "12.8", "13.0"], 3, |version| {
        let sim = Sim::new(version);
        let run = || sim.player("steady").args(["2000", "4"]).takeover("libkineto.so.1", 2000);
        let bare = run().run();
        let ended = run().env("GPUPROF_FLUSH_MS", "50").inject().run();
        assert_eq!((bare.status, ended.code()), (ended.status, Some(0)), "{}", ended.stderr);
        assert_eq!(ended.totals().intruded, 1);
        let [line] = &said(&ended)[..] else { panic!("CUPTI {version}: {}", ended.stderr) };
        assert!(line.contains("libkineto.so.1 took CUPTI over"), "{line}");
        let trace = one(&ended);
        let losses: Vec<LossRow> = trace.losses().into_iter().filter(|l| l.cause == TAKEN_OVER).collect();
        let [loss] = &losses[..] else { panic!("{losses:?}") };
        assert_eq!(loss.detail_id.map(|id| trace.text(id)).as_deref(), Some("CUPTI taken over by libkineto.so.1"));
        let kernels = trace.kernels().len();
        assert!((1000..=2100).contains(&kernels), "CUPTI {version}: {kernels}");
        // The window of the loss begins near the end of what was recorded.
        let last = trace.kernels().iter().map(|k| k.start_ns).max().unwrap_or(0);
        let from = loss.start_ns.expect("a begin");
        assert!((from - last).abs() < 1_000_000_000, "{from} against {last}");
    });
}

#[test]
fn a_dry_pool_gives_no_null_to_a_cupti_that_cannot_bear_it_and_every_lost_record_is_counted() {
    in_parallel(["11.8", "12.4", "12.8", "12.9", "13.0"], 2, |version| {
        let sim = Sim::new(version);
        // The least memory, and more than any writer can take.
        let run = sim.player("burst").args(["400000", "2"]).env("GPUPROF_MEMORY_BYTES", "1MiB");
        let ended = run.env("GPUPROF_BLOCK_BYTES", "256KiB").inject().run();
        assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
        let totals = ended.totals();
        let can_say_no = matches!(version, "12.9" | "13.0");
        assert!(can_say_no || totals.null_buffers == 0, "CUPTI {version}: {} NULL", totals.null_buffers);
        let trace = one(&ended);
        let lost: u64 = trace.losses().iter().map(|l| l.rows as u64).sum();
        assert!(lost > 0, "CUPTI {version}: nothing was lost, so nothing was tested");
        assert_eq!(totals.generated, trace.total("delivered"), "CUPTI {version}");
        // A CUPTI that takes no for an answer counts what it then drops.
        let causes: BTreeSet<u32> = trace.losses().iter().map(|l| l.cause).collect();
        let is_known = causes.iter().all(|c| *c == QUEUE_FULL || can_say_no && *c == CUPTI_DROPPED);
        assert!(is_known && causes.contains(&QUEUE_FULL), "CUPTI {version}: {:?}", trace.losses());
        let known = trace.losses().iter().all(|l| l.start_ns.zip(l.end_ns).is_some_and(|(s, e)| s <= e));
        assert!(known, "CUPTI {version}: {:?}", trace.losses());
        assert_eq!(trace.kernels().len() as u64 + lost_kernels(&trace, &totals), totals.generated_of(10));
    });
}

/// Kernels that are not in the trace: not more than were lost in all.
fn lost_kernels(trace: &Trace, totals: &crate::common::sim::Totals) -> u64 {
    let missing = totals.generated_of(10) - trace.kernels().len() as u64;
    let lost: u64 = trace.losses().iter().map(|l| l.rows as u64).sum();
    assert!(missing <= lost, "{missing} kernels missing, {lost} records lost");
    missing
}

#[test]
fn a_gpu_or_a_driver_that_this_cupti_does_not_know_is_named() {
    let sim = Sim::new("12.8");
    let ended = sim.player("vector_add").env("SIM_CC", "12.1").inject().run();
    assert_eq!(ended.code(), Some(0));
    let [line] = &said(&ended)[..] else { panic!("{}", ended.stderr) };
    assert!(line.contains("12.1") && line.contains("newer than"), "{line}");
    one(&ended);
    let ended = sim.player("vector_add").env("SIM_DRIVER", "12.4").inject().run();
    assert_eq!(ended.code(), Some(0));
    let [line] = &said(&ended)[..] else { panic!("{}", ended.stderr) };
    assert!(line.contains("cuptiSubscribe returned CUPTI error 15"), "{line}");
    assert_eq!(one(&ended).process()["cause"], "cupti_error");
    // No GPU: nothing to say, and nothing to leave.
    let run = || sim.player("vector_add").env("SIM_DEVICES", "0");
    let (bare, ended) = (run().run(), run().inject().run());
    same_end(&bare, &ended, "no device");
    assert_eq!(ended.files().len(), 0, "{:?}", ended.files());
}
