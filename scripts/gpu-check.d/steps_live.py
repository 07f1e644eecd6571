"""Group `live`: what is asked of a program while it runs, and what is seen of it from outside: control, the ring, samples of the
machine and of stacks, `top`; and `gpuprof nvprof`, which prints when the program has ended.

Where the machine has no torch, programs of work.cu take its place if the step makes sense with them.
"""

import bisect
import json
import socket
import threading
import time

from harness import median
from steps import step

GROUP = "live"


class Beside:
    """A program that runs while the step does something else; its Run when it has ended."""

    def __init__(self, start):
        self.run, self.problem = None, None
        self.thread = threading.Thread(target=self._go, args=(start,), daemon=True)
        self.thread.start()

    def _go(self, start):
        try:
            self.run = start()
        except Exception as problem:  # told to the step, which waits
            self.problem = problem

    def running(self):
        return self.thread.is_alive()

    def end(self):
        self.thread.join()
        if self.problem:
            raise self.problem
        return self.run


def needs_cli(body):
    def wrapped(lab, check):
        if not lab.cli:
            return check.skip("no gpuprof program")
        return body(lab, check)

    return wrapped


def needs_python_work(body):
    """Steps about Python: torch, or the stand-in on the simulator."""

    def wrapped(lab, check):
        if not lab.sim and not lab.has("torch"):
            return check.skip("no torch here")
        return body(lab, check)

    return wrapped


def recorded(lab, flags, argv, folder, name, limit_s=60, env=None):
    """gpuprof record with `flags`; all its processes write into folder/run."""
    return lab.gpuprof("record", *flags, "-o", folder / "run", "--", *argv, name=name, limit_s=limit_s, env=env)


def long_enough(lab, seconds):
    """How long a program runs that is looked at meanwhile. The machine of a dry run may be slow, and have other things to do."""
    return str(3 * seconds if lab.sim else seconds)


def socket_in(folder, beside, seconds=20):
    """The socket that the collector makes with the first context."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and beside.running():
        found = list(folder.glob("*.sock"))
        if found:
            return found[0]
        time.sleep(0.02)
    return None


def ask(path, **request):
    """One request of the protocol of docs/control.md; the answer, and Unix time before and after."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(5)
        connection.connect(str(path))
        sent = time.time_ns()
        connection.sendall((json.dumps({"gpuprof": 1, **request}) + "\n").encode())
        answer = connection.makefile().readline()
        return json.loads(answer), sent, time.time_ns()


# -- control


def _runtime_folder(lab, name):
    """Sockets have short paths, and are refused in a folder that others may write to."""
    folder = lab.scratch / f"rt-{name}"
    folder.mkdir(mode=0o700)
    return folder


@step(GROUP, "ctl", "gpuprof ctl start and stop take effect within 10 ms (median), windows are exact", 40)
@needs_cli
def ctl(lab, check):
    sockets, cycles = _runtime_folder(lab, "ctl"), 10
    program = [lab.work, "backlog", long_enough(lab, 5), "return"]  # a launch and two other calls every millisecond
    folder = lab.folder("ctl")
    env = lab.environment("default", folder, CAPTURE="manual", RUNTIME_DIR=sockets)
    beside = Beside(lambda: lab.run(program, env, name="ctl-program", limit_s=30))
    asked = []
    path = socket_in(sockets, beside)
    if path:
        time.sleep(0.5)
        check.figures["ctl list"] = lab.gpuprof("ctl", "list", "--runtime-dir", sockets, name="ctl-list").out.splitlines()[:6]
        for verb in ("start", "stop"):
            run = lab.gpuprof("ctl", verb, "--runtime-dir", sockets, name=f"ctl-{verb}")
            check.equal(f"status of ctl {verb}", run.status, 0)
            check.figures[f"ctl {verb}, whole command, ms"] = round(run.wall_s * 1e3, 1)
            check.figures[f"ctl {verb} says"] = run.out.strip()
            time.sleep(0.1)
        for number in range(2 * cycles):
            answer, sent, answered = ask(path, do="stop" if number % 2 else "start")
            asked.append((sent, answered, answer.get("ok")))
            time.sleep(0.25 if lab.sim else 0.06)
    run = beside.end()
    check.ended(run)
    check.expect("socket", bool(path), True, bool(path))
    check.equal("requests obeyed", sum(1 for a in asked if a[2]), 2 * cycles)
    traces = lab.traces(folder)
    if not asked or not check.equal("traces", len(traces), 1):
        return
    windows = lab.query(traces[0].path, "SELECT start_ns, end_ns FROM capture ORDER BY start_ns")
    if check.equal("windows", len(windows), cycles + 1):  # one of the command line
        _effect(lab, check, traces[0], windows[1:], asked)


