"""Runs under the collector: windows, ranges and marks. Prints what the trace has to hold, as JSON.

windows.py [early]: three steps before and after what is captured; ``early``: a mark and a range before CUDA is used.
"""

import asyncio
import json
import sys
import threading

import gpuprof
from gpu import Gpu

assert gpuprof.is_recorded()
if "early" in sys.argv:
    gpuprof.mark("before CUDA")
    with gpuprof.annotate("loading"):
        pass

gpu = Gpu()
for _ in range(3):
    gpu.step()
gpu.wait()

with gpuprof.capture("step"):
    gpu.step()
    # A window inside of a window does not close it.
    with gpuprof.capture("inner"):
        gpu.step()
    gpuprof.mark("half of it: \u00e4")
    gpu.step()


@gpuprof.capture
def validate(count):
    """What it says."""
    for _ in range(count):
        gpu.step()
    return count


assert validate(2) == 2 and validate.__name__ == "validate" and validate.__doc__ == "What it says."


@gpuprof.annotate("of a thread")
def in_thread():
    gpu.use()
    gpu.step()


thread = threading.Thread(target=in_thread)
thread.start()
thread.join()

try:
    with gpuprof.capture("fails"):
        gpu.step()
        raise ValueError("of the program")
except ValueError:
    pass


async def coroutine():
    pass


try:
    gpuprof.capture(coroutine)
except gpuprof.Error as error:
    assert "coroutine" in str(error), error
else:
    raise AssertionError("a coroutine goes on after its call has returned")
asyncio.run(coroutine())

gpu.step()
gpu.wait()
# 3 steps in `step`, 2 in `validate`, 1 in `fails`.
print(json.dumps({"captured_kernels": 3 * (3 + 2 + 1), "all_kernels": 3 * (3 + 3 + 2 + 1 + 1 + 1)}))
