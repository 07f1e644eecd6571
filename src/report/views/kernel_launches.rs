//! Kernels together with the calls that launched them. Kernels whose call was not recorded are not listed: there is
//! nothing to say about their launch.

use super::lines::QUANTILES;
use super::named::{Clock, Named, five, pid};
use super::nsys_names::{KERNEL_NAMES, KernelName, LaunchSize};
use crate::analysis::launches::{KernelLaunch, Launches, kernel_launch};
use crate::analysis::listing;
use crate::analysis::per_process::{each_process, processes_with};
use crate::analysis::stats::Stats;
use crate::error::Result;
use crate::render::table::{Cell, Table};
use crate::report::Context;
use crate::trace::sink::Detail;
use hashbrown::HashMap;
use trace_format::tables;

/// `cuda_kern_exec_sum`.
pub(super) static CUDA_KERN_EXEC_SUM: Named = Named {
    name: "cuda_kern_exec_sum",
    aliases: &["kernexecsum"],
    title: "CUDA Kernel Launch & Exec Time Summary",
    tables: &[&tables::KERNEL, &tables::API],
    detail: Detail::Full,
    arguments: KERNEL_NAMES,
    key: &["PID", "TID", "DevId", "API Name", "Kernel Name"],
    make: summary,
};

/// `cuda_kern_exec_trace`.
pub(super) static CUDA_KERN_EXEC_TRACE: Named = Named {
    name: "cuda_kern_exec_trace",
    aliases: &["kernexectrace"],
    title: "CUDA Kernel Launch & Exec Time Trace",
    tables: &[&tables::KERNEL, &tables::API],
    detail: Detail::Full,
    arguments: KERNEL_NAMES,
    key: &[],
    make: trace,
};

/// Times of one group: whole, call, queue, kernel.
#[derive(Default)]
struct Phases {
    total: Stats,
    call: Stats,
    queue: Stats,
    kernel: Stats,
}

impl Phases {
    fn add(&mut self, launch: &KernelLaunch) {
        let times = &launch.times;
        self.total.add(times.total_ns, QUANTILES);
        self.call.add(times.call_ns, QUANTILES);
        if let Some(ns) = times.queue_ns() {
            self.queue.add(ns, QUANTILES);
        }
        self.kernel.add(times.work_ns, QUANTILES);
    }

    fn merge(&mut self, other: Phases) {
        self.total.merge(other.total);
        self.call.merge(other.call);
        self.queue.merge(other.queue);
        self.kernel.merge(other.kernel);
    }
}

/// Process, thread, device, names of call and kernel.
type Key<'a> = (u32, u32, u32, &'a str, &'a str);

/// Launches by [`Key`].
#[derive(Default)]
struct ByNames<'a> {
    groups: Vec<(Key<'a>, Phases)>,
    by_names: HashMap<Key<'a>, usize>,
    /// Texts are looked at once for each thread, device, call and shape, not for each record.
    by_ids: HashMap<[u32; 5], usize>,
}

impl<'a> ByNames<'a> {
    fn group(&mut self, key: Key<'a>) -> usize {
        *self.by_names.entry(key).or_insert_with(|| {
            self.groups.push((key, Phases::default()));
            self.groups.len() - 1
        })
    }

    fn add(&mut self, launch: &KernelLaunch<'_>, names: impl Fn() -> (&'a str, &'a str)) {
        let (call, kernel) = (launch.call, launch.kernel);
        let ids = [call.process, call.tid, kernel.device, call.name, launch.shape];
        let group = match self.by_ids.get(&ids) {
            Some(&group) => group,
            None => {
                let (call_name, kernel_name) = names();
                let group = self.group((call.process, call.tid, kernel.device, call_name, kernel_name));
                self.by_ids.insert(ids, group);
                group
            }
        };
        self.groups[group].1.add(launch);
    }

    fn merge(&mut self, other: ByNames<'a>) {
        for (key, phases) in other.groups {
            let group = self.group(key);
            self.groups[group].1.merge(phases);
        }
    }
}

