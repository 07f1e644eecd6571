//! `--capture`: exactly what belongs into a window is recorded, whoever opens and closes it, and however.

use crate::common::sim::{Attach, Ended, Sim, VERSIONS};
use crate::common::{Trace, in_parallel, laws, one, said};
use trace_format::tables::{ApiRow, CaptureRow};

fn gated(sim: &Sim, how: &[&str], capture: &str) -> Ended {
    let ended = sim.player("gate").args(how).env("GPUPROF_CAPTURE", capture).inject().run();
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    ended
}

fn windows(trace: &Trace) -> Vec<CaptureRow> {
    trace.rows()
}

#[test]
fn one_step_between_start_and_stop_is_recorded_whole_on_every_cupti() {
    for version in VERSIONS {
        let sim = Sim::new(version);
        let ended = gated(&sim, &["step"], "profiler-api");
        let trace = one(&ended);
        assert_eq!(trace.kernels().len() as u64, ended.number("in_windows"), "CUPTI {version}");
        assert!(trace.kernels().iter().all(|k| k.duration_ns.is_some()), "CUPTI {version}");
        let [window] = &windows(&trace)[..] else { panic!("{:?}", windows(&trace)) };
        assert_eq!((window.starts, window.stops), (1, 1));
        assert!(window.end_ns.is_some_and(|end| end > window.start_ns));
        assert_eq!(trace.losses(), []);
    }
}

#[test]
fn start_and_stop_may_come_from_any_thread_through_any_api() {
    let sim = Sim::new("12.8");
    for how in ["driver", "thread", "cross"] {
        let ended = gated(&sim, &[how], "profiler-api");
        assert_eq!(one(&ended).kernels().len() as u64, ended.number("in_windows"), "{how}");
    }
}

#[test]
fn start_and_stop_are_a_switch_that_may_repeat_nest_and_be_missing() {
    let sim = Sim::new("13.0");
    let ended = gated(&sim, &["repeat"], "profiler-api");
    let trace = one(&ended);
    assert_eq!(trace.kernels().len() as u64, ended.number("in_windows"));
    assert_eq!(windows(&trace).len() as u64, ended.number("windows"));

    let ended = gated(&sim, &["nested"], "profiler-api");
    let trace = one(&ended);
    assert_eq!(trace.kernels().len() as u64, ended.number("in_windows"));
    assert_eq!((windows(&trace)[0].starts, windows(&trace).len()), (2, 1), "a second Start is counted, not obeyed");

    let ended = gated(&sim, &["missing"], "profiler-api");
    let trace = one(&ended);
    assert_eq!(trace.kernels().len() as u64, ended.number("in_windows"));
    assert_eq!(
        (windows(&trace).len(), windows(&trace)[0].end_ns),
        (1, None),
        "a window without Stop ends with the run"
    );
}

#[test]
fn a_gate_that_never_opened_says_what_was_seen() {
    let sim = Sim::new("12.8");
    let ended = gated(&sim, &["never"], "profiler-api");
    let trace = one(&ended);
    assert_eq!((trace.kernels().len(), windows(&trace).len()), (0, 0));
    assert_eq!(trace.process()["cause"], "gate_never_opened");
    assert!(ended.stderr.contains("neither cudaProfilerStart nor cudaProfilerStop"), "{}", ended.stderr);
    let ended = gated(&sim, &["stop"], "profiler-api");
    assert!(ended.stderr.contains("cudaProfilerStop 1 times and cudaProfilerStart never"), "{}", ended.stderr);
    assert_eq!(one(&ended).process()["cause"], "gate_never_opened");
}

#[test]
fn the_last_kernel_of_a_window_is_kept_though_the_program_leaves_at_once() {
    for version in ["11.8", "12.4", "13.1"] {
        let sim = Sim::new(version);
        let ended = gated(&sim, &["exit"], "profiler-api");
        let trace = one(&ended);
        assert_eq!(trace.kernels().len() as u64, ended.number("in_windows"), "CUPTI {version}");
    }
}

