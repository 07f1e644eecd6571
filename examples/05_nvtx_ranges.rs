//! Names for what the program does: NVTX ranges, nested and free, marks and a library's own domain.
//!
//! ```console
//! $ cargo build --example 05_nvtx_ranges
//! $ gpuprof record -- target/debug/examples/05_nvtx_ranges
//! $ gpuprof report --view nvtx_sum        # or: gpuprof report --range compute
//! ```
//!
//! The calls go to whatever `NVTX_INJECTION64_PATH` names (`record` sets it; `LD_PRELOAD` makes the library set it itself).
//! `examples/python/05_nvtx_ranges.py` does the same with the `nvtx` package.

#![allow(unsafe_code, reason = "launching a kernel is unsafe by its nature")]

#[path = "support/cuda.rs"]
mod support;

use cudarc::driver::CudaContext;
use std::process::ExitCode;
use std::sync::Arc;
use support::nvtx::{self, Domain, Range};
use support::{Answer, Arg, Kernel, PTX, address};

const STEPS: u32 = 3;
const FLOATS: u32 = 4096;

fn main() -> ExitCode {
    support::on_first_gpu(annotated)
}

fn annotated(gpu: &Arc<CudaContext>) -> Answer {
    let stream = gpu.default_stream();
    let scale = Kernel::load(gpu, PTX, "scale")?;
    let library = Domain::new(c"my library");
    let whole = nvtx::start(c"the whole run");
    for step in 0..STEPS {
        let _step = Range::push(c"step");
        let buffer = {
            let _load = Range::push(c"load");
            stream.alloc_zeros::<f32>(FLOATS as usize)?
        };
        {
            let _compute = Range::push(c"compute");
            let _inside = library.push(c"scale", u64::from(step));
            // SAFETY: FLOATS floats that outlive the synchronise below.
            unsafe {
                scale.launch(&stream, FLOATS, &[Arg::F32(2.0), address(&buffer, &stream), Arg::U32(FLOATS)])?
            };
        }
        stream.synchronize()?;
    }
    nvtx::mark(c"done");
    nvtx::end(whole);

    // Per step: step, load, compute, and scale in the domain; then the whole run and the mark.
    let ranges = if nvtx::listening() { STEPS * 4 + 2 } else { 0 };
    if ranges == 0 {
        println!("nobody listens: NVTX_INJECTION64_PATH names no tool");
    }
    println!("{{\"kernels\":{STEPS},\"fills\":{STEPS},\"ranges\":{ranges}}}");
    Ok(())
}
