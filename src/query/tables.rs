//! The tables of the format as SQL sources: their own columns, and text beside every id that names something.

use super::names::Naming;
use super::source::{EachPiece, Numbered, Source, SourceColumn, Trace, Type};
use crate::demangle::readable;
use crate::error::{Error, Result};
use crate::trace::stored_shapes::Kernel;
use polars::prelude::*;
use std::sync::LazyLock;
use trace_format::schema::{ColumnSpec, ColumnType, Role, TableSpec, Unit};
use trace_format::tables;
use trace_format::vocabulary::Vocabulary;

/// Every table that has rows.
pub static TABLES: LazyLock<Vec<TableSource>> =
    LazyLock::new(|| tables::ALL.iter().filter(|t| t.role != Role::Json).map(|t| TableSource(t)).collect());

/// One table of the format.
pub struct TableSource(pub &'static TableSpec);

/// How a text column is made from the id or code beside it.
#[derive(Clone, Copy)]
enum Words {
    Named(Naming),
    Coded(&'static Vocabulary),
}

/// A text column that the file does not have.
#[derive(Clone, Copy)]
struct Derived {
    name: &'static str,
    words: Words,
    doc: &'static str,
}

/// The text columns that `column` of `table` brings.
fn derived(table: &TableSpec, column: &ColumnSpec) -> Vec<Derived> {
    let named = |name, naming, doc| vec![Derived { name, words: Words::Named(naming), doc }];
    match (table.name, column.name) {
        // A shape is named by what makes it a kernel; the names that it may have been stored with are ids.
        _ if column.unit.is_shape() || (table == &tables::SHAPE && column.unit == Unit::Key) => vec![
            Derived { name: "name", words: Words::Named(Naming::Kernel), doc: "Kernel name, demangled." },
            Derived {
                name: "base_name",
                words: Words::Named(Naming::KernelBase),
                doc: "Kernel name without namespaces, arguments and template.",
            },
        ],
        _ if table == &tables::SHAPE => Vec::new(),
        ("api", "name_id") => named("name", Naming::Api, "Name of the call, without version suffix."),
        (_, name) if column.unit.is_name() => {
            // `category_name_id` is text `category`, and `name_id` is text `name`.
            let text = name.strip_suffix("_name_id").or_else(|| name.strip_suffix("_id")).unwrap_or(name);
            named(text, Naming::Text, column.text_doc)
        }
        _ => {
            let words = column.vocabulary().map(|vocabulary| Derived {
                name: column.words_name,
                words: Words::Coded(vocabulary),
                doc: vocabulary.doc,
            });
            words.into_iter().collect()
        }
    }
}

fn sql_type(column: &ColumnSpec) -> Type {
    match column.ty {
        ColumnType::U32 if column.unit.is_label() => Type::Id,
        ColumnType::U32 => Type::Int,
        ColumnType::U64 => Type::Id64,
        ColumnType::I64 => Type::Int,
        ColumnType::F64 => Type::Float,
        ColumnType::Bool => Type::Bool,
        ColumnType::Bytes => Type::Text,
    }
}

/// Definitions that all open files share have no process of their own.
fn is_shared(table: &TableSpec) -> bool {
    table == &tables::STRING || table == &tables::SHAPE
}

impl Source for TableSource {
    fn name(&self) -> &'static str {
        self.0.name
    }

    fn doc(&self) -> &'static str {
        self.0.doc
    }

    fn columns(&self) -> Vec<SourceColumn> {
        let mut out = Vec::new();
        if !is_shared(self.0) {
            let doc = "Ordinal of the process, see `processes`.";
            out.push(SourceColumn { name: "process", ty: Type::Id, unit: Unit::Object, doc });
        }
        for column in self.0.columns {
            out.push(SourceColumn {
                name: if column.name == "bytes" && self.0 == &tables::STRING { "text" } else { column.name },
                ty: sql_type(column),
                // The string is no size.
                unit: if column.ty == ColumnType::Bytes { Unit::Other } else { column.unit },
                doc: column.doc,
            });
            let texts = derived(self.0, column).into_iter();
            out.extend(texts.map(|d| SourceColumn { name: d.name, ty: Type::Text, unit: Unit::Other, doc: d.doc }));
        }
        out
    }

    fn tables(&self) -> Vec<&'static TableSpec> {
        vec![self.0]
    }

    fn read(&self, trace: &Trace, wanted: &[&str]) -> Result<DataFrame> {
        let failed = |e: PolarsError| Error::new(format!("table {}: {e}", self.0.name));
        let (mut frame, numbered) = self.read_numbered(trace, wanted)?;
        for Numbered { name, texts } in numbered {
            let column = frame.column(name).and_then(|numbers| texts.take(numbers.u32()?)).map_err(failed)?;
            frame.with_column(column.with_name(name.into()).into_column()).map_err(failed)?;
        }
        Ok(frame)
    }

    fn read_numbered(&self, trace: &Trace, wanted: &[&str]) -> Result<(DataFrame, Vec<Numbered>)> {
        let failed = |e: PolarsError| Error::new(format!("table {}: {e}", self.0.name));
        if self.0 == &tables::STRING {
            return Ok((strings(trace).map_err(failed)?, Vec::new()));
        }
        let Needed { stored, texts } = self.needed(wanted);
        let frame = if self.0 == &tables::SHAPE {
            shapes(trace, &stored).map_err(failed)?
        } else {
            trace.frames.read(self.0, &stored)?
        };
        self.with_texts(trace, frame, &texts, wanted).map_err(failed)
    }

    fn read_pieces(&self, trace: &Trace, wanted: &[&str], each: &mut EachPiece) -> Result<bool> {
        let Needed { stored, texts } = self.needed(wanted);
        let is_bytes = |column: &ColumnSpec| column.ty == ColumnType::Bytes && wanted.contains(&column.name);
        // Texts that are made row by row would be others in each piece.
        let are_numbered = texts.iter().all(|(_, text)| matches!(text.words, Words::Named(_)));
        if is_shared(self.0) || !are_numbered || self.0.columns.iter().any(is_bytes) {
            return Ok(false);
        }
        let failed = |e: PolarsError| Error::new(format!("table {}: {e}", self.0.name));
        trace.frames.read_in_pieces(self.0, &stored, |frame| {
            let (frame, numbered) = self.with_texts(trace, frame, &texts, wanted).map_err(failed)?;
            each(frame, numbered)
        })?;
        Ok(true)
    }
}

