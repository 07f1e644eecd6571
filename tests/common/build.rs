//! Small traces of every kind, made by code from one [`Story`], so that the same records can be had in any format.

use flate2::Compression;
use flate2::write::GzEncoder;
use gpuprof::trace::sink::valid_duration;
use rusqlite::types::Value as Sql;
use rusqlite::{Connection, params_from_iter};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use trace_format::header::FileHeader;
use trace_format::schema::{Row, RowBuilder};
use trace_format::tables::*;
use trace_format::write::{Output, TraceWriter, WriteOptions};

/// Splitmix64: the same numbers on every machine, for ever.
#[derive(Clone)]
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`.
    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n.max(1)
    }

    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i as u64 + 1) as usize);
        }
    }
}

/// A kernel's name in the forms that producers store.
#[derive(Clone, Debug, PartialEq)]
pub struct Name {
    /// As CUPTI gives it.
    pub mangled: Vec<u8>,
    /// As nsys and PyTorch store it.
    pub demangled: Vec<u8>,
    /// nsys's short name.
    pub base: Vec<u8>,
}

impl Name {
    pub fn new(mangled: &str, demangled: &str, base: &str) -> Name {
        Name { mangled: mangled.into(), demangled: demangled.into(), base: base.into() }
    }

    /// A name that is the same in every form.
    pub fn plain(name: impl AsRef<[u8]>) -> Name {
        let name = name.as_ref().to_vec();
        Name { mangled: name.clone(), demangled: name.clone(), base: name }
    }
}

/// Names whose printed form does not depend on who stored them.
pub fn sample_names() -> [Name; 3] {
    [
        Name::new("_Z5saxpyifPfS_", "saxpy(int, float, float*, float*)", "saxpy"),
        Name::new("_Z5scaleIfEvPT_i", "void scale<float>(float*, int)", "scale"),
        Name::plain("reduce"),
    ]
}

#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    pub name: Name,
    pub start: i64,
    pub end: i64,
    pub device: u32,
    pub context: u32,
    pub stream: u32,
    pub correlation: u64,
    pub grid: [i64; 3],
    pub block: [i64; 3],
}

#[derive(Clone, Debug, PartialEq)]
pub struct Copy {
    pub start: i64,
    pub end: i64,
    /// 1 HtoD, 2 DtoH, 8 DtoD.
    pub kind: u32,
    pub bytes: i64,
    pub device: u32,
    pub context: u32,
    pub stream: u32,
    pub correlation: u64,
}

impl Copy {
    /// `CUpti_ActivityMemoryKind` of source and destination.
    fn memories(&self) -> (u32, u32) {
        match self.kind {
            1 => (1, 3),
            2 => (3, 1),
            _ => (3, 3),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Fill {
    pub start: i64,
    pub end: i64,
    pub bytes: i64,
    pub device: u32,
    pub context: u32,
    pub stream: u32,
    pub correlation: u64,
}

/// What kernels, copies and fills have in common.
pub struct Work<'s> {
    /// The kernel's base name; empty for copies and fills.
    pub base: &'s [u8],
    pub start: i64,
    pub device: u32,
    pub stream: u32,
    pub correlation: u64,
}

impl<'s> Work<'s> {
    fn new(base: &'s [u8], start: i64, device: u32, stream: u32, correlation: u64) -> Self {
        Work { base, start, device, stream, correlation }
    }
}

/// Functions that the samples call: name with version, callback id, domain.
pub const LAUNCH: (&str, u32, u32) = ("cudaLaunchKernel_v7000", 211, 0);
pub const MEMCPY_CALL: (&str, u32, u32) = ("cudaMemcpy_v3020", 31, 0);
pub const MEMSET_CALL: (&str, u32, u32) = ("cudaMemset_v3020", 49, 0);
pub const MALLOC: (&str, u32, u32) = ("cudaMalloc_v3020", 20, 0);
pub const SYNCHRONIZE: (&str, u32, u32) = ("cudaDeviceSynchronize_v3020", 165, 0);
pub const DRIVER_LAUNCH: (&str, u32, u32) = ("cuLaunchKernel", 307, 1);

#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    pub function: (&'static str, u32, u32),
    pub start: i64,
    pub end: i64,
    pub tid: u32,
    pub correlation: u64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct NvtxRange {
    pub name: String,
    pub domain: Option<String>,
    pub start: i64,
    /// `None`: still open when the recording ended.
    pub end: Option<i64>,
    /// 0 push/pop, 1 start/end, 2 mark.
    pub style: u32,
    pub tid: u32,
}

/// A unified memory event: as in table `uvm`.
#[derive(Clone, Debug, PartialEq)]
pub struct Migration {
    pub start: i64,
    pub end: Option<i64>,
    pub kind: u32,
    pub value: i64,
    pub src: Option<u32>,
    pub dst: Option<u32>,
}

/// What one process did, in no format. Times are on the trace clock.
#[derive(Clone, Debug, PartialEq)]
pub struct Story {
    pub pid: u32,
    /// Rank and number of ranks.
    pub rank: Option<(u32, u32)>,
    /// What to add to times to get Unix nanoseconds.
    pub epoch: Option<i64>,
    pub kernels: Vec<Kernel>,
    pub copies: Vec<Copy>,
    pub fills: Vec<Fill>,
    pub calls: Vec<Call>,
    pub ranges: Vec<NvtxRange>,
    pub migrations: Vec<Migration>,
    /// Rows lost and why, as in table `loss`.
    pub losses: Vec<(i64, u32)>,
    pub devices: Vec<String>,
    /// Thread ids and names.
    pub threads: Vec<(u32, String)>,
}

/// 2023-11-14 22:13:20 UTC.
pub const EPOCH: i64 = 1_700_000_000_000_000_000;
/// The thread that makes the calls of the samples.
pub const THREAD: u32 = 4243;

impl Story {
    /// A process that did nothing.
    pub fn empty() -> Story {
        Story {
            pid: 4242,
            rank: None,
            epoch: Some(EPOCH),
            kernels: Vec::new(),
            copies: Vec::new(),
            fills: Vec::new(),
            calls: Vec::new(),
            ranges: Vec::new(),
            migrations: Vec::new(),
            losses: Vec::new(),
            devices: Vec::new(),
            threads: Vec::new(),
        }
    }

    /// `launches` kernels of three names on two devices with two streams each, a copy for every fifth and a fill for
    /// every seventh of them, all with the calls that caused them. All times are whole microseconds, the coarsest
    /// that any format has.
    pub fn sample(launches: u64) -> Story {
        let mut story = Story { devices: vec!["Tesla V100".into(), "Tesla V100".into()], ..Story::empty() };
        story.threads.push((THREAD, "python".into()));
        let names = sample_names();
        let call = |function, start, micros, correlation| {
            let start = start - 20_000;
            Call { function, start, end: start + micros * 1_000, tid: THREAD, correlation }
        };
        story.calls.push(call(MALLOC, 1_000_000, 900, 0));
        for i in 0..launches {
            let start = 10_000_000 + i as i64 * 50_000;
            let name = names[(i % 3) as usize].clone();
            let micros = 1 + (i * 7 % 23) as i64 * (i % 3 + 1) as i64;
            let (device, correlation) = ((i % 2) as u32, 10 * i + 1);
            let (context, stream) = (device + 1, 7 + (i / 2 % 2) as u32);
            let end = start + micros * 1_000;
            let (grid, block) = ([16 + (i % 2) as i64, 1, 1], [256, 1, 1]);
            story.kernels.push(Kernel { name, start, end, device, context, stream, correlation, grid, block });
            let function = if i % 11 == 10 { DRIVER_LAUNCH } else { LAUNCH };
            story.calls.push(call(function, start, 5 + (i % 4) as i64, correlation));
            if i % 5 == 0 {
                let (start, correlation) = (start + 30_000, correlation + 1);
                let (kind, bytes) = ([1, 2, 8][(i / 5 % 3) as usize], 4096 * (i as i64 + 1));
                let end = start + 2_000 + (i % 9) as i64 * 1_000;
                story.copies.push(Copy { start, end, kind, bytes, device, context, stream, correlation });
                story.calls.push(call(MEMCPY_CALL, start, 8, correlation));
            }
            if i % 7 == 0 {
                let (start, end, correlation) = (start + 40_000, start + 43_000, correlation + 2);
                story.fills.push(Fill { start, end, bytes: 512, device, context, stream, correlation });
                story.calls.push(call(MEMSET_CALL, start, 3, correlation));
            }
        }
        story.calls.push(call(SYNCHRONIZE, 10_000_000 + launches as i64 * 50_000, 300, 0));
        story
    }

    /// One kernel of `name` that ran for `duration` ns from `start` on.
    pub fn with_kernel(mut self, name: Name, start: i64, duration: i64) -> Story {
        let correlation = self.kernels.len() as u64 + 1;
        let end = start + duration;
        let (grid, block) = ([1, 1, 1], [32, 1, 1]);
        let kernel = Kernel { name, start, end, device: 0, context: 1, stream: 7, correlation, grid, block };
        self.kernels.push(kernel);
        self
    }

    /// All ranges of the samples: an outer one around the second to fifth launch, an inner one around the third, one
    /// that was never closed, one of start/end style by another thread, and a mark.
    pub fn with_ranges(mut self) -> Story {
        let launch = |i: i64| 10_000_000 + i * 50_000 - 20_000;
        let range = |name: &str, start, end, style, tid| NvtxRange {
            name: name.into(),
            domain: None,
            start,
            end,
            style,
            tid,
        };
        self.ranges = vec![
            range("step", launch(1) - 1_000, Some(launch(4) + 20_000), 0, THREAD),
            NvtxRange {
                domain: Some("model".into()),
                ..range("forward", launch(2) - 1_000, Some(launch(2) + 20_000), 0, THREAD)
            },
            range("epoch", launch(3) - 1_000, None, 0, THREAD),
            range("request", launch(0) - 1_000, Some(launch(1) + 20_000), 1, THREAD + 1),
            range("checkpoint", launch(5), None, 2, THREAD),
        ];
        self
    }

    /// The records that pass.
    pub fn only(&self, gpu: impl Fn(&Work) -> bool, call: impl Fn(&Call) -> bool) -> Story {
        let mut story = self.clone();
        story.kernels.retain(|k| gpu(&Work::new(&k.name.base, k.start, k.device, k.stream, k.correlation)));
        story.copies.retain(|c| gpu(&Work::new(b"", c.start, c.device, c.stream, c.correlation)));
        story.fills.retain(|f| gpu(&Work::new(b"", f.start, f.device, f.stream, f.correlation)));
        story.calls.retain(call);
        story
    }

    /// Correlation ids of all GPU work.
    pub fn launched(&self) -> BTreeSet<u64> {
        let kernels = self.kernels.iter().map(|k| k.correlation);
        let copies = self.copies.iter().map(|c| c.correlation);
        kernels.chain(copies).chain(self.fills.iter().map(|f| f.correlation)).collect()
    }

    /// Count and total of all valid calls, by name without version.
    pub fn api_totals(&self) -> BTreeMap<String, (u64, u128)> {
        let mut totals: BTreeMap<String, (u64, u128)> = BTreeMap::new();
        for call in &self.calls {
            if let Some(duration) = valid_duration(call.start, call.end) {
                let name = call.function.0.split("_v").next().unwrap_or_default().to_owned();
                let entry = totals.entry(name).or_default();
                *entry = (entry.0 + 1, entry.1 + duration as u128);
            }
        }
        totals
    }

    /// What `report` counts: name and duration of all valid GPU work, by name.
    pub fn gpu_totals(&self) -> BTreeMap<String, (u64, u128)> {
        let mut totals: BTreeMap<String, (u64, u128)> = BTreeMap::new();
        let mut add = |name: String, start, end| {
            if let Some(duration) = valid_duration(start, end) {
                let entry = totals.entry(name).or_default();
                *entry = (entry.0 + 1, entry.1 + duration as u128);
            }
        };
        for k in &self.kernels {
            add(String::from_utf8_lossy(&k.name.demangled).into_owned(), k.start, k.end);
        }
        for c in &self.copies {
            add(format!("[CUDA memcpy {}]", copy_word(c.kind)), c.start, c.end);
        }
        for f in &self.fills {
            add("[CUDA memset]".to_owned(), f.start, f.end);
        }
        totals
    }
}

fn copy_word(kind: u32) -> &'static str {
    match kind {
        1 => "HtoD",
        2 => "DtoH",
        _ => "DtoD",
    }
}

// ---------------------------------------------------------------------------------------------------- native

/// How a native trace is cut into frames.
#[derive(Clone, Copy, Debug)]
pub struct Native {
    pub rows_per_frame: usize,
    pub close: bool,
    pub write: WriteOptions,
}

impl Default for Native {
    fn default() -> Self {
        Native { rows_per_frame: usize::MAX, close: true, write: WriteOptions::default() }
    }
}

/// The story as a native trace.
pub fn native(story: &Story) -> Vec<u8> {
    native_with(story, Native::default())
}

/// The story as a native trace, cut as asked.
pub fn native_with(story: &Story, options: Native) -> Vec<u8> {
    let mut file = Vec::new();
    let mut writer = NativeWriter::begin(&mut file, story, options);
    writer.kernels(&story.kernels);
    writer.rest(story);
    if options.close {
        writer.close();
    }
    file
}

/// Writes a native trace piece by piece.
pub struct NativeWriter<W: Output> {
    pub writer: TraceWriter<W>,
    options: Native,
    strings: BTreeMap<Vec<u8>, u32>,
    new_strings: Vec<StringRow>,
    shapes: BTreeMap<(u32, [i64; 3], [i64; 3]), u32>,
    new_shapes: Vec<ShapeRow>,
}

impl<W: Output> NativeWriter<W> {
    /// Writes the header, the process, its clocks, devices and threads.
    pub fn begin(output: W, story: &Story, options: Native) -> Self {
        let id = story.pid as u8;
        let header = FileHeader {
            file_id: std::array::from_fn(|i| id ^ (i * 29 % 251) as u8),
            ..FileHeader::new("gpuprof 0.1.0", EPOCH)
        };
        let writer = TraceWriter::create(output, &header, options.write).expect("a header");
        let mut this = NativeWriter {
            writer,
            options,
            strings: BTreeMap::new(),
            new_strings: Vec::new(),
            shapes: BTreeMap::new(),
            new_shapes: Vec::new(),
        };
        let mut process = json!({"pid": story.pid, "argv": ["./app"], "host": "node7"});
        if let Some((rank, world)) = story.rank {
            process["rank"] = rank.into();
            process["world_size"] = world.into();
        }
        this.writer.write_json(&PROCESS, &process).expect("a process");
        if let Some(epoch) = story.epoch {
            let clock = ClockRow { trace_ns: 5_000, unix_ns: 5_000 + epoch, monotonic_ns: 17, provisional: false };
            this.rows(vec![clock]);
        }
        let devices = story.devices.iter().enumerate();
        let devices: Vec<DeviceRow> = devices
            .map(|(device, name)| DeviceRow {
                device: device as u32,
                name_id: this.string(name.as_bytes()),
                compute_major: Some(7),
                compute_minor: Some(0),
                multiprocessors: Some(80),
                memory_bytes: Some(34_000_000_000),
                ..DeviceRow::default()
            })
            .collect();
        let threads: Vec<ThreadRow> = story
            .threads
            .iter()
            .map(|(tid, name)| ThreadRow { tid: *tid, name_id: this.string(name.as_bytes()) })
            .collect();
        this.define();
        this.rows(devices);
        this.rows(threads);
        this
    }

    /// The id of a name; [`NativeWriter::define`] writes it.
    pub fn string(&mut self, bytes: &[u8]) -> u32 {
        if let Some(id) = self.strings.get(bytes) {
            return *id;
        }
        let id = self.strings.len() as u32 + 1;
        self.strings.insert(bytes.to_vec(), id);
        self.new_strings.push(StringRow { id, bytes: bytes.to_vec() });
        id
    }

    /// Writes the names and shapes that are new.
    pub fn define(&mut self) {
        let strings = std::mem::take(&mut self.new_strings);
        self.rows(strings);
        let shapes = std::mem::take(&mut self.new_shapes);
        self.rows(shapes);
    }

    /// Writes rows of any table.
    pub fn rows<R: Row>(&mut self, rows: Vec<R>) {
        let mut builder = R::Builder::default();
        for row in rows {
            builder.push(row);
            if builder.len() >= self.options.rows_per_frame {
                self.writer.write_batch(&builder.take()).expect("a frame");
            }
        }
        if !builder.is_empty() {
            self.writer.write_batch(&builder.take()).expect("a frame");
        }
    }

    pub fn kernels(&mut self, kernels: &[Kernel]) {
        let rows: Vec<KernelRow> = kernels
            .iter()
            .map(|k| {
                let name_id = self.string(&k.name.mangled);
                let next = self.shapes.len() as u32 + 1;
                let id = *self.shapes.entry((name_id, k.grid, k.block)).or_insert(next);
                if id == next {
                    let [grid_x, grid_y, grid_z] = k.grid.map(Some);
                    let [block_x, block_y, block_z] = k.block.map(Some);
                    self.new_shapes.push(ShapeRow {
                        id,
                        name_id,
                        grid_x,
                        grid_y,
                        grid_z,
                        block_x,
                        block_y,
                        block_z,
                        registers: Some(32),
                        ..ShapeRow::default()
                    });
                }
                KernelRow {
                    start_ns: k.start,
                    duration_ns: valid_duration(k.start, k.end),
                    shape_id: id,
                    device: k.device,
                    context: k.context,
                    stream: k.stream,
                    correlation: k.correlation,
                    ..KernelRow::default()
                }
            })
            .collect();
        self.define();
        self.rows(rows);
    }

    /// Everything but kernels.
    pub fn rest(&mut self, story: &Story) {
        let copies = story.copies.iter().map(|c| MemcpyRow {
            start_ns: c.start,
            duration_ns: valid_duration(c.start, c.end),
            kind: c.kind,
            src_kind: c.memories().0,
            dst_kind: c.memories().1,
            bytes: c.bytes,
            device: c.device,
            context: c.context,
            stream: c.stream,
            correlation: c.correlation,
            ..MemcpyRow::default()
        });
        self.rows(copies.collect());
        let fills = story.fills.iter().map(|f| MemsetRow {
            start_ns: f.start,
            duration_ns: valid_duration(f.start, f.end),
            bytes: f.bytes,
            mem_kind: 3,
            device: f.device,
            context: f.context,
            stream: f.stream,
            correlation: f.correlation,
            ..MemsetRow::default()
        });
        self.rows(fills.collect());
        let calls: Vec<ApiRow> = story
            .calls
            .iter()
            .map(|c| ApiRow {
                start_ns: c.start,
                duration_ns: valid_duration(c.start, c.end),
                domain: c.function.2,
                cbid: c.function.1,
                name_id: self.string(c.function.0.as_bytes()),
                tid: c.tid,
                correlation: c.correlation,
                result: Some(0),
            })
            .collect();
        self.define();
        self.rows(calls);
        let ranges: Vec<RangeRow> = story
            .ranges
            .iter()
            .enumerate()
            .map(|(i, r)| RangeRow {
                start_ns: r.start,
                end_ns: r.end,
                style: r.style,
                range_id: i as u64 + 1,
                domain_id: r.domain.as_ref().map(|d| self.string(d.as_bytes())),
                name_id: self.string(r.name.as_bytes()),
                tid: r.tid,
                ..RangeRow::default()
            })
            .collect();
        self.define();
        self.rows(ranges);
        let migrations = story.migrations.iter().map(|m| UvmRow {
            start_ns: m.start,
            duration_ns: m.end.and_then(|end| valid_duration(m.start, end)),
            kind: m.kind,
            value: m.value,
            address: 0x7000_0000,
            src_device: m.src,
            dst_device: m.dst,
            ..UvmRow::default()
        });
        self.rows(migrations.collect());
        let losses = story.losses.iter().map(|&(rows, cause)| LossRow { rows, cause, ..LossRow::default() });
        self.rows(losses.collect());
    }

    pub fn close(&mut self) {
        self.writer.finish(&json!({})).expect("the end");
    }
}

// ---------------------------------------------------------------------------------------------------- SQLite

/// An in-memory database that becomes bytes.
pub struct Database(Connection);

impl Database {
    pub fn new(schema: &str) -> Database {
        let db = Connection::open_in_memory().expect("a database");
        db.execute_batch(schema).expect("a schema");
        db.execute_batch("BEGIN").expect("a transaction");
        Database(db)
    }

    /// Inserts a row: column names and values.
    pub fn insert(&self, table: &str, row: &[(&str, Sql)]) {
        let columns: Vec<String> = row.iter().map(|(name, _)| format!("\"{name}\"")).collect();
        let marks = vec!["?"; row.len()].join(", ");
        let sql = format!("INSERT INTO {table} ({}) VALUES ({marks})", columns.join(", "));
        let values = params_from_iter(row.iter().map(|(_, value)| value.clone()));
        self.0.prepare(&sql).and_then(|mut s| s.execute(values)).unwrap_or_else(|e| panic!("{table}: {e}"));
    }

    pub fn bytes(mut self) -> Vec<u8> {
        self.0.execute_batch("COMMIT").expect("a commit");
        self.0.serialize("main").expect("bytes").to_vec()
    }
}

fn int(value: impl TryInto<i64>) -> Sql {
    Sql::Integer(value.try_into().unwrap_or(i64::MAX))
}

/// Text of any bytes: SQLite itself never checks that text is UTF-8.
pub fn insert_text(db: &Connection, table: &str, key: &str, id: i64, text: &[u8]) {
    let sql = format!("INSERT INTO {table} ({key}, value) VALUES (?1, CAST(?2 AS TEXT))");
    db.prepare(&sql).and_then(|mut s| s.execute((id, text))).unwrap_or_else(|e| panic!("{table}: {e}"));
}

/// Strings of a database by id.
struct Texts<'d> {
    db: &'d Database,
    table: &'static str,
    key: &'static str,
    known: BTreeMap<Vec<u8>, i64>,
}

impl Texts<'_> {
    fn id(&mut self, text: &[u8]) -> Sql {
        if let Some(id) = self.known.get(text) {
            return Sql::Integer(*id);
        }
        let id = self.known.len() as i64 + 1;
        self.known.insert(text.to_vec(), id);
        insert_text(&self.db.0, self.table, self.key, id, text);
        Sql::Integer(id)
    }
}

const NVPROF_TABLES: &str = "
CREATE TABLE Version(version INTEGER);
CREATE TABLE StringTable(_id_ INTEGER PRIMARY KEY AUTOINCREMENT, value TEXT NOT NULL UNIQUE);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(_id_ INTEGER PRIMARY KEY AUTOINCREMENT, cbid INT NOT NULL, start INT NOT NULL, end INT NOT NULL, processId INT NOT NULL, threadId INT NOT NULL, correlationId INT NOT NULL, returnValue INT NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_DRIVER(_id_ INTEGER PRIMARY KEY AUTOINCREMENT, cbid INT NOT NULL, start INT NOT NULL, end INT NOT NULL, processId INT NOT NULL, threadId INT NOT NULL, correlationId INT NOT NULL, returnValue INT NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_DEVICE(_id_ INTEGER PRIMARY KEY AUTOINCREMENT, globalMemorySize INT NOT NULL, numMultiprocessors INT NOT NULL, computeCapabilityMajor INT NOT NULL, computeCapabilityMinor INT NOT NULL, id INT NOT NULL, name INT NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_NAME(_id_ INTEGER PRIMARY KEY AUTOINCREMENT, objectKind INT NOT NULL, objectId BLOB NOT NULL, name INT NOT NULL);
";

const NVPROF_8: &str = "
CREATE TABLE CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL(_id_ INTEGER PRIMARY KEY AUTOINCREMENT, cacheConfig BLOB NOT NULL, registersPerThread INT NOT NULL, start INT NOT NULL, end INT NOT NULL, completed INT NOT NULL, deviceId INT NOT NULL, contextId INT NOT NULL, streamId INT NOT NULL, gridX INT NOT NULL, gridY INT NOT NULL, gridZ INT NOT NULL, blockX INT NOT NULL, blockY INT NOT NULL, blockZ INT NOT NULL, staticSharedMemory INT NOT NULL, dynamicSharedMemory INT NOT NULL, localMemoryPerThread INT NOT NULL, localMemoryTotal INT NOT NULL, correlationId INT NOT NULL, gridId INT NOT NULL, name INT NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(_id_ INTEGER PRIMARY KEY AUTOINCREMENT, copyKind INT NOT NULL, srcKind INT NOT NULL, dstKind INT NOT NULL, flags INT NOT NULL, bytes INT NOT NULL, start INT NOT NULL, end INT NOT NULL, deviceId INT NOT NULL, contextId INT NOT NULL, streamId INT NOT NULL, correlationId INT NOT NULL, runtimeCorrelationId INT NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET(_id_ INTEGER PRIMARY KEY AUTOINCREMENT, value INT NOT NULL, bytes INT NOT NULL, start INT NOT NULL, end INT NOT NULL, deviceId INT NOT NULL, contextId INT NOT NULL, streamId INT NOT NULL, correlationId INT NOT NULL, runtimeCorrelationId INT NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_MARKER(_id_ INTEGER PRIMARY KEY AUTOINCREMENT, flags INT NOT NULL, timestamp INT NOT NULL, id INT NOT NULL, objectKind INT NOT NULL, objectId BLOB NOT NULL, name INT NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER(_id_ INTEGER PRIMARY KEY AUTOINCREMENT, counterKind INT NOT NULL, value INT NOT NULL, start INT NOT NULL, end INT NOT NULL, address INT NOT NULL, srcId INT NOT NULL, dstId INT NOT NULL, streamId INT NOT NULL, processId INT NOT NULL);
";

const NVPROF_16: &str = "
CREATE TABLE CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL(_id_ INTEGER PRIMARY KEY AUTOINCREMENT, cacheConfig BLOB NOT NULL, sharedMemoryConfig INT NOT NULL, registersPerThread INT NOT NULL, start INT NOT NULL, end INT NOT NULL, completed INT NOT NULL, deviceId INT NOT NULL, contextId INT NOT NULL, streamId INT NOT NULL, gridX INT NOT NULL, gridY INT NOT NULL, gridZ INT NOT NULL, blockX INT NOT NULL, blockY INT NOT NULL, blockZ INT NOT NULL, staticSharedMemory INT NOT NULL, dynamicSharedMemory INT NOT NULL, localMemoryPerThread INT NOT NULL, localMemoryTotal INT NOT NULL, correlationId INT NOT NULL, gridId INT NOT NULL, name INT NOT NULL, queued INT NOT NULL, submitted INT NOT NULL, launchType INT NOT NULL, graphNodeId INT NOT NULL, graphId INT NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(_id_ INTEGER PRIMARY KEY AUTOINCREMENT, copyKind INT NOT NULL, srcKind INT NOT NULL, dstKind INT NOT NULL, flags INT NOT NULL, bytes INT NOT NULL, start INT NOT NULL, end INT NOT NULL, deviceId INT NOT NULL, contextId INT NOT NULL, streamId INT NOT NULL, correlationId INT NOT NULL, runtimeCorrelationId INT NOT NULL, graphNodeId INT NOT NULL, graphId INT NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET(_id_ INTEGER PRIMARY KEY AUTOINCREMENT, value INT NOT NULL, bytes INT NOT NULL, start INT NOT NULL, end INT NOT NULL, deviceId INT NOT NULL, contextId INT NOT NULL, streamId INT NOT NULL, correlationId INT NOT NULL, flags INT NOT NULL, memoryKind INT NOT NULL, graphNodeId INT NOT NULL, graphId INT NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_MARKER(_id_ INTEGER PRIMARY KEY AUTOINCREMENT, flags INT NOT NULL, timestamp INT NOT NULL, id INT NOT NULL, objectKind INT NOT NULL, objectId BLOB NOT NULL, name INT NOT NULL, domain INT NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER(_id_ INTEGER PRIMARY KEY AUTOINCREMENT, counterKind INT NOT NULL, value INT NOT NULL, start INT NOT NULL, end INT NOT NULL, address INT NOT NULL, srcId INT NOT NULL, dstId INT NOT NULL, streamId INT NOT NULL, processId INT NOT NULL, flags INT NOT NULL);
";

/// A packed `objectId`: three little-endian numbers, and garbage behind them.
fn object(words: [u32; 3]) -> Sql {
    let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    bytes.extend(b"junk");
    Sql::Blob(bytes)
}

/// The story as a database of nvprof, schema 8 (CUDA 8) or 16 (CUDA 11).
pub fn nvprof(story: &Story, version: i64) -> Vec<u8> {
    let newer = version >= 16;
    let db = Database::new(&format!("{NVPROF_TABLES}{}", if newer { NVPROF_16 } else { NVPROF_8 }));
    db.insert("Version", &[("version", int(version))]);
    let mut texts = Texts { db: &db, table: "StringTable", key: "_id_", known: BTreeMap::new() };
    // 0/0 means "no time" and has no epoch.
    let epoch = story.epoch.unwrap_or(0);
    let times = |start: i64, end: i64| match (start, end) {
        (0, 0) => (int(0), int(0)),
        _ => (int(start.wrapping_add(epoch)), int(end.wrapping_add(epoch))),
    };
    let place = |device: u32, context: u32, stream: u32, correlation: u64| {
        [
            ("deviceId", int(device)),
            ("contextId", int(context)),
            ("streamId", int(stream)),
            ("correlationId", int(correlation)),
        ]
    };
    let command = texts.id(b"./app --secret-of-the-command-line");
    let process = object([story.pid, 0, 0]);
    db.insert("CUPTI_ACTIVITY_KIND_NAME", &[("objectKind", int(1)), ("objectId", process), ("name", command)]);
    for (tid, name) in &story.threads {
        let (object, name) = (object([story.pid, *tid, 0]), texts.id(name.as_bytes()));
        db.insert("CUPTI_ACTIVITY_KIND_NAME", &[("objectKind", int(2)), ("objectId", object), ("name", name)]);
    }
    for (device, name) in story.devices.iter().enumerate() {
        let row = [
            ("id", int(device as i64)),
            ("name", texts.id(name.as_bytes())),
            ("globalMemorySize", int(34_000_000_000_i64)),
            ("numMultiprocessors", int(80)),
            ("computeCapabilityMajor", int(7)),
            ("computeCapabilityMinor", int(0)),
        ];
        db.insert("CUPTI_ACTIVITY_KIND_DEVICE", &row);
    }
    for k in &story.kernels {
        let (start, end) = times(k.start, k.end);
        let mut row = vec![
            ("start", start),
            ("end", end),
            ("cacheConfig", Sql::Blob(vec![0; 4])),
            ("name", texts.id(&k.name.mangled)),
        ];
        row.extend(place(k.device, k.context, k.stream, k.correlation));
        row.extend(["gridX", "gridY", "gridZ"].into_iter().zip(k.grid.map(int)));
        row.extend(["blockX", "blockY", "blockZ"].into_iter().zip(k.block.map(int)));
        row.push(("registersPerThread", int(32)));
        let zeros = [
            "completed",
            "staticSharedMemory",
            "dynamicSharedMemory",
            "localMemoryPerThread",
            "localMemoryTotal",
            "gridId",
        ];
        row.extend(zeros.map(|name| (name, int(0))));
        if newer {
            let zeros = ["sharedMemoryConfig", "queued", "submitted", "launchType", "graphNodeId", "graphId"];
            row.extend(zeros.map(|name| (name, int(0))));
        }
        db.insert("CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL", &row);
    }
    let graph = [("graphNodeId", int(0)), ("graphId", int(0))];
    for c in &story.copies {
        let (start, end) = times(c.start, c.end);
        let mut row = vec![("start", start), ("end", end), ("bytes", int(c.bytes)), ("copyKind", int(c.kind))];
        let (src, dst) = c.memories();
        row.extend([
            ("srcKind", int(src)),
            ("dstKind", int(dst)),
            ("flags", int(0)),
            ("runtimeCorrelationId", int(0)),
        ]);
        row.extend(place(c.device, c.context, c.stream, c.correlation));
        row.extend(graph.clone().into_iter().filter(|_| newer));
        db.insert("CUPTI_ACTIVITY_KIND_MEMCPY", &row);
    }
    for f in &story.fills {
        let (start, end) = times(f.start, f.end);
        let mut row = vec![("start", start), ("end", end), ("bytes", int(f.bytes)), ("value", int(0))];
        row.extend(place(f.device, f.context, f.stream, f.correlation));
        if newer {
            row.extend([("flags", int(0)), ("memoryKind", int(3))]);
            row.extend(graph.clone());
        } else {
            row.push(("runtimeCorrelationId", int(0)));
        }
        db.insert("CUPTI_ACTIVITY_KIND_MEMSET", &row);
    }
    for c in &story.calls {
        let (start, end) = times(c.start, c.end);
        let table = ["CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_DRIVER"][c.function.2 as usize];
        // A signed 32-bit truncation in real files.
        let thread = int(c.tid as i32);
        let row = [
            ("cbid", int(c.function.1)),
            ("start", start),
            ("end", end),
            ("processId", int(story.pid)),
            ("threadId", thread),
            ("correlationId", int(c.correlation)),
            ("returnValue", int(0)),
        ];
        db.insert(table, &row);
    }
    nvprof_ranges(story, &db, &mut texts, newer);
    for m in &story.migrations {
        let (start, end) = times(m.start, m.end.unwrap_or(0));
        let device = |d: Option<u32>| int(d.unwrap_or(u32::MAX));
        let mut row = vec![
            ("counterKind", int(m.kind)),
            ("value", int(m.value)),
            ("start", start),
            ("end", if m.end.is_some() { end } else { int(0) }),
            ("address", int(0x7000_0000)),
            ("srcId", device(m.src)),
            ("dstId", device(m.dst)),
            ("streamId", int(7)),
            ("processId", int(story.pid)),
        ];
        row.extend(newer.then_some(("flags", int(0))));
        db.insert("CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER", &row);
    }
    db.bytes()
}

fn nvprof_ranges(story: &Story, db: &Database, texts: &mut Texts, newer: bool) {
    for (i, range) in story.ranges.iter().enumerate() {
        let name = texts.id(range.name.as_bytes());
        let domain = range.domain.as_ref().map_or(int(0), |domain| texts.id(domain.as_bytes()));
        let marker = |flags: i64, time: i64, tid: u32, name: Sql| {
            let mut row = vec![
                ("flags", int(flags)),
                ("timestamp", int(time + story.epoch.unwrap_or(0))),
                ("id", int(i as i64 + 1)),
                ("objectKind", int(2)),
                ("objectId", object([story.pid, tid, 0])),
                ("name", name),
            ];
            row.extend(newer.then(|| ("domain", domain.clone())));
            db.insert("CUPTI_ACTIVITY_KIND_MARKER", &row);
        };
        marker(if range.style == 2 { 1 } else { 2 }, range.start, range.tid, name);
        if let Some(end) = range.end {
            // A start/end range that ends on another thread is the only kind that can be told from a pushed one.
            marker(4, end, range.tid + range.style, int(0));
        }
    }
}

/// A database of nvprof as a Visual Profiler session wraps it.
pub fn nvvp_session(database: &[u8], version: u32) -> Vec<u8> {
    let packed = base64(&gzip(database));
    let (half, rest) = packed.split_at(packed.len() / 8 * 4);
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<session version=\"{version}\" name=\"New Session\">\n\
         <launch executable=\"/home/alice/app\" arguments=\"--token hf_secret\"/>\n<timelinepdm><pdm>\
         <split>{half}</split><split>{rest}</split></pdm></timelinepdm><analysispdm></analysispdm></session>\n"
    )
    .into_bytes()
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let word = chunk.iter().fold(0u32, |word, &byte| word << 8 | u32::from(byte)) << (8 * (3 - chunk.len()));
        for i in 0..4 {
            let digit = DIGITS[(word >> (18 - 6 * i)) as usize & 63] as char;
            text.push(if i <= chunk.len() { digit } else { '=' });
        }
    }
    text
}

/// Which nsys wrote an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NsysEra {
    /// No meta tables, no mangled names, no start of the session.
    Of2020,
    /// Meta tables, mangled names, tables made only when there is something to put in.
    Of2026,
}

const NSYS_2020: &str = "
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, callchainId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, value INTEGER NOT NULL, bytes INTEGER NOT NULL, graphNodeId INTEGER, memKind INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL, deprecatedSrcId INTEGER, srcKind INTEGER, dstKind INTEGER, srcDeviceId INTEGER, srcContextId INTEGER, dstDeviceId INTEGER, dstContextId INTEGER, migrationCause INTEGER, graphNodeId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, launchType INTEGER, cacheConfig INTEGER, registersPerThread INTEGER NOT NULL, gridX INTEGER NOT NULL, gridY INTEGER NOT NULL, gridZ INTEGER NOT NULL, blockX INTEGER NOT NULL, blockY INTEGER NOT NULL, blockZ INTEGER NOT NULL, staticSharedMemory INTEGER NOT NULL, dynamicSharedMemory INTEGER NOT NULL, localMemoryPerThread INTEGER NOT NULL, localMemoryTotal INTEGER NOT NULL, gridId INTEGER NOT NULL, sharedMemoryExecuted INTEGER, graphNodeId INTEGER, sharedMemoryLimitConfig INTEGER);
CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER, category INTEGER, color INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId INTEGER, uint64Value INTEGER, int64Value INTEGER, doubleValue REAL);
CREATE TABLE ThreadNames (nameId INTEGER NOT NULL, priority INTEGER, globalTid INTEGER);
CREATE TABLE TARGET_INFO_GPU (vmId INTEGER NOT NULL, id INTEGER NOT NULL, name TEXT, totalMemory INTEGER, smCount INTEGER, computeMajor INTEGER, computeMinor INTEGER);
";

const NSYS_2026: &str = "
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE META_DATA_EXPORT (name TEXT NOT NULL, value TEXT);
CREATE TABLE META_DATA_CAPTURE (name TEXT NOT NULL, value TEXT);
CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT, localTime TEXT, systemClockNs INTEGER);
CREATE TABLE TARGET_INFO_SYSTEM_ENV (globalVid INTEGER, devStateName TEXT NOT NULL, name TEXT NOT NULL, nameEnum INTEGER NOT NULL, value TEXT NOT NULL);
CREATE TABLE TARGET_INFO_GPU (vmId INTEGER NOT NULL, id INTEGER NOT NULL, name TEXT, busLocation TEXT, totalMemory INTEGER, smCount INTEGER, computeMajor INTEGER, computeMinor INTEGER, uuid TEXT);
CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER NOT NULL, pid INTEGER NOT NULL, uuid TEXT, numMultiprocessors INTEGER);
CREATE TABLE ThreadNames (nameId INTEGER NOT NULL, priority INTEGER, globalTid INTEGER);
";

const NSYS_2026_LAZY: [(&str, &str); 5] = [
    (
        "CUPTI_ACTIVITY_KIND_KERNEL",
        "start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, mangledName INTEGER, launchType INTEGER, cacheConfig INTEGER, registersPerThread INTEGER NOT NULL, gridX INTEGER NOT NULL, gridY INTEGER NOT NULL, gridZ INTEGER NOT NULL, blockX INTEGER NOT NULL, blockY INTEGER NOT NULL, blockZ INTEGER NOT NULL, clusterX INTEGER, clusterY INTEGER, clusterZ INTEGER, staticSharedMemory INTEGER NOT NULL, dynamicSharedMemory INTEGER NOT NULL, localMemoryPerThread INTEGER NOT NULL, localMemoryTotal INTEGER NOT NULL, gridId INTEGER NOT NULL, graphNodeId INTEGER, graphId INTEGER, tensorSizeMinusOneElements TEXT",
    ),
    (
        "CUPTI_ACTIVITY_KIND_MEMCPY",
        "start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL, deprecatedSrcId INTEGER, srcKind INTEGER, dstKind INTEGER, srcDeviceId INTEGER, srcContextId INTEGER, dstDeviceId INTEGER, dstContextId INTEGER, migrationCause INTEGER, graphNodeId INTEGER, virtualAddress INTEGER, copyCount INTEGER",
    ),
    (
        "CUPTI_ACTIVITY_KIND_MEMSET",
        "start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, value INTEGER NOT NULL, bytes INTEGER NOT NULL, graphNodeId INTEGER, memKind INTEGER",
    ),
    (
        "CUPTI_ACTIVITY_KIND_RUNTIME",
        "start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, callchainId INTEGER",
    ),
    (
        "NVTX_EVENTS",
        "start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER, category INTEGER, color INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId INTEGER, uint64Value INTEGER, int64Value INTEGER, doubleValue REAL, binaryData TEXT",
    ),
];

/// The story as an SQLite export of nsys.
pub fn nsys(story: &Story, era: NsysEra) -> Vec<u8> {
    let newer = era == NsysEra::Of2026;
    let mut schema = if newer { NSYS_2026.to_owned() } else { NSYS_2020.to_owned() };
    let needed = |table: &str| match table {
        "CUPTI_ACTIVITY_KIND_KERNEL" => !story.kernels.is_empty(),
        "CUPTI_ACTIVITY_KIND_MEMCPY" => !story.copies.is_empty(),
        "CUPTI_ACTIVITY_KIND_MEMSET" => !story.fills.is_empty(),
        "CUPTI_ACTIVITY_KIND_RUNTIME" => !story.calls.is_empty(),
        _ => !story.ranges.is_empty(),
    };
    for (table, columns) in NSYS_2026_LAZY.iter().filter(|(table, _)| newer && needed(table)) {
        schema.push_str(&format!("CREATE TABLE {table} ({columns});\n"));
    }
    let db = Database::new(&schema);
    let mut texts = Texts { db: &db, table: "StringIds", key: "id", known: BTreeMap::new() };
    let process = 1_i64 << 48 | i64::from(story.pid) << 24;
    if newer {
        let text = |value: &str| Sql::Text(value.to_owned());
        for (name, value) in [
            ("EXPORT_PRODUCT_VERSION", "2026.2.1.210"),
            ("EXPORT_SCHEMA_VERSION", "3.25.0"),
            ("EXPORT_USER", "alice"),
            ("EXPORT_HOST", "secret-host"),
        ] {
            db.insert("META_DATA_EXPORT", &[("name", text(name)), ("value", text(value))]);
        }
        let variable = [("name", text("PROCESS_0:ENVIRONMENT_VARIABLE_0")), ("value", text("HF_TOKEN=hf_secret"))];
        db.insert("META_DATA_CAPTURE", &variable);
        if let Some(epoch) = story.epoch {
            db.insert("TARGET_INFO_SESSION_START_TIME", &[("utcEpochNs", int(epoch))]);
        }
    }
    for (device, name) in story.devices.iter().enumerate() {
        let mut row = vec![
            ("vmId", int(1_i64 << 48)),
            ("id", int(device as i64)),
            ("name", Sql::Text(name.clone())),
            ("totalMemory", int(34_000_000_000_i64)),
            ("smCount", int(80)),
            ("computeMajor", int(7)),
            ("computeMinor", int(0)),
        ];
        if newer {
            row.push(("uuid", Sql::Text(format!("554a6988-03dd-6206-3dd1-f43fb60a3e{device:02}"))));
            let cuda = [("gpuId", int(device as i64)), ("cudaId", int(device as i64)), ("pid", int(story.pid))];
            db.insert("TARGET_INFO_CUDA_DEVICE", &cuda);
        }
        db.insert("TARGET_INFO_GPU", &row);
    }
    for (tid, name) in &story.threads {
        let row = [("nameId", texts.id(name.as_bytes())), ("globalTid", int(process | i64::from(*tid)))];
        db.insert("ThreadNames", &row);
    }
    let place = |start: i64, end: i64, (device, context, stream): (u32, u32, u32), correlation: u64| {
        vec![
            ("start", int(start)),
            ("end", int(end)),
            ("deviceId", int(device)),
            ("contextId", int(context)),
            ("streamId", int(stream)),
            ("correlationId", int(correlation)),
            ("globalPid", int(process)),
        ]
    };
    for k in &story.kernels {
        let mut row = place(k.start, k.end, (k.device, k.context, k.stream), k.correlation);
        row.extend([("demangledName", texts.id(&k.name.demangled)), ("shortName", texts.id(&k.name.base))]);
        if newer {
            row.push(("mangledName", texts.id(&k.name.mangled)));
            row.push(("tensorSizeMinusOneElements", Sql::Text("[]".into())));
        }
        row.extend(["gridX", "gridY", "gridZ"].into_iter().zip(k.grid.map(int)));
        row.extend(["blockX", "blockY", "blockZ"].into_iter().zip(k.block.map(int)));
        row.push(("registersPerThread", int(32)));
        let zeros =
            ["staticSharedMemory", "dynamicSharedMemory", "localMemoryPerThread", "localMemoryTotal", "gridId"];
        row.extend(zeros.map(|name| (name, int(0))));
        db.insert("CUPTI_ACTIVITY_KIND_KERNEL", &row);
    }
    for c in &story.copies {
        let mut row = place(c.start, c.end, (c.device, c.context, c.stream), c.correlation);
        // nsys numbers kinds of memory one lower than CUPTI.
        let (src, dst) = c.memories();
        row.extend([
            ("bytes", int(c.bytes)),
            ("copyKind", int(c.kind)),
            ("srcKind", int(src - 1)),
            ("dstKind", int(dst - 1)),
        ]);
        db.insert("CUPTI_ACTIVITY_KIND_MEMCPY", &row);
    }
    for f in &story.fills {
        let mut row = place(f.start, f.end, (f.device, f.context, f.stream), f.correlation);
        row.extend([("bytes", int(f.bytes)), ("value", int(0)), ("memKind", int(2))]);
        db.insert("CUPTI_ACTIVITY_KIND_MEMSET", &row);
    }
    for c in &story.calls {
        let row = [
            ("start", int(c.start)),
            ("end", int(c.end)),
            ("eventClass", int(c.function.2)),
            ("globalTid", int(process | i64::from(c.tid))),
            ("correlationId", int(c.correlation)),
            ("nameId", texts.id(c.function.0.as_bytes())),
            ("returnValue", int(0)),
        ];
        db.insert("CUPTI_ACTIVITY_KIND_RUNTIME", &row);
    }
    let mut domains: BTreeMap<&str, i64> = BTreeMap::new();
    for range in &story.ranges {
        let thread = ("globalTid", int(process | i64::from(range.tid)));
        let domain = range.domain.as_ref().map_or(0, |domain| {
            let next = domains.len() as i64 + 1;
            *domains.entry(domain).or_insert_with(|| {
                let text = ("text", Sql::Text(domain.clone()));
                let row =
                    [("start", int(0)), ("eventType", int(75)), text, thread.clone(), ("domainId", int(next))];
                db.insert("NVTX_EVENTS", &row);
                next
            })
        });
        let event_type = [59, 60, 34][range.style as usize];
        let mut row =
            vec![("start", int(range.start)), ("eventType", int(event_type)), thread, ("domainId", int(domain))];
        row.extend(range.end.map(|end| ("end", int(end))));
        // Registered strings stand in StringIds, others here.
        match range.name.len() % 2 {
            0 => row.push(("text", Sql::Text(range.name.clone()))),
            _ => row.push(("textId", texts.id(range.name.as_bytes()))),
        }
        db.insert("NVTX_EVENTS", &row);
    }
    db.bytes()
}

// ---------------------------------------------------------------------------------------------------- Kineto

/// Which Kineto wrote a trace (FORMATS-IN §5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KinetoEra {
    /// December 2020: a bare array, capitalised categories, whole microseconds since 1970.
    Bare2020,
    /// 2021: an object with the same events.
    Object2021,
    /// 2022 and 2023: today's categories.
    Plain2022,
    /// Early 2024: absolute times as floats.
    Float2024,
    /// April 2024 on: microseconds with three decimals from `baseTimeNanoseconds` on.
    Base2024,
}

pub const KINETO_ERAS: [KinetoEra; 5] =
    [KinetoEra::Bare2020, KinetoEra::Object2021, KinetoEra::Plain2022, KinetoEra::Float2024, KinetoEra::Base2024];

/// The story as a PyTorch profiler trace.
pub fn kineto(story: &Story, era: KinetoEra) -> Vec<u8> {
    use KinetoEra::*;
    let epoch = if era == Base2024 { 0 } else { story.epoch.unwrap_or(0) };
    // Times are put in as text, because no float holds them.
    let micros = |ns: i64| match era {
        Bare2020 | Object2021 | Plain2022 => format!("{}", ns / 1_000),
        Float2024 => format!("{}.{}", ns / 1_000, ns % 1_000),
        Base2024 => format!("{}.{:03}", ns / 1_000, ns % 1_000),
    };
    let old = matches!(era, Bare2020 | Object2021);
    let category = |newer: &'static str, older: &'static str| if old { older } else { newer };
    let mut events: Vec<String> = Vec::new();
    let mut add = |cat: &str, name: &str, lane: (Value, Value), (start, end): (i64, i64), args: Value| {
        let (pid, tid) = lane;
        let (ts, dur) = (micros(start + epoch), micros(end - start));
        events.push(format!(
            r#"{{"ph": "X", "cat": {}, "name": {}, "pid": {pid}, "tid": {tid}, "ts": {ts}, "dur": {dur}, "args": {args}}}"#,
            json!(cat),
            json!(name)
        ));
    };
    let lane = |device: u32, stream: u32| match era {
        Bare2020 => (json!(device), json!(format!("stream {stream}"))),
        _ => (json!(device), json!(stream)),
    };
    for k in &story.kernels {
        let args = json!({"device": k.device, "context": k.context, "stream": k.stream, "correlation": k.correlation,
            "registers per thread": 32, "shared memory": 0, "grid": k.grid, "block": k.block});
        let name = String::from_utf8_lossy(&k.name.demangled).into_owned();
        add(category("kernel", "Kernel"), &name, lane(k.device, k.stream), (k.start, k.end), args);
    }
    for c in &story.copies {
        let word = |kind: u32| if kind == 1 { "Pageable" } else { "Device" };
        let (src, dst) = c.memories();
        let name = format!("Memcpy {} ({} -> {})", copy_word(c.kind), word(src), word(dst));
        let args = json!({"device": c.device, "context": c.context, "stream": c.stream, "correlation": c.correlation,
            "bytes": c.bytes});
        add(category("gpu_memcpy", "Memcpy"), &name, lane(c.device, c.stream), (c.start, c.end), args);
    }
    for f in &story.fills {
        let args = json!({"device": f.device, "context": f.context, "stream": f.stream, "correlation": f.correlation,
            "bytes": f.bytes});
        add(category("gpu_memset", "Memset"), "Memset (Device)", lane(f.device, f.stream), (f.start, f.end), args);
    }
    for c in &story.calls {
        let (function, cbid, domain) = c.function;
        let name = function.split("_v").next().unwrap_or(function);
        let cat = if domain == 1 { "cuda_driver" } else { category("cuda_runtime", "Runtime") };
        let lane = (json!(story.pid), json!(c.tid));
        add(cat, name, lane, (c.start, c.end), json!({"cbid": cbid, "correlation": c.correlation}));
    }
    for range in story.ranges.iter().filter(|range| !old && range.style == 0) {
        if let Some(end) = range.end {
            let lane = (json!(story.pid), json!(range.tid));
            add("user_annotation", &range.name, lane, (range.start, end), json!({}));
        }
    }
    // What is no GPU work although it stands on the GPU's rows.
    let noise = (1_000_000, 9_000_000);
    add("gpu_user_annotation", "step", (json!(0), json!(7)), noise, json!({}));
    add("Trace", "PyTorch Profiler (0)", (json!("Spans"), json!("PyTorch Profiler")), noise, json!({}));
    for (tid, name) in &story.threads {
        let event = json!({"ph": "M", "name": "thread_name", "pid": story.pid, "tid": tid, "ts": 0, "args": {"name": name}});
        events.push(event.to_string());
    }
    let events = format!("[\n{}\n]", events.join(",\n"));
    if era == Bare2020 {
        return events.into_bytes();
    }
    let devices: Vec<Value> = story
        .devices
        .iter()
        .enumerate()
        .map(|(id, name)| {
            json!({"id": id, "name": name, "totalGlobalMem": 34_000_000_000_i64, "computeMajor": 7, "computeMinor": 0,
                "numSms": 80})
        })
        .collect();
    let mut header = json!({"schemaVersion": 1, "deviceProperties": devices});
    if let Some((rank, world)) = story.rank {
        header["distributedInfo"] = json!({"backend": "nccl", "rank": rank, "world_size": world});
    }
    let header = header.to_string();
    let header = header.strip_suffix('}').expect("an object");
    let mut text = format!("{header}, \"traceEvents\": {events}");
    if era == Base2024 {
        // It may follow the events, and does in real files.
        text.push_str(&format!(
            ", \"displayTimeUnit\": \"ms\", \"baseTimeNanoseconds\": {}",
            story.epoch.unwrap_or(0)
        ));
    }
    text.push_str("\n}\n");
    text.into_bytes()
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

/// Several gzip members one after the other, which together are one file.
pub fn gzip_members(bytes: &[u8], members: usize) -> Vec<u8> {
    bytes.chunks(bytes.len().div_ceil(members.max(1)).max(1)).flat_map(gzip).collect()
}

/// The story in every format, with a name for each.
pub fn every_kind(story: &Story) -> Vec<(&'static str, Vec<u8>)> {
    let database = nvprof(story, 8);
    let json = kineto(story, KinetoEra::Base2024);
    vec![
        ("native", native(story)),
        ("native of small frames", native_with(story, Native { rows_per_frame: 7, ..Native::default() })),
        ("native not closed", native_with(story, Native { close: false, ..Native::default() })),
        ("nvprof 16", nvprof(story, 16)),
        ("nvvp session", nvvp_session(&database, 2)),
        ("nvprof 8", database),
        ("nsys 2020", nsys(story, NsysEra::Of2020)),
        ("nsys 2026", nsys(story, NsysEra::Of2026)),
        ("kineto 2020", kineto(story, KinetoEra::Bare2020)),
        ("kineto 2021", kineto(story, KinetoEra::Object2021)),
        ("kineto 2022", kineto(story, KinetoEra::Plain2022)),
        ("kineto early 2024", kineto(story, KinetoEra::Float2024)),
        ("kineto gzip", gzip(&json)),
        ("kineto gzip members", gzip_members(&json, 3)),
        ("kineto 2024", json),
    ]
}

/// The frames' rows of a native trace of the story, in the order in which they were written.
pub fn native_batches(story: &Story, rows_per_frame: usize) -> Vec<trace_format::columns::Batch> {
    use trace_format::read::TraceReader;
    let bytes = native_with(story, Native { rows_per_frame, ..Native::default() });
    let reader = TraceReader::new(&bytes[..]).expect("our own trace");
    let frames = reader.frames().iter().filter(|frame| !frame.is_json() && !frame.is_repeat());
    frames.map(|frame| reader.read_batch(frame, None).expect("our own frame")).collect()
}
