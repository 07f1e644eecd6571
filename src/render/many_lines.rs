//! Lines of long tables, made on all threads and written in order.

use rayon::prelude::*;
use std::io::{self, Write};

/// Rows whose lines one thread makes at a time. Shorter tables are not worth a second thread.
const CHUNK: usize = 1 << 12;

/// Writes a line for each row, which `line` adds to the text: it gets the number of the row and the row. Of a million rows
/// the text of some ten thousand is in memory at a time.
///
/// # Errors
/// Fails if `out` cannot be written to.
pub fn write_lines<R: Sync>(
    out: &mut dyn Write,
    rows: &[R],
    line: impl Fn(&mut String, usize, &R) + Sync,
) -> io::Result<()> {
    let text_of = |text: &mut String, first: usize, rows: &[R]| {
        rows.iter().zip(first..).for_each(|(row, at)| line(text, at, row));
    };
    let threads = rayon::current_num_threads().max(1);
    let mut texts = vec![String::new(); threads.min(rows.len().div_ceil(CHUNK))];
    for (batch, first) in rows.chunks(CHUNK * threads).zip((0..).step_by(CHUNK * threads)) {
        let part = |(at, text): (usize, &mut String)| {
            text.clear();
            let from = at * CHUNK;
            if let Some(rows) = batch.get(from..(from + CHUNK).min(batch.len())) {
                text_of(text, first + from, rows);
            }
        };
        match &mut texts[..] {
            [text] => part((0, text)),
            texts => texts.par_iter_mut().enumerate().for_each(part),
        }
        texts.iter().try_for_each(|text| out.write_all(text.as_bytes()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_written_once_in_its_place() {
        for count in [0, 1, CHUNK, CHUNK + 1, 64 * CHUNK + 5] {
            let rows: Vec<usize> = (0..count).map(|i| i * 3).collect();
            let mut out = Vec::new();
            write_lines(&mut out, &rows, |text, at, row| text.push_str(&format!("{at} {row}\n"))).expect("memory");
            let expected: String = rows.iter().enumerate().map(|(at, row)| format!("{at} {row}\n")).collect();
            assert!(out == expected.as_bytes(), "{count} rows");
        }
    }
}
