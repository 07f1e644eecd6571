//! What stands before each page: `PageHeader` in Thrift's compact protocol.

use parquet::basic::{Encoding, PageType};

use super::bits::put_zigzag;

/// How long a page is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Without compression.
    pub bytes: usize,
    /// The size of the page in the file.
    pub stored_bytes: usize,
}

impl Sizes {
    /// Of a page that is stored as it is.
    pub fn plain(bytes: usize) -> Sizes {
        Sizes { bytes, stored_bytes: bytes }
    }
}

// Before each field a byte, distance to the number of the field before in the
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
fn put_sizes(out: &mut Vec<u8>, page_type: PageType, sizes: Sizes) {
    put_i32(out, page_type as i64);
    put_i32(out, sizes.bytes as i64);
    put_i32(out, sizes.stored_bytes as i64);
}

/// Appends the header of a data page of version 1: `rows` counts nulls too. With field 5, `DataPageHeader`: values,
/// encoding, encoding of definition levels and of repetition levels.
pub fn put_data_header(out: &mut Vec<u8>, sizes: Sizes, rows: usize, encoding: Encoding) {
    put_sizes(out, PageType::DATA_PAGE, sizes);
    put_field(out, 2, STRUCT);
    put_i32(out, rows as i64);
    [encoding, Encoding::RLE, Encoding::RLE].into_iter().for_each(|e| put_i32(out, e as i64));
    out.extend_from_slice(&[END, END]);
}

/// Appends the header of a dictionary's page. With field 7, `DictionaryPageHeader`: values, encoding, whether they are
/// sorted.
pub fn put_dictionary_header(out: &mut Vec<u8>, sizes: Sizes, values: usize) {
    put_sizes(out, PageType::DICTIONARY_PAGE, sizes);
    put_field(out, 4, STRUCT);
    put_i32(out, values as i64);
    put_i32(out, Encoding::PLAIN as i64);
    put_field(out, 1, FALSE);
    out.extend_from_slice(&[END, END]);
}
