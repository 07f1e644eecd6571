// What surrounds the canvas: the tree of row names, the tooltip, the search box, the help.

/** The names of the rows in view. Elements are used again from frame to frame. */
class Tree {
  constructor(app) {
    this.app = app;
    this.box = document.getElementById("tree");
    this.items = new Map();
    this.focused = null;
    this.box.addEventListener("click", (event) => {
      const item = event.target.closest("[data-row]");
      if (!item) return;
      const row = app.rows.byId.get(Number(item.dataset.row));
      if (row.children.length > 0) this.toggle(row);
      this.focus(row);
    });
    this.box.addEventListener("focusin", (event) => (this.focused = app.rows.byId.get(Number(event.target.dataset.row)) ?? this.focused));
    this.box.addEventListener("keydown", (event) => this.key(event));
  }

  toggle(row, open) {
    this.app.rows.toggle(row, open);
    this.app.resized();
  }

  focus(row) {
    this.focused = row;
    this.app.showRow(row);
    this.paint(this.app.painter.look(this.app.scroll.scrollTop));
    this.items.get(row.id)?.focus({ preventScroll: true });
  }

  key(event) {
    const { rows } = this.app;
    const row = this.focused;
    if (!row) return;
    const at = rows.shown.indexOf(row);
    const go = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.shown.length - 1 }[event.key];
    if (go !== undefined) this.focus(rows.shown[Math.min(Math.max(go, 0), rows.shown.length - 1)]);
    else if (event.key === "ArrowRight" && row.children.length > 0) row.open ? this.focus(row.children[0]) : this.toggle(row, true);
    else if (event.key === "ArrowLeft") row.open && row.children.length > 0 ? this.toggle(row, false) : row.up && this.focus(row.up);
    else if (event.key === " " && row.children.length > 0) this.toggle(row);
    else if (event.key === "Enter") row.records > 0 ? this.app.selectFirst(row) : this.toggle(row);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** Puts the names beside the rows in view. */
  paint(shown) {
    const top = this.app.painter.top;
    const gone = new Set(this.items.keys());
    if (!shown.includes(this.focused)) this.focused = this.items.get(this.focused?.id) === document.activeElement ? this.focused : null;
    // From the last to the first, so that each new one goes before the one below it: the order that screen readers follow.
    let below = null;
    for (const row of shown.toReversed()) {
      gone.delete(row.id);
      let item = this.items.get(row.id);
      if (!item) {
        item = this.makeItem(row);
        this.items.set(row.id, item);
        this.box.insertBefore(item, below);
      }
      below = item;
      item.style.transform = `translateY(${row.y - top}px)`;
      item.tabIndex = row === (this.focused ?? shown[0]) ? 0 : -1;
      if (row.children.length > 0) item.setAttribute("aria-expanded", String(row.open));
    }
    for (const id of gone) {
      this.items.get(id).remove();
      this.items.delete(id);
    }
  }

  makeItem(row) {
    const { meta } = this.app;
    const item = make("div", { className: `row ${row.kind}`, role: "treeitem", "aria-level": String(row.depth + 1), title: row.label.slice(0, 1000) });
    item.dataset.row = row.id;
    item.style.height = `${row.height}px`;
    item.style.paddingLeft = `calc(8px + ${Math.min(row.depth, 8)} * var(--indent))`;
    item.append(make("span", { className: row.children.length > 0 ? "twist" : "twist none", "aria-hidden": "true" }));
    if (row.kind === "kernel" || row.kind === "memcpy" || row.kind === "memset") {
      const swatch = make("span", { className: "swatch", "aria-hidden": "true" });
      swatch.style.background = colourOf(row.color ?? row.kind, row.label);
      item.append(swatch);
    }
    item.append(make("span", { className: "name", textContent: row.short }));
    if (row.busy_ns > 0) item.append(make("span", { className: "note", textContent: shareText(row.busy_ns, meta.duration_ns), title: `${counted(row.records, "record")}, busy ${timeText(row.busy_ns)}` }));
    if (row.kind === "counter" && row.max !== undefined) item.append(make("span", { className: "note", textContent: `max ${counterText(row, row.max)}` }));
    return item;
  }
}

/** The box beside the mouse. */
class Tip {
  constructor(app) {
    this.app = app;
    this.box = document.getElementById("tip");
    this.last = null;
  }

  hide() {
    this.box.hidden = true;
    this.last = null;
  }

