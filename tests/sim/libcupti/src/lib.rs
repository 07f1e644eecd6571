//! Stand-in for libcupti (SIMULATOR), of any version from 11.7 to 13.5: callbacks, activity buffers, flushing, and the
//! faults that `SIM_*` variables ask for. See `tests/sim/README.md`.
#![allow(unsafe_code, reason = "a C library by its nature")]
#![allow(unsafe_op_in_unsafe_fn, reason = "every exported function is unsafe as a whole; its contract is CUPTI's")]
#![allow(non_snake_case, reason = "CUPTI's own names")]
#![allow(missing_docs, reason = "CUPTI's functions are documented by NVIDIA")]
#![allow(dead_code, reason = "shared files hold what the other crates need")]

#[path = "../../shared/abi.rs"]
mod abi;
#[path = "../../shared/settings.rs"]
mod settings;

/// An exported function of CUPTI: counted, and failing or stalling when `SIM_FAIL` or `SIM_STALL` say so.
macro_rules! cupti {
    ($(fn $name:ident($($arg:ident: $type:ty),* $(,)?) $body:block)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: $type),*) -> i32 {
            static FUNCTION: crate::faults::Function = crate::faults::Function::new(stringify!($name));
            let refusal = FUNCTION.enter();
            if refusal != 0 {
                return refusal;
            }
            $body
        }
    )*};
}

mod activity;
mod attributes;
mod buffers;
mod callbacks;
mod directives;
mod driver;
mod external;
mod faults;
mod info;
mod names;
mod records;
mod subscribers;
mod tables;
mod version;
mod walker;
