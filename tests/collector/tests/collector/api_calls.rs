//! Two ways to ask CUPTI for API calls: all of an API without those that only ask, or each wanted call by itself. Both bring
//! the same records; the second has CUPTI look at fewer calls.

use std::collections::BTreeMap;

use crate::common::sim::{Ended, Sim};
use crate::common::{Trace, one, said};
use serde_json::Value;
use trace_format::tables::{ApiRow, ContextRow, DeviceRow, MemcpyRow, MemoryRow, OverheadRow, StreamRow, SyncRow};

/// How often each call was recorded.
fn calls(trace: &Trace) -> BTreeMap<(u32, String), usize> {
    let mut calls = BTreeMap::new();
    for row in trace.rows::<ApiRow>() {
        *calls.entry((row.domain, trace.text(row.name_id))).or_default() += 1;
    }
    calls
}

/// A player with its arguments, and settings.
type Case<'a> = (&'a [&'a str], &'a [(&'a str, &'a str)]);

fn run(sim: &Sim, how: &str, player: &[&str], settings: &[(&str, &str)]) -> (Ended, Trace) {
    let (name, args) = player.split_first().expect("a player");
    let mut run = sim.player(name).args(args).env("GPUPROF_API_CALLS", how).inject();
    for (name, value) in settings {
        run = run.env(name, value);
    }
    let ended = run.run();
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    let trace = one(&ended);
    (ended, trace)
}

#[test]
fn both_ways_bring_the_same_records_and_by_call_cupti_looks_at_fewer() {
    let gated = [("GPUPROF_CAPTURE", "profiler-api")];
    let cases: [Case<'_>; 4] = [
        (&["chatty", "200"], &[]),
        (&["chatty", "20", "3"], &gated),
        (&["chatty", "50"], &[("GPUPROF_KINDS", "-driver")]),
        (&["gate", "repeat", "4"], &gated),
    ];
    for version in ["12.5", "12.8", "13.0", "13.5"] {
        let sim = Sim::new(version);
        for (player, settings) in cases {
            let [(by_kind, kinds), (by_call, each)] =
                ["by-kind", "by-call"].map(|how| run(&sim, how, player, settings));
            let what = format!("CUPTI {version}, {player:?} {settings:?}");
            assert_eq!((said(&by_kind).len(), said(&by_call).len()), (0, 0), "{what}: {}", by_call.stderr);
            // Behind a gate nothing but launches is called; the driver's part of them has no row.
            let least = if player[0] == "gate" { 1 } else { 3 };
            assert!(calls(&kinds).len() >= least, "{what}: {:?}", calls(&kinds));
            assert_eq!(calls(&kinds), calls(&each), "{what}");
            assert_eq!(kinds.kernels().len(), each.kernels().len(), "{what}");
            // The trace says what is left out, of the calls that this CUPTI has.
            let muted = |trace: &Trace| trace.process()["muted_calls"].as_array().cloned().unwrap_or_default();
            let (there, here) = (muted(&kinds), muted(&each));
            assert!(here.contains(&Value::from("cudaGetDevice")), "{what}: {here:?}");
            assert_eq!(there, here, "{what}");
            // It came with 13.0.
            let is_there = version >= "13.0" && !settings.contains(&("GPUPROF_KINDS", "-driver"));
            assert_eq!(there.contains(&Value::from("cuCtxGetDevice_v2")), is_there, "{what}: {there:?}");
            let (kinds, each) = (by_kind.totals().intercepted, by_call.totals().intercepted);
            assert!(each < kinds, "{what}: {each} of {kinds}");
        }
    }
}

#[test]
fn by_call_nothing_is_looked_at_but_what_is_recorded() {
    let sim = Sim::new("13.0");
    // Every call that is looked at has a row of its own here, the driver's part of a runtime call too.
    let intercepted = |how| {
        let (ended, trace) = run(&sim, how, &["chatty", "1000"], &[("SIM_NESTED", "both")]);
        (ended.totals().intercepted, trace.rows::<ApiRow>().len() as u64)
    };
    let ((by_kind, rows), (by_call, same)) = (intercepted("by-kind"), intercepted("by-call"));
    assert_eq!(rows, same);
    // Calls of our own threads have no row, and one is made now and then.
    assert!(by_call < rows + 100, "{by_call} calls for {rows} rows");
    assert!(by_kind >= rows + 9_000, "{by_kind} calls for {rows} rows");
}

