//! Arguments that choose rows, shared by every command that reads traces.

use super::stdin::Paths;
use super::times::When;
use crate::analysis::labels::Labels;
use crate::analysis::ranks::Shifts;
use crate::demangle::Demangling;
use crate::error::{Error, Result};
use crate::import::function_log::{Options, Stamp, Zone};
use crate::open::function_logs::FunctionLogs;
use crate::trace::frames::Frames;
use crate::trace::select::{Filter, Selection};
use crate::trace::sink::{Need, Note};
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
    /// So that collectives of NCCL end on all ranks at once.
    Collectives,
}

/// Which rows take part.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "Which rows")]
pub struct RowArguments {
    /// Keep what matches: a regular expression on names of kernels and API calls, or KEY=VALUES with the keys kernel or
    /// api (a regular expression), device, stream, process (pid) or rank (numbers with commas). May be given several
    /// times
    #[arg(long, value_name = "FILTER")]
    filter: Vec<String>,

    /// Keep rows that start at TIME or later: 1.5s, 200ms, 10us after the first record, HH:MM:SS UTC, or
    /// nanoseconds as listed
    #[arg(long, value_name = "TIME")]
    from: Option<When>,

    /// Keep rows that start before TIME
    #[arg(long, value_name = "TIME")]
    to: Option<When>,

    /// How several traces share a time line: by their clocks, all beginning at 0, or with collectives of NCCL ending on all
    /// ranks at once
    #[arg(long, value_name = "HOW", default_value = "clock", hide_short_help = true)]
    align: Align,

    /// Keep API calls made inside NVTX ranges (or PyTorch annotations) of this name, and the GPU work they launched;
    /// NAME or DOMAIN:NAME, where * stands for anything: 'ProfilerStep*'
    #[arg(long, value_name = "NAME")]
    range: Option<String>,

    /// Leave out the numbers that PyTorch puts behind the names of ranges (", seq = N, op_id = N"), so that ranges of
    /// one operator are one
    #[arg(long, hide_short_help = true)]
    fold_ranges: bool,

    #[command(flatten)]
    pub events: Events,
}

/// Logs that the program kept of itself.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "Joining function logs")]
pub struct Events {
    /// Join a log of function calls as ranges: a JSON object a line with function, execution_time and timestamp,
    /// whatever stands before it. May be given several times; without a trace, the logs alone
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    events: Vec<PathBuf>,

    /// What a timestamp in such a log is: the end of the call, or its start
    #[arg(long, value_name = "END", default_value = "end", requires = "events", hide_short_help = true)]
    events_time: Stamp,

    /// Zone of times in such a log that name none: local, utc or +HH:MM
    #[arg(long, value_name = "ZONE", default_value = "local", requires = "events", hide_short_help = true)]
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
    /// Fails if a path holds no trace, or if a log cannot be used.
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

    /// The traces that are meant: those named, - being the standard input; none beside logs; else the newest here.
    ///
    /// # Errors
    /// Fails if no trace was named and there is none in the current folder, or if the standard input cannot be read.
    pub fn paths(&self, named: &[PathBuf]) -> Result<Paths> {
        match named.is_empty() && !self.any() {
            true => Paths::new(&[super::newest::trace_here()?]),
            false => Paths::new(named),
        }
    }
}

impl RowArguments {
    /// The file that output is named after: the first trace, or without one the first log.
    pub fn first<'a>(&'a self, paths: &'a [PathBuf]) -> &'a Path {
        paths.first().or(self.events.events.first()).map_or(Path::new("trace"), PathBuf::as_path)
    }

    /// Opens traces and logs as [`Events::open`] does, and folds numbered names of ranges if that was asked for.
    ///
    /// # Errors
    /// Fails as [`Events::open`] does.
    pub fn open(&self, paths: &[PathBuf], need: &Need) -> Result<Frames> {
        let mut need = need.clone();
        if self.align == Align::Collectives {
            need.add(&Shifts::need());
        }
        let mut frames = self.events.open(paths, &need)?;
        if self.fold_ranges {
            frames.names.fold_numbers();
        }
        Ok(frames)
    }

    /// All files that are read: traces and logs.
    pub fn sources(&self, frames: &Frames) -> Vec<PathBuf> {
        self.events.sources(frames)
    }

    /// The paths to read, as [`Events::paths`] finds them.
    ///
    /// # Errors
    /// Fails as [`Events::paths`] does.
    pub fn paths(&self, named: &[PathBuf]) -> Result<Paths> {
        self.events.paths(named)
    }