/// What has to be read for some columns.
struct Needed<'w> {
    /// Stored columns that are asked for, and those that texts are made from.
    stored: Vec<&'w str>,
    /// The texts, each with the column that it is made from.
    texts: Vec<(&'static str, Derived)>,
}

impl TableSource {
    fn needed<'w>(&self, wanted: &[&'w str]) -> Needed<'w> {
        let mut stored: Vec<&str> = wanted.to_vec();
        let mut texts = Vec::new();
        for column in self.0.columns {
            for text in derived(self.0, column).into_iter().filter(|d| wanted.contains(&d.name)) {
                stored.push(column.name);
                texts.push((column.name, text));
            }
        }
        stored.sort_unstable();
        stored.dedup();
        Needed { stored, texts }
    }

    /// The frame with its texts, names as numbers.
    fn with_texts(
        &self,
        trace: &Trace,
        mut frame: DataFrame,
        texts: &[(&str, Derived)],
        wanted: &[&str],
    ) -> PolarsResult<(DataFrame, Vec<Numbered>)> {
        let mut numbered = Vec::new();
        for (from, text) in texts {
            let ids = frame.column(from)?;
            let column = match text.words {
                Words::Named(naming) => {
                    let (numbers, texts) = trace.names.numbers(&trace.frames, naming, ids)?;
                    numbered.push(Numbered { name: text.name, texts: texts.clone() });
                    numbers.with_name(text.name.into()).into_column()
                }
                Words::Coded(vocabulary) => word_column(text.name, vocabulary, ids)?,
            };
            frame.with_column(column)?;
        }
        for column in self.0.columns.iter().filter(|c| c.ty == ColumnType::Bytes && wanted.contains(&c.name)) {
            let text = bytes_as_text(frame.column(column.name)?)?;
            frame.with_column(text)?;
        }
        Ok((frame, numbered))
    }
}

