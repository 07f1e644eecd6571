//! What the run's length depends on: the critical path and waiting times, as nvprof's `--dependency-analysis` has them.
//!
//! A host thread is a row of API calls, a stream a row of kernels, copies and fills. An activity depends on the one
//! before it in its row; work on the GPU also on the call that launched it, and on the work that its stream was told to
//! wait for; a call that waits also on the work that it waits for. **Waiting time** of a call is the part of it in
//! which that work still ran; of work on the GPU, the time by which another stream's work held it back. The
//! **critical path** is walked backwards from the last end: always to the latest of what an activity depends on, so
//! that it never contains waiting. What is on the path and in no activity (the host's own work, latencies) is
//! [`OTHER`].

mod graph;
mod walk;

use super::labels::Labels;
use super::work_class::Class;
use crate::error::Result;
use crate::trace::select::Filter;
use graph::Graph;
use std::collections::BTreeMap;
use trace_format::schema::TableSpec;
use trace_format::tables;
pub use walk::Between;
use walk::Path;

/// The tables that are read.
pub const TABLES: [&TableSpec; 7] = [
    &tables::KERNEL,
    &tables::MEMCPY,
    &tables::MEMSET,
    &tables::GRAPH,
    &tables::API,
    &tables::SYNC,
    &tables::EVENT,
];

/// Stands for what is no activity.
pub const OTHER: &str = "<Other>";

/// What kind of activity is called so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A call of the CUDA API.
    Call,
    /// Work on the GPU.
    Work(Class),
    /// None: [`OTHER`].
    Other,
}

/// One name's part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Kernel, copy, fill, API call or [`OTHER`].
    pub name: String,
    /// Which of these.
    pub kind: Kind,
    /// Time on the critical path.
    pub critical_ns: u128,
    /// Time waited for others.
    pub waiting_ns: u128,
}

/// One activity's part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its start.
    pub start_ns: i64,
    /// Its duration.
    pub duration_ns: i64,
    /// Its name, as an index into [`Dependencies::names`].
    pub name: usize,
    /// Time on the critical path.
    pub critical_ns: i64,
    /// Time waited for others.
    pub waiting_ns: i64,
}

/// The answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dependencies {
    /// By name: most time on the critical path first, then most waiting time, then by name.
    pub rows: Vec<Row>,
    /// Length of the critical path.
    pub total_ns: u128,
    /// What [`OTHER`] is made of.
    pub between: Between,
    /// Every activity, by start, if they were asked for.
    pub parts: Vec<Part>,
    /// The names of `parts`.
    pub names: Vec<String>,
}

/// Analyses the selected activities of one process. Gives no [`Dependencies::parts`].
///
/// # Errors
/// Fails if a part of a file cannot be read.
pub fn dependencies(labels: &Labels, filter: &Filter, process: u32) -> Result<Dependencies> {
    let graph = Graph::read(labels, &filter.within_process(process))?;
    let path = walk::back(&graph);
    Ok(by_name(&graph, &path))
}

/// As [`dependencies`], with [`Dependencies::parts`].
///
/// # Errors
/// Fails if a part of a file cannot be read.
pub fn dependencies_with_parts(labels: &Labels, filter: &Filter, process: u32) -> Result<Dependencies> {
    let graph = Graph::read(labels, &filter.within_process(process))?;
    Ok(analyse(&graph))
}

fn analyse(graph: &Graph) -> Dependencies {
    let path = walk::back(graph);
    let mut parts: Vec<Part> = each_part(graph, &path).collect();
    parts.sort_by(|a, b| {
        (a.start_ns, a.duration_ns, &graph.names[a.name]).cmp(&(b.start_ns, b.duration_ns, &graph.names[b.name]))
    });
    Dependencies { parts, ..by_name(graph, &path) }
}

/// The part of each activity, calls first.
fn each_part(graph: &Graph, path: &Path) -> impl Iterator<Item = Part> {
    let calls = graph.calls.iter().zip(&path.calls).map(|(call, &critical_ns)| Part {
        start_ns: call.start_ns,
        duration_ns: call.end_ns.saturating_sub(call.start_ns),
        name: call.name as usize,
        critical_ns,
        waiting_ns: graph.waiting_of_call(call),
    });
    let work = graph.work.iter().zip(&path.work).map(|(work, &critical_ns)| Part {
        start_ns: work.start_ns,
        duration_ns: work.end_ns.saturating_sub(work.start_ns),
        name: work.name as usize,
        critical_ns,
        waiting_ns: work.held_back_ns,
    });
    calls.chain(work)
}

/// The rows.
fn by_name(graph: &Graph, path: &Path) -> Dependencies {
    let mut sums: Vec<Option<(u128, u128)>> = vec![None; graph.names.len()];
    for part in each_part(graph, path) {
        let sum = sums[part.name].get_or_insert_default();
        sum.0 += u128::from(part.critical_ns.unsigned_abs());
        sum.1 += u128::from(part.waiting_ns.unsigned_abs());
    }
    // What is called the same and is not of one kind keeps rows of its own.
    let mut by_name: BTreeMap<(&str, Kind), (u128, u128)> = BTreeMap::new();
    for ((name, &kind), sums) in graph.names.iter().zip(&graph.kinds).zip(sums) {
        let Some((critical_ns, waiting_ns)) = sums else { continue };
        let sum = by_name.entry((name, kind)).or_default();
        *sum = (sum.0 + critical_ns, sum.1 + waiting_ns);
    }
    let other_ns = path.between.total_ns();
    if other_ns > 0 {
        by_name.entry((OTHER, Kind::Other)).or_default().0 += u128::from(other_ns.unsigned_abs());
    }
    let row = |((name, kind), (critical_ns, waiting_ns)): ((&str, Kind), (u128, u128))| Row {
        name: name.to_owned(),
        kind,
        critical_ns,
        waiting_ns,
    };
    let mut rows: Vec<Row> = by_name.into_iter().map(row).collect();
    // The rows are in the order of names, and the sort is stable: rows with equal times stay in that order.
    rows.sort_by_key(|row| std::cmp::Reverse((row.critical_ns, row.waiting_ns)));
    let total_ns = rows.iter().map(|row| row.critical_ns).sum();
    Dependencies { rows, total_ns, between: path.between, parts: Vec::new(), names: graph.names.clone() }
}

#[cfg(test)]
mod tests;
