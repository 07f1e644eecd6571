//! Tests of the simulator itself: what it makes, delivers and refuses must be right before anything is tested with it.
//! The collector here is `players/collector.c`, which knows nothing of gpuprof.

#[path = "../common/sim.rs"]
mod sim;

mod several;

use sim::{Attach, Ended, Run, Sim, VERSIONS, player};
use std::collections::BTreeMap;

/// The line that the collector wrote: numbers by word, and records by kind.
struct Counts {
    numbers: BTreeMap<String, u64>,
    kinds: BTreeMap<u32, u64>,
}

impl Counts {
    fn read(line: &str) -> Counts {
        let (head, kinds) = line.split_once(" kinds").expect("counts by kind");
        let words: Vec<&str> = head.split(' ').skip(1).collect();
        let numbers = words.chunks_exact(2).map(|pair| (pair[0].to_owned(), pair[1].parse().expect("a number")));
        let kinds = kinds.split_whitespace().filter_map(|pair| pair.split_once(':'));
        let kinds = kinds.map(|(kind, n)| (kind.parse().expect("a kind"), n.parse().expect("a number")));
        Counts { numbers: numbers.collect(), kinds: kinds.collect() }
    }

    fn number(&self, name: &str) -> u64 {
        self.numbers[name]
    }

    fn of(&self, kind: u32) -> u64 {
        self.kinds.get(&kind).copied().unwrap_or(0)
    }
}

/// Runs a program under the small collector.
fn collected(run: Run) -> (Ended, Vec<Counts>) {
    let out = run.folder().join("counts");
    let run = run.attach(Attach::Other(player("collector"))).env("COLLECT_OUT", &out);
    let ended = run.run();
    let text = std::fs::read_to_string(out).unwrap_or_default();
    (ended, text.lines().map(Counts::read).collect())
}

fn one(run: Run) -> (Ended, Counts) {
    let (ended, mut counts) = collected(run);
    assert_eq!(counts.len(), 1, "{}{}", ended.stderr, ended.log);
    (ended, counts.remove(0))
}

#[test]
fn every_version_delivers_what_the_program_did() {
    for version in VERSIONS {
        let sim = Sim::new(version);
        let (ended, counts) = one(sim.player("vector_add").arg("50").env("COLLECT_FLUSH", "1"));
        assert_eq!(ended.code(), Some(0), "{version}: {}", ended.stderr);
        assert_eq!(
            (counts.of(10), counts.of(1), counts.of(8), counts.of(9), counts.of(37)),
            (50, 150, 1, 1, 1),
            "{version}"
        );
        assert_eq!(counts.of(5), ended.number("runtime_calls"), "{version}");
        let totals = ended.totals();
        for (&kind, &n) in &counts.kinds {
            assert_eq!(totals.delivered_of(kind), n, "{version} kind {kind}");
        }
        assert_eq!(totals.delivered, counts.kinds.values().sum::<u64>(), "{version}");
        assert_eq!((totals.generated, totals.dropped, totals.launched), (totals.delivered, 0, 50), "{version}");
        assert_eq!((counts.number("names"), counts.number("unfinished")), (0, 0), "{version}");
    }
}

#[test]
fn mixed_work_is_counted_kind_by_kind() {
    let sim = Sim::new("12.8");
    let (ended, counts) = one(sim.player("mixed").arg("10").env("COLLECT_FLUSH", "1").env("COLLECT_OVERHEAD", "1"));
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    assert_eq!((counts.of(10), counts.of(1), counts.of(2), counts.of(22)), (30, 30, 10, 1));
    // Two event records a step; a wait and two synchronisations a step, and the device's at the end.
    assert_eq!((counts.of(36), counts.of(38), counts.of(25)), (20, 31, 1));
}

#[test]
fn a_graphs_nodes_are_recorded_or_its_launches() {
    let sim = Sim::new("12.8");
    let (ended, counts) = one(sim.player("graph").args(["20", "5"]).env("COLLECT_FLUSH", "1"));
    assert_eq!((ended.code(), counts.of(10), counts.of(2), counts.of(1)), (Some(0), 100, 5, 6), "{}", ended.stderr);
    let (ended, counts) = one(sim.player("graph").args(["20", "5", "2"]).env("COLLECT_FLUSH", "1"));
    assert_eq!((ended.code(), counts.of(10), counts.of(2), counts.of(1)), (Some(0), 100, 5, 6), "{}", ended.stderr);
}

