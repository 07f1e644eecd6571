//! The walk back along the critical path.

use super::graph::{Graph, Link};

/// What is on the path.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Path {
    /// Nanoseconds of each call.
    pub calls: Vec<i64>,
    /// Nanoseconds of each piece of work.
    pub work: Vec<i64>,
    /// Nanoseconds in no activity.
    pub between: Between,
}

/// What is on the path and in no activity, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Between {
    /// From the end of a call to the start of the next one: the host's own work.
    pub calls_ns: i64,
    /// From the end of a call to the start of the work that it launched.
    pub launch_ns: i64,
    /// From the end of work to the start of work that had to come behind it.
    pub work_ns: i64,
    /// From the end of some call to the start of work of which nothing is known that it depends on.
    pub unknown_ns: i64,
}

impl Between {
    /// All of it.
    pub fn total_ns(&self) -> i64 {
        [self.calls_ns, self.launch_ns, self.work_ns, self.unknown_ns].into_iter().fold(0, i64::saturating_add)
    }
}

/// Where the walk is.
#[derive(Clone, Copy)]
enum At {
    /// On a thread: at the end of its first so many calls, or later.
    Thread(usize, usize),
    /// The walk is in a call, which has this position.
    Call(usize),
    /// The walk is in work of the GPU, which has this position.
    Work(usize),
}

/// Walks from the last end to the first start.
pub fn back(graph: &Graph) -> Path {
    let mut path =
        Path { calls: vec![0; graph.calls.len()], work: vec![0; graph.work.len()], between: Between::default() };
    let mut has_jumped = vec![false; graph.calls.len()];
    let mut was_at = vec![false; graph.work.len()];
    let last_call = (0..graph.calls.len()).max_by_key(|&i| (graph.calls[i].end_ns, i));
    let last_work = (0..graph.work.len()).max_by_key(|&i| (graph.work[i].end_ns, i));
    let (mut at, mut now) = match (last_call, last_work) {
        (Some(call), Some(work)) if graph.calls[call].end_ns >= graph.work[work].end_ns => {
            (At::Call(call), graph.calls[call].end_ns)
        }
        (_, Some(work)) => (At::Work(work), graph.work[work].end_ns),
        (Some(call), None) => (At::Call(call), graph.calls[call].end_ns),
        (None, None) => return path,
    };
    loop {
        match at {
            At::Call(call) => {
                let row = &graph.calls[call];
                // Each call jumps only once, and only to work that began before this time: a copy leads back into the
                // call that launched the copy and waits for it.
                let ran = |&w: &usize| graph.work[w].end_ns > row.start_ns && graph.work[w].start_ns < now;
                match row.awaits.get().filter(ran).filter(|&w| !has_jumped[call] && !was_at[w]) {
                    Some(work) => {
                        has_jumped[call] = true;
                        let end = graph.work[work].end_ns.min(now);
                        add(&mut path.calls[call], now, end);
                        (at, now) = (At::Work(work), end);
                    }
                    None => {
                        add(&mut path.calls[call], now, row.start_ns);
                        now = row.start_ns;
                        let (thread, place) = graph.place[call];
                        at = At::Thread(thread as usize, place as usize);
                    }
                }
            }
            At::Thread(thread, count) => {
                let before = count.checked_sub(1).map(|place| graph.threads[thread][place] as usize);
                // The first call of a thread: some other thread has started it.
                let Some(call) = before.or_else(|| ended_before(graph, now)) else { return path };
                let end = graph.calls[call].end_ns.min(now);
                add(&mut path.between.calls_ns, now, end);
                (at, now) = (At::Call(call), end);
            }
            At::Work(work) => {
                let row = &graph.work[work];
                was_at[work] = true;
                add(&mut path.work[work], now, row.start_ns);
                now = row.start_ns;
                let before = [row.before, row.awaits].into_iter().filter_map(Link::get);
                let before = before.filter(|&w| !was_at[w] && graph.work[w].start_ns <= now);
                let before = before.map(|w| (graph.work[w].end_ns.min(now), w)).max();
                let launch = row.launch.get().map(|call| (graph.calls[call].end_ns.min(now), call));
                let launch = launch.filter(|&(_, call)| graph.calls[call].start_ns < now);
                let next = match (before, launch) {
                    (Some((end, work)), Some((launched, _))) if end >= launched => Some((At::Work(work), end)),
                    (_, Some((launched, call))) => Some((At::Call(call), launched)),
                    (Some((end, work)), None) => Some((At::Work(work), end)),
                    (None, None) => {
                        ended_before(graph, now).map(|call| (At::Call(call), graph.calls[call].end_ns.min(now)))
                    }
                };
                let Some((place, then)) = next else { return path };
                let between = match place {
                    At::Work(_) => &mut path.between.work_ns,
                    _ if launch.is_some() => &mut path.between.launch_ns,
                    _ => &mut path.between.unknown_ns,
                };
                add(between, now, then);
                (at, now) = (place, then);
            }
        }
    }
}

/// Adds the time from `since` to `now`. Times of a damaged trace may be further apart than there are numbers.
fn add(sum: &mut i64, now: i64, since: i64) {
    *sum = sum.saturating_add(now.saturating_sub(since));
}

/// The call that ended last before a time.
fn ended_before(graph: &Graph, at_ns: i64) -> Option<usize> {
    // Calls are sorted by start. The outermost calls of one thread do not overlap, so they are sorted by end as well.
    let begun = graph.calls.partition_point(|call| call.start_ns < at_ns);
    graph
        .threads
        .iter()
        .filter_map(|thread| {
            let has_ended = |call: usize| call < begun && graph.calls[call].end_ns <= at_ns;
            let count = thread.partition_point(|&call| has_ended(call as usize));
            count.checked_sub(1).map(|last| thread[last] as usize)
        })
        .max_by_key(|&call| (graph.calls[call].end_ns, call))
}
