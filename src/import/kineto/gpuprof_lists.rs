//! Rows that our own Chrome traces hold whole, column by column.

use super::convert::Converter;
use super::event::Event;
use super::gpuprof_fields::{self, Extra};
use super::json_tokens::{Tape, Value};
use super::number::{id, integer};
use trace_format::columns::{Batch, Values};
use trace_format::schema::{ColumnSpec, Role, Row, TableSpec};
use trace_format::tables::{self, ShapeRow};

/// Rows collected before they become a batch of the process.
const BATCH_ROWS: usize = 65_536;

impl Converter<'_, '_> {
    /// Takes the row or rows that an event holds.
    pub fn own_list(&mut self, tape: Tape, extra: &Extra, event: &Event) {
        let Value::Text(name) = extra.get("table") else { return };
        let name = std::str::from_utf8(name).unwrap_or_default();
        let Some(table) = tables::by_name(name).filter(|table| !table.columns.is_empty()) else { return };
        if table.role != Role::Defining && !self.wanted.tables.contains(&table) {
            return;
        }
        let ordinal = self.own_process(event, extra);
        if let Value::Nested(open) = extra.get("row") {
            self.own_row(tape, table, ordinal, open);
        }
        if let Value::Nested(open) = extra.get("rows") {
            for open in tape.elements(open) {
                self.own_row(tape, table, ordinal, open);
            }
        }
    }

    fn own_row(&mut self, tape: Tape, table: &'static TableSpec, ordinal: usize, open: usize) {
        let offset_ns = self.own_offset(ordinal);
        let values = tape.values(open);
        let mut batch = match table == &tables::SHAPE {
            true => Batch::empty(table),
            false => self.own_batches.remove(&(ordinal, table.id)).unwrap_or_else(|| Batch::empty(table)),
        };
        for (i, spec) in table.columns.iter().enumerate() {
            // Columns that the writer did not know are null.
            let value = values.get(i).copied().unwrap_or_default();
            self.own_cell(&mut batch, i, spec, tape, value, offset_ns);
        }
        batch.rows += 1;
        if table == &tables::SHAPE {
            let shape = ShapeRow::from_batch(&batch, 0);
            let written = shape.id;
            let id = self.sink.shape(shape);
            self.own_shapes.insert(written, id);
        } else if batch.rows >= BATCH_ROWS {
            self.own_batch(ordinal, batch);
        } else {
            self.own_batches.insert((ordinal, table.id), batch);
        }
    }

    fn own_cell(
        &mut self,
        batch: &mut Batch,
        i: usize,
        spec: &ColumnSpec,
        tape: Tape,
        value: Value,
        offset_ns: i64,
    ) {
        let rows = batch.rows;
        let column = &mut batch.columns[i];
        let is_null = matches!(value, Value::Missing | Value::Bare(b"null"));
        match &mut column.values {
            Values::U32(values) if spec.unit.is_name() => {
                values.push(gpuprof_fields::bytes(tape, value).map_or(0, |name| self.sink.name(&name)));
            }
            Values::U32(values) => values.push(id(value).unwrap_or(0)),
            Values::U64(values) => values.push(gpuprof_fields::unsigned(value).unwrap_or(0)),
            Values::I64(values) => {
                let is_time = spec.is_time();
                let shift = if is_time { offset_ns } else { 0 };
                values.push(integer(value).map_or(0, |v| v.saturating_sub(shift)));
            }
            Values::F64(values) => values.push(gpuprof_fields::float(value).unwrap_or(0.0)),
            Values::Bool(values) => values.push(value == Value::Bare(b"true")),
            Values::Bytes(values) => match value {
                Value::Text(digits) => values.push(&gpuprof_fields::hex(digits).unwrap_or_default()),
                _ => values.push(b""),
            },
        }
        if spec.nullable {
            column.validity.get_or_insert_with(|| vec![true; rows]).push(!is_null);
        }
    }

    fn own_batch(&mut self, ordinal: usize, batch: Batch) {
        let process = self.own_processes.get(ordinal).copied().unwrap_or(self.process);
        self.sink.keep(process, batch);
    }

    /// Hands over all rows that are still collected.
    pub fn own_finish(&mut self) {
        for ((ordinal, _), batch) in std::mem::take(&mut self.own_batches) {
            self.own_batch(ordinal, batch);
        }
    }
}
