"""The machine and the parts under test: where things are, which environment attaches us how, what a trace says."""

import collections
import csv
import ctypes
import glob
import json
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import frames
from harness import Runner

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent


class Missing(Exception):
    """A program that a step runs could not be built here; says nothing about gpuprof."""


class Lab:
    """Everything that steps need; made once."""

    def __init__(self, budget, parts, scratch, sim):
        self.budget = budget
        self.sim = sim
        self.scratch = Path(scratch)
        self.runner = Runner(budget, self.scratch / "log")
        self.so, self.cli, self.examples = parts.so, parts.cli, parts.examples
        self.python = sys.executable if sim else (shutil.which("python3") or sys.executable)
        self.work = self.work_static = self.floor = self.beside = self.cupti = None
        self.modules = {}
        self.machine = {}  # what main.describe_machine says
        self.base_env, self.newest_env = {}, {}
        if sim:
            from parts import install_sim  # parts needs ROOT from here

            self.base_env = install_sim(parts, self.scratch)
            # For steps about what the CUPTI of the others does not have.
            self.newest_env = install_sim(parts, self.scratch, b"13.5")
            self.cupti = f"{self.base_env['LD_LIBRARY_PATH']}/libcupti.so.13"
        self.traces_kept = []
        self.training = {}  # by mode, of all rounds
        self.folders = 0
        self.made, self.lock, self.lock_folders = {}, threading.Lock(), threading.Lock()

    # -- programs

    def run(self, argv, env=None, **how):
        if None in argv:
            raise Missing("no work program")
        return self.runner.run(argv, {**self.base_env, **(env or {})}, **how)

    def script(self, name, *arguments):
        return [self.python, HERE / name, *arguments]

    def has(self, module):
        """Whether this Python has `module`, without importing it."""
        if module not in self.modules:
            if self.sim:
                self.modules[module] = False
            else:
                code = f"import importlib.util as u, sys; sys.exit(u.find_spec({module!r}) is None)"
                self.modules[module] = subprocess.run([self.python, "-c", code], timeout=30).returncode == 0
        return self.modules[module]

    def once(self, name, make):
        """What `make` returns, made by whoever asks first; the others wait for it."""
        with self.lock:
            if name not in self.made:
                try:
                    self.made[name] = make()
                except Exception as problem:  # once is enough for a failure too
                    self.made[name] = problem
        if isinstance(self.made[name], Exception):
            raise self.made[name]
        return self.made[name]

    # -- attaching

    def folder(self, name):
        with self.lock_folders:
            self.folders += 1
            path = self.scratch / "traces" / f"{self.folders:03}-{name}"
        path.mkdir(parents=True)
        return path

    def environment(self, mode, folder, **more):
        """What `record` would set, or what somebody would write by hand."""
        output = {"GPUPROF_OUTPUT": f"{folder}/%n-%p.gpuprof"}
        inject = {**output, "CUDA_INJECTION64_PATH": str(self.so), "NVTX_INJECTION64_PATH": str(self.so)}
        preload = {**output, "LD_PRELOAD": str(self.so)}
        floor = {"CUDA_INJECTION64_PATH": str(self.floor)}
        if self.cupti:
            floor["FLOOR_CUPTI"] = str(self.cupti)
        environment = {
            "bare": {},
            "default": inject,
            "preload": preload,
            "both": {**inject, **preload},
            "gated": {**inject, "GPUPROF_CAPTURE": "profiler-api"},
            "unmuted": {**inject, "GPUPROF_MUTE": "off"},
            "kernels": {**inject, "GPUPROF_KINDS": "kernel", "GPUPROF_NVTX": "off"},
            "floor": floor,
            "floor-kernels": {**floor, "FLOOR_KINDS": "kernels"},
        }[mode]
        return {**environment, **{f"GPUPROF_{k}": str(v) for k, v in more.items()}}

    def gpuprof(self, *arguments, env=None, **how):
        """Runs the command line with the library under test, which need not lie beside it."""
        return self.run([self.cli, *arguments], {"GPUPROF_SHIM": str(self.so), **(env or {})}, **how)

    def query(self, path, sql):
        """Rows of `gpuprof query` as dictionaries of text."""
        run = self.gpuprof("query", path, sql, "--format", "csv", limit_s=30, name="query")
        if run.status != 0:
            raise RuntimeError(run.says())
        return list(csv.DictReader(run.out.splitlines()))

    def training_script(self, mode="bare"):
        """train.py, or what stands in for it on the simulator."""
        return self.script("train_standin.py" if self.sim else "train.py", mode)

    def profiled(self, argv, mode="default", name=None, limit_s=15, env=None, cwd=None, **settings):
        """Runs a program with us attached; its traces, biggest first. `settings`: GPUPROF_ variables."""
        folder = self.folder(name or mode)
        run = self.run(argv, {**self.environment(mode, folder, **settings), **(env or {})}, limit_s=limit_s,
                       name=f"{name or ''}-{mode}", cwd=cwd)
        return run, self.traces(folder)

    # -- traces

    @staticmethod
    def traces(folder):
        found = [frames.read(p) for p in glob.glob(f"{folder}/**/*.gpuprof", recursive=True)]
        return sorted(found, key=lambda t: -t.bytes)

    def keep(self, label, trace):
        """Remembers a small trace as a fixture."""
        self.traces_kept.append((label, trace.path))

    def view(self, paths, view, *options):
        """Rows of one table of `gpuprof report`, and what it says is partial; None without a gpuprof."""
        if not self.cli:
            return None
        argv = [self.cli, "report", "--view", view, "--format", "json", *options, *paths]
        run = self.runner.run(argv, limit_s=60, name=f"report-{view}")
        answer = run.out[run.out.find("{"):]
        try:
            document = json.loads(answer)
        except ValueError:
            raise RuntimeError(run.says()) from None
        return document["tables"][0]["rows"] if document["tables"] else []

    def kernels_by_name(self, paths, mangled=False):
        """{name: (count, total_ns)} as gpuprof reports it."""
        rows = self.view(paths, "cuda_gpu_kern_sum:mangled" if mangled else "cuda_gpu_kern_sum")
        return rows and {row["Name"]: (row["Instances"], row["Total Time (ns)"]) for row in rows}

    def copies_by_direction(self, paths):
        rows = self.view(paths, "cuda_gpu_mem_time_sum")
        return rows and {row["Operation"]: row["Count"] for row in rows}

    def open_checks(self, check, trace):
        """What has to hold of every trace whose program ended by itself."""
        check.equal("problems in the file", trace.problems, [])
        check.equal("closed", trace.closed is not None, True)
        self.law(check, trace)

    def law(self, check, trace):
        """delivered = written + excluded + lost, and nothing lost."""
        totals = trace.totals()
        if not totals:
            check.expect("writer_totals", "none", "present", False)
            return
        accounted = sum(totals.get(k, 0) for k in ("written", "excluded", "lost"))
        check.equal("delivered = written + excluded + lost", totals.get("delivered"), accounted)
        # Records of devices, contexts and streams become definitions.
        check.equal("written, as the frames say", trace.record_rows(), totals.get("written"))
        check.equal("lost", totals.get("lost"), 0)
        check.equal("loss rows", trace.count("loss"), 0)


