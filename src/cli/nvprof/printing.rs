//! Everything that is printed about one process, or about a stored profile.

use super::names;
use super::request::Request;
use super::samplers;
use crate::analysis::dependency::{dependencies, dependencies_with_parts};
use crate::analysis::labels::Labels;
use crate::analysis::partial;
use crate::analysis::summary::Order;
use crate::demangle::Demangling;
use crate::error::{Error, Result};
use crate::report::classic::{self, ReportKind};
use crate::report::nvprof::cpu::Mode;
use crate::report::nvprof::messages::{Message, Prefix};
use crate::report::nvprof::{Options, TimeUnit, dependency, system};
use crate::trace::frames::Frames;
use crate::trace::select::Filter;
use crate::trace::sink::{Need, Note};
use std::io::{self, Write};
use std::path::PathBuf;
use trace_format::tables;

/// `--cpu-profiling-mode`.
pub fn cpu_mode(request: &mut Request, value: &str) {
    request.cpu.layout.mode = match value {
        "flat" => Mode::Flat,
        "top-down" => Mode::TopDown,
        _ => Mode::BottomUp,
    };
}

/// `-u`.
pub fn time_unit(request: &mut Request, value: &str) {
    request.unit = TimeUnit::parse(value).unwrap_or_default();
}

/// What is printed.
pub struct Source {
    /// The files.
    pub paths: Vec<PathBuf>,
    /// The process that they are of; `None`: a stored profile, of whatever is in it.
    pub pid: Option<u32>,
    /// When the process was begun to be profiled: from then on starts are counted. `None`: from the first record.
    pub origin_ns: Option<i64>,
}

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// Something to show.
    Something,
    /// There is nothing to print.
    Nothing,
}

/// The tables that the options ask for; `None`: none but what is after the tables.
fn what(request: &Request) -> Option<ReportKind> {
    let print = request.print;
    let everything = ReportKind::Summary { gpu: true, api: true, openacc: true, openmp: true };
    if print.openacc_trace {
        return Some(ReportKind::OpenaccTrace);
    }
    if print.gpu_trace || print.api_trace {
        return Some(ReportKind::Trace { gpu: print.gpu_trace, api: print.api_trace });
    }
    if print.per_gpu_summary {
        return Some(ReportKind::PerGpu);
    }
    if print.any_summary() && !print.summary {
        return Some(ReportKind::Summary {
            gpu: print.gpu_summary,
            api: print.api_summary,
            openacc: print.openacc_summary,
            openmp: print.openmp_summary,
        });
    }
    if print.summary {
        return Some(everything);
    }
    // A file instead of the table, unless one was asked for.
    (!print.dependency_trace && request.export.is_none()).then_some(everything)
}

