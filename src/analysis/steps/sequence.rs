//! Steps by the sequence of kernels: a program that repeats its work launches the same kernels in the same order over and over.
//!
//! The period is the distance at which the fewest kernels differ from their counterparts; every irregularity costs each
//! multiple of the period more, so that the period itself wins. Distances worth a look are those between equal stretches of
//! 1, 2, 4, … kernels: some stretch occurs once in each step, and its distance is the period. Irregular steps, with a
//! kernel more or less, end where the regular sequence is found again.

use hashbrown::HashMap;

/// Kernels among which distances are looked for; of more, those in the middle.
const LOOKED_AT: usize = 1 << 20;

/// Stretches of up to 2 to this power kernels are compared.
const DOUBLINGS: usize = 5;

/// Of the distances between equal stretches of one length, so many are tried.
const TRIED: usize = 8;

/// A sequence has to come again so often.
const LEAST_STEPS: usize = 3;

/// A pause before a kernel has to be this long to decide where steps begin.
const PAUSE_NS: i64 = 5_000;

/// A kernel as part of a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Link {
    /// Start.
    pub start_ns: i64,
    /// End.
    pub end_ns: i64,
    /// Which kernel it is.
    pub kernel: u32,
}

/// A sequence that repeats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repeats {
    /// Kernels of a regular step.
    pub period: usize,
    /// For each step the first of its kernels, and the first one behind it.
    pub steps: Vec<(usize, usize)>,
}

/// The sequence that the kernels of a stream, in order, repeat; `None` if they repeat none of two kernels or more for at least half
/// of the time.
pub fn find(chain: &[Link]) -> Option<Repeats> {
    let ids: Vec<u32> = chain.iter().map(|link| link.kernel).collect();
    let skipped = ids.len().saturating_sub(LOOKED_AT) / 2;
    let period = period(&ids[skipped..ids.len().min(skipped + LOOKED_AT)])?;
    let first = first_repeated(&ids, period)?;
    let pattern = &ids[first..first + period];
    if pattern.iter().all(|id| *id == pattern[0]) {
        return None;
    }
    let at = first + beginning(chain, &occurrences(&ids, pattern), period);
    let pattern = ids.get(at..at + period).unwrap_or(pattern);
    let steps = cut(ids.len(), period, &occurrences(&ids, pattern));
    let inside: usize = steps.iter().map(|(from, to)| to - from).sum();
    (steps.len() >= LEAST_STEPS && 2 * inside >= ids.len()).then_some(Repeats { period, steps })
}

/// How many kernels differ from those `distance` behind them.
fn differing(ids: &[u32], distance: usize) -> usize {
    ids.iter().zip(&ids[distance..]).filter(|(a, b)| a != b).count()
}

fn period(ids: &[u32]) -> Option<usize> {
    let longest = ids.len() / LEAST_STEPS;
    let mut tried: Vec<usize> = distances(ids).into_iter().filter(|d| (2..=longest).contains(d)).collect();
    tried.sort_unstable();
    tried.dedup();
    let judged: Vec<(usize, usize)> = tried.into_iter().map(|d| (differing(ids, d), d)).collect();
    let fewest = judged.iter().map(|(differing, _)| *differing).min()?;
    // A little noise must not make a multiple of the period look better.
    let (differing, period) = *judged.iter().find(|(differing, _)| 5 * differing <= 6 * fewest)?;
    (2 * differing <= ids.len() - period).then_some(period)
}

/// The most frequent distances between equal stretches that follow each other.
fn distances(ids: &[u32]) -> Vec<usize> {
    let mut found = Vec::new();
    let mut classes = ids.to_vec();
    for doubling in 0..=DOUBLINGS {
        let mut last: HashMap<u32, usize> = HashMap::new();
        let mut counts: HashMap<usize, usize> = HashMap::new();
        for (at, class) in classes.iter().enumerate() {
            if let Some(before) = last.insert(*class, at) {
                *counts.entry(at - before).or_default() += 1;
            }
        }
        let mut counts: Vec<(usize, usize)> = counts.into_iter().collect();
        counts.sort_unstable_by_key(|&(distance, count)| (std::cmp::Reverse(count), distance));
        found.extend(counts.into_iter().map(|(distance, _)| distance).take(TRIED));
        // Two equal stretches side by side are equal stretches of twice the length.
        let length = 1 << doubling;
        if classes.len() <= length {
            break;
        }
        let mut known: HashMap<(u32, u32), u32> = HashMap::new();
        let pairs = classes.iter().zip(&classes[length..]);
        classes = pairs
            .map(|(&a, &b)| {
                let next = known.len() as u32;
                *known.entry((a, b)).or_insert(next)
            })
            .collect();
    }
    found
}

