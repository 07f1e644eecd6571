"""Runs commands under time limits, keeps what they said, and turns expectations into verdicts.

Nothing here knows about CUDA. A `Budget` is the time of the whole run; a `Runner` starts one program at a time limit that
never passes the budget's end; a `Check` is a list of expectations with the figures they were made from.
"""

import json
import os
import resource
import signal
import subprocess
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

# Variables that would load somebody else's tool, or ours, behind the back of a check.
NEVER_INHERITED = ("CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH", "LD_PRELOAD")


class OutOfTime(Exception):
    """The budget's end came before the step could start or finish."""


class TooSlow(Exception):
    """A step used up its own limit, though the budget would have borne more."""


class Budget:
    """The wall-clock time that a whole run may take."""

    def __init__(self, seconds):
        self.seconds = seconds
        self.began = time.monotonic()

    def spent_s(self):
        return time.monotonic() - self.began

    def left_s(self):
        return self.seconds - self.spent_s()

    def limit_s(self, wanted_s):
        """`wanted_s`, or less where less is left; raises when a program would not even start."""
        left = self.left_s()
        if left < 3:
            raise OutOfTime
        return min(wanted_s, left)


@dataclass
class Run:
    """What one program did."""

    name: str
    status: int  # as a shell says it: 128 + signal for a death by signal
    out: str
    err: str
    wall_s: float
    peak_rss_kb: int
    timed_out: bool
    pid: int

    def json(self):
        """The last line of stdout that is a JSON object; empty if there is none."""
        for line in reversed(self.out.splitlines()):
            if line.startswith("{"):
                try:
                    return json.loads(line)
                except ValueError:
                    continue
        return {}

    def says(self):
        """Why there is nothing to look at, in one line."""
        if self.timed_out:
            return f"{self.name}: timed out after {self.wall_s:.0f} s"
        tail = (self.err.strip() or self.out.strip()).splitlines()[-1:] or ["said nothing"]
        return f"{self.name}: status {self.status}: {tail[0][:300]}"


class Runner:
    """Starts programs, one log folder for all of them."""

    def __init__(self, budget, log_dir):
        self.budget = budget
        self.log_dir = Path(log_dir)
        self.log_dir.mkdir(parents=True, exist_ok=True)
        self.count = 0
        self.lock = threading.Lock()
        self.mine = threading.local()  # what this thread, that is this step, ran
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))

    def run(self, argv, env=None, limit_s=15, name=None, cwd=None):
        limit_s = self.budget.limit_s(limit_s)
        left_s = getattr(self.mine, "end", float("inf")) - time.monotonic()
        if left_s < 1:
            raise TooSlow
        limit_s = min(limit_s, left_s)
        with self.lock:
            self.count += 1
            label = f"{self.count:03}-" + "".join(
                c if c.isalnum() or c in "._-" else "_" for c in (name or " ".join(map(str, argv)))
            )[-80:]
        paths = [self.log_dir / f"{label}.{kind}" for kind in ("out", "err")]
        inherited = {k: v for k, v in os.environ.items() if k not in NEVER_INHERITED and not k.startswith("GPUPROF_")}
        began = time.monotonic()
        with open(paths[0], "wb") as out, open(paths[1], "wb") as err:
            # A session of its own, so that whatever the program leaves behind can be ended with it.
            process = subprocess.Popen(
                [str(a) for a in argv], env={**inherited, **(env or {})}, cwd=cwd, stdin=subprocess.DEVNULL,
                stdout=out, stderr=err, start_new_session=True,
            )
            status, usage, timed_out = self._wait(process.pid, began + limit_s)
            process.returncode = status
        wall_s = time.monotonic() - began
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass
        texts = [p.read_text(errors="replace") for p in paths]
        run = Run(label, status, texts[0], texts[1], wall_s, usage.ru_maxrss, timed_out, process.pid)
        if timed_out and self.budget.left_s() < 1:
            raise OutOfTime  # its own limit had not come yet
        self.mine.runs = [*getattr(self.mine, "runs", []), run][-4:]
        return run

    def begin_step(self, limit_s):
        """Whatever this thread runs from now on belongs to a step that may take so long."""
        self.mine.runs = []
        self.mine.end = time.monotonic() + limit_s

    def last_words(self):
        """What the step's newest programs said on stderr, for whoever has to find out why it failed."""
        for run in getattr(self.mine, "runs", []):
            for line in [l for l in run.err.splitlines() if l.strip()][-3:]:
                yield f"{run.name} (status {run.status}): {line[:300]}"

    @staticmethod
    def _wait(pid, end):
        """Waits for `pid`, kills its session at `end`; asks in small steps because wait4 alone has no limit."""
        pause, timed_out = 0.001, False
        while True:
            done, status, usage = os.wait4(pid, os.WNOHANG)
            if done:
                code = os.waitstatus_to_exitcode(status)
                return (code if code >= 0 else 128 - code), usage, timed_out
            if not timed_out and time.monotonic() > end:
                timed_out = True
                os.killpg(pid, signal.SIGKILL)
            time.sleep(pause)
            pause = min(pause * 1.5, 0.01)


