//! A training job of any length, one record after the other, so that 100 M of them take no memory.
//!
//! The mix is the one of the benchmark's Python generator: 52 % API calls (40 names), 40 % kernels (200 names unless told
//! otherwise, a few
//! of them far more often than the rest), 6 % copies, 2 % fills, 8 streams, one thread per device. Every GPU record
//! has one launching call with its correlation id; work of one stream never overlaps, streams do. Each kernel has
//! few launch shapes: real programs repeat theirs, and the file format relies on it. Programs whose sizes follow their
//! input have many more, so their number can be chosen.

use crate::Result;
use crate::random::{Random, Weights};
use crate::recording::{BEGIN_NS, CALLS, PID, Recording};
use trace_format::tables::{ApiRow, KernelRow, MemcpyRow, MemsetRow, ShapeRow};

const STREAMS: [u32; 8] = [7, 13, 14, 15, 20, 24, 28, 32];
/// Percent of work on each stream.
const STREAM_WEIGHTS: [u64; 8] = [55, 12, 10, 8, 6, 4, 3, 2];

/// What a call launches, in 52nds of all calls.
#[derive(Clone, Copy)]
enum Launch {
    Kernel,
    Copy,
    Fill,
    Nothing,
}

const LAUNCHES: [(Launch, u64); 4] =
    [(Launch::Kernel, 40), (Launch::Copy, 6), (Launch::Fill, 2), (Launch::Nothing, 4)];

struct Kernel {
    shapes: Vec<u32>,
    median_ns: f64,
    line: usize,
}

/// One GPU and the thread that drives it.
struct Device {
    now_ns: i64,
    stream_free_ns: [i64; STREAMS.len()],
}

/// The kernel's mangled and demangled name.
fn kernel_name(i: u64) -> (String, String) {
    const OPS: [&str; 10] =
        ["add", "mul", "silu", "gelu", "softmax", "layer_norm", "dropout", "copy", "fill", "exp"];
    let op = OPS[(i * 7 % 10) as usize];
    let nested = |name: &str| format!("{}{name}", name.len());
    let plain = |name: String| (name.clone(), name);
    match i % 6 {
        0 => {
            let (name, width) = (format!("{op}_kernel_{i}"), if i.is_multiple_of(4) { 4 } else { 8 });
            (
                format!("_ZN2at6native{}ILi{width}EEEviPf", nested(&name)),
                format!("void at::native::{name}<{width}>(int, float*)"),
            )
        }
        1 => plain(format!(
            "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize{}x128x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas_{i}",
            64 << (i % 3)
        )),
        2 => plain(format!("triton_red_fused_{op}_{}_{i}", OPS[(i * 3 % 10) as usize])),
        3 => {
            let name = format!("ncclDevKernel_AllReduce_Sum_bf16_RING_LL_{i}");
            (
                format!("_Z{}24ncclDevKernelArgsStorageILm4096EE", nested(&name)),
                format!("{name}(ncclDevKernelArgsStorage<4096ul>)"),
            )
        }
        4 => {
            let name = format!("cutlass_80_tensorop_bf16_s16816gemm_relu_128x{}_32x{}_nn_align8", 64 << (i % 3), i);
            (
                format!("_ZN7cutlass7Kernel2I{}EEvNT_6ParamsE", nested(&name)),
                format!("void cutlass::Kernel2<{name}>({name}::Params)"),
            )
        }
        _ => {
            let name = format!("flash_fwd_kernel_{i}");
            (
                format!("_Z{}ILi{}ELi128EEvPfPKfS1_S1_i", nested(&name), 64 << (i % 2)),
                format!(
                    "void {name}<{}, 128>(float*, float const*, float const*, float const*, int)",
                    64 << (i % 2)
                ),
            )
        }
    }
}

fn make_kernels(to: &mut Recording, random: &mut Random, names: u64, shapes: u32) -> Vec<Kernel> {
    let mut kernels = Vec::new();
    for i in 0..names {
        let (mangled, demangled) = kernel_name(i);
        let name_id = to.name(mangled.as_bytes());
        let row = ShapeRow {
            name_id,
            grid_z: Some(1),
            block_x: Some(random.pick(&[32, 64, 128, 256, 384, 512, 1_024])),
            block_y: Some(1),
            block_z: Some(1),
            registers: Some(random.pick(&[16, 24, 32, 40, 64, 90, 128, 168, 255])),
            static_smem_bytes: Some(random.pick(&[0, 0, 0, 512, 1_024, 4_096, 16_384])),
            dynamic_smem_bytes: Some(random.pick(&[0, 0, 0, 0, 32_768, 65_536, 101_376, 213_000])),
            local_mem_per_thread_bytes: Some(0),
            ..Default::default()
        };
        let grids =
            (0..shapes.max(1)).map(|_| (random.below(4_095), random.below(if shapes > 64 { 64 } else { 1 })));
        let sized = |(x, y)| ShapeRow { grid_x: Some(1 + x as i64), grid_y: Some(1 + y as i64), ..row.clone() };
        let shapes = grids.map(sized).map(|row| to.shape(row)).collect();
        let line = to.lines.as_mut().map_or(0, |lines| lines.id("kernel", &demangled));
        kernels.push(Kernel { shapes, median_ns: random.log_normal(5_200.0, 1.0), line });
    }
    kernels
}

