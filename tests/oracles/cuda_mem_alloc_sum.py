"""What `gpuprof report --view cuda_mem_alloc_sum` has to say of a database of nsys. Blocks are kept one by one, and what is allocated at a
moment is added up anew for each moment.

    cuda_mem_alloc_sum.py FILE VIEW
"""

import json
import sqlite3
import sys
from collections import defaultdict

from traces import median, percent, rounded

KINDS = {0: "Pageable", 1: "Pinned", 2: "Device", 3: "Array", 4: "Managed", 5: "Device", 6: "Managed"}


def row(pid, device, kind, events, calls):
    blocks, open_at, unknown, free, again = [], {}, 0, defaultdict(int), 0
    for event in events:
        if event["memoryOperationType"] == 0:
            if event["address"] in open_at:
                # Its release is missing, so it is neither released nor left.
                open_at[event["address"]]["forgotten"] = event["start"]
            block = {"bytes": event["bytes"], "from": event["start"], "to": None, "forgotten": None}
            open_at[event["address"]] = block
            blocks.append(block)
            if free[event["bytes"]]:
                free[event["bytes"]] -= 1
                again += 1
        elif event["address"] in open_at:
            block = open_at.pop(event["address"])
            block["to"] = event["start"]
            free[block["bytes"]] += 1
        else:
            unknown += 1
    best, best_at = 0, None
    for moment in [block["from"] for block in blocks]:
        ends = [block["to"] or block["forgotten"] or float("inf") for block in blocks]
        there = sum(block["bytes"] for block, end in zip(blocks, ends) if block["from"] <= moment < end)
        if there > best:
            best, best_at = there, moment
    lives = [block["to"] - block["from"] for block in blocks if block["to"]]
    left = sum(block["bytes"] for block in blocks if not block["to"] and not block["forgotten"])
    return {
        "PID": pid, "DevId": device, "Allocations": len(blocks), "Releases": len(lives), "Releases of Unknown": unknown,
        "Total (bytes)": sum(block["bytes"] for block in blocks), "Peak (bytes)": best, "Peak At (ns)": best_at, "Left (bytes)": left,
        "Time in Calls (ns)": sum(calls.get(event["correlationId"], 0) for event in events),
        "Med Lifetime (ns)": rounded(median(lives)) if lives else None,
        "Released within 1 ms (%)": percent(sum(ns <= 1_000_000 for ns in lives), len(blocks)),
        "Size Was Released Before (%)": percent(again, len(blocks)), "Kind": kind,
    }


def main():
    db = sqlite3.connect(sys.argv[1])
    db.row_factory = sqlite3.Row
    events, calls = defaultdict(list), defaultdict(lambda: defaultdict(int))
    for event in db.execute("SELECT * FROM CUDA_GPU_MEMORY_USAGE_EVENTS ORDER BY start"):
        events[event["globalPid"] >> 24 & 0xFFFFFF, event["deviceId"], KINDS[event["memKind"]]].append(event)
    for call in db.execute("SELECT * FROM CUPTI_ACTIVITY_KIND_RUNTIME"):
        # A call without a correlation id belongs to nothing.
        if call["correlationId"]:
            calls[call["globalTid"] >> 24 & 0xFFFFFF][call["correlationId"]] += call["end"] - call["start"]
    rows = [row(*key, group, calls[key[0]]) for key, group in events.items()]
    rows.sort(key=lambda r: (-r["Time in Calls (ns)"], -r["Total (bytes)"]))
    json.dump({"cuda_mem_alloc_sum": rows}, sys.stdout)


if __name__ == "__main__":
    main()
