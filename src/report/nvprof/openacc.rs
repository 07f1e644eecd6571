//! OpenACC regions: the rows of their summary section, and `--print-openacc-trace`.

use std::io;

use hashbrown::HashMap;

use crate::analysis::activity::{GpuActivity, OpenaccRegion};
use crate::analysis::openacc::exclusive_ns;
use crate::analysis::stats::Wanted;
use crate::analysis::summary::{Summary, SummaryRow};

use super::listing::{Cell, Column, Listing, Name, Row, push_name};
use super::trace::unified_row;
use super::{Labels, Options, messages};
use trace_format::vocabulary::openacc_kind;

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
        let new = || SummaryRow::new(name.clone(), Default::default());
        let row = by_name.entry_ref(name.as_str()).or_insert_with(new);
        row.stats.add(duration, Wanted::default());
    }
    summary.rows = by_name.into_values().collect();
    summary.sort();
    summary
}

/// Writes `--print-openacc-trace`. `regions` by start; with them, as nvprof does, events of unified memory.
pub fn trace(
    out: &mut dyn io::Write,
    regions: &[OpenaccRegion],
    unified: &[GpuActivity],
    labels: &dyn Labels,
    options: &Options,
) -> io::Result<()> {
    if regions.is_empty() && unified.is_empty() {
        // Kernels, indeed: nvprof has no other words here.
        return writeln!(out, "{}", messages::NO_KERNELS);
    }
    let valid = regions.iter().filter(|r| r.duration_ns.is_some()).map(|r| r.start_ns);
    let first = valid.chain(unified.iter().map(|event| event.start_ns)).min().unwrap_or(0);
    let origin = options.origin_ns.unwrap_or(first);
    let mut rows: Vec<(i64, Row)> = regions.iter().map(|r| (r.start_ns, row(r, labels, origin))).collect();
    let without_place = |event: &GpuActivity| {
        let mut row = unified_row(event, origin);
        row.set(Column::Device, Cell::Empty);
        row
    };
    rows.extend(unified.iter().map(|event| (event.start_ns, without_place(event))));
    // A stable order: of equal starts the region comes first.
    rows.sort_by_key(|(start, _)| *start);
    let mut columns = vec![Column::Start, Column::Duration];
    columns.extend(regions.iter().any(|r| r.bytes.is_some_and(|b| b != 0)).then_some(Column::Size));
    columns.extend([Column::Device, Column::Context, Column::Stream]);
    columns.extend((!unified.is_empty()).then_some(Column::UnifiedMemory));
    // Sizes in a column of one unit are in bytes, however large.
    let decide_units = rows.iter().map(|(_, row)| {
        let mut row = row.clone();
        row.set(Column::Size, Cell::Empty);
        row
    });
    let mut listing = Listing::new(&columns, decide_units, labels, options);
    listing.head(out)?;
    rows.iter().try_for_each(|(_, row)| listing.row(out, row))
}

fn row<'a>(region: &OpenaccRegion, labels: &'a dyn Labels, origin_ns: i64) -> Row<'a> {
    let mut row = Row::new(name_of(region, labels));
    row.set_times(region.start_ns, region.duration_ns, origin_ns);
    if let Some(bytes) = region.bytes.filter(|&b| b != 0) {
        row.set(Column::Size, Cell::Value(bytes as f64));
    }
    if let Some((device, context, stream)) = region.place {
        row.set(Column::Device, Cell::Device(region.process, device))
            .set(Column::Context, Cell::Id(context))
            .set(Column::Stream, Cell::Id(stream));
    }
    row
}

/// `acc_enqueue_launch@nbody.cpp:101 (_Z23center…)`: the file without its folders; kernels stay mangled.
fn name_of<'a>(region: &OpenaccRegion, labels: &'a dyn Labels) -> Name<'a> {
    let path = if region.file == 0 { "" } else { labels.text(region.file) };
    let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let place = (!file.is_empty()).then(|| (file, region.line.unwrap_or(0)));
    let about = if region.variable == 0 { "" } else { labels.text(region.variable) };
    Name::Region(event_name(region.kind), place, (!about.is_empty()).then_some(about))
}

