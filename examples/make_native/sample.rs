//! The trace of a small program: twenty steps of training a little transformer in plain CUDA, one GPU, one stream.

use crate::Result;
use crate::random::Random;
use crate::recording::{BEGIN_NS, CALLS, Call, PID, Program, Recording};
use trace_format::tables::{ApiRow, KernelRow, MemcpyRow, MemsetRow, ShapeRow};

pub const PROGRAM: Program = Program {
    argv: &["./train", "--steps", "20"],
    device: "NVIDIA A100-SXM4-40GB",
    capability: (8, 0),
    multiprocessors: 108,
    memory_bytes: 42_298_834_944,
    devices: 1,
};

const STEPS: usize = 20;
const STREAM: u32 = 7;

/// A kernel: mangled name, demangled name, grid, block, registers, usual time in ns.
struct Kernel(&'static str, &'static str, [i64; 3], [i64; 3], i64, f64);

const GEMM: usize = 0;
const GEMM_BACK: usize = 1;
const NORM: usize = 2;
const SOFTMAX: usize = 3;
const GELU: usize = 4;
const LOSS: usize = 5;
const ADAM: usize = 6;

const KERNELS: [Kernel; 7] = [
    Kernel("ampere_sgemm_128x64_tn", "ampere_sgemm_128x64_tn", [12, 64, 1], [128, 1, 1], 122, 412_000.0),
    Kernel(
        "ampere_sgemm_64x32_sliced1x4_nt",
        "ampere_sgemm_64x32_sliced1x4_nt",
        [24, 24, 2],
        [128, 1, 1],
        86,
        508_000.0,
    ),
    Kernel(
        "_Z10layer_normIfEvPT_PKS0_S3_if",
        "void layer_norm<float>(float*, float const*, float const*, int, float)",
        [4_096, 1, 1],
        [256, 1, 1],
        32,
        38_000.0,
    ),
    Kernel(
        "_Z15softmax_forwardIfLi1024EEvPT_PKS0_i",
        "void softmax_forward<float, 1024>(float*, float const*, int)",
        [49_152, 1, 1],
        [128, 1, 1],
        40,
        187_000.0,
    ),
    Kernel(
        "_Z4geluIfEvPT_PKS0_i",
        "void gelu<float>(float*, float const*, int)",
        [12_288, 1, 1],
        [256, 1, 1],
        20,
        96_000.0,
    ),
    Kernel(
        "_Z13cross_entropyPfPKfPKii",
        "cross_entropy(float*, float const*, int const*, int)",
        [4_096, 1, 1],
        [1_024, 1, 1],
        28,
        61_000.0,
    ),
    Kernel(
        "_Z9adam_stepPfPKfS_S_if",
        "adam_step(float*, float const*, float*, float*, int, float)",
        [27_648, 1, 1],
        [256, 1, 1],
        30,
        274_000.0,
    ),
];

/// The kernels of one step, in order.
const STEP: [usize; 18] = [
    NORM, GEMM, SOFTMAX, GEMM, NORM, GEMM, GELU, GEMM, LOSS, GEMM_BACK, GEMM_BACK, GELU, GEMM_BACK, NORM,
    GEMM_BACK, SOFTMAX, GEMM_BACK, ADAM,
];

/// The program's one thread and its one stream.
struct Player<'a> {
    to: &'a mut Recording,
    random: Random,
    now_ns: i64,
    stream_free_ns: i64,
    correlation: u64,
}

