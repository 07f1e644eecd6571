//! The functions that programs end up in when they call NVTX. Each lets the other library go first where there is
//! one, so that its time is outside our ranges, and answers with what that one answered.

mod core;
mod domain;
mod objects;

use std::ffi::c_void;

use super::abi::Module;

/// A function of ours, to be put into a slot.
#[derive(Clone, Copy)]
pub struct Function(pub *const c_void);

// SAFETY: the address of a function.
unsafe impl Sync for Function {}

/// Our functions for a module, each with its slot.
pub fn of(module: Module) -> &'static [(usize, Function)] {
    match module {
        Module::Core => core::FUNCTIONS,
        Module::Core2 => domain::FUNCTIONS,
        Module::Cuda => objects::CUDA,
        Module::Cudart => objects::CUDART,
    }
}

/// Calls the other library's function for a slot, if it has one; `Option` of its answer.
macro_rules! forward {
    ($module:ident, $slot:expr, $ty:ty, ($($argument:expr),*)) => {{
        let theirs = $crate::nvtx::chain::theirs($crate::nvtx::abi::Module::$module, $slot);
        if theirs.is_null() {
            None
        } else {
            // SAFETY: it was found in the slot of this function, so it has this signature, and it gets the
            // program's own arguments.
            Some(unsafe { (std::mem::transmute::<*mut std::ffi::c_void, $ty>(theirs))($($argument),*) })
        }
    }};
}
use forward;
