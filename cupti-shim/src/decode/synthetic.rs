//! Records built field by field, from the tables of layouts. For tests.

use cupti_sys::{Field, layouts};

use crate::strides::Strides;

/// The fields of a kind; the table is sorted by kind.
fn fields_of(kind: u32) -> &'static [(u32, &'static str, Field)] {
    let start = layouts::FIELDS.partition_point(|field| field.0 < kind);
    let end = layouts::FIELDS.partition_point(|field| field.0 <= kind);
    &layouts::FIELDS[start..end]
}

/// Where a field of a kind is in records of that many bytes. NVLINK was laid out anew once, so the first entry that fits
/// is not always the one; nothing here depends on it.
pub fn field(kind: u32, name: &str, stride: usize) -> Option<Field> {
    let fields = fields_of(kind).iter().filter(|(_, n, _)| *n == name);
    fields.map(|(_, _, field)| *field).find(|field| field.fits(stride))
}

/// Writes a number into a field, cut to the field's size.
pub fn set(record: &mut [u8], kind: u32, name: &str, value: u64) {
    let field = field(kind, name, record.len()).unwrap_or_else(|| panic!("kind {kind} has no {name}"));
    let size = usize::from(field.size).min(8);
    record[usize::from(field.offset)..][..size].copy_from_slice(&value.to_le_bytes()[..size]);
}

/// Reads a field of at most eight bytes; 0 where the record ends before it.
pub fn get(record: &[u8], kind: u32, name: &str) -> u64 {
    let Some(field) = field(kind, name, record.len()) else { return 0 };
    let mut bytes = [0; 8];
    let size = usize::from(field.size).min(8);
    bytes[..size].copy_from_slice(&record[usize::from(field.offset)..][..size]);
    u64::from_le_bytes(bytes)
}

/// Builds a block.
pub struct Writer<'a> {
    strides: &'a Strides,
    pub bytes: Vec<u8>,
}

impl<'a> Writer<'a> {
    pub fn new(strides: &'a Strides) -> Self {
        Writer { strides, bytes: Vec::new() }
    }

    /// Appends a record; fields that are not given are 0.
    pub fn record(&mut self, kind: u32, values: &[(&str, u64)]) -> &mut Self {
        let start = self.bytes.len();
        let stride = self.strides.of(kind);
        assert!(stride > 0, "kind {kind} is not known");
        self.bytes.resize(start + stride, 0);
        set(&mut self.bytes[start..], kind, "kind", u64::from(kind));
        for &(name, value) in values {
            set(&mut self.bytes[start..], kind, name, value);
        }
        self
    }

    /// Appends a record in which every field that the toolkit knows has a value of its own, and every other byte is
    /// noise: padding means nothing. Times are possible ones, pointers to names are small numbers as after
    /// `intern_block`.
    pub fn full(&mut self, kind: u32, toolkit: u16, seed: u64) -> &mut Self {
        let start = self.bytes.len();
        self.bytes.resize(start + self.strides.of(kind), 0xA5);
        let record = &mut self.bytes[start..];
        for (i, &(_, name, field)) in fields_of(kind).iter().enumerate() {
            let known = field.since <= toolkit && (field.until == 0 || toolkit <= field.until);
            if !known || !field.fits(record.len()) {
                continue;
            }
            let mut noise = (seed << 20 | u64::from(kind) << 12 | i as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            noise ^= noise >> 29;
            let value = match name {
                "kind" => u64::from(kind),
                "start" | "timestamp" | "deviceTimestamp" => NOW_NS + seed * 1000 + (noise & 0xFF),
                "end" => NOW_NS + seed * 1000 + 0x100 + (noise & 0xFFFF),
                "queued" => NOW_NS - 5000,
                "submitted" => NOW_NS - 2000,
                "name" | "srcFile" | "funcName" | "varName" | "kernelName" => 1 + (noise & 0xFFFF),
                _ => noise,
            };
            let size = usize::from(field.size).min(8);
            record[usize::from(field.offset)..][..size].copy_from_slice(&value.to_le_bytes()[..size]);
        }
        self
    }
}

/// A time of day in 2026.
pub const NOW_NS: u64 = 1_790_000_000_000_000_000;
