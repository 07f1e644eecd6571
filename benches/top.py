#!/usr/bin/env python3
"""What `gpuprof top` costs while a trace grows at a million records a second. Writes benches/TOP.md.

    benches/top.py GPUPROF MAKE_NATIVE [--rate 1000000] [--seconds 20] [--results benches/TOP.md]

A writer of its own process appends the frames of a made trace (`make_native`: what the collector's writer makes of a
training job on two GPUs) at that pace, as the collector does. `top` runs beside it twice: writing a line a second, and
drawing a screen twice a second on a terminal of 100 by 40. Its CPU time is that of the system's books, from its first
measurement on.
"""

import argparse
import fcntl
import json
import os
import pty
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path

HEADER = 64


def frames(trace):
    """Where the frames of a trace end, and how many records each has."""
    data = trace.read_bytes()
    at = struct.unpack_from("<I", data, 12)[0]
    head = at
    found = []
    while at + HEADER <= len(data) - 16:
        table, flags, rows, length = struct.unpack_from("<HHII", data, at + 8)
        end = at + HEADER + (length + 7) // 8 * 8
        is_record = 16 <= table < 40 and not flags & 4
        found.append((at, end, rows if is_record else 0))
        at = end
    return data, head, found


def write(trace, out, rate):
    """Appends the frames of `trace` to `out`, `rate` records a second."""
    data, head, found = frames(Path(trace))
    file = os.open(out, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    os.write(file, data[:head])
    begin, written = time.monotonic(), 0
    for start, end, rows in found:
        written += rows
        due = begin + written / rate
        time.sleep(max(0.0, due - time.monotonic()))
        os.write(file, data[start:end])
    late = time.monotonic() - (begin + written / rate)
    print(json.dumps({"records": written, "seconds": time.monotonic() - begin, "late_s": late, "bytes": end}), flush=True)


def cpu_seconds(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def rss_mib(pid):
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return 0.0


def watch(gpuprof, trace, arguments, on_terminal, seconds):
    """CPU seconds per second of `top`, its peak memory, and the newest measurement."""
    command = [gpuprof, "top", *arguments, trace]
    if on_terminal:
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
        child = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env={**os.environ, "TERM": "xterm"})
        out = master
    else:
        child = subprocess.Popen(command, stdout=subprocess.PIPE)
        out = child.stdout.fileno()
    seen = os.read(out, 1 << 16)
    begin, before = time.monotonic(), cpu_seconds(child.pid)
    while time.monotonic() - begin < seconds:
        if select.select([out], [], [], 0.2)[0]:
            seen = (seen + os.read(out, 1 << 16))[-(1 << 20) :]
    elapsed, used, memory = time.monotonic() - begin, cpu_seconds(child.pid) - before, rss_mib(child.pid)
    # Not asked to end: nobody reads its last words, and it would wait for that.
    child.kill()
    child.wait()
    newest = None
    if not on_terminal:
        lines = [line for line in seen.split(b"\n") if line.startswith(b"{") and line.endswith(b"}")]
        newest = json.loads(lines[-1])
    return used / elapsed, memory, newest


def main():
    if len(sys.argv) > 1 and sys.argv[1] == "--write":
        return write(sys.argv[2], sys.argv[3], float(sys.argv[4]))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gpuprof")
    parser.add_argument("make_native")
    parser.add_argument("--rate", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--results", default=str(Path(__file__).with_name("TOP.md")))
    parser.add_argument("--build", default="release")
    args = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        made = f"{folder}/made.gpuprof"
        records = args.rate * (args.seconds + 6)
        subprocess.run([args.make_native, made, "--records", str(records)], check=True)
        kinds = [
            ("a line of JSON a second", ["--format", "json", "--interval", "1s"], False),
            ("a screen, drawn twice a second", ["--interval", "500ms"], True),
        ]
        for number, (what, arguments, on_terminal) in enumerate(kinds):
            trace = f"{folder}/growing-{number}.gpuprof"
            writer = subprocess.Popen(
                [sys.executable, __file__, "--write", made, trace, str(args.rate)], stdout=subprocess.PIPE
            )
            while not os.path.exists(trace):
                time.sleep(0.01)
            time.sleep(2)
            load = os.getloadavg()[0]
            share, memory, newest = watch(args.gpuprof, trace, arguments, on_terminal, args.seconds)
            done = json.loads(writer.communicate()[0])
            pace = done["records"] / done["seconds"]
            rows.append((what, share, memory, pace, done["late_s"], load))
            if newest:
                process = newest["processes"][0]
                print(f"records/s said {process['records_per_s']:.0f}, {len(process['kernels'])} kernels", file=sys.stderr)
    cpu = next((l.split(":")[1].strip() for l in open("/proc/cpuinfo") if l.startswith("model name")), "unknown CPU")
    lines = [
        "# What `gpuprof top` costs",
        "",
        "Written by `benches/top.py`; do not edit. A trace grows at the pace of the table; CPU time is that of `top` alone, as a",
        "share of one core. The aim is 20 % at 1 M records/s.",
        "",
        f"- {time.strftime('%Y-%m-%d %H:%M UTC', time.gmtime())}; {os.cpu_count()} cores of {cpu}; {args.build} build; "
        f"{args.seconds} s each",
        "",
        "| what | records/s written | share of a core | peak RSS MiB | 1-minute load before |",
        "|---|---|---|---|---|",
    ]
    for what, share, memory, pace, late, load in rows:
        lines.append(f"| {what} | {pace / 1e6:.2f} M | {100 * share:.1f} % | {memory:.0f} | {load:.1f} |")
    Path(args.results).write_text("\n".join(lines) + "\n")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
