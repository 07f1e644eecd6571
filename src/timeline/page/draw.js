// Drawing. A row is drawn from the records or bins that its width in pixels can show: coverage and colour are summed per
// pixel in one-pixel-high strips, which the canvas then stretches to the height of the lane. A frame therefore costs
// rows × pixels, however many records the trace has.

/** Labels drawn per frame at most. */
const LABELS = 700;
/** A row is drawn record by record up to this many tiles in view, however narrow its records are. */
const TILES_AS_RECORDS = 2;
const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif";

/** Coverage and colour of each pixel of a strip. */
class Strip {
  constructor(width) {
    this.width = width;
    this.cover = new Float32Array(width);
    this.most = new Float64Array(width);
    this.pixel = new Int32Array(width);
    this.dim = new Uint8Array(width);
  }

  clear() {
    this.cover.fill(0);
    this.most.fill(0);
  }

  /** Adds a bar from `left` to `right` (pixels), covered by `share`; where bars meet, the largest `weight` gives the colour. */
  add(left, right, share, weight, pixel, dim) {
    let first = left > 0 ? Math.floor(left) : 0;
    let last = Math.floor(right);
    if (last >= this.width) last = this.width - 1;
    if (first > last || right < 0) return;
    const { cover, most, pixel: pixels, dim: dims } = this;
    for (let x = first; x <= last; x++) {
      const part = (right < x + 1 ? right : x + 1) - (left > x ? left : x);
      cover[x] += part * share > 0.02 ? part * share : 0.02;
      const here = weight * (part > 0.001 ? part : 0.001);
      if (here > most[x] || most[x] === 0) {
        most[x] = here > 0 ? here : 1e-9;
        pixels[x] = pixel;
        dims[x] = dim;
      }
    }
  }

  /** Writes the strip as line `line` of an image. */
  write(image, line) {
    const { cover, pixel, dim, width } = this;
    const offset = line * width;
    for (let x = 0; x < width; x++) {
      const share = cover[x];
      if (share === 0) {
        image[offset + x] = 0;
        continue;
      }
      let alpha = share >= 1 ? 255 : 70 + 185 * share;
      if (dim[x]) alpha *= 0.18;
      image[offset + x] = (alpha << 24) | pixel[x];
    }
  }
}

/** Everything that paints. */
class Painter {
  constructor(source, rows, view, names) {
    Object.assign(this, { source, rows, view, names, top: 0, shown: [] });
    this.canvas = Object.fromEntries(["overview", "axis", "rows", "overlay"].map((id) => [id, document.getElementById(id)]));
    this.context = Object.fromEntries(Object.entries(this.canvas).map(([id, canvas]) => [id, canvas.getContext("2d")]));
    this.strips = document.createElement("canvas");
    this.strips.width = 0;
    this.lanes = [];
    this.widths = new Map();
    this.readColours();
  }

  readColours() {
    const style = getComputedStyle(document.documentElement);
    this.colour = new Proxy({}, { get: (cache, name) => (cache[name] ??= style.getPropertyValue(`--${name}`).trim()) });
    this.overviewImage = null;
  }

  /** Fits the canvases to their places. */
  resize() {
    const ratio = window.devicePixelRatio || 1;
    const fit = (id, width, height) => {
      const canvas = this.canvas[id];
      canvas.width = Math.max(1, Math.round(width * ratio));
      canvas.height = Math.max(1, Math.round(height * ratio));
      canvas.style.width = `${width}px`;
      canvas.style.height = `${height}px`;
      this.context[id].setTransform(ratio, 0, 0, ratio, 0, 0);
    };
    const place = document.getElementById("view").getBoundingClientRect();
    const heads = document.getElementById("heads").getBoundingClientRect();
    const overview = 30;
    this.ratio = ratio;
    this.width = Math.max(1, Math.floor(place.width));
    this.height = Math.max(1, Math.floor(place.height));
    this.headHeight = Math.round(heads.height);
    fit("overview", this.width, overview);
    fit("axis", this.width, this.headHeight - overview);
    fit("rows", this.width, this.height);
    fit("overlay", this.width, this.height + this.headHeight);
    this.canvas.overlay.style.left = `${document.getElementById("view").offsetLeft}px`;
    this.strip = new Strip(this.canvas.rows.width);
    this.overviewImage = null;
  }

  x(ns) {
    return ((ns - this.view.from) / this.view.span) * this.width;
  }

  time(x) {
    return this.view.from + (x / this.width) * this.view.span;
  }

  binNs(level) {
    return this.source.meta.base_bin_ns * this.source.meta.bin_factor ** (level - 1);
  }

