"""Reads traces for the oracles, with the standard library alone and without gpuprof: databases of nsys and traces of PyTorch.

Trace(path) has `work` (kernels, copies, fills), `calls` (CUDA API) and `ranges`, as lists of records in no order. Times are whole
nanoseconds; a duration is None where the record has no valid times.
"""

import gzip
import json
import sqlite3
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace as Record

COPY_KINDS = {1: "HtoD", 2: "DtoH", 3: "HtoA", 4: "AtoH", 5: "AtoA", 6: "AtoD", 7: "DtoA", 8: "DtoD", 9: "HtoH", 10: "PtoP"}

COLUMNS = [
    "start", "end", "globalPid", "globalTid", "deviceId", "contextId", "streamId", "correlationId", "bytes", "copyKind",
    "demangledName", "nameId", "eventClass", "eventType", "text", "textId"]


def without_version(name):
    head, mark, tail = name.rpartition("_v")
    return head if mark and tail.isdigit() else name


def times(start, end):
    """A record that never got its times has zeros; one whose end comes first has impossible ones."""
    return start, None if end < start or (start == 0 and end == 0) else end - start


class Trace:
    def __init__(self, path):
        self.work, self.calls, self.ranges = [], [], []
        with open(path, "rb") as file:
            head = file.read(16)
        if head.startswith(b"SQLite format 3"):
            self.read_nsys(path)
        else:
            self.read_kineto(path)
        for record in self.work + self.calls + self.ranges:
            record.end = None if record.duration is None else record.start + record.duration

    def read_nsys(self, path):
        db = sqlite3.connect(path)
        texts = dict(db.execute("SELECT id, value FROM StringIds"))

        def rows(table):
            # Most columns are of no interest here, and reading them takes most of the time.
            there = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
            wanted = [column for column in COLUMNS if column in there]
            names = ", ".join(f'"{column}"' for column in wanted)
            return [dict(zip(wanted, row)) for row in db.execute(f"SELECT {names} FROM {table}")] if wanted else []

        def add(row, kind, name, **more):
            start, duration = times(row["start"], row["end"])
            self.work.append(Record(
                kind=kind, name=name, start=start, duration=duration, pid=(row["globalPid"] or 0) >> 24,
                device=row["deviceId"], context=row["contextId"], stream=row["streamId"],
                correlation=row["correlationId"] or 0, bytes=row.get("bytes", 0), **more))

        for row in rows("CUPTI_ACTIVITY_KIND_KERNEL"):
            add(row, "kernel", texts[row["demangledName"]])
        for row in rows("CUPTI_ACTIVITY_KIND_MEMCPY"):
            add(row, "memcpy", f"[CUDA memcpy {COPY_KINDS[row['copyKind']]}]")
        for row in rows("CUPTI_ACTIVITY_KIND_MEMSET"):
            add(row, "memset", "[CUDA memset]")
        for row in rows("CUPTI_ACTIVITY_KIND_RUNTIME"):
            # Rows of class 67 repeat calls for their call stacks.
            if row["eventClass"] == 67:
                continue
            start, duration = times(row["start"], row["end"])
            self.calls.append(Record(
                name=without_version(texts[row["nameId"]]), start=start, duration=duration, pid=row["globalTid"] >> 24,
                tid=row["globalTid"] & 0xFFFFFF, correlation=row["correlationId"] or 0))
        for row in rows("NVTX_EVENTS"):
            if row["eventType"] not in (59, 60, 70, 71) or row["end"] is None:
                continue
            text = row["text"] if row["text"] is not None else texts.get(row.get("textId"), "")
            start, duration = times(row["start"], row["end"])
            self.ranges.append(Record(
                name=text, start=start, duration=duration, pid=row["globalTid"] >> 24, tid=row["globalTid"] & 0xFFFFFF,
                is_operator=False))

    def read_kineto(self, path):
        with (gzip.open if path.endswith(".gz") else open)(path, "rt") as file:
            events = json.load(file, parse_float=Decimal)
        for event in events["traceEvents"] if isinstance(events, dict) else events:
            kinds = {
                "kernel": "kernel", "gpu_memcpy": "memcpy", "gpu_memset": "memset", "memcpy": "memcpy", "memset": "memset"}
            category = event.get("cat", "").lower()
            if event.get("ph") != "X":
                continue
            start, duration = int(round(event["ts"] * 1000)), int(round(event["dur"] * 1000))
            args = event.get("args", {})
            if category in kinds:
                name = event["name"]
                if kinds[category] == "memcpy":
                    name = f"[CUDA memcpy {name.split()[1]}]"
                elif kinds[category] == "memset":
                    name = "[CUDA memset]"
                self.work.append(Record(
                    kind=kinds[category], name=name, start=start, duration=duration, pid=0, device=args.get("device", 0),
                    context=args.get("context", 0), stream=args.get("stream", 0), correlation=args.get("correlation", 0),
                    bytes=args.get("bytes", 0)))
            elif category in ("cuda_runtime", "cuda_driver", "runtime"):
                self.calls.append(Record(
                    name=without_version(event["name"]), start=start, duration=duration, pid=0, tid=event["tid"],
                    correlation=args.get("correlation", 0)))
            elif category in ("user_annotation", "cpu_op", "operator"):
                self.ranges.append(Record(
                    name=event["name"], start=start, duration=duration, pid=0, tid=event["tid"],
                    is_operator=category != "user_annotation"))

    def launches(self):
        """By process and correlation id, the call that the program made: of several the first."""
        first = {}
        for call in sorted(self.calls, key=lambda c: (c.start, -1 if c.duration is None else c.duration)):
            if call.correlation and call.duration is not None:
                first.setdefault((call.pid, call.correlation), call)
        return first


def rounded(value, decimals=1):
    """A fraction as gpuprof prints it: halves away from zero."""
    scaled = abs(Fraction(value)) * 10**decimals
    whole = int(scaled + Fraction(1, 2))
    return (-1 if value < 0 else 1) * whole / 10**decimals if whole else 0.0


def percent(part, whole):
    return rounded(Fraction(100 * part, whole)) if whole else None


def median(values):
    values = sorted(values)
    half = len(values) // 2
    return Fraction(values[half]) if len(values) % 2 else Fraction(values[half - 1] + values[half], 2)


def percentile(values, percent):
    """The smallest of the values that at least so many percent do not exceed."""
    values = sorted(values)
    return next(v for i, v in enumerate(values, 1) if i * 100 >= len(values) * percent)


def deviation(values):
    """Sample standard deviation."""
    if len(values) < 2:
        return 0.0
    n, total = len(values), sum(values)
    variance = Fraction(n * sum(v * v for v in values) - total * total, n * (n - 1))
    root = (Decimal(variance.numerator) / Decimal(variance.denominator)).sqrt()
    return float(round(root, 1))


def five(values):
    if not values:
        return [None] * 5
    mean = Fraction(sum(values), len(values))
    return [rounded(mean), rounded(median(values)), min(values), max(values), deviation(values)]


def union(intervals):
    """Disjoint intervals that cover the same."""
    merged = []
    for start, end in sorted(intervals):
        if merged and start <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([start, end])
    return merged


def length(intervals, start=None, end=None):
    """How much of a stretch of time intervals that do not overlap cover."""
    clipped = ((s if start is None else max(s, start), e if end is None else min(e, end)) for s, e in intervals)
    return sum(max(0, e - s) for s, e in clipped)
