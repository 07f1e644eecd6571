//! What one recording has said of its last seconds.

use super::bins::{BIN_NS, Bins, Copies};
use super::busy;
use super::names::Names;
use super::queue::{Queue, Work};
use crate::live::Listener;
use serde_json::Value;
use trace_format::columns::{Batch, Cells};
use trace_format::frame::FrameInfo;
use trace_format::schema::{AnyColumn, Role, Row as _, TableSpec};
use trace_format::tables::column::{any, api, clock, device, kernel, loss, memcpy, shape, string};
use trace_format::tables::{self, ClockRow, DeviceRow, LossRow};

/// Work whose launch has not been written after so long never will have been.
const LAUNCHES_KNOWN_NS: i64 = 10_000_000_000;
/// A record that ends so much later than all others so far has an impossible time.
const LEAP_NS: i64 = 3_600_000_000_000;
/// Devices that are told apart at most.
const MOST_DEVICES: usize = 256;

/// A device as the recording describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// CUDA's index of it in this process.
    pub device: u32,
    /// Its name, if that is known.
    pub name: Option<String>,
    /// Its UUID in hexadecimal digits, if that is known.
    pub uuid: Option<String>,
}

/// How fast a file grows, by its size at two moments.
#[derive(Clone, Copy, Debug, Default)]
pub struct Growth {
    last: Option<(std::time::Duration, u64)>,
    bytes_per_s: Option<f64>,
}

impl Growth {
    /// Takes a size at a moment of some steady clock, and says how fast it grows.
    pub fn measure(&mut self, at: std::time::Duration, bytes: u64) -> Option<f64> {
        if let Some((then, before)) = self.last {
            let elapsed = at.saturating_sub(then).as_secs_f64();
            if elapsed < 0.05 {
                return self.bytes_per_s;
            }
            self.bytes_per_s = Some(bytes.saturating_sub(before) as f64 / elapsed);
        }
        self.last = Some((at, bytes));
        self.bytes_per_s
    }
}

/// Sums of one recording: bounded by window, kernels and devices.
pub struct State {
    keep: usize,
    /// How far back a trace is read that is there already.
    read_back_ns: i64,
    /// What is older was not read.
    unread_ns: i64,
    /// Sums by tenth of a second.
    pub bins: Bins,
    /// Its names.
    pub names: Names,
    queue: Queue,
    /// Its devices.
    pub devices: Vec<Device>,
    /// Who is recorded, as the trace says.
    pub process: Value,
    /// Earliest start of any record, on the trace clock.
    pub oldest_ns: Option<i64>,
    /// Latest end of any record, on the trace clock.
    pub newest_ns: Option<i64>,
    clock: Option<ClockRow>,
    /// Newest reading of the clocks, on the trace clock: until then the trace is complete but for what CUPTI holds.
    pub read_ns: Option<i64>,
    /// Records of the whole recording so far.
    pub records: u64,
    /// Records known to be lost.
    pub lost: u64,
    /// Rows that could not be read.
    pub damaged: u64,
    /// Records without possible times: they are in no sum.
    pub timeless: u64,
    /// Whether API calls are recorded.
    pub has_calls: bool,
    /// How fast its file grows.
    pub growth: Growth,
}

impl State {
    /// Sums that answer for windows of up to `longest_window_ns`, once so much has come; of what is there already the
    /// last `read_back_ns` are read.
    pub fn new(longest_window_ns: i64, read_back_ns: i64) -> Self {
        let keep = usize::try_from(longest_window_ns / BIN_NS).unwrap_or(usize::MAX).clamp(2, 36_000) + 3;
        State::with(keep, read_back_ns)
    }

    fn with(keep: usize, read_back_ns: i64) -> Self {
        State {
            keep,
            read_back_ns,
            unread_ns: i64::MIN,
            bins: Bins::new(0, keep),
            names: Names::default(),
            queue: Queue::default(),
            devices: Vec::new(),
            process: Value::Null,
            oldest_ns: None,
            newest_ns: None,
            clock: None,
            read_ns: None,
            records: 0,
            lost: 0,
            damaged: 0,
            timeless: 0,
            has_calls: false,
            growth: Growth::default(),
        }
    }

    /// What to add to a time of the trace to get Unix nanoseconds; `None`: the trace has no epoch.
    pub fn unix_offset_ns(&self) -> Option<i64> {
        self.clock.as_ref().and_then(|clock| clock.unix_ns.checked_sub(clock.trace_ns))
    }

    /// The latest moment that the recording tells of, on the trace clock.
    pub fn horizon_ns(&self) -> Option<i64> {
        self.newest_ns.max(self.read_ns)
    }

    fn is_possible(&self, end_ns: i64) -> bool {
        self.horizon_ns().is_none_or(|newest| end_ns <= newest.saturating_add(LEAP_NS))
    }

    fn count_records(&mut self, batch: &Batch) {
        let starts = batch.get(any::START_NS);
        (0..batch.rows).filter_map(|row| starts.get(row)).for_each(|start_ns| {
            if self.is_possible(start_ns)
                && let Some(bin) = self.bins.bin(self.bins.number(start_ns))
            {
                bin.counts.records += 1;
            }
        });
    }

