//! What happens in a process before `main`, in programs that may have nothing to do with CUDA: the state that a program may
//! change later is taken down, and the variables are set through which the driver and NVTX find the collector.
//!
//! Two libraries do that: `libgpuprof_preload.so`, the door, which is all that most processes ever map, and the collector
//! itself where it is preloaded. The door keeps what it took for the collector ([`Door`]).
//!
//! Every process below a preloaded one pays for it. So nothing here is formatted, may panic, or takes memory from an
//! allocator, and no table has addresses in it: each would be work for the loader, a page copied, or the whole of the
//! standard library's reports of panics linked into the door.

#![no_std]
#![allow(unsafe_code, reason = "reads what the kernel left on the stack, and calls the C library")]

mod environment;
mod memory;
mod state;

pub use environment::{Variables, entries, file_name, is_preloaded, list, set};
pub use memory::Block;
pub use state::{AtLoad, Bytes, DOOR, Door, door, identity, is_privileged, processors, realtime_ns};
