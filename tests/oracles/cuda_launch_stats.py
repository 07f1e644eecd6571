"""What `gpuprof report --view cuda_launch_stats` has to say of a trace, counted launch by launch.

    cuda_launch_stats.py FILE
"""

import json
import sys

from traces import Trace, five, percent


def main():
    trace = Trace(sys.argv[1])
    launches = trace.launches()
    # Every piece of work with all that was launched into its stream before it.
    streams = {}
    for work in trace.work:
        if work.duration is not None:
            streams.setdefault((work.pid, work.device, work.context, work.stream), []).append(work)
    free = {}
    for works in streams.values():
        works.sort(key=lambda w: w.start)
        latest = None
        pending = []
        for work in works:
            if pending and pending[0].start < work.start:
                latest = max([p.end for p in pending] + ([] if latest is None else [latest]))
                pending = []
            pending.append(work)
            free[id(work)] = latest

    groups = {}
    for work in trace.work:
        call = launches.get((work.pid, work.correlation))
        if call and work.kind != "kernel" and "Async" not in call.name and "Launch" not in call.name:
            continue
        group = groups.setdefault((work.kind, work.name), [])
        group.append((work, call, free.get(id(work))))

    def row(kind, name, rows):
        known = [r for r in rows if r[1] and r[0].duration is not None]
        delays = [w.start - c.end for w, c, _ in known]
        latencies = [w.start - c.start for w, c, _ in known]
        followers = [(c.start, f) for _, c, f in known if f is not None]
        bound = sum(start > f for start, f in followers)
        out = {
            "Kind": kind,
            "Name": name,
            "Launches": len(known),
            "Without Call": sum(1 for w, c, _ in rows if c is None and w.duration is not None),
            "Without Times": sum(1 for w, _, _ in rows if w.duration is None),
            "Followers": len(followers),
            "Host-Bound": bound,
            "Host-Bound of Followers (%)": percent(bound, len(followers)),
            "Negative Delays": sum(d < 0 for d in delays),
            "Negative of Launches (%)": percent(sum(d < 0 for d in delays), len(known)),
            "Negative Latencies": sum(d < 0 for d in latencies),
            "Short Kernels": sum(c.duration <= 50_000 and w.duration < c.duration for w, c, _ in known),
            "Long Calls": sum(c.duration > 50_000 for _, c, _ in known),
            "Long Delays": sum(d > 100_000 for d in delays),
            "QCount": sum(d > 0 for d in delays),
        }
        phases = {
            "Delay ": delays,
            "Latency ": latencies,
            "T": [max(c.end, w.end) - c.start for w, c, _ in known],
            "A": [c.duration for _, c, _ in known],
            "Q": [d for d in delays if d > 0],
            "K": [w.duration for w, _, _ in known],
        }
        for phase, values in phases.items():
            for what, value in zip(["Avg", "Med", "Min", "Max", "StdDev"], five(values)):
                out[f"{phase}{what} (ns)"] = value
        return out

    rows = [row(kind, name, of) for (kind, name), of in groups.items()]
    order = ["kernel", "graph", "memcpy", "memset"]
    rows.sort(key=lambda r: (-r["Launches"], order.index(r["Kind"]), r["Name"].encode()))
    if rows:
        everything = [r for of in groups.values() for r in of]
        kernels = [r for r in everything if r[0].kind == "kernel"]
        rows = [row("all", "", everything), row("all kernels", "", kernels)] + rows
    print(json.dumps({"cuda_launch_stats": rows}))


main()
