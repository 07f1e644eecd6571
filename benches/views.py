#!/usr/bin/env python3
"""Measures every view of `gpuprof report` beside the plain summary, and writes VIEWS.md.

    benches/views.py GPUPROF TRACE [VIEWS.md]

GPUPROF is a release build, TRACE what it reads: trace_10m.gpuprof in the folder of report.sh's data. GPUPROF_BENCH_RUNS sets how often
each view runs. Needs Python alone."""
import datetime
import os
import statistics
import subprocess
import sys

from compare import Case, machine

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.abspath(os.environ.get("GPUPROF_BENCH_DATA") or os.path.expanduser("~/.cache/gpuprof-bench"))
# Of more than ten million lines the writing is measured, and not the view.
LISTINGS = "_trace"


def views(gpuprof):
    """The names of all views, as the error about an unknown one lists them."""
    said = subprocess.run([gpuprof, "report", "--view", "none", os.devnull], capture_output=True, text=True).stderr
    return said.partition("known are ")[2].split("\n")[0].replace(",", " ").split()


def size(gpuprof, path):
    """How many records of GPU work and of API calls there are."""
    sql = "SELECT (SELECT COUNT(*) FROM gpu) AS work, (SELECT COUNT(*) FROM api) AS calls"
    said = subprocess.run([gpuprof, "query", path, sql, "--format", "csv"], capture_output=True, text=True, check=True).stdout
    return map(int, said.split()[1].split(","))


def measure(gpuprof, path):
    summary = Case("summary", "summary", [gpuprof, "report", "--no-insights", path])
    summary.run(DATA)
    lines, empty = [], []
    for name in views(gpuprof):
        if name.endswith(LISTINGS):
            continue
        command = [gpuprof, "report", "--view", name, "--format", "csv", path]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode == 1:
            empty.append(name)
            continue
        view = Case(name, f"`{name}`", command)
        walls = []
        for run in range(view.runs):
            summary.run(DATA)
            view.run(DATA)
            walls.append(summary.walls[-1])
        ratio = view.wall / statistics.median(walls)
        rows = max(0, done.stdout.count("\n") - 1)
        lines.append(f"| {view.text} | {view.wall:.3f} | **{ratio:.1f}×** | {view.cpu:.3f} | {view.peak:.0f} | {rows:,} |")
        print(lines[-1], file=sys.stderr)
    return summary, lines, empty


def main(gpuprof, path, results):
    gpuprof, path = os.path.abspath(gpuprof), os.path.abspath(path)
    load = os.getloadavg()[0]
    work, calls = size(gpuprof, path)
    summary, lines, empty = measure(gpuprof, path)
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    version = subprocess.run([gpuprof, "--version"], capture_output=True, text=True).stdout.strip()
    text = ["# What each view costs", "",
            f"Written by `benches/views.py`; do not edit. {(work + calls) / 1e6:g} M records, {100 * work / (work + calls):.0f} % of which are work on the GPU; medians of "
            f"{summary.runs} runs, each beside a run of the summary (`gpuprof report --no-insights`), page cache warm, start-up included. "
            "The ratio is the view's time by the summary's. Rows are lines of CSV, which the time contains.", "",
            f"- {now}; {machine()}; 1-minute load {load:.1f} before", f"- {version}", "",
            "| what | wall s | of the summary | CPU s | peak RSS MiB | rows |", "|---|---|---|---|---|---|",
            f"| the summary | {summary.wall:.3f} | 1.0× | {summary.cpu:.3f} | {summary.peak:.0f} | |", *lines, "",
            "Views that list every record (`…_trace`) are left out, and so are those of which this trace has nothing: "
            + ", ".join(f"`{name}`" for name in empty) + ".", ""]
    with open(results, "w") as file:
        file.write("\n".join(text))


if __name__ == "__main__":
    main(*sys.argv[1:3], *(sys.argv[3:4] or [os.path.join(HERE, "VIEWS.md")]))
