// What is shown: the tree of rows, the view (a span of time), names, colours and numbers as text.

/** How many rows of one kind are opened at first. */
const OPEN_ROWS = 8;
const ROW_PX = 22;
const LANE_PX = 16;
const COUNTER_PX = 40;
/** A row of many lanes is no higher than this; its lanes get thinner instead. */
const LANES_PX = 176;
/** Functions are read from the outermost on: so many lanes are as high as any, deeper ones can be seen and no more. */
const FUNCTION_LANES = 16;
const DEEP_LANE_PX = 2;

/** Where a lane of a row begins, in pixels below the row's first. */
function laneTop(row, lane) {
  const full = Math.min(lane, row.fullLanes);
  return full * row.laneHeight + (lane - full) * DEEP_LANE_PX;
}

/** How high a lane is. */
function laneTall(row, lane) {
  return lane < row.fullLanes ? row.laneHeight : DEEP_LANE_PX;
}

/** The lane at a place in a row: what `laneTop` turns into. */
function laneAt(row, y) {
  const deep = y - row.fullLanes * row.laneHeight;
  return deep < 0 ? Math.floor(y / row.laneHeight) : row.fullLanes + Math.floor(deep / DEEP_LANE_PX);
}

/** Kinds that only hold other rows. */
const HEADINGS = new Set(["process", "thread", "device", "context", "streams"]);

/** The rows, with their places. */
class Rows {
  constructor(meta) {
    this.all = meta.rows.map((row) => ({ ...row, children: [], open: true, depth: 0, y: 0 }));
    this.byId = new Map(this.all.map((row) => [row.id, row]));
    for (const row of this.all) {
      row.up = this.byId.get(row.parent) ?? null;
      if (row.up) {
        row.up.children.push(row);
        row.depth = row.up.depth + 1;
      }
      row.heading = HEADINGS.has(row.kind) || row.records === 0;
      row.short = shortName(row.label);
      row.counter = meta.counters.find((counter) => counter.row === row.id) ?? null;
      const lanes = Math.max(1, row.lanes);
      row.fullLanes = row.kind === "functions" ? Math.min(lanes, FUNCTION_LANES) : lanes;
      row.laneHeight = row.kind === "counter" || row.heading ? 0 : Math.max(3, Math.min(LANE_PX, row.kind === "functions" ? LANE_PX : LANES_PX / lanes));
      row.height = row.kind === "counter" ? COUNTER_PX : row.heading ? ROW_PX : Math.max(ROW_PX, laneTop(row, lanes) + 6);
    }
    for (const row of this.all) row.open = this.opensFirst(row);
    this.layout();
  }

  /** Rows with many children start closed: they show all of their children in one. */
  opensFirst(row) {
    if (row.kind === "compute" || row.kind === "streams") return row.children.length <= OPEN_ROWS;
    if (row.kind === "thread") return row.up.children.filter((child) => child.kind === "thread").indexOf(row) < OPEN_ROWS;
    if (row.kind === "process") return this.all.filter((other) => other.kind === "process").indexOf(row) < OPEN_ROWS / 2;
    return true;
  }

  layout() {
    this.shown = [];
    let y = 0;
    for (const row of this.all) {
      row.visible = row.up === null || (row.up.visible && row.up.open);
      if (!row.visible) continue;
      row.y = y;
      y += row.height;
      this.shown.push(row);
    }
    this.height = y;
  }

  /** The shown rows between two heights. */
  between(top, bottom) {
    let low = 0;
    let high = this.shown.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const row = this.shown[middle];
      if (row.y + row.height > top) high = middle;
      else low = middle + 1;
    }
    let end = low;
    while (end < this.shown.length && this.shown[end].y < bottom) end++;
    return this.shown.slice(low, end);
  }

  at(y) {
    return this.between(y, y + 1)[0] ?? null;
  }

  toggle(row, open = !row.open) {
    row.open = open;
    this.layout();
  }

  /** Opens whatever hides a row. */
  reveal(row) {
    for (let up = row.up; up; up = up.up) up.open = true;
    this.layout();
  }

  /** The row itself, or what stands for it while it is hidden. */
  standIn(row) {
    while (row && !row.visible) row = row.up;
    return row;
  }

  /** The labels from the process down to the row. */
  path(row) {
    const labels = [];
    for (; row; row = row.up) labels.unshift(row.short);
    return labels.join(" › ");
  }
}

