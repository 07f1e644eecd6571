"""Measures `gpuprof query` beside DuckDB on the same rows, and beside another build of gpuprof; writes benches/QUERY.md.

    benches/query.py GPUPROF TRACE TABLES [--before GPUPROF] [--runs N] [--out FILE]

TRACE is a `.gpuprof`, TABLES the folder that `gpuprof export --format parquet TRACE -o TABLES` made of it. All programs are
started anew for each query and read the file each time; runs are interleaved, the figures are medians, and DuckDB uses all
cores as gpuprof does. Every answer is compared with DuckDB's before anything is measured.
"""

import argparse
import datetime
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

QUERIES = [
    ("group by name", "SELECT name, COUNT(*) AS n, SUM(duration_ns) AS t, MIN(duration_ns) AS l FROM kernel GROUP BY name ORDER BY name"),
    ("filter on two numbers", "SELECT COUNT(*) AS n, SUM(duration_ns) AS t FROM kernel WHERE duration_ns > 10000 AND stream > 7"),
    ("filter on text", "SELECT COUNT(*) AS n FROM kernel WHERE name LIKE '%gemm%' OR name LIKE '%add%'"),
    ("ten longest", "SELECT name, start_ns, duration_ns FROM kernel ORDER BY duration_ns DESC, start_ns LIMIT 10"),
    ("group by two ids", "SELECT device, stream, COUNT(*) AS n, MAX(duration_ns) AS m FROM kernel GROUP BY device, stream ORDER BY 1, 2"),
    ("join of kernels and calls", "SELECT a.cbid, COUNT(*) AS n, SUM(k.duration_ns) AS t FROM kernel k JOIN api a ON a.process = k.process AND a.correlation = k.correlation GROUP BY a.cbid ORDER BY a.cbid"),
    ("count of distinct values", "SELECT COUNT(DISTINCT correlation) AS n FROM api"),
    ("exact medians by name", "SELECT name, MEDIAN(duration_ns) AS m FROM kernel GROUP BY name ORDER BY name"),
    ("longest pause of each stream", "SELECT stream, MAX(gap) AS m FROM (SELECT stream, start_ns - LAG(start_ns) OVER (PARTITION BY stream ORDER BY start_ns) AS gap FROM kernel) AS g GROUP BY stream ORDER BY stream"),
    ("sort by time", "SELECT MAX(n) AS m FROM (SELECT ROW_NUMBER() OVER (ORDER BY start_ns) AS n FROM api) AS t"),
]

DUCKDB = """
import duckdb, sys, glob, os, json
connection = duckdb.connect()
# It would stand among the rows, on a slow machine.
connection.execute("SET enable_progress_bar = false")
for path in glob.glob(sys.argv[1] + "/*.parquet"):
    connection.execute(f"CREATE VIEW {os.path.basename(path)[:-8]} AS SELECT * FROM read_parquet('{path}')")
print(json.dumps([[str(v) if isinstance(v, str) else v for v in row] for row in connection.execute(sys.argv[2]).fetchall()], default=float))
"""


def run(command):
    """Wall seconds, CPU seconds, peak MiB and the output of one run."""
    before = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out = child.stdout.read()
    said = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        sys.exit(f"{command}: {said.decode()}")
    return time.monotonic() - before, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, out


def ours(program, trace, sql):
    return [program, "query", trace, sql, "--format", "json"]


def rows(out):
    return [list(row.values()) for row in json.loads(out)["tables"][0]["rows"]]


def same(a, b):
    close = lambda x, y: x == y or (isinstance(x, (int, float)) and isinstance(y, (int, float)) and abs(x - y) <= 1e-9 * abs(x))
    return len(a) == len(b) and all(len(x) == len(y) and all(map(close, x, y)) for x, y in zip(a, b))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("gpuprof")
    parser.add_argument("trace")
    parser.add_argument("tables")
    parser.add_argument("--before")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--out", default="benches/QUERY.md")
    given = parser.parse_args()
    lines = []
    for title, sql in QUERIES:
        programs = {"ours": ours(given.gpuprof, given.trace, sql), "duckdb": [sys.executable, "-c", DUCKDB, given.tables, sql]}
        if given.before:
            programs["before"] = ours(given.before, given.trace, sql)
        answers = {name: run(command)[3] for name, command in programs.items()}
        right = same(rows(answers["ours"]), json.loads(answers["duckdb"]))
        figures = {name: [] for name in programs}
        for _ in range(given.runs):
            for name, command in programs.items():
                figures[name].append(run(command)[:3])
        median = {name: [statistics.median(column) for column in zip(*all)] for name, all in figures.items()}
        wall, cpu, peak = median["ours"]
        cells = [title, f"{wall:.2f}", f"{cpu:.2f}", f"{peak:.0f}", f"{median['duckdb'][0]:.2f}", f"{median['duckdb'][0] / wall:.1f}"]
        if given.before:
            cells += [f"{median['before'][0]:.2f}", f"{median['before'][1]:.2f}", f"{median['before'][2]:.0f}", f"{wall / median['before'][0]:.2f}"]
        cells.append("yes" if right else "NO")
        lines.append("| " + " | ".join(cells) + " |")
        print(lines[-1], file=sys.stderr)
    version = subprocess.run([given.gpuprof, "--version"], capture_output=True, text=True).stdout.strip()
    heads = ["query", "s", "CPU s", "peak MiB", "DuckDB s", "times faster than DuckDB"]
    if given.before:
        before = subprocess.run([given.before, "--version"], capture_output=True, text=True).stdout.strip()
        heads += ["before: s", "before: CPU s", "before: peak MiB", "time of this build over before"]
    heads.append("DuckDB's answer")
    out = [
        "# `gpuprof query` beside DuckDB",
        "",
        f"Written by `benches/query.sh`: medians of {given.runs} interleaved runs on {os.cpu_count()} cores, {datetime.date.today()}, {version}.",
        "Each run is a whole command: start, reading the columns that the query names, answering. gpuprof reads its own",
        "trace, DuckDB the Parquet files that `gpuprof export` made of it.",
    ]
    if given.before:
        out.append(f"Before: {before}.")
    out += ["", "| " + " | ".join(heads) + " |", "|---" * len(heads) + "|", *lines, ""]
    out += ["The queries:", "", *[f"- {title}: `{sql}`" for title, sql in QUERIES], ""]
    pathlib.Path(given.out).write_text("\n".join(out))


if __name__ == "__main__":
    main()
