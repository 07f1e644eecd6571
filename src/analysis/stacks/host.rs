//! Stacks of what runs on the CPU: samples of the program's threads, and the Python lines that launched GPU work.

use super::sites::Sites;
use super::{Frame, ROOT, Stacks, Tree, Weight, Work};
use crate::analysis::cpu_stacks::{HostStacks, samples};
use crate::analysis::labels::Labels;
use crate::error::Result;
use crate::trace::frames::Frames;
use crate::trace::select::Filter;
use hashbrown::HashMap;
use trace_format::tables;
use trace_format::tables::column::launch_stack;

impl Stacks {
    /// Stacks of process, thread and functions, for the CPU samples that `filter` selects. A weight's count is that of
    /// samples.
    ///
    /// # Errors
    /// Fails if a part of a file cannot be read.
    pub fn cpu(labels: &Labels, filter: &Filter) -> Result<Stacks> {
        let frames = labels.frames();
        let host = HostStacks::read(frames)?;
        let mut tree = Tree::default();
        let mut sums: HashMap<u32, Weight> = HashMap::new();
        let mut path = Vec::new();
        for (place, sum) in samples(frames, filter)? {
            let mut node = tree.child(ROOT, process_of(frames, place.process, place.pid));
            node = tree.child(node, Frame::Thread { process: place.process, tid: place.tid });
            host.path(place.process, place.stack, &mut path);
            for frame in &path {
                node = tree.child(node, Frame::Host(*frame));
            }
            let weight = sums.entry(node).or_default();
            weight.total_ns += sum.weight_ns;
            weight.count += sum.samples;
        }
        let mut leaves: Vec<(u32, Weight)> = sums.into_iter().collect();
        leaves.sort_unstable_by_key(|(node, _)| *node);
        Ok(Stacks { tree, leaves })
    }

    /// Stacks of process, Python frames and work, for the GPU work that `filter` selects: each where it was launched.
    ///
    /// # Errors
    /// Fails if a part of a file cannot be read.
    pub fn gpu_python(labels: &Labels, filter: &Filter) -> Result<Stacks> {
        let frames = labels.frames();
        let host = HostStacks::read(frames)?;
        let launches = launches(frames)?;
        let place = |work: &Work| (work.process, launches.get(work.process, work.correlation).unwrap_or(0));
        let mut nodes: HashMap<(u32, u32), u32> = HashMap::new();
        let nodes = std::cell::RefCell::new(&mut nodes);
        Stacks::sum(labels, filter, Tree::default(), place, |tree, (process, stack)| {
            *nodes.borrow_mut().entry((process, stack)).or_insert_with(|| {
                let node = tree.child(ROOT, Frame::Process(process));
                let mut path = Vec::new();
                host.path(process, stack, &mut path);
                if path.is_empty() {
                    return tree.child(node, Frame::UnknownLine);
                }
                path.iter().fold(node, |node, frame| tree.child(node, Frame::Host(*frame)))
            })
        })
    }
}

/// The process with this number, if its trace is open too.
fn process_of(frames: &Frames, launcher: u32, pid: u32) -> Frame {
    let host = |p: usize| frames.processes.get(p).and_then(|p| p.info.host.as_deref());
    let own_host = host(launcher as usize);
    let is_it = |p: &usize| {
        let info = &frames.processes[*p].info;
        info.pid == Some(pid) && !info.is_launcher && host(*p) == own_host
    };
    (0..frames.processes.len()).find(is_it).map_or(Frame::Pid(pid), |p| Frame::Process(p as u32))
}

/// The stack of each launch, by correlation id.
fn launches(frames: &Frames) -> Result<Sites> {
    let rows = frames.fold(
        &tables::LAUNCH_STACK,
        &[launch_stack::CORRELATION, launch_stack::STACK_ID],
        &Filter::everything(),
        Vec::new,
        |rows: &mut Vec<(u32, u64, u32)>, batch| {
            let (correlation, stack) = (batch.get(launch_stack::CORRELATION), batch.get(launch_stack::STACK_ID));
            batch.for_each_row(|i| {
                if let (Some(correlation), Some(stack)) = (correlation.get(i), stack.get(i)) {
                    rows.push((batch.process, correlation, stack));
                }
            });
        },
        |all, mut more| all.append(&mut more),
    )?;
    let mut sites = Sites::default();
    for (process, correlation, stack) in rows {
        sites.set_first(process, correlation, stack);
    }
    Ok(sites)
}
