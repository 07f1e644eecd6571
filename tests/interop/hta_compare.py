"""Runs HolisticTraceAnalysis on an export.

    hta_compare.py same ORIGINAL EXPORT      its breakdowns of both files must be the same
    hta_compare.py ours EXPORT SPAN BUSY     its idle time must follow from the span and the busy time in ns that gpuprof finds

Exits with 1 and a sentence if not.
"""

import json
import logging
import os
import sys

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

    iterations = [int(iteration) for iteration in analysis.t.get_iterations()]
    found = {"temporal": temporal, "types": types, "kernels": kernels, "idle": idle}
    for on_gpu in (True, False):
        annotations = analysis.get_gpu_user_annotation_breakdown(use_gpu_annotation=on_gpu, visualize=False)
        if annotations is not None:
            found[f"annotations, on the GPU: {on_gpu}"] = annotations
    return {name: rows(frame) for name, frame in found.items()} | {"iterations": iterations}, temporal


def main():
    if sys.argv[1] == "same":
        original, _ = breakdowns(sys.argv[2])
        export, _ = breakdowns(sys.argv[3])
        if original.keys() != export.keys():
            print("only one of them has", original.keys() ^ export.keys())
            sys.exit(1)
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
