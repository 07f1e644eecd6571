//! Definitions: the rows others refer to, in order, from whichever frame still has them.

use std::ops::Range;

use bytes::Bytes;
use serde_json::Value;

use super::error::{Problem, ProblemKind, ReadError, ReadErrorKind};
use super::source::Source;
use super::{TraceReader, frame_problem};
use crate::columns::Batch;
use crate::frame::{FrameInfo, decode};
use crate::schema::{Row, TableSpec};
use crate::tables::PROCESS;

/// Rows of a table and what is missing from them.
#[derive(Clone, Debug)]
pub struct Definitions<T> {
    /// In the order in which they were written.
    pub rows: Vec<T>,
    /// Frames that could not be read and whose rows no repetition gave.
    pub problems: Vec<Problem>,
}

impl<S: Source> TraceReader<S> {
    /// All rows of a table, e.g. `definitions::<StringRow>()`. Meant for defining tables: everything is in memory.
    ///
    /// A damaged frame is replaced by the next repetition that has its rows.
    pub fn definitions<T: Row>(&self) -> Definitions<T> {
        let (batches, problems) = self.definition_batches(T::TABLE);
        let rows = batches.iter().flat_map(|b| (0..b.rows).map(|i| T::from_batch(b, i))).collect();
        Definitions { rows, problems }
    }

    /// Reads the same as [`TraceReader::definitions`], column by column.
    pub fn definition_batches(&self, table: &'static TableSpec) -> (Vec<Batch>, Vec<Problem>) {
        let mut batches = Vec::new();
        let problems = self.each_definition_batch(table, &mut |batch| batches.push(batch));
        (batches, problems)
    }

    /// As [`TraceReader::definition_batches`], one batch in memory at a time: what could not be read.
    pub fn each_definition_batch(&self, table: &'static TableSpec, each: &mut dyn FnMut(Batch)) -> Vec<Problem> {
        self.definition_parts(
            table,
            &mut |frame| self.read_batch(frame, None).ok(),
            &mut |_, rows, batch: Batch| {
                if rows == (0..batch.rows) {
                    each(batch);
                } else {
                    let mut part = Batch::empty(batch.table);
                    part.append(&batch, rows);
                    each(part);
                }
                true
            },
        )
    }

    /// All rows of a defining table in order, decoded as the caller likes: `read` decodes a frame, or cannot; `each` takes
    /// the frame, those of its rows that are meant, and what `read` made of it, and returns false when it needs no more.
    /// What could not be read and no repetition gave is returned.
    pub fn definition_parts<T: Clone>(
        &self,
        table: &'static TableSpec,
        read: &mut dyn FnMut(&FrameInfo) -> Option<T>,
        each: &mut dyn FnMut(&FrameInfo, Range<usize>, T) -> bool,
    ) -> Vec<Problem> {
        let of_table = |f: &&FrameInfo| f.table == table.id;
        let repeats: Vec<&FrameInfo> =
            self.frames.iter().filter(of_table).filter(|f| f.is_repeat() && !f.is_json()).collect();
        let mut parts = Parts {
            readable: vec![true; repeats.len()],
            repeats,
            held: None,
            read,
            each,
            goes_on: true,
            problems: Vec::new(),
        };
        let mut next = 0;
        for frame in self.frames.iter().filter(of_table).filter(|f| !f.is_repeat() && !f.is_json()) {
            if !parts.goes_on {
                return parts.problems;
            }
            let range = frame.row_range();
            if range.start > next {
                parts.repeated(next..range.start, frame.offset);
            }
            match (parts.read)(frame) {
                Some(decoded) => parts.goes_on &= (parts.each)(frame, 0..frame.rows as usize, decoded),
                None => {
                    let before = parts.problems.len();
                    parts.repeated(range.clone(), frame.offset);
                    // Here the frame is known, so say where it is rather than that rows are missing.
                    if let Some(problem) = parts.problems.get_mut(before) {
                        *problem = Problem { rows: problem.rows, ..frame_problem(frame) };
                    }
                }
            }
            next = next.max(range.end);
        }
        let last = parts.repeats.iter().map(|f| f.row_range().end).max().unwrap_or(0);
        if last > next && parts.goes_on {
            parts.repeated(next..last, self.resume_at);
        }
        parts.problems
    }