/// One row per thread, device, call and kernel; longest mean first.
fn summary(view: &Named, context: &Context) -> Result<Table> {
    let columns = [
        "PID",
        "TID",
        "DevId",
        "Count",
        "QCount",
        "TAvg (ns)",
        "TMed (ns)",
        "TMin (ns)",
        "TMax (ns)",
        "TStdDev (ns)",
        "AAvg (ns)",
        "AMed (ns)",
        "AMin (ns)",
        "AMax (ns)",
        "AStdDev (ns)",
        "QAvg (ns)",
        "QMed (ns)",
        "QMin (ns)",
        "QMax (ns)",
        "QStdDev (ns)",
        "KAvg (ns)",
        "KMed (ns)",
        "KMin (ns)",
        "KMax (ns)",
        "KStdDev (ns)",
        "API Name",
        "Kernel Name",
    ];
    let mut table = view.mixed(&columns, &["API Name", "Kernel Name"]);
    let (labels, style) = (context.labels, KernelName::of(context));
    let frames = context.frames;
    // Ids are of a process, so that the calls of one are in memory at a time.
    let processes = processes_with(frames, &[&tables::KERNEL], context.filter);
    let of_processes = each_process(&processes, |process| {
        let filter = context.filter.within_process(process);
        let launches = Launches::read(frames, &filter)?;
        listing::fold_work(
            frames,
            &[&tables::KERNEL],
            &filter,
            ByNames::default,
            |all, kernel| {
                if let Some(launch) = kernel_launch(&launches, &kernel) {
                    all.add(&launch, || (labels.api(launch.call.name), style.text(labels, launch.shape)));
                }
            },
            ByNames::merge,
        )
    })?;
    // A process is part of what rows are told apart by.
    let mut groups: Vec<(Key, Phases)> = of_processes.into_iter().flat_map(|of| of.groups).collect();
    groups.sort_by(|(a, x), (b, y)| {
        // Means compared as fractions, so that no rounding decides.
        let (left, right) =
            (x.total.total_ns * u128::from(y.total.count), y.total.total_ns * u128::from(x.total.count));
        right.cmp(&left).then_with(|| a.cmp(b))
    });
    for ((process, tid, device, call, kernel), mut phases) in groups {
        let mut row = vec![
            pid(context.frames, process),
            Cell::id(tid),
            Cell::id(device),
            Cell::int(phases.total.count),
            Cell::int(phases.queue.count),
        ];
        for stats in [&mut phases.total, &mut phases.call, &mut phases.queue, &mut phases.kernel] {
            row.extend(five(stats));
        }
        row.extend([call.into(), kernel.into()]);
        table.rows.push(row);
    }
    Ok(table)
}

/// One row per kernel, in the order of the calls.
fn trace(view: &Named, context: &Context) -> Result<Table> {
    let columns = [
        "API Start (ns)",
        "API Dur (ns)",
        "Queue Start (ns)",
        "Queue Dur (ns)",
        "Kernel Start (ns)",
        "Kernel Dur (ns)",
        "Total Dur (ns)",
        "PID",
        "TID",
        "DevId",
        "API Function",
        "GridXYZ",
        "BlockXYZ",
        "Kernel Name",
    ];
    let mut table = view.mixed(&columns, &["API Function", "GridXYZ", "BlockXYZ", "Kernel Name"]);
    let (labels, style) = (context.labels, KernelName::of(context));
    let clock = Clock::new(context.frames);
    let launches = Launches::read(context.frames, context.filter)?;
    let work = listing::work(context.frames, &[&tables::KERNEL], context.filter)?;
    let mut rows: Vec<KernelLaunch> = work.iter().filter_map(|work| kernel_launch(&launches, work)).collect();
    rows.sort_by_key(|launch| launch.call.start_ns);
    for launch in rows {
        let process = launch.call.process;
        let time = |ns: i64| clock.cell(context.frames, process, ns);
        let (times, queue_ns) = (&launch.times, launch.times.queue_ns());
        let call_end = launch.call.start_ns.saturating_add(times.call_ns);
        let [grid, block] = LaunchSize::of(labels.frames(), launch.shape).cells();
        table.rows.push(vec![
            time(launch.call.start_ns),
            Cell::int(times.call_ns),
            queue_ns.map_or(Cell::Null, |_| time(call_end)),
            Cell::opt(queue_ns),
            time(launch.kernel.start_ns),
            Cell::int(times.work_ns),
            Cell::int(times.total_ns),
            pid(context.frames, process),
            Cell::id(launch.call.tid),
            Cell::id(launch.kernel.device),
            labels.api(launch.call.name).into(),
            grid,
            block,
            style.text(labels, launch.shape).into(),
        ]);
    }
    Ok(table)
}
