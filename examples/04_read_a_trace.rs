//! The library in twenty lines: the five kernels that took longest, from any trace that gpuprof opens.
//!
//! ```console
//! $ cargo run --example 04_read_a_trace -- trace.json.gz
//! ```

use gpuprof::analysis::grouping::{self, Grouping};
use gpuprof::analysis::labels::Labels;
use gpuprof::analysis::stats::Wanted;
use gpuprof::demangle::Demangling;
use gpuprof::error::{Error, Result};
use gpuprof::trace::frames::Frames;
use gpuprof::trace::select::Filter;
use gpuprof::trace::sink::Need;
use trace_format::tables;

fn main() -> Result<()> {
    let path = std::env::args_os().nth(1).ok_or_else(|| Error::new("name a trace"))?;
    let frames = Frames::open(&[path.into()], &Need::totals(&[&tables::KERNEL]))?;
    let labels = Labels::new(&frames, Demangling::On);
    let summary = grouping::gpu_summary(&labels, Grouping::default(), Wanted::default(), &Filter::everything())?;
    for row in summary.rows.iter().take(5) {
        println!("{:>12} ns  {:>6} calls  {}", row.stats.total_ns, row.stats.count, row.name);
    }
    // What is partial about the trace is part of the answer.
    for note in frames.all_notes() {
        println!("note: {}", note.text);
    }
    Ok(())
}
