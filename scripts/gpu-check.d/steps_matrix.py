"""Group `matrix`: what it costs a program that CUPTI looks into its calls, by what CUPTI is asked for.

No collector runs here: floor.c throws away what it gets. So a difference to `none` is CUPTI's own, and shows what a way of
asking could save before anybody builds it. Modes take turns within a round, every other round backwards; differences are
of runs of the same round.
"""

import json

import floors
import paired
from harness import OutOfTime, TooSlow
from steps import step

GROUP = "matrix"
FIGURES = {"ns_per_call": "cudaGetDevice, ns per call", "ns_per_launch_1": "null-kernel launch on one thread, ns",
           "ns_per_launch_8": "null-kernel launch on each of eight threads, ns"}
HEADER = ["mode", "median", "more than none", "95 % interval", "runs"]


def _where(lab, said):
    """What the figures of a table are of."""
    return f"{lab.machine.get('gpu', '?')}, CUPTI {said.get('cupti', '?')}"


def _note_once(check, mode, said):
    for sentence in floors.refusals(said):
        note = f"{mode}: {sentence}"
        if note not in check.notes:
            check.notes.append(note)


# -- which records come

COUNTED = tuple(m for m in floors.MODES if m not in ("none", "subscribed"))


def _tables_of_records(check, where, by_mode):
    """Records by kind, and by called function, one column per mode."""
    modes = list(by_mode)
    kinds = sorted({int(k) for said in by_mode.values() for k in said.get("kinds", {})})
    check.tables.append((f"records by kind; {where}", ["kind", *modes],
                         [[str(k), *(by_mode[m].get("kinds", {}).get(str(k), 0) for m in modes)] for k in kinds]))
    for title, key in (("API records by call", "calls"), ("callbacks by call", "callbacks")):
        shown = [m for m in modes if by_mode[m].get(key)]
        names = sorted({n for m in shown for n in by_mode[m][key]}, key=lambda n: (n.split()[0], int(n.split()[1])))
        if names:
            check.tables.append((title, ["domain, id, name", *shown], [[n, *(by_mode[m][key].get(n, 0) for m in shown)] for n in names]))


def _compare_per_call(check, by_mode):
    """Whether switching calls on one by one brings what switching chatty ones off leaves. A question, so nothing fails here."""
    if "muted" not in by_mode or "per_call" not in by_mode:
        return
    muted, per_call = (by_mode[m].get("calls", {}) for m in ("muted", "per_call"))
    differing = {n: [muted.get(n, 0), per_call.get(n, 0)] for n in sorted({*muted, *per_call}) if muted.get(n) != per_call.get(n)}
    check.figures["API records muted, per_call"] = [sum(muted.values()), sum(per_call.values())]
    check.figures["calls whose records differ (muted, per_call)"] = differing
    check.figures["per_call brings the same records as muted"] = bool(per_call) and not differing


def _no_chatter(check, by_mode):
    """Calls that were switched off have no record; what CUPTI refused to switch off is in the notes."""
    if "muted" in by_mode:
        chatty = {(("driver", "runtime")[domain - 1], number) for domain, number, _ in floors.chatty_calls()}
        left = [n for n in by_mode["muted"].get("calls", {}) if (n.split()[0], int(n.split()[1])) in chatty]
        check.equal("records of muted calls", left, [])


