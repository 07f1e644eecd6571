//! `CUpti_ActivitySynchronizationType`.

use super::Wording;

crate::vocabulary! {
    "What was waited for, e.g. `stream`.";
    /// `unknown`.
    UNKNOWN = 0, "unknown";
    /// `event`.
    EVENT = 1, "event";
    /// `stream wait event`.
    STREAM_WAIT_EVENT = 2, "stream wait event";
    /// `stream`.
    STREAM = 3, "stream";
    /// `context`.
    CONTEXT = 4, "context";
}

/// Kineto's words.
pub static KINETO: Wording = Wording(&[
    (EVENT, "Event Sync"),
    (STREAM_WAIT_EVENT, "Stream Wait Event"),
    (STREAM, "Stream Sync"),
    (CONTEXT, "Context Sync"),
]);
