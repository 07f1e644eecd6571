//! A recorder without CUPTI, threads or files: blocks built by hand, outputs that fail when told to.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::CString;
use std::io;
use std::path::PathBuf;
use std::rc::Rc;

use cupti_sys::Field;
use cupti_sys::fields::{concurrent_kernel as kernel, memcpy};
use serde_json::{Value, json};
use trace_format::frame;
use trace_format::header::FileHeader;
use trace_format::read::TraceReader;
use trace_format::schema::{Role, Row};
use trace_format::tables::{self, LossRow, StringRow};
use trace_format::write::{Output, Segments, WriteOptions};

use super::super::recorder::{Keep, Limits, Recorder, Turn};
use super::super::shared::Shared;
use super::super::sources::Sources;
use super::super::trace::{Trace, TraceOutput};
use crate::correlation::Correlation;
use crate::decode::Facts;
use crate::names::Names;
use crate::output::Space;
use crate::strides::Strides;

pub const BLOCK_BYTES: usize = 64 << 10;
pub const NOW_NS: u64 = 1_790_000_000_000_000_000;

/// What a [`Disk`] does.
#[derive(Default)]
pub struct DiskState {
    pub bytes: Vec<u8>,
    /// No byte from here on.
    pub capacity: Option<u64>,
    /// Most bytes of one write.
    pub most: Option<usize>,
    /// Every write fails like this.
    pub error: Option<i32>,
    pub space: Option<Space>,
    /// Nothing is kept.
    pub nowhere: bool,
    /// Cutting off fails too.
    pub sticky: bool,
}

/// An output in memory.
#[derive(Clone, Default)]
pub struct Disk(pub Rc<RefCell<DiskState>>);

impl Output for Disk {
    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        let mut state = self.0.borrow_mut();
        if let Some(error) = state.error {
            return Err(io::Error::from_raw_os_error(error));
        }
        if state.nowhere {
            return Ok(bytes.len());
        }
        let room = state.capacity.map_or(usize::MAX, |c| usize::try_from(c.saturating_sub(offset)).unwrap());
        let n = bytes.len().min(room).min(state.most.unwrap_or(usize::MAX));
        if n == 0 {
            return Err(io::Error::from_raw_os_error(libc::ENOSPC));
        }
        state.bytes.write_at(&bytes[..n], offset)
    }
    fn truncate(&mut self, len: u64) -> io::Result<()> {
        let mut state = self.0.borrow_mut();
        if state.sticky {
            return Err(io::Error::from_raw_os_error(libc::EIO));
        }
        Output::truncate(&mut state.bytes, len)
    }
}

impl TraceOutput for Disk {
    fn space(&self) -> Option<Space> {
        self.0.borrow().space
    }
    fn path(&self) -> Option<PathBuf> {
        Some("test.gpuprof".into())
    }
    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }
}

/// Segments in memory.
#[derive(Clone, Default)]
pub struct Disks(pub Rc<RefCell<BTreeMap<u32, Disk>>>, pub Rc<RefCell<BTreeMap<String, BTreeMap<u32, Disk>>>>);

impl Segments for Disks {
    type Output = Disk;
    fn open(&mut self, number: u32) -> io::Result<Disk> {
        Ok(self.0.borrow_mut().entry(number).or_default().clone())
    }
    fn remove(&mut self, number: u32) -> io::Result<()> {
        self.0.borrow_mut().remove(&number);
        Ok(())
    }
    fn keep(&mut self, numbers: &[u32], name: &str, _: u64) -> io::Result<PathBuf> {
        let disks = self.0.borrow();
        let kept = numbers.iter().filter_map(|n| Some((*n, disks.get(n)?.clone()))).collect();
        self.1.borrow_mut().insert(name.to_owned(), kept);
        Ok(name.into())
    }
}

/// Keeps records whose correlation id is not a multiple of the number; 0: keeps all.
#[derive(Clone, Copy)]
pub struct NotMultiples(pub u64);

impl Keep for NotMultiples {
    fn refresh(&mut self) {}
    fn keeps(&self, facts: &Facts) -> bool {
        self.0 == 0 || !facts.correlation.unwrap_or(1).is_multiple_of(self.0)
    }
    fn keeps_range(&self, _: i64, _: Option<i64>) -> bool {
        true
    }
    fn seen(&self, _: Correlation) {}
    fn outside(&self) -> u64 {
        0
    }
}

pub fn shared(blocks: usize, takes_null: bool) -> &'static Shared {
    let names: &'static Names = Box::leak(Box::new(Names::new()));
    let shared: &'static Shared = Box::leak(Box::new(Shared::new(names)));
    assert!(shared.prepare_pool(BLOCK_BYTES, blocks * BLOCK_BYTES, takes_null));
    shared
}

pub fn limits() -> Limits {
    Limits { flush_ns: 1_000_000, min_free_percent: 0, fsync: false }
}