    /// The selection, without the times: those need the traces' start.
    ///
    /// # Errors
    /// Fails if an argument makes no sense.
    pub fn selection(&self) -> Result<Selection> {
        let mut selection = Selection { range: self.range.clone(), ..Selection::default() };
        for filter in &self.filter {
            let (key, value) = key_and_value(filter)?;
            match key {
                None => set_name(&mut selection.kernel_or_api, expression(value)?, "names")?,
                Some("kernel" | "name") => {
                    set_name(&mut selection.kernel_name, expression(value)?, "kernel names")?
                }
                Some("api") => set_name(&mut selection.api_name, expression(value)?, "API calls")?,
                Some("device") => selection.devices.extend(numbers("device", value)?),
                Some("stream") => selection.streams.extend(numbers("stream", value)?),
                Some("rank") => selection.ranks.extend(numbers("rank", value)?),
                Some(key) => selection.pids.extend(numbers(key, value)?),
            }
        }
        if selection.kernel_or_api.is_some() && (selection.kernel_name.is_some() || selection.api_name.is_some()) {
            return Err(Error::new("--filter: a name with a key and one without cannot be combined")
                .remedy("give both of them a key: --filter kernel=gemm --filter api=Launch"));
        }
        Ok(selection)
    }

    /// Puts the traces on one time line as asked.
    ///
    /// # Errors
    /// Fails if a part of a file cannot be read, or if times are asked for although the traces do not share a time
    /// line.
    pub fn align(&self, frames: &mut Frames, shows_times: bool) -> Result<()> {
        if self.align == Align::Start {
            return frames.align_starts();
        }
        if self.align == Align::Collectives {
            return align_collectives(frames);
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
    /// Fails if one of the two texts is not a time.
    pub fn set_times(&mut self, from: &str, to: &str) -> Result<()> {
        let when = |text: &str| if text.is_empty() { Ok(None) } else { text.parse().map(Some) };
        (self.from, self.to) = (when(from)?, when(to)?);
        Ok(())
    }

    /// Whether all rows take part, and nothing but traces.
    pub fn is_everything(&self) -> bool {
        self.filter.is_empty() && !self.has_times() && self.range.is_none() && !self.events.any()
    }

    /// Whether times were given.
    pub fn has_times(&self) -> bool {
        self.from.is_some() || self.to.is_some()
    }

    /// The filter for open traces.
    ///
    /// # Errors
    /// Fails if a part of a file cannot be read.
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
        Filter::resolve(selection, labels.frames(), |kernel| labels.name_of(kernel).to_owned())
    }
}

/// Puts all ranks on the clock of the first one.
fn align_collectives(frames: &mut Frames) -> Result<()> {
    let found = Shifts::of(&Labels::new(frames, Demangling::On))?;
    let shifts = found.map_err(|why| {
        Error::new(format!("--align collectives: the clocks of the ranks cannot be put on one time: {why}"))
            .remedy("--align clock shows times as the traces have them; `gpuprof ranks` says more")
    })?;
    frames.move_processes(&shifts.by_process, shifts.has_epoch);
    let note = |text| Note { code: "aligned-collectives", text };
    frames.notes.extend(shifts.notes.into_iter().map(note));
    Ok(())
}

/// What `--filter` may begin with.
const KEYS: [&str; 8] = ["kernel", "name", "api", "device", "stream", "process", "pid", "rank"];

/// The key of a filter, if it has one, and the rest. `devise=1` is no expression that somebody wants, so a word before
/// an equals sign has to be a key; expressions with such a beginning need one.
fn key_and_value(filter: &str) -> Result<(Option<&str>, &str)> {
    let Some((key, value)) = filter.split_once('=') else { return Ok((None, filter)) };
    if KEYS.contains(&key) {
        return Ok((Some(key), value));
    }
    let is_word = !key.is_empty() && key.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
    if is_word {
        return Err(Error::new(format!("--filter {filter}: there is no key \"{key}\"")).remedy(&format!(
            "known are {}; an expression that begins like this is written kernel={filter}",
            KEYS.join(", ")
        )));
    }
    Ok((None, filter))
}

fn expression(text: &str) -> Result<Regex> {
    Regex::new(text).map_err(|e| Error::new(format!("--filter: \"{text}\" is not a regular expression: {e}")))
}

fn set_name(slot: &mut Option<Regex>, pattern: Regex, what: &str) -> Result<()> {
    match slot.replace(pattern) {
        None => Ok(()),
        Some(_) => Err(Error::new(format!("--filter: {what} can be filtered by one expression only"))
            .remedy("join the alternatives: --filter 'gemm|conv'")),
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
