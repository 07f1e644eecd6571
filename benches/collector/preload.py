#!/usr/bin/env python3
"""What preloading a library costs a program that never calls CUDA, in CPU time.

    benches/collector/preload.py [--rounds N] LIBRARY...      e.g. $(gpuprof preload-path)

Runs /bin/true bare and with each library preloaded, in turn, and prints the median of the differences within a round, with
quartiles: neighbours in time have the same luck, so a busy machine disturbs both alike. The floor is an empty library of C.
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import tempfile

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--rounds", type=int, default=400)
parser.add_argument("libraries", nargs="+", metavar="LIBRARY")
arguments = parser.parse_args()


def cpu_ms(library):
    """User and system time of one run."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("LD_", "GPUPROF", "CUDA_", "NVTX_"))}
    if library:
        environment["LD_PRELOAD"] = library
    pid = os.posix_spawn("/bin/true", ["/bin/true"], environment)
    _, status, usage = os.wait4(pid, 0)
    assert status == 0, status
    return (usage.ru_utime + usage.ru_stime) * 1e3


with tempfile.TemporaryDirectory() as folder:
    empty = pathlib.Path(folder, "empty.so")
    subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-nostartfiles", "-s", "-x", "c", "-", "-o", empty], input=b"void f(void) {}", check=True)
    libraries = {"an empty library": str(empty)}
    libraries |= {path: os.path.abspath(path) for path in arguments.libraries}
    bare, added = [], {name: [] for name in libraries}
    for round_number in range(arguments.rounds + 5):
        base = cpu_ms(None)
        taken = {name: cpu_ms(path) - base for name, path in libraries.items()}
        if round_number >= 5:  # by then all files are in memory
            bare.append(base)
            for name, value in taken.items():
                added[name].append(value)
    print(f"/bin/true {statistics.median(bare):.3f} ms, {arguments.rounds} rounds")
    for name, values in added.items():
        low, middle, high = statistics.quantiles(values, n=4)
        print(f"{middle:+.3f} ms [{low:+.3f} to {high:+.3f}]  {name}")
