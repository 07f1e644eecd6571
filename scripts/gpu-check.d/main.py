"""Runs all steps in order of value and writes results.json, report.txt, traces.tgz and logs.tgz. See scripts/gpu-check."""

import argparse
import concurrent.futures
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import traceback
from pathlib import Path

import ledger
import parts as parts_module
import programs
from harness import Budget, Check, OutOfTime, TooSlow
from lab import Lab, Missing, libcupti_of
from steps import STEPS, by_value

# Their import fills the list, in this order; by_value says in which they run.
import steps_counts  # noqa: F401
import steps_frameworks  # noqa: F401
import steps_life  # noqa: F401
import steps_cost  # noqa: F401
import steps_matrix  # noqa: F401
import steps_live  # noqa: F401
import steps_live_cost  # noqa: F401

MAX_FILE_BYTES = 15 << 20  # of anything that goes to OUT
MAX_FIXTURE_BYTES = 2 << 20
RESERVE_S = 6  # for packing the results


def arguments():
    parser = argparse.ArgumentParser(prog="scripts/gpu-check", description="What gpuprof does on real hardware.")
    parser.add_argument("--dry-run", action="store_true", help="on the simulator of tests/sim instead of a GPU")
    parser.add_argument("--libraries", metavar="DIR", help="dry run: where libgpuprof.so and libsim_*.so are")
    parser.add_argument("--cli", metavar="FILE", help="the gpuprof program; without it, checks that need it say so")
    parser.add_argument("--examples", metavar="DIR", help="where the Rust examples are; without it, those that were packed")
    parser.add_argument("--only", metavar="NAMES", default="", help="steps or groups, separated by commas")
    parser.add_argument("--list", action="store_true", help="print the steps and their claims")
    parser.add_argument("--ledger", metavar="RESULTS", nargs="*", help="put results.json of runs into docs/gpu-verified.md")
    parser.add_argument("--out", metavar="DIR", default=os.environ.get("OUT", "gpu-check-out"), help="results ($OUT)")
    parser.add_argument("--budget", type=float, default=float(os.environ.get("BUDGET", "460")), help="seconds ($BUDGET)")
    return parser.parse_args()


class Recorder:
    """Prints checks as they end and writes the results after each, so that a kill costs only what was running."""

    def __init__(self, out, machine, budget):
        self.out, self.budget = out, budget
        self.checks, self.document = [], {"machine": machine, "checks": []}
        self.text = open(out / "report.txt", "w", encoding="utf-8")
        self.say(json.dumps(machine, indent=1))

    def say(self, line):
        print(line, flush=True)
        self.text.write(line + "\n")
        self.text.flush()

    def add(self, check):
        self.checks.append(check)
        for line in check.lines():
            self.say(line)
        self.document["checks"].append(check.json())
        self.write()

    def write(self, **more):
        self.document.update(more, spent_s=round(self.budget.spent_s(), 1))
        temporary = self.out / "results.json.new"
        temporary.write_text(json.dumps(self.document, indent=1, default=str))
        temporary.replace(self.out / "results.json")


def perform(lab, step):
    """One step; whatever goes wrong in it stays in it."""
    check = Check(step.name, step.group, step.claim)
    began = time.monotonic()
    lab.runner.begin_step(step.limit_s)
    try:
        step.body(lab, check)
    except OutOfTime:
        check.skip("out of time")
    except Missing as missing:
        check.skip(str(missing))
    except TooSlow:
        check.expect("seconds", round(time.monotonic() - began), f"<= {step.limit_s}", False)
    except Exception:  # a mistake in a step must not cost the others
        check.expect("the step itself", traceback.format_exc(limit=3).strip().splitlines()[-3:], "no error", False)
    check.wall_s = time.monotonic() - began
    if check.verdict() == "FAIL":
        check.notes += lab.runner.last_words()
    return check


def run_all(lab, chosen, recorder):
    """In order; neighbours that do not mind company run side by side."""
    waiting = list(chosen)
    while waiting:
        together = []
        while waiting and waiting[0].parallel:
            together.append(waiting.pop(0))
        if together:
            with concurrent.futures.ThreadPoolExecutor(2 if lab.sim else 6) as pool:
                for check in concurrent.futures.as_completed([pool.submit(perform, lab, s) for s in together]):
                    recorder.add(check.result())
        else:
            recorder.add(perform(lab, waiting.pop(0)))


