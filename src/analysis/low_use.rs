//! Stretches of time in which a GPU was little used, and long ones in which it was not used at all, as the expert rules of
//! nsys have them.
//!
//! The time from the first start to the last end is cut into [`CHUNKS`] equal pieces; their length is rounded up, so the last one may
//! be shorter. The use of a piece is the sum of what all work has of it, **not** the length of the union: work that runs
//! at once counts twice, and the use may exceed 100 %. What the profiler itself took counts as use. Pieces with less than half are kept, and
//! neighbours become one.
//!
//! A gap lies between the latest end so far and the next start; one that the profiler's own time explains is none.

/// Pieces.
pub const CHUNKS: i64 = 30;

/// The shortest gap that nsys speaks of.
pub const LEAST_GAP_NS: i64 = 500_000_000;

/// Kinds of overhead that the profiler itself causes: nsys's own, flushes of buffers, instrumentation, resources. What the driver takes
/// for compiling and for loading code is the program's.
pub const OF_PROFILER: [u32; 4] = [0, 0x1_0000, 0x2_0000, 0x3_0000];

/// A stretch of little use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// Its start.
    pub start_ns: i64,
    /// Its end.
    pub end_ns: i64,
    /// What work and profiler had of it, added up.
    pub used_ns: i64,
}

impl Stretch {
    /// Its length.
    pub fn duration_ns(&self) -> i64 {
        self.end_ns.saturating_sub(self.start_ns)
    }
}

/// First start and last end of `work`.
fn span(work: &[(i64, i64)]) -> Option<(i64, i64)> {
    let start = work.iter().map(|(start, _)| *start).min()?;
    Some((start, work.iter().map(|(_, end)| *end).max()?))
}

/// The stretches in which less than half of the time was used, in order. Starts and ends of work and of the profiler's own time, in any order.
pub fn stretches(work: &[(i64, i64)], overhead: &[(i64, i64)]) -> Vec<Stretch> {
    let Some((first, last)) = span(work).filter(|(first, last)| first < last) else { return Vec::new() };
    let length = last.saturating_sub(first);
    let size = length / CHUNKS + i64::from(length % CHUNKS != 0);
    let mut used = [0_i64; CHUNKS as usize];
    for &(start, end) in work.iter().chain(overhead) {
        let (start, end) = (start.max(first), end.min(last));
        if start >= end {
            continue;
        }
        // Relative to the first start, which lies no further away than 64 bits reach: `length` may be rounded down to that.
        let (start, end) = (start.saturating_sub(first), end.saturating_sub(first));
        let (from, to) = (start / size, (end - 1) / size);
        for chunk in from..=to {
            let at = chunk * size;
            let used = &mut used[chunk as usize];
            *used = used.saturating_add(end.min(at.saturating_add(size)) - start.max(at));
        }
    }
    let mut out: Vec<Stretch> = Vec::new();
    for (chunk, &used_ns) in (0..).zip(&used) {
        let start_ns = first.saturating_add(size.saturating_mul(chunk));
        let end_ns = start_ns.saturating_add(size).min(last);
        if start_ns >= end_ns || i128::from(used_ns) * 2 >= i128::from(end_ns - start_ns) {
            continue;
        }
        match out.last_mut() {
            Some(before) if before.end_ns == start_ns => {
                before.end_ns = end_ns;
                before.used_ns = before.used_ns.saturating_add(used_ns);
            }
            _ => out.push(Stretch { start_ns, end_ns, used_ns }),
        }
    }
    out
}

/// Start and end of every gap of [`LEAST_GAP_NS`] or more, in order. The work is brought into order.
pub fn long_gaps(work: &mut [(i64, i64)], overhead: &[(i64, i64)]) -> Vec<(i64, i64)> {
    work.sort_unstable();
    let mut out = Vec::new();
    let mut until: Option<i64> = None;
    let overhead = united(overhead);
    for &mut (start, end) in work {
        if let Some(until) = until.filter(|&until| start.saturating_sub(until) >= LEAST_GAP_NS) {
            let explained: i64 = overhead
                .iter()
                .map(|&(a, b)| b.min(start).saturating_sub(a.max(until)).max(0))
                .fold(0, i64::saturating_add);
            if start.saturating_sub(until).saturating_sub(explained) >= LEAST_GAP_NS {
                out.push((until, start));
            }
        }
        until = Some(until.map_or(end, |until| until.max(end)));
    }
    out
}

/// The union of some stretches, in order.
fn united(stretches: &[(i64, i64)]) -> Vec<(i64, i64)> {
    let mut sorted = stretches.to_vec();
    sorted.sort_unstable();
    let mut out: Vec<(i64, i64)> = Vec::new();
    for (start, end) in sorted {
        match out.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => out.push((start, end)),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_used_pieces_become_one_stretch_and_use_is_a_sum() {
        // 30 pieces of 10: work in the first, twice over in the second, nothing up to the last.
        let work = [(0, 10), (10, 20), (10, 20), (295, 300)];
        assert_eq!(stretches(&work, &[]), [Stretch { start_ns: 20, end_ns: 290, used_ns: 0 }]);
        // The profiler's own time counts as use.
        let found = stretches(&work, &[(100, 106), (280, 282)]);
        let expected =
            [(20, 100, 0), (110, 290, 2)].map(|(start_ns, end_ns, used_ns)| Stretch { start_ns, end_ns, used_ns });
        assert_eq!(found, expected);
        assert!(stretches(&[], &[]).is_empty() && stretches(&[(5, 5)], &[]).is_empty());
    }

    #[test]
    fn the_last_piece_is_shorter_where_thirty_do_not_fit() {
        let found = stretches(&[(0, 1), (301, 302)], &[]);
        assert_eq!(found.iter().map(Stretch::duration_ns).sum::<i64>(), 302);
        assert_eq!(found.iter().map(|stretch| stretch.used_ns).sum::<i64>(), 2);
        // Fewer nanoseconds than pieces.
        assert_eq!(stretches(&[(0, 1), (4, 5)], &[]), [Stretch { start_ns: 1, end_ns: 4, used_ns: 0 }]);
    }

    #[test]
    fn gaps_are_counted_from_the_latest_end_and_the_profiler_explains_some() {
        const S: i64 = 1_000_000_000;
        let mut work = [(0, 3 * S), (S, 2 * S), (4 * S, 5 * S), (5 * S + S / 2 - 1, 6 * S), (8 * S, 9 * S)];
        assert_eq!(long_gaps(&mut work, &[]), [(3 * S, 4 * S), (6 * S, 8 * S)]);
        assert_eq!(long_gaps(&mut work, &[(2 * S, 3 * S + S / 2 + 1), (3 * S, 3 * S + S / 4)]), [(6 * S, 8 * S)]);
    }
}
