// Turns the mouse, the wheel and the keys into moves.

/** The mouse, the wheel and the keys. */
class Input {
  constructor(app) {
    this.app = app;
    this.canvas = app.painter.canvas.rows;
    const { scroll } = app;
    scroll.addEventListener("scroll", () => app.redraw());
    this.canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    app.painter.canvas.axis.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    this.canvas.addEventListener("pointerdown", (event) => this.down(event, event.shiftKey ? "span" : "pan"));
    app.painter.canvas.axis.addEventListener("pointerdown", (event) => this.down(event, "span"));
    app.painter.canvas.overview.addEventListener("pointerdown", (event) => this.down(event, "overview"));
    for (const target of [this.canvas, app.painter.canvas.axis]) {
      target.addEventListener("pointermove", (event) => this.over(event));
      target.addEventListener("pointerleave", () => this.leave());
    }
    this.canvas.addEventListener("dblclick", (event) => {
      const hit = this.hit(event);
      if (hit?.tile && !hit.bin) app.zoomTo(hit);
      else if (hit?.tile) app.go(hit.time - app.view.span / 8, hit.time + app.view.span / 8);
    });
    this.split();
    this.buttons();
    window.addEventListener("keydown", (event) => this.key(event));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", (event) => app.setTheme(event.matches));
  }

  buttons() {
    const { app } = this;
    const actions = { in: () => app.zoom(0.5, app.painter.width / 2), out: () => app.zoom(2, app.painter.width / 2), fit: () => app.fit(), back: () => app.back(), theme: () => app.theme(), help: () => app.about.show(), side: () => app.side(), expand: () => app.openAll(true), collapse: () => app.openAll(false) };
    for (const [id, action] of Object.entries(actions)) document.getElementById(id).addEventListener("click", action);
  }

