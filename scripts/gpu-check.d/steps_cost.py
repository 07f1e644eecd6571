"""Groups `cost` and `rates`: what being watched costs, in interleaved runs, and how much is written how fast.

Every figure is one process; modes take turns within a round, and the median over rounds counts. The floor is CUPTI itself
with a consumer that throws its buffers away (floor.c).
"""

from harness import OutOfTime, TooSlow, median
from lab import merged
from steps import step
from steps_frameworks import NOT_KERNELS

MODES = ("bare", "gated", "floor-kernels", "kernels", "floor", "unmuted", "default")


def interleaved(lab, check, argv, figure, modes, rounds, limit_s=15, env=None):
    """{mode: [figure of each round]}, and the newest (run, traces) of each mode. Stops early when time runs out."""
    values, newest = {m: [] for m in modes}, {}
    for number in range(rounds):
        # Every other round backwards, so that no mode always follows the same neighbour.
        for mode in modes if number % 2 == 0 else reversed(modes):
            try:
                run, traces = lab.profiled(argv, mode, name=f"cost-{argv[1] if len(argv) < 5 else argv[-1]}",
                                           limit_s=limit_s, env=env)
            except (OutOfTime, TooSlow):
                check.notes.append(f"stopped in round {number + 1} of {rounds}: out of time")
                return values, newest
            if run.status != 0:
                check.expect(f"{mode} ran", run.says(), "status 0", False)
            else:
                values[mode].append(run.json().get(figure))
                newest[mode] = (run, traces)
    return values, newest


def ratios(check, values, unit):
    """Medians, and each as a ratio to bare and to its floor: the one that asks CUPTI for the same records."""
    medians = {m: median(v) for m, v in values.items()}
    check.figures[f"median {unit}"] = medians
    check.figures["all"] = values
    over = {}
    for mode, base in (("gated", "bare"), ("kernels", "bare"), ("default", "bare"), ("floor", "bare"),
                       ("kernels", "floor-kernels"), ("unmuted", "floor")):
        if medians.get(mode) and medians.get(base):
            over[f"{mode}/{base}"] = round(medians[mode] / medians[base], 4)
    check.figures["ratios"] = over
    return medians


def _launch(lab, check, threads, each, rounds):
    values, newest = interleaved(lab, check, [lab.work, "launch", str(threads), str(each)], "ns_per_launch", MODES, rounds)
    ratios(check, values, "ns per launch")
    for mode in ("kernels", "default"):
        if mode in newest:
            run, traces = newest[mode]
            check.equal(f"{mode}: kernels", traces[0].count("kernel") if traces else None, run.json().get("kernels"))
    return newest


def _rates(check, newest):
    """Records per second, bytes per record, memory of program and GPU."""
    if "default" not in newest or "bare" not in newest:
        return
    (run, traces), (bare, _) = newest["default"], newest["bare"]
    if not check.equal("traces", len(traces), 1):
        return
    trace, known = traces[0], run.json()
    rows = trace.activity_rows()
    tables = {t: round(trace.table_bytes[t] / n, 2) for t, n in trace.rows.items() if n > 1000}
    check.figures.update({
        "records": rows,
        "records per second while launching": round(rows / known["wall_s"]) if known.get("wall_s") else None,
        "bytes per record": round(trace.bytes / max(rows, 1), 2),
        "bytes per row by table": tables,
        "RSS added, MiB": round((run.peak_rss_kb - bare.peak_rss_kb) / 1024, 1),
        "GPU memory added, MiB": bare.json().get("free_mib", 0) - known.get("free_mib", 0),
        "lost": trace.totals().get("lost"),
    })
    check.equal("loss rows", trace.count("loss"), 0)


@step("cost", "launch_1", "null-kernel launches on one thread", 60)
def launch_1(lab, check):
    each, rounds = (500, 1) if lab.sim else (50000, 6)
    _rates(check, _launch(lab, check, 1, each, rounds))


TRAINING_MODES = ("bare", "gated", "kernels", "default", "floor", "unmuted")
TRAINING_ENV = {"TRAIN_STEPS": "60"}


def _training_round(lab, check):
    """One process of each mode; values add up in the lab, so that a second round counts with the first."""
    if not lab.has("torch"):
        check.skip("no torch here")
        return {}
    argv = lab.script("train.py", "bare")
    more, newest = interleaved(lab, check, argv, "host_ms_median", TRAINING_MODES, 1, 60, TRAINING_ENV)
    for mode, values in more.items():
        lab.training.setdefault(mode, []).extend(values)
    return newest


