#!/usr/bin/env python3
"""Makes a timeline page from invented records, in the format `gpuprof timeline` writes.

    fake.py OUT.html [--records N] [--hostile] [--served DIR]

For work on the page alone: no trace, no Rust. Times are integers and the same for the same arguments. `--records` is the
number of kernels; API calls, copies and ranges come on top. With `--served` the page, the metadata and every tile are
written as the files that `gpuprof timeline --serve` would answer with (no search, no selection).
"""

import argparse
import base64
import gzip
import hashlib
import json
import pathlib
import random
import re

PAGE = pathlib.Path(__file__).resolve().parents[2] / "src/timeline/page"
SCRIPTS = ["decode", "source", "model", "draw", "overlay", "panel", "ui", "input", "main"]
PER_TILE = 4096
PER_BINS = 1024
FACTOR = 4
TABLES = {"compute": "kernel", "memcpy": "memcpy", "memset": "memset", "runtime": "api", "nvtx": "range", "overhead": "overhead"}
HOSTILE = ["</script><script>window.__hacked=1</script>", '"><img src=x onerror="window.__hacked=1">', "=cmd()|'/c calc'!A1",
           "two\nlines\ttab\x07bell", "x" * 65536, "'/*SCRIPT*/<!--META-->", "\u202egnp.exe", "not utf-8: \\xff\\xfe"]


def varints(values):
    out = bytearray()
    add = out.append
    for value in values:
        while value > 127:
            add(value & 127 | 128)
            value >>= 7
        add(value)
    return bytes(out)


class Row:
    """A row with its records: dicts would be slow, so columns are lists."""

    def __init__(self, kind, label, parent, color=None):
        self.kind, self.label, self.parent, self.color = kind, label, parent, color or kind
        self.start, self.duration, self.name, self.lane, self.more = [], [], [], [], {}

    def push(self, start, duration, name, **more):
        self.start.append(start)
        self.duration.append(duration)
        self.name.append(name)
        for key, value in more.items():
            self.more.setdefault(key, []).append(value)
        return len(self.start) - 1

    def lay(self):
        """The lowest lane that is free, for overlapping records."""
        ends = []
        for start, duration in zip(self.start, self.duration):
            for lane, end in enumerate(ends):
                if end <= start:
                    break
            else:
                lane = len(ends)
                ends.append(0)
            ends[lane] = start + duration
            self.lane.append(lane)
        self.lanes = max(1, len(ends))


def level_zero(row):
    tiles, spans = [], []
    for first in range(0, len(row.start), PER_TILE):
        part = slice(first, first + PER_TILE)
        start, duration = row.start[part], row.duration[part]
        data = [varints([len(start)]), varints([start[0]] + [b - a for a, b in zip(start, start[1:])]), varints(d + 1 for d in duration),
                varints(row.name[part]), varints(row.lane[part])]
        data += [varints(0 if v is None else v + 1 for v in values[part]) for values in row.more.values()]
        tiles.append(b"".join(data))
        spans.append([start[0], max(s + d for s, d in zip(start, duration))])
    return tiles, spans


