//! What stands after `FROM`: its columns, what they mean, and where the rows come from.

use super::names::TraceNames;
use super::report_views::REPORT_VIEWS;
use super::tables::TABLES;
use super::views::VIEWS;
use crate::error::Result;
use crate::trace::frames::Frames;
use polars::prelude::{DataFrame, DataType, StringChunked};
use trace_format::schema::{TableSpec, Unit};

/// The type of a column in SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// Times, sizes, counts, dimensions: 64 bits, signed.
    Int,
    /// Ids and codes.
    Id,
    /// 64-bit ids and addresses.
    Id64,
    /// Floating point.
    Float,
    /// Yes or no.
    Bool,
    /// Text; bytes that are no UTF-8 are replaced.
    Text,
}

impl Type {
    /// The Polars type.
    pub fn data_type(self) -> DataType {
        match self {
            Type::Int => DataType::Int64,
            Type::Id => DataType::UInt32,
            Type::Id64 => DataType::UInt64,
            Type::Float => DataType::Float64,
            Type::Bool => DataType::Boolean,
            Type::Text => DataType::String,
        }
    }

    /// The word in documents: SQL's where there is one.
    pub fn word(self) -> &'static str {
        match self {
            Type::Int => "bigint",
            Type::Id => "u32",
            Type::Id64 => "u64",
            Type::Float => "double",
            Type::Bool => "boolean",
            Type::Text => "text",
        }
    }
}

/// One column of a [`Source`].
#[derive(Clone, Copy, Debug)]
pub struct SourceColumn {
    /// The name, with the unit in it.
    pub name: &'static str,
    /// The type.
    pub ty: Type,
    /// The unit.
    pub unit: Unit,
    /// One line of documentation.
    pub doc: &'static str,
}

/// What stands after `FROM`.
pub trait Source: Send + Sync {
    /// The name in SQL.
    fn name(&self) -> &'static str;
    /// What a row is.
    fn doc(&self) -> &'static str;
    /// The columns, in order.
    fn columns(&self) -> Vec<SourceColumn>;
    /// Tables of the trace that it is made from.
    fn tables(&self) -> Vec<&'static TableSpec>;
    /// The rows, with at least the columns in `wanted`.
    ///
    /// # Errors
    /// Fails if a part of a file cannot be read.
    fn read(&self, trace: &Trace, wanted: &[&str]) -> Result<DataFrame>;
    /// As [`Source::read`], with text columns as the numbers of their texts where the source knows those anyway: to find
    /// them again takes longer than to read the column.
    ///
    /// # Errors
    /// Fails if a part of a file cannot be read.
    fn read_numbered(&self, trace: &Trace, wanted: &[&str]) -> Result<(DataFrame, Vec<Numbered>)> {
        Ok((self.read(trace, wanted)?, Vec::new()))
    }
    /// As [`Source::read_numbered`], piece by piece in order, with the same texts in each; `false`: the source has no
    /// pieces, and nothing was done.
    ///
    /// # Errors
    /// Fails if a part of a file cannot be read, and with any error that `each` returns.
    fn read_pieces(&self, _trace: &Trace, _wanted: &[&str], _each: &mut EachPiece) -> Result<bool> {
        Ok(false)
    }
}

/// What is done with a piece of a source.
pub type EachPiece<'e> = dyn FnMut(DataFrame, Vec<Numbered>) -> Result<()> + Send + 'e;

/// A column of a frame whose numbers stand for texts.
pub struct Numbered {
    /// The column: numbers of 32 bits, null where there is no text.
    pub name: &'static str,
    /// The texts by number, each of them once.
    pub texts: StringChunked,
}

/// Open traces and the names in them.
pub struct Trace {
    /// The traces.
    pub frames: Frames,
    pub(super) names: TraceNames,
}

impl Trace {
    /// Makes a trace for queries of `frames`.
    pub fn new(frames: Frames) -> Trace {
        Trace { frames, names: TraceNames::default() }
    }
}

/// Sources of one sort, and what they are called together.
pub type Group = (&'static str, Vec<&'static dyn Source>);

/// Every source, in groups.
pub fn groups() -> [Group; 3] {
    let tables = TABLES.iter().map(|table| table as &dyn Source);
    let report = REPORT_VIEWS.iter().map(|view| view as &dyn Source);
    [("Ready views", VIEWS.to_vec()), ("Tables", tables.collect()), ("Views of report", report.collect())]
}

/// Every source: ready views, then tables, then the views of `report`.
pub fn all() -> impl Iterator<Item = &'static dyn Source> {
    groups().into_iter().flat_map(|(_, sources)| sources)
}

/// The source called `name`, in any case.
pub fn find(name: &str) -> Option<&'static dyn Source> {
    let is_it = |source: &&'static dyn Source| source.name().eq_ignore_ascii_case(name);
    let tables = TABLES.iter().map(|table| table as &'static dyn Source);
    // To know the columns of the views of report, each is made of no trace, which nobody else should wait for.
    let report = || REPORT_VIEWS.iter().map(|view| view as &'static dyn Source);
    VIEWS.iter().copied().chain(tables).find(is_it).or_else(|| report().find(is_it))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique_and_every_column_is_documented_with_its_unit_in_its_name() {
        let mut names = BTreeSet::new();
        for source in all() {
            assert!(names.insert(source.name()), "{} is there twice", source.name());
            assert!(!source.doc().trim().is_empty(), "{}", source.name());
            assert!(!source.tables().is_empty() || source.name() == "processes", "{}", source.name());
            let mut columns = BTreeSet::new();
            for column in source.columns() {
                let at = format!("{}.{}", source.name(), column.name);
                assert!(columns.insert(column.name), "{at} is there twice");
                assert!(!column.doc.trim().is_empty(), "{at}");
                match column.unit {
                    Unit::Time | Unit::Length => assert!(column.name.ends_with("_ns"), "{at}"),
                    Unit::Bytes => assert!(column.name.ends_with("bytes"), "{at}"),
                    _ => {}
                }
            }
        }
    }

    #[test]
    fn what_can_be_summed_is_64_bits_wide() {
        for source in all() {
            for column in source.columns() {
                if matches!(column.unit, Unit::Time | Unit::Length | Unit::Bytes | Unit::Count) {
                    let wide = matches!(column.ty, Type::Int | Type::Float);
                    assert!(wide, "{}.{} would wrap in a sum", source.name(), column.name);
                }
            }
        }
    }
}
