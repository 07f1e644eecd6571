//! Made-up distributed runs: the kernels of each rank on one time, and clocks that go wrong.

use crate::common::TempFolder;
use crate::common::build::Random;
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Where the made-up runs begin.
pub(super) const BASE_NS: i64 = 1_700_000_000_000_000_000;

/// When the range of every rank begins.
pub(super) const RANGE_NS: i64 = 100_000_000;

/// How long before its start a kernel is launched.
pub(super) const LAUNCH_NS: i64 = 10_000;

const ALL_REDUCE: &str = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)";

/// A kernel of one rank on a time for all, in nanoseconds from the beginning.
#[derive(Clone)]
pub(super) struct Kernel {
    pub(super) name: &'static str,
    pub(super) start: i64,
    pub(super) end: i64,
    pub(super) stream: u32,
    /// Communicator and bytes of a collective.
    pub(super) group: Option<(Vec<u32>, i64)>,
}

/// A distributed run: the kernels of each rank, and how its clock goes.
#[derive(Clone, Default)]
pub struct Run {
    pub(super) kernels: Vec<Vec<Kernel>>,
    /// Ahead by so many nanoseconds, and faster by so many parts per million.
    pub(super) clocks: BTreeMap<usize, (i64, f64)>,
    pub(super) world: u32,
}

impl Run {
    pub(super) fn new(ranks: usize) -> Run {
        Run { kernels: vec![Vec::new(); ranks], clocks: BTreeMap::new(), world: ranks as u32 }
    }

    pub(super) fn compute(&mut self, rank: usize, name: &'static str, start: i64, end: i64) {
        self.kernels[rank].push(Kernel { name, start, end, stream: 7, group: None });
    }

    /// An AllReduce of the ranks that begin at these times; all end together. Gives the end.
    pub(super) fn all_reduce(&mut self, starts: &[(usize, i64)], ns: i64, bytes: i64, stream: u32) -> i64 {
        let ranks: Vec<u32> = starts.iter().map(|(rank, _)| *rank as u32).collect();
        let end = starts.iter().map(|(_, start)| *start).max().expect("a rank") + ns;
        for &(rank, start) in starts {
            let group = Some((ranks.clone(), bytes));
            self.kernels[rank].push(Kernel { name: ALL_REDUCE, start, end, stream, group });
        }
        end
    }

    /// A run of steps: what a rank computes in a step, after how long, and then an AllReduce of 100 MB by all.
    pub(super) fn steps(ranks: usize, steps: usize, step: impl Fn(usize, usize) -> (i64, i64)) -> Run {
        let mut run = Run::new(ranks);
        let mut began = 10_000_000;
        for at in 0..steps {
            let starts: Vec<(usize, i64)> = (0..ranks)
                .map(|rank| {
                    let (compute, idle) = step(rank, at);
                    let softmax = began + idle + 500_000;
                    run.compute(rank, "softmax", began + idle, softmax);
                    run.compute(rank, "gemm", softmax, softmax + compute);
                    (rank, softmax + compute)
                })
                .collect();
            began = run.all_reduce(&starts, 700_000, 100_000_000, 20);
        }
        run
    }

    /// Rank `rank`'s trace as PyTorch's profiler writes it. Without `says` it tells nothing about collectives.
    pub(super) fn kineto(&self, rank: usize, says: bool) -> String {
        let (ahead, ppm) = self.clocks.get(&rank).copied().unwrap_or_default();
        let shown = |ns: i64| ns + ahead + (ns as f64 * ppm * 1e-6).round() as i64;
        let mut kernels = self.kernels[rank].clone();
        kernels.sort_by_key(|kernel| kernel.start);
        let mut events = String::new();
        for (correlation, kernel) in (1..).zip(kernels) {
            let (start, end) = (shown(kernel.start), shown(kernel.end));
            let mut args = json!({"device": 0, "context": 1, "stream": kernel.stream, "correlation": correlation});
            if let (Some((ranks, bytes)), true) = (&kernel.group, says) {
                args["Collective name"] = "allreduce".into();
                args["In msg nelems"] = (bytes / 4).into();
                args["Out msg nelems"] = (bytes / 4).into();
                args["Group size"] = ranks.len().into();
                args["dtype"] = "Float".into();
                args["Process Group Name"] = format!("{}", ranks[0]).into();
                args["Process Group Ranks"] = format!("{ranks:?}").into();
            }
            let micros = |ns: i64| format!("{}.{:03}", ns / 1_000, ns % 1_000);
            if events.is_empty() {
                // A range of the program from 100 ms to 10 s.
                let (from, to) = (micros(shown(RANGE_NS)), micros(10_000_000_000));
                let _ = write!(
                    events,
                    r#"{{"ph":"X","cat":"user_annotation","name":"ProfilerStep#1","pid":1,"tid":1,"ts":{from},"dur":{to}}}"#
                );
            }
            let launched = micros(shown(kernel.start - LAUNCH_NS));
            let _ = write!(
                events,
                r#",{{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":{launched},"dur":5,"args":{{"correlation":{correlation},"cbid":211}}}}"#
            );
            let _ = write!(
                events,
                r#",{{"ph":"X","cat":"kernel","name":"{}","pid":0,"tid":{},"ts":{},"dur":{},"args":{args}}}"#,
                kernel.name,
                kernel.stream,
                micros(start),
                micros(end - start)
            );
        }
        format!(
            r#"{{"schemaVersion":1,"distributedInfo":{{"rank":{rank},"world_size":{}}},"deviceProperties":[{{"id":0,"name":"NVIDIA H100"}}],"baseTimeNanoseconds":{BASE_NS},"traceEvents":[{events}]}}"#,
            self.world
        )
    }

    /// Writes the traces of all ranks into a folder.
    pub fn write(&self, folder: &TempFolder, name: &str) -> String {
        for rank in 0..self.kernels.len() {
            folder.file(&format!("{name}/rank{rank}.json"), self.kineto(rank, true).as_bytes());
        }
        folder.path().join(name).to_str().expect("UTF-8").to_owned()
    }
}

/// Twenty steps of ten milliseconds that differ by up to a tenth of a millisecond; one rank takes longer.
pub fn with_slow(ranks: usize, slow: usize, more_compute: i64, more_idle: i64) -> Run {
    let jitter = |rank: usize, step: usize| Random((rank * 1_000 + step) as u64).below(100_000) as i64;
    Run::steps(ranks, 20, |rank, step| {
        let extra = if rank == slow { (more_compute, more_idle) } else { (0, 0) };
        (10_000_000 + jitter(rank, step) + extra.0, 200_000 + extra.1)
    })
}