pub type TestRecorder = Recorder<Disks, NotMultiples>;

pub fn recorder(shared: &'static Shared, trace: Trace<Disks>, limits: Limits, keep: NotMultiples) -> TestRecorder {
    let call_name = Box::new(|domain, cbid| Some(format!("call {domain} {cbid}").into_bytes()));
    Recorder::new(shared, trace, limits, Strides::newest(), keep, Sources::NONE, call_name)
}

pub fn whole(disk: &Disk, options: WriteOptions) -> Trace<Disks> {
    Trace::whole(disk.clone(), &FileHeader::new("test", 1), options).unwrap()
}

/// A recorder on one disk, begun.
pub fn begun(shared: &'static Shared, disk: &Disk, options: WriteOptions, keep: NotMultiples) -> TestRecorder {
    let mut recorder = recorder(shared, whole(disk, options), limits(), keep);
    recorder.begin(json!({"pid": 7}), None, 1);
    recorder
}

/// Turns until there is nothing to do.
pub fn run_dry(recorder: &mut TestRecorder, now_ns: &mut i64) {
    while recorder.turn(*now_ns) == Turn::Busy {}
    *now_ns += 1_000_000_000;
    while recorder.turn(*now_ns) == Turn::Busy {}
}

/// Closes the file as at exit.
pub fn close(shared: &Shared, recorder: &mut TestRecorder, now_ns: i64) {
    let ticket = shared.ask(|ticket| crate::messages::Message::Close { ticket, reason: "exit" }).unwrap();
    while recorder.turn(now_ns) != Turn::Closed {}
    assert!(shared.wait(ticket, 0));
}

/// Splitmix64.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n.max(1)
    }
}

/// Names that live as long as the test needs them: what CUPTI's records point to.
pub struct Texts(Vec<CString>);

impl Texts {
    pub fn new(count: usize, stem: &str) -> Texts {
        Texts((0..count).map(|i| CString::new(format!("{stem}_{i}")).unwrap()).collect())
    }
    pub fn pointer(&self, i: u64) -> u64 {
        self.0[i as usize % self.0.len()].as_ptr() as u64
    }
}

/// Records one after the other, as in a block.
pub struct Records {
    strides: Strides,
    pub bytes: Vec<u8>,
    pub count: u64,
}

impl Records {
    pub fn new() -> Records {
        Records { strides: Strides::newest(), bytes: Vec::new(), count: 0 }
    }

    pub fn strides(&self) -> &Strides {
        &self.strides
    }

    pub fn record(&mut self, kind: u32, values: &[(Field, u64)]) {
        let start = self.bytes.len();
        self.bytes.resize(start + self.strides.of(kind), 0);
        self.bytes[start..start + 4].copy_from_slice(&kind.to_le_bytes());
        for (field, value) in values {
            let size = usize::from(field.size).min(8);
            self.bytes[start + usize::from(field.offset)..][..size].copy_from_slice(&value.to_le_bytes()[..size]);
        }
        self.count += 1;
    }

    pub fn kernel(&mut self, i: u64, name: u64) {
        self.record(
            kernel::KIND,
            &[
                (kernel::START, NOW_NS + i * 2_000),
                (kernel::END, NOW_NS + i * 2_000 + 1_500),
                (kernel::CORRELATION_ID, i),
                (kernel::DEVICE_ID, 0),
                (kernel::CONTEXT_ID, 1),
                (kernel::STREAM_ID, 7 + i % 3),
                (kernel::GRID_X, 64 + name % 5),
                (kernel::BLOCK_X, 128),
                (kernel::NAME, name),
            ],
        );
    }

    pub fn call(&mut self, i: u64) {
        use cupti_sys::fields::runtime as f;
        self.record(
            f::KIND,
            &[
                (f::CBID, 200 + i % 30),
                (f::START, NOW_NS + i * 2_000 - 900),
                (f::END, NOW_NS + i * 2_000 - 100),
                (f::PROCESS_ID, 7),
                (f::THREAD_ID, 8),
                (f::CORRELATION_ID, i),
            ],
        );
    }

    pub fn copy(&mut self, i: u64) {
        self.record(
            memcpy::KIND,
            &[
                (memcpy::COPY_KIND, 1 + i % 2),
                (memcpy::SRC_KIND, 1),
                (memcpy::DST_KIND, 3),
                (memcpy::BYTES, 4_096 * (i % 100)),
                (memcpy::START, NOW_NS + i * 2_000),
                (memcpy::END, NOW_NS + i * 2_000 + 700),
                (memcpy::CORRELATION_ID, i),
                (memcpy::STREAM_ID, 7),
                (memcpy::CONTEXT_ID, 1),
            ],
        );
    }

