"""What `gpuprof report --view critical_path` and `critical_path_sum` have to say of a trace without records of events. Whatever is asked
of the trace, all of its records are looked through.

    critical_path.py FILE VIEW...
"""

import json
import sqlite3
import sys
from collections import Counter

from gpu_work import CLASSES, klass
from traces import Trace, percent

BLOCKING_COPIES = ("cudaMemcpy", "cuMemcpy")
WAITS_FOR_ALL = ("cudaDeviceSynchronize", "cudaThreadSynchronize", "cuCtxSynchronize")
STREAM_WAIT_EVENT, STREAM, CONTEXT = 2, 3, 4
BOUNDS = CLASSES + ["gaps between work", "launch latency", "CUDA calls", "host between calls", "unknown"]


def syncs_of(path):
    """By process and correlation id: type, context and stream."""
    with open(path, "rb") as file:
        if not file.read(16).startswith(b"SQLite format 3"):
            return {}
    db = sqlite3.connect(path)
    if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'CUPTI_ACTIVITY_KIND_SYNCHRONIZATION'").fetchone():
        return {}
    rows = db.execute("SELECT globalPid, correlationId, syncType, contextId, streamId FROM CUPTI_ACTIVITY_KIND_SYNCHRONIZATION")
    return {(row[0] >> 24, row[1]): row[2:] for row in rows if row[1]}


class Process:
    def __init__(self, trace, pid, syncs):
        self.syncs, self.pid = syncs, pid
        calls = [c for c in trace.calls if c.pid == pid and c.end is not None]
        self.calls, last = [], {}
        for call in sorted(calls, key=lambda c: (c.start, -c.duration)):
            outer = last.get(call.tid)
            if outer and call.end <= outer.end:
                outer.ids.append(call.correlation)
            else:
                call.ids = [call.correlation]
                last[call.tid] = call
                self.calls.append(call)
        self.work = sorted((w for w in trace.work if w.pid == pid and w.end is not None), key=lambda w: (w.start, w.end))
        for w in self.work:
            owners = [c for c in self.calls if w.correlation and w.correlation in c.ids]
            w.launch = owners[0] if owners else None
            w.launched = w.launch.start if w.launch else w.start
        for w in self.work:
            before = [o for o in self.work if (o.context, o.stream) == (w.context, w.stream) and (o.start, o.end) < (w.start, w.end)]
            w.before = before[-1] if before else None
        for call in self.calls:
            call.awaits = self.awaited(call)

    def awaited(self, call):
        sync = next((self.syncs[self.pid, i] for i in call.ids if (self.pid, i) in self.syncs), None)
        earlier = [w for w in self.work if w.launched < call.start]
        if sync and sync[0] == STREAM_WAIT_EVENT:
            earlier = []
        elif sync:
            earlier = [w for w in earlier if w.context == sync[1] and (sync[0] == CONTEXT or w.stream == sync[2])]
        elif call.name not in WAITS_FOR_ALL:
            earlier = []
        if not earlier and call.name.startswith(BLOCKING_COPIES) and "Async" not in call.name:
            earlier = [w for w in self.work if w.launch is call and w.end <= call.end]
        return max(earlier, key=lambda w: w.end, default=None)

    def path(self):
        """Nanoseconds by what they are bound by and by name."""
        found, visited, jumped = Counter(), set(), set()
        everything = [(c.end, 1, c) for c in self.calls] + [(w.end, 0, w) for w in self.work]
        if not everything:
            return found
        now, is_call, at = max(everything, key=lambda e: e[:2])
        while at is not None:
            bound = "CUDA calls" if is_call else CLASSES[klass(at)]
            if is_call:
                target = at.awaits
                if target and target.end > at.start and target.start < now and id(at) not in jumped and id(target) not in visited:
                    jumped.add(id(at))
                    end = min(target.end, now)
                    found[bound, at.name] += now - end
                    now, is_call, at = end, 0, target
                    continue
                found[bound, at.name] += now - at.start
                now = at.start
                on_thread = [c for c in self.calls if c.tid == at.tid and c.start < at.start]
                previous = on_thread[-1] if on_thread else self.ended_before(now)
                between, is_call = "host between calls", 1
            else:
                visited.add(id(at))
                found[bound, at.name] += now - at.start
                now = at.start
                before = at.before if at.before and id(at.before) not in visited else None
                launch = at.launch if at.launch and at.launch.start < now else None
                if before and (not launch or min(before.end, now) >= min(launch.end, now)):
                    previous, between, is_call = before, "gaps between work", 0
                elif launch:
                    previous, between, is_call = launch, "launch latency", 1
                else:
                    previous, between, is_call = self.ended_before(now), "unknown", 1
            if previous is not None:
                end = min(previous.end, now)
                found[between, "<Other>"] += now - end
                now = end
            at = previous
        return found

    def ended_before(self, now):
        return max((c for c in self.calls if c.start < now and c.end <= now), key=lambda c: c.end, default=None)


def main(path, views):
    trace, syncs = Trace(path), syncs_of(path)
    answers = {view: [] for view in views}
    for pid in sorted({r.pid for r in trace.work + trace.calls}):
        process = Process(trace, pid, syncs)
        found = process.path()
        total = sum(found.values())
        of_pid = {"PID": pid & 0xFFFFFF} if pid else {}
        by_bound = Counter()
        for (bound, _), ns in found.items():
            by_bound[bound] += ns
        names = {("CUDA calls", c.name) for c in process.calls} | {(CLASSES[klass(w)], w.name) for w in process.work}
        for view, of_view in answers.items():
            if view == "critical_path_sum":
                for bound in sorted(BOUNDS, key=lambda b: (-by_bound[b], BOUNDS.index(b))):
                    ns = by_bound[bound]
                    if ns:
                        of_view.append(of_pid | {
                            "Critical (ns)": ns, "of Critical Path (%)": percent(ns, total), "Critical Path (ns)": total,
                            "Bound by": bound})
            else:
                rows = []
                for bound, name in names | {key for key, ns in found.items() if ns}:
                    ns = found[bound, name]
                    waiting = None if name == "<Other>" else 0
                    for call in process.calls if bound == "CUDA calls" else []:
                        if call.name == name and call.awaits:
                            waiting += max(0, min(call.awaits.end, call.end) - call.start)
                    rows.append(of_pid | {
                        "Critical (ns)": ns, "of Critical Path (%)": percent(ns, total), "Waiting (ns)": waiting,
                        "Bound by": bound, "Name": name})
                of_view.extend(sorted(rows, key=lambda row: (
                    -row["Critical (ns)"], -(row["Waiting (ns)"] or 0), row["Name"] == "<Other>", row["Name"].encode())))
    print(json.dumps(answers))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
