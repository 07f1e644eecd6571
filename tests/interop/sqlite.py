"""Runs other people's tools for nsys's SQLite on a database and prints what they found, as JSON.

usage: sqlite.py nsys-ai  FILE.sqlite            the tool's own analyses
       sqlite.py nsys-tui FILE.sqlite            the same for its predecessor
       sqlite.py nsys2prv FILE.sqlite GPUPROF    records of the Paraver trace that it makes
       sqlite.py pandas   FILE.sqlite            the query of NVIDIA's documentation: kernels with their launches
       sqlite.py raw      FILE.sqlite            counts and sums by plain SQL

The tools are pinned in sqlite-requirements.txt; tests/interop/sqlite.rs runs this file.
"""

import collections
import contextlib
import io
import json
import os
import pathlib
import re
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile

# What nsys-ai can say about a trace of the GPU alone. Left out is what looks at samples of the CPU.
SKILLS = """top_kernels gpu_idle_gaps memory_transfers memory_bandwidth kernel_launch_overhead kernel_launch_pattern
    stream_concurrency sync_cost_analysis nccl_breakdown overlap_breakdown nvtx_kernel_map kernel_instances
    cpu_gpu_pipeline pipeline_bubble_metrics module_loading gc_impact h2d_distribution""".split()


def run(main, name, arguments):
    """The standard output of a command line tool that is a Python function."""
    out, sys.argv = io.StringIO(), [name, *arguments]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()) as err:
        try:
            status = main()
        except SystemExit as end:
            status = end.code
    if status not in (None, 0):
        sys.exit(f"{name} {arguments}: {status}: {err.getvalue()}")
    return out.getvalue()


def plain(text):
    """Output without what is not about the records: paths, who wrote the file, and what GPUs are called, for which the
    tools look in other places of older files."""
    text = re.sub(r"(?m)^(Profile: |  Nsight version).*\n", "", text)
    text = re.sub(r"(?m)^( *GPU \d+)( - .*)?:.*?(Kernels=.*)?$", r"\1: \3", text)
    return re.sub(r"(GPU \d+) \([^\n]*?\) ran", r"\1 ran", text)


def without_duckdb():
    """nsys-ai asks DuckDB's server for an extension each time; without it the tool reads the database itself."""
    import duckdb

    def refuse(*_, **__):
        raise duckdb.Error("not for tests")

    duckdb.connect = refuse


def nsys_ai(path):
    without_duckdb()
    from nsys_ai.__main__ import main

    found = {command: plain(run(main, "nsys-ai", [command, path])) for command in ("info", "summary")}
    for skill in SKILLS:
        found[skill] = json.loads(run(main, "nsys-ai", ["skill", "run", skill, path, "--format", "json"]))
    return found


def nsys_tui(path):
    from nsys_tui.__main__ import main

    return {command: plain(run(main, "nsys-tui", [command, path])) for command in ("info", "summary")}


def nsys2prv(path, gpuprof):
    """nsys2prv asks `nsys stats` for the calls; the nsys at hand is too old to know the table by today's name."""
    from nsys2prv.parse_nsys_stats import main

    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(path, f"{folder}/trace.sqlite")
        stand_in = pathlib.Path(folder, "nsys")
        stand_in.write_text(
            f"""#!{sys.executable}
import subprocess, sys
a = sys.argv[1:]
report, base, file = a[a.index("-r") + 1], a[a.index("-o") + 1], a[-1]
for name in filter(None, report.split(",")):
    with open(f"{{base}}_{{name}}.csv", "w") as out:
        subprocess.run([{gpuprof!r}, "report", "--view", name, "--format", "csv", file], stdout=out, check=True)
"""
        )
        stand_in.chmod(stand_in.stat().st_mode | stat.S_IXUSR)
        os.environ["PATH"] = f"{folder}{os.pathsep}{os.environ['PATH']}"
        os.chdir(folder)
        run(main, "nsys2prv", ["-t", "cuda_api_trace", "trace.sqlite", "out"])
        kinds = collections.Counter()
        for line in pathlib.Path("out.prv").read_text().splitlines()[1:]:
            fields = line.split(":")
            # Events: type and value from the seventh field on; communications stand for launches.
            kind = fields[6] if fields[0] == "2" else "communication"
            kinds[f"{fields[0]} {kind}"] += 1
        return dict(kinds)


def documented_join(path):
    """Kernels with the calls that launched them, as in "Correlate CUDA kernel launches" of NVIDIA's documentation."""
    import pandas

    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
        frame = pandas.read_sql(
            """SELECT names.value AS kernel, calls.value AS call, k.end - k.start AS ns
               FROM CUPTI_ACTIVITY_KIND_KERNEL AS k
               JOIN CUPTI_ACTIVITY_KIND_RUNTIME AS r
                 ON k.correlationId = r.correlationId AND k.globalPid / 0x1000000 = r.globalTid / 0x1000000
               JOIN StringIds AS names ON k.demangledName = names.id
               JOIN StringIds AS calls ON r.nameId = calls.id""",
            db,
        )
    sums = frame.groupby(["kernel", "call"]).ns.agg(["count", "sum"]).reset_index()
    return sums.sort_values(["kernel", "call"]).values.tolist()


def raw(path):
    """What plain SQL says, texts included."""
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
        tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        found = {"texts": len(db.execute("SELECT value FROM StringIds").fetchall())}
        for kind in ("KERNEL", "MEMCPY", "MEMSET", "RUNTIME", "SYNCHRONIZATION"):
            table = f"CUPTI_ACTIVITY_KIND_{kind}"
            sums = "SELECT count(*), total(end - start) FROM "
            found[kind] = db.execute(sums + table).fetchone() if table in tables else (0, 0)
        return found


if __name__ == "__main__":
    tool, file = sys.argv[1], os.path.abspath(sys.argv[2])
    functions = {"nsys-ai": nsys_ai, "nsys-tui": nsys_tui, "nsys2prv": nsys2prv, "pandas": documented_join, "raw": raw}
    json.dump(functions[tool](file, *sys.argv[3:]), sys.stdout, sort_keys=True)
