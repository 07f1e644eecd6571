//! What is partial or remarkable about a trace, for whoever reads an answer.

/// What is partial or remarkable about a file, said before any table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// A short fixed word for machines, e.g. `lost-records`.
    pub code: &'static str,
    /// The sentence for people, with path and numbers.
    pub text: String,
}
