//! `gpuprof report`: nvprof's tables, nsys's views, over any trace.

mod absent;
mod checks;

use self::absent::absent;
use self::checks::view_instead_of_path;
use super::newest;
use super::progress::Progress;
use super::row_arguments::RowArguments;
use super::screen::ScreenArgs;
use crate::analysis::grouping::Grouping;
use crate::analysis::labels::Labels;
use crate::analysis::own_cost;
use crate::analysis::summary::{Order, SortKey};
use crate::demangle::Demangling;
use crate::error::{Error, Result};
use crate::export::destination::sources;
use crate::numbers::counted;
use crate::open::inputs;
use crate::os::identity;
use crate::render::document::Document;
use crate::render::schemas;
use crate::render::table::Format;
use crate::render::terminal_text::{self, TerminalText};
use crate::report::classic::{self, ReportKind, Request};
use crate::report::nvprof::messages::Prefix;
use crate::report::nvprof::{self, TimeUnit, logfile};
use crate::report::{self, Context, View, insights, summary_tables};
use crate::trace::frames::Frames;
use crate::trace::select::Filter;
use crate::trace::sink::{Detail, Need, Note};
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;
use trace_format::tables;

/// The beginning of the long help.
pub(super) const ABOUT: &str = "Summarise traces of any known kind, or list every activity in them.

Without options the answer is nvprof's summary, followed by insights: what cost the program time on the GPU. --view asks for the tables of \
nsys and for more by name, and --format for other forms than text. What is partial, such as lost records, is said on the standard \
error before the table. `gpuprof FILE` is short for `gpuprof report FILE`. Exit status: 0 answered, 1 nothing to show, 2 failed. Defaults for all \
options can stand in gpuprof.toml: see `gpuprof help config`.";

/// Arguments of `report`.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  gpuprof report run.nvvp                                  what nvprof printed
  gpuprof report trace.json.gz --filter 'gemm|conv' --top 5
  gpuprof report report1.sqlite --view cuda_gpu_kern_sum --format csv
  gpuprof report 'run-*/' --per-process
  gpuprof report run.gpuprof --print-gpu-trace --from 1.5s --to 2s")]
pub struct Args {
    /// Traces: files, folders or globs, of any known kind. Without any: the newest trace here
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,

    /// Print a table by its nsys name instead, e.g. cuda_gpu_kern_sum[:base]; several with commas between them, or by giving
    /// the option again. An unknown name lists the known ones
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    view: Vec<String>,

    /// How views and summaries are written; values in base units, never scaled. Without it the layout is nvprof's
    #[arg(long, value_name = "FORMAT")]
    format: Option<Format>,

    /// No progress bar
    #[arg(short, long, hide_short_help = true)]
    quiet: bool,

    /// Print again whenever the trace has grown, until its program ends
    #[arg(long)]
    follow: bool,

    /// Of a trace of some of a program's steps, the sums of what was recorded, not estimates for all steps
    #[arg(long, hide_short_help = true)]
    raw: bool,

    /// Leave out what gpuprof adds to nvprof's report: the insights below it, and the line that says what recording itself took
    #[arg(long)]
    no_insights: bool,

    #[command(flatten)]
    screen: ScreenArgs,

    #[command(flatten)]
    nvprof: NvprofArgs,

    #[command(flatten)]
    row_arguments: RowArguments,

    #[command(flatten)]
    rows: RowArgs,
}

/// nvprof's own options.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "nvprof's options")]
struct NvprofArgs {
    /// List every kernel, copy and fill
    #[arg(long)]
    print_gpu_trace: bool,
    /// List every API call
    #[arg(long)]
    print_api_trace: bool,
    /// Summarise GPU activities only
    #[arg(long, hide_short_help = true)]
    print_gpu_summary: bool,
    /// Summarise API calls only
    #[arg(long, hide_short_help = true)]
    print_api_summary: bool,
    /// Summarise each GPU apart
    #[arg(long, hide_short_help = true)]
    print_summary_per_gpu: bool,
    /// Summarise everything, as without options
    #[arg(long, hide_short_help = true)]
    print_summary: bool,
    /// Summarise OpenACC regions only
    #[arg(long, hide_short_help = true)]
    print_openacc_summary: bool,
    /// List every OpenACC region
    #[arg(long, hide_short_help = true)]
    print_openacc_trace: bool,
    /// Write nvprof's CSV
    #[arg(long)]
    csv: bool,
    /// Unit of all times: s, ms, us, ns, col (one per column) or auto
    #[arg(short = 'u', long, value_name = "UNIT", default_value = "auto", value_parser = time_unit, hide_short_help = true)]
    normalized_time_unit: TimeUnit,
    /// Kernel names: on (correct), nvprof (as nvprof printed them, bugs included) or off (as stored)
    #[arg(long, value_name = "HOW", default_value = "on", hide_short_help = true)]
    demangling: Demangling,
    /// Print a table for every NVTX range, however many there are
    #[arg(long, hide_short_help = true)]
    nvtx: bool,
    /// Write to this file instead of the standard output; %p, %h, %q{VARIABLE} and %% are replaced
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    log_file: Option<String>,
}

