//! What a range is.

use super::Wording;

crate::vocabulary! {
    "Style in a word.";
    /// Ranges of one thread that lie in each other.
    PUSH_POP = 0, "push/pop";
    /// A range that may end on another thread and overlap others.
    START_END = 1, "start/end";
    /// A moment.
    MARK = 2, "mark";
    /// An operator of PyTorch (`cpu_op`).
    OPERATOR = 3, "operator";
    /// A range that the user of PyTorch named (`user_annotation`).
    ANNOTATION = 4, "annotation";
    /// A function of Python.
    PYTHON = 5, "Python function";
}

/// The words in nsys's views. nsys knows the first two; operators and annotations of PyTorch are ranges here too.
pub static NSYS: Wording = Wording(&[
    (PUSH_POP, "PushPop"),
    (START_END, "StartEnd"),
    (OPERATOR, "Operator"),
    (ANNOTATION, "Annotation"),
]);