#[test]
fn versions_export_what_theirs_exported() {
    let all = include_str!("../../cupti-shim/cupti-sys/tables/exports.csv");
    let number = |text: &str| {
        let (major, minor) = text.split_once('.').expect("a version");
        major.parse::<u32>().expect("a number") * 100 + minor.parse::<u32>().expect("a number")
    };
    for version in VERSIONS {
        let sim = Sim::new(version);
        let names: Vec<Vec<&str>> = all.lines().skip(1).map(|line| line.split(',').collect()).collect();
        let ended = sim.player("symbols").arg(sim.cupti()).args(names.iter().map(|fields| fields[0])).run();
        assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
        let exported: Vec<&str> = ended.stdout.lines().collect();
        for fields in &names {
            let has = (number(fields[1])..=number(fields[2])).contains(&number(version));
            assert!(has || !exported.contains(&fields[0]), "{version} exports {}", fields[0]);
        }
        let needed = ["cuptiSubscribe", "cuptiActivityFlushAll", "cuptiGetVersion", "cuptiActivityGetNextRecord"];
        assert!(needed.iter().all(|name| exported.contains(name)), "{version}: {exported:?}");
        for (name, since) in [("cuptiActivityEnableDriverApi", 1205), ("cuptiSubscribe_v2", 1300)] {
            assert_eq!(exported.contains(&name), number(version) >= since, "{version} {name}");
        }
    }
}

#[test]
fn graphs_made_before_recording_can_be_blind() {
    // The small collector records from the start; disabling nothing, its graphs are seen all the same.
    let sim = Sim::new("12.8");
    let (ended, counts) =
        one(sim.player("graph").args(["20", "5"]).env("COLLECT_FLUSH", "1").env("SIM_GRAPH", "blind"));
    assert_eq!((ended.code(), counts.of(10)), (Some(0), 100), "{}", ended.stderr);
    // One that records kernels only once the graph is there sees none of its nodes; the last copy is no node.
    let late = |mode: &str| {
        let run = sim.player("graph").args(["20", "5"]).env("COLLECT_FLUSH", "1").env("COLLECT_LATE", "1");
        one(run.env("SIM_GRAPH", mode)).1
    };
    assert_eq!((late("").of(10), late("blind").of(10), late("blind").of(1)), (100, 0, 1));
}

#[test]
fn a_plain_flush_withholds_buffers_with_unfinished_records() {
    let sim = Sim::new("12.8");
    // One kernel that never ends, behind 100 that do, in one buffer.
    let (ended, counts) = one(sim.player("leave").args(["running", "100", "100"]));
    assert_eq!((ended.code(), counts.of(10)), (Some(5), 0), "{}", ended.stderr);
    assert!(ended.totals().withheld > 0);
    let (ended, counts) = one(sim.player("leave").args(["running", "100", "100"]).env("COLLECT_FLUSH", "1"));
    assert_eq!((ended.code(), counts.of(10), counts.number("unfinished")), (Some(5), 101, 1), "{}", ended.stderr);
}

#[test]
fn buffers_are_per_thread_from_13_on() {
    let requested = |version: &str| {
        let sim = Sim::new(version);
        let (ended, counts) = one(sim.player("threads").args(["8", "200"]).env("COLLECT_FLUSH", "1"));
        assert_eq!((ended.code(), counts.of(10)), (Some(0), 1600), "{version}: {}", ended.stderr);
        counts.number("requested")
    };
    assert!(requested("12.8") < 8);
    assert!(requested("13.0") >= 9);
}

#[test]
fn calls_fail_as_asked() {
    let sim = Sim::new("12.8");
    let (ended, counts) = collected(sim.player("vector_add").fail("cuptiSubscribe:39@1"));
    assert_eq!((ended.code(), counts.len()), (Some(0), 0));
    assert!(ended.stderr.contains("collector: subscribe 39"), "{}", ended.stderr);
    let (ended, counts) = one(sim.player("vector_add").fail("cuptiActivityEnable#1:35"));
    assert!(ended.stderr.contains("collector: kind 1: 35"), "{}", ended.stderr);
    assert_eq!((counts.of(1), counts.of(10)), (0, 10));
    let (_, counts) = one(sim.player("vector_add").fail("cuptiActivityEnable:21@2+"));
    assert_eq!(counts.kinds.keys().copied().collect::<Vec<_>>(), [10]);
    let (ended, _) = one(sim.player("vector_add").stall("cuptiActivityFlushAll:700@1"));
    assert!(ended.duration.as_millis() >= 700, "{:?}", ended.duration);
}

