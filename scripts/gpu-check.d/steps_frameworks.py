"""Group `frameworks`: PyTorch against its own profiler, CuPy, Triton, JAX, several processes, NVTX."""

from lab import demangled, merged
from steps import step

GROUP = "frameworks"
RANGES_PER_STEP, WARM, STEPS = 3, 5, 30
# What Kineto lists on a GPU's timeline beside kernels.
NOT_KERNELS = ("Memcpy", "Memset", "Stream ", "Event ", "Context ", "Device ", "Activity ", "step ", "forward", "backward",
               "Optimizer.", "ProfilerStep")


def reference(lab):
    """torch.profiler's counts and times by name, made once by whoever comes first."""

    def make():
        run = lab.run(lab.script("train.py", "kineto"), limit_s=60, name="kineto-reference")
        answer = run.json()
        if "names" not in answer:
            raise RuntimeError(run.says())
        kernels = {n: c for n, c in answer["names"].items() if not n.startswith(NOT_KERNELS)}
        answer["kernels"] = sum(c for c, _ in kernels.values())
        answer["kernel_names"] = kernels
        answer["copies"] = sum(c for n, (c, _) in answer["names"].items() if n.startswith("Memcpy"))
        answer["fills"] = sum(c for n, (c, _) in answer["names"].items() if n.startswith("Memset"))
        return answer

    return lab.once("kineto", make)


def compare_names(lab, check, trace, expected):
    """Counts by kernel name, both sides demangled by the C++ ABI."""
    ours = lab.kernels_by_name([trace.path], mangled=True)
    if ours is None:
        check.notes.append("names not compared: no gpuprof program")
        return None
    # Kineto leaves very long names as they are.
    plain = demangled([*ours, *expected])
    ours = merged((plain[n], value) for n, value in ours.items())
    theirs = merged((plain[n], value) for n, value in expected.items())
    differing = {n: (ours.get(n, [0])[0], theirs.get(n, [0])[0]) for n in {*ours, *theirs}
                 if ours.get(n, [0])[0] != theirs.get(n, [0])[0]}
    check.equal("kernel names whose counts differ (ours, torch.profiler)", dict(sorted(differing.items())[:6]), {})
    check.figures["kernel names compared"] = len(theirs)
    return ours


def needs(module):
    def decorate(body):
        def wrapped(lab, check):
            if not lab.has(module):
                return check.skip(f"no {module} here")
            return body(lab, check)

        return wrapped

    return decorate


@step(GROUP, "torch_against_profiler", "30 training steps: kernels by name, copies and fills as torch.profiler counts them", 80, True)
@needs("torch")
def torch_against_profiler(lab, check):
    run, traces = lab.profiled(lab.script("train.py", "sync-gate", "0", str(STEPS)), "gated", name="train-sync", limit_s=70)
    check.ended(run)
    known = reference(lab)
    check.equal("traces", len(traces), 1)
    if not traces:
        return
    trace = traces[0]
    lab.open_checks(check, trace)
    check.equal("same loss", run.json().get("loss"), known["loss"])
    check.equal("kernels", trace.count("kernel"), known["kernels"])
    check.equal("copies", trace.count("memcpy"), known["copies"])
    check.equal("fills", trace.count("memset"), known["fills"])
    compare_names(lab, check, trace, known["kernel_names"])
    check.figures["trace"] = trace.summary()
    check.figures["table bytes"] = trace.table_bytes