impl Player<'_> {
    /// One API call of `length` ns; returns its end.
    fn call(&mut self, name: &str, length: i64) -> Result<i64> {
        let Some(call) = CALLS.iter().find(|c| c.plain_name() == name) else { return Err(name.into()) };
        let &Call { domain, cbid, name: full } = call;
        self.correlation += 1;
        let name_id = self.to.name(full.as_bytes());
        let (start_ns, duration_ns) = (self.now_ns, Some(length));
        let (tid, correlation, result) = (PID, self.correlation, Some(0));
        self.to.call(ApiRow { start_ns, duration_ns, domain, cbid, name_id, tid, correlation, result })?;
        if let Some(lines) = &mut self.to.lines {
            let id = lines.id("api", name);
            lines.add(id, length);
        }
        self.now_ns += length + self.random.log_normal(1_500.0, 0.3) as i64;
        Ok(start_ns + length)
    }

    /// When work of this length runs that was launched at `launched_ns`.
    fn run(&mut self, launched_ns: i64, length: i64) -> i64 {
        let ready_ns = launched_ns + self.random.log_normal(2_200.0, 0.2) as i64;
        let start_ns = ready_ns.max(self.stream_free_ns + 800);
        self.stream_free_ns = start_ns + length;
        start_ns
    }

    fn kernel(&mut self, k: usize) -> Result {
        let length = self.random.log_normal(4_300.0, 0.3) as i64;
        let launched_ns = self.call("cudaLaunchKernel", length)?;
        let Kernel(mangled, demangled, grid, block, registers, usual) = &KERNELS[k];
        let length = self.random.log_normal(*usual, 0.03) as i64 / 32 * 32;
        let start_ns = self.run(launched_ns, length);
        let shape_id = {
            let name_id = self.to.name(mangled.as_bytes());
            let ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]) = (grid.map(Some), block.map(Some));
            let (registers, static_smem_bytes, dynamic_smem_bytes) = (Some(*registers), Some(0), Some(0));
            let sizes = ShapeRow { grid_x, grid_y, grid_z, block_x, block_y, block_z, ..Default::default() };
            self.to.shape(ShapeRow { name_id, registers, static_smem_bytes, dynamic_smem_bytes, ..sizes })
        };
        let (duration_ns, correlation) = (Some(length), self.correlation);
        self.to.kernel(KernelRow {
            start_ns,
            duration_ns,
            shape_id,
            context: 1,
            stream: STREAM,
            correlation,
            ..Default::default()
        })?;
        if let Some(lines) = &mut self.to.lines {
            let id = lines.id("kernel", demangled);
            lines.add(id, length);
        }
        Ok(())
    }

    fn copy(&mut self, to_device: bool, bytes: i64) -> Result {
        // A copy from pageable memory returns when it is done, one to it too.
        let length = (900.0 + self.random.log_normal(bytes as f64 / 11.0, 0.02)) as i64;
        let correlation = self.correlation + 1;
        let begin_ns = self.now_ns + 2_000;
        let start_ns = self.run(begin_ns, length);
        let waited = start_ns + length - self.now_ns + 1_800;
        self.call("cudaMemcpy", waited)?;
        let (kind, src_kind, dst_kind) = if to_device { (1, 1, 3) } else { (2, 3, 1) };
        let duration_ns = Some(length);
        self.to.copy(MemcpyRow {
            start_ns,
            duration_ns,
            kind,
            src_kind,
            dst_kind,
            bytes,
            context: 1,
            stream: STREAM,
            correlation,
            ..Default::default()
        })
    }

    fn fill(&mut self, bytes: i64) -> Result {
        let length = self.random.log_normal(3_900.0, 0.3) as i64;
        let launched_ns = self.call("cudaMemsetAsync", length)?;
        let length = (900.0 + self.random.log_normal(bytes as f64 / 1_250.0, 0.01)) as i64;
        let start_ns = self.run(launched_ns, length);
        let (duration_ns, correlation) = (Some(length), self.correlation);
        self.to.fill(MemsetRow {
            start_ns,
            duration_ns,
            bytes,
            mem_kind: 3,
            context: 1,
            stream: STREAM,
            correlation,
            ..Default::default()
        })
    }
}

/// Records the whole program.
pub fn play(to: &mut Recording) -> Result {
    let mut player = Player { to, random: Random(7), now_ns: BEGIN_NS, stream_free_ns: 0, correlation: 0 };
    for (i, length) in [71_430_000, 214_000, 187_000, 402_000].into_iter().enumerate() {
        // The first allocation creates the context.
        player.call("cudaMalloc", length + i as i64)?;
    }
    player.copy(true, 113_246_208)?;
    for _ in 0..STEPS {
        player.copy(true, 33_554_432)?;
        player.fill(113_246_208)?;
        for kernel in STEP {
            player.kernel(kernel)?;
        }
        let waiting = (player.stream_free_ns - player.now_ns).max(0) + 2_400;
        player.call("cudaStreamSynchronize", waiting)?;
        player.copy(false, 4)?;
    }
    for length in [231_000, 198_000, 176_000, 388_000] {
        player.call("cudaFree", length)?;
    }
    Ok(())
}