    /// A kind that nobody knows.
    pub fn unknown(&mut self) {
        self.bytes.extend_from_slice(&126_u32.to_le_bytes());
        self.bytes.resize(self.bytes.len().next_multiple_of(8) + 40, 0xee);
    }

    /// Takes a block and completes it, as CUPTI does. False: there was none.
    pub fn deliver(&self, shared: &Shared) -> bool {
        let (ptr, size) = shared.request();
        if ptr.is_null() {
            return false;
        }
        assert!(self.bytes.len() <= size, "{} > {size}", self.bytes.len());
        // SAFETY: the block is ours until it is completed; the pointers in it are those of `Texts`, alive.
        unsafe {
            std::ptr::copy_nonoverlapping(self.bytes.as_ptr(), ptr, self.bytes.len());
            shared.complete(ptr, self.bytes.len(), &self.strides);
        }
        true
    }
}

/// A closed or unclosed trace, read back.
pub struct Read {
    pub reader: TraceReader<Vec<u8>>,
}

impl Read {
    pub fn new(bytes: Vec<u8>) -> Read {
        Read { reader: TraceReader::new(bytes).unwrap() }
    }

    pub fn disk(disk: &Disk) -> Read {
        Read::new(disk.0.borrow().bytes.clone())
    }

    pub fn rows<R: Row>(&self) -> Vec<R> {
        let mut rows = Vec::new();
        for frame in self.reader.frames().iter().filter(|f| f.table == R::TABLE.id && !f.is_repeat()) {
            let mut payload = Vec::new();
            self.reader.read_payload(frame, &mut payload).unwrap();
            let batch = frame::decode(R::TABLE, payload.into(), None).unwrap();
            rows.extend((0..batch.rows).map(|i| R::from_batch(&batch, i)));
        }
        rows
    }

    pub fn strings(&self) -> BTreeMap<u32, String> {
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        self.rows::<StringRow>().iter().map(|row| (row.id, text(&row.bytes))).collect()
    }

    /// Rows of tables that hold records.
    pub fn activity(&self) -> u64 {
        let frames = self.reader.frames().iter().filter(|f| !f.is_repeat());
        let activity = frames.filter(|f| f.spec().is_some_and(|t| t.role == Role::Activity));
        activity.map(|f| u64::from(f.rows)).sum()
    }

    pub fn total(&self, key: &str) -> u64 {
        self.totals()[key].as_u64().unwrap()
    }

    pub fn totals(&self) -> &Value {
        &self.reader.closed_totals().unwrap()["writer_totals"]
    }

    /// Rows lost by cause, those of names left out.
    pub fn lost(&self) -> BTreeMap<u32, i64> {
        let mut lost = BTreeMap::new();
        for row in self.rows::<LossRow>() {
            *lost.entry(row.cause).or_default() += row.rows;
        }
        lost
    }

    /// delivered = written + excluded + lost; and the file agrees.
    pub fn check_law(&self) {
        let totals = self.totals();
        let [delivered, written, excluded, lost] =
            ["delivered", "written", "excluded", "lost"].map(|key| self.total(key));
        assert_eq!(delivered, written + excluded + lost, "{totals}");
        assert_eq!(written, self.activity(), "{totals}");
        let told: i64 = self.lost().iter().filter(|(cause, _)| **cause != 4).map(|(_, rows)| rows).sum();
        assert_eq!(i64::try_from(lost).unwrap(), told, "{totals}");
        assert!(self.reader.verify().unwrap().is_empty());
    }
}

/// Frames of `tables::ALL` order: every id that a row refers to is defined before it.
pub fn check_definitions_come_first(read: &Read) {
    let (mut strings, mut shapes) = (std::collections::BTreeSet::new(), std::collections::BTreeSet::new());
    strings.insert(0);
    for frame in read.reader.frames() {
        let Some(table) = frame.spec().filter(|t| t.role != Role::Json) else { continue };
        let mut payload = Vec::new();
        read.reader.read_payload(frame, &mut payload).unwrap();
        let batch = frame::decode(table, payload.into(), None).unwrap();
        for i in 0..batch.rows {
            if table == &tables::STRING {
                strings.insert(StringRow::from_batch(&batch, i).id);
            } else if table == &tables::SHAPE {
                let row = tables::ShapeRow::from_batch(&batch, i);
                assert!(strings.contains(&row.name_id), "shape of {}", row.name_id);
                shapes.insert(row.id);
            } else if table == &tables::KERNEL {
                assert!(shapes.contains(&tables::KernelRow::from_batch(&batch, i).shape_id));
            } else if table == &tables::API {
                assert!(strings.contains(&tables::ApiRow::from_batch(&batch, i).name_id));
            } else if table == &tables::LOSS {
                let row = LossRow::from_batch(&batch, i);
                assert!(row.detail_id.is_none_or(|id| strings.contains(&id)), "{row:?}");
            }
        }
    }
}
