//! Ranges as the GPU saw them. Work belongs to every range that was open on the thread of the call that launched it,
//! from the start of the call to its end; a range is projected to the time from the start of its first work to the
//! end of its last. Projections may overlap, and nothing is subtracted from the outer ones.
//!
//! A start/end range counts for the thread that started it: traces do not say where it ended.

use super::lines::QUANTILES;
use super::named::{Clock, Named, five, pid, ratio};
use super::nsys_names::{KERNEL_NAMES, KernelName, range_name, range_style, range_text};
use super::ranges::{numbers, stack};
use crate::analysis::activity::{ActivityKind, GpuActivity, WORK_TABLES};
use crate::analysis::launches::{Launches, credit_work};
use crate::analysis::listing;
use crate::analysis::ranges::{Nesting, Range, nesting, ranges};
use crate::analysis::stats::Stats;
use crate::error::Result;
use crate::render::table::{Cell, Table};
use crate::report::Context;
use crate::trace::select::Filter;
use crate::trace::sink::Detail;
use hashbrown::{HashMap, HashSet};
use trace_format::schema::TableSpec;
use trace_format::tables;

/// `nvtx_gpu_proj_sum`.
pub(super) static NVTX_GPU_PROJ_SUM: Named = Named {
    name: "nvtx_gpu_proj_sum",
    aliases: &["nvtxgpuprojsum"],
    title: "NVTX GPU Projection Summary",
    tables: TABLES,
    detail: Detail::Full,
    arguments: &[],
    key: &["Range", "Style"],
    make: summary,
};

/// `nvtx_gpu_proj_trace`, which was `nvtxgpuproj`.
pub(super) static NVTX_GPU_PROJ_TRACE: Named = Named {
    name: "nvtx_gpu_proj_trace",
    aliases: &["nvtxgpuproj"],
    title: "NVTX GPU Projection Trace",
    tables: TABLES,
    detail: Detail::Full,
    arguments: &[],
    key: &["PID", "RangeId"],
    make: trace,
};

/// `nvtx_kern_sum`.
pub(super) static NVTX_KERN_SUM: Named = Named {
    name: "nvtx_kern_sum",
    aliases: &["nvtxkernsum"],
    title: "NVTX Range Kernel Summary",
    tables: &[&tables::KERNEL, &tables::API, &tables::RANGE],
    detail: Detail::Full,
    arguments: KERNEL_NAMES,
    key: &["NVTX Range", "Style", "PID", "TID", "Kernel Name"],
    make: kernels,
};

const TABLES: &[&TableSpec] =
    &[&tables::KERNEL, &tables::MEMCPY, &tables::MEMSET, &tables::GRAPH, &tables::API, &tables::RANGE];

/// What a range's work spans on the GPU.
struct Projection {
    start_ns: i64,
    end_ns: i64,
    operations: u64,
}

/// All ranges, how they nest, and projections of those that launched something.
struct Projected {
    ranges: Vec<Range>,
    nesting: Vec<Nesting>,
    /// In order of their start on the GPU, outer ranges first.
    projections: Vec<(usize, Projection)>,
    /// How many ranges right inside one launched something, by range: nsys counts no others as children here.
    children: HashMap<usize, u32>,
}

impl Projected {
    fn children(&self, range: usize) -> u32 {
        self.children.get(&range).copied().unwrap_or(0)
    }
}

/// Work with valid times.
struct Timed {
    process: u32,
    correlation: u64,
    start_ns: i64,
    duration_ns: i64,
    /// Launch shape of a kernel.
    shape: u32,
}

