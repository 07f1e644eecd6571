"""The list of steps, and the order in which they run. A step is a function of (lab, check)."""

from dataclasses import dataclass
from typing import Callable

STEPS = []


@dataclass
class Step:
    """One check and how long all its programs together may take."""

    group: str
    name: str
    claim: str
    body: Callable
    limit_s: float
    parallel: bool  # counts do not depend on what else runs, times do


def step(group, name, claim, limit_s=40, parallel=False):
    """Adds the decorated function to the list."""

    def add(body):
        STEPS.append(Step(group, name, claim, body, limit_s, parallel))
        return body

    return add


# What comes before all others, in this order: what nobody has measured yet, what did not hold the last time, what was built
# since. The rest follows in the order of the list. A run that is cut still says what was not known before.
FIRST = (
    "matrix/records", "counts/api_by_call", "counts/api_by_call_gated", "matrix/loops",
    "life/kill_under_load", "cost/window",
    "counts/subscribers", "counts/subscribers_gated", "live/ctl", "live/ring", "counts/presets", "counts/latency",
    # Side by side:
    "frameworks/torch_against_profiler", "live/sample", "live/top", "live/nvprof", "live/nvprof_managed",
    "live/launch_stacks", "live/cpu_sampling", "counts/examples_rust",
    "live/cost_of_sampling", "matrix/training",
)


def by_value():
    """All steps, those of FIRST first."""
    place = {name: at for at, name in enumerate(FIRST)}
    return sorted(STEPS, key=lambda s: place.get(f"{s.group}/{s.name}", len(FIRST)))
