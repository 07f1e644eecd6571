//! Other tools of CUPTI in the same program (`GPUPROF_SUBSCRIBERS=multiple`): where CUPTI can serve several, each gets all that it
//! asked for, whoever came first and whoever leaves when; where it cannot, one line says so and all is as ever.

use std::collections::BTreeMap;

use crate::common::sim::{Ended, Run, Sim};
use crate::common::{Trace, in_parallel, one, said, same_end};
use trace_format::tables::{ApiRow, KernelRow, MemcpyRow};

type Settings = &'static [(&'static str, &'static str)];

/// Versions that serve several.
const SEVERAL: [&str; 3] = ["13.3", "13.4", "13.5"];

/// The player with these steps, whose tools' records are not counted as ours.
fn beside<'s>(sim: &'s Sim, steps: &str) -> Run<'s> {
    sim.player("beside").args(steps.split(' ')).env("SIM_ASIDE", "a,b")
}

/// The same, recorded.
fn recorded<'s>(sim: &'s Sim, steps: &str, subscribers: &str) -> Run<'s> {
    beside(sim, steps).env("GPUPROF_SUBSCRIBERS", subscribers).inject()
}

/// Kernels, copies and calls by name in a trace.
fn contents(trace: &Trace) -> (usize, usize, BTreeMap<String, usize>) {
    let mut calls = BTreeMap::new();
    for row in trace.rows::<ApiRow>() {
        *calls.entry(trace.text(row.name_id)).or_default() += 1;
    }
    (trace.kernels().len(), trace.rows::<MemcpyRow>().len(), calls)
}

/// What a tool got: codes of subscribing, registering, enabling; kernels, copies, calls.
fn got(ended: &Ended, tool: &str) -> [u64; 6] {
    ["subscribe", "register", "enable", "kernels", "copies", "calls"]
        .map(|what| ended.number(&format!("{tool}_{what}")))
}

/// The steps without their tools, whose end waits for the GPU.
fn without_tools(steps: &str) -> String {
    let others = steps.split(' ').filter(|step| !step.starts_with(['+', '=']));
    let others: Vec<&str> = others.map(|step| if step.starts_with('-') { "s" } else { step }).collect();
    others.join(" ")
}

#[test]
fn every_tool_gets_what_it_would_get_alone_whoever_comes_first_and_whoever_leaves_when() {
    let cases = [
        // Beside us all the time, before us, and in the middle.
        "i +a2 n100 -a",
        "+a2 i n100 -a",
        "i n20 +a2 n40 -a n30",
        // It leaves before anything is launched; sessions in turn; two others, one in the other; one that never ends.
        "+a2 i -a n60",
        "i +a2 n10 -a n10 +b2 n20 -b n10",
        "i n5 +a2 n10 +b2 n15 -a n20 -b n5",
        "i n10 +a2 n10",
        "n300 +a2 n700 -a n300",
    ];
    in_parallel(SEVERAL.iter().flat_map(|version| cases.map(|case| (*version, case))), 4, |(version, steps)| {
        let sim = Sim::new(version);
        let what = format!("CUPTI {version}, {steps}");
        let bare = beside(&sim, steps).run();
        let ended = recorded(&sim, steps, "multiple").env("GPUPROF_FLUSH_MS", "20").run();
        // What the tools got is in the program's output: the same with us as without us.
        same_end(&bare, &ended, &what);
        assert_eq!(
            (got(&ended, "a")[..3].to_vec(), said(&ended).len()),
            (vec![0; 3], 0),
            "{what}: {}",
            ended.stderr
        );
        let trace = one(&ended);
        let alone = one(&recorded(&sim, &without_tools(steps), "single").run());
        assert_eq!(contents(&trace).0 as u64, ended.number("kernels"), "{what}");
        assert_eq!(contents(&trace), contents(&alone), "{what}");
        assert_eq!(trace.losses(), vec![], "{what}");
        let timed = |k: &KernelRow| k.duration_ns.is_some_and(|ns| ns > 0);
        assert!(trace.kernels().iter().all(timed), "{what}");
    });
}

