//! Whether what an Arrow file says of the lengths of its buffers can be true, looked at before the decoder makes room for
//! them: it takes any length at its word, and a process that asks for a terabyte is ended.

use crate::numbers::counted;
use polars::prelude::*;
use polars_arrow::io::ipc::format::ipc::planus::{self, ReadAsRoot};
use polars_arrow::io::ipc::format::ipc::{Block, BufferRef, MessageHeaderRef, MessageRef, RecordBatchRef};
use polars_arrow::io::ipc::read::FileMetadata;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt as _;

/// Bytes that a buffer may have however few it is packed into,
const MOST_UNPACKED: u64 = 16 << 20;
/// more for each row, as the widest value takes,
const MOST_PER_ROW: u64 = 16;
/// and for each packed byte: nothing packs better than zstd, which needs one for some ten thousand that are equal.
const MOST_PER_BYTE: u64 = 1 << 15;

/// The bytes in front of a packed buffer, which say how long it is unpacked; -1: it is not packed.
const LENGTH_BYTES: u64 = 8;

/// Checks all batches of rows.
///
/// # Errors
/// Fails if the file is shorter than its batches, or if they have more rows than `most_rows` or buffers than these need.
pub(super) fn check(file: &File, metadata: &FileMetadata, most_rows: u64) -> PolarsResult<()> {
    let bytes = file.metadata()?.len();
    let (mut rows, mut message) = (0_u64, Vec::new());
    for block in metadata.dictionaries.iter().flatten().chain(&metadata.blocks) {
        let cut =
            || polars_err!(ComputeError: "the batch of rows at byte {} is longer than the file", block.offset);
        let [head, body] = parts_of(block, bytes).ok_or_else(cut)?;
        message.resize((head.end - head.start) as usize, 0);
        file.read_exact_at(&mut message, head.start)?;
        let damaged = |e: planus::Error| polars_err!(ComputeError: "the batch of rows at byte {} is damaged: {e}", block.offset);
        // What holds no rows the decoder refuses.
        let Some(batch) = batch_of(&message).map_err(damaged)? else { continue };
        let batch_rows = u64::try_from(batch.length().map_err(damaged)?).unwrap_or(u64::MAX);
        rows = rows.saturating_add(batch_rows);
        polars_ensure!(
            rows <= most_rows,
            ComputeError: "{} are promised in {}, which no recording fits into", counted(rows, "row"), counted(bytes, "byte")
        );
        let is_packed = batch.compression().map_err(damaged)?.is_some();
        for buffer in batch.buffers().map_err(damaged)?.into_iter().flatten() {
            let Some(packed) = place_of(buffer, &body) else { return Err(cut()) };
            let length = packed.end - packed.start;
            // An empty one has no length in front of it.
            if !is_packed || length < LENGTH_BYTES {
                continue;
            }
            let mut unpacked = [0; LENGTH_BYTES as usize];
            file.read_exact_at(&mut unpacked, packed.start)?;
            let unpacked = i64::from_le_bytes(unpacked);
            let most = MOST_UNPACKED
                .saturating_add(batch_rows.saturating_mul(MOST_PER_ROW))
                .saturating_add(length.saturating_mul(MOST_PER_BYTE));
            polars_ensure!(
                unpacked == -1 || u64::try_from(unpacked).is_ok_and(|unpacked| unpacked <= most),
                ComputeError: "a buffer of {} at byte {} says that it is unpacked to {unpacked}", counted(length, "byte"), packed.start
            );
        }
    }
    Ok(())
}

/// Where a block's message and what follows it stand; `None`: not in the file.
fn parts_of(block: &Block, file_bytes: u64) -> Option<[Range<u64>; 2]> {
    let start = u64::try_from(block.offset).ok()?;
    let body = start.checked_add(u64::try_from(block.meta_data_length).ok()?)?;
    let end = body.checked_add(u64::try_from(block.body_length).ok()?)?;
    (end <= file_bytes).then_some([start..body, body..end])
}

