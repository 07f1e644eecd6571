//! Traces of a program that is played on two clocks, the host's and the GPU's, with troubles planted in it: what a tool that
//! looks for troubles has to find, and no more.

use super::{Call, DRIVER_LAUNCH, Kernel, LAUNCH, MALLOC, MEMCPY_CALL, Name, Native, NativeWriter, Random};
use super::{SYNCHRONIZE, Story, THREAD};
use std::collections::BTreeMap;
use trace_format::tables::MemcpyRow;

pub const MEMCPY_ASYNC: (&str, u32, u32) = ("cudaMemcpyAsync_v3020", 41, 0);
pub const FREE: (&str, u32, u32) = ("cudaFree_v3020", 22, 0);
pub const LOAD_MODULE: (&str, u32, u32) = ("cuModuleLoadDataEx", 22, 1);

/// Kinds of memory, as in table `memcpy`.
pub const PAGEABLE: u32 = 1;
pub const PINNED: u32 = 2;
const DEVICE: u32 = 3;

/// A program that is played. All times in nanoseconds.
pub struct Player {
    pub story: Story,
    pub copies: Vec<MemcpyRow>,
    host_ns: i64,
    /// When each stream has done what it was given.
    streams: BTreeMap<u32, i64>,
    correlation: u64,
    random: Random,
}

impl Player {
    pub fn new(seed: u64) -> Player {
        let story = Story { devices: vec!["NVIDIA H100".into()], ..Story::empty() };
        let streams = BTreeMap::new();
        let random = Random(seed);
        Player { story, copies: Vec::new(), host_ns: 1_000_000, streams, correlation: 0, random }
    }

    /// About so much: up to a tenth more.
    fn about(&mut self, ns: i64) -> i64 {
        ns + self.random.below(ns as u64 / 10 + 1) as i64
    }

