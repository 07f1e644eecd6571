//! Stand-in for libcudart (SIMULATOR), versions 11 to 13: the usual runtime calls, each made of driver calls that nest
//! inside it. See `tests/sim/README.md`.
#![allow(unsafe_code, reason = "a C library by its nature")]
#![allow(unsafe_op_in_unsafe_fn, reason = "every exported function is unsafe as a whole; its contract is CUDA's")]
#![allow(non_snake_case, reason = "the runtime's own names")]
#![allow(missing_docs, reason = "the runtime's functions are documented by NVIDIA")]
#![allow(dead_code, reason = "shared files hold what the other crates need")]

#[path = "../../shared/abi.rs"]
mod abi;
#[path = "../../shared/settings.rs"]
mod settings;

/// An exported runtime function with its callback id. Its body gives a driver or runtime code, which becomes the
/// thread's last error.
macro_rules! runtime {
    ($($cbid:literal fn $name:ident($($arg:ident: $type:ty),* $(,)?) |$cuda:ident| $body:block)*) => {$(
        #[unsafe(no_mangle)]
        #[allow(clippy::too_many_arguments, reason = "CUDA's own signature")]
        pub unsafe extern "C" fn $name($($arg: $type),*) -> i32 {
            crate::call::runtime($cbid, concat!(stringify!($name), "\0"), std::ptr::null(), true, |$cuda| $body)
        }
    )*};
}

mod api;
mod call;
mod driver;
mod fatbin;
mod info;
