#!/usr/bin/env python3
"""Writes a Parquet trace of bench/gen_trace.py as the database that nvprof 11 exports (`nvprof -o`, version 16), so
that the real `nvprof -i` and gpuprof can read the same rows: nvprof_db.py trace_1m.parquet trace_1m.nvvp

Of the tables that nvprof writes only those with rows are there; nvprof 11.8 reads it without complaint."""
import os
import re
import sqlite3
import sys

import pyarrow.parquet as pq

HERE = os.path.dirname(os.path.abspath(__file__))
PID = 4242
BEGIN_NS = 1_700_000_000_000_000_000

TABLES = {
    "MEMCPY": "copyKind srcKind dstKind flags bytes start end deviceId contextId streamId correlationId "
              "runtimeCorrelationId graphNodeId graphId",
    "MEMSET": "value bytes start end deviceId contextId streamId correlationId flags memoryKind graphNodeId graphId",
    "DRIVER": "cbid start end processId threadId correlationId returnValue",
    "RUNTIME": "cbid start end processId threadId correlationId returnValue",
    "DEVICE": "flags globalMemoryBandwidth globalMemorySize constantMemorySize l2CacheSize numThreadsPerWarp "
              "coreClockRate numMemcpyEngines numMultiprocessors maxIPC maxWarpsPerMultiprocessor "
              "maxBlocksPerMultiprocessor maxSharedMemoryPerMultiprocessor maxRegistersPerMultiprocessor "
              "maxRegistersPerBlock maxSharedMemoryPerBlock maxThreadsPerBlock maxBlockDimX maxBlockDimY "
              "maxBlockDimZ maxGridDimX maxGridDimY maxGridDimZ computeCapabilityMajor computeCapabilityMinor id "
              "eccEnabled uuid name isCudaVisible",
    "CONTEXT": "contextId deviceId computeApiKind nullStreamId",
    "CONCURRENT_KERNEL": "cacheConfig sharedMemoryConfig registersPerThread partitionedGlobalCacheRequested "
                         "partitionedGlobalCacheExecuted start end completed deviceId contextId streamId gridX gridY "
                         "gridZ blockX blockY blockZ staticSharedMemory dynamicSharedMemory localMemoryPerThread "
                         "localMemoryTotal correlationId gridId name queued submitted launchType "
                         "isSharedMemoryCarveoutRequested sharedMemoryCarveoutRequested sharedMemoryExecuted "
                         "graphNodeId shmemLimitConfig graphId pAccessPolicyWindow",
}
BLOBS = {"cacheConfig", "uuid", "pAccessPolicyWindow"}


def callback_ids():
    """API name as programs write it -> (table, callback id), from our own table of CUPTI's names."""
    text = open(os.path.join(HERE, "../src/cupti/cbid.rs")).read()
    ids = {}
    for table, part in zip(("RUNTIME", "DRIVER"), text.split("pub static DRIVER")):
        for cbid, name in enumerate(re.findall(r'^    "(.*)",$', part, re.M)):
            plain = re.sub(r"_v\d{4,}$", "", name) if table == "RUNTIME" else re.sub(r"_v\d$", "", name)
            ids.setdefault(plain, (table, cbid))
    return ids


def main(source, target):
    if os.path.exists(target):
        os.remove(target)
    db = sqlite3.connect(target)
    db.execute("PRAGMA journal_mode=OFF")
    db.execute("PRAGMA synchronous=OFF")
    db.execute("CREATE TABLE Version(version INTEGER)")
    db.execute("INSERT INTO Version VALUES (16)")
    db.execute("CREATE TABLE StringTable(_id_ INTEGER PRIMARY KEY AUTOINCREMENT, value TEXT NOT NULL UNIQUE)")
    insert = {}
    for table, columns in TABLES.items():
        columns = columns.split()
        declared = ", ".join(f"{c} {'BLOB' if c in BLOBS else 'INT'} NOT NULL" for c in columns)
        db.execute(f"CREATE TABLE CUPTI_ACTIVITY_KIND_{table}(_id_ INTEGER PRIMARY KEY AUTOINCREMENT, {declared})")
        insert[table] = f"INSERT INTO CUPTI_ACTIVITY_KIND_{table}({', '.join(columns)}) " \
                        f"VALUES ({', '.join('?' * len(columns))})"

    strings = {}

    def string(value):
        if value not in strings:
            strings[value] = len(strings) + 1
            db.execute("INSERT INTO StringTable VALUES (?, ?)", (strings[value], value))
        return strings[value]

    ids, missing = callback_ids(), set()
    devices, grid_id = set(), 0
    file = pq.ParquetFile(source)
    for group in range(file.num_row_groups):
        rows = {table: [] for table in TABLES}
        columns = file.read_row_group(group).to_pydict()
        for kind, name, start, end, corr, device, stream, size, grid, block in zip(*(columns[c] for c in (
                "kind", "name", "start", "end", "correlation", "device", "stream", "bytes", "grid_x", "block_x"))):
            start, end, context = start + BEGIN_NS, end + BEGIN_NS, device + 1
            devices.add(device)
            if kind == "api":
                if name not in ids:
                    missing.add(name)
                    continue
                table, cbid = ids[name]
                rows[table].append((cbid, start, end, PID, PID + device, corr, 0))
            elif kind == "kernel":
                grid_id += 1
                rows["CONCURRENT_KERNEL"].append(
                    (b"0", 0, 32, 1, 1, start, end, end, device, context, stream, grid, 1, 1, block, 1, 1, 0, 0, 0, 0,
                     corr, grid_id, string(name), 0, 0, 0, 0, 0, 0, 0, 0, 0, bytes(8)))
            elif kind == "memset":
                rows["MEMSET"].append((0, size, start, end, device, context, stream, corr, 0, 3, 0, 0))
            else:
                copy, source_kind, target_kind = {"HtoD]": (1, 1, 3), "DtoH]": (2, 3, 1)}.get(name[-5:], (8, 3, 3))
                rows["MEMCPY"].append((copy, source_kind, target_kind, 1, size, start, end, device, context, stream,
                                       corr, 0, 0, 0))
        for table, values in rows.items():
            db.executemany(insert[table], values)
    for device in sorted(devices):
        name = string("NVIDIA H100 80GB HBM3")
        db.execute(insert["DEVICE"], (
            1, 3_352_320_000, 85_028_765_696, 65_536, 52_428_800, 32, 1_980_000, 3, 132, 4, 64, 32, 233_472, 65_536,
            65_536, 49_152, 1024, 1024, 1024, 64, 2_147_483_647, 65_535, 65_535, 9, 0, device, 1,
            bytes([device] * 16), name, 1))
        db.execute(insert["CONTEXT"], (device + 1, device, 1, 7))
    db.commit()
    db.close()
    if missing:
        sys.exit(f"no callback id is known for {', '.join(sorted(missing))}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