/// Which rows of a summary, and how they are grouped.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Rows")]
struct RowArgs {
    /// Order of summary rows
    #[arg(long, value_name = "KEY", default_value = "time")]
    sort: SortKey,
    /// Show only the first N rows of each section
    #[arg(long, value_name = "N", value_parser = row_count)]
    top: Option<usize>,
    /// What makes separate rows: name, base-name, grid, stream, device, process, or several with commas
    #[arg(long, value_name = "KEYS", default_value = "name")]
    group_by: Grouping,
    /// Add columns for the 50th, 95th and 99th percentile
    #[arg(long)]
    percentiles: bool,
    /// One result per process, instead of one for all
    #[arg(long, hide_short_help = true)]
    per_process: bool,
}

/// A number of rows to show.
pub(super) fn row_count(text: &str) -> std::result::Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("0 rows show nothing; leave the option out to see all".to_owned()),
        Ok(rows) => Ok(rows),
        Err(_) => Err("not a number of rows".to_owned()),
    }
}

fn time_unit(text: &str) -> std::result::Result<TimeUnit, String> {
    TimeUnit::parse(text).ok_or_else(|| "known units are s, ms, us, ns, col, auto".to_owned())
}

/// How often a growing trace is looked at.
const FOLLOW_INTERVAL: Duration = Duration::from_millis(500);

/// Runs `report`.
///
/// # Errors
/// Contradicting options, paths that hold no trace, an output that cannot be written.
pub fn run(args: Args) -> Result<()> {
    view_instead_of_path(&args.paths)?;
    let paths = args.row_arguments.paths(&args.paths)?;
    let plan = Plan::new(&args)?;
    let log_file = args.nvprof.log_file.as_deref().map(log_file_name).transpose()?;
    if let Some(log_file) = &log_file {
        let files = inputs::expand(&paths)?.into_iter().map(|file| file.path);
        let sources: Vec<PathBuf> = files.chain(args.row_arguments.events.logs()).collect();
        sources::protect(Path::new(log_file), Path::new(log_file), &sources)?;
    }
    // Logs alone are read once.
    if !args.follow || paths.is_empty() {
        return plan.print(&paths, || plan.output(log_file.as_deref())).map(drop);
    }
    inputs::expand(&paths)?;
    let mut seen = None;
    loop {
        let size = newest::total_bytes(&paths);
        // A file that its program has only just created has no header yet.
        if size > 0 && seen.replace(size) != Some(size) {
            let out = || {
                let mut out = plan.output(log_file.as_deref())?;
                if io::stdout().is_terminal() && log_file.is_none() {
                    // Clear the screen and go to its corner, so that the newest table always stands in one place.
                    write!(out, "\x1b[2J\x1b[H").map_err(|e| Error::output(&e))?;
                }
                Ok(out)
            };
            if plan.print(&paths, out)? == Still::Done {
                return Ok(());
            }
        }
        std::thread::sleep(FOLLOW_INTERVAL);
    }
}

fn log_file_name(template: &str) -> Result<String> {
    let host = identity::host().unwrap_or_default();
    logfile::expand(template, std::process::id(), &host.to_string_lossy(), |v| std::env::var(v).ok())
        .map_err(|e| Error::new(format!("--log-file {template}: {e}")))
}

/// Whether a followed trace may still grow.
#[derive(PartialEq, Eq)]
enum Still {
    Growing,
    Done,
}

/// What the options ask for, checked.
struct Plan<'a> {
    args: &'a Args,
    views: Vec<(&'static dyn View, Vec<String>)>,
    what: ReportKind,
}

