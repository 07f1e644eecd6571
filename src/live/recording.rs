//! The recording of one process: a file, or under the ring policy one segment after the other.

use super::Listener;
use super::file::{Growing, Name};
use crate::os::identity;
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};
use trace_format::read::ReadError;

/// What is known of the program that is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It runs, or may run.
    Live,
    /// It has closed its trace.
    Closed,
    /// It is gone, or has long written nothing on a machine that cannot be asked, and its trace was not closed.
    NotClosed,
}

/// After so long without a word, a trace whose program cannot be looked for counts as left behind.
const SILENCE: Duration = Duration::from_secs(60);
/// So long a trace that no program seems to write is believed to grow on: pids can mislead.
const MOMENT: Duration = Duration::from_secs(5);
/// How often a program that writes nothing is looked for.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// A recording that is followed.
pub struct Recording {
    /// The trace as a person would name it: of a ring the segment that was read last.
    pub path: PathBuf,
    current: Growing,
    /// Of a ring: the segments that are not read yet, by number.
    waiting: BTreeMap<u32, PathBuf>,
    /// Of a ring: number and path of all segments met.
    segments: BTreeMap<u32, PathBuf>,
    begun: bool,
    fate: Fate,
    looked: Option<Instant>,
    grew: SystemTime,
    len_bytes: u64,
    process: Option<Value>,
    /// What a person should know, the newest last.
    pub remarks: Vec<String>,
}

impl Recording {
    /// Opens the recording at `path`; `None`: there is nothing in the file yet.
    ///
    /// # Errors
    /// Fails if the file cannot be read, or is no trace.
    pub fn open(path: &Path) -> Result<Option<Recording>, ReadError> {
        let Some(current) = Growing::open(path)? else { return Ok(None) };
        let segment = current.header().segment;
        Ok(Some(Recording {
            path: path.to_owned(),
            segments: segment.map(|number| (number, path.to_owned())).into_iter().collect(),
            process: current.process(),
            current,
            waiting: BTreeMap::new(),
            begun: false,
            fate: Fate::Live,
            looked: None,
            grew: SystemTime::now(),
            len_bytes: 0,
            remarks: Vec::new(),
        }))
    }

    /// What all segments of one recording share; none for a trace in one file.
    pub fn run(&self) -> Option<&str> {
        self.current.header().run.as_deref()
    }

    /// A further segment of this recording. One that is older than what was read already is of no interest.
    pub fn add_segment(&mut self, path: &Path, number: u32) {
        self.segments.insert(number, path.to_owned());
        match self.current.header().segment {
            Some(current) if number > current => drop(self.waiting.insert(number, path.to_owned())),
            Some(current) if number < current && !self.begun => {
                // Nothing was read yet: begin with the oldest.
                if let Ok(Some(older)) = Growing::open(path) {
                    let newer = std::mem::replace(&mut self.current, older);
                    self.waiting.insert(current, newer.path().to_owned());
                }
            }
            _ => {}
        }
    }

    /// What became of the program, as of the last look.
    pub fn fate(&self) -> Fate {
        self.fate
    }

    /// When the recording last grew.
    pub fn grew(&self) -> SystemTime {
        self.grew
    }

    /// Bytes on disk, of all segments that still exist.
    pub fn len_bytes(&self) -> u64 {
        if self.segments.is_empty() {
            return self.current.len_bytes();
        }
        self.segments.values().filter_map(|path| path.metadata().ok()).map(|m| m.len()).sum()
    }

    /// Device and inode of the file being read.
    pub fn identity(&self) -> (u64, u64) {
        self.current.identity()
    }

    /// Tells `listener` what is new since the last call.
    pub fn poll(&mut self, listener: &mut dyn Listener) {
        if !self.begun {
            self.begun = true;
            self.begin(listener);
        }
        loop {
            self.read(listener);
            // The next segment exists before this one is closed, and its frames come after.
            let closed = self.current.is_closed();
            if !(closed || self.current.name() == Name::Gone) || !self.next_segment() {
                break;
            }
        }
        self.judge();
    }

    fn begin(&mut self, listener: &mut dyn Listener) {
        let (mut oldest, mut newest) = self.current.span_ns();
        for path in self.waiting.values() {
            if let Ok(Some(segment)) = Growing::open(path) {
                let (from, to) = segment.span_ns();
                oldest = oldest.into_iter().chain(from).min();
                newest = newest.into_iter().chain(to).max();
            }
        }
        listener.begin(oldest, newest);
        self.grew = self.current.modified().unwrap_or_else(SystemTime::now);
        self.len_bytes = self.current.len_bytes();
    }

    fn read(&mut self, listener: &mut dyn Listener) {
        match self.current.poll(listener) {
            Ok(_) if self.current.len_bytes() != self.len_bytes => {
                self.len_bytes = self.current.len_bytes();
                self.grew = SystemTime::now();
                self.looked = None;
            }
            Ok(_) => {}
            Err(error) => {
                self.remark(error.to_string());
                self.reopen(listener);
            }
        }
        match self.current.name() {
            Name::Replaced if self.segments.is_empty() => {
                self.remark(format!(
                    "{}: another file has taken its name; reading that one now",
                    self.path.display()
                ));
                self.reopen(listener);
            }
            Name::Gone if self.segments.is_empty() => {
                self.remark(format!(
                    "{}: the file was removed; what is shown is what was in it",
                    self.path.display()
                ));
            }
            _ => {}
        }
    }

