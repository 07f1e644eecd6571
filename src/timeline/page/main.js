// The application: opens the trace, keeps the view and the selection.

/** How long a jump takes, in ms. */
const MOVE_MS = 160;
/** In windows of this width and narrower the panel lies below the timeline, and is folded until it has something to show. */
const NARROW = "(max-width: 900px)";

class App {
  constructor(meta, source) {
    this.meta = meta;
    this.source = source;
    this.narrow = matchMedia(NARROW);
    learnNames(meta);
    this.rows = new Rows(meta);
    this.view = new View(meta.duration_ns);
    this.names = new Names(meta.names);
    this.painter = new Painter(source, this.rows, this.view, this.names);
    this.overlay = new Overlay(this.painter);
    this.scroll = document.getElementById("scroll");
    this.live = document.getElementById("live");
    this.fail = (error) => this.say(String(error.message ?? error), true);
    this.panel = new Panel(this);
    this.tree = new Tree(this);
    this.tip = new Tip(this);
    this.find = new Find(this);
    this.about = new About(this);
    this.past = [];
    this.frames = [];
    this.dirty = { rows: true, overlay: true };
    source.onTile = () => this.redraw();
    source.onError = this.fail;
    this.head();
    new Input(this);
    new ResizeObserver(() => this.resized(true)).observe(document.getElementById("view"));
    this.openPanel(!this.narrow.matches);
    this.narrow.addEventListener("change", () => this.openPanel(!this.narrow.matches || this.panel.hasContent()));
    this.panel.draw(this.panel.tab);
  }

  head() {
    document.title = `${this.meta.title} – gpuprof`;
    const title = document.getElementById("title");
    title.textContent = this.meta.title;
    title.title = this.meta.origin;
    const notes = document.getElementById("notes");
    notes.hidden = this.meta.notes.length === 0;
    notes.textContent = counted(this.meta.notes.length, "note");
    notes.title = this.meta.notes.join("\n").slice(0, 2000);
    notes.addEventListener("click", () => this.about.show());
    document.getElementById("empty").hidden = this.rows.all.length > 0;
  }

  /** Says something to screen readers, and with `visibly` to everyone. */
  say(text, visibly = false) {
    this.live.textContent = text;
    this.live.classList.toggle("quiet", !visibly);
    clearTimeout(this.sayTimer);
    if (visibly) this.sayTimer = setTimeout(() => this.live.classList.add("quiet"), 6000);
  }

  resized(canvases = false) {
    if (canvases) this.painter.resize();
    document.getElementById("spacer").style.height = `${Math.max(0, this.rows.height + this.painter.headHeight - this.scroll.clientHeight)}px`;
    this.redraw();
  }

  redraw(rows = true) {
    this.dirty.overlay = true;
    if (rows) this.dirty.rows = true;
    this.request ??= requestAnimationFrame((now) => this.frame(now));
  }

  frame(now) {
    this.request = null;
    const begin = performance.now();
    if (this.move) this.moveOn(now);
    if (this.dirty.rows) {
      this.dirty.rows = false;
      this.whole = this.painter.paint(this.scroll.scrollTop);
      this.painter.paintAxis();
      this.painter.paintOverview();
      this.tree.paint(this.painter.shown);
      document.getElementById("span-text").textContent = `${timeText(this.view.span)} in view`;
      // The first paint shows every row in view, if need be from a coarser level.
      if (this.painter.shown.every((row) => row.drawn.whole || row.drawn.tiles.length > 0)) this.firstPaintMs ??= performance.now();
      if (this.whole) this.wholePaintMs ??= performance.now();
      this.frames.push(performance.now() - begin);
      if (this.frames.length > 5000) this.frames.shift();
    }
    if (this.overlay.cursor) this.hoverAt();
    this.overlay.paint();
    this.lastFrameMs = performance.now() - begin;
    if (this.move) this.redraw();
  }

  // Moving in time

  setView(from, to) {
    this.view.set(from, to);
    this.redraw();
  }

  /** Moves to a span, smoothly, and remembers where it came from. */
  go(from, to) {
    this.past.push([this.view.from, this.view.to]);
    if (this.past.length > 100) this.past.shift();
    this.glide(from, to);
  }

