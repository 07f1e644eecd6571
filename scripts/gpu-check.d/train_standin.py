"""train_standin.py MODE: stands in for train.py where there is no torch, so that the dry run can go through the same steps.

The "training" is the Python example that starts its kernels through ctypes, three times over, or for STANDIN_S seconds.
"""

import contextlib
import io
import json
import os
import runpy
import sys
import time
from pathlib import Path

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "python" / "02_gated_training_step.py"
mode = sys.argv[1] if len(sys.argv) > 1 else "bare"
end = time.perf_counter() + float(os.environ.get("STANDIN_S", "0"))


def step():
    """Milliseconds of one run of the example."""
    at = time.perf_counter()
    sys.argv = [str(EXAMPLE)]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        runpy.run_path(str(EXAMPLE), run_name="__main__")
    return (time.perf_counter() - at) * 1e3


times, answer = [], {"work": "stand-in", "mode": mode}
if mode == "blocks":
    import blocks

    answer["blocks"] = blocks.alternate(step, 8)
while len(times) < 3 or time.perf_counter() < end:
    times.append(step())
print(json.dumps({**answer, "steps": len(times), "host_ms_median": round(sorted(times)[len(times) // 2], 4)}))
