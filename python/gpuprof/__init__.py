"""gpuprof: where did the GPU time go.

Reading traces of any format that gpuprof knows, without CUDA::

    trace = gpuprof.open("run.gpuprof")
    trace.table("kernels", columns=["name", "start_ns", "duration_ns"]).to_polars()
    trace.sql("SELECT name, total_ns FROM kernels_by_name LIMIT 10")
    trace.view("cuda_gpu_kern_sum")
    trace.insights()

Saying what to record, in a program that runs under ``gpuprof record``::

    with gpuprof.capture("step"):
        train_step()
    gpuprof.mark("epoch 3")
    gpuprof.bench(train_step, repeat=20)

``gpuprof.pytest_plugin`` records tests, ``gpuprof.lightning`` and ``gpuprof.transformers`` have callbacks for trainers.
"""

from ._bench import BenchResult, bench
from ._capture import annotate, capture, is_recorded, mark
from ._errors import Error, MissingPackage, PartialTrace
from ._program import program
from ._table import Table
from ._trace import Page, Trace
from ._trace import open_trace as open  # noqa: A004 - this is what opens things here

__all__ = [
    "BenchResult",
    "Error",
    "MissingPackage",
    "Page",
    "PartialTrace",
    "Table",
    "Trace",
    "annotate",
    "bench",
    "capture",
    "is_recorded",
    "mark",
    "open",
    "program",
]