  glide(from, to) {
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return this.setView(from, to);
    this.move = { begin: null, old: [this.view.from, this.view.to], aim: [from, to] };
    this.redraw();
  }

  moveOn(now) {
    const { move } = this;
    move.begin ??= now;
    const part = Math.min(1, (now - move.begin) / MOVE_MS);
    const eased = 1 - (1 - part) ** 3;
    // The width changes evenly in its logarithm, so that large zooms do not jump at their end.
    const [oldSpan, newSpan] = [move.old[1] - move.old[0], move.aim[1] - move.aim[0]];
    const span = oldSpan * (newSpan / oldSpan) ** eased;
    const share = Math.abs(oldSpan - newSpan) > 1e-9 * oldSpan ? (oldSpan - span) / (oldSpan - newSpan) : eased;
    const from = move.old[0] + (move.aim[0] - move.old[0]) * share;
    this.view.set(from, from + span);
    this.dirty.rows = true;
    if (part === 1) this.move = null;
  }

  back() {
    const before = this.past.pop();
    if (before) this.glide(...before);
  }

  fit() {
    this.go(-this.view.margin, this.view.duration + this.view.margin);
  }

  /** Zooms by a factor around a place on the canvas. */
  zoom(factor, x = this.overlay.cursor?.x ?? this.painter.width / 2) {
    this.move = null;
    const at = this.painter.time(x);
    const span = Math.min(Math.max(this.view.span * factor, 100), this.view.duration + 2 * this.view.margin);
    const from = at - (x / this.painter.width) * span;
    const low = -this.view.margin;
    const kept = Math.min(Math.max(from, low), this.view.duration + this.view.margin - span);
    this.setView(kept, kept + span);
  }

  pan(pixels) {
    this.move = null;
    const by = (pixels / this.painter.width) * this.view.span;
    this.setView(this.view.from + by, this.view.to + by);
  }

  // Rows

  /** Scrolls so that a row is in view. */
  showRow(row) {
    const room = this.painter.height;
    const top = this.scroll.scrollTop;
    if (row.y < top) this.scroll.scrollTop = row.y;
    else if (row.y + row.height > top + room) this.scroll.scrollTop = row.height > room ? row.y : row.y + row.height - room;
    this.redraw();
  }

  openAll(open) {
    for (const row of this.rows.all) row.open = open;
    this.rows.layout();
    this.resized();
  }

  // Selecting

  /** Selects a record: fields, links and arrows. `move`: bring it into view; `zoom`: fill the view with it. */
  async select(hit, { move = false, zoom = false, keepTab = false } = {}) {
    this.overlay.selected = hit;
    this.overlay.links = [];
    this.overlay.mark = null;
    this.panel.record = { hit, fields: fieldsOf(this.meta, this.names, hit.row, hit.tile, hit.at), links: [] };
    const { fields } = this.panel.record;
    this.say(fields.slice(0, 3).map((field) => field.join(" ")).join(", "));
    if (keepTab) this.panel.refresh("record");
    else this.panel.show("record");
    if (move) {
      this.rows.reveal(hit.row);
      this.resized();
      this.showRow(hit.row);
      this.bringIn(hit, zoom);
    } else if (this.narrow.matches) this.showRow(hit.row);
    this.redraw(false);
    try {
      await this.link(hit);
    } catch (error) {
      this.fail(error);
    }
  }

  /** Selects the longest record of a bin. */
  async selectLongest({ row, tile, at }) {
    if (row.records === 0 || row.kind === "counter" || tile.records[at] === 0) return;
    const index = tile.longest[at];
    await this.select({ row, index, bin: false, ...(await this.source.record(row.id, index)) });
  }

  /** Selects the first record of a row that is in view, or the last one before. */
  async selectFirst(row) {
    try {
      const k = row.tile_spans.findIndex(([, end]) => end >= this.view.from);
      const tile = await this.source.load(row.id, 0, k < 0 ? row.tile_spans.length - 1 : k);
      const at = Math.min(lowerBound(tile.reach, this.view.from, tile.count), tile.count - 1);
      await this.select({ row, tile, at, index: tile.first + at, bin: false }, { move: true });
    } catch (error) {
      this.fail(error);
    }
  }

