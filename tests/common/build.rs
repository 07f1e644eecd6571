//! Small traces of every kind, made by code from one [`Story`], so that the same records can be had in any format.

mod database;
mod kineto;
mod native;
mod nsys;
mod nvprof;
mod planted;
mod sampled;
mod waiting;

pub use database::*;
pub use kineto::*;
pub use native::*;
pub use nsys::*;
pub use nvprof::*;
pub use planted::*;
pub use sampled::*;
pub use waiting::*;

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
