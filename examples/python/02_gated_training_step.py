"""The classic recipe: profile one training step out of many, by cudaProfilerStart and cudaProfilerStop around it.

    $ gpuprof record --capture profiler-api -- python examples/python/02_gated_training_step.py
    $ gpuprof report

or by hand: LD_PRELOAD=$(gpuprof preload-path) GPUPROF_CAPTURE=profiler-api python …. Needs nothing but Python and a GPU: the
"training" is three kernels in PTX, started through ctypes. With --torch it is a real step of PyTorch. The last line of the
output is what the trace has to hold.
"""

import ctypes
import json
import sys
from ctypes import byref, c_float, c_int, c_size_t, c_uint, c_void_p

STEPS, PROFILED, WEIGHTS = 10, 6, 4096

PTX = rb"""
.version 6.4
.target sm_52
.address_size 64
.visible .entry axpy(.param .f32 a, .param .u64 x, .param .u64 y, .param .u32 n)
{
    .reg .pred %p<2>; .reg .f32 %f<4>; .reg .b32 %r<6>; .reg .b64 %rd<8>;
    ld.param.f32 %f1, [a]; ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y]; ld.param.u32 %r1, [n];
    mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x; mad.lo.s32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %p1, %r5, %r1; @%p1 bra DONE;
    cvta.to.global.u64 %rd3, %rd1; cvta.to.global.u64 %rd4, %rd2; mul.wide.u32 %rd5, %r5, 4;
    add.s64 %rd6, %rd3, %rd5; add.s64 %rd7, %rd4, %rd5;
    ld.global.f32 %f2, [%rd6]; ld.global.f32 %f3, [%rd7]; fma.rn.f32 %f3, %f1, %f2, %f3; st.global.f32 [%rd7], %f3;
DONE:
    ret;
}
"""


def library(*names):
    """The first of `names` that the loader finds."""
    for name in names:
        try:
            return ctypes.CDLL(name)
        except OSError:
            pass
    return None


def profiler():
    """cudaProfilerStart and Stop: of the CUDA runtime that is loaded or found, else the driver's own, which they call."""
    loaded = [line.split()[-1] for line in open("/proc/self/maps") if "libcudart.so" in line]
    runtime = library(*loaded[:1], "libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0", "libcudart.so")
    if runtime:
        return runtime.cudaProfilerStart, runtime.cudaProfilerStop
    driver = library("libcuda.so.1")
    return driver.cuProfilerStart, driver.cuProfilerStop


def plain():
    """Steps of three kernels and a copy on the driver API; returns what is inside the window."""
    cuda = library("libcuda.so.1")
    if cuda is None:
        print("no CUDA driver here: libcuda.so.1 was not found, so there is nothing to profile", file=sys.stderr)
        sys.exit(77)

    def ok(status, what):
        if status:
            sys.exit(f"{what} failed with CUDA error {status}")

    if cuda.cuInit(0):
        print("the CUDA driver is here, but no GPU that it can use", file=sys.stderr)
        sys.exit(77)
    device, context, module, axpy = c_int(), c_void_p(), c_void_p(), c_void_p()
    ok(cuda.cuDeviceGet(byref(device), 0), "cuDeviceGet")
    ok(cuda.cuDevicePrimaryCtxRetain(byref(context), device), "cuDevicePrimaryCtxRetain")
    ok(cuda.cuCtxSetCurrent(context), "cuCtxSetCurrent")
    ok(cuda.cuModuleLoadData(byref(module), PTX), "cuModuleLoadData")
    ok(cuda.cuModuleGetFunction(byref(axpy), module, b"axpy"), "cuModuleGetFunction")
    weights, data = c_void_p(), c_void_p()
    for pointer in (weights, data):
        ok(cuda.cuMemAlloc_v2(byref(pointer), c_size_t(4 * WEIGHTS)), "cuMemAlloc")
        ok(cuda.cuMemsetD8_v2(pointer, 0, c_size_t(4 * WEIGHTS)), "cuMemsetD8")
    batch = (c_float * WEIGHTS)(*[1.0] * WEIGHTS)

    def launch(factor, x, y):
        """y = factor x + y"""
        values = [c_float(factor), x, y, c_uint(WEIGHTS)]
        pointers = (c_void_p * 4)(*[ctypes.addressof(v) for v in values])
        ok(cuda.cuLaunchKernel(axpy, WEIGHTS // 256, 1, 1, 256, 1, 1, 0, None, pointers, None), "cuLaunchKernel")

    def step():
        ok(cuda.cuMemcpyHtoD_v2(data, batch, c_size_t(4 * WEIGHTS)), "cuMemcpyHtoD")
        launch(-1.0, weights, data)  # what is missing
        launch(0.25, data, weights)  # a quarter of it, twice
        launch(0.25, data, weights)

    start, stop = profiler()
    for number in range(STEPS):
        if number == PROFILED:
            start()
        step()
        if number == PROFILED:
            stop()  # without waiting: kernels that still run belong to the window
    ok(cuda.cuCtxSynchronize(), "cuCtxSynchronize")
    ok(cuda.cuMemcpyDtoH_v2(batch, weights, c_size_t(4 * WEIGHTS)), "cuMemcpyDtoH")
    expected = 1.0 - 0.5**STEPS
    if abs(batch[0] - expected) > 1e-5 or abs(batch[WEIGHTS - 1] - expected) > 1e-5:
        sys.exit(f"weights should be {expected}, the first is {batch[0]}")
    return {"kernels": 3, "copies": 1, "kernels_total": 3 * STEPS}


def with_torch():
    """The same window around a step of PyTorch; how many kernels that is depends on its version."""
    import torch

    model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10)).cuda()
    optimiser = torch.optim.SGD(model.parameters(), 1e-2)
    inputs, labels = torch.randn(64, 256, device="cuda"), torch.randint(10, (64,), device="cuda")
    start, stop = profiler()
    for number in range(STEPS):
        if number == PROFILED:
            start()
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(model(inputs), labels).backward()
        optimiser.step()
        if number == PROFILED:
            stop()
    torch.cuda.synchronize()
    return {"steps_inside": 1}


print(f"{STEPS} steps, step {PROFILED} between Start and Stop", flush=True)
print(json.dumps(with_torch() if "--torch" in sys.argv else plain()))
