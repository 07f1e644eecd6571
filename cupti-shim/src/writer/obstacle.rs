//! What stands in the way of writing, and what is done about it: never wait, never stop the program, say it once.

use std::borrow::Cow;

use trace_format::write::WriteError;

use crate::messages::Cause;
use crate::output::DescriptorTaken;

/// How long a refusal is believed before it is tried again.
const RETRY_NS: i64 = 1_000_000_000;

/// What is said of a trace that has reached its size limit.
pub(super) const SIZE_LIMIT: &str = "the size limit is reached";

/// Why records are not being written at the moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Obstacle {
    pub cause: Cause,
    pub detail: Cow<'static, str>,
    /// When it is tried again; none: never.
    pub retry_ns: Option<i64>,
}

impl Obstacle {
    /// What a refused write means. None: it says nothing about the next one.
    pub(super) fn of(error: &WriteError, stops_when_full: bool, now_ns: i64) -> Option<Obstacle> {
        let passing = |cause, detail| Some(Obstacle { cause, detail, retry_ns: Some(now_ns + RETRY_NS) });
        let lasting = |cause, detail| Some(Obstacle { cause, detail, retry_ns: None });
        match error {
            WriteError::Io { source, .. } if source.get_ref().is_some_and(|e| e.is::<DescriptorTaken>()) => {
                lasting(Cause::DiskFull, source.to_string().into())
            }
            WriteError::Io { source, .. } => passing(Cause::DiskFull, source.to_string().into()),
            WriteError::Full { .. } if stops_when_full => lasting(Cause::SizeLimit, SIZE_LIMIT.into()),
            WriteError::Full { .. } => passing(Cause::DiskFull, "the next segment could not be begun".into()),
            WriteError::Closed => lasting(Cause::DiskFull, "the trace is closed".into()),
            WriteError::Encode(_) | WriteError::TooLong { .. } => None,
        }
    }

    /// Too little room is left for the program itself.
    pub(super) fn low_space(percent: u64, now_ns: i64) -> Obstacle {
        let detail = format!("less than {percent} % of the disk is free").into();
        Obstacle { cause: Cause::DiskFull, detail, retry_ns: Some(now_ns + RETRY_NS) }
    }

    pub(super) fn is_over(&self, now_ns: i64) -> bool {
        self.retry_ns.is_some_and(|at| now_ns >= at)
    }
}
