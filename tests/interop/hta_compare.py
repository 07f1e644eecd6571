"""Runs HolisticTraceAnalysis on an export.

    hta_compare.py same ORIGINAL EXPORT      its breakdowns of both files must be the same
    hta_compare.py ours EXPORT SPAN BUSY     its idle time must follow from the span and the busy time in ns that gpuprof finds

Exits with 1 and a sentence if not.
"""

import gzip
import json
import logging
import os
import sys
import tempfile

# Without this it rounds starts up and ends down to microseconds.
if sys.argv[1] == "ours":
    os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"
logging.disable(logging.CRITICAL)

from hta.trace_analysis import TraceAnalysis  # noqa: E402


def breakdowns(path):
    analysis = TraceAnalysis(trace_files={0: path}, trace_dir="")
    temporal = analysis.get_temporal_breakdown(visualize=False)
    types, kernels = analysis.get_gpu_kernel_breakdown(
        visualize=False, num_kernels=10_000, duration_ratio=1.0, include_memory_kernels=True
    )
    idle, _ = analysis.get_idle_time_breakdown(visualize=False, show_idle_interval_stats=False)

    def rows(frame):
        # The last digit of a standard deviation depends on the order of addition.
        short = lambda value: round(value, 6) if isinstance(value, float) else value
        records = [{key: short(value) for key, value in row.items()} for row in frame.to_dict("records")]
        return sorted(json.dumps(row, sort_keys=True, default=str) for row in records)

    return {"temporal": rows(temporal), "types": rows(types), "kernels": rows(kernels), "idle": rows(idle)}, temporal


def comparable(path, folder):
    """A copy of a trace of PyTorch without what HTA counts as work of a GPU and no profiler does."""
    trace = json.load(gzip.open(path) if path.endswith(".gz") else open(path))
    # Copies of annotations on the GPU's lanes; and CUPTI's "no stream", written as -1 since 2024.
    trace["traceEvents"] = [e for e in trace["traceEvents"] if e.get("cat") != "gpu_user_annotation"]
    for event in trace["traceEvents"]:
        if event.get("cat") == "cpu_op":
            # Operators of torch.distributed name a stream; HTA takes whatever does for work of it.
            event.get("args", {}).pop("stream", None)
        if event.get("args", {}).get("stream") == 2**32 - 1:
            event["args"]["stream"] = -1
    copy = os.path.join(folder, "original.json")
    with open(copy, "w") as file:
        json.dump(trace, file)
    return copy


def main():
    if sys.argv[1] == "same":
        with tempfile.TemporaryDirectory() as folder:
            original, _ = breakdowns(comparable(sys.argv[2], folder))
        export, _ = breakdowns(sys.argv[3])
        for name, rows in original.items():
            if rows != export[name]:
                print(f"{name} differs:", set(rows) ^ set(export[name]))
                sys.exit(1)
        print({name: len(rows) for name, rows in original.items()})
        return
    span, busy = (int(text) / 1000 for text in sys.argv[3:5])
    _, temporal = breakdowns(sys.argv[2])
    row = temporal.to_dict("records")[0]
    found = (row["kernel_time(us)"], row["idle_time(us)"])
    # HTA adds doubles, and cuts the sums to microseconds.
    if abs(found[0] - span) > 2 or abs(found[1] - (span - busy)) > 2:
        print(f"HTA says {found} us, gpuprof {(span, span - busy)}")
        sys.exit(1)
    print(row)


main()