/// `CUpti_OpenAccEventKind` as nvprof prints it.
fn event_name(kind: u32) -> &'static str {
    match kind {
        openacc_kind::DEVICE_INIT => "acc_device_init",
        openacc_kind::DEVICE_SHUTDOWN => "acc_device_shutdown",
        openacc_kind::RUNTIME_SHUTDOWN => "acc_runtime_shutdown",
        openacc_kind::ENQUEUE_LAUNCH => "acc_enqueue_launch",
        openacc_kind::ENQUEUE_UPLOAD => "acc_enqueue_upload",
        openacc_kind::ENQUEUE_DOWNLOAD => "acc_enqueue_download",
        openacc_kind::WAIT => "acc_wait",
        openacc_kind::IMPLICIT_WAIT => "acc_implicit_wait",
        openacc_kind::COMPUTE_CONSTRUCT => "acc_compute_construct",
        openacc_kind::UPDATE => "acc_update",
        openacc_kind::ENTER_DATA => "acc_enter_data",
        openacc_kind::EXIT_DATA => "acc_exit_data",
        openacc_kind::CREATE => "acc_create",
        openacc_kind::DELETE => "acc_delete",
        openacc_kind::ALLOC => "acc_alloc",
        openacc_kind::FREE => "acc_free",
        _ => "acc_unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{CSV, Names, TEXT, region, written};
    use super::*;

    fn regions() -> Vec<OpenaccRegion> {
        let mut init = region(1_000_000, 20_945, 1, 0, 0);
        init.place = None;
        vec![
            init,
            region(286_080_000, 100_000, 11, 3, 0),
            region(286_090_000, 0, 13, 3, 0),
            region(286_100_000, 30_000, 4, 3, 4),
            region(286_200_000, 9_000, 5, 5, 7),
        ]
    }

    #[test]
    fn names_have_the_file_without_folders_and_what_it_is_about() {
        let rows = summary(&regions(), &Names::new(), false).rows;
        let rows: Vec<_> = rows.iter().map(|r| (r.name.as_str(), r.stats.total_ns)).collect();
        assert_eq!(
            rows,
            [
                ("acc_enter_data@nbody.cpp:101", 70_000),
                ("acc_enqueue_launch@nbody.cpp:101 (_Z3fooPfi)", 30_000),
                ("acc_device_init", 20_945),
                ("acc_enqueue_upload@a \"b\".c:101 (X[:n])", 9_000),
                ("acc_create@nbody.cpp:101", 0),
            ]
        );
        let inclusive = summary(&regions(), &Names::new(), true);
        assert_eq!(inclusive.rows[0].stats.total_ns, 100_000);
    }

    #[test]
    fn trace_has_sizes_and_places_where_known() {
        assert_eq!(
            written(|out| trace(out, &regions(), &[], &Names::new(), &TEXT)),
            &"
   Start  Duration      Size           Device   Context    Stream  Name
     0ns  20.945us         -                -         -         -  acc_device_init
285.08ms  100.00us         -  Tesla V100-SXM2         1        14  acc_enter_data@nbody.cpp:101
285.09ms       0ns  76.000KB  Tesla V100-SXM2         1        14  acc_create@nbody.cpp:101
285.10ms  30.000us         -  Tesla V100-SXM2         1        14  acc_enqueue_launch@nbody.cpp:101 (_Z3fooPfi)
285.20ms  9.0000us         -  Tesla V100-SXM2         1        14  acc_enqueue_upload@a \"b\".c:101 (X[:n])
"[1..]
        );
    }

    #[test]
    fn quotes_in_csv_names_are_doubled() {
        let text = written(|out| trace(out, &regions()[4..], &[], &Names::new(), &CSV));
        assert!(text.ends_with(",\"acc_enqueue_upload@a \"\"b\"\".c:101 (X[:n])\",\n"), "{text}");
    }

    #[test]
    fn an_empty_trace_speaks_of_kernels() {
        assert_eq!(written(|out| trace(out, &[], &[], &Names::new(), &TEXT)), "No kernels were profiled.\n");
    }
}
