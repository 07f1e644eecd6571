// Where tiles come from: the page itself (InlineSource) or `gpuprof timeline --serve` (ServedSource). Both hand out the
// same decoded tiles; what is not there yet is null, and `onTile` is called once it is.

/** How much decoded data is kept, in bytes. */
const CACHE_BYTES = 256 << 20;
/** How long one frame may decode tiles of the page, in ms. What is left over comes with the next frame. */
const DECODE_MS = 6;
/** How many tiles are asked for at a time. */
const REQUESTS = 6;
/** How many hits a search lists. */
const HITS = 1000;

/** The tiles used last. */
class TileCache {
  constructor() {
    this.tiles = new Map();
    this.bytes = 0;
  }

  get(key) {
    const tile = this.tiles.get(key);
    if (tile === undefined) return null;
    this.tiles.delete(key);
    this.tiles.set(key, tile);
    return tile;
  }

  put(key, tile) {
    tile.bytes = tile.count * 8 * 7 + 64;
    this.tiles.set(key, tile);
    this.bytes += tile.bytes;
    for (const [oldest, old] of this.tiles) {
      if (this.bytes <= CACHE_BYTES) break;
      this.tiles.delete(oldest);
      this.bytes -= old.bytes;
    }
  }
}

/** What both sources share: the cache and the decoding. */
class Source {
  constructor(meta) {
    this.meta = meta;
    this.rows = new Map(meta.rows.map((row) => [row.id, row]));
    this.cache = new TileCache();
    this.onTile = () => {};
    this.onError = () => {};
  }

  peek(row, level, index) {
    return this.cache.get(`${row}/${level}/${index}`);
  }

  decode(row, level, index, bytes) {
    const facts = this.rows.get(row);
    if (level === 0) return new Records(bytes, facts.columns, index * this.meta.records_per_tile, this.meta.duration_ns);
    return new Bins(bytes, index * this.meta.bins_per_tile, facts.kind === "counter");
  }

  beginFrame() {}

  endFrame() {}

  /** The record `index` of a row, as { tile, at }. */
  async record(row, index) {
    const size = this.meta.records_per_tile;
    const tile = await this.load(row, 0, Math.floor(index / size));
    return { tile, at: index % size };
  }
}

/** Tiles that came with the page. */
class InlineSource extends Source {
  /** The tiles come out of their packing while the page is already drawn: the coarse levels come first. */
  static async open(meta, element) {
    const data = new Unpacked(element.textContent.trim());
    element.remove();
    await data.until(4);
    const begin = 4 + new DataView(data.bytes.buffer).getUint32(0, true);
    await data.until(begin);
    return new InlineSource(meta, data, begin);
  }

  constructor(meta, data, begin) {
    super(meta);
    this.data = data;
    this.begin = begin;
    this.directory = JSON.parse(new TextDecoder().decode(data.bytes.subarray(4, begin)));
    this.spent = 0;
    this.data.onMore = () => this.onTile();
    this.data.done.catch((error) => this.onError(error));
  }

  beginFrame() {
    this.spent = 0;
    this.missed = false;
  }

  endFrame() {
    if (this.missed) this.onTile();
  }

  /** A tile; null while it is packed, or when this frame has decoded enough (the last level of bins is always decoded). */
  tile(row, level, index) {
    const cached = this.peek(row, level, index);
    if (cached) return cached;
    const place = this.place(row, level, index);
    if (place.end > this.data.received) return null;
    if (this.spent > DECODE_MS && (level === 0 || level !== this.rows.get(row).levels)) {
      this.missed = true;
      return null;
    }
    const begin = performance.now();
    const tile = this.decode(row, level, index, this.data.bytes.subarray(place.begin, place.end));
    this.cache.put(`${row}/${level}/${index}`, tile);
    this.spent += performance.now() - begin;
    return tile;
  }

  /** A tile to show in place of a finer one: whatever has been unpacked. */
  spare(row, level, index) {
    return this.tile(row, level, index);
  }

  /** Where a tile's bytes are. One that is not in the page is empty: no bytes, which decode as none. */
  place(row, level, index) {
    const place = this.directory[`${row}/${level}/${index}`];
    if (!place) return { begin: 0, end: 0 };
    return { begin: this.begin + place[0], end: this.begin + place[0] + place[1] };
  }

  async load(row, level, index) {
    const cached = this.peek(row, level, index);
    if (cached) return cached;
    const place = this.place(row, level, index);
    await this.data.until(place.end);
    return this.decode(row, level, index, this.data.bytes.subarray(place.begin, place.end));
  }

  /** Calls `each(row, tile)` for every record tile of `rows` that touches the span; yields to the browser now and then. */
  async scan(rows, from, to, signal, each) {
    let begin = performance.now();
    for (const row of rows) {
      for (let k = 0; k < row.tile_spans.length; k++) {
        if (row.tile_spans[k][0] >= to || row.tile_spans[k][1] < from) continue;
        each(row, await this.load(row.id, 0, k));
        if (performance.now() - begin < 10) continue;
        await new Promise((resume) => setTimeout(resume));
        if (signal.aborted) throw signal.reason;
        begin = performance.now();
      }
    }
  }

  async search(query, signal) {
    const names = this.meta.names;
    const matches = matcher(query);
    const wanted = Uint8Array.from(names, (name, id) => (id > 0 && matches(name) ? 1 : 0));
    const hits = [];
    let total = 0;
    await this.scan(countedRows(this.meta.rows), 0, Infinity, signal, (row, tile) => {
      for (let i = 0; tile.name && i < tile.count; i++) {
        if (!wanted[tile.name[i]]) continue;
        total++;
        hits.push({ row: row.id, index: tile.first + i, start_ns: tile.start[i], duration_ns: tile.duration[i], name: names[tile.name[i]] });
      }
      // The first in time are kept; sorting now and then keeps the list short.
      if (hits.length > 64 * HITS) hits.sort((a, b) => a.start_ns - b.start_ns).splice(HITS);
    });
    hits.sort((a, b) => a.start_ns - b.start_ns).splice(HITS);
    return { total, hits };
  }

