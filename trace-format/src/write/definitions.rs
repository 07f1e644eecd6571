//! What the writer remembers in order to say it again.

use std::ops::Range;

use serde_json::Value;

use crate::columns::Batch;
use crate::schema::{Role, TableSpec};

/// All definitions written so far: the rows of defining tables, and the newest JSON of each JSON table.
///
/// What is kept of a table is always its first rows, so that a repetition can carry their row numbers.
#[derive(Default)]
pub(super) struct Definitions {
    batches: Vec<KeptBatch>,
    json: Vec<(&'static TableSpec, u64, Value)>,
}

struct KeptBatch {
    batch: Batch,
    bytes: usize,
    /// Rows were left out: nothing after them may be kept.
    full: bool,
}

impl Definitions {
    /// Remembers rows of a defining table; other tables are none of its business.
    ///
    /// The shim's name arena ends at 16 MiB, after which new ids repeat old strings without end: memory inside
    /// somebody else's process has to stop somewhere, so rows beyond `limit_bytes` are written but not repeated.
    pub(super) fn remember(&mut self, batch: &Batch, rows: Range<usize>, limit_bytes: usize) {
        if batch.table.role != Role::Defining || batch.rows == 0 {
            return;
        }
        let bytes = batch.size_bytes() / batch.rows * rows.len();
        let total = self.bytes();
        let kept = match self.batches.iter_mut().position(|k| k.batch.table == batch.table) {
            Some(i) => &mut self.batches[i],
            None => {
                self.batches.push(KeptBatch { batch: Batch::empty(batch.table), bytes: 0, full: false });
                let last = self.batches.len() - 1;
                &mut self.batches[last]
            }
        };
        kept.full |= total.saturating_add(bytes) > limit_bytes;
        if !kept.full {
            kept.batch.append(batch, rows);
            kept.bytes += bytes;
        }
    }

    /// Remembers the newest JSON of a table, and its row number.
    pub(super) fn remember_json(&mut self, table: &'static TableSpec, row: u64, value: &Value) {
        self.json.retain(|(t, _, _)| *t != table);
        self.json.push((table, row, value.clone()));
    }

    /// Memory taken by rows, about.
    pub(super) fn bytes(&self) -> usize {
        self.batches.iter().map(|k| k.bytes).sum()
    }

    /// The rows kept, one batch per table, in the order in which tables were first defined.
    pub(super) fn batches(&self) -> impl Iterator<Item = &Batch> {
        self.batches.iter().map(|k| &k.batch)
    }

    /// The newest JSON per table, with its row number.
    pub(super) fn json(&self) -> &[(&'static TableSpec, u64, Value)] {
        &self.json
    }
}