#[test]
fn what_a_tool_within_sees_is_what_was_launched_within() {
    let sim = Sim::new("13.5");
    let ended = recorded(&sim, "i n20 +a2 n40 -a n30", "multiple").run();
    let [0, 0, 0, 40, 40, calls] = got(&ended, "a") else { panic!("{}", ended.stdout) };
    // A launch and a copy each, and waiting at the end.
    assert_eq!(calls, 81, "{}", ended.stdout);
    assert_eq!((one(&ended).kernels().len(), ended.number("a_dropped")), (90, 0));
}

#[test]
fn a_tool_of_the_other_family_gets_nothing_as_today_and_does_us_no_harm() {
    for version in SEVERAL {
        let sim = Sim::new(version);
        let steps = "i n20 +a1 n40 -a n10";
        let ended = recorded(&sim, steps, "multiple").env("GPUPROF_FLUSH_MS", "20").run();
        // 39, as it is with the only place taken; and its other calls are refused instead of taking CUPTI over.
        assert_eq!(got(&ended, "a"), [39, 14, 14, 0, 0, 0], "CUPTI {version}: {}", ended.stdout);
        assert_eq!((ended.code(), said(&ended).len()), (Some(0), 0), "CUPTI {version}: {}", ended.stderr);
        assert_eq!(one(&ended).kernels().len(), 70, "CUPTI {version}");
        // The same with us as the only subscriber, but for what it does without having subscribed.
        let single = recorded(&sim, "i n20 +a2 n40 -a n10", "single").run();
        assert_eq!(got(&single, "a"), [39, 14, 14, 0, 0, 0], "CUPTI {version}: {}", single.stdout);
        assert_eq!(one(&single).kernels().len(), 70, "CUPTI {version}");
    }
}

#[test]
fn who_was_there_first_and_does_not_share_keeps_cupti_and_one_line_says_so() {
    for (version, first) in [("13.5", "+a1"), ("13.3", "+a0"), ("12.8", "+a1")] {
        let sim = Sim::new(version);
        let steps = format!("{first} i n40 -a");
        let (bare, ended) = (beside(&sim, &steps).run(), recorded(&sim, &steps, "multiple").run());
        same_end(&bare, &ended, &steps);
        assert_eq!(got(&ended, "a")[3], 40, "{}", ended.stdout);
        let [line] = &said(&ended)[..] else { panic!("{}", ended.stderr) };
        assert!(
            line.contains(
                "nothing is recorded: cuptiSubscribe returned CUPTI error 39 (another profiler is subscribed)"
            ),
            "{line}"
        );
    }
}

/// The line that says why there is only one subscriber.
fn only_one<'e>(ended: &'e Ended, what: &str) -> &'e str {
    let lines = said(ended);
    assert_eq!(lines.len(), 1, "{what}: {lines:?}");
    assert!(
        lines[0].contains("gpuprof is the only subscriber") && lines[0].contains("torch.profiler"),
        "{lines:?}"
    );
    lines[0]
}

