#!/usr/bin/env python3
"""How long it takes until ten million rows are in Polars: ``ten_million.py TRACE [ROWS]``.

TRACE is a trace with at least ROWS (10 million) kernels: ``make_native --records 26000000 kernels.gpuprof`` of
``benches`` makes one. The program is the one that ``GPUPROF_PROGRAM`` names: measure a release, on a machine that does
nothing else.
Needs polars; with pyarrow nothing is copied.

Prints, as medians of five runs, seconds from a path to a frame whose numbers have been added up.
"""

import statistics
import sys
import time
from typing import Sequence

import gpuprof

RUNS = 5
COLUMNS = {
    "two columns": ["start_ns", "duration_ns"],
    "with names": ["start_ns", "duration_ns", "name"],
    "with names and streams": ["start_ns", "duration_ns", "name", "device", "stream", "correlation"],
}


def once(path: str, columns: Sequence[str], rows: int) -> float:
    """Seconds for one run, the program's start included."""
    begin = time.perf_counter()
    trace = gpuprof.open(path)
    frame = trace.table("kernels", columns=columns).to_polars()
    total_ns = frame["duration_ns"].sum()
    took = time.perf_counter() - begin
    if frame.height < rows or total_ns <= 0:
        raise SystemExit(f"{path}: {frame.height:,} kernels, fewer than {rows:,}")
    return took


def main() -> None:
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    path, rows = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 10_000_000
    for name, columns in COLUMNS.items():
        times = [once(path, columns, rows) for _ in range(RUNS)]
        spread = f"{min(times):.2f} to {max(times):.2f}"
        print(f"{name:24} {statistics.median(times):6.2f} s  ({spread}): {', '.join(columns)}")


if __name__ == "__main__":
    main()