/// Where the sequence that is repeated for longest is first followed by itself, wherever in it that begins. What a warm-up repeats at the
/// same distance is another one.
fn first_repeated(ids: &[u32], period: usize) -> Option<usize> {
    // Stretches in which every kernel comes again one period later, as start and length.
    let mut runs: Vec<(usize, usize)> = Vec::new();
    let mut length = 0;
    let same = ids.iter().zip(&ids[period..]).map(|(a, b)| a == b);
    for (at, same) in same.chain([false]).enumerate() {
        if same {
            length += 1;
            continue;
        }
        if length >= period {
            runs.push((at - length, length));
        }
        length = 0;
    }
    let longest = runs.iter().max_by_key(|&&(at, length)| (length, std::cmp::Reverse(at)))?.0;
    let twice = &ids[longest..longest + 2 * period];
    runs.iter().map(|(at, _)| *at).find(|&at| !occurrences(twice, &ids[at..at + period]).is_empty())
}

/// By how many kernels behind the first one of the pattern a step begins: at the kernel before which the stream usually pauses for
/// longest, if that is much longer than before the first one. A recording may begin amid a step.
fn beginning(chain: &[Link], occurrences: &[usize], period: usize) -> usize {
    let mut pauses: Vec<Vec<i64>> = vec![Vec::with_capacity(occurrences.len()); period];
    for &at in occurrences {
        for (place, pauses) in pauses.iter_mut().enumerate() {
            if let Some(before) = (at + place).checked_sub(1) {
                pauses.push(chain[at + place].start_ns.saturating_sub(chain[before].end_ns));
            }
        }
    }
    let median = |pauses: &mut Vec<i64>| match pauses.len() {
        0 => 0,
        n => *pauses.select_nth_unstable(n / 2).1,
    };
    let medians: Vec<i64> = pauses.iter_mut().map(median).collect();
    let longest = medians.iter().copied().max().unwrap_or(0);
    if longest < PAUSE_NS || longest < medians[0].saturating_mul(2) {
        return 0;
    }
    medians.iter().position(|ns| *ns == longest).unwrap_or(0)
}

/// Where `pattern` stands in `ids` (Knuth, Morris and Pratt).
fn occurrences(ids: &[u32], pattern: &[u32]) -> Vec<usize> {
    let mut borders = vec![0; pattern.len()];
    let mut matched = 0;
    for at in 1..pattern.len() {
        while matched > 0 && pattern[at] != pattern[matched] {
            matched = borders[matched - 1];
        }
        matched += usize::from(pattern[at] == pattern[matched]);
        borders[at] = matched;
    }
    let mut found = Vec::new();
    matched = 0;
    for (at, id) in ids.iter().enumerate() {
        while matched > 0 && pattern[matched] != *id {
            matched = borders[matched - 1];
        }
        matched += usize::from(pattern[matched] == *id);
        if matched == pattern.len() {
            found.push(at + 1 - matched);
            matched = borders[matched - 1];
        }
    }
    found
}