#[test]
fn where_cupti_or_the_driver_is_too_old_or_refuses_there_is_one_subscriber_and_one_line_says_why() {
    let none: Settings = &[];
    let old: Settings = &[("SIM_DRIVER", "13.0"), ("SIM_ENHANCED", "1")];
    let refused: Settings = &[("SIM_FAIL", "cuptiSubscribe_v2:39")];
    let unknown: Settings = &[("SIM_FAIL", "cuptiSubscribe_v2:999")];
    let cases = [
        ("11.8", none, "needs CUPTI 13.3 or later, and this one has no cuptiSubscribe_v2"),
        ("12.8", none, "needs CUPTI 13.3 or later, and this one has no cuptiSubscribe_v2"),
        ("13.0", none, "needs CUPTI 13.3 or later, and this one has no cuptiActivityRegisterCallbacks_v2"),
        ("13.2", none, "needs CUPTI 13.3 or later, and this one has no cuptiActivityGetNextRecord_v2"),
        ("13.3", old, "needs a driver of CUDA 13.3 (r610) or later, and this one is of 13.0"),
        ("13.5", old, "needs a driver of CUDA 13.3 (r610) or later, and this one is of 13.0"),
        (
            "13.5",
            refused,
            "is refused (cuptiSubscribe_v2 returned CUPTI error 39 (another profiler is subscribed))",
        ),
        ("13.4", unknown, "is refused (cuptiSubscribe_v2 returned CUPTI error 999 (unknown))"),
    ];
    in_parallel(cases, 4, |(version, settings, why)| {
        let sim = Sim::new(version);
        let run = || settings.iter().fold(beside(&sim, "i n50"), |run, (name, value)| run.env(name, value));
        let ended = run().env("GPUPROF_SUBSCRIBERS", "multiple").inject().run();
        let what = format!("CUPTI {version} {settings:?}");
        assert_eq!(ended.code(), Some(0), "{what}: {}", ended.stderr);
        let line = only_one(&ended, &what);
        assert!(line.contains(&format!("GPUPROF_SUBSCRIBERS=multiple {why}: ")), "{line}");
        let single = run().inject().run();
        assert_eq!(contents(&one(&ended)), contents(&one(&single)), "{what}");
        assert_eq!(said(&single).len(), 0, "{what}: {}", single.stderr);
    });
}

#[test]
fn by_default_there_is_one_subscriber_and_nobody_is_told() {
    let sim = Sim::new("13.5");
    let ended = beside(&sim, "i n20 +a2 n20 -a").inject().run();
    assert_eq!((got(&ended, "a")[0], said(&ended).len()), (39, 0), "{}", ended.stderr);
    assert_eq!(one(&ended).kernels().len(), 40);
    assert!(!ended.log.contains("_v2"), "{}", ended.log);
}

#[test]
fn windows_are_exact_beside_another_tool() {
    let sim = Sim::new("13.5");
    for how in ["by-kind", "by-call"] {
        let steps = "i n10 +a2 n10 p n20 -a n5 q n10 p +b2 n7 q n10 -b";
        let run = |steps: &str, subscribers: &str| {
            let run = recorded(&sim, steps, subscribers).env("GPUPROF_CAPTURE", "profiler-api");
            run.env("GPUPROF_API_CALLS", how).env("GPUPROF_FLUSH_MS", "20").run()
        };
        let (ended, alone) = (run(steps, "multiple"), run(&without_tools(steps), "single"));
        assert_eq!((ended.code(), said(&ended).len()), (Some(0), 0), "{how}: {}", ended.stderr);
        assert_eq!([got(&ended, "a")[3], got(&ended, "b")[3]], [30, 17], "{how}: {}", ended.stdout);
        let (trace, alone) = (one(&ended), one(&alone));
        assert_eq!(trace.kernels().len(), 32, "{how}");
        assert_eq!(contents(&trace), contents(&alone), "{how}");
    }
}

#[test]
fn a_forced_flush_of_another_tool_ends_a_kernel_s_record_and_loses_none() {
    let sim = Sim::new("13.5");
    // It runs for long enough to be running when the other tool flushes by force, as torch.profiler does at its end.
    let ended = recorded(&sim, "i n5 +a2 b400 =a n5 -a", "multiple").env("GPUPROF_FLUSH_MS", "20").run();
    assert_eq!((ended.code(), said(&ended).len()), (Some(0), 0), "{}", ended.stderr);
    let trace = one(&ended);
    assert_eq!((trace.kernels().len(), trace.losses()), (11, vec![]));
    assert_eq!(ended.number("a_kernels"), 6, "{}", ended.stdout);
    assert_eq!(ended.number("a_unfinished"), 1, "{}", ended.stdout);
    assert_eq!(trace.kernels().iter().filter(|k| k.duration_ns.is_none()).count(), 1);
}

