"""Group `life`: every way out of a process, fork, and what a kill leaves behind."""

from steps import step

GROUP = "life"
FLUSH_MS, EXIT_DEADLINE_MS = 300, 2000
# Ways out after which everything launched must be in the trace, and ways that give nobody a chance to write.
COMPLETE = ("return", "sync", "reset", "thread")
ABRUPT = ("_exit", "abort", "term", "segv", "throw")


def _ends_as_bare(lab, check, how):
    bare = lab.run([lab.work, "exit", how], name=f"exit-{how}-bare")
    run, traces = lab.profiled([lab.work, "exit", how], name=f"exit-{how}", FLUSH_MS=FLUSH_MS)
    check.equal("status", run.status, bare.status)
    check.equal("stdout", run.out, bare.out)
    added_s = round(run.wall_s - bare.wall_s, 3)
    check.at_most("seconds longer than without us", added_s, EXIT_DEADLINE_MS / 1000 + 0.2 + 0.8)
    check.figures["wall_s bare, with us"] = [round(bare.wall_s, 3), round(run.wall_s, 3)]
    for trace in traces:
        check.equal("problems in the file", trace.problems, [])
    return traces


for _how in COMPLETE:

    def _complete(lab, check, how=_how):
        traces = _ends_as_bare(lab, check, how)
        check.equal("traces", len(traces), 1)
        if traces:
            check.equal("kernels", traces[0].count("kernel"), 1000)
            lab.open_checks(check, traces[0])

    step(GROUP, f"exit_{_how}", f"exit by {_how}: same status, all 1000 kernels", parallel=True)(_complete)

for _how in ABRUPT:

    def _abrupt(lab, check, how=_how):
        traces = _ends_as_bare(lab, check, how)
        check.figures["kernels on disk of 1000"] = [t.count("kernel") for t in traces]
        check.figures["closed"] = [t.closed is not None for t in traces]

    step(GROUP, f"exit_{_how}", f"exit by {_how}: same status, the file opens", parallel=True)(_abrupt)


@step(GROUP, "kill_after_flush", "SIGKILL two flush intervals after the last launch: all 1000 kernels, not closed", parallel=True)
def kill_after_flush(lab, check):
    run, traces = lab.profiled([lab.work, "exit", "kill"], name="exit-kill")
    check.equal("status", run.status, 137)
    if check.equal("traces", len(traces), 1):
        check.equal("kernels", traces[0].count("kernel"), 1000)
        check.equal("closed", traces[0].closed is not None, False)
        check.equal("problems in the file", traces[0].problems, [])
        lab.keep("killed", traces[0])


@step(GROUP, "fork", "fork before CUDA: a trace of the child's own; fork after: the child stays silent", parallel=True)
def fork(lab, check):
    bare = lab.run([lab.work, "fork"], name="fork-bare")
    run, traces = lab.profiled([lab.work, "fork"], name="fork")
    check.ended(run, bare.status)
    check.equal("statuses of the children", run.json().get("statuses"), bare.json().get("statuses"))
    check.equal("kernels by trace", sorted(t.count("kernel") for t in traces), [100, 200])
    for trace in traces:
        lab.open_checks(check, trace)
        lab.keep(f"fork-{trace.count('kernel')}", trace)


@step(GROUP, "kill_under_load", "SIGKILL while 64 kernels are always queued: at most two flush intervals are missing")
def kill_under_load(lab, check):
    seconds = "2" if lab.sim else "3"
    run, traces = lab.profiled([lab.work, "backlog", seconds, "kill"], name="backlog-kill")
    check.equal("status", run.status, 137)
    finished = run.json().get("finished_at_least", 0)
    if check.equal("traces", len(traces), 1):
        got = traces[0].count("kernel")
        # Kernels of 1 ms, so the default flush interval is 500 of them. A flush seals a block that holds unfinished
        # kernels and the next one delivers it; writing takes its time.
        check.at_least("kernels on disk", got, finished - 2 * 500 - 200)
        check.equal("problems in the file", traces[0].problems, [])
        check.figures["finished, on disk"] = [finished, got]


@step(GROUP, "return_under_load", "return while 64 kernels are queued: in time, and no row claims an end it does not know")
def return_under_load(lab, check):
    run, traces = lab.profiled([lab.work, "backlog", "1", "return"], name="backlog-return")
    check.ended(run)
    known = run.json()
    if check.equal("traces", len(traces), 1):
        check.at_least("kernels on disk", traces[0].count("kernel"), known.get("finished_at_least"))
        check.at_most("kernels on disk", traces[0].count("kernel"), known.get("kernels"))
        check.equal("problems in the file", traces[0].problems, [])
        check.figures["trace"] = traces[0].summary()