impl Plan<'_> {
    /// What has to be read, in how much detail.
    fn need(&self, nvtx_full: bool) -> Result<Need> {
        let mut need = Need::totals(&[]);
        for (view, arguments) in &self.views {
            need.add(&report::views::need(*view, arguments));
        }
        if self.views.is_empty() {
            need.add(&self.what.need());
        }
        if self.wants_insights() {
            need.add(&insights::need());
        }
        let selection = self.args.row_arguments.selection()?;
        if selection.needs_correlation() || nvtx_full {
            need.add(&Need::full(&[&tables::KERNEL, &tables::MEMCPY, &tables::MEMSET, &tables::API]));
            if selection.range.is_some() {
                need.add(&Need { operators: true, ..Need::full(&[&tables::RANGE]) });
            }
        }
        if self.args.row_arguments.has_times() {
            // Times count from the first record, which may be a call.
            need.add(&Need::totals(&[&tables::KERNEL, &tables::MEMCPY, &tables::MEMSET, &tables::API]));
        }
        if self.args.rows.group_by != Grouping::default() {
            need.detail = Detail::Full;
        }
        Ok(need)
    }

    /// Prints to what `output` opens once the traces are open: what cannot be read must not cost an older log file.
    fn print(&self, paths: &[PathBuf], output: impl FnOnce() -> Result<Box<dyn Write>>) -> Result<Still> {
        let progress = Progress::new(self.args.quiet || self.args.follow, "reading");
        let mut frames = self.args.row_arguments.open(paths, &self.need(false)?)?;
        let with_nvtx = self.views.is_empty() && self.what.has_ranges();
        if with_nvtx && frames.natives().is_empty() && frames.rows(&tables::RANGE) > 0 {
            // Ranges are rare; only where there are some is it worth reading which call launched which kernel.
            frames = self.args.row_arguments.open(paths, &self.need(true)?)?;
        }
        let is_sample = frames.processes.iter().any(|process| process.info.is_sample());
        if is_sample && frames.natives().is_empty() && !self.args.raw {
            // Which window a record lies in says the call that caused it.
            let mut need = self.need(with_nvtx)?;
            need.add(&Need::full(&[&tables::CAPTURE]));
            frames = self.args.row_arguments.open(paths, &need)?;
        }
        let lists = matches!(self.what, ReportKind::Trace { .. } | ReportKind::OpenaccTrace);
        let view_lists = self.views.iter().any(|(view, _)| view.name().ends_with("_trace"));
        self.args.row_arguments.align(&mut frames, lists || view_lists)?;
        let growing = frames.natives().iter().any(|n| !n.reader().is_closed());
        let labels = Labels::new(&frames, self.args.nvprof.demangling);
        let mut filter = self.args.row_arguments.filter(self.args.row_arguments.selection()?, &labels)?;
        if !self.args.raw {
            filter = filter.standing_for_all(&frames)?;
        }
        let rows = self.need(false)?.tables.iter().map(|table| frames.rows(table)).sum();
        progress.stage("reading", rows, frames.rows_decoded());
        let mut out = self.for_people(output()?);
        let shown = self.write(&frames, &labels, &filter, progress, &mut *out)?;
        out.flush().map_err(|e| Error::output(&e))?;
        let outcome = match shown {
            true => Ok(if growing { Still::Growing } else { Still::Done }),
            false if growing && self.args.follow => Ok(Still::Growing),
            false => Err(Error::nothing(nothing_text(&frames, &filter))),
        };
        self.leave(labels);
        self.leave(frames);
        outcome
    }

    /// Leaves `value` to the end of the process, which comes next unless traces are followed. Millions of rows and names
    /// take as long to give back one by one as to make.
    fn leave<T>(&self, value: T) {
        if !self.args.follow {
            std::mem::forget(value);
        }
    }

    /// What the answer is written to. What is printed again and again is for the screen, not for a pager.
    fn output(&self, log_file: Option<&str>) -> Result<Box<dyn Write>> {
        let Some(name) = log_file else {
            return Ok(Box::new(self.args.screen.open(self.is_for_people() && !self.args.follow)));
        };
        let file =
            File::create(name).map_err(|e| Error::new(format!("--log-file {name}: cannot be created: {e}")))?;
        Ok(Box::new(BufWriter::new(file)))
    }

    /// Lines for a terminal are cut to its width, and kept to ASCII where the locale has nothing else.
    fn for_people(&self, out: Box<dyn Write>) -> Box<dyn Write> {
        let terminal = self.terminal();
        if terminal.is_plain() { out } else { Box::new(terminal.lines(out)) }
    }

    fn terminal(&self) -> TerminalText {
        self.args.screen.text(self.is_for_people())
    }

    fn is_for_people(&self) -> bool {
        let for_machines = self.args.nvprof.csv || self.args.format.is_some_and(|format| format != Format::Table);
        !for_machines && self.args.nvprof.log_file.is_none()
    }

    /// Writes the answer, what is partial first; says whether there was anything to show. The progress bar goes before
    /// the first line comes.
    fn write(
        &self,
        frames: &Frames,
        labels: &Labels,
        filter: &Filter,
        progress: Progress,
        out: &mut dyn Write,
    ) -> Result<bool> {
        let failed = |e: io::Error| Error::output(&e);
        let machine = self.args.format.or(self.args.rows.percentiles.then_some(Format::Table));
        if self.views.is_empty() && machine.is_none() {
            let listing = matches!(self.what, ReportKind::Trace { .. } | ReportKind::OpenaccTrace);
            if listing && !self.args.rows.per_process {
                // Everything is read before the first line is written, and the lines may not fit into memory.
                let announce = || {
                    let mut notes = self.notes(frames, filter)?;
                    notes.extend(self.own_cost(frames));
                    progress.finish();
                    say(&notes);
                    Ok(())
                };
                let mut out = NotesFirst { out, say: Some(announce) };
                let mut hidden = Vec::new();
                let shown = classic::write(&mut out, labels, filter, &self.request(), &mut hidden)?;
                out.flush().map_err(failed)?;
                say(&hidden);
                return Ok(shown);
            }
            // The table is made before anything is said: reading rows is what finds damage.
            let mut answer = Vec::new();
            let mut notes = Vec::new();
            let shown = classic::write(&mut answer, labels, filter, &self.request(), &mut notes)?;
            if shown && self.wants_insights() && filter.takes_whole_stretches() {
                self.insights(labels, filter, &mut answer, &mut notes)?;
            }
            notes.splice(0..0, self.notes(frames, filter)?);
            notes.extend(self.own_cost(frames).filter(|_| shown));
            progress.finish();
            say(&notes);
            // "No profile data collected" would be untrue of a trace of ranges, which the closing line points to. Nvprof
            // printed it all the same.
            let as_nvprof = self.args.nvprof.demangling == Demangling::Nvprof;
            if shown || as_nvprof || ranges_instead(frames, filter) == 0 {
                out.write_all(&answer).map_err(failed)?;
            }
            return Ok(shown);
        }
        if let ([(view, arguments)], None) = (&self.views[..], machine) {
            let context = Context { frames, labels, filter, arguments: arguments.clone() };
            if let Some(text) = view.own_layout(&context, self.args.rows.top)? {
                let notes = self.notes(frames, filter)?;
                progress.finish();
                say(&notes);
                out.write_all(text.as_bytes()).map_err(failed)?;
                return Ok(true);
            }
        }
        let schema = match &self.views[..] {
            [(view, _)] if view.name() == insights::NAME => schemas::INSIGHTS,
            _ => schemas::REPORT,
        };
        let mut document = Document { cut: self.terminal().width.is_some(), ..Document::new(schema) };
        for (view, arguments) in &self.views {
            let context = Context { frames, labels, filter, arguments: arguments.clone() };
            let mut table = view.table(&context)?;
            table.rows.truncate(self.args.rows.top.unwrap_or(usize::MAX));
            document.tables.push(table);
        }
        if self.views.is_empty() {
            document.tables = summary_tables::tables(labels, filter, &self.request(), self.args.rows.percentiles)?;
        }
        document.absent = Some(absent(&self.views, frames, &document.tables));
        document.notes = self.notes(frames, filter)?;
        progress.finish();
        say(&document.notes);
        document.write(out, machine.unwrap_or(Format::Table)).map_err(failed)?;
        let shown = document.tables.iter().any(|table| !table.rows.is_empty());
        self.leave(document);
        Ok(shown)
    }

    fn request(&self) -> Request {
        let n = &self.args.nvprof;
        Request {
            what: self.what,
            options: nvprof::Options { csv: n.csv, unit: n.normalized_time_unit, origin_ns: None },
            grouping: self.args.rows.group_by,
            order: Order { sort: self.args.rows.sort, top: self.args.rows.top },
            per_process: self.args.rows.per_process,
            all_ranges: n.nvtx,
            openacc_inclusive: false,
            prefix: Prefix(None),
            system: Vec::new(),
        }
    }

    /// Whether insights stand below the tables: for people, below the whole summary in nvprof's layout, unless nvprof's own text
    /// is asked for. A trace that still grows is summed again and again, and insights would cost more than the rest.
    fn wants_insights(&self) -> bool {
        let everything = matches!(self.what, ReportKind::Summary { gpu: true, api: true, .. });
        let n = &self.args.nvprof;
        let for_people =
            self.views.is_empty() && self.args.format.is_none() && !self.args.rows.percentiles && !n.csv;
        let once = !self.args.follow && !self.args.rows.per_process;
        for_people && once && everything && !self.args.no_insights && n.demangling != Demangling::Nvprof
    }

    /// Adds the insights, or the note that they have to be asked for.
    fn insights(
        &self,
        labels: &Labels,
        filter: &Filter,
        answer: &mut Vec<u8>,
        notes: &mut Vec<Note>,
    ) -> Result<()> {
        if !insights::has_work(labels.frames()) {
            return Ok(());
        }
        if insights::must_be_asked_for(labels.frames()) {
            let text =
                "the trace is large, so insights have to be asked for: --view insights prints them".to_owned();
            notes.push(Note { code: "insights-left-out", text });
            return Ok(());
        }
        answer.push(b'\n');
        answer.extend_from_slice(insights::block(labels, filter)?.as_bytes());
        Ok(())
    }

    /// What the recording itself took: for people, beside tables in nvprof's layout alone.
    fn own_cost(&self, frames: &Frames) -> Option<Note> {
        if self.args.no_insights || self.args.nvprof.csv {
            return None;
        }
        own_cost::sentence(frames).map(|text| Note { code: "own-cost", text })
    }

    fn notes(&self, frames: &Frames, filter: &Filter) -> Result<Vec<Note>> {
        let mut notes = frames.all_notes();
        notes.extend(crate::analysis::partial::notes(frames, filter, &self.need(false)?)?);
        let samples = frames.rows(&tables::CPU_SAMPLE);
        if self.views.is_empty() && samples > 0 {
            let text = format!("the trace has {samples} CPU samples: {SAMPLES_ARE_IN}");
            notes.push(Note { code: "cpu-samples", text });
        }
        Ok(notes)
    }
}

