//! Everything that can be asked of a trace, asked of a file that may hold anything. Used by tests and by `fuzz/`.

use gpuprof::analysis::dependency::dependencies;
use gpuprof::analysis::grouping::{self, ByName, Grouping};
use gpuprof::analysis::labels::Labels;
use gpuprof::analysis::partial;
use gpuprof::analysis::stats::Wanted;
use gpuprof::analysis::summary::{Order, SortKey};
use gpuprof::analysis::totals::Split;
use gpuprof::demangle::Demangling;
use gpuprof::error::Result;
use gpuprof::export::{Context as ExportContext, Destination, Options as ExportOptions, Tally, find};
use gpuprof::import::Importer;
use gpuprof::render::document::Document;
use gpuprof::render::table::Format;
use gpuprof::report::classic::{self, ReportKind, Request};
use gpuprof::report::nvprof::Prefix;
use gpuprof::report::nvprof::{Options, TimeUnit};
use gpuprof::report::{Context, VIEWS, summary_tables};
use gpuprof::trace::frames::Frames;
use gpuprof::trace::select::{Filter, Selection};
use gpuprof::trace::sink::Need;
use std::path::Path;
use trace_format::tables;

/// How much is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Summaries and what is partial.
    Summaries,
    /// Every report, listing, view and format.
    Everything,
}

/// Opens the file and asks; whatever is wrong with it is an error or a note, never a panic. Says whether it could be
/// opened.
pub fn exercise(path: &Path, depth: Depth) -> bool {
    ask(path, Frames::open(&[path.to_owned()], &Need::all()), depth)
}

/// The same of a file that this reader is given, whether it is its own or not.
pub fn exercise_reader(importer: &dyn Importer, path: &Path, depth: Depth) -> bool {
    ask(path, Frames::read_by(importer, path, &Need::all()), depth)
}

/// Whether the file names other files beside it, which an error may be about.
fn is_manifest(path: &Path) -> bool {
    let is_inside = |bytes: Vec<u8>| bytes.windows(16).any(|piece| piece == b"\"gpuprof_export\"");
    std::fs::read(path).is_ok_and(is_inside)
}

fn ask(path: &Path, opened: Result<Frames>, depth: Depth) -> bool {
    let frames = match opened {
        Ok(frames) => frames,
        Err(error) => {
            let message = error.to_string();
            let place = if is_manifest(path) { path.parent().unwrap_or(path) } else { path };
            assert!(message.contains(&place.display().to_string()), "no path in: {message}");
            return false;
        }
    };
    let everything = Filter::everything();
    let _ = frames.time_span();
    let demangling = if depth == Depth::Everything { Demangling::Nvprof } else { Demangling::On };
    let labels = Labels::new(&frames, demangling);
    let wanted = Wanted { quantiles: true };
    let split = Split { process: true, device: true, stream: true };
    for grouping in [Grouping::default(), Grouping { name: ByName::Grid, split }] {
        let summary = grouping::gpu_summary(&labels, grouping, wanted, &everything);
        let _ = grouping::api_summary(&labels, grouping.split.process, wanted, &everything);
        for mut row in summary.into_iter().flat_map(|summary| summary.rows) {
            let _ = (
                row.stats.sample_stddev_ns(),
                row.stats.durations.median_times_2(),
                row.stats.durations.percentile(99),
            );
        }
    }
    // What is no record is only in the reports themselves; others are asked for them where there is time.
    if !frames.summaries.is_empty() || frames.rows(&tables::KERNEL) == 0 {
        ask_summary(&labels, &everything);
    }
    let _ = partial::notes(&frames, &everything, &Need::all());
    if depth == Depth::Everything {
        ask_everything(&frames, &labels);
    }
    let _ = frames.all_notes();
    true
}

