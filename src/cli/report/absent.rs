//! What an answer for programs says about what the trace does not have.

use crate::render::document::Absent;
use crate::render::table::Table;
use crate::report::absent::absent_of;
use crate::report::{View, summary_tables, views};
use crate::trace::frames::Frames;
use trace_format::schema::TableSpec;

/// The kinds of records that an answer is made of and of which the trace has none. `shown` are the tables of the answer.
pub(super) fn absent(asked: &[(&'static dyn View, Vec<String>)], frames: &Frames, shown: &[Table]) -> Vec<Absent> {
    let mut read: Vec<(&'static str, Vec<&'static TableSpec>)> =
        asked.iter().map(|(view, arguments)| (view.name(), views::need(*view, arguments).tables)).collect();
    if asked.is_empty() {
        let is_shown = |name: &str| shown.iter().any(|table| table.name == name);
        let summaries = summary_tables::READ.iter().filter(|(name, _)| is_shown(name));
        read.extend(summaries.map(|(name, tables)| (*name, tables.to_vec())));
    }
    absent_of(read, |table| frames.rows(table) > 0)
}
