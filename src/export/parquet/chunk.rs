//! One column of a row group as it lies in the file: pages, and what the footer says of them.

use super::buffer::Buffer;
use parquet::basic::{Compression, Encoding, PageType, ZstdLevel};
use parquet::column::writer::ColumnCloseResult;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, PageEncodingStats};
use parquet::file::statistics::Statistics;
use parquet::schema::types::ColumnDescPtr;
use trace_format::pages::{self, Dictionary, Number, Sizes, delta, hybrid};

/// The level of zstd: integers are small already, and the levels above win a few percent for twice the time.
const LEVEL: i32 = 1;
/// Different numbers above which a dictionary costs more than it saves.
const MOST_NUMBERS: usize = 1 << 16;
/// Texts longer than this do not become statistics.
const LONGEST_STATISTIC: usize = 256;

/// A column chunk.
pub struct Laid {
    /// Its pages.
    pub bytes: Vec<u8>,
    /// What the footer says about the chunk.
    pub close: ColumnCloseResult,
}

/// Signed numbers.
pub fn signed(
    buffer: &Buffer<i64>,
    is_optional: bool,
    is_dictionary: bool,
    descriptor: ColumnDescPtr,
) -> Result<Laid, ParquetError> {
    let bounds = bounds(&buffer.values);
    let (min, max) = (bounds.map(|b| b.0), bounds.map(|b| b.1));
    let statistics = Statistics::int64(min, max, None, nulls(buffer), false);
    whole(buffer, is_optional, is_dictionary).finish(buffer.rows(), statistics, descriptor)
}

/// Unsigned numbers, in the bits of signed ones.
pub fn unsigned(
    buffer: &Buffer<u64>,
    is_optional: bool,
    is_dictionary: bool,
    descriptor: ColumnDescPtr,
) -> Result<Laid, ParquetError> {
    let bounds = bounds(&buffer.values);
    let (min, max) = (bounds.map(|b| b.0 as i64), bounds.map(|b| b.1 as i64));
    let statistics = Statistics::int64(min, max, None, nulls(buffer), false);
    whole(buffer, is_optional, is_dictionary).finish(buffer.rows(), statistics, descriptor)
}

/// Floating-point numbers.
pub fn real(buffer: &Buffer<f64>, is_optional: bool, descriptor: ColumnDescPtr) -> Result<Laid, ParquetError> {
    let mut pages = Pages::new(buffer, is_optional, Encoding::PLAIN);
    buffer.values.iter().for_each(|value| pages.data.extend_from_slice(&value.to_le_bytes()));
    // NaN has no place in an order.
    let ordered = !buffer.values.is_empty() && !buffer.values.iter().any(|value| value.is_nan());
    let fold = |pick: fn(f64, f64) -> f64| buffer.values.iter().copied().reduce(pick).filter(|_| ordered);
    let statistics = Statistics::double(fold(f64::min), fold(f64::max), None, nulls(buffer), false);
    pages.finish(buffer.rows(), statistics, descriptor)
}

/// Yes and no.
pub fn bool(buffer: &Buffer<bool>, is_optional: bool, descriptor: ColumnDescPtr) -> Result<Laid, ParquetError> {
    let mut pages = Pages::new(buffer, is_optional, Encoding::PLAIN);
    let byte = |values: &[bool]| values.iter().enumerate().fold(0, |byte, (i, &value)| byte | u8::from(value) << i);
    pages.data.extend(buffer.values.chunks(8).map(byte));
    let (min, max) = (buffer.values.iter().copied().min(), buffer.values.iter().copied().max());
    let statistics = Statistics::boolean(min, max, None, nulls(buffer), false);
    pages.finish(buffer.rows(), statistics, descriptor)
}

/// Texts and bytes: numbers of `texts`. Those that occur become the dictionary.
pub fn text(
    buffer: &Buffer<u32>,
    texts: &[Box<[u8]>],
    is_optional: bool,
    descriptor: ColumnDescPtr,
) -> Result<Laid, ParquetError> {
    let mut pages = Pages::new(buffer, is_optional, Encoding::RLE_DICTIONARY);
    let mut numbered = vec![u32::MAX; texts.len()];
    let mut used: Vec<&[u8]> = Vec::new();
    let mut indices = Vec::with_capacity(buffer.values.len());
    for &number in &buffer.values {
        let index = &mut numbered[number as usize];
        if *index == u32::MAX {
            *index = used.len() as u32;
            used.push(&texts[number as usize]);
        }
        indices.push(u64::from(*index));
    }
    let mut dictionary = Vec::new();
    for text in &used {
        dictionary.extend_from_slice(&(text.len() as u32).to_le_bytes());
        dictionary.extend_from_slice(text);
    }
    pages.put_indices(&indices, used.len());
    pages.dictionary = Some((dictionary, used.len()));
    let statistic = |text: Option<&&[u8]>| text.map(|text| ByteArray::from(text.to_vec()));
    let short = used.iter().all(|text| text.len() <= LONGEST_STATISTIC);
    let bound = |text: Option<&&[u8]>| if short { statistic(text) } else { None };
    let (min, max) = (bound(used.iter().min()), bound(used.iter().max()));
    let statistics = Statistics::byte_array(min, max, None, nulls(buffer), false);
    pages.finish(buffer.rows(), statistics, descriptor)
}