/// Where CPU samples are shown, which are in none of nvprof's tables.
const SAMPLES_ARE_IN: &str =
    "--view cprofile and --view cpu_lines show them, and gpuprof export -F flamegraph --option by=cpu draws them";

/// Says what is partial before the first byte of an answer that is written while it is made.
struct NotesFirst<'a, F> {
    out: &'a mut dyn Write,
    say: Option<F>,
}

impl<F: FnOnce() -> Result<()>> Write for NotesFirst<'_, F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(say) = self.say.take() {
            say().map_err(|e| io::Error::other(e.to_string()))?;
        }
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Says what is partial on the standard error.
pub(super) fn say(notes: &[Note]) {
    let mut err = io::stderr().lock();
    for note in notes {
        // A closed stderr must not cost the report.
        let _ = writeln!(err, "gpuprof: {}", terminal_text::text(&note.text));
    }
}

/// How many ranges there are in traces without anything else: operators and functions among them, which a summary
/// does not read.
fn ranges_instead(frames: &Frames, filter: &Filter) -> u64 {
    if !filter.is_everything() {
        return 0;
    }
    let paths: Vec<PathBuf> = frames.files.iter().map(|file| file.path.clone()).collect();
    let need = Need { operators: true, ..Need::totals(&[&tables::RANGE]) };
    Frames::open(&paths, &need).map_or(0, |frames| frames.rows(&tables::RANGE))
}

fn nothing_text(frames: &Frames, filter: &Filter) -> String {
    let files: Vec<String> = frames.files.iter().take(3).map(|f| f.path.display().to_string()).collect();
    let more = if frames.files.len() > 3 { ", …" } else { "" };
    let ranges = ranges_instead(frames, filter);
    if ranges > 0 {
        return format!(
            "{}{more}: no GPU work and no API calls, but {} of the CPU; `gpuprof report --view nvtx_sum` sums them",
            files.join(", "),
            counted(ranges, "range")
        );
    }
    let why =
        if filter.is_everything() { "the trace holds no such records" } else { "no record passes the filters" };
    let samples = match frames.rows(&tables::CPU_SAMPLE) {
        0 => String::new(),
        n => format!("; it has {n} CPU samples: {SAMPLES_ARE_IN}"),
    };
    format!("{}{more}: nothing to show: {why}{samples}", files.join(", "))
}
