// The side panel: a record with all its fields, what a span holds, the longest gaps and kernels, the hits of a search.

/** Makes an element. Text is always set as text, so no name is ever read as markup. */
function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(properties)) {
    if (key.startsWith("aria-") || key === "role") element.setAttribute(key, value);
    else element[key] = value;
  }
  element.append(...children);
  return element;
}

/** What columns are called; others are shown by their own name. */
const LABELS_OF = {
  start_ns: "Start", duration_ns: "Duration", name: "Name", correlation: "Correlation", bytes: "Size", stream: "Stream", context: "Context",
  device: "Device", tid: "Thread", result: "Result", value: "Value", copy_kind: "Copy", src_kind: "From", dst_kind: "To", domain: "Domain",
  category: "Category", payload: "Payload", queued_ns: "Queued", gpu_count: "GPU records", graph_node: "Graph node", file: "File",
  samples: "Samples",
};
/** Columns that hold the id of a name. */
const NAME_COLUMNS = new Set(["name", "copy_kind", "src_kind", "dst_kind", "domain", "payload", "file"]);
/** Columns that say where to go, not what is. */
const LINK_COLUMNS = new Set(["lane", "launch_row", "launch_index", "gpu_row", "gpu_index"]);
const SHAPE_LABELS = [["grid", "Grid"], ["block", "Block"], ["cluster", "Cluster"], ["registers", "Registers per thread"],
  ["static_smem_bytes", "Static shared memory"], ["dynamic_smem_bytes", "Dynamic shared memory"]];

/** All fields of a record, as [label, text]. */
function fieldsOf(meta, names, row, tile, at) {
  const fields = [];
  for (const { name } of row.columns) {
    if (LINK_COLUMNS.has(name)) continue;
    const value = tile.column(name)?.[at];
    if (value === undefined || (typeof value === "number" && Number.isNaN(value))) {
      if (name === "duration_ns") fields.push(["Duration", "not finished"]);
      continue;
    }
    if (name === "shape") fields.push(...shapeFields(meta.shapes[value]));
    else if (NAME_COLUMNS.has(name)) value > 0 && fields.push([LABELS_OF[name], names.text(value)]);
    else fields.push([LABELS_OF[name] ?? words(name), valueText(name, value)]);
  }
  const bytes = Number(tile.column("bytes")?.[at] ?? NaN);
  if (bytes > 0 && tile.duration[at] > 0) fields.push(["Throughput", `${(bytes / tile.duration[at]).toPrecision(4)} GB/s`]);
  if (meta.t0_unix_ns) fields.push(["Clock (UTC)", clockText(BigInt(meta.t0_unix_ns) + BigInt(tile.start[at]))]);
  return fields.sort((a, b) => (b[0] === "Name") - (a[0] === "Name"));
}

function valueText(column, value) {
  if (typeof value === "bigint") return String(value);
  if (column.endsWith("_ns")) return exactTime(value);
  if (column.endsWith("bytes")) return sizeText(Number(value));
  return String(value);
}

/** Nanoseconds since 1970 as date and time. */
function clockText(ns) {
  const seconds = new Date(Number(ns / 1_000_000_000n) * 1000).toISOString().slice(0, 19).replace("T", " ");
  return `${seconds}.${String(ns % 1_000_000_000n).padStart(9, "0")}`;
}

