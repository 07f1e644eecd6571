"""Kernels for tests: CUDA's own functions through ctypes, which work over the simulator of ``tests/sim`` too."""

import ctypes
from ctypes import c_void_p

PTX = b""".version 7.8
.target sm_80
.address_size 64
.visible .entry forward_kernel(.param .u64 x)
{ ret; }
.visible .entry backward_us250(.param .u64 x)
{ ret; }
"""


def ok(code):
    if code != 0:
        raise RuntimeError(f"CUDA error {code}")


class Gpu:
    """A context with two kernels: ``forward`` takes some microseconds, ``backward`` 250 on the simulator."""

    def __init__(self):
        self.runtime = self._runtime()
        self.driver = ctypes.CDLL("libcuda.so.1")
        ok(self.runtime.cudaFree(None))
        module, self.forward, self.backward, self.memory = c_void_p(), c_void_p(), c_void_p(), c_void_p()
        ok(self.driver.cuModuleLoadData(ctypes.byref(module), PTX))
        ok(self.driver.cuModuleGetFunction(ctypes.byref(self.forward), module, b"forward_kernel"))
        ok(self.driver.cuModuleGetFunction(ctypes.byref(self.backward), module, b"backward_us250"))
        ok(self.runtime.cudaMalloc(ctypes.byref(self.memory), ctypes.c_size_t(1 << 20)))

    @staticmethod
    def _runtime():
        for version in ("12", "13", "11.0"):
            try:
                return ctypes.CDLL(f"libcudart.so.{version}")
            except OSError:
                continue
        raise RuntimeError("there is no libcudart")

    def use(self):
        """What every thread has to do before its first launch."""
        ok(self.runtime.cudaSetDevice(0))
        ok(self.runtime.cudaFree(None))

    def launch(self, function):
        arguments = (c_void_p * 1)(ctypes.addressof(self.memory))
        ok(self.driver.cuLaunchKernel(function, 8, 1, 1, 128, 1, 1, 0, None, arguments, None))

    def step(self):
        """Three kernels."""
        self.launch(self.forward)
        self.launch(self.forward)
        self.launch(self.backward)

    def wait(self):
        ok(self.runtime.cudaDeviceSynchronize())


_gpu = None


def make():
    """The GPU of this process."""
    global _gpu
    if _gpu is None:
        _gpu = Gpu()
    return _gpu


def step():
    """:meth:`Gpu.step` of the GPU of this process: a function that another process can import."""
    make().step()
