#!/usr/bin/env python3
"""Takes the pictures of docs/timeline.md.

    shots.py DIR CLOVERLEAF.html FSDP.html

The pages are those of `../shared/data/nsys/cloverleaf_a100….sqlite` and `fsdp_h100x2….sqlite`.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from browser import Browser  # noqa: E402

HOOK = "window.__gpuprof"


def middle(browser, selector):
    """The middle of an element, in pixels."""
    return browser.run(f"(() => {{ const b = document.querySelector({selector!r}).getBoundingClientRect(); return [b.left + b.width / 2, b.top + b.height / 2]; }})()")


def gap(folder, page):
    """The longest idle gap, click by click."""
    with Browser(size=(1360, 640)) as browser:
        browser.open(page)
        browser.settle()
        browser.shot(folder / "gap-0.png")
        browser.click(*middle(browser, "#tab-gaps"))
        browser.settle()
        browser.shot(folder / "gap-1.png")
        browser.click(*middle(browser, "#pane .jumps button"))
        browser.settle()
        browser.shot(folder / "gap-2.png")


def row_of(browser, kind, nth=0):
    return [row for row in browser.run(f"{HOOK}.all") if row["kind"] == kind and row["records"] > 0][nth]


def record(folder, page, dark):
    """A selected kernel with the arrow from its launch, and the mouse on another one."""
    with Browser(size=(1360, 760), dark=dark) as browser:
        browser.open(page)
        browser.settle()
        row = row_of(browser, "compute")
        browser.run(f"{HOOK}.select({row['id']}, {row['records'] // 2})")
        browser.settle()
        state = browser.run(f"{HOOK}.state")
        at = (state["from"] + state["to"]) / 2
        browser.run(f"{HOOK}.setView({at} - 1750000, {at} + 450000), document.getElementById('scroll').scrollTop = 0")
        browser.settle()
        drawn = next(r for r in browser.run(f"{HOOK}.rows") if r["id"] == row["id"])
        left, top, width = browser.run("(() => { const b = document.getElementById('rows').getBoundingClientRect(); return [b.left, b.top, b.width]; })()")
        for step in range(40):
            browser.mouse("mouseMoved", left + width * (0.38 + step / 200), top + drawn["y"] + 10)
            browser.settle()
            if not browser.run("document.getElementById('tip').hidden"):
                break
        browser.shot(folder / f"record-{'dark' if dark else 'light'}.png")


def span(folder, page):
    """Statistics of a span of time."""
    with Browser(size=(1360, 760), dark=True) as browser:
        browser.open(page)
        browser.settle()
        left, top, width = browser.run("(() => { const b = document.getElementById('rows').getBoundingClientRect(); return [b.left, b.top, b.width]; })()")
        browser.drag(left + width * 0.34, top - 10, left + width * 0.62, top - 10)
        browser.mouse("mouseMoved", 3, 3)
        browser.wait("document.querySelector('#pane details')")
        browser.settle()
        browser.shot(folder / "span.png")


def search(folder, page):
    """A search and its hits."""
    with Browser(size=(1360, 640)) as browser:
        browser.open(page)
        browser.settle()
        browser.key("/")
        browser.type("nvjet")
        browser.wait(f"{HOOK}.state.hits !== null")
        browser.settle()
        browser.shot(folder / "search.png")


def main():
    folder = pathlib.Path(sys.argv[1])
    cloverleaf, fsdp = (pathlib.Path(page).resolve().as_uri() for page in sys.argv[2:4])
    folder.mkdir(parents=True, exist_ok=True)
    gap(folder, cloverleaf)
    record(folder, fsdp, False)
    record(folder, fsdp, True)
    span(folder, fsdp)
    search(folder, fsdp)
    for picture in sorted(folder.glob("*.png")):
        print(f"{picture}: {picture.stat().st_size >> 10} KiB")


if __name__ == "__main__":
    main()
