//! Tables of views whose rows somebody else has added up: the same cells, in the same order, as from rows that were read here.

use super::lines::Lines;
use super::nsys_names::range_style;
use super::{api, kernels, low_use, memory, ranges, steps, time_breakdown};
use crate::analysis::overlap::Breakdown;
use crate::analysis::stats::Stats;
use crate::analysis::steps::ProcessSteps;
use crate::render::table::{Cell, Table};

fn by_name(rows: Vec<(String, Stats)>) -> Lines {
    let mut lines = Lines::default();
    rows.into_iter().for_each(|(name, stats)| lines.merge(vec![name], stats));
    lines
}

/// `cuda_gpu_kern_sum`, of kernels by name.
pub fn kernels(rows: Vec<(String, Stats)>) -> Table {
    by_name(rows).table(&kernels::CUDA_GPU_KERN_SUM, "Instances", &["Name"])
}

/// `cuda_api_sum`, of calls by name.
pub fn api_calls(rows: Vec<(String, Stats)>) -> Table {
    by_name(rows).table(&api::CUDA_API_SUM, "Num Calls", &["Name"])
}

/// `cuda_gpu_mem_time_sum`, of rows by the name of their table and their kind.
pub fn memory(rows: Vec<(&str, u32, Stats)>) -> Table {
    let mut lines = Lines::default();
    for (table, kind, stats) in rows {
        if let Some(name) = memory::operation_of(table, kind) {
            lines.merge(vec![name.to_owned()], stats);
        }
    }
    lines.table(&memory::CUDA_GPU_MEM_TIME_SUM, "Count", &["Operation"])
}

/// `nvtx_sum`, of ranges by style and `domain:text`.
pub fn ranges(rows: Vec<(u32, String, Stats)>) -> Table {
    let mut lines = Lines::default();
    rows.into_iter().for_each(|(style, name, stats)| lines.merge(vec![range_style(style).to_owned(), name], stats));
    lines.table(&ranges::NVTX_SUM, "Instances", &["Style", "Range"])
}

/// `gpu_time_breakdown`, of devices: pid, index and time.
pub fn time_breakdown(devices: Vec<(Option<u32>, u32, Breakdown)>) -> Table {
    let rows = devices.into_iter().map(|(pid, device, of)| (Cell::opt_id(pid), device, of));
    time_breakdown::table(&time_breakdown::GPU_TIME_BREAKDOWN, rows)
}

/// `gpu_gaps`, of gaps by process, device and context: with the pid of a process, and its times as listings have them.
pub fn gaps(
    gaps: Vec<low_use::Found<(i64, i64)>>,
    pid: impl Fn(u32) -> Option<u32>,
    listed_ns: impl Fn(u32, i64) -> i128,
) -> Table {
    let clock = |process: u32, ns: i64| Cell::Int(listed_ns(process, ns));
    low_use::gaps_table(&low_use::GPU_GAPS, gaps, |process| Cell::opt_id(pid(process)), clock)
}

/// `steps`, of the steps of processes: with the pid of a process, its times as listings have them, and the texts of names.
pub fn steps<'t>(
    found: &[ProcessSteps],
    pid: impl Fn(u32) -> Option<u32>,
    listed_ns: impl Fn(u32, i64) -> i128,
    text: impl Fn(u32) -> &'t str,
) -> Table {
    let clock = |process: u32, ns: i64| Cell::Int(listed_ns(process, ns));
    steps::each_of(&steps::STEPS, found, |process| Cell::opt_id(pid(process)), clock, text)
}

/// `steps_sum`, likewise.
pub fn steps_sum(found: &[ProcessSteps], pid: impl Fn(u32) -> Option<u32>) -> Table {
    steps::summary_of(&steps::STEPS_SUM, found, |process| Cell::opt_id(pid(process)))
}
