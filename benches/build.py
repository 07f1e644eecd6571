#!/usr/bin/env python3
"""Builds gpuprof from nothing, measures it, and writes BUILD.md. Called by build.sh, which copies the checkout to
WORK/sources: build.py WORK BUILD.md"""
import datetime
import itertools
import json
import os
import re
import resource
import subprocess
import sys
import time

import build_parts as parts
from compare import machine

HERE = os.path.dirname(os.path.abspath(__file__))
PARTS = ["dev", "tests", "release"]
ONLY = os.environ.get("GPUPROF_BUILD_ONLY", "")
RUN_TESTS = os.environ.get("GPUPROF_BUILD_TESTS", "") == "run"

# The same targets as in scripts/demo, in one command.
DEV = ["cargo", "build", "--locked", "--timings", "--bin", "gpuprof", "--example", "make_native"]
TESTS = ["cargo", "test", "--workspace", "--locked", "--no-run"]
RELEASE = ["cargo", "build", "--release", "--locked", "--bin", "gpuprof"]
CHANGE = "\n/// Appended by benches/build.sh, so that this crate compiles again.\npub const APPENDED: u32 = 1;\n"

# What the larger sections hold.
SECTIONS = {".text": "machine code", ".rodata": "constants: text, tables, the collector that is carried",
            ".eh_frame": "how to unwind every function", ".eh_frame_hdr": "the index of that",
            ".gcc_except_table": "what to drop when a function unwinds", ".data.rel.ro": "tables of methods",
            ".rela.dyn": "what the loader must relocate in them", ".data": "variables", ".got": "addresses"}


class Failed(Exception):
    """A build that did not work, in words."""


def measured(command, work, target, fatal=True, variables=None):
    """Runs a command on the copy of the checkout; wall seconds and minutes of CPU, of all its children together."""
    print(f"gpuprof: {' '.join(command)}", file=sys.stderr)
    # Our own settings are none of the programs that are measured: the collector names variables that it does not know.
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("GPUPROF_BUILD_")}
    environment = {**inherited, **(variables or {}), "CARGO_TARGET_DIR": f"{work}/{target}", "CARGO_TERM_COLOR": "never"}
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    code = subprocess.run(command, cwd=f"{work}/sources", env=environment, stdout=sys.stderr).returncode
    wall, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    if code and fatal:
        raise Failed(f"`{' '.join(command)}` ended with exit code {code}")
    cpu = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return {"wall": round(wall, 1), "cpu": round(cpu / 60, 2), "ok": code == 0}


