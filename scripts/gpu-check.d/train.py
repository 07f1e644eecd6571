"""train.py MODE [FROM TO]: 30 ($TRAIN_STEPS) steps of a small transformer on one GPU; prints one JSON line.

Seeded, so that kernels per step are the same in every mode. Modes: `bare`; `gate` calls cudaProfilerStart before step FROM
and Stop after step TO - 1 through ctypes, as people did with nvprof; `sync-gate` waits for the GPU before both, so that
exactly the same work is inside as `kineto` sees; `kineto` is torch.profiler (counts and times by kernel name); `proton` is
Triton's profiler; `blocks` first does TRAIN_BLOCKS blocks of 20 steps with the launcher awake and stopped in turns. Ranges of NVTX: `step N` around `forward` and `backward`, warm-up steps included.
"""

import ctypes
import json
import os
import sys
import time
import warnings

warnings.filterwarnings("ignore")
import torch
from torch import nn

WARM, STEPS = 5, int(os.environ.get("TRAIN_STEPS", "30"))
mode = sys.argv[1] if len(sys.argv) > 1 else "bare"
first, last = (int(sys.argv[2]), int(sys.argv[3])) if len(sys.argv) > 3 else (0, STEPS)
torch.manual_seed(0)


class Block(nn.Module):
    def __init__(self, width=256, heads=4):
        super().__init__()
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.feed = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        y = self.before(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        return x + self.feed(self.between(x))


def cudart():
    """The runtime that torch itself loaded, through ctypes; a second copy would be another library."""
    for line in open("/proc/self/maps"):
        if "libcudart.so" in line:
            return ctypes.CDLL(line.split()[-1])
    return torch.cuda.cudart()


net = nn.Sequential(*[Block() for _ in range(6)]).cuda()
optimiser = torch.optim.AdamW(net.parameters(), 1e-3, foreach=False)
data = torch.randn(64, 8, 128, 256).pin_memory()


def step(number):
    torch.cuda.nvtx.range_push(f"step {number}")
    x = data[number % 64].cuda(non_blocking=True)
    optimiser.zero_grad(set_to_none=True)
    torch.cuda.nvtx.range_push("forward")
    loss = (net(x) - x).square().mean()
    torch.cuda.nvtx.range_pop()
    torch.cuda.nvtx.range_push("backward")
    loss.backward()
    torch.cuda.nvtx.range_pop()
    optimiser.step()
    torch.cuda.nvtx.range_pop()
    return loss


for number in range(WARM):
    step(-1 - number)
torch.cuda.synchronize()
gated, runtime, profiler = mode in ("gate", "sync-gate"), None, None
if gated:
    runtime = cudart()
elif mode == "kineto":
    from torch.profiler import ProfilerActivity, profile

    profiler = profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])
    profiler.__enter__()
elif mode == "proton":
    import triton.profiler as proton

    proton.start("/tmp/gpu-check-proton", hook=None)
elif mode == "blocks":
    import blocks

    def block():
        """Milliseconds a step, the GPU's part included."""
        at = time.perf_counter()
        for number in range(20):
            step(number)
        torch.cuda.synchronize()
        return (time.perf_counter() - at) * 1e3 / 20

    in_blocks = blocks.alternate(block, int(os.environ.get("TRAIN_BLOCKS", "16")))
began, per_step = time.perf_counter(), []
for number in range(STEPS):
    if gated and number == first:
        if mode == "sync-gate":
            torch.cuda.synchronize()
        runtime.cudaProfilerStart()
    at = time.perf_counter()
    loss = step(number)
    per_step.append(time.perf_counter() - at)
    if gated and number == last - 1:
        if mode == "sync-gate":
            torch.cuda.synchronize()
        runtime.cudaProfilerStop()
torch.cuda.synchronize()
wall_s = time.perf_counter() - began
names, stop_s = {}, None
if profiler:
    # Before the loss is read, which is a copy that the gate does not see.
    at = time.perf_counter()
    profiler.__exit__(None, None, None)
    # Raw events: prof.events() builds a Python object per CPU operation, tens of seconds here.
    for event in profiler.profiler.kineto_results.events():
        if str(event.device_type()).endswith("CUDA"):
            entry = names.setdefault(event.name(), [0, 0])
            entry[0] += 1
            entry[1] += event.duration_ns() if hasattr(event, "duration_ns") else event.duration_us() * 1000
    stop_s = round(time.perf_counter() - at, 3)
elif mode == "proton":
    proton.finalize()
answer = {
    "work": "train", "mode": mode, "steps": STEPS, "warm": WARM, "ms_per_step": round(wall_s * 1e3 / STEPS, 4),
    "host_ms_median": round(sorted(per_step)[STEPS // 2] * 1e3, 4), "loss": round(float(loss.detach()), 6),
    "free_mib": torch.cuda.mem_get_info()[0] >> 20,
}
if mode == "blocks":
    answer["blocks"] = in_blocks
if profiler:
    answer.update(names=names, stop_s=stop_s)
print(json.dumps(answer))
