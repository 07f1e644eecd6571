//! GPU time by where it comes from: as call stacks of process, thread, ranges, call and work, of process, GPU, stream
//! and work, or of process, Python lines and work; and CPU time as stacks of process, thread and functions. What flame
//! graphs are drawn from.
//!
//! Work belongs to the call that launched it, and so to all ranges that were open on the thread of that call from its
//! start to its end, as in [`super::ranges::credit`]. All kernels of a graph belong to the call that launched the
//! graph. Work without a known call stands under [`Frame::UnknownLaunch`].

use super::cpu_stacks::{HostFrame, frame_text};
use super::labels::Labels;
use super::launches;
use crate::cupti::operation;
use crate::error::Result;
use crate::trace::select::Filter;
use crate::trace::sink::Need;
use hashbrown::HashMap;
use sites::Sites;
use std::borrow::Cow;
use std::cmp::Reverse;
use trace_format::schema::{AnyColumn, TableSpec, TypedColumn};
use trace_format::tables;
use trace_format::tables::column::{any, kernel, memcpy};

mod host;
mod sites;

/// One step of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Frame {
    /// A process, by ordinal.
    Process(u32),
    /// A thread of the process.
    Thread {
        /// Ordinal of the process.
        process: u32,
        /// Thread id.
        tid: u32,
    },
    /// A range of the program, by name ids; domain 0 is the default one.
    Range {
        /// Domain.
        domain: u32,
        /// Text.
        name: u32,
    },
    /// An API call, by name id.
    Call(u32),
    /// In place of thread, ranges and call: the call was not recorded.
    UnknownLaunch,
    /// A process by its number, of which there is no trace.
    Pid(u32),
    /// A function that ran on the CPU, perhaps with the line in it.
    Host(HostFrame),
    /// In place of Python frames: none were kept of the launch.
    UnknownLine,
    /// A GPU as its process numbers it.
    Device {
        /// Ordinal of the process.
        process: u32,
        /// Device index.
        device: u32,
    },
    /// A stream of the GPU.
    Stream {
        /// Context id.
        context: u32,
        /// Stream id.
        stream: u32,
    },
    /// A kernel, by the first launch shape that has its name.
    Kernel(u32),
    /// A copy, by `CUpti_ActivityMemcpyKind`.
    Copy(u32),
    /// A fill.
    Fill,
}

/// What ran below one path, together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Weight {
    /// Sum of the durations.
    pub total_ns: u128,
    /// How many there were.
    pub count: u64,
}

/// GPU time by stack: a tree of frames, with weights at its leaves.
#[derive(Default)]
pub struct Stacks {
    tree: Tree,
    leaves: Vec<(u32, Weight)>,
}

/// The root of the tree: no frame at all.
pub const ROOT: u32 = u32::MAX;

/// Paths of frames, each stored once: a node is its last frame and the node before it.
#[derive(Default)]
struct Tree {
    nodes: Vec<(u32, Frame)>,
    index: HashMap<(u32, Frame), u32>,
}

impl Tree {
    fn child(&mut self, parent: u32, frame: Frame) -> u32 {
        *self.index.entry((parent, frame)).or_insert_with(|| {
            self.nodes.push((parent, frame));
            (self.nodes.len() - 1) as u32
        })
    }

    fn path(&self, mut node: u32, out: &mut Vec<Frame>) {
        out.clear();
        while let Some(&(parent, frame)) = self.nodes.get(node as usize) {
            out.push(frame);
            node = parent;
        }
        out.reverse();
    }
}

impl Stacks {
    /// Stacks of process, thread, ranges, call and work, for the GPU work that `filter` selects.
    ///
    /// # Errors
    /// Fails if a part of a file cannot be read.
    pub fn by_range(labels: &Labels, filter: &Filter) -> Result<Stacks> {
        let mut tree = Tree::default();
        let sites = Sites::read(labels.frames(), &mut tree)?;
        let unknown: Vec<u32> = (0..labels.frames().processes.len() as u32)
            .map(|p| {
                let process = tree.child(ROOT, Frame::Process(p));
                tree.child(process, Frame::UnknownLaunch)
            })
            .collect();
        let place = |work: &Work| {
            sites.get(work.process, work.correlation).unwrap_or_else(|| unknown[work.process as usize])
        };
        Stacks::sum(labels, filter, tree, place, |_, node| node)
    }

