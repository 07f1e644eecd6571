// What lies above the rows and changes with the mouse: outlines, arrows, the selected span, the cursor. And the way back
// from a point to the record or bin below it.

/** How far beside a record the mouse may be, in pixels. */
const REACH_PX = 3;

class Overlay {
  constructor(painter) {
    this.painter = painter;
    this.hover = null;
    this.selected = null;
    this.links = [];
    this.span = null;
    this.mark = null;
    this.cursor = null;
  }

  /** The record or bin at a point of the rows' canvas, or the row alone, or null. */
  hit(x, y) {
    const { painter } = this;
    const row = painter.rows.at(y + painter.top);
    if (!row || y + painter.top < 0) return null;
    const found = { row, time: painter.time(x), tile: null, at: -1, index: -1, bin: false };
    const { drawn } = row;
    if (!drawn || found.time < 0 || found.time > painter.view.duration) return found;
    if (drawn.level > 0) {
      const bin = Math.floor(found.time / painter.binNs(drawn.level));
      for (const tile of drawn.tiles) {
        const at = lowerBound(tile.bin, bin - 0.5, tile.count);
        if (at < tile.count && tile.bin[at] === bin) Object.assign(found, { tile, at, bin: true });
      }
      return found;
    }
    const lane = laneAt(row, y + painter.top - row.y - 3);
    const reach = (REACH_PX * painter.view.span) / painter.width;
    let best = Infinity;
    for (const tile of drawn.tiles) {
      const stop = lowerBound(tile.start, found.time + reach, tile.count);
      for (let i = lowerBound(tile.reach, found.time - reach, tile.count); i < stop; i++) {
        if (row.lanes > 1 && tile.lane && tile.lane[i] !== lane) continue;
        const start = tile.start[i];
        const end = start + tile.extent[i];
        const off = Math.max(start - found.time, found.time - end, 0);
        if (off > reach || off > best) continue;
        best = off;
        Object.assign(found, { tile, at: i, index: tile.first + i });
      }
    }
    return found;
  }

  /** Where a record is on the overlay; a hidden row's records are at the heading that hides it. */
  box({ row, tile, at }) {
    const { painter } = this;
    const shown = painter.rows.standIn(row);
    if (!shown) return null;
    const lanes = shown === row && row.drawn?.level === 0 && row.lanes > 1;
    const lane = tile.lane ? tile.lane[at] : 0;
    const top = painter.headHeight + shown.y - painter.top + (lanes ? 3 + laneTop(row, lane) : 3);
    const left = painter.x(tile.start[at]);
    return { left, width: Math.max(2, painter.x(tile.start[at] + tile.extent[at]) - left), top, height: lanes ? Math.max(2, laneTall(row, lane) - 1) : shown.height - 6 };
  }

  paint() {
    const { painter } = this;
    const g = painter.context.overlay;
    const { width, headHeight: head } = painter;
    const height = painter.height + head;
    g.clearRect(0, 0, width, height);
    if (this.span) this.paintSpan(g, height);
    g.save();
    g.beginPath();
    g.rect(0, head, width, painter.height);
    g.clip();
    if (this.mark) this.paintMark(g);
    if (this.hover?.tile) this.outline(g, this.hover, 1.5, painter.colour.text);
    if (this.selected) {
      this.outline(g, this.selected, 2, painter.colour.accent);
      for (const link of this.links) this.arrow(g, ...link);
    }
    if (this.cursor) {
      g.fillStyle = painter.colour.cursor;
      g.fillRect(Math.round(this.cursor.x), head, 1, painter.height);
    }
    g.restore();
    if (this.cursor) this.paintTime(g);
  }

  outline(g, hit, thick, colour) {
    const { painter } = this;
    let box;
    if (hit.bin) {
      const bin = painter.binNs(hit.row.drawn.level);
      const left = painter.x(hit.tile.bin[hit.at] * bin);
      box = { left, width: Math.max(2, painter.x((hit.tile.bin[hit.at] + 1) * bin) - left), top: painter.headHeight + hit.row.y - painter.top + 2, height: hit.row.height - 4 };
    } else box = this.box(hit);
    if (!box) return;
    const left = Math.max(-4, box.left);
    const right = Math.min(painter.width + 4, box.left + box.width);
    if (right < left) return;
    g.strokeStyle = colour;
    g.lineWidth = thick;
    g.strokeRect(left - 0.5, box.top - 0.5, right - left + 1, box.height + 1);
  }

