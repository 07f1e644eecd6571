#!/usr/bin/env python3
"""Tries a timeline page in headless Chromium.

    run.py PAGE.html|http://… [--expect TOTALS.json] [--figures OUT.json] [--shots DIR]

Prints a line per check and ends with 1 if one failed, with 77 if there is no browser. `--expect`: records per table (some
or all), to compare with what is on screen. `--figures`: first paint and frame times. Needs nothing but Python and Chromium.
"""

import argparse
import json
import pathlib
import re
import sys
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from browser import Browser, Failed, find  # noqa: E402

# Generous: a loaded machine without a GPU must pass. The published figures are in docs/timeline.md.
FIRST_PAINT_MS = 30_000
FRAME_MS = 250
SHIFT = 8
HOOK = "window.__gpuprof"


class Checks:
    """Runs the checks on one page; each is a method, called in order."""

    def __init__(self, browser, expected):
        self.browser, self.expected, self.figures = browser, expected, {}

    def state(self):
        return self.browser.run(f"{HOOK}.state")

    def rows(self):
        return self.browser.run(f"{HOOK}.rows")

    def fit(self):
        self.browser.run(f"document.activeElement.blur(), {HOOK}.setView(-1e15, 1e15)")
        self.browser.settle()

    def canvas(self):
        return self.browser.run("(() => { const b = document.getElementById('rows').getBoundingClientRect(); return [b.left, b.top, b.width, b.height]; })()")

    def everything(self):
        """All rows, opened and scrolled through at the widest view: id → row as drawn."""
        self.browser.run(f"{HOOK}.openAll(true)")
        self.fit()
        seen, top = {}, 0
        while True:
            self.browser.run(f"document.getElementById('scroll').scrollTop = {top}")
            self.browser.settle()
            for row in self.rows():
                seen[row["id"]] = row
            height = self.canvas()[3]
            here = self.browser.run("document.getElementById('scroll').scrollTop")
            if here < top or top > 1_000_000:
                break
            top = int(here + height * 0.9)
        self.browser.run("document.getElementById('scroll').scrollTop = 0")
        self.browser.settle()
        return seen

    def a_record(self, kinds=("compute", "stream", "memcpy", "runtime")):
        """Brings a record of a kind into view. Returns its row as drawn, its box's middle on the page."""
        row = next(row for kind in kinds for row in self.browser.run(f"{HOOK}.all") if row["kind"] == kind and row["records"] > 0)
        self.browser.run(f"{HOOK}.select({row['id']}, {row['records'] // 2})")
        self.browser.settle()
        self.browser.key("f")
        self.browser.settle()
        drawn = next(r for r in self.rows() if r["id"] == row["id"])
        left, top, width, _ = self.canvas()
        return drawn, left + width / 2, top + drawn["y"] + drawn["height"] / 2

    # The checks

    def first_paint(self):
        ms = self.browser.run(f"{HOOK}.firstPaintMs")
        self.figures["first_paint_ms"] = round(ms)
        self.figures["first_paint_cpu_ms"] = round(self.browser.first_cpu_ms)
        assert ms < FIRST_PAINT_MS, f"first paint after {ms} ms"
        return f"{ms:.0f} ms, {self.browser.first_cpu_ms:.0f} ms of CPU time"

    def counts_on_screen(self):
        seen = self.everything()
        rows = self.browser.run(f"{HOOK}.all")
        totals, shown = self.browser.run(f"{HOOK}.totals"), {}
        for row in rows:
            drawn = seen.get(row["id"])
            assert drawn, f"row {row['label'][:60]} was never drawn"
            if row["records"] > 0:
                assert drawn["count"] == row["records"], f"row {row['label'][:60]}: {drawn['count']} on screen, {row['records']} in the trace"
            if row.get("table"):
                shown[row["table"]] = shown.get(row["table"], 0) + drawn["count"]
        assert {k: v for k, v in totals.items() if v} == {k: v for k, v in shown.items() if v}, f"totals {totals}, on screen {shown}"
        if self.expected is not None:
            for table, count in self.expected.items():
                assert shown.get(table, 0) == count, f"{shown.get(table, 0)} records of {table} on screen, expected {count}"
        return f"{len(rows)} rows, {shown}"

    def zoom_by_wheel(self):
        self.fit()
        left, top, width, height = self.canvas()
        # A whole pixel: mouse events have no others.
        x = round(left + width * 0.3) - left
        at = lambda: (lambda s: s["from"] + x / width * (s["to"] - s["from"]))(self.state())
        before, aim = self.state(), at()
        for _ in range(10):
            self.browser.wheel(left + x, top + 60, -200)
            self.browser.settle()
        after = self.state()
        ratio = (after["to"] - after["from"]) / (before["to"] - before["from"])
        assert 0.01 < ratio < 0.05, f"ten turns of the wheel zoom by {ratio}"
        off = abs(at() - aim) / (after["to"] - after["from"])
        assert off < 0.01, f"the time below the mouse moved by {off} of the view"
        return f"×{1 / ratio:.0f}"

    def keys(self):
        self.fit()
        span = lambda: (lambda s: s["to"] - s["from"])(self.state())
        press = lambda key: (self.browser.key(key), self.browser.settle())
        whole = span()
        press("w")
        press("w")
        assert span() < whole * 0.6, "w does not zoom in"
        narrow, place = span(), self.state()["from"]
        press("d")
        assert self.state()["from"] > place, "d does not move right"
        press("a")
        press("ArrowLeft")
        assert self.state()["from"] < place, "a and ← do not move left"
        press("s")
        assert span() > narrow, "s does not zoom out"
        press("0")
        assert abs(span() - whole) < whole * 1e-6, "0 does not show the whole trace"
        press("Backspace")
        assert span() < whole * 0.99, "Backspace does not go back"
        press("?")
        assert self.browser.run("document.getElementById('about').open"), "? does not show the help"
        press("Escape")
        self.browser.run("document.getElementById('about').close()")

    def drag(self):
        self.fit()
        for _ in range(4):
            self.browser.key("w")
        self.browser.settle()
        left, top, width, height = self.canvas()
        before = self.state()
        self.browser.drag(left + width * 0.7, top + 40, left + width * 0.5, top + 40)
        self.browser.settle()
        moved = (self.state()["from"] - before["from"]) / (before["to"] - before["from"])
        assert abs(moved - 0.2) < 0.02, f"dragging a fifth of the width moved by {moved}"

    def span(self):
        self.fit()
        left, top, width, height = self.canvas()
        for name, y, modifiers in (("shift+drag", top + 40, SHIFT), ("drag on the axis", top - 10, 0)):
            self.browser.drag(left + width * 0.005, y, left + width * 0.995, y, modifiers)
            self.browser.settle()
            span = self.state()["span"]
            assert span and span["to"] > span["from"], f"{name} selects nothing"
            self.browser.wait("document.querySelector('#pane details')", 60)
        text = self.browser.run("document.querySelector('#pane details summary').textContent")
        assert re.search(r"\d+ .*%", text), f"statistics read {text!r}"
        self.browser.run("document.activeElement.blur()")
        self.browser.key("Escape")
        assert self.state()["span"] is None, "Escape does not clear the span"
        return text

    def statistics_agree(self):
        """What a span of everything holds is what the rows hold."""
        self.fit()
        sums = self.browser.run(f"{HOOK}.statistics(0, 1e15)")["rows"]
        rows = {row["id"]: row for row in self.browser.run(f"{HOOK}.all")}
        counted = {s["row"]: s["count"] for s in sums}
        for row in rows.values():
            if row["records"] > 0:
                assert counted.get(row["id"]) == row["records"], f"{row['label'][:60]}: {counted.get(row['id'])} selected of {row['records']}"

    def search(self):
        self.fit()
        rows = self.browser.run(f"{HOOK}.all")
        # Each context has its row per kernel; the row's records are the hits of its name.
        kernels = [r for r in rows if r["kind"] == "kernel" and r["records"] > 0 and len(r["label"]) < 300 and "\n" not in r["label"] and not r["label"].startswith("other kernels")]
        if not kernels:
            return "no kernels"
        label = max(kernels, key=lambda r: r["records"])["label"]
        wanted = sum(r["records"] for r in kernels if r["label"] == label)
        self.browser.key("/")
        assert self.browser.run("document.activeElement.id") == "query", "/ does not go to the search box"
        self.browser.type("/^" + re.sub(r"([\\^$.|?*+()\[\]{}/])", r"\\\1", label) + "$/")
        self.browser.wait(f"{HOOK}.state.hits !== null", 60)
        hits = self.state()["hits"]
        assert hits >= wanted, f"{hits} hits of {label[:60]}, {wanted} records"
        if len({r["parent"] for r in kernels}) == 1:
            assert hits == wanted, f"{hits} hits of {label[:60]}, {wanted} records"
        self.browser.key("Enter")
        self.browser.settle()
        self.browser.run("document.activeElement.blur()")
        first = self.state()["selected"]
        assert first, "Enter does not go to a hit"
        self.browser.key("n")
        self.browser.settle()
        assert hits == 1 or self.state()["selected"] != first, "n does not go to the next hit"
        self.browser.key("p")
        self.browser.settle()
        assert self.state()["selected"] == first, "p does not go back"
        text = self.browser.run("document.getElementById('hits').textContent")
        self.browser.run("document.getElementById('query').value = '(((', document.getElementById('query').dispatchEvent(new Event('input'))")
        self.browser.run("document.getElementById('query').value = '/(/', document.getElementById('query').dispatchEvent(new Event('input'))")
        self.browser.wait("document.getElementById('query').getAttribute('aria-invalid')")
        self.browser.key("Escape")
        return f"{hits} hits, {text!r}"

    def hover(self):
        row, x, y = self.a_record()
        self.browser.mouse("mouseMoved", x - 3, y - row["height"] / 2 + 8)
        self.browser.mouse("mouseMoved", x, y - row["height"] / 2 + 8)
        self.browser.wait("!document.getElementById('tip').hidden")
        labels = self.browser.run("[...document.querySelectorAll('#tip dt')].map(e => e.textContent)")
        assert {"Start", "Duration"} <= set(labels), f"the tooltip has {labels}"
        fields = self.browser.run("document.querySelectorAll('#pane dt').length")
        assert len(labels) >= fields > 2, f"{len(labels)} fields in the tooltip, {fields} in the panel"
        return ", ".join(labels)

    def click_and_arrows(self):
        row, x, y = self.a_record()
        for _ in range(3):
            self.browser.key("Escape")
        assert self.state()["selected"] is None, "Escape does not clear the selection"
        self.browser.click(x, y - row["height"] / 2 + 8)
        self.browser.settle()
        selected = self.state()["selected"]
        assert selected and selected["row"] == row["id"], f"a click selects {selected}, not a record of {row['id']}"
        if not self.browser.run("Boolean(document.querySelector('#pane .link'))"):
            return "no launch known"
        assert self.state()["arrows"] == 1, "no arrow from the launch"
        self.browser.run("document.querySelector('#pane .link').click()")
        self.browser.settle()
        there = self.state()["selected"]
        assert there != selected, "the link to the launch does not go there"
        self.browser.key("l")
        self.browser.settle()
        return f"{selected} launched by {there}"

    def gaps(self):
        self.fit()
        self.browser.run("document.getElementById('tab-gaps').click()")
        if not self.browser.run("Boolean(document.querySelector('#pane .jumps button'))"):
            return "none"
        self.browser.run("document.querySelector('#pane .jumps button').click()")
        self.browser.settle()
        state = self.state()
        mark = state["mark"]
        assert mark and state["from"] < mark["from"] < mark["to"] < state["to"], f"the gap {mark} is not in view: {state}"
        return self.browser.run("document.querySelector('#pane .jumps button').textContent")

    def longest_kernels(self):
        self.browser.run("document.getElementById('tab-kernels').click()")
        self.browser.wait("document.querySelector('#pane .jumps button') || document.getElementById('pane').textContent.startsWith('No kernels')")
        if not self.browser.run("Boolean(document.querySelector('#pane .jumps button'))"):
            return "none"
        self.browser.run("document.querySelector('#pane .jumps button').click()")
        self.browser.settle()
        assert self.state()["selected"], "the longest kernel is not selected"

    def insights(self):
        """Findings are listed; a click on one goes to the longest of what it rests on, and one on a strip of a rank to its bin."""
        self.fit()
        self.browser.run("document.activeElement.blur()")
        self.browser.key("i")
        said = self.browser.run("document.getElementById('pane').textContent")
        assert any(words in said for words in ("Nothing is judged", "Nothing was found", "What could be won back")), said
        found = self.browser.run("document.querySelectorAll('#pane .jumps button').length")
        if found:
            whole = self.state()
            self.browser.run("document.querySelector('#pane .jumps button').click()")
            self.browser.settle()
            state = self.state()
            span = state["span"]
            assert span is None or state["from"] <= span["from"] <= span["to"] <= state["to"], f"{span} is not in view: {state}"
            assert span is None or state["to"] - state["from"] < whole["to"] - whole["from"], "the finding is not shown closer"
            self.browser.key("Escape")
        strips = self.browser.run("document.querySelectorAll('#pane .heat canvas').length")
        if strips:
            self.fit()
            whole = self.state()
            self.browser.run("(() => { const c = document.querySelector('#pane .heat canvas'); c.dispatchEvent(new MouseEvent('click', { clientX: c.getBoundingClientRect().left + c.clientWidth / 2, clientY: c.getBoundingClientRect().top + 2, bubbles: true })); })()")
            self.browser.settle()
            state = self.state()
            assert state["to"] - state["from"] < (whole["to"] - whole["from"]) / 10, f"the bin is not shown closer: {state}"
        return f"{found} findings, {strips} ranks"

    def colours_of_the_longest(self):
        """The ten longest kernels of different names never share a colour."""
        self.browser.run("document.getElementById('tab-kernels').click()")
        if not self.browser.run("Boolean(document.querySelector('#pane .jumps button'))"):
            return "no kernels"
        listed = self.browser.run("[...document.querySelectorAll('#pane .jumps button')].map(b => [b.querySelector('.name').textContent, b.querySelector('.bar').style.background])")
        colour_of = dict(reversed(listed))
        names = list(dict.fromkeys(name for name, _ in listed))[:10]
        colours = {colour_of[name] for name in names}
        assert len(colours) == len(names), f"{names} have {colours}"
        return f"{len(names)} names"

    def narrow(self):
        """In a narrow window the timeline keeps its room; the panel is folded below it until it has something to show."""
        hidden = "document.getElementById('panel').hidden"
        for _ in range(3):
            self.browser.key("Escape")
        notes = []
        for width, height in ((400, 800), (500, 700), (800, 600), (900, 600)):
            self.browser.resize(1440, 900)
            self.browser.settle()
            self.browser.resize(width, height)
            self.browser.run("document.getElementById('tab-record').click(), document.activeElement.blur()")
            self.browser.run("document.getElementById('panel').hidden || document.getElementById('side').click()")
            self.browser.settle()
            assert self.browser.run(hidden), f"at {width} pixels the panel does not fold"
            wide = self.canvas()[2]
            assert wide > width * 0.55, f"at {width} pixels the rows have {wide}"
            reach = self.browser.run("Math.max(document.documentElement.scrollWidth, ...[...document.querySelectorAll('#bar *')].map(e => e.getBoundingClientRect().right))")
            assert reach <= width, f"at {width} pixels something reaches to {reach}"
            row, x, y = self.a_record()
            assert not self.browser.run(hidden), f"at {width} pixels a selected record is not shown"
            _, top, wide, tall = self.canvas()
            assert wide > width * 0.55 and tall > 150, f"at {width} × {height} the panel leaves {wide} × {tall} pixels for the rows"
            assert top <= y <= top + tall, f"at {width} × {height} the selected record is behind the panel"
            notes.append(f"{width}: {wide:.0f} × {tall:.0f}")
            self.browser.key("Escape")
            self.browser.key("Escape")
            self.browser.settle()
            assert self.browser.run(hidden), f"at {width} pixels an empty panel stays"
        self.browser.resize(1440, 900)
        self.browser.settle()
        assert not self.browser.run(hidden), "in a wide window the panel is not there"
        return ", ".join(notes)

    def tree(self):
        self.browser.run(f"{HOOK}.openAll(false)")
        self.browser.settle()
        closed = len(self.rows())
        self.browser.run("document.querySelector('#tree [role=treeitem]').click()")
        self.browser.settle()
        assert len(self.rows()) > closed, "a click on a row does not open it"
        # By keyboard alone: down to the first row of records, and into it.
        self.browser.run(f"{HOOK}.openAll(true), document.activeElement.blur()")
        self.browser.key("Escape")
        self.browser.settle()
        down = next(i for i, row in enumerate(self.rows()) if row["records"] > 0)
        self.browser.run("document.querySelector('#tree [role=treeitem]').focus()")
        self.browser.key("Home")
        for _ in range(down):
            self.browser.key("ArrowDown")
        self.browser.key("Enter")
        self.browser.settle()
        assert self.state()["selected"], "Enter on a row selects nothing"
        unnamed = self.browser.run("[...document.querySelectorAll('button, input, canvas, [role]')].filter(e => !(e.getAttribute('aria-label') || e.getAttribute('aria-labelledby') || e.getAttribute('aria-hidden') || e.textContent.trim() || e.matches('#tip, #cover, #live, #hits, option, [role=status]'))).map(e => e.outerHTML.slice(0, 90))")
        assert unnamed == [], f"without a name for screen readers: {unnamed}"

    def frames(self):
        """Zooms to the middle and back, and pans, frame by frame; the times are the page's own."""
        self.browser.run(f"{HOOK}.openAll(true)")
        self.fit()
        self.browser.run("document.getElementById('scroll').scrollTop = 0")
        self.browser.settle()
        cpu_ms = self.browser.cpu_ms()
        times = self.browser.run("""(async () => {
          const hook = window.__gpuprof, wait = () => new Promise(requestAnimationFrame);
          const { from, to } = hook.state, middle = from + (to - from) * 0.43;
          hook.frames.length = 0;
          const look = async (span, at) => { hook.setView(at - span / 2, at + span / 2); await wait(); await wait(); };
          for (let i = 0; i <= 120; i++) await look((to - from) * Math.exp(-i / 8), middle);
          for (let i = 0; i <= 60; i++) await look((to - from) * Math.exp(-i / 15), middle + (to - from) * 0.01 * Math.sin(i / 9));
          for (let i = 0; i <= 120; i++) await look((to - from) / 30, from + (to - from) * (0.05 + 0.9 * i / 120));
          return [...hook.frames];
        })()""")
        cpu_ms = self.browser.cpu_ms() - cpu_ms
        times.sort()
        rank = lambda share: round(times[min(len(times) - 1, int(share * len(times)))], 1)
        self.figures["frames"] = {"count": len(times), "median_ms": rank(0.5), "p95_ms": rank(0.95), "p99_ms": rank(0.99), "max_ms": rank(1), "cpu_ms": round(cpu_ms / len(times), 1)}
        assert len(times) > 250, f"only {len(times)} frames"
        assert rank(0.95) < FRAME_MS, f"frames: {self.figures['frames']}"
        return str(self.figures["frames"])

    def themes(self):
        back = "getComputedStyle(document.body).backgroundColor"
        before = self.browser.run(back)
        self.browser.run("document.activeElement.blur()")
        self.browser.key("t")
        assert self.browser.run(back) != before, "t does not switch the theme"
        self.browser.key("t")

    def quiet(self):
        """Nothing was logged, nothing was fetched from elsewhere, no name was run."""
        assert self.browser.messages == [], f"messages: {self.browser.messages[:5]}"
        assert self.browser.run("window.__hacked === undefined"), "a name was run as code"
        own = self.browser.run("location.href.replace(/[^/]*$/, '')")
        foreign = [r for r in self.browser.requests if not r.startswith((own, "data:", "file:" if own.startswith("file:") else own))]
        assert foreign == [], f"requests: {foreign[:5]}"

    def policy(self):
        """The page's own policy stops what a name could bring in. Last: it logs a violation."""
        self.browser.run("(() => { const s = document.createElement('script'); s.textContent = 'window.__injected = 1'; document.body.append(s); })()")
        assert self.browser.run("window.__injected === undefined"), "a foreign script runs"
        assert any("Content Security Policy" in m for m in self.browser.messages), "no policy"


