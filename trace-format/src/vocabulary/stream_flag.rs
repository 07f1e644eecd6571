//! `CUpti_ActivityStreamFlag`.

crate::vocabulary! {
    "Flag in a word.";
    /// `unknown`.
    UNKNOWN = 0, "unknown";
    /// `default`.
    DEFAULT = 1, "default";
    /// `non-blocking`.
    NON_BLOCKING = 2, "non-blocking";
    /// `null`.
    NULL = 3, "null";
}
