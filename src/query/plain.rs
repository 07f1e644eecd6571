//! Statements that ask for columns of one table and for nothing else: their answers need no engine, and go piece by piece
//! from the files to wherever they are written.

use super::engine::parse::{self, Asked};
use super::source::{self, Source};
use sqlparser::ast::{Expr, ObjectNamePart, Query, SelectItem, SetExpr, TableFactor};

/// The table, and the columns as the table calls them, of `SELECT column, … FROM table`; `None` for every other statement.
pub fn plain(text: &str) -> Option<(&'static dyn Source, Vec<&'static str>)> {
    match parse::statement(text).ok()? {
        Asked::Rows(query) => columns(&query),
        Asked::Plan(_) | Asked::Tables => None,
    }
}

fn columns(query: &Query) -> Option<(&'static dyn Source, Vec<&'static str>)> {
    let SetExpr::Select(select) = &*query.body else { return None };
    let [from] = &select.from[..] else { return None };
    let TableFactor::Table { name, .. } = &from.relation else { return None };
    let [ObjectNamePart::Identifier(table)] = &name.0[..] else { return None };
    let idents = select.projection.iter().map(|item| match item {
        SelectItem::UnnamedExpr(Expr::Identifier(ident)) => Some(ident),
        _ => None,
    });
    let idents = idents.collect::<Option<Vec<_>>>()?;
    // Whatever else the statement says, WHERE or WITH or anything that SQL may yet have, would be in its text.
    let items: Vec<String> = idents.iter().map(ToString::to_string).collect();
    if query.to_string() != format!("SELECT {} FROM {name}", items.join(", ")) {
        return None;
    }
    let source = source::find(&table.value)?;
    let known = source.columns();
    let named = idents.iter().map(|ident| known.iter().map(|column| column.name).find(|name| *name == ident.value));
    let named = named.collect::<Option<Vec<&str>>>()?;
    let mut distinct = named.clone();
    distinct.sort_unstable();
    distinct.dedup();
    (distinct.len() == named.len()).then_some((source, named))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_columns_of_one_table_are_plain() {
        for text in ["SELECT name, start_ns FROM kernel", "select \"name\",\n start_ns -- times\nfrom Kernel"] {
            let (source, columns) = plain(text).expect(text);
            assert_eq!((source.name(), columns), ("kernel", vec!["name", "start_ns"]));
        }
        for text in [
            "SELECT * FROM kernel",
            "SELECT name, name FROM kernel",
            "SELECT NAME FROM kernel",
            "SELECT nothing FROM kernel",
            "SELECT name FROM nothing",
            "SELECT name AS n FROM kernel",
            "SELECT name + 1 FROM kernel",
            "SELECT k.name FROM kernel k",
            "SELECT name FROM kernel k",
            "SELECT name FROM kernel, api",
            "SELECT name FROM kernel JOIN api USING (process)",
            "SELECT DISTINCT name FROM kernel",
            "SELECT name FROM kernel WHERE name = 'a'",
            "SELECT name FROM kernel GROUP BY name",
            "SELECT name FROM kernel ORDER BY name",
            "SELECT name FROM kernel LIMIT 1",
            "SELECT name FROM kernel UNION ALL SELECT name FROM api",
            "WITH kernel AS (SELECT 1 AS name) SELECT name FROM kernel",
            "SELECT name FROM (SELECT name FROM kernel) AS t",
            "EXPLAIN SELECT name FROM kernel",
            "SHOW TABLES",
        ] {
            assert!(plain(text).is_none(), "{text}");
        }
    }
}
