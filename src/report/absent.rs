//! Kinds of records that an answer is made of and of which there are none.

use crate::render::document::Absent;
use trace_format::schema::TableSpec;
use trace_format::tables;

/// Those of the tables that views read (`read`: each view with its tables) of which nothing `is_there`.
pub(crate) fn absent_of(
    read: Vec<(&'static str, Vec<&'static TableSpec>)>,
    is_there: impl Fn(&TableSpec) -> bool,
) -> Vec<Absent> {
    let mut absent: Vec<Absent> = Vec::new();
    for (view, tables) in read {
        // Of windows and losses a trace may rightly have none: what they mean is in the notes.
        let is_missed = |table: &&&'static TableSpec| {
            !is_there(table) && ![tables::CAPTURE.name, tables::LOSS.name].contains(&table.name)
        };
        for table in tables.iter().filter(is_missed) {
            match absent.iter_mut().find(|known| known.table == table.name) {
                Some(known) => known.views.push(view),
                None => absent.push(Absent { table: table.name, views: vec![view] }),
            }
        }
    }
    absent
}
