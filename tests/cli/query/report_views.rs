//! The views of `report` as SQL sources: the same rows and values as `report` has.

use super::support::open;
use crate::common::build::{NsysEra, Story, native, nsys};
use crate::common::{TempFolder, gpuprof, shared};
use gpuprof::analysis::labels::Labels;
use gpuprof::demangle::Demangling;
use gpuprof::query::session::{self, Session};
use gpuprof::query::source::{self, Type};
use gpuprof::render::table::Cell;
use gpuprof::report::{Context, VIEWS};
use gpuprof::trace::select::Filter;
use polars::prelude::AnyValue;
use std::path::Path;

fn same(cell: &Cell, value: &AnyValue) -> bool {
    match (cell, value) {
        (Cell::Null, AnyValue::Null) => true,
        (Cell::Int(cell), AnyValue::Int64(value)) => *cell == i128::from(*value),
        (Cell::Id(cell), AnyValue::Int64(value)) => i128::from(*cell) == i128::from(*value),
        (Cell::Int(cell), AnyValue::Float64(value)) => *cell as f64 == *value,
        (Cell::Fixed(cell, _), AnyValue::Float64(value)) => cell == value,
        (Cell::Text(cell), AnyValue::String(value)) => cell == value,
        // As nsys prints them, in columns.
        (Cell::Sizes(sizes), AnyValue::String(value)) => {
            value.split_whitespace().eq(sizes.map(|size| size.to_string()))
        }
        // Numbers in columns of text: ids of blocks and the like.
        (Cell::Int(cell), AnyValue::String(value)) => cell.to_string() == *value,
        (Cell::Id(cell), AnyValue::String(value)) => cell.to_string() == *value,
        _ => false,
    }
}

/// Compares all views of a trace; gives how many of them had rows.
fn compare(session: &Session, what: &str) -> usize {
    let frames = session.frames();
    let labels = Labels::new(frames, Demangling::On);
    let mut with_rows = 0;
    let mut others = Vec::new();
    for view in VIEWS {
        let source = source::find(view.name()).unwrap_or_else(|| panic!("{} is no source", view.name()));
        if source.name() == "steps" {
            // Queries have a view of their own under this name.
            continue;
        }
        let context = Context { frames, labels: &labels, filter: &Filter::everything(), arguments: Vec::new() };
        let table = view.table(&context).unwrap_or_else(|e| panic!("{what}: {}: {e}", view.name()));
        let frame = session::rows(session, source).unwrap_or_else(|e| panic!("{what}: {}: {e}", view.name()));
        assert_eq!(frame.height(), table.rows.len(), "{what}: {}", view.name());
        assert_eq!(frame.width(), table.headings.len(), "{what}: {}: columns depend on the trace", view.name());
        for (column, heading) in table.headings.iter().enumerate() {
            let values = frame.columns()[column].as_materialized_series();
            let is = |ty: Type| *values.dtype() == ty.data_type();
            if !is(source.columns()[column].ty) && !table.rows.is_empty() {
                others.push(format!("{}: {} is announced with another type", view.name(), heading.name));
            }
            for (at, row) in table.rows.iter().enumerate() {
                let value = values.get(at).expect("a row");
                let name = (view.name(), heading.name, values.name());
                if !same(&row[column], &value) {
                    others.push(format!("{name:?}, row {at}: {:?} is not {value:?}", row[column]));
                    break;
                }
            }
        }
        with_rows += usize::from(!table.rows.is_empty());
    }
    assert!(others.is_empty(), "{what}: {others:#?}");
    with_rows
}

#[test]
fn every_view_of_report_says_in_sql_what_it_says_in_report() {
    let folder = TempFolder::new("query-report-views");
    let story = Story::sample(120).with_ranges();
    for (name, bytes) in [("run.gpuprof", native(&story)), ("run.sqlite", nsys(&story, NsysEra::Of2026))] {
        let path = folder.argument(name, &bytes);
        assert!(compare(&open(Path::new(&path)), name) >= 20);
    }
}

#[test]
fn every_view_of_report_says_in_sql_what_it_says_in_report_of_real_traces() {
    let test = "every_view_of_report_says_in_sql_what_it_says_in_report_of_real_traces";
    let Some(shared) = shared(test) else { return };
    let files = [
        "nsys/fsdp_h100x2_nvtx_2026.2_s3.25.sqlite",
        "nsys/saxpy_mpi_a100_2022.2_s2.9.sqlite",
        "nsys/gtls_rtx3060_2023.1_s3.1.sqlite",
        "torch/ddp_sampled_rank0.json.gz",
    ];
    for file in files {
        assert!(compare(&open(&shared.join("data").join(file)), file) >= 15);
    }
}

#[test]
fn views_of_report_join_and_are_listed() {
    let folder = TempFolder::new("query-report-views-cli");
    let path = folder.argument("run.gpuprof", &native(&Story::sample(40)));
    let sql = "SELECT SUM(critical_ns) = MAX(critical_path_ns) AS is_whole, COUNT(*) > 1 AS has_parts FROM critical_path_sum";
    assert_eq!(gpuprof(&["query", &path, sql, "--format", "csv"]).stdout, "is_whole,has_parts\ntrue,true\n");
    // A view and a table of the format in one query; only what the view is made from is read.
    let sql = "SELECT v.instances, k.count FROM cuda_gpu_kern_sum v JOIN kernels_by_name k ON v.name = k.name";
    let rows = gpuprof(&["query", &path, sql, "--format", "csv"]).stdout;
    let same = |line: &str| line.split_once(',').is_some_and(|(a, b)| a == b);
    assert!(rows.lines().count() > 2 && rows.lines().skip(1).all(same), "{rows}");
    let tables = gpuprof(&["query", ".tables"]).stdout;
    assert!(tables.contains("\nViews of report:\n") && tables.contains("  critical_path_sum "), "{tables}");
    let schema = gpuprof(&["query", ".schema", "cuda_gpu_kern_sum"]).stdout;
    assert!(schema.contains("total_time_ns") && schema.contains("time_percent"), "{schema}");
}
