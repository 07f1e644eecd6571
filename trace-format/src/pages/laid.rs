//! A column chunk that is laid out already, as the Parquet library wants to be given it.

use bytes::Bytes;
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length};

/// A chunk, as the library wants to be given it.
pub struct Laid<'a>(pub &'a [u8]);

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