@step("cost", "training", "a small transformer's training step: ours, torch.profiler, Proton and the floor", 150)
def training(lab, check):
    newest = _training_round(lab, check)
    for tool in ("kineto", "proton") if newest else ():
        run = lab.run(lab.script("train.py", tool), TRAINING_ENV, limit_s=60, name=f"train-{tool}")
        answer = run.json()
        lab.training[tool] = [answer.get("host_ms_median")]
        if tool == "kineto" and "names" in answer and "default" in newest:
            _same_times(lab, check, answer["names"], newest["default"][1])
            check.figures["torch.profiler stops in, s"] = answer.get("stop_s")
        elif run.status:
            check.notes.append(run.says())
    if newest:
        ratios(check, lab.training, "ms per step on the host")
        _rates_of_training(check, newest)


def _same_times(lab, check, theirs, traces):
    """GPU time per kernel, ours against torch.profiler's: two runs, one after the other, nothing else on the GPU."""
    kernels = {n: c for n, c in theirs.items() if not n.startswith(NOT_KERNELS)}
    names = lab.kernels_by_name([traces[0].path]) if traces else None
    if not names:
        return
    ours = merged(names.items())
    count, total = (sum(v[i] for v in ours.values()) for i in (0, 1))
    wanted_count, wanted_total = (sum(v[i] for v in kernels.values()) for i in (0, 1))
    # Warm-up steps are in our trace and not in theirs, so means are compared.
    check.near("mean GPU time of a kernel, ns", round(total / count), round(wanted_total / wanted_count), 0.1)


def _rates_of_training(check, newest):
    if {"bare", "default"} <= newest.keys() and newest["default"][1]:
        (run, traces), (bare, _) = newest["default"], newest["bare"]
        rows = traces[0].activity_rows()
        check.figures["training: records, bytes per record"] = [rows, round(traces[0].bytes / max(rows, 1), 2)]
        check.figures["training: RSS added, MiB"] = round((run.peak_rss_kb - bare.peak_rss_kb) / 1024, 1)
        check.equal("loss rows", traces[0].count("loss"), 0)


@step("cost", "graph", "replays of a CUDA graph of 1000 nodes")
def graph(lab, check):
    size, rounds = (["20", "10"], 1) if lab.sim else (["1000", "100"], 3)
    values, newest = interleaved(lab, check, [lab.work, "graph", *size], "ns_per_node", MODES, rounds)
    ratios(check, values, "ns per node")
    _rates(check, newest)


@step("cost", "window", "a launch before, inside and after a window; Start and Stop themselves")
def window(lab, check):
    n, rounds = ("300", 1) if lab.sim else ("30000", 3)
    medians = {}
    runs = {"bare": [], "gated": []}
    for _ in range(rounds):
        for mode in runs:
            run, traces = lab.profiled([lab.work, "gate", n], mode, name="window")
            check.ended(run)
            runs[mode].append(run.json())
            if mode == "gated":
                check.equal("kernels inside", traces[0].count("kernel") if traces else None, int(n))
    for figure in ("ns_before", "ns_inside", "ns_after", "start_us", "stop_us"):
        medians[figure] = {mode: median([a.get(figure) for a in answers]) for mode, answers in runs.items()}
    check.figures["medians"] = medians


@step("cost", "launch_8", "null-kernel launches on eight threads", 60)
def launch_8(lab, check):
    each, rounds = (100, 1) if lab.sim else (15000, 5)
    newest = _launch(lab, check, 8, each, rounds)
    _rates(check, newest)
    added = check.figures.get("RSS added, MiB")
    if added is not None:
        check.at_most("RSS added with 8 threads, MiB", added, 96)


@step("cost", "threads_64", "memory with 64 launching threads")
def threads_64(lab, check):
    argv = [lab.work, "launch", "64", "20" if lab.sim else "500"]
    _, newest = interleaved(lab, check, argv, "ns_per_launch", ("bare", "default"), 1, 20)
    _rates(check, newest)


@step("cost", "training_again", "the same training steps a second time: medians of both rounds", 120)
def training_again(lab, check):
    if _training_round(lab, check):
        ratios(check, lab.training, "ms per step on the host")
