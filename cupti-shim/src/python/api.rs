//! The functions of Python that are called, and whether they may be called now.

use std::ffi::{CStr, c_char, c_int, c_void};

/// A Python object, or a thread's or interpreter's state: only ever passed on.
pub(super) type Pointer = *mut c_void;

/// Functions of the interpreter that is loaded. What they promise is said at [`crate::python`].
pub(super) struct Api {
    this_thread: unsafe extern "C" fn() -> Pointer,
    running: unsafe extern "C" fn() -> Pointer,
    newest_interpreter: unsafe extern "C" fn() -> Pointer,
    main_interpreter: unsafe extern "C" fn() -> Pointer,
    is_finalizing: unsafe extern "C" fn() -> c_int,
    error: unsafe extern "C" fn() -> Pointer,
    pub clear_error: unsafe extern "C" fn(),
    /// Borrowed.
    pub frame: unsafe extern "C" fn() -> Pointer,
    /// New.
    pub attribute: unsafe extern "C" fn(Pointer, *const c_char) -> Pointer,
    /// Belongs to the string.
    pub utf8: unsafe extern "C" fn(Pointer, *mut isize) -> *const c_char,
    pub line: unsafe extern "C" fn(Pointer) -> c_int,
    pub keep: unsafe extern "C" fn(Pointer),
    pub give_back: unsafe extern "C" fn(Pointer),
    pub none: Pointer,
    /// New. 3.9 and later.
    pub code: Option<unsafe extern "C" fn(Pointer) -> Pointer>,
    /// New, null at the outermost. 3.9 and later.
    pub back: Option<unsafe extern "C" fn(Pointer) -> Pointer>,
    /// 3.11 and later.
    pub last_instruction: Option<unsafe extern "C" fn(Pointer) -> c_int>,
    /// 3.10 and later. Returns what was.
    pub collections_off: Option<unsafe extern "C" fn() -> c_int>,
    pub collections_on: Option<unsafe extern "C" fn() -> c_int>,
    /// The attribute with a function's name.
    pub name: &'static CStr,
}

/// What there is.
pub(super) enum Found {
    /// No Python, or none that is ready yet.
    Nothing,
    /// One that can be asked.
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
pub(super) fn find() -> Found {
    let is_initialized: Option<unsafe extern "C" fn() -> c_int> = function!(c"Py_IsInitialized");
    let version: Option<unsafe extern "C" fn() -> *const c_char> = function!(c"Py_GetVersion");
    let (Some(is_initialized), Some(version)) = (is_initialized, version) else { return Found::Nothing };
    // SAFETY: both may be called at any time; the version is a text that stays.
    let version = unsafe {
        if is_initialized() == 0 {
            return Found::Nothing;
        }
        CStr::from_ptr(version()).to_string_lossy().into_owned()
    };
    if version.contains("free-threading") {
        return Found::Unusable(format!("Python {} is a free-threaded build", short(&version)));
    }
    let Some(minor) = minor(&version).filter(|minor| *minor >= 8) else {
        return Found::Unusable(format!("Python {} is older than 3.8", short(&version)));
    };
    match functions(minor) {
        Some(api) => Found::Usable(api),
        None => Found::Unusable(format!("Python {} lacks a function that it needs", short(&version))),
    }
}

fn short(version: &str) -> &str {
    version.split_whitespace().next().unwrap_or(version)
}

/// The second number of a version 3.
fn minor(version: &str) -> Option<u32> {
    let rest = version.strip_prefix("3.")?;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

fn functions(minor: u32) -> Option<Api> {
    let (code, back) = (function!(c"PyFrame_GetCode"), function!(c"PyFrame_GetBack"));
    if minor >= 9 && (code.is_none() || back.is_none()) {
        return None;
    }
    let collections_off = function!(c"PyGC_Disable");
    let collections_on = function!(c"PyGC_Enable");
    if minor >= 11 && (collections_off.is_none() || collections_on.is_none()) {
        return None;
    }
    Some(Api {
        this_thread: function!(c"PyGILState_GetThisThreadState")?,
        running: function!(c"PyThreadState_GetUnchecked").or_else(|| function!(c"_PyThreadState_UncheckedGet"))?,
        newest_interpreter: function!(c"PyInterpreterState_Head")?,
        main_interpreter: function!(c"PyInterpreterState_Main")?,
        is_finalizing: function!(c"Py_IsFinalizing").or_else(|| function!(c"_Py_IsFinalizing"))?,
        error: function!(c"PyErr_Occurred")?,
        clear_error: function!(c"PyErr_Clear")?,
        frame: function!(c"PyEval_GetFrame")?,
        attribute: function!(c"PyObject_GetAttrString")?,
        utf8: function!(c"PyUnicode_AsUTF8AndSize")?,
        line: function!(c"PyFrame_GetLineNumber")?,
        keep: function!(c"Py_IncRef")?,
        give_back: function!(c"Py_DecRef")?,
        none: find_symbol(c"_Py_NoneStruct")?,
        code,
        back,
        last_instruction: function!(c"PyFrame_GetLasti"),
        collections_off,
        collections_on,
        name: if minor >= 11 { c"co_qualname" } else { c"co_name" },
    })
}

impl Api {
    /// Whether this thread holds the interpreter's lock. Asks nothing but two pointers, so it may be called by any
    /// thread: the state that runs is this thread's own only while this thread runs it.
    #[inline]
    pub(super) fn holds_lock(&self) -> bool {
        // SAFETY: both read a pointer of this thread or an atomic one.
        unsafe {
            let own = (self.this_thread)();
            !own.is_null() && (self.running)() == own
        }
    }

    /// Whether frames may be looked at. Only with the lock.
    #[inline]
    pub(super) fn is_suitable(&self) -> bool {
        // SAFETY: all read pointers; this thread holds the lock. New interpreters are put before the others, so the
        // first one is the main one only where there is no other.
        unsafe {
            (self.newest_interpreter)() == (self.main_interpreter)()
                && (self.is_finalizing)() == 0
                && (self.error)().is_null()
        }
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
        assert_eq!(short("3.13.0 experimental free-threading build (main)"), "3.13.0");
    }

    #[test]
    fn where_there_is_no_python_there_is_nothing() {
        assert!(matches!(find(), Found::Nothing));
    }
}