    fn call(&mut self, function: (&'static str, u32, u32), end: i64) -> u64 {
        self.correlation += 1;
        let (start, correlation) = (self.host_ns, self.correlation);
        self.story.calls.push(Call { function, start, end, tid: THREAD, correlation });
        self.host_ns = end;
        correlation
    }

    /// The host does something else.
    pub fn pause(&mut self, ns: i64) {
        self.host_ns += self.about(ns);
    }

    fn free_at(&self, stream: u32) -> i64 {
        self.streams.get(&stream).copied().unwrap_or(0)
    }

    /// Launches a kernel of about `ns` into a stream.
    pub fn kernel(&mut self, name: &str, stream: u32, ns: i64) {
        let launched = self.host_ns;
        let function = if self.correlation.is_multiple_of(97) { DRIVER_LAUNCH } else { LAUNCH };
        let correlation = self.call(function, launched + 5_000);
        let start = (launched + 6_000).max(self.free_at(stream) + 1_000);
        let end = start + self.about(ns);
        self.streams.insert(stream, end);
        let (grid, block) = ([128, 1, 1], [256, 1, 1]);
        let name = Name::plain(name);
        self.story.kernels.push(Kernel {
            name,
            start,
            end,
            device: 0,
            context: 1,
            stream,
            correlation,
            grid,
            block,
        });
    }

    /// Waits for everything.
    pub fn synchronize(&mut self) {
        let done = self.streams.values().copied().max().unwrap_or(0);
        let end = (self.host_ns + 2_000).max(done + 4_000);
        self.call(SYNCHRONIZE, end);
    }

    fn copied(&mut self, start: i64, end: i64, stream: u32, correlation: u64, to_host: bool, memory: u32) {
        self.streams.insert(stream, end);
        let (src_kind, dst_kind) = if to_host { (DEVICE, memory) } else { (memory, DEVICE) };
        self.copies.push(MemcpyRow {
            start_ns: start,
            duration_ns: Some(end - start),
            kind: if to_host { 2 } else { 1 },
            src_kind,
            dst_kind,
            bytes: (end - start) * 20,
            device: 0,
            context: 1,
            stream,
            correlation,
            ..MemcpyRow::default()
        });
    }

    /// Copies through a call that blocks, behind all work of the stream.
    pub fn blocking_copy(&mut self, stream: u32, ns: i64, to_host: bool) {
        let start = (self.host_ns + 10_000).max(self.free_at(stream) + 1_000);
        let end = start + self.about(ns);
        let correlation = self.call(MEMCPY_CALL, end + 5_000);
        self.copied(start, end, stream, correlation, to_host, PAGEABLE);
    }

    /// Copies through an asynchronous call. Of pageable memory it blocks all the same.
    pub fn async_copy(&mut self, stream: u32, ns: i64, memory: u32) {
        let start = (self.host_ns + 8_000).max(self.free_at(stream) + 1_000);
        let end = start + self.about(ns);
        let call_end = if memory == PAGEABLE { end + 3_000 } else { self.host_ns + 6_000 };
        let correlation = self.call(MEMCPY_ASYNC, call_end);
        self.copied(start, end, stream, correlation, false, memory);
    }

    /// The stream goes on when another one has done what it was given so far.
    pub fn wait_for(&mut self, stream: u32, other: u32) {
        let at = self.free_at(stream).max(self.free_at(other));
        self.streams.insert(stream, at);
    }

    /// Allocates and releases, which waits for the device.
    pub fn reallocate(&mut self, ns: i64) {
        for function in [FREE, MALLOC] {
            let done = self.streams.values().copied().max().unwrap_or(0);
            let end = self.host_ns.max(done) + self.about(ns);
            self.call(function, end);
        }
    }

    pub fn load_module(&mut self, ns: i64) {
        let end = self.host_ns + self.about(ns);
        self.call(LOAD_MODULE, end);
    }

    /// The host stays no more than `ns` ahead of the stream, as the driver sees to it.
    pub fn stay_near(&mut self, stream: u32, ns: i64) {
        self.host_ns = self.host_ns.max(self.free_at(stream) - ns);
    }

    /// As a native trace.
    pub fn native(&self) -> Vec<u8> {
        self.native_with(Native { rows_per_frame: 500, ..Native::default() })
    }

    pub fn native_with(&self, options: Native) -> Vec<u8> {
        let mut file = Vec::new();
        let mut writer = NativeWriter::begin(&mut file, &self.story, options);
        writer.kernels(&self.story.kernels);
        writer.rows(self.copies.clone());
        writer.rest(&self.story);
        if options.close {
            writer.close();
        }
        file
    }
}

/// A trace, what was planted in it by the names of the rules, and what it is.
pub struct Labelled {
    pub what: String,
    pub planted: &'static [&'static str],
    pub player: Player,
}

/// One step of a program.
type Step = fn(&mut Player, usize);

