"""train_forks.py SCHEDULE.json SECONDS: many runs of train.py for one import of torch; prints one JSON line per run.

The import takes several times as long as sixty training steps, and device time is short. So torch is imported once, without
touching CUDA, and each run is a forked child that sets its own environment before CUDA reads it: what is injected, and how, differs
from child to child as between processes. A schedule is a list of {label, env, argv}; runs that would begin after SECONDS are left out.
The first one only warms up, and if it shows that forks do not work here, that is the only answer.
"""

import json
import os
import runpy
import shutil
import signal
import sys
import tempfile
import time

# torch.cuda.is_available would call cuInit, and a child could not use CUDA after that.
os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"
ONE_RUN_S = 40


def child(one, out_path, err_path):
    """Becomes train.py; ends by itself, so that handlers of exit run as in any program."""
    for path, target in ((out_path, 1), (err_path, 2)):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(descriptor, target)
    os.environ.update(one["env"])
    sys.argv = one["argv"]
    runpy.run_path(one["argv"][0], run_name="__main__")
    sys.stdout.flush()
    sys.exit(0)


def wait(pid, seconds):
    """Status as a shell says it; kills what takes too long."""
    end = time.monotonic() + seconds
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code
        if time.monotonic() > end:
            os.kill(pid, signal.SIGKILL)
            end = float("inf")
        time.sleep(0.005)


def main():
    began = time.monotonic()
    schedule, seconds = json.load(open(sys.argv[1])), float(sys.argv[2])
    if "FORKS_WITHOUT_TORCH" not in os.environ:  # the dry run has none
        import torch

        torch.optim.AdamW([torch.zeros(1, requires_grad=True)], 1e-3, foreach=False)  # imports what it needs, on the CPU
    print(json.dumps({"imported_in_s": round(time.monotonic() - began, 2)}), flush=True)
    folder = tempfile.mkdtemp(prefix="train-forks-")  # not a `with`: each child would remove it
    for number, one in enumerate(schedule):
        left = seconds - (time.monotonic() - began)
        if left < 5:
            print(json.dumps({"left_out": len(schedule) - number}), flush=True)
            break
        paths = [f"{folder}/{number}.{kind}" for kind in ("out", "err")]
        at = time.monotonic()
        pid = os.fork()
        if not pid:
            return child(one, *paths)
        status = wait(pid, min(ONE_RUN_S, left))
        texts = [open(p, errors="replace").read() if os.path.exists(p) else "" for p in paths]
        answer = next((json.loads(l) for l in reversed(texts[0].splitlines()) if l.startswith("{")), {})
        print(json.dumps({"label": one["label"], "status": status, "wall_s": round(time.monotonic() - at, 2),
                          "answer": answer, "err": texts[1][-20000:]}), flush=True)
        if number == 0 and (status or "floor: in place" not in texts[1]):
            print(json.dumps({"unfit": f"status {status}: {(texts[1].strip().splitlines() or ['floor.c was not loaded'])[-1]}"}))
            break
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