  place(event) {
    const box = this.canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  hit(event) {
    const { x, y } = this.place(event);
    return this.app.overlay.hit(x, y);
  }

  over(event) {
    const { x, y } = this.place(event);
    this.app.overlay.cursor = { x, y, clientX: event.clientX, clientY: event.clientY, inside: event.target === this.canvas, busy: Boolean(this.drag?.moved) };
    this.app.redraw(false);
  }

  leave() {
    this.app.overlay.cursor = null;
    this.app.overlay.hover = null;
    this.app.tip.hide();
    this.app.redraw(false);
  }

  wheel(event) {
    event.preventDefault();
    const { app } = this;
    const unit = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 400 : 1;
    const [dx, dy] = [event.deltaX * unit, event.deltaY * unit];
    if (event.altKey) app.scroll.scrollTop += dy;
    else if (event.shiftKey || Math.abs(dx) > Math.abs(dy)) app.pan(dx || dy);
    else app.zoom(Math.exp(Math.max(-300, Math.min(300, dy)) * (event.ctrlKey ? 0.01 : 0.002)), this.place(event).x);
  }

  down(event, kind) {
    if (event.button !== 0) return;
    const { app } = this;
    const { x, y } = this.place(event);
    const target = event.currentTarget;
    this.drag = { kind, x, y, top: app.scroll.scrollTop, from: app.view.from, span: app.view.span, moved: false };
    target.setPointerCapture(event.pointerId);
    if (kind === "overview") this.overview(x);
    const move = (moved) => this.dragged(moved);
    const up = (moved) => {
      target.removeEventListener("pointermove", move);
      target.removeEventListener("pointerup", up);
      target.removeEventListener("pointercancel", up);
      this.dropped(moved);
    };
    target.addEventListener("pointermove", move);
    target.addEventListener("pointerup", up);
    target.addEventListener("pointercancel", up);
  }

  overview(x) {
    const { app } = this;
    const at = (x / app.painter.width) * app.view.duration;
    app.move = null;
    app.setView(at - app.view.span / 2, at + app.view.span / 2);
  }

  dragged(event) {
    const { app, drag } = this;
    const { x, y } = this.place(event);
    if (!drag.moved && Math.hypot(x - drag.x, y - drag.y) < 4) return;
    if (!drag.moved && drag.kind === "pan") app.past.push([app.view.from, app.view.to]);
    drag.moved = true;
    if (drag.kind === "overview") this.overview(x);
    else if (drag.kind === "pan") {
      app.move = null;
      const from = drag.from - ((x - drag.x) / app.painter.width) * drag.span;
      app.scroll.scrollTop = drag.top - (y - drag.y);
      app.setView(from, from + drag.span);
    } else {
      const [from, to] = [app.painter.time(drag.x), app.painter.time(x)].sort((a, b) => a - b);
      app.overlay.span = { from: Math.max(0, from), to: Math.min(app.view.duration, to) };
      app.redraw(false);
    }
  }

  dropped(event) {
    const { app, drag } = this;
    this.drag = null;
    if (drag.kind === "span" && drag.moved && app.overlay.span) app.setSpan(app.overlay.span.from, app.overlay.span.to);
    else if (drag.kind === "span") app.clearSpan();
    else if (drag.kind === "pan" && !drag.moved && event.type === "pointerup") {
      const hit = app.overlay.hit(drag.x, drag.y);
      if (hit?.bin) app.selectLongest(hit).catch(app.fail);
      else if (hit?.tile) app.select(hit);
      else app.clearSelection();
    }
  }

  /** The border between names and rows. */
  split() {
    const { app } = this;
    const bar = document.getElementById("split");
    const stage = document.getElementById("stage");
    let wide = document.getElementById("tree").offsetWidth;
    const set = (value) => {
      wide = Math.min(Math.max(value, 80), 700, stage.clientWidth - 120);
      stage.style.setProperty("--names", `${wide}px`);
      app.resized(true);
    };
    bar.addEventListener("pointerdown", (event) => {
      bar.setPointerCapture(event.pointerId);
      bar.onpointermove = (moved) => set(moved.clientX - stage.getBoundingClientRect().left);
      bar.onpointerup = () => (bar.onpointermove = null);
    });
    bar.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -16, ArrowRight: 16 }[event.key];
      if (!step) return;
      event.stopPropagation();
      set(wide + step);
    });
  }

  key(event) {
    const { app } = this;
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.("input, dialog[open]")) return;
    const page = app.painter.height * 0.8;
    const { selected, span } = app.overlay;
    const link = app.panel.record?.links[0];
    const actions = {
      w: () => app.zoom(0.7), "+": () => app.zoom(0.7), "=": () => app.zoom(0.7), s: () => app.zoom(1 / 0.7), "-": () => app.zoom(1 / 0.7),
      a: () => app.pan(-app.painter.width / 8), d: () => app.pan(app.painter.width / 8), ArrowLeft: () => app.pan(-app.painter.width / 8), ArrowRight: () => app.pan(app.painter.width / 8),
      ArrowUp: () => (app.scroll.scrollTop -= 44), ArrowDown: () => (app.scroll.scrollTop += 44), PageUp: () => (app.scroll.scrollTop -= page), PageDown: () => (app.scroll.scrollTop += page),
      0: () => app.fit(), Home: () => app.fit(), Backspace: () => app.back(), z: () => span && app.go(span.from, span.to), f: () => selected && app.zoomTo(selected),
      "/": () => this.search(), n: () => app.find.step(1), p: () => app.find.step(-1), "[": () => app.neighbour(-1), "]": () => app.neighbour(1), l: () => link && app.select(link.hit, { move: true }),
      g: () => this.list("gaps"), k: () => this.list("kernels"), i: () => this.list("insights"), t: () => app.theme(), q: () => app.side(), "?": () => app.about.show(), Escape: () => this.escape(),
    };
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }

  search() {
    this.app.find.input.focus();
    this.app.find.input.select();
  }

  list(tab) {
    this.app.openPanel(true);
    this.app.panel.show(tab);
    document.querySelector("#pane .jumps button")?.focus();
  }

  escape() {
    const { app } = this;
    if (app.find.input.value) app.find.search("");
    else if (app.overlay.span) app.clearSpan();
    else app.clearSelection();
  }
}
