//! The only unsafe code of `doctor`: opening vendor libraries and calling what is in them.
//!
//! cudarc's calls do not do for this: its loader takes `libcuda.so` before `libcuda.so.1`, which may be the toolkit's
//! stub, panics when a symbol is missing, and returns results as a closed Rust enum, for which a code of a newer
//! driver is undefined behaviour. Its constants are right and are used.
#![allow(unsafe_code, reason = "libraries that are found at run time are called through pointers")]

use std::ffi::{CStr, CString, c_int, c_void};
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

/// A callback of `cuptiSubscribe`.
type Callback = unsafe extern "C" fn(*mut c_void, u32, u32, *const c_void);
/// CUPTI asks for a buffer.
type Requested = unsafe extern "C" fn(*mut *mut u8, *mut usize, *mut usize);
/// CUPTI gives a buffer back.
type Completed = unsafe extern "C" fn(*mut c_void, u32, *mut u8, usize, usize);

/// Declares one method for each shape of arguments. A reference is a pointer to what is written.
macro_rules! shapes {
    ($($(#[$doc:meta])* $sight:vis fn $name:ident $(<$T:ident>)? ($($argument:ident: $type:ty),*);)*) => {
        impl Symbol {
            $(
                $(#[$doc])*
                $sight fn $name $(<$T>)? (self, $($argument: $type),*) -> c_int {
                    type Function $(<$T>)? = unsafe extern "C" fn($($type),*) -> c_int;
                    // SAFETY: callers name a function of this shape, such as those in the method's own words: the
                    // vendor's headers promise it, in every version. References are valid for what is written.
                    unsafe { std::mem::transmute::<*mut c_void, Function $(<$T>)?>(self.0)($($argument),*) }
                }
            )*
        }
    };
}

shapes! {
    /// `f(int)`: cuInit, cuptiActivityEnable.
    pub fn call_i(a: c_int);
    /// `f(T *out)`: cuDriverGetVersion, cuptiGetVersion.
    pub fn call_p<T>(out: &mut T);
    /// `f(T *out, int)`: cuDeviceGet, cuDeviceGetUuid, cuDeviceTotalMem.
    pub fn call_pi<T>(out: &mut T, a: c_int);
    /// `f(T *out, int, int)`: cuDeviceGetAttribute, and cuDeviceGetName, which is told how much it may write.
    pub fn call_pii<T>(out: &mut T, a: c_int, b: c_int);
    /// `f(int, T *out)`: cuptiDeviceSupported.
    pub fn call_ip<T>(a: c_int, out: &mut T);
    /// `f(int, int, int *out)`: cuptiComputeCapabilitySupported.
    pub fn call_iip(a: c_int, b: c_int, out: &mut c_int);
    /// cuptiSubscribe. The handle is as wide as a pointer; the callback may be called at any time, on any thread.
    fn call_subscribe(handle: &mut usize, callback: Callback, data: *mut c_void);
    /// cuptiActivityRegisterCallbacks. Both may be called at any time, on any thread.
    fn call_register(requested: Requested, completed: Completed);
}

impl Symbol {
    /// `f(char *out, int, int)`: the text that was written.
    pub fn call_text(self, a: c_int) -> (c_int, String) {
        let mut text = [0u8; 256];
        let result = self.call_pii(&mut text, 255, a);
        let text = CStr::from_bytes_until_nul(&text).map(|t| t.to_string_lossy().into_owned()).unwrap_or_default();
        (result, text)
    }

    /// `cuptiSubscribe(handle *, callback, user data)` with a callback that does nothing.
    pub fn subscribe(self, handle: &mut usize) -> c_int {
        self.call_subscribe(handle, ignore_callback, std::ptr::null_mut())
    }

    /// `cuptiActivityRegisterCallbacks` with callbacks that hand out no buffer.
    pub fn register(self) -> c_int {
        self.call_register(no_buffer, ignore_buffer)
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
