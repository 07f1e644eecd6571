"""Group `counts`: programs whose kernels, copies and fills are known by construction."""

import json
import time

from lab import ROOT
from steps import step

GROUP = "counts"


def _mixed(lab, check, program, mode, steps=100):
    began_ns = time.time_ns()
    run, traces = lab.profiled([program, "mixed", str(steps)], mode, name="mixed")
    check.ended(run)
    known = run.json()
    check.equal("traces", len(traces), 1)
    if not traces or not known:
        return
    trace = traces[0]
    lab.open_checks(check, trace)
    check.equal("kernels", trace.count("kernel"), known["kernels"])
    check.equal("copies", trace.count("memcpy"), known["copies"])
    check.equal("fills", trace.count("memset"), known["fills"])
    check.at_least("API calls", trace.count("api"), 9 * steps)
    check.at_least("clock readings", trace.count("clock"), 2)
    first_ns, last_ns = trace.spans_ns.get("kernel", (0, 0))
    inside = began_ns - 50_000_000 <= first_ns <= last_ns <= time.time_ns() + 50_000_000
    check.expect("kernels lie within the program's run (Unix time, ± 50 ms)", inside, True, inside)
    check.figures["trace"] = trace.summary()
    directions = lab.copies_by_direction([trace.path])
    if directions:
        n = known["each_direction"]
        check.equal("by direction", sorted(directions.values()), [n, n, n, known["fills"]])
        counts = {name: count for name, (count, _) in lab.kernels_by_name([trace.path]).items()}
        check.equal("kernel names", sorted(counts.values()), [known["each_kernel"]] * 3)
        check.figures["names"] = counts
    return trace


@step(GROUP, "mixed_injection", "every kernel, copy and fill arrives once, by direction and name (CUDA_INJECTION64_PATH)")
def mixed_injection(lab, check):
    trace = _mixed(lab, check, lab.work, "default")
    if trace:
        lab.keep("mixed", trace)


@step(GROUP, "mixed_preload", "the same with LD_PRELOAD alone")
def mixed_preload(lab, check):
    _mixed(lab, check, lab.work, "preload")


@step(GROUP, "mixed_both", "the same with both: one trace, nothing twice")
def mixed_both(lab, check):
    _mixed(lab, check, lab.work, "both")


@step(GROUP, "mixed_static_cudart", "the same in a program with the CUDA runtime linked statically")
def mixed_static(lab, check):
    if lab.work_static:
        _mixed(lab, check, lab.work_static, "default")
    else:
        check.skip("no statically linked program")


def _windows(lab, check, argv, name, keep=False, **settings):
    run, traces = lab.profiled(argv, "gated", name=name, **settings)
    check.ended(run)
    known = run.json()
    check.equal("traces", len(traces), 1)
    if traces and known:
        lab.open_checks(check, traces[0])
        check.equal("kernels inside", traces[0].count("kernel"), known["kernels"])
        if "windows" in known:
            check.equal("capture rows", traces[0].count("capture"), known["windows"])
        check.figures["trace"] = traces[0].summary()
        if keep:
            lab.keep(name, traces[0])


@step(GROUP, "gate_range", "cudaProfilerStart/Stop: exactly the steps between, the kernel still running at Stop included")
def gate_range(lab, check):
    _windows(lab, check, [lab.work, "range", "20", "5", "8"], "range", keep=True)


@step(GROUP, "gate_range_static", "the same with a static CUDA runtime")
def gate_range_static(lab, check):
    if lab.work_static:
        _windows(lab, check, [lab.work_static, "range", "20", "5", "8"], "range-static")
    else:
        check.skip("no statically linked program")


@step(GROUP, "gate_range_kernels_only", "the same with kernel records alone: membership needs no API records")
def gate_range_kernels_only(lab, check):
    _windows(lab, check, [lab.work, "range", "20", "5", "8"], "range-kernels", KINDS="kernel")


@step(GROUP, "delay_window", "--capture delay:0.6,duration:0.3: a window by the clock, with something in it and something left out")
def delay_window(lab, check):
    run, traces = lab.profiled([lab.work, "backlog", "1.5", "return"], name="delay", CAPTURE="delay:0.6,duration:0.3")
    check.ended(run)
    if check.equal("traces", len(traces), 1):
        check.equal("capture rows", traces[0].count("capture"), 1)
        launched = run.json().get("kernels", 0)
        inside = traces[0].count("kernel")
        check.expect("kernels inside", inside, f"between 1 and {launched - 1}", 1 <= inside < launched)
        check.equal("problems in the file", traces[0].problems, [])


