//! Ranges whose two ends are events of their own. The format lets them stand in any order in the file, and tools that
//! write one buffer per thread or sort by their ends make use of that: ends are matched by time.

use super::super::kineto::event::Event;
use super::super::kineto::json_tokens::{Tape, Value};
use super::work::Work;
use hashbrown::HashMap;

/// A range that has begun.
#[derive(Clone, Debug, PartialEq)]
pub struct Open {
    /// When.
    pub start_ns: i64,
    /// Index of the process.
    pub process: usize,
    /// Its thread.
    pub tid: u32,
    /// What it is called.
    pub name_id: u32,
    /// `range.style`.
    pub style: u32,
    /// `range.range_id`.
    pub id: u64,
    /// What a GPU did, if it is no range of the CPU.
    pub work: Option<Box<Work>>,
}

/// Where ranges nest.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Lane {
    /// A thread of a process.
    Thread(usize, u32),
    /// All that have one id.
    Id(Box<[u8]>),
}

/// One end of a range.
#[derive(Debug)]
pub struct Edge {
    time_ns: i64,
    /// Byte offset in the text, for notes.
    offset: u64,
    what: EdgeKind,
}

#[derive(Debug)]
enum EdgeKind {
    Begin(Open),
    /// The name id of what ends, 0 where the event has no name.
    End(u32),
}

impl Edge {
    /// The beginning of a range.
    pub fn begin(open: Open, offset: u64) -> Edge {
        Edge { time_ns: open.start_ns, offset, what: EdgeKind::Begin(open) }
    }

    /// An end.
    pub fn end(time_ns: i64, name_id: u32, offset: u64) -> Edge {
        Edge { time_ns, offset, what: EdgeKind::End(name_id) }
    }
}

/// A range that is done with.
#[derive(Debug, PartialEq)]
pub struct Closed {
    /// What began.
    pub open: Open,
    /// When it ended; `None` if it never did.
    pub end_ns: Option<i64>,
    /// Byte offset of its end, or of its beginning.
    pub offset: u64,
}

/// Matches ends with beginnings: in one lane, the last to begin is the first to end.
#[derive(Default)]
pub struct Edges {
    waiting: Vec<(Lane, Edge)>,
    open: HashMap<Lane, Vec<(Open, u64)>>,
    count: usize,
    /// Ends of ranges that did not begin, and where the first of them is.
    pub never_opened: u64,
    /// See `never_opened`.
    pub first_never_opened: u64,
    /// Ranges without an end.
    pub left_open: u64,
    /// Ends that have another name than the range that they end.
    pub misnamed: u64,
}

/// Edges that are put in order of time at once. What stands further from its place than this many edges is matched as
/// if it stood right; all of a longer trace in memory would cost gigabytes.
const WINDOW: usize = 1 << 18;

/// Ranges kept open at most, so that a file of beginnings alone does not fill memory.
const OPEN: usize = 1 << 20;

impl Edges {
    /// Takes an edge; returns what is done with.
    pub fn add(&mut self, lane: Lane, edge: Edge) -> Vec<Closed> {
        self.waiting.push((lane, edge));
        if self.waiting.len() < 2 * WINDOW { Vec::new() } else { self.settle(WINDOW) }
    }

    /// Matches all edges that wait; what then is open has no end.
    pub fn finish(&mut self) -> Vec<Closed> {
        let mut closed = self.settle(usize::MAX);
        let mut left: Vec<(Open, u64)> = std::mem::take(&mut self.open).into_values().flatten().collect();
        left.sort_by_key(|(open, _)| (open.start_ns, open.process, open.tid, open.id));
        self.left_open += left.len() as u64;
        self.count = 0;
        closed.extend(left.into_iter().map(|(open, offset)| Closed { open, end_ns: None, offset }));
        closed
    }

    /// Matches the first `count` edges by time.
    fn settle(&mut self, count: usize) -> Vec<Closed> {
        let mut waiting = std::mem::take(&mut self.waiting);
        // Stable: of edges at one time the one that stands first in the file comes first.
        waiting.sort_by_key(|(_, edge)| edge.time_ns);
        self.waiting = waiting.split_off(count.min(waiting.len()));
        waiting.into_iter().filter_map(|(lane, edge)| self.take(lane, edge)).collect()
    }

