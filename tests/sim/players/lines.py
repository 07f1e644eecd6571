"""Launches kernels from two lines, 5 times and 3 times; in which way is the first argument.

  held         the interpreter's lock is held during the call (ctypes.PyDLL)
  released     it is not (ctypes.CDLL), on the first thread
  thread       it is not, on another thread
  native       a thread of C code launches, 4 times more; argument 2 is the library that does
  second       while there is a second interpreter
  many         40 times a thousand lines of its own
stdout: one line of JSON with the numbers of the two lines.
"""

import ctypes
import json
import sys
import threading

how = sys.argv[1]
cuda = ctypes.PyDLL("libcuda.so.1") if how == "held" else ctypes.CDLL("libcuda.so.1")

PTX = b""".version 7.8
.target sm_80
.address_size 64
.visible .entry first_kernel(.param .u64 x)
{ ret; }
.visible .entry second_kernel(.param .u64 x)
{ ret; }
"""


def ok(code):
    if code != 0:
        raise RuntimeError(f"CUDA error {code}")


device, context = ctypes.c_int(), ctypes.c_void_p()
ok(cuda.cuInit(0))
ok(cuda.cuDeviceGet(ctypes.byref(device), 0))
ok(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
ok(cuda.cuCtxSetCurrent(context))
module, first, second = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
ok(cuda.cuModuleLoadData(ctypes.byref(module), PTX))
ok(cuda.cuModuleGetFunction(ctypes.byref(first), module, b"first_kernel"))
ok(cuda.cuModuleGetFunction(ctypes.byref(second), module, b"second_kernel"))
memory = (ctypes.c_uint64 * 1)(0)
arguments = (ctypes.c_void_p * 1)(ctypes.addressof(memory))


class Model:
    def forward(self):
        for _ in range(5):
            ok(cuda.cuLaunchKernel(first, 1, 1, 1, 32, 1, 1, 0, None, arguments, None))  # FIRST

    def bäckward(self):
        for _ in range(3):
            ok(cuda.cuLaunchKernel(second, 1, 1, 1, 32, 1, 1, 0, None, arguments, None))  # SECOND


def train():
    ok(cuda.cuCtxSetCurrent(context))
    model = Model()
    model.forward()
    model.bäckward()


if how == "second":
    try:
        import _interpreters as interpreters
    except ImportError:
        try:
            import _xxsubinterpreters as interpreters
        except ImportError:
            import _xxinterpreters as interpreters
    interpreter = interpreters.create()
    train()
    interpreters.destroy(interpreter)
elif how == "thread":
    thread = threading.Thread(target=train)
    thread.start()
    thread.join()
else:
    train()
if how == "native":
    library = ctypes.CDLL(sys.argv[2])
    assert library.launch_on_a_thread(context, first, 4) == 0
if how == "many":
    for i in range(1000):
        code = "\n" * i + "def line():\n  ok(cuda.cuLaunchKernel(first, 1, 1, 1, 32, 1, 1, 0, None, arguments, None))"
        space = {"ok": ok, "cuda": cuda, "first": first, "arguments": arguments}
        exec(compile(code, "made.py", "exec"), space)
        for _ in range(40):
            space["line"]()
ok(cuda.cuCtxSynchronize())
lines = open(__file__).read().splitlines()
found = [next(i for i, text in enumerate(lines, 1) if text.endswith(mark)) for mark in ("# FIRST", "# SECOND")]
print(json.dumps({"first": found[0], "second": found[1]}, separators=(",", ":")), flush=True)
