"""A plugin for pytest: ``pytest --gpuprof`` records the tests, one trace for each, and says how long each was on the
GPU.

pytest is not started anew. Before any test is loaded, the variables are set by which CUDA's driver takes the collector
in when it is used for the first time; a pytest that runs under ``gpuprof record`` is recorded already. One recording
covers the whole process, and what each test did is cut out of it by the time of the test, between two waits for the
GPU.

The GPU time of a test is the durations of its kernels, copies and fills added up. It goes into ``user_properties`` (and
so into JUnit's XML) as ``gpu_time_ms``, beside ``gpuprof_trace``, the path of the trace, and is listed at the end. A
test that is to fail above a time says so by a mark or by a fixture, which do nothing without ``--gpuprof``::

    @pytest.mark.gpu_time(max_ms=2.5)
    def test_step(): ...

    def test_step(gpuprof_threshold):
        gpuprof_threshold(2.5)
"""

import hashlib
import os
import re
from pathlib import Path
from typing import Any, Callable, Dict, Generator, List, NamedTuple, Optional, Tuple

import pytest

from . import _collector, _cuda, _nvtx
from ._bench import injection
from ._errors import Error
from ._program import ask, ask_json

_LIMIT = pytest.StashKey[float]()

#: Characters of a test's name in the name of its trace.
_NAME_LENGTH = 120

#: Tests in the list at the end.
_LISTED = 20


