"""Checks Chrome trace JSON with nothing but Python's own json module.

    chrome.py TRACE EXPECTED

EXPECTED is a JSON object: category -> [slices, sum of their durations in ns]; key "arrows": how many at least.
Prints one line of JSON with what was found; exits with 1 and a sentence at the first thing that is wrong.
"""

import collections
import gzip
import json
import re
import sys


def fail(sentence):
    print(sentence)
    sys.exit(1)


def ns(microseconds):
    # Exact: the text has three decimals, and a double of this size has more.
    return round(microseconds * 1000)


def main():
    path, expected = sys.argv[1], json.loads(sys.argv[2])
    raw = gzip.open(path).read() if path.endswith(".gz") else open(path, "rb").read()
    text = raw.decode("utf-8", "strict")
    trace = json.loads(text)
    events = trace["traceEvents"]
    for number in re.findall(r'"(?:ts|dur)":([^,}]*)', text[:20_000_000]):
        if not re.fullmatch(r"\d+\.\d{3}", number):
            fail(f"{number} is no number of microseconds with three decimals")

    found = collections.Counter()
    total = collections.Counter()
    lanes = collections.defaultdict(list)
    begins, ends = {}, {}
    for index, event in enumerate(events):
        if not (isinstance(event["pid"], int) and isinstance(event["tid"], int)):
            fail(f"event {index}: pid or tid is no integer")
        phase = event["ph"]
        if phase == "X":
            own = event.get("args", {}).get("gpuprof", {})
            recorded = own.get("duration_ns", ns(event["dur"]))
            if "row" in own:
                recorded = own["row"][1]
            found[event["cat"]] += 1
            total[event["cat"]] += recorded
            lanes[event["pid"], event["tid"]].append((ns(event["ts"]), ns(event["dur"]), index))
        elif phase in "sf":
            side = begins if phase == "s" else ends
            # Ids are those of one category.
            arrow = (event["cat"], event["id"])
            if arrow in side:
                fail(f"event {index}: arrow {arrow} has two of one end")
            side[arrow] = event
    for lane, slices in lanes.items():
        open_until = []
        # What contains comes before what it contains: the order of the file among equal starts.
        for start, duration, index in sorted(slices, key=lambda s: (s[0], s[2])):
            if duration < 1:
                fail(f"event {index} lasts {duration} ns")
            while open_until and open_until[-1] <= start:
                open_until.pop()
            if open_until and start + duration > open_until[-1]:
                fail(f"event {index} on {lane} begins inside another and ends outside of it")
            open_until.append(start + duration)
    if begins.keys() != ends.keys():
        fail(f"{len(begins)} arrows begin and {len(ends)} end")
    starts = {lane: {s[0] for s in slices} for lane, slices in lanes.items()}
    for event in list(begins.values()) + list(ends.values()):
        if ns(event["ts"]) not in starts[event["pid"], event["tid"]]:
            fail(f"arrow {event['id']} touches no slice")
    for category, (count, duration) in expected.items():
        if (found[category], total[category]) != (count, duration):
            fail(f"{category}: {found[category]} slices of {total[category]} ns, not {count} of {duration}")
    named = {(e["pid"], e["tid"]) for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    if not set(lanes) <= named:
        fail(f"lanes without a name: {set(lanes) - named}")
    print(json.dumps({"events": len(events), "lanes": len(lanes), "arrows": len(begins), "slices": found}))


main()
