//! One column of integers as Parquet lays it out: page headers, levels, values, and what the footer says of them.
//!
//! The Parquet library would do it at three times the cost: it hashes every value of a dictionary column as a slice of
//! bytes, copies every page twice, and looks at what never changes value by value (`benches/collector`). The footer is
//! its own.

use bytes::Bytes;
use parquet::basic::{Compression, Encoding, PageType};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, PageEncodingStats};
use parquet::file::reader::{ChunkReader, Length};
use parquet::schema::types::ColumnDescPtr;

use super::bits::put_zigzag;
use super::dictionary::Dictionary;
use super::number::Number;
use super::{delta, hybrid};

/// A column that is being laid out; its memory is used again for the next one.
#[derive(Default)]
pub(super) struct Chunk {
    bytes: Vec<u8>,
    page: Vec<u8>,
    dictionary: Dictionary,
    levels: Vec<u64>,
}

/// How the values of a chunk are to be laid out.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Plain,
    /// All values are equal: [`Way::Delta`], without looking at them.
    Constant,
    Delta,
    Dictionary,
}

impl Chunk {
    /// Lays out a column. `validity`: of all rows, where the column is optional here; `values`: of the rows that are not
    /// null.
    pub(super) fn fill<N: Number>(
        &mut self,
        values: &[N],
        validity: Option<&[bool]>,
        way: Way,
        descriptor: ColumnDescPtr,
    ) -> Result<ColumnCloseResult, ParquetError> {
        let rows = validity.map_or(values.len(), <[bool]>::len);
        self.bytes.clear();
        self.page.clear();
        if let Some(validity) = validity {
            self.levels.clear();
            self.levels.extend(validity.iter().map(|&valid| u64::from(valid)));
            self.page.extend_from_slice(&[0; 4]);
            hybrid::encode(&self.levels, 1, &mut self.page);
            let length = self.page.len() as u32 - 4;
            self.page[..4].copy_from_slice(&length.to_le_bytes());
        }
        let mut dictionary_bytes = None;
        match (way, values.first()) {
            (Way::Plain, _) => values.iter().for_each(|v| v.put(&mut self.page)),
            (Way::Constant, Some(&value)) => delta::encode_constant(value, values.len(), &mut self.page),
            (Way::Constant | Way::Delta, _) => delta::encode(values, &mut self.page),
            (Way::Dictionary, _) => {
                let mut uniques = Vec::new();
                let found = self.dictionary.fill(values, &mut uniques);
                put_dictionary_header(&mut self.bytes, uniques.len(), found);
                self.bytes.extend_from_slice(&uniques);
                dictionary_bytes = Some(self.bytes.len());
                let width = u64::BITS - (found.saturating_sub(1) as u64).leading_zeros();
                self.page.push(width as u8);
                hybrid::encode(&self.dictionary.indices, width, &mut self.page);
            }
        }
        let encoding = match way {
            Way::Plain => Encoding::PLAIN,
            Way::Constant | Way::Delta => Encoding::DELTA_BINARY_PACKED,
            Way::Dictionary => Encoding::RLE_DICTIONARY,
        };
        put_data_header(&mut self.bytes, self.page.len(), rows, encoding);
        self.bytes.extend_from_slice(&self.page);
        self.close(rows, encoding, dictionary_bytes, descriptor)
    }

    fn close(
        &self,
        rows: usize,
        encoding: Encoding,
        dictionary_bytes: Option<usize>,
        descriptor: ColumnDescPtr,
    ) -> Result<ColumnCloseResult, ParquetError> {
        let page = |page_type, encoding| PageEncodingStats { page_type, encoding, count: 1 };
        let mut encodings = vec![Encoding::RLE, encoding];
        let mut pages = vec![page(PageType::DATA_PAGE, encoding)];
        if dictionary_bytes.is_some() {
            encodings.push(Encoding::PLAIN);
            pages.insert(0, page(PageType::DICTIONARY_PAGE, Encoding::PLAIN));
        }
        let bytes = self.bytes.len() as i64;
        let metadata = ColumnChunkMetaData::builder(descriptor)
            .set_compression(Compression::UNCOMPRESSED)
            .set_encodings(encodings)
            .set_page_encoding_stats(pages)
            .set_total_compressed_size(bytes)
            .set_total_uncompressed_size(bytes)
            .set_num_values(rows as i64)
            .set_dictionary_page_offset(dictionary_bytes.map(|_| 0))
            .set_data_page_offset(dictionary_bytes.unwrap_or(0) as i64)
            .build()?;
        Ok(ColumnCloseResult {
            bytes_written: self.bytes.len() as u64,
            rows_written: rows as u64,
            metadata,
            bloom_filter: None,
            column_index: None,
            offset_index: None,
        })
    }

    /// What [`Chunk::fill`] has laid out.
    pub(super) fn reader(&self) -> Laid<'_> {
        Laid(&self.bytes)
    }
}

/// A chunk, as the library wants to be given it.
pub(super) struct Laid<'a>(&'a [u8]);

impl Length for Laid<'_> {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }
}

impl<'a> ChunkReader for Laid<'a> {
    type T = &'a [u8];

    fn get_read(&self, start: u64) -> Result<&'a [u8], ParquetError> {
        let start = usize::try_from(start).unwrap_or(usize::MAX);
        self.0.get(start..).ok_or_else(|| ParquetError::General("behind the end of a column".into()))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        let rest = self.get_read(start)?;
        Ok(Bytes::copy_from_slice(&rest[..length.min(rest.len())]))
    }
}

// `PageHeader` in Thrift's compact protocol: before each field a byte, distance to the number of the field before in the
// upper half, type in the lower one.
const I32: u8 = 5;
const STRUCT: u8 = 12;
const FALSE: u8 = 2;
const END: u8 = 0;

fn put_field(out: &mut Vec<u8>, distance: u8, kind: u8) {
    out.push(distance << 4 | kind);
}

fn put_i32(out: &mut Vec<u8>, value: i64) {
    put_field(out, 1, I32);
    put_zigzag(out, value);
}

/// Fields 1 to 3: the type of the page, its size, its compressed size.
fn put_sizes(out: &mut Vec<u8>, page_type: PageType, bytes: usize) {
    put_i32(out, page_type as i64);
    put_i32(out, bytes as i64);
    put_i32(out, bytes as i64);
}

/// With field 5, `DataPageHeader`: values, encoding, encoding of definition levels and of repetition levels.
fn put_data_header(out: &mut Vec<u8>, bytes: usize, values: usize, encoding: Encoding) {
    put_sizes(out, PageType::DATA_PAGE, bytes);
    put_field(out, 2, STRUCT);
    put_i32(out, values as i64);
    [encoding, Encoding::RLE, Encoding::RLE].into_iter().for_each(|e| put_i32(out, e as i64));
    out.extend_from_slice(&[END, END]);
}

/// With field 7, `DictionaryPageHeader`: values, encoding, whether they are sorted.
fn put_dictionary_header(out: &mut Vec<u8>, bytes: usize, values: usize) {
    put_sizes(out, PageType::DICTIONARY_PAGE, bytes);
    put_field(out, 4, STRUCT);
    put_i32(out, values as i64);
    put_i32(out, Encoding::PLAIN as i64);
    put_field(out, 1, FALSE);
    out.extend_from_slice(&[END, END]);
}