@dataclass
class Check:
    """One claim, what was expected and what was seen."""

    name: str
    group: str
    claim: str
    expectations: list = field(default_factory=list)
    figures: dict = field(default_factory=dict)
    notes: list = field(default_factory=list)
    tables: list = field(default_factory=list)  # (title, header, rows): figures that want to be read side by side
    skipped: str = ""
    wall_s: float = 0.0

    def expect(self, what, got, want, ok):
        self.expectations.append({"what": what, "got": got, "want": want, "ok": bool(ok)})
        return bool(ok)

    def equal(self, what, got, want):
        return self.expect(what, got, want, got == want)

    def at_least(self, what, got, want):
        return self.expect(what, got, f">= {want}", got is not None and got >= want)

    def at_most(self, what, got, want):
        return self.expect(what, got, f"<= {want}", got is not None and got <= want)

    def near(self, what, got, want, fraction):
        ok = got is not None and want is not None and abs(got - want) <= fraction * abs(want)
        return self.expect(what, got, f"{want} ± {fraction:.0%}", ok)

    def ended(self, run, status=0):
        """The program ended as it would have without us."""
        ok = run.status == status and not run.timed_out
        return self.expect(f"status of {run.name}", run.status if ok else run.says(), status, ok)

    def skip(self, why):
        self.skipped = self.skipped or why

    def verdict(self):
        if any(not e["ok"] for e in self.expectations):
            return "FAIL"
        if self.skipped:
            return "SKIP"
        return "PASS" if self.expectations else "DONE"

    def lines(self):
        """The check as text: one line, and one for each expectation that failed."""
        failed = [e for e in self.expectations if not e["ok"]]
        shown = failed or self.expectations
        text = "; ".join(f"{e['what']} {e['got']}" + (f" (want {e['want']})" if failed else "") for e in shown)
        text = text.replace("\n", " ")
        yield f"{self.verdict()}  {self.group}/{self.name}  [{self.wall_s:.1f} s]  {self.skipped or text}"[:1500]
        for name, value in self.figures.items():
            yield f"        {name}: {value}"[:600]
        for title, header, rows in self.tables:
            yield f"        {title}"
            yield from (f"          {line}" for line in aligned([header, *rows]))
        for note in self.notes:
            yield f"        note: {note}"[:600]

    def json(self):
        return {
            "group": self.group, "check": self.name, "claim": self.claim, "verdict": self.verdict(),
            "skipped": self.skipped, "expectations": self.expectations, "figures": self.figures, "notes": self.notes,
            "tables": [{"title": t, "header": h, "rows": r} for t, h, r in self.tables],
            "wall_s": round(self.wall_s, 2),
        }


def aligned(rows):
    """Lines of a table: the first column to the left, the others to the right."""
    texts = [["" if cell is None else str(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in texts if i < len(row)) for i in range(max(map(len, texts)))]
    for row in texts:
        yield "  ".join(c.rjust(w) if i else c.ljust(w) for i, (c, w) in enumerate(zip(row, widths))).rstrip()


def median(values):
    """The middle value (the lower of two): always one that was measured."""
    ordered = sorted(v for v in values if v is not None)
    return ordered[(len(ordered) - 1) // 2] if ordered else None
