//! One stack of two: the Python frames and the native ones of the same moment.
//!
//! Python's evaluation loop stands in the native stack once for each run of Python frames that called each other
//! without C in between. Where both stacks have as many of them, each loop is replaced by its Python frames. Where they
//! differ (the program runs on while its Python frames are read, so a call may have come or gone), the Python stack is
//! kept whole and what is native is taken from behind the innermost loop.

use super::Frame;

/// A frame of Python, with what tells where its run begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PythonFrame {
    /// The frame.
    pub frame: Frame,
    /// C code called this one.
    pub is_entry: bool,
}

/// The stack, outermost frame first; so are `python` and `native`.
pub fn merge(python: Vec<PythonFrame>, native: Vec<Frame>) -> Vec<Frame> {
    if python.is_empty() {
        return without_start(native);
    }
    let runs = python.iter().filter(|frame| frame.is_entry).count().max(1);
    let loops = native.iter().filter(|frame| is_loop(frame)).count();
    if loops != runs {
        return python_then_innermost(python, native);
    }
    let mut merged = Vec::with_capacity(python.len() + native.len());
    let mut python = python.into_iter().peekable();
    let mut seen = 0;
    for frame in native {
        if !is_loop(&frame) {
            // What is before the first loop is how Python was started.
            if seen > 0 && !is_interpreter(&frame) {
                merged.push(frame);
            }
            continue;
        }
        seen += 1;
        merged.extend(python.next().map(|first| first.frame));
        while let Some(next) = python.next_if(|next| !next.is_entry) {
            merged.push(next.frame);
        }
    }
    merged
}

/// Whether Python code runs somewhere in a native stack.
pub fn runs_python(native: &[Frame]) -> bool {
    native.iter().any(is_loop)
}

fn python_then_innermost(python: Vec<PythonFrame>, native: Vec<Frame>) -> Vec<Frame> {
    let mut merged: Vec<Frame> = python.into_iter().map(|frame| frame.frame).collect();
    if let Some(last) = native.iter().rposition(is_loop) {
        merged.extend(native.into_iter().skip(last + 1).filter(|frame| !is_interpreter(frame)));
    }
    merged
}

/// `_PyEval_EvalFrameDefault`, its parts that the compiler moved away, and what it was called before.
fn is_loop(frame: &Frame) -> bool {
    is_pythons(frame)
        && (frame.name.starts_with("_PyEval_EvalFrame") || frame.name.starts_with("PyEval_EvalFrame"))
        // In 3.6 to 3.10 this one only calls the other.
        && frame.name != "PyEval_EvalFrame"
}

/// How Python calls, rather than what.
fn is_interpreter(frame: &Frame) -> bool {
    let inner = ["_Py", "Py", "cfunction_", "method_", "slot_", "object_vacall", "partial_", "type_call", "call_"];
    is_pythons(frame) && inner.iter().any(|start| frame.name.starts_with(start))
}

/// Whether the code is the interpreter's own.
fn is_pythons(frame: &Frame) -> bool {
    frame.file.rsplit('/').next().is_some_and(|file| file.starts_with("python") || file.starts_with("libpython"))
}

/// What the C library does before `main` and before a thread's own function says nothing.
fn without_start(native: Vec<Frame>) -> Vec<Frame> {
    let start = ["_start", "__libc_start", "clone", "__clone", "start_thread", "thread_start"];
    let of_libc = |frame: &Frame| {
        let file = frame.file.rsplit('/').next().unwrap_or_default();
        ["libc.so", "libc-", "libpthread", "ld-linux"].iter().any(|name| file.starts_with(name))
    };
    let is_start = |frame: &&Frame| of_libc(frame) || start.iter().any(|name| frame.name.starts_with(name));
    let first = native.iter().take_while(is_start).count();
    // Unless it is all there is.
    let first = if first == native.len() { 0 } else { first };
    native.into_iter().skip(first).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{NATIVE, PYTHON};
    use super::*;

    fn python(names: &[(&str, bool)]) -> Vec<PythonFrame> {
        let frame = |name: &str| Frame { kind: PYTHON, name: name.to_owned(), ..Frame::default() };
        names.iter().map(|&(name, is_entry)| PythonFrame { frame: frame(name), is_entry }).collect()
    }

    /// `name@file`.
    fn native(names: &str) -> Vec<Frame> {
        let frame = |text: &str| {
            let (name, file) = text.split_once('@').unwrap_or((text, "libc.so.6"));
            Frame { kind: NATIVE, name: name.to_owned(), file: format!("/usr/lib/{file}"), line: 0 }
        };
        names.split(' ').map(frame).collect()
    }

    fn names(frames: &[Frame]) -> String {
        frames.iter().map(|frame| frame.name.as_str()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn each_loop_gives_way_to_its_python_frames() {
        let stack = native(
            "_start __libc_start_main Py_RunMain@python3 _PyEval_EvalFrameDefault@python3 cfunction_call@python3 \
             run@lib.so _PyEval_EvalFrameDefault.cold@python3 list_sort@python3 memcpy",
        );
        let frames = python(&[("<module>", true), ("main", false), ("callback", true), ("inner", false)]);
        assert_eq!(names(&merge(frames, stack)), "<module> main run callback inner list_sort memcpy");
    }

    #[test]
    fn where_the_two_do_not_fit_python_is_kept_whole() {
        let stack =
            native("_start _PyEval_EvalFrameDefault@python3 run@lib.so _PyEval_EvalFrameDefault@python3 f@x");
        let frames = python(&[("<module>", true), ("main", false)]);
        assert_eq!(names(&merge(frames.clone(), stack)), "<module> main f");
        assert_eq!(names(&merge(frames, native("write"))), "<module> main", "a stack that could not be followed");
    }

    #[test]
    fn a_native_stack_shows_whether_python_runs_in_it() {
        assert!(runs_python(&native("_start Py_RunMain@python3 _PyEval_EvalFrameDefault@python3 zlib_compress@x")));
        assert!(!runs_python(&native("clone3 start_thread worker@a")));
        // In 3.6 to 3.10 this one only calls the other, and without it nothing of Python runs.
        assert!(!runs_python(&native("_start Py_RunMain@python3 PyEval_EvalFrame@python3")));
    }

    #[test]
    fn without_python_the_stack_begins_with_the_program() {
        assert_eq!(names(&merge(Vec::new(), native("_start libc.so.6+0x27000 main@a hot@a"))), "main hot");
        assert_eq!(names(&merge(Vec::new(), native("clone3 start_thread worker@a"))), "worker");
        assert_eq!(names(&merge(Vec::new(), native("_start"))), "_start");
    }
}
