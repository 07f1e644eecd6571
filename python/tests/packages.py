"""Reads a trace with polars, pyarrow and pandas: ``packages.py TRACE TRUTH``, TRUTH in JSON."""

import json
import sys

import pandas
import polars
import pyarrow

import gpuprof

trace, truth = gpuprof.open(sys.argv[1]), json.loads(sys.argv[2])
table = trace.table("kernels", columns=["name", "start_ns", "duration_ns", "graph_id"])

arrow = table.to_arrow()
assert (arrow.num_rows, arrow.column_names) == (truth["kernels"], ["name", "start_ns", "duration_ns", "graph_id"])
assert pyarrow.types.is_dictionary(arrow.schema.field("name").type), arrow.schema
# Nothing was copied: the memory is that of the file, which is mapped once.
addresses = [part.column("start_ns").chunk(0).buffers()[1].address for part in (arrow, table.to_arrow())]
assert addresses[0] == addresses[1], addresses
assert pyarrow.total_allocated_bytes() == 0, pyarrow.total_allocated_bytes()

frame = table.to_polars()
assert frame.schema["name"] == polars.Categorical and frame.schema["start_ns"] == polars.Int64, frame.schema
assert frame["duration_ns"].sum() == truth["kernel_ns"]
names = set(frame["name"].cast(polars.String).to_list())
assert "saxpy(int, float, float*, float*)" in names, names

data = table.to_pandas()
assert data["duration_ns"].sum() == truth["kernel_ns"]
assert str(data.dtypes["name"]) == "category" and str(data.dtypes["start_ns"]) == "int64", data.dtypes
# Whole numbers with NULLs among them stay whole.
copies = trace.sql("SELECT bytes, start_ns FROM gpu").to_pandas()
assert copies["bytes"].sum() == truth["moved_bytes"] and str(copies.dtypes["bytes"]) == "Int64", copies.dtypes
assert copies["bytes"].isna().sum() == truth["kernels"]

# Other libraries take a table by its interface alone.
assert polars.DataFrame(table).height == pyarrow.table(table).num_rows == truth["kernels"]
assert table.rows()[0] == arrow.slice(0, 1).to_pylist()[0]

none = trace.sql("SELECT name, start_ns FROM kernel WHERE start_ns < 0")
assert none.to_polars().shape == none.to_pandas().shape == (0, 2) and none.columns == ["name", "start_ns"]

view = trace.view("cuda_gpu_kern_sum")
totals = [view.to_polars()["Total Time (ns)"].sum(), view.to_pandas()["Total Time (ns)"].sum()]
totals.append(sum(view.to_arrow()["Total Time (ns)"].to_pylist()))
assert totals == [truth["kernel_ns"]] * 3, totals
assert pandas.DataFrame(trace.insights().rows()).shape[0] == len(trace.insights())
print("read")