def _effect(lab, check, trace, windows, asked):
    """How long after a request the first call was recorded, and the last."""
    calls = sorted(int(row["start_ns"]) for row in lab.query(trace.path, "SELECT start_ns FROM api ORDER BY start_ns"))
    starts, stops, answers = [], [], []
    for number, window in enumerate(windows):
        (started, started_answered, _), (stopped, stopped_answered, _) = asked[2 * number], asked[2 * number + 1]
        first, last = bisect.bisect_left(calls, int(window["start_ns"])), bisect.bisect_right(calls, int(window["end_ns"])) - 1
        answers += [(started_answered - started) / 1e6, (stopped_answered - stopped) / 1e6]
        if first <= last:
            starts.append((calls[first] - started) / 1e6)
            stops.append((calls[last] - stopped) / 1e6)
    check.equal("windows with calls in them", len(starts), len(windows))
    for what, values in (("answer", answers), ("start to first recorded call", starts), ("stop to last recorded call", stops)):
        check.figures[f"{what}, ms: median, worst"] = [round(median(values), 2), round(max(values), 2)] if values else None
    if starts:
        most = 200 if lab.sim else 10  # a simulator's machine may have other things to do
        check.at_most("start to first recorded call, median ms", round(median(starts), 2), most)
        check.at_most("stop to last recorded call, median ms", round(median(stops), 2), most)


# -- the ring


@step(GROUP, "ring", "--ring 2s and ctl dump: the last 1.5 seconds are in the dump without a gap, and recording goes on", 60)
@needs_cli
def ring(lab, check):
    sockets, folder = _runtime_folder(lab, "ring"), lab.folder("ring")
    flags = ["--ring", "2s", "--runtime-dir", sockets]
    beside = Beside(lambda: recorded(lab, flags, [lab.work, "backlog", long_enough(lab, 6), "return"], folder, "ring", 40))
    asked_ns, dumped = 0, None
    if socket_in(sockets, beside):
        time.sleep(3.5)
        asked_ns = time.time_ns()
        dumped = lab.gpuprof("ctl", "dump", "--reason", "check", "--runtime-dir", sockets, name="ctl-dump")
    check.ended(beside.end())
    if not dumped or not check.ended(dumped):
        return check.expect("dump", "none", "one", False)
    check.figures["dump says"], check.figures["dump took, ms"] = dumped.out.strip(), round(dumped.wall_s * 1e3, 1)
    found = sorted((folder / "run").glob("*.dump-*"))
    if not check.equal("dumps", len(found), 1):
        return
    rows = lab.query(found[0], "SELECT start_ns, duration_ns FROM kernel ORDER BY start_ns")
    # Kernels of 1 ms, always the next one queued: a longer pause is a record that is missing.
    spans = [(int(r["start_ns"]), int(r["start_ns"]) + int(r["duration_ns"])) for r in rows if r["duration_ns"]]
    check.at_least("kernels in the dump", len(spans), 100)
    if spans:
        newest = spans[-1][1]
        check.at_least("seconds held", round((newest - spans[0][0]) / 1e9, 2), 1.5)
        late = [s for s in spans if s[0] >= newest - 1_500_000_000]
        gaps = [b[0] - a[1] for a, b in zip(late, late[1:])]
        longest, most = round(max(gaps, default=0) / 1e6, 2), 250 if lab.sim else 5
        check.at_most("longest gap between kernels of the last 1.5 s, ms", longest, most)
        check.figures["newest kernel ended before the request by, ms"] = round((asked_ns - newest) / 1e6, 1)
    after = lab.query(folder / "run", "SELECT MAX(start_ns) AS newest FROM kernel")
    check.expect("the ring went on after the dump", after, "a later kernel", spans and int(after[0]["newest"]) > newest)


# -- from outside