#[test]
fn graphs_captured_before_the_gate_opens_are_recorded_node_by_node() {
    for version in ["11.8", "12.8", "13.1"] {
        for prepare in ["auto", "on", "off"] {
            let sim = Sim::new(version);
            let run = sim.player("gate").arg("graph").env("GPUPROF_CAPTURE", "profiler-api").inject();
            let ended = run.env("GPUPROF_PREPARE", prepare).run();
            let trace = one(&ended);
            assert_eq!(trace.kernels().len() as u64, ended.number("in_windows"), "CUPTI {version}, {prepare}");
            assert!(trace.kernels().iter().all(|k| k.graph_id.is_some() && k.graph_node_id.is_some()));
        }
    }
}

#[test]
fn eight_threads_launch_across_the_borders_and_ids_decide() {
    let sim = Sim::new("12.9");
    let ended = gated(&sim, &["threads"], "profiler-api");
    let trace = one(&ended);
    let window = &windows(&trace)[0];
    let (after, before) = (window.first_correlation.unwrap_or(0), window.last_correlation.unwrap_or(0));
    assert!(trace.kernels().iter().all(|k| k.correlation > after && k.correlation < before));
    assert!(trace.kernels().len() as u64 >= ended.number("in_windows"));
}

#[test]
fn with_capture_from_the_start_stop_closes_too() {
    let sim = Sim::new("12.8");
    let ended = gated(&sim, &["stop", "20", "0", "8"], "all");
    let trace = one(&ended);
    assert_eq!(trace.kernels().len(), 7 * 8, "what was launched before Stop");
    assert!(windows(&trace)[0].end_ns.is_some());
}

#[test]
fn max_ranges_leaves_later_windows_shut() {
    let sim = Sim::new("12.8");
    let run = sim.player("gate").args(["repeat", "20"]).env("GPUPROF_CAPTURE", "profiler-api");
    let ended = run.env("GPUPROF_MAX_RANGES", "3").inject().run();
    let trace = one(&ended);
    assert_eq!((trace.kernels().len(), windows(&trace).len()), (3 * 7, 3));
}

#[test]
fn a_window_by_the_clock_takes_in_something_and_leaves_something_out() {
    let sim = Sim::new("12.8");
    let run = sim.player("steady").args(["5000", "2"]).env("GPUPROF_CAPTURE", "delay:0.5,duration:0.5");
    let ended = run.inject().run();
    let trace = one(&ended);
    let (kernels, all) = (trace.kernels().len() as u64, ended.number("kernels"));
    assert!(kernels > all / 10 && kernels < all / 2, "{kernels} of {all}");
    let [window] = &windows(&trace)[..] else { panic!("{:?}", windows(&trace)) };
    let (after, before) = (window.first_correlation.expect("an id"), window.last_correlation.expect("an id"));
    assert!(trace.kernels().iter().all(|k| k.correlation > after && k.correlation < before));
    // The calls that gave the window its ids were ours.
    let calls: Vec<ApiRow> = trace.rows();
    assert!(calls.iter().all(|call| trace.text(call.name_id) != "cuDeviceGetCount"), "a call of our own");
}

#[test]
fn a_thousand_windows_lose_nothing_and_keep_the_program_as_it_is() {
    let sim = Sim::new("13.0");
    let run = sim.player("threads").args(["4", "2000", "toggle"]).env("GPUPROF_CAPTURE", "profiler-api");
    let ended = run.inject().run();
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    let trace = one(&ended);
    assert_eq!(windows(&trace).len(), 1000);
}

#[test]
fn the_classic_ctypes_recipe_records_exactly_its_step() {
    let sim = Sim::new("12.8");
    for attach in [Attach::Preload, Attach::Injection] {
        let ended = sim.python("classic.py").env("GPUPROF_CAPTURE", "profiler-api").attach(attach).run();
        assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
        let traces = laws(&ended);
        let kernels: usize = traces.iter().map(|t| t.kernels().len()).sum();
        assert_eq!(kernels as u64, ended.number("in_windows"), "{}", ended.stdout);
    }
}

#[test]
fn a_kernel_that_runs_on_for_seconds_after_its_window_is_kept() {
    for version in ["11.8", "13.0"] {
        let sim = Sim::new(version);
        let ended = gated(&sim, &["long", "20"], "profiler-api");
        let trace = one(&ended);
        let [kernel] = &trace.kernels()[..] else { panic!("CUPTI {version}: {} kernels", trace.kernels().len()) };
        assert!(kernel.duration_ns.is_some_and(|ns| ns >= 3_000_000_000), "CUPTI {version}: {kernel:?}");
        assert_eq!(trace.losses(), [], "CUPTI {version}");
        laws(&ended);
    }
}