fn ask_summary(labels: &Labels, filter: &Filter) {
    let (grouping, order) = (Grouping::default(), Order { sort: SortKey::Time, top: None });
    let options = Options { csv: false, unit: TimeUnit::Auto, origin_ns: None };
    let what = ReportKind::Summary { gpu: true, api: true, openacc: true, openmp: true };
    let request = Request {
        what,
        options,
        grouping,
        order,
        per_process: false,
        all_ranges: false,
        openacc_inclusive: true,
        prefix: Prefix(Some(1)),
        system: Vec::new(),
    };
    let _ = classic::write(&mut Vec::new(), labels, filter, &request, &mut Vec::new());
    let _ = summary_tables::tables(labels, filter, &request, false);
}

fn ask_everything(frames: &Frames, labels: &Labels) {
    for filter in filters(frames, labels) {
        let mut out = Vec::new();
        for what in [
            ReportKind::Summary { gpu: true, api: true, openacc: true, openmp: true },
            ReportKind::PerGpu,
            ReportKind::Trace { gpu: true, api: true },
            ReportKind::Trace { gpu: true, api: false },
            ReportKind::Trace { gpu: false, api: true },
            ReportKind::OpenaccTrace,
        ] {
            for (csv, unit, per_process) in [(false, TimeUnit::Auto, false), (true, TimeUnit::Col, true)] {
                let options = Options { csv, unit, origin_ns: None };
                let (grouping, order) = (Grouping::default(), Order { sort: SortKey::Avg, top: None });
                let request = Request {
                    what,
                    options,
                    grouping,
                    order,
                    per_process,
                    all_ranges: true,
                    openacc_inclusive: false,
                    prefix: Prefix(None),
                    system: Vec::new(),
                };
                let _ = classic::write(&mut out, labels, &filter, &request, &mut Vec::new());
                let _ = summary_tables::tables(labels, &filter, &request, true);
            }
        }
        let context = |arguments: Vec<String>| Context { frames, labels, filter: &filter, arguments };
        let mut document = Document::new(gpuprof::render::schemas::REPORT);
        for view in VIEWS {
            document.tables.extend(view.table(&context(Vec::new())));
            let arguments = view.arguments().iter().map(|argument| (*argument).to_owned()).collect();
            document.tables.extend(view.table(&context(arguments)));
        }
        for format in [Format::Table, Format::Csv, Format::Tsv, Format::Json, Format::Markdown] {
            let _ = document.write(&mut out, format);
        }
    }
    for process in 0..frames.processes.len().min(3) as u32 {
        let _ = dependencies(labels, &Filter::everything(), process);
    }
    for table in [&tables::KERNEL, &tables::API, &tables::RANGE] {
        let columns: Vec<&str> = table.columns.iter().map(|column| column.name).collect();
        let _ = frames.read(table, &columns);
    }
}

fn filters(frames: &Frames, labels: &Labels) -> Vec<Filter> {
    let selections = [
        Selection { range: Some("step".into()), from_ns: Some(i64::MIN), ..Selection::default() },
        Selection { devices: vec![0], streams: vec![7, 0], to_ns: Some(i64::MAX), ..Selection::default() },
    ];
    let resolve = |selection| Filter::resolve(selection, frames, |kernel| labels.name_of(kernel).to_owned());
    let mut filters = vec![Filter::everything()];
    filters.extend(selections.into_iter().filter_map(|selection| resolve(selection).ok()));
    filters
}

/// Exports a trace as a folder of tables, into a folder that is there.
pub fn export_folder(trace: &Path, format: &str, into: &Path) -> Result<()> {
    let exporter = find(format)?;
    let frames = Frames::open(&[trace.to_owned()], &(exporter.need)())?;
    let labels = Labels::new(&frames, Demangling::On);
    let (filter, options, tally) = (Filter::everything(), ExportOptions::default(), Tally::default());
    let context =
        ExportContext { frames: &frames, labels: &labels, filter: &filter, options: &options, tally: &tally };
    (exporter.write)(&context, &mut Destination::Folder(into.to_owned()))
}
