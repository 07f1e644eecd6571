//! The classic recipe: profile one training step out of many, by `cudaProfilerStart` and `cudaProfilerStop` around it.
//!
//! ```console
//! $ cargo build --example 02_gated_training_step
//! $ gpuprof record --capture profiler-api -- target/debug/examples/02_gated_training_step
//! $ gpuprof report
//! ```
//!
//! Nothing is recorded before Start or after Stop, and what was launched between them is recorded to its end even if it
//! still runs at Stop. `examples/python/02_gated_training_step.py` does the same with ctypes.

#![allow(unsafe_code, reason = "launching a kernel is unsafe by its nature")]

#[path = "support/cuda.rs"]
mod support;

use cudarc::driver::safe::{profiler_start, profiler_stop};
use cudarc::driver::{CudaContext, CudaSlice, CudaStream};
use std::process::ExitCode;
use std::sync::Arc;
use support::{Answer, Arg, Kernel, PTX, address};

const STEPS: u32 = 10;
const PROFILED: u32 = 6;
const WEIGHTS: u32 = 4096;
const KERNELS_PER_STEP: u32 = 3;

fn main() -> ExitCode {
    support::on_first_gpu(train)
}

/// One weight per input: `loss = sum (w - x)²`, so that the weights walk towards the data.
struct Model {
    weights: CudaSlice<f32>,
    gradient: CudaSlice<f32>,
    axpy: Kernel,
    scale: Kernel,
}

impl Model {
    fn step(&mut self, stream: &Arc<CudaStream>, batch: &[f32]) -> Answer {
        let n = Arg::U32(WEIGHTS);
        stream.memcpy_htod(batch, &mut self.gradient)?;
        let (weights, gradient) = (address(&self.weights, stream), address(&self.gradient, stream));
        // SAFETY: both arrays hold WEIGHTS floats and outlive the stream's work, which the caller waits for.
        unsafe {
            // gradient = x; gradient = -x; gradient = w - x; weights -= 0.5 gradient
            self.scale.launch(stream, WEIGHTS, &[Arg::F32(-1.0), gradient, n])?;
            self.axpy.launch(stream, WEIGHTS, &[Arg::F32(1.0), weights, gradient, n])?;
            self.axpy.launch(stream, WEIGHTS, &[Arg::F32(-0.5), gradient, weights, n])?;
        }
        Ok(())
    }
}

fn train(gpu: &Arc<CudaContext>) -> Answer {
    let stream = gpu.default_stream();
    let mut model = Model {
        weights: stream.alloc_zeros(WEIGHTS as usize)?,
        gradient: stream.alloc_zeros(WEIGHTS as usize)?,
        axpy: Kernel::load(gpu, PTX, "axpy")?,
        scale: Kernel::load(gpu, PTX, "scale")?,
    };
    let batch = vec![1.0_f32; WEIGHTS as usize];
    for step in 0..STEPS {
        if step == PROFILED {
            profiler_start()?;
        }
        model.step(&stream, &batch)?;
        if step == PROFILED {
            // Without waiting: the step's kernels may still run, and belong to the window all the same.
            profiler_stop()?;
        }
    }
    let weights = stream.clone_dtoh(&model.weights)?;
    stream.synchronize()?;

    // Every step halves the distance to 1.
    let expected = 1.0 - 0.5_f32.powi(STEPS as i32);
    if weights.iter().any(|weight| (weight - expected).abs() > 1e-5) {
        return Err(format!("weights should be {expected}, the first is {:?}", weights.first()).into());
    }
    println!("{STEPS} steps, step {PROFILED} between Start and Stop; weights are {expected}");
    println!("{{\"kernels\":{KERNELS_PER_STEP},\"copies\":1,\"kernels_total\":{}}}", KERNELS_PER_STEP * STEPS);
    Ok(())
}
