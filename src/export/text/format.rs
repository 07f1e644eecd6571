//! How records become text: CSV, TSV, JSON lines, and the values in them.

use crate::export::flat::{Cell, Layout};
use crate::render::digits::{signed, unsigned};
use std::io::Write as _;

/// How one record becomes text.
pub(super) trait Format: Sync {
    /// The line above all records; nothing if there is none.
    fn heading(&self, layout: &Layout, out: &mut Vec<u8>);
    /// Begins a value in the column at this position; `first` in its record.
    fn begin(&self, out: &mut Vec<u8>, first: bool, name: &str);
    /// Whether nulls are written, as nothing between separators.
    fn writes_nulls(&self) -> bool;
    /// Text.
    fn text(&self, out: &mut Vec<u8>, text: &str);
    /// What stands for null in a first record that has to name all columns; none where a heading names them.
    fn null_of_first(&self) -> Option<&'static [u8]> {
        None
    }
    /// Begins and ends a record.
    fn ends(&self) -> (&'static [u8], &'static [u8]);
}

/// Commas or another byte, as RFC 4180 has it.
pub(super) struct Csv(pub(super) u8);
/// Tabs, and escapes for what would break a line.
pub(super) struct Tsv;
/// An object per line.
pub(super) struct JsonLines;

impl Format for Csv {
    fn heading(&self, layout: &Layout, out: &mut Vec<u8>) {
        for (i, column) in layout.columns.iter().enumerate() {
            self.begin(out, i == 0, &column.name);
            self.text(out, &column.name);
        }
        out.extend_from_slice(b"\r\n");
    }
    #[inline]
    fn begin(&self, out: &mut Vec<u8>, first: bool, _: &str) {
        if !first {
            out.push(self.0);
        }
    }
    #[inline]
    fn writes_nulls(&self) -> bool {
        true
    }
    fn text(&self, out: &mut Vec<u8>, text: &str) {
        let special = |b: u8| matches!(b, b'"' | b'\r' | b'\n') || b == self.0;
        // A leading or trailing blank is quoted too: some readers trim what is not.
        let plain = !text.bytes().any(special) && !text.starts_with(' ') && !text.ends_with(' ');
        if plain {
            out.extend_from_slice(text.as_bytes());
            return;
        }
        out.push(b'"');
        for (i, part) in text.split('"').enumerate() {
            if i > 0 {
                out.extend_from_slice(b"\"\"");
            }
            out.extend_from_slice(part.as_bytes());
        }
        out.push(b'"');
    }
    #[inline]
    fn ends(&self) -> (&'static [u8], &'static [u8]) {
        // RFC 4180 ends records so.
        (b"", b"\r\n")
    }
}

impl Format for Tsv {
    fn heading(&self, layout: &Layout, out: &mut Vec<u8>) {
        let names: Vec<&str> = layout.columns.iter().map(|column| column.name.as_str()).collect();
        out.extend_from_slice(names.join("\t").as_bytes());
        out.push(b'\n');
    }
    #[inline]
    fn begin(&self, out: &mut Vec<u8>, first: bool, _: &str) {
        if !first {
            out.push(b'\t');
        }
    }
    #[inline]
    fn writes_nulls(&self) -> bool {
        true
    }
    fn text(&self, out: &mut Vec<u8>, text: &str) {
        for byte in text.bytes() {
            match byte {
                b'\t' => out.extend_from_slice(b"\\t"),
                b'\n' => out.extend_from_slice(b"\\n"),
                b'\r' => out.extend_from_slice(b"\\r"),
                b'\\' => out.extend_from_slice(b"\\\\"),
                other => out.push(other),
            }
        }
    }
    #[inline]
    fn ends(&self) -> (&'static [u8], &'static [u8]) {
        (b"", b"\n")
    }
}

impl Format for JsonLines {
    fn heading(&self, _: &Layout, _: &mut Vec<u8>) {}
    #[inline]
    fn begin(&self, out: &mut Vec<u8>, first: bool, name: &str) {
        out.extend_from_slice(if first { b"\"" } else { b",\"" });
        // Names of columns are words of the registry, which need no escapes.
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b"\":");
    }
    #[inline]
    fn writes_nulls(&self) -> bool {
        false
    }
    fn text(&self, out: &mut Vec<u8>, text: &str) {
        // Writing to memory cannot fail.
        let _ = serde_json::to_writer(out, text);
    }
    fn null_of_first(&self) -> Option<&'static [u8]> {
        Some(b"null")
    }
    #[inline]
    fn ends(&self) -> (&'static [u8], &'static [u8]) {
        (b"{", b"}\n")
    }
}

/// As [`signed`], for what may be a `u64` as well.
fn whole(out: &mut Vec<u8>, value: i128) {
    match (i64::try_from(value), u64::try_from(value)) {
        (Ok(value), _) => signed(out, value),
        (_, Ok(value)) => unsigned(out, value),
        // No column of the registry holds such a number.
        _ => out.extend_from_slice(value.to_string().as_bytes()),
    }
}

/// Writes a value; nothing for null.
pub(super) fn put(format: &impl Format, out: &mut Vec<u8>, cell: &Cell) {
    match cell {
        Cell::Null => {}
        Cell::Text(text) => format.text(out, text),
        Cell::Whole(value) => whole(out, *value),
        Cell::Real(value) if value.is_finite() => {
            let _ = write!(out, "{value:?}");
        }
        // JSON has no word for these, and as text every reader of CSV knows them.
        Cell::Real(value) => format.text(
            out,
            if value.is_nan() {
                "nan"
            } else if *value > 0.0 {
                "inf"
            } else {
                "-inf"
            },
        ),
        Cell::Bool(value) => out.extend_from_slice(if *value { b"true" } else { b"false" }),
        Cell::Bytes(bytes) => format.text(out, &hex(bytes)),
    }
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
