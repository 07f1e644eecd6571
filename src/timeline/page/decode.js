// Decoding of tiles: LEB128 varints, column after column. Nothing here knows about drawing.

/** An upper bound of what a varint can hold exactly as a double; larger values are read again as BigInt. */
const EXACT = Number.MAX_SAFE_INTEGER;

/** Reads unsigned LEB128 varints from `bytes`, one after the other. */
class Varints {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }

  next() {
    const bytes = this.bytes;
    let byte = bytes[this.at++];
    if (byte < 128) return byte;
    let value = byte & 127;
    let scale = 128;
    do {
      byte = bytes[this.at++];
      value += (byte & 127) * scale;
      scale *= 128;
    } while (byte > 127);
    return value;
  }

  /** The next `count` varints. */
  column(count) {
    const { bytes } = this;
    const values = new Float64Array(count);
    let at = this.at;
    for (let i = 0; i < count; i++) {
      let byte = bytes[at++];
      let value = byte & 127;
      for (let scale = 128; byte > 127; scale *= 128) {
        byte = bytes[at++];
        value += (byte & 127) * scale;
      }
      values[i] = value;
    }
    this.at = at;
    return values;
  }

  nextExact() {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = this.bytes[this.at++];
      value |= BigInt(byte & 127) << shift;
      if (!(byte > 127)) return value;
    }
  }

  /** Steps over `count` varints. */
  skip(count) {
    const bytes = this.bytes;
    let at = this.at;
    while (count > 0) if (bytes[at++] < 128) count--;
    this.at = at;
  }
}

/** A tile of records (level 0). A column is decoded when it is first asked for. */
class Records {
  /** `traceEnd`: what is not finished reaches to it. */
  constructor(bytes, columns, first, traceEnd) {
    this.reader = new Varints(bytes);
    this.columns = columns;
    this.first = first;
    this.count = bytes.length > 0 ? this.reader.next() : 0;
    this.offsets = [this.reader.at];
    this.decoded = new Map();
    this.start = this.column("start_ns") ?? new Float64Array(this.count);
    this.duration = this.column("duration_ns") ?? new Float64Array(this.count);
    this.name = this.column("name");
    this.lane = this.column("lane");
    // What is drawn: the duration, or up to the end of the trace.
    this.extent = this.duration;
    // The furthest end of all records up to here: where a search for "what reaches into the view" may begin.
    this.reach = new Float64Array(this.count);
    let reach = 0;
    for (let i = 0; i < this.count; i++) {
      if (Number.isNaN(this.duration[i])) {
        if (this.extent === this.duration) this.extent = this.duration.slice();
        this.extent[i] = Math.max(0, traceEnd - this.start[i]);
      }
      const end = this.start[i] + this.extent[i];
      if (end > reach) reach = end;
      this.reach[i] = reach;
    }
  }

  /** The values of a column (NaN: null), or undefined where the row has none of that name. */
  column(name) {
    let values = this.decoded.get(name);
    if (values !== undefined) return values;
    const index = this.columns.findIndex((c) => c.name === name);
    if (index < 0) return undefined;
    for (let i = this.offsets.length; i <= index; i++) {
      this.reader.at = this.offsets[i - 1];
      this.reader.skip(this.count);
      this.offsets[i] = this.reader.at;
    }
    this.reader.at = this.offsets[index];
    values = this.read(this.columns[index].encoding);
    this.offsets[index + 1] ??= this.reader.at;
    this.decoded.set(name, values);
    return values;
  }

