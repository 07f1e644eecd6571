"""How long the kernels of a function take, over repetitions."""

import bisect
import multiprocessing
import os
import pickle
import statistics
import tempfile
import uuid
from contextlib import contextmanager
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Tuple

from . import _collector, _cuda
from ._capture import annotate, capture
from ._errors import Error
from ._program import ask, ask_json


class BenchResult(NamedTuple):
    """What :func:`gpuprof.bench` measured."""

    #: The name of the function.
    name: str
    #: For each repetition, the durations of its kernels added up, in ns.
    kernel_ns: Tuple[int, ...]
    #: For each repetition, how many kernels it had.
    kernels: Tuple[int, ...]

    @property
    def n(self) -> int:
        """How many repetitions were measured."""
        return len(self.kernel_ns)

    @property
    def median_ns(self) -> float:
        """The median of the kernel time of a repetition."""
        return statistics.median(self.kernel_ns)

    @property
    def mad_ns(self) -> float:
        """The spread: the median of the distances from the median, which a few slow repetitions do not change."""
        median = self.median_ns
        return statistics.median(abs(value - median) for value in self.kernel_ns)

    @property
    def min_ns(self) -> int:
        """The kernel time of the fastest repetition."""
        return min(self.kernel_ns)

    @property
    def max_ns(self) -> int:
        """The kernel time of the slowest repetition."""
        return max(self.kernel_ns)

    def __str__(self) -> str:
        return (
            f"{self.name}: {self.median_ns / 1e6:.4g} ms of kernels ± {self.mad_ns / 1e6:.2g} ms (median ± median "
            f"absolute deviation, n = {self.n}), {statistics.median(self.kernels):g} kernels"
        )


def bench(fn: Callable[[], Any], *, repeat: int = 20, warmup: int = 3) -> BenchResult:
    """Measures how long the kernels take that ``fn`` launches, from any thread: ``warmup`` calls that do not count,
    then ``repeat`` calls with a wait for the GPU after each.

    In a recorded process the calls are made here and now, and the trace is read up to this moment. Elsewhere ``fn`` is
    sent to a new process that is recorded (``multiprocessing``, method ``spawn``), so it has to be a function of a
    module, and a script needs its ``if __name__ == "__main__":``.

    Raises :class:`gpuprof.Error` if no kernel is recorded, or if ``fn`` cannot be sent. What ``fn`` raises is raised.
    """
    if repeat < 1 or warmup < 0:
        raise Error(f"bench: repeat={repeat}, warmup={warmup}: repeat is at least 1 and warmup at least 0")
    if _collector.is_recorded():
        return _measure(fn, repeat, warmup)
    return _measure_in_child(fn, repeat, warmup)


def _name_of(fn: Callable[[], Any]) -> str:
    return str(getattr(fn, "__qualname__", type(fn).__name__))


def _measure(fn: Callable[[], Any], repeat: int, warmup: int) -> BenchResult:
    name = _name_of(fn)
    what = f"bench({name})"
    # Of this call alone: the trace may hold others.
    label = f"gpuprof.bench {name} {uuid.uuid4().hex[:12]}"
    for _ in range(warmup):
        fn()
    _cuda.synchronize(what)
    with capture(label):
        for i in range(repeat):
            with annotate(f"{label} {i}"):
                fn()
                _cuda.synchronize(what)
    _collector.control("flush")
    trace = _collector.control("status").get("trace")
    if not trace:
        raise Error(f"{what}: the collector has no trace; `gpuprof ctl status {os.getpid()}` says more")
    spans = _rows(trace, f"SELECT name, start_ns, end_ns FROM range WHERE STARTS_WITH(name, {_text(label + ' ')})")
    spans = sorted((row for row in spans if row["end_ns"] is not None), key=lambda row: row["start_ns"])
    if len(spans) != repeat:
        how = f"--nvtx {os.environ.get('GPUPROF_NVTX') or 'on'} --capture {_collector.capture_mode()}"
        raise Error(
            f"{what}: {len(spans)} of {repeat} repetitions are in the trace {trace}; this process is recorded with "
            f"{how}, and measuring needs NVTX and a window"
        )
    starts, ends = [row["start_ns"] for row in spans], [row["end_ns"] for row in spans]
    kernels = _rows(
        trace,
        "SELECT start_ns, duration_ns FROM kernel "
        f"WHERE start_ns >= {starts[0]} AND start_ns < {ends[-1]} AND duration_ns IS NOT NULL",
    )
    sums, counts = [0] * repeat, [0] * repeat
    for row in kernels:
        # The GPU was idle when each repetition began and ended: the time says to which one a kernel belongs.
        at = bisect.bisect_right(starts, row["start_ns"]) - 1
        sums[at] += row["duration_ns"]
        counts[at] += 1
    if not kernels:
        mode = _collector.capture_mode()
        raise Error(f"{what}: no kernel was recorded in {repeat} repetitions; does it use the GPU? (--capture {mode})")
    return BenchResult(name, tuple(sums), tuple(counts))


def _rows(trace: str, query: str) -> List[Dict[str, Any]]:
    document = ask_json(["query", trace, "--file", "-", "--format", "json"], given=query)
    rows: List[Dict[str, Any]] = document["tables"][0]["rows"]
    return rows


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _measure_in_child(fn: Callable[[], Any], repeat: int, warmup: int) -> BenchResult:
    what = f"bench({_name_of(fn)})"
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory(prefix="gpuprof-bench-") as folder:
        receiver, sender = context.Pipe(duplex=False)
        child = context.Process(target=_in_child, args=(sender, fn, repeat, warmup))
        with injected(os.path.join(folder, "bench-%p.gpuprof")):
            try:
                child.start()
            except (pickle.PicklingError, AttributeError, TypeError) as error:
                raise Error(
                    f"{what}: this process is not recorded, and the function cannot be sent to one that is: {error}; "
                    "define it in a module, or run the program under `gpuprof record -- python ...`"
                ) from error
        sender.close()
        try:
            result = receiver.recv()
        except EOFError:
            child.join()
            raise Error(
                f"{what}: the recorded process ended with status {child.exitcode} before it had measured; a script "
                'needs `if __name__ == "__main__":` around what it does'
            ) from None
        child.join()
    if isinstance(result, BaseException):
        raise result
    measured: BenchResult = result
    return measured


def _in_child(sender: Any, fn: Callable[[], Any], repeat: int, warmup: int) -> None:
    try:
        result: Any = _measure(fn, repeat, warmup)
    except Exception as error:
        result = error
    try:
        sender.send(result)
    except (pickle.PicklingError, AttributeError, TypeError):
        sender.send(Error(f"{type(result).__name__}: {result}"))


@contextmanager
def injected(output: str) -> Iterator[None]:
    """Processes that are started inside are recorded into ``output``."""
    before = dict(os.environ)
    os.environ.update(injection(output))
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def injection(output: str) -> Dict[str, str]:
    """Variables by which a process that uses CUDA for the first time is recorded into ``output``."""
    collector = ask(["preload-path"]).output.decode().strip()
    return {
        "CUDA_INJECTION64_PATH": collector,
        "NVTX_INJECTION64_PATH": collector,
        "GPUPROF_OUTPUT": output,
        "GPUPROF_CAPTURE": "all",
    }
