#!/usr/bin/env python3
"""Runs gpuprof and its peers on the same records, in turns, and writes RESULTS.md. Called by report.sh, which makes
the inputs: compare.py GPUPROF DATA RESULTS.md"""
import datetime
import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import time

from peers import digest

HERE = os.path.dirname(os.path.abspath(__file__))
PY = sys.executable
RUNS = int(os.environ.get("GPUPROF_BENCH_RUNS", "5"))
ONLY = os.environ.get("GPUPROF_BENCH_ONLY", "")
VIEWS = ["--view", "cuda_gpu_kern_sum", "--view", "cuda_api_sum", "--format", "json"]

# Where the parts of RESULTS.md begin that other scripts write.
OTHERS = "\n<!-- definitions.py -->\n"

# What every program must find (bench/README.md of the design notes): records made by gen_trace.py with its own seed.
TWO_DEVICES_1M, TWO_DEVICES_10M, KINETO_1M = "7a4b7fcea4bd", "9dd52a2bb7a3", "bb57a2274119"


class Case:
    """One command. `digest` is what it must find, `read` how its output says so."""

    def __init__(self, key, text, command, digest=None, read=None, runs=RUNS):
        self.key, self.text, self.command, self.digest, self.read, self.runs = key, text, command, digest, read, runs
        self.walls, self.cpus, self.peaks, self.found = [], [], [], None

    def run(self, data):
        # GNU time starts the program from a small process: a child of Python would inherit Python's peak memory.
        before = os.times()
        begin = time.perf_counter()
        done = subprocess.run(["/usr/bin/time", "-f", "%M", "-o", f"{data}/peak", *self.command],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=data)
        self.walls.append(time.perf_counter() - begin)
        after = os.times()
        if done.returncode:
            raise RuntimeError(f"{' '.join(self.command)}: {done.stderr.decode(errors='replace')[-500:]}")
        self.cpus.append(after.children_user - before.children_user + after.children_system - before.children_system)
        self.peaks.append(int(open(f"{data}/peak").read().split()[-1]) / 1024)
        if self.read and not self.found:
            self.found = self.read(done.stdout.decode(errors="replace"))

    @property
    def wall(self):
        return statistics.median(self.walls)

    @property
    def cpu(self):
        return statistics.median(self.cpus)

    @property
    def peak(self):
        return max(self.peaks)

    def row(self):
        equal = "" if not self.digest else "yes" if self.found == self.digest else f"NO: {self.found}"
        return (f"| {self.text} | {self.wall:.3f} ({min(self.walls):.3f}-{max(self.walls):.3f}) | {self.cpu:.3f} | "
                f"{self.peak:.0f} | {equal} |")


def of_views(text):
    """The digest of gpuprof's views, from their JSON."""
    rows = []
    for table in json.loads(text)["tables"]:
        kind = "kernel" if table["name"] == "cuda_gpu_kern_sum" else "api"
        for row in table["rows"]:
            count = row["Instances"] if kind == "kernel" else row["Num Calls"]
            rows.append((kind, row["Name"], count, row["Total Time (ns)"], row["Min (ns)"], row["Max (ns)"],
                         row["Med (ns)"]))
    return digest(rows)


