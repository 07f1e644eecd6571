//! What the collector costs a whole program: `benches/collector/run programs`.
//!
//! Not tests of anything: ignored unless asked for. Programs run on the simulator, bare and with the collector in turn,
//! so that whatever else the machine does befalls all alike. Medians of many rounds, what lies between them, and the least
//! of each, which a busy machine disturbs least.

use std::time::Duration;

use crate::common::sim::{Ended, Run, Sim};

fn rounds() -> usize {
    std::env::var("ROUNDS").ok().and_then(|r| r.parse().ok()).unwrap_or(100)
}

/// The middle one.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Runs the ways in turn, and returns what `measure` says of each run, by way.
fn in_turn(ways: &[&dyn Fn() -> Ended], rounds: usize, measure: impl Fn(&Ended) -> f64) -> Vec<Vec<f64>> {
    let mut found = vec![Vec::new(); ways.len()];
    for _ in 0..rounds {
        for (way, found) in ways.iter().zip(&mut found) {
            let ended = way();
            assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
            found.push(measure(&ended));
        }
    }
    found
}

/// One line for each way after the first, which is the bare program. The median of differences within a round, too:
/// neighbours in time have the same luck.
fn tell(what: &str, unit: &str, names: &[&str], found: &[Vec<f64>]) {
    let least = |values: &[f64]| values.iter().copied().fold(f64::INFINITY, f64::min);
    let (bare, bare_least) = (median(found[0].clone()), least(&found[0]));
    println!("{what}");
    for (name, with) in names.iter().zip(&found[1..]) {
        let added = median(with.iter().zip(&found[0]).map(|(with, bare)| with - bare).collect());
        let (with, with_least) = (median(with.clone()), least(with));
        println!(
            "    {name}: {bare:.2} bare, {with:.2} {unit} with, {added:+.2} ({:.2} times); least {bare_least:.2}, \
             {with_least:.2} ({:+.2})",
            with / bare,
            with_least - bare_least
        );
    }
}

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

fn compare(what: &str, names: &[&str], ways: &[&dyn Fn() -> Ended]) {
    tell(what, "ms", names, &in_turn(ways, rounds(), |ended| ms(ended.duration)));
}

#[test]
#[ignore = "a measurement: benches/collector/run programs"]
fn start_up() {
    let sim = Sim::new("13.0");
    let names = ["preloaded", "injected"];
    let empty = || sim.program("/bin/true");
    compare("/bin/true", &names, &[&|| empty().run(), &|| empty().preload().run(), &|| empty().inject().run()]);
    // Attaching, the probe, the file, both threads, the last flush and the end of the file: all of it.
    let first = || sim.player("startup");
    let ways: [&dyn Fn() -> Ended; 3] =
        [&|| first().run(), &|| first().preload().run(), &|| first().inject().run()];
    compare("a program that makes one context", &names, &ways);
    for (what, field) in [("of that, in cuInit", "init_ns"), ("of that, at the first context", "context_ns")] {
        tell(what, "ms", &names, &in_turn(&ways, rounds(), |ended| ended.number(field) as f64 / 1e6));
    }
}

#[test]
#[ignore = "a measurement: benches/collector/run programs"]
fn memory() {
    let sim = Sim::new("13.0");
    let mb = |ended: &Ended| ended.number("rss_bytes") as f64 / f64::from(1 << 20);
    let paced = |launches: &str, threads: &str, rate: &str| -> Run<'_> {
        sim.player("burst").args([launches, threads, rate]).timeout(Duration::from_secs(120))
    };
    for (what, threads, launches, rate) in [
        ("1 thread, 300,000 records/s", "1", "200000", "100000"),
        ("8 threads, 300,000 records/s", "8", "25000", "100000"),
        ("8 threads, as fast as they can", "8", "100000", "0"),
    ] {
        let run = || paced(launches, threads, rate);
        let found = in_turn(&[&|| run().run(), &|| run().inject().run()], rounds().div_ceil(20), mb);
        tell(what, "MiB", &["injected"], &found);
    }
}