/// The words for a column of codes; an unknown code reads as its number.
pub(super) fn word_column(
    name: &'static str,
    vocabulary: &'static Vocabulary,
    ids: &Column,
) -> PolarsResult<Column> {
    let texts: StringChunked = ids.u32()?.iter().map(|code| code.map(|code| vocabulary.text(code))).collect();
    Ok(texts.with_name(name.into()).into_column())
}

/// All interned names.
fn strings(trace: &Trace) -> PolarsResult<DataFrame> {
    let names = &trace.frames.names;
    let ids: Vec<u32> = (1..names.len() as u32).collect();
    let texts: StringChunked = ids.iter().map(|&id| Some(names.text(id))).collect();
    let text = texts.with_name("text".into()).into_column();
    DataFrame::new(ids.len(), vec![Column::new("id".into(), ids), text])
}

/// Some columns of all launch shapes.
fn shapes(trace: &Trace, wanted: &[&str]) -> PolarsResult<DataFrame> {
    let frames = &trace.frames;
    let count = frames.shape_count() as u32;
    let column = |(at, spec): (usize, &ColumnSpec)| {
        let name = spec.name.into();
        let of_kernel = |id: fn(&Kernel) -> Option<u32>| -> UInt32Chunked {
            (0..count).map(|shape| frames.kernel(shape).as_ref().and_then(id)).collect()
        };
        match spec.name {
            "id" => Column::new(name, (0..count).collect::<Vec<u32>>()),
            "name_id" => of_kernel(|kernel| Some(kernel.name_id)).with_name(name).into_column(),
            "demangled_id" => of_kernel(|kernel| kernel.demangled_id).with_name(name).into_column(),
            "base_id" => of_kernel(|kernel| kernel.base_id).with_name(name).into_column(),
            _ => {
                let numbers: Int64Chunked = (0..count).map(|shape| frames.shape_number(shape, at)).collect();
                numbers.with_name(name).into_column()
            }
        }
    };
    let asked = tables::SHAPE.columns.iter().enumerate().filter(|(_, spec)| wanted.contains(&spec.name));
    DataFrame::new(count as usize, asked.map(column).collect())
}

/// Bytes as text: 16 bytes of a UUID in the usual form, anything else as it is, with replacement characters.
fn bytes_as_text(column: &Column) -> PolarsResult<Column> {
    let as_text = |bytes: &[u8]| match <[u8; 16]>::try_from(bytes) {
        Ok(uuid) if column.name() == "uuid" => uuid_text(uuid),
        _ => readable(bytes).into_owned(),
    };
    let texts: StringChunked = column.binary()?.iter().map(|bytes| bytes.map(as_text)).collect();
    Ok(texts.with_name(column.name().clone()).into_column())
}

/// `GPU-01234567-89ab-cdef-0123-456789abcdef`, as nvidia-smi prints it.
pub(super) fn uuid_text(uuid: [u8; 16]) -> String {
    let hex: String = uuid.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("GPU-{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_in_the_registry_has_a_text_column() {
        for table in TABLES.iter().filter(|t| t.0 != &tables::SHAPE) {
            for column in table.0.columns.iter().filter(|c| c.unit.is_name() || c.unit.is_shape()) {
                assert!(!derived(table.0, column).is_empty(), "{}.{}", table.0.name, column.name);
            }
        }
    }
}
