"""What the `nvtx` package of PyPI does, over a CUDA that is found at run time. The test has what is expected."""

import ctypes
import sys
import threading

import nvtx


def cuda():
    try:
        driver = ctypes.CDLL("libcuda.so.1", mode=ctypes.RTLD_GLOBAL)
    except OSError:
        print("calls.py: no CUDA", file=sys.stderr)
        return
    context = ctypes.c_void_p()
    assert driver.cuInit(0) == 0
    assert driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
    assert driver.cuCtxSetCurrent(context) == 0


assert nvtx.enabled(), "no injection"
cuda()

with nvtx.annotate("with", color="red"):
    nvtx.push_range("pushed", domain="loader", category="disk", payload=42)
    nvtx.pop_range(domain="loader")


@nvtx.annotate(color="blue", domain="model")
def forward(depth):
    if depth:
        forward(depth - 1)


forward(2)
started = nvtx.start_range("started", payload=0.5)
ender = threading.Thread(target=nvtx.end_range, args=(started,))
ender.start()
ender.join()
nvtx.mark("größe", domain="loader", payload=-1)
domain = nvtx.get_domain("fast")
attributes = domain.get_event_attributes(message="again", category="hot")
for _ in range(3):
    domain.push_range(attributes)
    domain.pop_range()
profile = nvtx.Profile(linenos=False, annotate_cfuncs=False)


def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def deep(n):
    return 0 if n == 0 else 1 + deep(n - 1)


profile.enable()
fibonacci(5)
deep(300)
profile.disable()
