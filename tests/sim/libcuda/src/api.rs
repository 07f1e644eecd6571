//! The driver's exported functions, by what they are about.

/// An exported driver function with its callback id: `driver!(17 fn cuCtxSynchronize() |call| { … });`
macro_rules! driver {
    ($($cbid:literal fn $name:ident($($arg:ident: $type:ty),* $(,)?) |$call:pat_param| $body:block)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: $type),*) -> i32 {
            crate::call::driver($cbid, concat!(stringify!($name), "\0"), |$call| $body)
        }
    )*};
}

mod contexts;
mod devices;
mod graphs;
mod launches;
mod memories;
mod modules;
mod procs;
mod streams;
