//! Following a file that grows, in memory that does not grow with it.

use super::{ReadError, ReadErrorKind, TraceReader};
use crate::frame::FrameInfo;
use crate::read::source::Source;
use crate::tables::CLOSED;

impl<S: Source> TraceReader<S> {
    /// The frames that were appended since the last look; for programs that watch a file for hours.
    ///
    /// Unlike [`TraceReader::refresh`] the reader forgets them: from the first call on [`TraceReader::frames`] holds the
    /// newest frame alone and [`TraceReader::problems`] what the last look met, without rows that are missing. What was
    /// unreadable at the end of the file may have been half-written and is looked at again by the next call.
    ///
    /// Errors: the file cannot be read, or became shorter.
    pub fn follow(&mut self) -> Result<Vec<FrameInfo>, ReadError> {
        let len = self.file.source.len().map_err(|e| self.error(self.resume_at, ReadErrorKind::Io(e)))?;
        if len < self.resume_at {
            return Err(self.error(self.len, ReadErrorKind::Shrunk { len }));
        }
        self.forgets = true;
        // The newest one stays: sequence numbers tell frames of this file from what looks like some.
        let old = self.frames.len().saturating_sub(1);
        self.frames.drain(..old);
        self.frames.shrink_to(1024);
        self.damage.clear();
        self.problems.clear();
        self.len = len;
        if self.frames.last().is_some_and(|f| f.table == CLOSED.id && f.end() < self.resume_at) {
            return Ok(Vec::new());
        }
        let (before, from) = (self.frames.len(), self.resume_at);
        self.scan(|scan| scan.hop(from, len))?;
        Ok(self.frames[before..].to_vec())
    }
}
