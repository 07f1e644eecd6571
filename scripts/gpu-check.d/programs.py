"""Builds work.cu, floor.c and beside.c where the checks run: with nvcc for a GPU, with a C++ compiler for the simulator."""

import glob
import os
import shutil
import subprocess
import threading
from pathlib import Path

from lab import HERE


class Refused(Exception):
    """A compiler is here and does not take our source: a mistake to mend before any time goes into steps."""


def build(lab):
    """Sets lab.work, lab.work_static, lab.floor and lab.beside; returns what could not be built, in words. Raises Refused."""
    notes, jobs, refused = [], [], []
    warm = None
    if not lab.sim and lab.has("torch"):
        # Fills the page cache with torch while the compilers work.
        warm = threading.Thread(target=lambda: lab.run([lab.python, "-c", "import torch"], limit_s=60, name="warm"), daemon=True)
        warm.start()
    floor = lab.scratch / "libfloor.so"
    jobs.append(("floor", floor, ["gcc", "-O2", "-shared", "-fPIC", "-o", floor, HERE / "floor.c", "-ldl", "-lpthread"]))
    beside = lab.scratch / "libbeside.so"
    jobs.append(("beside", beside, ["gcc", "-O2", "-shared", "-fPIC", "-o", beside, HERE / "beside.c", "-ldl"]))
    if lab.sim:
        program = lab.scratch / "work"
        jobs.append(("work", program, [
            "g++", "-std=c++17", "-O1", "-x", "c++", HERE / "work.cu", "-x", "none", "-o", program,
            lab.base_env["LD_LIBRARY_PATH"].split(":")[0] + "/libcudart.so.13", "-lpthread", "-ldl", "-rdynamic",
        ]))
    else:
        jobs += _nvcc_jobs(lab, notes)
    running = [(name, path, _start(argv)) for name, path, argv in jobs]
    for name, path, process in running:
        said = _end(process) if process else "the compiler is missing"
        if process and process.returncode == 0:
            setattr(lab, name, path)
        else:
            notes.append(f"{name} not built: {said.strip()[-2000:]}")
            if process:
                refused.append(name)
    # Either kind of work program serves for both.
    if "floor" in refused or "beside" in refused or (refused and lab.work is None and lab.work_static is None):
        raise Refused("\n".join(notes))
    if lab.work is None and lab.work_static is not None:
        notes.append("no shared CUDA runtime: the statically linked program serves for both")
        lab.work = lab.work_static
    if warm:
        warm.join()
    return notes


def _start(argv):
    try:
        return subprocess.Popen([str(a) for a in argv], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    except FileNotFoundError:
        return None


def _end(process, limit_s=120):
    """What a compiler said; one that takes too long is ended and counts as failed."""
    try:
        return process.communicate(timeout=limit_s)[0]
    except subprocess.TimeoutExpired:
        process.kill()
        return f"{process.communicate()[0]}\nended after {limit_s} s"


def _nvcc_jobs(lab, notes):
    """Both kinds of CUDA runtime. Toolkits from wheels lack the link name of the shared one and some search paths."""
    nvcc = shutil.which("nvcc") or next(iter(sorted(glob.glob("/usr/local/cuda*/bin/nvcc"))), None)
    if not nvcc:
        notes.append("no nvcc")
        return []
    root = Path(os.path.realpath(nvcc)).parent.parent
    libraries = [p for p in (root / "lib64", root / "targets/x86_64-linux/lib", root / "lib") if p.is_dir()]
    common = [nvcc, "-O2", "-std=c++17", "-arch=native", f"-L{lab.scratch}"]
    for include in (root / "include", root / "targets/x86_64-linux/include", root / "include/cccl"):
        if include.is_dir():
            common.append(f"-I{include}")
    for library in libraries:
        common += [f"-L{library}", "-Xlinker", f"-rpath={library}"]
    runtime = next((f for p in libraries for f in sorted(glob.glob(f"{p}/libcudart.so.1?"))), None)
    if runtime:
        (lab.scratch / "libcudart.so").symlink_to(runtime)
    source = HERE / "work.cu"
    static, shared = lab.scratch / "work_static", lab.scratch / "work"
    jobs = [("work_static", static, [*common, "-cudart", "static", "-o", static, source])]
    if runtime:
        jobs.append(("work", shared, [*common, "-cudart", "shared", "-o", shared, source]))
    return jobs
