"""Reads the frame headers and the JSON of a .gpuprof file, from trace-format/FORMAT.md alone.

A second opinion: none of gpuprof's own code runs here, so a mistake that its writer and reader share shows up. Columns
are left to `gpuprof report`; rows per table, bytes per table, losses and the closing totals need only the headers.
"""

import json
import struct
from dataclasses import dataclass, field
from pathlib import Path

# BEGIN TABLES, written by trace-format/tests/format/gpu_check.rs
TABLES = {
    1: "process", 2: "string", 3: "shape", 4: "device", 5: "context", 6: "stream", 7: "thread", 8: "frame", 9: "stack",
    16: "kernel", 17: "memcpy", 18: "memset", 19: "api", 20: "sync", 21: "overhead", 22: "graph", 23: "memory",
    24: "uvm", 25: "event", 26: "external", 27: "jit", 28: "openacc", 29: "openmp", 30: "range", 31: "cpu_sample",
    32: "launch_stack", 33: "host_call", 34: "foreign", 35: "details", 40: "capture", 41: "loss", 42: "clock",
    43: "note", 44: "sample", 60: "index", 61: "closed",
}
ACTIVITY = (
    "kernel", "memcpy", "memset", "api", "sync", "overhead", "graph", "memory", "uvm", "event", "external", "jit",
    "openacc", "openmp",
)
# END TABLES
FLAG_JSON, FLAG_REPEAT = 2, 4


@dataclass
class Trace:
    """What one file holds."""

    path: Path
    bytes: int = 0
    rows: dict = field(default_factory=dict)  # by table, repeats left out
    table_bytes: dict = field(default_factory=dict)  # by table, frame headers and repeats included
    frames: int = 0
    spans_ns: dict = field(default_factory=dict)  # by table: first start, last end
    process: dict = field(default_factory=dict)
    closed: dict = None
    incomplete_tail_bytes: int = 0
    problems: list = field(default_factory=list)

    def count(self, table):
        return self.rows.get(table, 0)

    def activity_rows(self):
        return sum(self.count(t) for t in ACTIVITY)

    def record_rows(self):
        """Rows that came from CUPTI's records, definitions of devices, contexts and streams among them."""
        return self.activity_rows() + sum(self.count(t) for t in ("device", "context", "stream"))

    def totals(self):
        """delivered, written, excluded, lost: the writer's own account; empty if it was killed."""
        return (self.closed or {}).get("writer_totals") or {}

    def summary(self):
        shown = {t: n for t, n in self.rows.items() if t not in ("index", "closed", "process")}
        return {"file": self.path.name, "bytes": self.bytes, "frames": self.frames, "closed": self.closed is not None,
                "rows": shown, "totals": self.totals(), "tail_bytes": self.incomplete_tail_bytes, "problems": self.problems}


def read(path):
    """Walks the frames of `path` from first to last."""
    data = memoryview(Path(path).read_bytes())
    trace = Trace(Path(path), bytes=len(data))
    if bytes(data[:8]) != b"GPUPROF\n":
        trace.problems.append("does not begin with GPUPROF")
        return trace
    at = struct.unpack_from("<I", data, 12)[0]
    marker = bytearray(data[16:24])
    marker[0] |= 0x80
    next_row, next_seq = {}, 0
    # The trailer of a closed file is 16 bytes: too short to be taken for a frame.
    while at + 64 <= len(data):
        if bytes(data[at:at + 8]) != bytes(marker):
            trace.problems.append(f"no frame at byte {at}")
            return trace
        table, flags, rows, length, _crc, seq, first_row, first_ns, last_ns = struct.unpack_from("<HHIIIQQqq", data, at + 8)
        whole = (64 + length + 7) // 8 * 8
        if at + 64 + length > len(data):
            break
        name = TABLES.get(table, f"table {table}")
        trace.frames += 1
        trace.table_bytes[name] = trace.table_bytes.get(name, 0) + whole
        if seq != next_seq:
            trace.problems.append(f"frame {next_seq} of {name} is missing: found {seq} at byte {at}")
        next_seq = seq + 1
        if flags & FLAG_JSON:
            content = json.loads(bytes(data[at + 64:at + 64 + length]))
            if name == "process":
                trace.process = content
            elif name == "closed":
                trace.closed = content
        elif not flags & FLAG_REPEAT:
            if first_row != next_row.get(name, 0):
                trace.problems.append(f"{name}: rows {next_row.get(name, 0)} to {first_row} are missing")
            next_row[name] = first_row + rows
            if first_ns <= last_ns:
                before = trace.spans_ns.get(name, (first_ns, last_ns))
                trace.spans_ns[name] = (min(before[0], first_ns), max(before[1], last_ns))
        if not flags & FLAG_REPEAT:
            trace.rows[name] = trace.rows.get(name, 0) + rows
        at += whole
    trace.incomplete_tail_bytes = 0 if trace.closed is not None else len(data) - at
    return trace