def demangled(names):
    """{name: as the C++ ABI demangles it}, by the function that Kineto uses too; others unchanged."""
    try:
        library = ctypes.CDLL("libstdc++.so.6")
    except OSError:
        return {n: n for n in names}
    demangle, free = library.__cxa_demangle, ctypes.CDLL(None).free
    demangle.restype, free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
    plain = {}
    for name in names:
        status = ctypes.c_int()
        text = demangle(name.encode(), None, None, ctypes.byref(status)) if name.startswith("_Z") else None
        plain[name] = ctypes.string_at(text).decode(errors="replace") if text else name
        free(text)
    return plain


def merged(pairs):
    """Adds up (count, total_ns) of equal names."""
    total = collections.defaultdict(lambda: [0, 0])
    for name, (count, ns) in pairs:
        total[name][0] += count
        total[name][1] += ns
    return dict(total)


def libcupti_of(python):
    """The copy that this Python's wheels bring, else the toolkit's."""
    code = ("import glob, os, sys\n"
            "for d in sys.path:\n"
            "  for g in ('nvidia/cu13/lib/libcupti.so.1*', 'nvidia/cuda_cupti/lib/libcupti.so.1*'):\n"
            "    for f in sorted(glob.glob(os.path.join(d, g))): print(f); sys.exit()")
    found = subprocess.run([python, "-c", code], capture_output=True, text=True, timeout=30).stdout.strip()
    toolkit = sorted(glob.glob("/usr/local/cuda*/extras/CUPTI/lib64/libcupti.so.1?"))
    return found or (toolkit[-1] if toolkit else None)