#[test]
fn a_window_in_which_nothing_was_launched_is_told_with_what_lay_outside() {
    let sim = Sim::new("13.0");
    let run = |prepare: &str| {
        let run = sim.player("gate").arg("beside").env("GPUPROF_CAPTURE", "profiler-api").inject();
        run.env("GPUPROF_PREPARE", prepare).run()
    };
    // With the kinds on all the time CUPTI hands over what lies outside, and the writer leaves it out.
    let ended = run("on");
    let trace = one(&ended);
    assert_eq!((trace.kernels().len(), windows(&trace).len()), (0, 1));
    assert_eq!(trace.process()["cause"], "all_excluded", "{}", ended.stderr);
    assert!(
        ended.stderr.contains("lay outside the capture windows: 1 window opened, and 140 records outside"),
        "{}",
        ended.stderr
    );
    assert_eq!(trace.process()["cause_detail"], "1 window opened, and 140 records outside");
    // With the kinds off outside nobody knows how many there were.
    let ended = run("off");
    let trace = one(&ended);
    assert_eq!(trace.process()["cause"], "all_excluded", "{}", ended.stderr);
    // And a window that has something in it is told nothing of.
    let ended = sim.player("gate").args(["repeat", "3"]).env("GPUPROF_CAPTURE", "profiler-api").inject().run();
    assert!(!ended.stderr.contains("outside") && one(&ended).process()["cause"].is_null(), "{}", ended.stderr);
}

#[test]
fn of_every_so_many_ranges_the_last_are_recorded_whole() {
    let steps: &[&str] = &["launch=7", "steps=11,1", "other=3", "steps=12,1", "launch=7"];
    let all = [("every:5,steps:2", 8, 80), ("every:23", 1, 10), ("every:1", 23, 230)];
    let all = all.into_iter().flat_map(|all| ["11.8", "12.8", "13.0"].map(|version| (version, all)));
    in_parallel(all, 2, |(version, (cycle, windows, kernels))| {
        let sim = Sim::new(version);
        for sync in ["0", "1"] {
            let what = format!("{cycle}, CUPTI {version}, synchronised {sync}");
            let run = sim.player("flight").args(steps).env("GPUPROF_CAPTURE", format!("nvtx:step,{cycle}"));
            let ended = run.env("GPUPROF_SYNC_AT_RANGE", sync).inject().run();
            let trace = one(&ended);
            assert_eq!(trace.rows::<CaptureRow>().len(), windows, "{what}: {}", ended.stderr);
            assert_eq!(trace.kernels().len(), kernels, "{what}: {}", ended.stderr);
            assert_eq!(trace.process()["steps"], 23, "{what}: recorded or not");
            assert_eq!(said(&ended), [""; 0], "{what}");
        }
    });
    // Ranges that are each called something else.
    let sim = Sim::new("12.8");
    let all =
        [("request number *", 30, None), ("request number 1*@,every:4", 2, Some(11)), ("request*@other", 0, None)];
    for (name, windows, steps) in all {
        let run = sim.player("flight").args(["launch=1", "names=30", "launch=1"]);
        let ended = run.env("GPUPROF_CAPTURE", format!("nvtx:{name}")).inject().run();
        let trace = one(&ended);
        assert_eq!(trace.rows::<CaptureRow>().len(), windows, "{name}: {}", ended.stderr);
        // Only of a sample does anybody ask how many there were.
        assert_eq!(trace.process()["steps"].as_u64(), steps, "{name}");
    }
    // Fewer steps than a cycle has: the reason says how many there were.
    let sim = Sim::new("13.0");
    let run = sim.player("flight").args(["steps=9,1"]).env("GPUPROF_CAPTURE", "nvtx:step,every:10,steps:1");
    let ended = run.inject().run();
    let process = one(&ended).process();
    assert_eq!(process["cause"], "gate_never_opened");
    let detail = process["cause_detail"].as_str().expect("a detail");
    assert_eq!(detail, "the program opened 9 ranges \"step\", of which every:10,steps:1 records none");
}

