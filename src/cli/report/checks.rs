//! What of the command line contradicts itself, or would be ignored, is refused before traces are opened.

use super::{Args, Plan};
use crate::analysis::grouping::Grouping;
use crate::analysis::summary::SortKey;
use crate::error::{Error, Result};
use crate::report;
use crate::report::classic::ReportKind;
use crate::report::nvprof::TimeUnit;
use crate::report::nvprof::messages::{Message, Prefix};
use std::path::PathBuf;

/// Somebody who names a view where a trace is expected is told how it is asked for.
pub(super) fn view_instead_of_path(paths: &[PathBuf]) -> Result<()> {
    let is_view = |path: &&PathBuf| {
        let name = path.to_str().filter(|_| path.symlink_metadata().is_err());
        name.is_some_and(|name| report::find_view(name).is_ok())
    };
    let Some(path) = paths.iter().find(is_view) else { return Ok(()) };
    let view = path.display();
    Err(Error::at(path, "no such file; it is the name of a view")
        .remedy(&format!("write `gpuprof report --view {view} TRACE`")))
}

impl<'a> Plan<'a> {
    pub(super) fn new(args: &'a Args) -> Result<Self> {
        let n = &args.nvprof;
        let traces = n.print_gpu_trace || n.print_api_trace || n.print_openacc_trace;
        let some_summary = n.print_gpu_summary || n.print_api_summary || n.print_openacc_summary;
        let summaries = some_summary || n.print_summary || n.print_summary_per_gpu;
        if traces && summaries {
            let mut text = Vec::new();
            Message::SummaryAndTrace.write(&mut text, Prefix(None)).map_err(|e| Error::output(&e))?;
            return Err(Error::verbatim(String::from_utf8_lossy(&text).trim_end()));
        }
        let views = args.view.iter().map(|name| report::find_view(name)).collect::<Result<Vec<_>>>()?;
        if !views.is_empty() && (traces || summaries || n.csv) {
            return Err(Error::new("--view does not go with nvprof's print options")
                .remedy("ask for one or the other; views are written as CSV by --format csv"));
        }
        let machine = args.format.is_some() || args.rows.percentiles;
        if n.normalized_time_unit != TimeUnit::Auto && (machine || !views.is_empty()) {
            return Err(Error::new("-u is for nvprof's layout: views, --format and --percentiles show times in the unit that their headings name")
                .remedy("leave it out"));
        }
        if n.nvtx && (machine || !views.is_empty()) {
            return Err(Error::new(
                "--nvtx is for nvprof's layout, to which --view, --format and --percentiles do not belong",
            )
            .remedy("use --view nvtx_sum or --view nvtx_kern_sum"));
        }
        let what = if n.print_openacc_trace {
            ReportKind::OpenaccTrace
        } else if traces {
            ReportKind::Trace { gpu: n.print_gpu_trace, api: n.print_api_trace }
        } else if n.print_summary_per_gpu {
            ReportKind::PerGpu
        } else if some_summary && !n.print_summary {
            let (gpu, api, openacc) = (n.print_gpu_summary, n.print_api_summary, n.print_openacc_summary);
            ReportKind::Summary { gpu, api, openacc, openmp: gpu && api && openacc }
        } else {
            ReportKind::Summary { gpu: true, api: true, openacc: true, openmp: true }
        };
        let listing = matches!(what, ReportKind::Trace { .. } | ReportKind::OpenaccTrace);
        if listing && (args.format.is_some() || args.rows.percentiles) {
            return Err(Error::new(
                "--format and --percentiles are for summaries and views, not for --print-gpu-trace and the like",
            )
            .remedy("write listings as nvprof's CSV with --csv, or use --view cuda_gpu_trace --format json"));
        }
        if n.csv && (args.format.is_some() || args.rows.percentiles) {
            return Err(Error::new("--csv is nvprof's layout, to which --format and --percentiles do not apply")
                .remedy("use --format csv"));
        }
        let rows = &args.rows;
        let grouped = rows.group_by != Grouping::default() || rows.sort != SortKey::default();
        if listing && grouped {
            return Err(Error::new("--print-gpu-trace and the like list every row in order of time: --group-by and --sort are for summaries")
                .remedy("leave them out, or leave out the option that asks for a listing"));
        }
        if !views.is_empty() && (grouped || rows.percentiles || rows.per_process) {
            return Err(Error::new("--view shows a table as it is: --group-by, --sort, --percentiles and --per-process are for summaries")
                .remedy("leave them out, or leave out --view"));
        }
        Ok(Plan { args, views, what })
    }
}
