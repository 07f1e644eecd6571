//! The files of one trace: a single one, or the segments of a ring.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use trace_format::write::{Segments, segment_path};

use super::{CreateError, Name, Stage, TraceFile, create, dump};

/// Folders tried after the wanted one: as many processes of one name would have to run here.
const MOST_SUFFIXES: u32 = 9_999;

/// Opens, keeps and removes the segments of a ring.
///
/// If segment 1 finds its name taken, all segments get the suffix: `NAME-1.000001.gpuprof`, `NAME-1.000002.gpuprof`.
#[derive(Debug)]
pub struct TraceFiles {
    trace: PathBuf,
    /// What dumps are called after: `NAME.dump-…`.
    outside: PathBuf,
    /// The segments that exist. A name may have changed at a clash, and what lies there then is not ours to remove.
    existing: VecDeque<(u32, Rc<Name>)>,
}

impl TraceFiles {
    /// The segments of the trace `NAME.gpuprof` beside each other, under the first free name.
    pub fn new(path: &Path) -> TraceFiles {
        let taken = |trace: &Path| segment_path(trace, 1).symlink_metadata().is_ok();
        let mut trace = path.to_owned();
        let mut suffix = 0;
        // Between this look and the creation another process can come first; then the first segment gets a suffix
        // of its own and the ring works all the same.
        while taken(&trace) && suffix < MOST_SUFFIXES {
            suffix += 1;
            trace = create::with_suffix(path, suffix);
        }
        TraceFiles { outside: trace.clone(), trace, existing: VecDeque::new() }
    }

    /// The segments of the trace `NAME.gpuprof` in a new folder `NAME.ring`, or `NAME-1.ring`, …
    ///
    /// Errors: the folder cannot be made.
    pub fn in_folder(path: &Path) -> Result<TraceFiles, CreateError> {
        let error = |path: &Path, source| CreateError { path: path.to_owned(), source };
        if let Some(parent) = path.parent() {
            let _ = std::fs::create_dir_all(parent);
        }
        for suffix in 0..=MOST_SUFFIXES {
            let outside = if suffix == 0 { path.to_owned() } else { create::with_suffix(path, suffix) };
            let folder = outside.with_extension("ring");
            match std::fs::create_dir(&folder) {
                Ok(()) => {
                    let name = outside.file_name().unwrap_or(OsStr::new("trace.gpuprof"));
                    return Ok(TraceFiles { trace: folder.join(name), outside, existing: VecDeque::new() });
                }
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(error(&folder, e)),
            }
        }
        Err(error(path, io::Error::from_raw_os_error(libc::EEXIST)))
    }
}

impl Segments for TraceFiles {
    type Output = TraceFile;

    fn open(&mut self, number: u32) -> io::Result<TraceFile> {
        let file = TraceFile::create(&segment_path(&self.trace, number)).map_err(|e| {
            let kind = e.source.kind();
            io::Error::new(kind, CreateErrorText(e))
        })?;
        self.existing.push_back((number, Rc::clone(&file.name)));
        Ok(file)
    }

    fn remove(&mut self, number: u32) -> io::Result<()> {
        let Some(i) = self.existing.iter().position(|(n, _)| *n == number) else { return Ok(()) };
        match self.existing.remove(i) {
            Some((_, name)) if name.stage.get() == Stage::Published => std::fs::remove_file(&*name.path.borrow()),
            // It never had a name.
            _ => Ok(()),
        }
    }

    fn keep(&mut self, numbers: &[u32], name: &str, most_copied_bytes: u64) -> io::Result<PathBuf> {
        let wanted =
            |(number, name): &&(u32, Rc<Name>)| numbers.contains(number) && name.stage.get() == Stage::Published;
        let files: Vec<PathBuf> =
            self.existing.iter().filter(wanted).map(|(_, name)| name.path.borrow().clone()).collect();
        dump::keep(&files, &self.outside.with_extension(format!("dump-{name}")), most_copied_bytes)
    }
}

/// Carries the whole text through an [`io::Error`].
#[derive(Debug)]
struct CreateErrorText(CreateError);

impl std::fmt::Display for CreateErrorText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for CreateErrorText {}
