//! Stand-in for libcuda (SIMULATOR: nothing here touches a GPU): contexts, streams, engines on a virtual clock, memory
//! that is host memory, graphs, and the injection of tools by `CUDA_INJECTION64_PATH`. See `tests/sim/README.md`.
#![allow(unsafe_code, reason = "a C library by its nature: handles are pointers, callers are C")]
#![allow(unsafe_op_in_unsafe_fn, reason = "every exported function is unsafe as a whole; its contract is CUDA's")]
#![allow(non_snake_case, reason = "the driver's own names")]
#![allow(missing_docs, reason = "the driver's functions are documented by NVIDIA")]
#![allow(dead_code, reason = "shared files hold what the other crates need")]

#[path = "../../shared/abi.rs"]
mod abi;
#[path = "../../shared/settings.rs"]
mod settings;

mod api;
mod burst;
mod call;
mod clock;
mod compute;
mod context;
mod device;
mod graph;
mod init;
mod launch;
mod memory;
mod module;
mod results;
mod stream;
mod tool;