    /// The rows of one frame, all columns or the wanted ones; the others come back null.
    ///
    /// Errors: damage; a table that is unknown or whose payload is JSON.
    pub fn read_batch(&self, frame: &FrameInfo, wanted: Option<&[&str]>) -> Result<Batch, ReadError> {
        let mut payload = Vec::new();
        self.read_payload(frame, &mut payload)?;
        let rows_differ = || crate::frame::DecodeError::Layout(format!("{} rows promised", frame.rows));
        let not_rows = || crate::frame::DecodeError::Layout("it does not hold rows of a known table".into());
        let decoded = match frame.spec().filter(|t| !t.columns.is_empty() && !frame.is_json()) {
            Some(table) => decode(table, Bytes::from(payload), wanted),
            None => Err(not_rows()),
        };
        decoded
            .and_then(|b| if b.rows == frame.rows as usize { Ok(b) } else { Err(rows_differ()) })
            .map_err(|source| self.error(frame.offset, ReadErrorKind::Decode { table: frame.table, source }))
    }

    /// The value of one JSON frame.
    ///
    /// Errors: damage.
    pub fn read_json(&self, frame: &FrameInfo) -> Result<Value, ReadError> {
        let mut payload = Vec::new();
        self.read_payload(frame, &mut payload)?;
        serde_json::from_slice(&payload).map_err(|e| {
            let source = crate::frame::DecodeError::Layout(format!("it is not JSON: {e}"));
            self.error(frame.offset, ReadErrorKind::Decode { table: frame.table, source })
        })
    }

    /// Who was recorded: the newest value of the `process` table that can be read.
    pub fn process(&self) -> Option<Value> {
        self.newest_process().0
    }

    /// As [`TraceReader::process`], with the frames that are newer than it and cannot be read.
    pub fn newest_process(&self) -> (Option<Value>, Vec<Problem>) {
        let mut frames: Vec<&FrameInfo> =
            self.frames.iter().filter(|f| f.table == PROCESS.id && f.is_json()).collect();
        frames.sort_by_key(|f| (f.first_row, f.offset));
        let mut damaged: Vec<&FrameInfo> = Vec::new();
        let mut found = None;
        for frame in frames.into_iter().rev() {
            match self.read_json(frame) {
                Ok(value) => {
                    // A repetition says the same again, so nothing is lost with one of two.
                    damaged.retain(|lost| lost.first_row != frame.first_row);
                    found = Some(value);
                    break;
                }
                Err(_) => damaged.push(frame),
            }
        }
        (found, damaged.into_iter().map(frame_problem).collect())
    }
}

/// Rows of a defining table on their way to the caller.
struct Parts<'a, T> {
    repeats: Vec<&'a FrameInfo>,
    /// Which of them have not been found damaged.
    readable: Vec<bool>,
    /// The repetition that was read last, by its place among them.
    held: Option<(usize, T)>,
    read: &'a mut dyn FnMut(&FrameInfo) -> Option<T>,
    each: &'a mut dyn FnMut(&FrameInfo, Range<usize>, T) -> bool,
    /// Whether the caller needs more.
    goes_on: bool,
    problems: Vec<Problem>,
}

impl<T: Clone> Parts<'_, T> {
    /// A repetition that has this row, read. Of several it is the one that reaches farthest, and it is kept for what is
    /// missing next: thousands of gaps in thousands of repetitions of the same rows are filled from a few of them.
    fn holding(&mut self, row: u64) -> Option<(&FrameInfo, T)> {
        let has = |i: usize| self.repeats[i].row_range().contains(&row);
        if self.held.as_ref().is_none_or(|(i, _)| !has(*i)) {
            self.held = None;
        }
        while self.held.is_none() {
            let candidates =
                (0..self.repeats.len()).filter(|&i| self.readable[i] && self.repeats[i].row_range().contains(&row));
            let farthest = candidates.max_by_key(|&i| (self.repeats[i].row_range().end, std::cmp::Reverse(i)))?;
            match (self.read)(self.repeats[farthest]) {
                Some(decoded) => self.held = Some((farthest, decoded)),
                None => self.readable[farthest] = false,
            }
        }
        let (i, decoded) = self.held.as_ref()?;
        Some((self.repeats[*i], decoded.clone()))
    }

    /// Takes rows from repetitions; what none of them has becomes a problem at `offset`.
    fn repeated(&mut self, rows: Range<u64>, offset: u64) {
        let mut next = rows.start;
        while next < rows.end && self.goes_on {
            let Some((frame, decoded)) = self.holding(next) else { break };
            let (frame, range) = (frame.clone(), frame.row_range());
            let end = rows.end.min(range.end);
            self.goes_on &=
                (self.each)(&frame, (next - range.start) as usize..(end - range.start) as usize, decoded);
            next = end;
        }
        if next < rows.end && self.goes_on {
            let (kind, lost) = (ProblemKind::Rows, Some(rows.end - next));
            let table = self.repeats.first().map(|f| f.table);
            self.problems.push(Problem { kind, offset, bytes: 0, table, rows: lost });
        }
    }
}
