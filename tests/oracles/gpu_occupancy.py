"""What `gpu_occupancy` has to say of a database of nsys. What a multiprocessor has is taken from the database itself, where nsys wrote
what the driver had said, and not from a table by compute capability as in gpuprof.

    gpu_occupancy.py FILE VIEW...
"""

import json
import sqlite3
import sys
from collections import defaultdict
from fractions import Fraction

from traces import percent, rounded


def steps(number, step):
    return -(-number // step) * step


def blocks(gpu, threads, registers, shared):
    """Blocks on a multiprocessor and the first reason why there are no more. Tried one after the other until one does not fit."""
    warps, is_new = -(-threads // 32), gpu["computeMajor"] >= 8
    # Of some GPUs nsys does not know it: 16 is what a Turing has.
    most = gpu["maxBlocksPerSm"] or 16
    per_part = gpu["maxRegistersPerSm"] // 4 // steps(registers * 32, 256) if registers else None
    block_bytes = steps(shared + (1024 if is_new else 0), 128 if is_new else 256)
    count = 0
    while True:
        n = count + 1
        if n * warps > gpu["maxWarpsPerSm"]:
            return count, "warps"
        if n > most:
            return count, "blocks"
        if per_part is not None and n * warps > per_part * 4:
            return count, "registers"
        if n * block_bytes > gpu["maxShmemPerSm"]:
            return count, "shared memory"
        count = n


def answer(path):
    db = sqlite3.connect(path)
    db.row_factory = sqlite3.Row
    gpus = {row["cuDevice"] if "cuDevice" in row.keys() else row["id"]: row for row in db.execute("SELECT * FROM TARGET_INFO_GPU")}
    texts = dict(db.execute("SELECT id, value FROM StringIds"))
    groups = defaultdict(list)
    for row in db.execute("SELECT * FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE end >= start"):
        size = tuple(tuple(row[f"{what}{axis}"] for axis in "XYZ") for what in ("grid", "block"))
        shared = row["staticSharedMemory"] + row["dynamicSharedMemory"]
        key = texts[row["demangledName"]], (row["globalPid"] or 0) >> 24 & 0xFFFFFF, row["deviceId"], size, row["registersPerThread"], shared
        groups[key].append(row["end"] - row["start"])
    total = sum(sum(ns) for ns in groups.values())
    rows = []
    for (name, pid, device, (grid, block), registers, shared), ns in groups.items():
        gpu, text = gpus[device], lambda sizes: " ".join(f"{n:4}" for n in sizes)
        count, why = blocks(gpu, block[0] * block[1] * block[2], registers, shared)
        places = count * gpu["smCount"]
        grid_blocks = grid[0] * grid[1] * grid[2]
        all_places = steps(grid_blocks, places)
        rows.append({
            "of Kernel Time (%)": percent(sum(ns), total), "Total Time (ns)": sum(ns), "Instances": len(ns), "PID": pid,
            "DevId": device, "Registers": registers, "Shared Memory (bytes)": shared, "Blocks per SM": count,
            "Occupancy of Warps (%)": percent(count * -(-block[0] * block[1] * block[2] // 32), gpu["maxWarpsPerSm"]),
            "Limited By": why, "Waves": rounded(Fraction(grid_blocks, places), 2),
            "Empty of All Waves (%)": percent(all_places - grid_blocks, all_places), "Name": name,
            "order": (-sum(ns), name.encode(), text(grid), text(block), registers, shared)})
    rows.sort(key=lambda row: row["order"])
    for row in rows:
        del row["order"]
    return rows


if __name__ == "__main__":
    print(json.dumps({view: answer(sys.argv[1]) for view in sys.argv[2:]}))
