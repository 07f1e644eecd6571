"""Names for what the program does, with the nvtx package (`pip install nvtx`): ranges, marks, a domain.

    $ gpuprof record -- python examples/python/05_nvtx_ranges.py
    $ gpuprof report --view nvtx_sum

The calls go to whatever NVTX_INJECTION64_PATH names; `record` sets it. The last line of the output is what the trace has to
hold. The GPU's part is fills through ctypes.
"""

import ctypes
import json
import sys
from ctypes import byref, c_int, c_size_t, c_void_p

STEPS, BYTES = 3, 1 << 16

try:
    import nvtx
except ImportError:
    print("no nvtx package here: pip install nvtx", file=sys.stderr)
    sys.exit(77)
try:
    cuda = ctypes.CDLL("libcuda.so.1")
except OSError:
    print("no CUDA driver here: libcuda.so.1 was not found, so there is nothing to profile", file=sys.stderr)
    sys.exit(77)


def ok(status, what):
    if status:
        sys.exit(f"{what} failed with CUDA error {status}")


if cuda.cuInit(0):
    print("the CUDA driver is here, but no GPU that it can use", file=sys.stderr)
    sys.exit(77)
device, context, buffer = c_int(), c_void_p(), c_void_p()
ok(cuda.cuDeviceGet(byref(device), 0), "cuDeviceGet")
ok(cuda.cuDevicePrimaryCtxRetain(byref(context), device), "cuDevicePrimaryCtxRetain")
ok(cuda.cuCtxSetCurrent(context), "cuCtxSetCurrent")


@nvtx.annotate("fill", domain="my library")
def fill(value):
    ok(cuda.cuMemsetD8_v2(buffer, value, c_size_t(BYTES)), "cuMemsetD8")


whole = nvtx.start_range("the whole run")
with nvtx.annotate("setup"):
    ok(cuda.cuMemAlloc_v2(byref(buffer), c_size_t(BYTES)), "cuMemAlloc")
for number in range(STEPS):
    with nvtx.annotate("step", color="green", payload=number):
        fill(number)
ok(cuda.cuCtxSynchronize(), "cuCtxSynchronize")
nvtx.mark("done")
nvtx.end_range(whole)
# The whole run, setup, the mark; a step and a fill each time.
print(json.dumps({"fills": STEPS, "ranges": 3 + 2 * STEPS}))