#[test]
fn a_range_with_no_work_in_it_is_told_though_the_trace_is_not_empty() {
    let sim = Sim::new("13.0");
    let run = sim.player("flight").args(["launch=5", "other=0", "launch=5"]).env("GPUPROF_CAPTURE", "nvtx:nothing");
    let ended = run.inject().run();
    assert_eq!(one(&ended).process()["cause"], "gate_never_opened");
    let run = sim.player("flight").args(["launch=5", "names=1", "sleep=60", "launch=5"]);
    let ended = run.env("GPUPROF_CAPTURE", "nvtx:request number 0 of many").inject().run();
    let trace = one(&ended);
    assert!(trace.kernels().is_empty() && trace.process()["cause"].is_null());
    assert!(
        ended.stderr.contains("only ranges were recorded: all that was collected lay outside"),
        "{}",
        ended.stderr
    );
}

#[test]
fn ranges_before_cupti_s_clock_settles_lie_around_their_kernels() {
    let sim = Sim::new("13.0");
    for settles_ms in ["0", "30"] {
        let run = sim.player("flight").args(["steps=20,4", "sleep=400", "steps=2,2"]).inject();
        let run = run.env("SIM_CLOCK_PROVISIONAL_NS", "5000000000").env("SIM_CLOCK_SETTLES_MS", settles_ms);
        let ended = run.run();
        let trace = one(&ended);
        let (kernels, ranges) = (trace.kernels(), trace.rows::<trace_format::tables::RangeRow>());
        let ranges: Vec<_> = ranges.into_iter().filter(|range| range.end_ns.is_some()).collect();
        assert_eq!((kernels.len(), ranges.len()), (220, 22), "{}", ended.stderr);
        for range in ranges {
            let inside = kernels.iter().filter(|k| k.start_ns >= range.start_ns && Some(k.start_ns) < range.end_ns);
            assert_eq!(inside.count(), 10, "settles after {settles_ms} ms: {range:?}");
        }
    }
}

#[test]
fn calls_that_only_ask_are_left_out_of_every_window() {
    // Switching a kind forgets what was chosen for single calls, so the choice is made again for each window.
    let sim = Sim::new("13.0");
    for (mute, expected) in [("on", 0), ("off", 4)] {
        let run = sim.player("gate").args(["repeat", "4"]).env("GPUPROF_CAPTURE", "profiler-api");
        let ended = run.env("GPUPROF_MUTE", mute).inject().run();
        let trace = one(&ended);
        let calls: Vec<ApiRow> = trace.rows();
        let asked = calls.iter().filter(|call| trace.text(call.name_id).starts_with("cudaGetDevice")).count();
        assert_eq!((asked, trace.kernels().len()), (expected, 28), "{}", ended.stderr);
    }
}

#[test]
fn what_versions_do_differently_changes_nothing_of_what_a_window_holds() {
    let ways = [
        // Work that still runs when its kind goes off is recorded (seen of 13.0), or not.
        ("SIM_DISABLE", "keep"),
        // Buffers come from CUPTI's own thread after the flush has returned (seen of 13.0).
        ("SIM_HANDOVER_MS", "3"),
        ("SIM_HANDOVER_MS", "40"),
        // Records are finished later than what they tell of.
        ("SIM_LATE_NS", "30000000"),
        // Driver calls inside a runtime call have numbers of their own.
        ("SIM_CORRELATION", "own"),
    ];
    let all = ways.iter().flat_map(|way| ["11.8", "12.8", "13.0"].map(|version| (way, version)));
    in_parallel(all, 3, |((name, value), version)| {
        let sim = Sim::new(version);
        for how in ["step", "exit", "repeat", "graph", "threads"] {
            let run = sim.player("gate").arg(how).env("GPUPROF_CAPTURE", "profiler-api").env(name, value);
            let ended = run.inject().run();
            let what = format!("{how} with {name}={value}, CUPTI {version}: {}", ended.stderr);
            assert_eq!(ended.code(), Some(0), "{what}");
            let trace = one(&ended);
            let (kernels, inside) = (trace.kernels().len() as u64, ended.number("in_windows"));
            assert!(
                if how == "threads" { kernels >= inside } else { kernels == inside },
                "{kernels} kernels, {what}"
            );
            assert!(trace.kernels().iter().all(|k| k.duration_ns.is_some()), "{what}");
            assert_eq!((trace.losses(), said(&ended).len()), (vec![], 0), "{what}");
        }
    });
}