/** "graph_node_id" as "Graph node id". */
function words(column) {
  const text = column.replace(/_(ns|bytes)$/, "").replaceAll("_", " ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function shapeFields(shape) {
  if (!shape) return [];
  const known = new Map(SHAPE_LABELS);
  return Object.entries(shape).filter(([, value]) => value !== null && value !== undefined).map(([key, value]) => {
    const text = Array.isArray(value) ? value.join(" × ") : key.endsWith("bytes") ? sizeText(value) : String(value);
    return [known.get(key) ?? words(key), text];
  });
}

const TABS = ["record", "span", "gaps", "kernels", "insights", "hits"];

class Panel {
  constructor(app) {
    this.app = app;
    this.pane = document.getElementById("pane");
    this.tab = "record";
    this.record = null;
    this.stats = null;
    this.hits = null;
    for (const tab of TABS) document.getElementById(`tab-${tab}`).addEventListener("click", () => this.show(tab));
    document.getElementById("tabs").addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      event.stopPropagation();
      this.show(TABS[(TABS.indexOf(this.tab) + step + TABS.length) % TABS.length]);
      document.getElementById(`tab-${this.tab}`).focus();
    });
  }

  /** Draws a tab, and opens the panel where it is folded for lack of room. */
  show(tab) {
    this.draw(tab);
    if (this.app.narrow.matches && document.getElementById("panel").hidden) this.app.openPanel(true);
  }

  /** Whether the tab on show has anything but advice to show. */
  hasContent() {
    return { record: this.record, span: this.stats, hits: this.hits }[this.tab] !== null;
  }

  draw(tab) {
    this.tab = tab;
    for (const other of TABS) {
      const button = document.getElementById(`tab-${other}`);
      button.setAttribute("aria-selected", String(other === tab));
      button.tabIndex = other === tab ? 0 : -1;
    }
    this.pane.setAttribute("aria-labelledby", `tab-${tab}`);
    this.pane.replaceChildren(...this[`${tab}Content`]());
    this.pane.scrollTop = 0;
  }

  /** Draws the tab again if it is the one on show. A panel that has become empty makes room where there is little. */
  refresh(tab) {
    if (this.tab !== tab) return;
    this.draw(tab);
    if (this.app.narrow.matches && !this.hasContent()) this.app.openPanel(false);
  }

  empty(...lines) {
    return [make("p", { className: "empty" }, ...lines)];
  }

  recordContent() {
    if (!this.record) return this.empty("Click a record to see its fields, and what launched it or what it launched.");
    const { hit, fields, links } = this.record;
    const name = fields[0]?.[0] === "Name" ? fields[0][1] : hit.row.label;
    const swatch = make("span", { className: "swatch" });
    swatch.style.background = colourOf(hit.row.color ?? hit.row.kind, name);
    return [
      make("h2", {}, swatch, make("span", { className: "name", textContent: name })),
      make("p", { className: "path", textContent: this.app.rows.path(hit.row) }),
      make("div", { className: "actions" },
        this.button("Show", "Zoom to the record (f)", () => this.app.zoomTo(hit)),
        this.button("Span", "Statistics of the record's time", () => this.app.setSpan(hit.tile.start[hit.at], hit.tile.start[hit.at] + hit.tile.extent[hit.at])),
        this.button("Same name", "Search for this name", () => this.app.find.search(name))),
      ...links.map((link) => this.linkButton(link)),
      this.table(fields.filter(([label]) => label !== "Name")),
    ];
  }

  button(text, title, click) {
    const button = make("button", { type: "button", textContent: text, title });
    button.addEventListener("click", click);
    return button;
  }

  linkButton({ label, hit, name, note }) {
    const button = make("button", { type: "button", className: "link" },
      make("span", { className: "what", textContent: label }), make("span", { className: "name", textContent: name }), make("span", { className: "note", textContent: note }));
    button.addEventListener("click", () => this.app.select(hit, { move: true }));
    return button;
  }

  table(fields) {
    return make("dl", {}, ...fields.flatMap(([label, text]) => [make("dt", { textContent: label }), make("dd", { textContent: text })]));
  }

  /** A list whose lines jump somewhere: [title, text, note, share of the bar, colour, what stands below]. */
  list(label, lines, jump) {
    const list = make("ol", { className: "jumps", "aria-label": label });
    lines.forEach(([title, text, note, share, colour, more], i) => {
      const button = make("button", { type: "button", title: "Jump there" },
        make("span", { className: "value", textContent: title }), make("span", { className: "name", textContent: text }), make("span", { className: "note", textContent: note }));
      const bar = make("span", { className: "bar", "aria-hidden": "true" });
      bar.style.width = `${Math.max(0.5, 100 * share)}%`;
      if (colour) bar.style.background = colour;
      button.append(bar);
      button.addEventListener("click", () => {
        for (const other of list.querySelectorAll("[aria-current]")) other.removeAttribute("aria-current");
        button.setAttribute("aria-current", "true");
        jump(i);
      });
      list.append(make("li", {}, button, ...(more ? [make("p", { textContent: more })] : [])));
    });
    return list;
  }

  gapsContent() {
    const { gaps } = this.app.meta;
    if (gaps.length === 0) return this.empty("No idle gaps between GPU work.");
    const lines = gaps.map((gap) => [timeText(gap.duration_ns), this.app.rows.byId.get(gap.row)?.short ?? "", `at ${timeText(gap.start_ns)}`, gap.duration_ns / gaps[0].duration_ns, "var(--gapline)"]);
    return [make("p", { className: "lead", textContent: "Times in which a device had nothing to do, between two pieces of work." }),
      this.list("Longest gaps", lines, (i) => this.app.jumpToGap(gaps[i]))];
  }

  insightsContent() {
    const { insights, waits } = this.app.meta;
    const { findings, observed_ns: observed, busy_ns: busy } = insights;
    if (insights.silence) return [...this.empty(`Nothing is judged: ${insights.silence}.`), ...this.waits(waits)];
    const lines = findings.map((finding) => [timeText(finding.gain_ns), finding.what, finding.evidence, finding.gain_ns / observed, null, finding.advice]);
    const found = findings.length === 0 ? "Nothing was found that would gain 2 % or more" : "What could be won back at most";
    const left = insights.left_out > 0 ? [make("p", { className: "lead", textContent: `${counted(insights.left_out, "smaller finding")} left out.` })] : [];
    const list = this.list("Insights", lines, (i) => this.app.jumpToFinding(findings[i]));
    list.classList.add("findings");
    const reasons = new Map();
    for (const { name, why } of insights.not_judged) reasons.set(why, [...(reasons.get(why) ?? []), name]);
    return [
      make("p", { className: "lead", textContent: `${found}, of the ${timeText(observed)} from the first to the last work of each GPU (${shareText(busy, observed)} busy; confidence: ${insights.confidence}).` }),
      list,
      ...left,
      ...[...reasons].map(([why, names]) => make("p", { className: "lead", textContent: `${names.join(", ")}: not judged, ${why}.` })),
      ...this.waits(waits),
    ];
  }

  /** A strip for each rank, the darker the longer it waited for others; a click goes to the bin. */
  waits(waits) {
    if (!waits) return [];
    const bins = waits.ranks[0].wait_ns.length;
    const strips = waits.ranks.flatMap(({ number, wait_ns: all }) => {
      const canvas = make("canvas", { width: bins, height: 1, role: "img", "aria-label": `Rank ${number} waited ${timeText(all.reduce((sum, ns) => sum + ns, 0))} in all` });
      const g = canvas.getContext("2d");
      g.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--gapline");
      all.forEach((ns, i) => {
        g.globalAlpha = Math.min(1, ns / waits.bin_ns);
        if (ns > 0) g.fillRect(i, 0, 1, 1);
      });
      canvas.style.imageRendering = "pixelated";
      const binAt = (event) => Math.min(bins - 1, Math.floor((event.offsetX / canvas.clientWidth) * bins));
      canvas.addEventListener("mousemove", (event) => {
        canvas.title = `${timeText(all[binAt(event)])} of ${timeText(waits.bin_ns)}`;
      });
      canvas.addEventListener("click", (event) => {
        const from = waits.start_ns + binAt(event) * waits.bin_ns;
        this.app.go(from - waits.bin_ns * 0.35, from + waits.bin_ns * 1.35);
        this.app.say(`Rank ${number} waited ${canvas.title}`);
      });
      return [make("span", { textContent: `rank ${number}` }), canvas];
    });
    return [make("h3", { textContent: `Waiting for other ranks in collectives, by bins of ${timeText(waits.bin_ns)}` }), make("div", { className: "heat" }, ...strips)];
  }

  kernelsContent() {
    const { longest } = this.app.meta;
    if (longest.length === 0) return this.empty("No kernels in this trace.");
    if (!this.kernels) {
      this.kernels = [];
      Promise.all(longest.map(async ({ row, index }) => ({ row: this.app.rows.byId.get(row), index, bin: false, ...(await this.app.source.record(row, index)) })))
        .then((hits) => {
          this.kernels = hits;
          this.refresh("kernels");
        }, this.app.fail);
    }
    if (this.kernels.length === 0) return this.empty("Reading…");
    const durations = this.kernels.map((hit) => hit.tile.duration[hit.at] || 0);
    const lines = this.kernels.map((hit, i) => {
      const id = hit.tile.name ? hit.tile.name[hit.at] : 0;
      return [timeText(durations[i]), this.app.names.short(id), `at ${timeText(hit.tile.start[hit.at])}`, durations[i] / (durations[0] || 1), colourOf("kernel", this.app.names.text(id))];
    });
    return [this.list("Longest kernels", lines, (i) => this.app.select(this.kernels[i], { move: true, zoom: true }))];
  }

  hitsContent() {
    if (!this.hits) return this.empty("Search for a name with /.");
    const { total, hits } = this.hits;
    const longest = hits.reduce((most, hit) => Math.max(most, hit.duration_ns || 0), 1);
    const lines = hits.map((hit) => [timeText(hit.duration_ns), shortName(hit.name), `at ${timeText(hit.start_ns)} · ${this.app.rows.byId.get(hit.row)?.short ?? ""}`, (hit.duration_ns || 0) / longest, null]);
    const more = total > hits.length ? `, the first ${grouped(String(hits.length))} listed` : "";
    return [make("p", { className: "lead", textContent: `${counted(total, "hit")}${more}` }), this.list("Hits", lines, (i) => this.app.find.go(i))];
  }

  spanContent() {
    const { stats } = this;
    if (!stats) return this.empty("Hold shift and drag over the rows, or drag over the time axis, to see what a span of time holds.");
    const { from, to, rows } = stats;
    const head = [
      make("h2", { textContent: timeText(to - from) }),
      make("p", { className: "path", textContent: `${exactTime(Math.round(from))} to ${exactTime(Math.round(to))}` }),
      make("div", { className: "actions" }, this.button("Zoom to it", "z", () => this.app.go(from, to)), this.button("Clear", "Escape", () => this.app.clearSpan())),
    ];
    if (!rows) return [...head, make("p", { className: "empty", textContent: "Counting…" })];
    if (rows.length === 0) return [...head, ...this.empty("Nothing starts or runs in this span.")];
    const order = new Map(this.app.rows.all.map((row, i) => [row.id, i]));
    const shown = rows.filter((sum) => this.app.rows.byId.get(sum.row)?.kind !== "kernel").sort((a, b) => order.get(a.row) - order.get(b.row));
    let group = null;
    return [...head, ...shown.flatMap((sum) => {
      const { up } = this.app.rows.byId.get(sum.row);
      const title = up && up !== group ? [make("h3", { textContent: this.app.rows.path(up) })] : [];
      group = up;
      return [...title, this.spanRow(sum, to - from)];
    })];
  }

  spanRow(sum, span) {
    const row = this.app.rows.byId.get(sum.row);
    const share = make("span", { className: "bar", "aria-hidden": "true" });
    share.style.width = `${Math.min(100, (100 * sum.busy_ns) / span)}%`;
    const names = make("table", {}, make("thead", {}, make("tr", {}, ...["Name", "Count", "Time"].map((text) => make("th", { textContent: text, scope: "col" })))),
      make("tbody", {}, ...sum.names.map((name) => make("tr", {}, make("td", { className: "name", textContent: shortName(name.name), title: name.name.slice(0, 500) }),
        make("td", { textContent: grouped(String(name.count)) }), make("td", { textContent: timeText(name.total_ns) })))));
    return make("details", { open: sum.names.length > 0 && row.kind !== "stream" },
      make("summary", {}, make("span", { className: "name", textContent: row.short }),
        make("span", { className: "note", textContent: `${grouped(String(sum.count))} · ${timeText(sum.busy_ns)} · ${shareText(sum.busy_ns, span)}` }), share), names);
  }
}