def cases(gpuprof, data):
    peer = lambda *args: [PY, f"{HERE}/peers.py", *args]
    # The peers make summaries, and look for nothing in them.
    own = lambda *args: [gpuprof, "report", "--no-insights", *args]
    first = lambda text: text.split()[0]
    found, missing = [], []

    def add(condition, why, *args, **kwargs):
        case = Case(*args, **kwargs)
        if condition:
            found.append(case)
        else:
            missing.append(f"{case.text}: {why}")

    nvidia = lambda tool: (shutil.which(tool) is not None, f"{tool} could not be fetched")
    here = (True, "")
    add(*here, "native", "native 10 M: `gpuprof report --no-insights`", own("trace_10m.gpuprof"))
    add(*here, "insights", "native 10 M: `gpuprof report --view insights`",
        [gpuprof, "report", "trace_10m.gpuprof", "--view", "insights"])
    add(*here, "native-median", "native 10 M: gpuprof, two views with exact medians", own("trace_10m.gpuprof", *VIEWS),
        TWO_DEVICES_10M, of_views)
    add(*here, "duckdb", "Parquet 10 M: DuckDB, exact medians", peer("duckdb", "trace_10m.parquet"), TWO_DEVICES_10M,
        first)
    add(*here, "polars", "Parquet 10 M: Polars, streaming engine", peer("polars", "trace_10m.parquet"),
        TWO_DEVICES_10M, first)
    add(*here, "small", "native 10 M in frames of 512 rows: `gpuprof report --no-insights`", own("small_10m.gpuprof"))
    add(*here, "nsys-own", "nsys SQLite 1 M: `gpuprof report --no-insights`", own("nsys_1m.sqlite"))
    add(*here, "nsys-views", "nsys SQLite 1 M: gpuprof, the two views", own("nsys_1m.sqlite", *VIEWS), TWO_DEVICES_1M,
        of_views)
    add(*nvidia("nsys"), "nsys-real", "nsys SQLite 1 M: real `nsys stats`, the two reports",
        ["nsys", "stats", "--report", "gpukernsum", "--report", "cudaapisum", "--format", "csv", "--output", "-",
         "nsys_1m.sqlite"], runs=min(RUNS, 3))
    add(*here, "sqlite", "nsys SQLite 1 M: sqlite3 module, SQL, median in Python", peer("sqlite", "nsys_1m.sqlite"),
        TWO_DEVICES_1M, first)
    add(*here, "pandas", "nsys SQLite 1 M: pandas", peer("pandas", "nsys_1m.sqlite"), TWO_DEVICES_1M, first)
    add(*here, "nvvp-own", "nvprof database 1 M: `gpuprof report --no-insights`", own("trace_1m.nvvp"))
    add(*here, "nvvp-views", "nvprof database 1 M: gpuprof, the two views", own("trace_1m.nvvp", *VIEWS),
        TWO_DEVICES_1M, of_views)
    add(*nvidia("nvprof"), "nvvp-real", "nvprof database 1 M: real `nvprof -i`", ["nvprof", "-i", "trace_1m.nvvp"])
    add(*here, "nvvp-list", "nvprof database 1 M: `gpuprof report --print-gpu-trace`",
        own("trace_1m.nvvp", "--print-gpu-trace"))
    add(*nvidia("nvprof"), "nvvp-list-real", "nvprof database 1 M: real `nvprof -i --print-gpu-trace`",
        ["nvprof", "-i", "trace_1m.nvvp", "--print-gpu-trace"], runs=min(RUNS, 3))
    add(*here, "kineto", "Kineto JSON.gz 1 M: `gpuprof report --no-insights`", own("kineto_1m.json.gz"))
    add(*here, "kineto-views", "Kineto JSON.gz 1 M: gpuprof, the two views", own("kineto_1m.json.gz", *VIEWS),
        KINETO_1M, of_views)
    add(*here, "msgspec", "Kineto JSON.gz 1 M: msgspec + Polars", peer("msgspec", "kineto_1m.json.gz"), KINETO_1M,
        first)
    hta = os.environ.get("GPUPROF_BENCH_HTA", "")
    add(os.path.exists(hta), "it could not be installed", "hta",
        "Kineto JSON.gz 1 M: Holistic Trace Analysis, kernel breakdown",
        [hta, f"{HERE}/peers.py", "hta", "kineto_1m.json.gz"], runs=1)
    add(*here, "large", "native 100 M: `gpuprof report --no-insights`", own("large_100m.gpuprof"),
        runs=min(RUNS, 3))
    add(*here, "large-median", "native 100 M: gpuprof, two views with exact medians",
        own("large_100m.gpuprof", *VIEWS), runs=min(RUNS, 3))
    return [case for case in found if not ONLY or re.search(ONLY, case.text)], missing


def budgets(by_key, data, gpuprof):
    """Lines of the table of budgets: what, must, aim, measured, met."""
    lines = []

    def ratio(what, own, peer, must, aim):
        if own not in by_key or peer not in by_key:
            lines.append(f"| {what} | {must}× | {aim}× | not measured | |")
            return
        own, peer = by_key[own], by_key[peer]
        wall, cpu = peer.wall / own.wall, peer.cpu / own.cpu
        met = "aim" if wall >= aim else "must" if wall >= must else "NO"
        lines.append(f"| {what} | {must}× | {aim}× | **{wall:.1f}×** ({cpu:.1f}× in CPU time) | {met} |")

    def limit(what, must, aim, measured, unit, digits=0):
        met = "aim" if measured <= aim else "must" if measured <= must else "NO"
        lines.append(f"| {what} | {must} {unit} | {aim} {unit} | **{measured:.{digits}f} {unit}** | {met} |")

    ratio("`report`, 10 M native records, against DuckDB's summary of the same rows", "native", "duckdb", 2, 5)
    ratio("the same with exact medians, as DuckDB's has them", "native-median", "duckdb", 2, 5)
    ratio("`report`, nvprof database of 1 M, against the real nvprof", "nvvp-own", "nvvp-real", 3, 6)
    ratio("kernel and API summary, nsys SQLite of 1 M, against the real nsys stats", "nsys-views", "nsys-real", 20, 60)
    ratio("`report`, Kineto JSON.gz of 1 M, against msgspec + Polars", "kineto", "msgspec", 3, 5)
    if "kineto" in by_key:
        limit("its peak memory", 128, 128, by_key["kineto"].peak, "MiB")
    if "large" in by_key:
        limit("peak memory, `report --no-insights` of 100 M records", 1024, 512, by_key["large"].peak, "MiB")
    if "large-median" in by_key:
        limit("the same with exact medians", 1024, 512, by_key["large-median"].peak, "MiB")
    limit("bytes per record on disk", 8, 6.5, os.path.getsize(f"{data}/trace_10m.gpuprof") / 1e7, "bytes", 2)
    limit("size of the program, stripped", 40, 25, os.path.getsize(gpuprof) / 2**20, "MiB", 1)
    return lines