def on_two_cores(action):
    """Budgets on the clock are for a small machine; a larger one lends two of its cores."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(cores)[:2])
    try:
        return action()
    finally:
        os.sched_setaffinity(0, cores)


def timings(work, target):
    """Seconds by crate of the build just made."""
    seconds = parts.seconds_by_crate(f"{work}/{target}/cargo-timings/cargo-timing.html")
    own = parts.own_packages(f"{work}/sources")
    return {"crates": parts.largest(seconds, 1), "groups": parts.seconds_by_group(seconds, own)}


def measure_dev(work, part, save):
    part["build"] = measured(DEV, work, "dev")
    part["timings"] = timings(work, "dev")
    save()


def measure_tests(work, part, save):
    part["build"] = measured(TESTS, work, "dev")
    part["folder"] = int(parts.output(["du", "-s", "--block-size=1", f"{work}/dev"]).split()[0])
    save()
    if RUN_TESTS:
        part["run"] = measured(["./scripts/test"], work, "dev", fatal=False)
        save()


def measure_release(work, part, save):
    program = f"{work}/release/release/gpuprof"
    part["build"] = measured([*RELEASE, "--timings"], work, "release")
    part["timings"] = timings(work, "release")
    part["size"] = os.path.getsize(program)
    part["sections"] = parts.sections(program)
    save()
    with open(f"{work}/sources/src/lib.rs", "a", encoding="utf-8") as file:
        file.write(CHANGE)
    part["change"] = on_two_cores(lambda: measured(RELEASE, work, "release"))
    save()
    measured(RELEASE, work, "release", variables={"GPUPROF_KEEP_SYMBOLS": "1"})
    part["contents"] = parts.contents(program, part["size"], parts.own_packages(f"{work}/sources"))
    save()


def chosen():
    """The parts to measure, in order. Tests are measured on top of dev."""
    found = {part for part in PARTS if not ONLY or re.fullmatch(ONLY, part)}
    if not found:
        sys.exit(f"gpuprof: GPUPROF_BUILD_ONLY={ONLY} names none of {', '.join(PARTS)}")
    if "tests" in found:
        found.add("dev")
    return [part for part in PARTS if part in found]


def circumstances():
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    rustc = parts.output(["rustc", "--version"]).strip()
    return f"{now}; commit {os.environ.get('GPUPROF_BUILD_COMMIT', 'unknown')}; {machine()}; {rustc}; 1-minute load " \
           f"{os.getloadavg()[0]:.1f} before"


def kept(path):
    """What an earlier run measured, from the comments at the end of its BUILD.md."""
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        found = re.findall(r"^<!-- measured (\w+): (.*) -->$", file.read(), re.MULTILINE)
    return {name: json.loads(text) for name, text in found}


def take(results, *keys):
    """A value deep in the results; None where it has not been measured."""
    for key in keys:
        if results is None:
            return None
        results = results.get(key)
    return results


def limit(what, must, aim, value, unit, digits=1, more=""):
    """A line of the table of budgets. `more` says what is still missing in the value, which then cannot be met."""
    if value is None:
        return f"| {what} | {must} {unit} | {aim} {unit} | not measured | |"
    met = "NO" if value > must else "" if more else "aim" if value <= aim else "must"
    return f"| {what} | {must} {unit} | {aim} {unit} | **{value:.{digits}f} {unit}**{more} | {met} |"


def budgets(results):
    size, folder = take(results, "release", "size"), take(results, "tests", "folder")
    compiled, run = take(results, "tests", "build", "cpu"), take(results, "tests", "run", "cpu")
    wall, tests = take(results, "release", "change", "wall"), None if compiled is None else compiled + (run or 0)
    more = "" if run is not None else " to compile; the run is not measured"
    return ["| what | must | aim | measured here | met |", "|---|---|---|---|---|",
            # scripts/check-size keeps what there is from growing meanwhile.
            limit("the release program, stripped", 40, 25, size and size / 2**20, "MiB"),
            limit("release, from nothing", 25, 15, take(results, "release", "build", "cpu"), "CPU-minutes"),
            limit("release, after a change of one file, on two cores", 2, 2, wall and wall / 60, "minutes"),
            limit("what `scripts/demo` builds, from nothing", 12, 8, take(results, "dev", "build", "cpu"),
                  "CPU-minutes"),
            limit("tests from there, compiled and run", 20, 20, tests, "CPU-minutes", more=more),
            limit("the target folder after both", 5, 5, folder and folder / 1e9, "GB")]


def costs(results):
    def row(what, run, size=""):
        if run is None:
            return f"| {what} | not measured | | {size} |"
        failed = "" if run["ok"] else " (some failed)"
        return f"| {what}{failed} | {run['wall']:.0f} | {run['cpu']:.1f} | {size} |"

    size, folder = take(results, "release", "size"), take(results, "tests", "folder")
    return ["| what | wall s | CPU-minutes | size |", "|---|---|---|---|",
            row("`dev`, from nothing: `cargo build --bin gpuprof --example make_native`",
                take(results, "dev", "build")),
            row("`tests`, compiled on top of it: `cargo test --workspace --no-run`", take(results, "tests", "build"),
                f"target folder {folder / 1e9:.1f} GB" if folder else ""),
            row("`tests`, run: `scripts/test`, which also compiles the documentation's examples and the loom models",
                take(results, "tests", "run")),
            row("`release`, from nothing: `cargo build --release --bin gpuprof`", take(results, "release", "build"),
                f"program {size / 2**20:.1f} MiB" if size else ""),
            row("`release`, after a change of src/lib.rs, on two cores", take(results, "release", "change"))]


def amount(value, digits=0):
    return "" if value is None else f"{value:.{digits}f}"


def kib(value):
    return "" if value is None else f"{value / 1024:.0f}"


def groups(results):
    dev, release = take(results, "dev", "timings", "groups"), take(results, "release", "timings", "groups")
    named = take(results, "release", "contents", "groups", "named")
    made = take(results, "release", "contents", "groups", "made")
    lines = ["| group | dev: s of compilation | release: s of compilation | KiB in the program, by name | KiB, by who "
             "compiled it |", "|---|---|---|---|---|"]
    for group in parts.GROUPS:
        lines.append(f"| {group} | {amount(take(dev, group))} | {amount(take(release, group))} | "
                     f"{kib(take(named, group))} | {kib(take(made, group))} |")
    total = [sum(column.values()) if column else None for column in (dev, release, named, made)]
    return [*lines, f"| **all** | {amount(total[0])} | {amount(total[1])} | {kib(total[2])} | {kib(total[3])} |"]


def seconds(results, part):
    crates = take(results, part, "timings", "crates")
    if crates is None:
        return ["Not measured."]
    total = sum(value for _, value in crates["top"]) + crates["rest"]
    return ["| crate | s | share |", "|---|---|---|",
            *(f"| {name} | {value:.1f} | {value / total:.1%} |" for name, value in crates["top"]),
            f"| {crates['others']} others | {crates['rest']:.1f} | {crates['rest'] / total:.1%} |"]


def bytes_in_program(results):
    found, size = take(results, "release", "contents"), take(results, "release", "size")
    if found is None:
        return ["Not measured."]

    def cells(rows):
        nameless = size - sum(value for _, value in rows["top"]) - rows["rest"]
        return [*rows["top"], [f"{rows['others']} others", rows["rest"]], [parts.NAMELESS, nameless]]

    lines = ["| by name | KiB | share | by who compiled it | KiB | share |", "|---|---|---|---|---|---|"]
    for left, right in itertools.zip_longest(cells(found["named"]), cells(found["made"])):
        both = (f"{cell[0]} | {kib(cell[1])} | {cell[1] / size:.1%}" if cell else " | | " for cell in (left, right))
        lines.append(f"| {' | '.join(both)} |")
    return lines


def section_table(results):
    found, size = take(results, "release", "sections"), take(results, "release", "size")
    if found is None:
        return ["Not measured."]
    large = [row for row in found if row[1] >= 10240]
    rest = size - sum(value for _, value in large)
    return ["| section | KiB | share | what |", "|---|---|---|---|",
            *(f"| `{name}` | {kib(value)} | {value / size:.1%} | {SECTIONS.get(name, '')} |" for name, value in large),
            f"| {len(found) - len(large)} others, headers and gaps | {kib(rest)} | {rest / size:.1%} | |"]


def document(results):
    text = ["# What building gpuprof costs, and what is in the program", "",
            "Written by `benches/build.sh`; do not edit. Each from an empty target folder, nothing downloaded "
            "meanwhile. CPU-minutes are user and system time of all processes of a build; they depend less on the "
            "number of cores and on other work than time on the clock.", "",
            *(f"- `{part}`: {results[part]['when']}" if part in results else f"- `{part}`: not measured"
              for part in PARTS), "",
            "## Budgets", "", *budgets(results), "",
            "## Builds", "", *costs(results), "",
            "## By group", "", *groups(results), "",
            "Seconds are cargo's (`--timings`): how long the compiler ran for a crate while it shared the cores with "
            "others, so their sum is longer than the build. For a crate with C in it they contain the C compiler. "
            "\"By name\" gives a function to the crate that its "
            "name begins with, `<A as B>::f` to the crate of A; \"by who compiled it\" to the crate for which the "
            "compiler made it, so a `Vec<DataFrame>` to Polars (where the linker still knows: not for functions that "
            "crates export to each other). \"No symbol\" are constants, unwinding tables and relocations.", "",
            "## Seconds by crate, dev", "", *seconds(results, "dev"), "",
            "## Seconds by crate, release", "", *seconds(results, "release"), "",
            "## Bytes by crate in the release program", "", *bytes_in_program(results), "",
            "## Sections of the release program", "", *section_table(results), "",
            "<!-- For the next run, which may measure only a part: -->",
            *(f"<!-- measured {part}: {json.dumps(results[part])} -->" for part in PARTS if part in results), ""]
    return "\n".join(text)


def main(work, path):
    results = kept(path)

    def save():
        with open(path, "w", encoding="utf-8") as file:
            file.write(document(results))

    measure = {"dev": measure_dev, "tests": measure_tests, "release": measure_release}
    try:
        for part in chosen():
            results[part] = {"when": circumstances()}
            measure[part](work, results[part], save)
    except Failed as error:
        sys.exit(f"gpuprof: {error}; {path} has what was measured before")
    print(f"gpuprof: wrote {path}", file=sys.stderr)


if __name__ == "__main__":
    main(*sys.argv[1:3])