@step(GROUP, "records", "which records each way of asking CUPTI brings: kernels all, muted calls none", 60)
def records(lab, check):
    if not lab.floor:
        return check.skip("floor.c was not built")
    check.at_least("chatty calls read from chatter.rs", len(floors.chatty_calls()), 20)
    by_mode, where = {}, ""
    loops = ["matrix", "200", "100", "20"] if lab.sim else ["matrix", "2000", "1000", "200"]
    for mode in COUNTED:
        together = {"kinds": {}, "calls": {}, "callbacks": {}}
        for argv in (loops, ["mixed", "20"]):
            run = lab.run([lab.work, *argv], floors.environment(lab, mode, count=True), limit_s=15, name=f"matrix-count-{mode}")
            said = floors.said(run.err)
            where = _where(lab, said)
            _note_once(check, mode, said)
            if said["state"] != "in place":
                break
            if not check.ended(run):
                continue
            check.equal(f"{mode}: kernels of {argv[0]}", said.get("kinds", {}).get("10", 0), run.json().get("kernels"))
            for key, counts in together.items():
                for name, n in said.get(key, {}).items():
                    counts[name] = counts.get(name, 0) + n
        else:
            by_mode[mode] = together
    # A mode that CUPTI refuses is an answer; none at all means that nothing was looked at.
    check.expect("modes in place", list(by_mode), "10 among them", "10" in by_mode)
    _tables_of_records(check, where, by_mode)
    _no_chatter(check, by_mode)
    _compare_per_call(check, by_mode)


# -- what it costs: loops


# gpuprof itself, for comparison: the settings of each mode.
OURS = {"gpuprof": {}, "gpuprof_by_call": {"API_CALLS": "by-call"}, "gpuprof_light": {"PRESET": "light"},
        "gpuprof_stacks": {"LAUNCH_STACKS": "on"}}
OURS_IN_LOOPS = ("gpuprof", "gpuprof_by_call", "gpuprof_light")


def _our_env(lab, mode):
    return lab.environment("default", lab.folder(f"matrix-{mode}"), **OURS[mode])


def _loops_env(lab, mode):
    return _our_env(lab, mode) if mode in OURS else floors.environment(lab, mode)


@step(GROUP, "loops", "what asking CUPTI costs a question, a launch, and a launch among eight threads, by mode", 130)
def loops(lab, check):
    if not lab.floor:
        return check.skip("floor.c was not built")
    size, rounds = (["2000", "300", "40"], 2) if lab.sim else (["1000000", "30000", "8000"], 9)
    modes, refused, results, where = [*floors.MODES, *OURS_IN_LOOPS], set(), [], ""
    try:
        for number in range(rounds):
            results.append({})
            for mode in modes if number % 2 == 0 else reversed(modes):
                if mode in refused:
                    continue
                run = lab.run([lab.work, "matrix", *size], _loops_env(lab, mode), limit_s=20, name=f"matrix-{mode}")
                if mode not in OURS:
                    said = floors.said(run.err)
                    where = _where(lab, said)
                    _note_once(check, mode, said)
                    if said["state"] != "in place":
                        refused.add(mode)
                        continue
                if check.ended(run):
                    results[-1][mode] = run.json()
    except (OutOfTime, TooSlow):
        check.notes.append(f"stopped in round {len(results)} of {rounds}: out of time")
    measured = sorted({m for one in results for m in one})
    check.expect("modes measured", measured, "none and 10 among them", {"none", "10"} <= set(measured))
    for figure, title in FIGURES.items():
        by_round = [{m: answer[figure] for m, answer in one.items() if figure in answer} for one in results]
        summary = paired.against(by_round, "none")
        check.figures[figure] = {"rounds": by_round, "summary": summary}
        check.tables.append((f"{title}; {where}", HEADER, list(paired.table(summary, 1))))


# -- what it costs: training

TRAINING = ("none", "10", "10+4+5", "muted", "per_call", "callbacks", "10+5", "10+4", *OURS)
TRAINING_COUNTED = ("10+4+5", "muted", "per_call", "callbacks")


def _training_env(lab, mode, count):
    steps = "4" if count else "60"
    if mode in OURS:
        return {**_our_env(lab, mode), "TRAIN_STEPS": steps}
    return {**floors.environment(lab, mode, count), "TRAIN_STEPS": steps}


