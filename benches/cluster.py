#!/usr/bin/env python3
"""Measures what a run of many ranks takes: its export as a dataset, the report of it here, and the report by Spark. Writes CLUSTER.md.

    benches/cluster.py GPUPROF MAKE_NATIVE SPARK [CLUSTER.md]

GPUPROF and MAKE_NATIVE are release builds, SPARK is the folder of a Spark installation, which runs on two cores here. Ranks have a million records each; a
thousand of them would not fit here, so the time is measured for some numbers of ranks, and a straight line through them says what 1,024 would take.
GPUPROF_BENCH_RANKS chooses the numbers. Needs Python and Java."""
import datetime
import os
import shutil
import subprocess
import sys

from compare import Case, machine

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.abspath(os.environ.get("GPUPROF_BENCH_DATA") or os.path.expanduser("~/.cache/gpuprof-bench"))
RANKS = [int(ranks) for ranks in os.environ.get("GPUPROF_BENCH_RANKS", "4,8,16,32").split(",")]
RECORDS = 1_000_000
FAR = 1024
VIEWS = "cuda_gpu_kern_sum,cuda_gpu_mem_time_sum,cuda_api_sum,nvtx_sum,gpu_time_breakdown,gpu_gaps"


def size(folder):
    return sum(os.path.getsize(os.path.join(at, name)) for at, _, names in os.walk(folder) for name in names)


def once(command):
    """Wall seconds, CPU seconds and peak MiB of one run, and what it printed."""
    printed = []
    case = Case("", "", command, read=printed.append, runs=1)
    case.run(DATA)
    return case.wall, case.cpu, case.peak, printed[0]


def measure(gpuprof, make_native, spark, ranks):
    """For a number of ranks: bytes of the dataset, and what export, report and report by Spark take."""
    run, dataset = f"{DATA}/cluster-run", f"{DATA}/cluster-dataset"
    for folder in (run, dataset):
        shutil.rmtree(folder, ignore_errors=True)
    for rank in range(ranks):
        os.makedirs(f"{run}/rank{rank}")
        subprocess.run([make_native, f"{run}/rank{rank}/rank{rank}.gpuprof", "--records", str(RECORDS), "--seed", str(rank + 1)], check=True)
    # The folder of each rank is called like it.
    export = once([gpuprof, "export", "-q", "-F", "parquet", "--option", "partition=run", "-o", dataset, run])
    shutil.rmtree(run)
    here = once([gpuprof, "report", "--view", VIEWS, "--format", "csv", dataset])
    by_spark = once([gpuprof, "cluster", "report", dataset, "--master", "local[2]", "--spark", spark, "--view", VIEWS,
                     "--format", "csv", "--conf", "spark.driver.memory=8g"])
    if here[3] != by_spark[3]:
        raise RuntimeError(f"{ranks} ranks: Spark made other tables")
    found = size(dataset), export, here, by_spark
    shutil.rmtree(dataset)
    return found


def far(numbers, values):
    """What a straight line through the values says of 1,024 ranks."""
    n, mx, my = len(numbers), sum(numbers) / len(numbers), sum(values) / len(values)
    spread = sum((x - mx) ** 2 for x in numbers)
    slope = sum((x - mx) * (y - my) for x, y in zip(numbers, values)) / spread if n > 1 else my / mx
    return my + slope * (FAR - mx)


def main(gpuprof, make_native, spark, results):
    gpuprof, make_native, spark = map(os.path.abspath, (gpuprof, make_native, spark))
    load = os.getloadavg()[0]
    rows = []
    for ranks in RANKS:
        of = measure(gpuprof, make_native, spark, ranks)
        rows.append([of[0] / 1e6, *(value for part in of[1:] for value in part[:3])])
        print(ranks, rows[-1], file=sys.stderr)
    columns = list(zip(*rows))
    line = lambda name, row: f"| {name} | {row[0]:,.0f} | " + " | ".join(
        f"{row[at]:.1f} / {row[at + 1]:.1f} / {row[at + 2]:,.0f}" for at in (1, 4, 7)) + " |"
    last = rows[-1]
    # Not of memory: Spark takes what it is allowed, and who has less than a report here would need does not get one.
    times = " | ".join(f"{far(RANKS, columns[at]):,.0f} / {far(RANKS, columns[at + 1]):,.0f} / " for at in (1, 4, 7))
    extrapolated = f"| **{FAR:,}, extrapolated** | {far(RANKS, columns[0]):,.0f} | {times} |"
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    version = subprocess.run([gpuprof, "--version"], capture_output=True, text=True).stdout.strip()
    text = ["# What a run of many ranks takes", "",
            "Written by `benches/cluster.py`; do not edit. Each rank has a million records, about half of them work on two GPUs. Export, report and report by Spark "
            "(`local[2]`) once each: seconds on the clock / of CPU / MiB of memory at most. Both reports are of six views and equal.", "",
            f"- {now}; {machine()}; 1-minute load {load:.1f} before", f"- {version}", "",
            "| ranks | dataset MB | export | report here | report by Spark |", "|---|---|---|---|---|",
            *(line(str(ranks), row) for ranks, row in zip(RANKS, rows)),
            extrapolated, "",
            f"The last row was not measured: it is a straight line through those above it, on this machine. The report here reads the rows of "
            f"an export into memory, {last[6] * 2**20 / RECORDS / RANKS[-1]:,.0f} bytes for each with {RANKS[-1]} ranks (native traces are decoded piece by piece: RESULTS.md); Spark's memory is what its driver is "
            "allowed (8 GiB here), not what it needs.", ""]
    with open(results, "w") as file:
        file.write("\n".join(text))


if __name__ == "__main__":
    main(*sys.argv[1:4], *(sys.argv[4:5] or [os.path.join(HERE, "CLUSTER.md")]))
