//! The smallest CUDA program that is worth profiling: two copies in, a fill, one kernel, one copy out.
//!
//! ```console
//! $ cargo build --example 01_vector_add
//! $ gpuprof record -- target/debug/examples/01_vector_add
//! $ gpuprof report
//! ```
//!
//! or by hand: `LD_PRELOAD=$(gpuprof preload-path) target/debug/examples/01_vector_add`. The last line of its output is what
//! the trace has to hold.

#![allow(unsafe_code, reason = "launching a kernel is unsafe by its nature")]

#[path = "support/cuda.rs"]
mod support;

use cudarc::driver::CudaContext;
use std::process::ExitCode;
use std::sync::Arc;
use support::{Answer, Arg, Kernel, address};

/// c[i] = a[i] + b[i], as the driver compiles it for the GPU at hand. No nvcc was needed.
const VECTOR_ADD: &str = r"
.version 6.4
.target sm_52
.address_size 64

.visible .entry vector_add(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n)
{
    .reg .pred %p<2>;
    .reg .f32 %f<4>;
    .reg .b32 %r<6>;
    .reg .b64 %rd<11>;
    ld.param.u64 %rd1, [a];
    ld.param.u64 %rd2, [b];
    ld.param.u64 %rd3, [c];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.s32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %p1, %r5, %r1;
    @%p1 bra DONE;
    cvta.to.global.u64 %rd4, %rd1;
    cvta.to.global.u64 %rd5, %rd2;
    cvta.to.global.u64 %rd6, %rd3;
    mul.wide.u32 %rd7, %r5, 4;
    add.s64 %rd8, %rd4, %rd7;
    add.s64 %rd9, %rd5, %rd7;
    add.s64 %rd10, %rd6, %rd7;
    ld.global.f32 %f1, [%rd8];
    ld.global.f32 %f2, [%rd9];
    add.f32 %f3, %f1, %f2;
    st.global.f32 [%rd10], %f3;
DONE:
    ret;
}
";

fn main() -> ExitCode {
    support::on_first_gpu(vector_add)
}

fn vector_add(gpu: &Arc<CudaContext>) -> Answer {
    let n: u32 = 10_000;
    let a: Vec<f32> = (0..n).map(|i| i as f32).collect();
    let b: Vec<f32> = (0..n).map(|i| 2.0 * i as f32).collect();

    let stream = gpu.default_stream();
    let kernel = Kernel::load(gpu, VECTOR_ADD, "vector_add")?;
    let (on_gpu_a, on_gpu_b) = (stream.clone_htod(&a)?, stream.clone_htod(&b)?);
    let on_gpu_c = stream.alloc_zeros::<f32>(a.len())?;
    let args = [address(&on_gpu_a, &stream), address(&on_gpu_b, &stream), address(&on_gpu_c, &stream), Arg::U32(n)];
    // SAFETY: three arrays of `n` floats that live to the end of this function, and their length.
    unsafe { kernel.launch(&stream, n, &args)? };
    let c = stream.clone_dtoh(&on_gpu_c)?;
    stream.synchronize()?;

    let wrong = a.iter().zip(&b).zip(&c).filter(|((a, b), c)| *a + *b != **c).count();
    if wrong > 0 {
        return Err(format!("{wrong} of {n} sums are wrong").into());
    }
    println!("{n} sums on {}: all right", gpu.name()?);
    println!("{{\"kernels\":1,\"copies\":3,\"fills\":1}}");
    Ok(())
}