#[test]
fn a_program_that_is_silent_beside_another_tool_is_not_taken_over() {
    let sim = Sim::new("13.5");
    // Long enough for the heartbeat (three intervals, then twice as long), while the other tool is there, flushes and leaves.
    let steps = "i n5 w300 +a2 w400 =a w400 n5 -a w600 n5";
    let (bare, ended) =
        (beside(&sim, steps).run(), recorded(&sim, steps, "multiple").env("GPUPROF_FLUSH_MS", "20").run());
    same_end(&bare, &ended, steps);
    assert_eq!(said(&ended).len(), 0, "{}", ended.stderr);
    // The heartbeat did look: calls of our own that have no row.
    assert!(ended.log.matches("callback 1 4 1").count() >= 4, "{}", ended.log);
    let trace = one(&ended);
    assert_eq!((trace.kernels().len(), trace.losses()), (15, vec![]));
}

#[test]
fn lost_and_excluded_records_are_accounted_for_beside_another_tool() {
    let sim = Sim::new("13.5");
    for settings in [[("SIM_DROP", "7")], [("GPUPROF_PREPARE", "on")], [("SIM_ORDER", "shuffle")]] {
        let steps = "i n100 +a2 p n200 q -a n100";
        let run = recorded(&sim, steps, "multiple").env("GPUPROF_CAPTURE", "profiler-api");
        let ended = settings.iter().fold(run, |run, (name, value)| run.env(name, value)).run();
        assert_eq!(ended.code(), Some(0), "{settings:?}: {}", ended.stderr);
        // The laws: delivered = written + excluded + lost, by our account and by CUPTI's.
        let trace = one(&ended);
        let lost: i64 = trace.losses().iter().map(|loss| loss.rows).sum();
        match settings[0].0 {
            "SIM_DROP" => assert!(lost > 0 && lost as u64 == trace.total("dropped_by_cupti"), "{lost}"),
            _ => assert_eq!((trace.kernels().len(), lost), (200, 0), "{settings:?}"),
        }
    }
}

#[test]
fn attributes_that_are_everybody_s_are_changed_under_nobody() {
    let sim = Sim::new("13.5");
    let attributes = |steps: &str| {
        let ended = recorded(&sim, steps, "multiple").env("GPUPROF_KINDS", "+latency").run();
        assert_eq!((ended.code(), said(&ended).len()), (Some(0), 0), "{}", ended.stderr);
        let trace = one(&ended);
        assert!(trace.kernels().iter().all(|k| k.queued_ns.is_some()));
        let threads: Vec<u32> = trace.rows::<ApiRow>().iter().map(|row| row.tid).collect();
        assert!(threads.iter().all(|thread| *thread == trace.pid()), "{threads:?}");
        let set = ended.log.lines().filter_map(|line| Some(line.split_once("attribute ")?.1.to_owned()));
        (set.collect::<Vec<_>>(), trace.process()["per_thread_buffers"] == true)
    };
    // Thread ids as gettid, one buffer for all threads, latency timestamps; never that buffers come cleared.
    assert_eq!(attributes("i n20"), (vec!["21 = 1".into(), "9 = 0".into(), "15 = 1".into()], false));
    assert_eq!(attributes("+a2 i n20 -a"), (vec!["21 = 1".into(), "15 = 1".into()], true));
}