/** The span of time on screen. */
class View {
  constructor(duration) {
    this.duration = Math.max(1, duration);
    this.margin = this.duration * 0.01;
    this.from = -this.margin;
    this.to = this.duration + this.margin;
  }

  get span() {
    return this.to - this.from;
  }

  /** Moves to a span, kept between 100 ns and a little more than the trace. */
  set(from, to) {
    const span = Math.min(Math.max(to - from, 100), this.duration + 2 * this.margin);
    const low = -this.margin;
    const high = this.duration + this.margin - span;
    this.from = Math.min(Math.max((from + to - span) / 2, low), Math.max(low, high));
    this.to = this.from + span;
  }
}

/** Decimal digits of an integer number over 10^places, without a float on the way. */
function decimal(number, places) {
  const sign = number < 0 ? "-" : "";
  const text = String(Math.abs(number)).padStart(places + 1, "0");
  const whole = text.slice(0, text.length - places);
  const part = text.slice(text.length - places).replace(/0+$/, "");
  return sign + grouped(whole) + (places > 0 && part ? `.${part}` : "");
}

/** Thousands apart, as reports have them. */
function grouped(digits) {
  return digits.replace(/\B(?=(\d{3})+$)/g, ",");
}

/** A number of things: 1 record, 2 records. */
function counted(number, one, many = `${one}s`) {
  return `${grouped(String(number))} ${number === 1 ? one : many}`;
}

const UNITS = [["s", 9], ["ms", 6], ["µs", 3], ["ns", 0]];

/** The largest unit of which a time has one at least. */
function unitOf(ns) {
  return UNITS.find(([, places]) => Math.abs(ns) >= 10 ** places) ?? UNITS[3];
}

/** A time as people read it, rounded half up as in reports: 12.345 ms. `digits` after the point at most. */
function timeText(ns, digits = 3) {
  if (ns === null || Number.isNaN(ns)) return "–";
  const round = (step) => Math.sign(ns) * Math.floor(Math.abs(Math.round(ns)) / step + 0.5) * step;
  const step = (places) => 10 ** Math.max(0, places - digits);
  // 999.9996 ms are 1 s.
  const rounded = round(step(unitOf(ns)[1]));
  const [unit, places] = unitOf(rounded);
  return `${decimal(rounded, places)} ${unit}`;
}

/** A time to the last ns. */
function exactTime(ns) {
  return timeText(ns, 9);
}

function sizeText(bytes) {
  let unit = 0;
  let value = bytes;
  while (value >= 1024 && unit < 5) {
    value /= 1024;
    unit++;
  }
  const scaled = `${unit === 0 ? value : Number(value.toPrecision(4))} ${["B", "KiB", "MiB", "GiB", "TiB", "PiB"][unit]}`;
  return unit === 0 ? scaled : `${scaled} (${grouped(String(bytes))} B)`;
}

/** As the pictures have it: what is not quite all never reads 100.0, and what is too little to read is not 0.0. */
function shareText(part, whole) {
  if (!(whole > 0)) return "–";
  const tenths = Math.floor((1000 * part) / whole + 0.5);
  if (part > 0 && tenths === 0) return "<0.1 %";
  return `${((part < whole ? Math.min(tenths, 999) : tenths) / 10).toFixed(1)} %`;
}

/** The most characters of a name that lists, rows and boxes show; the record's own fields show all of it. */
const NAME_LENGTH = 300;

/** Names of functions that have a shorter form, which begins with what tells them apart. */
const SHORT_NAMES = new Map();

/** The colours of names that must not share theirs. */
const OWN_COLOURS = new Map();

/** Takes what the page knows of its names: short forms, and the kernels that took longest. */
function learnNames({ names, shorts = {}, longest_kernels: longest = [] }) {
  for (const [id, short] of Object.entries(shorts)) SHORT_NAMES.set(names[id], short);
  // Each takes the colour that it has in every trace, or the next one that none before it took.
  const set = COLOURS.kernel;
  const taken = new Set();
  for (const name of longest.slice(0, set.length).map((id) => names[id])) {
    let place = hash(name) % set.length;
    while (taken.has(place)) place = (place + 1) % set.length;
    taken.add(place);
    OWN_COLOURS.set(name, set[place]);
  }
}