impl Timed {
    /// The selected work of some tables, in no order.
    fn read(context: &Context, wanted: &[&'static TableSpec]) -> Result<Vec<Timed>> {
        let add = |all: &mut Vec<Timed>, work: GpuActivity| {
            let Some(duration_ns) = work.duration_ns else { return };
            let shape = if let ActivityKind::Kernel { shape } = work.what { shape } else { u32::MAX };
            let GpuActivity { process, correlation, start_ns, .. } = work;
            all.push(Timed { process, correlation, start_ns, duration_ns, shape });
        };
        listing::fold_work(context.frames, wanted, context.filter, Vec::new, add, |a, mut b| a.append(&mut b))
    }

    fn launch(&self) -> (u32, u64) {
        (self.process, self.correlation)
    }
}

/// A filter selects GPU work; the ranges it belongs to are looked for among all.
fn project(context: &Context) -> Result<Projected> {
    let ranges = ranges(context.frames, &Filter::everything())?;
    let mut projections: HashMap<usize, Projection> = HashMap::new();
    if !ranges.is_empty() {
        let launches = Launches::read(context.frames, context.filter)?;
        let work = Timed::read(context, &WORK_TABLES)?;
        credit_work(&launches, &ranges, &work, Timed::launch, |range, i| {
            let (start_ns, ns) = (work[i].start_ns, work[i].duration_ns);
            let end_ns = start_ns.saturating_add(ns);
            let projection = projections.entry(range).or_insert(Projection { start_ns, end_ns, operations: 0 });
            projection.start_ns = projection.start_ns.min(start_ns);
            projection.end_ns = projection.end_ns.max(end_ns);
            projection.operations += 1;
        });
    }
    let mut projections: Vec<_> = projections.into_iter().collect();
    projections.sort_unstable_by_key(|(range, projection)| (projection.start_ns, *range));
    let nesting = nesting(&ranges);
    let mut children: HashMap<usize, u32> = HashMap::new();
    for parent in projections.iter().filter_map(|(range, _)| nesting[*range].parent) {
        *children.entry(parent).or_default() += 1;
    }
    Ok(Projected { ranges, nesting, projections, children })
}

/// Sums over the ranges of one name and style.
#[derive(Default)]
struct Sums {
    projected: Stats,
    original_ns: u128,
    operations: u64,
    levels: u64,
    children: u64,
}

fn summary(view: &Named, context: &Context) -> Result<Table> {
    let columns = [
        "Range",
        "Style",
        "Total Proj Time (ns)",
        "Total Range Time (ns)",
        "Range Instances",
        "Proj Avg (ns)",
        "Proj Med (ns)",
        "Proj Min (ns)",
        "Proj Max (ns)",
        "Proj StdDev (ns)",
        "Total GPU Ops",
        "Avg GPU Ops",
        "Avg Range Lvl",
        "Avg Num Child",
    ];
    let mut table = view.mixed(&columns, &["Range", "Style"]);
    let all = project(context)?;
    let mut groups: HashMap<(u32, u32, u32), Sums> = HashMap::new();
    for (i, projection) in &all.projections {
        let (range, nesting) = (&all.ranges[*i], &all.nesting[*i]);
        let sums = groups.entry((range.style, range.domain, range.name)).or_default();
        sums.projected.add(projection.end_ns.saturating_sub(projection.start_ns), QUANTILES);
        sums.original_ns += range.duration_ns().unwrap_or(0) as u128;
        sums.operations += projection.operations;
        sums.levels += u64::from(nesting.level);
        sums.children += u64::from(all.children(*i));
    }
    let named =
        |((style, domain, name), sums)| (range_name(context.labels, domain, name), range_style(style), sums);
    let mut rows: Vec<(String, &str, Sums)> = groups.into_iter().map(named).collect();
    rows.sort_by(|(a, x, p), (b, y, q)| {
        q.projected.total_ns.cmp(&p.projected.total_ns).then_with(|| (a, x).cmp(&(b, y)))
    });
    for (name, style, mut sums) in rows {
        let count = sums.projected.count;
        let average = |total: u64| ratio(u128::from(total), u128::from(count), 1);
        let mut row = vec![
            Cell::Text(name),
            style.into(),
            Cell::int(sums.projected.total_ns),
            Cell::int(sums.original_ns),
            Cell::int(count),
        ];
        row.extend(five(&mut sums.projected));
        row.extend([
            Cell::int(sums.operations),
            average(sums.operations),
            average(sums.levels),
            average(sums.children),
        ]);
        table.rows.push(row);
    }
    Ok(table)
}

fn trace(view: &Named, context: &Context) -> Result<Table> {
    let columns = [
        "Name",
        "Projected Start (ns)",
        "Projected Duration (ns)",
        "Orig Start (ns)",
        "Orig Duration (ns)",
        "Style",
        "PID",
        "TID",
        "NumGPUOps",
        "Lvl",
        "NumChild",
        "RangeId",
        "ParentId",
        "RangeStack",
    ];
    let mut table = view.mixed(&columns, &["Name", "Style", "RangeStack"]);
    let clock = Clock::new(context.frames);
    let all = project(context)?;
    let numbers = numbers(&all.ranges);
    for (i, projection) in &all.projections {
        let (range, nesting) = (&all.ranges[*i], &all.nesting[*i]);
        let time = |ns: i64| clock.cell(context.frames, range.process, ns);
        table.rows.push(vec![
            Cell::Text(range_text(context.labels, range.domain, range.name)),
            time(projection.start_ns),
            Cell::int(projection.end_ns.saturating_sub(projection.start_ns)),
            time(range.start_ns),
            Cell::opt(range.duration_ns()),
            range_style(range.style).into(),
            pid(context.frames, range.process),
            Cell::id(range.tid),
            Cell::int(projection.operations),
            Cell::int(nesting.level),
            Cell::int(all.children(*i)),
            Cell::int(numbers[*i]),
            Cell::opt(nesting.parent.map(|p| numbers[p])),
            Cell::Text(stack(&all.nesting, &numbers, *i)),
        ]);
    }
    Ok(table)
}

/// Kernels of one name launched inside ranges of one name on one thread, or outside all ranges.
#[derive(Default)]
struct Kernels {
    ranges: HashSet<usize>,
    last: Option<usize>,
    stats: Stats,
}

impl Kernels {
    /// Adds a kernel. One inside a range that is open twice, as in recursion, counts once: it comes twice in a row.
    fn add(&mut self, kernel: usize, duration_ns: i64) {
        if self.last.replace(kernel) != Some(kernel) {
            self.stats.add(duration_ns, QUANTILES);
        }
    }
}

/// A range by domain, name and style, or `None` outside all.
type RangeKind = Option<(u32, u32, u32)>;

/// A range, process, thread, kernel name.
type Key<'a> = (RangeKind, u32, Option<u32>, &'a str);

