//! Why something was not written.

use std::{fmt, io};

use crate::frame::EncodeError;

/// Why a batch was not written. Rows counted by [`super::TraceWriter::rows`] are in the file, all others are not.
#[derive(Debug)]
pub enum WriteError {
    /// The output refused; the file ends behind its last whole frame.
    Io {
        /// Where the frame would have begun.
        offset: u64,
        /// The system's reason.
        source: io::Error,
    },
    /// The rows could not be encoded.
    Encode(EncodeError),
    /// One row alone is longer than a frame may be.
    TooLong {
        /// Table name.
        table: &'static str,
        /// Bytes of its payload.
        bytes: usize,
    },
    /// The size limit is reached.
    Full {
        /// The limit.
        limit_bytes: u64,
    },
    /// The file was closed before.
    Closed,
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WriteError::Io { offset, source } => write!(f, "cannot write a frame at byte {offset}: {source}"),
            WriteError::Encode(source) => source.fmt(f),
            WriteError::TooLong { table, bytes } => {
                let limit = crate::frame::MAX_PAYLOAD_BYTES;
                write!(f, "a row of table {table} takes {bytes} bytes, more than the {limit} of a frame; cut it")
            }
            WriteError::Full { limit_bytes } => {
                write!(f, "the trace has reached its limit of {limit_bytes} bytes; raise it or use the ring policy")
            }
            WriteError::Closed => write!(f, "the trace is closed, nothing can be added"),
        }
    }
}

impl std::error::Error for WriteError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            WriteError::Io { source, .. } => Some(source),
            WriteError::Encode(source) => Some(source),
            WriteError::TooLong { .. } | WriteError::Full { .. } | WriteError::Closed => None,
        }
    }
}

impl From<EncodeError> for WriteError {
    fn from(source: EncodeError) -> Self {
        WriteError::Encode(source)
    }
}
