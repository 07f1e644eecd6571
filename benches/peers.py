#!/usr/bin/env python3
"""The same summary by other programs: per kernel and API call count, total, exact median, smallest, largest.

    peers.py duckdb|polars TRACE.parquet        peers.py sqlite|pandas TRACE.sqlite
    peers.py msgspec|hta TRACE.json.gz

Each but the last prints the digest of its result: sha256 over lines `kind|name|count|total|min|max|median`, first 12 digits. Each is
the fastest way we know to write it for that library."""
import gzip
import hashlib
import re
import sys


def digest(rows):
    """Of (kind, name, count, total, min, max, median), in any order. API names lose their version."""
    sums = hashlib.sha256()
    rows = [(kind, re.sub(r"_v\d{4,}$", "", name) if kind == "api" else name, *rest) for kind, name, *rest in rows]
    for kind, name, count, total, smallest, largest, median in sorted(rows, key=lambda r: (r[0], -r[3], r[1])):
        sums.update(f"{kind}|{name}|{count}|{total}|{smallest}|{largest}|{median:.1f}\n".encode())
    return sums.hexdigest()[:12]


def duckdb(path):
    import duckdb
    return duckdb.sql(f"""
        SELECT kind, name, count(*), sum(dur)::BIGINT, min(dur), max(dur), median(dur)
        FROM (SELECT kind, name, "end" - start AS dur FROM read_parquet('{path}') WHERE kind IN ('kernel', 'api'))
        GROUP BY ALL""").fetchall()


def polars(path):
    import polars as pl
    dur = pl.col("dur")
    query = (pl.scan_parquet(path)
             .select("kind", "name", (pl.col("end") - pl.col("start")).alias("dur"))
             .filter(pl.col("kind").is_in(["kernel", "api"]))
             .group_by("kind", "name")
             .agg(pl.len(), dur.sum().alias("total"), dur.min().alias("min"), dur.max().alias("max"),
                  dur.median().alias("median")))
    return query.collect(engine="streaming").iter_rows()


SQLITE = (("kernel", "CUPTI_ACTIVITY_KIND_KERNEL", "demangledName"), ("api", "CUPTI_ACTIVITY_KIND_RUNTIME", "nameId"))


def connect(path):
    import sqlite3
    return sqlite3.connect(f"file:{path}?mode=ro", uri=True)


def sqlite(path):
    """SQL with the median as an aggregate in Python: how reports are scripted."""
    class Median:
        def __init__(self):
            self.values = []

        def step(self, value):
            self.values.append(value)

        def finalize(self):
            values = sorted(self.values)
            return (values[(len(values) - 1) // 2] + values[len(values) // 2]) / 2

    db = connect(path)
    db.create_aggregate("median", 1, Median)
    rows = []
    for kind, table, column in SQLITE:
        rows += db.execute(f"""
            WITH sums AS (SELECT {column} AS id, count(*) n, sum(end - start) total, min(end - start) low,
                                 max(end - start) high, median(end - start) mid FROM {table} GROUP BY 1)
            SELECT '{kind}', value, n, total, low, high, mid FROM sums JOIN StringIds USING (id)""").fetchall()
    return rows


def pandas(path):
    import pandas as pd
    db = connect(path)
    names = dict(db.execute("SELECT id, value FROM StringIds"))
    rows = []
    for kind, table, column in SQLITE:
        frame = pd.read_sql_query(f"SELECT {column} AS id, end - start AS dur FROM {table}", db)
        groups = frame.groupby("id")["dur"].agg(["count", "sum", "min", "max", "median"])
        for row in groups.itertuples():
            rows.append((kind, names[row[0]], *map(int, row[1:5]), row[5]))
    return rows


def msgspec(path):
    import msgspec
    import polars as pl

    class Event(msgspec.Struct, gc=False):
        cat: str = ""
        name: str = ""
        dur: float = 0.0

    class Trace(msgspec.Struct, gc=False):
        traceEvents: list[Event]

    kinds = {"kernel": "kernel", "cuda_runtime": "api", "cuda_driver": "api"}
    kind, name, dur = [], [], []
    for event in msgspec.json.decode(gzip.open(path, "rb").read(), type=Trace).traceEvents:
        if event.cat in kinds:
            kind.append(kinds[event.cat])
            name.append(event.name)
            dur.append(round(event.dur * 1000))
    d = pl.col("dur")
    frame = pl.DataFrame({"kind": kind, "name": name, "dur": dur})
    return frame.group_by("kind", "name").agg(
        pl.len(), d.sum().alias("total"), d.min().alias("min"), d.max().alias("max"), d.median().alias("median")
    ).iter_rows()


def hta(path):
    """Meta's Holistic Trace Analysis: reading and its kernel breakdown. No medians and no API calls in it."""
    import logging
    import os
    import tempfile
    import warnings
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    from hta.trace_analysis import TraceAnalysis
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(os.path.abspath(path), f"{folder}/rank0.json.gz")
        TraceAnalysis(trace_dir=folder).get_gpu_kernel_breakdown(visualize=False, num_kernels=200)
    return []


if __name__ == "__main__":
    print(digest(globals()[sys.argv[1]](sys.argv[2])))
