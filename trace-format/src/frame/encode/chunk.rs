//! One column of integers as Parquet lays it out: page headers, levels, values, and what the footer says of them.

use parquet::basic::{Compression, Encoding, PageType};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, PageEncodingStats};
use parquet::schema::types::ColumnDescPtr;

use crate::pages::{self, Dictionary, Laid, Number, Sizes, delta, hybrid};

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
            pages::put_levels(validity, &mut self.levels, &mut self.page);
        }
        let mut dictionary_bytes = None;
        match (way, values.first()) {
            (Way::Plain, _) => values.iter().for_each(|v| v.put(&mut self.page)),
            (Way::Constant, Some(&value)) => delta::encode_constant(value, values.len(), &mut self.page),
            (Way::Constant | Way::Delta, _) => delta::encode(values, &mut self.page),
            (Way::Dictionary, _) => {
                let mut uniques = Vec::new();
                let found = self.dictionary.fill(values, &mut uniques);
                pages::put_dictionary_header(&mut self.bytes, Sizes::plain(uniques.len()), found);
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
        pages::put_data_header(&mut self.bytes, Sizes::plain(self.page.len()), rows, encoding);
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
