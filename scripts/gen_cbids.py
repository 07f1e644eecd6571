#!/usr/bin/env python3
"""Writes src/cupti/cbid.rs from a table of CUPTI callback ids.

    python3 scripts/gen_cbids.py cupti-shim/cupti-sys/tables/cbids.csv > src/cupti/cbid.rs

The table has the columns domain (driver, runtime), cbid, latest_name and names_that_changed ("11.7:cuNVNbufferGetPointer;
13.5:cuda464"), collected from the headers of CUDA 11.7 to 13.5. Numbers are only ever appended, so the newest table
serves every version. NVIDIA renames retired numbers to placeholders (cuda464, reserved464) and gives new ones their
name a release late; an old recording still means the call with the real name, so that one is taken. CUDA 13.0 took the
`_v2` out of some names, so those that recordings from before it mean are a list of their own.
"""
import csv
import re
import sys

PLACEHOLDER = re.compile(r"(cuda|reserved)\d+(_ptsz|_ptds)?(_v\d+)?")


def name(row):
    """The newest name that says something, else the newest one."""
    history = [entry.split(":", 1)[1] for entry in row["names_that_changed"].split("; ") if entry]
    meaningful = [n for n in history + [row["latest_name"]] if not PLACEHOLDER.fullmatch(n)]
    return meaningful[-1] if meaningful else row["latest_name"]


def name_before_13(row):
    """The newest name that says something of those before CUDA 13.0, which took version marks out of some."""
    history = [entry.split(":", 1) for entry in row["names_that_changed"].split("; ") if entry]
    before = [n for toolkit, n in history if int(toolkit.split(".")[0]) < 13 and not PLACEHOLDER.fullmatch(n)]
    return before[-1] if before else None


def main():
    with open(sys.argv[1], newline="") as file:
        rows = list(csv.DictReader(file))
    print("//! CUPTI callback ids and their names. Written by `scripts/gen_cbids.py`; do not edit.\n")
    for domain in ("runtime", "driver"):
        names = {int(r["cbid"]): name(r) for r in rows if r["domain"] == domain}
        print(f"/// Names of the {domain} API by callback id; id 0 means nothing and has none.")
        print("#[rustfmt::skip]")
        print(f"pub static {domain.upper()}: &[&str] = &[")
        for cbid in range(max(names) + 1):
            print(f'    "{names.get(cbid, "")}",')
        print("];\n")
    print("/// Names that functions of the runtime API had before CUDA 13.0, where they were others: by callback id.")
    print("#[rustfmt::skip]")
    print("pub static RUNTIME_BEFORE_13: &[(u32, &str)] = &[")
    for row in sorted((r for r in rows if r["domain"] == "runtime"), key=lambda r: int(r["cbid"])):
        old = name_before_13(row)
        if old not in (None, name(row)):
            print(f'    ({row["cbid"]}, "{old}"),')
    print("];")


main()