/// Kernels by [`Key`].
#[derive(Default)]
struct ByRange<'a> {
    groups: Vec<(Key<'a>, Kernels)>,
    by_key: HashMap<Key<'a>, usize>,
    /// Texts are looked at once for each range, thread and shape, not for each kernel.
    by_ids: HashMap<(RangeKind, u32, Option<u32>, u32), usize>,
}

impl<'a> ByRange<'a> {
    fn of(
        &mut self,
        range: RangeKind,
        tid: Option<u32>,
        kernel: &Timed,
        name: impl Fn(u32) -> &'a str,
    ) -> &mut Kernels {
        let ids = (range, kernel.process, tid, kernel.shape);
        let group = *self.by_ids.entry(ids).or_insert_with(|| {
            let key = (range, kernel.process, tid, name(kernel.shape));
            *self.by_key.entry(key).or_insert_with(|| {
                self.groups.push((key, Kernels::default()));
                self.groups.len() - 1
            })
        });
        &mut self.groups[group].1
    }
}

fn kernels(view: &Named, context: &Context) -> Result<Table> {
    let columns = [
        "NVTX Range",
        "Style",
        "PID",
        "TID",
        "NVTX Inst",
        "Kern Inst",
        "Total Time (ns)",
        "Avg (ns)",
        "Med (ns)",
        "Min (ns)",
        "Max (ns)",
        "StdDev (ns)",
        "Kernel Name",
    ];
    let mut table = view.mixed(&columns, &["NVTX Range", "Style", "Kernel Name"]);
    let (labels, style) = (context.labels, KernelName::of(context));
    let launches = Launches::read(context.frames, context.filter)?;
    let work = Timed::read(context, &[&tables::KERNEL])?;
    let ranges = ranges(context.frames, &Filter::everything())?;
    let name = |shape: u32| style.text(labels, shape);
    let mut all = ByRange::default();
    let mut inside = vec![false; work.len()];
    credit_work(&launches, &ranges, &work, Timed::launch, |range, i| {
        let r = &ranges[range];
        let group = all.of(Some((r.domain, r.name, r.style)), Some(r.tid), &work[i], name);
        inside[i] = true;
        group.ranges.insert(range);
        group.add(i, work[i].duration_ns);
    });
    for (i, kernel) in work.iter().enumerate().filter(|(i, _)| !inside[*i]) {
        let tid = launches.call_of(kernel.process, kernel.correlation).map(|call| call.tid);
        all.of(None, tid, kernel, name).add(i, kernel.duration_ns);
    }
    let mut rows = all.groups;
    rows.sort_by(|((a, ap, at, ak), x), ((b, bp, bt, bk), y)| {
        y.stats.total_ns.cmp(&x.stats.total_ns).then_with(|| {
            let name = |range: &RangeKind| range.map(|(domain, name, _)| range_name(labels, domain, name));
            let style = |range: &RangeKind| range.map(|(.., style)| style);
            (name(a), style(a), ap, at, ak).cmp(&(name(b), style(b), bp, bt, bk))
        })
    });
    for ((range, process, tid, kernel), mut group) in rows {
        let mut row = vec![
            range.map_or(Cell::Null, |(domain, name, _)| Cell::Text(range_name(labels, domain, name))),
            range.map_or(Cell::Null, |(.., style)| range_style(style).into()),
            pid(context.frames, process),
            tid.map_or(Cell::Null, Cell::id),
            Cell::int(group.ranges.len()),
            Cell::int(group.stats.count),
            Cell::int(group.stats.total_ns),
        ];
        row.extend(five(&mut group.stats));
        row.push(kernel.into());
        table.rows.push(row);
    }
    Ok(table)
}