#[test]
fn a_runtime_call_and_the_drivers_part_of_it_have_one_record() {
    let sim = Sim::new("13.0");
    let run = || sim.player("leave").args(["sync", "100"]);
    let launches = |counts: &Counts| (counts.of(10), counts.of(5));
    let (_, hardware) = one(run());
    let (_, both) = one(run().env("SIM_NESTED", "both"));
    assert_eq!(launches(&hardware), launches(&both));
    // The program calls the runtime alone; what has a record in the driver is what the runtime does by itself.
    assert!(both.of(4) >= 100 + hardware.of(4), "{} of {}", hardware.of(4), both.of(4));
}

#[test]
fn drops_disorder_and_impossible_times_come_when_asked_for() {
    let sim = Sim::new("12.8");
    let run = || {
        let run = sim.player("leave").args(["sync", "1000"]).env("COLLECT_FLUSH", "1");
        run.env("SIM_NESTED", "both") // the more records, the better
    };
    let (ended, counts) = one(run().env("SIM_DROP", "10"));
    let totals = ended.totals();
    assert_eq!(totals.generated, totals.delivered + totals.dropped);
    assert_eq!(counts.number("dropped"), totals.dropped);
    assert!(totals.dropped >= 300, "{totals:?}");
    assert_eq!(totals.dropped, totals.generated / 10, "{totals:?}");
    let (_, counts) = one(run());
    assert_eq!(counts.number("disorder"), 0);
    let (_, counts) = one(run().env("SIM_ORDER", "shuffle"));
    assert!(counts.number("disorder") > 100);
    assert_eq!(counts.of(10), 1000);
    let (ended, counts) = one(run().env("SIM_ZERO_TIMES", "4"));
    assert_eq!((counts.number("zero"), ended.totals().zero_times), (250, 250));
    let (_, counts) = one(run().env("SIM_UNKNOWN", "77"));
    assert!(counts.of(77) >= 300, "{}", counts.of(77));
    let known: u64 = counts.kinds.iter().filter(|(kind, _)| **kind != 77).map(|(_, count)| count).sum();
    assert_eq!(counts.of(77), known / 10);
    // A kind that not even the walker knows hides what is behind it in its buffer.
    let (_, counts) = one(run().env("SIM_UNKNOWN", "78:0"));
    assert!(counts.of(10) < 20);
}

#[test]
fn what_no_collector_may_do_ends_the_process() {
    for (version, what, says) in [
        ("12.8", "null", "NULL buffer"),
        ("12.8", "dirty", "ZEROED_OUT"),
        ("12.8", "twice", "while CUPTI still had it"),
        ("12.8", "unaligned", "not aligned"),
        ("12.8", "finalize", "cuptiFinalize"),
        ("12.8", "in_request", "from a callback"),
        ("12.8", "in_resource", "from a callback"),
        ("12.8", "concurrent", "at once"),
        ("12.8", "child", "forked child"),
    ] {
        let sim = Sim::new(version);
        let program = match what {
            "child" => sim.player("forks").arg("after"),
            // Enough for a second buffer, and time for two flushes at once.
            "twice" | "concurrent" => sim.player("threads").args(["4", "4000"]),
            _ => sim.player("vector_add"),
        };
        let (ended, _) = collected(program.env("COLLECT_DO", what).may_be_stopped());
        assert!(ended.stderr.contains(says), "{what}: {}\n{}", ended.stderr, ended.log);
    }
    // From 12.9 on a NULL buffer is a way to say no.
    let sim = Sim::new("12.9");
    let (ended, counts) = collected(sim.player("vector_add").env("COLLECT_DO", "null"));
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    let totals = ended.totals();
    assert_eq!((totals.delivered, totals.dropped), (0, totals.generated));
    assert_eq!(counts[0].number("dropped"), totals.dropped);
    // Too small for one record: lost and counted.
    let (ended, _) = collected(sim.player("vector_add").env("COLLECT_DO", "small"));
    assert_eq!(ended.totals().dropped, ended.totals().generated);
}

#[test]
fn an_intruder_takes_the_records() {
    let sim = Sim::new("12.8");
    let (ended, counts) = one(sim.player("threads").args(["1", "1000"]).takeover("libkineto.so", 500));
    assert_eq!((ended.code(), counts.of(10)), (Some(0), 0), "{}", ended.stderr);
    assert_eq!(ended.totals().intruded, 1);
    let path = sim.intruder("libkineto.so");
    let run = sim.player("steady").args(["1000", "1"]).env("SIM_TAKEOVER", format!("{}@300ms", path.display()));
    let (ended, counts) = one(run);
    assert_eq!((ended.code(), counts.of(10), ended.totals().intruded), (Some(0), 0, 1), "{}", ended.stderr);
}

