"""Differences between runs that took turns, and how sure they are; seeded, so that the same figures give the same answer."""

import random

from harness import median

RESAMPLES, SEED = 4000, 20261128


def bootstrap(values):
    """The median of `values` and the middle 95 % of the medians of resamples; none where there are fewer than two."""
    if len(values) < 2:
        return median(values), None
    random_ = random.Random(SEED)
    medians = sorted(_middle([random_.choice(values) for _ in values]) for _ in range(RESAMPLES))
    return _middle(values), (medians[int(RESAMPLES * 0.025)], medians[int(RESAMPLES * 0.975) - 1])


def _middle(values):
    ordered, half = sorted(values), len(values) // 2
    return ordered[half] if len(values) % 2 else (ordered[half - 1] + ordered[half]) / 2


def against(rounds, base):
    """{mode: {median, n, difference, interval}}; rounds: [{mode: figure}]. A difference is of two runs of the same round."""
    modes = list(dict.fromkeys(m for one in rounds for m in one))
    answer = {}
    for mode in modes:
        values = [one[mode] for one in rounds if one.get(mode) is not None]
        pairs = [one[mode] - one[base] for one in rounds if one.get(mode) is not None and one.get(base) is not None]
        entry = {"median": _middle(values) if values else None, "n": len(values)}
        if mode != base and pairs:
            entry["difference"], entry["interval"] = bootstrap(pairs)
        answer[mode] = entry
    return answer


def table(summary, digits):
    """Rows for a report: mode, median, difference to the base, its interval, how many runs."""

    def shown(value):
        return None if value is None else f"{value:.{digits}f}"

    for mode, entry in summary.items():
        interval = entry.get("interval")
        yield [mode, shown(entry["median"]), shown(entry.get("difference")),
               f"{shown(interval[0])} .. {shown(interval[1])}" if interval else None, entry["n"]]
