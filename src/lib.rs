//! gpuprof: where did the GPU time go.

pub mod error;
pub mod import;
pub mod trace;