/// 33 traces, each with one or two troubles or none.
pub fn labelled() -> Vec<Labelled> {
    const STEPS: usize = 60;
    let kinds: [(&str, &[&str], Step); 22] = [
        ("kernels one after the other, launched ahead", &[], |p, _| {
            p.kernel("gemm", 7, 400_000);
            p.stay_near(7, 3_000_000);
        }),
        ("99 % busy, with a small pause now and then", &[], |p, i| {
            p.kernel("gemm", 7, 800_000);
            p.stay_near(7, 1_000_000);
            if i % 20 == 19 {
                p.synchronize();
                p.pause(100_000);
            }
        }),
        ("copies and communication behind kernels", &[], |p, _| {
            p.async_copy(8, 200_000, PINNED);
            p.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 9, 300_000);
            p.kernel("gemm", 7, 500_000);
            p.stay_near(7, 2_000_000);
        }),
        ("small blocking copies, no longer than one percent", &[], |p, _| {
            p.kernel("gemm", 7, 2_000_000);
            p.stay_near(7, 1_500_000);
            p.async_copy(8, 2_500, PINNED);
        }),
        ("slow loading of data", &["host_late"], |p, _| {
            p.kernel("forward", 7, 800_000);
            p.pause(3_000_000);
        }),
        ("slow loading of data behind a wait", &["host_late"], |p, _| {
            p.kernel("forward", 7, 800_000);
            p.synchronize();
            p.pause(5_000_000);
        }),
        ("a pause now and then", &["host_late"], |p, i| {
            p.kernel("forward", 7, 500_000);
            p.stay_near(7, 100_000);
            if i % 10 == 9 {
                p.pause(4_000_000);
            }
        }),
        ("a wait behind every kernel", &["sync_stalls"], |p, _| {
            p.kernel("step", 7, 300_000);
            p.synchronize();
            p.pause(60_000);
        }),
        ("a wait behind every other kernel", &["sync_stalls"], |p, i| {
            p.kernel("step", 7, 250_000);
            if i % 2 == 1 {
                p.synchronize();
                p.pause(200_000);
            }
        }),
        ("tiny kernels", &["launch_bound"], |p, _| {
            for _ in 0..40 {
                p.kernel("add", 7, 2_000);
                p.pause(3_000);
            }
        }),
        ("tiny kernels behind slow Python", &["launch_bound"], |p, _| {
            for _ in 0..40 {
                p.kernel("mul", 7, 3_000);
                p.pause(15_000);
            }
        }),
        ("memory allocated in every step", &["steady_allocations"], |p, _| {
            p.reallocate(150_000);
            p.kernel("step", 7, 500_000);
        }),
        ("modules loaded on the way", &["module_loading"], |p, i| {
            p.kernel("step", 7, 500_000);
            if i % 12 == 5 {
                p.load_module(9_000_000);
            }
        }),
        ("results fetched through a blocking copy", &["blocking_copies"], |p, _| {
            p.kernel("step", 7, 700_000);
            p.blocking_copy(7, 400_000, true);
        }),
        ("input through a blocking copy", &["blocking_copies"], |p, _| {
            p.blocking_copy(7, 500_000, false);
            p.kernel("step", 7, 900_000);
        }),
        ("input from pageable memory", &["pageable_copies"], |p, _| {
            p.async_copy(7, 500_000, PAGEABLE);
            p.kernel("step", 7, 900_000);
        }),
        ("input in the same stream", &["exposed_copies"], |p, _| {
            p.async_copy(7, 300_000, PINNED);
            p.kernel("step", 7, 900_000);
            p.stay_near(7, 4_000_000);
        }),
        ("collectives behind the computation", &["exposed_communication"], |p, _| {
            p.kernel("backward", 7, 800_000);
            p.wait_for(9, 7);
            p.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 9, 300_000);
            p.wait_for(7, 9);
            p.stay_near(7, 4_000_000);
        }),
        ("slow loading and exposed collectives", &["host_late", "exposed_communication"], |p, _| {
            p.pause(2_000_000);
            p.kernel("backward", 7, 800_000);
            p.wait_for(9, 7);
            p.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 9, 300_000);
            p.wait_for(7, 9);
            p.synchronize();
        }),
        ("pageable input and a wait", &["pageable_copies", "sync_stalls"], |p, _| {
            p.async_copy(7, 400_000, PAGEABLE);
            p.kernel("step", 7, 700_000);
            p.synchronize();
            p.pause(150_000);
        }),
        ("blocking results and allocations", &["blocking_copies", "steady_allocations"], |p, _| {
            p.reallocate(120_000);
            p.kernel("step", 7, 600_000);
            p.blocking_copy(7, 300_000, true);
        }),
        ("tiny kernels and slow loading", &["launch_bound", "host_late"], |p, _| {
            for _ in 0..40 {
                p.kernel("add", 7, 2_000);
                p.pause(4_000);
            }
            p.pause(1_500_000);
        }),
    ];
    let mut all = Vec::new();
    for (i, (what, planted, step)) in kinds.into_iter().enumerate() {
        // Half of the kinds twice, with other numbers.
        for seed in 0..1 + (i as u64 % 2) {
            let mut player = Player::new(seed * 1000 + i as u64);
            (0..STEPS + 20 * seed as usize).for_each(|at| step(&mut player, at));
            all.push(Labelled { what: format!("{what} ({seed})"), planted, player });
        }
    }
    all
}
