//! CPU samples as slices of time: a function that is on a thread's stack in one sample and in the next was there in
//! between, as far as anybody knows.

use super::cpu_stacks::{HostFrame, HostStacks};
use crate::error::Result;
use crate::trace::frames::Frames;
use crate::trace::select::Filter;
use hashbrown::HashMap;
use std::collections::BTreeMap;
use trace_format::schema::Row as _;
use trace_format::tables::column::cpu_sample;
use trace_format::tables::{self, CpuSampleRow};

/// A slice begins or ends. Those of one thread come in order of time and nest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge<F> {
    /// The function.
    pub frame: F,
    /// When.
    pub at_ns: i64,
    /// Slices around it.
    pub depth: u32,
    /// Where it ends: in how many samples it was. `None`: it begins.
    pub samples: Option<u64>,
}

/// The stack of one thread as it was in the last sample.
#[derive(Debug)]
pub struct OpenStack<F> {
    /// What is open, outermost first, and how many samples had been taken when it began.
    open: Vec<(F, u64)>,
    taken: u64,
    /// When the last sample was taken.
    started_ns: i64,
    /// Until when the last sample stands.
    until_ns: i64,
}

impl<F> Default for OpenStack<F> {
    fn default() -> Self {
        OpenStack { open: Vec::new(), taken: 0, started_ns: 0, until_ns: 0 }
    }
}

impl<F: Copy + PartialEq> OpenStack<F> {
    /// Takes the next sample, of the time from `start_ns` on for `weight_ns`; `frames` from the outermost on.
    ///
    /// # Errors
    /// Fails with any error that `each` returns.
    pub fn sample(
        &mut self,
        start_ns: i64,
        weight_ns: i64,
        frames: &[F],
        mut each: impl FnMut(Edge<F>) -> Result<()>,
    ) -> Result<()> {
        // Two samples of one thread at one time would make a slice without length, which viewers lose track of.
        let start_ns = if self.taken > 0 { start_ns.max(self.started_ns.saturating_add(1)) } else { start_ns };
        // A thread that was asleep or that nobody looked at in time did nothing that is known.
        if start_ns > self.until_ns.saturating_add(weight_ns / 2) {
            self.close(&mut each)?;
        }
        let same = self.open.iter().zip(frames).take_while(|((open, _), frame)| open == *frame).count();
        // Samples come a little early or late; nothing may end before it began.
        self.shut(same, start_ns, &mut each)?;
        for &frame in frames.iter().skip(same) {
            each(Edge { frame, at_ns: start_ns, depth: self.open.len() as u32, samples: None })?;
            self.open.push((frame, self.taken));
        }
        self.taken += 1;
        self.started_ns = start_ns;
        self.until_ns = start_ns.saturating_add(weight_ns.max(1));
        Ok(())
    }

    /// Ends what is open, where the last sample ends.
    ///
    /// # Errors
    /// Fails with any error that `each` returns.
    pub fn close(&mut self, each: impl FnMut(Edge<F>) -> Result<()>) -> Result<()> {
        self.shut(0, self.until_ns, each)
    }

    fn shut(&mut self, keep: usize, at_ns: i64, mut each: impl FnMut(Edge<F>) -> Result<()>) -> Result<()> {
        while self.open.len() > keep {
            if let Some((frame, taken)) = self.open.pop() {
                let samples = Some(self.taken - taken);
                each(Edge { frame, at_ns, depth: self.open.len() as u32, samples })?;
            }
        }
        Ok(())
    }
}

/// Whose stack it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SampledThread {
    /// Ordinal of the process that it is drawn with: its own, or, where it has no trace, the one that looked.
    pub process: u32,
    /// The number of the process, where that has no trace.
    pub untraced_pid: Option<u32>,
    /// Thread id; 0: not known.
    pub tid: u32,
}