/// Steps where the sequence stands, and between them. What lies between two of them belongs to the first if it is less than half a
/// step, is a step by itself up to one and a half, and no step beyond.
fn cut(kernels: usize, period: usize, occurrences: &[usize]) -> Vec<(usize, usize)> {
    let mut steps: Vec<(usize, usize)> = Vec::with_capacity(kernels / period);
    for &at in occurrences {
        if let Some(last) = steps.last_mut() {
            if at < last.1 {
                continue;
            }
            let between = at - last.1;
            if 2 * between < period {
                last.1 = at;
            } else if 2 * between <= 3 * period {
                let from = last.1;
                steps.push((from, at));
            }
        }
        steps.push((at, at + period));
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Kernels of 1 us each, 1 us apart.
    fn chain(ids: &[u32]) -> Vec<Link> {
        let link =
            |(at, kernel): (i64, &u32)| Link { start_ns: at * 2_000, end_ns: at * 2_000 + 1_000, kernel: *kernel };
        (0..).zip(ids).map(link).collect()
    }

    fn repeated(step: &[u32], times: usize) -> Vec<u32> {
        step.repeat(times)
    }

    #[test]
    fn seven_kernels_are_found_among_warm_up_and_outliers() {
        let step = [1, 2, 3, 2, 4, 4, 5];
        let mut ids = vec![9, 8, 9, 9, 7, 5, 6, 8, 8, 9, 3];
        let warm_up = ids.len();
        for number in 0..500 {
            match number {
                100 => ids.extend([1, 2, 3, 6, 2, 4, 4, 5]),
                250 => ids.extend([1, 2, 3, 4, 4, 5]),
                400 => ids.extend([1, 2, 3, 2, 4, 4, 5, 9]),
                _ => ids.extend(step),
            }
        }
        let found = find(&chain(&ids)).expect("steps");
        assert_eq!((found.period, found.steps.len()), (7, 500));
        assert_eq!(found.steps[0], (warm_up, warm_up + 7));
        let lengths: Vec<usize> = found.steps.iter().map(|(from, to)| to - from).collect();
        let irregular: Vec<(usize, usize)> = (0..).zip(lengths).filter(|(_, length)| *length != 7).collect();
        assert_eq!(irregular, [(100, 8), (250, 6), (400, 8)]);
        assert!(found.steps.windows(2).all(|pair| pair[0].1 == pair[1].0));
    }

    #[test]
    fn a_warm_up_that_repeats_something_else_is_no_step() {
        let mut ids = repeated(&[8, 9, 8, 9, 9, 7, 7], 4);
        ids.extend(repeated(&[1, 2, 3, 2, 4, 4, 5], 20));
        let found = find(&chain(&ids)).expect("steps");
        assert_eq!((found.period, found.steps[0], found.steps.len()), (7, (28, 35), 20));
    }

    #[test]
    fn layers_inside_a_step_are_no_steps() {
        let mut step = Vec::new();
        for _ in 0..96 {
            step.extend([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
        }
        step.extend([11, 12, 13, 12, 11]);
        let found = find(&chain(&repeated(&step, 20))).expect("steps");
        assert_eq!((found.period, found.steps.len()), (965, 20));
    }

    #[test]
    fn a_recording_that_begins_amid_a_step_is_cut_at_the_pauses() {
        let ids = repeated(&[1, 2, 3, 4], 50);
        let mut chain = chain(&ids[2..]);
        for (at, link) in chain.iter_mut().enumerate() {
            // The host pauses before kernel 1.
            let pauses = (at as i64 + 2) / 4;
            link.start_ns += pauses * 100_000;
            link.end_ns += pauses * 100_000;
        }
        let found = find(&chain).expect("steps");
        assert_eq!((found.steps[0], found.steps.len()), ((2, 6), 49));
    }

    #[test]
    fn a_kernel_more_does_not_move_where_steps_begin() {
        let mut ids = repeated(&[3, 4, 1, 2], 10);
        ids.push(9);
        ids.extend(repeated(&[3, 4, 1, 2], 40));
        let mut chain = chain(&ids);
        let mut paused_ns = 0;
        for link in &mut chain {
            paused_ns += if link.kernel == 1 { 100_000 } else { 0 };
            link.start_ns += paused_ns;
            link.end_ns += paused_ns;
        }
        let found = find(&chain).expect("steps");
        assert_eq!((found.steps[0], found.steps.len()), ((2, 6), 49));
        assert_eq!(found.steps[9], (38, 43));
        assert!(found.steps.iter().all(|(from, _)| ids[*from] == 1));
    }

    #[test]
    fn what_does_not_repeat_has_no_steps() {
        let mut state = 5_u64;
        let mut random = |n: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 33) % n) as u32
        };
        let noise: Vec<u32> = (0..2_000).map(|_| random(20)).collect();
        let once: Vec<u32> = (0..300).collect();
        let one_kernel = vec![3; 1_000];
        let one_after_another = [vec![1; 500], vec![2; 500]].concat();
        for ids in [noise, once, one_kernel, one_after_another, vec![1, 2, 1, 2], vec![1], Vec::new()] {
            assert_eq!(find(&chain(&ids)), None, "{} kernels", ids.len());
        }
        // A validation that is as long as three steps is none.
        let mut ids = repeated(&[1, 2, 3], 30);
        ids.extend([7, 8, 9, 8, 7, 9, 8, 8, 7]);
        ids.extend(repeated(&[1, 2, 3], 30));
        let found = find(&chain(&ids)).expect("steps");
        assert_eq!((found.steps.len(), found.steps[29], found.steps[30]), (60, (87, 90), (99, 102)));
    }

    #[test]
    fn patterns_are_found_as_by_looking_everywhere() {
        let mut state = 9_u64;
        let mut random = |n: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 33) % n) as u32
        };
        for _ in 0..300 {
            let ids: Vec<u32> = (0..random(40) + 5).map(|_| random(2)).collect();
            let pattern: Vec<u32> = (0..random(4) + 1).map(|_| random(2)).collect();
            let expected: Vec<usize> = (0..ids.len()).filter(|&at| ids[at..].starts_with(&pattern)).collect();
            assert_eq!(occurrences(&ids, &pattern), expected, "{pattern:?} in {ids:?}");
        }
    }
}
