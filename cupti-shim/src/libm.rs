//! Three functions of libm, which only code refers to that never runs here (Bloom filters and decimals of the Parquet
//! library). The loader would map libm into every process below a preloaded one for their sake: 0.1 ms of CPU each. So
//! they are looked up if they are called after all.

use std::ffi::CStr;

// Hidden: a preloaded library that exported these names would take the place of libm in the program.
#[cfg(target_arch = "x86_64")]
core::arch::global_asm!(
    ".hidden pow", ".globl pow", "pow:", "jmp {pow}",
    ".hidden log", ".globl log", "log:", "jmp {log}",
    ".hidden log10", ".globl log10", "log10:", "jmp {log10}",
    pow = sym pow_of_libm, log = sym log_of_libm, log10 = sym log10_of_libm,
);

extern "C" fn pow_of_libm(x: f64, y: f64) -> f64 {
    // SAFETY: the type of libm's function of that name.
    look_up(c"pow").map_or(f64::NAN, |address| unsafe {
        std::mem::transmute::<*mut libc::c_void, extern "C" fn(f64, f64) -> f64>(address)(x, y)
    })
}

extern "C" fn log_of_libm(x: f64) -> f64 {
    of_one(c"log", x)
}

extern "C" fn log10_of_libm(x: f64) -> f64 {
    of_one(c"log10", x)
}

fn of_one(name: &CStr, x: f64) -> f64 {
    // SAFETY: the type of libm's functions of these names.
    look_up(name).map_or(f64::NAN, |address| unsafe {
        std::mem::transmute::<*mut libc::c_void, extern "C" fn(f64) -> f64>(address)(x)
    })
}

fn look_up(name: &CStr) -> Option<*mut libc::c_void> {
    // SAFETY: terminated names; the library is never unloaded.
    let address = unsafe {
        let libm = libc::dlopen(c"libm.so.6".as_ptr(), libc::RTLD_NOW);
        if libm.is_null() { libm } else { libc::dlsym(libm, name.as_ptr()) }
    };
    (!address.is_null()).then_some(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_called_after_all_is_what_libm_says() {
        assert!((pow_of_libm(3.0, 4.0) - 81.0).abs() < 1e-9);
        assert!((log_of_libm(std::f64::consts::E) - 1.0).abs() < 1e-9);
        assert!((log10_of_libm(1_000.0) - 3.0).abs() < 1e-9);
    }
}