    /// Begins anew with whatever has the name now.
    fn reopen(&mut self, listener: &mut dyn Listener) {
        if let Ok(Some(current)) = Growing::open(&self.path) {
            self.current = current;
            self.process = self.current.process();
            self.begin(listener);
        }
    }

    /// Goes on to the next segment if there is one. Those that the ring has removed meanwhile are passed over.
    fn next_segment(&mut self) -> bool {
        let Some(number) = self.current.header().segment else { return false };
        self.look_for_segments(number);
        while let Some((number, path)) = self.waiting.pop_first() {
            match Growing::open(&path) {
                Ok(Some(next)) if next.header().run == self.current.header().run => {
                    self.current = next;
                    self.path = path;
                    self.len_bytes = 0;
                    self.segments.retain(|_, path| path.exists());
                    return true;
                }
                // Its header comes in a moment.
                Ok(None) => {
                    self.waiting.insert(number, path);
                    return false;
                }
                _ => drop(self.segments.remove(&number)),
            }
        }
        false
    }

    /// Looks beside the current segment for later ones.
    fn look_for_segments(&mut self, current: u32) {
        let Some((folder, stem)) = self.current.path().parent().zip(stem(self.current.path())) else { return };
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        for entry in folder.read_dir().into_iter().flatten().flatten() {
            let path = folder.join(entry.file_name());
            if let Some(number) = segment_number(&path).filter(|&n| n > current && stem_is(&path, &stem)) {
                self.segments.insert(number, path.clone());
                self.waiting.insert(number, path);
            }
        }
    }

    /// Whether the program still runs.
    fn judge(&mut self) {
        if self.current.is_closed() && self.waiting.is_empty() {
            self.fate = Fate::Closed;
            return;
        }
        if self.looked.is_some_and(|at| at.elapsed() < LOOK_EVERY) {
            return;
        }
        self.looked = Some(Instant::now());
        if self.process.is_none() {
            // It was opened before its first frame was written.
            self.process = Growing::open(self.current.path()).ok().flatten().and_then(|file| file.process());
        }
        let silent = self.grew.elapsed().unwrap_or_default();
        self.fate = match self.process.as_ref().map_or(Program::Unknown, |p| program(p, self.current.identity())) {
            Program::Runs => Fate::Live,
            Program::Elsewhere if silent < MOMENT => Fate::Live,
            Program::Gone | Program::Elsewhere => Fate::NotClosed,
            Program::Unknown if silent > SILENCE => Fate::NotClosed,
            Program::Unknown => Fate::Live,
        };
    }

    fn remark(&mut self, text: String) {
        if self.remarks.last() != Some(&text) {
            self.remarks.push(text);
        }
        let old = self.remarks.len().saturating_sub(8);
        self.remarks.drain(..old);
    }
}

/// `NAME` of `NAME.000001.gpuprof`.
fn stem(path: &Path) -> Option<String> {
    segment_number(path)?;
    Path::new(path.file_stem()?).file_stem()?.to_str().map(str::to_owned)
}

fn stem_is(path: &Path, expected: &str) -> bool {
    stem(path).is_some_and(|stem| stem == expected)
}

/// 1 of `NAME.000001.gpuprof`.
pub fn segment_number(path: &Path) -> Option<u32> {
    let is_trace = path.extension().is_some_and(|e| e == "gpuprof");
    let number = Path::new(path.file_stem()?).extension()?.to_str()?;
    (is_trace && number.len() >= 6).then(|| number.parse().ok()).flatten()
}

enum Program {
    Runs,
    Gone,
    /// The pid is that of a program which does not hold the trace open.
    Elsewhere,
    Unknown,
}

/// Whether the program that writes a trace runs on this machine.
fn program(process: &Value, trace: (u64, u64)) -> Program {
    let text = |key: &str| process.get(key).and_then(Value::as_str);
    let (Some(pid), Some(host), Some(boot)) =
        (process.get("pid").and_then(Value::as_u64), text("host"), text("boot_id"))
    else {
        return Program::Unknown;
    };
    // In a container names differ; in another one, pids mean something else.
    if identity::host().as_deref() != Some(OsStr::new(host)) {
        return Program::Unknown;
    }
    if identity::boot_id().as_deref() != Some(boot) {
        return Program::Gone;
    }
    let folder = PathBuf::from(format!("/proc/{pid}"));
    if !folder.exists() || is_zombie(&folder) {
        return Program::Gone;
    }
    // The pid may have gone to another program since.
    match super::pid::open_files(&folder) {
        Ok(files) if files.iter().any(|file| file.identity == trace) => Program::Runs,
        Ok(_) => Program::Elsewhere,
        Err(_) => Program::Runs,
    }
}

fn is_zombie(folder: &Path) -> bool {
    let stat = std::fs::read_to_string(folder.join("stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| matches!(rest.trim_start().chars().next(), Some('Z' | 'X')))
}