  /** The level whose bins are at most two pixels wide; 0 where none are: then records are drawn. */
  levelFor(row, from, span, pixels) {
    const bins = Math.floor(Math.log((2 * span) / pixels / this.source.meta.base_bin_ns) / Math.log(this.source.meta.bin_factor)) + 1;
    if (row.records === 0 || row.kind === "counter") return Math.min(Math.max(bins, 1), row.levels);
    if (bins < 1 || row.levels < 1) return 0;
    let tiles = 0;
    const limit = row.lanes > 1 ? 2 * TILES_AS_RECORDS : TILES_AS_RECORDS;
    for (const [first, last] of row.tile_spans) if (first < from + span && last >= from && ++tiles > limit) break;
    return tiles > limit ? Math.min(bins, row.levels) : 0;
  }

  /** The tiles of a level that touch a span of time; `null` stands for one that is not there yet. */
  tilesAt(row, level, from, to, get) {
    const tiles = [];
    if (level === 0) {
      row.tile_spans.forEach(([first, last], k) => {
        if (first < to && last >= from) tiles.push(get(row.id, 0, k));
      });
      return tiles;
    }
    const width = this.binNs(level) * this.source.meta.bins_per_tile;
    const end = Math.min(to, this.view.duration);
    for (let k = Math.max(0, Math.floor(from / width)); k * width <= end; k++) tiles.push(get(row.id, level, k));
    return tiles;
  }

  /** The tiles to draw now: those wanted, or the finest coarser ones that are there. */
  tilesFor(row, from, span, pixels) {
    const level = this.levelFor(row, from, span, pixels);
    const to = from + span;
    const tiles = this.tilesAt(row, level, from, to, (...key) => this.source.tile(...key));
    if (!tiles.includes(null)) return { level, tiles, whole: true };
    for (let coarse = level + 1; coarse <= row.levels; coarse++) {
      const other = this.tilesAt(row, coarse, from, to, (...key) => this.source.spare(...key));
      if (!other.includes(null)) return { level: coarse, tiles: other, whole: false };
    }
    return { level, tiles: tiles.filter(Boolean), whole: false };
  }

  /** Scrolls to a height. Returns the rows that are in view now. */
  look(top) {
    this.top = top;
    return (this.shown = this.rows.between(top, top + this.height));
  }

  /** Draws all rows in view. Returns whether everything was there. */
  paint(top) {
    const { width, height, view, ratio } = this;
    const g = this.context.rows;
    this.look(top);
    this.source.beginFrame();
    g.fillStyle = this.colour.back;
    g.fillRect(0, 0, width, height);
    this.paintBacks(g, top);
    this.paintGrid(g);
    const pixels = this.canvas.rows.width;
    const lines = this.shown.reduce((sum, row) => sum + Math.max(1, row.lanes), 1);
    if (this.strips.width !== pixels || this.strips.height < lines) {
      this.strips.width = pixels;
      this.strips.height = lines + 32;
      this.image = new ImageData(pixels, lines + 32);
    }
    const words = new Uint32Array(this.image.data.buffer);
    const placed = [];
    const labels = [];
    const later = [];
    let line = 0;
    let whole = true;
    for (const row of this.shown) {
      const drawn = this.tilesFor(row, view.from, view.span, pixels);
      row.drawn = drawn;
      whole &&= drawn.whole;
      if (row.kind === "counter" || HEADINGS.has(row.kind)) later.push(row);
      else if (drawn.level > 0) {
        row.count = this.sumBins(row, drawn, pixels);
        this.strip.write(words, line);
        placed.push([line++, row.y - top + 3, row.height - 6]);
      } else line = this.stripRecords(row, drawn, words, line, placed, labels, top);
    }
    this.strips.getContext("2d").putImageData(this.image, 0, 0, 0, 0, pixels, line);
    g.imageSmoothingEnabled = false;
    for (const [index, y, high] of placed) {
      const from = Math.round(y * ratio) / ratio;
      g.drawImage(this.strips, 0, index, pixels, 1, 0, from, width, Math.max(1, Math.round(high * ratio) / ratio));
    }
    for (const row of later) this.paintArea(g, row, pixels, top);
    this.paintLabels(g, labels);
    this.source.endFrame();
    return whole;
  }

  paintBacks(g, top) {
    for (const row of this.shown) {
      const y = row.y - top;
      if (HEADINGS.has(row.kind)) {
        g.fillStyle = row.depth === 0 ? this.colour.band : this.colour.raised;
        g.fillRect(0, y, this.width, row.height);
      }
      g.fillStyle = this.colour.line;
      g.fillRect(0, y + row.height - 1, this.width, 1);
    }
  }

