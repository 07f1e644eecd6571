//! The views of `gpuprof report` as SQL sources: the same rows, with column names that need no quotes.
//!
//! `Total Time (ns)` is column `total_time_ns`, `of Busy Time (%)` is `of_busy_time_percent`. A view that shares its name
//! with a ready view of queries is left out: there is one of that name.

use super::source::{Source, SourceColumn, Trace, Type};
use super::tables::TABLES;
use super::views::VIEWS;
use crate::analysis::labels::Labels;
use crate::demangle::Demangling;
use crate::error::{Error, Result};
use crate::render::table::{Cell, Heading, Table};
use crate::report::{self, Context, View};
use crate::trace::frames::Frames;
use crate::trace::select::Filter;
use polars::prelude::{Column, DataFrame};
use std::sync::LazyLock;
use trace_format::schema::{TableSpec, Unit};

/// The registry.
pub static REPORT_VIEWS: LazyLock<Vec<ReportView>> = LazyLock::new(|| {
    let is_taken = |name: &str| {
        VIEWS.iter().any(|source| source.name() == name) || TABLES.iter().any(|table| table.name() == name)
    };
    report::VIEWS.iter().filter(|view| !is_taken(view.name())).map(|view| ReportView::new(*view)).collect()
});

/// One view of `gpuprof report`.
pub struct ReportView {
    view: &'static dyn View,
    doc: &'static str,
    columns: Vec<SourceColumn>,
}

impl ReportView {
    fn new(view: &'static dyn View) -> ReportView {
        // No trace at all has no rows, and the same columns as every trace.
        let frames = Frames::default();
        let headings = table(view, &frames).map(|table| table.headings).unwrap_or_default();
        let columns = headings.iter().map(|heading| column(view, heading)).collect();
        ReportView {
            view,
            doc: kept(format!("{}: `gpuprof report --view {}`.", view.title(), view.name())),
            columns,
        }
    }
}

/// Texts of the registry, which is made once.
fn kept(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

fn table(view: &dyn View, frames: &Frames) -> Result<Table> {
    let labels = Labels::new(frames, Demangling::On);
    view.table(&Context { frames, labels: &labels, filter: &Filter::everything(), arguments: Vec::new() })
}

fn column(view: &dyn View, heading: &Heading) -> SourceColumn {
    let ty = match heading.name {
        _ if heading.is_text => Type::Text,
        name if is_fraction(name) => Type::Float,
        _ => Type::Int,
    };
    let name = kept(sql_name(heading.name));
    let unit = match name {
        _ if ty == Type::Text => Unit::Other,
        _ if name.ends_with("_ns") => Unit::Length,
        _ if name.ends_with("bytes") => Unit::Bytes,
        _ => Unit::Other,
    };
    SourceColumn { name, ty, unit, doc: kept(format!("`{}` of the view {}.", heading.name, view.name())) }
}

/// Whether numbers under a heading have decimals: shares, means, what was measured and what is in a unit above the base unit.
fn is_fraction(heading: &str) -> bool {
    let words = ["Avg", "Med", "StdDev", "Mean", "P50", "P95", "Energy", "Waves"];
    let has_word = |word: &str| heading.split([' ', '(']).any(|part| part.ends_with(word));
    heading == "Max"
        || heading.contains('%')
        || heading.contains("/s)")
        || heading.contains("MB")
        || words.iter().any(|word| has_word(word))
}

/// A heading as a name in SQL: small letters, digits and `_`.
fn sql_name(heading: &str) -> String {
    let spelled = heading.replace('%', " percent ").replace("/s", " per s").to_lowercase();
    let words = spelled.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("_")
}

impl Source for ReportView {
    fn name(&self) -> &'static str {
        self.view.name()
    }

    fn doc(&self) -> &'static str {
        self.doc
    }

    fn columns(&self) -> Vec<SourceColumn> {
        self.columns.clone()
    }

    fn tables(&self) -> Vec<&'static TableSpec> {
        self.view.need().tables
    }

    fn read(&self, trace: &Trace, _: &[&str]) -> Result<DataFrame> {
        let table = table(self.view, &trace.frames)?;
        let height = table.rows.len();
        let mut cells: Vec<Vec<Cell>> = self.columns.iter().map(|_| Vec::with_capacity(height)).collect();
        for row in table.rows {
            cells.iter_mut().zip(row).for_each(|(column, cell)| column.push(cell));
        }
        let columns = self.columns.iter().zip(cells).map(|(column, cells)| values(column, cells)).collect();
        DataFrame::new(height, columns).map_err(|e| Error::new(format!("view {}: {e}", self.view.name())))
    }
}

/// Cells as a column of the type that was announced, or with decimals if there are some all the same. What does not fit is NULL.
fn values(column: &SourceColumn, cells: Vec<Cell>) -> Column {
    let name = column.name.into();
    let has_decimals = || cells.iter().any(|cell| matches!(cell, Cell::Fixed(..)));
    match column.ty {
        Type::Int if has_decimals() => Column::new(name, cells.iter().map(float).collect::<Vec<Option<f64>>>()),
        Type::Text => Column::new(name, cells.into_iter().map(text).collect::<Vec<Option<String>>>()),
        Type::Float => Column::new(name, cells.iter().map(float).collect::<Vec<Option<f64>>>()),
        _ => Column::new(name, cells.iter().map(int).collect::<Vec<Option<i64>>>()),
    }
}

fn text(cell: Cell) -> Option<String> {
    match cell {
        Cell::Null => None,
        Cell::Text(text) => Some(text),
        other => Some(other.plain()),
    }
}

fn float(cell: &Cell) -> Option<f64> {
    match cell {
        Cell::Int(value) => Some(*value as f64),
        Cell::Id(value) => Some(*value as f64),
        Cell::Fixed(value, _) => Some(*value),
        Cell::Null | Cell::Sizes(_) | Cell::Text(_) => None,
    }
}

fn int(cell: &Cell) -> Option<i64> {
    match cell {
        Cell::Int(value) => i64::try_from(*value).ok(),
        Cell::Id(value) => i64::try_from(*value).ok(),
        Cell::Null | Cell::Fixed(..) | Cell::Sizes(_) | Cell::Text(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_become_names_that_need_no_quotes() {
        for (heading, name) in [
            ("Total Time (ns)", "total_time_ns"),
            ("of Busy Time (%)", "of_busy_time_percent"),
            ("Avg while Busy (GB/s)", "avg_while_busy_gb_per_s"),
            ("Row#", "row"),
            ("PID", "pid"),
        ] {
            assert_eq!(sql_name(heading), name);
        }
    }

    #[test]
    fn every_view_has_columns_without_a_trace() {
        assert!(REPORT_VIEWS.len() + 5 > report::VIEWS.len());
        for view in REPORT_VIEWS.iter() {
            assert!(!view.columns.is_empty(), "{}", view.name());
        }
    }
}