  async select(from, to, signal) {
    const sums = new Map();
    await this.scan(this.meta.rows.filter((row) => row.records > 0), from, to, signal, (row, tile) => {
      let sum = sums.get(row.id);
      if (!sum) sums.set(row.id, (sum = { row: row.id, count: 0, busy_ns: 0, covered: from, names: new Map() }));
      for (let i = lowerBound(tile.reach, from, tile.count); i < tile.count && tile.start[i] < to; i++) {
        const start = tile.start[i];
        const begin = Math.max(start, sum.covered);
        const end = Math.min(start + tile.extent[i], to);
        if (end > begin) {
          sum.busy_ns += end - begin;
          sum.covered = end;
        }
        if (start < from) continue;
        sum.count++;
        const id = tile.name ? tile.name[i] : 0;
        const name = sum.names.get(id) ?? { name: this.meta.names[id], count: 0, total_ns: 0 };
        name.count++;
        name.total_ns += tile.duration[i] || 0;
        sum.names.set(id, name);
      }
    });
    const rows = [...sums.values()].filter((sum) => sum.count > 0 || sum.busy_ns > 0);
    for (const sum of rows) sum.names = [...sum.names.values()].sort((a, b) => b.total_ns - a.total_ns).slice(0, 20);
    return { rows };
  }
}

/** Tiles asked for by address. */
class ServedSource extends Source {
  static async open() {
    return new ServedSource(await ServedSource.json("meta.json"));
  }

  static async json(address, signal) {
    const answer = await fetch(address, { signal });
    if (!answer.ok) throw new Error(`${address.split("?")[0]}: the server answered ${answer.status}`);
    return answer.json();
  }

  constructor(meta) {
    super(meta);
    this.running = new Map();
    this.frame = 0;
    this.wanted = [];
  }

  beginFrame() {
    this.frame++;
    this.wanted = [];
  }

  /** Starts what this frame lacked, and drops what only earlier frames lacked. */
  endFrame() {
    for (const [key, request] of this.running) {
      if (request.frame !== this.frame && !request.kept) {
        request.abort.abort();
        this.running.delete(key);
      }
    }
    this.pump();
  }

  pump() {
    while (this.running.size < REQUESTS && this.wanted.length > 0) {
      const [row, level, index] = this.wanted.shift();
      if (!this.running.has(`${row}/${level}/${index}`) && !this.peek(row, level, index)) {
        this.request(row, level, index, false).then(() => this.onTile(), (error) => {
          if (error.name !== "AbortError") this.onError(new Error("gpuprof timeline --serve does not answer any more"));
        });
      }
    }
  }

  request(row, level, index, kept) {
    const key = `${row}/${level}/${index}`;
    const request = { frame: this.frame, kept, abort: new AbortController() };
    this.running.set(key, request);
    request.done = (async () => {
      try {
        const answer = await fetch(`tile/${key}`, { signal: request.abort.signal });
        const bytes = answer.ok ? new Uint8Array(await answer.arrayBuffer()) : new Uint8Array(0);
        const tile = this.decode(row, level, index, bytes);
        // What the server refuses counts as empty, else every frame would ask for it again.
        this.cache.put(key, tile);
        if (!answer.ok) this.onError(new Error(`tile ${key}: the server answered ${answer.status}`));
        return tile;
      } finally {
        if (this.running.get(key) === request) this.running.delete(key);
        this.pump();
      }
    })();
    return request.done;
  }

  tile(row, level, index) {
    const cached = this.peek(row, level, index);
    if (cached) return cached;
    const request = this.running.get(`${row}/${level}/${index}`);
    if (request) request.frame = this.frame;
    else this.wanted.push([row, level, index]);
    return null;
  }

  /** A tile to show in place of a finer one: what was fetched before, and always the one tile of the last level. */
  spare(row, level, index) {
    return level === this.rows.get(row).levels ? this.tile(row, level, index) : this.peek(row, level, index);
  }

  async load(row, level, index) {
    const running = this.running.get(`${row}/${level}/${index}`);
    if (running) running.kept = true;
    return this.peek(row, level, index) ?? running?.done ?? this.request(row, level, index, true);
  }

  search(query, signal) {
    return ServedSource.json(`search?q=${encodeURIComponent(query)}&limit=${HITS}`, signal);
  }

  select(from, to, signal) {
    return ServedSource.json(`select?from=${Math.round(from)}&to=${Math.round(to)}`, signal);
  }
}

/** Does a name match? A substring in any case, or /a regular expression/. */
function matcher(query) {
  const slashes = /^\/(.+)\/$/s.exec(query);
  if (slashes) {
    const pattern = new RegExp(slashes[1], "iu");
    return (name) => pattern.test(name);
  }
  const text = query.toLowerCase();
  return (name) => name.toLowerCase().includes(text);
}

/** The rows that hold every record once: kernels and copies are in a stream row too. */
function countedRows(rows) {
  const kinds = new Map(rows.map((row) => [row.id, row]));
  return rows.filter((row) => row.records > 0 && row.kind !== "stream" && row.kind !== "counter"
    && !(row.kind === "kernel" && kinds.get(row.parent)?.records > 0));
}

/** The first index of sorted `values` with a value above `limit`, at most `count`. */
function lowerBound(values, limit, count) {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] > limit) high = middle;
    else low = middle + 1;
  }
  return low;
}