def output_of(*argv):
    try:
        return subprocess.run(argv, capture_output=True, text=True, timeout=20).stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        return ""


def describe_machine(lab):
    query = "--query-gpu=name,driver_version,memory.total,persistence_mode,mig.mode.current"
    params = Path("/proc/driver/nvidia/params")
    admin = [l for l in params.read_text().splitlines() if "RmProfilingAdminOnly" in l] if params.exists() else []
    return {
        "simulated": lab.sim, "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "gpu": "tests/sim: a simulator, no GPU" if lab.sim else output_of("nvidia-smi", query, "--format=csv,noheader"),
        "kernel": platform.release(), "cpus": os.cpu_count(), "admin": admin, "cupti": str(lab.cupti),
        "nvcc": (output_of("nvcc", "--version").splitlines() or [""])[-1], "python": platform.python_version(),
        "gpuprof": output_of(str(lab.cli), "--version") if lab.cli else "no gpuprof program",
        "libgpuprof_bytes": Path(lab.so).stat().st_size,
    }


def pack(lab, out):
    """Fixtures first and under their own limit; then the logs, biggest left out."""
    total = 0
    with tarfile.open(out / "traces.tgz", "w:gz") as archive:
        for label, path in sorted(lab.traces_kept, key=lambda k: k[1].stat().st_size if k[1].exists() else 0):
            size = path.stat().st_size
            if total + size <= MAX_FIXTURE_BYTES:
                archive.add(path, f"{label}.gpuprof")
                total += size
    with tarfile.open(out / "logs.tgz", "w:gz") as archive:
        for path in sorted(lab.runner.log_dir.iterdir()):
            if 0 < path.stat().st_size < 300_000:
                archive.add(path, f"log/{path.name}")
    for path in out.iterdir():
        if path.stat().st_size > MAX_FILE_BYTES:
            path.unlink()


def main():
    options = arguments()
    wanted = {n for n in options.only.split(",") if n}
    chosen = [s for s in by_value() if not wanted or wanted & {s.name, s.group, f"{s.group}/{s.name}"}]
    known = {n for s in STEPS for n in (s.name, s.group, f"{s.group}/{s.name}")}
    if wanted - known:
        sys.exit(f"gpu-check: no step is called {', '.join(sorted(wanted - known))}; --list names them")
    if options.list:
        for s in chosen:
            print(f"{s.group}/{s.name}: {s.claim}")
        return 0
    if options.ledger is not None:
        ledger.update(STEPS, options.ledger)
        return 0
    out = Path(options.out).resolve()
    out.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix="gpu-check-"))
    budget = Budget(options.budget - RESERVE_S)
    lab = Lab(budget, parts_module.find(options, scratch), scratch, options.dry_run)
    holder, recorder = None, None
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        if not lab.sim:
            lab.cupti = libcupti_of(lab.python)
        notes = programs.build(lab)
        lab.machine = describe_machine(lab)
        recorder = Recorder(out, lab.machine, budget)
        for note in notes:
            recorder.say(f"note: {note}")
        recorder.document["notes"] = notes
        if not lab.work:
            recorder.say("no work program: only what needs none")
            chosen = [s for s in chosen if s.group in ("frameworks", "live")]
        elif not lab.sim:
            # Keeps the driver awake between programs; otherwise each start pays for the GPU's own.
            holder = subprocess.Popen([lab.work, "hold"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        run_all(lab, chosen, recorder)
    except programs.Refused as refused:
        (out / "report.txt").write_text(f"{refused}\n")
        print(f"{refused}\ngpu-check: stopped after {budget.spent_s():.0f} s: mend this first; no step was run", flush=True)
        return 2
    finally:
        if holder:
            holder.kill()
        if recorder:
            verdicts = [c.verdict() for c in recorder.checks]
            counts = {v: verdicts.count(v) for v in ("PASS", "FAIL", "SKIP", "DONE")}
            late = [f"{c.group}/{c.name}" for c in recorder.checks if c.skipped == "out of time"]
            recorder.say(f"{counts}; out of time: {', '.join(late) or 'none'}; {budget.spent_s():.0f} s")
            recorder.write(verdicts=counts, out_of_time=late, ledger_is_current=ledger.is_current(STEPS))
            pack(lab, out)
        shutil.rmtree(scratch, ignore_errors=True)
    return 1 if any(c.verdict() == "FAIL" for c in recorder.checks) else 0


if __name__ == "__main__":
    sys.exit(main())
