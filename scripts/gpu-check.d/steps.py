"""The list of steps. A step is a function of (lab, check); the order of the list is the order of value."""

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