def finest(rows, bin_ns):
    """Bins of the finest level: index → [count, busy, longest index, longest duration, name]."""
    bins = {}
    records = sorted(((s, d, n, i) for row in rows for i, (s, d, n) in enumerate(zip(row.start, row.duration, row.name))), key=lambda r: (r[0], r[3]))
    covered = 0
    for start, duration, name, index in records:
        at = bins.setdefault(start // bin_ns, [0, 0, 0, 0, 0])
        at[0] += 1
        if duration >= at[3]:
            at[2:] = [index, duration, name]
        begin, end = max(start, covered), start + duration
        covered = max(covered, end)
        while begin < end:
            stop = min(end, (begin // bin_ns + 1) * bin_ns)
            into = bins.setdefault(begin // bin_ns, [0, 0, index, duration, name])
            into[1] += stop - begin
            begin = stop
    return bins


def coarser(bins):
    out = {}
    for index, (count, busy, longest, duration, name) in bins.items():
        at = out.setdefault(index // FACTOR, [0, 0, 0, -1, 0])
        at[0] += count
        at[1] += busy
        if duration > at[3]:
            at[2:] = [longest, duration, name]
    return out


def bin_tiles(bins, counter=False):
    tiles = {}
    for index in sorted(bins):
        tiles.setdefault(index // PER_BINS, []).append(index)
    for tile, indices in tiles.items():
        inside = [i - tile * PER_BINS for i in indices]
        columns = [[inside[0]] + [b - a for a, b in zip(inside, inside[1:])]]
        if counter:
            # The mean; how far the most and the least are from it.
            columns += [[2 * bins[i][0] for i in indices], [bins[i][1] - bins[i][0] for i in indices], [bins[i][0] for i in indices]]
        else:
            columns += [[bins[i][k] for i in indices] for k in range(5)]
        yield tile, varints([len(indices)]) + b"".join(map(varints, columns))


def invent(kernels, hostile):
    """Rows and names: training steps of three streams with copies, gaps, NVTX ranges and API calls."""
    dice = random.Random(7)
    names = ["", "cudaLaunchKernel", "cudaMemcpyAsync", "cudaStreamSynchronize", "[CUDA memcpy HtoD]", "[CUDA memcpy DtoH]", "[CUDA memset]", "step", "forward", "backward", "optimizer"]
    base = len(names)
    functions = ["ampere_sgemm_128x64_tn", "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>(int, float*)",
                 "void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, 512, true, 1>(cudnnTensorStruct, float const*)", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
                 "softmax_warp_forward<float, float, float, 10, false>(float*, float const*, int)", "flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128>>(Flash_fwd_params)",
                 "layer_norm_grad_input_kernel(float const*)", "reduce_kernel<512, 1>(ReduceOp)", "adam_kernel(float*, float*)", "embedding_lookup(int const*)"]
    functions += HOSTILE if hostile else []
    names += functions
    rows = []

    def row(kind, label, parent, color=None):
        rows.append(Row(kind, label, parent, color))
        return len(rows) - 1

    process = row("process", "python train.py (pid 4242)", -1)
    thread = row("thread", "Thread 4242", process)
    runtime = row("runtime", "Runtime API", thread)
    nvtx = row("nvtx", "NVTX ranges", thread)
    overhead = row("overhead", "Profiling overhead", process)
    device = row("device", "[0] NVIDIA H100 80GB HBM3", process)
    context = row("context", "Context 1 (CUDA)", device)
    copies = {4: row("memcpy", "MemCpy (HtoD)", context), 5: row("memcpy", "MemCpy (DtoH)", context)}
    memset = row("memset", "MemSet", context)
    compute = row("compute", "Compute", context, "kernel")
    kernel = {base + k: row("kernel", name, compute) for k, name in enumerate(functions)}
    streams = row("streams", "Streams", context)
    stream = {number: row("stream", f"Stream {number}", streams, "kernel") for number in (7, 20, 21)}
    queue = row("counter", "Queue length", device)
    index = {runtime: 0}
    now, free, correlation = 50_000, {7: 0, 20: 0, 21: 0}, 1
    gaps, last_end = [], None
    steps = max(1, kernels // 400)
    for step in range(steps):
        begin = now
        count = kernels // steps + (kernels % steps if step == steps - 1 else 0)
        for k in range(count):
            call = 3_000 + dice.randrange(4_000)
            which = dice.choice((7, 7, 7, 20, 21))
            if k % 50 == 0:
                what, size = (4 if k % 100 == 0 else 5), 1 << dice.randrange(12, 24)
                took = 2_000 + size // 20
                at = max(now + 6_000, free[7])
                into = copies[what]
                shape = {"bytes": size, "stream": 7, "correlation": correlation}
                rows[runtime].push(now, call, 2, correlation=correlation, gpu_row=into, gpu_index=len(rows[into].start), gpu_count=1)
                for target in (into, stream[7]):
                    rows[target].push(at, took, what, **shape, launch_row=runtime, launch_index=index[runtime], **({"shape": None} if target == stream[7] else {}))
                which = 7
            else:
                what = base + min(int(dice.expovariate(0.4)), len(functions) - 1) if not hostile else base + dice.randrange(len(functions))
                took = 1_500 + what * 700 + dice.randrange(6_000)
                at = max(now + 5_000, free[which])
                into = kernel[what]
                facts = {"correlation": correlation, "stream": which, "launch_row": runtime, "launch_index": index[runtime]}
                rows[runtime].push(now, call, 1, correlation=correlation, gpu_row=into, gpu_index=len(rows[into].start), gpu_count=1)
                rows[into].push(at, took, what, **facts, shape=what % 3)
                rows[compute].push(at, took, what, **facts, shape=what % 3)
                rows[stream[which]].push(at, took, what, bytes=None, **facts, shape=what % 3)
            if last_end is not None and at > last_end:
                gaps.append((at - last_end, last_end))
            last_end = max(last_end or 0, at + took)
            free[which] = at + took + 500
            index[runtime] += 1
            correlation += 1
            now += call + 500 + dice.randrange(2_000)
        at = max(free.values())
        rows[memset].push(at, 1_200, 6, bytes=65536, stream=7)
        last_end = at + 1_200
        end = max(free.values()) + 2_000
        rows[runtime].push(now, end - now, 3, correlation=correlation, gpu_row=None, gpu_index=None, gpu_count=None)
        index[runtime] += 1
        correlation += 1
        third = (end - begin) // 3
        rows[nvtx].push(begin, end - begin, 7, domain=7)
        for part, name in enumerate((8, 9, 10)):
            rows[nvtx].push(begin + part * third, third, name, domain=7)
        now = end + 20_000 + dice.randrange(200_000) * (20 if step % 17 == 5 else 1)
    rows[overhead].push(10_000, 30_000, 3)
    place = []
    for r in rows:
        order = sorted(range(len(r.start)), key=lambda i: (r.start[i], -r.duration[i]))
        for values in (r.start, r.duration, r.name, *r.more.values()):
            values[:] = [values[i] for i in order]
        place.append({old: new for new, old in enumerate(order)})
        r.lay()
    api = rows[runtime].more
    api["gpu_index"] = [None if i is None else place[row][i] for row, i in zip(api["gpu_row"], api["gpu_index"])]
    shapes = [{"grid": [g, 1, 1], "block": [256, 1, 1], "cluster": None, "registers": 32 + g, "static_smem_bytes": 0, "dynamic_smem_bytes": 1024 * g} for g in (108, 216, 432)]
    totals = {"kernel": len(rows[compute].start), "memcpy": sum(len(rows[c].start) for c in copies.values()), "memset": len(rows[memset].start),
              "api": len(rows[runtime].start), "range": len(rows[nvtx].start), "overhead": 1}
    return rows, names, shapes, totals, sorted(gaps, reverse=True)[:100], device, compute, queue


def build(kernels, hostile):
    rows, names, shapes, totals, gaps, device, compute, queue = invent(kernels, hostile)
    duration = max(s + d for r in rows for s, d in zip(r.start, r.duration))
    bin_ns = max(1024, 1 << (4 * duration // max(1, len(rows[compute].start))).bit_length())
    levels = 1
    while bin_ns * FACTOR ** (levels - 1) * PER_BINS < duration + 1:
        levels += 1
    tiles, facts = {}, []
    below = {i: [i] for i in range(len(rows))}
    for i in reversed(range(len(rows))):
        if rows[i].parent >= 0:
            below[rows[i].parent] += below[i]
    for i, row in enumerate(rows):
        zero, spans = level_zero(row)
        for k, data in enumerate(zero):
            tiles[f"{i}/0/{k}"] = data
        top = 0
        fact = {"id": i, "parent": row.parent, "kind": row.kind, "label": row.label, "lanes": row.lanes, "records": len(row.start), "color": row.color, **({"table": TABLES[row.kind]} if row.kind in TABLES else {}),
                "columns": [{"name": "start_ns", "encoding": "delta"}, {"name": "duration_ns", "encoding": "nullable"}, {"name": "name", "encoding": "plain"}, {"name": "lane", "encoding": "plain"},
                            *({"name": name, "encoding": "nullable"} for name in row.more)] if row.start else [], "tile_spans": spans}
        if i == queue:
            bins = {k: [1000 * (k * 7919 % 29)] * 2 for k in range(duration // bin_ns + 1)}
            for level in range(1, levels + 1):
                for k, data in bin_tiles(bins, True):
                    tiles[f"{i}/{level}/{k}"] = data
                merged = {}
                for k, v in bins.items():
                    merged.setdefault(k // FACTOR, []).append(v)
                bins = {k: [sum(mean for mean, _ in v) // len(v), max(most for _, most in v)] for k, v in merged.items()}
            fact |= {"levels": levels, "busy_ns": 0, "max": 28, "unit": "kernels"}
        else:
            # A row that has records of its own does not also show those of its children: they are the same ones.
            parts = [row] if row.start else [rows[k] for k in below[i] if rows[k].kind not in ("stream", "kernel")]
            bins = finest(parts, bin_ns)
            for level in range(1, levels + 1):
                for k, data in bin_tiles(bins):
                    tiles[f"{i}/{level}/{k}"] = data
                if level == levels:
                    fact |= {"levels": levels, "busy_ns": sum(b[1] for b in bins.values())}
                bins = coarser(bins)
        facts.append(fact)
    longest = sorted(range(len(rows[compute].start)), key=lambda i: -rows[compute].duration[i])[:100]
    kernels = rows[compute]
    totals_of = {name: sum(d for d, n in zip(kernels.duration, kernels.name) if n == name) for name in set(kernels.name)}
    shorts = {i: re.sub(r"^void |\b\w+::|\(.*$", "", name) for i, name in enumerate(names) if i in totals_of and len(name) < 1000}
    meta = {"version": 1, "shorts": shorts, "longest_kernels": list(dict.fromkeys(sorted(totals_of, key=lambda name: -totals_of[name])[:10] + list(dict.fromkeys(kernels.name[i] for i in longest))[:10])), "title": "train.gpuprof", "origin": "invented by tests/page/fake.py", "generator": "gpuprof 0.1.0", "t0_unix_ns": "1700000000000000000", "duration_ns": duration,
            "inline": True, "base_bin_ns": bin_ns, "bin_factor": FACTOR, "bins_per_tile": PER_BINS, "records_per_tile": PER_TILE, "names": names, "shapes": shapes, "rows": facts,
            "gaps": [{"row": device, "start_ns": s, "duration_ns": d} for d, s in gaps], "longest": [{"row": compute, "index": i} for i in longest],
            "counters": [{"row": queue, "unit": "kernels", "name": "Queue length"}], "totals": totals, "notes": ["3 records lost (invented)"]}
    return meta, tiles


def pack(tiles):
    directory, at = {}, 0
    # Coarse levels first: the page draws while it unpacks.
    order = sorted(tiles, key=lambda key: -(int(key.split("/")[1])))
    for key in order:
        directory[key] = [at, len(tiles[key])]
        at += len(tiles[key])
    head = json.dumps(directory, separators=(",", ":")).encode()
    return len(head).to_bytes(4, "little") + head + b"".join(tiles[key] for key in order)


def page(meta_json, tiles_text, connect):
    template = (PAGE / "page.html").read_text()
    style = (PAGE / "style.css").read_text()
    script = "\n".join((PAGE / f"{name}.js").read_text() for name in SCRIPTS)
    template = template.replace("/*STYLE*/", style)
    before, after = template.split("/*SCRIPT*/")
    code = before[before.rindex("<script>") + 8:] + script + after[: after.index("</script>")]
    sha = lambda text: base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    policy = f"default-src 'none'; script-src 'sha256-{sha(code)}'; style-src 'sha256-{sha(style)}'; img-src data:; connect-src {connect}"
    head, rest = before.split("<!--CSP-->")
    start, rest = rest.split("<!--META-->")
    middle, rest = rest.split("<!--TILES-->")
    tiles = f'<script type="application/octet-stream" id="tiles">{tiles_text}</script>' if tiles_text else ""
    data = meta_json.replace("<", "\\u003c")
    return f'{head}<meta http-equiv="Content-Security-Policy" content="{policy}">{start}<script type="application/json" id="meta">{data}</script>{middle}{tiles}{rest}{script}{after}'


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("out")
    arguments.add_argument("--records", type=int, default=20_000)
    arguments.add_argument("--hostile", action="store_true")
    arguments.add_argument("--served", metavar="DIR")
    arguments.add_argument("--totals", metavar="FILE", help="write the records per table there")
    given = arguments.parse_args()
    meta, tiles = build(given.records, given.hostile)
    text = page(json.dumps(meta, separators=(",", ":")), base64.b64encode(gzip.compress(pack(tiles), 6)).decode(), "'none'")
    pathlib.Path(given.out).write_text(text, encoding="utf-8", errors="surrogatepass")
    if given.totals:
        pathlib.Path(given.totals).write_text(json.dumps(meta["totals"]))
    print(f"{given.out}: {sum(meta['totals'].values())} records, {len(text) >> 10} KiB")
    if given.served:
        folder = pathlib.Path(given.served)
        missing = {f"{row['id']}/{row['levels']}/0": b"\0" for row in meta["rows"]}
        for key, data in (missing | tiles).items():
            (folder / "tile" / key).parent.mkdir(parents=True, exist_ok=True)
            (folder / "tile" / key).write_bytes(data)
        (folder / "meta.json").write_text(json.dumps(meta | {"inline": False}))
        (folder / "index.html").write_text(page('{"served": true}', "", "'self'"))


if __name__ == "__main__":
    main()