/// Records exactly `records` records, of kernels of so many names with `shapes` launch shapes each.
pub fn play(to: &mut Recording, records: u64, seed: u64, kernel_names: u64, shapes: u32) -> Result {
    let mut random = Random(seed ^ 0x5eed);
    let random = &mut random;
    let kernels = make_kernels(to, random, kernel_names, shapes);
    let names = CALLS.map(|call| to.name(call.name.as_bytes()));
    let call_lines = CALLS.map(|call| to.lines.as_mut().map_or(0, |lines| lines.id("api", call.plain_name())));
    let popularity = Weights::zipf(kernel_names);
    let others = Weights::zipf(34);
    let streams = Weights::new(STREAM_WEIGHTS);
    let launches = Weights::new(LAUNCHES.map(|(_, weight)| weight));
    let device = || Device { now_ns: BEGIN_NS, stream_free_ns: [0; STREAMS.len()] };
    let mut devices: Vec<Device> = (0..to.devices()).map(|_| device()).collect();
    let (mut written, mut correlation) = (0, 0);
    while written < records {
        // The thread that is behind calls next, so that calls come in order of their start.
        let Some(d) = (0..devices.len()).min_by_key(|&d| devices[d].now_ns) else { break };
        let launch = if written + 1 == records { Launch::Nothing } else { LAUNCHES[launches.pick(random)].0 };
        let call = match (launch, random.below(100)) {
            (Launch::Kernel, 0..80) => 0,
            (Launch::Kernel, 80..93) => 1,
            (Launch::Kernel, _) => 2,
            (Launch::Copy, 0..85) => 3,
            (Launch::Copy, _) => 4,
            (Launch::Fill, _) => 5,
            (Launch::Nothing, _) => 6 + others.pick(random),
        };
        let length = match call {
            6 | 7 | 10 => random.log_normal(180_000.0, 1.1),
            14 | 15 | 18 | 30 => random.log_normal(60_000.0, 1.3),
            _ => random.log_normal(4_200.0, 0.55).max(90.0),
        } as i64;
        let start_ns = devices[d].now_ns;
        let end_ns = start_ns + length;
        devices[d].now_ns = end_ns + random.log_normal(2_500.0, 0.8) as i64;
        correlation += 1;
        to.call(ApiRow {
            start_ns,
            duration_ns: Some(length),
            domain: CALLS[call].domain,
            cbid: CALLS[call].cbid,
            name_id: names[call],
            tid: PID + d as u32,
            correlation,
            result: Some(0),
        })?;
        if let Some(lines) = &mut to.lines {
            lines.add(call_lines[call], length);
        }
        written += 1;
        if matches!(launch, Launch::Nothing) {
            continue;
        }
        written += 1;
        let s = streams.pick(random);
        let (device, context, stream) = (d as u32, d as u32 + 1, STREAMS[s]);
        let ready_ns = end_ns + random.log_normal(1_800.0, 0.4) as i64;
        let start_ns = ready_ns.max(devices[d].stream_free_ns[s]);
        let duration = match launch {
            Launch::Kernel => {
                let kernel = &kernels[popularity.pick(random)];
                // The GPU's clock ticks every 32 ns.
                let duration = random.log_normal(kernel.median_ns, 0.12) as i64 / 32 * 32 + 960;
                let shape_id = random.pick(&kernel.shapes);
                let duration_ns = Some(duration);
                to.kernel(KernelRow {
                    start_ns,
                    duration_ns,
                    shape_id,
                    device,
                    context,
                    stream,
                    correlation,
                    ..Default::default()
                })?;
                if let Some(lines) = &mut to.lines {
                    lines.add(kernel.line, duration);
                }
                duration
            }
            Launch::Copy => {
                // To the device, from it, within it: kind, memory kinds, bytes per ns.
                let (kind, src_kind, dst_kind, speed) =
                    random.pick(&[(1, 1, 3, 24), (1, 1, 3, 24), (2, 3, 1, 24), (2, 3, 1, 24), (8, 3, 3, 1_200)]);
                let bytes = bytes(random);
                let duration = 900 + bytes / speed;
                let duration_ns = Some(duration);
                to.copy(MemcpyRow {
                    start_ns,
                    duration_ns,
                    kind,
                    src_kind,
                    dst_kind,
                    bytes,
                    device,
                    context,
                    stream,
                    correlation,
                    ..Default::default()
                })?;
                duration
            }
            _ => {
                let bytes = bytes(random) / 16;
                let duration = 800 + bytes / 1_500;
                let duration_ns = Some(duration);
                to.fill(MemsetRow {
                    start_ns,
                    duration_ns,
                    mem_kind: 3,
                    bytes,
                    device,
                    context,
                    stream,
                    correlation,
                    ..Default::default()
                })?;
                duration
            }
        };
        devices[d].stream_free_ns[s] = start_ns + duration;
    }
    Ok(())
}

/// From four bytes to 64 MiB, small sizes as likely as large ones.
fn bytes(random: &mut Random) -> i64 {
    let magnitude = 2 + random.below(24);
    ((1 << magnitude) + random.below(1 << magnitude)) as i64
}