  /** Finds what launched a record, or what it launched. */
  async link(hit) {
    const value = (column) => hit.tile.column(column)?.[hit.at] ?? NaN;
    const links = [];
    const follow = async (row, index) => ({ row: this.rows.byId.get(row), index, bin: false, ...(await this.source.record(row, index)) });
    const nameOf = (other) => (other.tile.name ? this.names.short(other.tile.name[other.at]) : other.row.short);
    if (value("launch_row") >= 0) {
      const api = await follow(value("launch_row"), value("launch_index"));
      const wait = hit.tile.start[hit.at] - api.tile.start[api.at];
      links.push({ label: "Launched by", hit: api, name: nameOf(api), note: `${timeText(Math.abs(wait))} ${wait < 0 ? "after" : "before"} its start`, arrow: [api, hit] });
    }
    if (value("gpu_row") >= 0) {
      const gpu = await follow(value("gpu_row"), value("gpu_index"));
      const count = value("gpu_count");
      const wait = gpu.tile.start[gpu.at] - hit.tile.start[hit.at];
      const more = count > 1 ? `, the first of ${grouped(String(count))}` : "";
      links.push({ label: "Launched", hit: gpu, name: nameOf(gpu), note: `started ${timeText(wait)} after the call${more}`, arrow: [hit, gpu] });
    }
    if (this.overlay.selected !== hit) return;
    this.panel.record.links = links;
    this.overlay.links = links.map((link) => link.arrow);
    this.panel.refresh("record");
    this.redraw(false);
  }

  /** Moves in time so that a record can be seen. */
  bringIn({ tile, at }, zoom) {
    const start = tile.start[at];
    const end = start + tile.extent[at];
    const span = this.view.span;
    const readable = (end - start) / span > 0.002 && (end - start) / span < 0.9;
    if (zoom || !readable) {
      const wide = Math.max((end - start) * (zoom ? 4 : 20), 2000);
      this.go((start + end - wide) / 2, (start + end + wide) / 2);
    } else if (start < this.view.from || end > this.view.to) {
      this.go((start + end - span) / 2, (start + end + span) / 2);
    }
  }

  zoomTo({ tile, at }) {
    const start = tile.start[at];
    const wide = Math.max(tile.extent[at], 100);
    this.go(start - wide * 0.2, start + wide * 1.2);
  }

  jumpToGap({ row, start_ns: start, duration_ns: wide }) {
    const facts = this.rows.byId.get(row);
    this.clearSelection();
    this.rows.reveal(facts);
    this.resized();
    this.overlay.mark = { row: facts, from: start, to: start + wide };
    this.showRow(facts);
    this.go(start - wide * 0.35, start + wide * 1.35);
    this.say(`Idle for ${timeText(wide)} from ${exactTime(start)}`);
  }

  /** Shows the longest of what a finding rests on; some rest on no single record. */
  jumpToFinding({ what, start_ns: start, duration_ns: wide }) {
    if (start === null) return this.say(`${what}: no single record shows it`);
    this.clearSelection();
    this.overlay.span = { from: start, to: start + wide };
    this.go(start - wide * 0.35, start + wide * 1.35);
    this.say(`${what}: ${timeText(wide)} from ${exactTime(start)}`);
  }

  clearSelection() {
    this.overlay.selected = null;
    this.overlay.links = [];
    this.overlay.mark = null;
    this.panel.record = null;
    this.panel.refresh("record");
    this.redraw(false);
  }

  /** The record before or after the selected one in its row. */
  async neighbour(by) {
    const { selected } = this.overlay;
    if (!selected) return;
    const index = selected.index + by;
    if (index < 0 || index >= selected.row.records) return;
    try {
      await this.select({ row: selected.row, index, bin: false, ...(await this.source.record(selected.row.id, index)) }, { move: true });
    } catch (error) {
      this.fail(error);
    }
  }