  /** A curve from what launched to what was launched. */
  arrow(g, from, to) {
    const a = this.box(from);
    const b = this.box(to);
    if (!a || !b) return;
    const down = b.top > a.top;
    // An end far outside is drawn at the edge, so that the arrow still leads there.
    const inside = (x) => Math.min(Math.max(x, -12), this.painter.width + 12);
    const x0 = inside(a.left + a.width / 2);
    const x1 = inside(b.left);
    const y0 = down ? a.top + a.height : a.top;
    const y1 = b.top + b.height / 2;
    const bend = Math.min(160, Math.max(24, Math.abs(x1 - x0) / 2));
    g.strokeStyle = this.painter.colour.arrow;
    g.fillStyle = this.painter.colour.arrow;
    g.lineWidth = 1.6;
    g.beginPath();
    g.moveTo(x0, y0);
    g.bezierCurveTo(x0, y0 + (down ? 40 : -40), x1 - bend, y1, x1 - 5, y1);
    g.stroke();
    g.beginPath();
    g.moveTo(x1, y1);
    g.lineTo(x1 - 7, y1 - 4);
    g.lineTo(x1 - 7, y1 + 4);
    g.fill();
    g.beginPath();
    g.arc(x0, y0, 2.5, 0, 7);
    g.fill();
  }

  paintSpan(g, height) {
    const { painter } = this;
    const left = painter.x(this.span.from);
    const right = painter.x(this.span.to);
    const top = painter.headHeight - painter.canvas.axis.height / painter.ratio;
    g.fillStyle = painter.colour.span;
    g.fillRect(left, top, right - left, height - top);
    g.fillStyle = painter.colour.accent;
    g.fillRect(Math.round(left), top, 1, height - top);
    g.fillRect(Math.round(right), top, 1, height - top);
    const text = timeText(this.span.to - this.span.from);
    g.font = `600 11px ${FONT}`;
    const room = g.measureText(text).width;
    const x = Math.min(Math.max((left + right) / 2, room / 2 + 8), painter.width - room / 2 - 8);
    if (right < 0 || left > painter.width) return;
    // Nothing of the ticks' labels sticks out from behind.
    g.fillStyle = painter.colour.panel;
    g.fillRect(x - room / 2 - 44, top + 3, room + 88, 18);
    this.pill(g, text, x - room / 2 - 6, top + 3, room + 12, painter.colour.accent, painter.colour.onaccent);
  }

  /** A gap that was jumped to, in its row. */
  paintMark(g) {
    const { painter } = this;
    const row = painter.rows.standIn(this.mark.row);
    if (!row) return;
    const left = Math.max(-10, painter.x(this.mark.from));
    const right = Math.min(painter.width + 10, painter.x(this.mark.to));
    if (right < left) return;
    const top = painter.headHeight + row.y - painter.top;
    g.fillStyle = painter.colour.gap;
    g.fillRect(left, top, right - left, row.height - 1);
    g.strokeStyle = painter.colour.gapline;
    g.lineWidth = 1.5;
    g.strokeRect(left, top + 0.5, right - left, row.height - 2);
    g.font = `600 11px ${FONT}`;
    const text = `idle ${timeText(this.mark.to - this.mark.from)}`;
    const room = g.measureText(text).width;
    if (right - left > room + 20) this.pill(g, text, (left + right) / 2 - room / 2 - 6, top + row.height / 2 - 9, room + 12, painter.colour.gapline, painter.colour.onaccent);
  }

  pill(g, text, x, y, wide, back, front) {
    g.fillStyle = back;
    g.beginPath();
    g.roundRect(x, y, wide, 18, 4);
    g.fill();
    g.fillStyle = front;
    g.textBaseline = "middle";
    g.fillText(text, x + 6, y + 9.5);
  }

  /** The time below the mouse, in the axis. */
  paintTime(g) {
    const { painter } = this;
    const digits = Math.max(0, Math.ceil(Math.log10(painter.width / painter.view.span)) + 9);
    const text = cursorTime(painter.time(this.cursor.x), Math.min(9, digits));
    g.font = `11px ${FONT}`;
    const room = g.measureText(text).width;
    const x = Math.min(Math.max(this.cursor.x, room / 2 + 8), painter.width - room / 2 - 8);
    const y = painter.headHeight - 23;
    this.pill(g, text, x - room / 2 - 6, y, room + 12, painter.colour.text, painter.colour.back);
  }
}

/** A time with as many digits after the second's point as a pixel can tell. */
function cursorTime(ns, digits) {
  const [, places] = unitOf(ns);
  return timeText(Math.round(ns), Math.max(0, digits - 9 + places));
}
