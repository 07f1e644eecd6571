//! Reports that Apache Spark makes of a run that one machine does not hold.
//!
//! `gpuprof export --format parquet --option partition=rank` writes a run as a dataset: one folder per table, one file
//! per process in it. A report is a view of `report` that can be said in SQL: Spark adds up where the rows are
//! ([`spark`] hands the statements to its own `spark-sql`, nothing of ours runs on a worker), and the few sums that come back
//! become the same table, made by the same code as from a trace that was read here.
//!
//! A report is one file and one line in [`REPORTS`].

mod breakdown;
mod dataset;
mod gaps;
pub mod spark;
mod steps;
mod summaries;

use crate::error::{Error, Result};
use crate::note::Note;
use crate::render::document::Absent;
use crate::render::table::Table;
use crate::report::absent::absent_of;
use crate::report::find_view;
pub use dataset::Dataset;
use serde_json::Value;
use spark::Spark;

/// A view that Spark can make.
pub trait Report: Sync {
    /// The name of the view.
    fn name(&self) -> &'static str;

    /// The tables that have rows for it, by their names. Those that the dataset does not have are left out of the SQL.
    fn tables(&self) -> Vec<&'static str>;

    /// Queries, each with one column of JSON objects. They may ask the tables of the dataset by their names.
    fn queries(&self, dataset: &Dataset) -> Vec<String>;

    /// The table of what the queries answered: for each query its objects, in any order.
    ///
    /// # Errors
    /// Fails if an answer has another form than the query gives it.
    fn table(&self, dataset: &Dataset, answers: Vec<Vec<Value>>) -> Result<Table>;
}

/// Every report, in the order of help and error messages.
pub static REPORTS: &[&dyn Report] = &[
    &summaries::KERNELS,
    &summaries::MEMORY,
    &summaries::CALLS,
    &summaries::RANGES,
    &breakdown::TimeBreakdown,
    &gaps::Gaps,
    &steps::EACH,
    &steps::SUMMARY,
];

/// Finds the report that `name` names.
///
/// # Errors
/// Fails if there is none; the error lists those that there are.
pub fn find(name: &str) -> Result<&'static dyn Report> {
    REPORTS.iter().copied().find(|report| report.name() == name).ok_or_else(|| {
        let known: Vec<&str> = REPORTS.iter().map(|report| report.name()).collect();
        Error::new(format!("--view: Spark cannot make \"{name}\""))
            .remedy(&format!("known are {}", known.join(", ")))
    })
}

/// Kinds of records that the reports are made of and of which the dataset has none.
pub fn absent(dataset: &Dataset, reports: &[&dyn Report]) -> Result<Vec<Absent>> {
    let read = |report: &&dyn Report| Ok((report.name(), find_view(report.name())?.0.need().tables));
    let read = reports.iter().map(read).collect::<Result<_>>()?;
    Ok(absent_of(read, |table| dataset.has(table.name)))
}

/// What marks the lines of an answer among what else Spark prints.
const MARK: &str = "gpuprof-answer";

/// The statements that make some reports: the tables, then the queries, each row with its number in front.
pub fn statements(dataset: &Dataset, reports: &[&dyn Report]) -> String {
    let mut tables: Vec<&str> = reports.iter().flat_map(|report| report.tables()).collect();
    tables.sort_unstable();
    tables.dedup();
    let mut sql = dataset.views(&tables);
    let queries = reports.iter().flat_map(|report| report.queries(dataset));
    for (number, query) in queries.enumerate() {
        sql.push_str(&format!("SELECT concat('{MARK} {number} ', row) FROM (\n{query}\n);\n"));
    }
    sql
}

/// Makes some reports.
///
/// # Errors
/// Fails if Spark does, or if it answers what was not asked.
pub fn report(spark: &Spark, dataset: &Dataset, reports: &[&dyn Report]) -> Result<Vec<Table>> {
    let text = spark.run(&statements(dataset, reports))?;
    let asked: Vec<usize> = reports.iter().map(|report| report.queries(dataset).len()).collect();
    let mut answers: Vec<Vec<Value>> = vec![Vec::new(); asked.iter().sum()];
    for line in text.lines().filter_map(|line| line.strip_prefix(MARK)) {
        let answer = line.trim_start().split_once(' ').and_then(|(number, row)| {
            Some((number.parse::<usize>().ok()?, serde_json::from_str::<Value>(row).ok()?))
        });
        let place = answer.and_then(|(number, row)| Some((answers.get_mut(number)?, row)));
        let Some((rows, row)) = place else { return Err(spark::misunderstood(line)) };
        rows.push(row);
    }
    let mut answers = answers.into_iter();
    let table =
        |(report, asked): (&&dyn Report, usize)| report.table(dataset, answers.by_ref().take(asked).collect());
    reports.iter().zip(asked).map(table).collect()
}

/// What is partial about the answers.
pub fn notes(dataset: &Dataset) -> Vec<Note> {
    let sampled = dataset.manifest.processes.iter().filter(|p| p.steps.is_some() || p.budget.is_some()).count();
    let of = dataset.manifest.processes.len();
    let text = format!(
        "{}: {sampled} of {of} processes were recorded in part; sums are of what was recorded and stand for no more (as report --raw)",
        dataset.location
    );
    (sampled > 0).then_some(Note { code: "not-scaled", text }).into_iter().collect()
}

/// A whole number in an answer, which may come as text so that no digit is lost.
fn whole<T: std::str::FromStr>(row: &Value, key: &str) -> Result<T> {
    let value = &row[key];
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    text.parse().map_err(|_| spark::misunderstood(&row.to_string()))
}
