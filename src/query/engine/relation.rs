//! Rows with named columns, each read or gathered when something asks for it.

use super::column::{Column, NO_ROW};
use super::problem::{Problem, Result};
use std::sync::{Arc, OnceLock};

/// What stands after FROM and is not a query: a table or view of a trace.
pub trait Table: Send + Sync {
    /// Names of the columns, in order.
    fn columns(&self) -> Vec<String>;
    /// The number of rows.
    ///
    /// # Errors
    /// Fails if the file of the trace cannot be read.
    fn rows(&self) -> Result<usize>;
    /// One column.
    ///
    /// # Errors
    /// Fails if the column cannot be read from its file.
    fn column(&self, index: usize) -> Result<Arc<Column>>;
}

/// A column that is made when it is asked for, once.
#[derive(Clone)]
pub struct Lazy(Arc<Inner>);

struct Inner {
    made: OnceLock<Result<Arc<Column>>>,
    from: From,
}

enum From {
    Made,
    Table(Arc<dyn Table>, usize),
    Taken(Lazy, Arc<Vec<u32>>),
}

impl Lazy {
    /// One that is there.
    pub fn made(column: Column) -> Lazy {
        Lazy(Arc::new(Inner { made: OnceLock::from(Ok(Arc::new(column))), from: From::Made }))
    }

    fn new(from: From) -> Lazy {
        Lazy(Arc::new(Inner { made: OnceLock::new(), from }))
    }

    /// The column.
    ///
    /// # Errors
    /// Fails if the column cannot be read from its file.
    pub fn get(&self) -> Result<Arc<Column>> {
        let made = self.0.made.get_or_init(|| match &self.0.from {
            From::Made => Problem::wrong("a column is missing"),
            From::Table(table, index) => table.column(*index),
            From::Taken(of, index) => Ok(Arc::new(of.get()?.take(index))),
        });
        made.clone()
    }
}

/// A column of a relation.
#[derive(Clone)]
pub struct Field {
    /// What the table is called in the query; empty for what no table has.
    pub table: Arc<str>,
    /// The name.
    pub name: Arc<str>,
    /// The values.
    pub data: Lazy,
    /// Whether `*` leaves it out: the second of two columns that USING made one.
    pub hidden: bool,
}

/// Rows with named columns.
#[derive(Clone)]
pub struct Relation {
    /// The columns.
    pub fields: Vec<Field>,
    /// The number of rows.
    pub rows: usize,
}

impl Relation {
    /// One row without columns: what a SELECT without FROM selects from.
    pub fn unit() -> Relation {
        Relation { fields: Vec::new(), rows: 1 }
    }

    /// One column of texts.
    pub fn of_texts<'a>(name: &str, texts: impl Iterator<Item = &'a str>) -> Relation {
        let column = Column::texts(texts.map(Some));
        let rows = column.stored();
        let data = Lazy::made(column);
        Relation { fields: vec![Field { table: "".into(), name: name.into(), data, hidden: false }], rows }
    }

    /// All of `table`, called `alias`.
    ///
    /// # Errors
    /// Fails if the number of rows cannot be read from the file.
    pub fn of_table(table: &Arc<dyn Table>, alias: &str) -> Result<Relation> {
        let alias: Arc<str> = alias.into();
        let field = |(index, name): (usize, String)| Field {
            table: Arc::clone(&alias),
            name: name.into(),
            data: Lazy::new(From::Table(Arc::clone(table), index)),
            hidden: false,
        };
        Ok(Relation { fields: table.columns().into_iter().enumerate().map(field).collect(), rows: table.rows()? })
    }

    /// The same columns under the name of another table.
    pub fn renamed(mut self, alias: &str) -> Relation {
        let alias: Arc<str> = alias.into();
        self.fields.retain(|field| !field.hidden);
        self.fields.iter_mut().for_each(|field| field.table = Arc::clone(&alias));
        self
    }

    /// The place of a column.
    ///
    /// # Errors
    /// Fails if several columns have the name. If none has it, the place is `None`.
    pub fn find(&self, table: Option<&str>, name: &str) -> Result<Option<usize>> {
        let of_table = |field: &Field| table.is_none_or(|table| field.table.eq_ignore_ascii_case(table));
        let places = |same: &dyn Fn(&str) -> bool| -> Vec<usize> {
            let fields = self.fields.iter().enumerate();
            fields
                .filter(|(_, f)| of_table(f) && same(&f.name) && !(f.hidden && table.is_none()))
                .map(|(i, _)| i)
                .collect()
        };
        let mut found = places(&|own| own == name);
        if found.is_empty() {
            found = places(&|own| own.eq_ignore_ascii_case(name));
        }
        match found[..] {
            [] => Ok(None),
            [one] => Ok(Some(one)),
            [one, other, ..] => Err(Problem::Ambiguous(
                name.to_owned(),
                self.fields[one].table.to_string(),
                self.fields[other].table.to_string(),
            )),
        }
    }

    /// The rows that `index` names, in that order; [`NO_ROW`] gives a row of NULLs.
    pub fn take(&self, index: Vec<u32>) -> Relation {
        let rows = index.len();
        let index = Arc::new(index);
        // Fields that were gathered with one index are gathered with one again.
        let mut composed: Vec<(*const Vec<u32>, Arc<Vec<u32>>)> = Vec::new();
        let fields = self.fields.iter().map(|field| {
            let data = match &field.data.0.from {
                From::Taken(of, earlier) if field.data.0.made.get().is_none() => {
                    let known = composed.iter().find(|(at, _)| *at == Arc::as_ptr(earlier));
                    let both = match known {
                        Some((_, both)) => Arc::clone(both),
                        None => {
                            let row = |&row: &u32| if row == NO_ROW { NO_ROW } else { earlier[row as usize] };
                            let both = Arc::new(index.iter().map(row).collect::<Vec<u32>>());
                            composed.push((Arc::as_ptr(earlier), Arc::clone(&both)));
                            both
                        }
                    };
                    Lazy::new(From::Taken(of.clone(), both))
                }
                _ => Lazy::new(From::Taken(field.data.clone(), Arc::clone(&index))),
            };
            Field { data, ..field.clone() }
        });
        Relation { fields: fields.collect(), rows }
    }

    /// The rows that `index` names, all of them in order if it names as many as there are.
    pub fn filtered(&self, index: Vec<u32>) -> Relation {
        if index.len() == self.rows { self.clone() } else { self.take(index) }
    }

    /// One behind another: the first relation's names, and as many columns in each.
    ///
    /// # Errors
    /// Fails if columns at the same place have kinds that do not go together.
    pub fn stack(parts: &[Relation]) -> Result<Relation> {
        let Some(first) = parts.first() else { return Ok(Relation { fields: Vec::new(), rows: 0 }) };
        let mut fields = Vec::new();
        for (i, field) in first.fields.iter().enumerate() {
            let columns = parts.iter().map(|part| part.fields[i].data.get()).collect::<Result<Vec<_>>>()?;
            let both: Vec<(&Column, usize)> =
                columns.iter().zip(parts).map(|(c, part)| (&**c, part.rows)).collect();
            fields.push(Field { data: Lazy::made(super::column::concat(&both)?), ..field.clone() });
        }
        Ok(Relation { fields, rows: parts.iter().map(|part| part.rows).sum() })
    }
}