@step(GROUP, "torch_one_step", "cudaProfilerStart/Stop around one training step: exactly that step's kernels", 80, True)
@needs("torch")
def torch_one_step(lab, check):
    run, traces = lab.profiled(lab.script("train.py", "gate", "12", "13"), "gated", name="train-one", limit_s=70)
    check.ended(run)
    known = reference(lab)
    if not check.equal("traces", len(traces), 1):
        return
    lab.open_checks(check, traces[0])
    check.equal("kernels", traces[0].count("kernel"), known["kernels"] // STEPS)
    check.equal("copies", traces[0].count("memcpy"), known["copies"] // STEPS)
    check.equal("capture rows", traces[0].count("capture"), 1)
    check.figures["trace"] = traces[0].summary()
    lab.keep("train-one-step", traces[0])


@step(GROUP, "torch_nvtx_gate", "--capture nvtx:step 12: exactly that range's kernels", 80, True)
@needs("torch")
def torch_nvtx_gate(lab, check):
    run, traces = lab.profiled(lab.script("train.py", "bare"), name="train-nvtx", limit_s=70, CAPTURE="nvtx:step 12")
    check.ended(run)
    known = reference(lab)
    if check.equal("traces", len(traces), 1):
        lab.open_checks(check, traces[0])
        check.equal("kernels", traces[0].count("kernel"), known["kernels"] // STEPS)


@step(GROUP, "torch_some_steps", "--capture 'nvtx:step *,every:5,steps:2': exactly those steps' kernels, from which report estimates all", 80, True)
@needs("torch")
def torch_some_steps(lab, check):
    run, traces = lab.profiled(lab.script("train.py", "bare"), name="train-some", limit_s=70,
                               CAPTURE="nvtx:step *,every:5,steps:2")
    check.ended(run)
    known = reference(lab)
    if check.equal("traces", len(traces), 1):
        lab.open_checks(check, traces[0])
        # All steps are ranges, those that warm up too.
        chosen = sum(step % 5 >= 3 for step in range(WARM + STEPS))
        check.equal("windows", traces[0].count("capture"), chosen)
        a_step = known["kernels"] // STEPS
        check.equal("kernels", traces[0].count("kernel"), a_step * chosen)
        check.equal("steps of the program", traces[0].process.get("steps"), WARM + STEPS)
        rows = lab.view([traces[0].path], "cuda_gpu_kern_sum")
        if rows:
            # Each name apart is rounded to whole kernels.
            estimate = sum(row["Instances"] for row in rows)
            check.near("kernels of all steps, estimated", estimate, a_step * (WARM + STEPS), 0.01)


@step(GROUP, "torch_budget", "--budget 2%: recording takes no more by its own account, and report estimates all kernels", 100, True)
@needs("torch")
def torch_budget(lab, check):
    steps = 2000
    run, traces = lab.profiled(lab.script("train.py", "bare"), name="train-budget", limit_s=90,
                               env={"TRAIN_STEPS": str(steps)}, BUDGET="2%")
    check.ended(run)
    known = reference(lab)
    if check.equal("traces", len(traces), 1):
        lab.open_checks(check, traces[0])
        told = traces[0].process.get("budget") or {}
        spent, lasted = sum((told.get("spent_ns") or {}).values()), told.get("ended_ns", 0) - told.get("began_ns", 0)
        check.figures["budget"] = told
        check.at_least("windows", traces[0].count("capture"), 2)
        check.at_most("share of the time that was spent", round(spent / max(lasted, 1), 4), 0.024)
        rows = lab.view([traces[0].path], "cuda_gpu_kern_sum")
        if rows:
            # What comes before the first step is no training.
            a_step = known["kernels"] // STEPS
            check.near("kernels, estimated", sum(row["Instances"] for row in rows), a_step * (WARM + steps), 0.2)


@step(GROUP, "torch_everything", "a whole training run: all NVTX ranges, every record accounted for", 80, True)
@needs("torch")
def torch_everything(lab, check):
    run, traces = lab.profiled(lab.script("train.py", "bare"), name="train-all", limit_s=70)
    check.ended(run)
    if check.equal("traces", len(traces), 1):
        lab.open_checks(check, traces[0])
        # Libraries have ranges of their own, in domains of their own.
        check.at_least("NVTX ranges", traces[0].count("range"), RANGES_PER_STEP * (WARM + STEPS))
        rows = lab.view([traces[0].path], "nvtx_sum")
        if rows is not None:
            named = {row["Range"].rpartition(":")[2]: row["Instances"] for row in rows}
            got = [named.get("forward"), named.get("backward"), sum(n for r, n in named.items() if r.startswith("step "))]
            check.equal("forward, backward, step", got, [WARM + STEPS] * 3)
        check.at_least("kernels", traces[0].count("kernel"), reference(lab)["kernels"])
        check.figures["trace"] = traces[0].summary()


@step(GROUP, "torch_preload", "the same with LD_PRELOAD alone: torch's own libcupti wins, training is unharmed", 80, True)
@needs("torch")
def torch_preload(lab, check):
    run, traces = lab.profiled(lab.script("train.py", "bare"), "preload", name="train-preload", limit_s=70)
    check.ended(run)
    check.equal("same loss", run.json().get("loss"), reference(lab)["loss"])
    if check.equal("traces", len(traces), 1):
        check.at_least("kernels", traces[0].count("kernel"), reference(lab)["kernels"])
        check.figures["versions"] = traces[0].process.get("versions")


@step(GROUP, "torch_profiler_inside", "torch.profiler inside our run: it and the program end well, and we say what happened", 100, True)
@needs("torch")
def torch_profiler_inside(lab, check):
    run, traces = lab.profiled(lab.script("train.py", "kineto"), name="train-kineto", limit_s=90)
    check.ended(run)
    if check.equal("traces", len(traces), 1):
        check.equal("problems in the file", traces[0].problems, [])
        check.figures["trace"] = traces[0].summary()
    check.figures["events torch.profiler got"] = sum(c for c, _ in run.json().get("names", {}).values())
    check.figures["we said"] = [l for l in run.err.splitlines() if l.startswith("gpuprof:")][:4]


@step(GROUP, "torch_graph", "a torch CUDA graph captured before the gate: five replays of 20 kernels inside", 60, True)
@needs("torch")
def torch_graph(lab, check):
    run, traces = lab.profiled(lab.script("frameworks.py", "torch_graph"), "gated", name="torch-graph", limit_s=55)
    check.ended(run)
    check.equal("kernels", traces[0].count("kernel") if traces else None, run.json().get("kernels"))


def _counted(lab, check, what, status=0, **how):
    """A program of frameworks.py: every kernel it names is in the traces as often as it says."""
    run, traces = lab.profiled(lab.script("frameworks.py", what), name=what, limit_s=50, **how)
    check.ended(run, status)
    known = run.json()
    check.equal("traces", len(traces), known.get("traces", 1))
    check.figures["version"] = known.get("version")
    if not traces or not known:
        check.notes.append(run.says())
        return traces
    if "kernels_at_least" in known:
        check.at_least("kernels", sum(t.count("kernel") for t in traces), known["kernels_at_least"])
    names = lab.kernels_by_name([t.path for t in traces])
    for wanted, count in known.get("counts", {}).items():
        got = names and sum(c for n, (c, _) in names.items() if wanted in n)
        check.equal(f"kernels called {wanted}", got, count)
    return traces


@step(GROUP, "cupy", "CuPy: a kernel compiled at run time, launched 50 times", 60, True)
@needs("cupy")
def cupy(lab, check):
    for trace in _counted(lab, check, "cupy"):
        lab.open_checks(check, trace)
        lab.keep("cupy", trace)


@step(GROUP, "triton", "Triton: 40 launches of a kernel that was compiled a moment ago, by name", 60, True)
@needs("triton")
def triton(lab, check):
    for trace in _counted(lab, check, "triton"):
        lab.open_checks(check, trace)


@step(GROUP, "jax", "JAX: kernels of a jitted function", 60, True)
@needs("jax")
def jax(lab, check):
    env = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
    for trace in _counted(lab, check, "jax", env=env):
        lab.open_checks(check, trace)


@step(GROUP, "spawned_processes", "multiprocessing spawn: a trace for each child, none for the parent without CUDA", 60, True)
@needs("cupy")
def spawned(lab, check):
    for trace in _counted(lab, check, "spawn"):
        lab.open_checks(check, trace)


@step(GROUP, "os_exit", "os._exit: the program's status, and what was flushed before", 60, True)
@needs("cupy")
def os_exit(lab, check):
    _counted(lab, check, "os_exit", status=4)


@step(GROUP, "exception", "an uncaught exception: status 1 and a complete trace", 60, True)
@needs("cupy")
def exception(lab, check):
    for trace in _counted(lab, check, "exception", status=1):
        lab.open_checks(check, trace)
