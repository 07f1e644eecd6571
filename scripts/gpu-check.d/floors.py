"""floor.c's modes for the interception matrix: their environments, and what a run of one said."""

import json
import re

from lab import ROOT

# In words: what CUPTI is asked for in each mode of floor_modes.h.
MODES = {
    "none": "library loaded, nobody subscribed",
    "subscribed": "a subscriber that asks for nothing",
    "10": "kernel records",
    "10+5": "kernels and runtime calls",
    "10+4": "kernels and driver calls",
    "10+4+5": "kernels and both",
    "muted": "both, chatty calls switched off one by one",
    "per_call": "kinds 4 and 5 off, all calls but chatty ones switched on one by one",
    "callbacks": "kernels and a callback for calls that matter, both domains",
    "callbacks_runtime": "the same in the runtime's domain alone",
}
DOMAINS = {"DRIVER": 1, "RUNTIME": 2}


def chatty_calls():
    """[(domain, callback id, name)]: what gpuprof itself mutes, from its source, so that both are always the same list."""
    numbers, domain = {}, None
    layouts = (ROOT / "cupti-shim" / "cupti-sys" / "src" / "layouts.rs").read_text()
    for line in layouts[layouts.index("pub mod cbid"):].splitlines():
        if found := re.search(r"pub mod (driver|runtime) ", line):
            domain = found[1]
        elif found := re.search(r"pub const (\w+): u32 = (\d+);", line):
            numbers[f"{domain}::{found[1]}"] = int(found[2])
    source = (ROOT / "cupti-shim" / "src" / "chatter.rs").read_text()
    calls = re.findall(r'^    \((DRIVER|RUNTIME), ([\w:]+), "(\w+)"\),$', source, re.M)
    return [(DOMAINS[domain], int(number) if number.isdigit() else numbers[number], name) for domain, number, name in calls]


def environment(lab, mode, count=False):
    """What makes the driver load floor.c in that mode."""
    chatty = ",".join(f"{domain}:{number}" for domain, number, _ in chatty_calls())
    more = {"FLOOR_COUNT": "1"} if count else {}
    return {**lab.environment("floor", None), "FLOOR_MODE": mode, "FLOOR_CHATTY": chatty, **more}


def said(err):
    """What floor.c printed: {state, cupti, functions, kinds, calls, callbacks}; `state` is "in place" or what was refused."""
    answer = {"state": "floor.c was not loaded", "functions": []}
    for line in err.splitlines():
        if not line.startswith("floor: "):
            continue
        text = line.removeprefix("floor: ")
        if not text.startswith("{"):
            answer["state"] = text
            continue
        try:
            part = json.loads(text)
        except ValueError:
            continue
        if "function" in part:
            answer["functions"].append(part)
        else:
            answer.update(part)
    return answer


def refusals(answer):
    """Sentences about functions of CUPTI that did not obey, for notes."""
    if answer["state"] != "in place":
        yield answer["state"]
    for f in answer["functions"]:
        if f["refused"]:
            total = f["obeyed"] + f["refused"]
            yield f"{f['function']} refused {f['refused']} of {total} calls, first {f['first_refused']}: code {f['first_code']}"
    if answer.get("walk_ended_with"):
        yield f"walking a buffer ended with code {answer['walk_ended_with']}"
