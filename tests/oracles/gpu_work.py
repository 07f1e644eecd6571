"""What the views of GPU work have to say of a trace: classes, idle time, hidden copies, runs, queues and bandwidths.

    gpu_work.py FILE VIEW...
"""

import json
import re
import sys
from collections import Counter, defaultdict
from fractions import Fraction

from traces import COPY_KINDS, Trace, five, length, percent, rounded, union

CLASSES = ["computation", "communication", "memory"]
# Names of kernels that use tensor cores.
TENSOR_CORES = re.compile(
    r"tensorop|hmma|imma_|gmma|wmma|nvjet|flash_fwd|flash_bwd|flashattn|fmha|mma_sync"
    r"|(?<![a-z0-9])[shidz](884|1688|16816|16832|161616|8816|8832)[a-z]"
    r"|(?=.*xmma(?![a-z0-9])).*(?<![a-z0-9])(f16|bf16|tf32|i8|e4m3|e5m2)", re.I)
SETS = [[0], [1], [2], [0, 1], [0, 2], [1, 2], [0, 1, 2]]
NSYS_WORDS = {"HtoD": "Host-to-Device", "DtoH": "Device-to-Host", "DtoD": "Device-to-Device", "PtoP": "Peer-to-Peer"}


def klass(work):
    if work.kind != "kernel":
        return 2
    name = work.name.removeprefix("void ")
    return 1 if (name.startswith("nccl") and "Kernel" in name) or name.startswith("rccl") else 0


def word(name):
    for short, long in NSYS_WORDS.items():
        name = name.replace(short, long)
    return name