@step(GROUP, "gate_switch", "Start while on and Stop while off change nothing, any thread may call, Stop may be missing")
def gate_switch(lab, check):
    _windows(lab, check, [lab.work, "windows"], "windows", keep=True)


@step(GROUP, "gate_range_preload", "the same gate with LD_PRELOAD alone")
def gate_range_preload(lab, check):
    folder = lab.folder("range-preload")
    run = lab.run([lab.work, "range", "20", "5", "8"], lab.environment("preload", folder, CAPTURE="profiler-api"))
    check.ended(run)
    traces = lab.traces(folder)
    check.equal("traces", len(traces), 1)
    if traces:
        check.equal("kernels inside", traces[0].count("kernel"), run.json().get("kernels"))


@step(GROUP, "gate_max_ranges", "--max-ranges 1: the second window stays shut")
def gate_max_ranges(lab, check):
    run, traces = lab.profiled([lab.work, "windows"], "gated", name="max-ranges", MAX_RANGES=1)
    check.ended(run)
    check.equal("kernels inside", traces[0].count("kernel") if traces else None, 3)


for _prepare in ("auto", "on", "off"):
    for _how in ("late", "empty"):

        def _graph(lab, check, prepare=_prepare, how=_how):
            size = ["20", "5"] if lab.sim else ["100", "20"]
            _windows(lab, check, [lab.work, "graphgate", how, *size], f"graphgate-{how}-{prepare}", PREPARE=prepare)

        step(GROUP, f"gate_graph_{_how}_prepare_{_prepare}",
             f"a CUDA graph captured before the gate opens ({_how}), --prepare {_prepare}: all nodes of the replays inside")(_graph)


@step(GROUP, "graph_nodes", "every node of every replay of a CUDA graph has its record")
def graph_nodes(lab, check):
    size = ["50", "20"] if lab.sim else ["1000", "100"]
    run, traces = lab.profiled([lab.work, "graph", *size], name="graph")
    check.ended(run)
    check.equal("kernels", traces[0].count("kernel") if traces else None, run.json().get("kernels"))
    if traces:
        lab.open_checks(check, traces[0])


@step(GROUP, "threads", "eight threads launching on streams of their own: nothing lost, nothing twice")
def threads(lab, check):
    each = "300" if lab.sim else "20000"
    run, traces = lab.profiled([lab.work, "launch", "8", each], name="threads", limit_s=25)
    check.ended(run)
    check.equal("kernels", traces[0].count("kernel") if traces else None, run.json().get("kernels"))
    if traces:
        lab.open_checks(check, traces[0])
        check.at_least("streams", traces[0].count("stream"), 8)


def _compare_ways(check, found, trace):
    """by-call brings what by-kind brings. Before CUPTI 12.5 it records those calls alone that matter, and the driver's calls within
    a runtime call that does not; sums over all calls then tell nothing."""
    ways = [found["by-call"], found["by-kind"]]
    if trace.process.get("api_calls") == "callbacks":
        both = ways[0].keys() & ways[1].keys() - {"all"}
        ways = [{name: way[name] for name in sorted(both)} for way in ways]
    check.equal("records by call (by-call), those of by-kind", *ways)


def _calls_by_name(lab, trace):
    """{call: records}; without a gpuprof their sum alone."""
    rows = lab.view([trace.path], "cuda_api_sum")
    return {row["Name"]: row["Num Calls"] for row in rows} if rows is not None else {"all": trace.count("api")}


@step(GROUP, "api_by_call", "GPUPROF_API_CALLS=by-call brings the API records that by-kind brings, call by call")
def api_by_call(lab, check):
    found = {}
    for way in ("by-kind", "by-call"):
        run, traces = lab.profiled([lab.work, "mixed", "100"], name=f"api-{way}", API_CALLS=way)
        check.ended(run)
        if not check.equal(f"{way}: traces", len(traces), 1):
            return
        lab.open_checks(check, traces[0])
        check.equal(f"{way}: kernels", traces[0].count("kernel"), run.json().get("kernels"))
        found[way] = _calls_by_name(lab, traces[0])
        check.figures[f"{way}: what it said"] = [line for line in run.err.splitlines() if "by-k" in line or "by-c" in line]
    check.at_least("API records", sum(found["by-kind"].values()), 100)
    _compare_ways(check, found, traces[0])


