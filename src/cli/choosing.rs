//! Arguments that choose rows, shared by every command that reads traces.

use super::times::When;
use crate::analysis::labels::Labels;
use crate::error::{Error, Result};
use crate::import::function_log::{Options, Stamp, Zone};
use crate::trace::frames::Frames;
use crate::trace::function_logs::FunctionLogs;
use crate::trace::select::{Filter, Selection};
use crate::trace::sink::Need;
use regex::Regex;
use std::path::{Path, PathBuf};

/// How several traces share a time line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Align {
    /// By their clocks.
    #[default]
    Clock,
    /// All begin at 0.
    Start,
}

/// Which rows take part.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "Choosing rows")]
pub struct Choosing {
    /// Keep what matches: a regular expression on kernel names, or KEY=VALUES with the keys kernel (a regular
    /// expression), device, stream, process (pid) or rank (numbers with commas). May be given several times
    #[arg(long, value_name = "FILTER")]
    filter: Vec<String>,

    /// Keep rows that start at TIME or later: 1.5s, 200ms, 10us after the first record, HH:MM:SS UTC, or
    /// nanoseconds as listed
    #[arg(long, value_name = "TIME")]
    from: Option<When>,

    /// Keep rows that start before TIME
    #[arg(long, value_name = "TIME")]
    to: Option<When>,

    /// How several traces share a time line: by their clocks, or all beginning at 0
    #[arg(long, value_name = "HOW", default_value = "clock")]
    align: Align,

    /// Keep API calls made inside NVTX ranges (or PyTorch annotations) of this name, and the GPU work they launched;
    /// NAME or DOMAIN:NAME
    #[arg(long, value_name = "NAME")]
    range: Option<String>,

    #[command(flatten)]
    pub events: Events,
}

/// Logs that the program kept of itself.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "Joining function logs")]
pub struct Events {
    /// Join a log of function calls as ranges: a JSON object a line with function, execution_time and timestamp,
    /// whatever stands before it. May be given several times; without a trace, the logs alone
    #[arg(long, value_name = "FILE")]
    events: Vec<PathBuf>,

    /// What a timestamp in such a log is: the end of the call, or its start
    #[arg(long, value_name = "END", default_value = "end", requires = "events")]
    events_time: Stamp,

    /// Zone of times in such a log that name none: local, utc or +HH:MM
    #[arg(long, value_name = "ZONE", default_value = "local", requires = "events")]
    events_zone: Zone,
}

impl Events {
    /// Whether there are logs.
    pub fn any(&self) -> bool {
        !self.events.is_empty()
    }

    /// Opens traces and joins the logs to them.
    ///
    /// # Errors
    /// Paths that hold no trace, a log that cannot be used.
    pub fn open(&self, paths: &[PathBuf], need: &Need) -> Result<Frames> {
        let options = Options { stamp: self.events_time, zone: self.events_zone };
        Frames::open_with(paths, need, &FunctionLogs { paths: self.events.clone(), options })
    }

    /// All files that are read: traces and logs.
    pub fn sources(&self, frames: &Frames) -> Vec<PathBuf> {
        frames.files.iter().map(|file| file.path.clone()).chain(self.logs()).collect()
    }

    /// The logs that are read.
    pub fn logs(&self) -> impl Iterator<Item = PathBuf> {
        self.events.iter().cloned()
    }

    /// The traces that are meant: those named; none beside logs; else the newest here.
    ///
    /// # Errors
    /// There is none here.
    pub fn paths(&self, named: &[PathBuf]) -> Result<Vec<PathBuf>> {
        match named.is_empty() && !self.any() {
            true => Ok(vec![super::newest::trace_here()?]),
            false => Ok(named.to_vec()),
        }
    }
}

impl Choosing {
    /// The file that output is named after: the first trace, or without one the first log.
    pub fn first<'a>(&'a self, paths: &'a [PathBuf]) -> &'a Path {
        paths.first().or(self.events.events.first()).map_or(Path::new("trace"), PathBuf::as_path)
    }

