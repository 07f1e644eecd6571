//! The journal beside a database whose writer was interrupted.
//!
//! SQLite copies every page into `FILE-journal` before it changes it in the database. While that file is there with a
//! valid header, the database holds some changes of a transaction that was never finished, and SQLite puts the old pages
//! back before it reads a row. That would be writing to the file, so such a database is refused.

use crate::error::{Error, Result};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// How the header of a journal begins. A finished transaction leaves zeros here, or no file.
const MAGIC: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];

/// Bytes of the header: the magic, the number of pages in the journal, a nonce, the number of pages that the database
/// had, the size of a sector, the size of a page.
const HEADER_BYTES: usize = 28;

/// Refuses a database of `bytes` bytes with pages that its journal has to put back.
pub(super) fn refuse_hot(path: &Path, database: &mut File, bytes: u64) -> Result<()> {
    let mut journal = path.as_os_str().to_owned();
    journal.push("-journal");
    let mut header = [0; HEADER_BYTES];
    let read = File::open(&journal).and_then(|mut file| file.read_exact(&mut header));
    if bytes == 0 || read.is_err() || !header.starts_with(&MAGIC) {
        return Ok(());
    }
    let word = |at: usize| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    let (pages, pages_before) = (word(8), u64::from(word(16)));
    let grown = bytes > pages_before.saturating_mul(page_bytes(database).unwrap_or_else(|| u64::from(word(24))));
    // A header that was written before the first page of its transaction, and a database that has not grown either.
    if pages == 0 && !grown {
        return Ok(());
    }
    let shown = path.display();
    Err(Error::at(
        path,
        format_args!("its writer was interrupted inside a transaction: {shown}-journal holds what has to be put back first, and without it unfinished changes would be shown"),
    )
    .remedy(&format!("run `sqlite3 {shown} 'SELECT count(*) FROM sqlite_master'` once, which puts it back, or do so with a copy of both files")))
}

fn page_bytes(database: &mut File) -> Option<u64> {
    let mut size = [0; 2];
    database.seek(SeekFrom::Start(16)).ok()?;
    database.read_exact(&mut size).ok()?;
    Some(match u64::from(u16::from_be_bytes(size)) {
        1 => 65_536,
        bytes => bytes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::testing::{TempFile, import};
    use crate::trace::sink::Need;

    fn nvprof_database() -> TempFile {
        TempFile::database(
            "a.nvvp",
            "CREATE TABLE StringTable (_id_ INTEGER PRIMARY KEY, value TEXT); INSERT INTO StringTable VALUES (1, 'f');",
        )
    }

    /// A journal with these numbers of pages in it and in the database before.
    fn journal(magic: [u8; 8], pages: u32, pages_before: u32) -> Vec<u8> {
        let words = [pages, 1, pages_before, 512, 4096].map(u32::to_be_bytes);
        [&magic[..], &words.concat(), &[0; 512 - HEADER_BYTES]].concat()
    }

    fn opened_beside(journal: &[u8]) -> std::result::Result<(), String> {
        let file = nvprof_database();
        std::fs::write(file.path.with_extension("nvvp-journal"), journal).expect("a journal");
        import(&file, &Need::all()).map(drop).map_err(|error| error.to_string())
    }

    #[test]
    fn a_database_with_an_unfinished_transaction_is_refused() {
        let pages = (nvprof_database().bytes().len() / 4096) as u32;
        for hot in [journal(MAGIC, 1, pages), journal(MAGIC, u32::MAX, pages), journal(MAGIC, 0, pages - 1)] {
            let error = opened_beside(&hot).expect_err("refused");
            assert!(error.contains("-journal") && error.contains("sqlite3"), "{error}");
        }
    }

    #[test]
    fn what_a_finished_transaction_leaves_is_no_hindrance() {
        let pages = (nvprof_database().bytes().len() / 4096) as u32;
        for cold in [Vec::new(), vec![0; 512], journal([0; 8], 3, pages), journal(MAGIC, 0, pages), MAGIC.to_vec()]
        {
            assert_eq!(opened_beside(&cold), Ok(()));
        }
    }

    #[test]
    fn a_view_in_place_of_a_table_is_named() {
        let file = nvprof_database();
        let view = "CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS SELECT 1 AS start";
        rusqlite::Connection::open(&file.path).and_then(|db| db.execute_batch(view)).expect("a view");
        let imported = import(&file, &Need::all()).expect("a database");
        let note = imported.notes.iter().find(|note| note.code == "left-out").expect("a note");
        assert!(note.text.contains("CUPTI_ACTIVITY_KIND_KERNEL"), "{}", note.text);
    }
}