@step(GROUP, "api_by_call_gated", "the same behind a gate: calls inside the window are recorded, the window's kernels too")
def api_by_call_gated(lab, check):
    found = {}
    for way in ("by-kind", "by-call"):
        run, traces = lab.profiled([lab.work, "range", "20", "5", "8"], "gated", name=f"gated-{way}", API_CALLS=way)
        check.ended(run)
        if not check.equal(f"{way}: traces", len(traces), 1):
            return
        check.equal(f"{way}: kernels inside", traces[0].count("kernel"), run.json().get("kernels"))
        found[way] = _calls_by_name(lab, traces[0])
    _compare_ways(check, found, traces[0])


@step(GROUP, "subscribers", "GPUPROF_SUBSCRIBERS=multiple: gpuprof and another profiler in the program have all kernels, or one line says why not")
def subscribers(lab, check):
    if not lab.beside:
        return check.skip("beside.c was not built")
    env = {"LD_PRELOAD": str(lab.beside), **lab.newest_env}
    run, traces = lab.profiled([lab.work, "range", "20", "5", "8"], name="subscribers", env=env, SUBSCRIBERS="multiple")
    check.ended(run)
    if not check.equal("traces", len(traces), 1):
        return
    known = run.json()
    lab.open_checks(check, traces[0])
    check.equal("kernels", traces[0].count("kernel"), known.get("kernels_total"))
    lines = [line.removeprefix("beside: ") for line in run.err.splitlines() if line.startswith("beside: ")]
    if not check.equal("lines of the other profiler", len(lines), 1):
        return
    other = json.loads(lines[0])
    said = [line for line in run.err.splitlines() if line.startswith("gpuprof: ")]
    check.figures |= {"the other profiler": other, "what gpuprof said": said}
    if any("gpuprof is the only subscriber" in line for line in said):
        # CUPTI before 13.3 or a driver before r610: then nobody else gets anything, and that is what the line says.
        check.equal("kernels of the other profiler", other["kernels"], 0)
        return
    check.equal("codes of the other profiler", [other[key] for key in ("subscribe", "register", "enable", "flush", "unsubscribe")], [0] * 5)
    check.equal("kernels of the other profiler, those between Start and Stop", other["kernels"], known.get("kernels"))
    check.equal("what gpuprof said", said, [])


@step(GROUP, "subscribers_gated", "the same behind a gate: the other's session changes nothing about the window")
def subscribers_gated(lab, check):
    if not lab.beside:
        return check.skip("beside.c was not built")
    env = {"LD_PRELOAD": str(lab.beside), "BESIDE_FORWARDS": "1", **lab.newest_env}
    run, traces = lab.profiled([lab.work, "range", "20", "5", "8"], "gated", name="subscribers-gated", env=env, SUBSCRIBERS="multiple")
    check.ended(run)
    if check.equal("traces", len(traces), 1):
        check.equal("kernels inside", traces[0].count("kernel"), run.json().get("kernels"))


@step(GROUP, "presets", "--preset light has kernels, copies and fills and no calls; full has all that default has")
def presets(lab, check):
    rows = {}
    for preset in ("light", "default", "full"):
        run, traces = lab.profiled([lab.work, "mixed", "100"], name=f"preset-{preset}", PRESET=preset)
        check.ended(run)
        if not check.equal(f"{preset}: traces", len(traces), 1):
            return
        known, trace = run.json(), traces[0]
        lab.open_checks(check, trace)
        for table, key in (("kernel", "kernels"), ("memcpy", "copies"), ("memset", "fills")):
            check.equal(f"{preset}: {key}", trace.count(table), known[key])
        rows[preset] = trace.rows
    check.equal("light: API calls", rows["light"].get("api", 0), 0)
    missing = {t: n for t, n in rows["default"].items() if t in ("api", "sync", "memory") and rows["full"].get(t, 0) < n}
    # How often CUPTI is held up is a matter of how busy the machine is.
    check.equal("full has overhead if default has", "overhead" in rows["full"], "overhead" in rows["default"])
    check.equal("what default has and full has not", missing, {})
    check.figures["rows by preset"] = rows


