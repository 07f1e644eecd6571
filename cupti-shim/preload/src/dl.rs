//! `dlopen` and `dlsym`, asked for weakly: before glibc 2.34 they lie in `libdl.so.2`, and naming that library would have
//! every process map it, which costs as much as all else here. Every program that comes to CUDA has it by then; where it
//! is missing before `main`, the C library's own functions of those days serve.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::mem::transmute;
use core::ptr::null_mut;

// Under the version that they had at first, so that a library linked on a new system loads on an old one.
#[cfg(target_arch = "x86_64")]
macro_rules! first_version {
    () => {
        "@GLIBC_2.2.5"
    };
}
#[cfg(target_arch = "aarch64")]
macro_rules! first_version {
    () => {
        "@GLIBC_2.17"
    };
}

macro_rules! weak {
    ($($accessor:ident: $name:literal $($version:expr)?;)*) => {
        unsafe extern "C" {
            $(
                /// The address of the function, null if no library here has it.
                fn $accessor() -> *mut c_void;
            )*
        }
        // Rust has no weak symbols. These read the entry that the loader fills in, or leaves null.
        $(
            #[cfg(target_arch = "x86_64")]
            core::arch::global_asm!(
                $(concat!(".symver ", $name, ", ", $name, $version),)?
                concat!(".weak ", $name),
                concat!(".hidden ", stringify!($accessor)),
                concat!(".globl ", stringify!($accessor)),
                concat!(stringify!($accessor), ":"),
                concat!("mov rax, qword ptr [rip + ", $name, "@GOTPCREL]"),
                "ret",
            );
            #[cfg(target_arch = "aarch64")]
            core::arch::global_asm!(
                $(concat!(".symver ", $name, ", ", $name, $version),)?
                concat!(".weak ", $name),
                concat!(".hidden ", stringify!($accessor)),
                concat!(".globl ", stringify!($accessor)),
                concat!(stringify!($accessor), ":"),
                concat!("adrp x0, :got:", $name),
                concat!("ldr x0, [x0, :got_lo12:", $name, "]"),
                "ret",
            );
        )*
    };
}

weak! {
    gpuprof_preload_dlopen: "dlopen" first_version!();
    gpuprof_preload_dlsym: "dlsym" first_version!();
    gpuprof_preload_old_dlopen: "__libc_dlopen_mode";
    gpuprof_preload_old_dlsym: "__libc_dlsym";
}

/// The older functions want to hear that a library of the program's calls them.
const RTLD_DLOPEN: c_int = i32::MIN;

/// Maps a library that is looked up in alone; null if that fails.
pub fn open(path: &CStr) -> *mut c_void {
    let mode = libc::RTLD_NOW | libc::RTLD_LOCAL;
    // SAFETY: functions of these names have this type.
    unsafe {
        let (found, old) = (gpuprof_preload_dlopen(), gpuprof_preload_old_dlopen());
        let (found, mode) = if found.is_null() { (old, mode | RTLD_DLOPEN) } else { (found, mode) };
        if found.is_null() {
            return null_mut();
        }
        transmute::<*mut c_void, extern "C" fn(*const c_char, c_int) -> *mut c_void>(found)(path.as_ptr(), mode)
    }
}

/// What a library has by that name; null if nothing.
pub fn symbol(library: *mut c_void, name: *const c_char) -> *mut c_void {
    // SAFETY: functions of these names have this type.
    unsafe {
        let (found, old) = (gpuprof_preload_dlsym(), gpuprof_preload_old_dlsym());
        // The older one knows no such handles as RTLD_NEXT.
        let found = if found.is_null() && library != libc::RTLD_NEXT { old } else { found };
        if found.is_null() {
            return null_mut();
        }
        transmute::<*mut c_void, extern "C" fn(*mut c_void, *const c_char) -> *mut c_void>(found)(library, name)
    }
}