  read(encoding) {
    const { reader, count } = this;
    const begin = reader.at;
    const values = reader.column(count);
    let largest = 0;
    for (let i = 0; i < count; i++) if (values[i] > largest) largest = values[i];
    if (encoding === "delta") for (let i = 1; i < count; i++) values[i] += values[i - 1];
    else if (encoding === "nullable") for (let i = 0; i < count; i++) values[i] = values[i] === 0 ? NaN : values[i] - 1;
    else if (encoding === "signed") for (let i = 0; i < count; i++) values[i] = values[i] % 2 === 1 ? -(values[i] + 1) / 2 : values[i] / 2;
    if (encoding === "delta" && count > 0) largest = values[count - 1];
    if (largest <= EXACT) return values;
    reader.at = begin;
    let sum = 0n;
    return Array.from({ length: count }, () => {
      const value = reader.nextExact();
      if (encoding === "delta") return (sum += value);
      if (encoding === "nullable") return value === 0n ? NaN : value - 1n;
      if (encoding === "signed") return value & 1n ? -((value + 1n) >> 1n) : value >> 1n;
      return value;
    });
  }
}

/** A tile of bins (level 1 and up). `bin[i]` counts from the start of the trace. */
class Bins {
  constructor(bytes, firstBin, isCounter) {
    const reader = new Varints(bytes);
    const count = bytes.length > 0 ? reader.next() : 0;
    this.count = count;
    this.bin = reader.column(count);
    for (let i = 0, before = firstBin; i < count; i++) before = this.bin[i] += before;
    if (isCounter) {
      this.value = reader.column(count);
      this.max = reader.column(count);
      this.min = reader.column(count);
      for (let i = 0; i < count; i++) {
        const value = this.value[i];
        const mean = value % 2 === 1 ? -(value + 1) / 2 : value / 2;
        this.value[i] = mean / 1000;
        this.max[i] = (mean + this.max[i]) / 1000;
        this.min[i] = (mean - this.min[i]) / 1000;
      }
      return;
    }
    this.records = reader.column(count);
    this.busy = reader.column(count);
    this.longest = reader.column(count);
    this.longestDuration = reader.column(count);
    this.name = reader.column(count);
  }
}

/** Base64 to bytes, by the browser where it can. */
function fromBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const raw = atob(text);
  const bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  return bytes;
}

/** How many characters of base64 are decoded at a time; divisible by 4. */
const CHUNK = 1 << 20;

/** Bytes that arrive little by little out of gzip in base64. */
class Unpacked {
  constructor(text) {
    // The last four bytes of gzip are the size of what it holds.
    const end = fromBase64(text.slice(-8));
    const size = new DataView(end.buffer, end.byteOffset + end.length - 4).getUint32(0, true);
    this.bytes = new Uint8Array(size);
    this.received = 0;
    this.waiting = [];
    this.onMore = () => {};
    this.done = this.run(text);
    // Whoever waits for bytes hears of a failure there.
    this.done.catch((error) => {
      this.error = error;
      this.wake();
    });
  }

  async run(text) {
    const gzip = new DecompressionStream("gzip");
    const writer = gzip.writable.getWriter();
    const write = async () => {
      for (let at = 0; at < text.length; at += CHUNK) await writer.write(fromBase64(text.slice(at, at + CHUNK)));
      await writer.close();
    };
    const written = write();
    written.catch(() => {});
    const reader = gzip.readable.getReader();
    for (let turn = performance.now(); ; ) {
      const { value, done } = await reader.read();
      if (done) break;
      this.bytes.set(value, this.received);
      this.received += value.length;
      if (performance.now() - turn < 12) continue;
      // Between two turns the browser may draw.
      this.wake();
      await new Promise((resume) => setTimeout(resume));
      turn = performance.now();
    }
    await written;
    if (this.received !== this.bytes.length) throw new Error("the trace data in this page is cut short");
    this.wake();
  }

  wake() {
    const due = this.waiting.filter((wait) => this.error || wait.end <= this.received);
    this.waiting = this.waiting.filter((wait) => !due.includes(wait));
    for (const wait of due) this.error ? wait.reject(this.error) : wait.resolve();
    this.onMore();
  }

  /** Waits until the bytes up to `end` are there. */
  until(end) {
    if (this.error) return Promise.reject(this.error);
    if (end <= this.received) return Promise.resolve();
    if (end > this.bytes.length) return Promise.reject(new Error("the trace data in this page is damaged"));
    return new Promise((resolve, reject) => this.waiting.push({ end, resolve, reject }));
  }
}
