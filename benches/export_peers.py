"""What `gpuprof export` is measured beside: DuckDB's COPY and orjson, on the same rows.

usage: export_peers.py duckdb-csv TABLES OUT    COPY of every table of a gpuprof Parquet export as CSV
       export_peers.py duckdb-parquet TABLES OUT   the same as Parquet with zstd
       export_peers.py orjson EVENTS.json OUT   reads a Chrome trace, then times nothing but writing its events again
Prints the seconds that writing took; reading and starting Python are not in them.
"""
import os
import sys
import time


def duckdb_copy(tables, out, options):
    import duckdb

    os.makedirs(out, exist_ok=True)
    db = duckdb.connect()
    seconds = 0.0
    for name in sorted(os.listdir(tables)):
        if not name.endswith(".parquet"):
            continue
        table = name.removesuffix(".parquet")
        begun = time.perf_counter()
        db.execute(f"COPY (SELECT * FROM '{tables}/{name}') TO '{out}/{table}' ({options})")
        seconds += time.perf_counter() - begun
    print(f"{seconds:.3f}")


def orjson_dump(events, out):
    import orjson

    with open(events, "rb") as file:
        document = orjson.loads(file.read())
    begun = time.perf_counter()
    with open(out, "wb") as file:
        file.write(orjson.dumps(document))
    print(f"{time.perf_counter() - begun:.3f}")


match sys.argv[1:]:
    case ["duckdb-csv", tables, out]:
        duckdb_copy(tables, out, "FORMAT csv, HEADER")
    case ["duckdb-parquet", tables, out]:
        duckdb_copy(tables, out, "FORMAT parquet, COMPRESSION zstd")
    case ["orjson", events, out]:
        orjson_dump(events, out)
    case _:
        sys.exit(__doc__)