    /// Kernels, copies and fills.
    fn work(&mut self, batch: &Batch) {
        let columns = Timed::of(batch);
        let devices = batch.get(any::DEVICE).values();
        let shapes = (batch.table == &tables::KERNEL).then(|| batch.get(kernel::SHAPE_ID).values());
        let copies = (batch.table == &tables::MEMCPY)
            .then(|| (batch.get(memcpy::KIND).values(), batch.get(memcpy::BYTES).values()));
        let correlations = batch.get(any::CORRELATION).values();
        let mut by_device: Vec<(u32, Vec<(i64, i64)>)> = Vec::new();
        let mut newest_ns = self.newest_ns;
        for i in 0..batch.rows {
            let (Some(&device), Some((start_ns, length_ns))) = (devices.get(i), columns.get(i)) else {
                self.timeless += 1;
                continue;
            };
            let end_ns = start_ns.saturating_add(length_ns);
            if !self.is_possible(end_ns) {
                self.timeless += 1;
                continue;
            }
            newest_ns = newest_ns.max(Some(end_ns));
            let length = length_ns.unsigned_abs();
            if let Some(bin) = self.bins.bin(self.bins.number(start_ns)) {
                bin.counts.records += 1;
                if let Some(shapes) = shapes {
                    bin.kernel(device, self.names.group(shapes[i]), length);
                } else if let Some((kinds, bytes)) = copies {
                    let copy = Copies { count: 1, bytes: bytes[i].max(0).unsigned_abs(), total_ns: length };
                    bin.copy(device, kinds[i], copy);
                }
                if let (true, Some(&correlation)) = (shapes.is_some(), correlations.get(i))
                    && let Some(waits) = self.queue.work(Work { correlation, start_ns, end_ns })
                {
                    bin.counts.waits.add(waits);
                }
            }
            match by_device.iter().position(|(known, _)| *known == device) {
                Some(place) => by_device[place].1.push((start_ns, end_ns)),
                None if by_device.len() < MOST_DEVICES => by_device.push((device, vec![(start_ns, end_ns)])),
                None => {}
            }
        }
        self.newest_ns = newest_ns;
        for (device, mut intervals) in by_device {
            self.device(device);
            busy::join(&mut intervals);
            self.bins.work(device, &intervals);
        }
    }

    fn calls(&mut self, batch: &Batch) {
        self.has_calls = true;
        let columns = Timed::of(batch);
        let (names, results) = (batch.get(api::NAME_ID).values(), batch.get(api::RESULT));
        let correlations = batch.get(any::CORRELATION).values();
        for (i, &name) in names.iter().enumerate() {
            let Some((start_ns, length_ns)) = columns.get(i) else {
                self.timeless += 1;
                continue;
            };
            if !self.is_possible(start_ns.saturating_add(length_ns)) {
                self.timeless += 1;
                continue;
            }
            let is_launch = self.names.launches(name)
                && correlations.get(i).is_none_or(|&correlation| self.queue.launch(correlation, start_ns));
            if let Some(bin) = self.bins.bin(self.bins.number(start_ns)) {
                let failed = results.get(i).is_some_and(|result| result != 0);
                bin.counts.records += 1;
                bin.counts.calls += 1;
                bin.counts.failed += u64::from(failed);
                bin.counts.launches += u64::from(is_launch);
            }
        }
        let oldest_ns = self.newest_ns.unwrap_or(i64::MAX).saturating_sub(LAUNCHES_KNOWN_NS);
        let State { queue, bins, .. } = self;
        queue.settle(oldest_ns, |work, waits| {
            if let Some(bin) = bins.bin(bins.number(work.start_ns)) {
                bin.counts.waits.add(waits);
            }
        });
    }

    fn device(&mut self, device: u32) -> Option<&mut Device> {
        let place = match self.devices.binary_search_by_key(&device, |known| known.device) {
            Ok(place) => place,
            Err(_) if self.devices.len() >= MOST_DEVICES => return None,
            Err(place) => {
                self.devices.insert(place, Device { device, name: None, uuid: None });
                place
            }
        };
        self.devices.get_mut(place)
    }

    fn losses(&mut self, batch: &Batch) {
        for i in 0..batch.rows {
            let row = LossRow::from_batch(batch, i);
            let rows = row.rows.max(0).unsigned_abs();
            self.lost += rows;
            if let Some(time_ns) = row.end_ns.or(row.start_ns)
                && self.is_possible(time_ns)
                && let Some(bin) = self.bins.bin(self.bins.number(time_ns))
            {
                bin.counts.lost += rows;
            }
        }
    }

    fn clocks(&mut self, batch: &Batch) {
        for i in 0..batch.rows {
            let row = ClockRow::from_batch(batch, i);
            self.read_ns = self.read_ns.max(Some(row.trace_ns));
            // As the reader does: the first that is not provisional, else the newest there is.
            if self.clock.as_ref().is_none_or(|known| known.provisional) {
                self.clock = Some(row);
            }
        }
    }

