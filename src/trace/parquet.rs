//! Parquet decoded into Polars' columns: the frames of native traces, and the tables of our exports.
//!
//! This calls Polars' decoder itself: Polars' reader of files (`polars-io`) would bring Brotli and the grouping of all types
//! into the program, neither of which is used here (decision 017).

use polars::prelude::*;
use polars_arrow::datatypes::ArrowSchema;
use polars_buffer::Buffer;
use polars_parquet::read::{
    self, BasicDecompressor, ColumnChunkMetadata, FileMetadata, PageReader, column_iter_to_arrays,
};
use std::fs::File;
use std::io::Cursor;
use std::ops::Range;
use std::os::unix::fs::FileExt as _;

/// Where the bytes are.
pub enum Source {
    /// All of them in memory.
    Memory(Buffer<u8>),
    /// In a file, of which each column is read when it is decoded.
    File(File),
}

impl Source {
    fn metadata(&mut self) -> PolarsResult<FileMetadata> {
        match self {
            Source::Memory(bytes) => read::read_metadata(&mut Cursor::new(bytes.as_slice())),
            Source::File(file) => read::read_metadata(file),
        }
    }

    /// Errors: a range that ends behind the last byte, as only damaged files have; those of reading.
    fn bytes(&self, range: Range<u64>) -> PolarsResult<Buffer<u8>> {
        let held = match self {
            Source::Memory(bytes) => bytes.len() as u64,
            Source::File(file) => file.metadata()?.len(),
        };
        let Range { start, end } = range;
        polars_ensure!(
            start <= end && end <= held,
            ComputeError: "a column is said to be at bytes {start} to {end}, and there are {held}"
        );
        match self {
            Source::Memory(bytes) => Ok(bytes.clone().sliced(start as usize..end as usize)),
            Source::File(file) => {
                let mut bytes = vec![0; (end - start) as usize];
                file.read_exact_at(&mut bytes, start)?;
                Ok(Buffer::from_vec(bytes))
            }
        }
    }
}

/// A Parquet file whose footer has been read.
pub struct ParquetFile {
    source: Source,
    metadata: FileMetadata,
    schema: ArrowSchema,
}

impl ParquetFile {
    /// Reads the footer. Polars' decoder panics on some damaged files: call this and the others inside of
    /// `trace::guard::decoded`.
    ///
    /// # Errors
    /// Fails if the file has no valid footer, or if the footer says something that Polars does not know.
    pub fn open(mut source: Source) -> PolarsResult<ParquetFile> {
        let metadata = source.metadata()?;
        let schema = read::infer_schema(&metadata)?;
        Ok(ParquetFile { source, metadata, schema })
    }

    /// The columns, in their order.
    pub fn columns(&self) -> impl Iterator<Item = &str> {
        self.schema.iter_names().map(PlSmallStr::as_str)
    }

    /// Whether there is a column of this name.
    pub fn has(&self, column: &str) -> bool {
        self.schema.contains(column)
    }

    /// Rows of each row group.
    pub fn group_rows(&self) -> impl Iterator<Item = usize> {
        self.metadata.row_groups.iter().map(|group| group.num_rows())
    }

    /// One column of row group `group`, which must exist.
    ///
    /// # Errors
    /// Fails if there is no column of this name, or if bytes cannot be read or decoded.
    pub fn decode(&self, group: usize, column: &str) -> PolarsResult<Column> {
        let field = self.schema.try_get(column)?;
        let parts = self.metadata.row_groups[group].columns_under_root_iter(column);
        let parts: Vec<&ColumnChunkMetadata> = parts.into_iter().flatten().collect();
        polars_ensure!(!parts.is_empty(), ComputeError: "row group {group} has no column {column}");
        let mut pages = Vec::with_capacity(parts.len());
        let mut types = Vec::with_capacity(parts.len());
        for part in parts {
            let bytes = Cursor::new(self.source.bytes(part.byte_range())?);
            let reader = PageReader::new(bytes, part, Vec::new(), usize::MAX);
            pages.push(BasicDecompressor::new(reader, Vec::new()));
            types.push(&part.descriptor().descriptor.primitive_type);
        }
        let (arrays, _) = column_iter_to_arrays(pages, types, field.clone(), None)?;
        Ok(Series::try_from((field, arrays))?.into_column())
    }
}
