"""What TensorBoard's plugin for PyTorch says of a trace and of an export of it: must be the same.

    torch_tb.py ORIGINAL EXPORT

Reads both as the plugin does, and compares overall times per step, communication, operators, kernels and memory. Exits with
1 and a sentence if something differs.
"""

import json
import logging
import os
import shutil
import sys
import tempfile

logging.disable(logging.CRITICAL)

from torch_tb_profiler.profiler.data import DistributedRunProfileData, RunProfileData  # noqa: E402


def rounded(value):
    if isinstance(value, float):
        return round(value, 3)
    if isinstance(value, (list, tuple)):
        return [rounded(item) for item in value]
    if isinstance(value, dict):
        return {str(key): rounded(item) for key, item in sorted(value.items(), key=lambda item: str(item[0]))}
    return value


def seen(path, folder):
    # Its reader takes files by their name.
    copy = os.path.join(folder, "worker0.pt.trace.json" + (".gz" if path.endswith(".gz") else ""))
    shutil.copyfile(path, copy)
    profile = RunProfileData.parse("worker0", None, copy, folder)
    communication = DistributedRunProfileData(profile)
    if profile.comm_node_list:
        communication.communication_parse()
    kernels = profile.kernel_stat
    return {
        "steps": rounded([cost.costs for cost in profile.steps_costs]),
        "average": rounded(profile.avg_costs.costs),
        "names of steps": profile.steps_names,
        "overlap": rounded([vars(cost) for cost in profile.comm_overlap_costs]),
        "has communication": profile.has_communication,
        "communication nodes": len(profile.comm_node_list or []),
        "communication": rounded(communication.total_comm_stats),
        "communication per step": rounded(communication.step_comm_stats),
        "operators": sorted(rounded([op.name, op.calls, op.host_duration, op.device_duration]) for op in profile.op_list_groupby_name),
        "shapes": sorted(rounded([op.name, str(op.input_shape), op.calls]) for op in profile.op_list_groupby_name_input),
        "kernels": 0 if kernels is None else len(kernels),
        "memory": len(profile.memory_snapshot.memory_records) if profile.memory_snapshot else 0,
    }


def main():
    found = []
    for path in sys.argv[1:3]:
        with tempfile.TemporaryDirectory() as folder:
            found.append(seen(path, folder))
    original, export = found
    for key, value in original.items():
        if value != export[key]:
            print(f"{key} differs: {json.dumps(value)[:2000]}\n{json.dumps(export[key])[:2000]}")
            sys.exit(1)
    print(json.dumps({"steps": original["steps"][:3], "communication": original["communication"], "memory": original["memory"]}))


main()
