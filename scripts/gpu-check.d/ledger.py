"""Keeps the table of docs/gpu-verified.md: one line per step, with what it was last seen to do on hardware.

Steps come from the code, so a new one appears as "not yet seen on hardware"; what was seen before stays until a newer run
says otherwise. Results of the simulator never get in.
"""

import json
import re
from pathlib import Path

from lab import ROOT

LEDGER = ROOT / "docs" / "gpu-verified.md"
BEGIN, END = "<!-- steps: begin -->", "<!-- steps: end -->"
UNSEEN = "not yet seen on hardware"


def table(steps, seen):
    lines = [BEGIN, "| claim | step | last seen |", "|---|---|---|"]
    for s in steps:
        key = f"{s.group}/{s.name}"
        lines.append(f"| {s.claim.replace('|', '/')} | `{key}` | {seen.get(key, UNSEEN)} |")
    return "\n".join([*lines, END])


def seen_before(text):
    """The last column by step, from the table as it is."""
    found = re.findall(r"^\| .* \| `([a-z]+/\w+)` \| (.*) \|$", text, re.M)
    return {key: value for key, value in found if value != UNSEEN}


def seen_in(path):
    """What one run of a real GPU adds."""
    document = json.loads(Path(path).read_text())
    machine = document["machine"]
    if machine["simulated"]:
        raise SystemExit(f"{path}: the simulator's results are not hardware")
    gpu, driver = (machine["gpu"].split(", ") + ["?"])[:2]
    where = f"{machine['date'][:10]}, {gpu}, driver {driver}"
    seen = {}
    for check in document["checks"]:
        failed = [f"{e['what']}: {e['got']}, want {e['want']}" for e in check["expectations"] if not e["ok"]]
        if check["verdict"] == "PASS":
            seen[f"{check['group']}/{check['check']}"] = f"held: {where}"
        elif check["verdict"] == "DONE":
            seen[f"{check['group']}/{check['check']}"] = f"measured: {where}"
        elif check["verdict"] == "FAIL":
            said = "; ".join(failed)[:160].replace("|", "/").replace("\n", " ")
            seen[f"{check['group']}/{check['check']}"] = f"**did not hold**: {where} ({said})"
    return seen


def update(steps, results):
    """Writes the table anew; with no results, only its claims."""
    text = LEDGER.read_text()
    seen = seen_before(text)
    for path in results:
        seen.update(seen_in(path))
    LEDGER.write_text(replaced(text, table(steps, seen)))


def is_current(steps):
    text = LEDGER.read_text()
    return replaced(text, table(steps, seen_before(text))) == text


def replaced(text, new):
    before, rest = text.split(BEGIN)
    return before + new + rest.split(END)[1]