  paintGrid(g) {
    const { step } = this.ticks();
    g.fillStyle = this.colour.grid;
    for (let t = Math.ceil(this.view.from / step) * step; t <= this.view.to; t += step) {
      g.fillRect(Math.round(this.x(t)), 0, 1, this.height);
    }
    g.fillStyle = this.colour.outside;
    const left = this.x(0);
    const right = this.x(this.view.duration);
    if (left > 0) g.fillRect(0, 0, left, this.height);
    if (right < this.width) g.fillRect(right, 0, this.width - right, this.height);
  }

  /** Sums the bins of a row into the strip. Returns how many records they count. */
  sumBins(row, { level, tiles }, pixels) {
    const { strip, names, view } = this;
    const bin = this.binNs(level);
    const scale = pixels / view.span;
    const marks = names.matches;
    const colours = names.table(row);
    let records = 0;
    strip.clear();
    for (const tile of tiles) {
      const begin = lowerBound(tile.bin, Math.floor(view.from / bin) - 1, tile.count);
      for (let i = begin; i < tile.count; i++) {
        const from = tile.bin[i] * bin;
        if (from > view.to) break;
        records += tile.records[i];
        const left = (from - view.from) * scale;
        strip.add(left, left + bin * scale, tile.busy[i] / bin, tile.longestDuration[i] + 1,
          names.pixel(colours, row, tile.name[i]), marks && !marks[tile.name[i]] ? 1 : 0);
      }
    }
    return records;
  }

  /** Draws the records of a row into strips, a lane each. Returns the next free line. */
  stripRecords(row, { tiles }, words, line, placed, labels, top) {
    const { names, view, ratio } = this;
    const pixels = this.strip.width;
    const scale = pixels / view.span;
    const lanes = Math.max(1, row.lanes);
    const marks = names.matches;
    const colours = names.table(row);
    const gap = 3 * ratio;
    const first = row.y - top + 3;
    const tallOf = (lane) => (lanes === 1 ? row.height - 6 : laneTall(row, lane) - (laneTall(row, lane) > 5 ? 1 : 0));
    // Marks have no duration; they get two pixels.
    const least = row.kind === "markers" ? 2 * ratio : 0;
    const inView = (lane) => first + laneTop(row, lane) < this.height && first + laneTop(row, lane) + tallOf(lane) > 0;
    const strips = Array.from({ length: lanes }, (_, lane) => (inView(lane) ? this.laneStrip(lane, pixels) : null));
    row.count = 0;
    for (const tile of tiles) {
      const { start: starts, extent, name, lane: laneOf } = tile;
      const stop = lowerBound(starts, view.to, tile.count);
      for (let i = lowerBound(tile.reach, view.from, tile.count); i < stop; i++) {
        const start = starts[i];
        if (start >= view.from) row.count++;
        const lane = laneOf ? laneOf[i] : 0;
        const strip = strips[lane];
        if (!strip) continue;
        const left = (start - view.from) * scale;
        const wide = Math.max(extent[i] * scale, least);
        if (left + wide < 0) continue;
        const id = name ? name[i] : 0;
        const dim = marks && !marks[id] ? 1 : 0;
        const pixel = names.pixel(colours, row, id);
        strip.add(wide >= gap ? left + 0.8 * ratio : left, left + wide, 1, wide + 0.001, pixel, dim);
        if (wide < 30 * ratio || labels.length >= LABELS) continue;
        const tall = tallOf(lane);
        if (tall < 10) continue;
        const begin = Math.max(left, 0) / ratio;
        const end = Math.min(left + wide, pixels) / ratio;
        if (end - begin >= 26) labels.push([id, begin + 5, first + laneTop(row, lane) + tall / 2, end - begin - 9, pixel, dim]);
      }
    }
    strips.forEach((strip, lane) => {
      if (!strip) return;
      strip.write(words, line);
      placed.push([line++, first + laneTop(row, lane), tallOf(lane)]);
    });
    return line;
  }

  /** An empty strip for a lane; strips are used again by the next row. */
  laneStrip(lane, pixels) {
    let strip = this.lanes[lane];
    if (strip?.width !== pixels) strip = this.lanes[lane] = new Strip(pixels);
    strip.clear();
    return strip;
  }

