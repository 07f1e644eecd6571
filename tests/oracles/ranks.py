#!/usr/bin/env python3
"""What `gpuprof ranks` has to find in PyTorch traces of several ranks, computed anew with nothing but the standard library.

    python3 ranks.py FOLDER

Prints JSON: the clocks of the ranks (against the first), and, taking the clocks as they are, unions of time by rank and every
collective. Written without a look at gpuprof's code; times are integer nanoseconds.
"""

import json
import os
import statistics
import sys

SIZES = {"Float": 4, "Half": 2, "BFloat16": 2, "Double": 8, "Long": 8, "Int": 4, "Char": 1, "Byte": 1}


def nanoseconds(text):
    whole, _, part = text.partition(".")
    return int(whole) * 1000 + int((part + "000")[:3])


class Text(str):
    """A number as it is written."""


def read(path):
    with open(path) as file:
        trace = json.load(file, parse_float=Text, parse_int=Text)
    base = int(trace.get("baseTimeNanoseconds", "0"))
    kernels = []
    for event in trace["traceEvents"]:
        if event.get("cat") == "kernel":
            start = base + nanoseconds(event["ts"])
            kernels.append((start, start + nanoseconds(event["dur"]), event["name"], event["args"]))
    kernels.sort(key=lambda kernel: kernel[:2])
    return int(trace["distributedInfo"]["rank"]), kernels


def is_communication(name):
    return name.startswith("nccl") and "Kernel" in name


def union(spans):
    merged = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([start, end])
    return merged


def length(spans):
    return sum(end - start for start, end in spans)


def common(a, b):
    return sum(max(0, min(x[1], y[1]) - max(x[0], y[0])) for x in a for y in b)


def matched(ranks):
    found = {}
    for rank, kernels in ranks.items():
        counts = {}
        for start, end, name, args in kernels:
            if is_communication(name):
                key = (args["Process Group Name"], args["Process Group Ranks"], args["Collective name"])
                number = counts.get(key, 0)
                counts[key] = number + 1
                found.setdefault(key + (number,), {})[rank] = (start, end, args)
    return {key: members for key, members in found.items() if len(members) > 1}


def collective(key, members):
    starts = {rank: start for rank, (start, _, _) in members.items()}
    last = max(starts.values())
    transfer = max(end for _, end, _ in members.values()) - last
    args = next(iter(members.values()))[2]
    size = int(args["Group size"])
    moved = max(int(args["In msg nelems"]), int(args["Out msg nelems"])) * SIZES[args["dtype"]]
    factor = 2 * (size - 1) / size if key[2] == "allreduce" else (size - 1) / size
    return {
        "start_ns": min(starts.values()),
        "bytes": moved,
        "skew_ns": last - min(starts.values()),
        "last_rank": min(rank for rank, start in starts.items() if start == last),
        "wait_ns": sum(last - start for start in starts.values()),
        "transfer_ns": transfer,
        "algorithm_gb_per_s": moved / transfer,
        "bus_gb_per_s": moved / transfer * factor,
    }


def clock(first, other):
    """Ends of the same collectives: offset at the first end, and slope over all pairs of ends."""
    pairs = sorted((end, other[key] - end) for key, end in first.items() if key in other)
    slopes = [
        (b[1] - a[1]) / (b[0] - a[0]) for i, a in enumerate(pairs) for b in pairs[i + 1 :] if b[0] > a[0]
    ]
    slope = statistics.median(slopes)
    origin = min(first.values())
    return {
        "offset_ns": statistics.median(ahead - slope * (at - origin) for at, ahead in pairs),
        "drift_ppm": slope * 1e6,
    }


def main(folder):
    ranks = dict(sorted(read(os.path.join(folder, name)) for name in os.listdir(folder)))
    groups = matched(ranks)
    ends = {
        rank: {key: members[rank][1] for key, members in groups.items() if rank in members} for rank in ranks
    }
    observed = max(k[1] for ks in ranks.values() for k in ks) - min(k[0] for ks in ranks.values() for k in ks)
    rows = []
    for rank, kernels in ranks.items():
        compute = union([k[:2] for k in kernels if not is_communication(k[2])])
        talk = union([k[:2] for k in kernels if is_communication(k[2])])
        waits = union(
            [
                (members[rank][0], max(start for start, _, _ in members.values()))
                for members in groups.values()
                if rank in members
            ]
        )
        rows.append(
            {
                "rank": rank,
                "observed_ns": observed,
                "compute_ns": length(compute),
                "communication_ns": length(talk),
                "exposed_communication_ns": length(talk) - common(talk, compute),
                "idle_ns": observed - length(union([k[:2] for k in kernels])),
                "wait_ns": length(waits),
                "clock": clock(ends[min(ranks)], ends[rank]),
            }
        )
    bubble = 1 - sum(row["compute_ns"] for row in rows) / (observed * len(rows))
    print(
        json.dumps(
            {
                "ranks": rows,
                "bubble_percent": bubble * 100,
                "collectives": sorted(
                    (collective(key, members) for key, members in groups.items()), key=lambda c: c["start_ns"]
                ),
            }
        )
    )


if __name__ == "__main__":
    main(sys.argv[1])
