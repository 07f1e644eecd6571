//! The collector behind the door: where it is, and what is passed on to it.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::mem::{MaybeUninit, transmute};
use core::ptr::null_mut;

use crate::{dl, load};

/// What the name of a door has more than that of its collector.
const SUFFIX: &[u8] = b"_preload.so";

/// Runs `body` with the collector's path: beside `door`, `libgpuprof.so` for `libgpuprof_preload.so`. If the door was given
/// another kind of name, says so.
pub fn with_path(door: &CStr, body: impl FnOnce(&CStr)) {
    const END: &[u8] = b".so\0";
    const LONGEST: usize = libc::PATH_MAX as usize;
    let stem = door.to_bytes().strip_suffix(SUFFIX).filter(|stem| stem.len() <= LONGEST);
    let Some(stem) = stem else {
        return say(
            door,
            b" must be called libgpuprof_preload.so to find libgpuprof.so beside it: nothing is recorded\n",
        );
    };
    let mut room = MaybeUninit::<[u8; LONGEST + END.len()]>::uninit();
    // SAFETY: there is room for both, and the second ends with a zero.
    unsafe {
        let path = room.as_mut_ptr().cast::<u8>();
        path.copy_from_nonoverlapping(stem.as_ptr(), stem.len());
        path.add(stem.len()).copy_from_nonoverlapping(END.as_ptr(), END.len());
        body(CStr::from_ptr(path.cast()));
    }
}

/// Whether the collector is there; says so if it is not, as the loader does of a library that it cannot find.
pub fn is_there(collector: &CStr) -> bool {
    // SAFETY: a terminated path.
    let is_there = unsafe { libc::access(collector.as_ptr(), libc::R_OK) == 0 };
    if !is_there {
        say_missing(collector);
    }
    is_there
}

/// Says on standard error that nothing is recorded.
pub fn say_missing(collector: &CStr) {
    say(
        collector,
        b" is not there or cannot be loaded: nothing is recorded; it must lie beside libgpuprof_preload.so\n",
    );
}

/// Says something of a file on standard error, which before `main` is whatever the loader itself would write to.
fn say(file: &CStr, what: &[u8]) {
    let parts = [b"gpuprof: ".as_slice(), file.to_bytes(), what];
    let parts = parts.map(|part| libc::iovec { iov_base: part.as_ptr().cast_mut().cast(), iov_len: part.len() });
    // SAFETY: the parts are readable.
    unsafe { libc::writev(2, parts.as_ptr(), 3) };
}

/// The collector's function of that name; null if there is no collector.
fn function(name: &CStr) -> *mut c_void {
    let mut found = null_mut();
    if let (false, Some(door)) = (at_load::is_privileged(), load::own_path()) {
        with_path(door, |collector| {
            let library = dl::open(collector);
            if !library.is_null() {
                found = dl::symbol(library, name.as_ptr());
            }
        });
    }
    found
}

/// The driver's entry, if it was given our path instead of the collector's. 1: nothing is wrong.
#[unsafe(no_mangle)]
extern "C-unwind" fn InitializeInjection() -> c_int {
    let found = function(c"InitializeInjection");
    if found.is_null() {
        return 1;
    }
    // SAFETY: the collector's function of that name has that type.
    unsafe { transmute::<*mut c_void, extern "C" fn() -> c_int>(found)() }
}

/// NVTX's entry, in the same case. 0: nobody listens.
#[unsafe(no_mangle)]
extern "C-unwind" fn InitializeInjectionNvtx2(get_export_table: *mut c_void) -> c_int {
    let found = function(c"InitializeInjectionNvtx2");
    if found.is_null() {
        return 0;
    }
    // SAFETY: as above.
    unsafe { transmute::<*mut c_void, extern "C" fn(*mut c_void) -> c_int>(found)(get_export_table) }
}

/// OpenACC's entry for tools, which a runtime finds because we are preloaded.
#[unsafe(no_mangle)]
extern "C-unwind" fn acc_register_library(register: *mut c_void, unregister: *mut c_void, lookup: *mut c_void) {
    let found = function(c"acc_register_library");
    if !found.is_null() {
        // SAFETY: as above.
        unsafe {
            transmute::<*mut c_void, extern "C" fn(*mut c_void, *mut c_void, *mut c_void)>(found)(
                register, unregister, lookup,
            );
        }
    }
}

/// OpenMP's entry for tools, likewise. Null: nobody listens.
#[unsafe(no_mangle)]
extern "C-unwind" fn ompt_start_tool(version: u32, runtime: *const c_char) -> *mut c_void {
    let found = function(c"ompt_start_tool");
    if found.is_null() {
        return null_mut();
    }
    // SAFETY: as above.
    unsafe { transmute::<*mut c_void, extern "C" fn(u32, *const c_char) -> *mut c_void>(found)(version, runtime) }
}