    /// Stacks of process, GPU, stream and work, for the GPU work that `filter` selects.
    ///
    /// # Errors
    /// Fails if a part of a file cannot be read.
    pub fn by_stream(labels: &Labels, filter: &Filter) -> Result<Stacks> {
        let place = |work: &Work| (work.process, work.device, work.context, work.stream);
        Stacks::sum(labels, filter, Tree::default(), place, |tree, (process, device, context, stream)| {
            let node = tree.child(ROOT, Frame::Process(process));
            let node = tree.child(node, Frame::Device { process, device });
            tree.child(node, Frame::Stream { context, stream })
        })
    }

    /// Sums all work by place and kind; `node` makes a place into a node of the tree.
    fn sum<P: Copy + Ord + std::hash::Hash + Send>(
        labels: &Labels,
        filter: &Filter,
        mut tree: Tree,
        place: impl Fn(&Work) -> P + Sync,
        node: impl Fn(&mut Tree, P) -> u32,
    ) -> Result<Stacks> {
        let mut sums: Vec<((P, Frame), Weight)> = Vec::new();
        for (table, kind) in [
            (&tables::KERNEL, Some(kernel::SHAPE_ID)),
            (&tables::MEMCPY, Some(memcpy::KIND)),
            (&tables::MEMSET, None),
        ] {
            sums.extend(work_sums(labels, filter, table, kind, &place)?);
        }
        sums.sort_unstable_by_key(|(key, _)| *key);
        let leaves = sums
            .into_iter()
            .map(|((place, frame), weight)| {
                let parent = node(&mut tree, place);
                (tree.child(parent, frame), weight)
            })
            .collect();
        Ok(Stacks { tree, leaves })
    }

    /// Calls `each` with every stack, root first, and its weight: stacks that begin alike stand together, those with
    /// the most time first. The order depends on the traces alone.
    pub fn for_each(&self, mut each: impl FnMut(&[Frame], Weight)) {
        let nodes = &self.tree.nodes;
        let mut total_ns = vec![0_u128; nodes.len()];
        let mut weights: Vec<Option<Weight>> = vec![None; nodes.len()];
        for &(leaf, weight) in &self.leaves {
            total_ns[leaf as usize] = weight.total_ns;
            weights[leaf as usize] = Some(weight);
        }
        let mut children: Vec<Vec<u32>> = vec![Vec::new(); nodes.len()];
        let mut pending = Vec::new();
        // A node comes after the node before it in its path.
        for (node, &(parent, _)) in nodes.iter().enumerate().rev() {
            let total = total_ns[node];
            match total_ns.get_mut(parent as usize) {
                Some(sum) => {
                    *sum += total;
                    children[parent as usize].push(node as u32);
                }
                None => pending.push(node as u32),
            }
        }
        // What is pushed last is taken first.
        let lightest_first = |nodes: &mut Vec<u32>| nodes.sort_by_key(|&n| (total_ns[n as usize], Reverse(n)));
        lightest_first(&mut pending);
        let mut path = Vec::new();
        while let Some(node) = pending.pop() {
            if let Some(weight) = weights[node as usize] {
                self.tree.path(node, &mut path);
                each(&path, weight);
            }
            let mut below = std::mem::take(&mut children[node as usize]);
            lightest_first(&mut below);
            pending.append(&mut below);
        }
    }

    /// Sum of all durations.
    pub fn total_ns(&self) -> u128 {
        self.leaves.iter().map(|(_, weight)| weight.total_ns).sum()
    }
}

/// What a piece of GPU work says about where it belongs.
struct Work {
    process: u32,
    device: u32,
    context: u32,
    stream: u32,
    correlation: u64,
}

