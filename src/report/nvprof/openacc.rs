//! OpenACC regions: the rows of their summary section, and `--print-openacc-trace`.

use std::io;

use hashbrown::HashMap;

use crate::analysis::activity::OpenaccRegion;
use crate::analysis::openacc::exclusive_ns;
use crate::analysis::stats::Wanted;
use crate::analysis::summary::{Summary, SummaryRow};

use super::listing::{Cell, Column, Listing, Name, Row, push_name};
use super::{Labels, Options, messages};

/// Sums regions by what they are called. Exclusive times (nvprof's default) leave out nested regions;
/// `--openacc-summary-mode inclusive` does not.
pub fn summary(regions: &[OpenaccRegion], labels: &dyn Labels, inclusive: bool) -> Summary {
    let durations = if inclusive { regions.iter().map(|r| r.duration_ns).collect() } else { exclusive_ns(regions) };
    let mut by_name: HashMap<String, SummaryRow, foldhash::fast::RandomState> = HashMap::default();
    let mut summary = Summary::default();
    let mut name = String::new();
    for (region, duration) in regions.iter().zip(durations) {
        let Some(duration) = duration else {
            summary.invalid += 1;
            continue;
        };
        name.clear();
        push_name(&mut name, name_of(region, labels), true);
        let new = || SummaryRow { name: name.clone(), stats: Default::default() };
        let row = by_name.entry_ref(name.as_str()).or_insert_with(new);
        row.stats.add(duration, Wanted::default());
    }
    summary.rows = by_name.into_values().collect();
    summary.sort();
    summary
}

/// Writes `--print-openacc-trace`. `regions` by start.
pub fn trace(
    out: &mut dyn io::Write,
    regions: &[OpenaccRegion],
    labels: &dyn Labels,
    options: &Options,
) -> io::Result<()> {
    if regions.is_empty() {
        // Kernels, indeed: nvprof has no other words here.
        return writeln!(out, "{}", messages::NO_KERNELS);
    }
    use Column::*;
    let valid = || regions.iter().filter(|r| r.duration_ns.is_some());
    let origin = options.origin_ns.unwrap_or_else(|| valid().map(|r| r.start_ns).min().unwrap_or(0));
    let rows = || regions.iter().map(|region| row(region, labels, origin));
    let columns = [Start, Duration, Size, Device, Context, Stream];
    let mut listing = Listing::new(&columns, rows(), labels, options);
    listing.head(out)?;
    rows().try_for_each(|row| listing.row(out, &row))
}

fn row<'a>(region: &OpenaccRegion, labels: &'a dyn Labels, origin_ns: i64) -> Row<'a> {
    let mut row = Row::new(name_of(region, labels)).at(region.start_ns, region.duration_ns, origin_ns);
    if let Some(bytes) = region.bytes.filter(|&b| b != 0) {
        row = row.with(Column::Size, Cell::Value(bytes as f64));
    }
    match region.place {
        None => row,
        Some((device, context, stream)) => row
            .with(Column::Device, Cell::Device(region.process, device))
            .with(Column::Context, Cell::Id(context))
            .with(Column::Stream, Cell::Id(stream)),
    }
}

/// `acc_enqueue_launch@nbody.cpp:101 (_Z23center…)`: the file without its folders; kernels stay mangled.
fn name_of<'a>(region: &OpenaccRegion, labels: &'a dyn Labels) -> Name<'a> {
    let path = if region.file == 0 { "" } else { labels.text(region.file) };
    let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let place = (!file.is_empty()).then(|| (file, region.line.unwrap_or(0)));
    let about = if region.variable == 0 { "" } else { labels.text(region.variable) };
    Name::Region(event_name(region.kind), place, (!about.is_empty()).then_some(about))
}

/// `CUpti_OpenAccEventKind` as nvprof prints it. The golden files have 1, 4 to 7 and 9 to 15; the others follow the
/// names of the OpenACC profiling interface.
fn event_name(kind: u32) -> &'static str {
    match kind {
        1 => "acc_device_init",
        2 => "acc_device_shutdown",
        3 => "acc_runtime_shutdown",
        4 => "acc_enqueue_launch",
        5 => "acc_enqueue_upload",
        6 => "acc_enqueue_download",
        7 => "acc_wait",
        8 => "acc_implicit_wait",
        9 => "acc_compute_construct",
        10 => "acc_update",
        11 => "acc_enter_data",
        12 => "acc_exit_data",
        13 => "acc_create",
        14 => "acc_delete",
        15 => "acc_alloc",
        16 => "acc_free",
        _ => "acc_unknown",
    }
}
