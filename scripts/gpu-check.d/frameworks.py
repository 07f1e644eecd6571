"""frameworks.py NAME: a little work in one framework, with kernel counts known by construction; prints one JSON line.

`counts` in the answer: how often a kernel whose name contains the key has to be in the trace.
"""

import json
import multiprocessing
import os
import sys
import time


def say(**answer):
    print(json.dumps(answer), flush=True)


def ticks(launches):
    """`launches` launches of a kernel of our own, compiled by NVRTC through CuPy."""
    import cupy

    tick = cupy.RawKernel(r'extern "C" __global__ void tick(float* p) { p[threadIdx.x] += 1.0f; }', "tick")
    data = cupy.zeros(64, cupy.float32)
    for _ in range(launches):
        tick((1,), (64,), (data,))
    cupy.cuda.Device().synchronize()
    assert float(data[0]) == launches, data[0]
    return cupy.__version__


def run_cupy():
    say(counts={"tick": 50}, version=ticks(50))


def run_os_exit():
    say(counts={"tick": 30}, version=ticks(30))
    time.sleep(1.5)
    os._exit(4)


def run_exception():
    say(counts={"tick": 30}, version=ticks(30))
    raise RuntimeError("meant to fail")


def run_spawn():
    """A parent without CUDA and two spawned children: two traces."""
    context = multiprocessing.get_context("spawn")
    children = [context.Process(target=ticks, args=(10 * (i + 1),)) for i in range(2)]
    for child in children:
        child.start()
    for child in children:
        child.join()
    say(counts={"tick": 30}, traces=2, statuses=[c.exitcode for c in children])


def run_triton():
    import torch
    import triton
    import triton.language as tl

    @triton.jit
    def add_one(pointer, n, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(pointer + at, tl.load(pointer + at, mask=at < n) + 1, mask=at < n)

    data = torch.zeros(4096, device="cuda")
    for _ in range(40):
        add_one[(4,)](data, 4096, BLOCK=1024)
    torch.cuda.synchronize()
    assert float(data[0]) == 40
    say(counts={"add_one": 40}, version=triton.__version__)


def run_jax():
    import jax
    import jax.numpy as jnp

    step = jax.jit(lambda x: jnp.tanh(x @ x).sum())
    x = jnp.ones((512, 512))
    for _ in range(50):
        step(x).block_until_ready()
    say(kernels_at_least=100, version=jax.__version__)  # at least a product and a reduction for every call


def run_torch_graph():
    """A CUDA graph of 20 kernels captured before the gate opens; five replays inside, three outside."""
    import ctypes

    import torch

    mapped = [line.split()[-1] for line in open("/proc/self/maps") if "libcudart.so" in line]
    runtime = ctypes.CDLL(mapped[0]) if mapped else torch.cuda.cudart()
    data = torch.zeros(1024, device="cuda")
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            data.add_(1.0)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(20):
            data.add_(1.0)
    graph.replay()
    torch.cuda.synchronize()
    runtime.cudaProfilerStart()
    for _ in range(5):
        graph.replay()
    runtime.cudaProfilerStop()
    graph.replay()
    graph.replay()
    torch.cuda.synchronize()
    say(kernels=100, kernels_total=163, value=float(data[0]), version=torch.__version__)


if __name__ == "__main__":
    globals()["run_" + sys.argv[1]]()