@step(GROUP, "latency", "--kinds +latency says of every kernel when it was queued and submitted, before it began")
def latency(lab, check):
    if not lab.cli:
        return check.skip("no gpuprof program")
    run, traces = lab.profiled([lab.work, "mixed", "100"], name="latency", KINDS="+latency")
    check.ended(run)
    if not check.equal("traces", len(traces), 1):
        return
    lab.open_checks(check, traces[0])
    kernels = run.json().get("kernels")
    [row] = lab.query(traces[0].path, "SELECT count(*) AS kernels, count(queued_ns) AS queued, count(submitted_ns) AS submitted, "
                      "sum(CASE WHEN queued_ns <= submitted_ns AND submitted_ns <= start_ns THEN 1 ELSE 0 END) AS ordered FROM kernel")
    for what in ("kernels", "queued", "submitted", "ordered"):
        check.equal(what, int(row[what]), kernels)


@step(GROUP, "record", "gpuprof record: the program's status, three closing lines, one folder for four processes")
def record(lab, check):
    if not lab.cli:
        return check.skip("no gpuprof program")
    folder = lab.folder("record")
    run = lab.gpuprof("record", "-o", folder / "run", "--", lab.work, "exit", "thread", name="record-status")
    check.equal("status of exit(6)", run.status, 6)
    check.at_least("closing lines", len(run.err.strip().splitlines()), 3)
    check.figures["closing lines"] = run.err.strip().splitlines()[-3:]
    four = f"for i in 1 2 3 4; do {lab.work} mixed 20 & done; wait"
    run = lab.gpuprof("record", "-o", folder / "four", "--", "sh", "-c", four, name="record-four", limit_s=30)
    check.ended(run)
    traces = lab.traces(folder / "four")
    check.equal("traces of four processes", len(traces), 4)
    check.equal("kernels of four processes", sum(t.count("kernel") for t in traces), 4 * 60)
    counts = lab.kernels_by_name([folder / "four"])
    check.equal("kernels in the merged report", counts and sum(c for c, _ in counts.values()), 4 * 60)
    run = lab.gpuprof("record", "-o", folder / "none", "--", "true", name="record-no-cuda")
    check.ended(run)
    check.figures["without CUDA it says"] = run.err.strip().splitlines()[-3:]


@step(GROUP, "doctor", "gpuprof doctor names the driver, the GPU and the libcupti that will be used")
def doctor(lab, check):
    if not lab.cli:
        return check.skip("no gpuprof program")
    run = lab.gpuprof("doctor", name="doctor", limit_s=30)
    check.expect("status", run.status, 0, run.status == 0 and not run.timed_out)
    check.expect("mentions libcupti", "libcupti" in run.out, True, "libcupti" in run.out)
    check.figures["doctor"] = run.out.strip().splitlines()[:25]


@step(GROUP, "example_python_gate", "examples/python/02_gated_training_step.py: plain ctypes, exactly one step recorded")
def example_python_gate(lab, check):
    script = ROOT / "examples" / "python" / "02_gated_training_step.py"
    run, traces = lab.profiled([lab.python, script], "gated", name="python-gate")
    check.ended(run)
    known = run.json()
    check.equal("traces", len(traces), 1)
    if traces and known:
        lab.open_checks(check, traces[0])
        check.equal("kernels inside", traces[0].count("kernel"), known.get("kernels"))
        check.equal("capture rows", traces[0].count("capture"), 1)


@step(GROUP, "examples_rust", "the Rust examples run on this machine and their counts are in the trace", limit_s=40, parallel=True)
def examples_rust(lab, check):
    if not lab.examples:
        return check.skip("no examples carried")
    for program in lab.examples:
        mode = "gated" if "gated" in program.name else "default"
        run, traces = lab.profiled([program], mode, name=program.name)
        check.ended(run)
        known = run.json()
        for table, key in (("kernel", "kernels"), ("memcpy", "copies"), ("memset", "fills"), ("range", "ranges")):
            if key in known:
                check.equal(f"{program.name}: {key}", traces[0].count(table) if traces else None, known[key])
