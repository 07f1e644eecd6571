"""The few calls of CUDA that are needed here, to the libraries that this process has."""

import ctypes
import re
from typing import Any, List, Pattern, Tuple

from ._errors import Error

#: File names of the libraries of the runtime and of the driver.
_RUNTIME = re.compile(r"/libcudart[-.\w]*\.so[.\d]*$")
_DRIVER = re.compile(r"/libcuda\.so[.\d]*$")


def _mapped(name: Pattern[str]) -> List[str]:
    """Paths of libraries that are in this process already."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
            paths = {line.split(maxsplit=5)[5].strip() for line in maps if line.count("/")}
    except OSError:
        return []
    return sorted(path for path in paths if name.search(path))


def is_used() -> bool:
    """Whether CUDA's driver is in this process."""
    return bool(_mapped(_DRIVER))


def _library(what: str) -> Tuple[Any, bool]:
    """The library to call, and whether it is the runtime: the driver where this thread has a context, else the runtime
    that the program uses, which makes one."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        raise Error(f"{what}: there is no CUDA driver (libcuda.so.1): {error}") from error
    context = ctypes.c_void_p()
    has_context = driver.cuCtxGetCurrent(ctypes.byref(context)) == 0 and context.value is not None
    runtimes = [] if has_context else _mapped(_RUNTIME)
    return (ctypes.CDLL(runtimes[0]), True) if runtimes else (driver, False)


def _call(what: str, runtime: str, driver: str) -> None:
    library, is_runtime = _library(what)
    name = runtime if is_runtime else driver
    code = getattr(library, name)()
    if code != 0:
        hint = "; use CUDA before, so that there is a context" if code in (3, 201) else ""
        raise Error(f"{what}: {name} failed with CUDA error {code}{hint}")


def synchronize(what: str) -> None:
    """Waits until the GPU is done with everything. Raises ``Error`` where CUDA cannot be used."""
    _call(what, "cudaDeviceSynchronize", "cuCtxSynchronize")


def profiler_start(what: str) -> None:
    """``cudaProfilerStart``. Raises ``Error`` where CUDA cannot be used."""
    _call(what, "cudaProfilerStart", "cuProfilerStart")


def profiler_stop(what: str) -> None:
    """``cudaProfilerStop``. Raises ``Error`` where CUDA cannot be used."""
    _call(what, "cudaProfilerStop", "cuProfilerStop")