  paintLabels(g, labels) {
    g.font = `11px ${FONT}`;
    g.textBaseline = "middle";
    for (const [id, x, y, room, pixel, dim] of labels) {
      const text = this.fitted(g, id, room);
      if (!text) continue;
      const light = (pixel & 255) * 0.3 + ((pixel >> 8) & 255) * 0.59 + ((pixel >> 16) & 255) * 0.11;
      g.fillStyle = dim ? this.colour.faint : light > 125 ? "#14181f" : "#ffffff";
      g.fillText(text, x, y + 0.5);
    }
  }

  /** As much of a name as fits into `room` pixels. */
  fitted(g, id, room) {
    const text = this.names.short(id);
    let wide = this.widths.get(id);
    if (wide === undefined) this.widths.set(id, (wide = g.measureText(text).width));
    if (wide <= room) return text;
    const fits = Math.floor((text.length * (room - 8)) / wide) - 1;
    return fits < 4 ? "" : `${text.slice(0, fits)}…`;
  }

  /** Headings (how busy what lies below is) and counters: an area over time. */
  paintArea(g, row, pixels, top) {
    if (row.kind === "counter") {
      // The most behind the mean: a short peak is seen however far out one zooms.
      row.count = 0;
      this.sumCounter(row, pixels, (tile) => tile.max, Math.max);
      g.globalAlpha = 0.4;
      this.paintCover(g, row, pixels, top, row.max || 1, this.colour.counter);
      g.globalAlpha = 1;
      this.sumCounter(row, pixels, (tile) => tile.value, (before, value, weight) => (before * weight + value) / (weight + 1));
      this.paintCover(g, row, pixels, top, row.max || 1, this.colour.counter);
      return;
    }
    row.count = this.sumBins(row, row.drawn, pixels);
    if (row.drawn.level === 1) this.sumBelow(row, pixels);
    const isHost = row.kind === "process" || row.kind === "thread";
    this.paintCover(g, row, pixels, top, 1, this.colour[isHost ? "busyhost" : "busygpu"]);
  }

  /** The strip's coverage as an area; `most` is the height of the row. */
  paintCover(g, row, pixels, top, most, colour) {
    const { cover } = this.strip;
    const room = row.height - 5;
    const base = row.y - top + row.height - 2;
    const area = new Path2D();
    let before = -1;
    area.moveTo(0, base);
    for (let x = 0; x < pixels; x++) {
      const value = Math.min(1, cover[x] / most);
      if (value === before && x + 1 < pixels) continue;
      if (before >= 0) area.lineTo(x / this.ratio, base - before * room);
      area.lineTo(x / this.ratio, base - value * room);
      before = value;
    }
    area.lineTo(this.width, base - Math.max(0, before) * room);
    area.lineTo(this.width, base);
    g.fillStyle = colour;
    g.fill(area);
  }

  /** How busy the records below a heading are, where pixels are finer than the finest bins and the records are there. */
  sumBelow(row, pixels) {
    const { strip, view } = this;
    if (this.binNs(1) * pixels <= 2 * view.span) return;
    const below = row.below ?? (row.below = countedRows(this.rows.all).filter((leaf) => isBelow(leaf, row)));
    const tiles = below.flatMap((leaf) => this.tilesAt(leaf, 0, view.from, view.to, (...key) => this.source.tile(...key)));
    if (tiles.includes(null)) return;
    const scale = pixels / view.span;
    strip.clear();
    for (const { start, extent, reach, count } of tiles) {
      const stop = lowerBound(start, view.to, count);
      for (let i = lowerBound(reach, view.from, count); i < stop; i++) {
        const left = (start[i] - view.from) * scale;
        const wide = extent[i] * scale;
        if (left + wide >= 0) strip.add(left, left + wide, 1, 1, 0, 0);
      }
    }
  }

  /**
   * A counter per pixel, into the strip's coverage: `valuesOf` gives a tile's values, `join` what several bins of one pixel
   * are together (what there is, the next value, how many there were).
   */
  sumCounter(row, pixels, valuesOf, join) {
    const { strip, view } = this;
    const bin = this.binNs(row.drawn.level);
    const scale = pixels / view.span;
    const weight = strip.most;
    strip.clear();
    for (const tile of row.drawn.tiles) {
      const values = valuesOf(tile);
      for (let i = lowerBound(tile.bin, Math.floor(view.from / bin) - 1, tile.count); i < tile.count; i++) {
        const left = (tile.bin[i] * bin - view.from) * scale;
        if (left > pixels) break;
        const last = Math.min(pixels - 1, Math.ceil(left + bin * scale) - 1);
        for (let x = Math.max(0, Math.floor(left)); x <= last; x++) {
          strip.cover[x] = join(strip.cover[x], values[i], weight[x]);
          weight[x]++;
        }
      }
    }
  }

