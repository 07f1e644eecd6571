//! The argument `gpuprof` of an event holds what Kineto's events have no field for: `{"duration_ns":0,"flags":1}`. Keys are columns
//! of the registry and replace what the event's own fields say; a row of a table that Kineto does not know stands
//! there whole: `{"table":"uvm","row":[…]}`.

use super::json;
use crate::trace::names::Names;
use trace_format::columns::{Batch, Values};
use trace_format::schema::AnyColumn;

/// The argument `gpuprof` of one event, which comes last.
pub struct GpuprofArgument<'o> {
    out: &'o mut Vec<u8>,
    is_open: bool,
}

impl<'o> GpuprofArgument<'o> {
    /// Nothing to say yet. Something must precede it in the arguments if `comma`.
    pub fn new(out: &'o mut Vec<u8>) -> Self {
        GpuprofArgument { out, is_open: false }
    }

    /// Writes a key, which a value must follow.
    #[inline]
    pub fn key(&mut self, key: &str) -> &mut Vec<u8> {
        // Arguments before this one all end with a comma.
        self.out.extend_from_slice(if self.is_open { b",\"" } else { b"\"gpuprof\":{\"" });
        self.is_open = true;
        self.out.extend_from_slice(key.as_bytes());
        self.out.extend_from_slice(b"\":");
        self.out
    }

    /// The number that a row has in this column, if there is one.
    #[inline]
    pub fn column(&mut self, column: &impl AnyColumn, value: Option<impl Into<i64>>) {
        self.number(column.name(), value);
    }

    /// A number, if there is one.
    #[inline]
    pub fn number(&mut self, key: &str, value: Option<impl Into<i64>>) {
        if let Some(value) = value {
            json::signed(self.key(key), value.into());
        }
    }

    /// Appends text that was made before, with a comma at its end.
    #[inline]
    pub fn prepared(&mut self, text: &[u8]) {
        if !text.is_empty() {
            self.out.extend_from_slice(if self.is_open { b"," } else { b"\"gpuprof\":{" });
            self.is_open = true;
            self.out.extend_from_slice(text);
        }
    }

    /// Ends the argument, and the event.
    #[inline]
    pub fn end(self) {
        let GpuprofArgument { out, is_open } = self;
        if is_open {
            out.push(b'}');
        } else if out.last() == Some(&b',') {
            out.pop();
        }
        out.extend_from_slice(b"}}");
    }
}

/// A row with all its columns, in the registry's order.
pub fn row(out: &mut Vec<u8>, names: &Names, rows: &Batch, i: usize) {
    out.push(b'[');
    for (at, (spec, column)) in rows.table.columns.iter().zip(&rows.columns).enumerate() {
        if at > 0 {
            out.push(b',');
        }
        if column.is_null(i) {
            out.extend_from_slice(b"null");
            continue;
        }
        match &column.values {
            Values::U32(values) if spec.unit.is_name() => json::exact(out, names.get(values[i])),
            Values::U32(values) => json::unsigned(out, values[i].into()),
            Values::U64(values) => json::unsigned(out, values[i]),
            Values::I64(values) => json::signed(out, values[i]),
            Values::F64(values) => json::float(out, values[i]),
            Values::Bool(values) => out.extend_from_slice(if values[i] { b"true" } else { b"false" }),
            Values::Bytes(values) => {
                out.push(b'"');
                json::hex(out, values.get(i));
                out.push(b'"');
            }
        }
    }
    out.push(b']');
}