    /// As [`Events::open`].
    ///
    /// # Errors
    /// As there.
    pub fn open(&self, paths: &[PathBuf], need: &Need) -> Result<Frames> {
        self.events.open(paths, need)
    }

    /// All files that are read: traces and logs.
    pub fn sources(&self, frames: &Frames) -> Vec<PathBuf> {
        self.events.sources(frames)
    }

    /// As [`Events::paths`].
    ///
    /// # Errors
    /// As there.
    pub fn paths(&self, named: &[PathBuf]) -> Result<Vec<PathBuf>> {
        self.events.paths(named)
    }

    /// The selection, without the times: those need the traces' start.
    ///
    /// # Errors
    /// An argument that makes no sense.
    pub fn selection(&self) -> Result<Selection> {
        let mut selection = Selection { range: self.range.clone(), ..Selection::default() };
        for filter in &self.filter {
            let (key, value) = match filter.split_once('=') {
                Some((key @ ("kernel" | "name" | "device" | "stream" | "process" | "pid" | "rank"), value)) => {
                    (key, value)
                }
                _ => ("kernel", filter.as_str()),
            };
            match key {
                "kernel" | "name" => {
                    let pattern = Regex::new(value).map_err(|e| {
                        Error::new(format!("--filter: \"{value}\" is not a regular expression: {e}"))
                    })?;
                    if selection.kernel_name.replace(pattern).is_some() {
                        return Err(Error::new("--filter: kernel names can be filtered by one expression only")
                            .remedy("join the alternatives: --filter 'gemm|conv'"));
                    }
                }
                "device" => selection.devices.extend(numbers(key, value)?),
                "stream" => selection.streams.extend(numbers(key, value)?),
                "rank" => selection.ranks.extend(numbers(key, value)?),
                _ => selection.pids.extend(numbers(key, value)?),
            }
        }
        Ok(selection)
    }

    /// Puts the traces on one time line as asked.
    ///
    /// # Errors
    /// A part of a file that cannot be read; times asked of traces that do not share a time line.
    pub fn align(&self, frames: &mut Frames, shows_times: bool) -> Result<()> {
        if self.align == Align::Start {
            return frames.align_starts();
        }
        if frames.mixes_epochs() && (shows_times || self.has_times()) {
            return Err(Error::new("some of these traces count time from 1970 and others from their own start")
                .remedy("list them apart, or let all begin at 0 with --align start"));
        }
        Ok(())
    }

    /// Sets both times; an empty one stays open.
    ///
    /// # Errors
    /// What is no time.
    pub fn set_times(&mut self, from: &str, to: &str) -> Result<()> {
        let when = |text: &str| if text.is_empty() { Ok(None) } else { text.parse().map(Some) };
        (self.from, self.to) = (when(from)?, when(to)?);
        Ok(())
    }

    /// Whether times were given.
    pub fn has_times(&self) -> bool {
        self.from.is_some() || self.to.is_some()
    }

    /// The filter for open traces.
    ///
    /// # Errors
    /// A part of a file that cannot be read.
    pub fn filter(&self, mut selection: Selection, labels: &Labels) -> Result<Filter> {
        if self.has_times() {
            let start_ns = labels.frames().time_span()?.map_or(0, |(start, _)| start);
            selection.from_ns = self.from.map(|when| when.in_trace(start_ns));
            selection.to_ns = self.to.map(|when| when.in_trace(start_ns));
            if let (Some(from), Some(to)) = (selection.from_ns, selection.to_ns)
                && from >= to
            {
                return Err(Error::new("--from is not before --to, so nothing can lie between them")
                    .remedy("exchange the two times"));
            }
        }
        if selection.is_everything() {
            return Ok(Filter::everything());
        }
        Filter::resolve(selection, labels.frames(), |shape| labels.kernel(shape).to_owned())
    }
}

fn numbers(key: &str, text: &str) -> Result<Vec<u32>> {
    let one = |part: &str| {
        part.trim().parse().map_err(|_| {
            Error::new(format!("--filter: {key}={text}: \"{part}\" is not a number"))
                .remedy("write numbers with commas")
        })
    };
    text.split(',').map(one).collect()
}
