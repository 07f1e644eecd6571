//! What the program's threads were doing on the CPU, and from where in Python the GPU's work was launched: stacks of
//! the tables `frame` and `stack`, with the samples and launches that name them.

use super::labels::Labels;
use crate::error::Result;
use crate::trace::frames::Frames;
use crate::trace::select::Filter;
use crate::trace::sink::Need;
use hashbrown::HashMap;
use std::collections::BTreeMap;
use trace_format::tables;
use trace_format::tables::column::{cpu_sample, frame, stack};
use trace_format::vocabulary::frame_kind::PYTHON;

/// Frames of one stack at most: a damaged file must not lead around in a circle.
const MOST_DEPTH: usize = 4096;

/// One frame of a stack, by ids of names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HostFrame {
    /// 0 Python, 1 native.
    pub kind: u32,
    /// Function.
    pub name: u32,
    /// Source file, or the file that it was loaded from; 0: not known.
    pub file: u32,
    /// Line; 0: not known.
    pub line: u32,
}

impl HostFrame {
    /// The function without the line in it.
    pub fn function(self) -> HostFrame {
        HostFrame { line: 0, ..self }
    }
}

/// All frames and stacks. Their ids belong to a process of the trace each.
#[derive(Default)]
pub struct HostStacks {
    frames: HashMap<(u32, u32), HostFrame>,
    stacks: HashMap<(u32, u32), (u32, u32)>,
}

impl HostStacks {
    /// Reads the definitions.
    ///
    /// # Errors
    /// Fails if a part of a file cannot be read.
    pub fn read(frames: &Frames) -> Result<HostStacks> {
        let everything = Filter::everything();
        let read = frames.fold(
            &tables::FRAME,
            &[frame::ID, frame::NAME_ID, frame::FILE_ID, frame::LINE, frame::KIND],
            &everything,
            HashMap::new,
            |all: &mut HashMap<(u32, u32), HostFrame>, batch| {
                let (id, name, file) = (batch.get(frame::ID), batch.get(frame::NAME_ID), batch.get(frame::FILE_ID));
                let (line, kind) = (batch.get(frame::LINE), batch.get(frame::KIND));
                batch.for_each_row(|i| {
                    let frame = HostFrame {
                        kind: kind.get(i).unwrap_or(PYTHON),
                        name: name.get(i).unwrap_or(0),
                        file: file.get(i).unwrap_or(0),
                        line: line.get(i).and_then(|line| u32::try_from(line).ok()).unwrap_or(0),
                    };
                    all.insert((batch.process, id.get(i).unwrap_or(0)), frame);
                });
            },
            |all, more| all.extend(more),
        )?;
        let stacks = frames.fold(
            &tables::STACK,
            &[stack::ID, stack::PARENT_ID, stack::FRAME_ID],
            &everything,
            HashMap::new,
            |all: &mut HashMap<(u32, u32), (u32, u32)>, batch| {
                let (id, parent, frame) =
                    (batch.get(stack::ID), batch.get(stack::PARENT_ID), batch.get(stack::FRAME_ID));
                batch.for_each_row(|i| {
                    let stack = (parent.get(i).unwrap_or(0), frame.get(i).unwrap_or(0));
                    all.insert((batch.process, id.get(i).unwrap_or(0)), stack);
                });
            },
            |all, more| all.extend(more),
        )?;
        Ok(HostStacks { frames: read, stacks })
    }

    /// The frames of a stack, outermost first; empty if it is not known.
    pub fn path(&self, process: u32, stack: u32, out: &mut Vec<HostFrame>) {
        out.clear();
        let mut at = stack;
        while let Some(&(parent, frame)) = self.stacks.get(&(process, at)) {
            out.push(self.frames.get(&(process, frame)).copied().unwrap_or_default());
            if parent == 0 || out.len() >= MOST_DEPTH {
                break;
            }
            at = parent;
        }
        out.reverse();
    }
}

/// Where samples were taken: the process of the trace, the process and thread that were looked at, the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SamplePlace {
    /// Ordinal of the process that the trace is of.
    pub process: u32,
    /// Process id.
    pub pid: u32,
    /// Thread id.
    pub tid: u32,
    /// Stack, of the trace's process.
    pub stack: u32,
}

/// How many samples, and the time that they stand for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SampleSum {
    /// Samples.
    pub samples: u64,
    /// Nanoseconds.
    pub weight_ns: u128,
}

