//! All recordings that somebody named, and those that come while they are watched.

use super::Listener;
use super::pid;
use super::recording::Recording;
use crate::error::{Error, Result};
use crate::open::inputs;
use crate::os::limits;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use trace_format::header::MAGIC;

/// What is watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// Files, folders or globs; folders and globs may get more files.
    Paths(Vec<PathBuf>),
    /// The traces of a process and of its children.
    Process(u32),
}

/// How often folders and children are looked through for new traces.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Most recordings that are watched; the newest names beyond are said and left out.
const MOST: usize = 1024;

/// The recordings that are watched, each with its listener.
pub struct Watch<L> {
    target: Target,
    /// The recordings, in the order in which they were met, and who hears of them.
    pub recordings: Vec<(Recording, L)>,
    known: BTreeSet<PathBuf>,
    /// Files that are no traces, so that they are not opened every second.
    ignored: BTreeMap<PathBuf, String>,
    looked: Option<Instant>,
    /// Traces beyond what is watched.
    pub left_out: usize,
}

impl<L: Listener> Watch<L> {
    /// A watch that has not looked yet.
    pub fn new(target: Target) -> Self {
        Watch {
            target,
            recordings: Vec::new(),
            known: BTreeSet::new(),
            ignored: BTreeMap::new(),
            looked: None,
            left_out: 0,
        }
    }

    /// Looks for recordings, if it is time, and tells every listener what is new in its own.
    ///
    /// # Errors
    /// Fails if what was named cannot be used. Only the first call can fail.
    pub fn poll(&mut self, make: impl Fn(&Path) -> L) -> Result<()> {
        if self.looked.is_none_or(|at| at.elapsed() >= LOOK_EVERY) {
            let first = self.looked.replace(Instant::now()).is_none();
            match self.look(&make, first) {
                // A folder may be removed under us; what was found stays.
                Err(error) if first => return Err(error),
                _ => {}
            }
        }
        for (recording, listener) in &mut self.recordings {
            recording.poll(listener);
        }
        Ok(())
    }

    fn look(&mut self, make: &impl Fn(&Path) -> L, first: bool) -> Result<()> {
        let (paths, named): (Vec<PathBuf>, BTreeSet<PathBuf>) = match &self.target {
            Target::Paths(paths) => {
                let files = inputs::expand(paths)?;
                let named = files.iter().filter(|f| f.named).map(|f| f.path.clone()).collect();
                (files.into_iter().map(|f| f.path).collect(), named)
            }
            Target::Process(pid) => (pid::traces(*pid)?.traces.into_iter().collect(), BTreeSet::new()),
        };
        self.left_out = 0;
        for path in paths {
            if self.known.contains(&path) || self.ignored.contains_key(&path) {
                continue;
            }
            if self.recordings.len() >= MOST {
                self.left_out += 1;
                continue;
            }
            limits::allow_open_files(1);
            match self.open(&path, make) {
                Ok(()) => {}
                Err(error) if first && named.contains(&path) => return Err(error),
                Err(_) if limits::has_too_many_open_files() => self.left_out += 1,
                Err(error) => drop(self.ignored.insert(path, error.to_string())),
            }
        }
        Ok(())
    }

    fn open(&mut self, path: &Path, make: &impl Fn(&Path) -> L) -> Result<()> {
        if !begins_as_a_trace(path)? {
            return Err(Error::at(path, "not a .gpuprof trace, and `top` reads no others")
                .remedy("`gpuprof report` and `gpuprof timeline` read it"));
        }
        // One whose header is still being written is looked at again.
        let Some(recording) = Recording::open(path).map_err(|e| Error::new(e.to_string()))? else { return Ok(()) };
        self.known.insert(path.to_owned());
        let number = crate::live::recording::segment_number(path);
        let same = |other: &&mut (Recording, L)| other.0.run().is_some() && other.0.run() == recording.run();
        match (self.recordings.iter_mut().find(same), number) {
            (Some((known, _)), Some(number)) => known.add_segment(path, number),
            _ => self.recordings.push((recording, make(path))),
        }
        Ok(())
    }

    /// Why nothing is shown, while nothing is.
    pub fn nothing(&self) -> Error {
        match &self.target {
            Target::Process(pid) => Error::nothing(format!("process {pid} has written no trace yet"))
                .remedy("traces begin with the first CUDA context; without --once, `top` waits for it"),
            Target::Paths(paths) => {
                let places: Vec<String> = paths.iter().map(|p| p.display().to_string()).collect();
                let error = Error::nothing(format!("{}: no .gpuprof trace here yet", places.join(", ")));
                match self.ignored.iter().next() {
                    Some((_, why)) => error.remedy(&format!("the first that was passed over: {why}")),
                    None => error,
                }
            }
        }
    }
}

/// Whether the file begins as our traces do; one that has no bytes yet may.
fn begins_as_a_trace(path: &Path) -> Result<bool> {
    let cannot = |e: std::io::Error| Error::at(path, format_args!("cannot be read: {e}"));
    if !path.metadata().map_err(cannot)?.is_file() {
        return Err(Error::at(path, "not a regular file, and a trace that grows is read from where it lies"));
    }
    let mut head = Vec::new();
    let file = std::fs::File::open(path).map_err(cannot)?;
    std::io::Read::read_to_end(&mut std::io::Read::take(file, MAGIC.len() as u64), &mut head).map_err(cannot)?;
    Ok(MAGIC.starts_with(&head))
}