/// When the first selected sample was taken.
///
/// # Errors
/// Fails if a part of a file cannot be read.
pub fn first_ns(frames: &Frames, filter: &Filter) -> Result<Option<i64>> {
    frames.fold(
        &tables::CPU_SAMPLE,
        &[cpu_sample::START_NS, cpu_sample::OF_PID],
        &filter.for_samples(),
        || None,
        |first: &mut Option<i64>, batch| {
            let (start, pid) = (batch.get(cpu_sample::START_NS), batch.get(cpu_sample::OF_PID));
            batch.for_each_row(|i| {
                let at_ns = start.get(i).filter(|_| pid.get(i).is_some_and(|pid| filter.takes_pid(pid)));
                *first = earlier(*first, at_ns.map(|ns| ns.saturating_add(batch.offset_ns)));
            });
        },
        |first, other| *first = earlier(*first, other),
    )
}

/// The earlier of two times that may be none.
pub fn earlier(a: Option<i64>, b: Option<i64>) -> Option<i64> {
    a.into_iter().chain(b).min()
}

/// Hands the beginnings and ends of all slices to `each`. Lines are no part of a function here: one that goes on in
/// its next line goes on.
///
/// Memory: stacks, and what is open.
///
/// # Errors
/// Fails if a part of a file cannot be read, and with any error that `each` returns.
pub fn each(
    frames: &Frames,
    filter: &Filter,
    mut each: impl FnMut(SampledThread, Edge<HostFrame>) -> Result<()>,
) -> Result<()> {
    if frames.rows(&tables::CPU_SAMPLE) == 0 {
        return Ok(());
    }
    let stacks = HostStacks::read(frames)?;
    let mut threads: BTreeMap<SampledThread, OpenStack<HostFrame>> = BTreeMap::new();
    let mut processes: HashMap<(u32, u32), Option<u32>> = HashMap::new();
    let mut path = Vec::new();
    frames.in_order(&[&tables::CPU_SAMPLE], &filter.for_samples(), |chunk| {
        for (piece, i) in chunk.iter() {
            let row = CpuSampleRow::from_batch(&piece.rows, i);
            if !filter.takes_pid(row.of_pid) {
                continue;
            }
            let traced = *processes
                .entry((piece.process, row.of_pid))
                .or_insert_with(|| frames.process_beside(piece.process, row.of_pid));
            let thread = SampledThread {
                process: traced.unwrap_or(piece.process),
                untraced_pid: traced.is_none().then_some(row.of_pid),
                tid: row.tid,
            };
            stacks.path(piece.process, row.stack_id, &mut path);
            path.iter_mut().for_each(|frame| *frame = frame.function());
            let open = threads.entry(thread).or_default();
            open.sample(row.start_ns, row.weight_ns, &path, |edge| each(thread, edge))?;
        }
        Ok(())
    })?;
    threads.into_iter().try_for_each(|(thread, mut open)| open.close(|edge| each(thread, edge)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_two_samples_goes_on_and_a_gap_ends_it() {
        let mut stack = OpenStack::default();
        let mut edges = Vec::new();
        let mut note = |edge: Edge<u32>| {
            let Edge { frame, at_ns, depth, samples } = edge;
            edges.push(match samples {
                None => format!("{frame}[{depth}]@{at_ns}"),
                Some(samples) => format!("/{frame}[{depth}]@{at_ns}x{samples}"),
            });
            Ok(())
        };
        for (start, frames) in [(0, &[1, 2][..]), (10, &[1, 2]), (20, &[1, 3]), (50, &[1])] {
            stack.sample(start, 10, frames, &mut note).unwrap();
        }
        stack.close(&mut note).unwrap();
        assert_eq!(edges.join(" "), "1[0]@0 2[1]@0 /2[1]@20x2 3[1]@20 /3[1]@30x1 /1[0]@30x3 1[0]@50 /1[0]@60x1");
    }

    #[test]
    fn a_sample_that_comes_early_ends_nothing_before_it_began() {
        let mut stack = OpenStack::default();
        let mut times = Vec::new();
        for (start, frame) in [(0, 1), (4, 2), (9, 3)] {
            stack
                .sample(start, 10, &[frame], |edge| {
                    times.push((edge.frame, edge.at_ns));
                    Ok(())
                })
                .unwrap();
        }
        assert_eq!(times, [(1, 0), (1, 4), (2, 4), (2, 9), (3, 9)]);
    }
}