  async setSpan(from, to) {
    const span = { from: Math.max(0, Math.floor(from)), to: Math.min(this.view.duration, Math.ceil(to)) };
    if (span.to <= span.from) return;
    this.overlay.span = span;
    this.panel.stats = { ...span, rows: null };
    this.panel.show("span");
    this.redraw(false);
    this.spanAbort?.abort();
    this.spanAbort = new AbortController();
    try {
      const { rows } = await this.source.select(span.from, span.to, this.spanAbort.signal);
      this.panel.stats = { ...span, rows };
      this.panel.refresh("span");
    } catch (error) {
      if (error.name !== "AbortError") this.fail(error);
    }
  }

  clearSpan() {
    this.spanAbort?.abort();
    this.overlay.span = null;
    this.panel.stats = null;
    this.panel.refresh("span");
    this.redraw(false);
  }

  /** What the mouse is on. */
  hoverAt() {
    const { cursor } = this.overlay;
    const hit = cursor.inside && !cursor.busy ? this.overlay.hit(cursor.x, cursor.y) : null;
    this.overlay.hover = hit;
    this.tip.show(hit, cursor.clientX, cursor.clientY);
    this.painter.canvas.rows.classList.toggle("pointing", Boolean(hit?.tile));
  }

  theme() {
    this.setTheme(document.documentElement.dataset.theme === "light");
  }

  setTheme(dark) {
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    this.painter.readColours();
    this.redraw();
  }

  /** Opens the panel, or folds it away. */
  openPanel(open) {
    document.getElementById("panel").hidden = !open;
    document.getElementById("side").setAttribute("aria-pressed", String(open));
    this.resized(true);
  }

  side() {
    this.openPanel(document.getElementById("panel").hidden);
  }

  /** What tests look at. */
  hook() {
    const app = this;
    return {
      get state() {
        return { from: app.view.from, to: app.view.to, whole: app.whole, moving: Boolean(app.move), selected: app.overlay.selected && { row: app.overlay.selected.row.id, index: app.overlay.selected.index }, arrows: app.overlay.links.length, span: app.overlay.span, mark: app.overlay.mark && { from: app.overlay.mark.from, to: app.overlay.mark.to }, hits: app.panel.hits?.total ?? null };
      },
      get rows() {
        return app.painter.shown.map((row) => ({ id: row.id, kind: row.kind, label: row.label, y: row.y - app.painter.top, height: row.height, level: row.drawn?.level, count: row.count, records: row.records, lanes: row.lanes }));
      },
      get all() {
        return app.rows.all.map((row) => ({ id: row.id, kind: row.kind, label: row.label, records: row.records, table: row.table, parent: row.parent, y: row.y, visible: row.visible, height: row.height }));
      },
      get totals() {
        return app.meta.totals;
      },
      get lastFrameMs() {
        return app.lastFrameMs;
      },
      get firstPaintMs() {
        return app.firstPaintMs;
      },
      get wholePaintMs() {
        return app.wholePaintMs;
      },
      frames: app.frames,
      x: (ns) => app.painter.x(ns),
      headHeight: () => app.painter.headHeight,
      setView: (from, to) => app.setView(from, to),
      statistics: (from, to) => app.source.select(from, to, new AbortController().signal),
      openAll: (open) => app.openAll(open),
      select: (row, index) => app.source.record(row, index).then((found) => app.select({ row: app.rows.byId.get(row), index, bin: false, ...found }, { move: true })),
    };
  }
}

async function start() {
  document.documentElement.dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  const cover = document.getElementById("cover");
  try {
    let meta = JSON.parse(document.getElementById("meta").textContent);
    let source;
    if (meta.served) {
      source = await ServedSource.open();
      meta = source.meta;
    } else source = await InlineSource.open(meta, document.getElementById("tiles"));
    if (meta.version !== 1) throw new Error(`the trace data has version ${meta.version}; this page reads version 1`);
    const app = new App(meta, source);
    window.__gpuprof = app.hook();
    cover.remove();
  } catch (error) {
    cover.textContent = `The timeline cannot be shown: ${error.message}`;
    cover.classList.add("failed");
    throw error;
  }
}

start();
