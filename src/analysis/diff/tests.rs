use super::*;

/// Numbers that are distributed normally, the same in every run.
struct Noise(u64);

impl Noise {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// Mean 0, standard deviation 1 (Box and Muller).
    fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

fn run(sums: &[(&str, u64, f64)]) -> Run {
    let sum = |&(name, count, total_ns): &(&str, u64, f64)| Sum {
        name: name.to_owned(),
        count,
        total_ns: total_ns as u64,
        median_ns: Some(total_ns / count as f64),
    };
    let total: f64 = sums.iter().map(|(_, _, ns)| ns).sum();
    Run {
        source: "made".into(),
        gpus: vec!["H100".into()],
        processes: 1,
        steps: 0,
        span_ns: (total * 1.2) as i64,
        sums: BTreeMap::from([(By::Kernel, sums.iter().map(sum).collect())]),
        stacks: StackTimes::new(),
        obstacle: None,
        notes: Vec::new(),
    }
}

/// A run of 20 kernels in which everything takes `factor` times as long, give or take 0.8 % a run and 2 % a kernel: 1 % in all.
fn noisy(noise: &mut Noise, factor: f64) -> Run {
    let of_run = factor * (1.0 + 0.008 * noise.normal());
    let names: Vec<String> = (0..20).map(|i| format!("kernel_{}", char::from(b'a' + i))).collect();
    let sums: Vec<(&str, u64, f64)> = names
        .iter()
        .enumerate()
        .map(|(i, name)| (name.as_str(), 100, 1e6 * (i + 1) as f64 * of_run * (1.0 + 0.02 * noise.normal())))
        .collect();
    run(&sums)
}

const OPTIONS: Options = Options { by: By::Kernel, across_gpus: false };

fn some(noise: &mut Noise, n: usize, factor: f64) -> Vec<Run> {
    (0..n).map(|_| noisy(noise, factor)).collect()
}

/// Of 1,000 pairs of total times that scatter by 1 %, how many are said to differ.
fn alarms(seed: u64, n: usize, factor: f64) -> usize {
    let mut noise = Noise(seed);
    let mut side = |factor: f64| (0..n).map(|_| 1e9 * factor * (1.0 + 0.01 * noise.normal())).collect::<Vec<f64>>();
    (0..1000).filter(|_| Comparison::of(&side(1.0), &side(factor)).is_sure(Doubt::total())).count()
}

#[test]
fn equal_runs_alarm_in_at_most_one_of_a_hundred_pairs() {
    for n in [1, 2, 3, 5, 7, 12] {
        let alarms = alarms(40 + n as u64, n, 1.0);
        eprintln!("{n} runs on each side: {alarms} of 1000 alarm");
        assert!(alarms <= 10, "{n} runs: {alarms} of 1000");
    }
}

#[test]
fn rows_of_equal_runs_alarm_no_more_often_than_their_total() {
    let mut noise = Noise(6);
    let differs = |change: &Change| change.judged != Judged::NoDifference;
    let (mut totals, mut rows) = (0, 0);
    for _ in 0..200 {
        let diff = Diff::of(&some(&mut noise, 7, 1.0), &some(&mut noise, 7, 1.0), &OPTIONS);
        assert_eq!(diff.obstacle, None);
        totals += usize::from(differs(&diff.total));
        rows += usize::from(diff.rows.iter().any(|row| differs(&row.change)));
    }
    eprintln!("{totals} totals and {rows} tables of 200 alarm");
    // One of a hundred, and what chance adds to that with so few pairs.
    assert!(totals <= 4 && rows <= 4, "{totals} totals and {rows} tables of 200");
}

#[test]
fn three_percent_are_caught_with_seven_runs_of_each() {
    for (seed, factor) in [(77, 1.03), (78, 0.97)] {
        let caught = alarms(seed, 7, factor);
        eprintln!("times {factor}, 7 runs on each side: {caught} of 1000 caught");
        assert!(caught >= 950, "{caught} of 1000");
    }
}

#[test]
fn a_single_run_of_each_tells_large_differences_only() {
    assert!(alarms(79, 1, 1.15) >= 990 && alarms(80, 1, 1.02) <= 50);
}

#[test]
fn what_is_new_gone_and_renamed_is_said() {
    let before = run(&[("gemm<float>(float*)", 10, 1000.0), ("softmax", 10, 500.0), ("old", 1, 300.0)]);
    let after = run(&[("gemm<half>(half*)", 10, 700.0), ("softmax", 10, 500.0), ("fresh", 2, 200.0)]);
    let diff = Diff::of(&[before], &[after], &OPTIONS);
    let rows: Vec<_> = diff
        .rows
        .iter()
        .map(|row| (row.pair.name(), row.change.judged, row.change.difference_ns() as i64))
        .collect();
    let expected = [
        ("old", Judged::Gone, -300),
        ("gemm<half>(half*)", Judged::Faster, -300),
        ("fresh", Judged::New, 200),
        ("softmax", Judged::NoDifference, 0),
    ];
    let mut sorted = rows.clone();
    sorted.sort_by_key(|row| row.0);
    let mut expected_sorted = expected;
    expected_sorted.sort_by_key(|row| row.0);
    assert_eq!(sorted, expected_sorted);
    assert!(rows.windows(2).all(|pair| pair[0].2.abs() >= pair[1].2.abs()), "{rows:?}");
    assert_eq!((diff.total.before_ns(), diff.total.after_ns(), diff.verdict()), (1800.0, 1400.0, "faster"));
}

#[test]
fn runs_of_other_lengths_are_compared_per_step_or_by_how_often_they_launched() {
    let kernels =
        |times: f64, ns: f64| run(&[("a", (10.0 * times) as u64, ns * 2.0), ("b", (20.0 * times) as u64, ns)]);
    // Twice the launches in twice the time.
    let diff = Diff::of(&[kernels(1.0, 1000.0)], &[kernels(2.0, 2000.0)], &OPTIONS);
    assert_eq!((diff.unit, diff.verdict()), (Unit::ScaledRun(2.0), "no difference"));
    assert_eq!(diff.rows[0].counts[0], diff.rows[0].counts[1]);
    // Steps say so better.
    let with_steps = |mut run: Run, steps| {
        run.steps = steps;
        run
    };
    let (before, after) = (with_steps(kernels(1.0, 1000.0), 10), with_steps(kernels(2.0, 3000.0), 20));
    let diff = Diff::of(&[before], &[after], &OPTIONS);
    assert_eq!((diff.unit, diff.verdict(), diff.total.before_ns()), (Unit::Step, "slower", 300.0));
    // One kernel launched more often is a change of the program.
    let diff = Diff::of(
        &[run(&[("a", 10, 1000.0), ("b", 10, 1000.0)])],
        &[run(&[("a", 10, 1000.0), ("b", 20, 2000.0)])],
        &OPTIONS,
    );
    assert_eq!((diff.unit, diff.verdict()), (Unit::Run, "slower"));
}

#[test]
fn what_cannot_be_compared_is_refused_with_the_reason() {
    let good = run(&[("a", 10, 1000.0)]);
    let with = |change: fn(&mut Run)| {
        let mut run = run(&[("a", 10, 1000.0)]);
        change(&mut run);
        run
    };
    let cases = [
        (with(|run| run.gpus = vec!["A100".into()]), "H100"),
        (with(|run| run.processes = 8), "8 processes"),
        (with(|run| run.obstacle = Some("5 of 9 records were lost".into())), "5 of 9"),
        (with(|run| run.sums.clear()), "holds no GPU work"),
        (run(&[("other", 10, 1000.0)]), "different programs"),
    ];
    for (other, word) in cases {
        for (before, after) in [(&good, &other), (&other, &good)] {
            let diff = Diff::of(std::slice::from_ref(before), std::slice::from_ref(after), &OPTIONS);
            let why = diff.obstacle.as_deref().expect(word);
            assert!(why.contains(word), "{why}");
            assert_eq!(diff.verdict(), "cannot be compared");
        }
    }
    let across = Options { across_gpus: true, ..OPTIONS };
    let diff = Diff::of(&[good], &[with(|run| run.gpus = vec!["A100".into()])], &across);
    assert_eq!(diff.obstacle, None);
}

#[test]
fn limits_count_only_what_is_more_than_noise() {
    let mut noise = Noise(9);
    let gate = |text: &str| text.parse::<Gate>().expect("a limit");
    let (before, after) = (some(&mut noise, 7, 1.0), some(&mut noise, 7, 1.08));
    let diff = Diff::of(&before, &after, &OPTIONS);
    assert_eq!(gate("total>+3%").failures(&diff).len(), 1);
    assert!(gate("total>+20%").failures(&diff).is_empty() && gate("total<-3%").failures(&diff).is_empty());
    assert!(!gate("row>3%").failures(&diff).is_empty() && gate("span>3%").failures(&diff).len() == 1);
    // A single run of each, 4 % apart: beyond the limit, and no more than noise.
    let diff = Diff::of(&[run(&[("a", 1, 1000.0)])], &[run(&[("a", 1, 1040.0)])], &OPTIONS);
    assert!(gate("total>+3%").failures(&diff).is_empty());
}