ORDER = ["first_paint", "counts_on_screen", "zoom_by_wheel", "keys", "drag", "span", "statistics_agree", "search", "hover", "click_and_arrows", "gaps", "longest_kernels", "insights", "colours_of_the_longest", "tree", "frames", "narrow", "themes", "quiet", "policy"]


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("page")
    arguments.add_argument("--expect")
    arguments.add_argument("--figures")
    arguments.add_argument("--shot", help="a picture of the page as the last check leaves it")
    arguments.add_argument("--only", nargs="*", help="only these checks")
    given = arguments.parse_args()
    if find() is None:
        print("no Chromium here (Debian: apt-get install chromium)")
        return 77
    expected = json.loads(pathlib.Path(given.expect).read_text()) if given.expect else None
    address = given.page if "://" in given.page else pathlib.Path(given.page).resolve().as_uri()
    failed = 0
    with Browser() as browser:
        browser.open(address)
        checks = Checks(browser, expected)
        for name in given.only or ORDER:
            try:
                note = getattr(checks, name)()
                print(f"ok: {name}{': ' + str(note)[:300] if note else ''}", flush=True)
            except (AssertionError, Failed, StopIteration) as error:
                failed += 1
                print(f"FAILED: {name}: {str(error)[:1000] or traceback.format_exc()}", flush=True)
        if given.shot:
            browser.shot(given.shot)
        if given.figures:
            pathlib.Path(given.figures).write_text(json.dumps(checks.figures, indent=2))
    print(f"{len(given.only or ORDER) - failed} of {len(given.only or ORDER)} checks hold")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
