//! Runs made by numbers, whose clocks, stragglers and causes are known.

use super::busy::{Busy, BusyBy};
use super::calls::{Call, Op};
use super::*;
use crate::analysis::work_class::Class;

/// Splitmix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// About normal, with deviation 1: four numbers, added up.
    fn normal(&mut self) -> f64 {
        let bits = self.next();
        let sum: u64 = (0..4).map(|i| (bits >> (i * 16)) & 0xffff).sum();
        (sum as f64 / 65_536.0 - 2.0) * 3.0_f64.sqrt()
    }
}

/// A clock: how far ahead at 0, and how much faster in parts per million.
type Skew = (i64, f64);

/// A made-up training run: steps of computation, then an AllReduce.
struct Made {
    ranks: usize,
    steps: usize,
    /// Computation of a rank in a step, and time before it in which its GPU has nothing to do.
    step: Box<dyn Fn(usize) -> (f64, f64)>,
    skews: Vec<Skew>,
}

/// What a run gives: calls, and each rank's work in order: class, start and end.
struct Run {
    calls: Vec<(usize, Call)>,
    work: Vec<Vec<(Class, i64, i64)>>,
}

impl Made {
    fn play(&self, random: &mut Random) -> Run {
        let shown = |rank: usize, at: f64| {
            let (ahead, ppm) = self.skews[rank];
            (at * (1.0 + ppm * 1e-6)).round() as i64 + ahead
        };
        let mut run = Run { calls: Vec::new(), work: vec![Vec::new(); self.ranks] };
        let mut began = 1e9;
        for _ in 0..self.steps {
            let ready: Vec<f64> = (0..self.ranks)
                .map(|rank| {
                    let (compute, idle) = (self.step)(rank);
                    let compute = compute * (1.0 + 0.03 * random.normal());
                    let (from, to) = (began + idle, began + idle + compute);
                    run.work[rank].push((Class::Computation, shown(rank, from), shown(rank, to)));
                    to
                })
                .collect();
            let end = ready.iter().copied().fold(0.0, f64::max) + 400_000.0;
            for (rank, start) in ready.into_iter().enumerate() {
                // Kernels notice the end a little apart.
                let (start_ns, end_ns) = (shown(rank, start), shown(rank, end + 2_000.0 * random.normal()));
                run.work[rank].push((Class::Communication, start_ns, end_ns));
                let op = Op::AllReduce;
                let call = Call { process: rank as u32, device: 0, stream: 9, start_ns, end_ns, op, said: None };
                run.calls.push((rank, call));
            }
            began = end;
        }
        run
    }
}

fn alike() -> Box<dyn Fn(usize) -> (f64, f64)> {
    Box::new(|_| (10e6, 200_000.0))
}

/// What the parts make of a run: the alignment, and who is late.
fn judged(run: &Run) -> (Alignment, Stragglers) {
    let ranks = run.work.len();
    let clocks: Vec<usize> = (0..ranks).collect();
    let numbers: Vec<u32> = (0..ranks as u32).collect();
    let matched = collectives::matched(&run.calls, &[], &numbers);
    let alignment = align::align(&matched.collectives, &clocks).expect("one time for all");
    let timed = waits::timed(&matched.collectives, &alignment, &clocks);
    assert_eq!(together::contradiction(&timed, &alignment), None);
    let windows = stragglers::windows(&timed, &alignment, &clocks);
    let mut moments = vec![Vec::new(); ranks];
    windows.iter().flatten().for_each(|&(rank, from, to)| moments[rank].extend([from, to]));
    let mut busy: Vec<Busy> =
        moments.into_iter().map(|moments| Busy { own_work: BusyBy::new(moments), ..Busy::default() }).collect();
    for (busy, work) in busy.iter_mut().zip(&run.work) {
        work.iter().for_each(|&(class, start, end)| busy.add(class, start, end));
    }
    let observed = observed(&busy, Some(&alignment), &clocks).expect("work");
    let found = stragglers::judge(&timed, &windows, &mut busy, observed.1 - observed.0, alignment.residual_95_ns);
    (alignment, found)
}

fn skews(ranks: usize, random: &mut Random) -> Vec<Skew> {
    (0..ranks).map(|_| ((random.normal() * 2e6) as i64, random.normal() * 20.0)).collect()
}

#[test]
fn offset_and_drift_of_a_clock_are_recovered() {
    let mut random = Random(5);
    let made = Made {
        ranks: 4,
        steps: 600,
        step: alike(),
        skews: vec![(0, 0.0), (350_000, 20.0), (0, 0.0), (-90_000, -7.0)],
    };
    let (alignment, _) = judged(&made.play(&mut random));
    // At the first end a clock that began at 0 has gained already.
    let expected = |(ahead, ppm): Skew| ahead + (alignment.from_ns as f64 * ppm * 1e-6).round() as i64;
    for (clock, skew) in alignment.clocks.iter().zip(&made.skews) {
        let clock = clock.expect("a clock");
        assert!((clock.offset_ns - expected(*skew)).abs() < 1_500, "{clock:?} for {skew:?}");
        assert!((clock.drift_ppm - skew.1).abs() < 0.5, "{clock:?} for {skew:?}");
    }
    assert!(alignment.residual_ns < 4_000, "{alignment:?}");
    // There and back is the same.
    for ns in [0, 1_000_000_000, 7_000_000_000_000] {
        let there = alignment.time_ns(1, ns).expect("a clock");
        assert!((alignment.shown_ns(1, there).expect("a clock") - ns).abs() <= 1);
    }
}

#[test]
fn one_slow_rank_of_64_is_named_whatever_the_seed() {
    for seed in 0..100 {
        let mut random = Random(seed);
        let slow = (random.next() % 64) as usize;
        let is_host = seed % 2 == 1;
        let step = move |rank: usize| match (rank == slow, is_host) {
            (false, _) => (10e6, 200_000.0),
            (true, false) => (11e6, 200_000.0),
            (true, true) => (10e6, 1_200_000.0),
        };
        let skews = skews(64, &mut random);
        let made = Made { ranks: 64, steps: 20, step: Box::new(step), skews };
        let (_, found) = judged(&made.play(&mut random));
        let named: Vec<(usize, Cause)> = found.named.iter().map(|one| (one.late.rank, one.cause)).collect();
        let cause = if is_host { Cause::LateHost } else { Cause::SlowKernels };
        assert_eq!(named, [(slow, cause)], "seed {seed}: {:?}", &found.ranks[..2]);
        assert_eq!(found.ranks[0].rank, slow, "seed {seed}");
        assert!(found.gain_ns > 0, "seed {seed}");
    }
}

#[test]
fn nobody_is_named_where_all_are_alike() {
    for seed in 0..100 {
        let mut random = Random(1_000 + seed);
        let skews = skews(64, &mut random);
        let made = Made { ranks: 64, steps: 20, step: alike(), skews };
        let (_, found) = judged(&made.play(&mut random));
        assert_eq!(found.named, [], "seed {seed}");
    }
}
