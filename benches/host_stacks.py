"""What CPU sampling costs the program: fixed work in Python, bare and sampled, in turns.

host_stacks.py GPUPROF [PAIRS=8] [OPTIONS...]    prints medians of the program's own CPU time and wall time, and of the pairs
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile

WORK = """
import json, time
def leaf(n):
    x = 0
    for i in range(n):
        x += i * i
    return x
def middle(depth, n):
    return middle(depth - 1, n) if depth else leaf(n)
begin, used = time.perf_counter(), time.process_time()
for _ in range(1000):
    middle(20, 20000)
print(json.dumps([time.process_time() - used, time.perf_counter() - begin]))
"""


def run(command):
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return json.loads(out)


gpuprof, pairs = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 8
options = sys.argv[3:] or ["--cpu-sampling", "100"]
with tempfile.TemporaryDirectory() as folder:
    program = os.path.join(folder, "work.py")
    open(program, "w").write(WORK)
    bare, sampled = [], []
    for i in range(pairs):
        bare.append(run([sys.executable, program]))
        command = [gpuprof, "record", "-o", os.path.join(folder, f"run-{i}"), *options, "--", sys.executable, program]
        sampled.append(run(command))
load = os.getloadavg()
for at, what in enumerate(["CPU", "wall"]):
    a, b = ([row[at] for row in rows] for rows in (bare, sampled))
    ratios = [y / x for x, y in zip(a, b)]
    print(
        f"{what}: bare {statistics.median(a):.3f} s, sampled {statistics.median(b):.3f} s, "
        f"ratio of medians {statistics.median(b) / statistics.median(a):.4f}, median of pairs "
        f"{statistics.median(ratios):.4f} (from {min(ratios):.4f} to {max(ratios):.4f})"
    )
print(f"{pairs} pairs, options {' '.join(options)}, load average {load[0]:.1f}")
