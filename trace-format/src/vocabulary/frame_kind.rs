//! What a frame of a stack is a function of.

crate::vocabulary! {
    "Language in a word.";
    /// A function of Python.
    PYTHON = 0, "Python";
    /// A function of machine code.
    NATIVE = 1, "native";
}
