//! The only unsafe code of `doctor`: opening vendor libraries and calling what is in them.
//!
//! cudarc's calls do not do for this: its loader takes `libcuda.so` before `libcuda.so.1`, which may be the toolkit's
//! stub, panics when a symbol is missing, and returns results as a closed Rust enum, for which a code of a newer
//! driver is undefined behaviour. Its constants are right and are used.
#![allow(unsafe_code, reason = "libraries that are found at run time are called through pointers")]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// A library that stays loaded: vendor libraries start threads and do not survive being unloaded.
#[derive(Clone, Copy)]
pub struct Library(*mut c_void);

impl Library {
    /// Loads `name`: a path, or a bare name for the loader to search.
    ///
    /// # Errors
    /// Fails if the library cannot be loaded, with the loader's own words.
    pub fn open(name: &Path) -> Result<Library, String> {
        let name = CString::new(name.as_os_str().as_bytes()).map_err(|_| "the name has a zero byte".to_owned())?;
        // SAFETY: a terminated string. What the library's constructors do is why this runs in a process of its own.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
        if handle.is_null() {
            // SAFETY: no argument; the text belongs to libc and lives until the next call on this thread.
            let text = unsafe { libc::dlerror() };
            if text.is_null() {
                return Err("the loader gives no reason".to_owned());
            }
            // SAFETY: not null, terminated.
            return Err(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned());
        }
        Ok(Library(handle))
    }

    /// The address of `name`, if the library has it.
    pub fn symbol(&self, name: &CStr) -> Option<Symbol> {
        // SAFETY: the handle is open for ever, the name is terminated.
        let address = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        (!address.is_null()).then_some(Symbol(address))
    }
}

/// A function of a vendor library that returns an `int`, which stays one: codes of newer versions are legal.
#[derive(Clone, Copy)]
pub struct Symbol(*mut c_void);

/// Functions are called with pointers to plain memory that outlives the call; each method is one shape of
/// arguments, told by its name: `i` is an int, `p` a pointer that is written to.
impl Symbol {
    /// `f(int)`.
    pub fn call_i(self, a: c_int) -> c_int {
        // SAFETY: callers name a function of this shape (cuInit); the vendor's header promises it.
        let f: unsafe extern "C" fn(c_int) -> c_int = unsafe { std::mem::transmute(self.0) };
        // SAFETY: as above.
        unsafe { f(a) }
    }

    /// `f(T *out)`.
    pub fn call_p<T>(self, out: &mut T) -> c_int {
        // SAFETY: callers name a function of this shape (cuDriverGetVersion, cuptiGetVersion).
        let f: unsafe extern "C" fn(*mut T) -> c_int = unsafe { std::mem::transmute(self.0) };
        // SAFETY: `out` is valid for writing one `T`.
        unsafe { f(out) }
    }

    /// `f(T *out, int)`.
    pub fn call_pi<T>(self, out: &mut T, a: c_int) -> c_int {
        // SAFETY: callers name a function of this shape (cuDeviceGet, cuDeviceGetUuid, cuDeviceTotalMem).
        let f: unsafe extern "C" fn(*mut T, c_int) -> c_int = unsafe { std::mem::transmute(self.0) };
        // SAFETY: `out` is valid for writing one `T`.
        unsafe { f(out, a) }
    }

    /// `f(int *out, int, int)`.
    pub fn call_pii(self, out: &mut c_int, a: c_int, b: c_int) -> c_int {
        // SAFETY: callers name a function of this shape (cuDeviceGetAttribute).
        let f: unsafe extern "C" fn(*mut c_int, c_int, c_int) -> c_int = unsafe { std::mem::transmute(self.0) };
        // SAFETY: `out` is valid for writing one int.
        unsafe { f(out, a, b) }
    }

    /// `f(int, T *out)`.
    pub fn call_ip<T>(self, a: c_int, out: &mut T) -> c_int {
        // SAFETY: callers name a function of this shape (cuptiDeviceSupported).
        let f: unsafe extern "C" fn(c_int, *mut T) -> c_int = unsafe { std::mem::transmute(self.0) };
        // SAFETY: `out` is valid for writing one `T`.
        unsafe { f(a, out) }
    }

    /// `f(int, int, int *out)`.
    pub fn call_iip(self, a: c_int, b: c_int, out: &mut c_int) -> c_int {
        // SAFETY: callers name a function of this shape (cuptiComputeCapabilitySupported).
        let f: unsafe extern "C" fn(c_int, c_int, *mut c_int) -> c_int = unsafe { std::mem::transmute(self.0) };
        // SAFETY: `out` is valid for writing one int.
        unsafe { f(a, b, out) }
    }

    /// `f(char *out, int, int)`: the text that was written.
    pub fn call_text(self, a: c_int) -> (c_int, String) {
        let mut text = [0u8; 256];
        // SAFETY: callers name a function of this shape (cuDeviceGetName), which is told the size less one.
        let f: unsafe extern "C" fn(*mut c_char, c_int, c_int) -> c_int = unsafe { std::mem::transmute(self.0) };
        // SAFETY: 255 bytes may be written, and more are there.
        let result = unsafe { f(text.as_mut_ptr().cast(), 255, a) };
        let text = CStr::from_bytes_until_nul(&text).map(|t| t.to_string_lossy().into_owned()).unwrap_or_default();
        (result, text)
    }

    /// `cuptiSubscribe(handle *, callback, user data)` with a callback that does nothing.
    pub fn subscribe(self, handle: &mut usize) -> c_int {
        type Callback = unsafe extern "C" fn(*mut c_void, u32, u32, *const c_void);
        // SAFETY: callers name cuptiSubscribe, of this shape in every version.
        let f: unsafe extern "C" fn(*mut usize, Callback, *mut c_void) -> c_int =
            unsafe { std::mem::transmute(self.0) };
        // SAFETY: `handle` is as wide as a pointer; the callback may be called at any time, on any thread.
        unsafe { f(handle, ignore_callback, std::ptr::null_mut()) }
    }

    /// `cuptiActivityRegisterCallbacks` with callbacks that hand out no buffer.
    pub fn register(self) -> c_int {
        type Requested = unsafe extern "C" fn(*mut *mut u8, *mut usize, *mut usize);
        type Completed = unsafe extern "C" fn(*mut c_void, u32, *mut u8, usize, usize);
        // SAFETY: callers name cuptiActivityRegisterCallbacks, of this shape in every version.
        let f: unsafe extern "C" fn(Requested, Completed) -> c_int = unsafe { std::mem::transmute(self.0) };
        // SAFETY: both callbacks may be called at any time, on any thread.
        unsafe { f(no_buffer, ignore_buffer) }
    }
}

unsafe extern "C" fn ignore_callback(_: *mut c_void, _: u32, _: u32, _: *const c_void) {}

unsafe extern "C" fn no_buffer(buffer: *mut *mut u8, bytes: *mut usize, records: *mut usize) {
    // SAFETY: CUPTI passes three valid pointers. No context is ever created here, so nothing is recorded and this
    // is not called; if it were, no buffer is the answer that loses records instead of memory.
    unsafe {
        *buffer = std::ptr::null_mut();
        *bytes = 0;
        *records = 0;
    }
}

unsafe extern "C" fn ignore_buffer(_: *mut c_void, _: u32, _: *mut u8, _: usize, _: usize) {}
