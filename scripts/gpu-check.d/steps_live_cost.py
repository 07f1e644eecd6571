"""What watching from outside costs a training step: the launcher awake against the launcher stopped, within one process (blocks.py)."""

import paired
from steps import step
from steps_live import GROUP, needs_cli, needs_python_work, recorded

FLAGS = {"--sample 100ms": ["--sample", "100ms"], "--cpu-sampling 100": ["--cpu-sampling", "100"]}


@step(GROUP, "cost_of_sampling", "what --sample and --cpu-sampling cost a training step: launcher awake against stopped", 80)
@needs_cli
@needs_python_work
def cost_of_sampling(lab, check):
    rows = []
    for name, flags in FLAGS.items():
        folder = lab.folder("cost-of-sampling")
        env = {"TRAIN_BLOCKS": "16", "TRAIN_STEPS": "5"}
        run = recorded(lab, flags, lab.training_script("blocks"), folder, f"blocks{flags[0]}", 45, env)
        check.ended(run)
        figures = run.json().get("blocks") or {}
        pairs = [{"stopped": off, "awake": on} for on, off in zip(figures.get("on", []), figures.get("off", []))]
        check.figures[name] = pairs
        for row in paired.table(paired.against(pairs, "stopped"), 3):
            rows.append([f"{name}, launcher {row[0]}", *row[1:]])
        traces = lab.traces(folder)
        check.figures[f"{name}: samples"] = sum(t.count("sample") + t.count("cpu_sample") for t in traces)
    check.tables.append(("training step in blocks of 20, ms", ["", "median", "more than stopped", "95 % interval", "blocks"], rows))
