//! What the operating system offers and the standard library does not: each call once, as a safe function.
//!
//! What rustix has is called through it; the rest are calls that it lacks, which libc has as they are in C.
//!
//! Unsafe code stands elsewhere only where wrapping it would hide what makes it right: starting the program between
//! `fork` and `exec` ([`crate::launch`]), calling vendor libraries that were found at run time ([`crate::doctor`]), and
//! instructions of the processor.
#![allow(unsafe_code, reason = "system calls that std does not offer")]

pub mod allocator;
pub mod clock;
pub mod disk;
pub mod identity;
pub mod limits;
pub mod local_time;
pub mod memory;
pub mod process;
pub mod ptrace;
pub mod signals;
pub mod terminal;
