//! Starting a program under the collector, and staying out of its way until it ends.
//!
//! [`shim`] finds or unpacks `libgpuprof.so`; [`environment`] makes the variables through which it gets into every
//! process; [`folder`] makes the place where traces go; [`supervise`] runs the program as if nobody stood between it
//! and whoever started us; [`program`] says beforehand what would keep the collector out; [`companion`] is what the
//! launcher itself measures and writes meanwhile, [`sampling`] of the program's stacks.

pub mod companion;
pub(crate) mod environment;
pub(crate) mod folder;
pub(crate) mod program;
pub(crate) mod samples;
pub(crate) mod sampling;
pub(crate) mod shim;
mod start;
pub(crate) mod supervise;
mod witness;
