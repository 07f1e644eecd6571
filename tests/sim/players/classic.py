"""The classic recipe: ctypes cudaProfilerStart/Stop around one training step, as in countless notebooks.

classic.py [HOW] [STEPS=10] [STEP=4]: 7 kernels a step. stdout: one line of JSON with what lies in the window.
  step     Start before step STEP, Stop after it
  fork     after the window os.fork: the child ends by os._exit(0), the parent goes on
  _exit    ends by os._exit(3) after the window
  threads  a thread launches all the time as well
  daemon   a daemon thread launches for ever while the interpreter exits
  raise    ends with an exception
"""

import ctypes
import json
import os
import sys
import threading
import time

how = sys.argv[1] if len(sys.argv) > 1 else "step"
steps = int(sys.argv[2]) if len(sys.argv) > 2 else 10
window = int(sys.argv[3]) if len(sys.argv) > 3 else 4

# As people write it: the runtime by its SONAME, whichever is there.
for name in ("libcudart.so.12", "libcudart.so.13", "libcudart.so.11.0", "libcudart.so"):
    try:
        cudart = ctypes.CDLL(name)
        break
    except OSError:
        continue
cuda = ctypes.CDLL("libcuda.so.1")


def ok(code):
    if code != 0:
        raise RuntimeError(f"CUDA error {code}")


PTX = b""".version 7.8
.target sm_80
.address_size 64
.visible .entry forward_kernel(.param .u64 x)
{ ret; }
.visible .entry backward_us3000(.param .u64 x)
{ ret; }
"""

ok(cudart.cudaFree(None))
module, forward, backward = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
ok(cuda.cuModuleLoadData(ctypes.byref(module), PTX))
ok(cuda.cuModuleGetFunction(ctypes.byref(forward), module, b"forward_kernel"))
ok(cuda.cuModuleGetFunction(ctypes.byref(backward), module, b"backward_us3000"))
memory = ctypes.c_void_p()
ok(cudart.cudaMalloc(ctypes.byref(memory), ctypes.c_size_t(1 << 20)))


def launch(function):
    arguments = (ctypes.c_void_p * 1)(ctypes.addressof(memory))
    ok(cuda.cuLaunchKernel(function, 8, 1, 1, 128, 1, 1, 0, None, arguments, None))


def step():
    for _ in range(6):
        launch(forward)
    launch(backward)


ending = threading.Event()
others = 0


def busy():
    global others
    ok(cudart.cudaSetDevice(0))
    ok(cudart.cudaFree(None))
    while not ending.is_set():
        launch(forward)
        others += 1
        ok(cudart.cudaDeviceSynchronize())


worker = None
if how in ("threads", "daemon"):
    worker = threading.Thread(target=busy, daemon=how == "daemon")
    worker.start()

for i in range(steps):
    if i == window:
        ok(cudart.cudaProfilerStart())
    step()
    if i == window:
        ok(cudart.cudaProfilerStop())

if how == "fork":
    child = os.fork()
    if child == 0:
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert status == 0, status
if how == "threads":
    ending.set()
    worker.join()
if how != "daemon":
    ok(cudart.cudaDeviceSynchronize())
print(json.dumps({"in_windows": 7, "total": 7 * steps + others}, separators=(",", ":")), flush=True)
if how == "_exit":
    # Nobody waits for the writer here: on a busy machine it may not even have made its file yet.
    time.sleep(0.5)
    os._exit(3)
if how == "raise":
    raise RuntimeError("as asked")
