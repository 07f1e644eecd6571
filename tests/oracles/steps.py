"""What `gpuprof report --view steps`, `steps_sum` and `steps_slow` have to say of a trace, the idle time by cause left out.

    steps.py FILE VIEW...

Ranges are looked at one by one, distances between equal kernels are all tried, and sequences are searched as text.
"""

import bisect
import json
import operator
import re
import sys
from collections import Counter
from fractions import Fraction
from functools import cache

from traces import Trace, deviation, five, percent, percentile, rounded, union

STEP = re.compile(r"(profilerstep|step|train[_ ]step|training[_ ]step|iteration|iter|batch)", re.I)


def folded(name):
    return re.sub(r"[0-9]+", "*", name)


def is_named(name):
    return STEP.fullmatch(folded(name).strip("".join(c for c in map(chr, range(128)) if not c.isalnum()))) is not None


@cache
def by_ranges(trace, pid):
    """Windows of the ranges that are steps, and their names."""
    groups, levels = {}, {}
    open_ranges = {}
    for r in sorted((r for r in trace.ranges if r.pid == pid and r.end is not None), key=lambda r: (r.start, -r.end)):
        around = open_ranges[r.tid] = [o for o in open_ranges.get(r.tid, []) if o.end > r.start]
        levels[id(r)] = sum(o.start <= r.start and r.end <= o.end for o in around)
        around.append(r)
        # Annotations of 2020 were operators.
        if not r.is_operator or is_named(r.name):
            groups.setdefault((r.tid, folded(r.name)), []).append(r)
    best = None
    for (tid, name), of in groups.items():
        level = min(levels[id(r)] for r in of)
        of = [r for r in of if levels[id(r)] == level]
        if any(a.end > b.start for a, b in zip(of, of[1:])):
            continue
        total, span = sum(r.duration for r in of), of[-1].end - of[0].start
        named = is_named(name)
        if not named and not (len(of) >= 3 and 2 * total >= span):
            continue
        rank = (not named, level, -total, name, tid)
        if best is None or rank < best[0]:
            best = (rank, of)
    if best:
        return f"ranges {best[0][3]}", [(r.start, r.end, r.name) for r in best[1]], best[0][0]
    return None