/// The selected samples, summed by place.
///
/// # Errors
/// Fails if a part of a file cannot be read.
pub fn samples(frames: &Frames, filter: &Filter) -> Result<BTreeMap<SamplePlace, SampleSum>> {
    let of_launcher = filter.for_samples();
    frames.fold(
        &tables::CPU_SAMPLE,
        &[cpu_sample::OF_PID, cpu_sample::TID, cpu_sample::STACK_ID, cpu_sample::WEIGHT_NS],
        &of_launcher,
        BTreeMap::new,
        |sums: &mut BTreeMap<SamplePlace, SampleSum>, batch| {
            let (pids, tids) = (batch.get(cpu_sample::OF_PID), batch.get(cpu_sample::TID));
            let (stacks, weights) = (batch.get(cpu_sample::STACK_ID), batch.get(cpu_sample::WEIGHT_NS));
            batch.for_each_row(|i| {
                let pid = pids.get(i).unwrap_or(0);
                if !filter.takes_pid(pid) {
                    return;
                }
                let (tid, stack) = (tids.get(i).unwrap_or(0), stacks.get(i).unwrap_or(0));
                let sum = sums.entry(SamplePlace { process: batch.process, pid, tid, stack }).or_default();
                sum.samples += 1;
                sum.weight_ns += weights.get(i).and_then(|ns| u128::try_from(ns).ok()).unwrap_or(0);
            });
        },
        |all, more| {
            for (place, sum) in more {
                let mine = all.entry(place).or_default();
                mine.samples += sum.samples;
                mine.weight_ns += sum.weight_ns;
            }
        },
    )
}

/// The name of a frame's function: native ones demangled.
pub fn function_name<'a>(labels: &'a Labels, frame: HostFrame) -> &'a str {
    match frame {
        HostFrame { name: 0, .. } => "[unknown function]",
        HostFrame { kind: PYTHON, name, .. } => labels.text(name),
        HostFrame { name, .. } => labels.native_function(name),
    }
}

/// A frame in words: `name (folder/file.py:12)`, `name [libc.so.6]`.
pub fn frame_text(labels: &Labels, frame: HostFrame) -> String {
    let name = function_name(labels, frame);
    let file = labels.text(frame.file);
    match frame {
        HostFrame { file: 0, .. } => name.to_owned(),
        HostFrame { kind: PYTHON, line: 0, .. } => format!("{name} ({})", last_parts(file, 2)),
        HostFrame { kind: PYTHON, line, .. } => format!("{name} ({}:{line})", last_parts(file, 2)),
        // The name may say it already.
        _ if name.starts_with(last_parts(file, 1)) => name.to_owned(),
        _ => format!("{name} [{}]", last_parts(file, 1)),
    }
}

/// The last parts of a path: whole paths would fill every line.
fn last_parts(path: &str, parts: usize) -> &str {
    let start = path.rmatch_indices('/').nth(parts - 1).map_or(0, |(slash, _)| slash + 1);
    path.get(start..).unwrap_or(path)
}

/// What has to be read for stacks of the CPU.
pub fn need() -> Need {
    Need::full(&[&tables::CPU_SAMPLE, &tables::FRAME, &tables::STACK, &tables::THREAD])
}

/// Time in and below each function, or each line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Samples in it, or pieces of GPU work launched by it.
    pub own_count: u64,
    /// Time in it.
    pub own_ns: u128,
    /// Samples in it or in what it called; of recursive functions one each.
    pub total_count: u64,
    /// Time in it or in what it called.
    pub total_ns: u128,
}

/// Sums of stacks by frame.
#[derive(Default)]
pub struct ByFrame {
    sums: HashMap<HostFrame, (Spent, u64)>,
    stacks: u64,
}

impl ByFrame {
    /// Adds one stack, outermost frame first, of this weight.
    pub fn add(&mut self, stack: impl DoubleEndedIterator<Item = HostFrame>, count: u64, ns: u128) {
        self.stacks += 1;
        let number = self.stacks;
        let mut innermost = true;
        for frame in stack.rev() {
            let (spent, last) = self.sums.entry(frame).or_default();
            if std::mem::take(&mut innermost) {
                spent.own_count += count;
                spent.own_ns += ns;
            }
            if std::mem::replace(last, number) != number {
                spent.total_count += count;
                spent.total_ns += ns;
            }
        }
    }

    /// All sums, in no particular order.
    pub fn finish(self) -> Vec<(HostFrame, Spent)> {
        self.sums.into_iter().map(|(frame, (spent, _))| (frame, spent)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recursive_function_counts_once_in_each_stack() {
        let frame = |name| HostFrame { name, ..HostFrame::default() };
        let mut sums = ByFrame::default();
        sums.add([1, 2, 2, 3].map(frame).into_iter(), 2, 20);
        sums.add([1, 2].map(frame).into_iter(), 1, 10);
        let mut all = sums.finish();
        all.sort_by_key(|(frame, _)| *frame);
        let spent = |own_count, own_ns, total_count, total_ns| Spent { own_count, own_ns, total_count, total_ns };
        assert_eq!(
            all.iter().map(|(_, spent)| *spent).collect::<Vec<_>>(),
            [spent(0, 0, 3, 30), spent(1, 10, 3, 30), spent(2, 20, 2, 20)]
        );
    }

    #[test]
    fn paths_are_shortened_from_the_left() {
        assert_eq!(last_parts("/usr/lib/python3/app/main.py", 2), "app/main.py");
        assert_eq!(last_parts("main.py", 2), "main.py");
        assert_eq!(last_parts("/main.py", 1), "main.py");
        assert_eq!(last_parts("/main.py", 2), "/main.py");
    }
}