/// The rows of a message: behind its length, which may follow four bytes of ones.
fn batch_of(bytes: &[u8]) -> planus::Result<Option<RecordBatchRef<'_>>> {
    let bytes = bytes.strip_prefix(&[0xff; 4]).unwrap_or(bytes).get(4..).unwrap_or_default();
    Ok(match MessageRef::read_as_root(bytes)?.header()? {
        Some(MessageHeaderRef::RecordBatch(batch)) => Some(batch),
        Some(MessageHeaderRef::DictionaryBatch(dictionary)) => dictionary.data()?,
        _ => None,
    })
}

/// Where a buffer stands in the file; `None`: not in its batch.
fn place_of(buffer: BufferRef<'_>, body: &Range<u64>) -> Option<Range<u64>> {
    let start = body.start.checked_add(u64::try_from(buffer.offset()).ok()?)?;
    let end = start.checked_add(u64::try_from(buffer.length()).ok()?)?;
    (end <= body.end).then_some(start..end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::testing::TempFile;
    use polars_arrow::io::ipc::read::read_file_metadata;
    use polars_arrow::io::ipc::write::{Compression, FileWriter, WriteOptions};

    /// A file with a batch of three columns.
    fn written(compression: Option<Compression>) -> Vec<u8> {
        let numbers: Vec<i64> = (0..1000).collect();
        let texts: Vec<String> = numbers.iter().map(|number| format!("kernel{}", number % 7)).collect();
        let sparse: Vec<Option<u32>> = numbers.iter().map(|&number| (number % 3 == 0).then_some(7)).collect();
        let columns = vec![
            Column::new("start_ns".into(), numbers),
            Column::new("name".into(), texts),
            Column::new("device".into(), sparse),
        ];
        let frame = DataFrame::new(1000, columns).expect("a frame");
        let schema = Arc::new(frame.schema().to_arrow(CompatLevel::oldest()));
        let mut writer = FileWriter::new(Vec::new(), schema, None, WriteOptions { compression });
        writer.start().expect("memory");
        for batch in frame.iter_chunks(CompatLevel::oldest(), true) {
            writer.write(&batch, None).expect("memory");
        }
        writer.finish().expect("memory");
        writer.into_inner()
    }

    /// What is said of these bytes, whose footer is that of `of`.
    fn said(of: &[u8], bytes: &[u8], most_rows: u64) -> Option<String> {
        let metadata = read_file_metadata(&mut std::io::Cursor::new(of)).expect("a footer");
        let file = TempFile::new("table.arrow", bytes);
        check(&File::open(&file.path).expect("a file"), &metadata, most_rows).err().map(|error| error.to_string())
    }

    #[test]
    fn what_polars_writes_is_right() {
        for compression in [None, Some(Compression::ZSTD(Default::default())), Some(Compression::LZ4)] {
            let bytes = written(compression);
            assert_eq!(said(&bytes, &bytes, 1000), None);
            let many = said(&bytes, &bytes, 999).expect("too many rows");
            assert!(many.contains("1,000 rows are promised"), "{many}");
            let cut = said(&bytes, &bytes[..bytes.len() / 2], 1000).expect("too short");
            assert!(cut.contains("longer than the file"), "{cut}");
        }
    }

    #[test]
    fn a_buffer_that_would_be_a_terabyte_is_refused() {
        let bytes = written(Some(Compression::ZSTD(Default::default())));
        let metadata = read_file_metadata(&mut std::io::Cursor::new(&bytes[..])).expect("a footer");
        let [head, body] = parts_of(&metadata.blocks[0], bytes.len() as u64).expect("a block");
        let message = &bytes[head.start as usize..head.end as usize];
        let batch = batch_of(message).expect("a message").expect("rows");
        let mut refused = 0;
        for buffer in batch.buffers().expect("buffers").into_iter().flatten() {
            let place = place_of(buffer, &body).expect("a buffer");
            if place.is_empty() {
                continue;
            }
            for length in [6_871_947_673_600_i64, i64::MAX, -2] {
                let mut damaged = bytes.clone();
                damaged[place.start as usize..][..8].copy_from_slice(&length.to_le_bytes());
                let said = said(&bytes, &damaged, 1000).expect("a terabyte");
                assert!(said.contains(&format!("unpacked to {length}")), "{said}");
                refused += 1;
            }
        }
        assert!(refused >= 9, "{refused}");
    }
}
