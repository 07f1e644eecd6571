//! The few functions of Python that are called, none of which needs its lock, and whether frames may be read now.
#![allow(clippy::missing_transmute_annotations, reason = "each is that of the field it goes to")]

use std::ffi::{CStr, c_char, c_int, c_void};

use super::layout::{self, Layout};
use super::memory::Trust;
use crate::sys;

type Pointer = *mut c_void;

/// The interpreter that is loaded. What is called of it reads a pointer of the thread or of the interpreter.
pub(super) struct Api {
    this_thread: unsafe extern "C" fn() -> Pointer,
    running: unsafe extern "C" fn() -> Pointer,
    newest_interpreter: unsafe extern "C" fn() -> Pointer,
    main_interpreter: unsafe extern "C" fn() -> Pointer,
    is_finalizing: unsafe extern "C" fn() -> c_int,
    /// Computes a line from a code object's own table.
    line: unsafe extern "C" fn(Pointer, c_int) -> c_int,
    /// Addresses of the types of code objects and strings.
    pub code_type: usize,
    pub string_type: usize,
    pub layout: &'static Layout,
    pub trust: Trust,
}

/// What there is.
pub(super) enum FoundPython {
    /// No Python, or none that is ready yet.
    Nothing,
    /// One that can be read.
    Usable(Api),
    /// One that cannot, and why.
    Unusable(String),
}

fn find_symbol(name: &CStr) -> Option<Pointer> {
    // SAFETY: a terminated name; RTLD_DEFAULT looks at what is loaded and loads nothing.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!found.is_null()).then_some(found)
}

macro_rules! function {
    ($name:literal) => {
        // SAFETY: a function of this name has had this type since it exists; see Python's headers.
        find_symbol($name).map(|p| unsafe { std::mem::transmute(p) })
    };
}

/// Looks for Python.
pub(super) fn find() -> FoundPython {
    let is_initialized: Option<unsafe extern "C" fn() -> c_int> = function!(c"Py_IsInitialized");
    let version: Option<unsafe extern "C" fn() -> *const c_char> = function!(c"Py_GetVersion");
    let (Some(is_initialized), Some(version)) = (is_initialized, version) else { return FoundPython::Nothing };
    // SAFETY: both may be called at any time; the version is a text that stays.
    let version = unsafe {
        if is_initialized() == 0 {
            return FoundPython::Nothing;
        }
        CStr::from_ptr(version()).to_string_lossy().into_owned()
    };
    let short = version.split_whitespace().next().unwrap_or(&version);
    if version.contains("free-threading") {
        return FoundPython::Unusable(format!("Python {short} is a free-threaded build"));
    }
    let Some(layout) = minor(&version).and_then(layout::of) else {
        return FoundPython::Unusable(format!("Python {short} is none of those it knows, {}", layout::KNOWN));
    };
    match functions(layout) {
        Some(api) => FoundPython::Usable(api),
        None => FoundPython::Unusable(format!("Python {short} lacks a function that it needs")),
    }
}

/// The second number of a version 3.
fn minor(version: &str) -> Option<u32> {
    let rest = version.strip_prefix("3.")?;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

fn functions(layout: &'static Layout) -> Option<Api> {
    Some(Api {
        this_thread: function!(c"PyGILState_GetThisThreadState")?,
        running: function!(c"PyThreadState_GetUnchecked").or_else(|| function!(c"_PyThreadState_UncheckedGet"))?,
        newest_interpreter: function!(c"PyInterpreterState_Head")?,
        main_interpreter: function!(c"PyInterpreterState_Main")?,
        is_finalizing: function!(c"Py_IsFinalizing").or_else(|| function!(c"_Py_IsFinalizing"))?,
        line: function!(c"PyCode_Addr2Line")?,
        code_type: find_symbol(c"PyCode_Type")?.expose_provenance(),
        string_type: find_symbol(c"PyUnicode_Type")?.expose_provenance(),
        layout,
        trust: Trust::default(),
    })
}

impl Api {
    /// This thread's Python state, if its frames stay as they are while they are read: it holds the interpreter's lock
    /// (the state that runs is this thread's own only while this thread runs it), or is the process's first thread.
    pub(super) fn own_state(&self) -> Option<usize> {
        // SAFETY: both read a pointer of this thread or an atomic one, and may be called by any thread.
        let (own, running) = unsafe { ((self.this_thread)(), (self.running)()) };
        let stays = own == running || sys::gettid() == sys::getpid();
        (!own.is_null() && stays).then(|| own.expose_provenance())
    }

    /// Whether there is one interpreter, which is not ending.
    pub(super) fn is_suitable(&self) -> bool {
        // SAFETY: all read a pointer or a number. New interpreters are put before the others, so the first one is the
        // main one only where there is no other.
        unsafe { (self.newest_interpreter)() == (self.main_interpreter)() && (self.is_finalizing)() == 0 }
    }

    /// The line of an instruction, by its distance in bytes from the first.
    ///
    /// # Safety
    /// `code` is a code object that stays for the duration of the call.
    pub(super) unsafe fn line(&self, code: usize, instruction: i32) -> u32 {
        // SAFETY: the caller's promise.
        let line = unsafe { (self.line)(std::ptr::with_exposed_provenance_mut(code), instruction) };
        u32::try_from(line).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_as_python_writes_them() {
        assert_eq!(minor("3.8.18 (default, Nov 28 2026, 00:00:00) \n[GCC 12.2.0]"), Some(8));
        assert_eq!(minor("3.14.0rc1+ (main)"), Some(14));
        assert_eq!(minor("2.7.18 (default)"), None);
        assert_eq!(minor("3."), None);
    }

    #[test]
    fn where_there_is_no_python_there_is_nothing() {
        assert!(matches!(find(), FoundPython::Nothing));
    }
}