def pytest_addoption(parser: pytest.Parser) -> None:
    """Called by pytest."""
    group = parser.getgroup("gpuprof", "recording what tests do on GPUs")
    group.addoption("--gpuprof", action="store_true", help="record the tests, one trace for each, and list GPU times")
    group.addoption(
        "--gpuprof-folder",
        default="gpuprof-traces",
        metavar="FOLDER",
        help="where traces go (default: gpuprof-traces); those of an earlier run with the same names are replaced",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Called by pytest before anything of the tests is loaded, so that nobody has used CUDA yet."""
    options = early_config.known_args_namespace
    if not getattr(options, "gpuprof", False) or _collector.is_recorded():
        return
    folder = Path(options.gpuprof_folder).absolute()
    try:
        if _cuda.is_used():
            raise Error("CUDA is in use already; start with `gpuprof record -- python -m pytest --gpuprof`")
        os.environ.update(injection(str(folder / "session-%p.gpuprof")))
    except Error as error:
        raise pytest.UsageError(f"--gpuprof: {error}") from error
    folder.mkdir(parents=True, exist_ok=True)


def pytest_configure(config: pytest.Config) -> None:
    """Called by pytest."""
    config.addinivalue_line("markers", "gpu_time(max_ms): fail with --gpuprof if the GPU works longer than max_ms")
    if config.getoption("--gpuprof"):
        folder = Path(config.getoption("--gpuprof-folder")).absolute()
        config.pluginmanager.register(_Recording(folder), "gpuprof-recording")


@pytest.fixture
def gpuprof_threshold(request: pytest.FixtureRequest) -> Callable[[float], None]:
    """Called with a time in ms, it has the test fail if the GPU works longer for it. Without ``--gpuprof`` it does
    nothing."""

    def set_limit(max_ms: float) -> None:
        request.node.stash[_LIMIT] = float(max_ms)

    return set_limit


class _Measured(NamedTuple):
    """What a test did on the GPU."""

    gpu_time_ms: float
    #: Kernels, copies and fills.
    activities: int
    trace: Optional[Path]


class _Recording:
    """What is done for each test, and at the end."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        # The trace of a run holds several processes under pytest-xdist.
        label = f"{item.nodeid} [{os.getpid()}]"
        _wait()
        _nvtx.push(label)
        try:
            result = yield
        except BaseException:
            # Why the test fails says more than how long it took.
            self._measure(item, label)
            raise
        measured = self._measure(item, label)
        limit = _limit(item)
        if limit is not None and measured.gpu_time_ms > limit:
            where = f"; see {measured.trace}" if measured.trace else ""
            pytest.fail(
                f"the GPU worked {measured.gpu_time_ms:.3f} ms for this test ({measured.activities} kernels, copies "
                f"and fills), more than {limit:g} ms{where}",
                pytrace=False,
            )
        return result

    def _measure(self, item: pytest.Item, label: str) -> _Measured:
        _wait()
        _nvtx.pop()
        try:
            measured = _measure(item.nodeid, label, self._folder)
        except Error as error:
            pytest.fail(f"--gpuprof: {error}", pytrace=False)
        item.user_properties.append(("gpu_time_ms", measured.gpu_time_ms))
        if measured.trace:
            item.user_properties.append(("gpuprof_trace", str(measured.trace)))
        return measured

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        reports = [report for kind in ("passed", "failed") for report in terminalreporter.getreports(kind)]
        times: List[Tuple[float, str]] = []
        for report in reports:
            properties = dict(report.user_properties) if report.when == "call" else {}
            if properties.get("gpu_time_ms"):
                times.append((properties["gpu_time_ms"], report.nodeid))
        times.sort(key=lambda entry: (-entry[0], entry[1]))
        terminalreporter.write_sep("=", f"GPU time of {len(times)} tests, traces in {self._folder}")
        for milliseconds, nodeid in times[:_LISTED]:
            terminalreporter.write_line(f"{milliseconds:12.3f} ms  {nodeid}")
        if len(times) > _LISTED:
            terminalreporter.write_line(f"({len(times) - _LISTED} tests with less are not listed)")


def _limit(item: pytest.Item) -> Optional[float]:
    limit = item.stash.get(_LIMIT, None)
    mark = item.get_closest_marker("gpu_time")
    if limit is None and mark is not None:
        limit = float(mark.kwargs["max_ms"] if "max_ms" in mark.kwargs else mark.args[0])
    return limit


def _wait() -> None:
    """Waits for the GPU, so that work belongs to the test that gave it. What it reports is the test's to notice."""
    if _cuda.is_used():
        try:
            _cuda.synchronize("--gpuprof")
        except Error:
            pass


def _measure(nodeid: str, label: str, folder: Path) -> _Measured:
    """What was recorded between the beginning and the end of a range, and a trace of that alone."""
    if not _cuda.is_used():
        return _Measured(0.0, 0, None)
    _collector.control("flush")
    session = _collector.control("status").get("trace")
    if not session:
        raise Error(f"the collector has no trace; `gpuprof ctl status {os.getpid()}` says more")
    span = _span(session, label)
    work = _first(
        session,
        "SELECT COUNT(*) AS activities, COALESCE(SUM(duration_ns), 0) AS ns FROM gpu "
        f"WHERE start_ns >= {span['start_ns']} AND start_ns < {span['end_ns']}",
    )
    if not work["activities"]:
        return _Measured(0.0, 0, None)
    trace = folder / f"{_file_name(nodeid)}.gpuprof"
    folder.mkdir(parents=True, exist_ok=True)
    times = ["--from", str(span["start_ns"]), "--to", str(span["end_ns"])]
    ask(["convert", session, "--quiet", "--force", *times, "--output", str(trace)])
    return _Measured(work["ns"] / 1e6, work["activities"], trace)


def _span(session: str, label: str) -> Dict[str, Any]:
    """First and last moment of the range of that name; the last such range, where a test was run again."""
    quoted = label.replace("'", "''")
    query = f"SELECT start_ns, end_ns FROM range WHERE name = '{quoted}' ORDER BY start_ns DESC LIMIT 1"
    span = _first(session, query)
    if span.get("end_ns") is None:
        raise Error(f"the range of the test is not in {session}; is it recorded with --nvtx off?")
    return span


def _first(session: str, query: str) -> Dict[str, Any]:
    rows = ask_json(["query", session, "--file", "-", "--format", "json"], given=query)["tables"][0]["rows"]
    return rows[0] if rows else {}


def _file_name(nodeid: str) -> str:
    """A file name that is the test's own: other characters than those of every file system become dashes, and a number
    tells apart what that made alike."""
    name = re.sub(r"[^\w.-]+", "-", nodeid.replace("::", "-").replace("/", "-")).strip("-")
    if name == nodeid and len(name) <= _NAME_LENGTH:
        return name
    return f"{name[:_NAME_LENGTH]}-{hashlib.sha256(nodeid.encode()).hexdigest()[:8]}"