fn nulls<T>(buffer: &Buffer<T>) -> Option<u64> {
    Some((buffer.rows() - buffer.values.len()) as u64)
}

fn bounds<T: Copy + Ord>(values: &[T]) -> Option<(T, T)> {
    let first = *values.first()?;
    Some(values.iter().fold((first, first), |(min, max), &value| (min.min(value), max.max(value))))
}

fn whole<T: Number>(buffer: &Buffer<T>, is_optional: bool, is_dictionary: bool) -> Pages {
    let mut pages = Pages::new(buffer, is_optional, Encoding::DELTA_BINARY_PACKED);
    let values = &buffer.values;
    match values.first() {
        Some(&first) if values.iter().all(|value| *value == first) => {
            delta::encode_constant(first, values.len(), &mut pages.data);
        }
        Some(_) if is_dictionary => {
            let (mut dictionary, mut uniques) = (Dictionary::default(), Vec::new());
            let found = dictionary.fill(values, &mut uniques);
            if found > MOST_NUMBERS {
                delta::encode(values, &mut pages.data);
            } else {
                pages.encoding = Encoding::RLE_DICTIONARY;
                pages.put_indices(&dictionary.indices, found);
                pages.dictionary = Some((uniques, found));
            }
        }
        _ => delta::encode(values, &mut pages.data),
    }
    pages
}

/// The pages of a column, before compression.
struct Pages {
    /// The values of the dictionary, and how many there are.
    dictionary: Option<(Vec<u8>, usize)>,
    data: Vec<u8>,
    encoding: Encoding,
}

impl Pages {
    fn new<T>(buffer: &Buffer<T>, is_optional: bool, encoding: Encoding) -> Pages {
        let mut data = Vec::new();
        if is_optional {
            match buffer.validity() {
                None => pages::put_levels_all_present(buffer.rows(), true, &mut data),
                Some(_) if buffer.values.is_empty() => {
                    pages::put_levels_all_present(buffer.rows(), false, &mut data);
                }
                Some(validity) => pages::put_levels(validity, &mut Vec::new(), &mut data),
            }
        }
        Pages { dictionary: None, data, encoding }
    }

    fn put_indices(&mut self, indices: &[u64], different: usize) {
        let width = u64::BITS - (different.saturating_sub(1) as u64).leading_zeros();
        self.data.push(width as u8);
        hybrid::encode(indices, width, &mut self.data);
    }

    fn finish(self, rows: usize, statistics: Statistics, descriptor: ColumnDescPtr) -> Result<Laid, ParquetError> {
        let mut compressor = zstd::bulk::Compressor::new(LEVEL)?;
        let mut bytes = Vec::new();
        let mut unpacked_bytes = 0;
        if let Some((values, different)) = &self.dictionary {
            let packed = compressor.compress(values)?;
            let sizes = Sizes { bytes: values.len(), stored_bytes: packed.len() };
            pages::put_dictionary_header(&mut bytes, sizes, *different);
            unpacked_bytes = bytes.len() + values.len();
            bytes.extend_from_slice(&packed);
        }
        let data_at = bytes.len();
        let packed = compressor.compress(&self.data)?;
        let sizes = Sizes { bytes: self.data.len(), stored_bytes: packed.len() };
        pages::put_data_header(&mut bytes, sizes, rows, self.encoding);
        unpacked_bytes += bytes.len() - data_at + self.data.len();
        bytes.extend_from_slice(&packed);
        let page = |page_type, encoding| PageEncodingStats { page_type, encoding, count: 1 };
        let mut encodings = vec![Encoding::RLE, self.encoding];
        let mut pages = vec![page(PageType::DATA_PAGE, self.encoding)];
        if self.dictionary.is_some() {
            encodings.push(Encoding::PLAIN);
            pages.insert(0, page(PageType::DICTIONARY_PAGE, Encoding::PLAIN));
        }
        let metadata = ColumnChunkMetaData::builder(descriptor)
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(LEVEL)?))
            .set_encodings(encodings)
            .set_page_encoding_stats(pages)
            .set_statistics(statistics)
            .set_total_compressed_size(bytes.len() as i64)
            .set_total_uncompressed_size(unpacked_bytes as i64)
            .set_num_values(rows as i64)
            .set_dictionary_page_offset(self.dictionary.as_ref().map(|_| 0))
            .set_data_page_offset(data_at as i64)
            .build()?;
        let close = ColumnCloseResult {
            bytes_written: bytes.len() as u64,
            rows_written: rows as u64,
            metadata,
            bloom_filter: None,
            column_index: None,
            offset_index: None,
        };
        Ok(Laid { bytes, close })
    }
}