/// Writes everything about `source`.
///
/// # Errors
/// Fails if a file cannot be read, or if the output cannot be written.
pub fn write(out: &mut dyn Write, request: &Request, source: &Source) -> Result<Shown> {
    let what = what(request);
    let needs = |what: Option<ReportKind>| {
        let mut need = what.map_or_else(|| Need::totals(&[]), ReportKind::need);
        if request.dependencies {
            let tables =
                [&tables::API, &tables::KERNEL, &tables::MEMCPY, &tables::MEMSET, &tables::SYNC, &tables::EVENT];
            need.add(&Need::full(&tables));
        }
        need
    };
    let mut need = needs(what);
    if request.system || source.pid.is_none() {
        need.add(&Need::totals(&[&tables::SAMPLE]));
    }
    let mut frames = Frames::open(&source.paths, &need)?;
    let with_ranges = what.is_some_and(ReportKind::has_ranges);
    if with_ranges && frames.natives().is_empty() && frames.rows(&tables::RANGE) > 0 {
        // Ranges are rare; only where there are some is it worth reading which call launched which kernel.
        let mut more = need.clone();
        more.add(&Need::full(&[&tables::KERNEL, &tables::MEMCPY, &tables::MEMSET, &tables::API]));
        frames = Frames::open(&source.paths, &more)?;
    }
    let prefix = Prefix(source.pid);
    let demangling = if request.demangling { Demangling::Nvprof } else { Demangling::Off };
    let pid = source.pid.or_else(|| frames.processes.first()?.info.pid).unwrap_or(0);
    let labels = Labels::new(&frames, demangling).with_place_names(names::of_places(&request.names, pid));
    let mut filter = Filter::everything();
    if source.pid.is_some() && need.wants(&tables::API) {
        // A stored profile is printed as it is.
        filter = filter.without_nested_calls(&frames)?;
    }
    let options = Options { csv: request.csv, unit: request.unit, origin_ns: source.origin_ns };
    let mut samples = match request.system || source.pid.is_none() {
        true => samplers::system_samples(&frames, &filter)?,
        false => Vec::new(),
    };
    let per_process = source.pid.is_none() && frames.processes.len() > 1;
    // In the one summary of all they have their place; elsewhere they come last.
    let in_summary = matches!(what, Some(ReportKind::Summary { .. })) && !per_process;
    let layout = classic::Request {
        what: what.unwrap_or(ReportKind::PerGpu),
        options,
        grouping: Default::default(),
        order: Order::default(),
        per_process,
        all_ranges: true,
        openacc_inclusive: request.openacc_inclusive,
        prefix,
        system: if in_summary { std::mem::take(&mut samples) } else { Vec::new() },
    };
    let mut found = Shown::Something;
    if what.is_some() {
        let say = |out: &mut dyn Write| warnings(out, &frames, &filter, &need, prefix);
        let mut out = WarningsFirst { out, say: Some(say) };
        let mut hidden = Vec::new();
        if !classic::write(&mut out, &labels, &filter, &layout, &mut hidden)? {
            found = Shown::Nothing;
            if in_summary {
                samples = layout.system;
            }
        }
        out.flush().map_err(|e| Error::output(&e))?;
        // What a listing leaves out is known when it has been written.
        for note in hidden.iter().filter(|note| note.code == classic::INVALID_RECORDS) {
            Message::Warning(&note.text).write(&mut out, prefix).map_err(|e| Error::output(&e))?;
        }
    }
    let failed = |e: io::Error| Error::output(&e);
    if source.pid.is_some() && frames.natives().iter().any(|native| !native.reader().is_closed()) {
        Message::NotFlushed.write(out, prefix).map_err(failed)?;
    }
    system::write(out, &samples, &labels, prefix, &options).map_err(failed)?;
    if request.dependencies {
        for process in 0..frames.processes.len() as u32 {
            let of_process = if request.print.dependency_trace { dependencies_with_parts } else { dependencies };
            let found = of_process(&labels, &filter, process)?;
            if found.rows.is_empty() && frames.processes.len() > 1 {
                // The launcher's own trace holds samples alone.
                continue;
            }
            match request.print.dependency_trace {
                true => dependency::trace(out, &found, prefix, &options),
                false => dependency::summary(out, &found, prefix, &options),
            }
            .map_err(failed)?;
        }
    }
    Ok(found)
}

/// What nvprof says above its tables about records that are not in them.
fn warnings(out: &mut dyn Write, frames: &Frames, filter: &Filter, need: &Need, prefix: Prefix) -> Result<()> {
    let failed = |e: io::Error| Error::output(&e);
    let of_gpu = [&tables::KERNEL, &tables::MEMCPY, &tables::MEMSET, &tables::GRAPH];
    let notes = frames.all_notes().into_iter().chain(partial::notes(frames, filter, need)?);
    let without_times: u64 = of_gpu.iter().filter_map(|table| filter.rows_without_times(table)).sum();
    if without_times > 0 {
        Message::InvalidTimestamps(without_times).write(out, prefix).map_err(failed)?;
    }
    let is_about_times = |note: &Note| note.code == "invalid-timestamps" && without_times > 0;
    // The first note about times is the one about work, unless its reader has said all there is.
    let mut said = without_times == 0 || partial::work_without_times(frames, filter, need)? == 0;
    for note in notes {
        // Said already, or to be said below the tables, in nvprof's words.
        let is_of_live_run = prefix.0.is_some() && note.code == "not-closed";
        if is_of_live_run || (is_about_times(&note) && !std::mem::replace(&mut said, true)) {
            continue;
        }
        Message::Warning(&note.text).write(out, prefix).map_err(failed)?;
    }
    Ok(())
}

/// Says what is partial before the first byte of a table: reading its rows is what finds out.
struct WarningsFirst<'a, F> {
    out: &'a mut dyn Write,
    say: Option<F>,
}

impl<F: FnOnce(&mut dyn Write) -> Result<()>> Write for WarningsFirst<'_, F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(say) = self.say.take() {
            say(self.out).map_err(|e| io::Error::other(e.to_string()))?;
        }
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