/** A name as lists, rows and boxes show it. */
function shortName(name) {
  const short = SHORT_NAMES.get(name) ?? name;
  return short.length > NAME_LENGTH ? `${short.slice(0, NAME_LENGTH)}…` : short;
}

// Colours; one set per kind, the place in it by the name, so that a name has its colour in every trace. Copies have Tol's
// "bright" set. Kernels have his "light" one and those that are farthest from it and from each other, also as
// colour-blind eyes see them.
const COLOURS = {
  kernel: ["#77aadd", "#ee8866", "#44bb99", "#eedd88", "#ffaabb", "#99ddff", "#bbcc33", "#7766dd", "#cc3399", "#dd4466",
    "#887733", "#7788dd", "#cc8833", "#99eeaa", "#bb99bb", "#88eeee", "#448866", "#33cc88", "#aa55bb", "#99cc55"],
  memcpy: ["#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377"],
  memset: ["#bdb76b"],
  runtime: ["#8fa6bf", "#7f9bb5", "#a3b4c6", "#6f8fae"],
  driver: ["#a79bb8", "#9488aa", "#b9aec7", "#8679a0"],
  nvtx: ["#9fcf9b", "#d8b17c", "#a5a8e0", "#7cc4c4", "#d99fb4", "#c3c978"],
  functions: ["#c8a98f", "#b9b18a", "#d3b7a1", "#a9b39a", "#bfa0a0", "#cdbf9c"],
  overhead: ["#c9806b"],
  sync: ["#b39ddb"],
  migration: ["#e3b15f", "#cf8fbf"],
  other: ["#9aa4ad"],
};

/** The directions of copies have a colour each. */
const DIRECTIONS = [["htod", 0], ["dtoh", 1], ["dtod", 2], ["htoh", 3], ["ptop", 5], ["peer", 5]];

function hash(text) {
  let value = 2166136261;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 16777619);
  value = Math.imul(value ^ (value >>> 15), 2246822519);
  value = Math.imul(value ^ (value >>> 13), 3266489917);
  return (value ^ (value >>> 16)) >>> 0;
}

/** The colour of a record's name in a row, "#rrggbb". */
function colourOf(kind, name) {
  const own = kind === "kernel" ? OWN_COLOURS.get(name) : undefined;
  if (own) return own;
  if (/memcpy|memory copy/i.test(name) && kind !== "runtime" && kind !== "driver" && kind !== "nvtx" && kind !== "functions") {
    const flat = name.toLowerCase().replace(/[^a-z]/g, "");
    const direction = DIRECTIONS.find(([text]) => flat.includes(text));
    return COLOURS.memcpy[direction ? direction[1] : 4];
  }
  if (/^\[?CUDA memset/i.test(name)) return COLOURS.memset[0];
  const known = { compute: "kernel", stream: "kernel", markers: "nvtx" }[kind] ?? kind;
  const set = COLOURS[known] ?? COLOURS.other;
  return set[hash(name) % set.length];
}

/** Colours and short names by name id, made when first needed. */
class Names {
  constructor(names) {
    this.names = names;
    this.shorts = new Array(names.length);
    this.colours = new Map();
    this.matches = null;
  }

  text(id) {
    return this.names[id] ?? "";
  }

  short(id) {
    return (this.shorts[id] ??= shortName(this.text(id)));
  }

  /** The colours of a row's kind by name id; -1 where not known yet. */
  table(row) {
    const kind = row.color ?? row.kind;
    let table = this.colours.get(kind);
    if (!table) this.colours.set(kind, (table = new Int32Array(this.names.length).fill(-1)));
    return table;
  }

  /** Red, green and blue as one number 0xBBGGRR, as a pixel has them. `table`: of the row. */
  pixel(table, row, id) {
    if (table[id] < 0) {
      const rgb = parseInt(colourOf(row.color ?? row.kind, this.text(id)).slice(1), 16);
      table[id] = ((rgb & 255) << 16) | (rgb & 0xff00) | (rgb >> 16);
    }
    return table[id];
  }

  /** Names that a search found stay bright. No query, or nothing found: all do. */
  mark(query) {
    this.matches = null;
    if (!query) return;
    const matches = matcher(query);
    const found = Uint8Array.from(this.names, (name, id) => (id > 0 && matches(name) ? 1 : 0));
    if (found.includes(1)) this.matches = found;
  }
}
