//! What an entry of another tool looks like that no table describes.

crate::vocabulary! {
    "Form in words.";
    /// It has a length.
    SLICE = 0, "slice";
    /// It is a moment.
    MARK = 1, "mark";
    /// An arrow begins.
    ARROW_BEGINS = 2, "arrow begins";
    /// An arrow passes.
    ARROW_PASSES = 3, "arrow passes";
    /// An arrow ends.
    ARROW_ENDS = 4, "arrow ends";
}
