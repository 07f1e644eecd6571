// Perfetto's trace processor in Node: `node trace_processor.js FOLDER TRACE SQL...` prints the rows of each query as
// JSON, one query per line. FOLDER has `engine_bundle.js` and its WebAssembly, which are made for a browser's worker:
// the few things of one that they use are made here. Messages are those of `trace_processor.proto`.
"use strict";
const fs = require("fs");
const path = require("path");

const [folder, trace, ...queries] = process.argv.slice(2);
const file = (url) => fs.readFileSync(path.join(folder, path.basename(String(url))));

function fail(error) {
  process.stderr.write(`${String(error).slice(0, 2000)}\n`);
  process.exit(1);
}
process.on("uncaughtException", fail);
process.on("unhandledRejection", fail);

globalThis.self = globalThis;
globalThis.location = { href: `file://${folder}/engine_bundle.js` };
globalThis.WorkerGlobalScope = function () {};
globalThis.XMLHttpRequest = class {
  open(_method, url) {
    this.url = url;
  }
  send() {
    const bytes = file(this.url);
    this.response = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
    this.status = 200;
  }
};
globalThis.fetch = async (url) => new Response(file(url), { headers: { "content-type": "application/wasm" } });
console.warn = () => {};
const say = console.log;
console.log = () => {};
// Without `process` it does not take this for Node, which it is not built for.
new Function("process", "require", "module", "exports", file("engine_bundle.js").toString())();

function varint(value) {
  const out = [];
  let rest = BigInt(value);
  for (; rest > 127n; rest >>= 7n) out.push(Number(rest & 127n) | 128);
  out.push(Number(rest));
  return Buffer.from(out);
}
const number = (field, value) => Buffer.concat([varint(field * 8), varint(value)]);
const bytes = (field, value) => {
  const content = Buffer.from(value);
  return Buffer.concat([varint(field * 8 + 2), varint(content.length), content]);
};

/// Fields of a message: pairs of number and value.
function fields(message) {
  const out = [];
  let at = 0;
  const read = () => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = message[at++];
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return value;
    }
  };
  while (at < message.length) {
    const tag = Number(read());
    const sizes = { 1: 8, 5: 4 };
    if (tag % 8 === 0) {
      out.push([tag >> 3, read()]);
    } else {
      const size = tag % 8 === 2 ? Number(read()) : sizes[tag % 8];
      out.push([tag >> 3, message.subarray(at, at + size)]);
      at += size;
    }
  }
  return out;
}

const inside = (messages, field) => messages.filter(([number]) => number === field).map(([, value]) => value);

/// The rows of a `QueryResult`, which comes in pieces.
function rows(replies) {
  const names = [];
  const cells = [];
  const results = replies.flatMap((reply) => inside(fields(reply), 1)).flatMap((rpc) => inside(fields(rpc), 203));
  for (const result of results.map(fields)) {
    for (const error of inside(result, 2)) throw new Error(Buffer.from(error).toString());
    names.push(...inside(result, 1).map((name) => Buffer.from(name).toString()));
    for (const batch of inside(result, 3).map(fields)) {
      const kinds = Buffer.concat(inside(batch, 1));
      const whole = [];
      for (const packed of inside(batch, 2)) {
        let value = 0n;
        let shift = 0n;
        for (const byte of packed) {
          value |= BigInt(byte & 127) << shift;
          shift += 7n;
          if (byte < 128) {
            whole.push(BigInt.asIntN(64, value));
            [value, shift] = [0n, 0n];
          }
        }
      }
      const reals = inside(batch, 3).flatMap((packed) => {
        const all = Buffer.from(packed);
        return Array.from({ length: all.length / 8 }, (_, i) => all.readDoubleLE(i * 8));
      });
      const texts = inside(batch, 5).flatMap((packed) => Buffer.from(packed).toString().split("\0"));
      // 1 is null, 2 a whole number, 3 a real one, 4 a text.
      for (const kind of kinds) cells.push([null, null, whole, reals, texts][kind]?.shift() ?? null);
    }
  }
  const out = [];
  // Whole numbers are written as text: times since 1970 are more than readers of JSON keep.
  while (cells.length > 0) {
    const row = cells.splice(0, names.length);
    out.push(Object.fromEntries(names.map((name, i) => [name, typeof row[i] === "bigint" ? String(row[i]) : row[i]])));
  }
  return out;
}

const replies = [];
const port = { postMessage: (reply) => replies.push(Buffer.from(reply)) };
let sequence = 0;

function ask(request, ...rest) {
  replies.length = 0;
  const rpc = Buffer.concat([number(1, sequence++), number(2, request), ...rest]);
  port.onmessage({ data: new Uint8Array(bytes(1, rpc)) });
  return replies.slice();
}

function run() {
  self.onmessage({ data: port });
  // 1 appends data, 2 says that it was all, 3 is a query.
  ask(1, bytes(101, fs.readFileSync(trace)));
  ask(2);
  for (const sql of queries) say(JSON.stringify(rows(ask(3, bytes(103, bytes(1, sql))))));
  process.exit(0);
}

// A worker loads its WebAssembly before it returns; what it does then waits for the end of this turn.
setTimeout(run, 0);
