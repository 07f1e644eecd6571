"""Reads what `gpuprof export` wrote as Parquet, Arrow and CSV with the libraries people use, and prints what they saw.

usage: columnar.py PARQUET_FOLDER ARROW_FOLDER PARTITIONED_FOLDER TIMELINE.csv
Prints JSON: for every reader, the rows of table kernel, the sum of their durations, and the distinct names.
"""
import json
import sys

import duckdb
import pandas
import polars
import pyarrow.ipc
import pyarrow.parquet

parquet, arrow, partitioned, timeline = sys.argv[1:]
seen = {}


def put(reader, rows, total, names):
    seen[reader] = {"rows": int(rows), "total_ns": int(total), "names": int(names)}


row = duckdb.sql(f"SELECT count(*), sum(duration_ns), count(DISTINCT name) FROM '{parquet}/kernel.parquet'").fetchone()
put("duckdb", *row)
row = duckdb.sql(
    f"SELECT count(*), sum(duration_ns), count(DISTINCT name) FROM read_parquet('{partitioned}/kernel/**/*.parquet', hive_partitioning=true) WHERE rank IS NOT NULL"
).fetchone()
put("duckdb, partitions", *row)
row = duckdb.sql(
    f"SELECT count(*), sum(duration_ns), count(DISTINCT name) FROM read_csv('{timeline}', sample_size=-1) WHERE \"table\" = 'kernel'"
).fetchone()
put("duckdb, csv", *row)
frame = pandas.read_parquet(f"{parquet}/kernel.parquet")
put("pandas", len(frame), frame["duration_ns"].sum(), frame["name"].nunique())
frame = pandas.read_csv(timeline, low_memory=False)
frame = frame[frame["table"] == "kernel"]
put("pandas, csv", len(frame), frame["duration_ns"].astype("int64").sum(), frame["name"].nunique())
frame = polars.read_parquet(f"{parquet}/kernel.parquet")
put("polars", len(frame), frame["duration_ns"].sum(), frame["name"].n_unique())
frame = polars.read_ipc(f"{arrow}/kernel.arrow", memory_map=False)
put("polars, arrow", len(frame), frame["duration_ns"].sum(), frame["name"].n_unique())
table = pyarrow.ipc.open_file(f"{arrow}/kernel.arrow").read_all()
put("pyarrow, arrow", len(table), pyarrow.compute.sum(table["duration_ns"]).as_py(), len(table["name"].unique()))

file = pyarrow.parquet.ParquetFile(f"{parquet}/kernel.parquet")
table = file.read()
put("pyarrow", len(table), pyarrow.compute.sum(table["duration_ns"]).as_py(), len(table["name"].unique()))
metadata = {key.decode(): value.decode() for key, value in file.metadata.metadata.items() if b"ARROW" not in key}
group = file.metadata.row_group(0)
columns = {group.column(i).path_in_schema: group.column(i) for i in range(group.num_columns)}
starts = columns["start_ns"]
times = table["start_ns"].to_pylist()
seen["parquet"] = {
    "compression": starts.compression,
    "has_statistics": starts.is_stats_set,
    "least_start": starts.statistics.min == min(times) if starts.is_stats_set else None,
    "sorted": times == sorted(times),
    "unit_of_start": json.loads(metadata["gpuprof.columns"])["start_ns"]["unit"],
    "clock": metadata["gpuprof.clock"],
}
print(json.dumps(seen))
