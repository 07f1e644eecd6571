//! Work that overlaps: four streams with copies both ways, then a captured graph replayed five times.
//!
//! ```console
//! $ cargo build --example 03_streams_and_graphs
//! $ gpuprof record -- target/debug/examples/03_streams_and_graphs
//! $ gpuprof report --group-by name,stream
//! ```
//!
//! Each node of each replay is a row of its own in the trace; all nodes of one replay carry the correlation of its
//! `cuGraphLaunch`, with the graph and the node beside it.

#![allow(unsafe_code, reason = "launching a kernel is unsafe by its nature")]

#[path = "support/cuda.rs"]
mod support;

use cudarc::driver::{CudaContext, sys};
use std::process::ExitCode;
use std::sync::Arc;
use support::{Answer, Arg, Kernel, PTX, address};

const STREAMS: usize = 4;
const LAUNCHES_PER_STREAM: usize = 3;
const NODES: usize = 10;
const REPLAYS: usize = 5;
const FLOATS: u32 = 1 << 16;

fn main() -> ExitCode {
    support::on_first_gpu(overlap)
}

fn overlap(gpu: &Arc<CudaContext>) -> Answer {
    // SAFETY: every buffer below is used on one stream only, the one that it was allocated on.
    unsafe { gpu.disable_event_tracking() };
    let scale = Kernel::load(gpu, PTX, "scale")?;
    let ones = vec![1.0_f32; FLOATS as usize];
    let (factor, n) = (Arg::F32(2.0), Arg::U32(FLOATS));

    let mut lanes = Vec::new();
    for _ in 0..STREAMS {
        let stream = gpu.new_stream()?;
        // SAFETY: written by the copy below before anybody reads it.
        let mut pinned = unsafe { gpu.alloc_pinned::<f32>(FLOATS as usize)? };
        pinned.as_mut_slice()?.copy_from_slice(&ones);
        // SAFETY: likewise.
        let buffer = unsafe { stream.alloc::<f32>(FLOATS as usize)? };
        lanes.push((stream, pinned, buffer));
    }
    for (stream, pinned, buffer) in &mut lanes {
        stream.memcpy_htod(&*pinned, buffer)?;
        for _ in 0..LAUNCHES_PER_STREAM {
            // SAFETY: FLOATS floats that outlive the synchronise below.
            unsafe { scale.launch(stream, FLOATS, &[factor, address(buffer, stream), n])? };
        }
        stream.memcpy_dtoh(&*buffer, pinned)?;
    }
    for (stream, pinned, _) in &lanes {
        stream.synchronize()?;
        let expected = 2.0_f32.powi(LAUNCHES_PER_STREAM as i32);
        if pinned.as_slice()?.iter().any(|value| *value != expected) {
            return Err(format!("a stream's numbers are not {expected}").into());
        }
    }

    let Some((stream, _, buffer)) = lanes.first_mut() else { return Ok(()) };
    let stream = Arc::clone(stream);
    let at = address(buffer, &stream);
    stream.begin_capture(sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)?;
    for _ in 0..NODES {
        // SAFETY: FLOATS floats that outlive the graph.
        unsafe { scale.launch(&stream, FLOATS, &[Arg::F32(1.0), at, n])? };
    }
    let flags = sys::CUgraphInstantiate_flags::CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;
    let graph = stream.end_capture(flags)?.ok_or("nothing was captured")?;
    for _ in 0..REPLAYS {
        graph.launch()?;
    }
    stream.synchronize()?;

    let kernels = STREAMS * LAUNCHES_PER_STREAM + NODES * REPLAYS;
    println!("{STREAMS} streams and {REPLAYS} replays of a graph of {NODES} nodes on {}", gpu.name()?);
    println!("{{\"kernels\":{kernels},\"copies\":{},\"streams\":{STREAMS}}}", 2 * STREAMS);
    Ok(())
}
