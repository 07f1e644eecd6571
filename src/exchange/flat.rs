//! Columns of flat records: every record with its names spelled out, in text, Parquet or Arrow.

/// The column with a row's number in its file, from 1.
pub const ROW: &str = "row";

/// The column that is 1 in the last row of its file and 0 in all others: a stream is counted only when it has ended. A file
/// that was cut off between two rows ends with a 0, and numbers tell rows that are missing before.
pub const IS_LAST: &str = "is_last";

/// The column of older exports that had the number of rows in the last row and was empty in all others.
pub const FILE_ROWS: &str = "file_rows";

/// The column that says from where a trace itself began to count: listings print the time from there on.
pub const ORIGIN: &str = "origin_ns";

/// What the registry's column of a name's id is called when the name itself stands in it.
pub fn name_column(column: &str) -> &str {
    match column {
        // `name` is what people read: demangled, without version suffix.
        "name_id" => "raw_name",
        // `domain` of an API call is a code.
        "domain_id" => "domain_name",
        other => other.strip_suffix("_id").unwrap_or(other),
    }
}
