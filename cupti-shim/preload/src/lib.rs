//! `libgpuprof_preload.so`, the door: what is preloaded into every process, so that those that never call CUDA need not
//! map the collector, whose relocations alone cost more than all that is done here (decision 025).
//!
//! ```text
//! load    before main: takes down what the collector will want to know, and names it to the driver and to NVTX
//! behind  the collector beside this file, mapped when a setting wants something done before main, or when somebody
//!         asks the door itself: a driver or NVTX that were given its path, an OpenACC or OpenMP runtime
//! dl      dlopen and dlsym, wherever this C library has them
//! ```
//!
//! Nothing here may panic, format or allocate: that would link a good part of the standard library (`tests/shim_contract.rs`
//! looks at the file's size and at its relocations).

#![allow(unsafe_code, reason = "all of it is at the border to the loader and the C library")]

mod behind;
mod dl;
mod load;