#[test]
fn records_are_finished_late_when_asked_for() {
    let sim = Sim::new("12.8");
    let run = || sim.player("leave").args(["sync", "100"]);
    let (_, counts) = one(run());
    assert_eq!(counts.of(10), 100);
    let (ended, counts) = one(run().env("SIM_LATE_NS", "5000000000"));
    assert_eq!(counts.of(10), 0);
    assert!(ended.totals().withheld > 0);
}

#[test]
fn programs_that_no_preload_can_enter_run_here() {
    let sim = Sim::new("12.8");
    assert_eq!(sim.player("static").arg("3").run().code(), Some(3));
    let (ended, counts) =
        one(sim.player("asan").arg("5").env("COLLECT_FLUSH", "1").env("ASAN_OPTIONS", "detect_leaks=0"));
    assert_eq!((ended.code(), counts.of(10)), (Some(0), 5), "{}", ended.stderr);
}

#[test]
fn the_virtual_clock_gives_the_same_times_again() {
    let sim = Sim::new("12.8");
    let times = || {
        let run =
            sim.player("mixed").arg("5").env("SIM_CLOCK", "virtual").env("SIM_EPOCH_NS", "1700000000000000000");
        let (ended, counts) = one(run.env("COLLECT_FLUSH", "1"));
        assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
        (counts.number("first"), counts.number("last"))
    };
    let (first, last) = times();
    assert_eq!(times(), (first, last));
    // Five steps of some hundred microseconds each.
    assert!(first > 1_700_000_000_000_000_000 && last < 1_700_000_000_020_000_000, "{first} {last}");
}

#[test]
fn a_foreign_cupti_breaks_a_program_that_brings_its_own() {
    let sim = Sim::new("12.8");
    let needs = player("libneeds");
    assert_eq!(sim.player("needs_late").arg(&needs).run().code(), Some(0));
    let foreign = sim.folder().join("foreign/libcupti.so.12");
    std::fs::create_dir_all(foreign.parent().expect("a folder")).expect("a folder");
    sim::write_cupti("12.1", &foreign);
    let ended = sim.player("needs_late").arg(&needs).env("LD_PRELOAD", &foreign).run();
    assert_eq!(ended.code(), Some(127), "{}", ended.stderr);
    assert!(ended.stderr.contains("undefined symbol: cuptiActivityEnableDriverApi"), "{}", ended.stderr);
    assert_eq!(sim.player("needs_cupti").env("LD_PRELOAD", &foreign).run().code(), Some(127));
}

#[test]
fn children_that_use_cuda_have_totals_of_their_own() {
    let sim = Sim::new("12.8");
    let (ended, counts) = collected(sim.player("forks").arg("pool").env("COLLECT_FLUSH", "1"));
    assert_eq!((ended.code(), counts.len(), ended.processes.len()), (Some(0), 9, 9), "{}", ended.stderr);
    assert_eq!(ended.totals().delivered_of(10), 600);
}

#[test]
fn a_driver_older_than_cupti_or_runtime_refuses() {
    let sim = Sim::new("12.8");
    let (ended, counts) = collected(sim.player("vector_add").env("SIM_DRIVER", "12.4"));
    assert_eq!((ended.code(), counts.len()), (Some(0), 0));
    assert!(ended.stderr.contains("collector: subscribe 15"), "{}", ended.stderr);
    let ended = sim.player("vector_add").env("SIM_DRIVER", "11.8").run();
    assert!(ended.stderr.contains("gave 35"), "{}", ended.stderr);
    let ended = sim.player("vector_add").env("SIM_DEVICES", "0").run();
    assert!(ended.stderr.contains("gave 100"), "{}", ended.stderr);
    // A GPU that this CUPTI does not know: silence.
    let (ended, counts) = collected(sim.player("vector_add").env("SIM_CC", "12.1"));
    assert_eq!((ended.code(), counts.len(), ended.totals().generated), (Some(0), 0, 0), "{}", ended.stderr);
}

#[test]
fn a_burst_is_delivered_whole() {
    let sim = Sim::new("13.0");
    let (ended, counts) = one(sim.player("burst").args(["100000", "2"]).env("COLLECT_FLUSH", "1"));
    assert_eq!((counts.of(10), ended.number("launches")), (200_000, 200_000), "{}", ended.stderr);
    assert_eq!(ended.totals().generated, ended.totals().delivered);
}