    fn take(&mut self, lane: Lane, edge: Edge) -> Option<Closed> {
        let Edge { time_ns, offset, what } = edge;
        match what {
            EdgeKind::Begin(open) if self.count >= OPEN => {
                self.left_open += 1;
                Some(Closed { open, end_ns: None, offset })
            }
            EdgeKind::Begin(open) => {
                self.count += 1;
                self.open.entry(lane).or_default().push((open, offset));
                None
            }
            EdgeKind::End(name_id) => {
                let stack = self.open.get_mut(&lane);
                let is_last = stack.as_ref().is_some_and(|stack| stack.len() == 1);
                let ended = stack.and_then(Vec::pop);
                if is_last {
                    self.open.remove(&lane);
                }
                let Some((open, _)) = ended else {
                    if self.never_opened == 0 {
                        self.first_never_opened = offset;
                    }
                    self.never_opened += 1;
                    return None;
                };
                self.count -= 1;
                self.misnamed += u64::from(name_id != 0 && name_id != open.name_id);
                Some(Closed { open, end_ns: Some(time_ns), offset })
            }
        }
    }
}

/// What tells ranges with ids apart: category and id; ids called local belong to one process.
pub fn key(event: &Event, tape: Tape) -> Lane {
    let mut key = Vec::new();
    let mut add = |value: Value| {
        match value {
            Value::Bare(text) | Value::Text(text) => key.extend_from_slice(text),
            Value::Nested(open) => key.extend_from_slice(tape.inner(open)),
            Value::Missing => {}
        }
        key.push(0);
    };
    add(event.category);
    add(event.id);
    if let Value::Nested(_) = event.id {
        add(event.pid);
    }
    Lane::Id(key.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(start_ns: i64, name_id: u32) -> Open {
        Open { start_ns, process: 0, tid: 1, name_id, style: 0, id: 0, work: None }
    }

    /// Start, end and name of what comes of edges: time, and the name of what begins.
    fn matched(edges: &[(i64, Option<u32>)]) -> (Vec<(i64, Option<i64>, u32)>, Edges) {
        let mut all = Edges::default();
        let mut closed = Vec::new();
        for &(time, begins) in edges {
            let edge = match begins {
                Some(name) => Edge::begin(open(time, name), 7),
                None => Edge::end(time, 0, 7),
            };
            closed.extend(all.add(Lane::Thread(0, 1), edge));
        }
        closed.extend(all.finish());
        let mut ranges: Vec<_> = closed.into_iter().map(|c| (c.open.start_ns, c.end_ns, c.open.name_id)).collect();
        ranges.sort_unstable();
        (ranges, all)
    }

    #[test]
    fn ends_are_matched_by_time_wherever_they_stand() {
        let nested = vec![(10, Some(50), 1), (20, Some(30), 2)];
        let edges = [(10, Some(1)), (20, Some(2)), (30, None), (50, None)];
        assert_eq!(matched(&edges).0, nested);
        let reversed: Vec<_> = edges.iter().rev().copied().collect();
        assert_eq!(matched(&reversed).0, nested);
        let buffers = matched(&[(0, Some(1)), (40, Some(2)), (30, None), (70, None)]);
        assert_eq!(buffers.0, [(0, Some(30), 1), (40, Some(70), 2)]);
        assert_eq!((buffers.1.never_opened, buffers.1.left_open), (0, 0));
    }

    #[test]
    fn ends_too_many_and_too_few_are_counted() {
        let (ranges, edges) = matched(&[(1, None), (2, Some(1)), (3, Some(2)), (4, None)]);
        assert_eq!(ranges, [(2, None, 1), (3, Some(4), 2)]);
        assert_eq!((edges.never_opened, edges.first_never_opened, edges.left_open), (1, 7, 1));
    }

    #[test]
    fn an_end_with_the_name_of_another_range_is_counted() {
        let mut edges = Edges::default();
        let lane = || Lane::Thread(0, 1);
        for edge in [Edge::begin(open(0, 1), 0), Edge::begin(open(1, 2), 0), Edge::end(10, 1, 0)] {
            assert_eq!(edges.add(lane(), edge), []);
        }
        edges.finish();
        assert_eq!((edges.misnamed, edges.left_open), (1, 1));
    }

    #[test]
    fn traces_longer_than_the_window_are_matched_as_well() {
        let edges: Vec<_> = (0..3 * WINDOW as i64).flat_map(|i| [(2 * i, Some(1)), (2 * i + 1, None)]).collect();
        let (ranges, all) = matched(&edges);
        assert_eq!(ranges.len(), 3 * WINDOW);
        assert!(ranges.iter().all(|&(start, end, _)| end == Some(start + 1)));
        assert_eq!((all.never_opened, all.left_open), (0, 0));
    }
}
