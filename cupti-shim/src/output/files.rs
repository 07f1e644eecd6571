//! The files of one trace: a single one, or the segments of a ring.

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use trace_format::write::{Segments, segment_path};

use super::{CreateError, Name, Stage, TraceFile, create};

/// Opens and removes the segments of a ring.
///
/// If segment 1 finds its name taken, all segments get the suffix: `NAME-1.000001.gpuprof`, `NAME-1.000002.gpuprof`.
#[derive(Debug)]
pub struct TraceFiles {
    trace: PathBuf,
    /// The segments that exist. A name may have changed at a clash, and what lies there then is not ours to remove.
    existing: VecDeque<(u32, Rc<Name>)>,
}

impl TraceFiles {
    /// The segments of the trace `NAME.gpuprof`, under the first free name.
    pub fn new(path: &Path) -> TraceFiles {
        let taken = |trace: &Path| segment_path(trace, 1).symlink_metadata().is_ok();
        let mut trace = path.to_owned();
        let mut suffix = 0;
        // Between this look and the creation another process can come first; then the first segment gets a suffix
        // of its own and the ring works all the same.
        while taken(&trace) && suffix < 9_999 {
            suffix += 1;
            trace = create::with_suffix(path, suffix);
        }
        TraceFiles { trace, existing: VecDeque::new() }
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
