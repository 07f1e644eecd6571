//! Why records are missing.

use super::Wording;

crate::vocabulary! {
    "Cause in words.";
    /// No block was left, or a queue was full: the writer did not keep up.
    QUEUE_FULL = 1, "queue full";
    /// CUPTI dropped them itself.
    CUPTI_DROPPED = 2, "CUPTI dropped them";
    /// A kind of record that the stride probe did not find; what lies behind it in its block is lost as well.
    UNKNOWN_KIND = 3, "unknown record kind";
    /// Names were refused; the records are there, without their names.
    NAMES_FULL = 4, "names full";
    /// The disk, or the file system, refused.
    DISK_FULL = 5, "disk full";
    /// The size limit was reached.
    SIZE_LIMIT = 6, "size limit";
    /// Another tool took CUPTI over.
    TAKEN_OVER = 7, "CUPTI taken over";
    /// CUPTI did not flush in time at the end.
    FLUSH_DEADLINE = 8, "flush deadline missed";
}

/// The same as sentences, for notes about traces.
pub static SENTENCES: Wording = Wording(&[
    (QUEUE_FULL, "the writer did not keep up"),
    (CUPTI_DROPPED, "CUPTI dropped them"),
    (UNKNOWN_KIND, "their kind was unknown"),
    (NAMES_FULL, "the table of names was full"),
    (DISK_FULL, "the disk was full"),
    (SIZE_LIMIT, "the size limit was reached"),
    (TAKEN_OVER, "another tool took CUPTI over"),
    (FLUSH_DEADLINE, "CUPTI did not flush in time at the end"),
]);