@step(GROUP, "sample", "--sample 100ms: real values of NVML for the GPU in use", 40, True)
@needs_cli
def sample(lab, check):
    folder = lab.folder("sample")
    check.ended(recorded(lab, ["--sample", "100ms"], [lab.work, "backlog", "4", "return"], folder, "sample", 30))
    rows = lab.query(folder / "run", "SELECT metric, device, COUNT(*) AS n, MIN(value) AS low, MAX(value) AS high FROM sample "
                                     "GROUP BY metric, device ORDER BY metric")
    check.tables.append(("samples", ["metric", "GPU", "values", "lowest", "highest"],
                         [[r["metric"], r["device"], r["n"], r["low"], r["high"]] for r in rows]))
    check.at_least("metrics of the machine and its processes", len([r for r in rows if not r["device"]]), 5)
    notes = lab.query(folder / "run", "SELECT text FROM note")
    check.figures["notes in the trace"] = [r["text"] for r in notes][:8]
    if lab.sim:
        return
    gpu = {r["metric"]: (int(r["n"]), float(r["low"]), float(r["high"])) for r in rows if r["device"]}
    check.at_least("metrics of GPUs", len(gpu), 10)
    for metric, low, high in (("gpu_utilization_percent", 50, 100), ("power_mw", 40_000, 1_500_000), ("sm_clock_mhz", 200, 4000),
                              ("gpu_temperature_celsius", 10, 110), ("gpu_memory_used_bytes", 50e6, 1e12)):
        got = gpu.get(metric)
        check.expect(f"highest {metric}", got and got[2], f"{low} to {high}", got and low <= got[2] <= high)
    check.at_least("values of power in 4 s", gpu.get("power_mw", (0,))[0], 25)


@step(GROUP, "top", "gpuprof top --once beside a training run: busy GPU, launches, kernels by name", 80, True)
@needs_cli
def top(lab, check):
    folder = lab.folder("top")
    torch = lab.has("torch")
    argv, env = (lab.training_script(), {"TRAIN_STEPS": "500"}) if torch else ([lab.work, "backlog", long_enough(lab, 5), "return"], {})
    beside = Beside(lambda: recorded(lab, [], argv, folder, "top-program", 70, env))
    measured, text, took = {}, "", None
    while beside.running() and not measured.get("kernels"):
        time.sleep(1)
        run = lab.gpuprof("top", "--once", "--format", "json", folder / "run", name="top-once")
        processes = run.json().get("processes") or []
        if run.status == 0 and processes:
            measured, took = processes[0], round(run.wall_s * 1e3, 1)
            text = lab.gpuprof("top", "--once", folder / "run", name="top-text").out
    live = beside.running()
    check.ended(beside.end())
    seen = bool(measured.get("kernels")) and live
    check.expect("kernels seen while the program ran", seen, True, seen)
    if measured.get("kernels"):
        busy = [d.get("busy_share") for d in measured.get("devices", [])]
        check.expect("busy share of GPU 0", busy[:1], "more than 0", busy and busy[0] and busy[0] > 0)
        rate = measured.get("launches_per_s") or 0
        check.expect("launches per second", rate, "more than 0", rate > 0)
        check.figures["top --once took, ms"] = took
        check.figures["top"] = text.splitlines()[:12]


# -- nvprof's command line


@step(GROUP, "nvprof", "gpuprof nvprof with real programs: kernels counted, their output and status kept, -o and -i", 90, True)
@needs_cli
def nvprof(lab, check):
    folder = lab.folder("nvprof")
    log, database = folder / "mixed.log", folder / "mixed.nvvp"
    run = lab.gpuprof("nvprof", "--log-file", log, lab.work, "mixed", "100", name="nvprof-mixed", limit_s=30)
    check.ended(run)
    check.equal("the program's own output", run.json().get("kernels"), 300)
    check.equal("rows of kernels with 100 calls", _rows_of_kernels(log, "100"), 3)
    check.figures["nvprof"] = _lines(log)[:8]
    check.ended(lab.gpuprof("nvprof", "-f", "-o", database, lab.work, "mixed", "20", name="nvprof-o", limit_s=30))
    log = folder / "imported.log"
    check.ended(lab.gpuprof("nvprof", "-i", database, "--log-file", log, name="nvprof-i", limit_s=30))
    check.equal("rows of kernels with 20 calls, imported", _rows_of_kernels(log, "20"), 3)
    if lab.has("torch"):
        log = folder / "train.log"
        argv = ["nvprof", "--system-profiling", "on", "--log-file", log, *lab.training_script()]
        run = lab.gpuprof(*argv, name="nvprof-train", limit_s=70)
        check.ended(run)
        check.equal("the training's own output", run.json().get("work"), "train")
        text = "\n".join(_lines(log))
        for words in ("GPU activities:", "API calls:", "System profiling result"):
            check.expect(f"'{words}' of the training", words in text, True, words in text)
        check.figures["nvprof of a training"] = _lines(log)[:6] + [l for l in _lines(log) if "GPU 0" in l or "Device" in l][:8]