def answer(trace, view):
    work = [w for w in trace.work if w.end is not None]
    launches = trace.launches()
    by_device, by_stream = defaultdict(list), defaultdict(list)
    for w in sorted(work, key=lambda w: (w.start, w.end)):
        by_device[w.pid, w.device].append(w)
        by_stream[w.pid, w.device, w.stream].append(w)
    rows = []

    def put(pid, row):
        rows.append(({"PID": pid & 0xFFFFFF} if pid else {}) | row)

    for (pid, device), of in sorted(by_device.items()):
        parts = [union((w.start, w.end) for w in of if klass(w) == c) for c in range(3)]
        span = max(w.end for w in of) - min(w.start for w in of)
        busy = length(union((w.start, w.end) for w in of))
        if view == "gpu_class_overlap":
            # Which classes run changes only where something begins or ends.
            marks = sorted({edge for p in parts for interval in p for edge in interval})
            found, at = Counter(), [0, 0, 0]
            for start, end in zip(marks, marks[1:]):
                running = []
                for c in range(3):
                    while at[c] < len(parts[c]) and parts[c][at[c]][1] <= start:
                        at[c] += 1
                    if at[c] < len(parts[c]) and parts[c][at[c]][0] <= start:
                        running.append(c)
                found[tuple(running)] += end - start
            for of_set in SETS:
                ns = found[tuple(of_set)]
                if ns:
                    put(pid, {
                        "DevId": device, "Time (ns)": ns, "of Busy Time (%)": percent(ns, busy), "Busy Time (ns)": busy,
                        "Classes": " + ".join(CLASSES[c] for c in of_set)})
        elif view == "gpu_class_sum":
            names = defaultdict(list)
            for w in of:
                names[klass(w), w.name].append(w.duration)
            for (c, name), ns in sorted(names.items(), key=lambda n: (n[0][0], -sum(n[1]), n[0][1].encode())):
                total = sum(sum(other) for (d, _), other in names.items() if d == c)
                put(pid, {
                    "DevId": device, "Class": CLASSES[c], "Total Time (ns)": sum(ns), "of Class (%)": percent(sum(ns), total),
                    "Instances": len(ns),
                    **dict(zip(["Avg (ns)", "Med (ns)", "Min (ns)", "Max (ns)", "StdDev (ns)"], five(ns))), "Name": name})
        elif view == "gpu_tensor_core_guess":
            kernels = [w for w in of if klass(w) == 0]
            total = sum(w.duration for w in kernels)
            for guess, wanted in [("tensor cores", True), ("others", False)]:
                names = Counter()
                for w in kernels:
                    if bool(TENSOR_CORES.search(w.name)) == wanted:
                        names[w.name] += w.duration
                if names:
                    longest = min(names, key=lambda name: (-names[name], name.encode()))
                    put(pid, {
                        "DevId": device, "Kernel Time (ns)": sum(names.values()), "of Computation (%)": percent(sum(names.values()), total),
                        "Computation (ns)": total, "Kernels": sum(w.name in names for w in kernels), "Guess": guess,
                        "Longest Total of Name (ns)": names[longest], "Name": longest})
        elif view == "hta_temporal_breakdown":
            compute = length(union(
                (w.start, w.end) for w in of if w.kind == "kernel" and "Memcpy" not in w.name and "Sync" not in w.name
                and not w.name.startswith("Memset") and not (w.name.startswith("nccl") and "Kernel" in w.name)))
            shares = [("Idle", span - busy), ("Compute", compute), ("Non-Compute", busy - compute)]
            put(pid, {"DevId": device, "Kernel Time (ns)": span} | {f"{n} (ns)": ns for n, ns in shares} | {
                f"{n} of Kernel Time (%)": rounded(Fraction(100 * ns, span), 2) for n, ns in shares})
        elif view.startswith("cuda_gpu_time_util_map"):
            first, last = min(w.start for w in work), max(w.end for w in work)
            bins = int(view.partition("bins=")[2] or 30)
            size = -(-(last - first) // bins)
            busy = union((w.start, w.end) for w in of)
            for start in range(first, last, size):
                end = min(start + size, last)
                share = lambda part: percent(length(part, start, end), end - start)
                # Both ran for as long as they ran one by one, less as long as either ran.
                either = union((w.start, w.end) for w in of if klass(w) < 2)
                both = length(parts[0], start, end) + length(parts[1], start, end) - length(either, start, end)
                put(pid, {
                    "DevId": device, "Duration (ns)": end - start, "Busy (ns)": length(busy, start, end),
                    "Busy of Duration (%)": share(busy), "Computation of Duration (%)": share(parts[0]),
                    "Communication of Duration (%)": share(parts[1]), "Both at Once of Duration (%)": percent(both, end - start),
                    "Memory of Duration (%)": share(parts[2])})
        elif view.startswith("gpu_hidden_copies"):
            kernels = union((w.start, w.end) for w in of if w.kind == "kernel")
            for w in of:
                if w.kind == "memcpy" and w.duration >= 100_000:
                    hidden = length(kernels, w.start, w.end)
                    if 2 * hidden <= w.duration:
                        put(pid, {
                            "DevId": device, "Stream": w.stream, "Duration (ns)": w.duration, "Hidden (ns)": hidden,
                            "Hidden of Duration (%)": percent(hidden, w.duration), "Exposed (ns)": w.duration - hidden,
                            "Bytes": w.bytes, "Operation": word(w.name), "start": w.start})
        elif view == "gpu_copy_bandwidth":
            numbers = {f"[CUDA memcpy {kind}]": number for number, kind in COPY_KINDS.items()}
            for name in sorted({w.name for w in of if w.kind == "memcpy"}, key=numbers.get):
                copies = [(w.start, max(1, w.duration), w.bytes) for w in of if w.kind == "memcpy" and w.name == name]
                each = sorted(size * 10**6 // ns for _, ns, size in copies)
                busy = length(union((start, start + ns) for start, ns, _ in copies))
                ups = [(start, 1, size * 10**6 // ns) for start, ns, size in copies]
                downs = [(start + ns, 0, -(size * 10**6 // ns)) for start, ns, size in copies]
                level, levels = 0, []
                for _, _, step in sorted(ups + downs, key=lambda e: e[:2]):
                    level += step
                    levels.append(level)
                positive = [l for l in levels if l > 0]
                put(pid, {
                    "DevId": device, "Copies": len(copies), "Bytes": sum(c[2] for c in copies), "Busy (ns)": busy,
                    "Avg while Busy (GB/s)": rounded(Fraction(sum(c[2] for c in copies), busy), 3),
                    "Peak of All (GB/s)": rounded(Fraction(max(levels), 10**6), 3),
                    "Avg over Changes (GB/s)": rounded(Fraction(sum(positive), 10**6 * len(positive)), 3) if positive else 0.0,
                    "Copy Min (GB/s)": rounded(Fraction(each[0], 10**6), 3),
                    "Copy Med (GB/s)": rounded(Fraction(each[(len(each) - 1) // 2], 10**6), 3),
                    "Copy Max (GB/s)": rounded(Fraction(each[-1], 10**6), 3), "Operation": word(name)})

    for (pid, device, stream), of in sorted(by_stream.items()):
        called = [(w, launches.get((w.pid, w.correlation))) for w in of]
        if view == "gpu_idle_breakdown":
            ours, hta, latest = {}, {}, 0
            for i in range(1, len(of)):
                latest = max(latest, of[i - 1].end)
                start, call = called[i][0].start, called[i][1]
                for sums, before, least in [(hta, of[i - 1].end, 30_000), (ours, latest, 30)]:
                    gap = start - before
                    if sums is ours and gap <= 0:
                        continue
                    wait = "host_wait" if call and call.start > before else "kernel_wait" if gap < least else "other"
                    sums.setdefault(wait, []).append(gap)
            totals = [sum(map(sum, sums.values())) for sums in (ours, hta)]
            for wait in ["host_wait", "kernel_wait", "other"]:
                if wait in ours or wait in hta:
                    gaps, theirs = ours.get(wait, []), hta.get(wait, [])
                    put(pid, {
                        "DevId": device, "Stream": stream, "Category": wait, "Gaps": len(gaps), "Idle (ns)": sum(gaps),
                        "of Stream Idle (%)": percent(sum(gaps), totals[0]), "Stream Idle (ns)": totals[0],
                        "HTA Gaps": len(theirs), "HTA Idle (ns)": sum(theirs),
                        "HTA of Stream Idle (%)": rounded(Fraction(100 * sum(theirs), totals[1])) if totals[1] > 0 else None})
        elif view == "gpu_queue_length":
            waits = [(c.start, w.start) for w, c in called if c and c.start <= w.start]
            if not waits:
                continue
            level, levels, times = 0, [], Counter()
            events = sorted([(a, 0, 1) for a, _ in waits] + [(b, 1, -1) for _, b in waits])
            for (at, _, step), following in zip(events, events[1:] + events[-1:]):
                level += step
                levels.append(level)
                times[level] += following[0] - at
            span = events[-1][0] - events[0][0]
            put(pid, {
                "DevId": device, "Stream": stream, "Launches": len(waits), "Span (ns)": span, "Max Length": max(levels),
                "Avg over Time": rounded(Fraction(sum(l * ns for l, ns in times.items()), span), 3) if span else None,
                "Avg over Changes": rounded(Fraction(sum(levels), len(levels)), 3), "Empty (ns)": times[0],
                "Empty of Span (%)": percent(times[0], span), "Full (ns)": sum(ns for l, ns in times.items() if l >= 1024)})
        elif view == "gpu_coalescable":
            runs, run = [], []
            for w in of:
                sort = w.kind != "memset" and w.duration <= 10**6
                fits = run and sort and (run[0].kind, run[0].name) == (w.kind, w.name)
                if fits and w.start - max(r.end for r in run) <= 10**6:
                    run.append(w)
                else:
                    runs.append(run)
                    run = [w] if sort else []
            for run in runs + [run]:
                if len(run) >= 3:
                    gaps, end = 0, run[0].end
                    for w in run[1:]:
                        gaps += max(0, w.start - end)
                        end = max(end, w.end)
                    put(pid, {
                        "Kind": run[0].kind, "DevId": device, "Stream": stream, "Length": len(run),
                        "Duration (ns)": end - run[0].start, "Work Time (ns)": sum(w.duration for w in run),
                        "Gap Time (ns)": gaps, "Bytes": sum(w.bytes for w in run) if run[0].kind == "memcpy" else 0,
                        "Name": word(run[0].name) if run[0].kind == "memcpy" else run[0].name, "start": run[0].start})
    if view == "gpu_coalescable":
        rows.sort(key=lambda r: (-r["Length"], r["start"]))
    elif view == "gpu_hidden_copies":
        rows.sort(key=lambda r: (-r["Exposed (ns)"], r["start"]))
    for row in rows:
        row.pop("start", None)
    return rows


if __name__ == "__main__":
    trace = Trace(sys.argv[1])
    print(json.dumps({view: answer(trace, view) for view in sys.argv[2:]}))
