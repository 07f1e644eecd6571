//! Batches into the file, and what happens when it refuses them.

use trace_format::columns::Batch;
use trace_format::schema::{Role, RowBuilder, TableSpec};
use trace_format::tables::loss::LossBuilder;
use trace_format::tables::{FRAME, LAUNCH_STACK, LossRow, PROCESS, RANGE, SHAPE, STACK, STRING};
use trace_format::write::{Segments, WriteError};

use super::losses::Window;
use super::obstacle::Obstacle;
use super::recorder::{FRAME_ROWS, Keep, Recorder};
use super::trace::TraceOutput;
use crate::log;
use crate::messages::{Cause, Loss};

/// The free space is looked at this often, and after this many bytes: a system call each.
const CHECK_NS: i64 = 1_000_000_000;
const CHECK_BYTES: u64 = 8 << 20;
/// How much more than the minimum must be free before recording goes on, in percent of the disk.
const HYSTERESIS_PERCENT: u64 = 1;
/// Definitions that wait for a disk with room. Beyond, they are given up: names stay unknown.
const MOST_DEFINITIONS_BYTES: usize = 16 << 20;
/// While nothing else can be written, rows about losses are written after this time, then twice as long, and so on.
const FIRST_STEP_NS: i64 = 1_000_000_000;
const LAST_STEP_NS: i64 = 3_600_000_000_000;