#[test]
fn graphs_as_a_whole_are_asked_for_before_any_kind_is_on_or_taken_as_the_first_tool_has_it() {
    let sim = Sim::new("13.5");
    let graph = |subscribers: &str, level: &str| {
        let run = sim.player("graph").env("GPUPROF_SUBSCRIBERS", subscribers).env("GPUPROF_GRAPH", level);
        let ended = run.inject().run();
        assert_eq!((ended.code(), said(&ended).len()), (Some(0), 0), "{}", ended.stderr);
        let trace = one(&ended);
        (trace.kernels().len(), trace.rows::<trace_format::tables::GraphRow>().len())
    };
    for level in ["node", "graph"] {
        assert_eq!(graph("multiple", level), graph("single", level), "{level}");
    }
    let (nodes, whole) = (graph("multiple", "node"), graph("multiple", "graph"));
    assert!(nodes.0 > whole.0 && whole.1 > 0, "{nodes:?} {whole:?}");
    // A tool that was there before us has decided; what it decided is what comes.
    let first = |steps: &str, level: &str| {
        let ended = recorded(&sim, steps, "multiple").env("GPUPROF_GRAPH", level).run();
        let trace = one(&ended);
        let graphs = trace.rows::<trace_format::tables::GraphRow>().len();
        (trace.kernels().len(), graphs, said(&ended).join("\n"))
    };
    let quiet = |kernels, graphs| (kernels, graphs, String::new());
    let (kernels, graphs, line) = first("+a3 i n5 g10 -a", "node");
    assert_eq!((kernels, graphs), (5, 10), "{line}");
    assert!(line.contains("graphs are recorded as a whole, as another profiler asked CUPTI before us"), "{line}");
    assert_eq!(first("+a3 i n5 g10 -a", "graph"), quiet(5, 10));
    assert_eq!(first("+a2 i n5 g10 -a", "node"), quiet(35, 0));
    let (kernels, graphs, line) = first("+a2 i n5 g10 -a", "graph");
    assert_eq!((kernels, graphs), (35, 0), "{line}");
    assert!(line.contains("records of GRAPH_TRACE are not available: cuptiActivityEnable returned 14"), "{line}");
}

#[test]
fn a_forked_child_begins_anew_beside_its_own_tools() {
    let sim = Sim::new("13.5");
    for way in ["before", "after"] {
        let run = || sim.player("forks").arg(way);
        let bare = run().run();
        let ended = run().env("GPUPROF_SUBSCRIBERS", "multiple").inject().run();
        same_end(&bare, &ended, way);
        assert_eq!(said(&ended).len(), 0, "{way}: {}", ended.stderr);
        crate::common::laws(&ended);
    }
}

#[test]
fn whatever_function_with_a_handle_fails_the_program_is_as_ever_and_what_is_missing_is_told() {
    let rules = [
        ("cuptiActivityRegisterCallbacks_v2:16", Some("cuptiActivityRegisterCallbacks_v2 returned CUPTI error 16")),
        ("cuptiActivityGetNextRecord_v2:999", Some("cuptiActivityGetNextRecord returned CUPTI error 999")),
        ("cuptiActivityEnable_v2:35@5", Some("are not available")),
        ("cuptiGetTimestamp_v2:999", None),
        ("cuptiGetTimestamp_v2:14@3+", None),
        ("cuptiActivitySetAttribute_v2:27", None),
        ("cuptiActivityGetAttribute_v2:27", None),
        ("cuptiActivityGetNumDroppedRecords_v2:999", None),
        ("cuptiActivityEnableRuntimeApi_v2:1", None),
        ("cuptiIsTracingSessionRunning:999", None),
    ];
    in_parallel(rules, 4, |(rule, line)| {
        let sim = Sim::new("13.5");
        let run = || beside(&sim, "i n20 +a2 n20 -a").fail(rule);
        // The other tool meets the same functions; what it gets is not what is asked here.
        let run = || run().env("GPUPROF_SUBSCRIBERS", "multiple").env("GPUPROF_FLUSH_MS", "20").inject();
        let ended = run().run();
        assert_eq!((ended.code(), ended.number("kernels")), (Some(0), 40), "{rule}: {}", ended.stderr);
        assert!(ended.log.contains("fail "), "{rule}: nothing failed");
        let trace = one(&ended);
        match (line, &said(&ended)[..]) {
            (None, []) => assert_eq!(trace.kernels().len(), 40, "{rule}"),
            (Some(line), [said]) => assert!(said.contains(line), "{rule}: {said}"),
            (_, said) => panic!("{rule}: {said:?}"),
        }
    });
}