  /** The distance between ticks, and how far apart the labelled absolute times are where labels would be too long. */
  ticks() {
    const least = (this.view.span / this.width) * 96;
    const power = 10 ** Math.floor(Math.log10(least));
    const step = Math.max(1, [1, 2, 5, 10].find((factor) => factor * power >= least) * power);
    return { step, anchors: this.view.to / step > 20000 ? step * 10 : step };
  }

  paintAxis() {
    const g = this.context.axis;
    const high = this.canvas.axis.height / this.ratio;
    const { step, anchors } = this.ticks();
    g.fillStyle = this.colour.panel;
    g.fillRect(0, 0, this.width, high);
    g.fillStyle = this.colour.line;
    g.fillRect(0, high - 1, this.width, 1);
    g.textBaseline = "middle";
    g.font = `11px ${FONT}`;
    let free = -Infinity;
    for (let t = Math.ceil(this.view.from / step) * step; t <= this.view.to; t += step) {
      const x = Math.round(this.x(t));
      const anchor = Math.round(t / anchors) * anchors;
      const absolute = Math.abs(anchor - t) < step / 2;
      g.fillStyle = this.colour.faint;
      g.fillRect(x, high - 7, 1, 6);
      const text = absolute ? timeText(t, 9) : `+${timeText(t - Math.floor(t / anchors) * anchors, 9)}`;
      const room = g.measureText(text).width;
      if (x + 4 < free || x + 8 + room > this.width) continue;
      g.fillStyle = absolute ? this.colour.text : this.colour.faint;
      g.fillText(text, x + 4, high / 2 - 1);
      free = x + 4 + room + 10;
    }
  }

  /** The whole trace in one line, with the view on it. */
  paintOverview() {
    const g = this.context.overview;
    const high = this.canvas.overview.height / this.ratio;
    if (!this.overviewImage) this.overviewImage = this.makeOverview();
    g.fillStyle = this.colour.panel;
    g.fillRect(0, 0, this.width, high);
    if (this.overviewImage) g.drawImage(this.overviewImage, 0, 0, this.width, high);
    const { from, to, duration } = this.view;
    const left = Math.max(0, (from / duration) * this.width);
    const right = Math.min(this.width, (to / duration) * this.width);
    g.fillStyle = this.colour.shade;
    g.fillRect(0, 0, left, high);
    g.fillRect(right, 0, this.width - right, high);
    g.fillStyle = this.colour.accent;
    const wide = Math.max(2, right - left);
    g.fillRect(left, 0, wide, 2);
    g.fillRect(left, high - 2, wide, 2);
    if (right - left < this.width - 2) {
      g.fillRect(left, 0, 2, high);
      g.fillRect(left + wide - 2, 0, 2, high);
    }
  }

  /** Draws the overview from the devices' bins; null while they are not there. */
  makeOverview() {
    const devices = this.rows.all.filter((row) => row.kind === "device").slice(0, 4);
    const rows = devices.length > 0 ? devices : this.rows.all.slice(0, 1);
    const canvas = document.createElement("canvas");
    canvas.width = this.canvas.overview.width;
    canvas.height = this.canvas.overview.height;
    const g = canvas.getContext("2d");
    const { from, to } = this.view;
    Object.assign(this.view, { from: 0, to: this.view.duration });
    let whole = true;
    rows.forEach((row, k) => {
      const drawn = this.tilesFor(row, 0, this.view.duration, canvas.width);
      whole &&= drawn.whole && drawn.level > 0;
      if (drawn.level === 0) return;
      this.sumBins(row, drawn, canvas.width);
      const room = canvas.height / rows.length;
      g.fillStyle = this.colour.busygpu;
      for (let x = 0; x < canvas.width; x++) {
        const tall = Math.min(1, this.strip.cover[x]) * (room - 4);
        if (tall > 0) g.fillRect(x, (k + 1) * room - 2 - tall, 1, tall);
      }
    });
    Object.assign(this.view, { from, to });
    return whole ? canvas : null;
  }
}

function isBelow(row, heading) {
  while (row && row !== heading) row = row.up;
  return row === heading;
}

/** A counter's value with its unit. */
function counterText(row, value) {
  const number = Math.abs(value) >= 100 ? Math.round(value) : Number(value.toPrecision(3));
  const unit = row.counter?.unit ?? row.unit ?? "";
  if (unit === "bytes" || unit === "B") return sizeText(Math.round(value));
  // A mean of a count is a number and no number of things.
  const word = unit !== "kernels" ? unit : number === 1 ? "kernel" : Number.isInteger(number) ? unit : "";
  return `${grouped(String(number))} ${word}`.trim();
}