def _schedule(lab, rounds):
    script = [str(s) for s in lab.training_script()[1:]]

    def run(label, mode, count):
        return {"label": label, "argv": script, "env": {**lab.base_env, **_training_env(lab, mode, count)}}

    yield run("warm-up", "none", False)
    # The first round before the counts: a cut run still has one figure of each mode.
    for number in range(rounds):
        for mode in TRAINING if number % 2 == 0 else reversed(TRAINING):
            yield run(f"{number} {mode}", mode, False)
        if number == 0:
            for mode in TRAINING_COUNTED:
                yield run(f"count {mode}", mode, True)


def _training_runs(lab, check, schedule, seconds):
    """What each run of the schedule answered: forks of one process, or where those do not work a process for each."""
    path = lab.scratch / "train-schedule.json"
    path.write_text(json.dumps(schedule))
    env = {"FORKS_WITHOUT_TORCH": "1"} if lab.sim else {}
    run = lab.run(lab.script("train_forks.py", path, str(seconds)), env, limit_s=seconds + 8, name="matrix-training")
    answers = [json.loads(line) for line in run.out.splitlines() if line.startswith("{") and line.endswith("}")]
    for one in answers:
        if "imported_in_s" in one:
            check.figures["torch imported in, s"] = one["imported_in_s"]
        if "left_out" in one:
            check.notes.append(f"{one['left_out']} runs of the schedule were left out: out of time")
    unfit = [one["unfit"] for one in answers if "unfit" in one] or ([] if answers else [run.says()])
    if not unfit:
        yield from (one for one in answers if "label" in one)
        return
    check.notes.append(f"forked runs do not work here ({unfit[0][:200]}): each run is a process of its own")
    try:
        for one in schedule[1:]:
            run = lab.run([lab.python, *one["argv"]], one["env"], limit_s=40, name=f"matrix-{one['label']}")
            yield {"label": one["label"], "status": run.status, "answer": run.json(), "err": run.err}
    except (OutOfTime, TooSlow):
        check.notes.append("the other runs of the schedule were left out: out of time")


@step(GROUP, "training", "what asking CUPTI costs a PyTorch training step, by mode, beside gpuprof and its launch stacks", 165)
def training(lab, check):
    if not lab.floor:
        return check.skip("floor.c was not built")
    if not lab.has("torch") and not lab.sim:
        return check.skip("no torch here")
    rounds, seconds = (1, 40) if lab.sim else (6, min(150, lab.budget.left_s() - 10))
    by_round, by_mode, where = {}, {}, ""
    for one in _training_runs(lab, check, list(_schedule(lab, rounds)), seconds):
        label, _, mode = one["label"].partition(" ")
        if not mode:
            continue
        if mode not in OURS:
            said = floors.said(one["err"])
            where = _where(lab, said)
            _note_once(check, mode, said)
            if said["state"] != "in place":
                continue
            if label == "count":
                by_mode[mode] = said
                continue
        figure = one["answer"].get("host_ms_median")
        if one["status"] or figure is None:
            last = (one["err"].strip().splitlines() or ["said nothing"])[-1]
            check.notes.append(f"{mode}: status {one['status']}: {last[:200]}")
        else:
            by_round.setdefault(int(label), {})[mode] = figure
    measured = sorted({m for one in by_round.values() for m in one})
    check.expect("modes measured", measured, "none and 10 among them", {"none", "10"} <= set(measured))
    summary = paired.against(list(by_round.values()), "none")
    check.figures["host_ms_median"] = {"rounds": list(by_round.values()), "summary": summary}
    check.tables.append((f"training step, ms on the host; {where}", HEADER, list(paired.table(summary, 2))))
    stacks = paired.against(list(by_round.values()), "gpuprof").get("gpuprof_stacks")
    check.figures["launch stacks, ms a step more than gpuprof without"] = stacks
    if by_mode:
        _tables_of_records(check, f"four training steps and five to warm up; {where}", by_mode)
        _no_chatter(check, by_mode)
        _compare_per_call(check, by_mode)
