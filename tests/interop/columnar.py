"""Reads what `gpuprof export` wrote as Parquet, Arrow and CSV with the libraries people use, and prints what they saw.

usage: columnar.py PARQUET_FOLDER ARROW_FOLDER PARTITIONED_FOLDER TIMELINE.csv TIMELINE.jsonl PARQUET_FOLDER_OF_ALL_TABLES
Prints JSON: for every reader, the rows of table kernel, the sum of their durations, and the distinct names.
"""
import glob
import json
import os
import sys

import duckdb
import pandas
import polars
import pyarrow.ipc
import pyarrow.parquet

parquet, arrow, partitioned, timeline, lines, everything = sys.argv[1:]
seen = {"differences": [], "chunks": 0}


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
# Whole numbers with holes would be floating-point numbers, and times since 1970 off by up to 128 ns.
rows = polars.read_ndjson(lines, infer_schema_length=None)
seen["timeline"] = {
    "type_of_start": str(frame["start_ns"].dtype),
    "starts_as_json_has_them": frame["start_ns"].tolist() == rows["start_ns"].to_list(),
    "columns_only_in_csv": sorted(set(frame.columns[frame.notna().any()]) - set(rows.columns)),
}
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


def same(a, b):
    """Equal cells; a NaN equals itself."""
    return a == b or (isinstance(a, float) and isinstance(b, float) and a != a and b != b)


# The pages are written by gpuprof itself: three decoders have to see the same in every cell, and the footer's
# statistics have to be those of the values.
for path in sorted(glob.glob(f"{parquet}/*.parquet") + glob.glob(f"{everything}/*.parquet")):
    name = os.path.relpath(path, os.path.dirname(parquet))
    file = pyarrow.parquet.ParquetFile(path)
    tables = {
        "pyarrow": file.read().to_pydict(),
        "polars": polars.read_parquet(path).to_dict(as_series=False),
        "duckdb": duckdb.sql(f"SELECT * FROM '{path}'").to_arrow_table().to_pydict(),
    }
    for reader, columns in tables.items():
        for column, values in tables["pyarrow"].items():
            others = columns[column]
            if len(others) != len(values) or not all(map(same, others, values)):
                seen["differences"].append(f"{name}: {column}: {reader}")
    first = 0
    for i in range(file.metadata.num_row_groups):
        group = file.metadata.row_group(i)
        for j in range(group.num_columns):
            chunk = group.column(j)
            values = tables["pyarrow"][chunk.path_in_schema][first : first + group.num_rows]
            present = [value for value in values if value is not None]
            statistics = chunk.statistics
            wrong = statistics.null_count != len(values) - len(present)
            if statistics.has_min_max:
                wrong |= statistics.min != min(present) or statistics.max != max(present)
            elif present and isinstance(present[0], int):
                wrong = True
            if wrong:
                seen["differences"].append(f"{name}: {chunk.path_in_schema}: statistics of group {i}")
            seen["chunks"] += 1
        first += group.num_rows
print(json.dumps(seen))