def machine():
    cpu = re.search(r"model name\s*: (.*)", open("/proc/cpuinfo").read())
    memory = int(re.search(r"MemTotal:\s*(\d+)", open("/proc/meminfo").read()).group(1)) / 2**20
    return f"{os.cpu_count()} cores of {cpu.group(1) if cpu else platform.machine()}, {memory:.0f} GiB, " \
           f"Linux {platform.release()}"


def versions(gpuprof):
    import duckdb
    import msgspec
    import pandas
    import polars
    import sqlite3
    out = [subprocess.run([gpuprof, "--version"], capture_output=True, text=True).stdout.strip(),
           subprocess.run(["rustc", "--version"], capture_output=True, text=True).stdout.strip()]
    out += [f"Python {platform.python_version()}", f"Python's SQLite {sqlite3.sqlite_version}"]
    out += [f"{m.__name__} {m.__version__}" for m in (duckdb, polars, pandas, msgspec)]
    for tool, pattern in (("nvprof", r"Release version (\S+)"), ("nsys", r"version (\S+)")):
        if shutil.which(tool):
            text = subprocess.run([tool, "--version"], capture_output=True, text=True).stdout
            found = re.search(pattern, text)
            out.append(f"{tool} {found.group(1) if found else '?'}")
    return ", ".join(filter(None, out))


def main(gpuprof, data, results):
    chosen, missing = cases(gpuprof, data)
    for name in os.listdir(data):
        if os.path.isfile(f"{data}/{name}"):
            with open(f"{data}/{name}", "rb") as file:
                while file.read(1 << 24):  # into the page cache
                    pass
    loads = [os.getloadavg()[0]]
    for run in range(max(case.runs for case in chosen)):
        for case in list(chosen):
            if run < case.runs:
                try:
                    case.run(data)
                except RuntimeError as error:
                    missing.append(f"{case.text}: it failed: {error}")
                    chosen.remove(case)
                    continue
                print(f"{run + 1} {case.text}: {case.walls[-1]:.3f} s, {case.peaks[-1]:.0f} MiB", file=sys.stderr)
        loads.append(os.getloadavg()[0])
    by_key = {case.key: case for case in chosen}
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    text = ["# What `gpuprof report` costs beside other programs", "",
            "Written by `benches/report.sh`; do not edit. Medians of interleaved runs, page cache warm, start-up of "
            "each program included. gpuprof uses all cores, most others one: on a machine that is busy with other work "
            "(load above the number of cores) its wall times suffer more than theirs, and CPU times say more.", "",
            f"- {now}; {machine()}; 1-minute load {min(loads):.1f} to {max(loads):.1f} (the runs themselves included)",
            f"- {versions(gpuprof)}", "",
            "## Budgets", "", "| what | must | aim | measured here | met |", "|---|---|---|---|---|",
            *budgets(by_key, data, gpuprof), "",
            "## All runs", "", "| what | wall s, median (range) | CPU s | peak RSS MiB | right result |",
            "|---|---|---|---|---|", *(case.row() for case in chosen), "",
            "\"Right result\": the digest over kind, name, count, total, smallest, largest and median of all kernels and "
            "API calls is the one that all programs with exact medians agree on; empty where the output has no medians "
            "or is not ours to parse.", ""]
    if missing:
        text += ["## Not run", "", *(f"- {line}" for line in missing), ""]
    # What other scripts have written below stays.
    kept = open(results).read().partition(OTHERS)[2] if os.path.exists(results) else ""
    with open(results, "w") as file:
        file.write("\n".join(text) + (OTHERS + kept if kept else ""))
    wrong = [case.text for case in chosen if case.digest and case.found != case.digest]
    if wrong:
        sys.exit("wrong results: " + "; ".join(wrong))


if __name__ == "__main__":
    main(*sys.argv[1:4])