@step(GROUP, "nvprof_managed", "gpuprof nvprof of managed memory: page faults and migrations by default", 40, True)
@needs_cli
def nvprof_managed(lab, check):
    log = lab.folder("managed") / "managed.log"
    run = lab.gpuprof("nvprof", "--log-file", log, lab.work, "managed", "4", name="nvprof-managed", limit_s=30)
    check.ended(run)
    check.equal("the program's own output", run.json().get("kernels"), 4)
    lines = _lines(log)
    check.figures["nvprof"] = [l for l in lines if l.strip()][:20]
    if not lab.sim:
        found = any("Unified Memory profiling result" in l for l in lines)
        check.expect("a table of unified memory", found, True, found)


def _lines(path):
    return path.read_text(errors="replace").splitlines() if path.exists() else []


def _rows_of_kernels(path, calls):
    """Rows of GPU activities, copies and fills left out, with that many calls: `40.16%  71.041ms  21  …  name`."""
    rows = 0
    for line in _lines(path):
        if line.lstrip().startswith("API calls:"):
            break
        cells = line.replace("GPU activities:", "").split(None, 6)
        rows += len(cells) == 7 and cells[0].endswith("%") and cells[2] == calls and not cells[6].startswith("[CUDA ")
    return rows


# -- stacks


def _lines_of(lab, check, paths, view, script):
    """Rows of a view about lines; at least one has to be of the script that ran."""
    rows = lab.view(paths, view)
    text = json.dumps(rows)
    check.expect(f"{view} names {script}", len(rows), "a row of it", script in text)
    check.figures[view] = rows[:5]
    return rows


@step(GROUP, "launch_stacks", "--launch-stacks under PyTorch, Triton and CuPy: kernels have the Python line that launched them", 90, True)
@needs_cli
@needs_python_work
def launch_stacks(lab, check):
    works = [(lab.training_script(), "train_standin.py" if lab.sim else "train.py", "kernels")]
    if lab.sim:
        works = [(lab.training_script(), "02_gated_training_step.py", "kernels")]
    for module in ("triton", "cupy"):
        if lab.has(module):
            works.append((lab.script("frameworks.py", module), "frameworks.py", module))
    for argv, script, what in works:
        run, traces = lab.profiled(argv, name=f"stacks-{what}", limit_s=70, LAUNCH_STACKS="on")
        check.ended(run)
        if not check.equal(f"{what}: traces", len(traces), 1):
            continue
        trace = traces[0]
        check.at_least(f"{what}: launches with a stack", trace.count("launch_stack"), 20)
        check.figures[f"{what}: kernels, launches with a stack"] = [trace.count("kernel"), trace.count("launch_stack")]
        check.figures[f"{what}: the collector's own count"] = trace.totals().get("launch_stacks")
        _lines_of(lab, check, [trace.path], "python_lines", script)


@step(GROUP, "cpu_sampling", "--cpu-sampling 100 beside a training run: CPU time by Python line", 80, True)
@needs_cli
@needs_python_work
def cpu_sampling(lab, check):
    folder = lab.folder("cpu-sampling")
    env = {"TRAIN_STEPS": "200", "STANDIN_S": "3"}
    run = recorded(lab, ["--cpu-sampling", "100"], lab.training_script(), folder, "cpu-sampling", 70, env)
    check.ended(run)
    samples = sum(t.count("cpu_sample") for t in lab.traces(folder))
    check.at_least("CPU samples", samples, 20 if lab.sim else 100)
    check.figures["closing lines"] = [l for l in run.err.splitlines() if l.startswith("gpuprof:")][-4:]
    _lines_of(lab, check, [folder / "run"], "cpu_lines", "02_gated" if lab.sim else "train.py")
