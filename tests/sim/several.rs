//! Several subscribers of one CUPTI, by the player `beside`, whose tools are no gpuprof.

use crate::sim::{Ended, Sim};

fn run(sim: &Sim, steps: &str) -> Ended {
    let ended = sim.player("beside").args(steps.split(' ')).run();
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    ended
}

/// What a tool got: codes of subscribing, registering, enabling; kernels, copies, calls.
fn got(ended: &Ended, tool: &str) -> [u64; 6] {
    ["subscribe", "register", "enable", "kernels", "copies", "calls"]
        .map(|what| ended.number(&format!("{tool}_{what}")))
}

#[test]
fn each_of_several_gets_what_it_asked_for_while_it_was_there() {
    for version in ["13.3", "13.4", "13.5"] {
        let sim = Sim::new(version);
        let ended = run(&sim, "i n10 +a2 n20 +b2 n30 -a n5 -b n7");
        assert_eq!(got(&ended, "a")[..5], [0, 0, 0, 50, 50], "CUPTI {version}: {}", ended.stdout);
        assert_eq!(got(&ended, "b")[..5], [0, 0, 0, 35, 35], "CUPTI {version}: {}", ended.stdout);
        // A place that was left is given again.
        let ended = run(&sim, "+a2 i n1 -a +a2 n2 -a +a2 n3 -a +a2 n4 -a");
        assert_eq!(got(&ended, "a")[..5], [0, 0, 0, 10, 10], "CUPTI {version}: {}", ended.stdout);
    }
    let sim = Sim::new("13.5");
    let ended = sim.player("beside").args(["i", "+a2", "n10", "-a"]).env("SIM_ASIDE", "a").run();
    assert_eq!((got(&ended, "a")[3], ended.totals().delivered, ended.totals().generated), (10, 0, 0));
}

#[test]
fn the_first_decides_and_the_families_exclude_each_other() {
    let sim = Sim::new("13.5");
    let second = |steps: &str| got(&run(&sim, steps), "b");
    // The old way beside the new one, after it, and the other way round.
    assert_eq!(second("i +a2 +b1 n5 -a")[..4], [39, 14, 14, 0]);
    assert_eq!(second("i +a2 n5 -a +b1 n5"), [39, 14, 14, 0, 0, 0]);
    assert_eq!(second("i +a1 n5 +b2 n5 -a")[..4], [39, 14, 14, 0]);
    // Without others, and with others; a second one in the old way.
    assert_eq!(second("i +a0 n5 +b2 n5 -a")[0], 39);
    assert_eq!(second("i +a2 n5 +b0 n5 -a")[0], 39);
    assert_eq!(second("i +a1 n5 +b1 n5 -a")[0], 39);
}

#[test]
fn several_need_a_cupti_and_a_driver_of_13_3() {
    assert_eq!(got(&run(&Sim::new("13.2"), "i +a2 n5"), "a")[0], 39);
    assert_eq!(got(&run(&Sim::new("13.2"), "i +a0 n5 s"), "a")[0], 0);
    let sim = Sim::new("13.5");
    let old = |steps: &str| {
        let run = sim.player("beside").args(steps.split(' ')).env("SIM_DRIVER", "13.0").env("SIM_ENHANCED", "1");
        got(&run.run(), "a")
    };
    assert_eq!(old("i +a2 n5")[0], 39);
    assert_eq!(old("i +a1 n5 -a")[..4], [0, 0, 0, 5]);
}

#[test]
fn graphs_come_as_the_first_has_it() {
    let sim = Sim::new("13.5");
    assert_eq!(got(&run(&sim, "i +a2 g4 -a"), "a")[3], 12);
    assert_eq!(got(&run(&sim, "i +a3 +b2 g4 n1 -a -b"), "b")[..4], [0, 0, 0, 1]);
}