    fn devices(&mut self, batch: &Batch) {
        for i in 0..batch.rows {
            let row = DeviceRow::from_batch(batch, i);
            let name = self.names.text(row.name_id);
            let uuid = row.uuid.map(|uuid| uuid.iter().map(|byte| format!("{byte:02x}")).collect());
            if let Some(device) = self.device(row.device) {
                (device.name, device.uuid) = (name, uuid);
            }
        }
    }
}

impl Listener for State {
    fn begin(&mut self, oldest_ns: Option<i64>, newest_ns: Option<i64>) {
        *self = State::with(self.keep, self.read_back_ns);
        // A window that ends with the newest record then begins with a bin.
        self.bins = Bins::new(newest_ns.unwrap_or(0), self.keep);
        self.unread_ns = newest_ns.map_or(i64::MIN, |newest| newest.saturating_sub(self.read_back_ns));
        (self.oldest_ns, self.newest_ns) = (oldest_ns.map(|oldest| oldest.max(self.unread_ns)), newest_ns);
    }

    fn process(&mut self, process: &Value) {
        self.process = process.clone();
    }

    fn frame(&mut self, table: &'static TableSpec, frame: &FrameInfo) -> Option<&'static [&'static dyn AnyColumn]> {
        if table.role == Role::Activity {
            self.records += u64::from(frame.rows);
            if let (Some(from_ns), Some(to_ns)) = (frame.min_start_ns, frame.max_end_ns)
                && self.is_possible(to_ns)
            {
                self.oldest_ns = self.oldest_ns.into_iter().chain([from_ns.max(self.unread_ns)]).min();
                self.newest_ns = self.newest_ns.max(Some(to_ns));
            }
            let kept_ns = self.keep as i64 * BIN_NS;
            let too_old = frame
                .max_end_ns
                .zip(self.newest_ns)
                .is_some_and(|(end, now)| end < (now - kept_ns).max(self.unread_ns));
            if too_old {
                return None;
            }
        }
        wanted(table)
    }

    fn rows(&mut self, batch: &Batch) {
        match batch.table {
            t if t == &tables::STRING => self.names.strings(batch),
            t if t == &tables::SHAPE => self.names.shapes(batch),
            t if t == &tables::DEVICE => self.devices(batch),
            t if t == &tables::CLOCK => self.clocks(batch),
            t if t == &tables::LOSS => self.losses(batch),
            t if t == &tables::API => self.calls(batch),
            t if [&tables::KERNEL, &tables::MEMCPY, &tables::MEMSET, &tables::GRAPH].contains(&t) => {
                self.work(batch)
            }
            _ => self.count_records(batch),
        }
    }

    fn damaged(&mut self, rows: u64) {
        self.damaged += rows;
    }
}

/// The columns that are read of a table; `None`: nothing of it is needed.
fn wanted(table: &'static TableSpec) -> Option<&'static [&'static dyn AnyColumn]> {
    match table {
        t if t == &tables::STRING => Some(&[string::ID, string::BYTES]),
        t if t == &tables::SHAPE => Some(&[shape::ID, shape::NAME_ID]),
        t if t == &tables::DEVICE => Some(&[device::DEVICE, device::NAME_ID, device::UUID]),
        t if t == &tables::CLOCK => {
            Some(&[clock::TRACE_NS, clock::UNIX_NS, clock::MONOTONIC_NS, clock::PROVISIONAL])
        }
        t if t == &tables::LOSS => Some(&[loss::START_NS, loss::END_NS, loss::ROWS]),
        t if t == &tables::KERNEL => {
            Some(&[kernel::START_NS, kernel::DURATION_NS, kernel::SHAPE_ID, kernel::DEVICE, kernel::CORRELATION])
        }
        t if t == &tables::MEMCPY => {
            Some(&[memcpy::START_NS, memcpy::DURATION_NS, memcpy::KIND, memcpy::BYTES, memcpy::DEVICE])
        }
        t if t == &tables::MEMSET || t == &tables::GRAPH => Some(&[any::START_NS, any::DURATION_NS, any::DEVICE]),
        t if t == &tables::API => {
            Some(&[api::START_NS, api::DURATION_NS, api::NAME_ID, api::CORRELATION, api::RESULT])
        }
        t if t.role == Role::Activity && t.column_index(any::START_NS.name()).is_some() => Some(&[any::START_NS]),
        _ => None,
    }
}

/// Start and duration of rows.
struct Timed<'a> {
    start: Cells<'a, i64>,
    duration: Cells<'a, i64>,
}

impl<'a> Timed<'a> {
    fn of(batch: &'a Batch) -> Self {
        Timed { start: batch.get(any::START_NS), duration: batch.get(any::DURATION_NS) }
    }

    /// Start and duration of a row with possible times.
    fn get(&self, row: usize) -> Option<(i64, i64)> {
        self.start.get(row).zip(self.duration.get(row)).filter(|&(_, length_ns)| length_ns >= 0)
    }
}