  show(hit, x, y) {
    const content = hit?.tile ? `${hit.row.id}/${hit.bin}/${hit.tile.first}/${hit.at}` : null;
    if (content === null) return this.hide();
    if (content !== this.last) {
      this.last = content;
      this.box.replaceChildren(...(hit.bin ? this.bin(hit) : this.record(hit)));
      this.box.hidden = false;
    }
    const { offsetWidth: wide, offsetHeight: high } = this.box;
    const left = x + 16 + wide > innerWidth ? x - wide - 12 : x + 16;
    const top = y + 18 + high > innerHeight ? Math.max(4, innerHeight - high - 4) : y + 18;
    this.box.style.transform = `translate(${Math.max(4, left)}px, ${top}px)`;
  }

  lines(title, colour, fields) {
    const swatch = make("span", { className: "swatch" });
    swatch.style.background = colour;
    const short = title.length > 400 ? `${title.slice(0, 400)}…` : title;
    return [make("div", { className: "head" }, swatch, make("span", { textContent: short })),
      make("dl", {}, ...fields.flatMap(([label, text]) => [make("dt", { textContent: label }), make("dd", { textContent: text.length > 300 ? `${text.slice(0, 300)}…` : text })]))];
  }

  record({ row, tile, at }) {
    const { meta, names } = this.app;
    const name = tile.name ? names.text(tile.name[at]) : row.label;
    return this.lines(name, colourOf(row.color ?? row.kind, name), fieldsOf(meta, names, row, tile, at).filter(([label]) => label !== "Name"));
  }

  bin({ row, tile, at }) {
    const { names, painter } = this.app;
    const bin = painter.binNs(row.drawn.level);
    if (row.kind === "counter") {
      return this.lines(row.label, painter.colour.counter, [
        ["Mean", counterText(row, tile.value[at])], ["Least", counterText(row, tile.min[at])], ["Most", counterText(row, tile.max[at])],
        ["Over", timeText(bin)], ["Most ever", counterText(row, row.max)],
      ]);
    }
    const name = names.text(tile.name[at]);
    const fields = [["From", exactTime(tile.bin[at] * bin)], ["Over", timeText(bin)], ["Busy", `${shareText(tile.busy[at], bin)} (${timeText(tile.busy[at])})`], ["Records", counted(tile.records[at], "starts here", "start here")]];
    if (name) fields.push(["Longest", timeText(tile.longestDuration[at])]);
    return this.lines(name || row.short, name ? colourOf(row.color ?? row.kind, name) : painter.colour.busygpu, fields);
  }
}

/** The search box. */
class Find {
  constructor(app) {
    this.app = app;
    this.input = document.getElementById("query");
    this.count = document.getElementById("hits");
    this.at = -1;
    this.input.addEventListener("input", () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.run(), 150);
    });
    this.input.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.key === "Enter") {
        event.preventDefault();
        clearTimeout(this.timer);
        (this.query === this.input.value ? Promise.resolve() : this.run()).then(() => this.step(event.shiftKey ? -1 : 1));
      } else if (event.key === "Escape") {
        this.search("");
        this.app.painter.canvas.rows.focus();
      }
    });
    document.getElementById("next").addEventListener("click", () => this.step(1));
    document.getElementById("previous").addEventListener("click", () => this.step(-1));
  }

  search(text) {
    this.input.value = text;
    return this.run();
  }

  async run() {
    const { app } = this;
    const query = this.input.value;
    this.query = query;
    this.at = -1;
    this.abort?.abort();
    this.abort = new AbortController();
    this.input.removeAttribute("aria-invalid");
    this.count.textContent = query ? "…" : "";
    try {
      app.names.mark(query);
    } catch {
      // An unfinished regular expression: say so, and find nothing.
      this.input.setAttribute("aria-invalid", "true");
      this.count.textContent = "not a pattern";
      app.panel.hits = null;
      return;
    }
    app.redraw();
    if (!query) {
      app.panel.hits = null;
      app.panel.refresh("hits");
      return;
    }
    try {
      app.panel.hits = await app.source.search(query, this.abort.signal);
    } catch (error) {
      if (error.name !== "AbortError") app.fail(error);
      return;
    }
    this.showCount();
    app.panel.show("hits");
  }

  showCount() {
    const { total } = this.app.panel.hits;
    this.count.textContent = total === 0 ? "no hits" : this.at < 0 ? counted(total, "hit") : `${grouped(String(this.at + 1))} of ${grouped(String(total))}`;
  }

  /** The next (1) or previous (-1) hit; the first one from the middle of the view on when none was visited yet. */
  step(by) {
    const hits = this.app.panel.hits?.hits ?? [];
    if (hits.length === 0) return;
    let at = this.at + by;
    if (this.at < 0) {
      at = hits.findIndex((hit) => hit.start_ns >= this.app.view.from);
      if (at < 0) at = 0;
    }
    this.go((at + hits.length) % hits.length);
  }

  async go(at) {
    const hit = this.app.panel.hits?.hits[at];
    if (!hit) return;
    this.at = at;
    this.showCount();
    const row = this.app.rows.byId.get(hit.row);
    try {
      const found = { row, index: hit.index, bin: false, ...(await this.app.source.record(hit.row, hit.index)) };
      await this.app.select(found, { move: true, keepTab: true });
    } catch (error) {
      this.app.fail(error);
    }
    const button = document.querySelectorAll("#pane .jumps button")[at];
    if (this.app.panel.tab !== "hits" || !button) return;
    for (const other of document.querySelectorAll("#pane [aria-current]")) other.removeAttribute("aria-current");
    button.setAttribute("aria-current", "true");
    button.scrollIntoView({ block: "nearest" });
  }
}