#[test]
fn where_calls_cannot_be_switched_one_by_one_they_are_heard_one_by_one_and_nobody_need_know() {
    // `heard_calls` has what comes of it.
    let refused = Sim::new("12.8");
    let refused = refused.player("chatty").arg("20").inject().env("GPUPROF_API_CALLS", "by-call");
    let refused = refused.fail("cuptiActivityEnableDriverApi:27@1").run();
    assert_eq!((refused.code(), said(&refused).len()), (Some(0), 0), "{}", refused.stderr);
    let (_, old) = run(&Sim::new("12.4"), "by-call", &["chatty", "20"], &[]);
    let refused = one(&refused);
    assert_eq!(
        (&refused.process()["api_calls"], &old.process()["api_calls"]),
        (&"callbacks".into(), &"callbacks".into())
    );
    assert_eq!(calls(&refused), calls(&old));
}

#[test]
fn a_preset_is_a_set_of_kinds_and_kinds_take_its_place() {
    let sim = Sim::new("12.8");
    let trace = |settings: &[(&str, &str)]| run(&sim, "by-kind", &["vector_add", "10"], settings).1;
    let calls = |trace: &Trace| trace.rows::<ApiRow>().len();
    let gpu = |trace: &Trace| (trace.kernels().len(), trace.rows::<MemcpyRow>().len());
    let names = |trace: &Trace| {
        [trace.rows::<DeviceRow>().len(), trace.rows::<ContextRow>().len(), trace.rows::<StreamRow>().len()]
    };
    let (light, plain) = (trace(&[("GPUPROF_PRESET", "light")]), trace(&[]));
    assert_eq!((gpu(&light), names(&light)), (gpu(&plain), names(&plain)));
    assert_eq!((calls(&light), light.rows::<SyncRow>().len(), light.rows::<OverheadRow>().len()), (0, 0, 0));
    let full = trace(&[("GPUPROF_PRESET", "full")]);
    assert_eq!((gpu(&full), self::calls(&full)), (gpu(&plain), self::calls(&plain)));
    assert!(!full.rows::<MemoryRow>().is_empty() && plain.rows::<MemoryRow>().is_empty());
    let named = trace(&[("GPUPROF_PRESET", "light"), ("GPUPROF_KINDS", "+memory")]);
    assert_eq!((calls(&named), named.rows::<MemoryRow>().is_empty()), (calls(&plain), false));
}

#[test]
fn calls_that_fail_are_seen_by_the_ring_either_way() {
    let sim = Sim::new("13.0");
    let settings = [("GPUPROF_RING", "10s"), ("GPUPROF_DUMP_ON", "error"), ("GPUPROF_MUTE", "on")];
    for how in ["by-kind", "by-call"] {
        let run = sim.player("chatty").arg("20").inject().env("GPUPROF_API_CALLS", how);
        let ended = settings.iter().fold(run, |run, (name, value)| run.env(name, value)).run();
        assert_eq!((ended.code(), said(&ended).len()), (Some(0), 0), "{how}: {}", ended.stderr);
        assert_eq!(ended.totals().generated_of(5), 20 + 3, "{how}");
    }
}

#[test]
fn kernels_say_when_they_were_queued_and_submitted_where_that_is_asked_for() {
    for version in ["11.8", "12.8", "13.0"] {
        let sim = Sim::new(version);
        let kernels =
            |kinds: &str| run(&sim, "by-kind", &["vector_add", "10"], &[("GPUPROF_KINDS", kinds)]).1.kernels();
        let plain = kernels("default");
        assert!(plain.iter().all(|k| k.queued_ns.is_none() && k.submitted_ns.is_none()), "CUPTI {version}");
        for kinds in ["+latency", "kernel,latency"] {
            let asked = kernels(kinds);
            assert_eq!(asked.len(), 10);
            let in_order = |k: &trace_format::tables::KernelRow| {
                let (queued, submitted) = k.queued_ns.zip(k.submitted_ns)?;
                Some(queued > 0 && queued <= submitted && submitted <= k.start_ns)
            };
            assert!(asked.iter().all(|k| in_order(k) == Some(true)), "CUPTI {version}, {kinds}: {asked:?}");
        }
    }
    let sim = Sim::new("12.8");
    let refused = sim.player("vector_add").env("GPUPROF_KINDS", "+latency").inject();
    let refused = refused.fail("cuptiActivityEnableLatencyTimestamps:27").run();
    let lines = said(&refused);
    assert!(lines.len() == 1 && lines[0].contains("queued and submitted is not available"), "{lines:?}");
    assert!(one(&refused).kernels().iter().all(|k| k.queued_ns.is_none()));
}