/// Weights of one table's rows by place and kind; rows without valid times have none.
fn work_sums<P: Copy + Eq + std::hash::Hash + Send>(
    labels: &Labels,
    filter: &Filter,
    table: &'static TableSpec,
    kind: Option<&'static TypedColumn<u32>>,
    place: &(impl Fn(&Work) -> P + Sync),
) -> Result<HashMap<(P, Frame), Weight>> {
    let first_of_name = labels.shapes_by_name();
    let frame = |kind: u32| match table {
        _ if table == &tables::KERNEL => {
            Frame::Kernel(first_of_name.get(kind as usize).copied().unwrap_or(u32::MAX))
        }
        _ if table == &tables::MEMCPY => Frame::Copy(kind),
        _ => Frame::Fill,
    };
    let mut columns: Vec<&dyn AnyColumn> =
        vec![any::DURATION_NS, any::DEVICE, any::CONTEXT, any::STREAM, any::CORRELATION];
    columns.extend(kind.map(|kind| kind as &dyn AnyColumn));
    labels.frames().fold(
        table,
        &columns,
        filter,
        HashMap::new,
        |sums: &mut HashMap<(P, Frame), Weight>, batch| {
            let (duration, correlation) = (batch.get(any::DURATION_NS), batch.get(any::CORRELATION));
            let (device, context, stream) =
                (batch.get(any::DEVICE), batch.get(any::CONTEXT), batch.get(any::STREAM));
            let kinds = kind.map(|column| batch.get(column));
            batch.for_each_row(|i| {
                let Some(Ok(ns)) = duration.get(i).map(u128::try_from) else { return };
                let work = Work {
                    process: batch.process,
                    device: device.get(i).unwrap_or(0),
                    context: context.get(i).unwrap_or(0),
                    stream: stream.get(i).unwrap_or(0),
                    correlation: correlation.get(i).unwrap_or(0),
                };
                let weight = sums
                    .entry((place(&work), frame(kinds.and_then(|kinds| kinds.get(i)).unwrap_or(0))))
                    .or_default();
                weight.total_ns += ns;
                weight.count += 1;
            });
        },
        |all, other| {
            for (key, weight) in other {
                let mine = all.entry(key).or_default();
                mine.total_ns += weight.total_ns;
                mine.count += weight.count;
            }
        },
    )
}

/// What stacks are made of.
pub fn need() -> Need {
    Need {
        operators: true,
        ..Need::full(&[
            &tables::KERNEL,
            &tables::MEMCPY,
            &tables::MEMSET,
            &tables::API,
            &tables::RANGE,
            &tables::CPU_SAMPLE,
            &tables::LAUNCH_STACK,
        ])
    }
}

/// Frames as text.
pub struct FrameText<'a> {
    labels: &'a Labels<'a>,
    threads: HashMap<(u32, u32), u32>,
}

impl<'a> FrameText<'a> {
    /// Reads the names of threads.
    ///
    /// # Errors
    /// Fails if a part of a file cannot be read.
    pub fn new(labels: &'a Labels<'a>) -> Result<FrameText<'a>> {
        Ok(FrameText { labels, threads: launches::thread_names(labels.frames())? })
    }

    /// What people call the frame.
    pub fn text(&self, frame: Frame) -> Cow<'a, str> {
        let labels = self.labels;
        match frame {
            Frame::Process(process) => labels.process(process).into(),
            Frame::Thread { process, tid } => {
                thread_text(tid, self.threads.get(&(process, tid)).map_or("", |&id| labels.text(id))).into()
            }
            Frame::Range { domain: 0, name } => labels.text(name).into(),
            Frame::Range { domain, name } => format!("{}:{}", labels.text(domain), labels.text(name)).into(),
            Frame::Call(name) => labels.api(name).into(),
            Frame::UnknownLaunch => "[unknown launch]".into(),
            Frame::Pid(pid) => format!("process {pid}").into(),
            Frame::Host(frame) => frame_text(labels, frame).into(),
            Frame::UnknownLine => "[no Python line]".into(),
            Frame::Device { process, device } => match labels.device(process, device) {
                "" => format!("GPU {device}").into(),
                name => format!("GPU {device} ({name})").into(),
            },
            Frame::Stream { context, stream } => format!("context {context}, stream {stream}").into(),
            Frame::Kernel(shape) => labels.kernel(shape).into(),
            Frame::Copy(kind) => operation::memcpy_name(kind).into(),
            Frame::Fill => operation::MEMSET.into(),
        }
    }
}

/// A thread in words. Some traces have names that say the number, too: once is enough.
pub fn thread_text(tid: u32, name: &str) -> String {
    match name {
        "" => format!("thread {tid}"),
        name if name.contains(&tid.to_string()) => name.to_owned(),
        name => format!("thread {tid} \"{name}\""),
    }
}
