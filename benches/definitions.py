#!/usr/bin/env python3
"""Measures what many launch shapes and many names cost, beside DuckDB on the same rows, and writes the last part of
RESULTS.md.

    benches/definitions.py GPUPROF MAKE_NATIVE [RESULTS.md]

GPUPROF and MAKE_NATIVE are release builds (`cargo build --release --bin gpuprof --example make_native`); the traces are made
once, into GPUPROF_BENCH_DATA (about 1 GB), and DuckDB reads what `gpuprof export --format parquet` writes of them. Both
programs run in turn; run it with a Python that has duckdb, such as the one that report.sh installs."""
import datetime
import json
import os
import subprocess
import sys

import duckdb

from compare import OTHERS, Case, digest, machine

RECORDS = int(os.environ.get("GPUPROF_BENCH_RECORDS", "10000000"))
DATA = os.path.abspath(os.environ.get("GPUPROF_BENCH_DATA") or os.path.expanduser("~/.cache/gpuprof-bench"))
# What varies, how much of it there is, and what make_native makes it of.
TRACES = [("shapes", "10²", 25, 4), ("shapes", "10⁴", 200, 50), ("shapes", "10⁶", 200, 5000),
          ("names", "10²", 100, 1), ("names", "10⁴", 10_000, 1), ("names", "10⁶", 1_000_000, 1)]
# Sums by name, of calls too; and kernels by name, grid and block with medians, which needs every launch shape.
BY_NAME = """
    SELECT 'kernel', name, count(*), sum(duration_ns)::BIGINT, min(duration_ns), max(duration_ns)
    FROM read_parquet('{0}/kernel.parquet') GROUP BY ALL
    UNION ALL SELECT 'api', name, count(*), sum(duration_ns)::BIGINT, min(duration_ns), max(duration_ns)
    FROM read_parquet('{0}/api.parquet') GROUP BY ALL"""
BY_SHAPE = """
    SELECT name, grid_x, grid_y, grid_z, block_x, block_y, block_z, count(*), sum(duration_ns)::BIGINT, min(duration_ns),
           max(duration_ns), median(duration_ns)
    FROM read_parquet('{0}/kernel.parquet') GROUP BY ALL"""
# The rows are brought to Python, as a report brings them to its output.
DUCKDB = """
import duckdb, sys
rows = duckdb.sql(sys.argv[1]).fetchall()
print(len(rows))"""


def make(path, command):
    if not os.path.exists(path):
        print(f"making {path}", file=sys.stderr)
        subprocess.run([part.replace("{}", path + ".part") for part in command], check=True)
        os.rename(path + ".part", path)


def same_rows(gpuprof, trace, tables):
    """Whether both find the same kernels and calls with the same sums."""
    views = [gpuprof, "report", trace, "--view", "cuda_gpu_kern_sum", "--view", "cuda_api_sum", "--format", "json"]
    ours = []
    for table in json.loads(subprocess.run(views, check=True, capture_output=True).stdout)["tables"]:
        kind, calls = ("kernel", "Instances") if table["name"] == "cuda_gpu_kern_sum" else ("api", "Num Calls")
        ours += [(kind, row["Name"], row[calls], row["Total Time (ns)"], row["Min (ns)"], row["Max (ns)"], 0)
                 for row in table["rows"]]
    theirs = [(*row, 0) for row in duckdb.sql(BY_NAME.format(tables)).fetchall()]
    return digest(ours) == digest(theirs)


def measure(gpuprof, make_native):
    lines, loads = [], [os.getloadavg()[0]]
    for what, many, kernels, shapes in TRACES:
        trace, tables = f"{DATA}/{what}_{kernels}_{shapes}_{RECORDS}.gpuprof", f"{DATA}/{what}_{kernels}_{shapes}_{RECORDS}.tables"
        make(trace, [make_native, "{}", "--records", str(RECORDS), "--kernels", str(kernels), "--shapes", str(shapes)])
        make(tables, [gpuprof, "export", trace, "--format", "parquet", "--output", "{}"])
        peer = lambda sql: [sys.executable, "-c", DUCKDB, sql.format(tables)]
        pairs = [("`report`", [gpuprof, "report", "--no-insights", trace], peer(BY_NAME)),
                 ("`report --view cuda_gpu_kern_gb_sum`",
                  [gpuprof, "report", trace, "--view", "cuda_gpu_kern_gb_sum", "--format", "csv"], peer(BY_SHAPE))]
        right = same_rows(gpuprof, trace, tables)
        for text, own, theirs in pairs[:2 if what == "shapes" else 1]:
            own, theirs = Case("own", text, own), Case("duckdb", "DuckDB", theirs)
            for run in range(own.runs + 1):
                for case in (own, theirs):
                    case.run(DATA)
            for case in (own, theirs):  # the first of each warms the page cache
                case.walls, case.cpus = case.walls[1:], case.cpus[1:]
            ratio = theirs.wall / own.wall
            lines.append(f"| {many} {what}: {text} | {own.wall:.3f} | {own.cpu:.3f} | {own.peak:.0f} | {theirs.wall:.3f} | "
                         f"{theirs.cpu:.3f} | {theirs.peak:.0f} | **{ratio:.1f}×** | {'yes' if right else 'NO'} |")
            print(lines[-1], file=sys.stderr)
        info = Case("info", "info", [gpuprof, "info", trace])
        for run in range(info.runs):
            info.run(DATA)
        lines.append(f"| {many} {what}: `info` | {info.wall:.3f} | {info.cpu:.3f} | {info.peak:.0f} | | | | | |")
        print(lines[-1], file=sys.stderr)
        loads.append(os.getloadavg()[0])
    return lines, loads


def main(gpuprof, make_native, results):
    lines, loads = measure(os.path.abspath(gpuprof), os.path.abspath(make_native))
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    text = ["", "## Many launch shapes, many names", "",
            f"Written by `benches/definitions.py`; do not edit. {RECORDS / 1e6:g} M records each, of which 40 % are kernels; medians of "
            "runs in turn, page cache warm, start-up of each program included. DuckDB reads the rows as `gpuprof export "
            "--format parquet` writes them. The ratio is DuckDB's time by gpuprof's: must be 2× or more.", "",
            f"- {now}; {machine()}; 1-minute load {min(loads):.1f} to {max(loads):.1f} (the runs themselves included)",
            f"- {subprocess.run([gpuprof, '--version'], capture_output=True, text=True).stdout.strip()}, duckdb {duckdb.__version__}", "",
            "| what | wall s | CPU s | peak RSS MiB | DuckDB: wall s | CPU s | peak RSS MiB | ratio | same rows |",
            "|---|---|---|---|---|---|---|---|---|", *lines, ""]
    before = open(results).read().partition(OTHERS)[0] if os.path.exists(results) else ""
    with open(results, "w") as file:
        file.write(before + OTHERS + "\n".join(text))


if __name__ == "__main__":
    main(*sys.argv[1:3], *(sys.argv[3:4] or [os.path.join(os.path.dirname(os.path.abspath(__file__)), "RESULTS.md")]))