impl<S: Segments, K: Keep> Recorder<S, K>
where
    S::Output: TraceOutput,
{
    /// Ends an obstacle whose time is over, so that writing is tried again.
    pub(super) fn lift_obstacle(&mut self, now_ns: i64) {
        if self.obstacle.as_ref().is_some_and(|o| o.is_over(now_ns)) {
            self.obstacle = None;
            self.checked.at_ns = 0;
            self.check_space(now_ns, HYSTERESIS_PERCENT);
        }
    }

    /// Writes the tables that fill a frame, and what they refer to.
    pub(super) fn write_full(&mut self, now_ns: i64) {
        self.check_space(now_ns, 0);
        self.write_tables(FRAME_ROWS, now_ns);
    }

    /// Writes everything that waits.
    pub(super) fn write_all(&mut self, now_ns: i64) {
        self.check_space(now_ns, 0);
        if let Some(process) = self.meta.process.take()
            && self.trace.write_json(&PROCESS, &process).is_err()
        {
            self.meta.process = Some(process);
        }
        self.write_tables(1, now_ns);
        self.write_ranges(now_ns);
        self.write_launches(now_ns);
        self.write_meta(now_ns);
    }

    /// Writes the ranges that wait, and their names.
    pub(super) fn write_ranges(&mut self, now_ns: i64) {
        if let Some(ranges) = self.take_ranges(now_ns) {
            self.write_definitions(None, now_ns);
            self.write_activity(&ranges, now_ns);
        }
    }

    fn write_tables(&mut self, rows: usize, now_ns: i64) {
        let mut batches = std::mem::take(&mut self.scratch);
        self.decoder.tables.take(rows, &mut batches);
        self.write_definitions(None, now_ns);
        for batch in batches.drain(..) {
            if batch.table.role == Role::Defining {
                self.write_definitions(Some(batch), now_ns);
            } else {
                self.write_activity(&batch, now_ns);
            }
        }
        self.scratch = batches;
    }

    /// Writes the strings that wait, then what waited before, then `batch`; keeps what is refused.
    pub(super) fn write_definitions(&mut self, batch: Option<Batch>, now_ns: i64) {
        let strings = self.strings.take();
        let mut waiting = std::mem::take(&mut self.definitions);
        waiting.extend(strings);
        waiting.extend(batch);
        for batch in waiting {
            if self.obstacle.is_some() || !self.definitions.is_empty() {
                self.keep_definitions(batch, 0);
                continue;
            }
            let (written, result) = self.trace.write(&batch);
            if let Err(error) = result {
                self.refused(&error, now_ns);
                self.keep_definitions(batch, written);
            }
        }
    }

    /// Definitions wait until they can be written: what refers to them would have no names.
    fn keep_definitions(&mut self, batch: Batch, written: usize) {
        let rest = if written == 0 { batch } else { slice(&batch, written) };
        let waiting: usize = self.definitions.iter().map(Batch::size_bytes).sum();
        let never = self.obstacle.as_ref().is_some_and(|o| o.retry_ns.is_none());
        if never || waiting + rest.size_bytes() > MOST_DEFINITIONS_BYTES {
            // Strings, shapes, frames and stacks are no records; devices, contexts, streams and threads are.
            if ![&STRING, &SHAPE, &FRAME, &STACK].contains(&rest.table) {
                self.lose(rest.rows as u64, Window::EMPTY);
            }
            return;
        }
        self.definitions.push(rest);
    }

    /// Writes rows that may get lost.
    pub(super) fn write_activity(&mut self, batch: &Batch, now_ns: i64) {
        let (written, result) = match self.obstacle.is_some() || !self.definitions.is_empty() {
            true => (0, Ok(())),
            false => self.trace.write(batch),
        };
        if let Err(error) = &result {
            self.refused(error, now_ns);
        }
        if batch.table == &RANGE {
            self.totals.ranges_written += written as u64;
        } else if batch.table != &LAUNCH_STACK {
            self.totals.activity += written as u64;
        }
        let lost = (batch.rows - written) as u64;
        if lost == 0 {
            return;
        }
        let mut window = Window::EMPTY;
        if let Some((start_ns, end_ns)) = batch.time_bounds_of(written..batch.rows) {
            window.add(start_ns, end_ns);
        }
        if batch.table == &RANGE {
            self.totals.ranges_lost += lost;
            let cause = self.obstacle.as_ref().map_or(Cause::DiskFull, |o| o.cause);
            self.meta.losses.add(cause, Some("ranges of NVTX".into()), lost, window);
        } else if batch.table == &LAUNCH_STACK {
            let cause = self.obstacle.as_ref().map_or(Cause::DiskFull, |o| o.cause);
            self.meta.losses.add(cause, Some("Python stacks of launches".into()), lost, window);
        } else {
            self.lose(lost, window);
        }
    }

    /// Clocks, windows, notes, losses. Kept where they cannot be written, except that there must be an end to it.
    fn write_meta(&mut self, now_ns: i64) {
        if self.obstacle.is_some() {
            // There is room for a few rows about what is missing even beyond a limit, but not for one each second.
            if now_ns < self.later.next_ns {
                return;
            }
            self.later.step_ns = (self.later.step_ns * 2).clamp(FIRST_STEP_NS, LAST_STEP_NS);
            self.later.next_ns = now_ns + self.later.step_ns;
        }
        let mut builder = LossBuilder::default();
        let losses = self.meta.losses.take();
        for loss in &losses {
            let detail_id = loss.detail.clone().map(|d| self.strings.text_id(d));
            let rows = i64::try_from(loss.rows).unwrap_or(i64::MAX);
            let (start_ns, end_ns, cause) = (loss.start_ns, loss.end_ns, loss.cause as u32);
            builder.push(LossRow { start_ns, end_ns, rows, cause, detail_id });
        }
        self.write_strings_anyway(now_ns);
        if !losses.is_empty() && !self.write_meta_batch(&builder.take()) {
            losses.into_iter().for_each(|loss: Loss| self.meta.losses.push(loss));
        }
        let meta = &mut self.meta;
        let batches = [meta.threads.take(), meta.captures.take(), meta.clocks.take(), meta.notes.take()];
        for batch in batches.iter().filter(|b| b.rows > 0) {
            // One that is refused is gone: clocks come again, and the windows' losses are told above.
            self.write_meta_batch(batch);
        }
    }

    /// Details of losses are strings; at a size limit these are refused, and the rows go without.
    fn write_strings_anyway(&mut self, now_ns: i64) {
        if self.strings.len() == 0 {
            return;
        }
        if self.obstacle.is_none() {
            self.write_definitions(None, now_ns);
        } else if let Some(batch) = self.strings.take() {
            let (written, result) = self.trace.write(&batch);
            if result.is_err() {
                self.keep_definitions(batch, written);
            }
        }
    }

    fn write_meta_batch(&mut self, batch: &Batch) -> bool {
        self.trace.write(batch).1.is_ok()
    }

    /// A write was refused: says so once, and stops trying for a while, or for good.
    fn refused(&mut self, error: &WriteError, now_ns: i64) {
        let Some(obstacle) = Obstacle::of(error, self.trace.stops_when_full(), now_ns) else {
            log::line(1, format_args!("{error}; the rows are lost"));
            return;
        };
        self.stop(obstacle);
    }

    fn stop(&mut self, obstacle: Obstacle) {
        if !self.complained {
            self.complained = true;
            let path = self.trace.output().path().unwrap_or_default();
            let (path, detail) = (path.display(), &obstacle.detail);
            match obstacle.cause {
                Cause::SizeLimit => log::line(
                    1,
                    format_args!(
                        "{path}: {detail}: recording ends, the program goes on; raise GPUPROF_SIZE_LIMIT_BYTES (or \
                         ulimit -f), or set GPUPROF_SIZE_POLICY=ring"
                    ),
                ),
                _ if obstacle.retry_ns.is_none() => {
                    log::line(1, format_args!("{path}: {detail}: recording ends, the program goes on"));
                }
                _ => log::line(
                    1,
                    format_args!("{path}: {detail}: records are lost until there is room, the program goes on"),
                ),
            }
        }
        self.obstacle = Some(obstacle);
    }

    /// Stops before the disk is so full that the program's own files no longer fit.
    fn check_space(&mut self, now_ns: i64, more_percent: u64) {
        let percent = self.limits.min_free_percent;
        let bytes = self.trace.bytes();
        let soon =
            now_ns - self.checked.at_ns < CHECK_NS && bytes.saturating_sub(self.checked.at_bytes) < CHECK_BYTES;
        if self.obstacle.is_some() || percent == 0 || (soon && self.checked.at_ns != 0) {
            return;
        }
        (self.checked.at_ns, self.checked.at_bytes) = (now_ns, bytes);
        let Some(space) = self.trace.output().space() else { return };
        let needed = u128::from(space.total) * u128::from(percent + more_percent) / 100;
        if u128::from(space.free) < needed {
            self.stop(Obstacle::low_space(percent, now_ns));
        }
    }
}

/// The rows of `batch` from `first` on.
fn slice(batch: &Batch, first: usize) -> Batch {
    let table: &'static TableSpec = batch.table;
    let mut rest = Batch::empty(table);
    rest.append(batch, first..batch.rows);
    rest
}