const KEYS = [
  ["Wheel, w, s, +, −", "zoom around the mouse"], ["Drag, a, d, ←, →", "move in time (shift+wheel too)"], ["↑, ↓, Page ↑, Page ↓", "move through the rows (wheel over the names too)"],
  ["0, Home", "the whole trace"], ["Backspace", "the view before"], ["Shift+drag, Drag on the axis", "select a span: what it holds"], ["z", "zoom to the span"],
  ["Click", "select a record (Enter on a row: its first in view)"], ["f, Double click", "zoom to the record"], ["[, ]", "the record before, after in its row"], ["l", "from launch to GPU work and back"],
  ["/", "search"], ["n, p", "next, previous hit"], ["g, k", "longest idle gaps, kernels"], ["i", "insights: what could be faster"], ["t", "dark or light"], ["q", "side panel"], ["Escape", "clear search, span, selection"], ["?", "this help"],
];
const LEGEND = [["kernel", "Kernels, a colour per name"], ["memcpy", "Copies, a colour per direction"], ["memset", "Memory set"], ["runtime", "Runtime API"], ["driver", "Driver API"],
  ["nvtx", "NVTX ranges"], ["functions", "Functions, from CPU samples"], ["sync", "Synchronization"], ["migration", "Data migration"], ["overhead", "Profiling overhead"]];

/** Keys and legend. */
class About {
  constructor(app) {
    this.box = document.getElementById("about");
    const { meta } = app;
    const legend = LEGEND.map(([kind, text]) => {
      const colours = make("span", { className: "swatches", "aria-hidden": "true" }, ...COLOURS[kind].map((colour) => {
        const swatch = make("span", { className: "swatch" });
        swatch.style.background = colour;
        return swatch;
      }));
      return make("li", {}, colours, make("span", { textContent: text }));
    });
    const close = make("button", { type: "button", textContent: "Close" });
    close.addEventListener("click", () => this.box.close());
    const totals = Object.entries(meta.totals).filter(([, count]) => count > 0).map(([table, count]) => `${grouped(String(count))} ${table}`).join(", ");
    this.box.append(
      make("div", { className: "columns" },
        make("section", {}, make("h2", { textContent: "Keys" }), make("dl", {}, ...KEYS.flatMap(([keys, text]) => [make("dt", {}, ...keys.split(", ").map((key) => make("kbd", { textContent: key }))), make("dd", { textContent: text })]))),
        make("section", {}, make("h2", { textContent: "Colours" }), make("ul", {}, ...legend),
          make("p", { textContent: "Zoomed out, a bar is as bright as it is busy, and has the colour of the longest record below the pixel. The areas beside headings show how busy everything below them is." }),
          make("h2", { textContent: "Trace" }), make("p", { textContent: `${meta.origin}. ${timeText(meta.duration_ns)}. ${totals}.` }), ...meta.notes.map((note) => make("p", { className: "warn", textContent: note })),
          make("p", { className: "path", textContent: meta.generator }))),
      make("form", { method: "dialog" }, close));
    this.box.addEventListener("click", (event) => event.target === this.box && this.box.close());
  }

  show() {
    this.box.showModal();
  }
}
