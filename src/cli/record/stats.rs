//! `--stats`: what `nsys profile --stats=true` prints when the program has ended.

use crate::analysis::labels::Labels;
use crate::analysis::partial;
use crate::demangle::Demangling;
use crate::error::{Error, Result};
use crate::render::document::Document;
use crate::render::schemas;
use crate::render::table::Format;
use crate::report::{self, Context};
use crate::trace::frames::Frames;
use crate::trace::select::Filter;
use crate::trace::sink::Need;
use std::io::{self, Write as _};
use std::path::PathBuf;

/// nsys's tables in nsys's order. Between the first and the second it has calls of the operating system, which gpuprof
/// does not record.
const VIEWS: [&str; 5] =
    ["nvtx_sum", "cuda_api_sum", "cuda_gpu_kern_sum", "cuda_gpu_mem_time_sum", "cuda_gpu_mem_size_sum"];

/// Prints the tables of a run to the standard error: the standard output is the program's. What fails is said, and costs
/// nothing: the traces are there.
pub fn print(traces: &[PathBuf], say: &dyn Fn(&str)) {
    if traces.is_empty() {
        return;
    }
    if let Err(error) = tables(traces, say) {
        say(&format!("--stats: {error}"));
    }
}

fn tables(traces: &[PathBuf], say: &dyn Fn(&str)) -> Result<()> {
    let mut need = Need::totals(&[]);
    let views = VIEWS.iter().map(|name| report::find_view(name)).collect::<Result<Vec<_>>>()?;
    for (view, arguments) in &views {
        need.add(&report::views::need(*view, arguments));
    }
    let frames = Frames::open(traces, &need)?;
    let labels = Labels::new(&frames, Demangling::On);
    let filter = Filter::everything().standing_for_all(&frames)?;
    let mut out = Vec::new();
    let failed = |e: io::Error| Error::output(&e);
    for (i, (view, arguments)) in views.into_iter().enumerate() {
        if i == 1 {
            writeln!(
                out,
                "SKIPPED: osrt_sum: calls of the operating system are not recorded; strace -c counts them\n"
            )
            .map_err(failed)?;
        }
        let table = view.table(&Context { frames: &frames, labels: &labels, filter: &filter, arguments })?;
        if table.rows.is_empty() {
            writeln!(out, "SKIPPED: {}: the traces hold no such records\n", view.name()).map_err(failed)?;
            continue;
        }
        let document = Document { tables: vec![table], ..Document::new(schemas::REPORT) };
        document.write(&mut out, Format::Table).map_err(failed)?;
    }
    let mut notes = frames.all_notes();
    notes.extend(partial::notes(&frames, &filter, &need)?);
    notes.iter().for_each(|note| say(&note.text));
    // Nobody may be listening any more.
    let _ = io::stderr().write_all(&out);
    Ok(())
}