@cache
def by_sequence(trace, pid):
    streams = {}
    for w in trace.work:
        if w.pid == pid and w.kind == "kernel" and w.end is not None:
            streams.setdefault((w.device, w.stream), []).append(w)
    if not streams:
        return None
    (device, stream), chain = min(streams.items(), key=lambda s: (-len(s[1]), s[0]))
    chain.sort(key=lambda w: (w.start, w.end))
    letters = {}
    text = "".join(letters.setdefault(w.name, chr(0x100 + len(letters))) for w in chain)
    judged = [(sum(map(operator.ne, text, text[p:])), p) for p in range(2, len(text) // 3 + 1)]
    if not judged:
        return None
    fewest = min(judged)[0]
    wrong, period = next(j for j in judged if 5 * j[0] <= 6 * fewest)
    if 2 * wrong > len(text) - period:
        return None
    repeated = [i for i in range(len(text) - 2 * period + 1) if text[i:i + period] == text[i + period:i + 2 * period]]
    if not repeated:
        return None
    usual = Counter(text[i:i + period] for i in repeated).most_common(1)[0][0]
    first = next(i for i in repeated if text[i:i + period] in usual + usual)
    if len(set(usual)) == 1:
        return None
    # A step begins where the stream pauses for longest, if that is much longer than at the first repetition.
    at = [m.start() for m in re.finditer(re.escape(text[first:first + period]), text)]
    pauses = [[chain[i + r].start - chain[i + r - 1].end for i in at if i + r] for r in range(period)]
    medians = [sorted(p)[len(p) // 2] if p else 0 for p in pauses]
    if max(medians) >= 5_000 and max(medians) >= 2 * medians[0]:
        first += medians.index(max(medians))
    steps = []
    for found in re.finditer(re.escape(text[first:first + period]), text):
        at = found.start()
        if steps:
            between = at - steps[-1][1]
            if 2 * between < period:
                steps[-1][1] = at
            elif 2 * between <= 3 * period:
                steps.append([steps[-1][1], at])
        steps.append([at, at + period])
    if len(steps) < 3 or 2 * sum(b - a for a, b in steps) < len(text):
        return None
    windows = []
    for i, (a, b) in enumerate(steps):
        follows = i + 1 < len(steps) and steps[i + 1][0] == b
        windows.append((chain[a].start, chain[b].start if follows else max(w.end for w in chain[a:b]), None))
    return f"sequence of {period} kernels on GPU {device}, stream {stream}", windows


def answer(trace, view):
    launches = trace.launches()
    rows = []
    for pid in sorted({w.pid for w in trace.work}):
        by_name = by_ranges(trace, pid)
        if by_name and by_name[2]:
            # Ranges that are not called like steps have to hold most of the launches.
            kernels = [w for w in trace.work if w.pid == pid and w.end is not None and w.kind == "kernel"]
            at = [launches[pid, w.correlation].start if (pid, w.correlation) in launches else w.start for w in kernels]
            inside = sum(any(start <= ns < end for start, end, _ in by_name[1]) for ns in at)
            if 2 * inside <= len(kernels):
                by_name = None
        source, windows = (by_name and by_name[:2]) or by_sequence(trace, pid) or (
            "none: no range repeats, and no stream repeats a sequence of kernels", [])
        starts = [w[0] for w in windows]

        def step_at(ns):
            at = bisect.bisect_right(starts, ns) - 1
            return at if at >= 0 and ns < windows[at][1] else None

        work = [w for w in trace.work if w.pid == pid and w.end is not None]
        devices = {d: union((w.start, w.end) for w in work if w.device == d) for d in {w.device for w in work}}
        busy = [0] * len(windows)
        for intervals in devices.values():
            for i, (start, end, _) in enumerate(windows):
                at = max(0, bisect.bisect_right(intervals, [start]) - 1)
                while at < len(intervals) and intervals[at][0] < end:
                    busy[i] += max(0, min(end, intervals[at][1]) - max(start, intervals[at][0]))
                    at += 1
        launched = [[] for _ in windows]
        outside = 0
        for w in work:
            call = launches.get((pid, w.correlation)) if by_name else None
            at = step_at(call.start if call else w.start)
            if at is not None:
                launched[at].append(w)
            else:
                outside += w.kind == "kernel"
        walls = [end - start for start, end, _ in windows]
        warm_up, limit = 0, None
        if len(walls) >= 4:
            half = sorted(walls[len(walls) // 2:])
            limit = half[(len(half) - 1) // 2]
            limit += limit // 4
            while warm_up < len(walls) // 2 and walls[warm_up] > limit:
                warm_up += 1

        steady = range(warm_up, len(walls))
        if view == "steps":
            for i, (start, end, name) in enumerate(windows):
                kinds = [w.kind for w in launched[i]]
                rows.append({
                    "Step": i, "Phase": "warm-up" if i < warm_up else "steady", "Wall (ns)": walls[i],
                    "GPUs": len(devices), "GPU Busy (ns)": busy[i], "GPU Idle (ns)": walls[i] * len(devices) - busy[i],
                    "Kernel Time (ns)": sum(w.duration for w in launched[i] if w.kind == "kernel"),
                    "Kernels": kinds.count("kernel"), "Copies": kinds.count("memcpy"), "Fills": kinds.count("memset"),
                    "Name": name or ""})
        elif view == "steps_sum":
            of = [walls[i] for i in steady]
            spread = dict(zip(["Avg (ns)", "Med (ns)", "Min (ns)", "Max (ns)"], five(of)))
            all_busy = sum(busy[i] for i in steady)
            kernel_time = sum(w.duration for i in steady for w in launched[i] if w.kind == "kernel")
            rows.append({
                "Steps": len(walls), "Warm-Up Steps": warm_up, "Warm-Up Time (ns)": sum(walls[:warm_up]),
                "Warm-Up Limit (ns)": limit, "Total Time (ns)": sum(of) if of else None, **spread,
                "p90 (ns)": percentile(of, 90) if of else None, "p99 (ns)": percentile(of, 99) if of else None,
                "StdDev (ns)": deviation(of) if of else None, "GPUs": len(devices), "GPU Busy (ns)": all_busy,
                "Busy of GPU Time (%)": percent(all_busy, sum(of) * len(devices)),
                "GPU Idle (ns)": sum(of) * len(devices) - all_busy,
                "Kernel Time (ns)": kernel_time,
                "Avg Kernel Time of a Step (ns)": rounded(Fraction(kernel_time, len(steady))) if steady else None,
                "Kernels": sum(w.kind == "kernel" for i in steady for w in launched[i]),
                "Kernels Outside": outside, "Found by": source})
        elif list(steady):
            order = sorted((walls[i], i) for i in steady)
            median_wall, median = order[(len(order) - 1) // 2]
            slow = sorted((-wall, i) for wall, i in order if wall > median_wall)[:5]
            calls = [c for c in trace.calls if c.pid == pid and c.end is not None]
            calls.sort(key=lambda c: (c.start, -c.end))
            ends, outermost = {}, []
            for call in calls:
                if call.end > ends.get(call.tid, -(1 << 63)):
                    ends[call.tid] = call.end
                    outermost.append(call)

            def sums(i):
                found = {}
                parts = [("GPU work", w) for w in launched[i]]
                parts += [("API call", c) for c in outermost if step_at(c.start) == i]
                for kind, part in parts:
                    count, ns = found.get((kind, part.name), (0, 0))
                    found[kind, part.name] = (count + 1, ns + part.duration)
                return found

            of_median = sums(median)
            for negative, i in slow:
                here = sums(i)
                for kind in ["GPU work", "API call"]:
                    longer = []
                    for (of, name), (count, ns) in here.items():
                        count_there, ns_there = of_median.get((of, name), (0, 0))
                        if of == kind and ns > ns_there:
                            longer.append((ns_there - ns, name.encode(), {
                                "Step": i, "Wall (ns)": -negative, "Longer by (ns)": -negative - median_wall,
                                "Median Step": median, "Kind": kind, "Count": count, "Time (ns)": ns,
                                "Median Count": count_there, "Median Time (ns)": ns_there, "Difference (ns)": ns - ns_there,
                                "Name": name}))
                    rows += [row for _, _, row in sorted(longer, key=lambda l: l[:2])[:5]]
        for row in rows if pid else []:
            row.setdefault("PID", pid & 0xFFFFFF)
    return rows


trace = Trace(sys.argv[1])
print(json.dumps({view: answer(trace, view) for view in sys.argv[2:]}))
