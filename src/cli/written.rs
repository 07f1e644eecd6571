//! The line that says what was written: on the standard error, like everything that is not the answer itself.

use crate::export::destination::Size;
use crate::numbers::counted;
use std::io::{self, Write as _};
use std::path::Path;

/// Says what was written where.
pub fn say(output: &Path, rows: Option<u64>, size: Size, format: &str) {
    // A standard error that is closed must not cost the export.
    let _ = writeln!(io::stderr(), "gpuprof: {}", line(output, rows, size, format));
}

fn line(output: &Path, rows: Option<u64>, size: Size, format: &str) -> String {
    let mut parts = Vec::new();
    parts.extend(size.files.map(|files| format!("a folder of {}", counted(files as u64, "file"))));
    parts.extend(rows.map(|rows| counted(rows, "row")));
    parts.push(counted(size.bytes, "byte"));
    format!("{}: {} written ({format})", output.display(), parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_has_rows_and_bytes() {
        let size = Size { bytes: 1_234_567, files: None };
        assert_eq!(line(Path::new("a.csv"), Some(1), size, "csv"), "a.csv: 1 row, 1,234,567 bytes written (csv)");
        let size = Size { bytes: 1, files: Some(9) };
        let expected = "a/: a folder of 9 files, 1,000 rows, 1 byte written (parquet)";
        assert_eq!(line(Path::new("a/"), Some(1000), size, "parquet"), expected);
    }
}
