//! What the run's length depends on: the path back from the last end, always along what was waited for.

use super::named::{Named, percent, pid};
use crate::analysis::dependency::{Dependencies, Kind, OTHER, Row, TABLES, dependencies};
use crate::analysis::work_class::Class;
use crate::error::Result;
use crate::render::table::{Cell, Table};
use crate::report::Context;
use crate::trace::sink::Detail;

/// `critical_path`.
pub(super) static CRITICAL_PATH: Named = Named {
    name: "critical_path",
    aliases: &["critical-path"],
    title: "Critical Path by Name",
    tables: &TABLES,
    detail: Detail::Full,
    arguments: &[],
    key: &["PID", "Bound by", "Name"],
    make: by_name,
};

/// `critical_path_sum`.
pub(super) static CRITICAL_PATH_SUM: Named = Named {
    name: "critical_path_sum",
    aliases: &["critical-path-sum"],
    title: "Critical Path by What It Is Bound by",
    tables: &TABLES,
    detail: Detail::Full,
    arguments: &[],
    key: &["PID", "Bound by"],
    make: by_bound,
};

/// What a part of the path is bound by.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Bound {
    Calls,
    Host,
    Launch,
    Work(Class),
    BetweenWork,
    Unknown,
}

impl Bound {
    /// In the order of the summary where times are equal.
    const ALL: [Bound; 8] = [
        Bound::Work(Class::Computation),
        Bound::Work(Class::Communication),
        Bound::Work(Class::Memory),
        Bound::BetweenWork,
        Bound::Launch,
        Bound::Calls,
        Bound::Host,
        Bound::Unknown,
    ];

    fn name(self) -> &'static str {
        match self {
            Bound::Calls => "CUDA calls",
            Bound::Host => "host between calls",
            Bound::Launch => "launch latency",
            Bound::Work(class) => class.name(),
            Bound::BetweenWork => "gaps between work",
            Bound::Unknown => "unknown",
        }
    }
}

/// A part of a process's path.
struct Part {
    critical_ns: u128,
    /// Nothing for what is no activity.
    waiting_ns: Option<u128>,
    bound: Bound,
    name: String,
}

/// The parts of a path, the longest first.
fn parts(found: Dependencies) -> Vec<Part> {
    let activity = |row: Row| {
        let bound = match row.kind {
            Kind::Call => Bound::Calls,
            Kind::Work(class) => Bound::Work(class),
            // Its pieces come below.
            Kind::Other => return None,
        };
        Some(Part { critical_ns: row.critical_ns, waiting_ns: Some(row.waiting_ns), bound, name: row.name })
    };
    let between = found.between;
    let pieces = [
        (Bound::Host, between.calls_ns),
        (Bound::Launch, between.launch_ns),
        (Bound::BetweenWork, between.work_ns),
        (Bound::Unknown, between.unknown_ns),
    ];
    let piece = |(bound, ns): (Bound, i64)| Part {
        critical_ns: ns.unsigned_abs().into(),
        waiting_ns: None,
        bound,
        name: OTHER.to_owned(),
    };
    let mut parts: Vec<Part> = found.rows.into_iter().filter_map(activity).collect();
    parts.extend(pieces.into_iter().filter(|(_, ns)| *ns > 0).map(piece));
    // Equal ones stay in the order of the analysis.
    parts.sort_by_key(|part| std::cmp::Reverse((part.critical_ns, part.waiting_ns.unwrap_or(0))));
    parts
}

/// The parts and the length of each process's path.
fn paths(context: &Context) -> Result<Vec<(u32, u128, Vec<Part>)>> {
    let processes = 0..context.frames.processes.len() as u32;
    let path = |process| {
        let found = dependencies(context.labels, context.filter, process)?;
        Ok((process, found.total_ns, parts(found)))
    };
    processes.map(path).collect()
}

/// One row per process, name and kind.
fn by_name(view: &Named, context: &Context) -> Result<Table> {
    let columns = ["PID", "Critical (ns)", "of Critical Path (%)", "Waiting (ns)", "Bound by", "Name"];
    let mut table = view.mixed(&columns, &["Bound by", "Name"]);
    for (process, total_ns, parts) in paths(context)? {
        for part in parts {
            table.rows.push(vec![
                pid(context.frames, process),
                Cell::int(part.critical_ns),
                percent(part.critical_ns, total_ns),
                Cell::opt(part.waiting_ns),
                part.bound.name().into(),
                Cell::Text(part.name),
            ]);
        }
    }
    Ok(table)
}

/// One row per process and what its path is bound by.
fn by_bound(view: &Named, context: &Context) -> Result<Table> {
    let columns = ["PID", "Critical (ns)", "of Critical Path (%)", "Critical Path (ns)", "Bound by"];
    let mut table = view.mixed(&columns, &["Bound by"]);
    for (process, total_ns, parts) in paths(context)? {
        let sum =
            |bound| -> u128 { parts.iter().filter(|part| part.bound == bound).map(|part| part.critical_ns).sum() };
        let mut rows: Vec<(Bound, u128)> = Bound::ALL.iter().map(|&bound| (bound, sum(bound))).collect();
        rows.retain(|&(_, ns)| ns > 0);
        rows.sort_by_key(|&(_, ns)| std::cmp::Reverse(ns));
        for (bound, ns) in rows {
            table.rows.push(vec![
                pid(context.frames, process),
                Cell::int(ns),
                percent(ns, total_ns),
                Cell::int(total_ns),
                bound.name().into(),
            ]);
        }
    }
    Ok(table)
}
